//! Hosts at the end of ssh that have no jitterlab, or another one: this one is copied there, and nothing of it stays. And the
//! connection that all of it goes over.

mod common;
mod ssh;

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Output, Stdio};

use common::experiments::until;
use common::{Lab, text};
use jitterlab_cluster::protocol::VERSION;
use jitterlab_skip::is_root;
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
        if !is_root("start a server of ssh") {
            return None;
        }
        let lab = Lab::new();
        for folder in [
            "there/bin",
            "there/tmp",
            "there/spare",
            "there/home",
            "here",
            "run",
        ] {
            fs::create_dir_all(lab.path(folder)).unwrap();
        }
        fs::set_permissions(lab.path("run"), fs::Permissions::from_mode(0o700)).unwrap();
        let show = |name: &str| lab.path(name).display().to_string();
        lab.write(
            "enter",
            format!(
                "echo >>{}\nif [ -e {mounts} ]; then exec unshare --mount sh -c \". {mounts}; exec $*\"; fi\nexec \"$@\"\n",
                show("connections"),
                mounts = show("mounts")
            ),
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
        // The host's keys are named, so that the controller has them to pass on.
        let key = self.lab.read("host.pub");
        self.lab.write(
            "h.yaml",
            format!(
                "hosts:\n  here: {{ at: local, address: 127.0.0.1 }}\n  \
                 there: {{ at: ssh lab, address: 127.0.0.1, host_keys: [\"{}\"] }}\n\
                 warmup: 1ms\nduration: {duration}\nrepetitions: 1\nat_once: 1\n",
                key.trim()
            ),
        );
    }

    fn command(&self) -> Command {
        let mut command = self.lab.mortal("validate h.yaml --transport udp");
        command
            .env("PATH", &self.path)
            .env("XDG_RUNTIME_DIR", self.lab.path("run"))
            .env("TMPDIR", self.lab.path("here"));
        command
    }

    fn validate(&self) -> Output {
        self.write("1ms");
        self.command().output().unwrap()
    }

    fn connections(&self) -> usize {
        self.lab.read("connections").lines().count()
    }

    /// Neither files there, nor files and sockets here.
    fn is_clean(&self) -> bool {
        let folders = ["there/tmp", "there/spare", "there/home", "here", "run"];
        folders.iter().all(|folder| self.files(folder) == 0)
    }

    fn files(&self, folder: &str) -> usize {
        fs::read_dir(self.lab.path(folder)).unwrap().count()
    }

    /// From now on these folders are in the places of its temporary files, of /var/tmp and of its user's home, and of these no program
    /// starts from the ones that are named.
    fn mount(&self, noexec: &[&str]) {
        let places = [
            ("there/tmp", self.lab.path("there/tmp")),
            ("there/spare", "/var/tmp".into()),
            ("there/home", "/root".into()),
        ];
        let lines = places.map(|(name, place)| {
            let (folder, place) = (self.lab.path(name), place.display().to_string());
            let bind = format!("mount --bind {} {place}\n", folder.display());
            match noexec.contains(&name) {
                true => bind + &format!("mount -o remount,bind,noexec {place}\n"),
                false => bind,
            }
        });
        self.lab.write("mounts", lines.concat());
    }

    /// A validation that takes long, at work.
    fn at_work(&self) -> Child {
        self.write("30s");
        let mut child = self.command().stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        assert_eq!(lines.next().unwrap().unwrap(), "2 hosts, 1 measurements");
        child
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
    machine.mount(&["there/tmp", "there/spare", "there/home"]);
    gone("no place for a program: ");
    gone("; /var/tmp lets no program start (is it mounted noexec?); /root lets no program start");
}

#[test]
fn a_copy_is_where_programs_may_start() {
    for noexec in [&["there/tmp"][..], &["there/tmp", "there/spare"]] {
        let Some(machine) = Machine::new() else {
            return;
        };
        machine.mount(noexec);
        is_measured(&machine.validate());
        assert!(machine.is_clean());
    }
}

#[test]
fn a_copy_whose_shell_was_killed_goes_with_the_next_one_and_one_that_is_used_does_not() {
    let Some(machine) = Machine::new() else {
        return;
    };
    let mut child = machine.at_work();
    is_measured(&machine.validate());
    assert_eq!(machine.files("there/tmp"), 1);
    let copy = machine.copy().unwrap();
    let stat = fs::read_to_string(format!("/proc/{copy}/stat")).unwrap();
    // After the name, which is in brackets, and the state.
    let shell = stat.rsplit(") ").next().unwrap().split(' ').nth(1).unwrap();
    let controller = Pid::from_raw(child.id().cast_signed());
    // It makes no other worker.
    kill(controller, Signal::SIGSTOP).unwrap();
    for process in [shell.parse().unwrap(), copy] {
        kill(Pid::from_raw(process), Signal::SIGKILL).unwrap();
    }
    kill(controller, Signal::SIGKILL).unwrap();
    child.wait().unwrap();
    until(|| machine.copy().is_none());
    assert_eq!(machine.files("there/tmp"), 1);
    is_measured(&machine.validate());
    until(|| machine.is_clean());
}

#[test]
fn a_copy_that_is_killed_leaves_nothing() {
    let Some(machine) = Machine::new() else {
        return;
    };
    let mut child = machine.at_work();
    let copy = machine.copy().unwrap();
    kill(Pid::from_raw(copy), Signal::SIGKILL).unwrap();
    until(|| fs::read_dir(machine.lab.path("there/tmp")).unwrap().count() == 0);
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGKILL).unwrap();
    child.wait().unwrap();
}

#[test]
fn a_controller_that_is_stopped_or_killed_leaves_no_copy_no_connection_and_no_keys() {
    for signal in [Signal::SIGINT, Signal::SIGKILL] {
        let Some(machine) = Machine::new() else {
            return;
        };
        let mut child = machine.at_work();
        assert!(machine.copy().is_some());
        kill(Pid::from_raw(child.id().cast_signed()), signal).unwrap();
        child.wait().unwrap();
        until(|| machine.is_clean());
    }
}
