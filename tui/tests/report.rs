//! `jitterlab analyze` and `report`, from outside.

mod common;

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use common::{Lab, text};

/// A lab with the result folder of a small experiment.
fn lab(experiment: &str) -> (Lab, PathBuf) {
    let lab = Lab::new();
    lab.write("e.yaml", experiment);
    lab.run("run e.yaml --headless");
    let mut folders = std::fs::read_dir(lab.path("results")).unwrap();
    let folder = folders.next().unwrap().unwrap().path();
    (lab, folder)
}

const PACKETS: &str = "
name: packets
seed: 1
repetitions: 2
hosts: { here: { at: local } }
suites:
  packet:
    - { case: rtt, transports: [udp], from: here, to: here, size: 64B, warmup: 1ms, duration: 20ms, wait: block }
";

const FAILING: &str = "
name: failing
seed: 1
repetitions: 1
retries: 0
hosts: { here: { at: local } }
suites:
  application:
    - { name: bad, client: { on: here, command: [\"false\"] } }
";

#[test]
fn tables_are_printed_and_the_page_is_written() {
    let (lab, folder) = lab(PACKETS);
    let path = folder.display();
    let output = lab.run(&format!("analyze {path}"));
    assert_eq!(output.status.code(), Some(0));
    let printed = text(&output.stdout);
    assert!(printed.contains("RTT over UDP"));
    assert!(text(&output.stderr).contains("latency.csv"));
    let output = lab.run(&format!("analyze {path} --format json"));
    let analysis: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(analysis["latency"][0]["runs"], 2);
    // The answer stands there once.
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let answer = words(analysis["answer"]["sentence"].as_str().unwrap());
    assert_eq!(words(&printed).matches(&answer).count(), 1, "{printed}");
    assert!(!folder.join("report/index.html").exists());
    let page = lab.done(&format!("report {path}"));
    assert_eq!(page.trim_end(), format!("{path}/report/index.html"));
    assert!(folder.join("report/index.html").is_file());
}

#[test]
fn any_two_conditions_are_compared() {
    let both = PACKETS.replace("transports: [udp]", "transports: [udp, tcp]");
    let (lab, folder) = lab(&both);
    let path = folder.display();
    let compare = |arguments: &str| {
        lab.run(&format!(
            "analyze {path} --b packet-rtt-udp.none {arguments}"
        ))
    };
    let output = compare("--a packet-rtt-tcp.none --slower-by 99% --figure p99");
    let said = text(&output.stdout);
    // What two pairs say of a share is chance; the exit status says the same.
    let status = match said.trim_end().rsplit(' ').next() {
        Some("yes") => 1,
        Some("no") => 0,
        _ => 4,
    };
    let complained = text(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{said}{complained}");
    assert!(
        said.contains("a  packet-rtt-tcp.none  ") && said.contains("p99 of b against a: "),
        "{said}"
    );
    assert!(
        said.contains("Is b slower than a by more than 99 %?"),
        "{said}"
    );
    // The same against itself: nothing varies, so nothing can be said of it.
    let output = compare("--a packet-rtt-udp.none --format json");
    let comparison: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(comparison["slowdown"]["ratio"]["value"], 1.0);
    assert_eq!(
        (output.status.code(), &comparison["slower"]),
        (Some(4), &"undecided".into())
    );
    let output = compare("--a nobody");
    assert_eq!(output.status.code(), Some(2));
    let why = "no runs are called nobody; there are packet-rtt-tcp.none, packet-rtt-udp.none";
    assert!(
        text(&output.stderr).contains(why),
        "{}",
        text(&output.stderr)
    );
}

/// The program of the desktop is told the page, and what it says becomes of the command.
#[test]
fn the_page_is_shown_by_the_desktop() {
    let (lab, folder) = lab(PACKETS);
    let report = |path: &str| {
        let mut command = lab.command(&format!("report {} --open", folder.display()));
        command.env("PATH", path).output().unwrap()
    };
    std::fs::create_dir(lab.path("desktop")).unwrap();
    let desktop = lab.path("desktop");
    let opener = desktop.join("xdg-open");
    let shown = lab.path("shown");
    let opens = |status: u8| {
        let script = format!(
            "#!/bin/sh\nprintf %s \"$1\" > {}\nexit {status}\n",
            shown.display()
        );
        std::fs::write(&opener, script).unwrap();
        std::fs::set_permissions(&opener, std::fs::Permissions::from_mode(0o755)).unwrap();
        report(desktop.to_str().unwrap())
    };
    let done = opens(0);
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    let page = folder.join("report/index.html").canonicalize().unwrap();
    assert_eq!(
        std::fs::read_to_string(&shown).unwrap(),
        page.display().to_string()
    );
    let failed = opens(4);
    assert_eq!(failed.status.code(), Some(3));
    let said = text(&failed.stderr);
    assert!(
        said.contains("cannot show the report") && said.contains("in a browser"),
        "{said}"
    );
    let missing = report("/nonexistent");
    assert_eq!(missing.status.code(), Some(3));
    assert!(text(&missing.stderr).contains("package xdg-utils"));
    assert!(page.is_file());
}

#[test]
fn what_is_no_result_folder_is_refused() {
    let lab = Lab::new();
    lab.write("file", "");
    for command in ["analyze", "report"] {
        lab.refuses(
            &format!("{command} missing"),
            "cannot read result folder missing: No such file or directory (os error 2)",
        );
        lab.refuses(
            &format!("{command} file"),
            "cannot read result folder file: Not a directory (os error 20)",
        );
        lab.refuses(
            &format!("{command} ."),
            ". is not a result folder: it has no experiment.yaml",
        );
        lab.refuses(
            command,
            "error: the following required arguments were not provided:",
        );
    }
}

/// Of every command that reads result folders.
#[test]
fn a_folder_of_another_format_is_refused() {
    let lab = Lab::new();
    std::fs::create_dir(lab.path("old")).unwrap();
    lab.write("old/experiment.yaml", PACKETS);
    for (line, format) in [
        (r#"{"run":"packet-rtt-udp.none.r1","packet":{}}"#, 1),
        (r#"{"version":4,"run":"packet-rtt-udp.none.r1"}"#, 4),
    ] {
        lab.write("old/runs.jsonl", format!("{line}\n"));
        for command in ["analyze", "report", "run --resume"] {
            lab.refuses(
                &format!("{command} old"),
                &format!(
                    "old holds results of format {format}, and this jitterlab reads format 9: read them with the jitterlab \
                     that made them, or measure anew"
                ),
            );
        }
    }
}

#[test]
fn an_experiment_without_a_run_that_was_measured_has_no_report() {
    let (lab, folder) = lab(FAILING);
    lab.refuses(
        &format!("report {}", folder.display()),
        "no run was measured, 1 failed; `runs.jsonl` has the reasons",
    );
    for file in ["runs.jsonl", "environment.json"] {
        std::fs::remove_file(folder.join(file)).unwrap();
    }
    lab.refuses(
        &format!("report {}", folder.display()),
        "no run was measured; `jitterlab run --resume` finishes an experiment",
    );
}
