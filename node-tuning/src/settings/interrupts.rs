//! The settings of where interrupts go.

use std::path::Path;

use super::{Reach, Setting, Want, unsupported};
use crate::system::Place;

pub const IRQBALANCE: Setting = Setting {
    name: "irqbalance",
    why: "irqbalance would move interrupts back to the measuring CPUs.",
    reach: Reach::Measure,
    wants: |node| {
        const UNIT: &str = "irqbalance.service";
        let directories = [
            "/etc/systemd/system",
            "/usr/lib/systemd/system",
            "/lib/systemd/system",
        ];
        let installed = directories
            .iter()
            .any(|directory| node.system.exists(Path::new(directory).join(UNIT)));
        if !installed {
            let runs = node.system.is_live()
                && node
                    .threads()?
                    .iter()
                    .any(|thread| thread.name == "irqbalance");
            return match runs {
                true => unsupported(
                    "irqbalance runs, and not as a service of systemd, which would stop it",
                ),
                false => Ok(Vec::new()),
            };
        }
        if !node.system.exists("/run/systemd/system") {
            return unsupported(
                "irqbalance is installed, and systemd, which would stop it, does not run",
            );
        }
        node.one(Place::Service { unit: UNIT.into() }, "inactive")
    },
};

pub const DEFAULT_AFFINITY: Setting = Setting {
    name: "irq-default-affinity",
    why: "Interrupts that devices register later start on the housekeeping CPUs.",
    reach: Reach::Measure,
    wants: |node| {
        let place = Place::cpu_mask("/proc/irq/default_smp_affinity");
        match node.spare([place])? {
            wants if wants.is_empty() => {
                unsupported("this kernel does not let interrupts be placed")
            }
            wants => Ok(wants),
        }
    },
};

pub const AFFINITY: Setting = Setting {
    name: "irq-affinity",
    why: "Every interrupt on a measuring CPU, of network queues too, takes microseconds from what is measured there.",
    reach: Reach::Measure,
    wants: |node| {
        let numbers = node.system.names("/proc/irq");
        let numbers = numbers.iter().filter(|name| name.parse::<u32>().is_ok());
        let places =
            numbers.map(|irq| Place::cpu_list(format!("/proc/irq/{irq}/smp_affinity_list")));
        let wants: Vec<Want> = node.spare(places)?;
        if wants.is_empty() {
            return unsupported("this kernel does not let interrupts be placed");
        }
        Ok(wants)
    },
};
