//! The way that messages went, as far as the experiment file says. A packet and an operation of MPI need one in
//! common to be compared.

use std::fmt;

use jitterlab_base::units::Bytes;
use jitterlab_experiment::record::Transport;
use jitterlab_experiment::spec::{Experiment, Launcher, Mpi};
use jitterlab_experiment::suites::Case;
use jitterlab_experiment::suites::library::LibraryCaseKind;

use crate::analysis::condition::Link;
use crate::words;

/// The way of a message there and back.
#[derive(Debug, Clone, PartialEq)]
pub struct Route {
    /// Its bytes.
    size: Option<Bytes>,
    /// Between which hosts, in the order of their names.
    hosts: Option<[String; 2]>,
    /// The transport.
    transport: Option<Transport>,
}

impl Route {
    /// The route of the packets over a link.
    pub fn of_packets(experiment: &Experiment, link: &Link) -> Option<Self> {
        let mut cases = experiment.suites.packet.iter();
        let case = cases.find(|case| case.name() == link.case)?;
        Some(Route {
            size: Some(case.message()),
            hosts: Some(sorted(&case.from, &case.to)),
            transport: Some(link.transport),
        })
    }

    /// The route of a ping-pong over MPI, by the name of its case, with messages of so many bytes.
    pub fn of_ping_pong(experiment: &Experiment, case: &str, size: Option<u64>) -> Option<Self> {
        let mut cases = experiment.suites.library.iter();
        let case = cases.find(|known| known.name() == case)?;
        let mpi = experiment.mpi.as_ref()?;
        let is_one_pair = case.case == LibraryCaseKind::PingPong && case.ranks == 2;
        Some(Route {
            size: size.map(Bytes),
            hosts: second(mpi)
                .filter(|_| is_one_pair)
                .map(|second| sorted(&mpi.on, second)),
            transport: is_tcp(mpi).then_some(Transport::Tcp),
        })
    }

    /// True if two are known, and one.
    pub fn is(&self, other: &Route) -> bool {
        let is_known = self.size.is_some() && self.hosts.is_some() && self.transport.is_some();
        is_known && self == other
    }
}

fn sorted(a: &str, b: &str) -> [String; 2] {
    let mut hosts = [a.to_string(), b.to_string()];
    hosts.sort();
    hosts
}

/// The host of rank 1, where that is certain.
fn second(mpi: &Mpi) -> Option<&str> {
    if mpi.hosts.is_empty() && mpi.launcher == Launcher::Mpirun {
        return Some(&mpi.on);
    }
    let mut others = mpi.hosts.keys().filter(|&name| *name != mpi.on);
    match (
        option(mpi, &["--map-by", "-map-by"]),
        mpi.hosts.get(&mpi.on)?,
    ) {
        (Some("node"), _) | (None, 1) => others.next().map(String::as_str),
        (None, _) => Some(&mpi.on),
        (Some(_), _) => None,
    }
}

/// True if Open MPI was told to send over TCP and nothing else.
fn is_tcp(mpi: &Mpi) -> bool {
    let parameter = |name: &str| {
        let mut words = mpi.arguments.windows(3);
        words.find_map(|words| match words {
            [mca, key, value] if mca.trim_start_matches('-') == "mca" && key == name => {
                Some(value.as_str())
            }
            _ => None,
        })
    };
    let is_alone = |btl: &str| {
        let names: Vec<&str> = btl.split(',').collect();
        names.contains(&"tcp") && names.iter().all(|name| ["self", "tcp"].contains(name))
    };
    mpi.launcher == Launcher::Mpirun
        && parameter("pml") == Some("ob1")
        && parameter("btl").is_some_and(is_alone)
}

/// The word after one of these words in the launcher's arguments.
fn option<'a>(mpi: &'a Mpi, names: &[&str]) -> Option<&'a str> {
    let mut words = mpi.arguments.windows(2);
    let given = words.find(|words| names.contains(&words[0].as_str()))?;
    Some(&given[1])
}

impl fmt::Display for Route {
    /// `64B between a and b over TCP`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.size {
            Some(size) => write!(f, "{size}")?,
            None => f.write_str("messages of unknown size")?,
        }
        match &self.hosts {
            Some([a, b]) if a == b => write!(f, " within {a}")?,
            Some([a, b]) => write!(f, " between {a} and {b}")?,
            None => f.write_str(" between ranks whose hosts are not known")?,
        }
        match self.transport {
            Some(transport) => write!(f, " over {}", words::transport(transport.name())),
            None => f.write_str(" over what the MPI chose"),
        }
    }
}
