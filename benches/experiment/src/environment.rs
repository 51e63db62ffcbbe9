//! What was measured on.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use jitterlab_injector::clock::{Clock, Source};
use jitterlab_node_tuning::system::System;
use jitterlab_node_tuning::tune::{self, Asked};
use procfs::{CpuInfo, Current, Meminfo};
use serde::{Deserialize, Serialize};

/// What an experiment was measured on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    /// The version of `jitterlab run`.
    pub jitterlab: String,
    /// When it began, UTC (RFC 3339).
    pub started: String,
    /// One-way bandwidth in bytes a second of which loads are shares; none without loads.
    pub bandwidth: Option<f64>,
    /// The hosts by the names that the experiment gives them.
    pub hosts: BTreeMap<String, Node>,
}

/// A machine as it stands, as its worker sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Node {
    /// The version of its `jitterlab`.
    pub jitterlab: String,
    /// Its name.
    pub hostname: String,
    /// Kernel release and version.
    pub kernel: String,
    /// The distribution.
    pub system: String,
    /// The processor.
    pub cpu: String,
    /// CPUs that are online.
    pub cpus: usize,
    /// Whether it is a virtual machine.
    pub virtual_machine: bool,
    /// Memory in bytes.
    pub memory: u64,
    /// What times are measured with.
    pub clock: Source,
    /// Time that a reading takes, in nanoseconds.
    pub clock_read_ns: f64,
    /// Smallest step between two readings, in nanoseconds.
    pub clock_resolution_ns: f64,
    /// Network devices.
    pub interfaces: Vec<Interface>,
    /// Whatever of the system decides on microseconds, as it stood: the name of the setting and
    /// its value, `none` where the system does not have it.
    pub settings: BTreeMap<String, String>,
    /// How the node is tuned; nothing of a node that has no cores to measure on.
    #[serde(default)]
    pub tuning: Option<Tuning>,
}

/// How a node is tuned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tuning {
    /// Whether `jitterlab tune apply` was used there; otherwise its default is what is compared with.
    pub applied: bool,
    /// The CPUs that nothing else is to run on, which measure.
    pub measuring: String,
    /// Every setting by its name, and whether it held.
    pub settings: BTreeMap<String, tune::State>,
}

/// A network device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// Largest packet in bytes.
    pub mtu: u32,
    /// Megabits a second, where the device says.
    pub speed: Option<u32>,
    /// Its driver, where it has one.
    pub driver: Option<String>,
}

/// The settings that are read, and where they stand.
const SETTINGS: [(&str, &str); 13] = [
    ("boot parameters", "/proc/cmdline"),
    ("isolated CPUs", "/sys/devices/system/cpu/isolated"),
    ("tickless CPUs", "/sys/devices/system/cpu/nohz_full"),
    ("SMT", "/sys/devices/system/cpu/smt/control"),
    (
        "frequency governor",
        "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
    ),
    (
        "idle driver",
        "/sys/devices/system/cpu/cpuidle/current_driver",
    ),
    (
        "clock source",
        "/sys/devices/system/clocksource/clocksource0/current_clocksource",
    ),
    (
        "transparent huge pages",
        "/sys/kernel/mm/transparent_hugepage/enabled",
    ),
    ("NUMA balancing", "/proc/sys/kernel/numa_balancing"),
    ("timer migration", "/proc/sys/kernel/timer_migration"),
    ("NMI watchdog", "/proc/sys/kernel/nmi_watchdog"),
    ("busy polling, us", "/proc/sys/net/core/busy_poll"),
    ("swappiness", "/proc/sys/vm/swappiness"),
];

impl Node {
    /// The machine that this runs on. What cannot be read is left empty: a finding, no failure.
    pub fn here() -> Self {
        let clock = Clock::global();
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let line = |path: &str| read(path).trim().to_string();
        let cpus = CpuInfo::current().ok();
        let cpu = cpus.as_ref().and_then(|cpus| cpus.model_name(0));
        let flags = cpus.as_ref().and_then(|cpus| cpus.flags(0));
        let setting = |path: &str| {
            let value = line(path);
            if value.is_empty() {
                "none".into()
            } else {
                value
            }
        };
        Node {
            jitterlab: env!("CARGO_PKG_VERSION").into(),
            hostname: line("/proc/sys/kernel/hostname"),
            kernel: format!(
                "{} {}",
                line("/proc/sys/kernel/osrelease"),
                line("/proc/sys/kernel/version")
            ),
            system: assigned(&read("/etc/os-release"), "PRETTY_NAME"),
            cpu: cpu.unwrap_or_default().into(),
            cpus: std::thread::available_parallelism().map_or(1, usize::from),
            virtual_machine: flags.is_some_and(|flags| flags.contains(&"hypervisor")),
            memory: Meminfo::current().map_or(0, |memory| memory.mem_total),
            clock: clock.source(),
            clock_read_ns: clock.read_cost_ns(),
            clock_resolution_ns: clock.resolution_ns(),
            interfaces: interfaces(),
            settings: SETTINGS
                .iter()
                .map(|&(name, path)| (name.to_string(), setting(path)))
                .collect(),
            tuning: Tuning::here(),
        }
    }
}

impl Tuning {
    fn here() -> Option<Self> {
        // Nothing is started, since nothing is changed.
        let system = System::at("/", "");
        let verified = tune::verify(&system);
        let applied = verified.is_ok();
        let survey = verified
            .or_else(|_| tune::plan(&system, &Asked::default()))
            .ok()?;
        Some(Tuning {
            applied,
            measuring: survey.plan.measuring.to_string(),
            settings: survey
                .settings
                .iter()
                .map(|one| (one.name.to_string(), one.state))
                .collect(),
        })
    }
}

/// The value of a shell assignment.
fn assigned(text: &str, key: &str) -> String {
    text.lines()
        .find_map(|line| line.strip_prefix(key)?.strip_prefix('='))
        .map(|value| value.trim_matches('"').to_string())
        .unwrap_or_default()
}

fn interfaces() -> Vec<Interface> {
    let Ok(entries) = fs::read_dir("/sys/class/net") else {
        return Vec::new();
    };
    let number =
        |path: &Path| -> Option<u32> { fs::read_to_string(path).ok()?.trim().parse().ok() };
    let mut interfaces: Vec<Interface> = entries
        .flatten()
        .filter(|entry| entry.path().is_dir())
        .map(|entry| {
            let path = entry.path();
            let driver = fs::read_link(path.join("device/driver")).ok();
            Interface {
                name: entry.file_name().to_string_lossy().into_owned(),
                mtu: number(&path.join("mtu")).unwrap_or(0),
                speed: number(&path.join("speed")),
                driver: driver
                    .and_then(|link| Some(link.file_name()?.to_string_lossy().into_owned())),
            }
        })
        .collect();
    interfaces.sort_by(|a, b| a.name.cmp(&b.name));
    interfaces
}
