//! A table against what it was made for: a distribution, or a mean and a standard deviation.

use std::fmt;

use jitterlab_stats::distribution::Distribution;

use crate::table::DistributionTable;

/// One figure of the comparison, in nanoseconds.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Row {
    /// The figure that is compared.
    pub figure: String,
    /// The figure of the distribution.
    pub expected_ns: f64,
    /// The figure of the table.
    pub table_ns: f64,
    /// The difference in proportion to the distribution's mean.
    pub relative: f64,
    /// True if that is within the tolerance.
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

/// The origin of a table that was made for a multiple of the standard deviation of samples, at their mean:
/// `scaled(multiple=2, mean=16700, std=45400)`, the last two in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scaled {
    /// The multiple of the samples' standard deviation.
    pub multiple: f64,
    /// The mean that was asked for.
    pub mean_ns: f64,
    /// The standard deviation that was asked for.
    pub std_ns: f64,
}

impl fmt::Display for Scaled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Scaled {
            multiple,
            mean_ns,
            std_ns,
        } = self;
        write!(
            f,
            "scaled(multiple={multiple}, mean={mean_ns}, std={std_ns})"
        )
    }
}

impl Scaled {
    /// The one that an origin names; `None` where it names none.
    pub fn named_by(origin: &str) -> Option<Self> {
        let inner = origin.strip_prefix("scaled(")?.strip_suffix(')')?;
        let mut numbers = inner.split(", ").zip(["multiple=", "mean=", "std="]);
        let mut next = || {
            let (text, name) = numbers.next()?;
            let number: f64 = text.strip_prefix(name)?.parse().ok()?;
            number.is_finite().then_some(number)
        };
        Some(Scaled {
            multiple: next()?,
            mean_ns: next()?,
            std_ns: next()?,
        })
    }

    /// The moments that a table has, beside those that were asked for.
    pub fn moments(&self, table: &DistributionTable) -> AskedAndMade {
        AskedAndMade::of(table, self.mean_ns, self.std_ns)
    }
}

/// The greatest distance of the mean of a table from the one that it was made for, in proportion.
const NEAR_MEAN: f64 = 0.01;
/// The greatest distance of the standard deviation.
const NEAR_STD: f64 = 0.05;
/// Whole nanoseconds have no less.
const ROUNDING_NS: f64 = 1.0;

/// Delays that were made for a mean and a standard deviation, and claim to imitate nothing. All are nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AskedAndMade {
    /// The mean that was asked for.
    pub asked_mean_ns: f64,
    /// The standard deviation that was asked for.
    pub asked_std_ns: f64,
    /// The mean of the table.
    pub mean_ns: f64,
    /// Its standard deviation.
    pub std_ns: f64,
}

impl AskedAndMade {
    /// Those of a table that was made for the first two.
    pub fn of(table: &DistributionTable, asked_mean_ns: f64, asked_std_ns: f64) -> Self {
        AskedAndMade {
            asked_mean_ns,
            asked_std_ns,
            mean_ns: table.mean(),
            std_ns: table.std(),
        }
    }

    /// True if the table has the mean within 1 %, and the standard deviation within 5 %; a nanosecond is near enough.
    pub fn are_met(&self) -> bool {
        let near = |found: f64, asked: f64, share: f64| {
            (found - asked).abs() <= (share * asked).max(ROUNDING_NS)
        };
        near(self.mean_ns, self.asked_mean_ns, NEAR_MEAN)
            && near(self.std_ns, self.asked_std_ns, NEAR_STD)
    }
}

/// The quantile at `share` of a table's entries in ascending order. Each entry stands for its
/// 4,096th of the distribution, so this is the quantile at the middle of that slice (type 5 of
/// Hyndman and Fan 1996). The definition for samples would be off by half an entry, which shows in
/// a long tail.
fn at(sorted: &[f64], share: f64) -> f64 {
    let last = (sorted.len() - 1) as f64;
    let place = (share * sorted.len() as f64 - 0.5).clamp(0.0, last);
    let (below, above) = (
        sorted[place.floor() as usize],
        sorted[place.ceil() as usize],
    );
    below + (above - below) * place.fract()
}
