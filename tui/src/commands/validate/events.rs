//! `--events`: what happens, a JSON object a line, for whoever looks on.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use jitterlab_experiment::validate::{Event, Validation};
use serde_json::{Value, json};

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
        let line = match event {
            Event::Begins {
                hosts,
                measurements,
            } => json!({
                "event": "begins", "pid": std::process::id(), "hosts": hosts, "measurements": measurements,
            }),
            Event::Run(run) => json!({"event": "run", "run": run}),
            Event::Lost(lost) => json!({"event": "lost", "lost": lost}),
            Event::Failed(failed) => json!({"event": "failed", "failed": failed}),
            Event::Measured { done, of } => json!({"event": "measured", "done": done, "of": of}),
        };
        let _ = self.add(&line);
    }

    /// Adds what was found.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn end(&mut self, validation: &Validation) -> Result<(), Failure> {
        self.add(&json!({"event": "ends", "validation": validation}))
    }

    fn add(&mut self, line: &Value) -> Result<(), Failure> {
        let Some((path, file)) = &mut self.0 else {
            return Ok(());
        };
        // A line is one write: who looks on sees whole ones.
        let written = file.write_all(format!("{line}\n").as_bytes());
        written.map_err(|error| cannot_write(path, &error))
    }
}

fn cannot_write(path: &Path, error: &std::io::Error) -> Failure {
    Failure::input(format!("cannot write {}: {error}", path.display()))
}
