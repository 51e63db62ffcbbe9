//! Memory that stays where it is.

use super::{Reach, Setting, Want, unsupported};
use crate::system::{Place, Swap};

/// Huge pages of 2 MiB for each measuring CPU: buffers of a rank, 128 MiB.
const HUGE_PAGES_A_RANK: usize = 64;

pub const MEMLOCK: Setting = Setting {
    name: "memlock",
    why: "RDMA registers memory by locking it; the usual limit of 8 MiB is less than the buffers of one program.",
    reach: Reach::Measure,
    wants: |node| {
        if !node.system.exists("/etc/security/limits.d") {
            return unsupported(
                "this node has no /etc/security/limits.d: its logins do not go through pam_limits",
            );
        }
        let path = "/etc/security/limits.d/95-jitterlab.conf".into();
        let limits = "# Written by `jitterlab tune apply`, which `jitterlab tune revert` undoes.\n* - memlock unlimited\nroot - memlock unlimited\n";
        Ok(vec![Want::At(Place::File { path }, Some(limits.into()))])
    },
};

pub const HUGE_PAGES: Setting = Setting {
    name: "huge-pages",
    why: "Buffers on huge pages need few entries of the TLB; pages that are set aside now need not be found later.",
    reach: Reach::Measure,
    wants: |node| {
        const POOL: &str = "hugepages/hugepages-2048kB/nr_hugepages";
        let mut wants = Vec::new();
        let cores = &node.topology.cores;
        let mut nodes: Vec<u32> = cores.iter().map(|core| core.numa_node).collect();
        nodes.sort_unstable();
        nodes.dedup();
        for numa_node in nodes {
            let of_node = |cpu| {
                node.topology
                    .core_of(cpu)
                    .is_some_and(|core| core.numa_node == numa_node)
            };
            let ranks = node
                .plan
                .measuring
                .iter()
                .filter(|&cpu| of_node(cpu))
                .count();
            let places = [
                Place::amount(format!("/sys/devices/system/node/node{numa_node}/{POOL}")),
                Place::amount(format!("/sys/kernel/mm/{POOL}")),
            ];
            for place in places {
                let Some(pages) = node
                    .system
                    .read(&place)?
                    .and_then(|pages| pages.parse::<usize>().ok())
                else {
                    continue;
                };
                // More than is needed is as good, and somebody may need them.
                let wanted = pages.max(ranks * HUGE_PAGES_A_RANK);
                wants.push(Want::At(place, Some(wanted.to_string())));
                break;
            }
        }
        match wants.is_empty() {
            true => unsupported("this kernel has no huge pages of 2 MiB"),
            false => Ok(wants),
        }
    },
};

pub const SWAP: Setting = Setting {
    name: "swap",
    why: "A page that was swapped out takes a disk's time to come back.",
    reach: Reach::Measure,
    wants: |node| {
        let mut swaps = node.system.swaps();
        // Priorities that the kernel gives by itself fall with each device: the last of them goes off
        // first, and so comes back last.
        swaps.sort_by_key(|swap| swap.priority);
        let used: u64 = swaps.iter().map(|swap| swap.used_kib).sum();
        let memory = node.system.text("/proc/meminfo").unwrap_or_default();
        let available = memory
            .lines()
            .find_map(|line| line.strip_prefix("MemAvailable:"));
        let available: Option<u64> = available
            .and_then(|text| text.split_whitespace().next())
            .and_then(|kib| kib.parse().ok());
        if available.is_some_and(|available| used > available) {
            return unsupported(format!(
                "{used} KiB are swapped out, which is more than the memory that is free"
            ));
        }
        // The journal is text.
        if let Some(swap) = swaps.iter().find(|swap| swap.path.to_str().is_none()) {
            let path = swap.path.display();
            return unsupported(format!("the path of the swap {path} is not UTF-8"));
        }
        let off = |Swap { path, .. }| Want::At(Place::Swap { path }, None);
        Ok(swaps.into_iter().map(off).collect())
    },
};
