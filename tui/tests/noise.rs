//! `jitterlab noise`, from outside.

mod common;

use common::{Lab, text};
use serde_json::Value;

/// The CPU with the greatest number: `--cpus` for one.
fn last_cpu(lab: &Lab) -> u64 {
    let report = lab.json("noise run --duration 10ms --format json");
    let last = report["cores"].as_array().unwrap().last().unwrap();
    last["cpu"].as_u64().unwrap()
}

#[test]
fn a_run_is_printed_kept_and_compared() {
    let lab = Lab::new();
    let cpu = last_cpu(&lab);
    let arguments = format!("noise run --cpus {cpu} --duration 1s --threshold 2us");
    let printed = lab.done(&format!("{arguments} -o before.json"));
    for part in [
        "gaps above 2us between two readings of the ",
        "  gaps/s     lost %      median",
        &format!("CPU {cpu}: "),
        " gaps a second, and who it was ",
        "the thread was switched away ",
        "osnoise: ",
        "timerlat: ",
        "hwlat: ",
    ] {
        assert!(printed.contains(part), "{part}: {printed}");
    }
    let before: Value = serde_json::from_str(&lab.read("before.json")).unwrap();
    assert_eq!(
        (&before["threshold_ns"], &before["interval_ns"]),
        (&2_000.into(), &50_000_000.into())
    );
    assert_eq!(before["cores"].as_array().unwrap().len(), 1);
    assert_eq!(before["cores"][0]["cpu"], cpu);
    assert_eq!(
        before["cores"][0]["intervals"]["gaps"]
            .as_array()
            .unwrap()
            .len(),
        20
    );

    // What is printed as JSON can be compared as well.
    lab.write(
        "after.json",
        lab.done(&format!("{arguments} --format json")),
    );
    let compared = lab.json("noise compare before.json after.json --format json");
    let rows = compared["rows"].as_array().unwrap();
    assert!(rows.iter().all(|row| row["cpu"] == cpu));
    assert!(
        rows.iter()
            .any(|row| row["figure"] == "rate" && row["found"]["described"]["n_a"] == 20)
    );

    let same = lab.json("noise compare before.json before.json --format json");
    for row in same["rows"].as_array().unwrap() {
        let described = &row["found"]["described"];
        assert_eq!(
            (&described["rank_biserial"], &described["shift"]),
            (&0.0.into(), &0.0.into())
        );
    }
}

/// The run, with twice its gaps and time lost in each interval.
#[test]
fn a_comparison_says_in_words_what_has_changed() {
    let lab = Lab::new();
    let cpu = last_cpu(&lab);
    let run = |scale: f64| {
        let per_interval = |base: u64| -> Vec<u64> {
            (0..20)
                .map(|i| (scale * (base + i % 3) as f64) as u64)
                .collect()
        };
        let mut run = lab.json(&format!(
            "noise run --cpus {cpu} --duration 10ms --format json"
        ));
        run["interval_ns"] = 50_000_000.into();
        let core = &mut run["cores"][0];
        core["gaps"] = 1.into();
        core["gaps_per_s"] = (200.0 * scale).into();
        core["lost_share"] = (0.001 * scale).into();
        core["lengths_ns"] = serde_json::json!({"n": 1, "mean": 1.0, "std": 0.0, "skew": 0.0, "min": 1.0,
            "median": 4e3, "p90": 1.0, "p99": 1.0, "p999": 1.0, "max": 1.0});
        core["recorded"] =
            serde_json::json!({"complete": true, "starts_ns": [1], "lengths_ns": [4000]});
        core["intervals"] =
            serde_json::json!({"gaps": per_interval(10), "lost_ns": per_interval(50_000)});
        run.to_string()
    };
    lab.write("a.json", run(2.0));
    lab.write("b.json", run(1.0));
    // However the columns are laid out.
    let words = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let printed = words(lab.done("noise compare a.json b.json"));
    for part in [
        &format!(" CPU {cpu} "),
        "A 4 us B 4 us the same ",
        "A 400/s B 200/s less by 200/s ",
        "A 0.2 % B 0.1 % less by 0.1 % ",
        "rank-biserial -1.000 (large), n 20 and 20 ",
        "takes several recordings of each: --a FILE... --b FILE...",
    ] {
        assert!(printed.contains(part), "{part}: {printed}");
    }
    assert!(!printed.contains("p ="), "{printed}");
    // Two recordings of one node differ by a tenth.
    for (name, scale) in [
        ("a0", 2.0),
        ("a1", 2.2),
        ("a2", 2.1),
        ("b0", 1.0),
        ("b1", 1.1),
        ("b2", 1.05),
    ] {
        lab.write(&format!("{name}.json"), run(scale));
    }
    let (a, b) = ("a0.json a1.json a2.json", "b0.json b1.json b2.json");
    let printed = words(lab.done(&format!("noise compare --a {a} --b {b}")));
    for part in [
        "A 4 us B 4 us no difference shown no recording differs from another of its side, 3 and 3 recordings",
        "A 420/s B 210/s less, by 210/s (",
        "A 0.21 % B 0.105 % less, by 0.105 % (",
        "p corrected by Holm over 3 tests, alpha 0.05",
    ] {
        assert!(printed.contains(part), "{part}: {printed}");
    }
    let more = words(lab.done(&format!("noise compare --a {b} --b {a} --alpha 0.01")));
    assert!(more.contains("/s more, by 210/s ("), "{more}");
    assert!(more.contains("alpha 0.01"), "{more}");
    let same = words(lab.done("noise compare --a a0.json b1.json --b a1.json b0.json"));
    assert!(!same.contains("less,") && !same.contains("more,"), "{same}");
    lab.refuses(
        "noise compare --a a0.json --b b0.json b1.json",
        "one side has one recording and the other several; a test needs at least 2 of each",
    );
}

#[test]
fn wrong_input_is_refused() {
    let lab = Lab::new();
    let cpu = last_cpu(&lab);
    lab.write(
        "fine.json",
        lab.done(&format!(
            "noise run --cpus {cpu} --duration 10ms --format json"
        )),
    );
    lab.write(
        "other.json",
        lab.done(&format!(
            "noise run --cpus {cpu} --duration 10ms --threshold 1ms --format json"
        )),
    );
    lab.write("words.json", "no run");
    for (arguments, message) in [
        (
            "run --cpus 3-1",
            "error: invalid value '3-1' for '--cpus <CPUS>': the range `3-1` ends before it begins",
        ),
        (
            "run --duration 9ms",
            "noise is measured for at least 10ms and at most one day",
        ),
        (
            "run -o none/run.json",
            "cannot write none/run.json: it has to be a file in a folder that is there",
        ),
        (
            "compare fine.json none.json",
            "cannot read the run none.json: No such file or directory (os error 2)",
        ),
        (
            "compare words.json fine.json",
            "cannot read the run words.json: it is not what `noise run --output` writes: expected ident at line 1 column 2",
        ),
        (
            "compare fine.json fine.json --alpha 1",
            "--alpha lies between 0 and 1",
        ),
    ] {
        lab.refuses(&format!("noise {arguments}"), message);
    }
    let missing = lab.run("noise run --cpus 60000");
    assert_eq!(missing.status.code(), Some(2));
    assert!(
        text(&missing.stderr)
            .starts_with("jitterlab: CPU 60000 cannot be measured: this process can run on ")
    );
    let low = lab.run("noise run --duration 10ms --threshold 1ns");
    assert_eq!(low.status.code(), Some(2));
    assert!(text(&low.stderr).contains("a threshold of 1ns is too low"));
    let thresholds = lab.run("noise compare fine.json other.json");
    assert_eq!(thresholds.status.code(), Some(2));
    assert!(
        text(&thresholds.stderr).ends_with("B above 1ms: measure both with the same threshold\n")
    );
}
