//! The kernel's own tracers of latency, where it has them: osnoise, timerlat and hwlat.
//!
//! Each runs for a moment in a tracing instance of its own, made for it and removed after it. They
//! run with the settings that they have: changing those would change them for the whole machine.

mod hwlat;
mod osnoise;
mod timerlat;

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::cpus::{Cpu, CpuSet};
use crate::tracing::{self, Instance};

pub use hwlat::Hwlat;
pub use osnoise::Osnoise;
pub use timerlat::Timerlat;

/// The tracers' findings on the CPUs that were measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tracers {
    /// Time taken from a spinning kernel thread, by whom.
    pub osnoise: Answer<Osnoise>,
    /// The lateness of a timer's interrupt and thread.
    pub timerlat: Answer<Timerlat>,
    /// Time that passes while interrupts are off: the firmware's or the hypervisor's.
    pub hwlat: Answer<Hwlat>,
}

/// The answer of a tracer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer<T> {
    /// The measurements, one for each CPU that it said something about, ascending.
    Measured(Vec<T>),
    /// Why it could not be asked.
    NotAvailable(String),
}

/// One line of a tracer, which has been told from the others by its first words.
struct Event<'a> {
    cpu: Cpu,
    /// The text after the time stamp.
    rest: &'a str,
}

/// A tracer: how long it is given, and what its lines mean.
trait Tracer: Sized {
    /// The kernel's name for it.
    const NAME: &'static str;
    /// Long enough for two of its samples on each CPU.
    const TIME: Duration;

    /// The findings of all lines of one CPU together; `None` if a line is not one of this tracer's.
    fn of(cpu: Cpu, lines: &[&str]) -> Option<Self>;
}

/// Asks each tracer in turn, 6 s in all where there are all. `root` is `/`, except in tests.
pub fn run(root: &Path, cpus: &CpuSet) -> Tracers {
    Tracers {
        osnoise: ask(root, cpus),
        timerlat: ask(root, cpus),
        hwlat: ask(root, cpus),
    }
}

fn ask<T: Tracer>(root: &Path, cpus: &CpuSet) -> Answer<T> {
    let text = find(root, T::NAME).and_then(|tracing| trace::<T>(&tracing));
    match text.and_then(|text| read::<T>(&text, cpus)) {
        Ok(measured) => Answer::Measured(measured),
        Err(reason) => Answer::NotAvailable(reason),
    }
}

/// The tracing file system, if its kernel has the tracer.
fn find(root: &Path, name: &str) -> Result<PathBuf, String> {
    let (tracing, names) = tracing::find(root, "available_tracers")?;
    match names.split_whitespace().any(|known| known == name) {
        true => Ok(tracing),
        false => Err(format!("this kernel was built without the tracer {name}")),
    }
}

/// The trace of a moment.
fn trace<T: Tracer>(tracing: &Path) -> Result<String, String> {
    let instance = Instance::new(tracing).map_err(|error| error.to_string())?;
    let text = instance.trace(T::NAME, T::TIME);
    let removed = instance.remove();
    let text = text.map_err(|error| error.to_string())?;
    removed.map_err(|error| error.to_string())?;
    Ok(text)
}

/// The findings of a trace on `cpus`.
fn read<T: Tracer>(text: &str, cpus: &CpuSet) -> Result<Vec<T>, String> {
    let events: Vec<Event> = text
        .lines()
        .filter(|line| !line.trim_start().starts_with('#') && !line.trim().is_empty())
        .filter_map(event)
        .collect();
    cpus.iter()
        .map(|cpu| {
            let of_cpu = events.iter().filter(|event| event.cpu == cpu);
            (cpu, of_cpu.map(|event| event.rest).collect::<Vec<_>>())
        })
        .filter(|(_, lines)| !lines.is_empty())
        .map(|(cpu, lines)| {
            T::of(cpu, &lines).ok_or_else(|| {
                format!(
                    "the lines of the tracer {} on CPU {cpu} are not understood",
                    T::NAME
                )
            })
        })
        .collect()
}

/// A line of a trace: `task-pid [cpu] flags timestamp: what the tracer says`. Other lines (`CPU:0 [LOST 5
/// EVENTS]`) are none.
fn event(line: &str) -> Option<Event<'_>> {
    // A task may have a bracket in its name; its CPU is the last in brackets before the time.
    let (before, rest) = line.split_once(": ")?;
    let (_, cpu) = before.rsplit_once('[')?;
    let (cpu, _) = cpu.split_once(']')?;
    Some(Event {
        cpu: cpu.trim().parse().ok()?,
        rest: rest.trim(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_tracer_the_reason_is_said() {
        let root = tempfile::tempdir().unwrap();
        let cpus: CpuSet = "0".parse().unwrap();
        let reason = |root: &Path| match run(root, &cpus).osnoise {
            Answer::NotAvailable(reason) => reason,
            Answer::Measured(_) => panic!("there is no tracer"),
        };
        assert!(reason(root.path()).contains("mount -t tracefs"));
        let tracing = root.path().join("sys/kernel/debug/tracing");
        std::fs::create_dir_all(&tracing).unwrap();
        std::fs::write(tracing.join("available_tracers"), "hwlat function nop\n").unwrap();
        assert_eq!(
            reason(root.path()),
            "this kernel was built without the tracer osnoise"
        );
    }

    #[test]
    fn events_are_told_from_other_lines() {
        let found = event("   osnoise/3-859   [003] d.h1.  81.637220: 1000000   190").unwrap();
        assert_eq!((found.cpu, found.rest), (3, "1000000   190"));
        assert!(event("CPU:1 [LOST 17 EVENTS]").is_none());
    }

    /// The trace that Linux 6.1.0-52-rt of Debian wrote in a guest with three CPUs, without hardware support.
    fn recorded<T: Tracer>(text: &str, cpus: &str) -> Vec<T> {
        read(text, &cpus.parse().unwrap()).unwrap()
    }

    #[test]
    fn samples_of_osnoise_are_summed() {
        let text = include_str!("recorded/osnoise.txt");
        let found: Vec<Osnoise> = recorded(text, "1-2,7");
        assert_eq!(found.iter().map(|it| it.cpu).collect::<Vec<_>>(), [1, 2]);
        let expected = Osnoise {
            cpu: 2,
            samples: 4,
            runtime_us: 1_005_664 + 1_000_000 + 1_000_300 + 1_094_565,
            noise_us: 591_877 + 774_323 + 740_404 + 828_753,
            longest_us: 96_392,
            hardware: 445 + 488 + 47 + 126,
            nmis: 0,
            irqs: 156 + 115 + 126 + 118,
            softirqs: 0,
            threads: 55 + 12 + 8 + 14,
        };
        assert_eq!(found[1], expected);
    }

    #[test]
    fn latencies_of_timerlat_are_summarised_by_context() {
        let text = include_str!("recorded/timerlat.txt");
        let found: Vec<Timerlat> = recorded(text, "0");
        let (irq, thread) = (found[0].irq_ns.unwrap(), found[0].thread_ns.unwrap());
        assert_eq!((irq.n, irq.median, irq.max), (3, 106_607.0, 108_989.0));
        assert_eq!((thread.n, thread.min, thread.max), (3, 58_753.0, 355_288.0));
    }

    #[test]
    fn windows_of_hwlat_are_counted() {
        let found: Vec<Hwlat> = recorded(include_str!("recorded/hwlat.txt"), "0-2");
        let expected = Hwlat {
            cpu: 1,
            windows: 2,
            latencies: 380 + 239,
            longest_us: 72_072,
        };
        assert_eq!((found.len(), &found[1]), (3, &expected));
        // Linux 5.8 and before.
        let old =
            "hwlat-1 [001] d... 678.473449: #1 inner/outer(us): 11/12 ts:1581527483.343962803\n";
        let found: Vec<Hwlat> = recorded(old, "1");
        assert_eq!((found[0].latencies, found[0].longest_us), (1, 12));
    }

    #[test]
    fn lines_of_another_kind_are_said_to_be() {
        let cpus: CpuSet = "1".parse().unwrap();
        let text = "sh-1 [001] d.... 6.5: something else\n";
        for refused in [
            read::<Osnoise>(text, &cpus).unwrap_err(),
            read::<Timerlat>(text, &cpus).unwrap_err(),
            read::<Hwlat>(text, &cpus).unwrap_err(),
        ] {
            assert!(refused.contains("on CPU 1 are not understood"), "{refused}");
        }
        assert_eq!(
            read::<Osnoise>("# tracer: osnoise\n", &cpus),
            Ok(Vec::new())
        );
    }

    proptest::proptest! {
        #[test]
        fn nothing_makes_the_parsers_panic(text in "[ -~\n]{0,300}") {
            let cpus: CpuSet = "0-9".parse().unwrap();
            let _ = read::<Osnoise>(&text, &cpus);
            let _ = read::<Timerlat>(&text, &cpus);
            let _ = read::<Hwlat>(&text, &cpus);
        }

        #[test]
        fn nothing_after_the_time_makes_them_panic(text in "[ -~]{0,80}") {
            let cpus: CpuSet = "3".parse().unwrap();
            let line = format!("a-1 [003] d.h. 1.5: {text}");
            let _ = read::<Osnoise>(&line, &cpus);
            let _ = read::<Timerlat>(&line, &cpus);
            let _ = read::<Hwlat>(&line, &cpus);
        }
    }
}
