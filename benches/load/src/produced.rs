//! The report on a load.

use jitterlab_base::print::{Part, Text};
use jitterlab_base::show;
use serde::{Deserialize, Serialize};

use crate::transport::Transport;

/// The load that was produced.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Produced {
    /// The transport.
    pub transport: Transport,
    /// Size of a message in bytes.
    pub message: u64,
    /// The level asked for, in percent.
    pub level: f64,
    /// The level produced: what arrived, in percent of the bandwidth.
    pub produced_level: f64,
    /// One-way bandwidth in bytes a second.
    pub bandwidth: f64,
    /// True if the bandwidth was measured, or given.
    pub bandwidth_measured: bool,
    /// The time that it lasted, in seconds.
    pub seconds: f64,
    /// Messages sent.
    pub sent_messages: u64,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Messages that arrived.
    pub received_messages: u64,
    /// Bytes that arrived.
    pub received_bytes: u64,
    /// Messages that did not.
    pub lost_messages: u64,
    /// Messages that the sender's system refused.
    pub refused_messages: u64,
    /// The longest time without a message, to the end of the load, in nanoseconds; 0 of a level of 0.
    pub longest_gap_ns: u64,
    /// Bytes sent in each tenth of a second; the last one may be shorter. None over MPI, which does not say.
    pub sent_bytes_each_100ms: Vec<u64>,
}

impl Text for Produced {
    fn parts(&self) -> Vec<Part> {
        let how = match self.bandwidth_measured {
            true => "measured",
            false => "given",
        };
        let lines = [
            format!(
                "load over {}, {} B messages: {} asked, {} produced of {} ({how})",
                self.transport,
                self.message,
                show::percent(self.level / 100.0),
                show::percent(self.produced_level / 100.0),
                show::bandwidth(self.bandwidth),
            ),
            format!(
                "{} sent in {}, {} arrived, {} lost, {} refused; longest gap {}",
                show::counted(self.sent_messages as usize, "message"),
                show::time(self.seconds * 1e9),
                show::count(self.received_messages),
                show::count(self.lost_messages),
                show::count(self.refused_messages),
                show::time(self.longest_gap_ns as f64),
            ),
        ];
        lines.map(Part::Line).into()
    }
}

impl Produced {
    /// Several loads at one time as one. Each was asked for a share of a level. Counts are added, and the level produced is
    /// what a host sent on the mean. `None` without any load.
    pub fn together(loads: &[Produced], level: f64, share: f64) -> Option<Produced> {
        let first = loads.first()?;
        let sum = |of: fn(&Produced) -> u64| loads.iter().map(of).sum();
        let tenths = loads.iter().map(|load| load.sent_bytes_each_100ms.len());
        let hosts = loads.len() as f64 * share;
        let levels: f64 = loads.iter().map(|load| load.produced_level).sum();
        let seconds = loads.iter().map(|load| load.seconds);
        Some(Produced {
            level,
            produced_level: levels / hosts,
            bandwidth_measured: loads.iter().all(|load| load.bandwidth_measured),
            seconds: seconds.fold(f64::INFINITY, f64::min),
            sent_messages: sum(|load| load.sent_messages),
            sent_bytes: sum(|load| load.sent_bytes),
            received_messages: sum(|load| load.received_messages),
            received_bytes: sum(|load| load.received_bytes),
            lost_messages: sum(|load| load.lost_messages),
            refused_messages: sum(|load| load.refused_messages),
            longest_gap_ns: loads.iter().map(|load| load.longest_gap_ns).max()?,
            sent_bytes_each_100ms: (0..tenths.max()?)
                .map(|i| {
                    let of = |load: &Produced| load.sent_bytes_each_100ms.get(i).copied();
                    loads.iter().filter_map(of).sum()
                })
                .collect(),
            ..first.clone()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_loads_are_added_and_their_level_is_what_a_host_sent() {
        let one = |produced_level: f64, seconds: f64| Produced {
            transport: Transport::Udp,
            message: 1_400,
            level: 30.0,
            produced_level,
            bandwidth: 1e9,
            bandwidth_measured: false,
            seconds,
            sent_messages: 10,
            sent_bytes: 14_000,
            received_messages: 9,
            received_bytes: 12_600,
            lost_messages: 1,
            refused_messages: 2,
            longest_gap_ns: seconds as u64,
            sent_bytes_each_100ms: vec![100; seconds as usize],
        };
        // Three hosts that send 60 % each, half of it to either other one.
        let six = [30.0, 20.0, 30.0, 20.0, 30.0, 20.0].map(|level| one(level, level / 10.0));
        let all = Produced::together(&six, 60.0, 0.5).unwrap();
        assert_eq!((all.level, all.produced_level), (60.0, 50.0));
        assert_eq!(
            (all.sent_messages, all.lost_messages, all.refused_messages),
            (60, 6, 12)
        );
        assert_eq!((all.seconds, all.longest_gap_ns), (2.0, 3));
        assert_eq!(all.sent_bytes_each_100ms, [600, 600, 300]);
        let alone = one(25.0, 2.0);
        assert_eq!(
            Produced::together(std::slice::from_ref(&alone), 30.0, 1.0),
            Some(alone)
        );
        assert_eq!(Produced::together(&[], 30.0, 1.0), None);
    }
}
