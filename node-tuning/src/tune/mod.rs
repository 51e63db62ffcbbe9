//! Plan, apply, verify and revert: the same for every setting.

mod apply;
mod revert;
mod survey;

use std::thread::sleep;
use std::time::Duration;

use jitterlab_base::{named, show};
use serde::Serialize;

use crate::cpus::CpuSet;
use crate::journal::{self, Applied};
use crate::plan::{Plan, Refusal, Request};
use crate::privilege::Raised;
use crate::profile::Profile;
use crate::settings::{self, Reach, Setting, Want};
use crate::system::{self, Place, System, Value};
use crate::topology::{self, Topology};

pub use apply::apply;
pub use revert::revert;
pub use survey::{plan, verify};

/// The errors of tuning as a whole. An error of a setting is a [`Finding`].
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
    #[error("there is no setting `{name}`{}; there are {}", suggestion(.name), names())]
    UnknownSetting {
        /// The name given.
        name: String,
    },
    /// A setting was named that is not in the set.
    #[error("the profile {profile} does not contain the setting {name}")]
    NotInProfile {
        /// The setting.
        name: &'static str,
        /// The set.
        profile: Profile,
    },
    /// Something else is in force.
    #[error(
        "the profile {profile} is in force on this node, for measuring CPUs {measuring}: run `jitterlab tune revert` first, or apply with the same --profile, --ranks and --device"
    )]
    InForce {
        /// The set that is.
        profile: Profile,
        /// The CPUs that measure.
        measuring: CpuSet,
    },
    /// There is nothing to be verified.
    #[error(
        "nothing was applied on this node. `jitterlab tune plan` shows what `apply` would change"
    )]
    NothingApplied,
}

/// The request to a node.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    /// The set of settings.
    pub profile: Profile,
    /// The settings, where not all of the set are asked for.
    pub only: Vec<String>,
    /// The division of the CPUs. If nothing is said, the last `apply`'s holds, if there was one.
    pub request: Request,
}

/// The state of a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// It is as it is wanted.
    Held,
    /// It is changed only when it is named.
    Reported,
    /// This kernel, hardware or container does not offer it.
    Unsupported,
    /// It is as it is wanted after the next boot.
    Reboot,
    /// It is not as it is wanted.
    Change,
    /// It is not as it is wanted, and a change would not help: somebody else has given the kernel another parameter,
    /// which it would heed instead.
    Conflict,
    /// It was as it is wanted, or was to be, and is not.
    Drifted,
}

named!(
    State, serde,
    Held => "held",
    Reported => "reported",
    Unsupported => "unsupported",
    Reboot => "reboot",
    Change => "change",
    Conflict => "conflict",
    Drifted => "drifted",
);

/// The finding on a setting.
#[derive(Debug, Clone, Serialize)]
pub struct Finding {
    /// The setting.
    pub name: &'static str,
    /// Its state.
    pub state: State,
    /// The reason why it matters.
    pub why: &'static str,
    /// The places where it is not as it is wanted.
    pub differences: Vec<Difference>,
    /// The rest that there is to say: why it cannot be had, what was refused.
    pub notes: Vec<String>,
}

/// A place whose value is not the one that is wanted.
#[derive(Debug, Clone, Serialize)]
pub struct Difference {
    /// The place, or `kernel parameter`.
    pub place: String,
    /// The value that stands there.
    pub current: Value,
    /// The value that is wanted.
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

/// The result of an `apply`.
#[derive(Debug, Clone, Serialize)]
pub struct Outcome {
    /// The node afterwards.
    #[serde(flatten)]
    pub survey: Survey,
    /// The number of values that were changed, or would be.
    pub writes: usize,
    /// True if something is still not as it is wanted that the node does not refuse: somebody else has
    /// changed it meanwhile.
    pub wanting: bool,
}

/// The result of a `revert`.
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
    /// True if the running kernel was started with parameters that are taken back.
    pub reboot: bool,
}

/// A value that was not put back.
#[derive(Debug, Clone, Serialize)]
pub struct Left {
    /// The setting that it was changed for.
    pub setting: String,
    /// The place.
    pub place: String,
    /// The value that stood there before.
    pub old: Value,
    /// The value that stands there now.
    pub found: Value,
    /// The reason, if it was not just somebody else's change.
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

/// The name under which kernel parameters are kept in the journal: they share one file.
const KERNEL_PARAMETERS: &str = "kernel-parameters";
const PARAMETER: &str = "kernel parameter";

/// A setting, and the set that it was chosen from.
struct Choice {
    setting: &'static Setting,
    profile: Profile,
    /// True if it was named by somebody.
    named: bool,
}

impl Choice {
    /// Says that the set has nothing of it.
    fn is_missing(&self) -> Error {
        Error::NotInProfile {
            name: self.setting.name,
            profile: self.profile,
        }
    }

    /// True if it is to be changed, and not only reported.
    fn is_changed(&self) -> bool {
        match self.setting.reach {
            Reach::Measure | Reach::Paper => true,
            Reach::Asked { paper, .. } => self.named || paper && self.profile == Profile::Paper,
        }
    }

    /// The part of the setting's wants that belongs to the set.
    fn of_profile(&self, mut wants: Vec<Want>) -> Vec<Want> {
        if self.profile == Profile::Reversible {
            wants.retain(|want| match want {
                Want::At(place, _) | Want::Keep(place, _) => !place.survives_reboot(),
                Want::Parameter { .. } => false,
            });
        }
        wants
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
    let choices: Vec<Choice> = choices.collect();
    match choices
        .iter()
        .find(|choice| !choice.setting.is_in(asked.profile))
    {
        Some(choice) => Err(choice.is_missing()),
        None => Ok(choices),
    }
}

/// The division of the CPUs that is asked for: the one in force, if it comes to the same. Siblings
/// that were turned off meanwhile would be missing from a new one.
fn choose(topology: &Topology, asked: &Asked, before: Option<&Applied>) -> Result<Plan, Error> {
    let in_force = before.map(|before| &before.plan);
    if let (Some(plan), true) = (in_force, asked.request == Request::default()) {
        return Ok(plan.clone());
    }
    let plan = Plan::make(topology, &asked.request)?;
    match in_force {
        Some(same) if (&same.measuring, &same.device) == (&plan.measuring, &plan.device) => {
            Ok(same.clone())
        }
        _ => Ok(plan),
    }
}

/// Fails where another set or another division of the CPUs is in force: what earlier applies meant
/// would change with this one, and verify would not know it.
fn agree(before: &Applied, asked: &Asked, plan: &Plan) -> Result<(), Error> {
    let profiles: Vec<Profile> = before.settings.values().copied().collect();
    let other = profiles.iter().find(|&&profile| profile != asked.profile);
    match other.or(profiles.first()) {
        Some(&profile) if other.is_some() || *plan != before.plan => Err(Error::InForce {
            profile,
            measuring: before.plan.measuring.clone(),
        }),
        _ => Ok(()),
    }
}

/// Writes a value and sees whether it stands.
fn put(system: &System, place: &Place, value: &Value) -> Result<(), String> {
    let raised = system.is_live().then(|| Raised::for_place(place));
    match write(system, place, value, sleep) {
        Ok(found) if system.same(place, &found, value) => Ok(()),
        // A thread that has ended.
        _ if matches!(place, Place::Affinity { .. }) && matches!(system.read(place), Ok(None)) => {
            Ok(())
        }
        Ok(found) => Err(format!(
            "{place} took the value, and says `{}`",
            found.unwrap_or_else(|| "nothing".into())
        )),
        Err(error) => {
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
            Err(show::causes(&error) + &hint)
        }
    }
}

/// Writes a value, and gives what stands there when all has settled, which is looked at after each `pause`.
fn write(
    system: &System,
    place: &Place,
    value: &Value,
    pause: impl Fn(Duration),
) -> Result<Value, system::Error> {
    let linked = has_link(system, place);
    system.write(place, value)?;
    // Some adapters negotiate their link anew, and what is set meanwhile is overwritten when they are done.
    if linked {
        negotiated(|| has_link(system, place), &pause);
    }
    let mut found = system.read(place)?;
    for _ in 0..TRIES {
        match place {
            _ if found.is_none() || system.same(place, &found, value) => break,
            // Before Linux 6.9 CPUs that have just come back are handed to threads a moment later.
            Place::Affinity { .. } => {
                pause(PAUSE);
                system.write(place, value)?;
                found = system.read(place)?;
            }
            // Adapters set up their link anew.
            Place::Ethtool { .. } => {
                pause(PAUSE);
                found = system.read(place)?;
            }
            _ => break,
        }
    }
    Ok(found)
}

/// Waits until there is a link again, with pauses of [`NEGOTIATION`] in all at most.
fn negotiated(has_link: impl Fn() -> bool, pause: impl Fn(Duration)) {
    let mut waited = Duration::ZERO;
    while waited < NEGOTIATION && !has_link() {
        pause(PAUSE);
        waited += PAUSE;
    }
}

/// True if the adapter, if this is something of one, has a link.
fn has_link(system: &System, place: &Place) -> bool {
    let Place::Ethtool { interface, .. } = place else {
        return false;
    };
    let carrier = system.text(format!("/sys/class/net/{interface}/carrier"));
    carrier.as_deref() == Some("1")
}

/// The time for it at most; an adapter of copper takes 2 to 4 s.
const NEGOTIATION: Duration = Duration::from_secs(6);

/// The number of further looks at what came out otherwise, and the time before each.
const TRIES: usize = 50;
const PAUSE: Duration = Duration::from_millis(20);

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

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::process::Command;

    use super::*;

    #[test]
    fn a_thread_that_ends_meanwhile_is_no_failure() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let system = System::at("/", "jitterlab");
        let threads = system.threads().unwrap();
        let of_child = threads.iter().find(|thread| thread.id as u32 == child.id());
        let place = of_child.unwrap().place();
        let value = system.read(&place).unwrap();
        assert_eq!(put(&system, &place, &value), Ok(()));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(put(&system, &place, &value), Ok(()));
    }

    #[test]
    fn a_link_is_waited_for_until_it_is_there_and_not_for_ever() {
        let waited_for = |negotiation: Duration| {
            let time = Cell::new(Duration::ZERO);
            let pause = |pause| time.set(time.get() + pause);
            negotiated(|| time.get() >= negotiation, pause);
            time.get()
        };
        assert_eq!(waited_for(Duration::ZERO), Duration::ZERO);
        assert_eq!(waited_for(Duration::from_secs(3)), Duration::from_secs(3));
        assert_eq!(waited_for(Duration::MAX), NEGOTIATION);
    }
}
