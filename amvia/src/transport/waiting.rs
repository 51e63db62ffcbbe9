//! Waiting where nothing wakes who waits: look again and again, and sleep in between.

use std::time::{Duration, Instant};

use super::TransportError;

/// The shortest sleep, and the longest. Each is twice as long as the one before it.
const NAPS: [Duration; 2] = [Duration::from_micros(20), Duration::from_millis(1)];

/// Looks until there is something, or until `at_most` is over.
pub(super) fn nap_until(
    at_most: Duration,
    mut is_there: impl FnMut() -> Result<bool, TransportError>,
) -> Result<(), TransportError> {
    let start = Instant::now();
    let [mut nap, longest] = NAPS;
    while !is_there()? {
        let rest = at_most.saturating_sub(start.elapsed());
        if rest.is_zero() {
            break;
        }
        std::thread::sleep(nap.min(rest));
        nap = longest.min(nap * 2);
    }
    Ok(())
}
