use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Tracer;
use crate::cpus::Cpu;

/// The hwlat tracer's findings on a CPU. Time passed on it while interrupts were off and nothing but the
/// tracer ran (Documentation/trace/hwlat_detector.rst). The tracer goes from CPU to CPU, a second each,
/// so a CPU that it does not name is quiet or was not visited.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hwlat {
    /// The CPU.
    pub cpu: Cpu,
    /// Seconds in which there was at least one.
    pub windows: u64,
    /// Times above the tracer's threshold (10 us, unless somebody has set another).
    pub latencies: u64,
    /// The longest, in microseconds.
    pub longest_us: u64,
}

impl Tracer for Hwlat {
    const NAME: &'static str = "hwlat";
    const TIME: Duration = Duration::from_millis(2_200);

    /// A line: `#1 inner/outer(us): 11/12 ts:1581527483.343962803 count:6`. Kernels before 5.9 have no count: one.
    fn of(cpu: Cpu, lines: &[&str]) -> Option<Self> {
        let mut sum = Hwlat {
            cpu,
            windows: 0,
            latencies: 0,
            longest_us: 0,
        };
        for line in lines {
            let (_, found) = line.split_once("inner/outer(us):")?;
            let mut words = found.split_whitespace();
            let (inner, outer) = words.next()?.split_once('/')?;
            let count = words.find_map(|word| word.strip_prefix("count:"));
            let longest = inner.parse::<u64>().ok()?.max(outer.parse().ok()?);
            sum.windows += 1;
            sum.latencies += count.map_or(Some(1), |count| count.parse().ok())?;
            sum.longest_us = sum.longest_us.max(longest);
        }
        Some(sum)
    }
}
