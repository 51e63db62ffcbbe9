//! Bins of a picture: where each begins, and how many values each holds.

use super::Histogram;

/// Bins beside each other on an axis. A value beyond either end counts in the bin at that end, so that a picture shows
/// every value once.
#[derive(Debug, Clone, PartialEq)]
pub struct Bins {
    /// The place where each begins, and where the last ends: one more than there are bins.
    edges: Vec<f64>,
}

impl Bins {
    /// So many bins of equal width between two values; at least one.
    pub fn linear(from: f64, to: f64, bins: usize) -> Self {
        Bins::along(bins, |share| from + (to - from) * share, from, to)
    }

    /// So many bins between two values above 0, each wider than the one before by the same factor; at least one.
    pub fn logarithmic(from: f64, to: f64, bins: usize) -> Self {
        let octaves = (to / from).log2();
        Bins::along(bins, |share| from * (octaves * share).exp2(), from, to)
    }

    fn along(bins: usize, edge: impl Fn(f64) -> f64, from: f64, to: f64) -> Self {
        let bins = bins.max(1);
        let inner = (1..bins).map(|bin| edge(bin as f64 / bins as f64));
        let edges = std::iter::once(from).chain(inner).chain([to]);
        Bins {
            edges: edges.collect(),
        }
    }

    /// The number of bins.
    pub fn count(&self) -> usize {
        self.edges.len() - 1
    }

    /// The place where each bin begins, and where the last ends; ascending.
    pub fn edges(&self) -> &[f64] {
        &self.edges
    }

    /// The bin of a value, counted from 0.
    pub fn place(&self, value: f64) -> usize {
        let inner = &self.edges[1..self.count()];
        inner.partition_point(|&edge| edge <= value)
    }

    /// The number of these samples in each bin. They are in ascending order.
    pub fn of_sorted(&self, sorted: &[f64]) -> Vec<u64> {
        let inner = self.edges[1..self.count()].iter();
        let ends = inner.map(|&edge| sorted.partition_point(|&sample| sample < edge));
        let mut below = 0;
        let counts = ends.chain([sorted.len()]).map(|end| {
            let count = end - below;
            below = end;
            count as u64
        });
        counts.collect()
    }

    /// The number of values of a histogram in each bin. Values of a bucket that lies across an edge are divided as if
    /// they were spread evenly.
    pub fn of_histogram(&self, histogram: &Histogram) -> Vec<u64> {
        let mut counts = vec![0; self.count()];
        for (lowest, highest, count) in histogram.buckets() {
            let (first, last) = (self.place(lowest as f64), self.place(highest as f64));
            let width = (highest - lowest + 1) as f64;
            let mut placed = 0;
            for (held, end) in counts[first..last].iter_mut().zip(&self.edges[first + 1..]) {
                let share = (end - lowest as f64) / width;
                let below = (count as f64 * share).round() as u64;
                *held += below - placed;
                placed = below;
            }
            counts[last] += count - placed;
        }
        counts
    }
}
