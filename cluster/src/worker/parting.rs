//! Why a worker is gone: what it, or what was to lead to it, has said last.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::process::{ChildStderr, ExitStatus};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use crate::place::Place;
use crate::protocol::NOT_OURS;

/// Lines of stderr that are kept.
const LINES: usize = 20;
/// Characters that are kept of a line.
const WIDTH: usize = 300;
/// Bytes that are kept of the beginning of what a worker has printed.
const BEGINNING: usize = 200;

/// The output on stderr: kept until it is known whether a worker answers, and passed on from then on. Its last lines are
/// kept as well.
#[derive(Debug)]
pub struct Stderr {
    said: Arc<Mutex<Said>>,
    /// Closes at its end.
    open: Receiver<()>,
}

#[derive(Debug, Default)]
struct Said {
    lines: VecDeque<String>,
    passed_on: bool,
}

impl Stderr {
    /// Listens to it.
    pub fn of(stream: ChildStderr) -> Self {
        let said = Arc::new(Mutex::new(Said::default()));
        let (sender, open) = channel();
        let hearing = said.clone();
        thread::spawn(move || {
            let _open = sender;
            let mut stream = BufReader::new(stream);
            let mut line = Vec::new();
            // A line without an end takes no memory without end.
            while (&mut stream)
                .take(64 << 10)
                .read_until(b'\n', &mut line)
                .is_ok_and(|n| n > 0)
            {
                hearing
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .hear(&line);
                line.clear();
            }
        });
        Stderr { said, open }
    }

    /// Passes on what was said, and what will be.
    pub fn pass_on(&self) {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        said.passed_on = true;
        for line in &said.lines {
            let _ = writeln!(io::stderr(), "{line}");
        }
    }

    /// The lines that were said last, when its end has come, or this time is over.
    pub fn last(&self, patience: Duration) -> Vec<String> {
        // A program in the background there may keep it open.
        let _: Result<(), RecvTimeoutError> = self.open.recv_timeout(patience);
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        said.lines.iter().cloned().collect()
    }
}

impl Said {
    fn hear(&mut self, line: &[u8]) {
        let line = printable(line);
        if self.passed_on {
            let _ = writeln!(io::stderr(), "{line}");
        }
        if self.lines.len() == LINES {
            self.lines.pop_front();
        }
        if !line.is_empty() {
            self.lines.push_back(line);
        }
    }
}

/// A line of somebody else's as a part of a message.
fn printable(line: &[u8]) -> String {
    let line = String::from_utf8_lossy(line);
    let shown = line.trim().chars().take(WIDTH);
    shown
        .map(|c| if c.is_control() { '?' } else { c })
        .collect()
}

/// The beginning of what a worker has printed.
#[derive(Debug, Clone, Default)]
pub struct Printed(Arc<Mutex<Vec<u8>>>);

impl Printed {
    /// Passes on what is read from this stream, and keeps the beginning.
    pub fn of<R>(&self, stream: R) -> Beginning<R> {
        Beginning {
            stream,
            printed: self.clone(),
        }
    }

    /// Its first line that says something.
    pub fn line(&self) -> String {
        let bytes = self.bytes();
        let mut lines = bytes.split(|&byte| byte == b'\n').map(printable);
        lines.find(|line| !line.is_empty()).unwrap_or_default()
    }

    fn bytes(&self) -> MutexGuard<'_, Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A stream whose beginning is kept.
#[derive(Debug)]
pub struct Beginning<R> {
    stream: R,
    printed: Printed,
}

impl<R: Read> Beginning<R> {
    /// Reads until all of the beginning is there, or the stream ends.
    ///
    /// # Errors
    /// The stream cannot be read.
    pub fn read_beginning(&mut self) -> io::Result<()> {
        let mut rest = [0; BEGINNING];
        while self.printed.bytes().len() < BEGINNING && self.read(&mut rest)? > 0 {}
        Ok(())
    }
}

impl<R: Read> Read for Beginning<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.stream.read(buffer)?;
        let mut bytes = self.printed.bytes();
        let room = BEGINNING.saturating_sub(bytes.len());
        bytes.extend(&buffer[..n.min(room)]);
        Ok(n)
    }
}

/// The error of what came instead of a worker's first answer, with its first line.
pub fn noise(error: io::Error, line: &str) -> io::Error {
    match error.kind() {
        ErrorKind::InvalidData | ErrorKind::UnexpectedEof if !line.is_empty() => {
            io::Error::other(format!(
                "{NOT_OURS}: it printed \"{line}\" (the shell that starts the worker must not print to stdout: see ~/.bashrc there)"
            ))
        }
        _ => error,
    }
}

/// The cause that what was to start a worker at a place has ended with this status, with what to do, where that is known. `lines` is
/// what it said last.
pub fn cause(place: &Place, code: Option<i32>, lines: &[String]) -> Option<String> {
    if matches!(place, Place::Ssh(_)) && code == Some(255) && lines.is_empty() {
        return Some(SILENT.into());
    }
    let (line, advice) = match (place, code) {
        (Place::Ssh(_), Some(126 | 127)) => COMMAND.iter().find_map(|known| known.of(lines)),
        (Place::Ssh(_), Some(255) | None) => SSH.iter().find_map(|known| known.of(lines)),
        _ => None,
    }?;
    Some(format!("{}: {advice}", line.trim_end_matches('.')))
}

/// Why it has ended where no cause is known.
pub fn why(status: Option<ExitStatus>, lines: &[String]) -> String {
    if !lines.is_empty() {
        // The last of more lines are nearest to the end.
        return lines[lines.len().saturating_sub(3)..].join(" | ");
    }
    match status {
        Some(status) => format!("it ended without a word ({status})"),
        None => "it has said nothing".into(),
    }
}

/// A line that is known, and what to do then.
struct Known {
    part: &'static str,
    advice: &'static str,
}

impl Known {
    fn of<'l>(&self, lines: &'l [String]) -> Option<(&'l str, &'static str)> {
        let line = lines.iter().rfind(|line| line.contains(self.part))?;
        Some((line, self.advice))
    }
}

/// A shell says one of these where it cannot start the program.
const COMMAND: [Known; 3] = [
    Known {
        part: "not found",
        advice: "jitterlab is not in the PATH that a command over ssh has there: install it, or say where it is, as in \
                 `jitterlab: /opt/jitterlab/jitterlab`",
    },
    Known {
        part: "No such file or directory",
        advice: "say where jitterlab is there, as in `jitterlab: /opt/jitterlab/jitterlab`, and see that it was built for that system",
    },
    Known {
        part: "",
        advice: "see that jitterlab can be started there, and was built for that machine",
    },
];

/// An ssh that is told to log errors alone says nothing where the other end closes the connection at once.
const SILENT: &str =
    "ssh ended without a word: see that an SSH server runs there, and what `ssh -v` says";

/// The words of ssh when it does not come through: the first of these that is found is the cause of the others.
const SSH: [Known; 12] = [
    Known {
        part: " has changed and you",
        advice: "another machine may be in its place, or it was installed anew: compare its key with the one that is known; if it is \
                 its own, name that in `host_keys`, or take the old one out with `ssh-keygen -R HOST`",
    },
    Known {
        part: "Host key verification failed",
        advice: "this user does not know its key. Name the key in `host_keys`, or log in once by hand and compare it; `trust: first-use` takes \
                 the key that a host shows first",
    },
    Known {
        part: "Permission denied",
        advice: "it lets none of this user's keys in: give it the public one (ssh-copy-id; `ssh_keys` of node.yaml on the appliance), \
                 and see that the private one needs no password, or is in ssh-agent",
    },
    Known {
        part: "Too many authentication failures",
        advice: "it was offered other keys first: name the one that it lets in, with IdentityFile and IdentitiesOnly in ~/.ssh/config",
    },
    Known {
        part: "Could not resolve hostname",
        advice: "nobody knows that name: give an address, or its HostName in ~/.ssh/config",
    },
    Known {
        part: "Connection refused",
        advice: "no SSH server listens there: start it (on the appliance `ssh_keys` of node.yaml do), or give its port in ~/.ssh/config",
    },
    Known {
        part: "timed out",
        advice: "nobody answers there: see that it is on, and that no firewall is in between",
    },
    Known {
        part: "No route to host",
        advice: "nobody answers there: see that it is on, and that its address is right",
    },
    Known {
        part: "Network is unreachable",
        advice: "this machine has no way to that address",
    },
    Known {
        part: "Connection closed by",
        advice: "its SSH server wants no more connections, or not this one: its log says which",
    },
    // It went away before ssh had greeted it.
    Known {
        part: "banner exchange: Connection to",
        advice: "its SSH server wants no more connections, or not this one: its log says which",
    },
    Known {
        part: "Connection reset by",
        advice: "its SSH server wants no more connections, or not this one: its log says which",
    },
];
