//! The limits of both kinds of ends.

use std::io;

use jitterlab_base::ring::Damaged;

/// The lines of a ring: 256 KiB, room for three of the longest messages.
pub const LINES: usize = 4096;
/// Looks into memory before the clock is read, or the other end looked after. A look takes less time than either.
pub const ATTEMPTS: u32 = 1024;

/// A ring that is damaged, as an error of a connection.
pub fn damaged(_: Damaged) -> io::Error {
    io::ErrorKind::InvalidData.into()
}
