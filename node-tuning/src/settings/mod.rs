//! The settings: each a small unit that says what it wants of a node, and why. Reading, applying,
//! verifying and putting back is the same for all ([`crate::tune`]), because all they want is
//! values at places.

mod boot;
mod cpu;
mod interrupts;
mod kernel;
mod memory;
mod network;
mod tasks;

pub use cpu::SMT_CONTROL;
pub use tasks::{join_group, join_partition, own_group};

use std::cell::OnceCell;

use crate::boot::{Boot, Parameter};
use crate::cpus::CpuSet;
use crate::plan::Plan;
use crate::profile::Profile;
use crate::system::{self, Place, System, Thread, Value};
use crate::topology::Topology;

/// Something that can be set on a node.
pub struct Setting {
    /// Its name, the kernel's where it has one.
    pub name: &'static str,
    /// Why it matters to somebody who measures microseconds.
    pub why: &'static str,
    /// The sets that it is in.
    pub reach: Reach,
    /// The values that it wants of a node; an empty list is a node on which there is nothing to be done.
    pub wants: fn(&Node) -> Result<Vec<Want>, Obstacle>,
}

/// The sets that a setting is in.
#[derive(Debug, Clone, Copy)]
pub enum Reach {
    /// All that measure with.
    Measure,
    /// Those, and the paper's.
    Paper,
    /// It is reported, and changed only when it is named, or in the paper's set if it is one of that.
    Asked {
        /// True if it is in the paper's set.
        paper: bool,
        /// The report.
        report: fn(&Node) -> Vec<String>,
    },
}

/// A node that is looked at by settings.
pub struct Node<'a> {
    /// Its files, and all else that can be set.
    pub system: &'a System,
    /// The parts of the node.
    pub topology: &'a Topology,
    /// The CPUs that are to measure.
    pub plan: &'a Plan,
    /// The set of settings that is asked for.
    pub profile: Profile,
    /// Its kernel parameters.
    pub boot: &'a Boot,
    /// Its threads, when a setting has asked for them: reading them takes long where there are many.
    pub threads: &'a OnceCell<Vec<Thread>>,
}

/// A value that a setting wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Want {
    /// A value at a place.
    At(Place, Value),
    /// A value that stays, although what else is wanted disturbs it: it is written again after that,
    /// and after that has been put back.
    Keep(Place, Value),
    /// A kernel parameter.
    Parameter {
        /// The parameter.
        parameter: Parameter,
        /// The value that the kernel then shows, where it shows anything: without that it does not
        /// know the parameter.
        shows: Option<(Place, String)>,
    },
}

/// Why a setting cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum Obstacle {
    /// The hardware, the kernel or the container does not offer it.
    #[error("{0}")]
    Unsupported(String),
    /// It could not be looked at.
    #[error(transparent)]
    System(#[from] system::Error),
}

/// All settings, in the order in which they are applied. A network interface that is set may place
/// its interrupts anew, so it comes before those; energy-preference before governor, which changes
/// it as well; and what takes CPUs away comes last, and is put back first.
pub const ALL: &[&Setting] = &[
    &network::RDMA_MTU,
    &network::PAUSE,
    &network::COALESCING,
    &cpu::CPUIDLE_STATES,
    &cpu::CPU_DMA_LATENCY,
    &cpu::ENERGY_PREFERENCE,
    &cpu::GOVERNOR,
    &cpu::TURBO,
    &interrupts::IRQBALANCE,
    &interrupts::DEFAULT_AFFINITY,
    &interrupts::AFFINITY,
    &network::RPS,
    &network::XPS,
    &tasks::CPUSET_PARTITION,
    &tasks::WORKQUEUE_CPUMASK,
    &tasks::KERNEL_THREADS,
    &tasks::USER_TASKS,
    &kernel::RT_THROTTLING,
    &kernel::STAT_INTERVAL,
    &kernel::TIMER_MIGRATION,
    &kernel::WATCHDOG_CPUMASK,
    &kernel::CLOCKSOURCE,
    &memory::MEMLOCK,
    &memory::HUGE_PAGES,
    &memory::SWAP,
    &kernel::TRANSPARENT_HUGEPAGE,
    &kernel::NUMA_BALANCING,
    &kernel::NMI_WATCHDOG,
    &kernel::NOSOFTLOCKUP,
    &boot::ISOLCPUS,
    &boot::NOHZ_FULL,
    &boot::RCU_NOCBS,
    &boot::IRQAFFINITY,
    &boot::PROCESSOR_MAX_CSTATE,
    &boot::INTEL_IDLE_MAX_CSTATE,
    &boot::NOSMT,
    &boot::SKEW_TICK,
    &boot::MITIGATIONS,
    &cpu::SMT_CONTROL,
];

impl Setting {
    /// True if it is in a set, be it to be reported.
    pub fn is_in(&self, profile: Profile) -> bool {
        match profile {
            Profile::Measure | Profile::Reversible => true,
            Profile::Paper => matches!(self.reach, Reach::Paper | Reach::Asked { paper: true, .. }),
        }
    }
}

impl Node<'_> {
    /// Its threads, which are read once.
    fn threads(&self) -> Result<&[Thread], system::Error> {
        if self.threads.get().is_none() {
            let _ = self.threads.set(self.system.threads()?);
        }
        Ok(self.threads.get().map_or(&[], Vec::as_slice))
    }

    /// The CPUs that nothing else may run on.
    pub fn isolated(&self) -> CpuSet {
        self.plan.isolated()
    }

    /// The set of CPUs that is to spare the isolated ones: what it has besides, or where that is
    /// nothing that stays, all housekeeping CPUs.
    pub fn spared(&self, cpus: &CpuSet) -> CpuSet {
        let rest = cpus.without(&self.isolated());
        match rest.without(&self.leaving()).is_empty() {
            true => self.plan.housekeeping.clone(),
            false => rest,
        }
    }

    /// True if a set of CPUs has to be changed to spare the isolated ones, or would be left with
    /// nothing when SMT siblings go.
    pub fn is_touched(&self, cpus: &CpuSet) -> bool {
        let stays = |cpus: &CpuSet| !cpus.without(&self.leaving()).is_empty();
        !cpus.and(&self.isolated()).is_empty() || !cpus.is_empty() && !stays(cpus)
    }

    /// The CPUs that go offline when simultaneous multithreading is turned off.
    fn leaving(&self) -> CpuSet {
        if self.topology.smt.as_deref() != Some("on") {
            return CpuSet::new();
        }
        let siblings = |cpus: &CpuSet| cpus.iter().skip(1).collect::<Vec<_>>();
        self.topology
            .cores
            .iter()
            .flat_map(|core| siblings(&core.cpus))
            .collect()
    }

    /// Fails when the running kernel was built without an option (`CONFIG_NO_HZ_FULL`). Where the
    /// kernel's configuration cannot be read, it is taken to be there.
    fn needs(&self, option: &str) -> Result<(), Obstacle> {
        let release = self
            .system
            .text("/proc/sys/kernel/osrelease")
            .unwrap_or_default();
        let files = [
            format!("/boot/config-{release}"),
            format!("/usr/lib/modules/{release}/config"),
        ];
        let Some(config) = files.iter().find_map(|file| self.system.text(file)) else {
            return Ok(());
        };
        let set = config
            .lines()
            .any(|line| line.split('=').next() == Some(option) && line.contains('='));
        if set {
            Ok(())
        } else {
            unsupported(format!("this kernel is built without {option}"))
        }
    }

    /// Wants one value at a place that has to be there.
    fn one(&self, place: Place, value: impl Into<String>) -> Result<Vec<Want>, Obstacle> {
        self.each([place], value)
    }

    /// Wants the same value at several places. A place that is not there does not matter as long as
    /// one is.
    fn each(
        &self,
        places: impl IntoIterator<Item = Place>,
        value: impl Into<String>,
    ) -> Result<Vec<Want>, Obstacle> {
        let value = value.into();
        let mut missing = None;
        let mut wants = Vec::new();
        for place in places {
            match self.system.read(&place)? {
                Some(_) => wants.push(Want::At(place, Some(value.clone()))),
                None => missing = missing.or(Some(place)),
            }
        }
        match missing {
            Some(place) if wants.is_empty() => unsupported(format!("this node has no {place}")),
            _ => Ok(wants),
        }
    }

    /// Wants a mask or list of CPUs at each place to spare the isolated CPUs.
    fn spare(&self, places: impl IntoIterator<Item = Place>) -> Result<Vec<Want>, Obstacle> {
        let mut wants = Vec::new();
        for place in places {
            if let Some(list) = self.system.read(&place)? {
                let cpus: CpuSet = list.parse().unwrap_or_default();
                let wanted = match self.is_touched(&cpus) {
                    true => self.spared(&cpus).to_string(),
                    false => list,
                };
                wants.push(Want::At(place, Some(wanted)));
            }
        }
        Ok(wants)
    }

    /// A directory of each measuring CPU in sysfs.
    fn measuring_directories(&self) -> Vec<String> {
        let directory = |cpu| format!("/sys/devices/system/cpu/cpu{cpu}");
        self.plan.measuring.iter().map(directory).collect()
    }
}

fn unsupported<T>(reason: impl Into<String>) -> Result<T, Obstacle> {
    Err(Obstacle::Unsupported(reason.into()))
}
