//! The server on a socket.

use std::convert::Infallible;
use std::io;
use std::net::UdpSocket;
use std::time::{Duration, Instant};

use super::{Counts, MESSAGE, Server};

/// The time between two reports, at least, that messages were refused.
const BETWEEN: Duration = Duration::from_secs(10);

/// Serves what comes to `socket`, for ever. `refused` is told what the server has done so far when it has refused or dropped
/// messages: at once for the first, and then at most every ten seconds.
///
/// # Errors
/// The socket cannot be read.
pub fn serve(
    socket: &UdpSocket,
    mut server: Server,
    mut refused: impl FnMut(Counts),
) -> io::Result<Infallible> {
    let start = Instant::now();
    let mut told: Option<(Duration, Counts)> = None;
    // One byte more than a message, so that what is longer is seen to be.
    let mut datagram = [0; MESSAGE + 1];
    loop {
        let (length, from) = match socket.recv_from(&mut datagram) {
            Ok(received) => received,
            // An earlier answer could not be delivered, or a signal came.
            Err(error) if is_passing(&error) => continue,
            Err(error) => return Err(error),
        };
        let now = start.elapsed();
        if let Some(answer) = server.answer(now, from, &datagram[..length]) {
            // A client that does not get it asks again.
            let _ = socket.send_to(&answer, from);
        }
        let counts = server.counts();
        let (when, before) = told.unwrap_or_default();
        let is_new = counts.dropped > before.dropped || counts.replayed > before.replayed;
        if is_new && (told.is_none() || now - when >= BETWEEN) {
            refused(counts);
            told = Some((now, counts));
        }
    }
}

fn is_passing(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionRefused, HostUnreachable, Interrupted, NetworkUnreachable};
    matches!(
        error.kind(),
        ConnectionRefused | HostUnreachable | Interrupted | NetworkUnreachable
    )
}
