//! Hosts at the end of ssh that have no jitterlab, or another one: this one is copied there, and nothing of it stays. And the
//! connection that all of it goes over.

mod common;
mod ssh;

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output, Stdio};

use common::experiments::until;
use common::{Lab, text};
use jitterlab_cluster::protocol::VERSION;
use jitterlab_skip::skip;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// A machine at the end of ssh whose programs are those of the system and of the folder `there/bin`, and whose temporary files
/// are in `there/tmp`. Each connection to it is a line of the file `connections`.
struct Machine {
    lab: Lab,
    path: String,
}

impl Machine {
    /// Nothing where a person may not make one.
    fn new() -> Option<Self> {
        if !nix::unistd::geteuid().is_root() {
            skip("only root may start a server of ssh");
            return None;
        }
        let lab = Lab::new();
        for folder in ["there/bin", "there/tmp", "run"] {
            fs::create_dir_all(lab.path(folder)).unwrap();
        }
        fs::set_permissions(lab.path("run"), fs::Permissions::from_mode(0o700)).unwrap();
        let show = |name: &str| lab.path(name).display().to_string();
        lab.write(
            "enter",
            format!("echo >>{}\nexec \"$@\"\n", show("connections")),
        );
        let variables = format!(
            "TMPDIR={} PATH={}:/usr/sbin:/usr/bin:/sbin:/bin",
            show("there/tmp"),
            show("there/bin")
        );
        let path = ssh::path_to_machines(&lab, &format!("sh {} ", show("enter")), &variables);
        Some(Machine { lab, path })
    }

    fn program(&self, name: &str, script: &str) {
        self.lab.write(name, format!("#!/bin/sh\n{script}\n"));
        let executable = fs::Permissions::from_mode(0o755);
        fs::set_permissions(self.lab.path(name), executable).unwrap();
    }

    fn write(&self, duration: &str) {
        self.lab.write(
            "h.yaml",
            format!(
                "hosts:\n  here: {{ at: local, address: 127.0.0.1 }}\n  there: {{ at: ssh lab, address: 127.0.0.1 }}\n\
                 warmup: 1ms\nduration: {duration}\nrepetitions: 1\nat_once: 1\n"
            ),
        );
    }

    fn command(&self) -> Command {
        let mut command = self.lab.mortal("validate h.yaml --transport udp");
        command
            .env("PATH", &self.path)
            .env("XDG_RUNTIME_DIR", self.lab.path("run"));
        command
    }

    fn validate(&self) -> Output {
        self.write("1ms");
        self.command().output().unwrap()
    }

    fn connections(&self) -> usize {
        self.lab.read("connections").lines().count()
    }

    /// Neither files there, nor sockets here.
    fn is_clean(&self) -> bool {
        let is_empty = |name: &str| fs::read_dir(self.lab.path(name)).unwrap().count() == 0;
        is_empty("there/tmp") && is_empty("run")
    }

    /// The process number of the copy that runs.
    fn copy(&self) -> Option<i32> {
        let folder = self.lab.path("there/tmp");
        let processes = fs::read_dir("/proc").unwrap().flatten();
        let mut numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        numbers.find(|number: &i32| {
            let program = fs::read_link(format!("/proc/{number}/exe"));
            program.is_ok_and(|program| program.starts_with(&folder))
        })
    }
}

fn is_measured(output: &Output) {
    let said = text(&output.stdout) + &text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("2 hosts remain: here there\n"), "{said}");
}

#[test]
fn a_host_without_jitterlab_gets_a_copy_which_goes_with_its_worker() {
    let Some(machine) = Machine::new() else {
        return;
    };
    is_measured(&machine.validate());
    assert!(machine.is_clean());
    // The copy and its work have gone over one connection.
    assert_eq!(machine.connections(), 1);
}

#[test]
fn a_host_with_a_jitterlab_of_another_version_gets_a_copy() {
    let Some(machine) = Machine::new() else {
        return;
    };
    for said in [
        r#"{"here":{"version":2,"node":{}}}"#.to_string(),
        // Of another build.
        format!(
            r#"{{"here":{{"version":{VERSION},"jitterlab":"{}"}}}}"#,
            env!("CARGO_PKG_VERSION")
        ),
        format!(r#"{{"here":{{"version":{VERSION},"jitterlab":"0.0.1"}}}}"#),
    ] {
        let length = said.len();
        let frame =
            format!("printf '\\{length:03o}\\000\\000\\000\\000\\000\\000\\000%s' '{said}'");
        machine.program("there/bin/jitterlab", &format!("{frame}; cat >/dev/null"));
        is_measured(&machine.validate());
        assert!(machine.is_clean());
    }
}

#[test]
fn a_jitterlab_of_the_right_version_is_used_as_it_is() {
    let Some(machine) = Machine::new() else {
        return;
    };
    let own = env!("CARGO_BIN_EXE_jitterlab");
    let ran = machine.lab.path("ran");
    machine.program(
        "there/bin/jitterlab",
        &format!("echo >>{}\nexec {own} \"$@\"", ran.display()),
    );
    is_measured(&machine.validate());
    assert_eq!(machine.lab.read("ran").lines().count(), 1);
    assert!(machine.is_clean());
}

#[test]
fn another_kind_of_machine_and_a_full_one_are_said() {
    let Some(machine) = Machine::new() else {
        return;
    };
    let gone = |cause: &str| {
        let output = machine.validate();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{said}");
        let line = said
            .lines()
            .find(|line| line.contains("host there has no jitterlab"));
        assert!(line.is_some_and(|line| line.contains(cause)), "{said}");
        assert!(machine.is_clean());
    };
    machine.program("there/bin/uname", "echo Linux toaster");
    gone("it is another kind of machine (Linux toaster) than this program is for");
    machine.program("there/bin/uname", "exec /usr/bin/uname \"$@\"");
    machine.program(
        "there/bin/mktemp",
        "echo 'mktemp: No space left on device' >&2; exit 1",
    );
    gone("No space left on device");
    machine.program("there/bin/mktemp", "exec /usr/bin/mktemp \"$@\"");
    machine.program("there/bin/sha256sum", "cat >/dev/null; echo 0 -");
    gone("what came of jitterlab is not what was sent");
}

#[test]
fn a_copy_that_is_killed_leaves_nothing() {
    let Some(machine) = Machine::new() else {
        return;
    };
    machine.write("30s");
    let mut child = machine.command().stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "2 hosts, 1 measurements");
    let copy = machine.copy().unwrap();
    kill(Pid::from_raw(copy), Signal::SIGKILL).unwrap();
    until(|| fs::read_dir(machine.lab.path("there/tmp")).unwrap().count() == 0);
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGKILL).unwrap();
    child.wait().unwrap();
}

#[test]
fn a_controller_that_is_stopped_or_killed_leaves_no_copy_and_no_connection() {
    for signal in [Signal::SIGINT, Signal::SIGKILL] {
        let Some(machine) = Machine::new() else {
            return;
        };
        machine.write("30s");
        let mut child = machine.command().stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        assert_eq!(lines.next().unwrap().unwrap(), "2 hosts, 1 measurements");
        assert!(machine.copy().is_some());
        kill(Pid::from_raw(child.id().cast_signed()), signal).unwrap();
        child.wait().unwrap();
        until(|| machine.is_clean());
    }
}
