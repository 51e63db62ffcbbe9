//! UCX from Debian, unmodified: its own benchmark by transport, and an MPI that lies above it.

mod common;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use common::{Ended, Lab, compile_by, fixture_file, free_port, is_listening};
use jitterlab_injector::control::{Hook, HookFamily};
use jitterlab_injector::environment;
use jitterlab_skip::skip;

const PERFTEST: &str = "/usr/bin/ucx_perftest";
const DELAY_NS: u32 = 50_000;
const ITERATIONS: u64 = 300;
/// Messages before those that are measured, or so.
const WARM_UP: u64 = 20;

fn lab() -> Lab {
    Lab::constant(DELAY_NS).set(environment::HOOKS, HookFamily::Uct.name())
}

/// Runs ucx_perftest against itself; its client under the library, its server without.
fn pair(lab: &Lab, line: &str) -> Ended {
    let port = free_port().to_string();
    let mut server = Command::new(PERFTEST)
        .args(["-p", &port])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while !is_listening(port.parse().unwrap()) {
        assert!(server.try_wait().unwrap().is_none(), "{line}: no server");
        std::thread::sleep(Duration::from_millis(5));
    }
    let mut client = lab.command(PERFTEST);
    client
        .args(line.split_whitespace())
        .args(["-p", &port, "127.0.0.1"]);
    let ended = lab.end(client);
    assert!(ended.output.status.success(), "{line}: {}", ended.stderr());
    assert!(server.wait().unwrap().success(), "{line}");
    assert!(
        !ended.stderr().contains("jitterlab"),
        "{line}: {}",
        ended.stderr()
    );
    ended
}

/// Transport and device, test, how it sends, and how much of a delay half a round trip or a message has to
/// take: one side is delayed.
const TESTS: [(&str, &str, &str, f64); 8] = [
    ("tcp -d lo", "am_lat", "short", 0.5),
    ("tcp -d lo", "am_lat", "bcopy", 0.5),
    ("tcp -d lo", "am_lat", "zcopy", 0.5),
    ("tcp -d lo", "am_bw", "short", 1.0),
    ("posix -d memory", "am_lat", "short", 0.5),
    ("posix -d memory", "am_lat", "bcopy", 0.5),
    ("posix -d memory", "put_lat", "short", 0.5),
    ("posix -d memory", "fadd", "short", 1.0),
];

#[test]
fn endpoints_of_every_kind_are_delayed() {
    if !Path::new(PERFTEST).exists() {
        return skip("there is no ucx_perftest; apt-get install ucx-utils");
    }
    let lab = lab();
    for (transport, test, layout, share) in TESTS {
        let line = format!("-x {transport} -t {test} -D {layout} -n {ITERATIONS} -w {WARM_UP}");
        let ended = pair(&lab, &line);
        let calls = ended.calls(Hook::UctPost);
        assert!(calls >= ITERATIONS, "{line}: {:?}", ended.reports);
        assert_eq!(ended.sum("delays"), calls, "{line}: only by that way");
        let compensation = ended.report()["compensation_ns"].as_f64().unwrap();
        let least = share * (f64::from(DELAY_NS) - compensation);
        let took = average_ns(&ended.stdout());
        assert!(took >= least, "{line}: {took} ns");
    }
}

/// What it reports as the time of a message over all of the run.
fn average_ns(output: &str) -> f64 {
    let row = output
        .lines()
        .filter_map(|line| line.strip_prefix("Final:"))
        .next_back()
        .unwrap_or_else(|| panic!("{output}"));
    let numbers: Vec<f64> = row
        .split_whitespace()
        .map(|word| word.parse().unwrap())
        .collect();
    numbers[3] * 1000.0
}

#[test]
fn an_mpi_over_ucx_is_delayed_inside_its_collectives() {
    if !Path::new("/usr/bin/mpicc.openmpi").exists() {
        return skip("there is no Open MPI");
    }
    let lab = Lab::constant(1_000).set(environment::HOOKS, HookFamily::Uct.name());
    let program = lab.path("mpi");
    compile_by("mpicc.openmpi", &fixture_file("mpi.c"), &program, &[]);
    let mut command = lab.command("mpirun.openmpi");
    command
        .envs([
            ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
            ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
            ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
            ("OMPI_MCA_mpi_yield_when_idle", "1"),
            ("OMPI_MCA_pml", "ucx"),
            ("OMPI_MCA_pml_ucx_tls", "any"),
            ("OMPI_MCA_pml_ucx_devices", "any"),
            ("UCX_TLS", "tcp,self"),
        ])
        .args(["-n", "2"])
        .arg(&program)
        .arg("two-sided");
    let ended = lab.end(command);
    assert!(
        ended.output.status.success(),
        "{}\n{}",
        ended.stdout(),
        ended.stderr()
    );
    let calls: Vec<u64> = ended
        .reports
        .iter()
        .filter_map(|report| report["calls"][Hook::UctPost.name()].as_u64())
        .filter(|&calls| calls > 0)
        .collect();
    assert_eq!(
        calls.len(),
        2,
        "both ranks, and nobody else: {:?}",
        ended.reports
    );
    assert_eq!(ended.sum("delays"), calls.iter().sum::<u64>());
    // Of each round: 14 sends, and 37 collectives, in which each rank sends at least once.
    assert!(
        calls.iter().all(|&calls| calls > 7 * (14 + 37)),
        "{calls:?}"
    );
}

#[test]
fn a_version_that_is_not_known_is_left_alone_and_said_to_be() {
    if !Path::new(PERFTEST).exists() {
        return skip("there is no ucx_perftest; apt-get install ucx-utils");
    }
    let lab = lab();
    let other = lab.path("libother.so");
    common::compile(
        &common::fixture("ucx_version"),
        &other,
        &["-shared", "-fPIC"],
    );
    let mut command = lab.command(PERFTEST);
    let both = format!("{}:{}", common::library().display(), other.display());
    // With itself.
    command
        .args("-x tcp -d lo -t am_lat -D short -n 100 -l".split_whitespace())
        .env("LD_PRELOAD", both);
    let ended = lab.end(command);
    assert_eq!(
        ended
            .stderr()
            .lines()
            .filter(|line| line.starts_with("jitterlab"))
            .collect::<Vec<_>>(),
        ["jitterlab: the uct hook is off: this is UCX 9.9.9, and it knows 1.13.x"]
    );
    assert_eq!(ended.calls(Hook::UctPost), 0);
}
