//! The hosts file of `jitterlab validate`: which hosts have to fit, and which may replace them.

use std::collections::BTreeMap;
use std::path::Path;

use jitterlab_base::units::{Bytes, Nanos, Percent};
use jitterlab_base::yaml::Step::{self, Key};
use jitterlab_base::yaml::{Checked, FileError, Wrong, parse, parse_filled, text_of, wrong};
use jitterlab_cluster::inventory::{self, Inventory};
use jitterlab_cluster::{Host, NO_ADDRESS, Place, Trust};
use jitterlab_packet::transport::{Link, Transport, Verbs, Wait};
use jitterlab_verbs::Adapter;
use serde::Deserialize;

use super::hosts_file;
use crate::scene::rules::{check_time, link_problem};

/// A cluster, as its hosts file describes it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cluster {
    /// The hosts by the names that mpirun and Slurm know them by.
    pub hosts: BTreeMap<String, Host>,
    /// Hosts that replace those that do not fit, taken in the order of their names.
    #[serde(default)]
    pub spares: BTreeMap<String, Host>,
    /// The trust in hosts at the end of ssh whose keys are not named.
    #[serde(default)]
    pub trust: Trust,
    /// Processes that a host takes that does not say so itself, for the hostfile of mpirun.
    #[serde(default = "one")]
    pub slots: u32,
    /// Size of a message.
    #[serde(default = "size")]
    pub size: Bytes,
    /// The way that answers are waited for.
    #[serde(default)]
    pub wait: Wait,
    /// The options of messages over verbs, if that is the transport.
    #[serde(default)]
    pub verbs: Verbs,
    /// The time that a measurement of a pair warms up.
    #[serde(default = "warmup")]
    pub warmup: Nanos,
    /// The time that a measurement of a pair takes.
    #[serde(default = "duration")]
    pub duration: Nanos,
    /// The number of times that each pair is measured.
    #[serde(default = "repetitions")]
    pub repetitions: u32,
    /// Level of significance of the whole verdict.
    #[serde(default = "alpha")]
    pub alpha: f64,
    /// The least slowdown that matters.
    #[serde(default = "minimum_effect")]
    pub minimum_effect: Percent,
    /// Pairs that are measured at the same time [default: those of a round; 1 where hosts share this
    /// machine].
    pub at_once: Option<usize>,
    /// The seed that the order of the measurements follows from.
    #[serde(default = "seed")]
    pub seed: u64,
}

fn one() -> u32 {
    1
}

fn size() -> Bytes {
    Bytes(64)
}

fn warmup() -> Nanos {
    Nanos(5_000_000)
}

fn duration() -> Nanos {
    Nanos(10_000_000)
}

fn repetitions() -> u32 {
    40
}

fn alpha() -> f64 {
    0.05
}

fn minimum_effect() -> Percent {
    Percent::new(5.0).unwrap_or_default()
}

fn seed() -> u64 {
    1
}

impl Cluster {
    /// Reads a hosts file for a validation over `transport`: one of our own form, or an inventory.
    ///
    /// # Errors
    /// It cannot be read, or something in it is wrong: with its place.
    pub fn load(path: &Path, transport: Transport) -> Result<Self, FileError> {
        Cluster::parse(&text_of("hosts file", path)?, path, transport)
    }

    /// Reads the text of a hosts file; `path` is for messages, and leads to a file that it names for its hosts.
    ///
    /// # Errors
    /// Something in it is wrong: with its place.
    pub fn parse(text: &str, path: &Path, transport: Transport) -> Result<Self, FileError> {
        if inventory::is_inventory(text, path) {
            return Cluster::of_inventory(text, path, transport);
        }
        let filled = hosts_file::filled_in(text, path, hosts)?;
        let (text, spares) = match &filled {
            Some((text, spares)) => (text.as_str(), Some(spares)),
            None => (text, None),
        };
        let fill = |cluster: &mut Cluster| {
            let spares = spares.into_iter().flatten();
            cluster
                .spares
                .extend(spares.map(|(name, host)| (name.clone(), host.clone())));
        };
        parse_filled(text, path, fill, |cluster| check(cluster, transport))
    }

    /// The hosts of an inventory, with the usual settings.
    fn of_inventory(text: &str, path: &Path, transport: Transport) -> Result<Self, FileError> {
        let mut inventory = Inventory::parse(text, path, None)?;
        inventory.find_addresses();
        let usual = parse("hosts: {}", path, |_: &Cluster| Ok(()))?;
        let cluster = Cluster {
            hosts: inventory.hosts.clone(),
            spares: inventory.spares.clone(),
            ..usual
        };
        match check(&cluster, transport) {
            Ok(()) => Ok(cluster),
            Err(Wrong { path: at, problem }) => {
                let host = at.get(1).map_or("", |step| match step {
                    Key(name) => name,
                    Step::Index(_) => "",
                });
                Err(inventory.error(host, problem, text, path))
            }
        }
    }

    /// A host or spare.
    pub fn host(&self, name: &str) -> Option<&Host> {
        self.hosts.get(name).or_else(|| self.spares.get(name))
    }

    /// Processes that a host takes, for the hostfile of mpirun.
    pub fn slots(&self, name: &str) -> u32 {
        let own = self.host(name).and_then(|host| host.slots);
        own.unwrap_or(self.slots)
    }

    /// Pairs that are measured at the same time, at most. Hosts that share a machine share its CPUs:
    /// measured at the same time, their pairs would disturb each other.
    pub fn at_once(&self) -> usize {
        let together = if self.share_this_machine() {
            1
        } else {
            usize::MAX
        };
        self.at_once.unwrap_or(together)
    }

    fn share_this_machine(&self) -> bool {
        let hosts = self.hosts.values().chain(self.spares.values());
        let here = hosts.filter(|host| matches!(host.at, Place::Local | Place::Netns(_)));
        here.count() > 1
    }
}

fn check(cluster: &Cluster, transport: Transport) -> Checked<'_> {
    check_hosts(cluster)?;
    if cluster.slots == 0 {
        return wrong(&[Key("slots")], "a host has at least 1 slot");
    }
    if transport == Transport::Shm {
        return wrong(
            &[Key("hosts")],
            "the transport shm cannot compare hosts, which share no memory; choose udp, tcp or verbs",
        );
    }
    let link = match Link::of(transport) {
        Link::Verbs(..) => Link::Verbs(cluster.verbs, Adapter::default()),
        sockets => sockets,
    };
    if let Some((key, problem)) = link_problem(&link, cluster.size, cluster.wait) {
        return wrong(&[Key(key)], problem);
    }
    if cluster.wait == Wait::Poll && cluster.share_this_machine() {
        return wrong(
            &[Key("wait")],
            "hosts that share this machine would hold its CPUs with polling; use `block`",
        );
    }
    if cluster.duration.0 < 1_000_000 {
        return wrong(&[Key("duration")], "a measurement takes at least 1ms");
    }
    for (key, time) in [("warmup", cluster.warmup), ("duration", cluster.duration)] {
        check_time(time, &[Key(key)])?;
    }
    if !(1..=1_000).contains(&cluster.repetitions) {
        return wrong(&[Key("repetitions")], "there are 1 to 1000 repetitions");
    }
    if !(cluster.alpha > 0.0 && cluster.alpha < 1.0) {
        return wrong(&[Key("alpha")], "alpha lies between 0 and 1, as in 0.05");
    }
    if cluster.at_once == Some(0) {
        return wrong(&[Key("at_once")], "at least 1 pair is measured at once");
    }
    Ok(())
}

/// The hosts and spares of a hosts file of our own form, for whoever validates nothing; `path` is for messages.
///
/// # Errors
/// Something in it is wrong: with its place.
pub fn hosts(text: &str, path: &Path) -> Result<[BTreeMap<String, Host>; 2], FileError> {
    let cluster: Cluster = parse(text, path, |cluster: &Cluster| {
        let spares = cluster.spares.iter().map(|spare| ("spares", spare));
        let mut all = cluster
            .hosts
            .iter()
            .map(|host| ("hosts", host))
            .chain(spares);
        all.try_for_each(|(section, (name, host))| host.check(section, name))
    })?;
    Ok([cluster.hosts, cluster.spares])
}

fn check_hosts(cluster: &Cluster) -> Checked<'_> {
    if cluster.hosts.len() < 2 {
        return wrong(&[Key("hosts")], "a validation needs at least two hosts");
    }
    let hosts = cluster.hosts.iter().map(|host| ("hosts", host));
    let spares = cluster.spares.iter().map(|host| ("spares", host));
    let everybody_is_local = cluster
        .hosts
        .values()
        .chain(cluster.spares.values())
        .all(|host| host.at == Place::Local);
    for (section, (name, host)) in hosts.chain(spares) {
        let at = [Key(section), Key(name)];
        if section == "spares" && cluster.hosts.contains_key(name) {
            return wrong(&at, format!("`{name}` is one of the `hosts` already"));
        }
        host.check(section, name)?;
        if host.address.is_none() && !everybody_is_local {
            return wrong(
                &at,
                format!("host `{name}` receives messages from the others and {NO_ADDRESS}"),
            );
        }
    }
    Ok(())
}
