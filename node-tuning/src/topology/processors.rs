//! Packages, cores, NUMA nodes and caches.

use std::collections::BTreeMap;

use super::tree::{CPU, Tree};
use super::{Cache, CacheKind, Core, Error, NumaNode, Package, Vendor, classes};
use crate::cpus::{Cpu, CpuSet};

const NODE: &str = "sys/devices/system/node";

/// The CPUs that run, and those that are present and do not.
pub(super) fn online_and_offline(tree: &Tree) -> Result<(CpuSet, CpuSet), Error> {
    let online = format!("{CPU}/online");
    match tree.cpus(&online)? {
        Some(cpus) if !cpus.is_empty() => {
            let present = tree.cpus(&format!("{CPU}/present"))?.unwrap_or_default();
            let offline = present.without(&cpus);
            Ok((cpus, offline))
        }
        _ => Err(Error::NoNode {
            path: tree.shown(&online),
        }),
    }
}

pub(super) fn smt(tree: &Tree) -> Result<Option<String>, Error> {
    tree.text(&format!("{CPU}/smt/control"))
}

/// The maker of the processors, their model, and whether they are virtual, as the first of them
/// says.
pub(super) fn identity(tree: &Tree) -> Result<(Vendor, Option<String>, bool), Error> {
    let text = tree.text("proc/cpuinfo")?.unwrap_or_default();
    let field = |name: &str| {
        let fields = text.lines().filter_map(|line| line.split_once(':'));
        let mut named = fields.filter(|(key, _)| key.trim() == name);
        named.next().map(|(_, value)| value.trim().to_owned())
    };
    let vendor = match field("vendor_id") {
        Some(id) if id == "GenuineIntel" => Vendor::Intel,
        Some(id) if id == "AuthenticAMD" => Vendor::Amd,
        Some(id) => Vendor::Other(id),
        None if field("CPU implementer").is_some() => Vendor::Arm,
        None => Vendor::Other(String::new()),
    };
    let flags = field("flags").unwrap_or_default();
    let virtual_machine = flags.split(' ').any(|flag| flag == "hypervisor");
    Ok((vendor, field("model name"), virtual_machine))
}

/// The NUMA nodes; none where there is no such folder.
pub(super) fn numa_nodes(tree: &Tree, online: &CpuSet) -> Result<Vec<NumaNode>, Error> {
    // Numbers of nodes are listed as those of CPUs are.
    let ids = tree.cpus(&format!("{NODE}/online"))?.unwrap_or_default();
    let node = |id: u32| {
        let folder = format!("{NODE}/node{id}");
        let cpus = tree.cpus(&format!("{folder}/cpulist"))?.unwrap_or_default();
        let distances = tree.value(
            &format!("{folder}/distance"),
            "one distance for each NUMA node",
            |text| {
                let row: Vec<u32> = text
                    .split_whitespace()
                    .map(|number| number.parse().ok())
                    .collect::<Option<_>>()?;
                (row.len() == ids.len()).then(|| ids.iter().zip(row).collect())
            },
        )?;
        Ok(NumaNode {
            id,
            cpus: cpus.and(online),
            memory_bytes: memory_bytes(tree, &folder)?,
            distances: distances.unwrap_or_default(),
        })
    };
    ids.iter().map(node).collect()
}

fn memory_bytes(tree: &Tree, folder: &str) -> Result<Option<u64>, Error> {
    let path = format!("{folder}/meminfo");
    tree.value(&path, "a line `… MemTotal: N kB`", |text| {
        let (_, rest) = text.split_once("MemTotal:")?;
        let kib: u64 = rest.split_whitespace().next()?.parse().ok()?;
        kib.checked_mul(1024)
    })
}

/// The cores of the CPUs that are online, by their first; `all_online` says whether no other CPU is there.
pub(super) fn cores(
    tree: &Tree,
    online: &CpuSet,
    all_online: bool,
    numa_nodes: &[NumaNode],
    caches: &[Cache],
) -> Result<Vec<Core>, Error> {
    let mut left = online.clone();
    let mut sets = Vec::new();
    while let Some(cpu) = left.first() {
        let mut cpus = siblings(tree, &topology(cpu))?.and(&left);
        cpus.insert(cpu);
        left = left.without(&cpus);
        sets.push(cpus);
    }
    let classes = classes::classes(tree, &sets, caches, all_online)?;
    let core = |(cpus, class): (CpuSet, classes::Class)| {
        let cpu = cpus.first().unwrap_or(0);
        let folder = topology(cpu);
        let numa_node = numa_nodes.iter().find(|node| node.cpus.contains(cpu));
        Ok(Core {
            package: tree
                .id(&format!("{folder}/physical_package_id"))?
                .unwrap_or(0),
            id: tree.id(&format!("{folder}/core_id"))?.unwrap_or(cpu),
            numa_node: numa_node.map_or(0, |node| node.id),
            cpus,
            class: class.number,
            kind: class.kind,
            max_khz: class.max_khz,
        })
    };
    sets.into_iter().zip(classes).map(core).collect()
}

fn topology(cpu: Cpu) -> String {
    format!("{CPU}/cpu{cpu}/topology")
}

fn siblings(tree: &Tree, folder: &str) -> Result<CpuSet, Error> {
    // The second is the name that kernels before 5.3 have for it.
    for name in ["core_cpus_list", "thread_siblings_list"] {
        if let Some(cpus) = tree.cpus(&format!("{folder}/{name}"))? {
            return Ok(cpus);
        }
    }
    Ok(CpuSet::new())
}

/// The packages of these cores.
pub(super) fn packages(cores: &[Core], numa_nodes: &[NumaNode]) -> Vec<Package> {
    let mut cpus: BTreeMap<u32, CpuSet> = BTreeMap::new();
    for core in cores {
        let package = cpus.entry(core.package).or_default();
        *package = package.or(&core.cpus);
    }
    let package = |(id, cpus): (u32, CpuSet)| {
        let nodes = numa_nodes
            .iter()
            .filter(|node| !node.cpus.and(&cpus).is_empty());
        Package {
            id,
            numa_nodes: nodes.map(|node| node.id).collect(),
            cpus,
        }
    };
    cpus.into_iter().map(package).collect()
}

/// The caches of these CPUs, each once.
pub(super) fn caches(tree: &Tree, online: &CpuSet) -> Result<Vec<Cache>, Error> {
    let mut caches = BTreeMap::new();
    for cpu in online.iter() {
        let folder = format!("{CPU}/cpu{cpu}/cache");
        for index in tree.names(&folder)? {
            if !index.starts_with("index") {
                continue;
            }
            if let Some(cache) = cache(tree, &format!("{folder}/{index}"), cpu)? {
                caches.insert((cache.level, cache.cpus.first(), cache.kind), cache);
            }
        }
    }
    Ok(caches.into_values().collect())
}

fn cache(tree: &Tree, folder: &str, cpu: Cpu) -> Result<Option<Cache>, Error> {
    let level = tree.id(&format!("{folder}/level"))?;
    let kind = tree.value(
        &format!("{folder}/type"),
        "Data, Instruction or Unified",
        |text| match text {
            "Data" => Some(CacheKind::Data),
            "Instruction" => Some(CacheKind::Instruction),
            "Unified" => Some(CacheKind::Unified),
            _ => None,
        },
    )?;
    let (Some(level), Some(kind)) = (level, kind) else {
        return Ok(None);
    };
    let size_bytes = tree.value(
        &format!("{folder}/size"),
        "a size in KiB like 32K",
        |text| {
            text.strip_suffix('K')?
                .parse::<u64>()
                .ok()?
                .checked_mul(1024)
        },
    )?;
    let cpus = tree.cpus(&format!("{folder}/shared_cpu_list"))?;
    Ok(Some(Cache {
        level,
        kind,
        // Hypervisors that do not know say 0.
        size_bytes: size_bytes.filter(|&size| size > 0),
        cpus: cpus.unwrap_or_else(|| CpuSet::from_iter([cpu])),
    }))
}
