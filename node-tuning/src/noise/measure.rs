use std::path::{Path, PathBuf};

use jitterlab_base::clock::Clock;
use jitterlab_base::units::Nanos;

use super::affinity::available;
use super::counters::Snapshot;
use super::error::Error;
use super::probe::{Probe, iteration_ns};
use super::record::KEPT;
use super::report::{Core, NoiseReport};
use crate::cpus::CpuSet;

/// A measurement of noise: one spinning thread a CPU, and what the kernel counted meanwhile.
#[derive(Debug, Clone)]
pub struct Noise {
    /// The CPUs; all that this process can run on, if it is not said.
    pub cpus: Option<CpuSet>,
    /// The duration: 10 ms to a day.
    pub duration: Nanos,
    /// A longer time between two readings of the clock is a gap; see [`default_threshold`] if it is
    /// not said.
    pub threshold: Option<Nanos>,
    /// The directory with /proc and /sys: `/`, except in tests.
    pub root: PathBuf,
}

/// The threshold where none is given: 300 ns, or four iterations of the loop where that is more.
///
/// An access that misses every cache takes about 100 ns, 150 ns where the memory is another package's, and
/// 200 ns where the hypervisor's page tables have to be walked as well; a sibling on the same core
/// doubles an iteration. An interrupt takes half a microsecond and more, with the way into the kernel and back. So
/// what is above is the CPU being away, and all of that is above.
pub fn default_threshold(iteration_ns: f64) -> Nanos {
    Nanos(300.max((4.0 * iteration_ns).ceil() as u64))
}

/// A threshold below two iterations would find the loop itself.
fn least_threshold(iteration_ns: f64) -> Nanos {
    Nanos((2.0 * iteration_ns).ceil() as u64)
}

const SHORTEST: Nanos = Nanos(10_000_000);
const LONGEST: Nanos = Nanos(24 * 3_600 * 1_000_000_000);

/// Intervals of a run of 1 to 500 s are 50 ms long: with a tick of 250 Hz each holds a dozen gaps,
/// and a run of 10 s has 200 of them to test with. Shorter runs have 20 intervals, longer ones
/// 10,000.
fn intervals(duration: Nanos) -> usize {
    const INTERVAL: u64 = 50_000_000;
    (duration.0 / INTERVAL).clamp(20, 10_000) as usize
}

impl Noise {
    /// Measures. The kernel's tracers are not asked: see [`super::tracers::run`].
    ///
    /// # Errors
    /// A CPU is not available, the duration or the threshold is out of range, or a thread cannot be
    /// started. Counters that are not there are named in the report.
    pub fn run(&self) -> Result<NoiseReport, Error> {
        let cpus = self.chosen()?;
        if !(SHORTEST..=LONGEST).contains(&self.duration) {
            return Err(Error::Duration);
        }
        let clock = Clock::global();
        let iteration_ns = iteration_ns();
        let threshold = self
            .threshold
            .unwrap_or_else(|| default_threshold(iteration_ns));
        let least = least_threshold(iteration_ns);
        if threshold < least {
            return Err(Error::Threshold {
                threshold_ns: threshold.0,
                iteration_ns,
                least_ns: least.0,
            });
        }
        let intervals = intervals(self.duration);
        let probe = Probe {
            cpus: cpus.clone(),
            duration: self.duration,
            threshold,
            intervals,
            kept: KEPT,
        };
        let (before, spun) = probe.run(|| Snapshot::read(&self.root, &cpus))?;
        let after = Snapshot::read(&self.root, &cpus);
        let core = |spun| Core::of(spun, clock, after.since(&before, spun.cpu));
        Ok(NoiseReport {
            host: host(),
            kernel: kernel(&self.root),
            clock: clock.source(),
            iteration_ns,
            threshold_ns: threshold.0,
            duration_ns: self.duration.0,
            interval_ns: self.duration.0 / intervals as u64,
            cores: spun.iter().map(core).collect(),
            not_counted: after.unavailable,
            tracers: None,
        })
    }

    /// The CPUs that it measures.
    ///
    /// # Errors
    /// One of them is not available, or there is none.
    pub fn chosen(&self) -> Result<CpuSet, Error> {
        let available = available(&self.root)?;
        let Some(cpus) = &self.cpus else {
            return Ok(available);
        };
        let missing = cpus.without(&available);
        if cpus.is_empty() {
            return Err(Error::NoCpu { available });
        }
        if !missing.is_empty() {
            return Err(Error::NotAvailable { missing, available });
        }
        Ok(cpus.clone())
    }
}

fn host() -> String {
    let name = nix::unistd::gethostname().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

fn kernel(root: &Path) -> String {
    let release = std::fs::read_to_string(root.join("proc/sys/kernel/osrelease"));
    release.unwrap_or_default().trim().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_clock_raises_the_threshold() {
        assert_eq!(default_threshold(12.3), Nanos(300));
        assert_eq!(default_threshold(90.0), Nanos(360));
    }

    #[test]
    fn a_run_is_divided_into_intervals_of_50_ms() {
        let of = |seconds: f64| intervals(Nanos((seconds * 1e9) as u64));
        assert_eq!(
            [0.01, 1.0, 10.0, 500.0, 86_400.0].map(of),
            [20, 20, 200, 10_000, 10_000]
        );
    }
}
