//! Is runtime more highly correlated with the variation of latency than with its mean?
//! (latency-variation, section 7, table 4.)

use jitterlab_base::show;
use jitterlab_experiment::enough::POWER;
use jitterlab_experiment::level::{Level, LevelKind};
use jitterlab_experiment::spec::Repetitions;
use jitterlab_stats::correlation::{
    Comparison, Pearson, fisher_z, pearson, steiger, steiger_cases,
};
use jitterlab_stats::holm;
use serde::Serialize;

use crate::analysis::application::groups::{Group, names};
use crate::analysis::repeated::CONFIDENCE;
use crate::table::{Column, Row, Value, column};
use crate::words;

/// The correlations of one application.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Correlation {
    /// Its name.
    pub application: String,
    /// The correlation of the runtime with the mean of the injected delays, over runs.
    pub mean: Pearson,
    /// The correlation of the runtime with their standard deviation, over the same runs.
    pub std: Pearson,
    /// The correlation of the mean with the standard deviation, over the same runs.
    pub between: f64,
    /// The paper's comparison of the two, one-sided; it takes them for independent.
    pub fisher: Option<Comparison>,
    /// Its p after Holm's correction over applications.
    pub fisher_holm_p: Option<f64>,
    /// Steiger's comparison of dependent correlations, two-sided: the valid one.
    pub steiger: Option<Comparison>,
    /// Its p after Holm's correction over applications.
    pub steiger_holm_p: Option<f64>,
    /// The number of runs more that it takes to find the two different with a power of 90 %, if they stay what they are; none
    /// where they are found different, are not tested, or are too near to each other.
    pub more_runs: Option<u64>,
}

/// Means or standard deviations of tables that differ by no more are the same: a delay of a table is
/// a whole number of nanoseconds, and what differs by less is left from rounding.
const RESOLUTION_NS: f64 = 1.0;

/// The runs of an application with injected delays, each with the moments of its delays.
#[derive(Default)]
struct Runs {
    runtimes: Vec<f64>,
    means: Vec<f64>,
    stds: Vec<f64>,
}

impl Runs {
    fn of(application: &str, groups: &[Group]) -> Self {
        let mut runs = Runs::default();
        for group in groups
            .iter()
            .filter(|group| group.application == application)
        {
            let Some((mean, std)) = group.injected else {
                continue;
            };
            for &runtime in group.runtimes.figures() {
                runs.runtimes.push(runtime);
                runs.means.push(mean);
                runs.stds.push(std);
            }
        }
        runs
    }
}

/// True if there are two of them that were meant to differ.
fn differ(moments: &[f64]) -> bool {
    let least = moments.iter().copied().fold(f64::INFINITY, f64::min);
    moments.iter().any(|moment| moment - least > RESOLUTION_NS)
}

impl Correlation {
    /// Over all runs of an application with injected delays; `None` where there are fewer than
    /// three, or runtime, mean or standard deviation are the same in all of them.
    fn of(application: &str, groups: &[Group]) -> Option<Self> {
        let runs = Runs::of(application, groups);
        if !differ(&runs.means) || !differ(&runs.stds) {
            return None;
        }
        let mean = pearson(&runs.means, &runs.runtimes, CONFIDENCE).ok()?;
        let std = pearson(&runs.stds, &runs.runtimes, CONFIDENCE).ok()?;
        let between = pearson(&runs.means, &runs.stds, CONFIDENCE)
            .ok()?
            .r
            .estimate;
        let (r_mean, r_std) = (mean.r.estimate, std.r.estimate);
        Some(Correlation {
            application: application.into(),
            mean,
            std,
            between,
            fisher: fisher_z(r_mean, r_std, mean.n).ok(),
            fisher_holm_p: None,
            steiger: steiger(r_mean, r_std, between, mean.n).ok(),
            steiger_holm_p: None,
            more_runs: None,
        })
    }

    /// The number of runs more that Steiger's test takes at Bonferroni's level for so many tests.
    fn more_runs(&self, tests: usize) -> Option<u64> {
        let level = words::ALPHA / tests as f64;
        let n = self.mean.n;
        let more = steiger_cases(self.steiger?.z, n, level, POWER).ok()? - n as f64;
        // The cast keeps what a u64 holds.
        (more <= f64::from(Repetitions::MOST)).then(|| more.max(1.0) as u64)
    }

    /// The verdict of the valid test on the paper's claim.
    pub fn verdict(&self) -> Verdict {
        match self.steiger_holm_p {
            None => Verdict::Untested,
            Some(p) if p >= words::ALPHA => Verdict::Undecided,
            Some(_) if self.std.r.estimate > self.mean.r.estimate => Verdict::Variation,
            Some(_) => Verdict::Mean,
        }
    }
}

/// The quantity that runtime is more highly correlated with.
pub enum Verdict {
    /// The standard deviation of the delays.
    Variation,
    /// Their mean.
    Mean,
    /// The test shows neither.
    Undecided,
    /// There are too few runs for a test.
    Untested,
}

/// The correlations of every application that has enough runs.
pub fn correlations(groups: &[Group]) -> Vec<Correlation> {
    let rows = names(groups).into_iter();
    corrected(
        rows.filter_map(|name| Correlation::of(name, groups))
            .collect(),
    )
}

/// The same, corrected after Holm for being so many, and with what undecided ones take.
fn corrected(mut rows: Vec<Correlation>) -> Vec<Correlation> {
    let adjusted = |p: Vec<Option<f64>>| {
        let tested: Vec<f64> = p.iter().copied().flatten().collect();
        let mut adjusted = holm::adjust(&tested).into_iter();
        let back = p.into_iter().map(move |p| p.and_then(|_| adjusted.next()));
        back.collect::<Vec<_>>()
    };
    let fisher = adjusted(
        rows.iter()
            .map(|row| row.fisher.map(|test| test.p))
            .collect(),
    );
    let tests = rows.iter().filter(|row| row.steiger.is_some()).count();
    let steiger = adjusted(
        rows.iter()
            .map(|row| row.steiger.map(|test| test.p))
            .collect(),
    );
    for (row, (fisher, steiger)) in rows.iter_mut().zip(fisher.into_iter().zip(steiger)) {
        row.fisher_holm_p = fisher;
        row.steiger_holm_p = steiger;
        if matches!(row.verdict(), Verdict::Undecided) {
            row.more_runs = row.more_runs(tests);
        }
    }
    rows
}

impl Row for Correlation {
    const ID: &'static str = "correlations";
    const TITLE: &'static str =
        "Correlation of runtime with mean and standard deviation of the injected delays";

    fn columns() -> Vec<Column<Self>> {
        vec![
            column(
                "application",
                "Application",
                "its name",
                |row: &Correlation| Value::Text(row.application.clone()),
            ),
            column(
                "n",
                "n",
                "runs with injected delays",
                |row: &Correlation| Value::Count(row.mean.n as u64),
            ),
            column(
                "r_mean",
                "r, mean",
                "Pearson's r of runtime and mean delay, 95 % interval by Fisher's transform",
                |row: &Correlation| Value::Estimate(row.mean.r.into()),
            )
            .of_estimates(),
            column(
                "r_mean_p",
                "p, r mean",
                "p of r = 0",
                |row: &Correlation| Value::P(row.mean.p),
            )
            .in_csv_only(),
            column(
                "r_std",
                "r, std",
                "Pearson's r of runtime and standard deviation of the delays, 95 % interval by \
                 Fisher's transform",
                |row: &Correlation| Value::Estimate(row.std.r.into()),
            )
            .of_estimates(),
            column("r_std_p", "p, r std", "p of r = 0", |row: &Correlation| {
                Value::P(row.std.p)
            })
            .in_csv_only(),
            column(
                "r_between",
                "r, mean and std",
                "Pearson's r of mean and standard deviation of the delays",
                |row: &Correlation| Value::Number(row.between),
            ),
            column(
                "fisher_z",
                "Fisher z",
                "the paper's z for r_mean against r_std, as if they were independent",
                |row: &Correlation| Value::number(row.fisher.map(|test| test.z)),
            )
            .in_csv_only(),
            column(
                "fisher_p",
                "p, Fisher z",
                "one-sided p of the paper's comparison, as printed in its table 4",
                |row: &Correlation| Value::p(row.fisher.map(|test| test.p)),
            ),
            column(
                "fisher_holm_p",
                "p, Fisher z (Holm)",
                "the same after Holm's correction over applications",
                |row: &Correlation| Value::p(row.fisher_holm_p),
            )
            .in_csv_only(),
            column(
                "steiger_z",
                "Steiger Z",
                "Steiger's Z for dependent correlations",
                |row: &Correlation| Value::number(row.steiger.map(|test| test.z)),
            )
            .in_csv_only(),
            column(
                "steiger_p",
                "p, Steiger",
                "two-sided p of Steiger's test",
                |row: &Correlation| Value::p(row.steiger.map(|test| test.p)),
            ),
            column(
                "steiger_holm_p",
                "p, Steiger (Holm)",
                "the same after Holm's correction over applications",
                |row: &Correlation| Value::p(row.steiger_holm_p),
            ),
            column(
                "higher",
                "Higher",
                "what runtime is more highly correlated with, by Steiger's test at alpha 0.05",
                |row: &Correlation| {
                    Value::Text(
                        match row.verdict() {
                            Verdict::Variation => "variation",
                            Verdict::Mean => "mean",
                            Verdict::Undecided => "undecided",
                            Verdict::Untested => "not tested",
                        }
                        .into(),
                    )
                },
            ),
            column(
                "more_runs",
                "More runs",
                "where that is undecided: how many runs more it takes to find the two different with a power of 90 %, if they stay what \
                 they are",
                |row: &Correlation| row.more_runs.map_or(Value::Missing, Value::Count),
            ),
        ]
    }
}

/// The applications that cannot be asked the question because their delays do not differ in what it
/// is about, and what the experiment has to add.
pub fn gaps(groups: &[Group]) -> Vec<String> {
    let alike = |moments: fn(&Runs) -> &[f64], moment: &str, add: &str| {
        let alike: Vec<String> = names(groups)
            .into_iter()
            .filter(|name| {
                let runs = Runs::of(name, groups);
                !runs.runtimes.is_empty() && !differ(moments(&runs))
            })
            .map(String::from)
            .collect();
        (!alike.is_empty()).then(|| {
            format!(
                "All delays injected into {} have one {moment}, so “Variation or mean?” has no \
                 answer there: it takes {add}.",
                words::list(&alike)
            )
        })
    };
    let [mean, std] = to_add(groups.iter().map(|group| group.level));
    let of_means = alike(|runs| &runs.means, "mean", mean);
    let of_stds = alike(|runs| &runs.stds, "standard deviation", std);
    of_means.into_iter().chain(of_stds).collect()
}

/// The key that gives an experiment with such levels delays of another mean, and that for another standard deviation.
fn to_add(levels: impl Iterator<Item = Level> + Clone) -> [&'static str; 2] {
    let has = |is: fn(Level) -> bool| levels.clone().any(is);
    if has(|it| it.percent().is_some() && it.kind() == LevelKind::Injected) {
        [
            "a second load in `percent` of `levels: injected`",
            "a second shape in `shapes` of `levels: injected`",
        ]
    } else if has(|it| matches!(it, Level::Shape { .. })) {
        [
            "a second time in `mean` of `levels: injected`",
            "a second time in `std` of `levels: injected`",
        ]
    } else if has(|it| matches!(it, Level::Delay { .. })) {
        [
            "a second delay in `delays` of `levels: injected`",
            "delays that vary: a `shape` in `levels: injected`, with `mean` and `std`",
        ]
    } else {
        [
            "delays beside those of the table: `delays` in `levels: injected`",
            "delays beside those of the table: a `shape` in `levels: injected`, with `mean` and `std`",
        ]
    }
}

/// Whether the paper's claim holds here, a sentence an application.
pub fn in_words(rows: &[Correlation]) -> Vec<String> {
    let tests = rows.iter().filter(|row| row.steiger.is_some()).count();
    rows.iter().map(|row| sentence(row, tests)).collect()
}

fn sentence(row: &Correlation, tests: usize) -> String {
    let coefficients = format!(
        "r = {} with the mean and r = {} with the standard deviation of the injected delays \
         (n = {})",
        words::coefficient(row.mean.r.estimate),
        words::coefficient(row.std.r.estimate),
        show::counted(row.mean.n, "run")
    );
    let over = match tests {
        1 => String::new(),
        tests => format!(" after Holm over {tests} tests"),
    };
    let steiger = |finds: &str| {
        let p = row.steiger_holm_p.map_or("p unknown".into(), words::p);
        let fisher = row.fisher.map_or(String::new(), |test| {
            format!(
                " The paper used Fisher's z, which gives {}: it asks only whether r is higher with the standard \
                 deviation, and takes the two for independent.",
                words::p(test.p)
            )
        });
        format!("Steiger's test {finds} ({p}{over}).{fisher}")
    };
    let name = &row.application;
    match row.verdict() {
        Verdict::Variation => format!(
            "The paper's claim holds here for {name}: its runtime is more highly correlated with \
             variation than with the mean, {coefficients}. {}",
            steiger("finds the two correlations different")
        ),
        Verdict::Mean => format!(
            "The paper's claim does not hold here for {name}: its runtime is more highly correlated \
             with the mean than with variation, {coefficients}. {}",
            steiger("finds the two correlations different")
        ),
        Verdict::Undecided => format!(
            "Whether the runtime of {name} is more highly correlated with variation than with the \
             mean cannot be decided here: {coefficients}. {} {}",
            steiger("does not find the two correlations different"),
            match row.more_runs {
                Some(more) => format!(
                    "It takes {} with delays to find a difference as great as this one.",
                    show::counted(more as usize, "more run")
                ),
                None => "They are too near to each other for any number of runs.".into(),
            }
        ),
        Verdict::Untested => format!(
            "The two correlations of the runtime of {name} cannot be compared with so few runs: \
             {coefficients}."
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_experiment::level::{Member, Shape};
    use jitterlab_stats::bootstrap::Interval;

    fn row(r_mean: f64, r_std: f64) -> Correlation {
        let of = |r: f64| Pearson {
            n: 40,
            r: Interval {
                estimate: r,
                low: r,
                high: r,
            },
            p: 0.5,
        };
        Correlation {
            application: "lu".into(),
            mean: of(r_mean),
            std: of(r_std),
            between: 0.0,
            fisher: None,
            fisher_holm_p: None,
            steiger: steiger(r_mean, r_std, 0.0, 40).ok(),
            steiger_holm_p: None,
            more_runs: None,
        }
    }

    #[test]
    fn what_is_to_be_added_fits_the_delays_that_are_there() {
        let imitated = Level::Injected {
            percent: 60,
            shape: Member::Uniform,
        };
        let given = Level::Delay { ns: 10_000 };
        let of_shape = Level::Shape {
            shape: Shape::LogNormal,
            mean_ns: 10_000,
            std_ns: 5_000,
        };
        for (level, [mean, std]) in [
            (imitated, ["`percent`", "`shapes`"]),
            (given, ["`delays`", "`std`"]),
            (of_shape, ["`mean`", "`std`"]),
            (Level::Table, ["`delays`", "`std`"]),
        ] {
            let load = Level::Load { percent: 60 };
            let [for_mean, for_std] = to_add([Level::None, load, level].into_iter());
            assert!(for_mean.contains(mean), "{level:?}: {for_mean}");
            assert!(for_std.contains(std), "{level:?}: {for_std}");
            let is_of_load = for_mean.contains("`percent`") || for_std.contains("`shapes`");
            assert_eq!(is_of_load, level == imitated, "{level:?}");
        }
    }

    #[test]
    fn an_undecided_comparison_says_how_many_more_runs_it_takes() {
        let more = |rows: Vec<Correlation>| corrected(rows)[0].more_runs;
        let alone = more(vec![row(0.2, 0.4)]).unwrap();
        assert!(alone > 40, "{alone}");
        // More are tested together, and more are needed for each.
        assert!(more(vec![row(0.2, 0.4), row(0.2, 0.4)]).unwrap() > alone);
        assert_eq!(more(vec![row(0.1, 0.9)]), None);
        assert_eq!(more(vec![row(0.3, 0.3)]), None);
        let said = in_words(&corrected(vec![row(0.2, 0.4), row(0.3, 0.3)]));
        assert!(
            said[0].contains("more runs with delays to find a difference"),
            "{said:?}"
        );
        assert!(said[1].ends_with("for any number of runs."), "{said:?}");
    }
}
