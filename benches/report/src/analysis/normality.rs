//! Are the figures normally distributed? It decides which tests are valid (latency-variation,
//! section 6).

use jitterlab_base::{named, show};
use jitterlab_experiment::level::Level;
use jitterlab_stats::{grouped, ks};
use serde::Serialize;

use crate::analysis::condition::{BOOTSTRAP, Condition};
use crate::table::{Column, Row, Value, column};
use crate::words;

/// The kind of figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Figures {
    /// Round trips of messages.
    RoundTrips,
    /// Operations of MPI.
    Operations,
    /// Transactions of active messages.
    Transactions,
    /// Runtimes of programs.
    Runtimes,
}

named!(
    Figures,
    RoundTrips => "round trips",
    Operations => "operations of MPI",
    Transactions => "transactions of active messages",
    Runtimes => "runtimes",
);

impl Figures {
    /// True for samples, which are many; false for figures that a run has one of, which are few.
    pub fn are_samples(self) -> bool {
        self != Figures::Runtimes
    }
}

/// The figures that were tested, in words: `round trips and operations of MPI`.
pub fn figures_named(rows: &[&Normality]) -> String {
    let there = |figures: &Figures| rows.iter().any(|row| row.figures == *figures);
    let there = Figures::ALL.into_iter().filter(there);
    words::list(&there.map(|of| of.name().into()).collect::<Vec<_>>())
}

/// The tests of one set of figures.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Normality {
    /// The subject of the test.
    pub subject: String,
    /// The level, if they are of one.
    pub level: Option<Level>,
    /// The kind of figures.
    pub figures: Figures,
    /// The number of figures.
    pub n: usize,
    /// Distance to the normal with their mean and standard deviation.
    pub d: f64,
    /// p of the plain Kolmogorov-Smirnov test, the paper's: not valid here.
    pub plain_p: f64,
    /// p of the Lilliefors test, the valid one; of runtimes simulated.
    pub lilliefors_p: f64,
}

impl Normality {
    /// The test of the round trips of a condition; `None` if they are too few or all equal.
    pub fn of_condition(condition: &Condition) -> Option<Self> {
        let subject = condition.link.to_string();
        let level = Some(condition.level);
        Normality::of(subject, level, Figures::RoundTrips, &condition.rtt.sorted)
    }

    /// The test of any figures; `None` if they are fewer than five or all equal.
    pub fn of(
        subject: String,
        level: Option<Level>,
        figures: Figures,
        sample: &[f64],
    ) -> Option<Self> {
        let plain = ks::plain_normality(sample).ok()?;
        Some(Normality {
            subject,
            level,
            figures,
            n: sample.len(),
            d: plain.d,
            plain_p: plain.p,
            lilliefors_p: ks::lilliefors_p(sample.len() as f64, plain.d),
        })
    }

    /// The test of runtimes by level; `None` if they are too few or do not vary. The levels have variances of their own.
    pub fn of_levels(subject: String, levels: &[&[f64]]) -> Option<Self> {
        let found = grouped::normality(levels, REPLICATES, BOOTSTRAP.seed).ok()?;
        Some(Normality {
            subject,
            level: None,
            figures: Figures::Runtimes,
            n: found.n,
            d: found.d,
            plain_p: ks::plain_normality(&grouped::residuals(levels)).ok()?.p,
            lilliefors_p: found.p,
        })
    }

    fn is_rejected(&self) -> bool {
        self.lilliefors_p < words::ALPHA
    }
}

/// Simulated sets of runtimes. p is a share of them.
pub const REPLICATES: usize = 2_000;

impl Row for Normality {
    const ID: &'static str = "normality";
    const TITLE: &'static str = "Tests for a normal distribution";

    fn columns() -> Vec<Column<Self>> {
        vec![
            column("subject", "Tested", "what was tested", |row: &Normality| {
                Value::Text(row.subject.clone())
            }),
            column(
                "level",
                "Level",
                "condition of the runs; none where all levels were taken together",
                |row: &Normality| row.level.map_or(Value::Missing, Value::Level),
            ),
            column("n", "n", "how many figures", |row: &Normality| {
                Value::Count(row.n as u64)
            }),
            column(
                "d",
                "D",
                "greatest distance to the normal with the figures' mean and standard deviation",
                |row: &Normality| Value::Number(row.d),
            ),
            column(
                "ks_plain_p",
                "p, plain KS",
                "p of the plain Kolmogorov-Smirnov test as in the paper; not valid, because the \
                 parameters were estimated",
                |row: &Normality| Value::P(row.plain_p),
            ),
            column(
                "lilliefors_p",
                "p, Lilliefors",
                "p of the Lilliefors test, which is valid for estimated parameters; of runtimes, about the mean of \
                 their level and over its standard deviation, simulated",
                |row: &Normality| Value::P(row.lilliefors_p),
            ),
            column(
                "verdict",
                "Normal?",
                "whether the Lilliefors test rejects a normal distribution at alpha 0.05",
                |row: &Normality| {
                    Value::Text(
                        if row.is_rejected() {
                            "no"
                        } else {
                            "not rejected"
                        }
                        .into(),
                    )
                },
            ),
        ]
    }
}

/// The words of the tests about round trips and runtimes.
pub fn in_words(rows: &[Normality]) -> Vec<String> {
    let sentence = |are_samples: bool, consequence: fn(usize) -> &'static str| {
        let tested: Vec<&Normality> = rows
            .iter()
            .filter(|row| row.figures.are_samples() == are_samples)
            .collect();
        let what = match are_samples {
            true => figures_named(&tested),
            false => "runtimes about the mean of their level".into(),
        };
        let rejected = tested.iter().filter(|row| row.is_rejected()).count();
        (!tested.is_empty()).then(|| {
            format!(
                "The Lilliefors test rejects a normal distribution of the {what} in {rejected} of \
                 {} (alpha {}); {}",
                show::counted(tested.len(), "case"),
                words::ALPHA,
                consequence(rejected)
            )
        })
    };
    let trips = sentence(
        true,
        |_| "they are compared by ranks and by distances of distribution functions: neither assumes a normal law.",
    );
    let runtimes = sentence(false, |rejected| match rejected {
        0 => {
            "they are compared by Student's t as in the paper, which assumes one. That it was \
                 not rejected does not show it: with few runs the test misses all but gross \
                 deviations."
        }
        _ => {
            "they are compared by Student's t as in the paper, which assumes one: where it is \
                 rejected, intervals and p values of runtimes are approximate."
        }
    });
    trips.into_iter().chain(runtimes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_that_vary_unlike_much_are_not_taken_for_one_that_is_not_normal() {
        // Eight runs where those of a normal distribution are expected, at seven levels.
        let normal = [-1.42, -0.85, -0.47, -0.15, 0.15, 0.47, 0.85, 1.42];
        let levels: Vec<Vec<f64>> = [0.002, 0.004, 0.01, 0.01, 0.03, 0.1, 0.47]
            .iter()
            .map(|std| normal.iter().map(|z| 1.0 + std * z).collect())
            .collect();
        let levels: Vec<&[f64]> = levels.iter().map(Vec::as_slice).collect();
        let together =
            Normality::of(String::new(), None, Figures::Runtimes, &levels.concat()).unwrap();
        assert!(together.is_rejected(), "{together:?}");
        let each = Normality::of_levels(String::new(), &levels).unwrap();
        assert_eq!(each.n, 56);
        assert!(!each.is_rejected(), "{each:?}");
    }

    #[test]
    fn what_is_said_of_runtimes_follows_from_the_test() {
        let of = |runtimes: [f64; 10]| {
            let row = Normality::of_levels("runtime of a program".into(), &[&runtimes]).unwrap();
            in_words(&[row]).remove(0)
        };
        let like_normal = of([-1.5, -1.0, -0.7, -0.4, -0.1, 0.1, 0.4, 0.7, 1.0, 1.5]);
        assert!(like_normal.contains("in 0 of 1 case"), "{like_normal}");
        assert!(like_normal.contains("does not show it"), "{like_normal}");
        let with_outlier = of([0.0, 0.1, 0.2, 0.1, 0.0, 0.1, 0.2, 0.1, 0.1, 9.0]);
        assert!(with_outlier.contains("in 1 of 1 case"), "{with_outlier}");
        assert!(with_outlier.contains("are approximate"), "{with_outlier}");
    }
}
