//! The settings that only the kernel's start can make.

use super::{Node, Obstacle, Reach, Setting, Want, unsupported};
use crate::boot::Parameter;
use crate::cpus::CpuSet;
use crate::profile::Profile;
use crate::system::Place;
use crate::topology::Vendor;

fn parameter(key: &str, value: impl Into<String>) -> Result<Vec<Want>, Obstacle> {
    Ok(vec![Want::Parameter {
        parameter: Parameter::new(key, value),
        shows: None,
    }])
}

/// A parameter that names the isolated CPUs, which the kernel shows as a list at `path`.
fn isolated(
    node: &Node,
    key: &str,
    flags: &str,
    path: Option<&str>,
) -> Result<Vec<Want>, Obstacle> {
    let cpus = as_given(node, key, &node.isolated()).to_string();
    Ok(vec![Want::Parameter {
        parameter: Parameter::new(key, format!("{flags}{cpus}")),
        shows: path.map(|path| (Place::cpu_list(path), cpus)),
    }])
}

/// CPUs for a parameter; those that the running kernel was given where only CPUs differ that are offline. Siblings that
/// `nosmt` has taken away can no longer be told from any other CPU, where the plan of the boot before is not
/// there.
fn as_given(node: &Node, key: &str, cpus: &CpuSet) -> CpuSet {
    let online = &node.topology.online;
    let given = node.boot.cpus(key);
    let given = given.filter(|given| given.and(online) == cpus.and(online));
    given.unwrap_or_else(|| cpus.clone())
}

pub const ISOLCPUS: Setting = Setting {
    name: "isolcpus",
    why: "The scheduler puts nothing on these CPUs by itself (and with managed_irq, interrupts that the kernel places stay away from them).",
    reach: Reach::Paper,
    wants: |node| {
        node.needs("CONFIG_CPU_ISOLATION")?;
        // The paper gave the list alone, which isolates from the scheduler's domains only.
        let flags = if node.profile == Profile::Paper {
            ""
        } else {
            "managed_irq,domain,"
        };
        isolated(
            node,
            "isolcpus",
            flags,
            Some("/sys/devices/system/cpu/isolated"),
        )
    },
};

pub const NOHZ_FULL: Setting = Setting {
    name: "nohz_full",
    why: "A CPU that runs one task has no tick: on a busy core it costs some microseconds, 100 to 1,000 times a second.",
    reach: Reach::Measure,
    wants: |node| {
        node.needs("CONFIG_NO_HZ_FULL")?;
        isolated(
            node,
            "nohz_full",
            "",
            Some("/sys/devices/system/cpu/nohz_full"),
        )
    },
};

pub const RCU_NOCBS: Setting = Setting {
    name: "rcu_nocbs",
    why: "What the kernel frees later (RCU callbacks) is freed by threads that run elsewhere.",
    reach: Reach::Measure,
    wants: |node| {
        node.needs("CONFIG_RCU_NOCB_CPU")?;
        isolated(node, "rcu_nocbs", "", None)
    },
};

pub const IRQAFFINITY: Setting = Setting {
    name: "irqaffinity",
    why: "Interrupts of devices go to the housekeeping CPUs from the first moment on.",
    reach: Reach::Measure,
    wants: |node| {
        let cpus = as_given(node, "irqaffinity", &node.plan.housekeeping);
        parameter("irqaffinity", cpus.to_string())
    },
};

pub const PROCESSOR_MAX_CSTATE: Setting = Setting {
    name: "processor.max_cstate",
    why: "Idle states below C1 take up to hundreds of microseconds to leave, and let the clock change.",
    reach: Reach::Paper,
    wants: |node| match node.topology.vendor {
        Vendor::Intel | Vendor::Amd => parameter("processor.max_cstate", "1"),
        _ => unsupported(
            "this processor has no idle states of ACPI; cpuidle-states does the same at run time",
        ),
    },
};

pub const INTEL_IDLE_MAX_CSTATE: Setting = Setting {
    name: "intel_idle.max_cstate",
    why: "Intel's own idle driver does not heed processor.max_cstate; 0 leaves the states to ACPI's driver, which does.",
    reach: Reach::Paper,
    wants: |node| match node.topology.vendor {
        Vendor::Intel => parameter("intel_idle.max_cstate", "0"),
        _ => unsupported(
            "only Intel's processors have this driver; processor.max_cstate does it for AMD's",
        ),
    },
};

pub const NOSMT: Setting = Setting {
    name: "nosmt",
    why: "Two threads of a core share its units and caches: what the other one does changes how long this one takes.",
    reach: Reach::Paper,
    wants: |node| {
        if matches!(
            node.topology.smt.as_deref(),
            Some("notsupported" | "notimplemented") | None
        ) {
            return unsupported(
                "this node has no simultaneous multithreading that could be turned off",
            );
        }
        Ok(vec![Want::Parameter {
            parameter: Parameter::flag("nosmt"),
            shows: None,
        }])
    },
};

pub const SKEW_TICK: Setting = Setting {
    name: "skew_tick",
    why: "The ticks of the CPUs come at different moments and do not wait for each other's locks.",
    reach: Reach::Measure,
    wants: |_| parameter("skew_tick", "1"),
};

pub const MITIGATIONS: Setting = Setting {
    name: "mitigations",
    why: "Mitigations of the processor's vulnerabilities make system calls and interrupts slower. Turning them off opens the node to its own programs: only where all of them are trusted.",
    reach: Reach::Asked {
        paper: false,
        report: vulnerabilities,
    },
    wants: |_| parameter("mitigations", "off"),
};

/// The kernel's words about each vulnerability that the processor has.
fn vulnerabilities(node: &Node) -> Vec<String> {
    const DIRECTORY: &str = "/sys/devices/system/cpu/vulnerabilities";
    let names = node.system.names(DIRECTORY);
    let says = |name: &String| {
        Some((
            name.clone(),
            node.system.text(format!("{DIRECTORY}/{name}"))?,
        ))
    };
    let affected = names
        .iter()
        .filter_map(says)
        .filter(|(_, says)| says != "Not affected");
    affected
        .map(|(name, says)| format!("{name}: {says}"))
        .collect()
}
