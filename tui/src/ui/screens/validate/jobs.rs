//! Validations that are started and stopped: as processes of their own, which outlive the UI.

use std::path::{Path, PathBuf};

use jitterlab_base::show::printable;
use jitterlab_packet::transport::Transport;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::ui::action::{News, Said, Task};
use crate::ui::detached::Detached;

/// The file in which a validation of a hosts file tells what happens.
pub fn events_of(folder: &Path, hosts: &Path) -> PathBuf {
    // hosts.yaml and hosts.ini are two files.
    let name = match hosts.extension() {
        Some(ending) if ending == "yaml" => hosts.file_stem(),
        _ => hosts.file_name(),
    };
    let name = name.unwrap_or_default().to_string_lossy();
    folder
        .join("results")
        .join(format!("validate-{name}.jsonl"))
}

/// Starts a validation, and tells how it ends.
#[derive(Debug)]
pub struct Start {
    /// The folder with `results` in it.
    pub folder: PathBuf,
    /// The hosts file.
    pub hosts: PathBuf,
    /// The transport.
    pub transport: Transport,
}

impl Task for Start {
    fn run(self: Box<Self>, tell: &mut dyn FnMut(News)) {
        let events = events_of(&self.folder, &self.hosts);
        let started = Detached::start(&events.with_extension("log"), |program| {
            program.args(["validate", "--transport", self.transport.name()]);
            program
                .arg("--events")
                .arg(&events)
                .arg("--")
                .arg(&self.hosts);
        });
        let how = started.and_then(|started| started.wait("done, and some hosts do not fit"));
        let name = self.hosts.file_name().unwrap_or_default().to_string_lossy();
        let said = |how: String| printable(&format!("{name}: {how}"));
        tell(Box::new(Said::outcome(how.map(said).map_err(said))));
    }

    fn leaves_housekeeping(&self) -> bool {
        true
    }
}

/// Stops a validation, as Ctrl-C would.
#[derive(Debug)]
pub struct Stop(pub i32);

impl Task for Stop {
    fn run(self: Box<Self>, tell: &mut dyn FnMut(News)) {
        if let Err(error) = kill(Pid::from_raw(self.0), Signal::SIGINT) {
            tell(Box::new(Said::failed(format!("cannot stop it: {error}"))));
        }
    }
}
