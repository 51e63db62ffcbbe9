//! The clock that delays are waited out with and round trips are measured by.
//!
//! On x86-64 it is the time-stamp counter where the processor says that the counter is invariant
//! (constant rate, running in every power state) and Linux has not found otherwise, or Linux keeps its own time by it, on aarch64 the
//! generic counter, elsewhere `CLOCK_MONOTONIC`. Readings are *ticks*: only differences of two readings of one clock mean
//! something, and [`Clock::ticks_to_ns`] says what.

#![allow(unsafe_code)]

use std::sync::OnceLock;
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

/// The counter that a [`Clock`] reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The time-stamp counter of x86-64.
    Tsc,
    /// The generic timer's virtual counter of aarch64.
    GenericCounter,
    /// The system's `CLOCK_MONOTONIC`, one tick a nanosecond.
    Monotonic,
}

crate::named!(Source, serde, Tsc => "tsc", GenericCounter => "generic-counter", Monotonic => "monotonic");

/// A calibrated clock.
#[derive(Debug, Clone)]
pub struct Clock {
    source: Source,
    /// Nanoseconds a tick, times 2^32.
    ns_per_tick: u64,
    /// Ticks a nanosecond, times 2^32.
    ticks_per_ns: u64,
    read_cost_ns: f64,
    resolution_ns: f64,
}

/// The time that the counter is compared with `CLOCK_MONOTONIC`. Each end of the comparison is
/// known to about 20 ns, so 2 ms give the rate to about 10 parts in a million: 0.5 ns in 50 us.
const CALIBRATION: Duration = Duration::from_millis(2);

impl Clock {
    /// The clock of this process, calibrated when it is first asked for (about 2 ms).
    pub fn global() -> &'static Clock {
        static CLOCK: OnceLock<Clock> = OnceLock::new();
        CLOCK.get_or_init(Clock::calibrate)
    }

    /// Chooses the best source of this machine and measures its rate, cost and resolution.
    pub fn calibrate() -> Clock {
        Clock::with_source(best_source())
    }

    /// The fallback, `CLOCK_MONOTONIC`, whatever the machine offers.
    pub fn monotonic() -> Clock {
        Clock::with_source(Source::Monotonic)
    }

    fn with_source(source: Source) -> Clock {
        let ns_per_tick = match source {
            Source::Monotonic => 1.0,
            Source::GenericCounter => 1e9 / counter_frequency(),
            Source::Tsc => measure_ns_per_tick(),
        };
        let mut clock = Clock {
            source,
            ns_per_tick: (ns_per_tick * 2f64.powi(32)).round() as u64,
            ticks_per_ns: (2f64.powi(32) / ns_per_tick).round() as u64,
            read_cost_ns: 0.0,
            resolution_ns: 0.0,
        };
        (clock.read_cost_ns, clock.resolution_ns) = clock.measure_reading();
        clock
    }

    /// The counter that it reads.
    pub fn source(&self) -> Source {
        self.source
    }

    /// The time one reading takes, in nanoseconds: the least mean of several batches.
    pub fn read_cost_ns(&self) -> f64 {
        self.read_cost_ns
    }

    /// The smallest step seen between two different consecutive readings, in nanoseconds. It is not
    /// less than the cost of a reading on a clock that ticks faster than it can be read.
    pub fn resolution_ns(&self) -> f64 {
        self.resolution_ns
    }

    /// A reading of the processor's counter, whatever clocks read: in ticks of a clock that [reads it](Clock::reads_counter).
    #[inline(always)]
    pub fn counter() -> u64 {
        counter()
    }

    /// True if it reads the processor's counter.
    #[inline(always)]
    pub fn reads_counter(&self) -> bool {
        self.source != Source::Monotonic
    }

    /// A reading, in ticks.
    #[inline(always)]
    pub fn now(&self) -> u64 {
        match self.source {
            Source::Monotonic => monotonic_ns(),
            Source::Tsc | Source::GenericCounter => counter(),
        }
    }

    /// A reading, in ticks, that keeps its place between the instructions before it and those after it.
    ///
    /// A processor may read its counter hundreds of instructions before or after its turn. [`now`](Clock::now) costs less, and is for
    /// what takes longer than that, or waits for something from outside; this one is for a call of some ten nanoseconds.
    #[inline(always)]
    pub fn now_in_order(&self) -> u64 {
        match self.source {
            Source::Monotonic => monotonic_ns(),
            Source::Tsc | Source::GenericCounter => {
                barrier();
                let now = counter();
                barrier();
                now
            }
        }
    }

    /// A difference of two readings in whole nanoseconds, rounded down.
    #[inline(always)]
    pub fn ticks_to_ns(&self, ticks: u64) -> u64 {
        ((u128::from(ticks) * u128::from(self.ns_per_tick)) >> 32) as u64
    }

    /// A difference of two readings in nanoseconds.
    pub fn ticks_to_ns_f64(&self, ticks: u64) -> f64 {
        ticks as f64 * (self.ns_per_tick as f64 / 2f64.powi(32))
    }

    /// Nanoseconds in ticks, rounded down.
    #[inline(always)]
    pub fn ns_to_ticks(&self, ns: u64) -> u64 {
        ((u128::from(ns) * u128::from(self.ticks_per_ns)) >> 32) as u64
    }

    /// Holds the CPU until a reading is at or past `deadline` and gives that reading.
    ///
    /// There is no `pause` in the loop on purpose: on current processors it takes 40 to 140
    /// cycles, more than the error that a delay may have.
    #[inline(always)]
    pub fn wait_until(&self, deadline: u64) -> u64 {
        loop {
            let now = self.now();
            if now >= deadline {
                return now;
            }
        }
    }

    /// Cost of a reading and the smallest step, both in nanoseconds.
    fn measure_reading(&self) -> (f64, f64) {
        const BATCHES: usize = 32;
        const READS: u64 = 64;
        let mut cost = f64::INFINITY;
        let mut step = u64::MAX;
        for _ in 0..BATCHES {
            let start = self.now();
            let mut last = start;
            for _ in 0..READS {
                let now = self.now();
                if now > last {
                    step = step.min(now - last);
                }
                last = now;
            }
            cost = cost.min(self.ticks_to_ns_f64(last - start) / READS as f64);
        }
        // A clock coarser than the whole measurement never stepped: its resolution is at least
        // as coarse as the clock that the kernel would then use.
        let step = if step == u64::MAX {
            self.ns_to_ticks(1_000_000)
        } else {
            step
        };
        (cost, self.ticks_to_ns_f64(step))
    }
}

fn monotonic_ns() -> u64 {
    // CLOCK_MONOTONIC cannot fail on Linux; a zero would only end a wait early, never hang one.
    clock_gettime(ClockId::CLOCK_MONOTONIC)
        .map(|time| time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
        .unwrap_or(0)
}

/// The rate of the counter against `CLOCK_MONOTONIC`.
fn measure_ns_per_tick() -> f64 {
    let (start_ticks, start_ns) = simultaneous_reading();
    std::thread::sleep(CALIBRATION);
    let (end_ticks, end_ns) = simultaneous_reading();
    (end_ns - start_ns) / (end_ticks - start_ticks)
}

/// A reading of the counter and of `CLOCK_MONOTONIC` at the same moment: the tightest of several
/// tries, so that a tick of the scheduler between the two does not count.
fn simultaneous_reading() -> (f64, f64) {
    (0..16)
        .map(|_| {
            let before = counter();
            let ns = monotonic_ns();
            let after = counter();
            (after - before, before, ns)
        })
        .min()
        .map(|(width, before, ns)| (before as f64 + width as f64 / 2.0, ns as f64))
        .unwrap_or_default()
}

#[cfg(target_arch = "x86_64")]
fn best_source() -> Source {
    use std::arch::x86_64::__cpuid;
    // AMD APM volume 3, appendix E.4.7; Intel SDM volume 2A, CPUID: 80000007H, EDX bit 8.
    let invariant =
        __cpuid(0x8000_0000).eax >= 0x8000_0007 && __cpuid(0x8000_0007).edx & (1 << 8) != 0;
    if is_trusted(invariant, std::path::Path::new(SOURCES)) {
        Source::Tsc
    } else {
        Source::Monotonic
    }
}

#[cfg(target_arch = "x86_64")]
const SOURCES: &str = "/sys/devices/system/clocksource/clocksource0";

/// True if the counter can be relied on. Linux keeps its own time by it only where it has not found it to change its rate,
/// to stop, or to differ between processors, and takes it off the list where it has. Emulators have such a counter that they
/// do not call invariant. A processor that does (`invariant`) goes on to do so where Linux knows better; it is
/// believed where the counter is on Linux's list, where a hypervisor's clock is in use that is made of it, and where
/// nothing is known.
#[cfg(target_arch = "x86_64")]
fn is_trusted(invariant: bool, sources: &std::path::Path) -> bool {
    let read = |name| std::fs::read_to_string(sources.join(name)).ok();
    let current = read("current_clocksource");
    let current = current.as_deref().map(str::trim_end);
    let Some(available) = read("available_clocksource").filter(|_| invariant) else {
        return current == Some("tsc") || invariant && current.is_none_or(is_made_of_it);
    };
    available.split_whitespace().any(|name| name == "tsc") || current.is_some_and(is_made_of_it)
}

/// True if a source of Linux's time is a hypervisor's that is the counter, scaled.
#[cfg(target_arch = "x86_64")]
fn is_made_of_it(current: &str) -> bool {
    current == "kvm-clock" || current == "xen" || current == "hyperv_clocksource_tsc_page"
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn counter() -> u64 {
    // SAFETY: RDTSC reads a register and touches no memory. It faults only where the process
    // has asked for that with prctl(PR_SET_TSC), as nobody does who wants to measure.
    unsafe { std::arch::x86_64::_rdtsc() }
}

/// Lets no instruction begin before all earlier ones have ended.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn barrier() {
    // SAFETY: LFENCE is there on every x86-64 and touches no memory (Intel SDM volume 2, LFENCE and RDTSC; on AMD it waits as
    // Linux sets it up to, APM volume 3, LFENCE).
    unsafe { std::arch::x86_64::_mm_lfence() }
}

#[cfg(target_arch = "x86_64")]
fn counter_frequency() -> f64 {
    1e9 / measure_ns_per_tick()
}

#[cfg(target_arch = "aarch64")]
fn best_source() -> Source {
    Source::GenericCounter
}

#[cfg(target_arch = "aarch64")]
#[inline(always)]
fn counter() -> u64 {
    let value: u64;
    // SAFETY: reads a system register that Linux leaves open to user space; no memory is touched.
    unsafe { std::arch::asm!("mrs {}, cntvct_el0", out(reg) value, options(nomem, nostack)) };
    value
}

/// Lets no instruction begin before all earlier ones have ended.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
fn barrier() {
    // SAFETY: ISB flushes the pipeline and touches no memory.
    unsafe { std::arch::asm!("isb", options(nostack)) };
}

#[cfg(target_arch = "aarch64")]
fn counter_frequency() -> f64 {
    let hertz: u64;
    // SAFETY: as for the counter itself; the firmware states the rate in this register.
    unsafe { std::arch::asm!("mrs {}, cntfrq_el0", out(reg) hertz, options(nomem, nostack)) };
    hertz as f64
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn best_source() -> Source {
    Source::Monotonic
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn counter() -> u64 {
    monotonic_ns()
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn barrier() {}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn counter_frequency() -> f64 {
    1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_system_clock() {
        for clock in [Clock::calibrate(), Clock::monotonic()] {
            let (ticks, ns) = (clock.now(), monotonic_ns());
            clock.wait_until(ticks + clock.ns_to_ticks(20_000_000));
            let ours = clock.ticks_to_ns_f64(clock.now() - ticks);
            let theirs = (monotonic_ns() - ns) as f64;
            // The two were not read at the same moment: being descheduled between them, not the
            // rate, makes this difference, so the bound is wide; a wrong unit is off by far more.
            assert!(
                (ours - theirs).abs() < 0.5 * theirs,
                "{ours} {theirs} {clock:?}"
            );
        }
    }

    #[test]
    fn ticks_and_nanoseconds_are_inverse() {
        let clock = Clock::global();
        for ns in [0, 1, 200, 50_000, 1_000_000_000, 3_600_000_000_000] {
            let back = clock.ticks_to_ns_f64(clock.ns_to_ticks(ns));
            assert!(
                (back - ns as f64).abs() <= 2.0 + ns as f64 * 1e-8,
                "{ns} {back}"
            );
        }
    }

    #[test]
    fn a_wait_never_ends_early() {
        let clock = Clock::global();
        for ns in [0, 100, 1_000, 100_000] {
            let start = clock.now();
            let deadline = start + clock.ns_to_ticks(ns);
            let end = clock.wait_until(deadline);
            assert!(end >= deadline && clock.now() >= end);
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn linux_is_asked_whether_the_counter_is_one() {
        // Invariant, the current source, those on the list, and what follows.
        let machines = [
            (true, "tsc", "tsc hpet acpi_pm", true),
            (true, "hpet", "tsc hpet acpi_pm", true),
            (true, "hpet", "hpet acpi_pm", false),
            (true, "kvm-clock", "kvm-clock acpi_pm", true),
            (
                true,
                "hyperv_clocksource_tsc_page",
                "hyperv_clocksource_tsc_page",
                true,
            ),
            (true, "acpi_pm", "kvm-clock acpi_pm", false),
            (false, "tsc", "tsc acpi_pm", true),
            (false, "acpi_pm", "tsc acpi_pm", false),
            (false, "kvm-clock", "kvm-clock tsc acpi_pm", false),
        ];
        let folder = tempfile::tempdir().unwrap();
        for (invariant, current, available, trusted) in machines {
            std::fs::write(
                folder.path().join("current_clocksource"),
                format!("{current}\n"),
            )
            .unwrap();
            std::fs::write(
                folder.path().join("available_clocksource"),
                format!("{available} \n"),
            )
            .unwrap();
            assert_eq!(
                is_trusted(invariant, folder.path()),
                trusted,
                "{invariant} {current} {available}"
            );
        }
        let nowhere = folder.path().join("nowhere");
        assert!(is_trusted(true, &nowhere) && !is_trusted(false, &nowhere));
    }
}
