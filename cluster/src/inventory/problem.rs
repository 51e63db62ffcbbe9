//! The problems of an inventory, and their places.

use std::path::{Path, PathBuf};

use jitterlab_base::yaml::{FileError, Step, locate, text_of};

/// Said of an inventory that is a program, or the settings of one.
pub const PROGRAM: &str = "an inventory that has to be run is not run here: write what it yields to a file, with \
                           `ansible-inventory -i FILE --list --yaml --output hosts.yaml`";

/// Something wrong in an inventory.
#[derive(Debug)]
pub struct Problem {
    pub at: At,
    pub says: String,
}

/// The place of something in an inventory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum At {
    /// A line, counted from 1.
    Line(usize),
    /// The keys that lead to it.
    Keys(Vec<String>),
    /// A variable in another file.
    File(PathBuf, String),
}

impl At {
    /// Something is wrong there.
    pub fn problem(&self, says: impl Into<String>) -> Problem {
        Problem {
            at: self.clone(),
            says: says.into(),
        }
    }
}

impl Problem {
    /// The same with its place in the text; `path` is for messages.
    pub fn in_text(self, text: &str, path: &Path) -> FileError {
        let find = |text: &str, keys: &[&String]| {
            let steps: Vec<Step> = keys.iter().map(|key| Step::Key(key)).collect();
            locate(text, &steps).unwrap_or((1, 1))
        };
        let (path, (line, column)) = match &self.at {
            At::Line(line) => (path, (*line, 1)),
            At::Keys(keys) => (path, find(text, &keys.iter().collect::<Vec<_>>())),
            At::File(path, variable) => {
                let text = text_of("file of variables", path).unwrap_or_default();
                (path.as_path(), find(&text, &[variable]))
            }
        };
        FileError::Content {
            path: path.into(),
            line,
            column,
            problem: self.says,
        }
    }
}
