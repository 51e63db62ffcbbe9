//! A saved experiment file as choices: which of them make the same experiment.

#[cfg(test)]
mod tests;

use std::fs;
use std::path::Path;

use jitterlab_base::show::printable;
use jitterlab_base::units::Nanos;
use jitterlab_experiment::spec::{Experiment, Repetitions};
use jitterlab_experiment::suites::{SuiteKind, Work};

use super::catalogue::{self, Choice, Chosen, Group, HEADER, Kind};
use super::place::{Hosts, Place};

/// An experiment file as choices.
#[derive(Debug, Clone, PartialEq)]
pub struct Choices {
    /// The text of the file.
    pub text: String,
    /// The name of the experiment.
    pub name: String,
    /// The seed that its order follows from.
    pub seed: u64,
    /// The number of times that each run is done.
    pub repetitions: u32,
    /// The place that it measures at.
    pub place: Place,
    /// The things that it measures.
    pub groups: Vec<Group>,
}

impl Choices {
    /// Reads a file.
    ///
    /// # Errors
    /// It is no experiment, or one that choices cannot make: in a line.
    pub fn of(path: &Path) -> Result<Self, String> {
        let say = |error: &dyn std::error::Error| printable(&error.to_string());
        let text = fs::read_to_string(path).map_err(|error| say(&error))?;
        let (experiment, filled) = Experiment::load(path).map_err(|error| say(&error))?;
        let comment = text.lines().position(|line| {
            (line.starts_with('#') || line.contains(" #")) && line != HEADER.trim_end()
        });
        if let Some(line) = comment {
            let line = line + 1;
            return Err(format!(
                "its comment in line {line} would be lost: change it by hand"
            ));
        }
        let Repetitions::Fixed(repetitions) = experiment.repetitions else {
            return Err(refused("repetitions"));
        };
        let groups = chosen(&experiment, &text);
        let cpu = experiment.hosts.values().find_map(|host| host.cpu);
        let here = Place::Here(cpu.and_then(|cpu| cpu.try_into().ok()).unwrap_or(0));
        let there = Hosts::of_experiment(&text, &filled, &experiment).map(Place::There);
        let mut why = "hosts";
        for place in [here].into_iter().chain(there) {
            let chosen = Chosen {
                name: Some(&experiment.name),
                seed: experiment.seed,
                groups: &groups,
                repetitions,
                place: &place,
            };
            let made = Experiment::parse(&place.filled(&chosen.plan().text), path);
            match made.map(|made| difference(&made, &experiment)) {
                Ok(None) => {
                    return Ok(Choices {
                        text,
                        name: experiment.name,
                        seed: experiment.seed,
                        repetitions,
                        place,
                        groups,
                    });
                }
                Ok(Some(key)) => why = key,
                Err(_) => why = "suites",
            }
        }
        Err(refused(why))
    }
}

fn refused(key: &str) -> String {
    format!("its `{key}` is not among what can be chosen here: change it by hand")
}

/// The first key in which two experiments differ.
fn difference(a: &Experiment, b: &Experiment) -> Option<&'static str> {
    let same = [
        ("resolve", a.resolve == b.resolve),
        ("at_most", a.at_most == b.at_most),
        ("retries", a.retries == b.retries),
        ("trust", a.trust == b.trust),
        ("lost_host", a.lost_host == b.lost_host),
        ("hosts", a.hosts == b.hosts),
        ("load", a.load == b.load),
        ("mpi", a.mpi == b.mpi),
        ("levels", a.levels == b.levels),
        ("suites", a == b),
    ];
    let other = same.into_iter().find(|(_, is_same)| !is_same);
    other.map(|(key, _)| key)
}

/// True if a text says that something lasts so long.
fn lasts(text: &str, time: &str) -> bool {
    let mut told = text.split("duration: ").skip(1);
    told.any(|rest| {
        let rest = rest.strip_prefix(time);
        rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric()))
    })
}

/// The measurements of an experiment, as far as they can be chosen.
fn chosen(experiment: &Experiment, text: &str) -> Vec<Group> {
    let works: Vec<Work> = experiment.works().collect();
    let is_on = |group: &Group, option: &Choice| {
        let any = |suite: Option<SuiteKind>, is_it: &dyn Fn(&Work) -> bool| {
            let of_suite = |work: &&Work| suite.is_none_or(|suite| work.suite() == suite);
            works.iter().filter(of_suite).any(is_it)
        };
        let over = |suite| {
            let is_over = |work: &Work| work.transport().is_some_and(|it| it.name() == option.name);
            any(Some(suite), &is_over)
        };
        let injected = experiment.levels.injected.as_ref();
        match group.kind {
            Kind::Suite { .. } => any(None, &|work| {
                (work.suite().name(), work.case()) == (group.name, option.name)
            }),
            Kind::Transports => over(SuiteKind::Packet),
            Kind::AmviaTransports => over(SuiteKind::Amvia),
            Kind::Protocols => any(Some(SuiteKind::Amvia), &|work| {
                work.variant() == Some(option.name)
            }),
            Kind::Durations => lasts(text, &option.text),
            Kind::Loads => {
                let load = option.text.parse();
                load.is_ok_and(|load| experiment.levels.load.contains(&load))
            }
            Kind::Imitations => injected.is_some_and(|injected| {
                let mut shapes = injected.shapes.iter();
                shapes.any(|shape| shape.name() == option.text)
            }),
            Kind::Delays => {
                let delay: Result<Nanos, _> = option.text.parse();
                injected
                    .zip(delay.ok())
                    .is_some_and(|(injected, delay)| injected.delays.contains(&delay))
            }
        }
    };
    let mut groups = catalogue::all();
    for group in &mut groups {
        let on: Vec<bool> = group.options.iter().map(|it| is_on(group, it)).collect();
        // None of these stands for all.
        let are_all = group.kind == Kind::Protocols && on.iter().all(|&it| it);
        for (option, is_on) in group.options.iter_mut().zip(on) {
            option.is_on = is_on && !are_all;
        }
    }
    groups
}
