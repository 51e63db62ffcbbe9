//! What is read of the nodes in `trees/`, and what is said of a tree that makes no sense. Every node's
//! whole picture is held by the tests of `jitterlab node show`.

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use jitterlab_node_tuning::topology::{
    CoreKind, Device, DeviceKind, Error, Isolcpus, Topology, Vendor,
};

fn topology(name: &str) -> Topology {
    Topology::read(common::tree(name).path()).unwrap()
}

/// The tree, changed by a description.
fn changed(name: &str, description: &str) -> Result<Topology, Error> {
    let tree = common::tree(name);
    common::grow(tree.path(), description);
    Topology::read(tree.path())
}

fn device<'a>(topology: &'a Topology, name: &str) -> &'a Device {
    topology.device(name).unwrap()
}

#[test]
fn an_emulated_machine_is_known() {
    assert!(topology("virtio").virtual_machine && !topology("virtio").is_emulated());
    let processor = concat!(
        "proc/cpuinfo:\n    vendor_id\t: AuthenticAMD\n",
        "    model name\t: QEMU TCG CPU version 2.5+\n    flags\t: fpu hypervisor\n"
    );
    assert!(changed("virtio", processor).unwrap().is_emulated());
}

#[test]
fn two_sockets() {
    let node = topology("two-socket");
    assert_eq!(node.vendor, Vendor::Intel);
    assert!(!node.virtual_machine && node.offline.is_empty());
    let packages: Vec<String> = node
        .packages
        .iter()
        .map(|package| package.cpus.to_string())
        .collect();
    assert_eq!(packages, ["0-3,8-11", "4-7,12-15"]);
    let core = node.core_of(13).unwrap();
    assert_eq!((core.package, core.id, core.numa_node), (1, 1, 1));
    assert_eq!(core.cpus.to_string(), "5,13");
    assert_eq!(node.core_of(16), None);
    assert_eq!(node.numa_nodes[1].distances[&0], 21);
    assert_eq!(node.numa_nodes[1].memory_bytes, Some(49_537_024 * 1024));
    // Two first-level caches and a second-level one for each core, and one for each package.
    assert_eq!(node.caches.len(), 8 * 3 + 2);
    assert_eq!(node.caches.last().unwrap().size_bytes, Some(11 << 20));

    let adapter = device(&node, "mlx5_0");
    assert_eq!(adapter.kind, DeviceKind::Rdma);
    assert_eq!(adapter.network, ["ib0"]);
    assert_eq!(adapter.driver.as_deref(), Some("mlx5_core"));
    assert_eq!(adapter.pci.as_deref(), Some("0000:81:00.0"));
    assert_eq!(adapter.bridges, ["0000:80:02.0"]);
    assert_eq!((adapter.up, adapter.speed_mbps), (true, Some(100_000)));
    assert!(node.device("lo").is_none());
}

#[test]
fn what_is_built_on_hardware_is_where_the_hardware_is() {
    let node = topology("amd-nps4");
    let vlan = device(&node, "bond0.7");
    assert_eq!(
        (vlan.network.as_slice(), vlan.numa_node),
        (&["bond0".to_string()][..], Some(2))
    );
    assert_eq!((vlan.pci.as_ref(), vlan.driver.as_ref()), (None, None));
    assert_eq!(
        device(&node, "eno2").bridges,
        ["0000:40:03.1", "0000:41:00.0", "0000:42:02.0"]
    );
    // The two ports of this one are in different places.
    let apart = topology("memory-node");
    let team = device(&apart, "team0");
    assert_eq!(team.numa_node, None);
    assert!(
        team.distances
            .iter()
            .all(|to| to.distance.is_none() && !to.local)
    );
    // Soft-RoCE has no hardware but that of its interface.
    let software = topology("virtio");
    assert_eq!(device(&software, "rxe0").network, ["eth0"]);
    assert!(software.device("ifb0").is_none());
}

#[test]
fn an_rdma_device_is_as_up_as_its_best_port() {
    let ports = "sys/class/infiniband/mlx5_0/ports/1/state: 1: DOWN\n\
                 sys/class/infiniband/mlx5_0/ports/2/state: 4: ACTIVE\n\
                 sys/class/infiniband/mlx5_0/ports/2/rate: 2.5 Gb/sec (1X SDR)\n\
                 sys/class/infiniband/mlx5_0/ports/2/link_layer: Ethernet\n\
                 sys/class/infiniband/mlx5_0/ports/2/gid_attrs/ndevs/0: eno1";
    let node = changed("two-socket", ports).unwrap();
    let adapter = device(&node, "mlx5_0");
    assert_eq!((adapter.up, adapter.speed_mbps), (true, Some(2_500)));
    assert_eq!(adapter.link_layer.as_deref(), Some("Ethernet"));
    assert_eq!(adapter.network, ["eno1", "ib0"]);
}

#[test]
fn a_link_that_goes_round_ends() {
    let node = changed(
        "virtio",
        "sys/devices/virtual/net/a/lower_b -> ../b\n\
         sys/devices/virtual/net/b/lower_a -> ../a\n\
         sys/devices/virtual/net/b/lower_eth0 -> ../../../eth0\n\
         sys/class/net/a -> ../../devices/virtual/net/a\n\
         sys/class/net/b -> ../../devices/virtual/net/b",
    );
    assert_eq!(device(&node.unwrap(), "a").network, ["b"]);
}

#[test]
fn isolation_is_what_the_kernel_says_and_what_it_was_told() {
    let isolation = topology("tuned").isolation;
    assert_eq!(isolation.isolated.to_string(), "1-3");
    assert_eq!(isolation.nohz_full.to_string(), "1-3");
    assert_eq!(isolation.cgroup.to_string(), "1-3");
    // `N` is the last CPU that the node may ever have; what follows `--` is not for the kernel.
    assert_eq!(isolation.rcu_nocbs.to_string(), "1-7");
    let isolcpus = Isolcpus {
        flags: vec!["managed_irq".into(), "domain".into()],
        cpus: "1-3".parse().unwrap(),
    };
    assert_eq!(isolation.isolcpus, Some(isolcpus));
    assert_eq!(isolation.irqaffinity, None);
    assert_eq!(isolation.ignored, ["irqaffinity=0;1"]);
    let told = changed("tuned", "proc/cmdline: irqaffinity=0,2")
        .unwrap()
        .isolation;
    assert_eq!(told.irqaffinity.unwrap().to_string(), "0,2");
    // Without a tick means without RCU callbacks.
    assert_eq!(told.rcu_nocbs.to_string(), "1-3");
    assert_eq!(topology("tuned").offline.to_string(), "4-7");
}

#[test]
fn kinds_of_cores() {
    let kinds = |topology: &Topology| -> Vec<CoreKind> {
        topology.cores.iter().map(|core| core.kind).collect()
    };
    let [fast, slow] = [CoreKind::Performance, CoreKind::Efficiency];
    let small = [slow, slow, slow, slow, fast, fast];
    assert_eq!(kinds(&topology("big-little")), small);
    assert_eq!(
        kinds(&topology("hybrid")),
        [fast, fast, fast, fast, slow, slow, slow, slow]
    );
    // Capacities alone tell as much, and a core that turns a little faster is none of another kind.
    let tree = common::tree("hybrid");
    fs::remove_dir_all(tree.path().join("sys/devices/cpu_core")).unwrap();
    let by_capacity = Topology::read(tree.path()).unwrap();
    assert_eq!(
        kinds(&by_capacity),
        [fast, fast, fast, fast, slow, slow, slow, slow]
    );
}

/// Kernels, hypervisors and containers leave files out: without any one of them the node is read.
#[test]
fn nothing_but_the_list_of_cpus_is_needed() {
    for name in common::names() {
        let tree = common::tree(&name);
        // Of files that differ in a number only, one.
        let alike = |path: &PathBuf| {
            path.to_string_lossy()
                .replace(|c: char| c.is_ascii_digit(), "")
        };
        let paths = common::files(tree.path()).into_keys();
        let kinds: BTreeMap<String, PathBuf> = paths.map(|path| (alike(&path), path)).collect();
        for path in kinds.into_values() {
            let aside = tree.path().join("aside");
            fs::rename(&path, &aside).unwrap();
            let read = Topology::read(tree.path());
            if path.ends_with("cpu/online") {
                assert!(matches!(read, Err(Error::NoNode { .. })), "{name}");
            } else {
                assert!(read.is_ok(), "{name} without {}: {read:?}", path.display());
            }
            fs::rename(&aside, &path).unwrap();
        }
    }
}

#[test]
fn an_empty_file_says_nothing() {
    let node = changed(
        "two-socket",
        "sys/class/net/eno1/speed:\nsys/devices/system/node/node1/distance:",
    );
    let node = node.unwrap();
    assert_eq!(device(&node, "eno1").speed_mbps, None);
    // Without distances, the package is the nearest that has the device's NUMA node.
    let far_and_near = &device(&node, "mlx5_0").distances;
    assert!(far_and_near.iter().all(|to| to.distance.is_none()));
    assert!(!far_and_near[0].local && far_and_near[1].local);
}

#[test]
fn nonsense_is_named_with_its_path() {
    for (path, text, expected) in [
        ("sys/devices/system/cpu/online", "0-", "a list of CPUs"),
        (
            "sys/devices/system/cpu/isolated",
            "isolated",
            "a list of CPUs",
        ),
        (
            "sys/devices/system/cpu/cpu3/topology/physical_package_id",
            "-2",
            "a number, or -1",
        ),
        (
            "sys/devices/system/cpu/cpu3/topology/core_id",
            "three",
            "a number, or -1",
        ),
        (
            "sys/devices/system/cpu/cpu3/topology/core_cpus_list",
            "3;11",
            "a list of CPUs",
        ),
        ("sys/devices/system/cpu/cpu3/cpu_capacity", "-1", "a number"),
        (
            "sys/devices/system/cpu/cpu3/cache/index2/type",
            "Victim",
            "Data, Instruction or Unified",
        ),
        (
            "sys/devices/system/cpu/cpu3/cache/index2/size",
            "1M",
            "a size in KiB like 32K",
        ),
        (
            "sys/devices/system/node/node1/distance",
            "21",
            "one distance for each NUMA node",
        ),
        (
            "sys/devices/system/node/node1/distance",
            "21 x",
            "one distance for each NUMA node",
        ),
        (
            "sys/devices/system/node/node1/meminfo",
            "MemFree: 1 kB",
            "a line `… MemTotal: N kB`",
        ),
        ("sys/class/net/eno1/mtu", "large", "a number, or -1"),
        (
            "sys/class/net/eno1/device/numa_node",
            "left",
            "a number, or -1",
        ),
        (
            "sys/class/infiniband/mlx5_0/ports/1/rate",
            "fast",
            "a rate like `100 Gb/sec (4X EDR)`",
        ),
    ] {
        match changed("two-socket", &format!("{path}: {text}")) {
            Err(Error::Nonsense {
                path: at,
                text: told,
                expected: wanted,
            }) => {
                assert_eq!((told.as_str(), wanted), (text, expected), "{path}");
                assert_eq!(at.file_name(), std::path::Path::new(path).file_name());
            }
            other => panic!("{path}: {other:?}"),
        }
    }
}

#[test]
fn a_link_out_of_the_copy_leads_nowhere() {
    let tree = common::tree("two-socket");
    let other = common::tree("tuned");
    let isolated = "sys/devices/system/cpu/isolated";
    fs::remove_file(tree.path().join(isolated)).unwrap();
    symlink(other.path().join(isolated), tree.path().join(isolated)).unwrap();
    let read = Topology::read(tree.path()).unwrap();
    assert!(read.isolation.isolated.is_empty());
}

#[test]
fn reading_changes_nothing() {
    let tree = common::tree("amd-nps4");
    let before = common::files(tree.path());
    Topology::read(tree.path()).unwrap();
    assert!(common::files(tree.path()) == before);
}

/// The classes of the cores, as `CLASS KIND` in the order of cores.
fn classes(node: &Topology) -> Vec<(u32, CoreKind)> {
    node.cores
        .iter()
        .map(|core| (core.class, core.kind))
        .collect()
}

#[test]
fn classes_are_known_by_whatever_the_kernel_says() {
    let [fast, slow] = [(0, CoreKind::Performance), (1, CoreKind::Efficiency)];
    let strix = [vec![fast; 4], vec![slow; 8]].concat();
    assert_eq!(classes(&topology("strix")), strix);
    // With turbo off all have one clock, and CPPC and the caches still know; each of the three is enough.
    let clocks = "sys/devices/system/cpu/cpu{0-23}/cpufreq/cpuinfo_max_freq: 2000000";
    let perf = "sys/devices/system/cpu/cpu{0-23}/acpi_cppc/highest_perf: 208";
    let caches = "sys/devices/system/cpu/cpu{0-23}/cache/index3/size: 16384K";
    for alike in [
        clocks.into(),
        format!("{clocks}\n{caches}"),
        format!("{perf}\n{caches}"),
    ] {
        let node = changed("strix", &alike).unwrap();
        assert_eq!(classes(&node), strix, "{alike}");
    }
    let by_caches = changed("strix", &format!("{clocks}\n{perf}")).unwrap();
    let other = (1, CoreKind::Performance);
    assert_eq!(
        classes(&by_caches),
        [vec![fast; 4], vec![other; 8]].concat()
    );
    let alike = changed("strix", &format!("{clocks}\n{perf}\n{caches}")).unwrap();
    assert_eq!(classes(&alike), vec![fast; 12]);
    assert_eq!(alike.cores[0].max_khz, Some(2_000_000));

    // By their counters, their clocks, or how many threads they have.
    let raptor = [vec![fast; 8], vec![slow; 16]].concat();
    assert_eq!(classes(&topology("raptor")), raptor);
    let tree = common::tree("raptor");
    for counters in ["cpu_core", "cpu_atom"] {
        fs::remove_dir_all(tree.path().join("sys/devices").join(counters)).unwrap();
    }
    assert_eq!(classes(&Topology::read(tree.path()).unwrap()), raptor);
    for cpu in 0..32 {
        let cpufreq = format!("sys/devices/system/cpu/cpu{cpu}/cpufreq");
        fs::remove_dir_all(tree.path().join(cpufreq)).unwrap();
    }
    let by_threads = Topology::read(tree.path()).unwrap();
    assert_eq!(
        classes(&by_threads),
        [vec![fast; 8], vec![other; 16]].concat()
    );
    // A thread that is offline makes no other core of it.
    common::grow(
        tree.path(),
        "sys/devices/system/cpu/online: 0,2-31\nsys/devices/system/cpu/cpu0/topology/core_cpus_list: 0",
    );
    let offline = Topology::read(tree.path()).unwrap();
    assert_eq!(classes(&offline), vec![fast; 24]);

    // Favoured cores are no others; of three kinds each is one of its own.
    assert_eq!(classes(&topology("favoured")), vec![fast; 10]);
    let slowest = (2, CoreKind::Efficiency);
    assert_eq!(
        classes(&topology("three-kinds")),
        [vec![slowest; 4], vec![slow; 3], vec![fast]].concat()
    );
    // What is not known of all says nothing.
    let tree = common::tree("three-kinds");
    for file in ["cpu_capacity", "cpufreq/cpuinfo_max_freq"] {
        let file = format!("sys/devices/system/cpu/cpu5/{file}");
        fs::remove_file(tree.path().join(file)).unwrap();
    }
    assert_eq!(
        classes(&Topology::read(tree.path()).unwrap()),
        vec![fast; 8]
    );
}
