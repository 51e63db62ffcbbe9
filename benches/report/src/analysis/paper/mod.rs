//! Which of the paper's findings hold here (latency-variation, sections 5 to 7): each as a question
//! with two answers, asked of the tables.
//!
//! Two figures differ if their 95 % intervals do not overlap, which is a stricter test than a
//! comparison of the two; ratios of runs have their own test. What is neither shown nor refuted is
//! undecided.

mod programs;
mod standing;
mod times;

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
}

/// Every finding that this experiment can be asked about, in the order of the paper.
pub fn findings(analysis: &Analysis) -> Vec<Finding> {
    let of_packets = [times::load(analysis), times::unloaded(analysis)];
    let mut findings: Vec<Finding> = of_packets.into_iter().flatten().collect();
    findings.extend(times::packets(analysis));
    findings.extend(times::ping_pong(analysis));
    findings.extend(times::barrier(analysis));
    findings.extend(programs::most_slowed(analysis));
    findings.extend(programs::applications(analysis));
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
        ]
    }
}

/// A paragraph: how many findings hold, which do not, and which cannot be decided.
pub fn in_words(findings: &[Finding]) -> Vec<String> {
    let of = |standing: Standing| -> Vec<&Finding> {
        findings
            .iter()
            .filter(|finding| finding.standing == standing)
            .collect()
    };
    let places = |findings: &[&Finding]| -> Vec<String> {
        findings
            .iter()
            .map(|f| format!("{} ({}: {})", f.claim, f.place, f.evidence))
            .collect()
    };
    let (holds, does_not, undecided) = (
        of(Standing::Holds),
        of(Standing::DoesNotHold),
        of(Standing::Undecided),
    );
    if findings.is_empty() {
        return Vec::new();
    }
    let mut paragraph = vec![format!(
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
        paragraph.push(format!("It holds that {}.", claims.join("; that ")));
    }
    if !does_not.is_empty() {
        paragraph.push(format!(
            "It does not hold that {}.",
            places(&does_not).join("; that ")
        ));
    }
    if !undecided.is_empty() {
        paragraph.push(format!(
            "Whether the following hold cannot be decided: that {}.",
            places(&undecided).join("; that ")
        ));
    }
    vec![paragraph.join(" ")]
}
