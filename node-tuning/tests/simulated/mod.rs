//! Clusters whose truth is known: they are made from a seed.

use jitterlab_node_tuning::validation::judge::{Judgement, Limits, Measurement, judge};
use jitterlab_node_tuning::validation::tournament;

/// A cluster: what is slow in it, and how noisy it is. Shares of the latency.
#[derive(Debug, Clone, Default)]
pub struct Cluster {
    pub nodes: usize,
    pub repetitions: u32,
    pub slow_nodes: Vec<(usize, f64)>,
    pub slow_pairs: Vec<((usize, usize), f64)>,
    /// Standard deviation of one measurement.
    pub noise: f64,
    /// Chance that something else disturbed a measurement, which then took half as long again.
    pub disturbed: f64,
    /// What each round takes more than the one before.
    pub drift: f64,
    /// How far everything jumps at every tenth round on the average, up or down (standard deviation).
    pub jumps: f64,
}

impl Cluster {
    /// One in which nothing is slow.
    pub fn quiet(nodes: usize) -> Self {
        Cluster {
            nodes,
            repetitions: 10,
            noise: 0.01,
            ..Cluster::default()
        }
    }

    /// What a validation would measure in it.
    pub fn measured(&self, seed: u64) -> Vec<Measurement> {
        let mut random = Random(seed);
        let mut measurements = Vec::new();
        let mut level = 1.0;
        let schedule = tournament::schedule(self.nodes, self.repetitions, seed);
        for (moment, round) in (0..).zip(schedule) {
            if random.uniform() < 0.1 {
                level = 1.0 + self.jumps * random.normal();
            }
            for m in round.matches {
                let pair = (m.client.min(m.server), m.client.max(m.server));
                let nodes = self.slow_nodes.iter();
                let nodes = nodes.filter(|(node, _)| *node == pair.0 || *node == pair.1);
                let pairs = self.slow_pairs.iter().filter(|(slow, _)| *slow == pair);
                let mut factor: f64 = nodes.map(|(_, by)| 1.0 + by).product();
                factor *= pairs.map(|(_, by)| 1.0 + by).product::<f64>();
                factor *= 1.0 + self.noise * random.normal();
                factor *= level + self.drift * f64::from(moment);
                if random.uniform() < self.disturbed {
                    factor *= 1.5;
                }
                measurements.push(Measurement {
                    pair: (m.client, m.server),
                    moment,
                    rtt_ns: 20_000.0 * factor,
                });
            }
        }
        measurements
    }

    pub fn judged(&self, seed: u64, limits: Limits) -> Judgement {
        judge(self.nodes, &self.measured(seed), limits).unwrap()
    }
}

/// SplitMix64 (Steele, Lea and Flood 2014, "Fast splittable pseudorandom number generators").
struct Random(u64);

impl Random {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut state = self.0;
        state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((state ^ (state >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Box and Muller.
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

pub fn slow_nodes(judgement: &Judgement) -> Vec<usize> {
    let outliers = judgement.nodes.iter().filter(|verdict| verdict.outlier);
    outliers.map(|verdict| verdict.node).collect()
}

pub fn slow_pairs(judgement: &Judgement) -> Vec<(usize, usize)> {
    let outliers = judgement.pairs.iter().filter(|verdict| verdict.outlier);
    outliers.map(|verdict| verdict.pair).collect()
}
