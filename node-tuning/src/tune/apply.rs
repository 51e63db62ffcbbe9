//! Changing what is not as it is wanted.

use std::cell::OnceCell;

use jitterlab_base::show;

use super::survey::{self, survey};
use super::{
    Asked, Choice, Error, KERNEL_PARAMETERS, Mode, Outcome, State, agree, choose, put, select,
};
use crate::boot::{Boot, Parameter};
use crate::journal::{Applied, Change, Journal, Refusal, Writer};
use crate::plan::Plan;
use crate::settings::{Node, Want};
use crate::system::{Place, System, Value};
use crate::topology::Topology;

/// Changes what is not as it is wanted. `observe` is told of each change before it is made.
pub fn apply(
    system: &System,
    asked: &Asked,
    mode: Mode,
    observe: &mut dyn FnMut(&Change),
) -> Result<Outcome, Error> {
    let chosen = select(asked)?;
    let topology = Topology::read(system.root())?;
    let before = Journal::read(system)?;
    let plan = choose(&topology, asked, before.applied.as_ref())?;
    if let Some(before) = &before.applied {
        agree(before, asked, &plan)?;
    }
    if !asked.only.is_empty() {
        // Settings that are named are refused here that have nothing in the set.
        survey::plan(system, asked)?;
    }
    // Made only now: what is refused leaves nothing behind.
    let mut writer = match mode {
        Mode::Write => Some(Writer::open(system)?),
        Mode::Dry => None,
    };
    let journal = writer.as_ref().map_or(&before, |writer| &writer.journal);
    let boot = Boot::read(system, journal);
    if let Some(writer) = &mut writer {
        begin(writer, &plan, &chosen)?;
    }
    let this_boot = system.this_boot();
    let mut work = Work {
        system,
        writer,
        observe,
        this_boot,
        writes: 0,
    };
    let mut parameters = Vec::new();
    for choice in chosen.iter().filter(|choice| choice.is_changed()) {
        let profile = choice.profile;
        // Threads that start others while they are moved have to be moved once more.
        for _ in 0..PASSES {
            let node = Node {
                system,
                topology: &topology,
                plan: &plan,
                profile,
                boot: &boot,
                threads: &OnceCell::new(),
            };
            // Why there is nothing to be had is found again by the survey.
            let wants = (choice.setting.wants)(&node).unwrap_or_default();
            let wants = choice.of_profile(wants);
            let moves = wants
                .iter()
                .any(|want| matches!(want, Want::At(Place::Affinity { .. }, _)));
            parameters.extend(work.values(choice.setting.name, wants)?);
            if !moves || mode == Mode::Dry {
                break;
            }
        }
    }
    // A parameter that the kernel would not heed is not written.
    let planned = parameters.clone();
    parameters.retain(|parameter| {
        !boot.is_settled(parameter) && boot.obstacle(parameter, &planned).is_none()
    });
    if let (Ok(file), false) = (&boot.file, parameters.is_empty()) {
        let content = file.with(&parameters);
        work.change(KERNEL_PARAMETERS, vec![(file.place(), content)])?;
    }
    let Work { writes, writer, .. } = work;
    let journal = writer.as_ref().map_or(&before, |writer| &writer.journal);
    let survey = survey(system, journal, &topology, plan, &chosen, State::Change);
    let wanting = survey
        .settings
        .iter()
        .any(|finding| [State::Change, State::Conflict].contains(&finding.state));
    Ok(Outcome {
        survey,
        writes,
        wanting: wanting && mode == Mode::Write,
    })
}

/// The number of times that a setting that moves threads looks for them.
const PASSES: usize = 3;

/// Says in the journal what is applied from here on.
fn begin(writer: &mut Writer, plan: &Plan, chosen: &[Choice]) -> Result<(), Error> {
    let before = writer.journal.applied.as_ref();
    let mut settings = before
        .map(|before| before.settings.clone())
        .unwrap_or_default();
    let changed = chosen.iter().filter(|choice| choice.is_changed());
    settings.extend(changed.map(|choice| (choice.setting.name.to_string(), choice.profile)));
    let version = env!("CARGO_PKG_VERSION").into();
    Ok(writer.applied(Applied {
        version,
        plan: plan.clone(),
        settings,
    })?)
}

/// Changes being made, or shown.
struct Work<'a> {
    system: &'a System,
    writer: Option<Writer<'a>>,
    observe: &'a mut dyn FnMut(&Change),
    this_boot: String,
    writes: usize,
}

impl Work<'_> {
    /// Changes the values that a setting wants at places; gives the kernel parameters that it wants.
    fn values(&mut self, setting: &'static str, wants: Vec<Want>) -> Result<Vec<Parameter>, Error> {
        let (mut values, mut kept, mut parameters) = (Vec::new(), Vec::new(), Vec::new());
        for want in wants {
            match want {
                Want::At(place, value) => values.push((place, value)),
                Want::Keep(place, value) => kept.push((place, value)),
                Want::Parameter { parameter, .. } => parameters.push(parameter),
            }
        }
        let stands = |(place, value): &(Place, Value)| {
            let found = self.system.read(place);
            found.is_ok_and(|found| self.system.same(place, &found, value))
        };
        if values.iter().all(stands) {
            return Ok(parameters);
        }
        // It comes first in the journal, and so is put back last.
        let kept = self.kept(setting, kept)?;
        // The content of a directory can be looked at when the directory is there.
        let opens = |(place, _): &(Place, Value)| matches!(place, Place::Directory { .. });
        for batch in values.split_inclusive(opens) {
            self.change(setting, batch.to_vec())?;
        }
        self.write(kept)?;
        Ok(parameters)
    }

    /// Values that are to stay where others are changed: into the journal.
    fn kept(
        &mut self,
        setting: &'static str,
        values: Vec<(Place, Value)>,
    ) -> Result<Vec<Change>, Error> {
        let mut changes = Vec::new();
        for (place, new) in values {
            if let Ok(old @ Some(_)) = self.system.read(&place) {
                changes.push(Change {
                    kept: true,
                    ..self.noted(setting, place, old, new)
                });
            }
        }
        if let Some(writer) = &mut self.writer {
            writer.keep(&changes)?;
        }
        Ok(changes)
    }

    /// Puts values at places, where others stand: first into the journal, then there.
    fn change(&mut self, setting: &'static str, batch: Vec<(Place, Value)>) -> Result<(), Error> {
        let mut changes = Vec::new();
        for (place, new) in batch {
            // A boot loader's file may say so already, and its configuration not be made yet.
            let is_made = !matches!(place, Place::BootFile { .. });
            match self.system.read(&place) {
                Ok(old) if self.system.same(&place, &old, &new) && is_made => {}
                // It has ended since.
                Ok(None) if matches!(place, Place::Affinity { .. }) => {}
                Ok(old) => changes.push(self.noted(setting, place, old, new)),
                Err(error) => self.refused(setting, place, show::causes(&error))?,
            }
        }
        if let Some(writer) = &mut self.writer {
            writer.keep(&changes)?;
        }
        self.write(changes)
    }

    fn noted(&self, setting: &str, place: Place, old: Value, new: Value) -> Change {
        Change {
            setting: setting.into(),
            place,
            old,
            new,
            boot: self.this_boot.clone(),
            kept: false,
        }
    }

    /// Makes changes that are in the journal.
    fn write(&mut self, changes: Vec<Change>) -> Result<(), Error> {
        for change in changes {
            let is_dry = self.writer.is_none();
            let now = || self.system.read(&change.place).unwrap_or(None);
            // A value that is only to stay may have stayed. A dry run cannot know.
            let stayed = || self.system.same(&change.place, &now(), &change.new);
            if change.kept && !is_dry && stayed() {
                continue;
            }
            (self.observe)(&change);
            if is_dry {
                self.writes += 1;
                continue;
            }
            match put(self.system, &change.place, &change.new) {
                Ok(()) => self.writes += 1,
                Err(mut reason) => {
                    // A value half taken is worse than the old one.
                    if now() != change.old && put(self.system, &change.place, &change.old).is_err()
                    {
                        reason.push_str("; nor could the old value be put back");
                    }
                    self.refused(&change.setting, change.place, reason)?;
                }
            }
        }
        Ok(())
    }

    fn refused(&mut self, setting: &str, place: Place, reason: String) -> Result<(), Error> {
        let refusal = Refusal {
            setting: setting.into(),
            place,
            reason,
            boot: self.this_boot.clone(),
        };
        match &mut self.writer {
            Some(writer) => Ok(writer.refused(refusal)?),
            None => Ok(()),
        }
    }
}
