//! The sink: takes messages and counts them.

use std::io::{self, Read};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::Builder;
use std::time::Duration;

use crate::transport::Network;
use nix::sys::socket::{setsockopt, sockopt};
use nix::sys::time::{TimeVal, TimeValLike};

use crate::Error;
use crate::control::{Arrived, Ask, Line, Opened};

/// How often an idle receiver looks whether its sender is still there.
const LOOK: Duration = Duration::from_millis(50);
/// Memory that a datagram, or a piece of a stream, is received into.
const BUFFER: usize = 1 << 18;

/// Senders at a time. Whoever else connects is sent away, so that strangers cannot take all threads.
const MOST: usize = 64;

/// Serves senders, each with a thread of its own, until the process ends. `ready` is told the
/// address that is listened on.
///
/// # Errors
/// The address cannot be listened on.
pub fn serve(address: SocketAddr, ready: impl FnOnce(SocketAddr)) -> Result<(), Error> {
    let failed = |source| Error::Listen { address, source };
    let listener = TcpListener::bind(address).map_err(failed)?;
    let own = listener.local_addr().map_err(failed)?;
    ready(own);
    let places = Arc::new(());
    loop {
        // What one sender does ends its own thread and nothing else, and that there is no room for one
        // more may change.
        let Ok((stream, _)) = listener.accept() else {
            std::thread::sleep(LOOK);
            continue;
        };
        if Arc::strong_count(&places) > MOST {
            continue;
        }
        let place = Arc::clone(&places);
        let _ = Builder::new().spawn(move || {
            let _ = attend(stream, own.ip());
            drop(place);
        });
    }
}

/// The two counters that a receiver writes and a control connection reads.
#[derive(Default)]
struct Counters {
    messages: AtomicU64,
    bytes: AtomicU64,
    ended: AtomicBool,
}

/// Ends the receiver with the control connection.
struct Receiver(Arc<Counters>);

impl Drop for Receiver {
    fn drop(&mut self) {
        self.0.ended.store(true, Ordering::Relaxed);
    }
}

fn attend(stream: TcpStream, ip: IpAddr) -> io::Result<()> {
    let mut line = Line::new(stream)?.impatient()?;
    let mut receiver: Option<(Receiver, u64)> = None;
    loop {
        match line.hear()? {
            Ask::Open { transport, message } => {
                let counters = Arc::new(Counters::default());
                let port = open(transport, ip, Arc::clone(&counters))?;
                receiver = Some((Receiver(counters), message.max(1)));
                line.be_patient()?;
                line.say(&Opened { port })?;
            }
            Ask::Count => {
                let arrived = match &receiver {
                    None => Arrived::default(),
                    Some((receiver, message)) => {
                        let bytes = receiver.0.bytes.load(Ordering::Relaxed);
                        let messages = match receiver.0.messages.load(Ordering::Relaxed) {
                            // A stream knows no messages.
                            0 => bytes / message,
                            messages => messages,
                        };
                        Arrived { messages, bytes }
                    }
                };
                line.say(&arrived)?;
            }
        }
    }
}

/// Starts a receiver on a free port.
fn open(transport: Network, ip: IpAddr, counters: Arc<Counters>) -> io::Result<u16> {
    match transport {
        Network::Udp => {
            let socket = UdpSocket::bind((ip, 0))?;
            socket.set_read_timeout(Some(LOOK))?;
            let port = socket.local_addr()?.port();
            Builder::new().spawn(move || receive_datagrams(&socket, &counters))?;
            Ok(port)
        }
        Network::Tcp => {
            let listener = TcpListener::bind((ip, 0))?;
            // It holds for `accept`, too.
            let look = TimeVal::milliseconds(LOOK.as_millis() as i64);
            setsockopt(&listener, sockopt::ReceiveTimeout, &look)?;
            let port = listener.local_addr()?.port();
            Builder::new().spawn(move || receive_stream(&listener, &counters))?;
            Ok(port)
        }
    }
}

fn receive_datagrams(socket: &UdpSocket, counters: &Counters) {
    let mut buffer = vec![0; BUFFER];
    while !counters.ended.load(Ordering::Relaxed) {
        if let Ok(length) = socket.recv(&mut buffer) {
            counters.bytes.fetch_add(length as u64, Ordering::Relaxed);
            counters.messages.fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn receive_stream(listener: &TcpListener, counters: &Counters) {
    let Some((mut stream, _)) = until_ended(counters, || listener.accept()) else {
        return;
    };
    if stream.set_read_timeout(Some(LOOK)).is_err() {
        return;
    }
    let mut buffer = vec![0; BUFFER];
    while let Some(length) = until_ended(counters, || stream.read(&mut buffer)) {
        if length == 0 {
            return;
        }
        counters.bytes.fetch_add(length as u64, Ordering::Relaxed);
    }
}

/// What `take` gives once it has something; `None` if that fails, or the sender has gone before.
fn until_ended<T>(counters: &Counters, mut take: impl FnMut() -> io::Result<T>) -> Option<T> {
    while !counters.ended.load(Ordering::Relaxed) {
        match take() {
            Ok(taken) => return Some(taken),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => return None,
        }
    }
    None
}
