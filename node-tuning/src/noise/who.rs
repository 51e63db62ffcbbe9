//! The thing that took the CPU: gaps held against what the kernel counted meanwhile.
//!
//! Counters have no times, so a gap is not assigned to one of them; what is given are bounds that hold
//! whatever belongs to what. An interrupt or a page fault opens at most one gap, so gaps beyond their number
//! had another reason; a thread that was switched away `k` times has lost to that at
//! most its `k` longest gaps.

use serde::{Deserialize, Serialize};

use super::counters::{Count, Kind};
use super::probe::ThreadCounts;

/// The causes of the gaps of a CPU, as far as they can be told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Who {
    /// The counts that moved on the CPU over the run (and the few milliseconds of its beginning and
    /// end), by kind, greatest first.
    pub counts: Vec<Count>,
    /// The kernel's counts for the spinning thread itself.
    pub thread: ThreadCounts,
    /// Interrupts of all names.
    pub interrupts: u64,
    /// The greatest number of gaps that were interrupts or page faults.
    pub explained_at_most: u64,
    /// The least number of gaps that this kernel does not count: the hypervisor's, the firmware's, the
    /// processor's own.
    pub unexplained_at_least: u64,
    /// The time of the longest gaps, as many as the thread was switched away: other threads had no
    /// more. `None` where not all gaps were kept.
    pub switched_at_most_ns: Option<u64>,
}

/// Rows of /proc/interrupts that count something within an interrupt that is counted elsewhere
/// (performance monitoring is an NMI, machine checks are polled by the timer), or none at all
/// (retries of a register).
const NO_INTERRUPTS_OF_THEIR_OWN: [&str; 3] = ["PMI", "MCP", "RTR"];

/// Holds `gaps` gaps against what was counted. `lengths_ns` are the lengths of all of them, or
/// nothing if they were not all kept.
pub fn attribute(
    gaps: u64,
    lengths_ns: Option<&[u64]>,
    counts: Vec<Count>,
    thread: ThreadCounts,
) -> Who {
    let interrupts = counts
        .iter()
        .filter(|count| count.kind == Kind::Interrupt)
        .filter(|count| !NO_INTERRUPTS_OF_THEIR_OWN.contains(&count.name.as_str()))
        .map(|count| count.count)
        .sum();
    let known: u64 = interrupts + thread.page_faults;
    let switched_at_most_ns = lengths_ns.map(|lengths| {
        let mut lengths = lengths.to_vec();
        lengths.sort_unstable();
        let switches = thread.involuntary_switches + thread.voluntary_switches;
        lengths.iter().rev().take(switches as usize).sum()
    });
    Who {
        counts,
        thread,
        interrupts,
        explained_at_most: gaps.min(known),
        unexplained_at_least: gaps.saturating_sub(known),
        switched_at_most_ns,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interrupt(name: &str, count: u64) -> Count {
        Count {
            kind: Kind::Interrupt,
            name: name.into(),
            description: String::new(),
            count,
        }
    }

    #[test]
    fn bounds_follow_from_the_counts() {
        let counts = vec![
            interrupt("LOC", 250),
            interrupt("NMI", 3),
            interrupt("PMI", 3),
            Count {
                kind: Kind::Softirq,
                ..interrupt("TIMER", 99)
            },
        ];
        let thread = ThreadCounts {
            involuntary_switches: 2,
            page_faults: 4,
            ..ThreadCounts::default()
        };
        let lengths = [5, 900, 20, 300];
        let who = attribute(267, Some(&lengths), counts.clone(), thread);
        assert_eq!(who.interrupts, 253);
        assert_eq!((who.explained_at_most, who.unexplained_at_least), (257, 10));
        assert_eq!(who.switched_at_most_ns, Some(1_200));
        let fewer = attribute(100, None, counts, thread);
        assert_eq!(
            (fewer.explained_at_most, fewer.unexplained_at_least),
            (100, 0)
        );
        assert_eq!(fewer.switched_at_most_ns, None);
    }
}
