//! What an experiment file may leave out, and what is taken then.

use std::collections::BTreeMap;

use jitterlab_base::yaml;
use jitterlab_cluster::Place;
use jitterlab_load::transport::Transport;
use serde_yaml::Value;

use super::{Experiment, Load, Repetitions};
use crate::level::Member;
use crate::scene::ends::{fill_ends, pair};
use crate::scene::{InjectedLevels, Launcher, Mpi, Replay};

/// The change that is to be found, as a share.
pub(super) const RESOLVE: f64 = 0.05;

/// The transport of background load.
pub(super) fn load_transport() -> Transport {
    Transport::Udp
}

/// Fills in what follows from other parts of the file: the section `load` where there are levels of load, and the hosts of
/// load and packet cases where there are no more than two.
pub(super) fn fill(experiment: &mut Experiment) {
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
    let suites = &experiment.suites;
    let has_ranks = !suites.library.is_empty()
        || suites.application.iter().any(|case| case.npb.is_some())
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
    if written.get("retries").is_none() {
        said.push(format!("retries: {}", experiment.retries));
    }
    if experiment.repetitions == Repetitions::Auto && written.get("resolve").is_none() {
        said.push(format!("resolve: {} %", 100.0 * RESOLVE));
    }
    if let Some(load) = &experiment.load {
        said.extend(line("load", written.get("load"), &of_load(load)));
    }
    if let Some(mpi) = &experiment.mpi {
        said.extend(line("mpi", written.get("mpi"), &of_mpi(mpi)));
    }
    if let Some(injected) = &experiment.levels.injected {
        let written = written
            .get("levels")
            .and_then(|levels| levels.get("injected"));
        said.extend(line("levels, injected", written, &of_injected(injected)));
    }
    for (suite, i, case) in experiment.suites.cases() {
        let written = written
            .get("suites")
            .and_then(|suites| suites.get(suite.name())?.get(i));
        let place = format!("suites, {suite}, {}", case.name());
        said.extend(line(&place, written, &case.left_out()));
    }
    said
}

/// What `written` leaves out of `values`.
fn line(place: &str, written: Option<&Value>, values: &[(&str, String)]) -> Option<String> {
    let missing: Vec<String> = values
        .iter()
        .filter(|(key, _)| written.and_then(|written| written.get(key)).is_none())
        .map(|(key, value)| format!("{key}: {value}"))
        .collect();
    (!missing.is_empty()).then(|| format!("{place}: {{ {} }}", missing.join(", ")))
}

fn of_injected(injected: &InjectedLevels) -> Vec<(&'static str, String)> {
    let transport = ("transport", injected.transport.to_string());
    let mode = ("mode", injected.mode.to_string());
    let Replay { order, stretch } = injected.replay;
    let replay = (
        "replay",
        format!("{{ order: {order}, stretch: {stretch} }}"),
    );
    let mut said = Vec::new();
    said.extend(injected.imitates().then_some(transport));
    said.push(mode);
    said.extend(injected.shapes.contains(&Member::Replay).then_some(replay));
    said.extend(injected.shape.map(|_| ("std", "[0ns]".into())));
    said
}

fn of_mpi(mpi: &Mpi) -> Vec<(&'static str, String)> {
    let hosts = mpi.hosts.iter();
    let hosts: Vec<String> = hosts
        .map(|(name, slots)| format!("{name}: {slots}"))
        .collect();
    let mut said = vec![("on", mpi.on.clone())];
    said.extend((!hosts.is_empty()).then(|| ("hosts", format!("{{ {} }}", hosts.join(", ")))));
    said
}

fn of_load(load: &Load) -> Vec<(&'static str, String)> {
    let mut values = vec![("transport", load.transport.to_string())];
    if load.between.is_empty() {
        values.extend([("from", load.from.clone()), ("to", load.to.clone())]);
    }
    values.push(("message", load.message().to_string()));
    values
}
