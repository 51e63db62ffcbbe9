//! Changing what is not as it is wanted.

use std::collections::BTreeMap;

use super::survey::survey;
use super::{
    Asked, Choice, Error, KERNEL_PARAMETERS, Mode, Outcome, PARAMETER, State, Survey, chain,
    choose, put, select, this_boot,
};
use crate::boot::{Boot, Parameter};
use crate::journal::{Applied, Change, Journal, Writer};
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
    let before = Journal::read(system)?.applied;
    let plan = choose(&topology, asked, before.as_ref())?;
    let writer = match mode {
        Mode::Write => Some(begin(system, before, &plan, &chosen)?),
        Mode::Dry => None,
    };
    let this_boot = this_boot(system);
    let refused = BTreeMap::new();
    let mut work = Work {
        system,
        writer,
        observe,
        this_boot,
        writes: 0,
        refused,
    };
    let boot = Boot::read(system);
    let mut parameters = Vec::new();
    for choice in chosen.iter().filter(|choice| choice.is_changed()) {
        let profile = choice.profile;
        let node = Node {
            system,
            topology: &topology,
            plan: &plan,
            profile,
            boot: &boot,
        };
        // What it has to say of that is found again by the survey.
        let wants = choice.wants(&node).unwrap_or_default();
        parameters.extend(work.values(choice.setting.name, wants)?);
    }
    parameters.retain(|parameter| !boot.is_settled(parameter));
    if let (Ok(file), false) = (&boot.file, parameters.is_empty()) {
        let content = file.with(&parameters);
        work.change(KERNEL_PARAMETERS, vec![(file.place(), content)])?;
    }
    let mut survey = survey(system, &topology, plan, &chosen, State::Change);
    work.report(&mut survey);
    let wanting = survey
        .settings
        .iter()
        .any(|finding| finding.state == State::Change);
    Ok(Outcome {
        survey,
        writes: work.writes,
        refused: wanting && mode == Mode::Write,
    })
}

/// Opens the journal and says in it what is applied from here on.
fn begin<'a>(
    system: &'a System,
    before: Option<Applied>,
    plan: &Plan,
    chosen: &[Choice],
) -> Result<Writer<'a>, Error> {
    let mut settings = before.map(|before| before.settings).unwrap_or_default();
    let changed = chosen.iter().filter(|choice| choice.is_changed());
    settings.extend(changed.map(|choice| (choice.setting.name.to_string(), choice.profile)));
    let mut writer = Writer::open(system)?;
    let version = env!("CARGO_PKG_VERSION").into();
    writer.applied(Applied {
        version,
        plan: plan.clone(),
        settings,
    })?;
    Ok(writer)
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
    /// Changes the values that a setting wants at places; gives the kernel parameters that it wants.
    fn values(&mut self, setting: &'static str, wants: Vec<Want>) -> Result<Vec<Parameter>, Error> {
        let (mut batch, mut parameters) = (Vec::new(), Vec::new());
        for want in wants {
            match want {
                Want::At(place, value) => {
                    // What is in a directory can be looked at when the directory is there.
                    let opens = matches!(place, Place::Directory { .. });
                    batch.push((place, value));
                    if opens {
                        self.change(setting, std::mem::take(&mut batch))?;
                    }
                }
                Want::Parameter { parameter, .. } => parameters.push(parameter),
            }
        }
        self.change(setting, batch)?;
        Ok(parameters)
    }

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

    /// Adds what was refused to what is said of the settings.
    fn report(&mut self, survey: &mut Survey) {
        let of_boot = self.refused.remove(KERNEL_PARAMETERS).unwrap_or_default();
        for finding in &mut survey.settings {
            finding
                .notes
                .extend(self.refused.remove(finding.name).unwrap_or_default());
            let has_parameter = finding
                .differences
                .iter()
                .any(|other| other.place == PARAMETER);
            if has_parameter && finding.state == State::Change {
                finding.notes.extend(of_boot.iter().cloned());
            }
        }
    }

    fn refuse(&mut self, setting: &'static str, reason: String) {
        self.refused.entry(setting).or_default().push(reason);
    }
}
