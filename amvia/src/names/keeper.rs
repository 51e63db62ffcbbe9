//! Keeps an endpoint registered while it lives.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use super::{Client, NamesError, Registration};

/// Renews a registration until it is dropped, and unregisters the endpoint then: it waits for the server as long as the client
/// has patience.
///
/// It renews when a third of the lease has gone. After a crash of the server, whose table is then empty, the endpoint is thus
/// known again within a third of its lease.
pub struct Keeper {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
    trouble: Arc<Trouble>,
}

/// Why the last renewal failed, until that is told. A look whether there is something takes no lock.
#[derive(Default)]
struct Trouble {
    is_there: AtomicBool,
    error: Mutex<Option<NamesError>>,
}

impl Keeper {
    /// Registers an endpoint, and keeps it registered.
    ///
    /// # Errors
    /// As those of [`Client::register`].
    pub fn start(client: Client, registration: Registration) -> Result<Keeper, NamesError> {
        client.register(&registration)?;
        let (stop, stopped) = channel();
        let trouble = Arc::new(Trouble::default());
        let told = Arc::clone(&trouble);
        let thread = std::thread::spawn(move || {
            let pause = registration.lease / 3;
            while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(pause) {
                let renewed = client.register(&registration).err();
                if let Ok(mut error) = told.error.lock() {
                    told.is_there.store(renewed.is_some(), Ordering::Relaxed);
                    *error = renewed;
                }
            }
            // Whoever is not forgotten now is when the lease ends.
            let _ = client.unregister(&registration.name, registration.incarnation);
        });
        Ok(Keeper {
            stop: Some(stop),
            thread: Some(thread),
            trouble,
        })
    }

    /// Why the last renewal failed, if it did. It is told once.
    #[inline]
    pub fn trouble(&self) -> Option<NamesError> {
        if !self.trouble.is_there.load(Ordering::Relaxed) {
            return None;
        }
        let mut error = self.trouble.error.lock().ok()?;
        self.trouble.is_there.store(false, Ordering::Relaxed);
        error.take()
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
