//! The CPUs on which programs and kernel threads run.

use std::fs;
use std::io;

use super::{Node, Obstacle, Reach, Setting, Want, unsupported};
use crate::cpus::CpuSet;
use crate::system::{Form, Place, System, Thread};

/// The control group whose CPUs nobody else may use.
const PARTITION: &str = "/sys/fs/cgroup/jitterlab";
const GROUPS: &str = "/sys/fs/cgroup";
const CONTROLLERS: &str = "/sys/fs/cgroup/cgroup.controllers";
const SUBTREE: &str = "/sys/fs/cgroup/cgroup.subtree_control";

pub const CPUSET_PARTITION: Setting = Setting {
    name: "cpuset-partition",
    why: "Takes the measuring CPUs from all other programs and from the scheduler's balancing at once, without a reboot.",
    reach: Reach::Measure,
    wants: |node| {
        if node.isolated().is_within(&node.topology.isolation.isolated) {
            // isolcpus has done it already.
            return Ok(Vec::new());
        }
        let Some(controllers) = node.system.text(CONTROLLERS) else {
            return unsupported("there is no cgroup v2 at /sys/fs/cgroup");
        };
        if !controllers.split_whitespace().any(|name| name == "cpuset") {
            return unsupported("the cpuset controller is not one of cgroup v2 here");
        }
        if node.system.kernel() < (6, 1) {
            return unsupported("isolated partitions came with Linux 6.1");
        }
        let file = |name: &str| format!("{PARTITION}/{name}");
        let subtree = Place::Kernel {
            path: SUBTREE.into(),
            form: Form::Cpuset,
        };
        let mut wants = pinned(node)?;
        wants.extend([
            Want::At(subtree, Some("on".into())),
            Want::At(
                Place::Directory {
                    path: PARTITION.into(),
                },
                Some(String::new()),
            ),
            Want::At(
                Place::cpu_list(file("cpuset.cpus")),
                Some(node.isolated().to_string()),
            ),
            Want::At(
                Place::word(file("cpuset.cpus.partition")),
                Some("isolated".into()),
            ),
        ]);
        Ok(wants)
    },
};

/// Threads that somebody has put on some CPUs, where the partition takes some of these. Before Linux
/// 6.2 the cpuset controller forgets where any thread was put.
fn pinned(node: &Node) -> Result<Vec<Want>, Obstacle> {
    if !node.system.is_live() {
        return Ok(Vec::new());
    }
    let online = &node.topology.online;
    let forgets = node.system.kernel() < (6, 2);
    let threads = node.threads()?;
    let pinned = threads.iter().filter(|thread| {
        let disturbed = forgets || node.is_touched(&thread.cpus);
        !thread.fixed && disturbed && !online.is_within(&thread.cpus)
    });
    // Those on the CPUs that the partition takes have to leave them until it is gone.
    Ok(pinned
        .map(|thread| Want::Keep(thread.place(), Some(node.spared(&thread.cpus).to_string())))
        .collect())
}

/// Takes the calling process into the partition where `cpus` are in it; elsewhere it may not run on
/// them. Without such a partition nothing happens.
///
/// # Errors
/// The kernel does not let it in: this takes root.
pub fn join_partition(system: &System, cpus: &CpuSet) -> io::Result<()> {
    let list = system
        .text(format!("{PARTITION}/cpuset.cpus"))
        .unwrap_or_default();
    let partition: CpuSet = list.parse().unwrap_or_default();
    if partition.and(cpus).is_empty() {
        return Ok(());
    }
    join_group(system, PARTITION)
}

/// The control group that the calling process is in, to go back to; nothing without cgroup v2.
pub fn own_group(system: &System) -> Option<String> {
    let groups = system.text("/proc/self/cgroup")?;
    let own = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    Some(format!("{GROUPS}{own}"))
}

/// Takes the calling process into a control group, as [`own_group`] names it.
///
/// # Errors
/// The kernel does not let it in: this takes root.
pub fn join_group(system: &System, group: &str) -> io::Result<()> {
    fs::write(
        system.path(format!("{group}/cgroup.procs")),
        std::process::id().to_string(),
    )
}

pub const WORKQUEUE_CPUMASK: Setting = Setting {
    name: "workqueue-cpumask",
    why: "What the kernel does in the background is done on the housekeeping CPUs.",
    reach: Reach::Measure,
    wants: |node| {
        let place = Place::cpu_mask("/sys/devices/virtual/workqueue/cpumask");
        match node.spare([place])? {
            wants if wants.is_empty() => {
                unsupported("this kernel does not let its work queues be placed")
            }
            wants => Ok(wants),
        }
    },
};

/// Wants threads off the isolated CPUs. Those that were put there, and nowhere else, are left: it is
/// for them that the CPUs are isolated.
fn elsewhere(node: &Node, moves: impl Fn(&Thread) -> bool) -> Result<Vec<Want>, Obstacle> {
    let isolated = node.isolated();
    let threads = node.threads()?;
    let strays = threads.iter().filter(|thread| {
        moves(thread) && node.is_touched(&thread.cpus) && !thread.cpus.is_within(&isolated)
    });
    Ok(strays
        .map(|thread| Want::At(thread.place(), Some(node.spared(&thread.cpus).to_string())))
        .collect())
}

fn only_live(node: &Node) -> Result<(), Obstacle> {
    match node.system.is_live() {
        true => Ok(()),
        false => unsupported("a copied tree has no threads"),
    }
}

pub const KERNEL_THREADS: Setting = Setting {
    name: "kernel-threads",
    why: "Kernel threads that may run anywhere run on the housekeeping CPUs.",
    reach: Reach::Measure,
    wants: |node| {
        only_live(node)?;
        // Threads of interrupts go with their interrupts.
        elsewhere(node, |thread| {
            thread.kernel && !thread.fixed && !thread.name.starts_with("irq/")
        })
    },
};

pub const USER_TASKS: Setting = Setting {
    name: "user-tasks",
    why: "Programs that run already are moved off the measuring CPUs, and what they start begins elsewhere.",
    reach: Reach::Measure,
    wants: |node| {
        only_live(node)?;
        // This process is among them: what starts later than it has its CPUs from somebody.
        elsewhere(node, |thread| !thread.kernel)
    },
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_goes_back_to_the_group_that_it_came_from() {
        let root = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let system = System::at(root.path(), "");
        assert_eq!(own_group(&system), None);
        put("proc/self/cgroup", "1:name=systemd:/x\n");
        assert_eq!(own_group(&system), None);
        put("proc/self/cgroup", "0::/user.slice/a\n");
        put("sys/fs/cgroup/user.slice/a/cgroup.procs", "");
        let group = own_group(&system).unwrap();
        join_group(&system, &group).unwrap();
        assert_eq!(
            system.text("/sys/fs/cgroup/user.slice/a/cgroup.procs"),
            Some(std::process::id().to_string())
        );
    }
}
