//! RDMA programs from Debian, unmodified, on a device that is not there.

mod common;

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use common::{Ended, Lab, free_port, is_listening};
use jitterlab_injector::control::{Hook, HookFamily};
use jitterlab_injector::environment;

const DELAY_NS: u32 = 50_000;
const ITERATIONS: u64 = 300;

/// The mock device.
fn device(lab: &Lab) -> PathBuf {
    lab.build("mock_rdma", &["-shared", "-fPIC"])
}

/// Runs the fixture `verbs` on the mock device.
fn run_verbs(lab: &Lab, arguments: &[&str], below: &[PathBuf]) -> Ended {
    let libraries: Vec<_> = [common::library().to_path_buf(), device(lab)]
        .iter()
        .chain(below)
        .map(|library| library.display().to_string())
        .collect();
    let mut command = lab.command(lab.build("verbs", &["-libverbs"]));
    command
        .args(arguments)
        .env("LD_PRELOAD", libraries.join(":"));
    let ended = lab.end(command);
    ended.expect_done(&arguments.join(" "));
    ended
}

/// Runs a program against itself; its client under the library, its server without.
fn pair(lab: &Lab, line: &str) -> Ended {
    let device = device(lab);
    let port = free_port().to_string();
    let mut words = line.split_whitespace();
    let program = PathBuf::from("/usr/bin").join(words.next().unwrap());
    let arguments: Vec<&str> = words.chain(["-p", &port]).collect();
    let mut server = Command::new(&program)
        .args(&arguments)
        .env("LD_PRELOAD", &device)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("perftest and ibverbs-utils are needed for this test");
    while !is_listening(port.parse().unwrap()) {
        assert!(server.try_wait().unwrap().is_none(), "{line}: no server");
        std::thread::sleep(Duration::from_millis(5));
    }
    let both = format!("{}:{}", common::library().display(), device.display());
    let mut client = lab.command(&program);
    client
        .args(&arguments)
        .arg("127.0.0.1")
        .env("LD_PRELOAD", both);
    let ended = lab.end(client);
    assert!(server.wait().unwrap().success(), "{line}");
    assert!(ended.output.status.success(), "{line}: {}", ended.stderr());
    ended
}

#[test]
fn posts_arrive_once_in_order_and_as_they_were() {
    for mode in ["spin", "defer"] {
        let lab = Lab::constant(1_010_000).set(environment::MODE, mode);
        let ended = run_verbs(&lab, &[mode], &[]);
        assert!(ended.calls(Hook::PostSend) >= 8, "{:?}", ended.reports);
        // Where posts are not deferred the program tries a full queue again.
        let tries = if mode == "defer" { 1 } else { 3 };
        assert_eq!(ended.calls(Hook::WorkRequest), 17 + tries);
        // One that is wrong, and one on a queue pair that was destroyed.
        assert_eq!(
            ended.sum("send_errors"),
            if mode == "defer" { 2 } else { 0 }
        );
    }
}

#[test]
fn threads_build_on_one_queue_pair_with_a_delay_and_without() {
    let lab = Lab::with_table(|index| index % 2 * 20_000).set(environment::MODE, "defer");
    let ended = run_verbs(&lab, &["defer", "two"], &[]);
    assert_eq!(ended.calls(Hook::WorkRequest), 800);
    assert_eq!(ended.sum("delays"), 800);
}

#[test]
fn who_builds_posts_itself_where_there_can_be_no_helper() {
    let lab = Lab::constant(1_010_000).set(environment::MODE, "defer");
    let no_threads = lab.build("no_threads", &["-shared", "-fPIC"]);
    let ended = run_verbs(&lab, &["defer", "built"], &[no_threads]);
    assert_eq!(ended.sum("delays"), 10);
    assert_eq!(ended.sum("send_errors"), 0);
}

#[test]
fn what_waits_for_a_full_send_queue_has_a_bound() {
    let lab = Lab::constant(10_000).set(environment::MODE, "defer");
    run_verbs(&lab, &["defer", "full"], &[]);
}

/// The shortest time that a latency program reports, in nanoseconds.
fn shortest_ns(ended: &Ended) -> f64 {
    let stdout = ended.stdout();
    let row = stdout
        .lines()
        .filter_map(|line| {
            let numbers: Result<Vec<f64>, _> = line.split_whitespace().map(str::parse).collect();
            numbers.ok().filter(|numbers| numbers.len() > 4)
        })
        .next_back()
        .unwrap_or_else(|| panic!("{stdout}"));
    row[2] * 1000.0
}

/// What runs through which hook, and how much of a delay its shortest time has to hold: half of
/// it where half a round trip is reported. (This perftest uses the extended calls on mlx5 alone.)
const PROGRAMS: [(&str, Hook, f64); 6] = [
    ("ib_write_lat", Hook::PostSend, 0.5),
    ("ib_send_lat", Hook::PostSend, 0.5),
    ("ib_read_lat", Hook::PostSend, 1.0),
    ("ib_write_bw -s 64", Hook::PostSend, 0.0),
    ("ibv_rc_pingpong", Hook::PostSend, 0.0),
    ("ibv_rc_pingpong -N", Hook::WorkRequest, 0.0),
];

fn every_program(mode: &str) {
    let lab = Lab::constant(DELAY_NS)
        .set(environment::HOOKS, HookFamily::Verbs.name())
        .set(environment::MODE, mode);
    for (line, hook, share) in PROGRAMS {
        let ended = pair(&lab, &format!("{line} -n {ITERATIONS}"));
        let calls = ended.calls(hook);
        assert!(calls >= ITERATIONS, "{line}: {:?}", ended.reports);
        assert_eq!(ended.sum("delays"), calls, "{line}: only by that way");
        assert_eq!(ended.sum("send_errors"), 0, "{line}");
        if share > 0.0 {
            // Delays are what was asked for but for what the hook itself takes.
            let least = share * (f64::from(DELAY_NS) - 100.0);
            let shortest = shortest_ns(&ended);
            assert!(shortest >= least, "{line}: {shortest} ns");
        }
    }
}

#[test]
fn programs_are_delayed_by_either_way_of_posting() {
    every_program("spin");
}

#[test]
fn programs_are_deferred_by_either_way_of_posting() {
    every_program("defer");
}
