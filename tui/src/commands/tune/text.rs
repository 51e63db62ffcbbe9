//! The text of `jitterlab tune` for people.

use std::fmt::Write;

use jitterlab_node_tuning::journal::Change;
use jitterlab_node_tuning::plan::Plan;
use jitterlab_node_tuning::system::{Place, Value};
use jitterlab_node_tuning::tune::{Difference, Finding, Left, Outcome, Reverted, State, Survey};

/// Differences of one setting that are shown; JSON has all of them.
const SHOWN: usize = 3;

/// A value in one line; of a file, without its comments.
fn whole(value: &Value) -> String {
    let Some(text) = value else {
        return "nothing".into();
    };
    let lines = text.trim_end().lines();
    let says: Vec<&str> = lines.filter(|line| !line.starts_with('#')).collect();
    match says.join(" / ") {
        text if text.is_empty() => "none".into(),
        text => text,
    }
}

/// A value in a sentence: the beginning of a long one.
fn shown(value: &Value) -> String {
    const LONGEST: usize = 60;
    let text = whole(value);
    match text.char_indices().nth(LONGEST) {
        None => text,
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

fn line(place: &str, from: &Value, to: &Value) -> String {
    format!("{place}: {} -> {}", shown(from), shown(to))
}

/// A write of one value over another, and what is done after it.
fn write(change: &Change, from: &Value, to: &Value) -> String {
    let line = format!("{}: {} -> {}", change.place, whole(from), whole(to));
    let then = match &change.place {
        Place::BootFile { loader, .. } => format!(", then {}", loader.makes()),
        _ => String::new(),
    };
    format!("{}: {line}{then}", change.setting)
}

/// A write.
pub fn change(change: &Change) -> String {
    write(change, &change.old, &change.new)
}

/// A write back, over what is found there.
pub fn put_back(change: &Change, found: &Value) -> String {
    write(change, found, &change.old)
}

/// The division of the CPUs.
pub fn plan(plan: &Plan) -> String {
    let mut text = format!(
        "measuring CPUs {}, housekeeping {}",
        plan.measuring, plan.housekeeping
    );
    if !plan.idle.is_empty() {
        let _ = write!(text, ", left empty {}", plan.idle);
    }
    for reason in &plan.reasons {
        let _ = write!(text, "\n  {reason}");
    }
    text
}

/// The details of a setting beside its state: what is wanting, with its reason.
pub fn details(finding: &Finding) -> Vec<String> {
    let differences = finding.differences.iter().take(SHOWN);
    let mut lines: Vec<String> = differences
        .map(
            |Difference {
                 place,
                 current,
                 wanted,
             }| line(place, current, wanted),
        )
        .collect();
    if finding.differences.len() > SHOWN {
        lines.push(format!("and {} more", finding.differences.len() - SHOWN));
    }
    lines.extend(finding.notes.iter().take(2 * SHOWN).cloned());
    if finding.notes.len() > 2 * SHOWN {
        lines.push(format!("and {} more", finding.notes.len() - 2 * SHOWN));
    }
    if finding.state != State::Held {
        lines.push(finding.why.into());
    }
    lines
}

/// Settings one by one.
pub fn settings(findings: &[Finding]) -> String {
    let width = findings
        .iter()
        .map(|finding| finding.name.len())
        .max()
        .unwrap_or(0);
    let mut text = String::new();
    for finding in findings {
        let _ = write!(
            text,
            "{:<11} {:<width$}",
            finding.state.name(),
            finding.name
        );
        let lines = details(finding);
        let mut lines = lines.iter();
        if let Some(first) = lines.next() {
            let _ = write!(text, "  {first}");
        }
        for line in lines {
            let _ = write!(text, "\n{:<11} {:<width$}  {line}", "", "");
        }
        text = text.trim_end().into();
        text.push('\n');
    }
    text
}

/// A sentence that counts the states.
pub fn counts(findings: &[Finding]) -> String {
    let states = [
        State::Held,
        State::Change,
        State::Conflict,
        State::Drifted,
        State::Reboot,
        State::Unsupported,
        State::Reported,
    ];
    let counted = states.iter().filter_map(|&which| {
        let count = findings
            .iter()
            .filter(|finding| finding.state == which)
            .count();
        (count > 0).then(|| format!("{count} {}", which.name()))
    });
    format!("settings: {}", counted.collect::<Vec<_>>().join(", "))
}

/// A node as its settings see it.
pub fn survey(survey: &Survey) -> String {
    let findings = &survey.settings;
    let mut text = format!(
        "{}\n\n{}\n{}\n",
        plan(&survey.plan),
        settings(findings),
        counts(findings)
    );
    text.push_str(reboot(findings));
    text
}

fn reboot(findings: &[Finding]) -> &'static str {
    match findings
        .iter()
        .any(|finding| finding.state == State::Reboot)
    {
        true => {
            "A reboot brings those in force that say so; `jitterlab tune apply` after it, the others again.\n"
        }
        false => "",
    }
}

/// The words for what `apply` did.
pub fn applied(outcome: &Outcome) -> String {
    let values = if outcome.writes == 1 {
        "value"
    } else {
        "values"
    };
    format!(
        "{}\n{} {values} changed; `jitterlab tune revert` puts them back\n",
        survey(&outcome.survey),
        outcome.writes
    )
}

/// The changes that `apply` would write.
pub fn writes(changes: &[Change]) -> String {
    let mut text = String::new();
    for one in changes {
        let again = if one.kept { ", where it is lost" } else { "" };
        let _ = writeln!(text, "{}{again}", change(one));
    }
    let _ = writeln!(text, "{} changes listed, nothing changed", changes.len());
    text
}

/// The words for what `revert` did.
pub fn reverted(reverted: &Reverted) -> String {
    let mut text = format!("values put back: {}", reverted.restored);
    if reverted.gone > 0 {
        let _ = write!(
            text,
            ", {} gone with the boot or thread that they were of",
            reverted.gone
        );
    }
    text.push('\n');
    let mut tell = |left: &[Left], what: &str| {
        for Left {
            setting,
            place,
            old,
            found,
            reason,
        } in left
        {
            let reason = reason
                .as_ref()
                .map_or_else(String::new, |reason| format!(": {reason}"));
            let _ = writeln!(
                text,
                "{what}: {setting}: {place} says {}, before it was {}{reason}",
                shown(found),
                shown(old)
            );
        }
    };
    tell(&reverted.left, "left alone, changed by somebody else since");
    tell(&reverted.failed, "not put back");
    if !reverted.left.is_empty() {
        text.push_str("`jitterlab tune revert --force` puts back what was left alone\n");
    }
    if reverted.reboot {
        text.push_str("The kernel parameters go with the next boot.\n");
    }
    text
}
