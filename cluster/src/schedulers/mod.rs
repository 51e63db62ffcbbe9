//! The words of a scheduler: the nodes that a job has, and the standing of a node.

mod node;
mod nodelist;
mod pbs;

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs, UdpSocket};
use std::path::{Path, PathBuf};

use jitterlab_base::input::{InputError, shortened};
use thiserror::Error;

use crate::host::{Host, is_path};
use crate::place::Place;

pub use node::{Act, Fit, SlurmNode, Standing};
pub use nodelist::{counts, expand};

/// The nodes of a job of Slurm or PBS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allocation {
    /// Its name: `job 17 of Slurm`.
    pub job: String,
    /// Its nodes, in the order in which the scheduler names them.
    pub nodes: Vec<Allocated>,
}

/// A node of an allocation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allocated {
    /// The scheduler's name for it.
    pub name: String,
    /// The ranks that it takes.
    pub ranks: u32,
    /// True if it is this machine.
    pub is_here: bool,
}

/// An allocation that cannot be used.
#[derive(Debug, Error)]
pub enum AllocationError {
    /// A variable of the scheduler says nothing that could be read.
    #[error("{variable} of {job}: {problem}")]
    Variable {
        /// The job.
        job: String,
        /// The variable.
        variable: &'static str,
        /// The problem.
        problem: String,
    },
    /// The file that names the nodes cannot be read.
    #[error("cannot read the nodes of {job} from {path}", path = path.display())]
    File {
        /// The job.
        job: String,
        /// The file.
        path: PathBuf,
        /// The error of the reader.
        source: InputError,
    },
    /// A node has no address that others reach it by.
    #[error("cannot find the address of {node}, a node of {job}")]
    Address {
        /// The job.
        job: String,
        /// The node.
        node: String,
        /// The system's error.
        source: io::Error,
    },
}

impl Allocation {
    /// The one that this process runs in, if it does.
    ///
    /// # Errors
    /// What the scheduler says of it cannot be read.
    pub fn here() -> Result<Option<Self>, AllocationError> {
        let hostname = nix::unistd::gethostname().unwrap_or_default();
        Allocation::told(
            &|name| std::env::var(name).ok(),
            &hostname.to_string_lossy(),
        )
    }

    /// The one that variables of the environment tell of, on the machine of this name.
    ///
    /// # Errors
    /// As those of [`Allocation::here`].
    pub fn told(
        variable: &dyn Fn(&str) -> Option<String>,
        hostname: &str,
    ) -> Result<Option<Self>, AllocationError> {
        if let Some(list) = variable(NODELIST) {
            return slurm(variable, hostname, &list).map(Some);
        }
        let Some(path) = variable(pbs::NODEFILE) else {
            return Ok(None);
        };
        let job = named(variable("PBS_JOBID"), "PBS");
        let nodes = pbs::nodes(&job, Path::new(&path))?;
        Ok(Some(Allocation::of(job, nodes, hostname)))
    }

    fn of(job: String, nodes: Vec<(String, u32)>, here: &str) -> Self {
        let nodes = nodes.into_iter().map(|(name, ranks)| Allocated {
            is_here: is_same(&name, here),
            name,
            ranks,
        });
        Allocation {
            job,
            nodes: nodes.collect(),
        }
    }

    /// Its nodes as hosts, in their order: this machine is local, the others are at the end of ssh, where `program` is the
    /// path of `jitterlab`, as it is here.
    ///
    /// # Errors
    /// A node has no address, or a name that is not one of a host.
    pub fn hosts(&self, program: &Path) -> Result<Vec<Host>, AllocationError> {
        let program = program.to_str().filter(|path| is_path(path));
        let alone = self.nodes.len() == 1;
        let host = |node: &Allocated| -> Result<Host, AllocationError> {
            let address = |source| AllocationError::Address {
                job: self.job.clone(),
                node: node.name.clone(),
                source,
            };
            let at = match node.is_here {
                true => Place::Local,
                false => Place::Ssh(node.name.clone()),
            };
            Ok(Host {
                address: match alone && node.is_here {
                    true => None,
                    false => Some(self.address(node).map_err(address)?),
                },
                jitterlab: program.filter(|_| !node.is_here).map(String::from),
                slots: Some(node.ranks),
                ..Host::at(at)
            })
        };
        self.nodes.iter().map(host).collect()
    }

    /// The address that the other nodes reach a node by: that of its name. A machine often knows its own name by an address of
    /// loopback. So this machine's address is the one that it sends to another node from.
    fn address(&self, node: &Allocated) -> io::Result<IpAddr> {
        let other = self.nodes.iter().find(|other| !other.is_here);
        match other.filter(|_| node.is_here) {
            Some(other) => sends_from(address_of(&other.name)?),
            None => address_of(&node.name),
        }
    }
}

/// The nodes of a job of Slurm.
fn slurm(
    variable: &dyn Fn(&str) -> Option<String>,
    hostname: &str,
    list: &str,
) -> Result<Allocation, AllocationError> {
    let job = named(variable("SLURM_JOB_ID"), "Slurm");
    let wrong = |variable| {
        let job = job.clone();
        move |problem| AllocationError::Variable {
            job,
            variable,
            problem,
        }
    };
    let names = expand(list).map_err(wrong(NODELIST))?;
    let ranks = match variable(TASKS) {
        Some(text) => counts(&text).map_err(wrong(TASKS))?,
        None => vec![1; names.len()],
    };
    if ranks.len() != names.len() {
        let problem = format!("{} counts for {} nodes", ranks.len(), names.len());
        return Err(wrong(TASKS)(problem));
    }
    // slurmd says which of its nodes a machine is, and knows better than its name.
    let here = variable(NODE).unwrap_or_else(|| hostname.into());
    let nodes = names.into_iter().zip(ranks).collect();
    Ok(Allocation::of(job, nodes, &here))
}

const NODELIST: &str = "SLURM_JOB_NODELIST";
const TASKS: &str = "SLURM_TASKS_PER_NODE";
/// The variable with slurmd's name for the node that something runs on.
const NODE: &str = "SLURMD_NODENAME";

fn named(id: Option<String>, scheduler: &str) -> String {
    match id {
        Some(id) => format!("job {} of {scheduler}", shortened(&id)),
        None => format!("a job of {scheduler}"),
    }
}

/// True if two names are of one machine: one of them may lack the domain.
fn is_same(a: &str, b: &str) -> bool {
    let short = |name| str::split(name, '.').next();
    a == b || (!a.contains('.') || !b.contains('.')) && short(a) == short(b)
}

fn address_of(name: &str) -> io::Result<IpAddr> {
    let found = (name, 0).to_socket_addrs()?;
    let found: Vec<IpAddr> = found.map(|found| found.ip()).collect();
    reachable(&found).ok_or_else(|| io::Error::other("its name leads to this machine alone"))
}

/// The first that others reach, of IPv4 if there is one.
fn reachable(addresses: &[IpAddr]) -> Option<IpAddr> {
    let reached = || addresses.iter().filter(|address| !address.is_loopback());
    let first = reached().find(|address| address.is_ipv4());
    first.or_else(|| reached().next()).copied()
}

/// The address that messages to another one leave from. None is sent.
fn sends_from(other: IpAddr) -> io::Result<IpAddr> {
    let any: SocketAddr = match other {
        IpAddr::V4(_) => ([0; 4], 0).into(),
        IpAddr::V6(_) => ([0; 16], 0).into(),
    };
    let socket = UdpSocket::bind(any)?;
    // Any port will do.
    socket.connect((other, 9))?;
    Ok(socket.local_addr()?.ip())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(variables: &[(&str, &str)], hostname: &str) -> Result<Option<Allocation>, String> {
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| value.to_string())
        };
        Allocation::told(&variable, hostname).map_err(|error| error.to_string())
    }

    #[test]
    fn slurm_tells_nodes_and_ranks() {
        let job = [
            ("SLURM_JOB_ID", "17"),
            ("SLURM_JOB_NODELIST", "c[009-010],login"),
            ("SLURM_TASKS_PER_NODE", "4(x2),1"),
        ];
        let allocation = told(&job, "c010.lab.example").unwrap().unwrap();
        assert_eq!(allocation.job, "job 17 of Slurm");
        let nodes = allocation.nodes.iter();
        let nodes: Vec<_> = nodes
            .map(|node| (node.name.as_str(), node.ranks, node.is_here))
            .collect();
        assert_eq!(
            nodes,
            [("c009", 4, false), ("c010", 4, true), ("login", 1, false)]
        );
        // slurmd knows better than the name of the machine.
        let named = [&job[..], &[("SLURMD_NODENAME", "c009")]].concat();
        let allocation = told(&named, "c010").unwrap().unwrap();
        assert!(allocation.nodes[0].is_here && !allocation.nodes[1].is_here);
        assert_eq!(told(&[], "c010"), Ok(None));
    }

    #[test]
    fn what_slurm_does_not_say_is_not_guessed() {
        for (list, tasks, problem) in [
            ("c[1-2", "1(x2)", "SLURM_JOB_NODELIST of a job of Slurm: "),
            ("c[1-2]", "1(x3)", "3 counts for 2 nodes"),
            (
                "c[1-2]",
                "1(y2)",
                "SLURM_TASKS_PER_NODE of a job of Slurm: ",
            ),
        ] {
            let job = [
                ("SLURM_JOB_NODELIST", list),
                ("SLURM_TASKS_PER_NODE", tasks),
            ];
            let error = told(&job, "c1").unwrap_err();
            assert!(error.contains(problem), "{error}");
        }
    }

    #[test]
    fn a_machine_is_known_with_and_without_its_domain() {
        assert!(is_same("n1", "n1") && is_same("n1", "n1.lab") && is_same("n1.lab", "n1"));
        assert!(!is_same("n1.a", "n1.b") && !is_same("n1", "n10") && !is_same("n1", ""));
    }

    #[test]
    fn a_node_that_is_alone_needs_no_address() {
        let job = [
            ("SLURM_JOB_NODELIST", "nowhere"),
            ("SLURM_TASKS_PER_NODE", "3"),
        ];
        let allocation = told(&job, "nowhere").unwrap().unwrap();
        let hosts = allocation.hosts(Path::new("/usr/bin/jitterlab")).unwrap();
        assert_eq!((&hosts[0].at, hosts[0].address), (&Place::Local, None));
        assert_eq!((hosts[0].slots, &hosts[0].jitterlab), (Some(3), &None));
    }

    #[test]
    fn an_address_of_loopback_leads_nobody_here() {
        let all = ["127.0.1.1", "::1", "fd00::1", "10.0.0.1"].map(|text| text.parse().unwrap());
        assert_eq!(reachable(&all), Some(all[3]));
        assert_eq!(reachable(&all[..3]), Some(all[2]));
        assert_eq!(reachable(&all[..2]), None);
    }
}
