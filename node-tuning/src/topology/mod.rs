//! The parts of a node, as far as they matter to latency: packages, cores and their threads, NUMA
//! nodes, caches, how far network and RDMA devices are from each package, and which CPUs are isolated
//! already.

mod classes;
mod devices;
mod isolation;
mod processors;
mod tree;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;

pub use isolation::{Isolation, Isolcpus};

use crate::cpus::{Cpu, CpuSet};

/// A node, read from its sysfs and procfs. Lists are sorted: packages and NUMA nodes by number, cores
/// by their first CPU, caches by level and first CPU, devices by kind and name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Topology {
    /// The maker of the processors.
    pub vendor: Vendor,
    /// The model of the processors.
    pub model: Option<String>,
    /// True if this is a virtual machine: its packages, cores and distances are what the hypervisor says.
    pub virtual_machine: bool,
    /// The CPUs that run.
    pub online: CpuSet,
    /// The CPUs that are present and do not run. Nothing else is known of them: the kernel describes
    /// only those that do.
    pub offline: CpuSet,
    /// The kernel's word on simultaneous multithreading: `on`, `off`, `forceoff`, `notsupported` or
    /// `notimplemented`. `None` on kernels that cannot switch it.
    pub smt: Option<String>,
    /// The packages (sockets); at least one.
    pub packages: Vec<Package>,
    /// The NUMA nodes, those without CPUs too; none when the kernel knows nothing of NUMA.
    pub numa_nodes: Vec<NumaNode>,
    /// The cores of the CPUs that are online; at least one.
    pub cores: Vec<Core>,
    /// The caches; none when the kernel does not describe them.
    pub caches: Vec<Cache>,
    /// The network interfaces that have hardware behind them, and the RDMA devices.
    pub devices: Vec<Device>,
    /// The CPUs that are kept apart already.
    pub isolation: Isolation,
}

/// The maker of a processor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Vendor {
    /// Intel.
    Intel,
    /// AMD.
    Amd,
    /// Arm, or one of those who build its architecture.
    Arm,
    /// Somebody else: as the processor says, or nothing if it does not.
    #[serde(untagged)]
    Other(String),
}

/// A package: what sits in one socket.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Package {
    /// The kernel's number; 0 where it gives none.
    pub id: u32,
    /// Its CPUs that are online.
    pub cpus: CpuSet,
    /// The NUMA nodes that its CPUs belong to.
    pub numa_nodes: Vec<u32>,
}

/// A core.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Core {
    /// The package that it is in.
    pub package: u32,
    /// The kernel's number, which need not be unique on the package; its first CPU where it gives none.
    pub id: u32,
    /// The NUMA node that it belongs to; 0 when the kernel knows nothing of NUMA.
    pub numa_node: u32,
    /// Its threads that are online: SMT siblings of each other.
    pub cpus: CpuSet,
    /// Cores of one class are alike, and as fast as each other; 0 are the node's fastest.
    pub class: u32,
    /// The kind of core.
    pub kind: CoreKind,
    /// Its highest clock in kHz.
    pub max_khz: Option<u64>,
}

/// The kind of core, on processors that have two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CoreKind {
    /// It is as fast as the node's fastest; all cores are on most processors.
    Performance,
    /// Slower than the node's fastest.
    Efficiency,
}

/// A NUMA node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NumaNode {
    /// The kernel's number.
    pub id: u32,
    /// Its CPUs that are online; none for one that is only memory.
    pub cpus: CpuSet,
    /// Its memory, in bytes.
    pub memory_bytes: Option<u64>,
    /// The distance from it to each node, as the firmware's table (ACPI SLIT) has it: 10 is the node
    /// itself, 20 twice as far.
    pub distances: BTreeMap<u32, u32>,
}

/// A cache.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Cache {
    /// 1 for the one next to the core.
    pub level: u32,
    /// The kind of its content.
    pub kind: CacheKind,
    /// Its size in bytes.
    pub size_bytes: Option<u64>,
    /// The CPUs that share it.
    pub cpus: CpuSet,
}

/// The content of a cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CacheKind {
    /// Data.
    Data,
    /// Instructions.
    Instruction,
    /// Both.
    Unified,
}

/// A network interface or an RDMA device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Device {
    /// Its name: `eth0`, `mlx5_0`.
    pub name: String,
    /// The kind of device.
    pub kind: DeviceKind,
    /// The network interfaces that it stands on: those of an RDMA device, and what a bond, a VLAN or a
    /// bridge is made of.
    pub network: Vec<String>,
    /// Its driver.
    pub driver: Option<String>,
    /// Its address on the PCI bus, `0000:03:00.0`; nothing for what has none of its own.
    pub pci: Option<String>,
    /// The PCI bridges between it and the root complex, the root's first.
    pub bridges: Vec<String>,
    /// The NUMA node that it is attached to.
    pub numa_node: Option<u32>,
    /// True if its link is up.
    pub up: bool,
    /// Its speed in Mbit/s.
    pub speed_mbps: Option<u64>,
    /// Its MTU in bytes, as IP sees it; none for RDMA devices.
    pub mtu: Option<u32>,
    /// The link layer of an RDMA device: `InfiniBand` or `Ethernet`.
    pub link_layer: Option<String>,
    /// The distance from each package, in the order of the packages.
    pub distances: Vec<PackageDistance>,
}

/// The kind of device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DeviceKind {
    /// An RDMA device.
    Rdma,
    /// A network interface.
    Network,
}

/// The distance of a device from a package.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PackageDistance {
    /// The package.
    pub package: u32,
    /// The distance from the device's NUMA node to the nearest of the package's, as [`NumaNode::distances`].
    pub distance: Option<u32>,
    /// True if the device is known to be as near to it as to any package.
    pub local: bool,
}

/// Why a node cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system does not let us read.
    #[error("cannot read {}", .path.display())]
    Unreadable {
        /// The file that was to be read.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A file holds something else than it should.
    #[error("{} says `{text}`, which is not {expected}", .path.display())]
    Nonsense {
        /// The file.
        path: PathBuf,
        /// The content.
        text: String,
        /// The content that it should have.
        expected: &'static str,
    },
    /// There is no node.
    #[error(
        "{} is missing or names no CPU; give the root of a node, or of a copy of its /sys and /proc",
        .path.display()
    )]
    NoNode {
        /// The file.
        path: PathBuf,
    },
}

impl Topology {
    /// Reads a node: `root` is `/`, or a folder with a copy of its /sys and /proc. Nothing is changed.
    ///
    /// What the kernel does not say is no error: kernels, hypervisors and containers differ in that.
    ///
    /// # Errors
    /// There is no list of CPUs, a file cannot be read, or one holds what no kernel writes.
    pub fn read(root: &Path) -> Result<Self, Error> {
        let tree = tree::Tree::open(root)?;
        let (online, offline) = processors::online_and_offline(&tree)?;
        let (vendor, model, virtual_machine) = processors::identity(&tree)?;
        let numa_nodes = processors::numa_nodes(&tree, &online)?;
        let caches = processors::caches(&tree, &online)?;
        let all_online = offline.is_empty();
        let cores = processors::cores(&tree, &online, all_online, &numa_nodes, &caches)?;
        let packages = processors::packages(&cores, &numa_nodes);
        Ok(Topology {
            vendor,
            model,
            virtual_machine,
            smt: processors::smt(&tree)?,
            caches,
            devices: devices::devices(&tree, &packages, &numa_nodes)?,
            isolation: isolation::isolation(&tree, &online.or(&offline))?,
            online,
            offline,
            packages,
            numa_nodes,
            cores,
        })
    }

    /// True if the processors are an emulator's (QEMU without KVM): how long anything takes there, and what is in
    /// between, says something of the emulator and the machine that it runs on.
    pub fn is_emulated(&self) -> bool {
        let emulator = |model: &String| model.starts_with("QEMU TCG CPU");
        self.virtual_machine && self.model.as_ref().is_some_and(emulator)
    }

    /// The core that a CPU is a thread of; none for one that is not online.
    pub fn core_of(&self, cpu: Cpu) -> Option<&Core> {
        self.cores.iter().find(|core| core.cpus.contains(cpu))
    }

    /// The device of this name.
    pub fn device(&self, name: &str) -> Option<&Device> {
        self.devices.iter().find(|device| device.name == name)
    }
}
