//! `jitterlab results`: folders held against a kept one, and merged.

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::experiments::lines;
use common::{Lab, text};
use jitterlab_skip::skip;
use jitterlab_stats::special::phi_inverse;
use serde_json::{Value, json};

/// A program that prints the next line of a file each time that it is started.
const NEXT: &str = "#!/bin/sh
n=$(cat \"$1.count\" 2> /dev/null || echo 0)
echo $((n + 1)) > \"$1.count\"
sed -n \"$((n + 1))p\" \"$1\"
";

/// A lab with programs `one` and `two`, whose runtimes follow a law.
struct Releases(Lab);

impl Releases {
    fn new() -> Self {
        let lab = Lab::new();
        lab.write("next", NEXT);
        let executable = fs::Permissions::from_mode(0o755);
        fs::set_permissions(lab.path("next"), executable).unwrap();
        Releases(lab)
    }

    /// The runtimes of a program from now on: a lognormal's, of which each run has another, times such a factor.
    fn takes(&self, program: &str, runs: u32, times: f64) {
        let law = |run: u32| {
            // Not in their order: by a prime, which is no factor of so few.
            let share = (f64::from(run * 211 % runs) + 0.5) / f64::from(runs);
            let ms = 20.0 * times * (0.04 * phi_inverse(share)).exp();
            format!("took {ms:.4} ms\n")
        };
        self.0
            .write(program, (0..runs).map(law).collect::<String>());
        let _ = fs::remove_file(self.0.path(&format!("{program}.count")));
    }

    fn experiment(&self, runs: u32, programs: &[&str]) {
        let program = |name: &&str| {
            let [next, law] = [&"next", name].map(|it| self.0.path(it).display().to_string());
            format!(
                "    - {{ name: {name}, client: {{ on: here, command: [{next}, {law}] }}, \
                 runtime: {{ pattern: 'took ([0-9.]+) ms', unit: ms }} }}\n"
            )
        };
        let programs: String = programs.iter().map(program).collect();
        let text = format!(
            "name: release\nseed: 1\nrepetitions: {runs}\nhosts: {{ here: {{ at: local }} }}\nsuites:\n  application:\n{programs}"
        );
        self.0.write("e.yaml", text);
    }

    /// Measures both programs into a folder of this name.
    fn measure(&self, folder: &str, runs: u32, times: [f64; 2]) {
        self.takes("one", runs, times[0]);
        self.takes("two", runs, times[1]);
        self.experiment(runs, &["one", "two"]);
        measured(&self.0, folder);
    }

    /// The same of a release that is as fast, and of which the second program crashes three times before it is tried again.
    fn measure_crashing(&self, folder: &str, runs: u32) {
        self.takes("one", runs, 1.0);
        self.takes("two", runs, 1.0);
        let crashes = self.0.read("two").replacen("took", "crashed\ntook", 3);
        self.0.write("two", crashes);
        self.experiment(runs, &["one", "two"]);
        measured(&self.0, folder);
    }

    fn compared(&self, arguments: &str) -> (Option<i32>, Value) {
        let arguments = format!("results compare {arguments} --format json");
        let output = self.0.run(&arguments);
        let found = serde_json::from_slice(&output.stdout);
        (output.status.code(), found.unwrap_or_default())
    }
}

/// Runs `e.yaml`, and gives its result folder this name.
fn measured(lab: &Lab, folder: &str) {
    measured_with(lab, folder, 0);
}

/// The same of an experiment that ends with this status.
fn measured_with(lab: &Lab, folder: &str, status: i32) {
    let output = lab.run(&format!("run e.yaml --headless --results made-{folder}"));
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(status), "{said}");
    let mut made = fs::read_dir(lab.path(&format!("made-{folder}"))).unwrap();
    let made = made.next().unwrap().unwrap().path();
    fs::rename(made, lab.path(folder)).unwrap();
}

#[test]
fn a_release_that_is_slower_is_found_and_an_equal_one_passes() {
    let releases = Releases::new();
    releases.measure("kept", 12, [1.0, 1.0]);
    releases.measure("equal", 12, [1.0, 1.0]);
    releases.measure("slower", 12, [1.0, 1.1]);
    let (status, equal) = releases.compared("kept equal --gate 5%");
    assert_eq!(
        (status, &equal["slower"]),
        (Some(0), &json!("no")),
        "{equal:#}"
    );
    // Two intervals hold together with 95 %.
    assert_eq!(equal["confidence"], 0.975);
    assert_eq!(equal["differences"], json!([]));
    let (status, slower) = releases.compared("kept slower --gate 5%");
    assert_eq!(status, Some(1), "{slower:#}");
    let [one, two] = [0, 1].map(|place| &slower["quantities"][place]);
    assert_eq!(
        (&one["name"], &one["slower"]),
        (&json!("application-one.none"), &json!("no"))
    );
    assert_eq!(
        (&two["name"], &two["slower"]),
        (&json!("application-two.none"), &json!("yes"))
    );
    assert!((two["ratio"]["value"].as_f64().unwrap() - 1.1).abs() < 1e-3);
    let output = releases.0.run("results compare kept slower");
    let said = text(&output.stdout);
    assert_eq!(
        (output.status.code(), text(&output.stderr)),
        (Some(1), String::new())
    );
    for part in [
        "2 intervals, which hold together with 95 %",
        "slower: application-two.none\n",
        "Is b slower than a by more than 5 %? yes\n",
    ] {
        assert!(said.contains(part), "{said}");
    }
    // What is faster passes, too.
    assert_eq!(releases.compared("slower kept").0, Some(0));
}

#[test]
fn what_is_not_decided_does_not_pass_and_says_what_it_takes() {
    let releases = Releases::new();
    releases.measure("kept", 3, [1.0, 1.0]);
    releases.measure("few", 3, [1.0, 1.0]);
    let (status, few) = releases.compared("kept few");
    assert_eq!((status, &few["slower"]), (Some(4), &json!("undecided")));
    let more = few["quantities"][0]["more_repetitions"].as_u64().unwrap();
    let output = releases.0.run("results compare kept few");
    let said = text(&output.stdout).replace("\n  ", " ");
    let words = format!("undecided: application-one.none takes {more} more repetitions of each");
    assert!(said.contains(&words), "{said}");

    // The planned repetitions are enough for equal quantities, and for one that is slower by twice the gate.
    releases.measure("pilot", 12, [1.0, 1.0]);
    let plan = releases
        .0
        .json("results plan pilot --gate 5% --format json");
    let planned = u32::try_from(plan["repetitions"].as_u64().unwrap()).unwrap();
    assert!((20..200).contains(&planned), "{plan:#}");
    let said = releases.0.done("results plan pilot");
    assert!(
        said.contains(&format!("\n{planned} repetitions of each side decide")),
        "{said}"
    );
    releases.measure("long", planned, [1.0, 1.0]);
    releases.measure("equal", planned, [1.0, 1.0]);
    releases.measure("slower", planned, [1.1, 1.0]);
    assert_eq!(releases.compared("long equal").0, Some(0));
    assert_eq!(releases.compared("long slower").0, Some(1));

    // A quantity that is missing now does not pass.
    releases.takes("one", planned, 1.0);
    releases.experiment(planned, &["one"]);
    measured(&releases.0, "less");
    let (status, less) = releases.compared("long less");
    assert_eq!((status, &less["slower"]), (Some(4), &json!("undecided")));
    assert_eq!(less["missing"], json!(["application-two.none"]));
    let differs = less["differences"][0].as_str().unwrap();
    assert!(differs.starts_with("the experiment: line "), "{less:#}");
    let (status, more) = releases.compared("less long");
    assert_eq!(
        (status, &more["new"]),
        (Some(0), &json!(["application-two.none"]))
    );
}

#[test]
fn a_release_that_fails_more_often_does_not_pass_though_it_is_no_slower() {
    let releases = Releases::new();
    releases.measure("kept", 12, [1.0, 1.0]);
    releases.measure_crashing("crashing", 12);
    let (status, found) = releases.compared("kept crashing --gate 5%");
    assert_eq!((status, &found["slower"]), (Some(4), &json!("undecided")));
    assert_eq!(found["quantities"][1]["slower"], "no", "{found:#}");
    let attempts = |all: u32, failed: u32| json!({ "all": all, "failed": failed });
    assert_eq!(
        found["failing"],
        json!([{ "name": "application-two.none", "a": attempts(12, 0), "b": attempts(15, 3) }])
    );
    let output = releases.0.run("results compare kept crashing");
    let said = text(&output.stdout).replace("\n  ", " ");
    let words = "undecided, since it fails more often in b: application-two.none (attempts that failed: 3 of 15, and in a 0 of 12)";
    assert!(said.contains(words), "{said}");
    // One that fails less often passes.
    assert_eq!(releases.compared("crashing kept").0, Some(0));
}

#[test]
fn a_release_that_fails_always_is_undecided_and_its_failures_are_told() {
    let releases = Releases::new();
    releases.measure("kept", 4, [1.0, 1.0]);
    // The programs print nothing that a runtime could be read from.
    releases.0.write("one", "");
    releases.0.write("two", "");
    measured_with(&releases.0, "broken", 1);
    let (status, found) = releases.compared("kept broken");
    assert_eq!((status, &found["slower"]), (Some(4), &json!("undecided")));
    assert_eq!(found["quantities"], json!([]));
    // Each is named once: it was tried, and so it is not missing.
    assert_eq!(found["missing"], json!([]));
    let failing = found["failing"].as_array().unwrap();
    let names: Vec<&Value> = failing.iter().map(|it| &it["name"]).collect();
    assert_eq!(names, ["application-one.none", "application-two.none"]);
    for it in failing {
        assert_eq!(it["a"]["failed"], 0, "{it}");
        assert_eq!(it["b"]["failed"], it["b"]["all"], "{it}");
    }
    let said = text(&releases.0.run("results compare kept broken").stdout).replace("\n  ", " ");
    let words =
        "undecided, since it fails more often in b: application-one.none (attempts that failed: ";
    assert!(said.contains(words), "{said}");
    // Nothing can be held against a folder without figures, nor planned by it.
    releases.0.refuses(
        "results compare broken kept",
        "broken and kept have no runs of the same name that have samples or a runtime",
    );
    releases.0.refuses(
        "results plan broken",
        "broken has no run that has samples or a runtime, so that nothing can be planned by it",
    );
}

/// A copy of a lab's folder, with another content of a file.
fn changed(lab: &Lab, folder: &str, copy: &str, file: &str, change: impl Fn(String) -> String) {
    let mut copies = Command::new("cp");
    copies.args(["-r", folder, copy]).current_dir(lab.path(""));
    assert!(copies.status().unwrap().success());
    let file = format!("{copy}/{file}");
    lab.write(&file, change(lab.read(&file)));
}

#[test]
fn the_open_loop_and_the_closed_one_are_not_compared() {
    let lab = Lab::new();
    lab.write("e.yaml", PACKETS);
    measured(&lab, "closed");
    lab.write(
        "e.yaml",
        PACKETS.replace("udp], warmup", "udp], rate: 2000, warmup"),
    );
    measured(&lab, "open");
    let output = lab.run("results compare closed open --gate 100% --format json");
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (output.status.code(), &found["slower"]),
        (Some(4), &json!("undecided")),
        "{found:#}"
    );
    assert_eq!(found["quantities"], json!([]));
    assert_eq!(
        found["other_loop"],
        json!([{ "name": "packet-rtt-udp.none", "a": "closed", "b": "open" }])
    );
    let said = text(&lab.run("results compare closed open").stdout).replace("\n  ", " ");
    let words = "undecided, since b measured it in another loop: packet-rtt-udp.none (open, and in a closed)";
    assert!(said.contains(words), "{said}");
}

#[test]
fn what_had_other_delays_is_not_decided_and_delays_that_differ_are_told() {
    let lab = Lab::new();
    let levels = "seed: 1\nlevels: { injected: { delays: [1ms] } }\n";
    lab.write("e.yaml", PACKETS.replace("seed: 1\n", levels));
    measured(&lab, "a");
    for (folder, moment, ns) in [
        ("b", "mean_ns", 1_500_000.0),
        ("near", "mean_ns", 1_010_000.0),
        ("varied", "std_ns", 300_000.0),
    ] {
        changed(&lab, "a", folder, "tables/made.json", |made| {
            let mut made: Value = serde_json::from_str(&made).unwrap();
            made[0]["moments"][moment] = json!(ns);
            made.to_string()
        });
    }
    let compared = |folder: &str| {
        let arguments = format!("results compare a {folder} --gate 20% --format json");
        let found: Value = serde_json::from_slice(&lab.run(&arguments).stdout).unwrap();
        let injected = found["quantities"].as_array().unwrap().iter();
        let mut injected = injected.filter(|it| it["name"] == "packet-rtt-udp.delay-1ms");
        (found.clone(), injected.next().unwrap().clone())
    };
    // The same runs: of any number of them, but with other delays.
    let (found, injected) = compared("b");
    assert_eq!(injected["slower"], "undecided", "{found:#}");
    assert_eq!(injected["other_delays"]["b"]["mean_ns"], 1.5e6);
    let differs = "the delays of injected delay 1ms: mean 1.5 ms, standard deviation 0 ns; in a mean 1 ms, standard deviation 0 ns";
    assert_eq!(found["differences"], json!([differs]));
    let said = text(&lab.run("results compare a b --gate 20%").stdout).replace("\n  ", " ");
    let words = "undecided: packet-rtt-udp.delay-1ms had other delays (mean 1.5 ms";
    assert!(said.contains(words), "{said}");
    // So it is with delays of the same mean that vary more.
    let (_, injected) = compared("varied");
    assert_eq!(injected["slower"], "undecided", "{injected:#}");
    assert_eq!(injected["other_delays"]["b"]["std_ns"], 3e5);
    // Means that differ by less than the gate are told, and runs are compared: they are the same.
    let (found, injected) = compared("near");
    assert_eq!(injected["other_delays"], json!(null));
    assert_eq!(found["differences"].as_array().unwrap().len(), 1);
}

const PACKETS: &str = "name: packets
seed: 1
repetitions: 2
hosts: { here: { at: local } }
suites:
  packet:
    - { case: rtt, transports: [udp], warmup: 1ms, duration: 10ms }
    - { case: bandwidth, transports: [udp], sizes: [64B], warmup: 1ms, duration: 10ms }
";

#[test]
fn folders_are_merged_and_runs_keep_where_they_came_from() {
    let lab = Lab::new();
    lab.write("e.yaml", PACKETS);
    for folder in ["a", "b", "c"] {
        measured(&lab, folder);
    }
    let said = lab.done("results merge a b --into ab");
    assert_eq!(
        said,
        "ab has the runs of 2 folders\n  a: repetitions 1 to 2\n  b: repetitions 3 to 4\n"
    );
    // Merged again, the parts of a part are told apart.
    let parts = lab.json("results merge ab c --into abc --format json");
    let part = |place: usize| {
        let part = &parts[place];
        let block = |key: &str| part[key].as_u64().unwrap();
        (
            part["folder"].as_str().unwrap(),
            block("first_block"),
            block("last_block"),
        )
    };
    assert_eq!([0, 1, 2].map(part), [("a", 1, 2), ("b", 3, 4), ("c", 5, 6)]);
    let kept: Value = serde_json::from_str(&lab.read("abc/merged.json")).unwrap();
    assert_eq!(kept, parts);
    // Every run is there under the name of its block, with its samples.
    let runs = lines(&lab.path("abc/runs.jsonl"));
    let of_b: Vec<Value> = lines(&lab.path("b/runs.jsonl"));
    assert_eq!(runs.len(), 3 * of_b.len());
    for before in &of_b {
        let block = before["block"].as_u64().unwrap() + 2;
        let name = before["run"].as_str().unwrap().rsplit_once('.').unwrap().0;
        let name = format!("{name}.r{block}");
        let now = runs.iter().find(|run| run["run"] == json!(name)).unwrap();
        assert_eq!(
            (&now["block"], &now["repetition"]),
            (&json!(block), &json!(block))
        );
        assert_eq!(
            (&now["started"], &now["result"]),
            (&before["started"], &before["result"])
        );
        if let Some(samples) = before["samples"].as_str() {
            let now = fs::read(lab.path("abc").join(now["samples"].as_str().unwrap()));
            assert_eq!(now.unwrap(), fs::read(lab.path("b").join(samples)).unwrap());
        }
    }
    let analysis: Value =
        serde_json::from_slice(&lab.run("analyze abc --format json").stdout).unwrap();
    assert_eq!(analysis["latency"][0]["runs"], 6);
    // A case without samples and runtime is named, and not compared.
    let gated = lab.run("results compare ab abc --gate 100% --format json");
    let gated: Value = serde_json::from_slice(&gated.stdout).unwrap();
    assert_eq!(gated["not_compared"], json!(["packet-bandwidth-udp.none"]));
    assert_eq!(gated["quantities"].as_array().unwrap().len(), 1);
    // Nothing is left beside them.
    let names = fs::read_dir(lab.path("")).unwrap();
    assert_eq!(
        names
            .filter(|it| hidden(&it.as_ref().unwrap().path()))
            .count(),
        0
    );
}

fn hidden(path: &Path) -> bool {
    let name = path.file_name().unwrap().to_string_lossy();
    name.starts_with('.')
}

#[test]
fn what_does_not_belong_together_is_refused_and_nothing_is_left() {
    let lab = Lab::new();
    lab.write("e.yaml", PACKETS);
    measured(&lab, "a");
    lab.write("e.yaml", PACKETS.replace("seed: 1", "seed: 2"));
    measured(&lab, "b");
    for copy in ["copy", "old"] {
        let mut copies = Command::new("cp");
        let copied = copies
            .args(["-r", "a", copy])
            .current_dir(lab.path(""))
            .status();
        assert!(copied.unwrap().success());
    }
    let runs = lab.read("old/runs.jsonl");
    let version = runs.split(',').next().unwrap().to_string();
    lab.write("old/runs.jsonl", runs.replace(&version, "{\"version\":3"));
    for (arguments, message) in [
        (
            "results merge a b --into c",
            "a and b hold different experiments: line 2 is `seed: 1` in one and `seed: 2` in the other",
        ),
        (
            "results merge a copy --into c",
            "two of the named folders hold the same runs, those of copy; name only one of the two",
        ),
        (
            "results merge a b --into old",
            "old already exists. Name a new folder for the merged results",
        ),
        (
            "results merge a missing --into c",
            "cannot read result folder missing: No such file or directory (os error 2)",
        ),
        (
            "results merge a --into c",
            "error: 2 values required by '<FOLDERS> <FOLDERS>...'; only 1 was provided",
        ),
        (
            "results compare a a/../a",
            "a is the same folder as a/../a: give two different folders",
        ),
        (
            "results compare a b --gate 0%",
            "the gate is 0; it has to be a share above 0",
        ),
        (
            "results compare a .",
            ". is not a result folder: it has no experiment.yaml",
        ),
    ] {
        lab.refuses(arguments, message);
    }
    let output = lab.run("results merge a old --into c");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).starts_with("jitterlab: old holds results of format 3"));
    assert!(!lab.path("c").exists());
    lab.write("e.yaml", PACKETS);
    measured(&lab, "later");
    lab.refuses(
        "results merge a later --into missing/c",
        "cannot make missing/c: No such file or directory (os error 2)",
    );
    // Two experiments that began at the same time, on two clusters, are two.
    let environment = |folder: &str| -> Value {
        serde_json::from_str(&lab.read(&format!("{folder}/environment.json"))).unwrap()
    };
    let mut later = environment("later");
    later["started"] = environment("a")["started"].clone();
    lab.write("later/environment.json", later.to_string());
    lab.done("results merge a later --into both");
}

/// The check for ReFrame, run by ReFrame.
#[test]
fn the_check_for_reframe_passes_equal_releases_and_no_slower_ones() {
    let Some(reframe) = reframe() else {
        return skip("ReFrame is not installed (pip install reframe-hpc)");
    };
    let releases = Releases::new();
    releases.measure("kept", 12, [1.0, 1.0]);
    releases.measure("equal", 12, [1.0, 1.0]);
    releases.measure("slower", 12, [1.0, 1.1]);
    let check = Path::new(env!("CARGO_MANIFEST_DIR")).join("../experiments/reframe/gate.py");
    let program = Path::new(env!("CARGO_BIN_EXE_jitterlab"));
    releases.measure_crashing("crashing", 12);
    let checked = |what: &str, path: &str| {
        let kept = releases.0.path("kept").display().to_string();
        let path = releases.0.path(path).display().to_string();
        let mut command = Command::new(&reframe);
        command.arg("--checkpath").arg(&check).arg("--run");
        command.args([
            "--setvar",
            &format!("kept={kept}"),
            "--setvar",
            &format!("{what}={path}"),
        ]);
        command.args(["--setvar", &format!("jitterlab={}", program.display())]);
        // It keeps reports at home.
        let lab = releases.0.path("");
        let output = command
            .env("HOME", &lab)
            .current_dir(&lab)
            .output()
            .unwrap();
        (output.status.success(), text(&output.stdout))
    };
    let (passed, said) = checked("folder", "equal");
    assert!(passed && said.contains("Ran 1/1 test case"), "{said}");
    let (passed, said) = checked("folder", "slower");
    assert!(!passed && said.contains("application-two.none"), "{said}");
    let (passed, said) = checked("folder", "crashing");
    assert!(!passed && said.contains("fails more often"), "{said}");
    // An experiment that cannot begin leaves nothing to compare.
    let (passed, said) = checked("experiment", "missing.yaml");
    assert!(
        !passed && said.contains("cannot read experiment file"),
        "{said}"
    );
}

/// As somebody has installed it, or `bootstrap/test`.
fn reframe() -> Option<PathBuf> {
    let program = Path::new(env!("CARGO_BIN_EXE_jitterlab"));
    let of_tests = program
        .ancestors()
        .nth(2)
        .map(|target| target.join("python/bin"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = of_tests.into_iter().chain(std::env::split_paths(&path));
    folders
        .map(|folder| folder.join("reframe"))
        .find(|file| file.is_file())
}
