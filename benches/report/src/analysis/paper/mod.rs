//! The paper's findings that hold here (latency-variation, sections 5 to 7): each as a question
//! with two answers, asked of the tables.
//!
//! Two figures differ if their 95 % intervals do not overlap, which is a stricter test than a
//! comparison of the two; ratios of runs have their own test. Two figures are one, or a figure is small, if its
//! whole interval says so. What is neither shown nor refuted is undecided.

mod distributions;
mod planned;
mod programs;
mod slowed;
mod standing;
mod times;

use jitterlab_base::show;
use jitterlab_experiment::spec::Experiment;
use serde::Serialize;

use super::results::Results;
use crate::table::{Column, Row, Value, column};
use crate::words;
use standing::Judged;
pub use standing::Standing;

/// A finding of the paper, asked of this experiment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// The place in the paper: `figure 9`.
    pub place: &'static str,
    /// The finding of the paper.
    pub claim: String,
    /// Whether it is so here.
    pub standing: Standing,
    /// The figures that show it.
    pub evidence: String,
    /// Why it is not so here, as far as the runs tell.
    pub reason: Option<String>,
}

impl Finding {
    fn new(
        place: &'static str,
        claim: impl Into<String>,
        judged: impl Into<Judged>,
        evidence: String,
    ) -> Self {
        let judged = judged.into();
        Finding {
            place,
            claim: claim.into(),
            standing: judged.standing,
            evidence: evidence + &judged.takes(),
            reason: None,
        }
    }
}

/// The places of the paper's findings, and what an experiment has to measure to be asked about them.
const PLACES: [(&str, &str); 19] = [
    ("abstract", LU),
    ("section 3.2", UNDER_LOAD),
    ("figures 2 and 3", UNDER_LOAD),
    ("figure 4", UNDER_LOAD),
    ("section 5.3", UNDER_LOAD),
    ("figure 5", BOTH_SHAPES),
    ("figure 6", BOTH_SHAPES),
    ("section 6", "samples, or repeated runs of a program"),
    ("figure 7", PING_PONG),
    ("figure 8", PING_PONG),
    ("figure 9", BARRIER),
    ("figure 10", BARRIER),
    ("figure 11", LU),
    ("figure 12", LU),
    ("figures 11 and 12", LU),
    ("figure 13", MEANS),
    ("figure 14", MEANS),
    ("table 4", MEANS),
    (
        "figures 15 and 16",
        "a program under constant and under varied delays of two loads",
    ),
];
const UNDER_LOAD: &str =
    "round trips of packets without load, under it, and with delays that imitate it";
const BOTH_SHAPES: &str = "round trips of packets with constant and with varied delays";
const PING_PONG: &str = "a ping-pong over MPI without, with constant and with varied delays";
const BARRIER: &str = "a barrier with constant and with varied delays";
const LU: &str = "the benchmarks LU and EP without, with constant and with varied delays";
const MEANS: &str = "a program under delays of two means and two standard deviations";

/// Every finding that this experiment can be asked about, in the order of the paper.
pub fn findings(results: &Results, experiment: &Experiment) -> Vec<Finding> {
    let mut findings = distributions::findings(results);
    findings.extend(times::findings(results, experiment));
    findings.extend(planned::findings(results));
    findings.extend(programs::findings(results));
    let place = |finding: &Finding| PLACES.iter().position(|(place, _)| *place == finding.place);
    findings.sort_by_key(place);
    findings
}

impl Row for Finding {
    const ID: &'static str = "paper";
    const TITLE: &'static str = "The paper's findings, asked of this experiment";

    fn columns() -> Vec<Column<Self>> {
        vec![
            column(
                "place",
                "In the paper",
                "figure or table of the paper",
                |row: &Finding| Value::Text(row.place.into()),
            ),
            column(
                "finding",
                "Finding",
                "what the paper found",
                |row: &Finding| Value::Text(row.claim.clone()),
            ),
            column(
                "here",
                "In this experiment",
                "holds, does not hold, or undecided",
                |row: &Finding| Value::Text(row.standing.name().into()),
            ),
            column(
                "evidence",
                "Evidence",
                "the figures, with 95 % intervals in brackets",
                |row: &Finding| Value::Text(row.evidence.clone()),
            ),
            column(
                "reason",
                "Why",
                "of what the suites are made for and is not so here: why, as far as the runs tell",
                |row: &Finding| row.reason.clone().map_or(Value::Missing, Value::Text),
            ),
        ]
    }
}

/// Says how many findings hold, and which are not asked about: the table has the rest.
pub fn in_words(findings: &[Finding]) -> Vec<String> {
    if findings.is_empty() {
        return Vec::new();
    }
    let of = |standing: Standing| findings.iter().filter(|f| f.standing == standing).count();
    let counts = format!(
        "Of {} of the paper that this experiment asks about, {} here, {} not, and {} cannot be \
         decided with these runs.",
        show::counted(findings.len(), "finding"),
        match of(Standing::Holds) {
            1 => "1 holds".into(),
            n => format!("{n} hold"),
        },
        match of(Standing::DoesNotHold) {
            1 => "1 does".into(),
            n => format!("{n} do"),
        },
        of(Standing::Undecided)
    );
    std::iter::once(counts).chain(not_asked(findings)).collect()
}

/// Names the findings that the experiment says nothing about, and what it would have to measure.
fn not_asked(findings: &[Finding]) -> Option<String> {
    let mut missing: Vec<(&str, Vec<String>)> = Vec::new();
    for (place, needs) in PLACES {
        if findings.iter().any(|finding| finding.place == place) {
            continue;
        }
        match missing.iter_mut().find(|(known, _)| *known == needs) {
            Some((_, places)) => places.push(place.into()),
            None => missing.push((needs, vec![place.into()])),
        }
    }
    let told: Vec<String> = missing
        .iter()
        .map(|(needs, places)| format!("{} (needs {needs})", words::list(places)))
        .collect();
    (!told.is_empty()).then(|| format!("This experiment asks nothing about: {}.", told.join("; ")))
}
