//! The state of settings.

use std::cell::OnceCell;

use jitterlab_base::show;

use super::{
    Asked, Choice, Difference, Error, Finding, KERNEL_PARAMETERS, PARAMETER, State, Survey, choose,
    select,
};
use crate::boot::{Boot, NoLoader, Parameter};
use crate::journal::Journal;
use crate::plan::Plan;
use crate::profile::Profile;
use crate::settings::{self, Node, Obstacle, Reach, Want};
use crate::system::{Place, System, Value};
use crate::topology::Topology;

/// The changes that would be made, setting by setting. Changes nothing.
///
/// # Errors
/// [`Error`]; so with the others below.
pub fn plan(system: &System, asked: &Asked) -> Result<Survey, Error> {
    let journal = Journal::read(system)?;
    let topology = Topology::read(system.root())?;
    let plan = choose(&topology, asked, journal.applied.as_ref())?;
    let chosen = select(asked)?;
    let survey = survey(system, &journal, &topology, plan, &chosen, State::Change);
    // A setting that has nothing in the set is not in the survey.
    let is_found = |choice: &&Choice| {
        let mut findings = survey.settings.iter();
        findings.any(|finding| finding.name == choice.setting.name)
    };
    match chosen
        .iter()
        .find(|choice| choice.named && !is_found(choice))
    {
        Some(choice) => Err(choice.is_missing()),
        None => Ok(survey),
    }
}

/// The state now of what was applied. Changes nothing.
pub fn verify(system: &System) -> Result<Survey, Error> {
    let journal = Journal::read(system)?;
    let applied = journal.applied.clone().ok_or(Error::NothingApplied)?;
    let topology = Topology::read(system.root())?;
    let chosen: Vec<Choice> = settings::ALL
        .iter()
        .filter_map(|&setting| {
            let profile = *applied.settings.get(setting.name)?;
            Some(Choice {
                setting,
                profile,
                named: true,
            })
        })
        .collect();
    Ok(survey(
        system,
        &journal,
        &topology,
        applied.plan,
        &chosen,
        State::Drifted,
    ))
}

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
    let threads = OnceCell::new();
    let nodes: Vec<Node> = chosen
        .iter()
        .map(|choice| Node {
            system,
            topology,
            plan: &plan,
            profile: choice.profile,
            boot: &boot,
            threads: &threads,
        })
        .collect();
    let wants = nodes.iter().zip(chosen).map(|(node, choice)| {
        let wants = choice.is_changed().then(|| (choice.setting.wants)(node));
        wants.unwrap_or_else(|| Ok(Vec::new()))
    });
    let wants: Vec<_> = wants.collect();
    let changed = wants.iter().zip(chosen);
    let planned = changed.flat_map(|(wants, choice)| {
        let wants = wants.as_ref().map_or(&[][..], Vec::as_slice);
        choice.of_profile(wants.to_vec()).into_iter()
    });
    let planned = planned.filter_map(|want| match want {
        Want::Parameter { parameter, .. } => Some(parameter),
        _ => None,
    });
    let context = Context {
        journal,
        planned: planned.collect(),
        differing,
    };
    let looked = nodes.iter().zip(chosen).zip(wants);
    let findings = looked.filter_map(|((node, choice), wants)| look(node, choice, wants, &context));
    let settings = findings.collect();
    Survey { plan, settings }
}

/// The context of settings, beside their node.
struct Context<'a> {
    journal: &'a Journal,
    /// The kernel parameters that all of them want.
    planned: Vec<Parameter>,
    /// The state of a setting that is not as it is wanted.
    differing: State,
}

/// The finding on a setting that wants these; none where the chosen set has nothing of it.
fn look(
    node: &Node,
    choice: &Choice,
    wants: Result<Vec<Want>, Obstacle>,
    context: &Context,
) -> Option<Finding> {
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
    let all = match wants {
        Ok(wants) => wants,
        Err(obstacle) => {
            finding.state = unseen(node, context, finding.name);
            finding.notes.push(show::causes(&obstacle));
            return Some(finding);
        }
    };
    let has_any = !all.is_empty();
    let wants = choice.of_profile(all);
    if wants.is_empty() && has_any {
        return None;
    }
    let at_once = wants.iter().any(|want| matches!(want, Want::At(..)));
    for want in wants {
        let state = match want {
            Want::At(place, wanted) | Want::Keep(place, wanted) => {
                at(node, place, wanted, context, &mut finding)
            }
            Want::Parameter { parameter, shows } => {
                match of_parameter(node, &parameter, shows, context, &mut finding) {
                    // A value that can be set at run time is there, if not from the first moment on.
                    State::Unsupported if at_once => State::Held,
                    state => state,
                }
            }
        };
        finding.state = finding.state.max(state);
    }
    Some(finding)
}

/// The finding on a setting that cannot be looked at. If it was applied, it was there.
fn unseen(node: &Node, context: &Context, setting: &str) -> State {
    match context.differing {
        State::Drifted if context.journal.stands(setting, &node.system.this_boot()) => {
            State::Drifted
        }
        _ => State::Unsupported,
    }
}

fn at(node: &Node, place: Place, wanted: Value, context: &Context, finding: &mut Finding) -> State {
    let current = node.system.read(&place);
    let as_wanted = |current| node.system.same(&place, current, &wanted);
    if current.as_ref().is_ok_and(as_wanted) {
        return State::Held;
    }
    let this_boot = node.system.this_boot();
    let mut refusals = context.journal.refusals(finding.name, &this_boot);
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
            context.differing
        }
        Err(error) => {
            finding.notes.push(show::causes(&error));
            unseen(node, context, finding.name)
        }
    }
}

fn of_parameter(
    node: &Node,
    parameter: &Parameter,
    shows: Option<(Place, String)>,
    context: &Context,
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
        finding.notes.push(format!("the kernel was started with {parameter}, and {place} shows `{shown}`: the kernel ignores it"));
        return State::Unsupported;
    }
    if node.boot.runs_with(parameter) {
        finding.notes.push(format!(
            "the kernel was started with {parameter}, and will not be the next time"
        ));
    } else {
        let current = node.boot.instead_of(parameter);
        finding.differences.push(Difference {
            place: PARAMETER.into(),
            current: current.map(Parameter::to_string),
            wanted: Some(parameter.to_string()),
        });
    }
    if let Some(conflict) = node.boot.conflict(parameter, &context.planned) {
        finding.notes.push(conflict.to_string());
        return State::Conflict;
    }
    if node.boot.will_run_with(parameter) {
        if node.boot.is_awaited || !node.boot.is_ours(parameter) {
            return State::Reboot;
        }
        let note =
            "it was written before this boot, and the boot loader has not given it to the kernel";
        finding.notes.push(note.into());
        return context.differing;
    }
    let this_boot = node.system.this_boot();
    let mut refusals = context.journal.refusals(KERNEL_PARAMETERS, &this_boot);
    if let Some(refusal) = refusals.next() {
        finding.notes.push(refusal.reason.clone());
        return State::Unsupported;
    }
    match &node.boot.file {
        Ok(_) => context.differing,
        Err(no_loader) => {
            finding.notes.push(no_loader.to_string());
            match no_loader {
                // The next boot can have it, by another way; nobody has changed anything.
                NoLoader::Appliance => State::Change,
                NoLoader::NoDropIns | NoLoader::Unknown => State::Unsupported,
            }
        }
    }
}
