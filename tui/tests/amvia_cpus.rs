//! `jitterlab amvia` with priorities and CPUs.

mod common;

use std::cell::RefCell;
use std::process::{Command, Stdio};

use common::amvia::{Server, amvia, error, text};
use common::experiments::until;
use jitterlab_skip::skip;
use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::Pid;

/// jitterlab by `chrt` with this policy and priority; none where that may not give it.
fn scheduled(policy: &str, priority: &str) -> Option<Command> {
    let chrt = || {
        let mut chrt = Command::new("chrt");
        chrt.args([policy, priority]);
        chrt
    };
    let may = chrt().arg("true").output();
    may.is_ok_and(|may| may.status.success()).then(|| {
        let mut program = chrt();
        program.arg(env!("CARGO_BIN_EXE_jitterlab"));
        program
    })
}

/// The CPUs that this process may run on.
fn cpus() -> Vec<usize> {
    let allowed = sched_getaffinity(Pid::from_raw(0)).unwrap();
    let cpus = (0..CpuSet::count()).filter(|&cpu| allowed.is_set(cpu).unwrap());
    cpus.collect()
}

/// It polls at real-time priority and never leaves its CPU: what it starts to watch stdin would never run with the same.
#[test]
fn a_server_with_real_time_priority_ends_with_its_stdin() {
    let Some(program) = scheduled("-f", "20") else {
        return skip("there is no chrt that may give real-time priority");
    };
    let [cpu, _, ..] = cpus()[..] else {
        return skip("a server that polls at real-time priority leaves no CPU to the test");
    };
    let cpu = cpu.to_string();
    let polls = ["--wait", "poll", "--listen", "udp://127.0.0.1:0", "--cpu"];
    let mut server = Server::start_by(program, &[&polls[..], &[&cpu]].concat());
    // It answers, so it polls.
    let called = amvia(&["call", &server.target(), "--data", "hello"]);
    assert_eq!(called.status.code(), Some(0), "{called:?}");
    drop(server.0.stdin.take());
    let server = RefCell::new(server);
    until(|| server.borrow_mut().0.try_wait().unwrap().is_some());
}

/// The CPUs that each thread of a process may run on, as the system writes them.
fn allowed(pid: u32) -> Vec<String> {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task"));
    let status = threads.into_iter().flatten().flatten().map(|thread| {
        let status = std::fs::read_to_string(thread.path().join("status")).unwrap_or_default();
        let allowed = status
            .split("Cpus_allowed_list:")
            .nth(1)
            .unwrap_or_default();
        allowed.lines().next().unwrap_or_default().trim().into()
    });
    status.collect()
}

#[test]
fn the_threads_of_performability_are_kept_on_their_cpus() {
    let few = [
        "performability",
        "--transport",
        "shm",
        "--protocol",
        "two-way",
        "--ber",
        "1e-4",
        "--measured",
        "200",
        "--simulated",
        "200",
    ];
    let refuses = |options: &[&str], says: &str| {
        let refused = amvia(&[&few[..], options].concat());
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
        assert!(error(&refused).contains(says), "{}", error(&refused));
    };
    refuses(&["--cpu", "0"], "--server-cpu <SERVER_CPU>");
    refuses(
        &["--cpu", "0", "--server-cpu", "0"],
        "have to differ, because both threads poll",
    );
    let [first, second] = match &cpus()[..] {
        [first, .., last] => [first, last].map(ToString::to_string),
        _ => return skip("two threads that poll need two CPUs"),
    };
    let mut child = Command::new(env!("CARGO_BIN_EXE_jitterlab"))
        .arg("amvia")
        .args(few)
        .args(["--cpu", &first, "--server-cpu", &second])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    until(|| {
        let allowed = allowed(child.id());
        [&first, &second].iter().all(|cpu| allowed.contains(cpu))
    });
    // 1: the experiment was disturbed.
    assert!(matches!(child.wait().unwrap().code(), Some(0 | 1)));
}

#[test]
fn loggp_with_real_time_priority_is_not_said_to_be_without() {
    let Some(mut loggp) = scheduled("-f", "20") else {
        return skip("there is no chrt that may give real-time priority");
    };
    loggp.args(["amvia", "loggp", "--transport", "shm", "--blocks", "2"]);
    let loggp = text(&loggp.output().unwrap());
    assert!(loggp.starts_with("loggp of amvia over shm"), "{loggp}");
    assert!(!loggp.contains("real-time priority"), "{loggp}");
}
