//! `jitterlab inject run`, `status` and `set`, on programs that know nothing of it.

mod common;

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use common::{Lab, text};
use jitterlab_base::page;
use jitterlab_skip::built;
use nix::fcntl::{Flock, FlockArg};
use nix::unistd::geteuid;
use serde_json::Value;

/// A folder with tables of constant delays, a seed, and a program that sends when it is told to.
fn lab() -> Lab {
    built();
    let lab = Lab::new();
    for delay in ["50us", "200us"] {
        lab.done(&format!(
            "dist make --shape constant --mean {delay} -o {delay}.dist"
        ));
    }
    lab.write("s.seed", "7\n");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/on_request.c");
    let mut cc = Command::new("cc");
    cc.args(["-O1", "-o"])
        .arg(lab.path("on_request"))
        .arg(source);
    assert!(cc.status().unwrap().success());
    lab
}

const RUN: &str = "inject run --table 50us.dist --seed s.seed";

/// A program under injection that sends when it is told to.
struct Running {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Running {
    fn start(lab: &Lab, options: &str) -> Self {
        Running::of(lab.command(&format!("{RUN} {options} -- ./on_request")))
    }

    fn of(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut running = Running {
            input: child.stdin.take().unwrap(),
            output: BufReader::new(child.stdout.take().unwrap()),
            child,
        };
        assert_eq!(running.line(), "ready\n");
        running
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line
    }

    fn send(&mut self, times: usize) {
        for _ in 0..times {
            writeln!(self.input).unwrap();
            assert_eq!(self.line(), "come\n");
        }
    }

    fn status(&self, lab: &Lab) -> Value {
        lab.json(&format!(
            "inject status --pid {} --format json",
            self.child.id()
        ))[0]
            .clone()
    }

    fn set(&self, lab: &Lab, options: &str) {
        lab.done(&format!("inject set --pid {} {options}", self.child.id()));
    }

    /// Its control page.
    fn page(&self) -> PathBuf {
        let name = page::file_name(self.child.id()).unwrap();
        page::directory(geteuid().as_raw()).join(name)
    }

    /// What people see of it.
    fn shown(&self, lab: &Lab) -> String {
        lab.done(&format!("inject status --pid {}", self.child.id()))
    }

    /// Ends it; its own exit status.
    fn end(mut self) -> Option<i32> {
        drop(self.input);
        self.child.wait().unwrap().code()
    }
}

#[test]
fn a_running_program_is_observed_and_changed() {
    let lab = lab();
    let mut running = Running::start(&lab, "--hook socket");
    running.send(3);
    let status = running.status(&lab);
    assert_eq!(status["pid"], running.child.id());
    assert_eq!(status["program"], "./on_request");
    assert_eq!(status["hooks"], serde_json::json!(["socket"]));
    assert_eq!(status["calls"], serde_json::json!({"send": 3}));
    assert_eq!(
        (&status["mode"], &status["enabled"]),
        (&"spin".into(), &true.into())
    );
    assert_eq!((&status["seed"], &status["delays"]), (&7.into(), &3.into()));
    assert_eq!(status["table_mean"], 50_000.0);
    assert_eq!(status["asked_mean_ns"], 50_000.0);
    assert!(status["table"].as_str().unwrap().contains("50us.dist"));

    running.set(&lab, "--table 200us.dist");
    running.send(3);
    let status = running.status(&lab);
    assert_eq!(status["asked_mean_ns"], 125_000.0);
    assert!(status["table"].as_str().unwrap().contains("200us.dist"));

    running.set(&lab, "--off");
    running.send(3);
    let status = running.status(&lab);
    assert_eq!(
        (&status["enabled"], &status["delays"]),
        (&false.into(), &6.into())
    );

    // Deferred, and back again; what was deferred is never lost.
    running.set(&lab, "--on --mode defer");
    running.send(3);
    running.set(&lab, "--mode spin");
    running.send(3);
    let status = running.status(&lab);
    assert_eq!(
        (&status["enabled"], &status["delays"]),
        (&true.into(), &12.into())
    );
    assert_eq!(status["send_errors"], 0);

    let times = [
        ("0.5", 100_000.0, Some(", times 0.5")),
        ("4", 400_000.0, Some(", times 2")),
        ("0.5", 200_000.0, None),
    ];
    for (scale, mean, times) in times {
        running.set(&lab, &format!("--scale {scale}"));
        let status = running.status(&lab);
        assert_eq!(status["table_mean"], mean);
        let table = status["table"].as_str().unwrap();
        assert!(table.contains("200us.dist"), "{table}");
        let found = table.find(", times ").map(|at| &table[at..]);
        assert_eq!(found, times, "{table}");
    }
    let pid = running.child.id();
    let refused = |scale: &str, why: &str| {
        lab.refuses(&format!("inject set --pid {pid} --scale={scale}"), why)
    };
    refused(
        "-1",
        "delays are multiplied by a number of 0 or more, and not by -1",
    );
    refused(
        "1e6",
        "cannot multiply the delays by 1000000: the longest, 200000, would be longer than a table can hold",
    );

    let people = running.shown(&lab);
    assert!(
        people.contains("./on_request: on, spin on socket, seed 7"),
        "{people}"
    );
    assert_eq!(running.end(), Some(7), "the program's own exit status");
}

#[test]
fn the_same_seed_set_again_repeats_the_same_delays() {
    let lab = lab();
    lab.done("dist make --shape lognormal --mean 10us --std 20us --seed 7 -o various.dist");
    let mut running = Running::start(&lab, "--mode defer");
    running.set(&lab, "--table various.dist --seed s.seed");
    let asked = |running: &mut Running| {
        let sum = |status: Value| {
            status["asked_mean_ns"].as_f64().unwrap() * status["delays"].as_f64().unwrap()
        };
        let before = sum(running.status(&lab));
        running.send(50);
        (sum(running.status(&lab)) - before).round()
    };
    let once = asked(&mut running);
    assert_ne!(asked(&mut running), once, "the stream goes on");
    running.set(&lab, "--seed s.seed");
    assert_eq!(asked(&mut running), once);
    running.end();
}

#[test]
fn a_report_is_left_when_asked_for() {
    let lab = lab();
    let mut running = Running::start(&lab, "--report counters.json --generator lcg");
    running.send(4);
    assert_eq!(running.status(&lab)["generator"], "lcg");
    assert_eq!(running.end(), Some(7));
    let report: Value = serde_json::from_str(&lab.read("counters.json")).unwrap();
    assert_eq!(
        (&report["calls"]["send"], &report["delays"]),
        (&4.into(), &4.into())
    );
    assert_eq!(report["asked_ns"], 200_000);
}

#[test]
fn what_is_wrong_is_said_before_anything_starts_or_changes() {
    let lab = lab();
    lab.write("short.dist", "1 2 3\n");
    lab.write("words.seed", "seven\n");
    lab.write("spins.dist", "1 2 3 4 5 6 7 8\n".repeat(512));
    for (arguments, expected) in [
        (
            "inject run --table none.dist --seed s.seed -- true",
            "none.dist",
        ),
        (
            "inject run --table short.dist --seed s.seed -- true",
            "short.dist:1",
        ),
        (
            "inject run --table 50us.dist --seed words.seed -- true",
            "words.seed",
        ),
        (
            "inject run --table 50us.dist --seed none.seed -- true",
            "none.seed",
        ),
        (
            "inject run --table 50us.dist --seed s.seed -- ./no-such-program",
            "./no-such-program",
        ),
        (
            "inject run --table spins.dist --unit spins --mode defer --seed s.seed -- true",
            "spins",
        ),
        (
            "inject run --table 50us.dist --seed s.seed --hook pigeon -- true",
            "pigeon",
        ),
        (
            "inject run --table /dev/null --seed s.seed -- true",
            "/dev/null is not a regular file",
        ),
        (
            "inject run --table 50us.dist --seed s.seed --report none/r.json -- true",
            "cannot write the report none/r.json",
        ),
        (
            "inject run --table 50us.dist --seed s.seed --report . -- true",
            "cannot write the report .",
        ),
        ("inject run --table 50us.dist --seed s.seed", "PROGRAM"),
        ("inject run -- true", "--delay"),
        (
            "inject run --delay 50us --table 50us.dist -- true",
            "cannot be used with",
        ),
        (
            "inject run --delay 50us --unit spins -- true",
            "cannot be used with",
        ),
        ("inject run --delay 50 -- true", "`50` is not a duration"),
        (
            "inject run --delay 2s -- true",
            "`2s` is not short enough: a delay may be 1s at most",
        ),
        ("inject set --pid 1 --off", "pid 1"),
        ("inject set --off", "--pid"),
    ] {
        let output = lab.run(arguments);
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments}: {stderr}");
        assert!(stderr.contains(expected), "{arguments}: {stderr}");
        assert!(output.stdout.is_empty(), "{arguments}");
    }
    let mut running = Running::start(&lab, "");
    for options in ["--table short.dist", "--seed words.seed", "--on --off", ""] {
        let output = lab.run(&format!(
            "inject set --pid {} {options}",
            running.child.id()
        ));
        assert_eq!(output.status.code(), Some(2), "{options}");
    }
    running.send(1);
    assert_eq!(running.status(&lab)["asked_mean_ns"], 50_000.0);
    running.end();
}

/// One delay needs neither table nor seed, and no file is made for it.
#[test]
fn one_delay_is_injected_without_table_and_seed() {
    let lab = lab();
    let mut running = Running::of(lab.command("inject run --delay 50.123us -- ./on_request"));
    running.send(2);
    let status = running.status(&lab);
    assert_eq!(status["asked_mean_ns"], 50_123.0);
    assert_eq!(status["delays"], 2);
    assert_eq!(status["table"], "constant(value=50123)");
    assert_eq!(status["seed"], jitterlab_base::seed::DEFAULT);
    running.set(&lab, "--table 200us.dist");
    running.send(1);
    running.end();
    // A table inside takes the place of the delay outside, and the other way round.
    for (outside, inside, delay) in [
        ("--delay 50us", "--table 200us.dist", 200_000.0),
        ("--table 50us.dist", "--delay 0ns", 0.0),
    ] {
        let program = env!("CARGO_BIN_EXE_jitterlab");
        let mut running = Running::of(lab.command(&format!(
            "inject run {outside} -- {program} inject run {inside} -- ./on_request"
        )));
        running.send(1);
        assert_eq!(running.status(&lab)["asked_mean_ns"], delay, "{inside}");
        running.end();
    }
}

#[test]
fn what_is_left_to_a_default_is_said() {
    let lab = lab();
    for (options, said) in [
        (
            "--delay 1us",
            "jitterlab: each send over verbs and socket gets a delay of 1us (mode spin)\n",
        ),
        (
            "--table 50us.dist",
            "jitterlab: seed 1 draws the delays; --seed FILE gives another seed\n",
        ),
        ("--table 50us.dist --seed s.seed", ""),
    ] {
        let output = lab.run(&format!("inject run {options} -- true"));
        assert_eq!(output.status.code(), Some(0));
        assert_eq!(text(&output.stderr), said, "{options}");
    }
}

/// Without a seed file the delays are those of a file that holds the default.
#[test]
fn without_a_seed_the_delays_are_those_of_the_default() {
    let lab = lab();
    lab.done("dist make --shape uniform --mean 20us --std 5us -o u.dist");
    lab.write(
        "default.seed",
        format!("{}\n", jitterlab_base::seed::DEFAULT),
    );
    let asked = |options: &str| {
        let mut running = Running::of(lab.command(&format!(
            "inject run --table u.dist {options} -- ./on_request"
        )));
        running.send(5);
        let asked = running.status(&lab)["asked_mean_ns"].clone();
        running.end();
        asked
    };
    let default = asked("");
    assert_eq!(default, asked("--seed default.seed"));
    assert_ne!(default, asked("--seed s.seed"));
}

/// The program would read what is left of it: nothing.
#[test]
fn a_seed_that_can_be_read_once_is_refused() {
    let lab = lab();
    let mut command = lab.command("inject run --table 50us.dist --seed /dev/stdin -- echo ran");
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // It may be gone already.
    let _ = child.stdin.take().unwrap().write_all(b"1\n");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(text(&output.stdout), "");
    assert_eq!(
        text(&output.stderr),
        "jitterlab: /dev/stdin is not a regular file. Every process of the program has to \
         read it; copy it to a file first\n"
    );
}

#[test]
fn spins_are_not_shown_as_time() {
    let lab = lab();
    lab.write("spins.dist", "1 2 3 4 5 6 7 8\n".repeat(512));
    let mut running = Running::of(lab.command(
        "inject run --table spins.dist --unit spins --seed s.seed --generator lcg --report r.json -- ./on_request",
    ));
    running.send(1);
    let status = running.status(&lab);
    assert_eq!(status["unit"], "spins");
    assert!(status["asked_mean_spins"].as_f64().unwrap() >= 1.0);
    assert_eq!(status.get("achieved_mean_ns"), None);
    let shown = running.shown(&lab);
    let means = shown.lines().last().unwrap();
    assert!(means.starts_with("  1 delays, mean asked "), "{shown}");
    assert!(means.ends_with(".0 spins"), "{shown}");
    running.end();
    let report: Value = serde_json::from_str(&lab.read("r.json")).unwrap();
    assert_eq!(
        report["asked_spins"],
        status["asked_mean_spins"].as_f64().unwrap() as u64
    );
    for time in ["asked_ns", "achieved_ns", "late_max_ns"] {
        assert_eq!(report.get(time), None, "{time}");
    }
}

#[test]
fn a_program_cannot_make_lines_of_its_own_by_its_name() {
    let lab = lab();
    let mut command = lab.command(&format!("{RUN} --"));
    let name = r"$'ev\e[31mil\n99 fake: on'";
    command.args(["bash", "-c", &format!("exec -a {name} ./on_request")]);
    let running = Running::of(command);
    let shown = running.shown(&lab);
    assert!(
        shown.contains(r" ev\u{1b}[31mil\n99 fake: on: on, spin"),
        "{shown}"
    );
    assert_eq!(shown.lines().count(), 3, "{shown}");
    running.end();
}

#[test]
fn a_locked_page_can_be_looked_at_and_who_locks_it_is_named() {
    let lab = lab();
    let running = Running::start(&lab, "");
    let file = std::fs::File::open(running.page()).unwrap();
    let lock = Flock::lock(file, FlockArg::LockExclusive).unwrap();
    assert_eq!(running.status(&lab)["delays"], 0);
    let set = format!("inject set --pid {} --off", running.child.id());
    let output = lab.run(&set);
    assert_eq!(output.status.code(), Some(3));
    let expected = format!(
        "jitterlab: control page {} cannot be changed: process {} keeps it locked; end that or \
         wait for it\n",
        running.page().display(),
        std::process::id()
    );
    assert_eq!(text(&output.stderr), expected);
    assert_eq!(running.status(&lab)["enabled"], true);
    drop(lock);
    lab.done(&set);
    running.end();
}

#[test]
fn a_page_whose_maker_died_while_it_made_it_is_removed() {
    let lab = lab();
    let running = Running::start(&lab, "");
    // No process has so high a number.
    let unfinished = running.page().with_file_name("4194305");
    let size = std::fs::metadata(running.page()).unwrap().len();
    std::fs::write(&unfinished, vec![0; size as usize]).unwrap();
    lab.done("inject status");
    assert!(!unfinished.exists());
    assert!(running.page().exists());
    running.end();
}
