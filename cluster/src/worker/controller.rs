//! The means of a controller to start its workers.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, OnceLock};

use super::copy::{self, Copied};
use crate::connections::Connections;
use crate::host::Host;
use crate::place::Place;
use crate::ssh;
use crate::trust::Trust;

/// The way that a worker at the end of ssh is started.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Way {
    /// The program there, or a copy of this one where there is none, over the connection that all commands share.
    Shared,
    /// The same over a connection of its own.
    Alone,
    /// A copy of this program whatever is there, over the shared connection.
    Copied,
}

/// The means of a controller to start its workers. It outlives them.
#[derive(Debug)]
pub struct Controller {
    own: PathBuf,
    trust: Trust,
    connections: Connections,
    copied: OnceLock<Result<Arc<Copied>, String>>,
}

impl Controller {
    /// One that is a part of the program `own`.
    pub fn new(own: PathBuf, trust: Trust) -> Self {
        Controller {
            own,
            trust,
            connections: Connections::default(),
            copied: OnceLock::new(),
        }
    }

    /// Ends the connection to a host, which may be dead: the next worker there gets another one.
    pub fn disconnect(&self, name: &str) {
        self.connections.end(name);
    }

    /// Its program as it is copied to hosts, read once.
    ///
    /// # Errors
    /// It cannot be read; for people.
    pub(super) fn copied(&self) -> Result<Arc<Copied>, String> {
        let copied = self.copied.get_or_init(|| {
            let copied = Copied::of(&self.own);
            copied
                .map(Arc::new)
                .map_err(|error| format!("cannot read {}: {error}", self.own.display()))
        });
        copied.clone()
    }

    /// The command that starts the worker of a host. `known` is the file of its keys, if some are named.
    pub(super) fn command(&self, name: &str, host: &Host, known: &Path, way: Way) -> Command {
        let mut command;
        match &host.at {
            Place::Local => {
                command = Command::new(&self.own);
            }
            Place::Netns(name) => {
                command = Command::new("ip");
                command.args(["netns", "exec", name]).arg(&self.own);
            }
            Place::Ssh(destination) => {
                command = Command::new("ssh");
                if way != Way::Alone {
                    // ssh takes the first of two values.
                    command.args(self.connections.options(name));
                }
                command.args(ssh::options(name, host, self.trust, known));
                command.args(["--", destination]);
                let Some(program) = &host.jitterlab else {
                    command.arg(copy::command(way == Way::Copied));
                    return command;
                };
                command.arg(program);
            }
        }
        command.arg("agent");
        command
    }
}
