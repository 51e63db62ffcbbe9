//! The service of a server for a client.

use std::io;
use std::time::Duration;

use jitterlab_base::units::Nanos;

use crate::pace::{Pace, Patience};
use crate::transport::end::{Connection, Progress, Stream};
use crate::transport::kind::Wait;

/// A client that is silent for as long has gone, or will not mind.
const SILENCE: Duration = Duration::from_secs(10);
/// The time between two looks of a server that gets nothing: how long that has been, and whether its client is still there.
pub(crate) const LOOK: Duration = Duration::from_millis(100);

/// The next message of a client. Silence is counted from the first look on: a reading of the clock before would make an
/// answer wait.
fn next(connection: &mut impl Connection, now_ns: impl Fn() -> u64) -> io::Result<u64> {
    let mut since = None;
    loop {
        if let Some(number) = connection.receive()? {
            return Ok(number);
        }
        let now = now_ns();
        if now.saturating_sub(*since.get_or_insert(now)) > SILENCE.as_nanos() as u64 {
            return Err(io::ErrorKind::TimedOut.into());
        }
    }
}

/// Answers messages whose number leaves `rest` when divided by `every`, until the client goes.
pub(crate) fn answer(
    connection: &mut impl Connection,
    every: u32,
    rest: u32,
    now_ns: impl Fn() -> u64,
) -> io::Result<()> {
    let (every, rest) = (u64::from(every.max(1)), u64::from(rest));
    loop {
        let number = next(connection, &now_ns)?;
        if number % every == rest {
            connection.send(number)?;
        }
    }
}

/// Sends a message with each one, before that has come: the first at once, every other when the one before
/// it has come, as the client does.
pub(crate) fn exchange(
    connection: &mut impl Connection,
    now_ns: impl Fn() -> u64,
) -> io::Result<()> {
    /// Messages in a row that are made up for, at most, if they were lost on their way here.
    const MOST_LOST: u64 = 64;
    let mut sent = 1;
    connection.send(sent)?;
    loop {
        let wanted = next(connection, &now_ns)?.saturating_add(1);
        sent = sent.max(wanted.saturating_sub(MOST_LOST));
        while sent < wanted {
            sent += 1;
            connection.send(sent)?;
        }
    }
}

/// Takes a stream that is waited for in this way, and, if there is a window, sends one; until the client goes.
pub(crate) fn stream(
    stream: &mut impl Stream,
    window: Option<u32>,
    wait: Wait,
    now_ns: impl Fn() -> u64,
) -> io::Result<()> {
    /// Then the client is asked how far it is.
    const TIMEOUT: Nanos = Nanos(20_000_000);
    let mut pace = Pace::new(window.unwrap_or(0));
    let mut patience = Patience::new(TIMEOUT, wait);
    let mut silence = Patience::new(Nanos(SILENCE.as_nanos() as u64), wait);
    let mut before = Progress::default();
    loop {
        let is_sent = pace.fill(stream)?;
        let progress = stream.progress()?;
        pace.finished(&progress);
        if is_sent || progress.finished != before.finished {
            patience.renew();
        } else if progress.finished < pace.sent && patience.is_over(&now_ns) {
            stream.ask()?;
        }
        if is_sent || progress != before {
            silence.renew();
        } else if silence.is_over(&now_ns) && !stream.is_blind() {
            return Err(io::ErrorKind::TimedOut.into());
        } else {
            stream.idle(SILENCE)?;
        }
        before = progress;
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// A client that says nothing: a look takes as long as a server naps.
    struct Mute<'a>(&'a Cell<u64>);

    impl Connection for Mute<'_> {
        fn send(&mut self, _: u64) -> io::Result<()> {
            Ok(())
        }

        fn receive(&mut self) -> io::Result<Option<u64>> {
            self.0.set(self.0.get() + LOOK.as_nanos() as u64);
            Ok(None)
        }
    }

    #[test]
    fn a_client_that_says_nothing_is_left_after_a_while() {
        let time = Cell::new(5);
        let error = answer(&mut Mute(&time), 1, 0, || time.get()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        // Counted from the first look, and noticed at the first one after.
        let looks = 2 + SILENCE.as_nanos() / LOOK.as_nanos();
        assert_eq!(u128::from(time.get()), 5 + looks * LOOK.as_nanos());
    }
}
