//! The screen by its keys, and as it looks, with data that is always the same.

#[path = "../../../../../node-tuning/tests/common/mod.rs"]
mod nodes;

use std::fs;

use jitterlab_appliance::report::{BootReport, Missing, Phase, Problem};
use jitterlab_node_tuning::cpus::CpuSet;
use jitterlab_node_tuning::plan::Plan;
use jitterlab_node_tuning::topology::{
    Core, CoreKind, Device, DeviceKind, Isolation, Package, PackageDistance, Vendor,
};
use jitterlab_node_tuning::tune::{Difference, Finding, State as Setting, Survey};

use super::*;
use crate::ui::recorded;
use crate::ui::testing::{app_at, fits_anywhere, letters, picture, pictures, press, tell};

fn finding(name: &'static str, state: Setting, why: &'static str) -> Finding {
    Finding {
        name,
        state,
        why,
        differences: Vec::new(),
        notes: Vec::new(),
    }
}

/// Four cores with two threads each, and a network interface.
fn topology() -> Topology {
    let core = |id: u32| Core {
        package: 0,
        id,
        numa_node: 0,
        cpus: format!("{id},{}", id + 4).parse().unwrap(),
        class: 0,
        kind: CoreKind::Performance,
        max_khz: None,
    };
    Topology {
        vendor: Vendor::Intel,
        model: Some("Ideal CPU @ 3.00GHz".into()),
        virtual_machine: false,
        online: "0-7".parse().unwrap(),
        offline: CpuSet::default(),
        smt: None,
        packages: vec![Package {
            id: 0,
            cpus: "0-7".parse().unwrap(),
            numa_nodes: Vec::new(),
        }],
        numa_nodes: Vec::new(),
        cores: (0..4).map(core).collect(),
        caches: Vec::new(),
        devices: vec![Device {
            name: "eth0".into(),
            kind: DeviceKind::Network,
            network: Vec::new(),
            driver: Some("mlx5_core".into()),
            pci: None,
            bridges: Vec::new(),
            numa_node: None,
            up: true,
            speed_mbps: Some(100_000),
            mtu: Some(1500),
            link_layer: None,
            distances: vec![PackageDistance {
                package: 0,
                distance: None,
                local: true,
            }],
        }],
        isolation: Isolation::default(),
    }
}

fn facts() -> Facts {
    let boot = BootReport {
        hostname: "node01".into(),
        kernel: "6.1.0-26-amd64".into(),
        command_line: String::new(),
        node_file: Some("/run/jitterlab/volumes/JITTERLAB/node.yaml".into()),
        volume: Some("/run/jitterlab/volumes/JITTERLAB".into()),
        phases: vec![
            Phase {
                name: "kernel".into(),
                ns: 4_400_000_000,
            },
            Phase {
                name: "tuning".into(),
                ns: 2_200_000_000,
            },
        ],
        ready_ns: 19_500_000_000,
        parameters: "isolcpus=managed_irq,domain,1-3 nohz_full=1-3 rcu_nocbs=1-3".into(),
        missing: vec![Missing {
            setting: "nohz_full".into(),
            why: "kexec is not possible here".into(),
        }],
        rdma: Vec::new(),
        fit: Some(false),
        host_key: None,
        doing: None,
        emulated: false,
        problems: vec![Problem {
            doing: "node.yaml".into(),
            said: "node.yaml:2:1: unknown key `adresses`\u{1b}[2J".into(),
        }],
    };
    let mut drifted = finding(
        "vm.stat_interval",
        Setting::Drifted,
        "Statistics are brought up to date on every CPU, once a second.",
    );
    drifted.differences.push(Difference {
        place: "/proc/sys/vm/stat_interval".into(),
        current: Some("1".into()),
        wanted: Some("120".into()),
    });
    let settings = vec![
        finding("sched_rt_runtime_us", Setting::Held, ""),
        drifted,
        finding(
            "turbo",
            Setting::Unsupported,
            "Frequencies that change make times that change.",
        ),
    ];
    let plan = Plan {
        device: Some("eth0".into()),
        package: 0,
        housekeeping: "0,4".parse().unwrap(),
        measuring: "1-3".parse().unwrap(),
        idle: "5-7".parse().unwrap(),
        reasons: Vec::new(),
    };
    Facts {
        host: "node01".into(),
        kernel: "6.1.0-26-amd64".into(),
        topology: topology(),
        may_change: true,
        addresses: vec!["eth0 10.0.0.1".into()],
        boot: Some(boot),
        tuned: true,
        settings: Ok(Survey { plan, settings }),
    }
}

#[test]
fn the_node_is_shown() {
    let mut app = app_at("Node");
    assert!(picture(&mut app, 80, 24).contains("is being read"));
    let read: Read = Ok(Arc::new(facts()));
    tell(&mut app, read);
    pictures("node", &mut app);
    // How far it can be scrolled is known when it has been drawn.
    picture(&mut app, 80, 24);
    // Further than to the end it does not go.
    press(&mut app, &[Key::End, Key::Down]);
    let end = picture(&mut app, 80, 24);
    assert!(end.contains("turbo") && !end.contains("Ideal CPU"), "{end}");
    press(&mut app, &[Key::Up, Key::Home]);
    assert!(picture(&mut app, 80, 24).contains("Ideal CPU"));
    fits_anywhere(&mut app);
}

/// An appliance that was tuned at its boot.
#[test]
fn a_recorded_node_is_shown() {
    let root = tempfile::tempdir().unwrap();
    nodes::grow(root.path(), &recorded::text("node.tree"));
    let boot = fs::read_to_string(root.path().join("run/jitterlab/boot.json")).unwrap();
    let facts = Facts {
        boot: Some(serde_json::from_str(&boot).unwrap()),
        ..Facts::of(&System::at(root.path(), "")).unwrap()
    };
    let read: Read = Ok(Arc::new(facts));
    let mut app = app_at("Node");
    tell(&mut app, read);
    pictures("recorded_node", &mut app);
}

#[test]
fn the_node_is_read_once_at_a_time() {
    let mut app = app_at("Node");
    let again = [Key::Char('r'), Key::Char('r')];
    assert!(press(&mut app, &again).is_empty());
    let read: Read = Err("cannot read /sys".into());
    tell(&mut app, read);
    assert!(picture(&mut app, 80, 24).contains("cannot read /sys"));
    assert_eq!(press(&mut app, &again), ["Do(ReadNode)"]);
}

#[test]
fn what_has_drifted_stands_first() {
    let mut app = app_at("Node");
    let read: Read = Ok(Arc::new(facts()));
    tell(&mut app, read);
    let shown = picture(&mut app, 200, 60);
    let place = |what: &str| shown.find(what).unwrap();
    assert!(place("vm.stat_interval") < place("turbo"));
    assert!(place("turbo") < place("sched_rt_runtime_us"));
}

#[test]
fn settings_are_changed_by_root_after_a_question() {
    let of = |tuned, may_change| {
        let mut app = app_at("Node");
        let facts = Facts {
            tuned,
            may_change,
            ..facts()
        };
        let read: Read = Ok(Arc::new(facts));
        tell(&mut app, read);
        app
    };
    let mut app = of(false, true);
    let tune = |verb: &str| [format!("Do(Tune {{ folder: \"lab\", verb: {verb} }})")];
    // The plan that is asked about is seen.
    assert!(!picture(&mut app, 80, 24).contains("vm.stat_interval"));
    assert!(letters(&mut app, "a").is_empty());
    let shown = picture(&mut app, 80, 24);
    assert!(shown.contains("vm.stat_interval"), "{shown}");
    assert!(shown.contains("y yes   n Esc no"), "{shown}");
    assert_eq!(letters(&mut app, "y"), tune("Apply"));
    assert!(letters(&mut app, "v").is_empty());
    assert!(picture(&mut app, 80, 24).contains("nothing was applied"));
    let mut app = of(true, true);
    assert!(letters(&mut app, "vn").is_empty());
    assert_eq!(letters(&mut app, "vy"), tune("Revert"));
    // It is read again when they are others.
    assert_eq!(tell(&mut app, Tuned), ["Do(ReadNode)"]);
    let mut app = of(false, false);
    assert!(letters(&mut app, "ay").is_empty());
    assert!(letters(&mut app, "a").is_empty());
    let shown = picture(&mut app, 80, 24);
    assert!(shown.contains("sudo jitterlab tune apply"), "{shown}");
}

#[test]
fn no_setting_is_changed_under_noise_that_is_being_measured() {
    for (tuned, key) in [(false, 'a'), (true, 'v')] {
        let mut screen = screen(&Base {
            folder: "lab".into(),
            cpu: 1,
        });
        let read: Read = Ok(Arc::new(Facts { tuned, ..facts() }));
        screen.take(&read);
        let refused = screen.key(Key::Char(key), true);
        assert!(matches!(refused, Some(Action::Say(_))), "{refused:?}");
        let asked = screen.key(Key::Char(key), false);
        assert!(matches!(asked, Some(Action::Ask(_))), "{asked:?}");
    }
}
