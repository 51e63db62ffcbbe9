//! Idle states, clock frequency, and threads that share a core.

use super::{Node, Obstacle, Reach, Setting, Want, unsupported};
use crate::system::Place;

/// Idle states that take longer to leave than this, in microseconds, are not entered: C1 remains,
/// as in the paper (section 4.1.2, `processor.max_cstate=1`).
const LONGEST_EXIT_US: u32 = 2;

const SMT: &str = "/sys/devices/system/cpu/smt/control";

/// Simultaneous multithreading, at run time.
pub const SMT_CONTROL: Setting = Setting {
    name: "smt-control",
    why: "Turns simultaneous multithreading off at once, as nosmt does at boot: no core has a second thread to share itself with.",
    reach: Reach::Measure,
    wants: |node| match node.topology.smt.as_deref() {
        Some("on") if !node.topology.offline.is_empty() => unsupported(format!(
            "CPUs {} are offline already, and turning SMT on again would bring them back",
            node.topology.offline
        )),
        Some("on") => node.one(Place::word(SMT), "off"),
        Some("off" | "forceoff") => Ok(Vec::new()),
        _ => unsupported("this node has no simultaneous multithreading that could be turned off"),
    },
};

pub const CPUIDLE_STATES: Setting = Setting {
    name: "cpuidle-states",
    why: "A measuring CPU that waits must not fall into a state that takes long to leave.",
    reach: Reach::Measure,
    wants: |node| {
        let mut wants = Vec::new();
        let mut states = 0;
        for directory in node.measuring_directories() {
            for state in node.system.names(format!("{directory}/cpuidle")) {
                let path = format!("{directory}/cpuidle/{state}");
                let exit_us: Option<u32> = node
                    .system
                    .text(format!("{path}/latency"))
                    .and_then(|text| text.parse().ok());
                states += usize::from(exit_us.is_some());
                if exit_us.is_some_and(|exit_us| exit_us > LONGEST_EXIT_US) {
                    wants.push(Want::At(
                        Place::word(format!("{path}/disable")),
                        Some("1".into()),
                    ));
                }
            }
        }
        match states {
            0 => unsupported("the measuring CPUs have no idle states that the kernel chooses from"),
            _ => Ok(wants),
        }
    },
};

pub const CPU_DMA_LATENCY: Setting = Setting {
    name: "cpu-dma-latency",
    why: "Asks the kernel for short wake-ups on all CPUs, those that take interrupts and start programs among them.",
    reach: Reach::Measure,
    wants: |node| {
        if !node.system.exists("/dev/cpu_dma_latency") {
            return unsupported("this node has no /dev/cpu_dma_latency");
        }
        Ok(vec![Want::At(
            Place::WakeupLatency,
            Some(LONGEST_EXIT_US.to_string()),
        )])
    },
};

/// A file of each measuring CPU's frequency policy.
fn frequency(node: &Node, file: &str, value: &str) -> Result<Vec<Want>, Obstacle> {
    let directories = node.measuring_directories();
    let places = directories
        .iter()
        .map(|directory| Place::word(format!("{directory}/cpufreq/{file}")));
    node.each(places, value)
}

pub const GOVERNOR: Setting = Setting {
    name: "governor",
    why: "The clock of a measuring CPU stays up instead of following the load, which it does late.",
    reach: Reach::Measure,
    wants: |node| frequency(node, "scaling_governor", "performance"),
};

pub const ENERGY_PREFERENCE: Setting = Setting {
    name: "energy-preference",
    why: "Processors that choose their clock themselves are told not to save energy.",
    reach: Reach::Measure,
    wants: |node| frequency(node, "energy_performance_preference", "performance"),
};

pub const TURBO: Setting = Setting {
    name: "turbo",
    why: "Turbo makes the clock depend on how warm the package is and on what its other cores do.",
    reach: Reach::Measure,
    wants: |node| {
        let intel = Place::word("/sys/devices/system/cpu/intel_pstate/no_turbo");
        if node.system.read(&intel)?.is_none() {
            return node.one(Place::word("/sys/devices/system/cpu/cpufreq/boost"), "0");
        }
        let mut wants = node.one(intel, "1")?;
        // Some kernels lower a value that is a share of the highest clock with that clock.
        let least = Place::word("/sys/devices/system/cpu/intel_pstate/min_perf_pct");
        if let Some(share) = node.system.read(&least)? {
            wants.push(Want::Keep(least, Some(share)));
        }
        Ok(wants)
    },
};
