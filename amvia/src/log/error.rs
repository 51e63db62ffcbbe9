//! Why a log cannot be opened or written.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use super::Shape;

/// A log that cannot be opened or written.
#[derive(Debug, Error)]
pub enum LogError {
    /// Another process has it open.
    #[error("log {path} is in use by another process; end that first", path = path.display())]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// The file is something else.
    #[error("{path} is not a log of active messages; name another file", path = path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// The file was written by another version of jitterlab.
    #[error(
        "log {path} has format {version}, and this jitterlab reads format {ours}; open it with the jitterlab that made it, or set it aside",
        path = path.display()
    )]
    Format {
        /// The file.
        path: PathBuf,
        /// Its format.
        version: u32,
        /// The format of this version.
        ours: u32,
    },
    /// The head of the file does not match its checksum.
    #[error("the head of log {path} is damaged; set it aside to begin a new one", path = path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
    },
    /// The file does not say whose the slots of a number are.
    #[error(
        "log {path} is damaged where it has peer {number}; set it aside to begin a new one",
        path = path.display()
    )]
    DamagedPeer {
        /// The file.
        path: PathBuf,
        /// The number.
        number: u32,
    },
    /// The file is shorter or longer than its head says.
    #[error(
        "log {path} has {is} bytes, but its head says {should}; set it aside to begin a new one",
        path = path.display()
    )]
    Length {
        /// The file.
        path: PathBuf,
        /// Its length in bytes.
        is: u64,
        /// The length of its shape in bytes.
        should: u64,
    },
    /// The file belongs to another endpoint.
    #[error(
        "log {path} is that of endpoint {is:016x}, not of {asked:016x}; name another file",
        path = path.display()
    )]
    OtherEndpoint {
        /// The file.
        path: PathBuf,
        /// The endpoint that it belongs to.
        is: u64,
        /// The endpoint that it should belong to.
        asked: u64,
    },
    /// The file was made with other sizes.
    #[error(
        "log {path} was made for {is_peers} peers, a window of {is_window} and payloads of {is_payload} B, not for {peers}, {window} and {payload} B; \
         open it with its own sizes, or set it aside",
        path = path.display(), is_peers = is.peers, is_window = is.window, is_payload = is.payload,
        peers = asked.peers, window = asked.window, payload = asked.payload
    )]
    OtherShape {
        /// The file.
        path: PathBuf,
        /// Its sizes.
        is: Shape,
        /// The sizes that were asked for.
        asked: Shape,
    },
    /// Others than the user can read or write the file, or it is not the user's own.
    #[error(
        "log {path} has mode {mode:03o} and belongs to user {owner}; it has to be yours and have mode 600",
        path = path.display()
    )]
    Exposed {
        /// The file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
        /// Its user.
        owner: u32,
    },
    /// Sizes out of range.
    #[error(
        "a log cannot have {peers} peers, a window of {window} and payloads of {payload} B; it takes 1 to 65,536 peers, a window of 1 to {most_window} and payloads of at most {most_payload} B",
        most_window = Shape::MOST_WINDOW, most_payload = Shape::MOST_PAYLOAD,
        peers = shape.peers, window = shape.window, payload = shape.payload
    )]
    Shape {
        /// The sizes that were asked for.
        shape: Shape,
    },
    /// The disk has no room for it.
    #[error("there is no room for log {path} of {bytes} bytes; make room or use a smaller window", path = path.display())]
    NoRoom {
        /// The file.
        path: PathBuf,
        /// The room that it takes.
        bytes: u64,
    },
    /// The system refused.
    #[error("cannot {action} log {path}", path = path.display())]
    System {
        /// The action that failed.
        action: &'static str,
        /// The file; empty for memory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A payload that is longer than the log's slots.
    #[error("a payload of {length} B does not fit into slots of {most} B")]
    TooLong {
        /// Its bytes.
        length: usize,
        /// The bytes of a slot's payload.
        most: u32,
    },
}
