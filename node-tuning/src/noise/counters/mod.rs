//! The kernel's counts on each CPU, before and after a run.

mod sources;
mod table;

use std::collections::BTreeMap;
use std::path::Path;

use jitterlab_base::{named, show};
use serde::{Deserialize, Serialize};

use crate::cpus::{Cpu, CpuSet};

/// The kind of thing that is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// An interrupt of /proc/interrupts, under the name that it has there.
    Interrupt,
    /// A softirq of /proc/softirqs. It runs at the end of an interrupt, or in a thread.
    Softirq,
    /// Calls of the scheduler on the CPU, of /proc/schedstat.
    Schedule,
    /// Time that the hypervisor gave to others while this CPU had something to do, in nanoseconds;
    /// /proc/stat counts it in hundredths of a second.
    StealNs,
    /// Times that the CPU was slowed down because it, or its package, was too hot.
    Throttle,
}

named!(
    Kind,
    Interrupt => "interrupt",
    Softirq => "softirq",
    Schedule => "schedule",
    StealNs => "steal",
    Throttle => "throttle",
);

/// A count on one CPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Count {
    /// Its kind.
    pub kind: Kind,
    /// Its name, unique within the kind: `LOC`, `37`, `TIMER`.
    pub name: String,
    /// The kernel's words about it; empty if there are none.
    pub description: String,
    /// The number of times; for [`Kind::StealNs`], nanoseconds.
    pub count: u64,
}

/// All counts at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Snapshot {
    counts: BTreeMap<(Cpu, Kind, String), (u64, String)>,
    /// Files that could not be read or understood, and why.
    pub unavailable: Vec<String>,
}

impl Snapshot {
    /// Reads what there is below `root` (`/`, except in tests) about `cpus`. What a kernel or a
    /// container does not offer is named in `unavailable`.
    pub fn read(root: &Path, cpus: &CpuSet) -> Self {
        let mut snapshot = Snapshot::default();
        for source in sources::ALL {
            if let Err(error) = source(root, cpus, &mut snapshot) {
                snapshot.unavailable.push(show::causes(&error));
            }
        }
        snapshot
    }

    fn insert(&mut self, cpu: Cpu, kind: Kind, name: &str, description: &str, count: u64) {
        let value = (count, description.to_string());
        self.counts.insert((cpu, kind, name.to_string()), value);
    }

    /// The counts on `cpu` from `earlier` on: those that moved, by kind, greatest first. A count that was
    /// not there earlier began at 0.
    pub fn since(&self, earlier: &Snapshot, cpu: Cpu) -> Vec<Count> {
        let mut moved: Vec<Count> = self
            .counts
            .iter()
            .filter(|((on, ..), _)| *on == cpu)
            .map(|(key, (now, description))| {
                let before = earlier.counts.get(key).map_or(0, |&(count, _)| count);
                Count {
                    kind: key.1,
                    name: key.2.clone(),
                    description: description.clone(),
                    count: difference(before, *now),
                }
            })
            .filter(|count| count.count > 0)
            .collect();
        moved.sort_by_key(|count| (count.kind, std::cmp::Reverse(count.count)));
        moved
    }
}

/// Interrupts and softirqs are counted in 32 bits and wrap around.
fn difference(before: u64, now: u64) -> u64 {
    if now >= before {
        now - before
    } else {
        u64::from((now as u32).wrapping_sub(before as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_moved_is_given_by_kind_and_size() {
        let (mut before, mut after) = (Snapshot::default(), Snapshot::default());
        before.insert(1, Kind::Interrupt, "LOC", "", u64::from(u32::MAX) - 9);
        for (cpu, kind, name, count) in [
            (1, Kind::Softirq, "RCU", 900),
            (1, Kind::Interrupt, "37", 7),
            (1, Kind::Interrupt, "LOC", 240),
            (1, Kind::Interrupt, "NMI", 0),
            (2, Kind::Interrupt, "LOC", 5),
        ] {
            after.insert(cpu, kind, name, "", count);
        }
        let moved: Vec<(String, u64)> = after
            .since(&before, 1)
            .into_iter()
            .map(|count| (count.name, count.count))
            .collect();
        let expected = [("LOC", 250), ("37", 7), ("RCU", 900)].map(|(n, c)| (n.to_string(), c));
        assert_eq!(moved, expected);
    }
}
