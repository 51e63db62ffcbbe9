//! Plan, apply, verify and revert: the same for every setting.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::boot::{Boot, Parameter};
use crate::journal::{self, Applied, Change, Journal, Writer};
use crate::plan::{Plan, Refusal, Request};
use crate::privilege::Raised;
use crate::profile::Profile;
use crate::settings::{self, Node, Obstacle, Reach, Setting, Want};
use crate::system::{Place, System, Value};
use crate::topology::{self, Topology};

/// What can go wrong with tuning as a whole. What goes wrong with a setting is a [`Finding`].
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The node cannot be looked at.
    #[error(transparent)]
    Topology(#[from] topology::Error),
    /// The node has no such division of its CPUs.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The journal.
    #[error(transparent)]
    Journal(#[from] journal::Error),
    /// There is no such setting.
    #[error("there is no setting {name}{}; there are {}", suggestion(.name), names())]
    UnknownSetting {
        /// The name given.
        name: String,
    },
    /// There is nothing to be verified.
    #[error("nothing has been applied on this node; `jitterlab tune plan` says what would be")]
    NothingApplied,
}

/// What is asked of a node.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    /// The set of settings.
    pub profile: Profile,
    /// The settings, where not all of the set are asked for.
    pub only: Vec<String>,
    /// The division of the CPUs. Where nothing is said, that of the last `apply`, if there was one.
    pub request: Request,
}

/// How a setting stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// As it is wanted.
    Held,
    /// It is changed only when it is named.
    Reported,
    /// This kernel, hardware or container does not offer it.
    Unsupported,
    /// As it is wanted after the next boot.
    Reboot,
    /// Not as it is wanted.
    Change,
    /// It was as it is wanted, or was to be, and is not.
    Drifted,
}

/// What there is to say of a setting.
#[derive(Debug, Clone, Serialize)]
pub struct Finding {
    /// The setting.
    pub name: &'static str,
    /// How it stands.
    pub state: State,
    /// Why it matters.
    pub why: &'static str,
    /// Where it is not as it is wanted.
    pub differences: Vec<Difference>,
    /// What else there is to say: why it cannot be had, what was refused.
    pub notes: Vec<String>,
}

/// A place whose value is not the one that is wanted.
#[derive(Debug, Clone, Serialize)]
pub struct Difference {
    /// The place, or `kernel parameter`.
    pub place: String,
    /// What stands there.
    pub current: Value,
    /// What is wanted.
    pub wanted: Value,
}

/// A node as its settings see it.
#[derive(Debug, Clone, Serialize)]
pub struct Survey {
    /// The division of the CPUs.
    pub plan: Plan,
    /// The settings, in the order in which they are applied.
    pub settings: Vec<Finding>,
}

/// What an `apply` did.
#[derive(Debug, Clone, Serialize)]
pub struct Outcome {
    /// The node afterwards.
    #[serde(flatten)]
    pub survey: Survey,
    /// How many values were changed, or would be.
    pub writes: usize,
    /// Whether a write was refused.
    pub refused: bool,
}

/// What a `revert` did.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Reverted {
    /// Values that were put back.
    pub restored: usize,
    /// Values that are gone without it: the boot, or the thread, that they were of is over.
    pub gone: usize,
    /// Values that somebody else has changed since, and that were left alone.
    pub left: Vec<Left>,
    /// Values that could not be put back.
    pub failed: Vec<Left>,
    /// Whether the running kernel was started with parameters that are taken back.
    pub reboot: bool,
}

/// A value that was not put back.
#[derive(Debug, Clone, Serialize)]
pub struct Left {
    /// The setting that it was changed for.
    pub setting: String,
    /// Where.
    pub place: String,
    /// What stood there before.
    pub old: Value,
    /// What stands there now.
    pub found: Value,
    /// What it was, if not just somebody else's change.
    pub reason: Option<String>,
}

/// Whether writes are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// They are.
    Write,
    /// They are only shown.
    Dry,
}

/// What would be changed, setting by setting. Changes nothing.
///
/// # Errors
/// [`Error`]; so with the others below.
pub fn plan(system: &System, asked: &Asked) -> Result<Survey, Error> {
    let journal = Journal::read(system)?;
    let topology = Topology::read(system.root())?;
    let plan = choose(&topology, asked, journal.applied.as_ref())?;
    let chosen = select(asked)?;
    Ok(survey(system, &topology, plan, &chosen, State::Change))
}

/// How what was applied stands now. Changes nothing.
pub fn verify(system: &System) -> Result<Survey, Error> {
    let applied = Journal::read(system)?
        .applied
        .ok_or(Error::NothingApplied)?;
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
        &topology,
        applied.plan,
        &chosen,
        State::Drifted,
    ))
}

/// Changes what is not as it is wanted. `observe` is told of each change before it is made.
pub fn apply(
    system: &System,
    asked: &Asked,
    mode: Mode,
    observe: &mut dyn FnMut(&Change),
) -> Result<Outcome, Error> {
    let chosen = select(asked)?;
    let topology = Topology::read(system.root())?;
    let before = Journal::read(system)?.applied;
    let plan = choose(&topology, asked, before.as_ref())?;
    let mut writer = match mode {
        Mode::Write => Some(Writer::open(system)?),
        Mode::Dry => None,
    };
    if let Some(writer) = &mut writer {
        let mut settings = before.map(|before| before.settings).unwrap_or_default();
        let named = chosen.iter().filter(|choice| choice.is_changed());
        settings.extend(named.map(|choice| (choice.setting.name.to_string(), choice.profile)));
        let version = env!("CARGO_PKG_VERSION").into();
        writer.applied(Applied {
            version,
            plan: plan.clone(),
            settings,
        })?;
    }
    let boot = Boot::read(system);
    let mut work = Work {
        system,
        writer,
        observe,
        this_boot: this_boot(system),
        writes: 0,
        refused: BTreeMap::new(),
    };
    let mut parameters = Vec::new();
    for choice in chosen.iter().filter(|choice| choice.is_changed()) {
        let node = Node {
            system,
            topology: &topology,
            plan: &plan,
            profile: choice.profile,
            boot: &boot,
        };
        let Ok(wants) = choice.wants(&node) else {
            continue;
        };
        let mut batch = Vec::new();
        for want in wants {
            match want {
                Want::At(place, value) => {
                    // What is in a directory can be looked at when the directory is there.
                    let opens = matches!(place, Place::Directory { .. });
                    batch.push((place, value));
                    if opens {
                        work.change(choice.setting.name, std::mem::take(&mut batch))?;
                    }
                }
                Want::Parameter { parameter, .. } => parameters.push(parameter),
            }
        }
        work.change(choice.setting.name, batch)?;
    }
    parameters.retain(|parameter| !boot.runs_with(parameter) && !boot.will_run_with(parameter));
    if let (Ok(file), false) = (&boot.file, parameters.is_empty()) {
        work.change(
            KERNEL_PARAMETERS,
            vec![(file.place(), file.with(&parameters))],
        )?;
    }
    let mut survey = survey(system, &topology, plan, &chosen, State::Change);
    for finding in &mut survey.settings {
        finding
            .notes
            .extend(work.refused.remove(finding.name).into_iter().flatten());
    }
    let of_boot = work.refused.remove(KERNEL_PARAMETERS).unwrap_or_default();
    let wanting = survey
        .settings
        .iter_mut()
        .filter(|finding| finding.state == State::Change);
    let of_boot_only = wanting.filter(|finding| {
        finding
            .differences
            .iter()
            .any(|other| other.place == PARAMETER)
    });
    of_boot_only.for_each(|finding| finding.notes.extend(of_boot.iter().cloned()));
    let refused = mode == Mode::Write
        && survey
            .settings
            .iter()
            .any(|finding| finding.state == State::Change);
    Ok(Outcome {
        survey,
        writes: work.writes,
        refused,
    })
}

/// Puts back what was changed, the last first. A value that somebody else has changed since is left
/// unless `force`. `observe` is told of each value before it is put back.
pub fn revert(
    system: &System,
    force: bool,
    observe: &mut dyn FnMut(&Change),
) -> Result<Reverted, Error> {
    let writer = Writer::open(system)?;
    let this_boot = this_boot(system);
    let mut changes: Vec<Change> = writer.journal.changes.iter().rev().cloned().collect();
    // A CPU that is offline can be in nobody's mask: those that were taken away come back first.
    changes.sort_by_key(|change| change.setting != settings::SMT_CONTROL.name);
    let mut reverted = Reverted::default();
    let mut kept = Vec::new();
    for change in changes {
        system.sweep(&change.place);
        let left = |found: Value, reason: Option<String>| Left {
            setting: change.setting.clone(),
            place: change.place.to_string(),
            old: change.old.clone(),
            found,
            reason,
        };
        if change.boot != this_boot && !change.place.survives_reboot() {
            reverted.gone += 1;
            continue;
        }
        let found = match system.read(&change.place) {
            Ok(found) => found,
            Err(error) => {
                reverted.failed.push(left(None, Some(chain(&error))));
                kept.push(change);
                continue;
            }
        };
        let is_over = found.is_none() && matches!(change.place, Place::Affinity { .. });
        if is_over {
            reverted.gone += 1;
        } else if found != change.old && found != change.new && !force {
            reverted.left.push(left(found, None));
            kept.push(change);
        } else if found != change.old {
            observe(&change);
            match put(system, &change.place, &change.old) {
                Ok(()) => {
                    reverted.restored += 1;
                    reverted.reboot |= matches!(change.place, Place::BootFile { .. });
                }
                Err(reason) => {
                    reverted.failed.push(left(
                        system.read(&change.place).unwrap_or(None),
                        Some(reason),
                    ));
                    kept.push(change);
                }
            }
        }
    }
    // Oldest first again.
    kept.reverse();
    writer.finish(kept)?;
    Ok(reverted)
}

/// The name under which kernel parameters are kept in the journal: they share one file.
const KERNEL_PARAMETERS: &str = "kernel-parameters";
const PARAMETER: &str = "kernel parameter";

/// A setting, and the set that it was chosen from.
struct Choice {
    setting: &'static Setting,
    profile: Profile,
    /// Whether it was named by somebody.
    named: bool,
}

impl Choice {
    /// Whether it is to be changed, and not only reported.
    fn is_changed(&self) -> bool {
        self.named || !matches!(self.setting.reach, Reach::Asked { .. })
    }

    /// What the setting wants, as far as the set goes.
    fn wants(&self, node: &Node) -> Result<Vec<Want>, Obstacle> {
        let mut wants = (self.setting.wants)(node)?;
        if self.profile == Profile::Reversible {
            wants.retain(|want| matches!(want, Want::At(place, _) if !place.survives_reboot()));
        }
        Ok(wants)
    }
}

/// The settings that are asked for.
fn select(asked: &Asked) -> Result<Vec<Choice>, Error> {
    let known = |name: &String| settings::ALL.iter().any(|setting| setting.name == name);
    if let Some(name) = asked.only.iter().find(|name| !known(name)) {
        return Err(Error::UnknownSetting { name: name.clone() });
    }
    let choices = settings::ALL.iter().filter_map(|&setting| {
        let named = asked.only.iter().any(|name| name == setting.name);
        let chosen = if asked.only.is_empty() {
            setting.is_in(asked.profile)
        } else {
            named
        };
        chosen.then_some(Choice {
            setting,
            profile: asked.profile,
            named,
        })
    });
    Ok(choices.collect())
}

fn choose(topology: &Topology, asked: &Asked, before: Option<&Applied>) -> Result<Plan, Error> {
    match before {
        Some(before) if asked.request == Request::default() => Ok(before.plan.clone()),
        _ => Ok(Plan::make(topology, &asked.request)?),
    }
}

fn this_boot(system: &System) -> String {
    system
        .text("/proc/sys/kernel/random/boot_id")
        .unwrap_or_default()
}

/// Looks at the settings; `differing` is what a setting is that is not as it is wanted.
fn survey(
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
    if node.boot.runs_with(parameter) {
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

/// Changes being made, or shown.
struct Work<'a> {
    system: &'a System,
    writer: Option<Writer<'a>>,
    observe: &'a mut dyn FnMut(&Change),
    this_boot: String,
    writes: usize,
    /// What was refused, by setting.
    refused: BTreeMap<&'static str, Vec<String>>,
}

impl Work<'_> {
    /// Puts values at places, where others stand: first into the journal, then there.
    fn change(&mut self, setting: &'static str, batch: Vec<(Place, Value)>) -> Result<(), Error> {
        let mut changes = Vec::new();
        for (place, new) in batch {
            match self.system.read(&place) {
                Ok(old) if old == new => {}
                // It has ended since.
                Ok(None) if matches!(place, Place::Affinity { .. }) => {}
                Ok(old) => changes.push(Change {
                    setting: setting.into(),
                    place,
                    old,
                    new,
                    boot: self.this_boot.clone(),
                }),
                Err(error) => self.refuse(setting, chain(&error)),
            }
        }
        self.writes += changes.len();
        if let Some(writer) = &mut self.writer {
            writer.keep(&changes)?;
        }
        for change in &changes {
            (self.observe)(change);
            if self.writer.is_none() {
                continue;
            }
            if let Err(reason) = put(self.system, &change.place, &change.new) {
                // A value half taken is worse than the old one.
                if self
                    .system
                    .read(&change.place)
                    .is_ok_and(|found| found != change.old)
                {
                    let _ = put(self.system, &change.place, &change.old);
                }
                self.refuse(setting, reason);
            }
        }
        Ok(())
    }

    fn refuse(&mut self, setting: &'static str, reason: String) {
        self.refused.entry(setting).or_default().push(reason);
    }
}

/// Writes a value and sees whether it stands.
fn put(system: &System, place: &Place, value: &Value) -> Result<(), String> {
    let raised = system.is_live().then(|| Raised::for_place(place));
    if let Err(error) = system.write(place, value) {
        let missing = raised
            .iter()
            .flat_map(Raised::missing)
            .map(|capability| capability.to_string());
        let missing = missing.collect::<Vec<_>>().join(", ");
        let hint = if missing.is_empty() {
            String::new()
        } else {
            format!(" (missing: {missing})")
        };
        return Err(chain(&error) + &hint);
    }
    match system.read(place) {
        Ok(found) if found == *value => Ok(()),
        // A thread that has ended.
        Ok(None) if matches!(place, Place::Affinity { .. }) => Ok(()),
        Ok(found) => Err(format!(
            "{place} took the value, and says `{}`",
            found.unwrap_or_else(|| "nothing".into())
        )),
        Err(error) => Err(chain(&error)),
    }
}

/// An error and its causes in one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}

fn names() -> String {
    settings::ALL
        .iter()
        .map(|setting| setting.name)
        .collect::<Vec<_>>()
        .join(", ")
}

fn suggestion(name: &str) -> String {
    let close = settings::ALL
        .iter()
        .map(|setting| (strsim::jaro_winkler(name, setting.name), setting.name))
        .max_by(|a, b| a.0.total_cmp(&b.0));
    match close {
        Some((likeness, close)) if likeness > 0.8 => format!(" (do you mean {close}?)"),
        _ => String::new(),
    }
}
