//! Which CPUs measure, which keep house, and which are left empty.

use serde::{Deserialize, Serialize};

use crate::cpus::CpuSet;

/// What is asked of a plan.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Request {
    /// How many programs (MPI ranks) measure at once, a core each; all cores that serve unless given.
    pub ranks: Option<usize>,
    /// The network interface or RDMA device that they use; the likeliest one unless given.
    pub device: Option<String>,
}

/// A division of a node's CPUs. The three sets are disjoint, and every CPU that is online is in one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The device that the plan is made for.
    pub device: Option<String>,
    /// The package that measures: the one nearest to the device.
    pub package: u32,
    /// The CPUs that everything else runs on; the core of CPU 0 always.
    pub housekeeping: CpuSet,
    /// The CPUs that measure, one a core.
    pub measuring: CpuSet,
    /// The SMT siblings of the measuring CPUs, which are to stay empty.
    pub idle: CpuSet,
    /// Why it is so, for people: one sentence each.
    pub reasons: Vec<String>,
}

impl Plan {
    /// The CPUs that nothing else may run on: those that measure, and their siblings.
    pub fn isolated(&self) -> CpuSet {
        self.measuring.or(&self.idle)
    }
}

/// Why there is no plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// No rank.
    #[error("a plan is made for at least 1 rank")]
    NoRank,
    /// No device of that name.
    #[error("there is no device {device} with hardware behind it; {}", listed(.there))]
    UnknownDevice {
        /// The device asked for.
        device: String,
        /// The devices that there are.
        there: Vec<String>,
    },
    /// The only core keeps house.
    #[error(
        "this node has one core that is online, and core 0 keeps house: there is none to measure on"
    )]
    OneCore,
    /// The package has too few cores.
    #[error(
        "asked for {ranks} {} on package {package}{}; it has {cores} {}{}",
        plural(*.ranks, "rank"), nearest(.device.as_deref()), plural(*.cores, "core"), besides(*.with_core_0)
    )]
    TooFewCores {
        /// How many ranks were asked for.
        ranks: usize,
        /// The package nearest to the device.
        package: u32,
        /// The device.
        device: Option<String>,
        /// How many cores the package has for measuring.
        cores: usize,
        /// Whether core 0, which keeps house, is on the package.
        with_core_0: bool,
    },
}

fn listed(devices: &[String]) -> String {
    match devices {
        [] => "this node has none".into(),
        names => format!("this node has {}", names.join(", ")),
    }
}

fn plural(count: usize, noun: &str) -> String {
    match count {
        1 => noun.into(),
        _ => format!("{noun}s"),
    }
}

fn nearest(device: Option<&str>) -> String {
    device.map_or_else(String::new, |device| format!(", nearest to {device}"))
}

fn besides(with_core_0: bool) -> &'static str {
    if with_core_0 {
        " besides core 0, which keeps house"
    } else {
        ""
    }
}
