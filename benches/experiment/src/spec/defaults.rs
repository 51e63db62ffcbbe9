//! The parts that an experiment file may leave out, and what is taken then.

use std::collections::BTreeMap;

use jitterlab_base::units::{Nanos, Percent};
use jitterlab_base::yaml::{self, flow};
use jitterlab_cluster::Place;
use jitterlab_load::transport::Transport;
use serde_yaml::Value;

use super::{Experiment, Load, Repetitions};
use crate::scene::ends::{fill_ends, pair};
use crate::scene::{Launcher, Mpi};

/// The change that is to be found, in percent.
const RESOLVE: f64 = 5.0;

/// The transport of background load.
pub(super) fn load_transport() -> Transport {
    Transport::Udp
}

/// Fills in what the file leaves out: what is usual, and what follows from other parts of the file, such as the section `load` where
/// there are levels of load, and the hosts of load and packet cases where there are no more than two.
pub(super) fn fill(experiment: &mut Experiment) {
    if experiment.repetitions == Repetitions::Auto {
        experiment.resolve = experiment.resolve.or(Percent::new(RESOLVE));
    }
    if let Some(injected) = &mut experiment.levels.injected
        && injected.shape.is_some()
        && injected.std.is_empty()
    {
        injected.std = vec![Nanos(0)];
    }
    let hosts = &experiment.hosts;
    if experiment.load.is_none() && !experiment.levels.load.is_empty() && pair(hosts).is_some() {
        experiment.load = Some(Load {
            transport: load_transport(),
            from: String::new(),
            to: String::new(),
            between: Vec::new(),
            message: None,
            bandwidth: None,
            ranks: None,
        });
    }
    if let Some(load) = &mut experiment.load
        && load.between.is_empty()
    {
        fill_ends(&mut load.from, &mut load.to, hosts);
    }
    if let Some(load) = &mut experiment.load {
        load.message = Some(load.message());
    }
    fill_ranks(experiment);
    if let (Some(load), Some(mpi)) = (&mut experiment.load, &experiment.mpi) {
        load.ranks = load.ranks(mpi);
    }
    for case in experiment.suites.cases_mut() {
        case.fill(&experiment.hosts);
    }
}

/// Fills in how ranks are started, where hosts say how many they take: from the one on this machine, or the first by name.
fn fill_ranks(experiment: &mut Experiment) {
    let hosts = &experiment.hosts;
    let slots = hosts.iter();
    let slots: BTreeMap<String, u32> = slots
        .filter_map(|(name, host)| Some((name.clone(), host.slots?)))
        .collect();
    let is_here = |name: &&String| hosts[*name].at == Place::Local;
    let Some(first) = slots.keys().find(is_here).or(slots.keys().next()) else {
        return;
    };
    let load = experiment.load.as_ref();
    let cases = experiment.suites.cases();
    let has_ranks = cases.iter().any(|(_, _, case)| case.ranks().is_some())
        || load.is_some_and(|load| load.transport == Transport::Mpi);
    if has_ranks && experiment.mpi.is_none() {
        experiment.mpi = Some(Mpi::default());
    }
    if let Some(mpi) = &mut experiment.mpi {
        if mpi.on.is_empty() {
            mpi.on.clone_from(first);
        }
        if mpi.launcher == Launcher::Mpirun && mpi.hosts.is_empty() && slots.len() > 1 {
            mpi.hosts = slots;
        }
    }
}

/// The text of an experiment file with comments at its end that say what it leaves out. A file that leaves out nothing stays as
/// it is.
pub fn frozen(text: &str, experiment: &Experiment) -> String {
    let text = yaml::as_written(text);
    yaml::with_left_out(text, &left_out(text, experiment))
}

fn left_out(text: &str, experiment: &Experiment) -> Vec<String> {
    let written: Value = serde_yaml::from_str(text).unwrap_or_default();
    let mut said = Vec::new();
    if let Value::Mapping(taken) = yaml::value(experiment) {
        for (key, taken) in &taken {
            match written.get(key) {
                Some(written) => tell(&flow(key), written, taken, &mut said),
                None => {
                    let taken = yaml::said(taken).into_iter();
                    said.extend(taken.map(|taken| format!("{}: {}", flow(key), flow(&taken))));
                }
            }
        }
    }
    for (suite, i, case) in experiment.suites.cases() {
        let written = &written["suites"][suite.name()][i];
        let place = format!("suites, {suite}, {}", case.name());
        tell(&place, written, &case.taken(), &mut said);
        for (over, taken) in case.taken_over() {
            tell(&format!("{place}, over {over}"), written, &taken, &mut said);
        }
    }
    said
}

/// Says what `taken` has and `written` has not, at the same place of the file.
fn tell(place: &str, written: &Value, taken: &Value, said: &mut Vec<String>) {
    let Value::Mapping(taken) = taken else { return };
    let missing = taken.iter().filter(|(key, _)| written.get(key).is_none());
    let missing = missing.map(|(key, value)| (key.clone(), value.clone()));
    let missing = yaml::said(&Value::Mapping(missing.collect())).into_iter();
    said.extend(missing.map(|missing| format!("{place}: {}", flow(&missing))));
    for (key, taken) in taken {
        if let Some(written) = written.get(key) {
            tell(&format!("{place}, {}", flow(key)), written, taken, said);
        }
    }
}
