//! When the next message of a stream is sent, and what is done when none can be.

use std::io;

use jitterlab_base::units::Nanos;

use crate::transport::end::{Progress, Stream};
use crate::transport::kind::Wait;

/// The paper's rule for a window of Q (interconnect-microbenchmarks, "Latency and bandwidth"): messages are
/// sent until Q of them are under way; then half as many have to be finished before the next one.
#[derive(Debug)]
pub struct Pace {
    window: u64,
    pub sent: u64,
    finished: u64,
    /// Finished when the last half window was.
    marked: u64,
    is_filling: bool,
}

impl Pace {
    pub fn new(window: u32) -> Self {
        Pace {
            window: window.into(),
            sent: 0,
            finished: 0,
            marked: 0,
            is_filling: true,
        }
    }

    /// Half the window, in messages.
    pub fn half(&self) -> u64 {
        (self.window / 2).max(1)
    }

    fn under_way(&self) -> u64 {
        self.sent.saturating_sub(self.finished)
    }

    /// Sends until the window is full or there is no room; whether anything was sent.
    #[inline]
    pub fn fill(&mut self, stream: &mut (impl Stream + ?Sized)) -> io::Result<bool> {
        let before = self.sent;
        while self.is_filling {
            if self.under_way() >= self.window {
                self.is_filling = false;
            } else if stream.send()? {
                self.sent += 1;
            } else {
                // There may never be room for a whole window.
                break;
            }
        }
        Ok(self.sent > before)
    }

    /// So much is finished; whether another half window is.
    #[inline]
    pub fn finished(&mut self, progress: &Progress) -> bool {
        self.finished = progress.finished;
        self.is_filling |= self.under_way() <= self.window / 2;
        let is_half = self.finished - self.marked >= self.half();
        if is_half {
            self.marked = self.finished;
        }
        is_half
    }
}

/// The time that an end goes on when none of its messages is finished.
#[derive(Debug)]
pub struct Patience {
    timeout: Nanos,
    wait: Wait,
    looks: u32,
    since: Option<u64>,
    /// Questions since something was finished.
    pub asked: u64,
}

impl Patience {
    pub fn new(timeout: Nanos, wait: Wait) -> Self {
        Patience {
            timeout,
            wait,
            looks: 0,
            since: None,
            asked: 0,
        }
    }

    /// Something was finished, or sent.
    #[inline]
    pub fn renew(&mut self) {
        self.since = None;
        self.asked = 0;
    }

    /// No message came: is it time to ask the other end? It is again after each further timeout. `now_ns` reads the time
    /// since any moment, the same at each call.
    #[inline]
    pub fn is_over(&mut self, now_ns: impl FnOnce() -> u64) -> bool {
        /// The clock is read once for so many looks: each reading makes what comes wait.
        const LOOKS: u32 = 1024;
        self.looks = self.looks.wrapping_add(1);
        if self.wait == Wait::Poll && !self.looks.is_multiple_of(LOOKS) {
            return false;
        }
        let now = now_ns();
        let waited = now - *self.since.get_or_insert(now);
        let is_over = waited >= self.timeout.0.saturating_mul(self.asked + 1);
        self.asked += u64::from(is_over);
        is_over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patience_is_over_at_each_further_timeout() {
        let mut patience = Patience::new(Nanos(10), Wait::Block);
        let times = [100, 105, 110, 111, 119, 120, 129, 130];
        let over = times.map(|now| patience.is_over(|| now));
        assert_eq!(over, [false, false, true, false, false, true, false, true]);
        assert_eq!(patience.asked, 3);
        patience.renew();
        assert_eq!(
            [131, 140, 141].map(|now| patience.is_over(|| now)),
            [false, false, true]
        );
    }

    #[test]
    fn who_polls_reads_the_clock_once_for_many_looks() {
        let mut patience = Patience::new(Nanos(10), Wait::Poll);
        let mut readings = 0;
        let mut over = 0;
        for look in 0..4 * 1024 {
            over += u64::from(patience.is_over(|| {
                readings += 1;
                look
            }));
        }
        assert_eq!((readings, over), (4, 3));
    }
}
