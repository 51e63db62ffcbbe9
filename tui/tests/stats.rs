//! `jitterlab stats`, from outside.

mod common;

use common::{Lab, lognormal, rounded, text};
use insta::assert_snapshot;
use serde_json::Value;

/// `slow` is `fast`, 500 ns later and a little more varied.
fn lab() -> Lab {
    let lab = Lab::new();
    lab.write("fast.csv", lognormal(2_000, 0.5, 9e3, 2.5e3));
    lab.write("slow.csv", lognormal(1_500, 0.6, 9.5e3, 2.5e3));
    lab
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value}"))
}

#[test]
fn compare_says_what_differs_and_by_how_much() {
    let lab = lab();
    assert_snapshot!(
        "compare",
        rounded(&lab.done("stats compare --independent slow.csv fast.csv"))
    );
    assert_snapshot!(
        "compare_equal",
        rounded(&lab.done("stats compare --independent fast.csv fast.csv"))
    );
}

#[test]
fn compare_is_antisymmetric_and_repeatable() {
    let lab = lab();
    let there = lab.json("stats compare --independent slow.csv fast.csv --format json");
    let back = lab.json("stats compare --independent fast.csv slow.csv --format json");
    for pointer in [
        "/mann_whitney/rank_biserial",
        "/shift_ns/estimate",
        "/mean_difference_ns/estimate",
    ] {
        let [a, b] = [&there, &back].map(|value| number(value.pointer(pointer).unwrap()));
        assert!(a > 0.0 && (a + b).abs() < 1e-9 * a, "{pointer} {a} {b}");
    }
    assert_eq!(
        number(&there["shift_ns"]["low"]),
        -number(&back["shift_ns"]["high"])
    );
    for same in [
        "/mann_whitney/p",
        "/kolmogorov_smirnov/d",
        "/wasserstein_ns",
    ] {
        let [a, b] = [&there, &back].map(|value| number(value.pointer(same).unwrap()));
        assert!((a - b).abs() <= 1e-9 * a.abs(), "{same} {a} {b}");
    }
    let u: f64 = [&there, &back]
        .map(|value| number(&value["mann_whitney"]["u"]))
        .iter()
        .sum();
    assert_eq!(u, 2_000.0 * 1_500.0);
    assert_eq!(
        (&there["a"]["n"], &there["b"]["n"]),
        (&1_500.into(), &2_000.into())
    );
    assert_eq!(
        there,
        lab.json("stats compare --independent slow.csv fast.csv --format json")
    );
    let reseeded = lab.json("stats compare --independent slow.csv fast.csv --seed 2 --format json");
    assert_ne!(there["mean_difference_ns"], reseeded["mean_difference_ns"]);
    assert_eq!(there["mann_whitney"], reseeded["mann_whitney"]);
}

#[test]
fn a_smaller_alpha_gives_wider_intervals_and_changes_the_conclusion() {
    let lab = lab();
    // 30 samples of each, so that the difference is one that chance could have made.
    for (name, location) in [("a.csv", 9e3), ("b.csv", 9.8e3)] {
        lab.write(name, lognormal(30, 0.5, location, 2.5e3));
    }
    let [at_5, at_1] = ["0.05", "0.01"].map(|alpha| {
        lab.json(&format!(
            "stats compare --independent a.csv b.csv --alpha {alpha} --format json"
        ))
    });
    for interval in ["shift_ns", "mean_difference_ns"] {
        let width =
            |value: &Value| number(&value[interval]["high"]) - number(&value[interval]["low"]);
        assert!(width(&at_1) > width(&at_5), "{interval}");
    }
    assert_eq!(at_5["mann_whitney"], at_1["mann_whitney"]);
    let words = |value: &Value| value["conclusion"].as_str().unwrap().to_string();
    assert!(
        words(&at_5).starts_with("a tends to be smaller than b"),
        "{}",
        words(&at_5)
    );
    assert!(
        words(&at_1).starts_with("no significant difference"),
        "{}",
        words(&at_1)
    );
}

#[test]
fn small_samples_without_ties_are_tested_exactly() {
    let lab = Lab::new();
    lab.write("a.csv", "1\n2\n3\n4\n");
    lab.write("b.csv", "5\n6\n7\n8\n9\n");
    let compared = lab.json("stats compare --independent a.csv b.csv --format json");
    assert_eq!(compared["mann_whitney"]["exact"], true);
    // Two of the 126 ways to choose four of nine are as extreme.
    assert!((number(&compared["mann_whitney"]["p"]) - 2.0 / 126.0).abs() < 1e-12);
    assert_eq!(compared["mann_whitney"]["rank_biserial"], -1.0);
    assert_eq!(compared["wasserstein_ns"], 4.5);
    assert_eq!(compared["shift_ns"]["estimate"], -4.5);
}

/// No two sets of three differ at 5 %, so there is no interval of 95 % either.
#[test]
fn an_interval_of_too_few_samples_says_what_it_is_worth() {
    let lab = Lab::new();
    lab.write("a.csv", "1000\n2000\n3000\n");
    lab.write("b.csv", "6000\n7000\n8000\n");
    let said = lab.done("stats compare --independent a.csv b.csv");
    let line = "-5 us (-7 us to -3 us), with a confidence of 90 %: too few samples for more";
    assert!(said.contains(line), "{said}");
    let compared = lab.json("stats compare --independent a.csv b.csv --format json");
    assert!((number(&compared["shift_ns"]["confidence"]) - 0.9).abs() < 1e-12);
}

#[test]
fn one_sample_is_not_compared_nor_fitted() {
    let lab = Lab::new();
    lab.write("one.csv", "5000\n");
    lab.write("two.csv", "5000\n5001\n");
    let refused = "one.csv holds 1 sample; a comparison needs at least 2 in each file";
    for files in ["one.csv one.csv", "one.csv two.csv", "two.csv one.csv"] {
        lab.refuses(&format!("stats compare {files}"), refused);
        lab.refuses(&format!("stats compare {files} --format json"), refused);
    }
    lab.done("stats compare two.csv two.csv");
    for shape in ["best", "constant"] {
        lab.refuses(
            &format!("dist fit one.csv --shape {shape}"),
            "a standard deviation needs at least 2 samples; there are 1",
        );
    }
}

/// Numbers with the distribution of `lognormal`, as a clock with this step shows them.
fn coarse(lab: &Lab, name: &str, location: f64, step: f64) {
    let fine = lognormal(20_000, 0.5, location, 30.0);
    let seen = fine.lines().filter_map(|line| line.parse::<f64>().ok());
    let seen = seen.map(|ns| format!("{}\n", (ns / step).round() * step));
    lab.write(name, seen.collect::<String>());
}

#[test]
fn a_difference_below_the_resolution_is_said_to_be_that() {
    let lab = Lab::new();
    // 2 ns: shown by a clock of 1 ns, and by none of 5 or of 41.67 ns, one of the two or both.
    for (a, b, shown) in [
        (1.0, 1.0, "2 ns"),
        (5.0, 5.0, ""),
        (5.0, 1.0, ""),
        (1.0, 5.0, ""),
        (41.67, 41.67, ""),
    ] {
        coarse(&lab, "a.csv", 9_000.0, a);
        coarse(&lab, "b.csv", 9_002.0, b);
        let said = lab.done("stats compare --independent a.csv b.csv");
        assert!(!said.contains("-0 ns"), "{a} {b}: {said}");
        let conclusion = said.lines().last().unwrap();
        if shown.is_empty() {
            assert!(!conclusion.contains("tends to be"), "{a} {b}: {said}");
        } else {
            let words = format!("a tends to be smaller than b, by {shown}");
            assert!(conclusion.starts_with(&words), "{a} {b}: {said}");
        }
    }
    // A third of b's samples lie a step higher: significant, and no more than a third of a step.
    let of = |higher: usize| "10000\n".repeat(300 - higher) + &"10005\n".repeat(higher);
    lab.write("a.csv", of(100));
    lab.write("b.csv", of(200));
    let said = lab.done("stats compare --independent a.csv b.csv");
    let words =
        "a and b differ by less than the resolution of the samples, 5 ns; the effect is medium";
    assert!(said.contains(words) && !said.contains("-0 ns"), "{said}");
    let compared = lab.json("stats compare --independent a.csv b.csv --format json");
    assert_eq!(compared["resolution_ns"], 5.0);
    // The same in the middle, and a third far away: the clock shows that.
    lab.write(
        "b.csv",
        "10000\n".repeat(150) + &"10005\n".repeat(50) + &"90000\n".repeat(100),
    );
    let said = lab.done("stats compare --independent a.csv b.csv");
    assert!(
        said.contains("in the middle; their means differ by -26."),
        "{said}"
    );
    // A step and more is one that it shows.
    lab.write(
        "b.csv",
        of(100).replace("10005", "10010").replace("10000", "10005"),
    );
    let said = lab.done("stats compare --independent a.csv b.csv");
    assert!(
        said.contains("a tends to be smaller than b, by 5 ns"),
        "{said}"
    );
}

/// A single sample carries most of the mean: the interval has to know of it.
#[test]
fn the_interval_of_many_samples_holds_its_estimate() {
    let lab = Lab::new();
    let many: String = (0..100_001)
        .map(|i| format!("{}\n", 1_000 + i % 100))
        .collect();
    lab.write("outlier.csv", format!("{many}1000000000\n"));
    lab.write("many.csv", many);
    let compared = lab.json("stats compare --independent outlier.csv many.csv --format json");
    let of = |end: &str| number(&compared["mean_difference_ns"][end]);
    assert!(of("estimate") > 9_000.0, "{compared}");
    assert!(
        (of("low")..of("high")).contains(&of("estimate")),
        "{compared}"
    );
}

/// One recording of each: how they differ, and no test of whether the systems do.
#[test]
fn two_recordings_are_described() {
    let lab = lab();
    let said = lab.done("stats compare slow.csv fast.csv");
    assert_snapshot!("describe", rounded(&said));
    assert!(!said.contains("p = ") && !said.contains("p < "), "{said}");
    let described = lab.json("stats compare slow.csv fast.csv --format json");
    let tested = lab.json("stats compare --independent slow.csv fast.csv --format json");
    for (name, pointer) in [
        ("rank_biserial", "/mann_whitney/rank_biserial"),
        ("superiority", "/mann_whitney/superiority"),
        ("largest_difference", "/kolmogorov_smirnov/d"),
        ("shift_ns", "/shift_ns/estimate"),
        ("wasserstein_ns", "/wasserstein_ns"),
        ("resolution_ns", "/resolution_ns"),
    ] {
        assert_eq!(&described[name], tested.pointer(pointer).unwrap(), "{name}");
    }
    let same = lab.done("stats compare fast.csv fast.csv");
    assert!(same.contains("these two recordings are the same"), "{same}");
}

/// Recordings whose medians are given, each of many samples that depend on each other.
fn recordings(lab: &Lab, side: &str, medians: &[u32]) {
    for (i, median) in medians.iter().enumerate() {
        let samples = (0..999).map(|j| format!("{}\n", median + 10 * (j % 3) - 10));
        lab.write(&format!("{side}{i}.csv"), samples.collect::<String>());
    }
}

#[test]
fn recordings_are_the_unit() {
    let lab = Lab::new();
    // Each pair of recordings differs beyond doubt in its samples; the systems do not.
    recordings(&lab, "a", &[10_000, 10_400, 10_200, 10_100, 10_300]);
    recordings(&lab, "b", &[10_050, 10_350, 10_250, 10_150, 10_150]);
    let files = "--a a0.csv a1.csv a2.csv a3.csv a4.csv --b b0.csv b1.csv b2.csv b3.csv b4.csv";
    let said = lab.done(&format!("stats compare {files}"));
    assert!(said.contains("no significant difference of the median at alpha = 0.05 (Welch's t test of 5 and 5 recordings, p = 0."), "{said}");
    recordings(&lab, "b", &[11_050, 11_350, 11_250, 11_150, 11_150]);
    let said = lab.done(&format!("stats compare {files}"));
    assert!(
        said.contains("the median of a is smaller than that of b by 990 ns (interval "),
        "{said}"
    );
    let compared = lab.json(&format!("stats compare {files} --figure p99 --format json"));
    assert_eq!(compared["tested"], "p99");
    assert_eq!(compared["a"].as_array().unwrap().len(), 5);
    let median = &compared["figures"][1];
    assert_eq!(
        (&median["figure"], number(&median["difference"]["estimate"])),
        (&"median".into(), -990.0)
    );
    assert!(number(&median["p"]) < 0.001, "{compared}");
    // Nothing varies from recording to recording.
    recordings(&lab, "a", &[10_000; 2]);
    recordings(&lab, "b", &[10_010; 2]);
    let said = lab.done("stats compare --a a0.csv a1.csv --b b0.csv b1.csv");
    assert!(said.contains("nothing can be tested"), "{said}");
    for (arguments, message) in [
        (
            "--a a0.csv --b b0.csv b1.csv",
            "--a names one recording; a test needs at least 2 for --a and 2 for --b (without these options, `stats compare A B` describes two recordings)",
        ),
        (
            "--a a0.csv a1.csv --b b0.csv",
            "--b names one recording; a test needs at least 2 for --a and 2 for --b (without these options, `stats compare A B` describes two recordings)",
        ),
    ] {
        lab.refuses(&format!("stats compare {arguments}"), message);
    }
    for wrong in [
        "a0.csv --a a1.csv --b b0.csv",
        "--a a0.csv a1.csv",
        "a0.csv b0.csv --figure p99",
    ] {
        assert_eq!(
            lab.run(&format!("stats compare {wrong}")).status.code(),
            Some(2),
            "{wrong}"
        );
    }
}

#[test]
fn wrong_input_is_refused() {
    let lab = lab();
    lab.write("empty.csv", "# nothing\n");
    lab.write("words.csv", "rtt_ns\n1\ntwo\n");
    for (arguments, message) in [
        (
            "fast.csv",
            "error: the following required arguments were not provided:",
        ),
        (
            "fast.csv slow.csv --alpha 0",
            "--alpha lies between 0 and 1",
        ),
        (
            "fast.csv slow.csv --alpha 1",
            "--alpha lies between 0 and 1",
        ),
        (
            "fast.csv slow.csv --alpha NaN",
            "--alpha lies between 0 and 1",
        ),
        (
            "fast.csv slow.csv --alpha 5%",
            "error: invalid value '5%' for '--alpha <ALPHA>': invalid float literal",
        ),
        (
            "fast.csv slow.csv --seed x",
            "error: invalid value 'x' for '--seed <SEED>': invalid digit found in string",
        ),
        (
            "fast.csv none.csv",
            "cannot read samples none.csv: No such file or directory (os error 2)",
        ),
        ("fast.csv empty.csv", "empty.csv holds no samples"),
        ("empty.csv fast.csv", "empty.csv holds no samples"),
        (
            "words.csv fast.csv",
            "words.csv:3: `two` is not a sample: each line is one number of nanoseconds, from 0 to 1e18",
        ),
    ] {
        lab.refuses(&format!("stats compare {arguments}"), message);
    }
    let output = lab.run("stats");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("compare"));
}
