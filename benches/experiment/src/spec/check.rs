//! Checks that the types of an experiment file cannot make.

use std::collections::{BTreeMap, BTreeSet};

use jitterlab_base::units::Nanos;
use jitterlab_base::yaml::Step::{self, Index, Key};
use jitterlab_base::yaml::{Checked, wrong};
use jitterlab_cluster::{NO_ADDRESS, Place};
use jitterlab_injector::control::Mode;
use jitterlab_injector::replay::Order;
use jitterlab_injector::shape;
use jitterlab_injector::table::MAX_DELAY_NS;
use jitterlab_load::transport::Transport;

use super::{Experiment, Load, Repetitions};
use crate::level::{Level, LevelKind};
use crate::scene::rules::{NAME, is_name, repeated, size_problem};
use crate::scene::{Hook, InjectedLevels, Launcher, Mpi, Scene};
use crate::suites::Work;
use crate::suites::packet::PacketCase;

/// Checks all that has to be right before anything starts.
pub fn check(experiment: &Experiment) -> Checked<'_> {
    if !is_name(&experiment.name) {
        return wrong(&[Key("name")], NAME);
    }
    check_repetitions(experiment)?;
    if experiment.retries > 100 {
        return wrong(&[Key("retries")], "there are at most 100 retries");
    }
    for (name, host) in &experiment.hosts {
        host.check("hosts", name)?;
    }
    let scene = experiment.scene();
    if let Some(load) = &experiment.load {
        check_load(scene, load)?;
        if load.transport == Transport::Mpi {
            check_load_over_mpi(scene, load)?;
        }
    }
    if let Some(mpi) = &experiment.mpi {
        check_mpi(scene, mpi)?;
    }
    check_levels(experiment)?;
    let cases = experiment.suites.cases();
    if cases.is_empty() {
        return wrong(&[Key("suites")], "there is nothing to measure");
    }
    let mut names = BTreeSet::new();
    for (suite, i, case) in cases {
        let at = [Key("suites"), Key(suite.name()), Index(i)];
        case.check(scene, &at)?;
        if !names.insert((suite, case.name())) {
            let name = case.name();
            return wrong(
                &at,
                format!("there are two cases of the name `{name}`; give each a `name`"),
            );
        }
    }
    Ok(())
}

/// `auto` needs something to compare; what belongs to it is nowhere else.
fn check_repetitions(experiment: &Experiment) -> Checked<'_> {
    let of_auto = [
        ("resolve", experiment.resolve.is_some()),
        ("at_most", experiment.at_most.is_some()),
    ];
    if experiment.repetitions != Repetitions::Auto {
        return match of_auto.into_iter().find(|(_, is_there)| *is_there) {
            Some((key, _)) => wrong(
                &[Key(key)],
                format!("`{key}` works only with `repetitions: auto`"),
            ),
            None => Ok(()),
        };
    }
    if experiment.resolve() <= 0.0 {
        return wrong(
            &[Key("resolve")],
            "no number of repetitions finds a change of 0 %",
        );
    }
    let compares = |work: Work| work.is_compared() && experiment.levels.of(work.levels()).len() > 1;
    if !experiment.works().any(compares) {
        return wrong(
            &[Key("repetitions")],
            "there is nothing to compare: `auto` is for library cases and programs that are measured at a level beside none",
        );
    }
    Ok(())
}

fn check_load<'a>(scene: Scene<'a>, load: &'a Load) -> Checked<'a> {
    if load.between.is_empty() {
        scene.check_ends([&load.from, &load.to], &[Key("load")])?;
        let from = scene.named(&load.from, &[Key("load"), Key("from")])?;
        scene.target(from, &load.to, &[Key("load"), Key("to")])?;
    } else {
        check_between(scene, load)?;
    }
    let sizes = load.transport.sizes();
    if !sizes.contains(&load.message().0) {
        let problem = size_problem(load.transport, *sizes.start(), *sizes.end());
        return wrong(&[Key("load"), Key("message")], problem);
    }
    if load.bandwidth.is_some_and(|bandwidth| bandwidth.0 == 0) {
        return wrong(&[Key("load"), Key("bandwidth")], "a bandwidth is above 0");
    }
    Ok(())
}

/// Checks the hosts of a load that goes both ways.
fn check_between<'a>(scene: Scene<'a>, load: &'a Load) -> Checked<'a> {
    let at = [Key("load"), Key("between")];
    if !(load.from.is_empty() && load.to.is_empty()) {
        return wrong(
            &at,
            "background load goes `from` one host `to` another, or `between` hosts; give one of these",
        );
    }
    if load.between.len() < 2 {
        return wrong(&at, "background load is between two hosts at least");
    }
    if let Some(i) = repeated(&load.between) {
        return wrong(&[at[0], at[1], Index(i)], "this host is given twice");
    }
    for from in &load.between {
        let others = load
            .between
            .iter()
            .enumerate()
            .filter(|(_, to)| *to != from);
        for (i, to) in others {
            let place = [at[0], at[1], Index(i)];
            scene.target(scene.named(from, &at)?, to, &place)?;
        }
    }
    Ok(())
}

/// Checks what a load over MPI needs beside: one rank on each of its hosts, which mpirun enters.
fn check_load_over_mpi<'a>(scene: Scene<'a>, load: &'a Load) -> Checked<'a> {
    let at = [Key("load"), Key("transport")];
    let Some(mpi) = &load.ranks else {
        return wrong(
            &at,
            "load over MPI needs a section `mpi` that says how ranks are started: `mpi: { on: HOST }`",
        );
    };
    if mpi.launcher == Launcher::Srun {
        return wrong(
            &at,
            "load over MPI is started with mpirun: under srun the allocation places the ranks",
        );
    }
    let names = mpi.hosts.keys().map(String::as_str);
    check_ranks_on(scene, &mpi.on, names, |_| at.into())
}

/// Checks the section `mpi`.
fn check_mpi<'a>(scene: Scene<'a>, mpi: &'a Mpi) -> Checked<'a> {
    let at = |key| [Key("mpi"), Key(key)];
    if mpi.on.is_empty() {
        return wrong(
            &at("on"),
            "missing key `on`: the host that the launcher is started on",
        );
    }
    scene.named(&mpi.on, &at("on"))?;
    let mode = scene.levels.injected.as_ref().map(|injected| injected.mode);
    if mode == Some(Mode::Defer) && matches!(mpi.hook, Hook::Mpi | Hook::Uct) {
        return wrong(
            &[Key("levels"), Key("injected"), Key("mode")],
            "what is sent through MPI or UCX cannot be deferred: `mode: spin`, or another `hook` in `mpi`",
        );
    }
    if mpi.hosts.is_empty() {
        return Ok(());
    }
    if mpi.launcher == Launcher::Srun {
        return wrong(&at("hosts"), "under srun the allocation places the ranks");
    }
    if !mpi.hosts.contains_key(&mpi.on) {
        return wrong(
            &at("hosts"),
            format!(
                "`hosts` must contain `{}`: mpirun starts there, and so does rank 0",
                mpi.on
            ),
        );
    }
    if let Some((name, _)) = mpi.hosts.iter().find(|&(_, &slots)| slots == 0) {
        let place = [Key("mpi"), Key("hosts"), Key(name)];
        return wrong(&place, "a host takes at least one rank");
    }
    let names = mpi.hosts.keys().map(String::as_str);
    check_ranks_on(scene, &mpi.on, names, |name| {
        vec![Key("mpi"), Key("hosts"), Key(name)]
    })
}

/// Checks that mpirun on one host can enter others; `at` is the place where the file names one.
fn check_ranks_on<'a>(
    scene: Scene<'a>,
    starts_on: &'a str,
    names: impl Iterator<Item = &'a str>,
    at: impl Fn(&'a str) -> Vec<Step<'a>>,
) -> Checked<'a> {
    let on = scene.named(starts_on, &at(starts_on))?;
    let mut addresses = BTreeMap::new();
    for name in names {
        let place = at(name);
        let host = scene.named(name, &place)?;
        let Some(address) = host
            .address()
            .filter(|_| host.address.is_some() || on.at == host.at)
        else {
            return wrong(
                &[Key("hosts"), Key(name)],
                format!("host `{name}` takes ranks and {NO_ADDRESS}"),
            );
        };
        if let Some(other) = addresses.insert(address, name) {
            return wrong(
                &place,
                format!("`{other}` and `{name}` have one address, {address}: name one of them"),
            );
        }
        let enters = match (&on.at, &host.at) {
            (_, Place::Local) => name == starts_on,
            (Place::Ssh(_), Place::Netns(_)) => false,
            _ => true,
        };
        if !enters {
            return wrong(
                &place,
                format!(
                    "mpirun on `{starts_on}` ({}) cannot enter `{name}` ({})",
                    on.at, host.at
                ),
            );
        }
    }
    Ok(())
}

fn check_levels(experiment: &Experiment) -> Checked<'_> {
    let levels = &experiment.levels;
    let at = Key("levels");
    if !levels.load.is_empty() && experiment.load.is_none() {
        return wrong(
            &[at, Key("load")],
            "background load needs a section `load` that names the hosts `from` and `to`",
        );
    }
    if let Some(i) = levels.load.iter().position(|&percent| percent > 100) {
        return wrong(
            &[at, Key("load"), Index(i)],
            "a load is a percentage from 0 to 100",
        );
    }
    if let Some(i) = repeated(&levels.load) {
        return wrong(&[at, Key("load"), Index(i)], "this load is given twice");
    }
    match &levels.injected {
        Some(injected) => check_injected(experiment, injected),
        None => Ok(()),
    }
}

fn check_injected<'a>(experiment: &'a Experiment, injected: &'a InjectedLevels) -> Checked<'a> {
    let at = [Key("levels"), Key("injected")];
    let inside = |key, i| [at[0], at[1], Key(key), Index(i)];
    let is_load = |percent| experiment.levels.load.contains(percent);
    if let Some(i) = injected.percent.iter().position(|p| !is_load(p)) {
        return wrong(
            &inside("percent", i),
            "this load is not measured: add it to `levels.load`",
        );
    }
    if let Some(i) = repeated(&injected.percent) {
        return wrong(&inside("percent", i), "this load is given twice");
    }
    if let Some(i) = repeated(&injected.shapes) {
        return wrong(&inside("shapes", i), "this shape is given twice");
    }
    let of_loads = injected.shapes.len() + injected.scaled.len();
    if injected.percent.is_empty() != (of_loads == 0) {
        return wrong(&at, "`injected` needs at least one load and one shape");
    }
    check_given(injected)?;
    if !injected.imitates() {
        return match injected.given().is_empty() {
            true => wrong(
                &at,
                "`injected` needs at least one load and one shape, or `delays`, `shape` or `table`",
            ),
            false => Ok(()),
        };
    }
    if injected.replay.order == Order::Drawn {
        return wrong(
            &[at[0], at[1], Key("replay"), Key("order")],
            "a replay is `by-time` or `by-message`",
        );
    }
    if characterised(experiment).is_none() {
        return wrong(
            &[at[0], at[1], Key("transport")],
            format!(
                "distributions are fitted to the RTT over {}: a packet case has to measure it at \
                 the levels `none` and `load`",
                injected.transport
            ),
        );
    }
    Ok(())
}

/// Checks the delays that need no measured load.
fn check_given(injected: &InjectedLevels) -> Checked<'_> {
    let at = [Key("levels"), Key("injected")];
    let inside = |key, i| [at[0], at[1], Key(key), Index(i)];
    if let Some(i) = repeated(&injected.scaled) {
        return wrong(&inside("scaled", i), "this multiple is given twice");
    }
    if let Some(i) = repeated(&injected.delays) {
        return wrong(&inside("delays", i), "this delay is given twice");
    }
    let longest = Nanos(u64::from(MAX_DELAY_NS));
    if let Some(i) = injected.delays.iter().position(|&delay| delay > longest) {
        return wrong(&inside("delays", i), "a delay is at most 1s");
    }
    for (key, list) in [("mean", &injected.mean), ("std", &injected.std)] {
        if let Some(i) = repeated(list) {
            return wrong(&inside(key, i), "this time is given twice");
        }
        if injected.shape.is_none() && !list.is_empty() {
            return wrong(
                &[at[0], at[1], Key(key)],
                format!("`{key}` is of a `shape`, and there is none"),
            );
        }
    }
    if injected.shape.is_some() && injected.mean.is_empty() {
        return wrong(
            &[at[0], at[1], Key("shape")],
            "a `shape` needs `mean`, a list of times",
        );
    }
    for level in injected.given() {
        if let Level::Shape {
            shape,
            mean_ns,
            std_ns,
        } = level
            && let Err(problem) = shape::with_moments(shape, mean_ns as f64, std_ns as f64, 0)
        {
            return wrong(&[at[0], at[1], Key("shape")], problem);
        }
    }
    Ok(())
}

/// The packet case whose samples distributions are fitted to: the first that has them.
pub fn characterised(experiment: &Experiment) -> Option<(usize, &PacketCase)> {
    let transport = experiment.levels.injected.as_ref()?.transport;
    experiment
        .suites
        .packet
        .iter()
        .enumerate()
        .find(|(_, case)| {
            case.is_closed_rtt()
                && case.transports.contains(&transport)
                && [LevelKind::None, LevelKind::Load]
                    .iter()
                    .all(|kind| case.levels.contains(kind))
        })
}
