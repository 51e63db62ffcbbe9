//! A result folder against a kept one: is anything slower than it was, by more than a gate?

use std::collections::BTreeMap;
use std::fmt;

use jitterlab_base::show;
use jitterlab_experiment::environment::Environment;
use jitterlab_experiment::level::Level;
use jitterlab_experiment::merge;
use jitterlab_stats::Error as StatsError;
use jitterlab_stats::gate::{Decision, Gate, Slower};
use serde::Serialize;

use crate::analysis::levels::{CaseAtLevel, Figure};
use crate::analysis::other_delays::{Delays, OtherDelays};
use crate::analysis::other_loads::OtherLoad;
use crate::table::{Column, Estimate, Row, Table, Value, column};
use crate::words::{self, ALPHA};

/// The side of a result folder in a comparison.
#[derive(Debug)]
pub struct Side {
    /// The cases that were measured.
    pub cases: Vec<CaseAtLevel>,
    /// The names of what has neither samples nor a runtime, as a bandwidth.
    pub without_figures: Vec<String>,
    /// The number of times that runs of a name were tried, and that this failed.
    pub attempts: BTreeMap<String, Attempts>,
    /// The delays of each level at which some were injected.
    pub delays: BTreeMap<Level, Delays>,
    /// The background load that was produced under each name of runs under load, in percent of the bandwidth.
    pub loads: BTreeMap<String, f64>,
    /// The environment of the measurement.
    pub environment: Environment,
    /// The experiment file as it was frozen.
    pub experiment_file: String,
}

/// Attempts at the runs of a name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Attempts {
    /// Attempts.
    pub all: usize,
    /// Those of them that failed.
    pub failed: usize,
}

impl Attempts {
    /// True if a greater share of these failed.
    fn fail_more_than(self, other: Attempts) -> bool {
        self.failed * other.all > other.failed * self.all
    }
}

impl fmt::Display for Attempts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.failed, self.all)
    }
}

impl Side {
    fn case(&self, name: &str) -> Option<&CaseAtLevel> {
        self.cases.iter().find(|it| it.name == name)
    }

    /// The names of those that another folder does not have.
    fn alone(&self, other: &Side) -> Vec<String> {
        let names = self.cases.iter().map(|it| &it.name);
        names
            .filter(|name| other.case(name).is_none())
            .cloned()
            .collect()
    }

    /// The names with a greater share of failed attempts than in another folder that has tried them, too.
    fn fails_more_than(&self, other: &Side) -> Vec<Failing> {
        let both = self.attempts.iter().filter_map(|(name, &b)| {
            let &a = other.attempts.get(name)?;
            Some(Failing {
                name: name.clone(),
                a,
                b,
            })
        });
        both.filter(|it| it.b.fail_more_than(it.a)).collect()
    }
}

/// Runs of a name that fail more often in b than in a.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Failing {
    /// Their name without the repetition.
    pub name: String,
    /// Attempts at them in a.
    pub a: Attempts,
    /// Attempts at them in b.
    pub b: Attempts,
}

/// Round trips of a name that were measured in the one loop in a, and in the other in b.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OtherLoop {
    /// Their name without the repetition.
    pub name: String,
    /// The loop of a: `closed` or `open`.
    pub a: &'static str,
    /// The loop of b.
    pub b: &'static str,
}

impl OtherLoop {
    fn of(a: &CaseAtLevel, b: &CaseAtLevel) -> Option<Self> {
        let (of_a, of_b) = a.its_loop().zip(b.its_loop())?;
        (of_a != of_b).then(|| OtherLoop {
            name: a.name.clone(),
            a: of_a,
            b: of_b,
        })
    }
}

impl fmt::Display for OtherLoop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OtherLoop { name, a, b } = self;
        write!(f, "{name} ({b}, and in a {a})")
    }
}

impl fmt::Display for Failing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Failing { name, a, b } = self;
        write!(f, "{name} (attempts that failed: {b}, and in a {a})")
    }
}

/// A case at a level, in two folders.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Quantity {
    /// The name of its runs without their repetition.
    pub name: String,
    /// Its mean over the runs of a, in nanoseconds.
    pub a_ns: Estimate,
    /// Its mean over those of b.
    pub b_ns: Estimate,
    /// Runs of a.
    pub a_runs: usize,
    /// Runs of b.
    pub b_runs: usize,
    /// b in proportion to a; the intervals of all quantities hold together.
    pub ratio: Estimate,
    /// Whether b is slower by more than the gate.
    pub slower: Slower,
    /// The number of repetitions more of each that it takes to decide, if the ratio stays what it is.
    pub more_repetitions: Option<u64>,
    /// The delays that were injected, if their means or standard deviations differ by more than the gate: then nothing is decided.
    pub other_delays: Option<OtherDelays>,
    /// The background loads that were produced, if they are not the same: then nothing is decided, either.
    pub other_load: Option<OtherLoad>,
}

impl Quantity {
    fn of(a: &CaseAtLevel, b: &CaseAtLevel, figure: Figure, gate: &Gate) -> Self {
        let (a_ns, b_ns) = (a.mean(figure), b.mean(figure));
        let (of_a, of_b) = (a.figures(figure), b.figures(figure));
        let Decision {
            ratio,
            slower,
            more,
        } = gate.decide(of_a.figures(), of_b.figures());
        let unknown = Estimate::alone(b_ns.value / a_ns.value);
        Quantity {
            name: a.name.clone(),
            a_ns,
            b_ns,
            a_runs: a.runs(),
            b_runs: b.runs(),
            ratio: ratio.map_or(unknown, Estimate::from),
            slower,
            more_repetitions: more,
            other_delays: None,
            other_load: None,
        }
    }

    /// The same; undecided if there is either, since a change of the condition is none of what is measured.
    fn with(self, other_delays: Option<OtherDelays>, other_load: Option<OtherLoad>) -> Self {
        if other_delays.is_none() && other_load.is_none() {
            return self;
        }
        Quantity {
            slower: Slower::Undecided,
            more_repetitions: None,
            other_delays,
            other_load,
            ..self
        }
    }

    /// Why it is not decided.
    fn open(&self) -> String {
        let name = &self.name;
        if let Some(delays) = &self.other_delays {
            return format!("{name} had other delays ({})", delays.moments());
        }
        if let Some(load) = &self.other_load {
            return format!("{name} had another load ({load})");
        }
        match (self.ratio.interval(), self.more_repetitions) {
            (Some(_), Some(more)) => {
                format!(
                    "{name} takes {more} more repetitions of each, if the change stays what it is"
                )
            }
            (Some(_), None) => {
                format!("{name} is too near to the gate for any number of repetitions")
            }
            (None, _) if self.a_runs.min(self.b_runs) < 2 => {
                format!(
                    "{name} has {} and {} runs, and takes at least 2 of each",
                    self.a_runs, self.b_runs
                )
            }
            (None, _) => {
                format!("{name} does not vary from run to run, so that nothing can be tested")
            }
        }
    }
}

impl Row for Quantity {
    const ID: &'static str = "gate";
    const TITLE: &'static str = "b against a";

    fn columns() -> Vec<Column<Self>> {
        vec![
            column(
                "name",
                "Runs",
                "their name without the repetition",
                |row: &Self| Value::Text(row.name.clone()),
            ),
            column("a_s", "a", "mean over runs", |row: &Self| {
                Value::Seconds(row.a_ns.scaled(1e-9))
            })
            .of_estimates(),
            column("b_s", "b", "mean over runs", |row: &Self| {
                Value::Seconds(row.b_ns.scaled(1e-9))
            })
            .of_estimates(),
            column("runs", "n", "runs of a and of b", |row: &Self| {
                Value::Text(format!("{}, {}", row.a_runs, row.b_runs))
            }),
            column("ratio", "Change", "b in proportion to a", |row: &Self| {
                Value::Change(row.ratio)
            })
            .of_estimates(),
            column(
                "slower",
                "Slower",
                "whether by more than the gate",
                |row: &Self| Value::Text(row.slower.to_string()),
            ),
        ]
    }
}

/// Two result folders, compared.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Gated {
    /// The share that nothing may be slower by.
    pub gate: f64,
    /// The figure of a run that is compared.
    pub figure: Figure,
    /// The confidence of each interval; they hold together with 95 %.
    pub confidence: f64,
    /// The verdict. *No* takes certainty for everything, nothing missing or of another loop, and nothing that fails more often.
    pub slower: Slower,
    /// Quantities of both folders.
    pub quantities: Vec<Quantity>,
    /// Names that a has figures of and b has not, except what failed in b.
    pub missing: Vec<String>,
    /// The names that were measured in the open loop in one folder and in the closed one in the other: these are not compared.
    pub other_loop: Vec<OtherLoop>,
    /// The names that fail more often in b: how long they would have taken is not known.
    pub failing: Vec<Failing>,
    /// Names that only folder b has; they are not judged.
    pub new: Vec<String>,
    /// Names without samples and without a runtime; they are not compared.
    pub not_compared: Vec<String>,
    /// The first difference of the experiments, and the differences of injected delays and hosts.
    pub differences: Vec<String>,
}

impl Gated {
    /// Compares `b` with `a`, the kept one.
    ///
    /// # Errors
    /// The gate is 0.
    pub fn of(a: &Side, b: &Side, figure: Figure, gate: f64) -> Result<Self, StatsError> {
        let both = a
            .cases
            .iter()
            .filter_map(|it| Some((it, b.case(&it.name)?)));
        let mut both: Vec<(&CaseAtLevel, &CaseAtLevel)> = both.collect();
        let mut other_loop = Vec::new();
        both.retain(|(a, b)| match OtherLoop::of(a, b) {
            Some(other) => {
                other_loop.push(other);
                false
            }
            None => true,
        });
        let held = Gate::new(gate, ALPHA, both.len())?;
        let other_delays = OtherDelays::of(&a.delays, &b.delays);
        let (loads_of_a, loads_of_b) = (&a.loads, &b.loads);
        let quantity = |(a, b): &(&CaseAtLevel, &CaseAtLevel)| {
            let mut of_level = other_delays.iter().filter(|it| it.level == a.level);
            let delays = of_level.find(|it| it.differ_by_more_than(gate)).copied();
            let load = OtherLoad::of(&a.name, loads_of_a, loads_of_b);
            Quantity::of(a, b, figure, &held).with(delays, load)
        };
        let quantities: Vec<Quantity> = both.iter().map(quantity).collect();
        let decided = quantities.iter().map(|it| it.slower);
        let failing = b.fails_more_than(a);
        let mut missing = a.alone(b);
        missing.retain(|name| failing.iter().all(|it| it.name != *name));
        let not_known = vec![Slower::Undecided; missing.len() + other_loop.len() + failing.len()];
        let mut not_compared = [&a.without_figures[..], &b.without_figures].concat();
        not_compared.sort();
        not_compared.dedup();
        Ok(Gated {
            gate,
            figure,
            confidence: held.confidence(),
            slower: Slower::any(decided.chain(not_known)),
            quantities,
            missing,
            other_loop,
            failing,
            new: b.alone(a),
            not_compared,
            differences: differences(a, b, &other_delays),
        })
    }

    /// Sentences: what is slower, what is not known, and what to hold against it.
    pub fn sentences(&self) -> Vec<String> {
        let of = |slower| self.quantities.iter().filter(move |it| it.slower == slower);
        let names: Vec<String> = of(Slower::Yes).map(|it| it.name.clone()).collect();
        let mut sentences = Vec::new();
        let mut say = |what: &str, names: &[String]| {
            if !names.is_empty() {
                sentences.push(format!("{what}: {}", words::list(names)));
            }
        };
        say("slower", &names);
        for quantity in of(Slower::Undecided) {
            say("undecided", &[quantity.open()]);
        }
        say("undecided, since b has no runs of it", &self.missing);
        let other_loop: Vec<String> = self.other_loop.iter().map(OtherLoop::to_string).collect();
        say(
            "undecided, since b measured it in another loop",
            &other_loop,
        );
        let failing: Vec<String> = self.failing.iter().map(Failing::to_string).collect();
        say("undecided, since it fails more often in b", &failing);
        say("new in b, and compared with nothing", &self.new);
        say(
            "not compared, since it has neither samples nor a runtime",
            &self.not_compared,
        );
        for difference in &self.differences {
            say("differs", std::slice::from_ref(difference));
        }
        sentences
    }
}

/// The first difference of the experiments, and the differences of injected delays and hosts.
fn differences(a: &Side, b: &Side, other_delays: &[OtherDelays]) -> Vec<String> {
    let experiment = merge::first_difference(&a.experiment_file, &b.experiment_file);
    let mut differences: Vec<String> = experiment
        .map(|it| format!("the experiment: {it}"))
        .into_iter()
        .collect();
    differences.extend(other_delays.iter().map(OtherDelays::to_string));
    let of_b = &b.environment;
    differences.extend(a.environment.changes(&of_b.jitterlab, &of_b.hosts));
    if let (Some(bandwidth), Some(now)) = (a.environment.bandwidth, of_b.bandwidth)
        && !merge::is_one_bandwidth(bandwidth, now)
    {
        let change = words::signed_percent(now / bandwidth);
        differences.push(format!(
            "the bandwidth, of which loads are shares, by {change}"
        ));
    }
    differences
}

/// The text for people: the question, what was compared, and the answer.
impl fmt::Display for Gated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counted = show::counted(self.quantities.len(), "interval");
        writeln!(
            f,
            "{} of a run, mean over runs; {counted}, which hold together with 95 %\n",
            self.figure
        )?;
        f.write_str(&Table::of(&self.quantities).to_text())?;
        writeln!(f)?;
        for sentence in self.sentences() {
            f.write_str(&words::wrapped(&sentence))?;
        }
        let gate = 100.0 * self.gate;
        writeln!(
            f,
            "Is b slower than a by more than {gate} %? {}",
            self.slower
        )
    }
}

/// The number of repetitions that a gate takes, by how the runs of one folder scatter.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Planned {
    /// The share that nothing may be slower by.
    pub gate: f64,
    /// The figure of a run that is compared.
    pub figure: Figure,
    /// Repetitions of each side; none where the runs do not vary, or no number is enough.
    pub repetitions: Option<u64>,
    /// The plan of each quantity.
    pub quantities: Vec<PlannedQuantity>,
}

/// The number of repetitions that a quantity takes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlannedQuantity {
    /// The name of its runs without their repetition.
    pub name: String,
    /// Runs that there are.
    pub runs: usize,
    /// Repetitions of each side.
    pub repetitions: Option<u64>,
}

impl Planned {
    /// The plan from the runs of this folder.
    ///
    /// # Errors
    /// The gate is 0.
    pub fn of(side: &Side, figure: Figure, gate: f64) -> Result<Self, StatsError> {
        let held = Gate::new(gate, ALPHA, side.cases.len())?;
        let quantities: Vec<PlannedQuantity> = side
            .cases
            .iter()
            .map(|case| PlannedQuantity {
                name: case.name.clone(),
                runs: case.runs(),
                repetitions: held.repetitions(case.figures(figure).figures()),
            })
            .collect();
        let all: Option<Vec<u64>> = quantities.iter().map(|it| it.repetitions).collect();
        Ok(Planned {
            gate,
            figure,
            repetitions: all.and_then(|all| all.into_iter().max()),
            quantities,
        })
    }
}

impl Row for PlannedQuantity {
    const ID: &'static str = "plan";
    const TITLE: &'static str = "Repetitions of each side";

    fn columns() -> Vec<Column<Self>> {
        vec![
            column(
                "name",
                "Runs",
                "their name without the repetition",
                |row: &Self| Value::Text(row.name.clone()),
            ),
            column("runs", "There are", "runs", |row: &Self| {
                Value::Count(row.runs as u64)
            }),
            column(
                "repetitions",
                "It takes",
                "repetitions of each side",
                |row: &Self| row.repetitions.map_or(Value::Missing, Value::Count),
            ),
        ]
    }
}

/// The text for people: by quantity, and the most of them.
impl fmt::Display for Planned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", Table::of(&self.quantities).to_text())?;
        let gate = 100.0 * self.gate;
        let power = 100.0 * Gate::POWER;
        match self.repetitions {
            Some(repetitions) => writeln!(
                f,
                "{repetitions} repetitions of each side decide at a gate of {gate} %, with a chance of {power} %, that what is equal is \
                 within it, and that what is slower by {} % is not",
                2.0 * gate
            ),
            None => writeln!(
                f,
                "what has no number varies too much for {} repetitions, or not at all in these runs",
                Gate::MOST
            ),
        }
    }
}
