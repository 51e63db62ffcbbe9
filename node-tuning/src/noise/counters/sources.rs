//! The files that counts are read from, one function each.

use std::path::{Path, PathBuf};

use super::{Kind, Snapshot, table};
use crate::cpus::{Cpu, CpuSet};
use crate::noise::error::Error;

type Source = fn(&Path, &CpuSet, &mut Snapshot) -> Result<(), Error>;

/// The sources. To count something else, write a function and put it here.
pub const ALL: &[Source] = &[interrupts, softirqs, schedstat, steal, throttle];

fn interrupts(root: &Path, _: &CpuSet, snapshot: &mut Snapshot) -> Result<(), Error> {
    rows(root.join("proc/interrupts"), Kind::Interrupt, snapshot)
}

fn softirqs(root: &Path, _: &CpuSet, snapshot: &mut Snapshot) -> Result<(), Error> {
    rows(root.join("proc/softirqs"), Kind::Softirq, snapshot)
}

fn rows(path: PathBuf, kind: Kind, snapshot: &mut Snapshot) -> Result<(), Error> {
    let text = read(&path)?;
    let rows = table::parse(&text).map_err(|line| Error::Content {
        path,
        line,
        expected: "a table with a column for each CPU",
    })?;
    for row in rows {
        for (cpu, count) in row.counts {
            snapshot.insert(cpu, kind, &row.name, &row.description, count);
        }
    }
    Ok(())
}

/// Ticks of /proc/stat a second: USER_HZ is 100 on every architecture that we know.
const USER_HZ: u64 = 100;

/// The eighth number of a CPU's line (proc(5)). The lines are read here because the `procfs` crate
/// numbers CPUs by the order of their lines, and offline CPUs have none.
fn steal(root: &Path, _: &CpuSet, snapshot: &mut Snapshot) -> Result<(), Error> {
    each_cpu(root.join("proc/stat"), 8, |cpu, ticks| {
        let ns = ticks * (1_000_000_000 / USER_HZ);
        snapshot.insert(cpu, Kind::StealNs, "steal", "time given to others", ns);
    })
}

/// The third number of a CPU's line, in all versions from 2.6.38 on
/// (Documentation/scheduler/sched-stats.rst).
fn schedstat(root: &Path, _: &CpuSet, snapshot: &mut Snapshot) -> Result<(), Error> {
    each_cpu(root.join("proc/schedstat"), 3, |cpu, calls| {
        snapshot.insert(
            cpu,
            Kind::Schedule,
            "schedule",
            "calls of schedule()",
            calls,
        );
    })
}

/// Gives the `place`th number, from 1, of each line that is named after a CPU.
fn each_cpu(path: PathBuf, place: usize, mut each: impl FnMut(Cpu, u64)) -> Result<(), Error> {
    let text = read(&path)?;
    for (index, line) in text.lines().enumerate() {
        let mut words = line.split_whitespace();
        let cpu = words.next().and_then(|name| name.strip_prefix("cpu"));
        // `cpu` alone is the line of their sum.
        let Some(cpu) = cpu.and_then(|number| number.parse().ok()) else {
            continue;
        };
        let Some(value) = words.nth(place - 1).and_then(|word| word.parse().ok()) else {
            return Err(Error::Content {
                path,
                line: index + 1,
                expected: "more numbers after the CPU",
            });
        };
        each(cpu, value);
    }
    Ok(())
}

/// They are missing on virtual machines and on processors without thermal interrupts: no finding.
fn throttle(root: &Path, cpus: &CpuSet, snapshot: &mut Snapshot) -> Result<(), Error> {
    for cpu in cpus.iter() {
        let folder = root.join(format!("sys/devices/system/cpu/cpu{cpu}/thermal_throttle"));
        for (name, description) in [
            ("core_throttle_count", "the core was too hot"),
            ("package_throttle_count", "the package was too hot"),
        ] {
            let path = folder.join(name);
            if !path.exists() {
                continue;
            }
            let count = read(&path)?.trim().parse().map_err(|_| Error::Content {
                path,
                line: 1,
                expected: "a count",
            })?;
            snapshot.insert(cpu, Kind::Throttle, name, description, count);
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<String, Error> {
    std::fs::read_to_string(path).map_err(|source| Error::Read {
        path: path.into(),
        source,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, content) in files {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        }
        root
    }

    const THROTTLE: &str = "sys/devices/system/cpu/cpu2/thermal_throttle/core_throttle_count";

    #[test]
    fn every_source_is_read_for_its_cpu() {
        let cpus: CpuSet = "0,2".parse().unwrap();
        let at = |loc, timer, calls, steal, hot| {
            let root = tree(&[
                (
                    "proc/interrupts",
                    &format!("CPU0 CPU2\nLOC: 1 {loc} Local timer interrupts\n"),
                ),
                ("proc/softirqs", &format!("CPU0 CPU2\nTIMER: 1 {timer}\n")),
                (
                    "proc/schedstat",
                    &format!("version 15\ncpu0 0 0 9 0\ncpu2 0 0 {calls} 0 0 0 0 0 0\n"),
                ),
                (
                    "proc/stat",
                    &format!("cpu  9 9 9 9 9 9 9 9 0 0\ncpu2 1 2 3 4 5 6 7 {steal} 0 0\nintr 5\n"),
                ),
                (THROTTLE, &format!("{hot}\n")),
            ]);
            Snapshot::read(root.path(), &cpus)
        };
        let (before, after) = (at(10, 20, 30, 40, 50), at(11, 22, 33, 44, 55));
        assert_eq!(after.unavailable, Vec::<String>::new());
        let moved: Vec<(Kind, u64)> = after
            .since(&before, 2)
            .iter()
            .map(|count| (count.kind, count.count))
            .collect();
        let expected = [
            (Kind::Interrupt, 1),
            (Kind::Softirq, 2),
            (Kind::Schedule, 3),
            (Kind::StealNs, 40_000_000),
            (Kind::Throttle, 5),
        ];
        assert_eq!(moved, expected);
        assert_eq!(after.since(&before, 0), []);
    }

    #[test]
    fn what_is_missing_or_broken_is_named_and_the_rest_is_read() {
        let root = tree(&[
            ("proc/interrupts", "CPU0\nLOC: 7 Local timer interrupts\n"),
            ("proc/softirqs", "nothing\n"),
            ("proc/stat", "cpu0 1 2 3\n"),
        ]);
        let cpus: CpuSet = "0".parse().unwrap();
        let snapshot = Snapshot::read(root.path(), &cpus);
        let counted = snapshot.since(&Snapshot::default(), 0);
        assert_eq!((counted.len(), counted[0].count), (1, 7));
        let prefix = format!("{}/", root.path().display());
        let named: Vec<String> = snapshot
            .unavailable
            .iter()
            .map(|message| message.replace(&prefix, ""))
            .collect();
        assert_eq!(
            named,
            [
                "proc/softirqs:1: a table with a column for each CPU expected",
                "cannot read proc/schedstat: No such file or directory (os error 2)",
                "proc/stat:1: more numbers after the CPU expected",
            ]
        );
    }
}
