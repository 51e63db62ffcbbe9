//! Which CPUs are kept apart already.

use serde::Serialize;

use crate::cpus::CpuSet;

/// What is in force now. A change of the boot parameters shows here after the next boot.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Isolation {
    /// Out of the scheduler's domains since boot (`/sys/devices/system/cpu/isolated`).
    pub isolated: CpuSet,
    /// Without a tick while one task runs (`/sys/devices/system/cpu/nohz_full`).
    pub nohz_full: CpuSet,
    /// Relieved of RCU callbacks (`rcu_nocbs=` on the command line, and those of `nohz_full`).
    pub rcu_nocbs: CpuSet,
    /// Where interrupts go that nobody has placed (`irqaffinity=` on the command line).
    pub irqaffinity: Option<CpuSet>,
    /// `isolcpus=` on the command line.
    pub isolcpus: Option<Isolcpus>,
    /// Isolated since boot or by partitions of cgroup v2 (`/sys/fs/cgroup/cpuset.cpus.isolated`).
    pub cgroup: CpuSet,
    /// Parameters of the command line above whose value is no list of CPUs: the kernel ignores them.
    pub ignored: Vec<String>,
}

/// The value of `isolcpus=`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Isolcpus {
    /// What the CPUs are isolated from: `nohz`, `domain`, `managed_irq`. None given means `domain`.
    pub flags: Vec<String>,
    /// The CPUs.
    pub cpus: CpuSet,
}
