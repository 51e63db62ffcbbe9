//! The words of a controller and its workers: a request, then its reply, each a frame. Between requests, the controller's
//! heartbeat tells that the link is alive. Between replies, the worker tells what the programs that run publish
//! ([`Reply::Live`]).
//!
//! A frame is two lengths in bytes (32 bits, least byte first), a header of JSON of the first length, and a payload of the
//! second: the content of a file, or nothing.

use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use jitterlab_base::units::Nanos;
use jitterlab_live::Update;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::ended::Ended;

/// Both ends have to speak the same.
pub const VERSION: u32 = 9;
/// A controller says something to each of its workers at least this often.
pub const HEARTBEAT: Duration = Duration::from_secs(3);
/// A worker that has heard nothing for this long has no controller any more.
pub const SILENCE: Duration = Duration::from_secs(15);
/// The error of a worker whose protocol is another one.
pub const NOT_OURS: &str = "the other end does not speak jitterlab's protocol";
const MAX_HEADER: u32 = 64 << 20;
const MAX_PAYLOAD: u32 = 1 << 30;

/// A request of a controller.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// Asks who is there.
    Hello,
    /// Asks what machine it is.
    Describe,
    /// The controller is still there. There is no reply.
    Heartbeat,
    /// Keep the payload as a file of this name in the worker's directory.
    Put {
        /// A name without directories.
        name: String,
    },
    /// Give the content of such a file, which is then removed.
    Take {
        /// A name without directories.
        name: String,
    },
    /// Let the worker's directory be found by this path, too, as long as the worker works.
    Name {
        /// The directory of another worker, on another machine.
        path: PathBuf,
    },
    /// A port that nobody listens on.
    FreePort {
        /// The address that it is free on.
        address: std::net::IpAddr,
    },
    /// Is there such a program?
    Find {
        /// The program, as the first word of a command.
        program: String,
    },
    /// Run a program to its end.
    Run {
        /// The program.
        program: Program,
        /// The name of the place that it publishes to.
        live: String,
        /// It is asked to end after this time, and killed if it does not.
        timeout: Nanos,
    },
    /// Start a program and leave it running.
    Start {
        /// The program.
        program: Program,
        /// The name of the place that it publishes to.
        live: String,
        /// When it counts as started.
        ready: Ready,
        /// It has to end if it is not ready after this time.
        timeout: Nanos,
    },
    /// Ask a program that was started to end (SIGTERM), and kill it if it does not. It fails if the
    /// program has ended by itself before, and not well.
    Stop {
        /// The number that [`Reply::Started`] gave.
        id: u32,
        /// Killed after this time.
        timeout: Nanos,
    },
    /// Tell what is published here to a place of this name, by what is started from elsewhere, as ranks are.
    Follow {
        /// The name.
        live: String,
    },
    /// Tell the rest of that, and no more.
    Unfollow {
        /// The name.
        live: String,
    },
    /// Asks what was published to a place of this name whose worker was killed.
    Left {
        /// The name.
        live: String,
    },
    /// Let a program that was started end by itself: its stdin is closed. Otherwise as [`Request::Stop`].
    Finish {
        /// The number that [`Reply::Started`] gave.
        id: u32,
        /// It is asked to end after this time, and killed if it does not.
        timeout: Nanos,
    },
}

/// A program with its arguments; it is started in the worker's directory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Program {
    /// Program and arguments; `jitterlab` is the worker's own program.
    pub command: Vec<String>,
    /// The CPU that it stays on.
    pub cpu: Option<usize>,
}

/// When a program that was started is ready.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ready {
    /// It is ready at once.
    Now,
    /// When it has printed a line in which this pattern is found, on either stream.
    Line(String),
    /// When connections to it are accepted.
    Accepts(SocketAddr),
}

/// The answers of a worker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// Answers [`Request::Hello`].
    Here {
        /// [`VERSION`].
        version: u32,
        /// The version and the build of the program there, as [`OWN_VERSION`](crate::OWN_VERSION) has them.
        jitterlab: String,
    },
    /// Answers [`Request::Describe`], with the machine as payload: JSON of the type that the program around the worker
    /// describes it by.
    Machine,
    /// Done; to [`Request::Take`] with the file as payload.
    Done,
    /// Answers [`Request::Left`] with all of it; nothing where nothing is known.
    Left(Option<Update>),
    /// Answers [`Request::FreePort`].
    Port {
        /// The port.
        port: u16,
    },
    /// Answers [`Request::Find`].
    Found(bool),
    /// Answers [`Request::Run`], [`Request::Stop`] and [`Request::Finish`].
    Ended(Ended),
    /// Answers [`Request::Start`].
    Started {
        /// The number that it is stopped by.
        id: u32,
        /// The line that it was ready with, if there was one.
        line: String,
    },
    /// It could not be done.
    Failed {
        /// Why.
        reason: String,
    },
    /// Answers no request: what a program that runs tells of itself. It may come before any other reply, at most ten times a
    /// second for a program, and the last of it before the reply that says that the program has ended.
    Live {
        /// The number that [`Reply::Started`] gives; none for the program of [`Request::Run`].
        id: Option<u32>,
        /// The news.
        news: News,
    },
}

/// The news of a program that runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum News {
    /// The updates that it has published on live pages.
    Published(Update),
    /// The line that it printed last, of one that publishes nothing.
    Said(String),
}

/// Writes a frame.
///
/// # Errors
/// It cannot be written, or is longer than a frame may be.
pub fn write(out: &mut impl Write, header: &impl Serialize, payload: &[u8]) -> io::Result<()> {
    let header = serde_json::to_vec(header)?;
    let length = |bytes: &[u8], most: u32| {
        u32::try_from(bytes.len())
            .ok()
            .filter(|&length| length <= most)
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the frame is too long"))
    };
    let mut frame = Vec::with_capacity(8 + header.len());
    frame.extend(length(&header, MAX_HEADER)?.to_le_bytes());
    frame.extend(length(payload, MAX_PAYLOAD)?.to_le_bytes());
    frame.extend(header);
    out.write_all(&frame)?;
    out.write_all(payload)?;
    out.flush()
}

/// Reads a frame; nothing if the other end has closed before one.
///
/// # Errors
/// It ends in the middle, is too long, or does not hold what is expected.
pub fn read<T: DeserializeOwned>(input: &mut impl Read) -> io::Result<Option<(T, Vec<u8>)>> {
    let mut lengths = [0; 8];
    let mut filled = 0;
    while filled < lengths.len() {
        match input.read(&mut lengths[filled..]) {
            Ok(0) if filled == 0 => return Ok(None),
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(n) => filled += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let [a, b, c, d, e, f, g, h] = lengths;
    let header = header(input, u32::from_le_bytes([a, b, c, d]))?;
    let payload = body(input, u32::from_le_bytes([e, f, g, h]), MAX_PAYLOAD)?;
    let said = serde_json::from_slice(&header).map_err(|error| unclear(&header, error))?;
    Ok(Some((said, payload)))
}

/// The message that the other end has another version of this.
pub fn other_version(version: u32) -> String {
    format!(
        "its jitterlab speaks version {version} of the workers' protocol, and this one version {VERSION}: install the same \
         jitterlab at both ends"
    )
}

/// A header that is none of ours may be one of another version.
fn unclear(header: &[u8], error: serde_json::Error) -> io::Error {
    let said: Option<serde_json::Value> = serde_json::from_slice(header).ok();
    let version = said.and_then(|said| said.pointer("/here/version")?.as_u64()?.try_into().ok());
    match version.filter(|&version| version != VERSION) {
        Some(version) => io::Error::new(io::ErrorKind::Unsupported, other_version(version)),
        None => error.into(),
    }
}

/// A few bytes before a frame shift its lengths: what they say is not waited for where no header begins.
fn header(input: &mut impl Read, length: u32) -> io::Result<Vec<u8>> {
    if length > MAX_HEADER {
        return Err(not_ours());
    }
    let mut header = body(input, length.min(1), MAX_HEADER)?;
    if !matches!(header[..], [b'{' | b'"']) {
        return Err(not_ours());
    }
    header.extend(body(input, length - 1, MAX_HEADER)?);
    Ok(header)
}

fn not_ours() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, NOT_OURS)
}

/// Grows with what really comes: a length alone takes no memory.
fn body(input: &mut impl Read, length: u32, most: u32) -> io::Result<Vec<u8>> {
    if length > most {
        return Err(not_ours());
    }
    let mut bytes = Vec::new();
    input.take(u64::from(length)).read_to_end(&mut bytes)?;
    if bytes.len() < length as usize {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn frames_are_read_as_written_and_cut_frames_are_refused(
            name in ".{0,20}", payload in proptest::collection::vec(any::<u8>(), 0..200), cut in any::<prop::sample::Index>()
        ) {
            let request = Request::Put { name };
            let mut bytes = Vec::new();
            write(&mut bytes, &request, &payload).unwrap();
            let whole = read::<Request>(&mut &bytes[..]).unwrap();
            prop_assert_eq!(whole, Some((request, payload)));
            let cut = cut.index(bytes.len());
            let part = read::<Request>(&mut &bytes[..cut]);
            if cut == 0 {
                prop_assert!(part.unwrap().is_none());
            } else {
                prop_assert!(part.is_err());
            }
        }

        #[test]
        fn noise_never_makes_the_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let _ = read::<Request>(&mut &bytes[..]);
        }
    }

    #[test]
    fn a_few_bytes_before_a_frame_are_not_waited_for() {
        /// Like the end of a link that stays open.
        struct Silent<'a>(&'a [u8]);

        impl Read for Silent<'_> {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                match self.0.read(buffer)? {
                    0 => panic!("it waits for more"),
                    n => Ok(n),
                }
            }
        }

        for size in [0, 1_000, 100_000] {
            for noise in [
                "h", "hi", "hi\n", "\n", "\0", "\0\0\0", "\x1b[m", "hello\n", "welcome",
            ] {
                let mut bytes = noise.as_bytes().to_vec();
                let name = "x".repeat(size);
                write(&mut bytes, &Request::Put { name }, &[]).unwrap();
                let error = read::<Request>(&mut Silent(&bytes)).unwrap_err();
                assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{noise:?} {size}");
            }
        }
    }

    #[test]
    fn another_version_is_said_whatever_else_it_says() {
        let mut bytes = Vec::new();
        let said = serde_json::json!({"here": {"version": 2, "machine": "m"}});
        write(&mut bytes, &said, &[]).unwrap();
        let error = read::<Reply>(&mut &bytes[..]).unwrap_err().to_string();
        assert!(
            error.contains("version 2 of the workers' protocol"),
            "{error}"
        );
    }

    #[test]
    fn what_is_no_frame_is_refused_before_memory_is_taken() {
        let error = read::<Request>(&mut &b"GET / HTTP/1.1\r\n\r\n"[..]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }
}
