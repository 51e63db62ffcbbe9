//! What an experiment file may leave out, and what is taken then.

use std::collections::BTreeMap;

use jitterlab_base::units::{Bytes, Nanos};
use jitterlab_base::yaml;
use jitterlab_cluster::Host;
use jitterlab_load::transport::MESSAGE;
use jitterlab_packet::cases::{self, rtt};
use jitterlab_packet::transport::Transport;
use serde_yaml::Value;

use super::{Experiment, Load, PacketCase};

/// The transport of background load.
pub(super) fn load_transport() -> Transport {
    Transport::Udp
}

/// The size of a message of background load: as `jitterlab load run` has it.
pub(super) fn message() -> Bytes {
    MESSAGE
}

/// The transports that need no device.
pub(super) fn transports() -> Vec<Transport> {
    Transport::SOCKETS.to_vec()
}

/// The size of a message: as `jitterlab packet run --case rtt` has it.
pub(super) fn size() -> Bytes {
    rtt::SIZE
}

/// The time to warm up: as `jitterlab packet run --case rtt` has it.
pub(super) fn warmup() -> Nanos {
    rtt::WARMUP
}

/// The time to measure: as `jitterlab packet run` has it for cases that are measured for a time.
pub(super) fn duration() -> Nanos {
    cases::DURATION
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
            message: message(),
            bandwidth: None,
        });
    }
    if let Some(load) = &mut experiment.load {
        fill_ends(&mut load.from, &mut load.to, hosts);
    }
    for case in &mut experiment.suites.packet {
        fill_ends(&mut case.from, &mut case.to, hosts);
    }
}

/// The first host by name asks or sends, the other one answers or takes. A host that is alone does both.
fn fill_ends(from: &mut String, to: &mut String, hosts: &BTreeMap<String, Host>) {
    let Some([first, second]) = pair(hosts) else {
        return;
    };
    let other = |name: &str| if name == first { second } else { first };
    match (from.is_empty(), to.is_empty()) {
        (true, true) => (*from, *to) = (first.clone(), second.clone()),
        (true, false) => *from = other(to).clone(),
        (false, true) => *to = other(from).clone(),
        (false, false) => {}
    }
}

fn pair(hosts: &BTreeMap<String, Host>) -> Option<[&String; 2]> {
    let mut names = hosts.keys();
    let first = names.next()?;
    let second = names.next().unwrap_or(first);
    names.next().is_none().then_some([first, second])
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
    if let Some(load) = &experiment.load {
        said.extend(line("load", written.get("load"), &of_load(load)));
    }
    for (i, case) in experiment.suites.packet.iter().enumerate() {
        let written = written
            .get("suites")
            .and_then(|suites| suites.get("packet")?.get(i));
        let place = format!("suites, packet, {}", case.name());
        said.extend(line(&place, written, &of_packet(case)));
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

fn of_load(load: &Load) -> [(&'static str, String); 4] {
    [
        ("transport", load.transport.to_string()),
        ("from", load.from.clone()),
        ("to", load.to.clone()),
        ("message", load.message.to_string()),
    ]
}

fn of_packet(case: &PacketCase) -> [(&'static str, String); 8] {
    let each = |text: fn(&PacketCase, Transport) -> String| {
        let texts: Vec<String> = case
            .transports
            .iter()
            .map(|&over| text(case, over))
            .collect();
        texts.join(", ")
    };
    [
        (
            "transports",
            format!("[{}]", each(|_, over| over.to_string())),
        ),
        ("from", case.from.clone()),
        ("to", case.to.clone()),
        ("size", case.size.to_string()),
        ("warmup", case.warmup.to_string()),
        ("duration", case.duration.to_string()),
        (
            "wait",
            each(|case, over| format!("{} over {over}", case.wait(over))),
        ),
        ("timeout", rtt::TIMEOUT.to_string()),
    ]
}
