//! Time as the boot counts it, and waiting.

use std::thread;
use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_gettime};

/// Time since the kernel's start.
pub fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).map(Duration::from);
    now.map_or(0, |now| now.as_nanos() as u64)
}

/// Asks again and again until something is true; whether it became so in time.
pub fn wait_until(patience: Duration, is_true: impl Fn() -> bool) -> bool {
    /// Often enough to lose no time that a person would notice, seldom enough to take none.
    const PAUSE: Duration = Duration::from_millis(20);
    let start = Instant::now();
    loop {
        if is_true() {
            return true;
        }
        if start.elapsed() >= patience {
            return false;
        }
        thread::sleep(PAUSE);
    }
}
