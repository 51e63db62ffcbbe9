//! How settings stand.

use super::{Choice, Difference, Finding, KERNEL_PARAMETERS, PARAMETER, State, Survey, chain};
use crate::boot::{Boot, NoLoader, Parameter};
use crate::journal::Journal;
use crate::plan::Plan;
use crate::profile::Profile;
use crate::settings::{Node, Reach, Want};
use crate::system::{Place, System, Value};
use crate::topology::Topology;

/// Looks at the settings; `differing` is what a setting is that is not as it is wanted.
pub(super) fn survey(
    system: &System,
    journal: &Journal,
    topology: &Topology,
    plan: Plan,
    chosen: &[Choice],
    differing: State,
) -> Survey {
    let boot = Boot::read(system, journal);
    let findings = chosen.iter().filter_map(|choice| {
        let node = Node {
            system,
            topology,
            plan: &plan,
            profile: choice.profile,
            boot: &boot,
        };
        look(&node, choice, journal, differing)
    });
    let settings = findings.collect();
    Survey { plan, settings }
}

/// How a setting stands; nothing where the chosen set has nothing of it.
fn look(node: &Node, choice: &Choice, journal: &Journal, differing: State) -> Option<Finding> {
    let mut finding = Finding {
        name: choice.setting.name,
        state: State::Held,
        why: choice.setting.why,
        differences: Vec::new(),
        notes: Vec::new(),
    };
    if let (Reach::Asked { report, .. }, false) = (choice.setting.reach, choice.is_changed()) {
        finding.state = State::Reported;
        finding.notes = report(node);
        return (choice.profile != Profile::Reversible).then_some(finding);
    }
    let all = match (choice.setting.wants)(node) {
        Ok(wants) => wants,
        Err(obstacle) => {
            finding.state = unseen(node, journal, differing, finding.name);
            finding.notes.push(chain(&obstacle));
            return Some(finding);
        }
    };
    let wants = choice.wants(node).unwrap_or_default();
    if wants.is_empty() && !all.is_empty() {
        return None;
    }
    let at_once = wants.iter().any(|want| matches!(want, Want::At(..)));
    for want in wants {
        let state = match want {
            Want::At(place, wanted) | Want::Keep(place, wanted) => {
                at(node, place, wanted, journal, differing, &mut finding)
            }
            Want::Parameter { parameter, shows } => {
                match of_parameter(node, journal, &parameter, shows, differing, &mut finding) {
                    // What can be set at run time is there, if not from the first moment on.
                    State::Unsupported if at_once => State::Held,
                    state => state,
                }
            }
        };
        finding.state = finding.state.max(state);
    }
    Some(finding)
}

/// What a setting is that cannot be looked at. If it was applied it was there.
fn unseen(node: &Node, journal: &Journal, differing: State, setting: &str) -> State {
    match differing {
        State::Drifted if journal.stands(setting, &node.system.this_boot()) => State::Drifted,
        _ => State::Unsupported,
    }
}

fn at(
    node: &Node,
    place: Place,
    wanted: Value,
    journal: &Journal,
    differing: State,
    finding: &mut Finding,
) -> State {
    let current = node.system.read(&place);
    let as_wanted = |current| node.system.same(&place, current, &wanted);
    if current.as_ref().is_ok_and(as_wanted) {
        return State::Held;
    }
    let this_boot = node.system.this_boot();
    let mut refusals = journal.refusals(finding.name, &this_boot);
    if let Some(refusal) = refusals.find(|refusal| refusal.place == place) {
        finding.notes.push(refusal.reason.clone());
        return State::Unsupported;
    }
    match current {
        Ok(current) => {
            finding.differences.push(Difference {
                place: place.to_string(),
                current,
                wanted,
            });
            differing
        }
        Err(error) => {
            finding.notes.push(chain(&error));
            unseen(node, journal, differing, finding.name)
        }
    }
}

fn of_parameter(
    node: &Node,
    journal: &Journal,
    parameter: &Parameter,
    shows: Option<(Place, String)>,
    differing: State,
    finding: &mut Finding,
) -> State {
    if node.boot.runs_with(parameter) && node.boot.is_settled(parameter) {
        let Some((place, expected)) = shows else {
            return State::Held;
        };
        let shown = node.system.read(&place).unwrap_or(None);
        if shown.as_ref() == Some(&expected) {
            return State::Held;
        }
        let shown = shown.unwrap_or_else(|| "nothing".into());
        finding.notes.push(format!("the kernel was started with {parameter}, and {place} shows `{shown}`: it does not heed it"));
        return State::Unsupported;
    }
    if node.boot.runs_with(parameter) {
        finding.notes.push(format!(
            "the kernel was started with {parameter}, and will not be the next time"
        ));
    } else {
        let current = node.boot.running.last(&parameter.key);
        finding.differences.push(Difference {
            place: PARAMETER.into(),
            current: current.map(Parameter::to_string),
            wanted: Some(parameter.to_string()),
        });
    }
    if node.boot.will_run_with(parameter) && node.boot.is_awaited {
        return State::Reboot;
    }
    if node.boot.will_run_with(parameter) {
        let note =
            "it was written before this boot, and the boot loader has not given it to the kernel";
        finding.notes.push(note.into());
        return differing;
    }
    let this_boot = node.system.this_boot();
    if let Some(refusal) = journal.refusals(KERNEL_PARAMETERS, &this_boot).next() {
        finding.notes.push(refusal.reason.clone());
        return State::Unsupported;
    }
    match &node.boot.file {
        Ok(_) => differing,
        Err(no_loader) => {
            finding.notes.push(no_loader.to_string());
            match no_loader {
                // It can be had there, by another way.
                NoLoader::Appliance => differing,
                NoLoader::NoDropIns | NoLoader::Unknown => State::Unsupported,
            }
        }
    }
}
