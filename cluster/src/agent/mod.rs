//! The worker: it runs programs on its host, asked on stdin, answering on stdout. It listens nowhere, and nothing that it
//! started outlives it. It outlives its controller by no more than [`SILENCE`].

mod directory;
mod orphans;
mod process;
mod teller;

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpListener;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use directory::Directory;
use jitterlab_base::units::Nanos;
use jitterlab_live::{Place, Reader, Update};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use process::{Groups, Process};
use serde::Serialize;
use teller::Teller;

use crate::ended::Ended;
use crate::identity::OWN_VERSION;
use crate::protocol::{self, Program, Ready, Reply, Request, SILENCE, VERSION};

/// The part of the program that a worker belongs to, which describes its machine by an `M`.
#[derive(Debug, Clone, Copy)]
pub struct Duties<M> {
    /// Describes the machine, for [`Reply::Machine`].
    pub describe: fn() -> M,
    /// Sends the calling thread to the CPUs on which nothing is measured, where the machine has such: the thread that reads
    /// what programs publish calls it.
    pub to_housekeeping: fn(),
    /// Puts what programs have left elsewhere into the files that they were to write. It is called when a program has ended
    /// or was stopped, and before a file is given away.
    pub collect: fn(),
}

struct Agent<W, M> {
    duties: Duties<M>,
    teller: Teller<W>,
    directory: Directory,
    groups: Groups,
    running: BTreeMap<u32, Process>,
    started: u32,
}

/// The requests of the controller. A link can die without a word, and nobody is there then to end the worker.
struct Heard<R>(R);

impl<R: Read + AsFd> Read for Heard<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let patience = PollTimeout::try_from(SILENCE).map_err(io::Error::other)?;
        match poll(
            &mut [PollFd::new(self.0.as_fd(), PollFlags::POLLIN)],
            patience,
        )? {
            0 => Err(ErrorKind::TimedOut.into()),
            _ => self.0.read(buffer),
        }
    }
}

/// Works until `input` ends or is silent for [`SILENCE`], or `output` is closed. `input` keeps nothing back in a buffer. Then
/// whatever still runs is killed, the worker's directory is removed, and the process ends.
///
/// # Errors
/// There is no place for temporary files, or the system is too old.
pub fn serve<M: Serialize>(
    input: impl Read + AsFd + Send + 'static,
    output: impl Write + Send + 'static,
    duties: Duties<M>,
) -> io::Result<()> {
    orphans::adopt()?;
    let teller = Teller::begin(output, duties.to_housekeeping);
    let output = teller.output();
    let mut agent = Agent {
        duties,
        teller: teller.clone(),
        directory: Directory::make()?,
        groups: Groups::default(),
        running: BTreeMap::new(),
        started: 0,
    };
    // A thread of its own reads, so that the end of the controller is seen while a program runs.
    let (sender, requests) = channel();
    let (groups, directory) = (agent.groups.clone(), agent.directory.clone());
    thread::spawn(move || {
        let mut input = Heard(input);
        let status = loop {
            match protocol::read::<Request>(&mut input) {
                Ok(Some((Request::Heartbeat, _))) => {}
                Ok(Some(request)) => {
                    if sender.send(request).is_err() {
                        break 0;
                    }
                }
                Err(error) if error.kind() == ErrorKind::InvalidData => {
                    let _ = writeln!(io::stderr(), "jitterlab agent: {error}");
                    break 2;
                }
                Err(error) if error.kind() == ErrorKind::TimedOut => {
                    let _ = writeln!(
                        io::stderr(),
                        "jitterlab agent: nothing was heard of the controller for {} s",
                        SILENCE.as_secs()
                    );
                    break 3;
                }
                // The controller has ended, whether in the middle of something or not.
                Ok(None) | Err(_) => break 0,
            }
        };
        end(&groups, &directory, &teller);
        std::process::exit(status);
    });
    for (request, payload) in requests {
        let (reply, payload) = agent.answer(request, &payload).unwrap_or_else(|reason| {
            let failed = Reply::Failed { reason };
            (failed, Vec::new())
        });
        if output.write(&reply, &payload).is_err() {
            // Nobody listens any more: this is the end as well.
            break;
        }
    }
    Ok(())
}

/// Ends everything that was started, and removes every file: none outlives the worker.
fn end<W>(groups: &Groups, directory: &Directory, teller: &Teller<W>) {
    groups.end();
    orphans::end();
    directory.remove();
    teller.forget();
}

/// The updates that were published to a place whose worker was killed, when those who published have ended; none where there is
/// no such place.
fn left(live: &str) -> Result<Option<Update>, String> {
    /// They are killed with their worker.
    const PATIENCE: Duration = Duration::from_secs(2);
    let Some(place) = Place::take_over(live)? else {
        return Ok(None);
    };
    let deadline = Instant::now() + PATIENCE;
    let mut reader = Reader::of_place(place.path().into());
    loop {
        // It finds pages that were made meanwhile.
        let _ = reader.update();
        if !reader.is_written() || Instant::now() >= deadline {
            break;
        }
        thread::sleep(Duration::from_millis(1));
    }
    Ok(Reader::of_place(place.path().into()).update())
}

impl<W, M> Drop for Agent<W, M> {
    fn drop(&mut self) {
        end(&self.groups, &self.directory, &self.teller);
    }
}

impl<W: Write + Send + 'static, M: Serialize> Agent<W, M> {
    fn answer(&mut self, request: Request, payload: &[u8]) -> Result<(Reply, Vec<u8>), String> {
        let reply = match request {
            Request::Hello => Reply::Here {
                version: VERSION,
                jitterlab: OWN_VERSION.clone(),
            },
            Request::Describe => {
                let machine = serde_json::to_vec(&(self.duties.describe)());
                let machine =
                    machine.map_err(|error| format!("the machine cannot be described: {error}"))?;
                return Ok((Reply::Machine, machine));
            }
            Request::Heartbeat => Reply::Done,
            Request::Put { name } => {
                let path = self.file(&name)?;
                fs::write(&path, payload)
                    .map_err(|error| format!("cannot keep {name}: {error}"))?;
                Reply::Done
            }
            Request::Take { name } => {
                (self.duties.collect)();
                let path = self.file(&name)?;
                let content = fs::read(&path)
                    .and_then(|content| fs::remove_file(&path).map(|()| content))
                    .map_err(|error| format!("cannot give {name}: {error}"))?;
                return Ok((Reply::Done, content));
            }
            Request::Name { path } => {
                self.directory
                    .name(&path)
                    .map_err(|error| format!("cannot make {}: {error}", path.display()))?;
                Reply::Done
            }
            Request::FreePort { address } => {
                let port = TcpListener::bind((address, 0))
                    .and_then(|listener| listener.local_addr())
                    .map_err(|error| format!("cannot listen on {address}: {error}"))?;
                Reply::Port { port: port.port() }
            }
            Request::Find { program } => {
                Reply::Found(process::is_there(&program, self.directory.path()))
            }
            Request::Run {
                program,
                live,
                timeout,
            } => {
                let process = self.start(None, &program, &live, &Ready::Now)?;
                let ended = process.end(timeout.as_duration());
                self.teller.end(None);
                self.end_orphans();
                Reply::Ended(ended)
            }
            Request::Start {
                program,
                live,
                ready,
                timeout,
            } => {
                self.started += 1;
                let id = self.started;
                let mut process = self.start(Some(id), &program, &live, &ready)?;
                match process.ready(&ready, timeout.as_duration()) {
                    Ok(line) => {
                        self.running.insert(id, process);
                        Reply::Started { id, line }
                    }
                    Err(reason) => {
                        process.stop(timeout.as_duration());
                        self.teller.end(Some(id));
                        return Err(reason);
                    }
                }
            }
            Request::Stop { id, timeout } => self.end(id, Process::stop, timeout)?,
            Request::Finish { id, timeout } => self.end(id, Process::end, timeout)?,
            // Another worker on this machine may be the one that tells.
            Request::Follow { live } => {
                self.teller.watch(None, None, Place::make(&live).ok(), None);
                Reply::Done
            }
            Request::Unfollow { .. } => {
                self.teller.end(None);
                Reply::Done
            }
            Request::Left { live } => Reply::Left(left(&live)?),
        };
        Ok((reply, Vec::new()))
    }

    /// Ends a program that was started, in this way.
    fn end(
        &mut self,
        id: u32,
        end: fn(Process, Duration) -> Ended,
        timeout: Nanos,
    ) -> Result<Reply, String> {
        let process = self.running.remove(&id);
        let mut process = process.ok_or_else(|| format!("no program {id} is running"))?;
        let failure = process.failure();
        let ended = end(process, timeout.as_duration());
        self.teller.end(Some(id));
        self.end_orphans();
        Ok(match failure {
            Some(reason) => Reply::Failed { reason },
            None => Reply::Ended(ended),
        })
    }

    /// Starts a program, and tells the controller under `id` what it publishes. A host without a place for live data is as
    /// good as any other.
    fn start(
        &self,
        id: Option<u32>,
        program: &Program,
        live: &str,
        ready: &Ready,
    ) -> Result<Process, String> {
        let place = Place::make(live).ok();
        let directory = self.directory.path();
        let process = Process::start(program, ready, directory, live, &self.groups)?;
        let said = Some(process.said());
        self.teller.watch(id, program.cpu, place, said);
        Ok(process)
    }

    /// Ends the orphans that nobody has stopped: they are no part of the next run. While another
    /// program runs, nobody can tell which of the two an orphan belongs to.
    fn end_orphans(&self) {
        if self.running.is_empty() {
            orphans::end();
        }
        (self.duties.collect)();
    }

    /// A file of the worker's directory; names do not lead out of it.
    fn file(&self, name: &str) -> Result<PathBuf, String> {
        let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        if name.is_empty() || name.starts_with('.') || !name.chars().all(plain) {
            return Err(format!("`{name}` is no name for a file of a worker"));
        }
        Ok(self.directory.path().join(name))
    }
}
