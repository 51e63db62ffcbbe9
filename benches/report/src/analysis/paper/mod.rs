//! Which of the paper's findings hold here (latency-variation, sections 5 to 7): each as a question
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

use jitterlab_experiment::spec::Experiment;
use serde::Serialize;

use super::Analysis;
use crate::table::{Column, Row, Value, column};
use crate::words;
pub use standing::Standing;

/// A finding of the paper, asked of this experiment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// Where it stands in the paper: `figure 9`.
    pub place: &'static str,
    /// What the paper found.
    pub claim: String,
    /// Whether it is so here.
    pub standing: Standing,
    /// By which figures.
    pub evidence: String,
    /// Why it is not so here, as far as the runs tell.
    pub reason: Option<String>,
    /// Whether it is one of the comparisons that the experimental suites are made for.
    pub is_planned: bool,
}

impl Finding {
    fn new(
        place: &'static str,
        claim: impl Into<String>,
        standing: Standing,
        evidence: String,
    ) -> Self {
        Finding {
            place,
            claim: claim.into(),
            standing,
            evidence,
            reason: None,
            is_planned: false,
        }
    }
}

/// Where the paper's findings stand, and what an experiment has to measure to be asked about them.
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
pub fn findings(analysis: &Analysis, experiment: &Experiment) -> Vec<Finding> {
    let mut findings = distributions::findings(analysis);
    findings.extend(times::findings(analysis, experiment));
    findings.extend(planned::findings(analysis));
    findings.extend(programs::findings(analysis));
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
                "Here",
                "holds, does not hold, or undecided",
                |row: &Finding| Value::Text(row.standing.name().into()),
            ),
            column(
                "evidence",
                "By",
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

/// Paragraphs: how many findings hold, which do not, which cannot be decided, and which are not asked about; then
/// each comparison that the suites are made for, in full.
pub fn in_words(findings: &[Finding]) -> Vec<String> {
    if findings.is_empty() {
        return Vec::new();
    }
    let mut paragraphs = vec![overview(findings)];
    paragraphs.extend(findings.iter().filter(|f| f.is_planned).map(in_full));
    paragraphs
}

fn overview(findings: &[Finding]) -> String {
    let of = |standing: Standing| -> Vec<&Finding> {
        findings
            .iter()
            .filter(|finding| finding.standing == standing)
            .collect()
    };
    // What is told in full below is only named here.
    let with_evidence = |findings: &[&Finding]| -> String {
        let told: Vec<String> = findings
            .iter()
            .map(|f| {
                let evidence = if f.is_planned {
                    "told below"
                } else {
                    f.evidence.as_str()
                };
                format!("{} ({}: {evidence})", f.claim, f.place)
            })
            .collect();
        told.join("; that ")
    };
    let (holds, does_not, undecided) = (
        of(Standing::Holds),
        of(Standing::DoesNotHold),
        of(Standing::Undecided),
    );
    let mut sentences = vec![format!(
        "Of {} of the paper that this experiment asks about, {} hold here, {} not, and {} cannot be \
         decided with these runs.",
        words::counted(findings.len(), "finding"),
        holds.len(),
        match does_not.len() {
            1 => "1 does".into(),
            n => format!("{n} do"),
        },
        undecided.len()
    )];
    if !holds.is_empty() {
        let claims: Vec<String> = holds
            .iter()
            .map(|f| format!("{} ({})", f.claim, f.place))
            .collect();
        sentences.push(format!("It holds that {}.", claims.join("; that ")));
    }
    if !does_not.is_empty() {
        sentences.push(format!(
            "It does not hold that {}.",
            with_evidence(&does_not)
        ));
    }
    if !undecided.is_empty() {
        sentences.push(format!(
            "Whether the following hold cannot be decided: that {}.",
            with_evidence(&undecided)
        ));
    }
    sentences.extend(not_asked(findings));
    sentences.join(" ")
}

/// A comparison that the suites are made for, and why it did not come out as in the paper.
fn in_full(finding: &Finding) -> String {
    let outcome = match finding.standing {
        Standing::Holds => "shown",
        Standing::DoesNotHold => "not so, but shown to be the other way round",
        Standing::Undecided => "not shown",
    };
    let reason = finding.reason.as_ref().map_or(String::new(), |reason| {
        format!(" Why, as far as these runs tell: {reason}.")
    });
    format!(
        "That {} ({}) is {outcome}: {}.{reason}",
        finding.claim, finding.place, finding.evidence
    )
}

/// What the experiment says nothing of, and what it would have to measure.
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
        .map(|(needs, places)| format!("{} (it takes {needs})", words::list(places)))
        .collect();
    (!told.is_empty()).then(|| format!("Not asked about: {}.", told.join("; ")))
}
