//! The news that programs publish while they run, told to the controller between two replies.

use std::io::Write;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use jitterlab_live::{Place, Reader};
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

use super::process::Said;
use crate::protocol::{self, News, Reply};

/// The controller is told at most ten times a second.
const PERIOD: Duration = Duration::from_millis(100);

/// The way to the controller, which replies share with what is told between them.
pub struct Output<W>(Arc<Mutex<W>>);

impl<W: Write> Output<W> {
    /// Writes a frame.
    pub fn write(&self, reply: &Reply, payload: &[u8]) -> std::io::Result<()> {
        protocol::write(&mut *locked(&self.0), reply, payload)
    }
}

impl<W> Clone for Output<W> {
    fn clone(&self) -> Self {
        Output(Arc::clone(&self.0))
    }
}

/// Tells what the programs publish that it watches.
pub struct Teller<W> {
    output: Output<W>,
    watched: Arc<(Mutex<Vec<Watched>>, Condvar)>,
}

impl<W> Clone for Teller<W> {
    fn clone(&self) -> Self {
        Teller {
            output: self.output.clone(),
            watched: Arc::clone(&self.watched),
        }
    }
}

impl<W> Teller<W> {
    /// Nobody listens any more: the places of all programs go.
    pub fn forget(&self) {
        locked(&self.watched.0).clear();
    }
}

/// A program.
struct Watched {
    /// The number by which [`Reply::Live`] names it.
    id: Option<u32>,
    cpu: Option<usize>,
    /// The reader of the place where it publishes; none where there can be none.
    reader: Option<Reader>,
    _place: Option<Place>,
    publishes: bool,
    /// The output of a program that was started here.
    said: Option<Said>,
    last_said: String,
}

impl<W: Write + Send + 'static> Teller<W> {
    /// Begins, with no program; the thread that reads what programs publish goes where `to_housekeeping` sends it.
    pub fn begin(output: W, to_housekeeping: fn()) -> Self {
        let teller = Teller {
            output: Output(Arc::new(Mutex::new(output))),
            watched: Arc::default(),
        };
        let (output, watched) = (teller.output.clone(), Arc::clone(&teller.watched));
        thread::spawn(move || {
            let (programs, comes) = &*watched;
            to_housekeeping();
            let all = sched_getaffinity(Pid::from_raw(0)).ok();
            let mut kept_off = Vec::new();
            loop {
                let mut programs = comes
                    .wait_while(locked(programs), |programs| programs.is_empty())
                    .unwrap_or_else(PoisonError::into_inner);
                let cpus: Vec<usize> = programs.iter().filter_map(|it| it.cpu).collect();
                if cpus != kept_off {
                    keep_off(all.as_ref(), &cpus);
                    kept_off = cpus;
                }
                for program in &mut *programs {
                    program.tell(&output);
                }
                drop(programs);
                thread::sleep(PERIOD);
            }
        });
        teller
    }

    /// The output that replies go to.
    pub fn output(&self) -> Output<W> {
        self.output.clone()
    }

    /// Tells of a program, or of what is published to a place, from now on.
    pub fn watch(
        &self,
        id: Option<u32>,
        cpu: Option<usize>,
        place: Option<Place>,
        said: Option<Said>,
    ) {
        locked(&self.watched.0).push(Watched {
            id,
            cpu,
            reader: place
                .as_ref()
                .map(|place| Reader::of_place(place.path().into())),
            _place: place,
            publishes: false,
            said,
            last_said: String::new(),
        });
        self.watched.1.notify_one();
    }

    /// The program has ended: tells the rest of what it has published.
    pub fn end(&self, id: Option<u32>) {
        let mut programs = locked(&self.watched.0);
        if let Some(index) = programs.iter().position(|program| program.id == id) {
            programs.swap_remove(index).tell(&self.output);
        }
    }
}

impl Watched {
    /// Tells the news. A controller that is gone is noticed elsewhere.
    fn tell(&mut self, output: &Output<impl Write>) {
        let id = self.id;
        if let Some(update) = self.reader.as_mut().and_then(Reader::update) {
            let news = News::Published(update);
            let _ = output.write(&Reply::Live { id, news }, &[]);
            self.publishes = true;
        }
        let Some(said) = self.said.as_ref().filter(|_| !self.publishes) else {
            return;
        };
        let said = said.last_line();
        if said != self.last_said {
            let news = News::Said(said.clone());
            let _ = output.write(&Reply::Live { id, news }, &[]);
            self.last_said = said;
        }
    }
}

/// Keeps the calling thread off the CPUs that programs stay on, if it has others.
fn keep_off(all: Option<&CpuSet>, cpus: &[usize]) {
    let Some(mut left) = all.copied() else {
        return;
    };
    for &cpu in cpus {
        let _ = left.unset(cpu);
    }
    let has_any = (0..CpuSet::count()).any(|cpu| left.is_set(cpu).unwrap_or(false));
    if has_any {
        let _ = sched_setaffinity(Pid::from_raw(0), &left);
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::OnceLock;
    use std::thread::ThreadId;

    use super::*;

    static SENT: OnceLock<ThreadId> = OnceLock::new();

    #[test]
    fn the_thread_that_reads_is_sent_to_housekeeping() {
        let _teller = Teller::begin(Vec::new(), || {
            let _ = SENT.set(thread::current().id());
        });
        assert_ne!(*SENT.wait(), thread::current().id());
    }
}
