//! The answer to the question that the experiment was made for: what variation in latency costs each program, apart from
//! its mean.

use jitterlab_base::units::Nanos;
use jitterlab_experiment::level::{Level, LevelKind};
use jitterlab_experiment::spec::Experiment;
use serde::Serialize;

use crate::analysis::application::groups;
use crate::analysis::application::runtimes::{FixedMean, Runtime, most_varied};
use crate::analysis::brief::Brief;
use crate::analysis::injected::{self, varied};
use crate::analysis::library::operations::{self, Operation};
use crate::analysis::results::{Results, Suites};
use crate::analysis::slowdown::{Slowdown, correct, corrected_over, more, more_blocks};
use crate::analysis::summary::Summary;
use crate::table::{Column, Estimate, Row, Value, column};
use crate::words;

/// A question, and its answer in one sentence.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Answer {
    /// The question for the experiment.
    pub question: String,
    /// The answer.
    pub sentence: String,
}

/// The effects of the mean and the variation of delays on a program, at the highest mean and the greatest variation of the experiment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Effect {
    /// Constant delays against none.
    pub by_mean: Option<Runtime>,
    /// Varied delays against constant ones of the same mean.
    pub by_variation: FixedMean,
    /// The pattern of the program's output, if its time is for a unit of work.
    pub unit: Option<String>,
}

/// The verdict of the runs on delays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Slower,
    Faster,
    NotShown,
    Untested,
}

impl Verdict {
    fn of(slowdown: &Slowdown) -> Self {
        match slowdown.ratio.value {
            _ if slowdown.p.is_none() => Verdict::Untested,
            _ if !slowdown.is_significant() => Verdict::NotShown,
            ratio if ratio > 1.0 => Verdict::Slower,
            _ => Verdict::Faster,
        }
    }
}

/// The effect on each program that ran under constant and under varied delays of one mean. The p are corrected after Holm
/// over these programs, since each is asked once.
pub fn effects(results: &Results, experiment: &Experiment) -> Vec<Effect> {
    let mut effects = uncorrected(results, experiment);
    correct(
        effects
            .iter_mut()
            .map(|effect| &mut effect.by_variation.slowdown),
    );
    effects
}

fn uncorrected(results: &Results, experiment: &Experiment) -> Vec<Effect> {
    groups::names(&results.suites.application.groups)
        .into_iter()
        .filter_map(|name| {
            let rows = results.suites.application.fixed_mean.iter();
            let rows: Vec<&FixedMean> = rows.filter(|row| row.application == name).collect();
            let row = most_varied(&rows)?;
            let mut runtimes = results.suites.application.runtimes.iter();
            let by_mean = runtimes.find(|of| of.application == name && of.level == row.constant);
            Some(Effect {
                by_mean: by_mean.cloned(),
                by_variation: row.clone(),
                unit: groups::printed(name, experiment),
            })
        })
        .collect()
}

/// The meaning of the words in the table of effects.
pub fn note(
    effects: &[Effect],
    level_called: &dyn Fn(Level) -> String,
    load_called: &dyn Fn(u8) -> String,
) -> Option<String> {
    let mut levels: Vec<Level> = effects.iter().map(|of| of.by_variation.level).collect();
    levels.sort_unstable();
    levels.dedup();
    let delays = levels.iter().filter_map(|&level| match level {
        Level::Injected { percent, shape } => Some(format!(
            "“{}” are delays made of what {} adds to a round trip: {}.",
            level_called(level),
            load_called(percent),
            shape.description()
        )),
        _ => None,
    });
    let units = effects.iter().filter_map(|effect| {
        let printed = effect.unit.as_ref()?;
        let program = &effect.by_variation.application;
        Some(format!(
            "The time of {program} is that of a unit of its work: one over the rate in “{printed}”."
        ))
    });
    let tested = corrected_over(effects.iter().map(|effect| &effect.by_variation.slowdown));
    let told: Vec<String> = delays.chain(units).chain(tested).collect();
    (!told.is_empty()).then(|| told.join(" "))
}

impl Row for Effect {
    const ID: &'static str = "answer";
    const TITLE: &'static str = "What the mean and the variation of delays do to each program";

    fn columns() -> Vec<Column<Self>> {
        vec![
            column("application", "Program", "its name", |row: &Effect| {
                Value::Text(row.by_variation.application.clone())
            }),
            column(
                "injected_mean_us",
                "Mean delay, µs",
                "mean of the delays, in microseconds: the highest of the experiment",
                |row: &Effect| Value::number(row.by_variation.injected_ns.map(|(mean, _)| mean / 1e3)),
            ),
            column(
                "injected_std_us",
                "Std of varied delays, µs",
                "standard deviation of the varied delays, in microseconds: the greatest at that mean",
                |row: &Effect| Value::number(row.by_variation.injected_ns.map(|(_, std)| std / 1e3)),
            ),
            column(
                "shape",
                "Shape of varied ones",
                "their distribution",
                |row: &Effect| Value::Text(varied(row.by_variation.level)),
            )
            .in_csv_only(),
            column(
                "ratio_to_none",
                "Constant delays: longer than without",
                "runtime with constant delays over that without injection, geometric mean over blocks with its 95 % interval",
                |row: &Effect| {
                    let slowdown = row.by_mean.as_ref().and_then(|row| row.slowdown);
                    slowdown.map_or(Value::Missing, |slowdown| Value::Change(slowdown.ratio))
                },
            )
            .of_estimates(),
            column(
                "ratio_to_constant",
                "Longer than with constant delays",
                "runtime with varied delays over that with constant delays of the same mean, geometric mean over blocks with \
                 its 95 % interval",
                |row: &Effect| Value::Change(row.by_variation.slowdown.ratio),
            )
            .of_estimates(),
            column(
                "ratio_to_constant_holm_p",
                "p (Holm)",
                "two-sided p of equal runtimes with varied and constant delays, corrected after Holm over these programs",
                |row: &Effect| Value::p(row.by_variation.slowdown.holm_p),
            ),
            column("blocks", "Pairs of runs", "varied and constant, one pair a block", |row: &Effect| {
                Value::Count(row.by_variation.slowdown.blocks as u64)
            }),
            more_blocks(|row: &Effect| more(Some(row.by_variation.slowdown))),
            column(
                "verdict",
                "Does variation slow it?",
                "yes, it speeds it up, not shown, or too few runs",
                |row: &Effect| {
                    let verdict = match Verdict::of(&row.by_variation.slowdown) {
                        Verdict::Slower => "yes",
                        Verdict::Faster => "it speeds it up",
                        Verdict::NotShown => "not shown",
                        Verdict::Untested => "too few runs",
                    };
                    Value::Text(verdict.into())
                },
            ),
        ]
    }
}

/// The question that the experiment can answer, and the answer. Without a program under constant and varied delays it is one
/// of those that come before.
pub fn answer(effects: &[Effect], brief: &[Brief], summary: &Summary, suites: &Suites) -> Answer {
    if !effects.is_empty() {
        return of_variation(effects);
    }
    let runtimes = &suites.application.runtimes;
    if let Some(answer) = of_delays(runtimes, suites).or_else(|| of_load(runtimes, suites)) {
        return answer;
    }
    if let Some(answer) = of_operations(&suites.library.operations, suites) {
        return answer;
    }
    let has_load = suites.packet.latency.iter().any(|row| row.load.is_some());
    let of_round_trips = match has_load {
        true => "What does background load do to a round trip?",
        false => "What do delays do to a round trip?",
    };
    let other = [
        ("What do delays do to programs?", &summary.applications),
        (of_round_trips, &summary.latency),
        ("What do load and delays do to packets?", &summary.packet),
        (TRANSACTIONS, &summary.amvia),
    ];
    let answered = other
        .iter()
        .find_map(|(question, sentences)| Some((*question, sentences.first()?.clone())));
    let (question, sentence) = answered.unwrap_or_else(|| of_brief(brief, suites));
    Answer {
        question: question.into(),
        sentence,
    }
}

/// Without anything that is compared: how long it takes.
fn of_brief(brief: &[Brief], suites: &Suites) -> (&'static str, String) {
    let question = match () {
        () if !suites.application.runtimes.is_empty() => "How long do these programs take?",
        () if !suites.library.operations.is_empty() => "How long do operations of MPI take?",
        () if !suites.packet.latency.is_empty() => "How long does a round trip take?",
        () if !suites.packet.places.is_empty() => "What does this network do?",
        () => TRANSACTIONS,
    };
    let mut rows = brief.iter();
    let sentence = rows.next().map_or_else(
        || "No run says more than the tables below.".into(),
        |row| row.in_words(&|level| suites.packet.level_called(level)),
    );
    (question, sentence)
}

/// A sentence about a program or an operation of MPI.
struct Told<'a> {
    name: &'a str,
    slowdown: Slowdown,
    /// A second sentence, for an answer about one program.
    beside: Option<String>,
}

/// The question to programs: the effect of some delays, against others or none.
struct Asked<'a> {
    programs: Vec<Told<'a>>,
    /// The cause, as a subject: `delays that vary`.
    cause: String,
    /// The level that they are compared with: `none`.
    base: String,
    /// The effect that is shown or not: `no effect of variation`.
    no_effect: &'static str,
}

fn these(asked: &[Told], all: &str) -> String {
    match asked {
        [one] => one.name.into(),
        _ => format!("these {all}"),
    }
}

fn of_variation(effects: &[Effect]) -> Answer {
    let told = |effect: &Effect| {
        let row = effect.by_mean.as_ref()?;
        let (alone, (mean, _)) = (row.slowdown?, row.injected_ns?);
        let delays = format!("onstant delays of {}", words::time(mean));
        let percent = words::percent_of((alone.ratio.value - 1.0).abs());
        Some(match Verdict::of(&alone) {
            Verdict::Slower => format!("C{delays} made it {percent} slower than no delay"),
            Verdict::Faster => format!("C{delays} made it {percent} faster than no delay"),
            Verdict::NotShown | Verdict::Untested => {
                format!("No effect of c{delays} against no delay was shown")
            }
        })
    };
    let programs = effects.iter().map(|effect| Told {
        name: &effect.by_variation.application,
        slowdown: effect.by_variation.slowdown,
        beside: told(effect),
    });
    let asked = Asked {
        programs: programs.collect(),
        cause: "varied delays".into(),
        base: match effects {
            // The mean stands in the sentence on it.
            [one] if told(one).is_some() => SAME_MEAN.into(),
            _ => of_same_mean(effects.iter().map(|effect| {
                let row = &effect.by_variation;
                (row.constant, row.injected_ns)
            })),
        },
        no_effect: "no effect of variation",
    };
    Answer {
        question: format!(
            "Does variation in latency slow {}, apart from its mean?",
            these(&asked.programs, PROGRAMS)
        ),
        sentence: asked.sentence(),
    }
}

/// Without delays that are alike but for their variation: what the greatest delays do, against none.
fn of_delays(runtimes: &[Runtime], suites: &Suites) -> Option<Answer> {
    let slowed = runtimes.iter().filter(|row| row.slowdown.is_some());
    let injected = slowed.filter(|row| row.level.kind() == LevelKind::Injected);
    let greatest = injected.max_by(|a, b| {
        let moments = |row: &Runtime| row.injected_ns.unwrap_or_default();
        let ((mean, std), (other_mean, other_std)) = (moments(a), moments(b));
        mean.total_cmp(&other_mean).then(std.total_cmp(&other_std))
    })?;
    let level = greatest.level;
    let load_called = |percent: u8| suites.packet.load_called(percent);
    let cause = injected::called(level, greatest.injected_ns, &load_called);
    let asked = at_level(runtimes, level, cause);
    Some(Answer {
        question: format!(
            "Does added latency slow {}?",
            these(&asked.programs, PROGRAMS)
        ),
        sentence: format!("{}{}", asked.sentence(), unknown(level)),
    })
}

/// The effect of the greatest load against none, where no delays were injected.
fn of_load(runtimes: &[Runtime], suites: &Suites) -> Option<Answer> {
    let loads = runtimes.iter().filter(|row| row.slowdown.is_some());
    let loads = loads.filter_map(|row| match row.level {
        Level::Load { percent } => Some((suites.packet.imitated(percent), row.level)),
        _ => None,
    });
    let (_, level) = loads.max_by(|a, b| a.0.total_cmp(&b.0))?;
    let load = suites.packet.level_called(level);
    let asked = at_level(runtimes, level, format!("the packets of {load}"));
    Some(Answer {
        question: format!(
            "Does background load slow {}?",
            these(&asked.programs, PROGRAMS)
        ),
        sentence: asked.sentence(),
    })
}

/// Programs at a level, whose `cause` is the subject of the sentence, against none.
fn at_level(runtimes: &[Runtime], level: Level, cause: String) -> Asked<'_> {
    let rows = runtimes.iter().filter(|row| row.level == level);
    let rows: Vec<&Runtime> = rows.filter(|row| row.slowdown.is_some()).collect();
    // Each program is asked once.
    let mut slowdowns: Vec<Slowdown> = rows.iter().filter_map(|row| row.slowdown).collect();
    correct(slowdowns.iter_mut());
    let programs = rows.into_iter().zip(slowdowns);
    Asked {
        programs: programs
            .map(|(row, slowdown)| Told {
                name: &row.application,
                slowdown,
                beside: None,
            })
            .collect(),
        cause,
        base: "none".into(),
        no_effect: "no effect",
    }
}

/// The sentence for delays without constant ones of the same mean: variation and mean cannot be told apart.
fn unknown(level: Level) -> String {
    match level {
        Level::Shape { mean_ns, .. } if !level.is_constant() => format!(
            " What of it comes from their variation is not known: for that the experiment needs constant delays of the same \
             mean, too, `delays: [{}]`.",
            Nanos(mean_ns)
        ),
        Level::Table => " What of it comes from their variation is not known.".into(),
        _ => String::new(),
    }
}

/// The effect of delays on operations of MPI: of their variation or, without constant delays of the same mean, of the greatest delays.
fn of_operations(rows: &[Operation], suites: &Suites) -> Option<Answer> {
    let cases = operations::cases(rows);
    let by_variation = cases
        .iter()
        .filter_map(|case| operations::by_variation(rows, case));
    let by_variation: Vec<&Operation> = by_variation.collect();
    let greatest = cases
        .iter()
        .filter_map(|case| operations::greatest(rows, case));
    let greatest: Vec<&Operation> = greatest.collect();
    let is_of_variation = !by_variation.is_empty();
    let rows = match is_of_variation {
        true => by_variation,
        false => greatest,
    };
    let found = |row: &&Operation| match is_of_variation {
        true => row.to_constant,
        false => row.to_none,
    };
    let level = rows.first()?.level;
    let mut slowdowns: Vec<Slowdown> = rows.iter().filter_map(found).collect();
    correct(slowdowns.iter_mut());
    let programs = rows.iter().zip(slowdowns).map(|(row, slowdown)| Told {
        name: &row.case,
        slowdown,
        beside: None,
    });
    let asked = Asked {
        programs: programs.collect(),
        cause: match is_of_variation {
            true => "varied delays".into(),
            false => injected::called(level, rows[0].injected_ns, &|percent| {
                suites.packet.load_called(percent)
            }),
        },
        base: match is_of_variation {
            true => of_same_mean(
                rows.iter()
                    .map(|row| (row.constant.unwrap_or(row.level), row.injected_ns)),
            ),
            false => "none".into(),
        },
        no_effect: match is_of_variation {
            true => "no effect of variation",
            false => "no effect",
        },
    };
    let these = these(&asked.programs, "operations of MPI");
    Some(Answer {
        question: match is_of_variation {
            true => format!("Does variation in latency slow {these}, apart from its mean?"),
            false => format!("Does added latency slow {these}?"),
        },
        sentence: match is_of_variation {
            true => asked.sentence(),
            false => format!("{}{}", asked.sentence(), unknown(level)),
        },
    })
}

const SAME_MEAN: &str = "constant ones of the same mean";
const PROGRAMS: &str = "programs";
const TRANSACTIONS: &str = "What does a transaction of active messages cost?";
const NOT_SHOWN: &str = "Not shown by these runs";
const UNKNOWN: &str = "That is not known";

impl Asked<'_> {
    /// The answer.
    fn sentence(&self) -> String {
        match &self.programs[..] {
            [one] => self.of_one(one),
            all => self.of_all(all),
        }
    }

    fn of_all(&self, programs: &[Told]) -> String {
        let of = |verdict: Verdict| -> Vec<&Told> {
            let of = programs.iter();
            of.filter(|told| Verdict::of(&told.slowdown) == verdict)
                .collect()
        };
        let listed = |programs: &[&Told], say: fn(&Told) -> String| {
            let said = programs.iter().map(|told| say(told));
            words::list(&said.collect::<Vec<_>>())
        };
        let (slower, faster) = (of(Verdict::Slower), of(Verdict::Faster));
        let (not_shown, untested) = (of(Verdict::NotShown), of(Verdict::Untested));
        let name = |told: &Told| told.name.to_string();
        let begin = match (slower.len(), faster.len(), not_shown.len()) {
            (n, _, _) if n == programs.len() => "Yes".into(),
            (1.., _, _) => format!("Yes, {}", listed(&slower, name)),
            (0, 1.., _) => "No, on the contrary".into(),
            (0, 0, 1..) => NOT_SHOWN.into(),
            (0, 0, 0) => UNKNOWN.into(),
        };
        let mut parts = Vec::new();
        let changed: Vec<&Told> = slower.into_iter().chain(faster).collect();
        if !changed.is_empty() {
            let changed = listed(&changed, |told| {
                let change = words::change(told.slowdown.ratio.value);
                format!("{} take {change}", told.name)
            });
            parts.push(format!("{} make {changed} than {}", self.cause, self.base));
        }
        if !not_shown.is_empty() {
            let told = listed(&not_shown, |told| {
                let ratio = told.slowdown.ratio;
                let time = words::more_or_less(ratio.value);
                let said = format!("{}: {time} time{}", told.name, interval(ratio));
                match told.slowdown.ratio.interval() {
                    Some((low, high)) if low > 1.0 || high < 1.0 => {
                        format!("{said}, which may be chance, as several programs are asked")
                    }
                    _ => said,
                }
            });
            parts.push(format!("{} was shown on {told}", self.no_effect));
        }
        if !untested.is_empty() {
            let names = listed(&untested, name);
            parts.push(format!("there are too few runs of {names} to tell"));
        }
        format!("{begin}: {}.", parts.join("; "))
    }

    /// The answer of one program, with what else there is to say of it.
    fn of_one(&self, told: &Told) -> String {
        let begin = match Verdict::of(&told.slowdown) {
            Verdict::Slower => "Yes",
            Verdict::Faster => "No, on the contrary",
            Verdict::NotShown => NOT_SHOWN,
            Verdict::Untested => return format!("{UNKNOWN}: there are too few runs to tell."),
        };
        let ratio = told.slowdown.ratio;
        let answer = format!(
            "{begin}: {} took {} time with {} {} with {}{}",
            told.name,
            words::more_or_less(ratio.value),
            self.cause,
            words::conjunction(ratio.value),
            self.base,
            interval(told.slowdown.for_people())
        );
        let more = told.slowdown.more_in_words();
        let sentences = [Some(answer), told.beside.clone(), more];
        let told: Vec<String> = sentences.into_iter().flatten().collect();
        format!("{}.", told.join(". "))
    }
}

/// ` (95 % interval: 11 % less to 4.9 % more)`.
fn interval(ratio: Estimate) -> String {
    ratio.interval().map_or(String::new(), |(low, high)| {
        let (low, high) = (words::more_or_less(low), words::more_or_less(high));
        format!(" (95 % interval: {low} to {high})")
    })
}

/// Constant delays that others are compared with, with their mean where it is the same for all.
fn of_same_mean(constants: impl Iterator<Item = (Level, Option<(f64, f64)>)>) -> String {
    let constants: Vec<(Level, Option<(f64, f64)>)> = constants.collect();
    let is_one = constants.iter().all(|(level, _)| *level == constants[0].0);
    let mut means = constants.iter().filter_map(|(_, moments)| *moments);
    let mean = means.next().filter(|_| is_one);
    let mean = mean.map_or(String::new(), |(ns, _)| format!(", {}", words::time(ns)));
    format!("{SAME_MEAN}{mean}")
}
