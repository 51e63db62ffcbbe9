//! The probe on this machine, and a disturbance that writes down its own truth.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use jitterlab_base::clock::Clock;
use jitterlab_base::units::Nanos;
use jitterlab_node_tuning::cpus::{Cpu, CpuSet};
use jitterlab_node_tuning::noise::affinity::{available, pin};
use jitterlab_node_tuning::noise::counters::Kind;
use jitterlab_node_tuning::noise::probe::Probe;
use jitterlab_node_tuning::noise::report::NoiseReport;
use jitterlab_node_tuning::noise::{Error, Noise};
use nix::sys::resource::{UsageWho, getrusage};

fn noise(cpus: Option<CpuSet>, ms: u64) -> Noise {
    Noise {
        cpus,
        duration: Nanos(ms * 1_000_000),
        threshold: None,
        root: Path::new("/").into(),
    }
}

fn last_cpu() -> Cpu {
    available(Path::new("/")).unwrap().last().unwrap()
}

/// Beginnings and ends of a timer thread's work on `cpu`: 100 times a second, 20 us.
fn disturb(cpu: Cpu, stop: &AtomicBool) -> Vec<(u64, u64)> {
    pin(cpu).unwrap();
    let clock = Clock::global();
    let mut times = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(10));
        let before = involuntary_switches();
        let begin = clock.now();
        let end = clock.wait_until(begin + clock.ns_to_ticks(20_000));
        // One that had to leave the CPU in the middle is two, with the probe between them.
        if involuntary_switches() == before {
            times.push((begin, end));
        }
    }
    times
}

/// How often the calling thread had to leave its CPU.
fn involuntary_switches() -> i64 {
    let usage = getrusage(UsageWho::RUSAGE_THREAD).unwrap();
    usage.involuntary_context_switches()
}

#[test]
fn every_disturbance_is_inside_a_gap() {
    let cpu = last_cpu();
    let probe = Probe {
        cpus: CpuSet::from_iter([cpu]),
        duration: Nanos(1_500_000_000),
        threshold: Nanos(2_000),
        intervals: 20,
        kept: 100_000,
    };
    let stop = AtomicBool::new(false);
    let (spun, truth) = std::thread::scope(|scope| {
        let disturbance = scope.spawn(|| disturb(cpu, &stop));
        let spun = probe.run(|| ());
        stop.store(true, Ordering::Relaxed);
        (spun.unwrap().1.remove(0), disturbance.join().unwrap())
    });
    let during = |(begin, end): &&(u64, u64)| *begin >= spun.begin && *end <= spun.end;
    let truth: Vec<&(u64, u64)> = truth.iter().filter(during).collect();
    // On a machine at rest there are about 145. The thread sleeps, so it is let in on a busy one too.
    assert!(truth.len() >= 10, "{}", truth.len());
    let gaps = spun.record.gaps();
    let holding = |(begin, end): &&(u64, u64)| {
        let place = gaps
            .partition_point(|gap| gap.start <= *begin)
            .checked_sub(1)?;
        (*end <= gaps[place].start + gaps[place].length).then_some(place)
    };
    let mut found: Vec<usize> = truth.iter().copied().filter_map(|t| holding(&t)).collect();
    assert_eq!(found.len(), truth.len());
    // For each of these gaps another thread took the place of the probe.
    found.dedup();
    assert!(found.len() as u64 <= spun.thread.involuntary_switches);
}

#[test]
fn a_report_adds_up_and_is_read_back() {
    let report = noise(None, 200).run().unwrap();
    let cpus: CpuSet = report.cores.iter().map(|core| core.cpu).collect();
    assert_eq!(cpus, available(Path::new("/")).unwrap());
    for core in &report.cores {
        assert!(core.observed_ns >= report.duration_ns - 1 && core.iterations > 0);
        assert_eq!(core.histogram.count(), core.gaps);
        let in_intervals: u64 = core.intervals.gaps.iter().sum();
        assert!(in_intervals <= core.gaps);
        let lost: u64 = core.recorded.lengths_ns.iter().sum();
        // Each length is rounded down.
        assert!(core.recorded.complete && core.lost_ns - lost <= core.gaps);
        assert!(
            core.recorded
                .lengths_ns
                .iter()
                .all(|&ns| ns >= report.threshold_ns - 1)
        );
        assert!(core.recorded.starts_ns.is_sorted());
        assert_eq!(
            core.longest_ns,
            core.recorded.lengths_ns.iter().copied().max().unwrap_or(0)
        );
        assert_eq!(
            core.who.explained_at_most + core.who.unexplained_at_least,
            core.gaps
        );
        // No CPU goes 200 ms without its timer, where the kernel lets us see it.
        let interrupts = core.who.counts.iter().filter(|c| c.kind == Kind::Interrupt);
        assert!(interrupts.count() > 0 || !report.not_counted.is_empty());
    }
    let text = serde_json::to_string(&report).unwrap();
    let read: NoiseReport = serde_json::from_str(&text).unwrap();
    for (written, read) in report.cores.iter().zip(&read.cores) {
        assert_eq!(written.recorded, read.recorded);
        assert_eq!(written.intervals, read.intervals);
        assert_eq!(written.who, read.who);
    }
}

#[test]
fn what_cannot_be_measured_is_refused() {
    let refused = |noise: Noise| noise.run().unwrap_err();
    let cpus = |text: &str| Some(text.parse().unwrap());
    assert!(matches!(refused(noise(cpus(""), 20)), Error::NoCpu { .. }));
    let missing = refused(noise(cpus("60000"), 20));
    assert!(
        missing
            .to_string()
            .starts_with("CPU 60000 cannot be measured: this process can run on ")
    );
    for ms in [9, 86_400_001] {
        assert!(matches!(refused(noise(None, ms)), Error::Duration));
    }
    let fine = Noise {
        threshold: Some(Nanos(1)),
        ..noise(None, 20)
    };
    assert!(matches!(refused(fine), Error::Threshold { .. }));
}

#[test]
fn a_kernel_that_counts_nothing_is_measured_all_the_same() {
    let root = tempfile::tempdir().unwrap();
    let online = root.path().join("sys/devices/system/cpu");
    std::fs::create_dir_all(&online).unwrap();
    std::fs::write(online.join("online"), format!("{}\n", last_cpu())).unwrap();
    let report = Noise {
        root: root.path().into(),
        ..noise(None, 20)
    }
    .run()
    .unwrap();
    assert_eq!(report.cores.len(), 1);
    assert_eq!(report.cores[0].who.counts, []);
    // interrupts, softirqs, schedstat and stat.
    assert_eq!(report.not_counted.len(), 4);
}
