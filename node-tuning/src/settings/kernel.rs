//! The things that the kernel does now and then by itself.

use super::{Node, Obstacle, Reach, Setting, Want, unsupported};
use crate::boot::Parameter;
use crate::system::Place;

/// A kernel parameter, and the same at once.
fn both(
    node: &Node,
    parameter: Parameter,
    place: Place,
    value: &str,
) -> Result<Vec<Want>, Obstacle> {
    let mut wants = node.one(place, value)?;
    wants.push(Want::Parameter {
        parameter,
        shows: None,
    });
    Ok(wants)
}

pub const RT_THROTTLING: Setting = Setting {
    name: "rt-throttling",
    why: "A program at real-time priority is otherwise stopped for 50 ms in every second.",
    reach: Reach::Measure,
    wants: |node| {
        let mut wants = node.one(Place::word("/proc/sys/kernel/sched_rt_runtime_us"), "-1")?;
        // A server of the scheduler's takes the time from Linux 6.12 on.
        for cpu in node.plan.measuring.iter() {
            let place = Place::word(format!(
                "/sys/kernel/debug/sched/fair_server/cpu{cpu}/runtime"
            ));
            if let Ok(Some(_)) = node.system.read(&place) {
                wants.push(Want::At(place, Some("0".into())));
            }
        }
        Ok(wants)
    },
};

pub const STAT_INTERVAL: Setting = Setting {
    name: "vm.stat_interval",
    why: "Counters of memory are gathered from every CPU once a second, by a kernel thread on that CPU.",
    reach: Reach::Measure,
    wants: |node| node.one(Place::word("/proc/sys/vm/stat_interval"), "120"),
};

pub const TIMER_MIGRATION: Setting = Setting {
    name: "timer-migration",
    why: "Timers of other CPUs would be moved to a measuring one, because that is always awake.",
    reach: Reach::Measure,
    wants: |node| node.one(Place::word("/proc/sys/kernel/timer_migration"), "0"),
};

pub const WATCHDOG_CPUMASK: Setting = Setting {
    name: "watchdog-cpumask",
    why: "The watchdogs against lock-ups interrupt the CPUs that they watch.",
    reach: Reach::Measure,
    wants: |node| {
        let place = Place::cpu_list("/proc/sys/kernel/watchdog_cpumask");
        match node.spare([place])? {
            wants if wants.is_empty() => {
                unsupported("this kernel has no watchdogs against lock-ups")
            }
            wants => Ok(wants),
        }
    },
};

pub const CLOCKSOURCE: Setting = Setting {
    name: "clocksource",
    why: "Every clock but the processor's own counter costs a system call or a microsecond to read.",
    reach: Reach::Measure,
    wants: |node| {
        const DIRECTORY: &str = "/sys/devices/system/clocksource/clocksource0";
        let available = node
            .system
            .text(format!("{DIRECTORY}/available_clocksource"))
            .unwrap_or_default();
        let own = ["tsc", "arch_sys_counter"];
        match own
            .iter()
            .find(|own| available.split_whitespace().any(|name| name == **own))
        {
            Some(own) => node.one(
                Place::word(format!("{DIRECTORY}/current_clocksource")),
                *own,
            ),
            None => unsupported(format!(
                "the kernel does not trust the processor's own counter here; it offers {}",
                if available.is_empty() {
                    "nothing to choose from"
                } else {
                    &available
                }
            )),
        }
    },
};

pub const TRANSPARENT_HUGEPAGE: Setting = Setting {
    name: "transparent-hugepage",
    why: "Making huge pages out of small ones stops a program for as long as it takes to copy them.",
    reach: Reach::Measure,
    wants: |node| {
        both(
            node,
            Parameter::new("transparent_hugepage", "never"),
            Place::choice("/sys/kernel/mm/transparent_hugepage/enabled"),
            "never",
        )
    },
};

pub const NUMA_BALANCING: Setting = Setting {
    name: "numa-balancing",
    why: "To see which node uses a page the kernel takes pages away, and the next access of the program faults.",
    reach: Reach::Measure,
    wants: |node| {
        both(
            node,
            Parameter::new("numa_balancing", "disable"),
            Place::word("/proc/sys/kernel/numa_balancing"),
            "0",
        )
    },
};

pub const NMI_WATCHDOG: Setting = Setting {
    name: "nmi_watchdog",
    why: "The watchdog against hard lock-ups takes a performance counter and an interrupt that nothing can hold off.",
    reach: Reach::Measure,
    wants: |node| {
        both(
            node,
            Parameter::new("nmi_watchdog", "0"),
            Place::word("/proc/sys/kernel/nmi_watchdog"),
            "0",
        )
    },
};

pub const NOSOFTLOCKUP: Setting = Setting {
    name: "nosoftlockup",
    why: "The watchdog against soft lock-ups runs a thread at the highest priority on every CPU.",
    reach: Reach::Measure,
    wants: |node| {
        both(
            node,
            Parameter::flag("nosoftlockup"),
            Place::word("/proc/sys/kernel/soft_watchdog"),
            "0",
        )
    },
};
