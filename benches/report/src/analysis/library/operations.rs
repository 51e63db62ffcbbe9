//! The library level: how long operations of MPI take without and with injected delays
//! (latency-variation, section 6, figures 7 to 10).

use jitterlab_base::show;
use jitterlab_experiment::level::{Level, LevelKind, Member};
use jitterlab_experiment::record::{RunRecord, SuiteKind, library};
use serde::Serialize;

use crate::Error;
use crate::analysis::condition::Pooled;
use crate::analysis::injected::{self, moments_ns, varied};
use crate::analysis::normality::{Figures, Normality};
use crate::analysis::pictures::RankPicture;
use crate::analysis::repeated::{Repeated, mean_of};
use crate::analysis::rows::{AtLevel, level_columns, micros};
use crate::analysis::slowdown::{Slowdown, correct, more, more_blocks};
use crate::analysis::suite::Measured;
use crate::table::{Column, Estimate, Row, Value, column};
use crate::words;

/// One operation at one level, over all ranks that time it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Operation {
    /// The name of the case.
    pub case: String,
    /// Number of ranks.
    pub ranks: Option<u64>,
    /// Bytes of a message.
    pub size: Option<u64>,
    /// The level.
    pub level: Level,
    /// Number of runs.
    pub runs: usize,
    /// Number of samples.
    pub n: usize,
    /// Mean time, interval over runs.
    pub mean_ns: Estimate,
    /// Standard deviation, interval over runs.
    pub std_ns: Estimate,
    /// Median, interval over runs.
    pub median_ns: Estimate,
    /// 99th percentile.
    pub p99_ns: f64,
    /// 99.9th percentile.
    pub p999_ns: f64,
    /// Time from the first rank's entry to the last one's, mean over operations; none of ping-pong.
    pub skew_ns: Option<f64>,
    /// Time from the last rank's entry to each rank's exit, mean; none of ping-pong.
    pub operation_ns: Option<f64>,
    /// The distance that the clocks of ranks may have beside what was corrected, at most.
    pub clock_error_ns: Option<f64>,
    /// Mean and standard deviation of the delays injected, in nanoseconds.
    pub injected_ns: Option<(f64, f64)>,
    /// Its mean in proportion to that without injection.
    pub to_none: Option<Slowdown>,
    /// The level with constant delays of the same mean, if there is one.
    pub constant: Option<Level>,
    /// Its mean in proportion to that under them.
    pub to_constant: Option<Slowdown>,
    #[serde(skip)]
    means: Repeated,
}

/// The findings on operations: their rows, tests for normality, and each rank for itself.
pub struct Operations {
    /// A row for each case and level.
    pub rows: Vec<Operation>,
    /// The tests of the samples of each row.
    pub normality: Vec<Normality>,
    /// The pictures of each row, rank by rank, for the figures.
    pub ranks: Vec<RankPicture>,
}

/// Every operation at every level.
///
/// # Errors
/// The samples of a run cannot be read.
pub fn operations(measured: &Measured) -> Result<Operations, Error> {
    let of_library = || {
        measured
            .done
            .iter()
            .filter(|run| run.suite == SuiteKind::Library)
    };
    let mut keys: Vec<(&str, Level)> = of_library()
        .map(|run| (run.case.as_str(), run.level))
        .collect();
    keys.sort();
    keys.dedup();
    let mut operations = Operations {
        rows: Vec::new(),
        normality: Vec::new(),
        ranks: Vec::new(),
    };
    for (case, level) in keys {
        let runs: Vec<&RunRecord> = of_library()
            .filter(|run| run.case == case && run.level == level)
            .copied()
            .collect();
        let subject = format!("{case}, {level}");
        let Some(time) = Pooled::of(&subject, &runs, measured.samples)? else {
            continue;
        };
        operations.normality.extend(Normality::of(
            case.into(),
            Some(level),
            Figures::Operations,
            &time.sorted,
        ));
        operations
            .rows
            .push(Operation::of(case, level, &runs, &time, measured));
        drop(time);
        operations
            .ranks
            .push(RankPicture::of(case, level, &runs, measured.rank_samples)?);
    }
    compare(&mut operations.rows);
    Ok(operations)
}

impl Operation {
    fn of(
        case: &str,
        level: Level,
        runs: &[&RunRecord],
        time: &Pooled,
        measured: &Measured,
    ) -> Self {
        let reports = || runs.iter().filter_map(|run| run.result.as_ref()?.library());
        let points = || reports().flat_map(|report| &report.points);
        let mean = |part: fn(&library::Point) -> &Option<library::Figures>| {
            mean_of(points().filter_map(|point| Some(part(point).as_ref()?.mean_ns)))
        };
        Operation {
            case: case.into(),
            ranks: reports().map(|report| report.ranks as u64).next(),
            size: points().map(|point| point.size_bytes as u64).next(),
            level,
            runs: time.runs(),
            n: time.sorted.len(),
            mean_ns: time.mean(),
            std_ns: time.std(),
            median_ns: time.median(),
            p99_ns: time.summary.p99,
            p999_ns: time.summary.p999,
            skew_ns: mean(|point| &point.skew),
            operation_ns: mean(|point| &point.operation),
            clock_error_ns: points()
                .map(|point| point.clock_error_ns)
                .max_by(f64::total_cmp),
            injected_ns: moments_ns(level, measured.tables, measured.made),
            to_none: None,
            constant: None,
            to_constant: None,
            means: time.means.clone(),
        }
    }

    /// The load that is imitated, in percent, and the distribution, at an injected level.
    pub fn injected(&self) -> Option<(u8, Member)> {
        match self.level {
            Level::Injected { percent, shape } => Some((percent, shape)),
            _ => None,
        }
    }
}

/// Sets each level with delays in proportion to none, and to constant delays of the same mean where it varies.
fn compare(rows: &mut [Operation]) {
    let known: Vec<(String, Level, Repeated)> = rows
        .iter()
        .map(|row| (row.case.clone(), row.level, row.means.clone()))
        .collect();
    let at = |case: &str, level: Level| {
        let mut of_case = known.iter().filter(|(of, ..)| of == case);
        of_case.find(|(_, of, _)| *of == level)
    };
    for row in rows.iter_mut() {
        if row.level.kind() != LevelKind::Injected {
            continue;
        }
        let against = |(.., base): &(String, Level, Repeated)| Slowdown::of(&row.means, base);
        let mut constants = row.level.constants().into_iter();
        let constant = constants.find_map(|level| at(&row.case, level));
        let to_none = at(&row.case, Level::None).and_then(against);
        let to_constant = constant.and_then(against);
        row.constant = constant.map(|(_, level, _)| *level);
        (row.to_none, row.to_constant) = (to_none, to_constant);
    }
    correct(rows.iter_mut().filter_map(|row| row.to_none.as_mut()));
    correct(rows.iter_mut().filter_map(|row| row.to_constant.as_mut()));
}

impl AtLevel for Operation {
    fn level(&self) -> Level {
        self.level
    }
}

impl Row for Operation {
    const ID: &'static str = "library";
    const TITLE: &'static str = "Time of operations of MPI";

    fn columns() -> Vec<Column<Self>> {
        let mut columns = vec![
            column(
                "case",
                "Case",
                "case of the library suite",
                |row: &Operation| Value::Text(row.case.clone()),
            ),
            column("ranks", "Ranks", "number of ranks", |row: &Operation| {
                row.ranks.map_or(Value::Missing, Value::Count)
            }),
            column(
                "size_bytes",
                "Size, B",
                "bytes of a message",
                |row: &Operation| row.size.map_or(Value::Missing, Value::Count),
            ),
        ];
        columns.extend(level_columns());
        columns.extend([
            column("runs", "Runs", "number of runs", |row: &Operation| {
                Value::Count(row.runs as u64)
            }),
            column("n", "n", "number of samples, of all ranks that time it", |row: &Operation| {
                Value::Count(row.n as u64)
            }),
            column(
                "mean_us",
                "Mean, µs",
                "mean time in microseconds (of ping-pong, of a round trip), 95 % interval over runs",
                |row: &Operation| micros(row.mean_ns),
            )
            .of_estimates(),
            column(
                "std_us",
                "Std, µs",
                "standard deviation in microseconds, 95 % interval over runs",
                |row: &Operation| micros(row.std_ns),
            )
            .of_estimates(),
            column(
                "median_us",
                "Median, µs",
                "median in microseconds, 95 % interval over runs",
                |row: &Operation| micros(row.median_ns),
            )
            .of_estimates(),
            column("p99_us", "99 %, µs", "99th percentile in microseconds", |row: &Operation| {
                Value::Number(row.p99_ns / 1e3)
            }),
            column(
                "p999_us",
                "99.9 %, µs",
                "99.9th percentile in microseconds",
                |row: &Operation| Value::Number(row.p999_ns / 1e3),
            ),
            column(
                "skew_us",
                "Skew, µs",
                "from the first rank's entry to the last one's, mean in microseconds",
                |row: &Operation| Value::number(row.skew_ns.map(|ns| ns / 1e3)),
            ),
            column(
                "operation_us",
                "After the last, µs",
                "from the last rank's entry to each rank's exit, mean in microseconds",
                |row: &Operation| Value::number(row.operation_ns.map(|ns| ns / 1e3)),
            ),
            column(
                "clock_error_us",
                "Clock error, µs",
                "how far the ranks' clocks may be apart after they were aligned, at most",
                |row: &Operation| Value::number(row.clock_error_ns.map(|ns| ns / 1e3)),
            )
            .in_csv_only(),
            column(
                "ratio_to_constant",
                "Times constant delays",
                "ratio of the mean to that with constant delays of the same mean, geometric mean over blocks with its 95 % \
                 interval",
                |row: &Operation| Value::estimate(row.to_constant.map(|ratio| ratio.ratio)),
            )
            .of_estimates(),
            column(
                "ratio_to_constant_holm_p",
                "p (Holm)",
                "two-sided p of equal means, paired t test on logarithms, after Holm's correction over the rows",
                |row: &Operation| Value::p(row.to_constant.and_then(|ratio| ratio.holm_p)),
            ),
            column(
                "ratio_to_none",
                "Times no injection",
                "ratio of the mean to that without injection, geometric mean over blocks with its 95 % interval",
                |row: &Operation| Value::estimate(row.to_none.map(|ratio| ratio.ratio)),
            )
            .of_estimates(),
            column(
                "ratio_to_none_holm_p",
                "p (Holm)",
                "two-sided p of equal means, paired t test on logarithms, after Holm's correction over the rows",
                |row: &Operation| Value::p(row.to_none.and_then(|ratio| ratio.holm_p)),
            )
            .in_csv_only(),
            more_blocks(|row: &Operation| more(row.to_constant.or(row.to_none))),
        ]);
        columns
    }
}

/// The effect of variation on each operation at the highest mean or, without constant delays of the same mean, the effect
/// of the greatest delays: a sentence a case.
pub fn in_words(
    rows: &[Operation],
    imitation: Member,
    load_called: &dyn Fn(u8) -> String,
) -> Vec<String> {
    let sentence = |case: &str| {
        let imitating = at_highest(rows, case, imitation).filter(|row| row.to_constant.is_some());
        match imitating.or_else(|| by_variation(rows, case)) {
            Some(row) => variation_in_words(rows, row, load_called),
            None => delays_in_words(rows, greatest(rows, case)?, load_called),
        }
    };
    cases(rows).into_iter().filter_map(sentence).collect()
}

/// The cases, each once.
pub fn cases(rows: &[Operation]) -> Vec<&str> {
    let mut cases: Vec<&str> = rows.iter().map(|row| row.case.as_str()).collect();
    cases.dedup();
    cases
}

/// The most varied delays at the highest mean, where constant ones have it too.
pub fn by_variation<'a>(rows: &'a [Operation], case: &str) -> Option<&'a Operation> {
    let of_case = rows
        .iter()
        .filter(|row| row.case == case && row.to_constant.is_some());
    injected::most_varied(of_case, |row| {
        (
            row.constant.unwrap_or(row.level),
            row.injected_ns.unwrap_or_default(),
        )
    })
}

/// The delays of the highest mean, and of these the most varied.
pub fn greatest<'a>(rows: &'a [Operation], case: &str) -> Option<&'a Operation> {
    let of_case = rows
        .iter()
        .filter(|row| row.case == case && row.to_none.is_some());
    of_case.max_by(|a, b| {
        let moments = |row: &Operation| row.injected_ns.unwrap_or_default();
        let ((mean, std), (other_mean, other_std)) = (moments(a), moments(b));
        mean.total_cmp(&other_mean).then(std.total_cmp(&other_std))
    })
}

/// Interval and test, in brackets.
fn tested(ratio: &Slowdown) -> Option<String> {
    let ((low, high), p) = ratio.for_people().interval().zip(ratio.p_in_words())?;
    Some(format!(
        "(95 % interval {} to {}, {p}, n = {} of runs)",
        words::signed_percent(low),
        words::signed_percent(high),
        show::counted(ratio.blocks, "pair")
    ))
}

/// The medians of a row and of one that it is compared with.
fn medians(rows: &[Operation], row: &Operation, base: Level) -> Option<String> {
    let mut of_case = rows.iter().filter(|other| other.case == row.case);
    let base = of_case.find(|other| other.level == base)?;
    Some(format!(
        "; the median was {} and {}.",
        words::time(row.median_ns.value),
        words::time(base.median_ns.value)
    ))
}

fn variation_in_words(
    rows: &[Operation],
    row: &Operation,
    load_called: &dyn Fn(u8) -> String,
) -> Option<String> {
    let (ratio, case) = (row.to_constant?, &row.case);
    let mean = match (row.level.percent(), row.injected_ns) {
        (Some(percent), _) => format!("With the mean delay of {}", load_called(percent)),
        (None, Some((mean, _))) => format!("With a mean delay of {}", words::time(mean)),
        (None, None) => "With one mean delay".into(),
    };
    let varied = varied(row.level);
    let (change, size) = (
        words::change(ratio.ratio.value),
        words::signed_percent(ratio.ratio.value),
    );
    let means = match tested(&ratio) {
        Some(tested) if ratio.is_significant() => format!(
            "{mean}, {case} took {change} under {varied} than under constant delays on the mean {tested}"
        ),
        Some(tested) => format!(
            "{mean}, no difference of {case} between {varied} and constant delays could be shown on the mean: it was {size} {tested}"
        ),
        None => format!(
            "{mean}, whether {case} takes longer under {varied} than under constant delays on the mean {}; the difference was {size}",
            ratio.not_said()
        ),
    };
    Some(format!("{means}{}", medians(rows, row, row.constant?)?))
}

fn delays_in_words(
    rows: &[Operation],
    row: &Operation,
    load_called: &dyn Fn(u8) -> String,
) -> Option<String> {
    let (ratio, case) = (row.to_none?, &row.case);
    let delays = injected::called(row.level, row.injected_ns, load_called);
    let size = words::signed_percent(ratio.ratio.value);
    let means = match tested(&ratio) {
        Some(tested) if ratio.is_significant() => format!(
            "With {delays}, {case} took {} than without injection on the mean {tested}",
            words::change(ratio.ratio.value)
        ),
        Some(tested) => format!(
            "No effect of {delays} on {case} could be shown on the mean: the difference from no injection was {size} {tested}"
        ),
        None => format!(
            "Whether {delays} slow {case} {}; the difference from no injection was {size}",
            ratio.not_said()
        ),
    };
    Some(format!("{means}{}", medians(rows, row, Level::None)?))
}

/// The row of a case and shape that imitates the highest load.
pub fn at_highest<'a>(rows: &'a [Operation], case: &str, shape: Member) -> Option<&'a Operation> {
    let of_shape = rows
        .iter()
        .filter(|row| row.case == case && row.injected().is_some_and(|(_, of)| of == shape));
    of_shape.max_by_key(|row| row.level)
}
