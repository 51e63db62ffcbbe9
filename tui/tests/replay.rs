//! `jitterlab dist record` and `inject run --replay`.

mod common;

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use common::{Lab, text};
use jitterlab_skip::built;
use serde_json::{Value, json};

/// Round trips of 10 us, of which every tenth to nineteenth is 15 us longer; a column says when they were sent.
fn lab() -> Lab {
    let lab = Lab::new();
    let lines: String = (0..200)
        .map(|i| {
            let ns = if i % 20 < 10 { 10_000 } else { 25_000 };
            format!("{},{ns}\n", 7_000 + i * 50_000)
        })
        .collect();
    lab.write("load.csv", format!("sent_ns,rtt_ns\n{lines}"));
    lab.write("none.csv", "rtt_ns\n10000\n10000\n10400\n");
    lab.done("dist record load.csv:rtt_ns --baseline none.csv -o r.recording");
    lab
}

#[test]
fn a_recording_says_what_was_recorded() {
    let lab = lab();
    let record = "dist record load.csv:rtt_ns --baseline none.csv -o r.recording";
    assert_eq!(
        lab.done(record),
        "200 delays over 3.5 ms, each what its sample exceeds 10 us by; mean 7.5 us, standard deviation 7.519 us, 50 % zeros\n\
         autocorrelation of ranks at lags 1, 10, 100: 0.81, -0.95, 0.50\n"
    );
    let timed = format!("{record} --times load.csv:sent_ns --format json");
    let recorded = lab.json(&timed);
    assert_eq!(
        (&recorded["n"], &recorded["span_ns"], &recorded["less_ns"]),
        (&200.into(), &10_000_000.into(), &json!(10_000.0))
    );
    lab.refuses(
        "dist record load.csv:rtt_ns --times none.csv -o other",
        "load.csv:rtt_ns: 200 delays have 3 times of sending; both must be equally many",
    );
    lab.refuses(
        "dist record load.csv:rtt_ns --times load.csv:rtt_ns -o other",
        "load.csv:rtt_ns: times begin with 0 and never go back",
    );
    lab.refuses(
        "dist record load.csv:rtt_ns --less 1s -o other",
        "no sample of load.csv:rtt_ns exceeds 1 s: every delay would be 0",
    );
}

#[test]
fn what_cannot_be_replayed_is_refused_before_anything_starts() {
    let lab = lab();
    built();
    lab.done("dist make --shape constant --mean 50us -o t.dist");
    lab.refuses(
        "inject run --replay t.dist -- touch made",
        "t.dist: this is not a recording; `jitterlab dist record` makes one",
    );
    for (arguments, said) in [
        ("inject run --by-message --table t.dist -- true", "--table"),
        ("inject run --each-rank --delay 50us -- true", "--delay"),
        (
            "inject run --replay r.recording --table t.dist -- true",
            "--table",
        ),
        (
            "inject run --replay r.recording --generator lcg -- true",
            "--generator",
        ),
        (
            "inject run --replay r.recording --mode defer --hook mpi -- true",
            "cannot be deferred",
        ),
    ] {
        let output = lab.run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments}");
        assert!(text(&output.stderr).contains(said), "{arguments}");
    }
}

/// A program that sends when it is told to, under injection.
struct Running {
    child: std::process::Child,
    output: BufReader<std::process::ChildStdout>,
}

impl Running {
    fn start(lab: &Lab, options: &str) -> Self {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/on_request.c");
        let mut cc = Command::new("cc");
        cc.args(["-O1", "-o"])
            .arg(lab.path("on_request"))
            .arg(source);
        assert!(cc.status().unwrap().success());
        let mut child = lab
            .command(&format!(
                "inject run --replay r.recording {options} -- ./on_request"
            ))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut running = Running { child, output };
        running.expect("ready\n");
        running
    }

    fn expect(&mut self, expected: &str) {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        assert_eq!(line, expected);
    }

    fn send(&mut self, times: usize) {
        for _ in 0..times {
            writeln!(self.child.stdin.as_mut().unwrap()).unwrap();
            self.expect("come\n");
        }
    }

    fn lab(&self, lab: &Lab, verb: &str, options: &str) -> String {
        lab.done(&format!(
            "inject {verb} --pid {} {options}",
            self.child.id()
        ))
    }

    fn status(&self, lab: &Lab) -> Value {
        let status: Value =
            serde_json::from_str(&self.lab(lab, "status", "--format json")).unwrap();
        status[0].clone()
    }

    fn end(mut self) {
        drop(self.child.stdin.take());
        self.child.wait().unwrap();
    }
}

#[test]
fn a_program_replays_a_recording_by_message() {
    let lab = lab();
    built();
    let mut running = Running::start(&lab, "--by-message --each-rank");
    // As many as the recording has: each delay once.
    running.send(200);
    let status = running.status(&lab);
    let keys = ["order", "stretch", "delays", "asked_mean_ns"];
    assert_eq!(
        keys.map(|key| status[key].clone()),
        [
            json!("by-message"),
            json!("each"),
            json!(200),
            json!(7_500.0)
        ]
    );
    let people = running.lab(&lab, "status", "");
    let source = "replay by message, a stretch for each rank, of ";
    assert!(people.contains(source), "{people}");
    // A table takes its place.
    lab.done("dist make --shape constant --mean 50us -o t.dist");
    running.lab(&lab, "set", "--table t.dist");
    running.send(200);
    let status = running.status(&lab);
    assert_eq!(
        keys.map(|key| status[key].clone()),
        [json!("drawn"), json!("each"), json!(400), json!(28_750.0)]
    );
    running.end();
}

#[test]
fn by_time_is_what_it_is_if_nothing_is_said() {
    let lab = lab();
    built();
    let mut running = Running::start(&lab, "");
    running.send(10);
    let status = running.status(&lab);
    assert_eq!(
        ["order", "stretch", "delays"].map(|key| status[key].clone()),
        [json!("by-time"), json!("all"), json!(10)]
    );
    let people = running.lab(&lab, "status", "");
    let source = "replay by time, one stretch for all ranks, of ";
    assert!(people.contains(source), "{people}");
    running.end();
}
