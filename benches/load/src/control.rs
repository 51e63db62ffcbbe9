//! The messages of sender and sink, over a TCP connection beside the load: one line of JSON each
//! way at a time.

use std::io::{self, BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::transport::Network;
use nix::sys::socket::{setsockopt, sockopt};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The questions of the sender.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "lowercase", deny_unknown_fields)]
pub(crate) enum Ask {
    /// Make a place for messages to arrive at.
    Open { transport: Network, message: u64 },
    /// Say what has arrived.
    Count,
}

/// The end that messages may arrive at.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Opened {
    pub(crate) port: u16,
}

/// The messages that have arrived since the place was opened.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(crate) struct Arrived {
    pub(crate) messages: u64,
    pub(crate) bytes: u64,
}

/// A line is shorter than this; who sends a longer one is something else.
const LONGEST: u64 = 4096;
/// Characters of what something else says that are shown.
const SHOWN: usize = 40;
const PATIENCE: Duration = Duration::from_secs(5);

pub(crate) struct Line {
    stream: BufReader<TcpStream>,
}

impl Line {
    pub(crate) fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        Ok(Line {
            stream: BufReader::new(stream),
        })
    }

    /// Gives up on words that do not come, and on a listener who does not take any.
    pub(crate) fn impatient(self) -> io::Result<Self> {
        self.stream.get_ref().set_read_timeout(Some(PATIENCE))?;
        self.stream.get_ref().set_write_timeout(Some(PATIENCE))?;
        Ok(self)
    }

    /// Words may take as long as a load does from now on. The system finds out that the other machine
    /// is gone.
    pub(crate) fn be_patient(&self) -> io::Result<()> {
        let stream = self.stream.get_ref();
        setsockopt(stream, sockopt::TcpKeepIdle, &60)?;
        setsockopt(stream, sockopt::KeepAlive, &true)?;
        stream.set_read_timeout(None)
    }

    pub(crate) fn say(&mut self, what: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_string(what)?;
        line.push('\n');
        self.stream.get_mut().write_all(line.as_bytes())
    }

    /// The next line. One that is not what was to be heard is invalid data, in the words of who said it.
    pub(crate) fn hear<T: DeserializeOwned>(&mut self) -> io::Result<T> {
        let mut line = Vec::new();
        io::Read::take(&mut self.stream, LONGEST).read_until(b'\n', &mut line)?;
        if line.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        serde_json::from_slice(&line).map_err(|_| {
            let said: String = String::from_utf8_lossy(&line)
                .trim()
                .chars()
                .take(SHOWN)
                .map(|c| if c.is_control() { '\u{fffd}' } else { c })
                .collect();
            io::Error::new(io::ErrorKind::InvalidData, format!("it says `{said}`"))
        })
    }
}
