//! A validation for people.

use std::collections::BTreeMap;
use std::io::IsTerminal;

use jitterlab_base::show;
use jitterlab_experiment::validate::{Attempt, Baseline, NodeRow, PairRow, Reason, Validation};
use jitterlab_node_tuning::validation::judge::{Slowdown, Unit};
use jitterlab_stats::bootstrap::Interval;
use jitterlab_stats::gate::{Decision, Slower};

use super::heat_map::heat_map;

/// Besides the outliers, the slowest are listed up to this many.
const LISTED: usize = 10;

/// All of it.
pub fn text(validation: &Validation) -> String {
    let colour = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let setup = &validation.setup;
    let mut out = String::new();
    for (number, attempt) in (1..).zip(&validation.attempts) {
        if validation.attempts.len() > 1 {
            out.push_str(&format!("— measurement {number} —\n"));
        }
        out.push_str(&format!(
            "{} hosts over {}, {} B: RTT of a typical pair {}; each pair measured {} times for {}\n\n\
             slower than typical, in percent, RTT:\n{}\n",
            attempt.hosts.len(),
            setup.transport,
            setup.size.0,
            show::time(attempt.typical_ns),
            setup.repetitions,
            setup.duration,
            heat_map(attempt, setup.minimum_effect, colour),
        ));
        out.push_str(&nodes(attempt));
        out.push_str(&pairs(attempt));
        out.push_str(&limits(validation, attempt));
        out.push_str(&findings(attempt));
    }
    if let Some(baseline) = &validation.baseline {
        out.push_str(&drift(baseline, setup.minimum_effect));
    }
    let remaining = &validation.remaining;
    out.push_str(&format!(
        "{} hosts remain: {}\n",
        remaining.len(),
        remaining.join(" ")
    ));
    if !validation.spares_left.is_empty() {
        out.push_str(&format!(
            "spares left: {}\n",
            validation.spares_left.join(" ")
        ));
    }
    out
}

/// The comparison with the baseline. It lists all that is not within the minimum effect for certain.
fn drift(baseline: &Baseline, least: f64) -> String {
    let mut rows: Vec<(String, &Decision)> = Vec::new();
    rows.extend(baseline.typical.iter().map(|it| ("all pairs".into(), it)));
    let hosts = baseline.hosts.iter();
    rows.extend(hosts.map(|it| (it.host.clone(), &it.decision)));
    let pairs = baseline.pairs.iter();
    rows.extend(pairs.map(|it| (it.hosts.join(" - "), &it.decision)));
    let compared = rows.len();
    rows.retain(|(_, it)| it.slower != Slower::No);
    let lines = rows.iter().map(|(name, it)| {
        let effect = it.ratio.map_or(
            "unknown".into(),
            |Interval {
                 estimate,
                 low,
                 high,
             }| { show::change_within([estimate, low, high].map(|it| it - 1.0)) },
        );
        let verdict = match (it.slower, it.more) {
            (Slower::Yes, _) => "SLOWER".into(),
            (_, Some(more)) => format!("undecided: {more} more repetitions"),
            (_, None) if it.ratio.is_none() => "undecided: too few repetitions".into(),
            (_, None) => "undecided: too near to the limit".into(),
        };
        format!("  {name:<20} {effect:<32} {verdict}\n")
    });
    let lines: String = lines.collect();
    let least = show::change(least);
    let mut out = match lines.is_empty() {
        true => format!(
            "against the baseline: none of {compared} has become slower by more than {least}\n"
        ),
        false => format!(
            "against the baseline: of {compared}, these are not within {least} for certain\n{lines}"
        ),
    };
    if !baseline.not_compared.is_empty() {
        let names = baseline.not_compared.join(", ");
        out.push_str(&format!(
            "not compared, since then or now has none of it: {names}\n"
        ));
    }
    out + "\n"
}

fn nodes(attempt: &Attempt) -> String {
    let mut rows: Vec<&NodeRow> = attempt
        .nodes
        .iter()
        .filter(|row| row.verdict.pairs > 0)
        .collect();
    rows.sort_by(|a, b| b.verdict.adds.total_cmp(&a.verdict.adds));
    let rows = listed(rows, |row| row.verdict.outlier).map(|row| {
        line(
            &row.host,
            row.verdict.adds,
            &format!("{:>5}", row.verdict.pairs),
            row.verdict.slowdown.as_ref(),
            row.verdict.outlier,
        )
    });
    table(
        &format!(
            "{:<22} {:>8}  {:>5}  {:<32} {}",
            "node", "it adds", "pairs", "against the others' pairs", "corrected"
        ),
        rows,
    )
}

fn pairs(attempt: &Attempt) -> String {
    let mut rows: Vec<&PairRow> = attempt.pairs.iter().collect();
    rows.sort_by(|a, b| b.verdict.beyond.total_cmp(&a.verdict.beyond));
    let rows = listed(rows, |row| row.verdict.outlier).map(|row| {
        line(
            &row.hosts.join(" - "),
            row.verdict.beyond,
            &format!(
                "{:>5}  {:>12}",
                row.verdict.n,
                show::time(row.verdict.rtt_ns)
            ),
            row.verdict.slowdown.as_ref(),
            row.verdict.outlier,
        )
    });
    table(
        &format!(
            "{:<22} {:>8}  {:>5}  {:>12}  {:<32} {}",
            "pair", "beyond", "n", "RTT", "against its neighbours", "corrected"
        ),
        rows,
    )
}

/// The first of a ranked list, and every outlier.
fn listed<T>(rows: Vec<&T>, is_outlier: impl Fn(&T) -> bool) -> impl Iterator<Item = &T> {
    let rows = rows.into_iter().enumerate();
    rows.filter(move |(place, row)| *place < LISTED || is_outlier(row))
        .map(|(_, row)| row)
}

fn table(head: &str, rows: impl Iterator<Item = String>) -> String {
    let rows: String = rows.collect();
    match rows.is_empty() {
        true => String::new(),
        false => format!("{head}\n{rows}\n"),
    }
}

fn line(name: &str, adds: f64, n: &str, slowdown: Option<&Slowdown>, outlier: bool) -> String {
    let test = slowdown.map_or(String::new(), |slowdown| {
        let Interval {
            estimate,
            low,
            high,
        } = slowdown.effect;
        let effect = show::change_within([estimate, low, high]);
        format!("  {effect:<32} {}", show::p_is(slowdown.p_corrected))
    });
    let mark = if outlier { "  OUTLIER" } else { "" };
    format!("  {name:<20} {:>8}  {n}{test}{mark}\n", show::change(adds))
}

/// The things that could not be told.
fn limits(validation: &Validation, attempt: &Attempt) -> String {
    let hosts = attempt.hosts.len();
    let mut out = String::new();
    match attempt.unit {
        Unit::Pair => {}
        Unit::Repetition => out.push_str(&format!(
            "{hosts} hosts have too few pairs for a test: repetitions were counted instead, so a node with \
             long paths may pass for a slow one\n"
        )),
        Unit::None => out.push_str(&format!(
            "no node of {hosts} hosts can be told from its pairs with {} repetitions\n",
            validation.setup.repetitions
        )),
    }
    if !attempt.pairs_testable {
        out.push_str(&format!(
            "no pair of {hosts} hosts can be an outlier with {} repetitions: there are too few for a test\n",
            validation.setup.repetitions
        ));
    }
    out
}

fn findings(attempt: &Attempt) -> String {
    let mut out = String::new();
    for lost in &attempt.lost {
        out.push_str(&format!(
            "host {} could not be measured: {}\n",
            lost.host, lost.reason
        ));
    }
    for failure in &attempt.failures {
        out.push_str(&format!(
            "{} - {} failed in repetition {}: {}\n",
            failure.client,
            failure.server,
            failure.repetition + 1,
            failure.reason
        ));
    }
    for ((a, b), (measurements, messages)) in losses(attempt) {
        out.push_str(&format!(
            "{a} - {b}: {messages} messages were not answered, in {measurements} measurements\n"
        ));
    }
    for left_out in &attempt.left_out {
        let why = match &left_out.reason {
            Reason::Lost => "it could not be measured".into(),
            Reason::Outlier => "it is an outlier".into(),
            Reason::Pair { with } => format!("its pair with {with} is an outlier or failed"),
        };
        out.push_str(&format!("{} is left out: {why}\n", left_out.host));
    }
    out
}

/// The losses of each pair that lost messages: in how many measurements, and how many messages.
fn losses(attempt: &Attempt) -> BTreeMap<(&str, &str), (usize, u64)> {
    let mut losses = BTreeMap::new();
    for run in attempt.runs.iter().filter(|run| run.lost > 0) {
        let (a, b) = (run.client.as_str(), run.server.as_str());
        let (measurements, messages) = losses.entry((a.min(b), a.max(b))).or_default();
        *measurements += 1;
        *messages += run.lost;
    }
    losses
}
