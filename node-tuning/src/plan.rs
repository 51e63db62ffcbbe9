//! Decides which CPUs measure, which do the housekeeping, and which are left empty.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use jitterlab_base::show::counted;
use serde::{Deserialize, Serialize};

use crate::cpus::CpuSet;
use crate::topology::{Core, CoreKind, Device, DeviceKind, Package, Topology};

/// The request for a plan.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Request {
    /// The number of programs (MPI ranks) that measure at once, a core each; all cores that serve unless given.
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

/// Why there is no plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// No rank.
    #[error("a plan needs at least 1 rank")]
    NoRank,
    /// No device of that name.
    #[error("there is no device {device} with hardware behind it; {}", listed(.there))]
    UnknownDevice {
        /// The device asked for.
        device: String,
        /// The devices that there are.
        there: Vec<String>,
    },
    /// The only core does the housekeeping.
    #[error(
        "the node has only one core online. The kernel needs it, so no core is left to measure on"
    )]
    OneCore,
    /// The package has too few cores.
    #[error(
        "there are not enough cores for {} on {}; cores to measure on: {}",
        counted(*.ranks, "rank"),
        place_in_words(*.nearest, .device.as_deref()),
        cores_in_words(.cores, *.house)
    )]
    TooFewCores {
        /// The number of ranks that were asked for; 1 if none was said.
        ranks: usize,
        /// The package that is nearest; nothing when several are as near, and none has enough.
        nearest: Option<u32>,
        /// The device that it is nearest to.
        device: Option<String>,
        /// The package of core 0.
        house: u32,
        /// The number of cores that could measure, by package, and there of each class that it has, the fastest first.
        cores: Vec<(u32, Vec<usize>)>,
    },
}

impl Plan {
    /// Divides the CPUs of a node.
    ///
    /// Measuring: one thread of each of as many cores as there are ranks. All are on the package nearest
    /// to the device, so that no message crosses the link between packages. The core of CPU 0 never
    /// measures: the kernel gives it work of its own (the paper on latency variation, section 4.1.2). All
    /// cores are of one class, the fastest with enough of them in the package. Cores of the NUMA node
    /// nearest to the device come first, then those with the lowest numbers.
    ///
    /// # Errors
    /// The node has no such device, or too few cores.
    pub fn make(topology: &Topology, request: &Request) -> Result<Plan, Refusal> {
        if request.ranks == Some(0) {
            return Err(Refusal::NoRank);
        }
        let (device, why_device) = choose_device(topology, request.device.as_deref())?;
        // Cores are sorted by their first CPU: this one is CPU 0's, or where CPU 0 is offline, the next.
        let (house, free) = match topology.cores.split_first() {
            Some((house, free)) if !free.is_empty() => (house, free),
            _ => return Err(Refusal::OneCore),
        };
        let (package, why_package) =
            choose_package(topology, (house, free), device, request.ranks)?;
        let there = free.iter().filter(|core| core.package == package.id);
        let (cores, why_cores) = choose_cores(topology, there.collect(), device, request.ranks);

        let measuring: CpuSet = cores.iter().filter_map(|core| core.cpus.first()).collect();
        let threads: CpuSet = cores.iter().flat_map(|core| core.cpus.iter()).collect();
        let idle = threads.without(&measuring);
        let mut reasons = vec![
            why_device,
            why_package,
            format!(
                "core {} (CPU {}) does the housekeeping: the kernel gives it work of its own",
                house.id, house.cpus
            ),
            why_cores,
        ];
        if !idle.is_empty() {
            reasons.push(format!(
                "CPU {idle} stays empty: it would share cores with CPUs that measure"
            ));
        }
        if topology.virtual_machine {
            reasons.push(
                "this is a virtual machine: only its host can keep other work off these CPUs"
                    .into(),
            );
        }
        Ok(Plan {
            device: device.map(|device| device.name.clone()),
            package: package.id,
            housekeeping: topology.online.without(&threads),
            measuring,
            idle,
            reasons,
        })
    }

    /// The CPUs that nothing else may run on: those that measure, and their siblings.
    pub fn isolated(&self) -> CpuSet {
        self.measuring.or(&self.idle)
    }
}

/// The device asked for, or the one that is most likely meant; and why.
fn choose_device<'a>(
    topology: &'a Topology,
    asked: Option<&str>,
) -> Result<(Option<&'a Device>, String), Refusal> {
    if let Some(name) = asked {
        let names = || topology.devices.iter().map(|device| device.name.clone());
        let device = topology
            .device(name)
            .ok_or_else(|| Refusal::UnknownDevice {
                device: name.into(),
                there: names().collect(),
            })?;
        return Ok((Some(device), format!("{name} was asked for")));
    }
    let likely = topology.devices.iter().filter(|device| match device.kind {
        DeviceKind::Rdma => true,
        // A bond or a VLAN is no likelier than what it is made of, which says more of where it is.
        DeviceKind::Network => device.up && (device.pci.is_some() || device.driver.is_some()),
    });
    let device = likely.min_by_key(|device| {
        let distances = device.distances.iter().filter_map(|to| to.distance);
        (
            !device.up,
            device.kind,
            distances.min().unwrap_or(u32::MAX),
            Reverse(device.speed_mbps),
            device.bridges.len(),
        )
    });
    let why = match device {
        None => "no device is thought of: there is no RDMA device, and no network interface with \
                 hardware behind it is up"
            .into(),
        Some(device) => format!(
            "{} is taken since none was asked for: {}",
            device.name,
            match (device.kind, device.up) {
                (DeviceKind::Rdma, true) =>
                    "RDMA devices come first, the nearest and fastest of them",
                (DeviceKind::Rdma, false) => "it is an RDMA device, although no link is up",
                (DeviceKind::Network, _) =>
                    "of the network interfaces that are up it is the nearest and fastest",
            }
        ),
    };
    Ok((device, why))
}

/// The package nearest to the device, of several that are as near the first that has enough cores;
/// and why.
fn choose_package<'a>(
    topology: &'a Topology,
    (house, free): (&Core, &[Core]),
    device: Option<&Device>,
    ranks: Option<usize>,
) -> Result<(&'a Package, String), Refusal> {
    let is_local = |package: &&Package| {
        let mut distances = device.iter().flat_map(|device| &device.distances);
        distances.any(|to| to.package == package.id && to.local)
    };
    let local: Vec<&Package> = topology.packages.iter().filter(is_local).collect();
    let candidates = match local.as_slice() {
        [] => topology.packages.iter().collect(),
        _ => local.clone(),
    };
    let cores = |package: &Package| {
        let there = free.iter().filter(|core| core.package == package.id);
        let mut classes: BTreeMap<u32, usize> = BTreeMap::new();
        for core in there {
            *classes.entry(core.class).or_default() += 1;
        }
        classes.into_values().collect::<Vec<_>>()
    };
    let ranks = ranks.unwrap_or(1);
    let is_enough = |package: &&&Package| cores(package).iter().any(|&alike| alike >= ranks);
    let Some(package) = candidates.iter().find(is_enough) else {
        let nearest = <[&Package; 1]>::try_from(candidates).ok();
        return Err(Refusal::TooFewCores {
            ranks,
            device: device
                .filter(|_| nearest.is_some())
                .map(|device| device.name.clone()),
            nearest: nearest.map(|[package]| package.id),
            house: house.package,
            cores: topology
                .packages
                .iter()
                .map(|package| (package.id, cores(package)))
                .collect(),
        });
    };
    let because = match device {
        _ if topology.packages.len() == 1 => "the node has no other".into(),
        None => "it is the first that has enough cores".into(),
        Some(device) if local.is_empty() => {
            format!("which one {} is nearest to is not known", device.name)
        }
        Some(device) => {
            let distances = device.distances.iter();
            let told = distances
                .filter_map(|to| Some(format!("{} from package {}", to.distance?, to.package)))
                .collect::<Vec<_>>();
            match told.as_slice() {
                [] => format!("it is nearest to {}", device.name),
                told => format!(
                    "it is nearest to {} (distance {})",
                    device.name,
                    told.join(", ")
                ),
            }
        }
    };
    Ok((
        package,
        format!("package {} measures: {because}", package.id),
    ))
}

/// The best of these cores, as many as there are ranks, or unless that is said, all of the best class. All are of one
/// class, since ranks at two speeds would be a variation of their own. And why.
fn choose_cores<'a>(
    topology: &Topology,
    mut cores: Vec<&'a Core>,
    device: Option<&Device>,
    ranks: Option<usize>,
) -> (Vec<&'a Core>, String) {
    let attached = device.and_then(|device| device.numa_node);
    let row = topology
        .numa_nodes
        .iter()
        .find(|node| Some(node.id) == attached);
    let distance = |core: &Core| row.and_then(|row| row.distances.get(&core.numa_node));
    cores.sort_by_key(|core| (core.class, distance(core), core.cpus.first()));
    let of_class = |class| cores.iter().filter(move |core| core.class == class);
    let classes = cores.iter().map(|core| core.class);
    let has_enough = |&class: &u32| of_class(class).count() >= ranks.unwrap_or(1);
    let class = classes.clone().find(has_enough).unwrap_or(0);
    let mut alike: Vec<&Core> = of_class(class).copied().collect();
    let others: Vec<&Core> = cores
        .iter()
        .filter(|core| core.class != class)
        .copied()
        .collect();
    let because = because(&alike, &others, ranks);
    alike.truncate(ranks.unwrap_or(alike.len()));

    let (all, chosen) = (cores.len(), alike.len());
    let why = match ranks {
        Some(_) => format!("of {all} cores that could measure, {chosen} do, one a rank"),
        None if chosen == all => format!("all cores that could measure do ({all})"),
        None => format!("of {all} cores that could measure, {chosen} do"),
    };
    (alike, why + &because)
}

/// The words about the cores that measure, where there are others, or these are slow.
fn because(alike: &[&Core], others: &[&Core], ranks: Option<usize>) -> String {
    let Some(core) = alike.first() else {
        return String::new();
    };
    let faster = others.iter().filter(|other| other.class < core.class);
    let told = match (core.kind, faster.count()) {
        (CoreKind::Efficiency, 0) if others.is_empty() => {
            return "; they are efficiency cores: there are no others".into();
        }
        (_, 0) if others.is_empty() => return String::new(),
        (CoreKind::Performance, _) if others.iter().any(|other| other.kind == core.kind) => {
            "; the others are of another kind, by their caches or threads".into()
        }
        (_, 0) if ranks.is_none() => "; the others are efficiency cores".into(),
        (_, 0) => "; they are of the fastest kind".into(),
        (_, faster) => format!("; they are efficiency cores: of faster ones there are {faster}"),
    };
    let clocks = match (clock(core), others.iter().find_map(|other| clock(other))) {
        (Some(these), Some(others)) if these != others => {
            format!(" (up to {these} GHz here, {others} GHz there)")
        }
        _ => String::new(),
    };
    format!("{told}{clocks}, and cores of two kinds are not mixed")
}

/// The highest clock of a core in GHz.
fn clock(core: &Core) -> Option<String> {
    Some(format!("{:.2}", core.max_khz? as f64 / 1e6))
}

fn listed(devices: &[String]) -> String {
    match devices {
        [] => "this node has none".into(),
        names => format!("this node has {}", names.join(", ")),
    }
}

fn place_in_words(nearest: Option<u32>, device: Option<&str>) -> String {
    match (nearest, device) {
        (None, _) => "one package".into(),
        (Some(package), None) => format!("package {package}"),
        (Some(package), Some(device)) => format!("package {package}, the nearest to {device}"),
    }
}

fn cores_in_words(cores: &[(u32, Vec<usize>)], house: u32) -> String {
    let package = |(package, classes): &(u32, Vec<usize>)| {
        let besides = if *package == house {
            " besides core 0, which does the housekeeping"
        } else {
            ""
        };
        let cores = match &classes[..] {
            [] => "0".into(),
            [alike] => alike.to_string(),
            [first, others @ ..] => {
                let others = others.iter().map(|n| format!(", {n} of another"));
                format!("{first} of one kind{}", others.collect::<String>())
            }
        };
        format!("{cores} on package {package}{besides}")
    };
    let packages = cores.iter().map(package).collect::<Vec<_>>().join("; ");
    match cores.iter().any(|(_, classes)| classes.len() > 1) {
        true => packages + "; cores of two kinds are not mixed",
        false => packages,
    }
}
