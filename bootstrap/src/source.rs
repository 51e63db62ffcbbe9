//! Where `node.yaml` comes from.

use std::path::{Path, PathBuf};

use jitterlab_node_tuning::boot::Parameters;

use crate::command::{self, Error, of_file};
use crate::network;
use crate::volume::{self, Volume};

/// The kernel parameter that says where.
pub const PARAMETER: &str = "jitterlab.config";
/// Its name on a volume.
const FILE: &str = "node.yaml";
/// How long an address is asked, in seconds: once, and in all.
const PATIENCE: (&str, &str) = ("5", "15");

/// What the kernel's command line says about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A file of this system.
    Path(PathBuf),
    /// `node.yaml` on the volume of this label.
    Label(String),
    /// What http(s) gives for this address.
    Address(String),
    /// Nothing: that of the volume JITTERLAB, if there is one, or else the defaults.
    Default,
}

impl Source {
    /// What a command line says: the last word counts.
    pub fn of(parameters: &Parameters) -> Self {
        let value = parameters
            .last(PARAMETER)
            .and_then(|parameter| parameter.value.as_deref());
        match value {
            None | Some("") => Source::Default,
            Some(path) if path.starts_with('/') => Source::Path(path.into()),
            Some(address) if address.starts_with("http://") || address.starts_with("https://") => {
                Source::Address(address.into())
            }
            Some(label) => Source::Label(label.into()),
        }
    }

    /// The text of the file, and what to call it; nothing where nothing was asked for and nothing is there.
    ///
    /// # Errors
    /// What was asked for is not there, or cannot be read: with what to do.
    pub fn read(&self, volume: Option<&Volume>) -> Result<Option<(String, PathBuf)>, Error> {
        match self {
            Source::Path(path) => Ok(Some((text(path)?, path.clone()))),
            Source::Label(label) => {
                let found = volume::with_label(label).ok_or_else(|| {
                    Error::Said(format!(
                        "no volume has the label {label}, which {PARAMETER} names: give a disk or partition that label \
                         (fatlabel, e2label), or change the parameter"
                    ))
                })?;
                found.read(FILE).map(Some)
            }
            Source::Address(address) => {
                network::ask_everywhere()?;
                Ok(Some((fetched(address)?, address.into())))
            }
            Source::Default => match volume {
                Some(volume) if volume.has(FILE) => volume.read(FILE).map(Some),
                _ => Ok(None),
            },
        }
    }
}

fn text(path: &Path) -> Result<String, Error> {
    std::fs::read_to_string(path).map_err(of_file(path))
}

fn fetched(address: &str) -> Result<String, Error> {
    let options = [
        "--fail",
        "--silent",
        "--show-error",
        "--location",
        "--max-filesize",
        "1000000",
    ];
    let patience = [
        "--connect-timeout",
        PATIENCE.0,
        "--max-time",
        PATIENCE.0,
        "--retry",
        "9",
        "--retry-max-time",
        PATIENCE.1,
        "--retry-connrefused",
    ];
    let arguments = options.into_iter().chain(patience).chain(["--", address]);
    command::run("curl", arguments).map_err(|error| {
        Error::Said(format!(
            "{PARAMETER}={address} gives nothing: {error}; see that the server answers and the node has an address (ip address)"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_says_where() {
        let source = |line: &str| Source::of(&Parameters::parse(line));
        assert_eq!(source("quiet"), Source::Default);
        assert_eq!(source("jitterlab.config="), Source::Default);
        assert_eq!(
            source("jitterlab.config=/etc/n.yaml"),
            Source::Path("/etc/n.yaml".into())
        );
        assert_eq!(
            source("jitterlab.config=LAB quiet"),
            Source::Label("LAB".into())
        );
        assert_eq!(
            source("jitterlab.config=a jitterlab.config=http://h/n"),
            Source::Address("http://h/n".into())
        );
    }

    #[test]
    fn a_path_that_leads_nowhere_is_said() {
        let error = Source::Path("/none/node.yaml".into())
            .read(None)
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "/none/node.yaml: No such file or directory (os error 2)"
        );
        assert!(Source::Default.read(None).unwrap().is_none());
    }
}
