//! The environment of a measurement.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use jitterlab_base::clock::{Clock, Source};
use jitterlab_cluster::OWN_VERSION;
use jitterlab_node_tuning::system::System;
use jitterlab_node_tuning::tune::{self, Asked};
use procfs::{CpuInfo, Current, Meminfo};
use serde::{Deserialize, Serialize};

/// The environment that an experiment was measured in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    /// The version of `jitterlab run`, with its build.
    pub jitterlab: String,
    /// When it began, UTC (RFC 3339).
    pub started: String,
    /// One-way bandwidth in bytes a second that loads are shares of; none without loads.
    #[serde(deserialize_with = "Option::deserialize")]
    pub bandwidth: Option<f64>,
    /// The hosts by the names that the experiment gives them.
    pub hosts: BTreeMap<String, Node>,
    /// Each time that it went on after it was stopped.
    pub resumed: Vec<Resumption>,
}

/// The environment that an experiment went on in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Resumption {
    /// The version of `jitterlab run`, with its build.
    pub jitterlab: String,
    /// The time of it, UTC (RFC 3339).
    pub started: String,
    /// The hosts as they stood then.
    pub hosts: BTreeMap<String, Node>,
    /// The things that were no longer as in the beginning, for people.
    pub changed: Vec<String>,
}

impl Environment {
    /// Notes that the experiment goes on, and what has changed meanwhile.
    pub fn resume(&mut self, jitterlab: &str, started: String, hosts: BTreeMap<String, Node>) {
        let changed = self.changes(jitterlab, &hosts);
        self.resumed.push(Resumption {
            jitterlab: jitterlab.into(),
            started,
            hosts,
            changed,
        });
    }

    /// The differences between these hosts and this version of jitterlab, for people.
    pub fn changes(&self, jitterlab: &str, hosts: &BTreeMap<String, Node>) -> Vec<String> {
        let mut changes = Vec::new();
        let mut compare = |what: String, before: &str, now: &str| {
            if before != now {
                changes.push(format!("{what} was `{before}` and is `{now}`"));
            }
        };
        compare("jitterlab".into(), &self.jitterlab, jitterlab);
        for (name, node) in &self.hosts {
            // A host that is not there is told of by itself.
            let Some(now) = hosts.get(name).map(Node::facts) else {
                continue;
            };
            for (fact, before) in node.facts() {
                let now = now.get(&fact).map_or("none", String::as_str);
                compare(format!("host {name}: {fact}"), &before, now);
            }
        }
        changes
    }

    /// The things that are no longer as in the beginning, since the experiment went on last.
    pub fn changed(&self) -> &[String] {
        self.resumed.last().map_or(&[], |last| &last.changed)
    }
}

/// A machine as it stands, as its worker sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Node {
    /// The version of its `jitterlab`, with its build.
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
    /// True if it is a virtual machine.
    pub virtual_machine: bool,
    /// Memory in bytes.
    pub memory: u64,
    /// The clock that times are measured with.
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
    /// The tuning of the node; none if it has no cores to measure on.
    #[serde(deserialize_with = "Option::deserialize")]
    pub tuning: Option<Tuning>,
}

/// The tuning of a node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tuning {
    /// True if `jitterlab tune apply` was used there; otherwise its default is what is compared with.
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
    #[serde(deserialize_with = "Option::deserialize")]
    pub speed: Option<u32>,
    /// Its driver, where it has one.
    #[serde(deserialize_with = "Option::deserialize")]
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
            jitterlab: OWN_VERSION.clone(),
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

impl Node {
    /// The facts, by name, that should stay as they are while one measures. Figures of the clock, which
    /// vary, and the size of memory are not among them.
    fn facts(&self) -> BTreeMap<String, String> {
        let named = |name: &str, value: &dyn ToString| (name.to_string(), value.to_string());
        let mut facts = BTreeMap::from([
            named("jitterlab", &self.jitterlab),
            named("name", &self.hostname),
            named("kernel", &self.kernel),
            named("system", &self.system),
            named("processor", &self.cpu),
            named("CPUs", &self.cpus),
            named("clock", &format!("{:?}", self.clock).to_lowercase()),
        ]);
        facts.extend(self.settings.clone());
        facts.extend(self.interfaces.iter().map(|interface| {
            let driver = interface.driver.as_deref().unwrap_or("none");
            let speed = interface.speed.unwrap_or(0);
            let is = format!("mtu {}, {speed} Mbit/s, driver {driver}", interface.mtu);
            (format!("interface {}", interface.name), is)
        }));
        if let Some(tuning) = &self.tuning {
            facts.extend([
                named("tuned", &tuning.applied),
                named("measuring CPUs", &tuning.measuring),
            ]);
            let settings = tuning.settings.iter();
            facts.extend(
                settings.map(|(name, state)| (format!("tuning {name}"), state.name().into())),
            );
        }
        facts
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_changed_is_told_when_an_experiment_goes_on_and_no_more() {
        let node: Node = serde_json::from_str(
            r#"{ "jitterlab": "0.1.0", "hostname": "lab-1", "kernel": "6.1.0", "system": "Debian 12",
            "cpu": "A CPU", "cpus": 2, "virtual_machine": true, "memory": 8000000000, "clock": "tsc",
            "clock_read_ns": 14.5, "clock_resolution_ns": 0.5,
            "interfaces": [{ "name": "lo", "mtu": 65536, "speed": null, "driver": null }],
            "settings": { "frequency governor": "performance", "swappiness": "60" }, "tuning": null }"#,
        )
        .unwrap();
        let mut environment = Environment {
            jitterlab: "0.1.0".into(),
            started: "then".into(),
            bandwidth: None,
            hosts: BTreeMap::from([("a".to_string(), node.clone())]),
            resumed: Vec::new(),
        };
        assert!(environment.changed().is_empty());
        let mut other = node.clone();
        other.clock_read_ns = 15.0;
        other.memory -= 4096;
        let hosts = |node| BTreeMap::from([("a".to_string(), node)]);
        environment.resume("0.1.0", "later".into(), hosts(other.clone()));
        assert!(environment.changed().is_empty());
        other.kernel = "6.12.0".into();
        other.settings.remove("swappiness");
        environment.resume("0.2.0", "later still".into(), hosts(other));
        assert_eq!(
            environment.changed(),
            [
                "jitterlab was `0.1.0` and is `0.2.0`",
                "host a: kernel was `6.1.0` and is `6.12.0`",
                "host a: swappiness was `60` and is `none`"
            ]
        );
        let json = serde_json::to_string(&environment).unwrap();
        assert_eq!(
            serde_json::from_str::<Environment>(&json).unwrap(),
            environment
        );
    }
}
