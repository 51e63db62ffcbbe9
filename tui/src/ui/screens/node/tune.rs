//! Settings that are applied and reverted: by the command that a person would type.

use std::process::{Command, Stdio};

use jitterlab_base::named;

use crate::output::printable;
use crate::ui::action::{News, Said, Task};

/// What is done.
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
pub struct Tune(pub Verb);

/// News: settings may be others now.
#[derive(Debug)]
pub struct Tuned;

impl Task for Tune {
    fn run(self: Box<Self>, tell: &mut dyn FnMut(News)) {
        let verb = self.0.name();
        let said = match tune(verb) {
            Ok(said) => format!("tune {verb}: {said}"),
            Err(error) => format!("cannot start `jitterlab tune {verb}`: {error}"),
        };
        tell(Box::new(Said(printable(&said))));
        tell(Box::new(Tuned));
    }

    fn leaves_house(&self) -> bool {
        true
    }
}

/// What the command says at its end: the first line of its result, or its error.
fn tune(verb: &str) -> std::io::Result<String> {
    let mut command = Command::new(std::env::current_exe()?);
    let output = command.args(["tune", verb]).stdin(Stdio::null()).output()?;
    let [result, errors] = [output.stdout, output.stderr].map(|bytes| {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        text.lines().map(String::from).collect::<Vec<_>>()
    });
    let said = result.into_iter().next().or(errors.into_iter().last());
    Ok(said.unwrap_or_else(|| output.status.to_string()))
}
