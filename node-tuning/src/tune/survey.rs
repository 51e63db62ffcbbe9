//! How settings stand.

use super::{Choice, Difference, Finding, PARAMETER, State, Survey, chain};
use crate::boot::{Boot, Parameter};
use crate::plan::Plan;
use crate::profile::Profile;
use crate::settings::{Node, Reach, Want};
use crate::system::{Place, System, Value};
use crate::topology::Topology;

/// Looks at the settings; `differing` is what a setting is that is not as it is wanted.
pub(super) fn survey(
    system: &System,
    topology: &Topology,
    plan: Plan,
    chosen: &[Choice],
    differing: State,
) -> Survey {
    let boot = Boot::read(system);
    let findings = chosen.iter().filter_map(|choice| {
        let node = Node {
            system,
            topology,
            plan: &plan,
            profile: choice.profile,
            boot: &boot,
        };
        look(&node, choice, differing)
    });
    let settings = findings.collect();
    Survey { plan, settings }
}

/// How a setting stands; nothing where the chosen set has nothing of it.
fn look(node: &Node, choice: &Choice, differing: State) -> Option<Finding> {
    let mut finding = Finding {
        name: choice.setting.name,
        state: State::Held,
        why: choice.setting.why,
        differences: Vec::new(),
        notes: Vec::new(),
    };
    if let (Reach::Asked { report }, false) = (choice.setting.reach, choice.named) {
        finding.state = State::Reported;
        finding.notes = report(node);
        return (choice.profile != Profile::Reversible).then_some(finding);
    }
    let all = match (choice.setting.wants)(node) {
        Ok(wants) => wants,
        Err(obstacle) => {
            finding.state = State::Unsupported;
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
            Want::At(place, wanted) => at(node, place, wanted, differing, &mut finding),
            Want::Parameter { parameter, shows } => {
                match of_parameter(node, &parameter, shows, differing, &mut finding) {
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

fn at(node: &Node, place: Place, wanted: Value, differing: State, finding: &mut Finding) -> State {
    match node.system.read(&place) {
        Ok(current) if current == wanted => State::Held,
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
            State::Unsupported
        }
    }
}

fn of_parameter(
    node: &Node,
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
    let current = node
        .boot
        .running
        .last(&parameter.key)
        .map(Parameter::to_string);
    finding.differences.push(Difference {
        place: PARAMETER.into(),
        current,
        wanted: Some(parameter.to_string()),
    });
    if node.boot.will_run_with(parameter) {
        return State::Reboot;
    }
    match &node.boot.file {
        Ok(_) => differing,
        Err(no_loader) => {
            finding.notes.push(no_loader.to_string());
            State::Unsupported
        }
    }
}
