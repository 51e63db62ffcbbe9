//! The sources of `node.yaml`.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use jitterlab_base::yaml::FileError;
use jitterlab_node_tuning::boot::Parameters;

use crate::command::{self, Error, of_file};
use crate::network;
use crate::node_file::NodeFile;
use crate::volume::{self, Access, Volume};

/// The kernel parameter that says where.
pub const PARAMETER: &str = "jitterlab.config";
/// Its name on a volume.
const FILE: &str = "node.yaml";
/// The time that an address is asked, with what the network takes to come up: a switch may be silent for a minute, and a
/// server be started with the nodes.
const PATIENCE: Duration = Duration::from_secs(120);
/// Between two attempts.
const PAUSE: Duration = Duration::from_secs(2);

/// The source that the kernel's command line names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A file of this system.
    Path(PathBuf),
    /// `node.yaml` on the volume of this label.
    Label(String),
    /// The answer of http(s) at this address.
    Address(String),
    /// Nothing was said: the volume JITTERLAB has it, if there is one, or else the defaults hold.
    Default,
}

impl Source {
    /// The source in a command line: the last word counts.
    pub fn of(parameters: &Parameters) -> Self {
        let value = parameters
            .last(PARAMETER)
            .and_then(|parameter| parameter.value.as_deref());
        match value {
            None | Some("") => Source::Default,
            Some(path) if path.starts_with('/') => Source::Path(path.into()),
            Some(address) if is_address(address) => Source::Address(address.into()),
            Some(label) => Source::Label(label.into()),
        }
    }

    /// The text of the file, and what to call it; nothing where nothing was asked for and nothing is there. The volume that
    /// it is found on is the `volume`, where there is no other. What the kernel before this one has `fetched` is not fetched
    /// again: what it was started with comes of that.
    ///
    /// # Errors
    /// What was asked for is not there, or cannot be read: with what to do.
    pub fn read(
        &self,
        volume: &mut Option<Volume>,
        access: Access,
        fetched: Option<String>,
    ) -> Result<Option<(String, PathBuf)>, Error> {
        match self {
            Source::Path(path) => Ok(Some((text(path)?, path.clone()))),
            Source::Label(label) => {
                let found = volume::with_label(label, access)?.ok_or_else(|| {
                    Error::Said(format!(
                        "no volume has the label {label}, which {PARAMETER} names: give a disk or partition that label \
                         (fatlabel, e2label), or change the parameter"
                    ))
                })?;
                let file = on_volume(&found);
                volume.get_or_insert(found);
                file.map(Some)
            }
            Source::Address(address) => {
                if let Some(text) = fetched {
                    return Ok(Some((text, address.into())));
                }
                let end = Instant::now() + PATIENCE;
                eprintln!("jitterlab boot: waiting for {address}, and for an address of this node");
                network::ask_everywhere(PATIENCE)?;
                let bytes = fetched_until(end, address).map_err(|error| {
                    Error::Said(format!("{PARAMETER}={address} gives nothing: {error}"))
                })?;
                let text = NodeFile::text_in(bytes, Path::new(address))
                    .map_err(|error| Error::Said(error.to_string()))?;
                Ok(Some((text, address.into())))
            }
            Source::Default => {
                let volume = volume.as_ref().filter(|volume| volume.has(FILE));
                volume.map(on_volume).transpose()
            }
        }
    }
}

fn text(path: &Path) -> Result<String, Error> {
    NodeFile::text(path).map_err(|error| match error {
        FileError::Read { source, .. } => of_file(path)(source),
        error => Error::Said(error.to_string()),
    })
}

fn on_volume(volume: &Volume) -> Result<(String, PathBuf), Error> {
    let path = volume.at.join(FILE);
    Ok((text(&path)?, path))
}

/// True if a name is an address that [`fetched`] takes.
pub fn is_address(name: &str) -> bool {
    name.starts_with("http://") || name.starts_with("https://")
}

/// The answer of http(s) at an address, as soon as somebody answers.
///
/// # Errors
/// Nobody does in time, or there is no such thing: with what to do.
pub fn fetched(address: &str) -> Result<Vec<u8>, Error> {
    fetched_until(Instant::now() + PATIENCE, address)
}

fn fetched_until(end: Instant, address: &str) -> Result<Vec<u8>, Error> {
    // A request in secret does not get its answer in the open.
    let redirected = match address.starts_with("https://") {
        true => "=https",
        false => "=http,https",
    };
    let options = [
        "--fail",
        "--silent",
        "--show-error",
        "--location",
        "--proto",
        "=http,https",
        "--proto-redir",
        redirected,
        "--max-filesize",
        "1000000",
        "--max-time",
        "10",
        "--",
        address,
    ];
    loop {
        let error = match command::bytes("curl", options) {
            Ok(bytes) => return Ok(bytes),
            Err(error) => error,
        };
        if is_refused(&error) || Instant::now() >= end {
            return Err(Error::Said(format!(
                "{}; see that the server answers and the node has an address (ip address)",
                error.why()
            )));
        }
        thread::sleep(PAUSE);
    }
}

/// True if curl was answered by somebody who has not got it. A server that says 5xx may have it in a moment: one that comes up, or
/// the one before it.
fn is_refused(error: &Error) -> bool {
    /// curl's exit status when the server answered with a status of 400 or more.
    const ANSWERED: Option<i32> = Some(22);
    const SERVER: u16 = 500;
    let Error::Failed { status, said, .. } = error else {
        return false;
    };
    // curl: (22) The requested URL returned error: 404
    let words = said.split_whitespace();
    let answer: Option<u16> = words.rev().find_map(|word| word.parse().ok());
    status.code() == ANSWERED && answer.is_none_or(|answer| answer < SERVER)
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::net::TcpListener;

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
            .read(&mut None, Access::Read, None)
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "/none/node.yaml: No such file or directory (os error 2)"
        );
        let found = Source::Default.read(&mut None, Access::Read, None);
        assert!(found.unwrap().is_none());
    }

    #[test]
    fn whatever_is_behind_the_path_is_read_or_said() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("node.yaml");
        let read = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            let found = Source::Path(path.clone()).read(&mut None, Access::Read, None);
            found
                .map(|found| found.unwrap().0)
                .map_err(|error| error.to_string())
        };
        assert_eq!(read(b"\xef\xbb\xbfranks: 2\n").unwrap(), "ranks: 2\n");
        for (bytes, said) in [
            (
                &b"\xff\xfer\0"[..],
                "node.yaml:1:1: this is UTF-16, little-endian; save it as UTF-8",
            ),
            (b"# \xe4\n", "node.yaml:1:1: not text: byte 3 is not UTF-8"),
            (
                &[b'#'; 20_000_000],
                "node.yaml:1:1: more than 524288 bytes; no node.yaml needs as many",
            ),
        ] {
            let error = read(bytes).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
        let zero = Source::Path("/dev/zero".into()).read(&mut None, Access::Read, None);
        assert!(
            zero.unwrap_err()
                .to_string()
                .contains("more than 524288 bytes")
        );
    }

    /// Answers each of these with its status line, one connection after the other; gives the address to ask.
    fn server(answers: &'static [&'static str]) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/node.yaml", listener.local_addr().unwrap());
        thread::spawn(move || {
            for answer in answers {
                let mut stream = listener.accept().unwrap().0;
                let request = BufReader::new(stream.try_clone().unwrap());
                let mut lines = request.lines().map(Result::unwrap);
                assert!(lines.any(|line| line.is_empty()));
                let length = answer.len();
                let head = "Connection: close\r\nContent-Length";
                write!(
                    stream,
                    "HTTP/1.1 {answer}\r\n{head}: {length}\r\n\r\n{answer}"
                )
                .unwrap();
            }
        });
        address
    }

    #[test]
    fn a_server_that_comes_up_is_asked_again_and_one_that_has_nothing_is_not() {
        let address = server(&["503 Service Unavailable", "200 OK"]);
        assert_eq!(fetched(&address).unwrap(), b"200 OK");
        let address = server(&["404 Not Found", "200 OK"]);
        let error = fetched(&address).unwrap_err().to_string();
        assert!(error.contains("404"), "{error}");
    }

    #[test]
    fn what_the_kernel_before_has_fetched_is_not_fetched_again() {
        let source = Source::Address("http://127.0.0.1:9/node.yaml".into());
        let found = source.read(&mut None, Access::Read, Some("ranks: 2\n".into()));
        let expected = ("ranks: 2\n".into(), "http://127.0.0.1:9/node.yaml".into());
        assert_eq!(found.unwrap(), Some(expected));
    }
}
