//! The time that something is tried before it is given up.

use std::io;
use std::time::Duration;

use jitterlab_base::clock::Clock;

/// The present time, in nanoseconds since any moment.
pub(crate) fn now_ns() -> u64 {
    let clock = Clock::global();
    clock.ticks_to_ns(clock.now())
}

/// A wait that ends after a time, counted from the first time that it is told.
#[derive(Debug)]
pub(super) struct Limit {
    timeout: Duration,
    since: Option<u64>,
}

impl Limit {
    pub fn new(timeout: Duration) -> Self {
        Limit {
            timeout,
            since: None,
        }
    }

    /// True if the wait is over at this time, in nanoseconds.
    #[inline]
    pub fn is_over(&mut self, now_ns: u64) -> bool {
        let waited = now_ns.saturating_sub(*self.since.get_or_insert(now_ns));
        u128::from(waited) >= self.timeout.as_nanos()
    }

    /// Something was done: the time begins again.
    pub fn renew(&mut self, now_ns: u64) {
        self.since = Some(now_ns);
    }
}

/// Calls `attempt` until it gives something; none where the limit is over. The time is read once for so many attempts, and not
/// before: each reading makes what comes wait.
#[inline]
pub(super) fn repeat<T>(
    attempts: u32,
    mut limit: Limit,
    now_ns: impl Fn() -> u64,
    mut attempt: impl FnMut() -> io::Result<Option<T>>,
) -> io::Result<Option<T>> {
    loop {
        for _ in 0..attempts {
            match attempt() {
                Ok(None) => {}
                outcome => return outcome,
            }
        }
        if limit.is_over(now_ns()) {
            return Ok(None);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// Makes attempts that find nothing and take 10 ns each. Gives how many of them were made until `timeout` was over, and how
    /// often the time was read.
    fn in_vain(attempts: u32, timeout: u64) -> (u64, u64) {
        let (time, readings) = (Cell::new(7), Cell::new(0));
        let now = || {
            readings.set(readings.get() + 1);
            time.get()
        };
        let came = repeat::<()>(
            attempts,
            Limit::new(Duration::from_nanos(timeout)),
            now,
            || {
                time.set(time.get() + 10);
                Ok(None)
            },
        );
        assert!(came.unwrap().is_none());
        ((time.get() - 7) / 10, readings.get())
    }

    #[test]
    fn who_finds_nothing_gives_up_when_the_time_is_over() {
        // Counted from the first reading, which follows the first attempts.
        assert_eq!(in_vain(1, 100), (11, 11));
        assert_eq!(in_vain(16, 100), (32, 2));
        assert_eq!(in_vain(16, 0), (16, 1));
    }

    #[test]
    fn what_is_found_is_given_whatever_the_time() {
        let left = Cell::new(40);
        let came = repeat(
            16,
            Limit::new(Duration::from_secs(1)),
            || 0,
            || {
                left.set(left.get() - 1);
                Ok((left.get() == 0).then_some("there"))
            },
        );
        assert_eq!(came.unwrap(), Some("there"));
    }

    #[test]
    fn the_time_begins_again_when_something_was_done() {
        let mut limit = Limit::new(Duration::from_nanos(100));
        assert!(!limit.is_over(5) && !limit.is_over(104));
        limit.renew(104);
        assert!(!limit.is_over(203) && limit.is_over(204));
    }
}
