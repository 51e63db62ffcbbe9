//! The controller's end of a worker.

mod controller;
mod copy;
mod link;
mod parting;

use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

use jitterlab_base::units::Nanos;
use jitterlab_live::Update;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

use crate::ended::{Ended, failure, last_line};
use crate::host::Host;
use crate::place::Place;
use crate::protocol::{News, Program, Ready, Reply, Request};
pub use controller::Controller;
use controller::Way;
use link::Link;

/// Starting a program and asking it to end. Small commands have ended by then.
pub const PROMPT: Nanos = Nanos(10_000_000_000);

/// A worker, which lives as long as this value, and with it all that it has started.
#[derive(Debug)]
pub struct Worker {
    link: Link,
    /// The place of the program that is run to its end.
    running: Option<String>,
}

/// A host that nothing can be measured on, for people.
#[derive(Debug, Error)]
pub enum Unfit {
    /// It is not there, or starts no programs.
    #[error("{0}")]
    Host(String),
    /// It has not the CPU that its description names.
    #[error("{0}")]
    Cpu(String),
    /// It has not what starts ranks over MPI, or is in no allocation.
    #[error("{0}")]
    Mpi(String),
}

/// The line that servers of ours print when they are ready.
#[derive(Deserialize)]
struct Listening<A> {
    listening: A,
}

impl Worker {
    /// Starts the worker of a host. At the other end of ssh it is the program there. If none there is of this version, and the host
    /// does not say which to take, it is a copy of this one. `follow` is called, in a thread of its own, when a program there tells
    /// something of itself: with the program as [`Worker::start_program`] names it, or none if it is run to its end.
    ///
    /// # Errors
    /// It cannot be started, or something else answers; for people.
    pub fn start(
        name: &str,
        host: &Host,
        controller: &Controller,
        follow: impl Fn(Option<u32>, News) + Send + Clone + 'static,
    ) -> Result<Self, String> {
        let may_be_copied = matches!(host.at, Place::Ssh(_)) && host.jitterlab.is_none();
        let open = |way| Link::open(name, host, controller, way, follow.clone());
        let mut opened = open(Way::Shared);
        // A command that makes the connection (ProxyJump, ProxyCommand) says why it cannot, but not where it is to be shared.
        if matches!(&opened, Err(not) if not.reason.contains(" UNKNOWN port ")) {
            opened = open(Way::Alone);
        }
        if matches!(&opened, Err(not) if not.is_missing && may_be_copied) {
            opened = open(Way::Copied);
        }
        match opened {
            Ok(link) => Ok(Worker {
                link,
                running: None,
            }),
            Err(not) => {
                // The next command makes its own connection.
                controller.disconnect(name);
                Err(not.reason)
            }
        }
    }

    /// Gives it up when it says nothing for this long, beside the time of what it was asked for [60 s].
    pub fn set_patience(&mut self, patience: Duration) {
        self.link.patience = patience;
    }

    /// True if it is gone, or was given up: it can do nothing more.
    pub fn is_lost(&self) -> bool {
        self.link.lost
    }

    /// The machine that it is on, as the program there describes it.
    ///
    /// # Errors
    /// It describes something else, or the worker is gone; for people.
    pub fn machine<T: DeserializeOwned>(&mut self) -> Result<T, String> {
        let machine = match self.link.ask(&Request::Describe, &[])? {
            (Reply::Machine, machine) => machine,
            (other, _) => return Err(self.link.strange(&other)),
        };
        serde_json::from_slice(&machine).map_err(|error| {
            let host = &self.link.host;
            format!("host {host} describes itself in words that are not known here: {error}")
        })
    }

    /// Keeps a file there.
    ///
    /// # Errors
    /// It cannot be kept, or the worker is gone; for people. So it is with the others below.
    pub fn put(&mut self, name: &str, content: &[u8]) -> Result<(), String> {
        let name = name.to_string();
        match self.link.ask(&Request::Put { name }, content)? {
            (Reply::Done, _) => Ok(()),
            (other, _) => Err(self.link.strange(&other)),
        }
    }

    /// Takes a file from there.
    pub fn take(&mut self, name: &str) -> Result<Vec<u8>, String> {
        let name = name.to_string();
        match self.link.ask(&Request::Take { name }, &[])? {
            (Reply::Done, content) => Ok(content),
            (other, _) => Err(self.link.strange(&other)),
        }
    }

    /// Lets its directory be found by another path, too.
    pub fn name_directory(&mut self, path: &Path) -> Result<(), String> {
        self.done(&Request::Name { path: path.into() })
    }

    /// A port that is free there.
    pub fn free_port(&mut self, address: IpAddr) -> Result<u16, String> {
        match self.link.ask(&Request::FreePort { address }, &[])? {
            (Reply::Port { port }, _) => Ok(port),
            (other, _) => Err(self.link.strange(&other)),
        }
    }

    /// Whether a program can be started there.
    pub fn has_program(&mut self, program: &str) -> Result<bool, String> {
        let program = program.to_string();
        match self.link.ask(&Request::Find { program }, &[])? {
            (Reply::Found(is_there), _) => Ok(is_there),
            (other, _) => Err(self.link.strange(&other)),
        }
    }

    /// Runs a program; anything but exit status 0 in time is an error.
    pub fn run(&mut self, program: Program, timeout: Nanos) -> Result<Ended, String> {
        let name = program.command.first().cloned().unwrap_or_default();
        good(&name, self.run_to_end(program, timeout)?, timeout)
    }

    /// Runs a program, however it ends.
    pub fn run_to_end(&mut self, program: Program, timeout: Nanos) -> Result<Ended, String> {
        self.run_published(program, jitterlab_live::Place::new_name(), timeout)
    }

    /// The same of a program that publishes to a place of this name.
    pub fn run_published(
        &mut self,
        program: Program,
        live: String,
        timeout: Nanos,
    ) -> Result<Ended, String> {
        self.running = Some(live.clone());
        let request = Request::Run {
            program,
            live,
            timeout,
        };
        let answer = self.link.ask(&request, &[]);
        if !self.is_lost() {
            self.running = None;
        }
        match answer? {
            (Reply::Ended(ended), _) => Ok(ended),
            (other, _) => Err(self.link.strange(&other)),
        }
    }

    /// The place of the program that it ran to its end when it was lost.
    pub fn left_behind(&self) -> Option<&str> {
        self.running.as_deref()
    }

    /// Tells what is published there to a place of this name by what is started from elsewhere, until
    /// [`Worker::unfollow`].
    pub fn follow(&mut self, live: &str) -> Result<(), String> {
        let live = live.to_string();
        self.done(&Request::Follow { live })
    }

    /// Tells the rest of that, and no more.
    pub fn unfollow(&mut self, live: &str) -> Result<(), String> {
        let live = live.to_string();
        self.done(&Request::Unfollow { live })
    }

    /// All that was published there to a place of this name whose worker was killed; nothing where nothing is known.
    pub fn left(&mut self, live: &str) -> Result<Option<Update>, String> {
        let live = live.to_string();
        match self.link.ask(&Request::Left { live }, &[])? {
            (Reply::Left(update), _) => Ok(update),
            (other, _) => Err(self.link.strange(&other)),
        }
    }

    fn done(&mut self, request: &Request) -> Result<(), String> {
        match self.link.ask(request, &[])? {
            (Reply::Done, _) => Ok(()),
            (other, _) => Err(self.link.strange(&other)),
        }
    }

    /// Finds out whether programs can be started there, on a CPU if one is named.
    pub fn try_cpu(&mut self, cpu: Option<usize>) -> Result<(), Unfit> {
        let mut start = |cpu| {
            let command = vec!["true".to_string()];
            self.run(Program { command, cpu }, PROMPT)
        };
        let Err(reason) = start(cpu) else {
            return Ok(());
        };
        let is_cpu = cpu.filter(|_| start(None).is_ok());
        let host = &self.link.host;
        Err(match is_cpu {
            Some(cpu) => Unfit::Cpu(format!(
                "host {host} cannot start programs on CPU {cpu}: {reason}; give it another `cpu`, or none"
            )),
            None => Unfit::Host(format!("host {host} cannot start programs: {reason}")),
        })
    }

    /// Starts a program; gives what [`Worker::stop`] takes.
    pub fn start_program(
        &mut self,
        program: Program,
        ready: Ready,
    ) -> Result<(u32, String), String> {
        let timeout = PROMPT;
        let request = Request::Start {
            program,
            live: jitterlab_live::Place::new_name(),
            ready,
            timeout,
        };
        match self.link.ask(&request, &[])? {
            (Reply::Started { id, line }, _) => Ok((id, line)),
            (other, _) => Err(self.link.strange(&other)),
        }
    }

    /// Starts a server of ours; gives also where it listens.
    pub fn start_server<A: DeserializeOwned>(
        &mut self,
        program: Program,
    ) -> Result<(u32, A), String> {
        let (id, line) = self.start_program(program, Ready::Line("\"listening\"".into()))?;
        let Listening { listening } = serde_json::from_str(&line)
            .map_err(|_| format!("host {}: a server said {line:?}", self.link.host))?;
        Ok((id, listening))
    }

    /// Ends a program that was started: it is asked to.
    ///
    /// # Errors
    /// The worker is gone, or the program has ended before, and not well.
    pub fn stop(&mut self, id: u32) -> Result<Ended, String> {
        let timeout = PROMPT;
        self.ended(&Request::Stop { id, timeout })
    }

    /// Ends a program that was started, and that ends by itself when its stdin is closed.
    ///
    /// # Errors
    /// As those of [`Worker::stop`].
    pub fn finish(&mut self, id: u32) -> Result<Ended, String> {
        let timeout = PROMPT;
        self.ended(&Request::Finish { id, timeout })
    }

    fn ended(&mut self, request: &Request) -> Result<Ended, String> {
        match self.link.ask(request, &[])? {
            (Reply::Ended(ended), _) => Ok(ended),
            (other, _) => Err(self.link.strange(&other)),
        }
    }
}

fn good(name: &str, ended: Ended, timeout: Nanos) -> Result<Ended, String> {
    match failure(name, &ended, timeout) {
        None => Ok(ended),
        Some(failure) => Err(failure + &last_line(&ended.stderr, &ended.stdout)),
    }
}
