//! A table against the distribution that it came from.

use jitterlab_stats::distribution::Distribution;

use crate::table::DistributionTable;

/// One figure of the comparison, in nanoseconds.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Row {
    /// What is compared.
    pub figure: String,
    /// As the distribution has it.
    pub expected_ns: f64,
    /// As the table has it.
    pub table_ns: f64,
    /// The difference in proportion to the distribution's mean.
    pub relative: f64,
    /// Whether that is within the tolerance.
    pub within: bool,
}

/// The shares at which quantiles are compared.
const SHARES: [f64; 9] = [0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999];

/// Compares mean, standard deviation and quantiles. `tolerance` is the greatest difference in
/// proportion to what the distribution has, or to its mean where that is greater: a 1st percentile
/// near 0 would otherwise make every table fail.
pub fn check(table: &DistributionTable, distribution: &Distribution, tolerance: f64) -> Vec<Row> {
    let row = |figure: String, expected: f64, found: f64| {
        let scale = expected.abs().max(distribution.mean().abs()).max(1.0);
        let relative = (found - expected) / scale;
        Row {
            figure,
            expected_ns: expected,
            table_ns: found,
            relative,
            within: relative.abs() <= tolerance,
        }
    };
    let sorted = table.sorted();
    let moments = [
        ("mean", distribution.mean(), table.mean()),
        ("std", distribution.std(), table.std()),
    ];
    let moments = moments
        .into_iter()
        .map(|(figure, expected, found)| row(figure.into(), expected, found));
    let quantiles = SHARES.into_iter().map(|share| {
        let name = format!("p{}", (share * 1e5).round() / 1e3);
        row(name, distribution.quantile(share), at(&sorted, share))
    });
    moments.chain(quantiles).collect()
}

/// The quantile at `share` of a table's entries in ascending order. An entry stands for its 4,096th
/// of the distribution, so it is the quantile at the middle of that slice (type 5 of Hyndman and
/// Fan 1996); the definition for samples would be off by half an entry, which shows in a long tail.
fn at(sorted: &[f64], share: f64) -> f64 {
    let last = (sorted.len() - 1) as f64;
    let place = (share * sorted.len() as f64 - 0.5).clamp(0.0, last);
    let (below, above) = (
        sorted[place.floor() as usize],
        sorted[place.ceil() as usize],
    );
    below + (above - below) * place.fract()
}
