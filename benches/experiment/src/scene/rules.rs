//! The rules for names, times, sizes and lists wherever they stand in a file.

use std::fmt;

use jitterlab_base::units::{Bytes, Nanos};
use jitterlab_base::yaml::{Checked, Step, wrong};
use jitterlab_packet::Error;
use jitterlab_packet::transport::{Link, Wait};

/// The rule for names.
pub const NAME: &str =
    "a name has 1 to 40 letters a to z, digits and hyphens, and begins with a letter";

/// True if the text is a name.
pub fn is_name(text: &str) -> bool {
    text.len() <= 40
        && text.starts_with(|c: char| c.is_ascii_lowercase())
        && text
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
}

/// Refuses a time that leaves no time, or is too long.
pub fn check_timeout<'a>(timeout: Nanos, at: &[Step<'a>]) -> Checked<'a> {
    if timeout.0 == 0 {
        return wrong(at, "a timeout must be above 0");
    }
    check_time(timeout, at)
}

/// Background load lasts for a day at most, and a run with its warm-up has to end before.
pub fn check_time<'a>(time: Nanos, at: &[Step<'a>]) -> Checked<'a> {
    const MOST: Nanos = Nanos(10 * 3600 * 1_000_000_000);
    if time > MOST {
        return wrong(at, "this is longer than 10h, the longest that is allowed");
    }
    Ok(())
}

/// The position of the first that stood there before.
pub fn repeated<T: PartialEq>(list: &[T]) -> Option<usize> {
    (0..list.len()).find(|&i| list[..i].contains(&list[i]))
}

/// The problem of a size of messages over a transport.
pub fn size_problem(transport: impl fmt::Display, least: u64, most: u64) -> String {
    format!("a message over {transport} has {least} to {most} bytes")
}

/// The time that a program has.
pub fn default_timeout() -> Nanos {
    Nanos(60_000_000_000)
}

/// The problem of a link, or of measuring such messages over it: a key, and the reason.
pub fn link_problem(link: &Link, size: Bytes, wait: Wait) -> Option<(&'static str, String)> {
    let error = link.check(size.0, wait).err()?;
    Some(match error {
        Error::Size {
            transport,
            least,
            most,
            ..
        } => ("size", size_problem(transport, least, most)),
        Error::BlockingWrite => ("wait", error.to_string()),
        Error::Datagram(_) => ("verbs", error.to_string()),
        _ => ("transports", error.to_string()),
    })
}
