//! The screen by its keys, and as it looks, with data that is always the same.

use jitterlab_appliance::report::{BootReport, Missing, Phase, Problem};
use jitterlab_node_tuning::plan::Plan;
use jitterlab_node_tuning::tune::{Difference, Finding, State as Setting, Survey};

use super::*;
use crate::ui::testing::{app_at, fits_anywhere, picture, pictures, press, tell};

fn finding(name: &'static str, state: Setting, why: &'static str) -> Finding {
    Finding {
        name,
        state,
        why,
        differences: Vec::new(),
        notes: Vec::new(),
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
        housekeeping: "0".parse().unwrap(),
        measuring: "1-3".parse().unwrap(),
        idle: "".parse().unwrap_or_default(),
        reasons: Vec::new(),
    };
    Facts {
        host: "node01".into(),
        kernel: "6.1.0-26-amd64".into(),
        processors: vec![
            "Ideal CPU @ 3.00GHz".into(),
            "1 package, 4 cores, 4 CPUs online (0-3)".into(),
        ],
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
