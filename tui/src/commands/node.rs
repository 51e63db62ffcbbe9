//! `jitterlab node`: what this node is made of.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use jitterlab_base::print::aligned;
use jitterlab_base::show::{self, counted};
use jitterlab_node_tuning::cpus::CpuSet;
use jitterlab_node_tuning::topology::{
    CacheKind, Core, CoreKind, Device, DeviceKind, Isolation, NumaNode, Package, Topology,
};

use crate::outcome::{Exit, Failure};
use crate::output::{self, Format};
use crate::shown::processors;

/// The verbs of `jitterlab node`.
#[derive(clap::Subcommand)]
pub enum Command {
    /// Show packages, cores, caches, NUMA nodes, devices, distances and isolated CPUs
    Show(Show),
}

/// Does it.
pub fn run(command: Command) -> Result<Exit, Failure> {
    match command {
        Command::Show(options) => options.run(),
    }
}

/// Options of `node show`.
#[derive(clap::Args)]
pub struct Show {
    /// Show another node, from a copy of its /sys and /proc
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

impl Show {
    fn run(self) -> Result<Exit, Failure> {
        let topology = match &self.root {
            Some(copy) => Topology::read(copy).map_err(Failure::input)?,
            None => Topology::read(Path::new("/")).map_err(Failure::run)?,
        };
        output::print(self.format, &topology, || text(&topology))?;
        Ok(Exit::Done)
    }
}

fn text(topology: &Topology) -> String {
    let mut text = processors(topology);
    for package in &topology.packages {
        text.push('\n');
        text.push_str(&package_text(topology, package));
    }
    let memory = topology
        .numa_nodes
        .iter()
        .filter(|node| node.cpus.is_empty());
    let memory: Vec<[String; 2]> = memory.map(node_text).collect();
    if !memory.is_empty() {
        text.push_str("\nwithout CPUs\n");
        text.push_str(&aligned(&memory));
    }
    if !topology.devices.is_empty() {
        text.push('\n');
        text.push_str(&devices(topology));
    }
    text.push('\n');
    text.push_str(&isolation(&topology.isolation));
    text
}

fn package_text(topology: &Topology, package: &Package) -> String {
    let mut rows = Vec::new();
    let on_package = |core: &&Core| core.package == package.id;
    if package.numa_nodes.is_empty() {
        let cores: Vec<&Core> = topology.cores.iter().filter(on_package).collect();
        rows.extend(cores_text(&cores, "  "));
    }
    for node in &topology.numa_nodes {
        if !package.numa_nodes.contains(&node.id) {
            continue;
        }
        rows.push(node_text(node));
        let in_node = |core: &&Core| core.numa_node == node.id;
        let cores: Vec<&Core> = topology
            .cores
            .iter()
            .filter(on_package)
            .filter(in_node)
            .collect();
        rows.extend(cores_text(&cores, "    "));
    }
    rows.extend(caches(topology, package));
    format!(
        "package {} (CPU {})\n{}",
        package.id,
        package.cpus,
        aligned(&rows)
    )
}

fn node_text(node: &NumaNode) -> [String; 2] {
    let mut facts: Vec<String> = Vec::new();
    facts.extend(node.memory_bytes.map(|bytes| show::size(bytes as f64)));
    if node.distances.len() > 1 {
        let nodes: CpuSet = node.distances.keys().copied().collect();
        let row: Vec<String> = node.distances.values().map(u32::to_string).collect();
        facts.push(format!("distance to nodes {nodes}: {}", row.join(" ")));
    }
    [format!("  NUMA node {}", node.id), facts.join("; ")]
}

/// A line for each class of cores and number of threads: their first CPUs, the siblings of these, and where there are
/// several classes, the highest clock.
fn cores_text(cores: &[&Core], indent: &str) -> Vec<[String; 2]> {
    let mut groups: BTreeMap<(u32, CoreKind, usize), Vec<&Core>> = BTreeMap::new();
    for core in cores {
        groups
            .entry((core.class, core.kind, core.cpus.len()))
            .or_default()
            .push(core);
    }
    let has_classes = cores.iter().any(|core| core.class != cores[0].class);
    let line = |((_, kind, _), cores): ((u32, CoreKind, usize), Vec<&Core>)| {
        let first: CpuSet = cores.iter().filter_map(|core| core.cpus.first()).collect();
        let all: CpuSet = cores.iter().flat_map(|core| core.cpus.iter()).collect();
        let siblings = match all.without(&first) {
            none if none.is_empty() => String::new(),
            siblings => format!(", siblings {siblings}"),
        };
        let clock = cores.iter().filter_map(|core| core.max_khz).max();
        let clock = match clock.filter(|_| has_classes) {
            Some(khz) => format!(", up to {:.2} GHz", khz as f64 / 1e6),
            None => String::new(),
        };
        let noun = match kind {
            CoreKind::Performance => "core",
            CoreKind::Efficiency => "efficiency core",
        };
        [
            format!("{indent}{}", counted(cores.len(), noun)),
            format!("CPU {first}{siblings}{clock}"),
        ]
    };
    groups.into_iter().map(line).collect()
}

/// A line for each level and kind of cache: the number of each size, and the CPUs that share one.
fn caches(topology: &Topology, package: &Package) -> Vec<[String; 2]> {
    let mut groups: BTreeMap<(u32, CacheKind, Option<u64>), Vec<&CpuSet>> = BTreeMap::new();
    for cache in &topology.caches {
        if cache.cpus.is_within(&package.cpus) {
            let group = (cache.level, cache.kind, cache.size_bytes);
            groups.entry(group).or_default().push(&cache.cpus);
        }
    }
    let line = |((level, kind, size), shared): ((u32, CacheKind, Option<u64>), Vec<&CpuSet>)| {
        let name = match kind {
            CacheKind::Data => format!("  L{level} data"),
            CacheKind::Instruction => format!("  L{level} instruction"),
            CacheKind::Unified => format!("  L{level}"),
        };
        let size = size.map_or("(size unknown)".into(), |bytes| show::size(bytes as f64));
        [
            name,
            format!(
                "{} x {size}, {}",
                shared.len(),
                sharing(topology, package, &shared)
            ),
        ]
    };
    groups.into_iter().map(line).collect()
}

fn sharing(topology: &Topology, package: &Package, shared: &[&CpuSet]) -> String {
    let is_core = |cpus: &&&CpuSet| topology.cores.iter().any(|core| core.cpus == ***cpus);
    if shared == [&package.cpus] {
        "shared by all".into()
    } else if shared.iter().filter(is_core).count() == shared.len() {
        "one a core".into()
    } else {
        let by: Vec<String> = shared.iter().map(|cpus| format!("({cpus})")).collect();
        format!("shared by CPU {}", by.join(" "))
    }
}

/// A line for each device; distances are those of the firmware's table, the nearest package's with a
/// star.
fn devices(topology: &Topology) -> String {
    let mut head: Vec<String> = [
        "device",
        "kind",
        "driver",
        "PCI",
        "bridges",
        "NUMA node",
        "link",
        "on",
    ]
    .map(Into::into)
    .into();
    head.extend(
        topology
            .packages
            .iter()
            .map(|package| format!("package {}", package.id)),
    );
    let mut rows = vec![head];
    rows.extend(topology.devices.iter().map(device));
    aligned(&rows) + "  (distance to each package; * is the nearest)\n"
}

fn device(device: &Device) -> Vec<String> {
    let or_dash = |text: Option<String>| text.filter(|text| !text.is_empty()).unwrap_or("-".into());
    let kind = match device.kind {
        DeviceKind::Rdma => "RDMA",
        DeviceKind::Network => "network",
    };
    let mut link = vec![if device.up { "up" } else { "down" }.to_owned()];
    link.extend(
        device
            .speed_mbps
            .map(|mbps| show::bit_rate(mbps as f64 * 1e6)),
    );
    link.extend(device.link_layer.clone());
    link.extend(device.mtu.map(|mtu| format!("MTU {mtu}")));
    let mut row = vec![
        device.name.clone(),
        kind.into(),
        or_dash(device.driver.clone()),
        or_dash(device.pci.clone()),
        or_dash(
            device
                .pci
                .as_ref()
                .map(|_| device.bridges.len().to_string()),
        ),
        or_dash(device.numa_node.map(|node| node.to_string())),
        link.join(", "),
        or_dash(Some(device.network.join(","))),
    ];
    row.extend(device.distances.iter().map(|to| {
        let distance = to
            .distance
            .map_or("?".into(), |distance| distance.to_string());
        let star = if to.local { "*" } else { "" };
        distance + star
    }));
    row
}

fn isolation(isolation: &Isolation) -> String {
    let cpus = |cpus: &CpuSet| match cpus.is_empty() {
        true => "none".into(),
        false => cpus.to_string(),
    };
    let mut rows = vec![
        ["isolated since boot".into(), cpus(&isolation.isolated)],
        ["isolated by cgroups".into(), cpus(&isolation.cgroup)],
        ["nohz_full".into(), cpus(&isolation.nohz_full)],
        ["rcu_nocbs".into(), cpus(&isolation.rcu_nocbs)],
    ];
    if let Some(isolcpus) = &isolation.isolcpus {
        let flags = isolcpus.flags.iter().map(|flag| format!("{flag},"));
        let value = flags.collect::<String>() + &isolcpus.cpus.to_string();
        rows.push(["isolcpus".into(), value]);
    }
    if let Some(irqaffinity) = &isolation.irqaffinity {
        rows.push(["irqaffinity".into(), irqaffinity.to_string()]);
    }
    for parameter in &isolation.ignored {
        rows.push(["ignored by the kernel".into(), parameter.clone()]);
    }
    aligned(&rows)
}
