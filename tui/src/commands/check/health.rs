//! `jitterlab check --health`: Slurm's HealthCheckProgram.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use jitterlab_base::units::Nanos;
use jitterlab_cluster::schedulers::{Act, SlurmNode, Standing};
use jitterlab_node_tuning::system::System;
use jitterlab_node_tuning::topology::Topology;
use jitterlab_node_tuning::tune::Survey;

use super::listen;
use crate::commands::tune::looked::{Looked, look};
use crate::commands::tune::wanting;
use crate::outcome::{Exit, Failure};
use crate::output::{self, Format, printable};

/// Slurm kills a check that takes 60 s.
const LIMIT: Duration = Duration::from_secs(45);
/// Noise is measured twice at most, and beside it Slurm is asked three times.
const LONGEST: Nanos = Nanos(5_000_000_000);
/// How long noise is measured.
const DURATION: Nanos = Nanos(1_000_000_000);
/// Settings that a reason names.
const NAMED: usize = 4;
/// Characters of a reason.
const CHARACTERS: usize = 200;

/// Does it. Whatever it finds is no failure: Slurm knows what the node's state says.
pub fn run(system: System, duration: Option<Nanos>) -> Result<Exit, Failure> {
    let duration = duration.unwrap_or(DURATION);
    if duration > LONGEST {
        return Err(Failure::input(format!(
            "a health check measures noise for {LONGEST} at most: Slurm kills it after 60s"
        )));
    }
    let (tell, told) = mpsc::channel();
    thread::spawn(move || {
        // Nobody listens any more when the time is over.
        let _ = tell.send(checked(&system, duration));
    });
    let line = told
        .recv_timeout(LIMIT)
        .unwrap_or_else(|_| format!("no verdict within {} s", LIMIT.as_secs()));
    output::print(Format::Text, &(), || printable(&line))?;
    Ok(Exit::Done)
}

/// Looks at the node and does what follows; gives the line that says so.
fn checked(system: &System, duration: Nanos) -> String {
    let looked = match look(system) {
        Ok(looked) => looked,
        Err(failure) => return format!("no verdict: {failure}"),
    };
    let node = SlurmNode::here();
    let standing = node.standing();
    let unfit = unfit(&looked).or_else(|| match (&looked.survey, &standing) {
        (Ok(survey), Ok(standing)) if looked.tuned => noise(system, survey, standing, duration),
        _ => None,
    });
    let unfit = unfit.map(|reason| in_short(&reason));
    // The state may be another one by now.
    let standing = standing.and_then(|_| node.standing());
    let verdict = match (&unfit, looked.tuned) {
        (Some(reason), _) => format!("not fit: {reason}"),
        (None, true) => "fit".into(),
        (None, false) => "fit: nothing was applied that could have changed".into(),
    };
    match standing.and_then(|standing| act(&node, &standing, unfit.as_deref())) {
        Ok(done) => verdict + &done,
        Err(error) => format!("{verdict}; nothing is done about it: {error}"),
    }
}

/// Why the settings of a node do not fit. Only what was applied can fail to hold.
fn unfit(looked: &Looked) -> Option<String> {
    let survey = match &looked.survey {
        _ if !looked.tuned => return None,
        Err(refused) => return Some(refused.clone()),
        Ok(survey) => survey,
    };
    let wanting: Vec<_> = wanting(survey).collect();
    let named = wanting.iter().take(NAMED);
    let mut said: Vec<String> = named
        .map(|finding| format!("{} ({})", finding.name, finding.state.name()))
        .collect();
    if wanting.len() > NAMED {
        said.push(format!("and {} more", wanting.len() - NAMED));
    }
    (!said.is_empty()).then(|| said.join(", "))
}

/// Why the CPUs of a node are too noisy, if they are twice. A job would be disturbed, and be what is measured.
fn noise(system: &System, survey: &Survey, standing: &Standing, duration: Nanos) -> Option<String> {
    let topology = Topology::read(system.root());
    let is_judged = topology.is_ok_and(|topology| !topology.is_emulated());
    if !(system.is_live() && standing.is_idle() && is_judged) {
        return None;
    }
    let too_much = || {
        let noise = listen(system, survey, duration).ok()?;
        let first = noise.findings.first()?;
        Some(format!("noise: {}", first.message))
    };
    too_much().and_then(|_| too_much())
}

/// Does what is to be done about the node; gives what was done.
fn act(node: &SlurmNode, standing: &Standing, unfit: Option<&str>) -> Result<String, String> {
    Ok(match (standing.act(unfit), unfit) {
        (Act::Drain, Some(reason)) => {
            node.drain(reason)?;
            "; drained".into()
        }
        (Act::Resume, _) => {
            node.resume()?;
            "; resumed".into()
        }
        (Act::Leave(state), _) => format!("; left as it is: {state}"),
        (Act::Nothing | Act::Drain, _) => String::new(),
    })
}

/// A reason as a line that is not long.
fn in_short(reason: &str) -> String {
    let line: String = reason.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(CHARACTERS) {
        None => line,
        Some((end, _)) => format!("{}...", &line[..end]),
    }
}
