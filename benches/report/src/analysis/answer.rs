//! The answer to the question that the experiment was made for: what variation in latency costs each program, apart from
//! its mean.

use jitterlab_experiment::level::{Level, Member};
use serde::Serialize;

use crate::analysis::Analysis;
use crate::analysis::application::groups;
use crate::analysis::application::runtimes::{FixedMean, Runtime, more_blocks, most_varied};
use crate::analysis::slowdown::{RESOLVE, correct};
use crate::table::{Column, Estimate, Row, Value, column};
use crate::words;

/// A question, and its answer in one sentence.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Answer {
    /// What the experiment can be asked.
    pub question: String,
    /// The answer.
    pub sentence: String,
}

/// What the mean and the variation of delays do to a program, at the highest mean and the greatest variation of the experiment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Effect {
    /// Constant delays against none.
    pub by_mean: Option<Runtime>,
    /// Varied delays against constant ones of the same mean.
    pub by_variation: FixedMean,
}

/// What the runs say of the variation of delays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Slower,
    Faster,
    NotShown,
    Untested,
}

impl Effect {
    fn verdict(&self) -> Verdict {
        let slowdown = &self.by_variation.slowdown;
        match slowdown.ratio.value {
            _ if slowdown.p.is_none() => Verdict::Untested,
            _ if !slowdown.is_significant() => Verdict::NotShown,
            ratio if ratio > 1.0 => Verdict::Slower,
            _ => Verdict::Faster,
        }
    }
}

/// The effect on each program that ran under constant and under varied delays of one mean; p is corrected after Holm over
/// these programs, each of which is asked once.
pub fn effects(analysis: &Analysis) -> Vec<Effect> {
    let mut effects = uncorrected(analysis);
    correct(
        effects
            .iter_mut()
            .map(|effect| &mut effect.by_variation.slowdown),
    );
    effects
}

fn uncorrected(analysis: &Analysis) -> Vec<Effect> {
    groups::names(&analysis.suites.application.groups)
        .into_iter()
        .filter_map(|name| {
            let rows = analysis.suites.application.fixed_mean.iter();
            let rows: Vec<&FixedMean> = rows.filter(|row| row.application == name).collect();
            let row = most_varied(&rows, rows.iter().map(|row| row.percent).max()?)?;
            let constant = Level::Injected {
                percent: row.percent,
                shape: Member::Uniform,
            };
            let mut runtimes = analysis.suites.application.runtimes.iter();
            let by_mean = runtimes.find(|row| row.application == name && row.level == constant);
            Some(Effect {
                by_mean: by_mean.cloned(),
                by_variation: row.clone(),
            })
        })
        .collect()
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
                |row: &Effect| Value::Text(row.by_variation.shape.name().into()),
            )
            .in_csv_only(),
            column(
                "ratio_to_none",
                "Longer by mean alone",
                "runtime with constant delays over that without injection, geometric mean over blocks with its 95 % interval",
                |row: &Effect| {
                    let slowdown = row.by_mean.as_ref().and_then(|row| row.slowdown);
                    slowdown.map_or(Value::Missing, |slowdown| Value::Change(slowdown.ratio))
                },
            )
            .of_estimates(),
            column(
                "ratio_to_constant",
                "Longer by variation alone",
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
            more_blocks(|row: &Effect| {
                let more = row.by_variation.slowdown.more_blocks;
                more.map_or(Value::Missing, Value::Count)
            }),
            column(
                "verdict",
                "Does variation slow it?",
                "yes, it speeds it up, not shown, or too few runs",
                |row: &Effect| {
                    let verdict = match row.verdict() {
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
pub fn answer(analysis: &Analysis) -> Answer {
    let summary = &analysis.summary;
    let other = [
        ("What do delays do to programs?", &summary.applications),
        ("What do delays do to operations of MPI?", &summary.library),
        (
            "What does background load do to a round trip?",
            &summary.latency,
        ),
    ];
    if analysis.effects.is_empty() {
        let answered = other
            .iter()
            .find_map(|(question, sentences)| Some((question, sentences.first()?)));
        return Answer {
            question: answered.map_or("What was measured?".into(), |(question, _)| {
                (*question).into()
            }),
            sentence: answered.map_or_else(
                || "The tables below have it.".into(),
                |(_, sentence)| sentence.clone(),
            ),
        };
    }
    Answer {
        question: format!(
            "Does variation in latency slow {}, apart from its mean?",
            match &analysis.effects[..] {
                [one] => one.by_variation.application.clone(),
                _ => "these programs".into(),
            }
        ),
        sentence: sentence(&analysis.effects),
    }
}

fn sentence(effects: &[Effect]) -> String {
    if let [one] = effects {
        return of_one(one);
    }
    let of = |verdict: Verdict| -> Vec<&Effect> {
        let of = effects.iter().filter(|effect| effect.verdict() == verdict);
        of.collect()
    };
    let listed = |effects: &[&Effect], say: fn(&FixedMean) -> String| {
        let said = effects.iter().map(|effect| say(&effect.by_variation));
        words::list(&said.collect::<Vec<_>>())
    };
    let (slower, faster) = (of(Verdict::Slower), of(Verdict::Faster));
    let (not_shown, untested) = (of(Verdict::NotShown), of(Verdict::Untested));
    let begin = match (slower.len(), faster.len(), not_shown.len()) {
        (n, _, _) if n == effects.len() => "Yes".into(),
        (1.., _, _) => format!("Yes, {}", listed(&slower, |row| row.application.clone())),
        (0, 1.., _) => "No, on the contrary".into(),
        (0, 0, 1..) => NOT_SHOWN.into(),
        (0, 0, 0) => UNKNOWN.into(),
    };
    let mut parts = Vec::new();
    let changed: Vec<&Effect> = slower.into_iter().chain(faster).collect();
    if !changed.is_empty() {
        let changed = listed(&changed, |row| {
            let change = words::change(row.slowdown.ratio.value);
            format!("{} take {change}", row.application)
        });
        parts.push(format!(
            "delays that vary make {changed} than constant delays of the same mean{}",
            mean(effects)
        ));
    }
    if !not_shown.is_empty() {
        let told = listed(&not_shown, |row| {
            let told = format!("{}: {}", row.application, change(row.slowdown.ratio));
            match row.slowdown.ratio.interval() {
                Some((low, high)) if low > 1.0 || high < 1.0 => {
                    format!("{told}, which may be chance, as several programs are asked")
                }
                _ => told,
            }
        });
        parts.push(format!("no effect of variation was shown on {told}"));
    }
    if !untested.is_empty() {
        let names = listed(&untested, |row| row.application.clone());
        parts.push(format!("there are too few runs of {names} to tell"));
    }
    format!("{begin}: {}.", parts.join("; "))
}

const NOT_SHOWN: &str = "Not shown by these runs";
const UNKNOWN: &str = "That is not known";

/// The answer of one program, with what the mean does.
fn of_one(effect: &Effect) -> String {
    let row = &effect.by_variation;
    let begin = match effect.verdict() {
        Verdict::Slower => "Yes",
        Verdict::Faster => "No, on the contrary",
        Verdict::NotShown => NOT_SHOWN,
        Verdict::Untested => return format!("{UNKNOWN}: there are too few runs to tell."),
    };
    let alone = effect.by_mean.as_ref().and_then(|row| row.slowdown);
    let alone = alone.map_or(String::new(), |alone| {
        format!(
            "; the constant ones alone change it by {} against no injection",
            words::signed_percent(alone.ratio.value)
        )
    });
    let more = row.slowdown.more_blocks.filter(|more| *more > 0);
    let more = more.map_or(String::new(), |more| {
        format!(
            "; {} more {} needed to find a change of {} %",
            words::count(more),
            if more == 1 {
                "repetition is"
            } else {
                "repetitions are"
            },
            words::short(100.0 * RESOLVE),
        )
    });
    format!(
        "{begin}: delays that vary change the {} of {} by {} against constant delays of the same mean{}{alone}{more}.",
        row.timed.name(),
        row.application,
        change(row.slowdown.ratio),
        mean(std::slice::from_ref(effect)),
    )
}

/// `+0.5 % (95 % interval −6.1 % to +7.6 %)`.
fn change(ratio: Estimate) -> String {
    let value = words::signed_percent(ratio.value);
    match Value::Change(ratio).estimated() {
        Some((_, Some(interval))) => format!("{value} (95 % interval {interval})"),
        _ => value,
    }
}

/// The mean of the delays, where all programs have one.
fn mean(effects: &[Effect]) -> String {
    let mut percents = effects.iter().map(|effect| effect.by_variation.percent);
    let first = percents.next();
    if percents.any(|percent| Some(percent) != first) {
        return String::new();
    }
    let mean = effects
        .iter()
        .find_map(|effect| Some(effect.by_variation.injected_ns?.0));
    mean.map_or(String::new(), |ns| {
        format!(", {} µs", words::short(ns / 1e3))
    })
}
