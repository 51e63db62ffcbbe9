//! `--events`: what happens, a JSON object a line, for whoever looks on.

use std::borrow::Cow;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use jitterlab_experiment::validate::{Event, Validation};

use crate::outcome::Failure;

/// The file, if one is wanted.
pub struct Events(Option<(PathBuf, File)>);

impl Events {
    /// Makes the file anew.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn to(path: Option<&Path>) -> Result<Self, Failure> {
        let Some(path) = path else {
            return Ok(Events(None));
        };
        let file = File::create(path).map_err(|error| cannot_write(path, &error))?;
        Ok(Events(Some((path.into(), file))))
    }

    /// Adds what happens. A file that cannot be written any more is no reason to end what takes an hour.
    pub fn happens(&mut self, event: &Event) {
        let _ = self.add(event);
    }

    /// Adds what was found.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn end(&mut self, validation: &Validation) -> Result<(), Failure> {
        self.add(&Event::Ends {
            validation: Cow::Borrowed(validation),
        })
    }

    fn add(&mut self, event: &Event) -> Result<(), Failure> {
        let Some((path, file)) = &mut self.0 else {
            return Ok(());
        };
        let mut line = serde_json::to_vec(event).map_err(Failure::run)?;
        line.push(b'\n');
        // A line is one write: who looks on sees whole ones.
        let written = file.write_all(&line);
        written.map_err(|error| cannot_write(path, &error))
    }
}

fn cannot_write(path: &Path, error: &std::io::Error) -> Failure {
    Failure::input(format!("cannot write {}: {error}", path.display()))
}
