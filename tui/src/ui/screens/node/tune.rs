//! Settings that are applied and reverted: by the command that a person would type, as a process of its own, which outlives
//! the UI.

use std::path::PathBuf;

use jitterlab_base::named;
use jitterlab_base::show::printable;

use crate::ui::action::{News, Said, Task};
use crate::ui::detached::Detached;

/// The change that is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// The plan is put into force.
    Apply,
    /// Old values are restored.
    Revert,
}

named!(Verb, Apply => "apply", Revert => "revert");

/// Does it.
#[derive(Debug)]
pub struct Tune {
    /// The folder with `results` in it, whose `tune.log` gets every change.
    pub folder: PathBuf,
    /// The change that is made.
    pub verb: Verb,
}

/// News: settings may be others now.
#[derive(Debug)]
pub struct Tuned;

impl Task for Tune {
    fn run(self: Box<Self>, tell: &mut dyn FnMut(News)) {
        let verb = self.verb.name();
        let log = self.folder.join("results").join("tune.log");
        let started = Detached::start(&log, |program| {
            program.args(["tune", verb]);
        });
        let how = started.and_then(|it| it.wait("done, and not everything is in force"));
        let said = |how: String| {
            let log = log.display();
            printable(&format!("tune {verb}: {how}; every change is in {log}"))
        };
        tell(Box::new(Said::outcome(how.map(said).map_err(said))));
        tell(Box::new(Tuned));
    }

    fn leaves_housekeeping(&self) -> bool {
        true
    }
}
