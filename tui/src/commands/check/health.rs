//! `jitterlab check --health`: Slurm's HealthCheckProgram.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use jitterlab_base::show::printable;
use jitterlab_base::units::Nanos;
use jitterlab_cluster::schedulers::{Act, Fit, SlurmNode, Standing};
use jitterlab_node_tuning::system::System;
use jitterlab_node_tuning::topology::Topology;
use jitterlab_node_tuning::tune::Survey;

use super::listen;
use crate::commands::tune::looked::look;
use crate::commands::tune::wanting;
use crate::outcome::{Exit, Failure};
use crate::output::{self, Format};

/// Slurm kills a check that takes 60 s.
const LIMIT: Duration = Duration::from_secs(45);
/// Noise is measured twice at most, and beside it Slurm is asked three times.
const LONGEST: Nanos = Nanos(5_000_000_000);
/// The time that noise is measured.
const DURATION: Nanos = Nanos(1_000_000_000);
/// The beginning of a reason that was measured.
const NOISE: &str = "noise: ";
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
    let line = within(LIMIT, move || checked(&system, duration));
    output::print(Format::Text, &(), || printable(&line))?;
    Ok(Exit::Done)
}

/// The line that a check ends with, or that it has not ended within this time.
fn within(limit: Duration, check: impl FnOnce() -> String + Send + 'static) -> String {
    let (tell, told) = mpsc::channel();
    thread::spawn(move || {
        // Nobody listens any more when the time is over.
        let _ = tell.send(check());
    });
    let line = told.recv_timeout(limit);
    line.unwrap_or_else(|_| format!("no verdict within {} s", limit.as_secs()))
}

/// Looks at the node and does what follows; gives the line that says so.
fn checked(system: &System, duration: Nanos) -> String {
    let looked = match look(system) {
        Ok(looked) => looked,
        Err(failure) => return format!("no verdict: {failure}"),
    };
    let node = SlurmNode::here();
    let standing = node.standing();
    let fit = match &looked.survey {
        Ok(survey) if looked.tuned => match (unfit(survey), &standing) {
            (Some(reason), _) => Fit::Unfit(in_short(&reason)),
            (None, Ok(standing)) => match has_noise(system) {
                Some(true) => quiet(standing, || heard(system, survey, duration)),
                Some(false) => Fit::Fit,
                None => Fit::Unknown(NOISE),
            },
            (None, Err(_)) => Fit::Unknown(NOISE),
        },
        // Only what was applied can fail to hold.
        _ => Fit::Fit,
    };
    // The state may be another one by now.
    let standing = standing.and_then(|_| node.standing());
    let fit = match &standing {
        Ok(standing) => undisturbed(fit, standing),
        Err(_) => fit,
    };
    let verdict = match (&fit, looked.tuned) {
        (Fit::Unfit(reason), _) => format!("not fit: {reason}"),
        (Fit::Unknown(_), _) => "fit, as far as is known: noise was not measured".into(),
        (Fit::Fit, true) => "fit".into(),
        (Fit::Fit, false) => "fit: nothing was applied that could have changed".into(),
    };
    match standing.and_then(|standing| act(&node, &standing, &fit)) {
        Ok(done) => verdict + &done,
        Err(error) => format!("{verdict}; nothing is done about it: {error}"),
    }
}

/// Why the settings that were applied do not fit.
fn unfit(survey: &Survey) -> Option<String> {
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

/// Whether noise on these CPUs says something of the node: not on a copy of a tree, nor where they are emulated. `None` if that cannot be
/// read.
fn has_noise(system: &System) -> Option<bool> {
    if !system.is_live() {
        return Some(false);
    }
    let topology = Topology::read(system.root()).ok()?;
    Some(!topology.is_emulated())
}

/// The noise that is heard of the CPUs in so much time.
fn heard(system: &System, survey: &Survey, duration: Nanos) -> Fit {
    match listen(system, survey, duration) {
        Ok(noise) => match noise.findings.first() {
            Some(first) => Fit::Unfit(in_short(&format!("{NOISE}{}", first.message))),
            None => Fit::Fit,
        },
        Err(_) => Fit::Unknown(NOISE),
    }
}

/// Whether the CPUs of a node are quiet. They are not if they are too noisy twice. Only an idle node is listened to: a job would be
/// disturbed, and be what
/// is measured.
fn quiet(standing: &Standing, mut listen: impl FnMut() -> Fit) -> Fit {
    if !standing.is_idle() {
        return Fit::Unknown(NOISE);
    }
    match listen() {
        Fit::Unfit(_) => listen(),
        found => found,
    }
}

/// The findings that are left on a node that stands like this now: a job that has begun meanwhile may be the noise.
fn undisturbed(found: Fit, now: &Standing) -> Fit {
    match found {
        Fit::Unfit(reason) if reason.starts_with(NOISE) && !now.is_idle() => Fit::Unknown(NOISE),
        found => found,
    }
}

/// Does what is to be done about the node; gives what was done.
fn act(node: &SlurmNode, standing: &Standing, fit: &Fit) -> Result<String, String> {
    Ok(match standing.act(fit) {
        Act::Drain(reason) => {
            node.drain(&reason)?;
            "; drained".into()
        }
        Act::Resume => {
            node.resume()?;
            "; resumed".into()
        }
        Act::Leave(state) => format!("; left as it is: {state}"),
        Act::Nothing => String::new(),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_that_hangs_ends_without_a_verdict() {
        let (keep, kept) = mpsc::channel::<()>();
        let hangs = move || {
            let _ = kept.recv();
            "fit".into()
        };
        assert_eq!(
            within(Duration::from_millis(1), hangs),
            "no verdict within 0 s"
        );
        drop(keep);
        assert_eq!(within(LIMIT, || "fit".into()), "fit");
    }

    fn standing(states: &str) -> Standing {
        Standing::read(&format!("   State={states} \n")).unwrap()
    }

    fn noise() -> Fit {
        Fit::Unfit("noise: CPU 3 loses 2 % of its time".into())
    }

    #[test]
    fn a_node_is_drained_if_it_is_too_noisy_twice_and_not_listened_to_while_a_job_runs() {
        let ours = |states: &str| {
            let reason = "Reason=jitterlab: noise: CPU 3 [root@2026-11-26T08:00:00]";
            Standing::read(&format!("   State={states} \n   {reason}\n")).unwrap()
        };
        let drained = || Act::Drain("noise: CPU 3 loses 2 % of its time".into());
        // Each row: how a node stands, what is heard, what is then done, and how often it is listened to.
        for (standing, hears, act, times) in [
            (standing("IDLE"), vec![noise(), noise()], drained(), 2),
            (standing("IDLE"), vec![noise(), Fit::Fit], Act::Nothing, 2),
            (standing("IDLE"), vec![Fit::Fit], Act::Nothing, 1),
            (standing("IDLE"), vec![Fit::Unknown(NOISE)], Act::Nothing, 1),
            (standing("ALLOCATED"), vec![], Act::Nothing, 0),
            (ours("IDLE+DRAIN"), vec![Fit::Fit], Act::Resume, 1),
            (ours("IDLE+DRAIN"), vec![noise(), noise()], drained(), 2),
            (ours("MIXED+DRAIN"), vec![], Act::Nothing, 0),
            (
                ours("IDLE+DRAIN"),
                vec![Fit::Unknown(NOISE)],
                Act::Nothing,
                1,
            ),
        ] {
            let mut heard = 0;
            let found = quiet(&standing, || {
                heard += 1;
                hears[heard - 1].clone()
            });
            let found = undisturbed(found, &standing);
            assert_eq!((standing.act(&found), heard), (act, times), "{standing:?}");
        }
    }

    #[test]
    fn a_copy_of_a_tree_has_no_noise() {
        let tree = tempfile::tempdir().unwrap();
        assert_eq!(
            has_noise(&System::at(tree.path(), tree.path())),
            Some(false)
        );
    }

    #[test]
    fn noise_that_a_job_may_have_made_is_not_known() {
        let setting = || Fit::Unfit("swappiness (drifted)".into());
        for (found, states, left) in [
            (noise(), "IDLE", noise()),
            (noise(), "IDLE+DRAIN", noise()),
            (noise(), "ALLOCATED", Fit::Unknown(NOISE)),
            (noise(), "MIXED+DRAIN", Fit::Unknown(NOISE)),
            (noise(), "IDLE+COMPLETING", Fit::Unknown(NOISE)),
            (setting(), "ALLOCATED", setting()),
            (Fit::Fit, "ALLOCATED", Fit::Fit),
        ] {
            assert_eq!(undisturbed(found, &standing(states)), left, "{states}");
        }
    }
}
