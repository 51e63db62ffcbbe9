//! Plans for the nodes in `trees/`, and for nodes that chance has made.

mod common;

use std::collections::BTreeMap;

use jitterlab_node_tuning::cpus::CpuSet;
use jitterlab_node_tuning::plan::{Plan, Refusal, Request};
use jitterlab_node_tuning::topology::{
    Core, CoreKind, Device, DeviceKind, Isolation, NumaNode, Package, PackageDistance, Topology,
    Vendor,
};
use proptest::prelude::*;

fn topology(name: &str) -> Topology {
    Topology::read(common::tree(name).path()).unwrap()
}

fn request(ranks: impl Into<Option<usize>>, device: impl Into<Option<&'static str>>) -> Request {
    Request {
        ranks: ranks.into(),
        device: device.into().map(Into::into),
    }
}

/// `DEVICE package N: MEASURING | IDLE | HOUSEKEEPING`, or why there is none.
fn outcome(name: &str, request: &Request) -> String {
    match Plan::make(&topology(name), request) {
        Err(refusal) => refusal.to_string(),
        Ok(plan) => format!(
            "{} package {}: {} | {} | {}",
            plan.device.as_deref().unwrap_or("-"),
            plan.package,
            plan.measuring,
            plan.idle,
            plan.housekeeping
        ),
    }
}

#[test]
fn every_node_has_its_plan() {
    let plans = BTreeMap::from([
        ("amd-nps4", "mlx5_0 package 1: 8-15 | 24-31 | 0-7,16-23"),
        ("arm", "enp1s0np0 package 36: 1-5 |  | 0"),
        ("bare", "- package 0: 1-3 |  | 0"),
        ("big-little", "end0 package 0: 4-5 |  | 0-3"),
        ("favoured", "- package 0: 1-9 |  | 0"),
        ("hybrid", "eno2 package 0: 2,4,6 | 3,5,7 | 0-1,8-11"),
        ("memory-node", "eth0 package 1: 2-3 |  | 0-1"),
        (
            "one-cpu",
            "the node has only one core online. The kernel needs it, so no core is left to measure on",
        ),
        (
            "raptor",
            "- package 0: 2,4,6,8,10,12,14 | 3,5,7,9,11,13,15 | 0-1,16-31",
        ),
        ("sockets", "- package 1: 1 |  | 0,2"),
        ("stacked", "- package 0: 1-7 |  | 0,8-15"),
        ("strix", "- package 0: 1-3 | 13-15 | 0,4-12,16-23"),
        ("three-kinds", "- package 0: 7 |  | 0-6"),
        ("tuned", "mlx4_0 package 0: 1-3 |  | 0"),
        ("two-socket", "mlx5_0 package 1: 4-7 | 12-15 | 0-3,8-11"),
        ("virtio", "rxe0 package 0: 1 |  | 0"),
    ]);
    assert_eq!(common::names(), plans.keys().copied().collect::<Vec<_>>());
    for (name, expected) in plans {
        assert_eq!(outcome(name, &Request::default()), expected, "{name}");
    }
}

#[test]
fn ranks_and_devices_that_are_asked_for() {
    for (name, request, expected) in [
        (
            "two-socket",
            request(2, None),
            "mlx5_0 package 1: 4-5 | 12-13 | 0-3,6-11,14-15",
        ),
        (
            "two-socket",
            request(2, "eno1"),
            "eno1 package 0: 1-2 | 9-10 | 0,3-8,11-15",
        ),
        (
            "two-socket",
            request(None, "eno1"),
            "eno1 package 0: 1-3 | 9-11 | 0,4-8,12-15",
        ),
        (
            "two-socket",
            request(5, None),
            "there are not enough cores for 5 ranks on package 1, the nearest to mlx5_0; cores to measure on: 3 on \
             package 0 besides core 0, which does the housekeeping; 4 on package 1",
        ),
        (
            "two-socket",
            request(1, "eth9"),
            "there is no device eth9 with hardware behind it; this node has mlx5_0, eno1, ib0",
        ),
        (
            "bare",
            request(1, "eth0"),
            "there is no device eth0 with hardware behind it; this node has none",
        ),
        (
            "two-socket",
            request(0, None),
            "a plan needs at least 1 rank",
        ),
        // The device is on NUMA node 6: its cores come first, then those of node 7, which is nearer
        // than 4 and 5.
        (
            "amd-nps4",
            request(2, None),
            "mlx5_0 package 1: 12-13 | 28-29 | 0-11,14-27,30-31",
        ),
        (
            "amd-nps4",
            request(3, None),
            "mlx5_0 package 1: 12-14 | 28-30 | 0-11,15-27,31",
        ),
        (
            "amd-nps4",
            request(5, None),
            "mlx5_0 package 1: 8,12-15 | 24,28-31 | 0-7,9-11,16-23,25-27",
        ),
        // A bond, and a VLAN on it, are where their ports are: NUMA node 2.
        (
            "amd-nps4",
            request(2, "bond0.7"),
            "bond0.7 package 0: 4-5 | 20-21 | 0-3,6-19,22-31",
        ),
        // Large cores first; where there are too few small ones, and never some of each.
        (
            "hybrid",
            request(2, None),
            "eno2 package 0: 2,4 | 3,5 | 0-1,6-11",
        ),
        ("hybrid", request(4, None), "eno2 package 0: 8-11 |  | 0-7"),
        (
            "hybrid",
            request(5, None),
            "there are not enough cores for 5 ranks on package 0, the nearest to eno2; cores to measure on: 3 of one \
             kind, 4 of another on package 0 besides core 0, which does the housekeeping; cores of two kinds are \
             not mixed",
        ),
        (
            "big-little",
            request(3, None),
            "end0 package 0: 1-3 |  | 0,4-5",
        ),
        (
            "strix",
            request(6, None),
            "- package 0: 4-9 | 16-21 | 0-3,10-15,22-23",
        ),
        (
            "three-kinds",
            request(3, None),
            "- package 0: 4-6 |  | 0-3,7",
        ),
        (
            "three-kinds",
            request(4, None),
            "there are not enough cores for 4 ranks on package 0; cores to measure on: 1 of one kind, 3 of \
             another, 3 of another on package 0 besides core 0, which does the housekeeping; cores of two kinds are \
             not mixed",
        ),
        // The firmware names near CPUs, and no NUMA node.
        (
            "memory-node",
            request(None, "eth1"),
            "eth1 package 0: 1 |  | 0,2-3",
        ),
        // Where a team of two is, is not known: the first package with enough cores.
        (
            "memory-node",
            request(2, "team0"),
            "team0 package 1: 2-3 |  | 0-1",
        ),
        (
            "memory-node",
            request(2, "eth1"),
            "there are not enough cores for 2 ranks on package 0, the nearest to eth1; cores to measure on: 1 on \
             package 0 besides core 0, which does the housekeeping; 2 on package 1",
        ),
        (
            "sockets",
            request(2, "eth0"),
            "there are not enough cores for 2 ranks on one package; cores to measure on: 0 on package 0 besides core \
             0, which does the housekeeping; 1 on package 1; 1 on package 2",
        ),
    ] {
        assert_eq!(outcome(name, &request), expected, "{name} {request:?}");
    }
}

#[test]
fn a_plan_says_why() {
    let reasons = |name, request| Plan::make(&topology(name), &request).unwrap().reasons;
    assert_eq!(
        reasons("two-socket", request(2, None)),
        [
            "mlx5_0 is taken since none was asked for: RDMA devices come first, the nearest and \
             fastest of them",
            "package 1 measures: it is nearest to mlx5_0 (distance 21 from package 0, 10 from \
             package 1)",
            "core 0 (CPU 0,8) does the housekeeping: the kernel gives it work of its own",
            "of 4 cores that could measure, 2 do, one a rank",
            "CPU 12-13 stays empty: it would share cores with CPUs that measure",
        ]
    );
    assert_eq!(
        reasons("virtio", request(None, "eth0")),
        [
            "eth0 was asked for",
            "package 0 measures: the node has no other",
            "core 0 (CPU 0) does the housekeeping: the kernel gives it work of its own",
            "all cores that could measure do (1)",
            "this is a virtual machine: only its host can keep other work off these CPUs",
        ]
    );
    for (name, request, reason) in [
        (
            "tuned",
            request(None, None),
            "it is an RDMA device, although no link is up",
        ),
        (
            "arm",
            request(None, None),
            "of the network interfaces that are up it is the nearest",
        ),
        ("sockets", request(None, None), "no device is thought of"),
        (
            "sockets",
            request(None, None),
            "package 1 measures: it is the first that has enough",
        ),
        (
            "sockets",
            request(None, "eth0"),
            "which one eth0 is nearest to is not known",
        ),
        (
            "memory-node",
            request(None, "eth1"),
            "package 0 measures: it is nearest to eth1",
        ),
        (
            "hybrid",
            request(None, None),
            "7 cores that could measure, 3 do; the others are eff",
        ),
        (
            "hybrid",
            request(4, None),
            "they are efficiency cores: of faster ones there are 3, and cores of two kinds are not mixed",
        ),
        (
            "strix",
            request(None, None),
            "of 11 cores that could measure, 3 do; the others are efficiency cores (up to 5.16 GHz here, 3.30 GHz there), and cores of two kinds are not mixed",
        ),
        (
            "stacked",
            request(None, None),
            "15 cores that could measure, 7 do; the others are of another kind, by their caches or threads (up",
        ),
        (
            "favoured",
            request(None, None),
            "all cores that could measure do (9)",
        ),
    ] {
        let reasons = reasons(name, request);
        assert!(
            reasons.iter().any(|said| said.contains(reason)),
            "{name}: {reasons:?}"
        );
    }
}

#[test]
fn the_default_device_is_the_likeliest() {
    let mut node = topology("amd-nps4");
    let mut default = |change: fn(&mut Device)| {
        node.devices.iter_mut().for_each(change);
        Plan::make(&node, &Request::default()).unwrap().device
    };
    assert_eq!(default(|_| {}).as_deref(), Some("mlx5_0"));
    // An RDMA device without a link gives way to an interface that has one, the fastest first ...
    let down = |device: &mut Device| device.up &= device.kind == DeviceKind::Network;
    assert_eq!(default(down).as_deref(), Some("ens2np0"));
    // ... and comes back when nothing is up.
    assert_eq!(
        default(|device| device.up = false).as_deref(),
        Some("mlx5_0")
    );
    // A bond is no hardware.
    let bonds = |device: &mut Device| {
        device.up = device.name.starts_with("bond") || device.name == "eno2";
        device.kind = DeviceKind::Network;
    };
    assert_eq!(default(bonds).as_deref(), Some("eno2"));
    // Of two that are alike, the one with fewer bridges.
    let alike = |device: &mut Device| {
        device.up = ["eno1", "eno2"].contains(&device.name.as_str());
        device
            .bridges
            .truncate(if device.name == "eno2" { 1 } else { 2 });
    };
    assert_eq!(default(alike).as_deref(), Some("eno2"));
}

#[test]
fn a_plan_is_read_back() {
    let plan = Plan::make(&topology("two-socket"), &request(3, None)).unwrap();
    let text = serde_json::to_string(&plan).unwrap();
    assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), plan);
    assert_eq!(plan.isolated().to_string(), "4-6,12-14");
}

/// A node of these packages, each with these numbers of threads by core; numbered threads last, as
/// Intel does, or together, as hypervisors do. A device sits on one of the packages, or somewhere.
fn node(packages: &[Vec<u32>], together: bool, on: Option<usize>) -> Topology {
    let mut cores: Vec<Core> = Vec::new();
    for (package, threads) in packages.iter().enumerate() {
        let package = package as u32;
        cores.extend(threads.iter().enumerate().map(|(id, _)| Core {
            package,
            id: id as u32,
            numa_node: package,
            cpus: CpuSet::new(),
            max_khz: None,
            class: u32::from(id % 3 == 2),
            kind: if id % 3 == 2 {
                CoreKind::Efficiency
            } else {
                CoreKind::Performance
            },
        }));
    }
    let threads: Vec<u32> = packages.concat();
    let mut places: Vec<(u32, usize)> = (0..threads.len())
        .flat_map(|core| (0..threads[core]).map(move |thread| (thread, core)))
        .collect();
    if !together {
        places.sort();
    }
    for (cpu, (_, core)) in places.iter().enumerate() {
        cores[*core].cpus.insert(cpu as u32);
    }
    cores.sort_by_key(|core| core.cpus.first());
    let cpus = |package: u32| {
        let cores = cores.iter().filter(|core| core.package == package);
        cores.flat_map(|core| core.cpus.iter()).collect::<CpuSet>()
    };
    let ids = 0..packages.len() as u32;
    let distance = |a: u32, b: u32| if a == b { 10 } else { 20 };
    Topology {
        vendor: Vendor::Intel,
        model: None,
        virtual_machine: false,
        online: (0..places.len() as u32).collect(),
        offline: CpuSet::new(),
        smt: None,
        packages: ids
            .clone()
            .map(|id| Package {
                id,
                cpus: cpus(id),
                numa_nodes: vec![id],
            })
            .collect(),
        numa_nodes: ids
            .clone()
            .map(|id| NumaNode {
                id,
                cpus: cpus(id),
                memory_bytes: None,
                distances: ids.clone().map(|to| (to, distance(id, to))).collect(),
            })
            .collect(),
        caches: Vec::new(),
        devices: vec![Device {
            name: "hca".into(),
            kind: DeviceKind::Rdma,
            network: Vec::new(),
            driver: None,
            pci: None,
            bridges: Vec::new(),
            numa_node: on.map(|on| on as u32),
            up: true,
            speed_mbps: None,
            mtu: None,
            link_layer: None,
            distances: ids
                .map(|package| PackageDistance {
                    package,
                    distance: on.map(|on| distance(on as u32, package)),
                    local: on == Some(package as usize),
                })
                .collect(),
        }],
        cores,
        isolation: Isolation::default(),
    }
}

prop_compose! {
    fn nodes()(
        packages in proptest::collection::vec(proptest::collection::vec(1..=2u32, 1..7), 1..4),
        together in any::<bool>(),
        on in proptest::option::of(0..4usize),
    ) -> Topology {
        let on = on.map(|on| on % packages.len());
        node(&packages, together, on)
    }
}

proptest! {
    #[test]
    fn plans_keep_their_promises(node in nodes(), ranks in proptest::option::of(1..8usize)) {
        // Of the class of which there are most.
        let free = |package: u32| {
            let count = |class: u32| {
                let cores = node.cores.iter().skip(1);
                cores.filter(|core| core.package == package && core.class == class).count()
            };
            count(0).max(count(1))
        };
        let attached = node.devices[0].numa_node;
        let allowed: Vec<u32> = match attached {
            Some(package) => vec![package],
            None => node.packages.iter().map(|package| package.id).collect(),
        };
        let possible = allowed.iter().any(|&package| free(package) >= ranks.unwrap_or(1));
        let plan = match Plan::make(&node, &Request { ranks, device: None }) {
            Ok(plan) => plan,
            Err(refusal) => {
                prop_assert!(!possible, "{refusal}");
                prop_assert_eq!(refusal == Refusal::OneCore, node.cores.len() == 1);
                return Ok(());
            }
        };
        prop_assert!(possible && allowed.contains(&plan.package));

        // Every CPU in one set.
        let all = plan.measuring.or(&plan.idle).or(&plan.housekeeping);
        prop_assert_eq!(&all, &node.online);
        let together = plan.measuring.len() + plan.idle.len() + plan.housekeeping.len();
        prop_assert_eq!(together, node.online.len());

        // Core 0 does the housekeeping, whole; a core measures with its first thread or not at all.
        prop_assert!(node.cores[0].cpus.is_within(&plan.housekeeping));
        for core in &node.cores {
            let measuring = core.cpus.and(&plan.measuring);
            if measuring.is_empty() {
                prop_assert!(core.cpus.is_within(&plan.housekeeping));
            } else {
                prop_assert_eq!(core.package, plan.package);
                prop_assert_eq!(measuring, CpuSet::from_iter(core.cpus.first()));
            }
        }

        // As many as asked for, otherwise all; of one class, and of a slower one only where there are too few of the
        // faster.
        let measuring = &plan.measuring;
        let classes = |measures: bool| {
            let cores = node.cores.iter().skip(1).filter(|core| core.package == plan.package);
            cores
                .filter(move |core| measuring.and(&core.cpus).is_empty() != measures)
                .map(|core| core.class)
                .collect::<Vec<_>>()
        };
        let (chosen, others) = (classes(true), classes(false));
        prop_assert!(chosen.iter().all(|class| *class == chosen[0]));
        let faster = others.iter().filter(|class| **class < chosen[0]).count();
        prop_assert!(faster < ranks.unwrap_or(1));
        match ranks {
            Some(ranks) => prop_assert_eq!(chosen.len(), ranks),
            None => prop_assert!(!others.contains(&chosen[0])),
        }
    }

    #[test]
    fn taking_the_siblings_offline_changes_no_measuring_cpu(node in nodes(), ranks in proptest::option::of(1..8usize)) {
        let request = Request { ranks, device: None };
        let Ok(before) = Plan::make(&node, &request) else {
            return Ok(());
        };
        let mut after = node.clone();
        for core in &mut after.cores {
            core.cpus = core.cpus.first().into_iter().collect();
        }
        after.online = after.cores.iter().flat_map(|core| core.cpus.iter()).collect();
        let after = Plan::make(&after, &request).unwrap();
        prop_assert_eq!(after.measuring, before.measuring);
        prop_assert!(after.idle.is_empty());
    }
}
