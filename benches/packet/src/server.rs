//! The other end of a case: what it does for a client.

use std::io::{self, Write};
use std::net::SocketAddr;

use jitterlab_injector::units::Nanos;

use crate::Error;
use crate::pace::{Pace, Patience};
use crate::transport::{Adapter, Connection, Progress, Stream, Transport, Wait};

/// Serves until the process ends. `ready` is told the address that is listened on. The adapter is for
/// transports that have one.
///
/// # Errors
/// The address cannot be listened on, there is no such adapter, or the system fails.
pub fn serve(
    transport: Transport,
    address: SocketAddr,
    adapter: &Adapter,
    ready: impl FnOnce(SocketAddr),
) -> Result<(), Error> {
    let failed = |source| Error::Listen { address, source };
    let mut listener = transport.listen(address, adapter)?;
    ready(listener.address().map_err(failed)?);
    listener.serve().map_err(failed)
}

/// What a server says on stdout when it is ready: `{"listening":"127.0.0.1:7411"}`.
///
/// # Errors
/// stdout cannot be written.
pub fn announce(address: SocketAddr) -> io::Result<()> {
    let mut out = io::stdout();
    writeln!(out, "{{\"listening\":\"{address}\"}}")?;
    out.flush()
}

/// Answers messages whose number leaves `rest` when divided by `every`, until the client goes.
pub(crate) fn answer(connection: &mut impl Connection, every: u32, rest: u32) -> io::Result<()> {
    let (every, rest) = (u64::from(every.max(1)), u64::from(rest));
    loop {
        if let Some(number) = connection.receive()?
            && number % every == rest
        {
            connection.send(number)?;
        }
    }
}

/// Sends a message with each one, before that has come: the first at once, every other when the one before
/// it has come, as the client does.
pub(crate) fn exchange(connection: &mut impl Connection) -> io::Result<()> {
    let mut next = 1;
    connection.send(next)?;
    loop {
        let Some(number) = connection.receive()? else {
            continue;
        };
        // What was lost on its way here is made up for; the client has given up waiting for the answer.
        while next <= number && number - next < MOST_LOST {
            next += 1;
            connection.send(next)?;
        }
        next = next.max(number + 1);
    }
}

/// After more losses in a row than this a client has gone.
const MOST_LOST: u64 = 64;

/// Takes a stream that is waited for in this way, and, if there is a window, sends one; until the client goes.
pub(crate) fn stream(stream: &mut impl Stream, window: Option<u32>, wait: Wait) -> io::Result<()> {
    /// Then the client is asked how far it is.
    const TIMEOUT: Nanos = Nanos(20_000_000);
    let mut pace = Pace::new(window.unwrap_or(0));
    let mut patience = Patience::new(TIMEOUT, wait);
    let mut before = Progress::default();
    loop {
        let is_sent = pace.fill(stream)?;
        let progress = stream.progress()?;
        pace.finished(&progress);
        let is_moving = is_sent || progress != before;
        if is_sent || progress.finished != before.finished {
            patience.renew();
        } else if progress.finished < pace.sent && patience.is_over() {
            stream.ask()?;
        }
        before = progress;
        if !is_moving {
            stream.idle()?;
        }
    }
}
