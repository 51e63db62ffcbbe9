//! Are the figures normally distributed? It decides which tests are valid (latency-variation,
//! section 6).

use jitterlab_stats::ks;
use serde::Serialize;

use super::condition::Condition;
use crate::table::{Column, Row, Value, column};
use crate::words;

/// The tests of one set of figures.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Normality {
    /// What was tested.
    pub subject: String,
    /// Whether these are round trips, of which there are many, or runtimes, of which there are few.
    pub of_samples: bool,
    /// How many there are.
    pub n: usize,
    /// Distance to the normal with their mean and standard deviation.
    pub d: f64,
    /// p of the plain Kolmogorov-Smirnov test, the paper's: not valid here.
    pub plain_p: f64,
    /// p of the Lilliefors test, the valid one.
    pub lilliefors_p: f64,
}

impl Normality {
    /// Of the round trips of a condition; `None` if they are too few or all equal.
    pub fn of_condition(condition: &Condition) -> Option<Self> {
        let subject = format!("{}, {}", condition.link, condition.level);
        Normality::of(subject, true, &condition.rtt.sorted)
    }

    /// Of any figures; `None` if they are fewer than five or all equal.
    pub fn of(subject: String, of_samples: bool, figures: &[f64]) -> Option<Self> {
        let plain = ks::plain_normality(figures).ok()?;
        Some(Normality {
            subject,
            of_samples,
            n: figures.len(),
            d: plain.d,
            plain_p: plain.p,
            lilliefors_p: ks::lilliefors_p(figures.len() as f64, plain.d),
        })
    }

    fn is_rejected(&self) -> bool {
        self.lilliefors_p < words::ALPHA
    }
}

impl Row for Normality {
    const ID: &'static str = "normality";
    const TITLE: &'static str = "Tests for a normal distribution";

    fn columns() -> Vec<Column<Self>> {
        vec![
            column("subject", "Of", "what was tested", |row: &Normality| {
                Value::Text(row.subject.clone())
            }),
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
                "p of the Lilliefors test, which is valid for estimated parameters",
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

/// What the tests say of round trips and of runtimes.
pub fn in_words(rows: &[Normality]) -> Vec<String> {
    let sentence = |of_samples: bool, what: &str, consequence: fn(usize) -> &'static str| {
        let tested: Vec<&Normality> = rows
            .iter()
            .filter(|row| row.of_samples == of_samples)
            .collect();
        let rejected = tested.iter().filter(|row| row.is_rejected()).count();
        (!tested.is_empty()).then(|| {
            format!(
                "The Lilliefors test rejects a normal distribution of the {what} in {rejected} of \
                 {} (alpha {}); {}",
                words::counted(tested.len(), "case"),
                words::ALPHA,
                consequence(rejected)
            )
        })
    };
    let trips = sentence(
        true,
        "round trips and operations of MPI",
        |_| "they are compared by ranks and by distances of distribution functions, which assume none.",
    );
    let runtimes = sentence(
        false,
        "runtimes about the mean of their level",
        |rejected| match rejected {
            0 => {
                "they are compared by Student's t as in the paper, which assumes one. That it was \
                 not rejected does not show it: with few runs the test misses all but gross \
                 deviations."
            }
            _ => {
                "they are compared by Student's t as in the paper, which assumes one: where it is \
                 rejected, intervals and p values of runtimes are approximate."
            }
        },
    );
    trips.into_iter().chain(runtimes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_of_runtimes_follows_from_the_test() {
        let of = |runtimes: [f64; 10]| {
            let row = Normality::of("runtime of a program".into(), false, &runtimes).unwrap();
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
