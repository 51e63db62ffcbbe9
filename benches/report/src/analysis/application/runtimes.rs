//! Applications: how delays change their runtime (latency-variation, section 6, figures 11 and 12,
//! and section 7, figures 15 and 16).

use jitterlab_base::show;
use jitterlab_experiment::level::Level;
use jitterlab_stats::summary;
use serde::Serialize;

use crate::analysis::application::delays::Cost;
use crate::analysis::application::groups::{Group, Timed, names};
use crate::analysis::injected::{self, varied};
use crate::analysis::normality::Normality;
use crate::analysis::rows::{AtLevel, level_columns};
use crate::analysis::slowdown::{Slowdown, correct, more, more_blocks};
use crate::table::{Column, Estimate, Row, Value, column};
use crate::words;

/// The runtime of an application at a level, against no injection.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Runtime {
    /// Its name.
    pub application: String,
    /// The level.
    pub level: Level,
    /// The thing that its time is of.
    pub timed: Timed,
    /// Number of runs.
    pub runs: usize,
    /// Mean runtime in seconds, interval over runs.
    pub runtime_s: Estimate,
    /// Standard deviation of the runtime over runs, in seconds.
    pub runtime_std_s: Option<f64>,
    /// Mean and standard deviation of the delays injected, in nanoseconds.
    pub injected_ns: Option<(f64, f64)>,
    /// The runtime in proportion to that at level none.
    pub slowdown: Option<Slowdown>,
    /// The total of its delays, and how much of it shows.
    pub cost: Option<Cost>,
}

/// The runtimes of all groups.
pub fn runtimes(groups: &[Group]) -> Vec<Runtime> {
    let mut rows: Vec<Runtime> = groups
        .iter()
        .map(|group| {
            let base = groups
                .iter()
                .find(|base| base.application == group.application && base.level == Level::None)
                .filter(|_| group.level != Level::None);
            Runtime {
                application: group.application.clone(),
                level: group.level,
                timed: group.timed,
                runs: group.runtimes.runs(),
                runtime_s: group.runtimes.mean().positive(),
                runtime_std_s: summary::std(group.runtimes.figures()).ok(),
                injected_ns: group.injected,
                slowdown: base.and_then(|base| group.against(base)),
                cost: base.and_then(|base| Cost::of(base, group)),
            }
        })
        .collect();
    correct(rows.iter_mut().filter_map(|row| row.slowdown.as_mut()));
    rows
}

impl AtLevel for Runtime {
    fn level(&self) -> Level {
        self.level
    }
}

impl Row for Runtime {
    const ID: &'static str = "runtimes";
    const TITLE: &'static str = "Runtime of applications";

    fn columns() -> Vec<Column<Self>> {
        let mut columns = vec![column(
            "application",
            "Application",
            "its name",
            |row: &Runtime| Value::Text(row.application.clone()),
        )];
        columns.extend(level_columns());
        columns.extend([
            column("runs", "Runs", "number of runs", |row: &Runtime| {
                Value::Count(row.runs as u64)
            }),
            column(
                "injected_mean_us",
                "Delay, mean, µs",
                "mean of the delays injected, in microseconds",
                |row: &Runtime| Value::number(row.injected_ns.map(|(mean, _)| mean / 1e3)),
            ),
            column(
                "injected_std_us",
                "Delay, std, µs",
                "standard deviation of the delays injected, in microseconds",
                |row: &Runtime| Value::number(row.injected_ns.map(|(_, std)| std / 1e3)),
            ),
            column(
                "timed",
                "Time of",
                "what is timed: the program, or a unit of its work, which is one over the rate that it printed",
                |row: &Runtime| Value::Text(row.timed.name().into()),
            ),
            column(
                "runtime_s",
                "Time",
                "mean time in seconds, 95 % interval over runs",
                |row: &Runtime| Value::Seconds(row.runtime_s),
            )
            .of_estimates(),
            column(
                "runtime_std_s",
                "Std over runs, s",
                "standard deviation of the runtime over runs, in seconds",
                |row: &Runtime| Value::number(row.runtime_std_s),
            )
            .in_csv_only(),
        ]);
        columns.extend(slowdown_columns(
            ["ratio_to_none", "ratio_to_none_p", "ratio_to_none_holm_p"],
            "Against no injection",
            |row: &Runtime| {
                row.slowdown
                    .map_or(Value::Missing, |slowdown| Value::Change(slowdown.ratio))
            },
            |row: &Runtime| Value::p(row.slowdown.and_then(|slowdown| slowdown.p)),
            |row: &Runtime| Value::p(row.slowdown.and_then(|slowdown| slowdown.holm_p)),
        ));
        columns.push(more_blocks(|row: &Runtime| more(row.slowdown)));
        columns.extend([
            column(
                "delays",
                "Delays a run",
                "delays of a run, of all its processes together, mean over runs",
                |row: &Runtime| Value::number(row.cost.as_ref().map(|cost| cost.delays)),
            )
            .in_csv_only(),
            column(
                "delay_s",
                "Delays, s",
                "their total, in seconds, mean over runs",
                |row: &Runtime| Value::number(row.cost.as_ref().map(|cost| cost.sum_s.value)),
            )
            .in_csv_only(),
            column(
                "delay_shown",
                "Shown of delays",
                "part of that by which the program ran longer: 1 where delays follow each other, one over the number of \
                 ranks where all are delayed at the same time; mean over blocks, 95 % interval",
                |row: &Runtime| Value::estimate(row.cost.as_ref().and_then(Cost::shown)),
            )
            .of_estimates(),
        ]);
        columns
    }
}

fn slowdown_columns<R>(
    names: [&'static str; 3],
    heading: &'static str,
    ratio: fn(&R) -> Value,
    p: fn(&R) -> Value,
    holm_p: fn(&R) -> Value,
) -> [Column<R>; 3] {
    [
        column(
            names[0],
            heading,
            "ratio of the runtimes, geometric mean over blocks with its 95 % interval",
            ratio,
        )
        .of_estimates(),
        column(
            names[1],
            "p",
            "two-sided p of equal runtimes, paired t test on logarithms, a pair a block",
            p,
        )
        .in_csv_only(),
        column(
            names[2],
            "p (Holm)",
            "the same after Holm's correction over the rows of this table",
            holm_p,
        ),
    ]
}

/// The runtime under delays of one mean, by shape: variation apart from the mean.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FixedMean {
    /// The application's name.
    pub application: String,
    /// The level, at which delays vary.
    pub level: Level,
    /// The level with constant delays of the same mean.
    pub constant: Level,
    /// Number of runs, and of those with constant delays.
    pub runs: (usize, usize),
    /// Mean and standard deviation of the delays injected, in nanoseconds.
    pub injected_ns: Option<(f64, f64)>,
    /// The runtime in proportion to that with constant delays of the same mean.
    pub slowdown: Slowdown,
    /// The thing that its time is of.
    pub timed: Timed,
}

/// Every level whose delays vary against one with constant delays of the same mean.
pub fn fixed_mean(groups: &[Group]) -> Vec<FixedMean> {
    let against_constant = |group: &Group| {
        let at = |level: Level| {
            let mut of_level = groups.iter().filter(|base| base.level == level);
            of_level.find(|base| base.application == group.application)
        };
        let base = group.level.constants().into_iter().find_map(at)?;
        Some(FixedMean {
            application: group.application.clone(),
            level: group.level,
            constant: base.level,
            runs: (group.runtimes.runs(), base.runtimes.runs()),
            injected_ns: group.injected,
            slowdown: group.against(base)?,
            timed: group.timed,
        })
    };
    let mut rows: Vec<FixedMean> = groups.iter().filter_map(against_constant).collect();
    correct(rows.iter_mut().map(|row| &mut row.slowdown));
    rows
}

impl AtLevel for FixedMean {
    fn level(&self) -> Level {
        self.level
    }
}

impl Row for FixedMean {
    const ID: &'static str = "fixed-mean";
    const TITLE: &'static str =
        "Runtime with varied delays against constant delays of the same mean";

    fn columns() -> Vec<Column<Self>> {
        let mut columns = vec![column(
            "application",
            "Application",
            "its name",
            |row: &FixedMean| Value::Text(row.application.clone()),
        )];
        columns.extend(level_columns());
        columns.extend([
            column("runs", "Runs", "number of runs", |row: &FixedMean| {
                Value::Count(row.runs.0 as u64)
            }),
            column(
                "constant_runs",
                "Runs, constant",
                "number of runs with constant delays",
                |row: &FixedMean| Value::Count(row.runs.1 as u64),
            )
            .in_csv_only(),
            column(
                "injected_mean_us",
                "Delay, mean, µs",
                "mean of the delays injected, in microseconds",
                |row: &FixedMean| Value::number(row.injected_ns.map(|(mean, _)| mean / 1e3)),
            ),
            column(
                "injected_std_us",
                "Delay, std, µs",
                "standard deviation of the delays injected, in microseconds",
                |row: &FixedMean| Value::number(row.injected_ns.map(|(_, std)| std / 1e3)),
            ),
        ]);
        columns.extend(slowdown_columns(
            [
                "ratio_to_constant",
                "ratio_to_constant_p",
                "ratio_to_constant_holm_p",
            ],
            "Against constant delays",
            |row: &FixedMean| Value::Change(row.slowdown.ratio),
            |row: &FixedMean| Value::p(row.slowdown.p),
            |row: &FixedMean| Value::p(row.slowdown.holm_p),
        ));
        columns.push(more_blocks(|row: &FixedMean| more(Some(row.slowdown))));
        columns
    }
}

/// The runtimes of an application about the mean of their level and over its standard deviation: the test of the
/// paper's claim that application runtimes are normally distributed.
pub fn normality(groups: &[Group]) -> Vec<Normality> {
    names(groups)
        .into_iter()
        .filter_map(|name| {
            let of_application = groups.iter().filter(|group| group.application == name);
            let levels: Vec<&[f64]> = of_application
                .map(|group| group.runtimes.figures())
                .collect();
            let subject = format!("runtime of {name}, about the mean of its level");
            Normality::of_levels(subject, &levels)
        })
        .collect()
}

/// Says what variation alone did to each application, and what the mean alone did; `asked` are the rows that the answer is made from.
pub fn in_words<'a>(
    runtimes: &[Runtime],
    fixed: &[FixedMean],
    asked: impl Iterator<Item = &'a FixedMean> + Clone,
    load_called: &dyn Fn(u8) -> String,
) -> Vec<String> {
    let mut applications: Vec<&str> = runtimes
        .iter()
        .map(|row| row.application.as_str())
        .collect();
    applications.dedup();
    let mut sentences = Vec::new();
    for application in applications {
        let fixed: Vec<&FixedMean> = fixed
            .iter()
            .filter(|row| row.application == application)
            .collect();
        let mut asked = asked.clone().filter(|row| row.application == application);
        sentences.extend(
            asked
                .next()
                .and_then(|row| variation_alone(application, row, load_called)),
        );
        sentences.extend(elsewhere(application, &fixed));
        let highest = runtimes
            .iter()
            .filter(|row| row.application == application)
            .filter(|row| row.level.is_constant())
            .max_by(|a, b| mean_ns(a.injected_ns).total_cmp(&mean_ns(b.injected_ns)));
        sentences.extend(highest.and_then(|row| mean_alone(application, row)));
    }
    sentences
}

/// The most varied delays at the highest mean against constant ones.
fn variation_alone(
    application: &str,
    row: &FixedMean,
    load_called: &dyn Fn(u8) -> String,
) -> Option<String> {
    let slowdown = &row.slowdown;
    let (mean, std) = row.injected_ns?;
    let n = format!("n = {}", show::counted(slowdown.blocks, "pair"));
    let of_load = row.level.percent().map(load_called);
    let delays = format!(
        "The most varied delays are {}{}, with a standard deviation of {}.",
        varied(row.level),
        of_load.map_or(String::new(), |load| format!(" of {load}")),
        words::time(std)
    );
    let ratio = slowdown.ratio.value;
    let told = match (slowdown.for_people().interval(), slowdown.p_in_words()) {
        (Some((low, high)), Some(p)) => format!(
            "Under the most varied delays {application} took {} time {} under constant ones. {}: 95 % interval {} to {}, paired \
             t test, {p}, {n}.",
            words::more_or_less(ratio),
            words::conjunction(ratio),
            match slowdown.is_significant() {
                true => "That is an effect of variation",
                false => "That shows no effect of variation",
            },
            words::more_or_less(low),
            words::more_or_less(high),
        ),
        _ => format!(
            "Whether variation slows {application} at this mean {}; the difference between the most varied delays and constant \
             ones was {} ({n}).",
            slowdown.not_said(),
            words::signed_percent(ratio)
        ),
    };
    Some(format!(
        "Each message was delayed by {} on average. {told} {delays}",
        words::time(mean)
    ))
}

/// The mean of delays with a known mean and standard deviation.
fn mean_ns(injected_ns: Option<(f64, f64)>) -> f64 {
    injected_ns.map_or(0.0, |(mean, _)| mean)
}

/// The most varied delays at the highest mean.
pub fn most_varied<'a>(rows: &[&'a FixedMean]) -> Option<&'a FixedMean> {
    injected::most_varied(rows.iter().copied(), |row| {
        (row.constant, row.injected_ns.unwrap_or_default())
    })
}

/// Says how many of all comparisons at one mean show it: one of them alone may be chance.
fn elsewhere(application: &str, rows: &[&FixedMean]) -> Option<String> {
    let tested = rows.iter().filter(|row| row.slowdown.p.is_some()).count();
    let count = |test: fn(f64) -> bool| {
        rows.iter()
            .filter(|row| row.slowdown.is_significant() && test(row.slowdown.ratio.value))
            .count()
    };
    (tested > 1).then(|| {
        format!(
            "Of {} of a varied shape with constant delays of the same mean, {application} was \
             significantly slower in {} and faster in {}, {}.",
            show::counted(tested, "comparison"),
            count(|ratio| ratio > 1.0),
            count(|ratio| ratio < 1.0),
            rows.first().map_or(String::new(), |row| format!(
                "after Holm over {} tests",
                row.slowdown.tests
            ))
        )
    })
}

/// Constant delays against none.
fn mean_alone(application: &str, row: &Runtime) -> Option<String> {
    let slowdown = row.slowdown?;
    let timed = row.timed.name();
    let (mean, _) = row.injected_ns?;
    let delays = format!("constant delays of {}", words::time(mean));
    let ratio = slowdown.ratio.value;
    Some(
        match (slowdown.for_people().interval(), slowdown.p_in_words()) {
            (Some((low, high)), Some(p)) => {
                let tested = format!(
                    "(95 % interval {} to {}, {p})",
                    words::signed_percent(low),
                    words::signed_percent(high)
                );
                if slowdown.is_significant() {
                    let change = words::change(ratio);
                    format!(
                        "The mean alone: {delays} made the {timed} of {application} {change} than no injection {tested}."
                    )
                } else {
                    let change = words::signed_percent(ratio);
                    format!(
                        "The mean alone: no effect of {delays} on the {timed} of {application} could be shown; the \
                     difference from no injection was {change} {tested}."
                    )
                }
            }
            _ => format!(
                "The mean alone: whether {delays} slow {application} {}; the difference from no injection was {}.",
                slowdown.not_said(),
                words::signed_percent(ratio)
            ),
        },
    )
}
