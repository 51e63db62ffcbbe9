//! The loop that notices when its CPU is taken away, one thread a CPU.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Builder, ScopedJoinHandle};
use std::time::Duration;

use jitterlab_base::clock::Clock;
use jitterlab_base::units::Nanos;
use nix::sys::resource::{UsageWho, getrusage};

use super::affinity::pin;
use super::error::Error;
use super::record::Record;
use crate::cpus::{Cpu, CpuSet};

/// Spinning threads, one on each CPU, all from one moment to another.
#[derive(Debug, Clone)]
pub struct Probe {
    /// The CPUs.
    pub cpus: CpuSet,
    /// The duration.
    pub duration: Nanos,
    /// A longer time between two readings is a gap.
    pub threshold: Nanos,
    /// The number of equal intervals that the run is divided into; at least 1.
    pub intervals: usize,
    /// The number of gaps of a CPU that are kept one by one.
    pub kept: usize,
}

/// The findings of one thread. Times are readings of [`Clock::global`] and their differences.
#[derive(Debug, Clone)]
pub struct Spun {
    /// The CPU that it ran on.
    pub cpu: Cpu,
    /// When all began. The first gap of a thread that came late begins here.
    pub begin: u64,
    /// The last reading.
    pub end: u64,
    /// The number of readings of the clock in between.
    pub iterations: u64,
    /// The gaps.
    pub record: Record,
    /// The kernel's counts for the thread.
    pub thread: ThreadCounts,
}

/// The kernel's counts for a thread, from before its loop to after it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ThreadCounts {
    /// Times that another thread was put in its place.
    pub involuntary_switches: u64,
    /// Times that it gave up the CPU; while it spins, it does not.
    pub voluntary_switches: u64,
    /// Page faults. Its memory was touched before, so these are pages that the kernel took away.
    pub page_faults: u64,
}

/// The time from telling the threads when to begin to the beginning: each of them has to be woken first.
const RUN_UP: Nanos = Nanos(10_000_000);
/// So long before the beginning they wake up again. Until then they leave their CPUs to the thread that has the
/// others still to tell.
const AWAKE: Nanos = Nanos(1_000_000);

impl Probe {
    /// Runs it. `prepared` is called when each thread is on its CPU and has its memory, before they
    /// are told when to begin: what is counted over the run is read there.
    ///
    /// # Errors
    /// A thread cannot be started or kept on its CPU.
    pub fn run<T>(&self, prepared: impl FnOnce() -> T) -> Result<(T, Vec<Spun>), Error> {
        let clock = Clock::global();
        std::thread::scope(|scope| {
            // A thread whose channel is closed, because another could not be started, ends.
            let mut spinners = Vec::new();
            for cpu in self.cpus.iter() {
                let (ready, is_ready) = sync_channel(1);
                let (tell, told) = sync_channel(1);
                let thread = Builder::new()
                    .name(format!("noise/{cpu}"))
                    .spawn_scoped(scope, move || self.spin_on(cpu, &ready, &told))
                    .map_err(|source| Error::Thread { cpu, source })?;
                spinners.push((tell, is_ready, thread));
            }
            for (_, is_ready, _) in &spinners {
                // No answer is a thread that panicked: joining it says so.
                is_ready.recv().unwrap_or(Ok(()))?;
            }
            let before = prepared();
            let begin = clock.now() + clock.ns_to_ticks(RUN_UP.0);
            let mut threads = Vec::new();
            for (tell, _, thread) in spinners {
                let _ = tell.send(begin);
                threads.push(thread);
            }
            Ok((before, threads.into_iter().filter_map(join).collect()))
        })
    }

    /// The life of a thread; `None` if it was not told to begin.
    fn spin_on(
        &self,
        cpu: Cpu,
        ready: &SyncSender<Result<(), Error>>,
        told: &Receiver<u64>,
    ) -> Option<Spun> {
        let clock = Clock::global();
        let pinned = pin(cpu);
        let width = clock.ns_to_ticks(self.duration.0) / self.intervals.max(1) as u64;
        let mut record = Record::new(clock, width, self.intervals, self.kept);
        record.publish(jitterlab_live::publisher());
        let _ = ready.send(pinned);
        let begin = told.recv().ok()?;
        record.begin_at(begin);
        let left = clock.ticks_to_ns(begin.saturating_sub(clock.now()));
        std::thread::sleep(Duration::from_nanos(left.saturating_sub(AWAKE.0)));
        let before = thread_counts();
        clock.wait_until(begin);
        let (iterations, end) = spin_on_clock(
            clock,
            begin,
            begin + clock.ns_to_ticks(self.duration.0),
            clock.ns_to_ticks(self.threshold.0),
            &mut record,
        );
        let after = thread_counts();
        Some(Spun {
            cpu,
            begin,
            end,
            iterations,
            record,
            thread: ThreadCounts {
                involuntary_switches: after.involuntary_switches - before.involuntary_switches,
                voluntary_switches: after.voluntary_switches - before.voluntary_switches,
                page_faults: after.page_faults - before.page_faults,
            },
        })
    }
}

fn join(thread: ScopedJoinHandle<'_, Option<Spun>>) -> Option<Spun> {
    thread
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// The counts of the calling thread since it began. The call cannot fail for the thread itself.
fn thread_counts() -> ThreadCounts {
    let Ok(usage) = getrusage(UsageWho::RUSAGE_THREAD) else {
        return ThreadCounts::default();
    };
    ThreadCounts {
        involuntary_switches: usage.involuntary_context_switches() as u64,
        voluntary_switches: usage.voluntary_context_switches() as u64,
        page_faults: (usage.minor_page_faults() + usage.major_page_faults()) as u64,
    }
}

/// Reads until a reading is at or past `end`, and writes down every difference of two readings
/// above `threshold`; `begin` counts as the first reading. Gives the number of readings and the
/// last one.
///
/// Writing a gap down takes time as well; that time is part of the next difference, so that nothing
/// goes by unseen.
#[inline(always)]
fn spin(
    read: impl Fn() -> u64,
    begin: u64,
    end: u64,
    threshold: u64,
    record: &mut Record,
) -> (u64, u64) {
    let mut last = begin;
    let mut iterations = 0;
    while last < end {
        let now = read();
        // Counters of different CPUs may disagree by a few ticks; then nothing has passed.
        let length = now.saturating_sub(last);
        if length > threshold {
            record.push(last, length);
        }
        last = now;
        iterations += 1;
    }
    record.close();
    (iterations, last)
}

/// The loop, compiled once: what is timed by [`iteration_ns`] is what runs. The clock is copied, so that the
/// loop reads no memory.
#[inline(never)]
fn spin_on_clock(
    clock: &Clock,
    begin: u64,
    end: u64,
    threshold: u64,
    record: &mut Record,
) -> (u64, u64) {
    let clock = clock.clone();
    spin(|| clock.now(), begin, end, threshold, record)
}

/// The time of an iteration of the loop where nothing disturbs it, in nanoseconds: the least mean
/// of several batches, on whatever CPU the caller is.
pub fn iteration_ns() -> f64 {
    const BATCHES: usize = 64;
    const NS: u64 = 20_000;
    const NEVER: u64 = u64::MAX;
    let clock = Clock::global();
    let mut record = Record::new(clock, 1, 0, 0);
    (0..BATCHES)
        .map(|_| {
            let begin = clock.now();
            let end = begin + clock.ns_to_ticks(NS);
            let (iterations, last) = spin_on_clock(clock, begin, end, NEVER, &mut record);
            clock.ticks_to_ns_f64(last - begin) / iterations as f64
        })
        .fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::record::Gap;
    use std::cell::Cell;

    /// A clock that passes 20 ns a reading, and is taken away for 20 us 100 times a second.
    #[test]
    fn a_known_disturbance_is_found_with_its_count_and_duration() {
        let clock = Clock::monotonic();
        let now = Cell::new(5_000u64);
        let begin = now.get();
        let next = Cell::new(begin + 3_000_000);
        let read = || {
            now.set(now.get() + 20);
            if now.get() >= next.get() {
                now.set(now.get() + 20_000);
                next.set(next.get() + 10_000_000);
            }
            now.get()
        };
        let second = 1_000_000_000;
        let mut record = Record::new(&clock, second / 20, 20, 1_000);
        record.begin_at(begin);
        let (iterations, end) = spin(read, begin, begin + second, 200, &mut record);
        assert_eq!(record.count(), 100);
        assert!(record.gaps().iter().all(|gap| gap.length == 20_020));
        assert_eq!(end, begin + second);
        assert_eq!(iterations, (second - 100 * 20_000) / 20);
        assert_eq!(
            record.gaps()[0],
            Gap {
                start: begin + 3_000_000 - 20,
                length: 20_020
            }
        );
        assert!(record.intervals().iter().all(|interval| interval.gaps == 5));
    }

    #[test]
    fn neither_the_threshold_itself_nor_a_step_back_is_a_gap() {
        let readings = [110, 310, 300, 500, 701, 710, 1_000];
        let next = Cell::new(0);
        let read = || {
            next.set(next.get() + 1);
            readings[next.get() - 1]
        };
        let mut record = Record::new(&Clock::monotonic(), 1_000, 1, 8);
        record.begin_at(100);
        let (iterations, last) = spin(read, 100, 900, 200, &mut record);
        assert_eq!((iterations, last), (7, 1_000));
        let found: Vec<(u64, u64)> = record.gaps().iter().map(|g| (g.start, g.length)).collect();
        assert_eq!(found, [(500, 201), (710, 290)]);
    }
}
