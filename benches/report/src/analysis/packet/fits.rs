//! The distributions fitted to latency under load, and the tables made from them
//! (latency-variation, section 5.3).

use jitterlab_base::show;
use jitterlab_experiment::fit as experiment;
use jitterlab_experiment::level::Member;
use jitterlab_stats::distribution::Distribution;
use jitterlab_stats::fit::Fit;
use jitterlab_stats::imitation::{self, Closeness, Fault};
use jitterlab_stats::positive::{Component, Positive};
use serde::Serialize;

use crate::analysis::condition::{Condition, Link};
use crate::analysis::packet::latency::Latency;
use crate::analysis::rows::{OfLoad, OverLink, link_columns, load_columns};
use crate::table::{Column, Row, Value, column};
use crate::words;

/// The excess that is fitted: of the round trips under load over the median round trip without
/// load, in nanoseconds and in ascending order. It has at most as many values as are compared.
pub fn excess(background: &Condition, none: &Condition) -> Vec<f64> {
    experiment::excess(&background.rtt.compared(), none.rtt.summary.median)
}

/// The excess as it can be injected: no message is sent earlier than it was.
pub fn injectable(excess: &[f64]) -> Vec<f64> {
    excess.iter().map(|&x| x.max(0.0)).collect()
}

/// A family of distributions, fitted to the excess at one load, with a share of zeros and the excess's mean.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Alternative {
    /// Over which link the round trips went.
    #[serde(flatten)]
    pub link: Link,
    /// Under which load, in percent.
    pub percent: u8,
    /// Number of samples it was fitted to.
    pub n: usize,
    /// True if it is the one that comes closest, of the fewest parameters.
    pub chosen: bool,
    /// The distribution, in nanoseconds.
    pub distribution: Distribution,
    /// Akaike's criterion; infinite where the samples cannot come from the distribution.
    pub aic: f64,
    /// Its closeness to the samples, in nanoseconds.
    #[serde(flatten)]
    pub closeness: Closeness,
}

/// Every family that the excess allows, the one that comes closest first.
pub fn alternatives(link: &Link, percent: u8, excess: &[f64]) -> Vec<Alternative> {
    imitation::candidates(excess)
        .unwrap_or_default()
        .into_iter()
        // An excess that is all one number has no family.
        .filter(|candidate| !matches!(candidate.distribution, Distribution::Constant { .. }))
        .enumerate()
        .map(|(i, candidate)| Alternative {
            link: link.clone(),
            percent,
            n: excess.len(),
            chosen: i == 0,
            distribution: candidate.distribution,
            aic: Fit::new(candidate.distribution, excess).aic,
            closeness: candidate.closeness,
        })
        .collect()
}

impl OverLink for Alternative {
    fn link(&self) -> &Link {
        &self.link
    }
}

impl OfLoad for Alternative {
    fn percent(&self) -> u8 {
        self.percent
    }
}

impl Row for Alternative {
    const ID: &'static str = "fits";
    const TITLE: &'static str = "Distributions fitted to the excess RTT under load";

    fn columns() -> Vec<Column<Self>> {
        let mut columns = Vec::from(link_columns());
        columns.extend(load_columns());
        columns.extend([
            column("n", "n", "samples fitted", |row: &Alternative| {
                Value::Count(row.n as u64)
            }),
            column(
                "distribution",
                "Distribution",
                "kind of distribution",
                |row: &Alternative| Value::Text(kind(&row.distribution).into()),
            ),
            column(
                "parameters",
                "Parameters",
                "of the family, times with their units; shapes have none",
                |row: &Alternative| Value::Text(parameters(&row.distribution)),
            ),
            column(
                "mean_us",
                "Mean, µs",
                "mean of the distribution",
                |row: &Alternative| Value::Number(row.distribution.mean() / 1e3),
            ),
            column(
                "std_us",
                "Std, µs",
                "standard deviation of the distribution; ∞ where its tail is so heavy that it has none",
                |row: &Alternative| Value::Number(row.distribution.std() / 1e3),
            ),
            column(
                "zeros_percent",
                "Zeros, %",
                "share of the distribution that is 0; of the excess as many are 0 or less",
                |row: &Alternative| Value::Number(100.0 * row.closeness.zeros),
            ),
            column(
                "wasserstein_us",
                "Wasserstein-1, µs",
                "area between the distribution functions in microseconds",
                |row: &Alternative| Value::Number(row.closeness.distance / 1e3),
            ),
            column(
                "distance_ratio",
                "Ratio to a constant's",
                "that area over the one that a constant of the same mean has: from 1 on, the mean alone does as well",
                |row: &Alternative| Value::Number(row.closeness.distance_ratio()),
            ),
            column(
                "std_ratio",
                "Std ratio",
                "standard deviation over that of the excess",
                |row: &Alternative| Value::Number(row.closeness.std_ratio()),
            ),
            column(
                "ks_d",
                "KS distance",
                "greatest distance of the distribution functions; a test of it would assume that round trips are independent, and \
                 reject every family at so many",
                |row: &Alternative| Value::Number(row.closeness.largest_difference),
            ),
            column(
                "aic",
                "AIC",
                "Akaike's criterion (AIC), which assumes that round trips are independent; none where the samples cannot occur",
                |row: &Alternative| Value::number(finite(row.aic)),
            ),
        ]);
        columns
    }
}

fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

fn kind(distribution: &Distribution) -> &'static str {
    match distribution {
        Distribution::Constant { .. } => "constant",
        Distribution::Uniform { .. } => "uniform",
        Distribution::LogNormal { .. } => "lognormal",
        Distribution::WithZeros { rest, .. } => rest.name(),
    }
}

/// A kind as a subject: `gamma`, `a mixture of three lognormals`.
fn family(kind: &str) -> String {
    let name = kind.replace('-', " ");
    match name.strip_suffix("lognormals") {
        Some(_) => format!("a mixture of {name}"),
        None => name,
    }
}

fn parameters(distribution: &Distribution) -> String {
    let time = words::time;
    match distribution {
        Distribution::Constant { value } => format!("value {}", time(*value)),
        Distribution::Uniform { low, high } => format!("low {}, high {}", time(*low), time(*high)),
        Distribution::LogNormal {
            shape,
            location,
            scale,
        } => format!(
            "shape {}, location {}, scale {}",
            words::short(*shape),
            time(*location),
            time(*scale)
        ),
        Distribution::WithZeros { zeros, rest } => {
            let zeros = show::percent(*zeros);
            match rest {
                Positive::LogNormal { shape, scale }
                | Positive::Gamma { shape, scale }
                | Positive::Weibull { shape, scale }
                | Positive::GeneralisedPareto { shape, scale } => format!(
                    "zeros {zeros}, shape {}, scale {}",
                    words::short(*shape),
                    time(*scale)
                ),
                Positive::Mixture(mixture) => {
                    let component = |c: &Component| {
                        format!(
                            "{} of shape {}, scale {}",
                            show::percent(c.weight),
                            words::short(c.shape),
                            time(c.scale)
                        )
                    };
                    let components: Vec<String> =
                        mixture.components().iter().map(component).collect();
                    format!("zeros {zeros}; {}", components.join("; "))
                }
            }
        }
    }
}

/// A distribution table that was injected, as the experiment made it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Injected {
    /// The link whose excess RTT it was made from.
    #[serde(flatten)]
    pub link: Link,
    /// The load it imitates, in percent.
    pub percent: u8,
    /// The shape.
    pub shape: Member,
    /// The distribution, in nanoseconds; none where the table was made from the excess itself.
    pub distribution: Option<Distribution>,
    /// Mean delay of the table.
    pub mean_ns: f64,
    /// Standard deviation of the delays of the table.
    pub std_ns: f64,
    /// Its delays in nanoseconds, in ascending order.
    #[serde(skip)]
    pub delays: Vec<f64>,
    /// Their closeness to the excess that they were made from, in nanoseconds.
    #[serde(flatten)]
    pub closeness: Closeness,
    /// Why they are no imitation, though their shape claims to be one.
    pub fault: Option<Fault>,
}

impl OfLoad for Injected {
    fn percent(&self) -> u8 {
        self.percent
    }
}

impl Row for Injected {
    const ID: &'static str = "tables";
    const TITLE: &'static str = "Distribution tables that were injected";

    fn columns() -> Vec<Column<Self>> {
        let mut columns = vec![column(
            "fitted_over",
            "Fitted over",
            "link whose excess RTT was fitted",
            |row: &Injected| Value::Text(row.link.to_string()),
        )];
        columns.extend(load_columns());
        columns.extend([
            column(
                "shape",
                "Shape",
                "what was made from the excess",
                |row: &Injected| Value::Text(row.shape.name().into()),
            ),
            column(
                "parameters",
                "Parameters",
                "of the distribution, times with their units; the lognormal's shape has none",
                |row: &Injected| {
                    Value::Text(
                        row.distribution
                            .as_ref()
                            .map_or_else(String::new, parameters),
                    )
                },
            ),
            column(
                "mean_us",
                "Mean, µs",
                "mean delay of the table",
                |row: &Injected| Value::Number(row.mean_ns / 1e3),
            ),
            column(
                "std_us",
                "Std, µs",
                "standard deviation of the delays of the table",
                |row: &Injected| Value::Number(row.std_ns / 1e3),
            ),
            column(
                "zeros_percent",
                "Zeros, %",
                "share of the delays that are 0",
                |row: &Injected| Value::Number(100.0 * row.closeness.zeros),
            ),
            column(
                "excess_zeros_percent",
                "Zeros of the excess, %",
                "share of the excess that is 0 or less",
                |row: &Injected| Value::Number(100.0 * row.closeness.zeros_of_samples),
            ),
            column(
                "wasserstein_us",
                "Wasserstein-1, µs",
                "area between the distribution functions of table and excess in microseconds, what is negative taken as 0",
                |row: &Injected| Value::Number(row.closeness.distance / 1e3),
            ),
            column(
                "distance_ratio",
                "Ratio to a constant's",
                "that area over the one that a constant of the same mean has",
                |row: &Injected| Value::Number(row.closeness.distance_ratio()),
            ),
            column(
                "std_ratio",
                "Std ratio",
                "standard deviation over that of the excess",
                |row: &Injected| Value::Number(row.closeness.std_ratio()),
            ),
            column(
                "ks_d",
                "KS distance",
                "greatest distance of the same two functions",
                |row: &Injected| Value::Number(row.closeness.largest_difference),
            )
            .in_csv_only(),
            column(
                "imitates",
                "Imitates",
                "whether it is close enough to be called an imitation: closer than a constant, and its standard deviation within a quarter \
                 of the excess's; - where the shape does not claim to",
                |row: &Injected| {
                    Value::Text(
                        match row.fault {
                            _ if !row.shape.imitates() => "-",
                            None => "yes",
                            Some(Fault::NoCloserThanConstant) => "no: a constant is as close",
                            Some(Fault::Deviation) => "no: standard deviation",
                        }
                        .into(),
                    )
                },
            ),
        ]);
        columns
    }
}

impl Alternative {
    /// The condition that it was fitted to.
    pub fn at(&self) -> (&Link, u8) {
        (&self.link, self.percent)
    }

    /// The condition for people: `RTT over UDP at load 20 %`.
    fn place(&self, load_called: &dyn Fn(u8) -> String) -> String {
        format!("{} at {}", self.link, load_called(self.percent))
    }
}

/// The conditions under load whose excess could not be fitted, for people: nearly all of it is one number, or 0.
pub fn unfitted(
    rows: &[Alternative],
    latency: &[Latency],
    load_called: &dyn Fn(u8) -> String,
) -> Vec<String> {
    let place = |row: &Latency| -> Vec<(Link, u8)> {
        let asked = row.load.as_ref().map_or(&[][..], |load| &load.asked);
        let place = |&percent| (row.link.clone(), percent);
        asked.iter().map(place).collect()
    };
    let is_fitted =
        |(link, percent): &(Link, u8)| rows.iter().any(|row| row.at() == (link, *percent));
    let places = latency
        .iter()
        .flat_map(place)
        .filter(|place| !is_fitted(place));
    places
        .map(|(link, percent)| format!("{link} at {}", load_called(percent)))
        .collect()
}

/// The rule for the choice of a family.
const RULE: &str = "The report chooses the family of the least Wasserstein-1 distance. Where several are as close as samples scatter, it \
                    chooses the one of the fewest parameters.";

/// Tells which family was chosen for the excess, by which rule, and what is injected without being an imitation.
pub fn in_words(
    rows: &[Alternative],
    latency: &[Latency],
    tables: &[Injected],
    load_called: &dyn Fn(u8) -> String,
) -> Vec<String> {
    let mut chosen: Vec<(&'static str, Vec<String>)> = Vec::new();
    for row in rows.iter().filter(|row| row.chosen) {
        let kind = kind(&row.distribution);
        let place = row.place(load_called);
        match chosen.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, places)) => places.push(place),
            None => chosen.push((kind, vec![place])),
        }
    }
    let mut sentences: Vec<String> = chosen
        .into_iter()
        .map(|(kind, places)| {
            format!(
                "Of the families, {} is chosen for the excess of {}.",
                family(kind),
                words::list(&places)
            )
        })
        .collect();
    if !sentences.is_empty() {
        sentences.push(RULE.into());
    }
    let unfitted = unfitted(rows, latency, load_called);
    if !unfitted.is_empty() {
        sentences.push(format!(
            "No family could be fitted to {}: nearly all of the excess there is one number, or 0.",
            words::list(&unfitted)
        ));
    }
    let ratio = |row: &&Alternative| row.closeness.distance_ratio();
    let worst = rows
        .iter()
        .filter(|row| row.chosen)
        .max_by(|a, b| ratio(a).total_cmp(&ratio(b)));
    if let Some(row) = worst {
        sentences.push(format!(
            "A chosen family need not be close: at worst its distance from the excess is {}, {} of a constant's, for {}.",
            words::time(row.closeness.distance),
            words::percent_of(ratio(&row)),
            row.place(load_called)
        ));
    }
    sentences.extend(poor(tables, load_called));
    sentences
}

/// The tables that claim to imitate a load, do not, and were injected all the same.
pub fn poor(tables: &[Injected], load_called: &dyn Fn(u8) -> String) -> Option<String> {
    let poor: Vec<String> = tables
        .iter()
        .filter(|table| table.fault.is_some())
        .map(|table| format!("{} of {}", table.shape, load_called(table.percent)))
        .collect();
    (!poor.is_empty()).then(|| {
        format!(
            "No imitation of the load, and injected all the same because the experiment says `accept_poor_fit: true`: {}. What is \
             found under these delays does not hold for the load.",
            words::list(&poor)
        )
    })
}
