//! What the types of an experiment file cannot say.

use std::collections::BTreeSet;

use jitterlab_base::input::shortened;
use jitterlab_base::units::{Bytes, Nanos};
use jitterlab_base::yaml::Step::{self, Index, Key};
use jitterlab_base::yaml::{Checked, Wrong, list, suggestion, wrong};
use jitterlab_cluster::{Host, Place, pattern};
use jitterlab_packet::Error;
use jitterlab_packet::transport::{Link, Transport, Wait};

use super::mpi::{check_library, check_mpi, check_npb};
use super::{ApplicationCase, Client, Experiment, InjectedLevels, Load, PacketCase};
use crate::level::LevelKind;
use crate::link;

/// Checks all that has to be right before anything starts.
pub fn check(experiment: &Experiment) -> Checked<'_> {
    if !is_name(&experiment.name) {
        return wrong(&[Key("name")], NAME);
    }
    if !(1..=10_000).contains(&experiment.repetitions) {
        return wrong(&[Key("repetitions")], "there are 1 to 10000 repetitions");
    }
    if experiment.retries > 100 {
        return wrong(&[Key("retries")], "there are at most 100 retries");
    }
    for (name, host) in &experiment.hosts {
        host.check("hosts", name)?;
    }
    if let Some(load) = &experiment.load {
        check_load(experiment, load)?;
    }
    if let Some(mpi) = &experiment.mpi {
        check_mpi(experiment, mpi)?;
    }
    check_levels(experiment)?;
    let suites = &experiment.suites;
    if suites.packet.is_empty() && suites.library.is_empty() && suites.application.is_empty() {
        return wrong(&[Key("suites")], "there is nothing to measure");
    }
    let mut names = BTreeSet::new();
    for (i, case) in suites.packet.iter().enumerate() {
        let at = [Key("suites"), Key("packet"), Index(i)];
        check_packet(experiment, case, &at)?;
        if !names.insert(case.name()) {
            return wrong(&at, twice(case.name()));
        }
    }
    names.clear();
    for (i, case) in suites.library.iter().enumerate() {
        let at = [Key("suites"), Key("library"), Index(i)];
        check_library(experiment, case, &at)?;
        if !names.insert(case.name()) {
            return wrong(&at, twice(case.name()));
        }
    }
    names.clear();
    for (i, case) in suites.application.iter().enumerate() {
        let at = [Key("suites"), Key("application"), Index(i)];
        check_application(experiment, case, &at)?;
        if !names.insert(&case.name) {
            return wrong(&at, twice(&case.name));
        }
    }
    Ok(())
}

pub(super) const NAME: &str =
    "a name has 1 to 40 letters a to z, digits and hyphens, and begins with a letter";

pub(super) fn is_name(text: &str) -> bool {
    text.len() <= 40
        && text.starts_with(|c: char| c.is_ascii_lowercase())
        && text
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
}

fn twice(name: &str) -> String {
    format!("there are two cases of the name `{name}`; give each a `name`")
}

/// A host that is named.
pub(super) fn named<'a>(
    experiment: &'a Experiment,
    name: &str,
    at: &[Step<'a>],
) -> Result<&'a Host, Wrong<'a>> {
    experiment.hosts.get(name).ok_or_else(|| {
        let known = experiment.hosts.keys().map(String::as_str);
        Wrong {
            path: at.into(),
            problem: format!(
                "there is no host `{}`; the hosts are {}{}",
                shortened(name),
                list(known.clone()),
                suggestion(name, known)
            ),
        }
    })
}

/// A host that another one has to reach. The address that a local host has by itself is for hosts
/// that are local too.
fn target<'a>(
    experiment: &'a Experiment,
    from: &Host,
    name: &'a str,
    at: &[Step<'a>],
) -> Checked<'a> {
    let to = named(experiment, name, at)?;
    if to.address().is_none() {
        return wrong(
            &[Key("hosts"), Key(name)],
            format!("host `{name}` receives messages and needs an `address`"),
        );
    }
    if to.address.is_none() && from.at != Place::Local {
        return wrong(
            &[Key("hosts"), Key(name)],
            format!(
                "host `{name}` receives messages from another place ({}) and needs an `address`",
                from.at
            ),
        );
    }
    Ok(())
}

/// Refuses ends that the file leaves out, and that do not follow from its hosts.
fn check_ends<'a>(experiment: &Experiment, ends: [&str; 2], at: &[Step<'a>]) -> Checked<'a> {
    match ends.contains(&"") {
        true => wrong(
            at,
            format!(
                "`from` and `to` have to name hosts: there are {} to choose from",
                experiment.hosts.len()
            ),
        ),
        false => Ok(()),
    }
}

fn check_load<'a>(experiment: &'a Experiment, load: &'a Load) -> Checked<'a> {
    check_ends(experiment, [&load.from, &load.to], &[Key("load")])?;
    let from = named(experiment, &load.from, &[Key("load"), Key("from")])?;
    target(experiment, from, &load.to, &[Key("load"), Key("to")])?;
    if !Transport::SOCKETS.contains(&load.transport) {
        return wrong(
            &[Key("load"), Key("transport")],
            "background load goes over udp or tcp",
        );
    }
    let sizes = load.transport.sizes();
    if !sizes.contains(&load.message.0) {
        let problem = size_problem(load.transport, *sizes.start(), *sizes.end());
        return wrong(&[Key("load"), Key("message")], problem);
    }
    if load.bandwidth.is_some_and(|bandwidth| bandwidth.0 == 0) {
        return wrong(&[Key("load"), Key("bandwidth")], "a bandwidth is above 0");
    }
    Ok(())
}

fn size_problem(transport: Transport, least: u64, most: u64) -> String {
    format!("a message over {transport} has {least} to {most} bytes")
}

/// What is wrong with a link, or with measuring such messages over it: a key, and why.
pub fn link_problem(link: &Link, size: Bytes, wait: Wait) -> Option<(&'static str, String)> {
    let error = link.check(size.0, wait).err()?;
    Some(match error {
        Error::Size {
            transport,
            least,
            most,
            ..
        } => ("size", size_problem(transport, least, most)),
        Error::BlockingWrite => ("wait", error.to_string()),
        Error::Datagram(_) => ("verbs", error.to_string()),
        _ => ("transports", error.to_string()),
    })
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
        return wrong(&[at, Key("load"), Index(i)], "a load is 0 to 100 percent");
    }
    if let Some(i) = repeated(&levels.load) {
        return wrong(&[at, Key("load"), Index(i)], "this load stands there twice");
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
        return wrong(&inside("percent", i), "this load stands there twice");
    }
    if let Some(i) = repeated(&injected.shapes) {
        return wrong(&inside("shapes", i), "this shape stands there twice");
    }
    if injected.percent.is_empty() || injected.shapes.is_empty() {
        return wrong(&at, "`injected` needs at least one load and one shape");
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

/// The packet case whose samples distributions are fitted to: the first that has them.
pub fn characterised(experiment: &Experiment) -> Option<(usize, &PacketCase)> {
    let transport = experiment.levels.injected.as_ref()?.transport;
    experiment
        .suites
        .packet
        .iter()
        .enumerate()
        .find(|(_, case)| {
            case.transports.contains(&transport)
                && [LevelKind::None, LevelKind::Load]
                    .iter()
                    .all(|kind| case.levels.contains(kind))
        })
}

fn check_packet<'a>(
    experiment: &'a Experiment,
    case: &'a PacketCase,
    at: &[Step<'a>; 3],
) -> Checked<'a> {
    let inside = |key| [at[0], at[1], at[2], Key(key)];
    if !is_name(case.name()) {
        return wrong(&inside("name"), NAME);
    }
    check_ends(experiment, [&case.from, &case.to], at)?;
    let from = named(experiment, &case.from, &inside("from"))?;
    target(experiment, from, &case.to, &inside("to"))?;
    if case.transports.is_empty() {
        return wrong(&inside("transports"), "there is no transport");
    }
    if let Some(i) = repeated(&case.transports) {
        return wrong(
            &[at[0], at[1], at[2], Key("transports"), Index(i)],
            "this transport stands there twice",
        );
    }
    if case.verbs.is_some() && !case.transports.contains(&Transport::Verbs) {
        return wrong(
            &inside("verbs"),
            "`verbs` says how messages go over the transport verbs, which is not among `transports`",
        );
    }
    for &transport in &case.transports {
        let link = link::of_host(from, transport, case.verbs());
        if let Some((key, problem)) = link_problem(&link, case.size, case.wait(transport)) {
            return wrong(&inside(key), problem);
        }
    }
    if case.duration.0 < 1_000_000 {
        return wrong(&inside("duration"), "a run takes at least 1ms");
    }
    for (key, time) in [("warmup", case.warmup), ("duration", case.duration)] {
        check_time(time, &inside(key))?;
    }
    if let Some(timeout) = case.timeout {
        check_timeout(timeout, &inside("timeout"))?;
    }
    check_kinds(experiment, &case.levels, at)
}

fn check_application<'a>(
    experiment: &'a Experiment,
    case: &'a ApplicationCase,
    at: &[Step<'a>; 3],
) -> Checked<'a> {
    if !is_name(&case.name) {
        return wrong(&[at[0], at[1], at[2], Key("name")], NAME);
    }
    match (&case.client, &case.npb) {
        (Some(client), None) => check_client(experiment, case, client, at)?,
        (None, Some(npb)) => {
            let theirs = [
                ("server", case.server.is_some()),
                ("runtime", case.runtime.is_some()),
                ("hook", case.hook.is_some()),
            ];
            if let Some((key, _)) = theirs.into_iter().find(|&(_, given)| given) {
                return wrong(
                    &[at[0], at[1], at[2], Key(key)],
                    format!("`{key}` is for programs with a `client`, and this is `npb`"),
                );
            }
            check_npb(experiment, npb, at)?;
        }
        (Some(_), Some(_)) => {
            return wrong(
                &[at[0], at[1], at[2], Key("npb")],
                "`client` and `npb` exclude each other",
            );
        }
        (None, None) => return wrong(at, "it needs a `client` or an `npb`, the program to run"),
    }
    if let Some(runtime) = &case.runtime {
        let at = [at[0], at[1], at[2], Key("runtime"), Key("pattern")];
        let pattern = pattern::of_number(&runtime.pattern);
        pattern.map(drop).or_else(|problem| wrong(&at, problem))?;
    }
    let key = |key| [at[0], at[1], at[2], Key(key)];
    check_timeout(case.timeout, &key("timeout"))?;
    if let Some(expected) = case.expected {
        check_time(expected, &key("expected"))?;
    }
    check_kinds(experiment, &case.levels, at)
}

/// Checks the programs of an application that is not one of ours.
fn check_client<'a>(
    experiment: &'a Experiment,
    case: &'a ApplicationCase,
    client: &'a Client,
    at: &[Step<'a>; 3],
) -> Checked<'a> {
    let inside = |key, inner| [at[0], at[1], at[2], Key(key), Key(inner)];
    let host = named(experiment, &client.on, &inside("client", "on"))?;
    let commands = [
        ("client", Some(&client.command)),
        ("server", case.server.as_ref().map(|server| &server.command)),
    ];
    for (side, command) in commands {
        if command.is_some_and(|command| command.first().is_none_or(String::is_empty)) {
            return wrong(&inside(side, "command"), "there is no program");
        }
    }
    let is_place = |word: &String| word.contains("{address}") || word.contains("{port}");
    if let (None, Some(i)) = (&case.server, client.command.iter().position(is_place)) {
        return wrong(
            &[at[0], at[1], at[2], Key("client"), Key("command"), Index(i)],
            "`{address}` and `{port}` stand for where the `server` listens, and there is none",
        );
    }
    if let Some(server) = &case.server {
        target(experiment, host, &server.on, &inside("server", "on"))?;
        if let Some(pattern) = &server.ready {
            let pattern = pattern::compile(pattern);
            let at = inside("server", "ready");
            pattern.map(drop).or_else(|problem| wrong(&at, problem))?;
        }
    }
    Ok(())
}

pub(super) fn check_timeout<'a>(timeout: Nanos, at: &[Step<'a>]) -> Checked<'a> {
    if timeout.0 == 0 {
        return wrong(at, "a timeout is above 0");
    }
    check_time(timeout, at)
}

/// Background load lasts for a day at most, and a run with its warm-up has to end before.
pub fn check_time<'a>(time: Nanos, at: &[Step<'a>]) -> Checked<'a> {
    const MOST: Nanos = Nanos(10 * 3600 * 1_000_000_000);
    if time > MOST {
        return wrong(at, "this is longer than 36000s, the most there is");
    }
    Ok(())
}

pub(super) fn check_kinds<'a>(
    experiment: &Experiment,
    kinds: &[LevelKind],
    at: &[Step<'a>; 3],
) -> Checked<'a> {
    let at = [at[0], at[1], at[2], Key("levels")];
    if kinds.is_empty() {
        return wrong(
            &at,
            "there is no kind of level; the kinds are `none`, `load`, `injected`",
        );
    }
    match repeated(kinds) {
        Some(i) => wrong(
            &[at[0], at[1], at[2], at[3], Index(i)],
            "this kind stands there twice",
        ),
        None if experiment.levels.of(kinds).is_empty() => wrong(
            &at,
            "the section `levels` has no level of this kind, so this case would measure nothing",
        ),
        None => Ok(()),
    }
}

/// The position of the first that stood there before.
fn repeated<T: PartialEq>(list: &[T]) -> Option<usize> {
    (0..list.len()).find(|&i| list[..i].contains(&list[i]))
}
