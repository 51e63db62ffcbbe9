//! The distributions fitted to latency under load, and the tables made from them
//! (latency-variation, section 5.3).

use jitterlab_experiment::fit as experiment;
use jitterlab_experiment::level::Member;
use jitterlab_stats::distribution::Distribution;
use jitterlab_stats::{fit, ks, wasserstein};
use serde::Serialize;

use super::condition::{Condition, Link};
use super::{OverLink, link_columns, share_of};
use crate::table::{Column, Row, Value, column};
use crate::words;

/// The excess of the round trips under load over the median round trip without load, in
/// nanoseconds and in ascending order: what is fitted. At most as many as are compared.
pub fn excess(background: &Condition, none: &Condition) -> Vec<f64> {
    experiment::excess(&background.rtt.compared(), none.rtt.summary.median)
}

/// The excess as it can be injected: no message is sent earlier than it was.
pub fn injectable(excess: &[f64]) -> Vec<f64> {
    excess.iter().map(|&x| x.max(0.0)).collect()
}

/// A kind of distribution, fitted to the excess at one load.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Alternative {
    /// Over which link the round trips went.
    #[serde(flatten)]
    pub link: Link,
    /// Under which load, in percent.
    pub percent: u8,
    /// Number of samples it was fitted to.
    pub n: usize,
    /// The distribution, in nanoseconds.
    pub distribution: Distribution,
    /// Akaike's criterion; infinite where the samples cannot come from the distribution.
    pub aic: f64,
    /// By how much the criterion exceeds that of the best.
    pub aic_difference: f64,
    /// How far it is from the samples.
    #[serde(flatten)]
    pub distance: Distance,
}

/// How far a distribution is from samples.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Distance {
    /// Kolmogorov-Smirnov: the greatest vertical distance of the distribution functions.
    pub ks: f64,
    /// Wasserstein-1: the area between them.
    pub wasserstein_ns: f64,
}

/// Points at which a distribution is compared with samples by area.
const POINTS: usize = 10_000;

impl Distance {
    /// Between samples in ascending order and a distribution; `None` without samples.
    fn between(sorted: &[f64], distribution: &Distribution) -> Option<Self> {
        let points: Vec<f64> = (0..POINTS)
            .map(|i| distribution.quantile((i as f64 + 0.5) / POINTS as f64))
            .collect();
        Some(Distance {
            ks: ks::one_sample(sorted, distribution).ok()?.d,
            wasserstein_ns: wasserstein::distance_sorted(sorted, &points),
        })
    }
}

/// Every kind of distribution that the excess allows, the best by Akaike's criterion first.
pub fn alternatives(link: &Link, percent: u8, excess: &[f64]) -> Vec<Alternative> {
    let fits = fit::ranking(excess).unwrap_or_default();
    let Some(best) = fits.first().map(|fit| fit.aic) else {
        return Vec::new();
    };
    fits.into_iter()
        .filter_map(|fit| {
            Some(Alternative {
                link: link.clone(),
                percent,
                n: excess.len(),
                distribution: fit.distribution,
                aic: fit.aic,
                aic_difference: fit.aic - best,
                distance: Distance::between(excess, &fit.distribution)?,
            })
        })
        .collect()
}

impl OverLink for Alternative {
    fn link(&self) -> &Link {
        &self.link
    }
}

impl Row for Alternative {
    const ID: &'static str = "fits";
    const TITLE: &'static str = "Distributions fitted to the excess RTT under load";

    fn columns() -> Vec<Column<Self>> {
        let mut columns = Vec::from(link_columns());
        columns.extend([
            column(
                "load_percent",
                "Load, %",
                "background load asked for",
                |row: &Alternative| Value::Count(row.percent.into()),
            ),
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
                "lognormal: shape (no unit), location and scale; uniform: low and high; constant: \
                 value; in microseconds",
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
                "standard deviation of the distribution",
                |row: &Alternative| Value::Number(row.distribution.std() / 1e3),
            ),
            column(
                "aic",
                "AIC",
                "Akaike's information criterion; none where the samples cannot occur",
                |row: &Alternative| Value::number(finite(row.aic)),
            )
            .in_csv_only(),
            column(
                "aic_difference",
                "AIC over the best",
                "by how much AIC exceeds the best alternative's",
                |row: &Alternative| Value::number(finite(row.aic_difference)),
            ),
            column(
                "ks_d",
                "KS distance",
                "greatest distance of the distribution functions",
                |row: &Alternative| Value::Number(row.distance.ks),
            ),
            column(
                "wasserstein_us",
                "Wasserstein-1, µs",
                "area between the distribution functions in microseconds",
                |row: &Alternative| Value::Number(row.distance.wasserstein_ns / 1e3),
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
    }
}

fn parameters(distribution: &Distribution) -> String {
    let us = |ns: f64| words::short(ns / 1e3);
    match *distribution {
        Distribution::Constant { value } => format!("value {}", us(value)),
        Distribution::Uniform { low, high } => format!("low {}, high {}", us(low), us(high)),
        Distribution::LogNormal {
            shape,
            location,
            scale,
        } => format!(
            "shape {}, location {}, scale {}",
            words::short(shape),
            us(location),
            us(scale)
        ),
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
    /// Which of the five.
    pub shape: Member,
    /// The distribution, in nanoseconds.
    pub distribution: Distribution,
    /// Mean delay of the table.
    pub mean_ns: f64,
    /// Standard deviation of the delays of the table.
    pub std_ns: f64,
    /// Its delays in nanoseconds, in ascending order.
    #[serde(skip)]
    pub delays: Vec<f64>,
    /// How far they are from the excess they imitate; none where its samples are missing.
    #[serde(flatten)]
    pub distance: Option<Distance>,
}

impl Injected {
    /// Takes the distance to an excess, as it can be injected, in ascending order and not empty.
    pub fn compare(&mut self, injectable: &[f64]) {
        self.distance = Some(Distance {
            ks: ks::two_sample_sorted(injectable, &self.delays).d,
            wasserstein_ns: wasserstein::distance_sorted(injectable, &self.delays),
        });
    }
}

impl Row for Injected {
    const ID: &'static str = "tables";
    const TITLE: &'static str = "Distribution tables that were injected";

    fn columns() -> Vec<Column<Self>> {
        vec![
            column(
                "fitted_over",
                "Fitted over",
                "link whose excess RTT was fitted",
                |row: &Injected| Value::Text(row.link.to_string()),
            ),
            column(
                "load_percent",
                "Load, %",
                "background load imitated",
                |row: &Injected| Value::Count(row.percent.into()),
            ),
            column(
                "shape",
                "Shape",
                "member of the paper's family",
                |row: &Injected| Value::Text(row.shape.name().into()),
            ),
            column(
                "parameters",
                "Parameters",
                "of the distribution, in microseconds (the lognormal's shape without a unit)",
                |row: &Injected| Value::Text(parameters(&row.distribution)),
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
                "ks_d",
                "KS distance",
                "greatest distance of the table's distribution function to that of the excess RTT, \
                 what is negative taken as 0",
                |row: &Injected| Value::number(row.distance.map(|d| d.ks)),
            ),
            column(
                "wasserstein_us",
                "Wasserstein-1, µs",
                "area between the same two in microseconds",
                |row: &Injected| Value::number(row.distance.map(|d| d.wasserstein_ns / 1e3)),
            ),
        ]
    }
}

/// The best of each condition to which no lognormal could be fitted: too many samples equal the least, or there are too
/// few. That another is best there says nothing of the lognormal.
pub fn without_lognormal(rows: &[Alternative]) -> Vec<&Alternative> {
    let is_lognormal =
        |row: &Alternative| matches!(row.distribution, Distribution::LogNormal { .. });
    let best = rows.iter().filter(|row| row.aic_difference == 0.0);
    best.filter(|best| {
        let mut of_condition = rows.iter().filter(|row| row.at() == best.at());
        !of_condition.any(is_lognormal)
    })
    .collect()
}

impl Alternative {
    /// What it was fitted to.
    pub fn at(&self) -> (&Link, u8) {
        (&self.link, self.percent)
    }

    /// The same for people: `RTT over UDP at 20 %`.
    pub fn place(&self) -> String {
        format!("{} at {} %", self.link, self.percent)
    }
}

/// Which kind of distribution describes the excess best.
pub fn in_words(rows: &[Alternative]) -> Vec<String> {
    let mut best: Vec<(&'static str, Vec<String>)> = Vec::new();
    for row in rows.iter().filter(|row| row.aic_difference == 0.0) {
        let place = row.place();
        let kind = kind(&row.distribution);
        match best.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, places)) => places.push(place),
            None => best.push((kind, vec![place])),
        }
    }
    let mut sentences: Vec<String> = best
        .into_iter()
        .map(|(kind, places)| {
            format!(
                "By Akaike's criterion the excess RTT is described best by a {kind} distribution \
                 for {}.",
                words::list(&places)
            )
        })
        .collect();
    let unfitted: Vec<String> = without_lognormal(rows)
        .into_iter()
        .map(Alternative::place)
        .collect();
    if !unfitted.is_empty() {
        sentences.push(format!(
            "No lognormal could be fitted to {}: too many samples equal the least, or there are too few. What is best \
             there is so among the others alone.",
            words::list(&unfitted)
        ));
    }
    let worst = rows
        .iter()
        .filter(|row| row.aic_difference == 0.0)
        .map(|row| {
            (
                row,
                share_of(row.distance.wasserstein_ns, row.distribution.mean()),
            )
        })
        .max_by(|a, b| a.1.total_cmp(&b.1));
    if let Some((row, share)) = worst {
        sentences.push(format!(
            "Best is not the same as good: the greatest distance of a best fit from its samples is \
             {} µs (Wasserstein-1; {:.0} % of its mean), for {} at {} %.",
            words::short(row.distance.wasserstein_ns / 1e3),
            100.0 * share,
            row.link,
            row.percent
        ));
    }
    sentences
}
