//! The result of a validation, in the form that is printed and stored. Times in nanoseconds, effects as
//! shares: 0.1 is 10 % slower.

use jitterlab_base::units::{Bytes, Nanos};
use jitterlab_node_tuning::validation::judge::{NodeVerdict, PairVerdict, Unit};
use jitterlab_packet::transport::{Transport, Verbs, Wait};
use jitterlab_stats::gate::{Decision, Slower};
use jitterlab_stats::histogram::Compact;
use jitterlab_stats::summary::Summary;
use serde::{Deserialize, Serialize};

use crate::spec::Cluster;

/// A validation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Validation {
    /// The format: [`Validation::VERSION`].
    pub version: u32,
    /// The setup of the measurements.
    #[serde(flatten)]
    pub setup: Setup,
    /// The findings, first of the hosts, then of each set of them with spares in it.
    pub attempts: Vec<Attempt>,
    /// The hosts that remain, in the order of their names.
    pub remaining: Vec<String>,
    /// Spares that were not needed.
    pub spares_left: Vec<String>,
    /// The comparison with a kept validation, if there is one.
    #[serde(deserialize_with = "Option::deserialize")]
    pub baseline: Option<Baseline>,
}

impl Validation {
    /// The format that is written, of events too, and the only one that is read. It changes with any change of what is stored.
    pub const VERSION: u32 = 3;

    /// True if every host fitted from the beginning.
    pub fn all_fit(&self) -> bool {
        let mut attempts = self.attempts.iter();
        attempts.all(|attempt| attempt.left_out.is_empty())
    }
}

/// The way that measurements are made and judged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Setup {
    /// The transport.
    pub transport: Transport,
    /// The options of messages over verbs, if that is the transport.
    #[serde(deserialize_with = "Option::deserialize")]
    pub verbs: Option<Verbs>,
    /// Size of a message.
    pub size: Bytes,
    /// The way that answers are waited for.
    pub wait: Wait,
    /// The time that is discarded at the beginning of a measurement.
    pub warmup: Nanos,
    /// The time that a measurement takes.
    pub duration: Nanos,
    /// The number of times that each pair is measured.
    pub repetitions: u32,
    /// Pairs that are measured at the same time, at most; none where that is all of a round.
    #[serde(deserialize_with = "Option::deserialize")]
    pub at_once: Option<usize>,
    /// The seed that the order follows from.
    pub seed: u64,
    /// Level of significance of the whole verdict.
    pub alpha: f64,
    /// The least slowdown that matters, as a share.
    pub minimum_effect: f64,
}

impl Setup {
    /// The setup by a hosts file, over this transport.
    pub fn of(cluster: &Cluster, transport: Transport) -> Self {
        let at_once = cluster.at_once();
        Setup {
            transport,
            verbs: (transport == Transport::Verbs).then_some(cluster.verbs),
            size: cluster.size,
            wait: cluster.wait,
            warmup: cluster.warmup,
            duration: cluster.duration,
            repetitions: cluster.repetitions,
            at_once: (at_once != usize::MAX).then_some(at_once),
            seed: cluster.seed,
            alpha: cluster.alpha,
            minimum_effect: cluster.minimum_effect.fraction(),
        }
    }
}

/// The findings on one set of hosts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    /// The hosts.
    pub hosts: Vec<String>,
    /// RTT of a pair whose hosts add nothing; 0 if nothing was measured.
    pub typical_ns: f64,
    /// The observation that tests of nodes counted.
    pub unit: Unit,
    /// True if the repetitions are enough for a pair to be convicted.
    pub pairs_testable: bool,
    /// The verdict on each host.
    pub nodes: Vec<NodeRow>,
    /// The verdict on each pair that was measured.
    pub pairs: Vec<PairRow>,
    /// Hosts that could not be measured.
    pub lost: Vec<Lost>,
    /// Measurements that failed, though both hosts were there before and after.
    pub failures: Vec<Failure>,
    /// The hosts that do not remain.
    pub left_out: Vec<LeftOut>,
    /// The measurements, in the order in which they were made.
    pub runs: Vec<Run>,
}

/// The verdict on a host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NodeRow {
    /// Its name.
    pub host: String,
    /// The verdict.
    #[serde(flatten)]
    pub verdict: NodeVerdict,
}

/// The verdict on a pair.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PairRow {
    /// The names of its hosts.
    pub hosts: [String; 2],
    /// The verdict.
    #[serde(flatten)]
    pub verdict: PairVerdict,
    /// The number of round trips of each size in all of its measurements, in nanoseconds.
    pub histogram_ns: Compact,
}

/// A host that could not be measured: not reached, or stalled.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Lost {
    /// Its name.
    pub host: String,
    /// The reason.
    pub reason: String,
}

/// A measurement that failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// The host that asked.
    pub client: String,
    /// The host that answered.
    pub server: String,
    /// The repetition, counted from 0.
    pub repetition: u32,
    /// The reason.
    pub reason: String,
}

/// A host that does not remain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Its name.
    pub host: String,
    /// The reason.
    #[serde(flatten)]
    pub reason: Reason,
}

/// Why a host does not remain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "lowercase")]
pub enum Reason {
    /// It could not be measured.
    Lost,
    /// It is an outlier.
    Outlier,
    /// Its pair with another host is an outlier or failed.
    Pair {
        /// The other host.
        with: String,
    },
}

/// A measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The host that asked and measured.
    pub client: String,
    /// The host that answered.
    pub server: String,
    /// The repetition, counted from 0.
    pub repetition: u32,
    /// Messages without an answer.
    pub lost: u64,
    /// Round trips.
    pub rtt_ns: Summary,
}

/// A validation compared with a kept one. Ratios are now to then.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Baseline {
    /// Whether anything has become slower.
    pub slower: Slower,
    /// A pair whose hosts add nothing; none of fewer than four hosts.
    #[serde(deserialize_with = "Option::deserialize")]
    pub typical: Option<Decision>,
    /// The time that each host adds to its pairs; empty below four hosts.
    pub hosts: Vec<HostDrift>,
    /// The time that each pair takes beyond its hosts; below four hosts, all of its time.
    pub pairs: Vec<PairDrift>,
    /// Hosts that were measured only then or only now; of the other hosts, pairs that were (`n2 - n5`).
    pub not_compared: Vec<String>,
}

/// A host, now and then.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostDrift {
    /// Its name.
    pub host: String,
    /// Whether it is slower, and by what factor.
    #[serde(flatten)]
    pub decision: Decision,
}

/// A pair, now and then.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PairDrift {
    /// The names of its hosts.
    pub hosts: [String; 2],
    /// Whether it is slower, and by what factor.
    #[serde(flatten)]
    pub decision: Decision,
}
