//! `jitterlab dist`, from outside.

mod common;

use std::os::unix::fs::FileTypeExt;
use std::process::{Command, Stdio};

use common::{Lab, rounded, text};
use insta::assert_snapshot;
use serde_json::Value;

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value}"))
}

fn entries(table: &str) -> Vec<u64> {
    let words = table.lines().filter(|line| !line.starts_with('#'));
    words
        .flat_map(|line| line.split(' ').map(|word| word.parse().unwrap()))
        .collect()
}

#[test]
fn make_writes_512_lines_of_eight_delays() {
    let lab = Lab::new();
    lab.done("dist make --shape constant --mean 50us -o t.dist");
    let table = lab.read("t.dist");
    assert_eq!(
        table,
        format!(
            "# jitterlab-table 1 unit=ns origin=constant(value=50000)\n{}",
            "50000 50000 50000 50000 50000 50000 50000 50000\n".repeat(512)
        )
    );
    lab.done("dist make --shape constant --mean 0ns -o t.dist");
    assert_eq!(entries(&lab.read("t.dist")), [0; 4096]);
}

#[test]
fn a_seed_gives_one_order_and_keeps_the_delays() {
    let lab = Lab::with_tables();
    lab.done("dist make --shape lognormal --mean 10us --std 20us --seed 7 -o same");
    lab.done("dist make --shape lognormal --mean 10us --std 20us --seed 8 -o other");
    assert_eq!(lab.read("same"), lab.read("t.dist"));
    let [mut one, mut other] = ["same", "other"].map(|name| entries(&lab.read(name)));
    assert_ne!(one, other);
    one.sort_unstable();
    other.sort_unstable();
    assert_eq!(one, other);
}

#[test]
fn show_draws_a_table() {
    let lab = Lab::with_tables();
    assert_snapshot!("show_lognormal", rounded(&lab.done("dist show t.dist")));
    assert_snapshot!("show_plain", lab.done("dist show plain"));
    assert_snapshot!("show_spins", lab.done("dist show plain --unit spins"));
    lab.done("dist make --shape constant --mean 50us -o c.dist");
    assert_snapshot!("show_constant", lab.done("dist show c.dist"));
    let shown = lab.json("dist show plain --format json");
    let figures = ["mean", "min", "median", "p90", "max"].map(|name| number(&shown[name]));
    assert_eq!(figures, [4.5, 1.0, 4.5, 8.0, 8.0]);
    assert_eq!(
        (&shown["unit"], &shown["origin"]),
        (&"ns".into(), &"".into())
    );
}

#[test]
fn what_is_no_file_is_written_to_and_stays() {
    let lab = Lab::with_tables();
    let make = |output: &str| {
        format!("dist make --shape lognormal --mean 10us --std 20us --seed 7 -o {output}")
    };
    let table = lab.read("t.dist");
    assert_eq!(lab.done(&make("/dev/stdout")), table);

    // What a shell does for `>>`.
    lab.write("all", "before\n");
    let all = std::fs::OpenOptions::new()
        .append(true)
        .open(lab.path("all"));
    let status = lab
        .command(&make("/dev/stdout"))
        .stdout(all.unwrap())
        .status();
    assert_eq!(status.unwrap().code(), Some(0));
    assert_eq!(lab.read("all"), format!("before\n{table}"));

    let fifo = lab.path("fifo");
    nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let read = std::thread::spawn({
        let fifo = fifo.clone();
        move || std::fs::read_to_string(fifo).unwrap()
    });
    lab.done(&make("fifo"));
    assert_eq!(read.join().unwrap(), table);
    assert!(
        std::fs::symlink_metadata(&fifo)
            .unwrap()
            .file_type()
            .is_fifo()
    );

    lab.write("old", "old");
    std::os::unix::fs::symlink("old", lab.path("link")).unwrap();
    lab.done(&make("link"));
    assert_eq!(lab.read("old"), table);
    assert!(lab.path("link").is_symlink());
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let lab = Lab::with_tables();
    let mut show = lab
        .command("dist show t.dist")
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(show.stdout.take());
    assert_eq!(show.wait().unwrap().code(), Some(0));
}

#[test]
fn check_finds_a_table_that_is_not_what_it_says() {
    let lab = Lab::with_tables();
    assert_snapshot!("check", rounded(&lab.done("dist check t.dist")));
    let strict = lab.run("dist check t.dist --tolerance 0.01");
    assert_eq!(strict.status.code(), Some(1));
    assert_snapshot!("check_strict", rounded(&text(&strict.stdout)));
    let rows = lab.json("dist check t.dist --format json");
    assert_eq!(
        (&rows[0]["figure"], &rows[0]["within"]),
        (&"mean".into(), &true.into())
    );
    assert!(number(&rows[0]["relative"]).abs() < 1e-6, "{rows}");
    // The delays of one distribution under the name of another.
    let delays = lab.read("plain");
    lab.write(
        "wrong.dist",
        format!("# jitterlab-table 1 unit=ns origin=constant(value=500)\n{delays}"),
    );
    assert_eq!(lab.run("dist check wrong.dist").status.code(), Some(1));
}

#[test]
fn fit_finds_the_distribution_of_samples() {
    let lab = Lab::with_tables();
    assert_snapshot!("fit", rounded(&lab.done("dist fit samples.csv")));
    let fitted = lab.json("dist fit samples.csv --shape lognormal --format json");
    let [fit] = fitted["fits"].as_array().unwrap().as_slice() else {
        panic!("{fitted}")
    };
    for (name, truth, tolerance) in [
        ("shape", 0.5, 0.01),
        ("location", 9e3, 50.0),
        ("scale", 2.5e3, 50.0),
    ] {
        let found = number(&fit["distribution"][name]);
        assert!((found - truth).abs() < tolerance, "{name} {found}");
    }
    assert!(number(&fit["kolmogorov_smirnov"]["d"]) < 0.005);
    assert_eq!(fitted["samples"]["n"], 2_000);
    // The same samples as a run keeps them.
    let samples: Vec<u64> = lab
        .read("samples.csv")
        .lines()
        .skip(1)
        .map(|line| line.parse().unwrap())
        .collect();
    jitterlab_experiment::samples::write(&lab.path("samples.parquet"), &samples, &[]).unwrap();
    assert_eq!(
        lab.json("dist fit samples.parquet --shape lognormal --format json"),
        fitted
    );
}

#[test]
fn fit_of_equal_samples_is_the_constant() {
    let lab = Lab::new();
    lab.write("equal.csv", "5000\n".repeat(10));
    let fitted = lab.json("dist fit equal.csv --format json");
    let fits = fitted["fits"].as_array().unwrap();
    assert_eq!(
        (fits.len(), &fits[0]["distribution"]["kind"]),
        (1, &"constant".into())
    );
    assert_eq!(fits[0]["kolmogorov_smirnov"]["d"], 0.0);
}

#[test]
fn family_writes_the_papers_five_and_imitations() {
    let lab = Lab::with_tables();
    assert_snapshot!(
        "family",
        rounded(&lab.done("dist family samples.csv -o family"))
    );
    let members = lab.json("dist family samples.csv -o family --format json");
    let mut names: Vec<_> = std::fs::read_dir(lab.path("family"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "closest.dist",
            "empirical.dist",
            "lognormal.dist",
            "scale25.dist",
            "scale50.dist",
            "scale75.dist",
            "uniform.dist"
        ]
    );
    for member in members.as_array().unwrap() {
        let table = member["table"].as_str().unwrap();
        let shown = lab.json(&format!("dist show {table} --format json"));
        assert_eq!(shown["mean"], member["mean_ns"]);
        let apart = number(&shown["mean"]) - number(&members[0]["mean_ns"]);
        assert!(apart.abs() < 0.02, "{table} {apart}");
        if member["distribution"].is_null() {
            assert_eq!(
                lab.done(&format!("dist check {table} --samples samples.csv"))
                    .lines()
                    .last(),
                Some("The table imitates the samples.")
            );
            continue;
        }
        // 4,096 entries cannot hold all the variation of the heaviest tail, and nothing else is off.
        let rows = lab.run(&format!("dist check {table} --format json"));
        for row in serde_json::from_slice::<Vec<Value>>(&rows.stdout).unwrap() {
            let heaviest = table.ends_with("scale25.dist") && row["figure"] == "std";
            assert_eq!(row["within"], !heaviest, "{table} {row}");
        }
    }
}

/// A lognormal of three parameters would begin far below 0, where there are no delays.
#[test]
fn family_keeps_the_mean_and_stays_above_0() {
    let lab = Lab::new();
    let two_humps = "14000\n14500\n15000\n44000\n45000\n46000\n47000\n48000\n".repeat(100);
    lab.write("samples.csv", two_humps);
    let family = lab.run("dist family samples.csv -o family --format json");
    assert_eq!(family.status.code(), Some(0));
    assert_eq!(text(&family.stderr), "");
    for member in serde_json::from_slice::<Vec<Value>>(&family.stdout).unwrap() {
        let apart = number(&member["mean_ns"]) - 34_187.5;
        assert!(apart.abs() < 0.02, "{member}");
    }
}

/// The paper's has three parameters; where that is not what was made, it is said.
#[test]
fn family_says_which_lognormal_the_samples_have() {
    let lab = Lab::new();
    let described = |samples: String| {
        lab.write("samples.csv", samples);
        let said = text(&lab.run("dist family samples.csv -o family").stdout);
        let line = said.lines().find(|line| line.starts_with("lognormal "));
        line.unwrap().split_once(": ").unwrap().1.to_string()
    };
    let above = "14000\n14500\n15000\n44000\n45000\n46000\n47000\n48000\n".repeat(100);
    assert_eq!(
        described(above.clone()),
        "lognormal as fitted, of two parameters: with three it would reach below 0"
    );
    assert_eq!(
        described(above + &"0\n".repeat(200)),
        "lognormal as fitted, of two parameters beside 20 % zeros: with three it would reach below 0"
    );
    // As of an exponential law that begins at 10 us.
    let begins = |i: u32| 1e4 - 1e4 * (1.0 - (f64::from(i) + 0.5) / 800.0).ln();
    let skewed = (0..800).map(|i| format!("{}\n", begins(i)));
    assert_eq!(described(skewed.collect()), "lognormal as fitted");
}

/// Too few samples are above 0 for a fit, but a constant and the samples themselves need none.
#[test]
fn family_writes_what_can_be_had_and_says_why_the_rest_cannot() {
    let lab = Lab::new();
    lab.write(
        "samples.csv",
        "0\n".repeat(95) + "1000\n2000\n3000\n4000\n5000\n",
    );
    let family = lab.run("dist family samples.csv -o family --format json");
    assert_eq!(family.status.code(), Some(1), "{}", text(&family.stderr));
    for member in serde_json::from_slice::<Vec<Value>>(&family.stdout).unwrap() {
        let name = member["name"].as_str().unwrap();
        let is_written = lab.path(&format!("family/{name}.dist")).exists();
        assert_eq!(
            is_written,
            ["uniform", "empirical"].contains(&name),
            "{member}"
        );
        assert_eq!(is_written, member["refused"].is_null(), "{member}");
        assert_eq!(is_written, member["table"].is_string(), "{member}");
    }
    let said = lab.run("dist family samples.csv -o family");
    let said = text(&said.stdout);
    assert!(said.contains("\nempirical  mean 150 ns, "), "{said}");
    assert!(said.contains("\nlognormal  not written: "), "{said}");
}

#[test]
fn netem_tables_are_exported_and_imported() {
    let lab = Lab::new();
    lab.done("dist make --shape uniform --mean 50us --std 10us -o u.dist");
    lab.done("dist export u.dist -o netem.dist");
    let exported = lab.read("netem.dist");
    assert_eq!(
        rounded(exported.lines().next().unwrap()),
        "# uniform(low=32679.492, high=67320.508) for tc netem: delay 50000ns 10000ns"
    );
    lab.done("dist import netem.dist --mean 50us --std 10us -o back.dist");
    let [mut made, mut back] = ["u.dist", "back.dist"].map(|name| entries(&lab.read(name)));
    made.sort_unstable();
    back.sort_unstable();
    // netem's unit is 10 us / 8192.
    assert!(made.iter().zip(&back).all(|(a, b)| a.abs_diff(*b) <= 2));
    // Another mean and standard deviation: the shape stays.
    lab.refuses(
        "dist check back.dist",
        "back.dist came from `netem netem, mean 50 us, std 10 us`, which is no distribution to check it \
         against; --samples FILE checks it against samples",
    );
    // By its name alone, from where tc has its tables.
    std::fs::create_dir(lab.path("tc")).unwrap();
    std::fs::rename(lab.path("netem.dist"), lab.path("tc/named.dist")).unwrap();
    let mut named = lab.command("dist import named --mean 50us --std 10us -o named.dist");
    assert!(named.env("TC_LIB_DIR", "tc").status().unwrap().success());
    assert_eq!(
        lab.read("named.dist").lines().skip(2).collect::<Vec<_>>(),
        lab.read("back.dist").lines().skip(2).collect::<Vec<_>>()
    );
    std::fs::rename(lab.path("tc/named.dist"), lab.path("netem.dist")).unwrap();
    lab.done("dist import netem.dist --mean 1ms --std 100us -o wide.dist");
    let wide = lab.json("dist show wide.dist --format json");
    assert!((number(&wide["mean"]) - 1e6).abs() < 100.0, "{wide}");
    assert!((number(&wide["std"]) - 1e5).abs() < 100.0, "{wide}");
}

#[test]
fn what_is_clamped_is_said() {
    let lab = Lab::with_tables();
    let export = lab.run("dist export t.dist -o netem.dist");
    assert_eq!(
        (export.status.code(), text(&export.stderr).as_str()),
        (
            Some(0),
            "jitterlab: 38 of the 4096 delays are more than four standard deviations from the mean; a netem table ends there, so they are set to that limit\n"
        )
    );
    lab.write("two.dist", "-8192 8192\n");
    let import = lab.run("dist import two.dist --mean 1us --std 3us -o two");
    assert_eq!(
        (import.status.code(), text(&import.stderr).as_str()),
        (
            Some(0),
            "jitterlab: 2048 of the 4096 delays would be below 0 or above 1 s; they were set to that limit\n"
        )
    );
}

#[test]
fn what_a_table_cannot_hold_is_said() {
    let lab = Lab::with_tables();
    let made = lab.run("dist make --shape lognormal --mean 10us --std 1ms -o heavy.dist");
    let said = text(&made.stderr);
    assert_eq!(made.status.code(), Some(0), "{said}");
    assert!(
        said.starts_with("jitterlab: the table has a standard deviation of 2")
            && said.contains(" us instead of 1 ms"),
        "{said}"
    );
}

#[test]
fn spins_are_not_taken_for_times() {
    let lab = Lab::with_tables();
    for verb in ["check", "export -o x"] {
        lab.refuses(
            &format!("dist {verb} plain --unit spins"),
            "plain is a table of spins; this command needs a table in nanoseconds",
        );
    }
}

#[test]
fn a_table_may_come_through_a_pipe_that_ends() {
    let lab = Lab::with_tables();
    let show = |from: Stdio| {
        let mut show = lab.command("dist show /dev/stdin --format json");
        show.stdin(from).output().unwrap()
    };
    let mut cat = Command::new("cat");
    let mut cat = cat
        .arg(lab.path("t.dist"))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let shown = show(cat.stdout.take().unwrap().into());
    cat.wait().unwrap();
    assert_eq!(
        text(&shown.stdout),
        lab.done("dist show t.dist --format json")
    );
    lab.refuses(
        "dist show /dev/zero",
        "/dev/zero:1: more than 1048576 bytes; no distribution table has as many",
    );
}

/// 64 of 100 samples at the least: what a coarse clock makes of latencies.
#[test]
fn samples_that_are_too_coarse_have_no_lognormal() {
    let lab = Lab::new();
    let coarse: String = (0..1_000)
        .map(|i| {
            format!(
                "{}\n",
                if i < 640 {
                    4_000
                } else {
                    5_000 + i % 9 * 1_000
                }
            )
        })
        .collect();
    lab.write("coarse.csv", coarse);
    lab.refuses(
        "dist fit coarse.csv --shape lognormal",
        "a lognormal fit is not defined for these samples: 640 of 1000 equal the smallest one; measure with a finer clock",
    );
    let fitted = lab.json("dist fit coarse.csv --format json");
    for fit in fitted["fits"].as_array().unwrap() {
        assert_eq!(fit["distribution"]["kind"], "with-zeros");
    }
}

/// One sample of 20,000 is a million times the others; then all lie along a generalised Pareto distribution without a mean.
#[test]
fn a_tail_that_no_table_and_not_every_family_has_is_said() {
    let lab = Lab::new();
    let tail: String = (1..20_000)
        .map(|i| format!("{}\n", 800 + i % 101))
        .chain(["840000000\n".into()])
        .collect();
    lab.write("tail.csv", tail);
    lab.done("dist make --samples tail.csv -o t.dist");
    let beside = lab.run("dist check t.dist --samples tail.csv");
    assert_eq!(beside.status.code(), Some(1));
    assert!(text(&beside.stdout).contains("does not imitate the samples"));

    let heavy: String = (0..2_000)
        .map(|i| (f64::from(i) + 0.5) / 2_000.0)
        .map(|u| format!("{}\n", 1.0 + 1_000.0 * (u.powf(-1.5) - 1.0)))
        .collect();
    lab.write("heavy.csv", heavy);
    let fitted = lab.json("dist fit heavy.csv --format json");
    assert_eq!(
        fitted["left_out"][0]["family"], "generalised-pareto",
        "{fitted}"
    );
    let said = lab.run("dist fit heavy.csv");
    assert!(
        text(&said.stdout).contains("\nnot fitted: generalised-pareto: "),
        "{}",
        text(&said.stdout)
    );
}

/// Half of the samples are 0, the others lie about two values: what load adds to a latency.
#[test]
fn a_table_of_samples_imitates_them_and_a_fitted_lognormal_does_not() {
    let lab = Lab::new();
    let excess: String = (0..20_000)
        .map(|i| match i % 10 {
            0..5 => "0\n".into(),
            5..8 => format!("{}\n", 2_000 + i % 301),
            _ => format!("{}\n", 60_000 + i % 9_001),
        })
        .collect();
    lab.write("excess.csv", excess);
    lab.done("dist make --samples excess.csv -o t.dist");
    let beside = lab.json("dist check t.dist --samples excess.csv --format json");
    assert!(beside["fault"].is_null(), "{beside}");
    assert!((number(&beside["zeros"]) - 0.5).abs() < 0.001, "{beside}");
    assert!(
        (number(&beside["std_ratio"]) - 1.0).abs() < 0.001,
        "{beside}"
    );
    assert!(number(&beside["distance_ratio"]) < 0.01, "{beside}");

    lab.done("dist family excess.csv -o family");
    let lognormal = lab.run("dist check family/lognormal.dist --samples excess.csv");
    assert_eq!(lognormal.status.code(), Some(1));
    assert!(text(&lognormal.stdout).contains("does not imitate the samples"));

    let std = |table: &str| number(&lab.json(&format!("dist show {table} --format json"))["std"]);
    for (multiple, relative) in [("0", 0.0), ("0.8", 0.8), ("2", 2.0)] {
        lab.done(&format!(
            "dist make --samples excess.csv --scaled {multiple} -o s.dist"
        ));
        assert!(
            (std("s.dist") / std("t.dist") - relative).abs() < 0.001,
            "{multiple}"
        );
        let held = lab.json("dist check s.dist --format json");
        assert_eq!(held["are_met"], true, "{held}");
        let asked = number(&held["asked_std_ns"]) / number(&beside["std_of_samples"]);
        assert!((asked - relative).abs() < 0.001, "{held}");
    }
    let table = std::fs::read_to_string(lab.path("s.dist")).unwrap();
    let origin = table.lines().next().unwrap().split_once("std=").unwrap();
    lab.write("w.dist", table.replacen(origin.1, "1)", 1));
    let off = lab.run("dist check w.dist");
    assert_eq!(off.status.code(), Some(1));
    assert!(text(&off.stdout).contains("The table does not have them"));
    lab.done("packet run --case rtt --transport udp --rate 2k --duration 20ms --samples open.csv");
    lab.done("packet run --case rtt --transport udp --duration 20ms --samples closed.csv");
    lab.refuses(
        "dist record closed.csv --baseline open.csv -o o.recording",
        "closed.csv was measured in the closed loop and open.csv in the open loop, and the two cannot be compared: the open loop counts a round trip from when its message was due, the closed loop from when it was sent; measure both in the same loop",
    );
    lab.refuses(
        "dist record open.csv -o o.recording",
        "open.csv: an open loop starts each round trip at a time of its own: give those times with --times FILE",
    );
    let out_of_reach = lab.run("dist make --samples excess.csv --scaled 0.1 -o s.dist");
    assert_eq!(out_of_reach.status.code(), Some(2));
    assert!(text(&out_of_reach.stderr).contains("possible are 0, and "));
}
