//! Load between ranks, and who suffers from it.

use jitterlab_base::named;
use jitterlab_base::print::{Part, Text};
use jitterlab_base::show;
use serde::{Deserialize, Serialize};

use crate::library::Figures;

/// A load, as it was produced: the fields of `jitterlab load run`, and those that only MPI has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// `mpi`.
    pub transport: Transport,
    /// The pattern: who sends to whom.
    pub pattern: Pattern,
    /// Number of ranks.
    pub ranks: usize,
    /// Bytes of a message.
    pub message: u64,
    /// The level asked for, in percent.
    pub level: f64,
    /// The load that all ranks moved, in percent of the bandwidth.
    pub produced_level: f64,
    /// The bandwidth of all ranks together, in bytes a second.
    pub bandwidth: f64,
    /// True if it was measured, or given.
    pub bandwidth_measured: bool,
    /// The time that it lasted on the rank on which it lasted longest, in seconds.
    pub seconds: f64,
    /// Messages that left a rank.
    pub sent_messages: u64,
    /// Bytes in them.
    pub sent_bytes: u64,
    /// Messages that came to one.
    pub received_messages: u64,
    /// Bytes in them.
    pub received_bytes: u64,
    /// The longest time without a message of a rank that sends, in nanoseconds.
    pub longest_gap_ns: u64,
    /// The part of each rank that made it.
    pub per_rank: Vec<Produced>,
    /// The measurement beside it.
    #[serde(deserialize_with = "Option::deserialize")]
    pub victim: Option<Victim>,
}

/// The senders and the receivers of a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pattern {
    /// Rank k sends to rank k + N/2, for N ranks.
    Pairs,
    /// Each rank sends to all others, in turn.
    Alltoall,
    /// All ranks write into rank 0's memory (MPI_Put).
    RmaIncast,
    /// All ranks send to rank 0 (MPI_Send).
    P2pIncast,
    /// All ranks read rank 0's memory (MPI_Get).
    RmaBcast,
}

named!(
    Pattern, serde, "a pattern of load",
    Pairs => "pairs",
    Alltoall => "alltoall",
    RmaIncast => "rma-incast",
    P2pIncast => "p2p-incast",
    RmaBcast => "rma-bcast",
);

impl Pattern {
    /// True if rank 0 sends in it, and so sees that its input has ended.
    pub fn sends_from_0(self) -> bool {
        matches!(self, Pattern::Pairs | Pattern::Alltoall)
    }
}

impl Text for Report {
    fn parts(&self) -> Vec<Part> {
        let head = format!(
            "{} of {} B at {} %: {} of {} for {}, {} of {}",
            self.pattern,
            self.message,
            self.level,
            show::percent(self.produced_level / 100.0),
            show::bandwidth(self.bandwidth),
            show::time(self.seconds * 1e9),
            show::counted(self.received_messages as usize, "message"),
            show::counted(self.per_rank.len(), "rank")
        );
        let mut parts = vec![Part::Line(head)];
        if let Some(victim) = &self.victim {
            parts.extend(victim.parts());
        }
        parts
    }
}

/// A transport of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// MPI.
    Mpi,
}

/// The load that one rank produced.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Produced {
    /// The rank.
    pub rank: usize,
    /// The bytes a second that it moves when it is as fast as it can be; 0 if others do it.
    pub bandwidth: f64,
    /// The share of that which it has moved, in percent; 0 if others do it.
    pub produced_level: f64,
    /// The time until all had arrived.
    pub seconds: f64,
    /// Messages that left it.
    pub sent_messages: u64,
    /// Bytes in them.
    pub sent_bytes: u64,
    /// Messages that came to it.
    pub received_messages: u64,
    /// Bytes in them.
    pub received_bytes: u64,
    /// The longest time without a message of its own, to the end; 0 if it has none.
    pub longest_gap_ns: u64,
}

/// A victim, alone and beside the load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Victim {
    /// The name of its case.
    pub case: String,
    /// Its ranks.
    pub ranks: Vec<usize>,
    /// The size of its messages.
    pub size_bytes: usize,
    /// While nobody else did anything.
    pub isolated: Figures,
    /// Beside the load.
    pub congested: Figures,
    /// The second over the first.
    pub impact: Impact,
}

impl Text for Victim {
    fn parts(&self) -> Vec<Part> {
        let rows = [("isolated", self.isolated), ("congested", self.congested)];
        let row = |(when, of): (&str, Figures)| {
            let [median, mean, p99] = [of.median_ns, of.mean_ns, of.p99_ns].map(show::time);
            [
                when.into(),
                show::count(of.samples as u64),
                median,
                mean,
                p99,
            ]
        };
        let Impact { mean, p99, .. } = self.impact;
        vec![
            Part::Line(format!("{} on ranks {:?}", self.case, self.ranks)),
            Part::table(["", "n", "median", "mean", "99 %"], rows.map(row)),
            Part::Line(format!("impact: mean {mean:.3}, 99 % {p99:.3}")),
        ]
    }
}

/// Impact factors: congested over isolated.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Impact {
    /// The impact on the mean.
    pub mean: f64,
    /// The impact on the 99th percentile.
    pub p99: f64,
    /// Samples in isolation.
    pub samples_isolated: usize,
    /// Samples beside the load.
    pub samples_congested: usize,
}

impl Impact {
    /// The impact on a victim, from its figures alone and beside a load.
    pub fn of(isolated: &Figures, congested: &Figures) -> Impact {
        Impact {
            mean: congested.mean_ns / isolated.mean_ns,
            p99: congested.p99_ns / isolated.p99_ns,
            samples_isolated: isolated.samples,
            samples_congested: congested.samples,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_are_shown_what_a_load_does_to_its_victim() {
        let times = |factor: f64| {
            let times = [10e3, 20e3, 30e3].map(|ns| factor * ns);
            Figures::of(times.into())
        };
        let [isolated, congested] = [times(1.0), times(2.0)];
        let report = Report {
            transport: Transport::Mpi,
            pattern: Pattern::P2pIncast,
            ranks: 6,
            message: 65_536,
            level: 60.0,
            produced_level: 58.25,
            bandwidth: 1.5e9,
            bandwidth_measured: true,
            seconds: 1.25,
            sent_messages: 1_200,
            sent_bytes: 78_643_200,
            received_messages: 1_200,
            received_bytes: 78_643_200,
            longest_gap_ns: 1_000,
            per_rank: Vec::new(),
            victim: Some(Victim {
                case: "ping-pong".into(),
                ranks: vec![0, 1],
                size_bytes: 8,
                isolated,
                congested,
                impact: Impact::of(&isolated, &congested),
            }),
        };
        assert_eq!(
            report.text(),
            "p2p-incast of 65536 B at 60 %: 58.25 % of 1.5 GB/s for 1.25 s, 1,200 messages of 0 ranks\n\
             ping-pong on ranks [0, 1]\n\
            \x20          n  median  mean   99 %\n\
             isolated   3  20 us   20 us  29.8 us\n\
             congested  3  40 us   40 us  59.6 us\n\
             impact: mean 2.000, 99 % 2.000\n"
        );
    }
}
