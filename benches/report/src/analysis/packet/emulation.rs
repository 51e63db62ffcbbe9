//! Injected against background: is the emulation good? (latency-variation, sections 3.2 and 6.)

use jitterlab_base::show;
use jitterlab_experiment::level::Member;
use jitterlab_stats::autocorrelation::LAGS;
use jitterlab_stats::mann_whitney::size_of_effect;
use jitterlab_stats::{hodges_lehmann, holm, ks, mann_whitney, repeated, wasserstein};
use serde::Serialize;

use crate::analysis::condition::{Condition, Link};
use crate::analysis::repeated::CONFIDENCE;
use crate::analysis::rows::{OfLoad, OverLink, link_columns, load_columns, micros, share_of};
use crate::table::{Column, Estimate, Row, Value, column};
use crate::words;

/// The round trips under injected delays, compared with those under the load they imitate.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Emulation {
    /// Over which link.
    #[serde(flatten)]
    pub link: Link,
    /// The link whose excess RTT was fitted, where that is known.
    pub fitted_over: Option<Link>,
    /// The load that is imitated, in percent.
    pub percent: u8,
    /// The one of the five distributions that was injected.
    pub shape: Member,
    /// Round trips under load.
    pub background_n: usize,
    /// Round trips with injected delays.
    pub injected_n: usize,
    /// Mean RTT under load, interval over runs.
    pub background_mean_ns: Estimate,
    /// Mean RTT with injected delays, interval over runs.
    pub injected_mean_ns: Estimate,
    /// Standard deviation under load, interval over runs.
    pub background_std_ns: Estimate,
    /// Standard deviation with injected delays, interval over runs.
    pub injected_std_ns: Estimate,
    /// Injected standard deviation over that of the background. Both are of the round trips
    /// measured, which are about as many. A smaller sample shows less of a heavy tail, so that a
    /// table or a fitted distribution has more than any sample of it.
    pub std_ratio: f64,
    /// Median RTT under load, interval over runs.
    pub background_median_ns: Estimate,
    /// Median RTT with injected delays, interval over runs.
    pub injected_median_ns: Estimate,
    /// Injected mean over background mean, with its interval over runs.
    pub mean_ratio: Option<Estimate>,
    /// Two-sample Kolmogorov-Smirnov distance.
    pub ks_d: f64,
    /// Its p.
    pub ks_p: f64,
    /// p of the Mann-Whitney test.
    pub mann_whitney_p: f64,
    /// The same after Holm's correction over all rows of the table.
    pub mann_whitney_holm_p: f64,
    /// Rank-biserial correlation: positive where injected round trips tend to be longer.
    pub rank_biserial: f64,
    /// Hodges-Lehmann shift, injected less background, with the interval of the Mann-Whitney test.
    pub shift_ns: Estimate,
    /// Wasserstein-1 distance.
    pub wasserstein_ns: f64,
    /// The same in proportion to the mean RTT under load.
    pub wasserstein_share: f64,
    /// The same distance from the round trips without load: what it would be without injection.
    pub without_injection_share: Option<f64>,
    /// Autocorrelation of the ranks of round trips under load, at each of [`LAGS`], mean over runs.
    pub background_order: Option<[f64; LAGS.len()]>,
    /// The same with injected delays.
    pub injected_order: Option<[f64; LAGS.len()]>,
    /// `close`, `fair` or `poor`, see [`words::LIMITS`].
    pub verdict: &'static str,
}

impl Emulation {
    /// The comparison of two conditions of one link; `none` is that without load.
    pub fn of(
        percent: u8,
        shape: Member,
        background: &Condition,
        injected: &Condition,
        none: Option<&Condition>,
        fitted_over: Option<Link>,
    ) -> Self {
        let (a, b) = (injected.rtt.compared(), background.rtt.compared());
        let ranks = mann_whitney::test_sorted(&a, &b);
        let kolmogorov = ks::two_sample_sorted(&a, &b);
        let distance = wasserstein::distance_sorted(&a, &b);
        let mean = background.rtt.summary.mean;
        let std_ratio = share_of(injected.rtt.std().value, background.rtt.std().value);
        let without = none.map(|none| wasserstein::distance_sorted(&none.rtt.compared(), &b));
        // The two are measured in phases of their own: they have no blocks in common.
        let (means, of_background) = (&injected.rtt.means, &background.rtt.means);
        let ratio = repeated::ratio(means.figures(), of_background.figures(), CONFIDENCE).ok();
        Emulation {
            link: background.link.clone(),
            fitted_over,
            percent,
            shape,
            background_n: background.rtt.sorted.len(),
            injected_n: injected.rtt.sorted.len(),
            background_mean_ns: background.rtt.mean(),
            injected_mean_ns: injected.rtt.mean(),
            background_std_ns: background.rtt.std(),
            injected_std_ns: injected.rtt.std(),
            std_ratio,
            background_median_ns: background.rtt.median(),
            injected_median_ns: injected.rtt.median(),
            mean_ratio: ratio.map(|ratio| Estimate::from(ratio.ratio).positive()),
            ks_d: kolmogorov.d,
            ks_p: kolmogorov.p,
            mann_whitney_p: ranks.p,
            mann_whitney_holm_p: ranks.p,
            rank_biserial: ranks.rank_biserial,
            shift_ns: hodges_lehmann::shift_sorted(&a, &b, CONFIDENCE)
                .interval
                .into(),
            wasserstein_ns: distance,
            wasserstein_share: share_of(distance, mean),
            background_order: background.rtt.order(),
            injected_order: injected.rtt.order(),
            without_injection_share: without.map(|without| share_of(without, mean)),
            verdict: words::emulation(ranks.rank_biserial, share_of(distance, mean), std_ratio),
        }
    }
}

/// Corrects the p values of the Mann-Whitney tests for their number.
pub fn correct(rows: &mut [Emulation]) {
    let p: Vec<f64> = rows.iter().map(|row| row.mann_whitney_p).collect();
    for (row, p) in rows.iter_mut().zip(holm::adjust(&p)) {
        row.mann_whitney_holm_p = p;
    }
}

impl OverLink for Emulation {
    fn link(&self) -> &Link {
        &self.link
    }
}

impl OfLoad for Emulation {
    fn percent(&self) -> u8 {
        self.percent
    }
}

impl Row for Emulation {
    const ID: &'static str = "emulation";
    const TITLE: &'static str = "RTT with injected delays against RTT under the load they imitate";

    fn columns() -> Vec<Column<Self>> {
        let mut columns = conditions();
        columns.extend(comparison());
        columns
    }
}

fn conditions() -> Vec<Column<Emulation>> {
    let mut columns = Vec::from(link_columns());
    columns.extend([column(
        "fitted_over",
        "Fitted over",
        "link whose excess RTT was fitted and injected",
        |row: &Emulation| {
            let fitted_over = row.fitted_over.as_ref();
            fitted_over.map_or(Value::Missing, |link| Value::Text(link.to_string()))
        },
    )
    .in_csv_only()]);
    columns.extend(load_columns());
    columns.extend([
        column(
            "shape",
            "Shape",
            "distribution injected",
            |row: &Emulation| Value::Text(row.shape.name().into()),
        ),
        column(
            "background_n",
            "n, load",
            "round trips under load",
            |row: &Emulation| Value::Count(row.background_n as u64),
        )
        .in_csv_only(),
        column(
            "injected_n",
            "n, injected",
            "round trips with injection",
            |row: &Emulation| Value::Count(row.injected_n as u64),
        )
        .in_csv_only(),
        column(
            "background_mean_us",
            "Mean under load, µs",
            "mean RTT under load in microseconds, 95 % interval over runs",
            |row: &Emulation| micros(row.background_mean_ns),
        )
        .of_estimates()
        .in_csv_only(),
        column(
            "injected_mean_us",
            "Mean injected, µs",
            "mean RTT with injection in microseconds, 95 % interval over runs",
            |row: &Emulation| micros(row.injected_mean_ns),
        )
        .of_estimates()
        .in_csv_only(),
        column(
            "mean_ratio",
            "Mean, injected / load",
            "ratio of the mean RTTs, 95 % interval over runs",
            |row: &Emulation| Value::estimate(row.mean_ratio),
        )
        .of_estimates(),
        column(
            "background_std_us",
            "Std under load, µs",
            "standard deviation of the RTT under load in microseconds, 95 % interval over runs",
            |row: &Emulation| micros(row.background_std_ns),
        )
        .of_estimates()
        .in_csv_only(),
        column(
            "injected_std_us",
            "Std injected, µs",
            "standard deviation of the RTT with injection in microseconds, 95 % interval over runs",
            |row: &Emulation| micros(row.injected_std_ns),
        )
        .of_estimates()
        .in_csv_only(),
        column(
            "std_ratio",
            "Std, injected / load",
            "ratio of the standard deviations",
            |row: &Emulation| Value::Number(row.std_ratio),
        ),
        column(
            "background_median_us",
            "Median under load, µs",
            "median RTT under load in microseconds, 95 % interval over runs",
            |row: &Emulation| micros(row.background_median_ns),
        )
        .of_estimates()
        .in_csv_only(),
        column(
            "injected_median_us",
            "Median injected, µs",
            "median RTT with injection in microseconds, 95 % interval over runs",
            |row: &Emulation| micros(row.injected_median_ns),
        )
        .of_estimates()
        .in_csv_only(),
    ]);
    columns
}

fn comparison() -> Vec<Column<Emulation>> {
    vec![
        column(
            "ks_d",
            "KS distance",
            "two-sample Kolmogorov-Smirnov distance",
            |row: &Emulation| Value::Number(row.ks_d),
        ),
        column("ks_p", "p, KS", "its p", |row: &Emulation| {
            Value::P(row.ks_p)
        })
        .in_csv_only(),
        column(
            "mann_whitney_p",
            "p, Mann-Whitney",
            "two-sided p of the Mann-Whitney test",
            |row: &Emulation| Value::P(row.mann_whitney_p),
        )
        .in_csv_only(),
        column(
            "mann_whitney_holm_p",
            "p, Mann-Whitney (Holm)",
            "the same after Holm's correction over the rows of this table",
            |row: &Emulation| Value::P(row.mann_whitney_holm_p),
        ),
        column(
            "rank_biserial",
            "Rank-biserial",
            "effect size: 2 U / (n m) − 1, positive where injected round trips tend to be longer",
            |row: &Emulation| Value::Number(row.rank_biserial),
        ),
        column(
            "effect",
            "Effect",
            "size of the effect in words",
            |row: &Emulation| Value::Text(size_of_effect(row.rank_biserial).into()),
        ),
        column(
            "shift_us",
            "Shift, µs",
            "Hodges-Lehmann shift, injected less background, in microseconds, with the interval of \
             the Mann-Whitney test",
            |row: &Emulation| micros(row.shift_ns),
        )
        .of_estimates(),
        column(
            "wasserstein_us",
            "Wasserstein-1, µs",
            "Wasserstein-1 distance in microseconds",
            |row: &Emulation| Value::Number(row.wasserstein_ns / 1e3),
        ),
        column(
            "wasserstein_percent",
            "in % of the mean",
            "Wasserstein-1 distance in percent of the mean RTT under load",
            |row: &Emulation| Value::Number(100.0 * row.wasserstein_share),
        ),
        column(
            "without_injection_percent",
            "without injection, %",
            "the same distance between the RTT without load and under it: what injection has to \
             bring down",
            |row: &Emulation| Value::number(row.without_injection_share.map(|x| 100.0 * x)),
        ),
        column(
            "background_order",
            "Order, load",
            "autocorrelation of the ranks of round trips under load at lags 1, 10 and 100, mean over runs: 0 where they come in any order",
            |row: &Emulation| order(row.background_order),
        ),
        column(
            "injected_order",
            "Order, injected",
            "the same with injected delays",
            |row: &Emulation| order(row.injected_order),
        ),
        column(
            "verdict",
            "Emulation",
            "close, fair or poor",
            |row: &Emulation| Value::Text(row.verdict.into()),
        ),
    ]
}

fn order(at_lags: Option<[f64; LAGS.len()]>) -> Value {
    at_lags.map_or(Value::Missing, |at_lags| Value::Text(in_order(at_lags)))
}

fn in_order(at_lags: [f64; LAGS.len()]) -> String {
    at_lags.map(words::coefficient).join(", ")
}

/// The correlation of a round trip with the next one from which on the report speaks of bursts.
const BURSTS: f64 = 0.1;

/// Do round trips come in bursts as they do under the load? Of the highest load.
fn bursts(rows: &[&Emulation]) -> Option<String> {
    let highest = rows.iter().map(|row| row.percent).max()?;
    let at = || rows.iter().filter(|row| row.percent == highest);
    let next = |[first, ..]: [f64; LAGS.len()]| first;
    let background = next(at().next()?.background_order?);
    let most = |is_replay: bool| {
        let of = at().filter(|row| (row.shape == Member::Replay) == is_replay);
        let found = of.filter_map(|row| row.injected_order.map(next));
        found.max_by(f64::total_cmp)
    };
    let come = background >= BURSTS;
    let these = |which: &str, r: f64| {
        let r_in_words = words::coefficient(r);
        match (r >= BURSTS, come) {
            (true, _) => format!("; {which} ones do (up to {r_in_words})"),
            (false, true) => format!("; {which} ones do not (at most {r_in_words})"),
            (false, false) => format!(", nor do {which} ones (at most {r_in_words})"),
        }
    };
    let drawn = most(false).map(|r| these("injected", r));
    let replayed = most(true).map(|r| these("replayed", r));
    Some(format!(
        "Round trips under the highest load {} in bursts (correlation {} with the next){}{}.",
        if come { "come" } else { "do not come" },
        words::coefficient(background),
        drawn.unwrap_or_default(),
        replayed.unwrap_or_default()
    ))
}

/// Says how good the emulation is, in a sentence or two a link. The link that was fitted first comes first.
pub fn in_words(
    rows: &[Emulation],
    imitation: Member,
    load_called: &dyn Fn(u8) -> String,
) -> Vec<String> {
    let mut sentences = Vec::new();
    let mut links: Vec<&Link> = rows.iter().map(|row| &row.link).collect();
    links.dedup();
    let fitted = rows.iter().find_map(|row| row.fitted_over.as_ref());
    links.sort_by_key(|&link| Some(link) != fitted);
    for link in links {
        let fitted: Vec<&Emulation> = rows
            .iter()
            .filter(|row| row.link == *link && row.shape == imitation)
            .collect();
        if fitted.is_empty() {
            continue;
        }
        let verdicts: Vec<String> = ["close", "fair", "poor"]
            .into_iter()
            .filter_map(|verdict| {
                let at: Vec<String> = fitted
                    .iter()
                    .filter(|row| row.verdict == verdict)
                    .map(|row| load_called(row.percent))
                    .collect();
                (!at.is_empty()).then(|| format!("{verdict} at {}", words::list(&at)))
            })
            .collect();
        let foreign = fitted
            .iter()
            .find_map(|row| row.fitted_over.as_ref().filter(|&over| over != link));
        sentences.push(format!(
            "As an emulation of the {} under load, {} {}{}. {}",
            link,
            match imitation {
                Member::Replay => "the replay is".into(),
                _ => format!("the {imitation} table is"),
            },
            words::list(&verdicts),
            match foreign {
                Some(fitted_over) => format!(" (it was made from the {fitted_over})"),
                None => String::new(),
            },
            variation(&fitted, load_called)
        ));
        sentences.extend(means(rows, link));
        let of_link: Vec<&Emulation> = rows.iter().filter(|row| row.link == *link).collect();
        sentences.extend(bursts(&of_link));
    }
    if !rows.is_empty() {
        let significant = rows
            .iter()
            .filter(|row| row.mann_whitney_holm_p < words::ALPHA)
            .count();
        sentences.push(format!(
            "{} {} differ significantly, after Holm over these tests. So many samples make {} significant. \
             Judge by the size of the effect and the distance.",
            match significant {
                all if all == rows.len() => "All".into(),
                some => format!("{} of", show::count(some as u64)),
            },
            show::counted(rows.len(), "comparison"),
            match significant == rows.len() {
                true => "any difference",
                false => "small differences",
            }
        ));
    }
    sentences
}

/// Does the imitation vary as the load does?
fn variation(fitted: &[&Emulation], load_called: &dyn Fn(u8) -> String) -> String {
    let at: Vec<String> = fitted
        .iter()
        .map(|row| {
            let ratio = words::percent_of(row.std_ratio);
            format!("{ratio} at {}", load_called(row.percent))
        })
        .collect();
    format!(
        "The standard deviation with it, in proportion to that under load, is {}.",
        words::list(&at)
    )
}

/// The paper's figure 5: do the five share their mean?
fn means(rows: &[Emulation], link: &Link) -> Option<String> {
    let ratios: Vec<f64> = rows
        .iter()
        .filter(|row| row.link == *link)
        .map(|row| share_of(row.injected_mean_ns.value, row.background_mean_ns.value))
        .collect();
    let low = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let high = ratios.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    (ratios.len() > 1).then(|| {
        format!(
            "Over all shapes and loads the mean {} with injection lies between {} and {} of that \
             under load.",
            link,
            words::percent_of(low),
            words::percent_of(high)
        )
    })
}
