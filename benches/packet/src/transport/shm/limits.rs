//! What both kinds of ends go by.

use std::io;

use jitterlab_base::ring::Damaged;

/// The lines of a ring: 256 KiB, room for three of the longest messages.
pub const LINES: usize = 4096;
/// The clock is read, or the other end looked after, once for so many looks into memory, each of which takes less time.
pub const ATTEMPTS: u32 = 1024;

/// A ring that is damaged, as an error of a connection.
pub fn damaged(_: Damaged) -> io::Error {
    io::ErrorKind::InvalidData.into()
}
