//! `jitterlab dist`, from outside.

mod common;

use std::os::unix::fs::FileTypeExt;
use std::process::{Command, Stdio};

use common::{Lab, lognormal, rounded, text};
use insta::assert_snapshot;
use serde_json::Value;

/// A lab with the tables and samples that the tests ask for.
fn lab() -> Lab {
    let lab = Lab::new();
    lab.done("dist make --shape lognormal --mean 10us --std 20us --seed 7 -o t.dist");
    lab.write("plain", "1 2 3 4 5 6 7 8\n".repeat(512));
    lab.write(
        "samples.csv",
        format!("rtt_ns\n{}", lognormal(2_000, 0.5, 9e3, 2.5e3)),
    );
    lab
}

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
    let lab = lab();
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
    let lab = lab();
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
    let lab = lab();
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
    let lab = lab();
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
    let lab = lab();
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
    let lab = lab();
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
fn family_writes_the_papers_five() {
    let lab = lab();
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
        // 4,096 entries cannot hold all the variation of the heaviest tail, and nothing else is off.
        let rows = lab.run(&format!("dist check {table} --format json"));
        for row in serde_json::from_slice::<Vec<Value>>(&rows.stdout).unwrap() {
            let heaviest = table.ends_with("scale25.dist") && row["figure"] == "std";
            assert_eq!(row["within"], !heaviest, "{table} {row}");
        }
    }
}

/// The fit of samples with hardly a tail begins far below 0, where there are no delays.
#[test]
fn family_keeps_the_mean_where_delays_would_be_negative() {
    let lab = Lab::new();
    let two_humps = "14000\n14500\n15000\n44000\n45000\n46000\n47000\n48000\n".repeat(100);
    lab.write("samples.csv", two_humps);
    let family = lab.run("dist family samples.csv -o family --format json");
    assert_eq!(family.status.code(), Some(0));
    assert!(text(&family.stderr).contains("are negative and become 0"));
    for member in serde_json::from_slice::<Vec<Value>>(&family.stdout).unwrap() {
        let apart = number(&member["mean_ns"]) - 34_187.5;
        assert!(apart.abs() < 0.02, "{member}");
    }
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
    lab.done("dist import netem.dist --mean 1ms --std 100us -o wide.dist");
    let wide = lab.json("dist show wide.dist --format json");
    assert!((number(&wide["mean"]) - 1e6).abs() < 100.0, "{wide}");
    assert!((number(&wide["std"]) - 1e5).abs() < 100.0, "{wide}");
}

#[test]
fn what_is_clamped_is_said() {
    let lab = lab();
    let export = lab.run("dist export t.dist -o netem.dist");
    assert_eq!(
        (export.status.code(), text(&export.stderr).as_str()),
        (
            Some(0),
            "jitterlab: 38 of the 4096 delays lie beyond four standard deviations, where netem's \
             16 bits end, and are set to that end\n"
        )
    );
    lab.write("two.dist", "-8192 8192\n");
    let import = lab.run("dist import two.dist --mean 1us --std 3us -o two");
    assert_eq!(
        (import.status.code(), text(&import.stderr).as_str()),
        (
            Some(0),
            "jitterlab: 2048 of the 4096 delays were negative or beyond 1 s and are set to that end\n"
        )
    );
}

#[test]
fn what_a_table_cannot_hold_is_said() {
    let lab = lab();
    let made = lab.run("dist make --shape lognormal --mean 10us --std 1ms -o heavy.dist");
    let said = text(&made.stderr);
    assert_eq!(made.status.code(), Some(0), "{said}");
    assert!(
        said.starts_with("jitterlab: the delays of the table have a standard deviation of 2")
            && said.contains(" us, not of 1000.000 us"),
        "{said}"
    );
}

#[test]
fn spins_are_not_taken_for_times() {
    let lab = lab();
    for verb in ["check", "export -o x"] {
        lab.refuses(
            &format!("dist {verb} plain --unit spins"),
            "plain counts spins, which are no time; this takes a table in nanoseconds",
        );
    }
}

#[test]
fn a_table_may_come_through_a_pipe_that_ends() {
    let lab = lab();
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
        "a lognormal fit is not defined for these samples: 640 of 1000 equal the least; measure \
         them with a finer clock",
    );
    let fitted = lab.json("dist fit coarse.csv --format json");
    assert_eq!(fitted["fits"][0]["distribution"]["kind"], "uniform");
    assert_eq!(fitted["fits"].as_array().unwrap().len(), 2);
}

#[test]
fn wrong_arguments_are_refused() {
    let lab = lab();
    lab.write("kept.dist", "not to be touched");
    for (arguments, message) in [
        (
            "make --shape constant --mean 50 -o x",
            "error: invalid value '50' for '--mean <MEAN>': `50` is not a duration: a number and \
             one of ns, us, ms, s, as in `250us`",
        ),
        (
            "make --shape constant --mean=-5us -o x",
            "error: invalid value '-5us' for '--mean <MEAN>': `-5us` is not a duration: a number \
             and one of ns, us, ms, s, as in `250us`",
        ),
        (
            "make --shape cubic --mean 50us -o x",
            "error: invalid value 'cubic' for '--shape <SHAPE>': `cubic` is not a shape: \
             constant, uniform or lognormal",
        ),
        (
            "make --shape constant --mean 50us",
            "error: the following required arguments were not provided:",
        ),
        (
            "make --shape constant --mean 50us --std 1us -o x",
            "a constant has no standard deviation",
        ),
        (
            "make --shape uniform --mean 50us -o x",
            "a uniform shape needs a standard deviation",
        ),
        (
            "make --shape uniform --mean 50us --std 40us -o kept.dist",
            "a uniform distribution with mean 50000 ns and standard deviation 40000 ns has \
             negative delays; the standard deviation may be at most mean / √3",
        ),
        (
            "make --shape lognormal --mean 50us -o x",
            "a lognormal shape needs a standard deviation above 0 and a mean above its location",
        ),
        (
            "make --shape lognormal --mean 50us --std 1us --location 50us -o x",
            "a lognormal shape needs a standard deviation above 0 and a mean above its location",
        ),
        (
            "make --shape uniform --mean 50us --std 1us --location 1us -o x",
            "--location belongs to --shape lognormal",
        ),
        (
            "make --shape constant --mean 2s -o kept.dist",
            "4096 of the 4096 delays of constant(value=2000000000) are beyond 1 s, the longest \
             that a table holds",
        ),
        (
            "make --shape constant --mean 0.4ns -o x",
            "error: invalid value '0.4ns' for '--mean <MEAN>': `0.4ns` is not a duration of 1ns or \
             more, or of 0",
        ),
        (
            "make --shape constant --mean 50us -o none/t.dist",
            "cannot write none/t.dist: No such file or directory (os error 2)",
        ),
        (
            "fit samples.csv --shape gauss",
            "error: invalid value 'gauss' for '--shape <SHAPE>': `gauss` is not constant, \
             uniform, lognormal or best",
        ),
        (
            "family samples.csv -o kept.dist",
            "cannot make folder kept.dist: File exists (os error 17)",
        ),
        (
            "show plain --unit us",
            "error: invalid value 'us' for '--unit <UNIT>': `us` is not a unit of delays: ns or \
             spins",
        ),
        (
            "check t.dist --tolerance 2",
            "--tolerance lies between 0 and 1",
        ),
        (
            "check t.dist --tolerance NaN",
            "--tolerance lies between 0 and 1",
        ),
        (
            "check plain",
            "plain does not say which distribution it came from; its header's origin would",
        ),
        (
            "import netem.dist --mean 1us -o x",
            "error: the following required arguments were not provided:",
        ),
        (
            "import netem.dist --mean 2s --std 1us -o x",
            "--mean 2s is beyond 1 s, the longest delay that a table holds",
        ),
    ] {
        lab.refuses(&format!("dist {arguments}"), message);
    }
}

#[test]
fn wrong_tables_are_refused_with_their_line() {
    let lab = lab();
    let line = "1 2 3 4 5 6 7 8\n";
    let with = |at: usize, wrong: &str| {
        let rest = line.repeat(512 - at);
        format!("{}{wrong}\n{rest}", line.repeat(at - 1)).into_bytes()
    };
    for (content, message) in [
        (
            Vec::new(),
            "1: the table ends after 0 lines of delays; it needs 512",
        ),
        (
            line.repeat(511).into(),
            "511: the table ends after 511 lines of delays; it needs 512",
        ),
        (
            line.repeat(513).into(),
            "513: a line too many; a table has 512 lines of delays",
        ),
        (with(7, "1 2 3"), "7: 3 integers; a line holds 8"),
        (with(9, ""), "9: 0 integers; a line holds 8"),
        (
            with(3, "1 2 -3 4 5 6 7 8"),
            "3: column 5: `-3` is negative; a delay is 0 or more",
        ),
        (
            with(4, "1 2 3.5 4 5 6 7 8"),
            "4: column 5: `3.5` is not an integer",
        ),
        (
            with(5, "1 2 3 4 5 6 7 1000000001"),
            "5: column 15: 1000000001 ns is beyond 1 s",
        ),
        (
            with(1, "# jitterlab-table 2 unit=ns origin="),
            "1: version `2` of the table format; this program reads version 1",
        ),
        (
            with(1, "# jitterlab-table 1 unit=us origin="),
            "1: `us` is not a unit of delays: ns or spins",
        ),
        (
            with(1, "# mine"),
            "1: expected `# jitterlab-table 1 unit=ns origin=…` or a line of eight delays",
        ),
        (
            b"1 2\n\xff\xfe".into(),
            "2: not text; a distribution table holds integers",
        ),
        (
            vec![b'1'; 2 << 20],
            "1: more than 1048576 bytes; no distribution table has as many",
        ),
    ] {
        lab.write("w.dist", content);
        for verb in ["show w.dist", "check w.dist", "export w.dist -o x"] {
            lab.refuses(&format!("dist {verb}"), &format!("w.dist:{message}"));
        }
    }
    lab.refuses(
        "dist show none.dist",
        "cannot read distribution table none.dist: No such file or directory (os error 2)",
    );
}

#[test]
fn wrong_netem_tables_are_refused_with_their_line() {
    let lab = Lab::new();
    for (content, message) in [
        (
            b"# nothing\n".to_vec(),
            "1: no values; a netem table holds integers",
        ),
        (
            b"1 2\n3 x\n".to_vec(),
            "2: `x` is not an integer from -32768 to 32767",
        ),
        (
            b"40000\n".to_vec(),
            "1: `40000` is not an integer from -32768 to 32767",
        ),
        (
            b"1\n\xff\n".to_vec(),
            "2: not text; a distribution table holds integers",
        ),
        (
            "1 ".repeat(16_385).into(),
            "1: more than 16384 values; netem takes no more",
        ),
    ] {
        lab.write("w.dist", content);
        lab.refuses(
            "dist import w.dist --mean 1us --std 1us -o x",
            &format!("w.dist:{message}"),
        );
    }
}

#[test]
fn wrong_samples_are_refused_with_their_line() {
    let lab = Lab::new();
    let number = "is not a sample: one number of nanoseconds a line, from 0 to 1e18";
    for (content, message) in [
        (b"".to_vec(), "w.csv holds no samples".to_string()),
        (
            b"rtt_ns\n# none\n".to_vec(),
            "w.csv holds no samples".into(),
        ),
        (
            b"1\n2\nthree\n".to_vec(),
            format!("w.csv:3: `three` {number}"),
        ),
        (
            b"rtt_ns\n1\n-2\n".to_vec(),
            format!("w.csv:3: `-2` {number}"),
        ),
        (b"1\ninf\n".to_vec(), format!("w.csv:2: `inf` {number}")),
        (
            b"1\n2\n3\n1e306\n".to_vec(),
            format!("w.csv:4: `1e306` {number}"),
        ),
        (b"1,2\n".to_vec(), format!("w.csv:1: `1,2` {number}")),
        (
            b"1\n\xff\n".to_vec(),
            format!("w.csv:2: `\u{fffd}` {number}"),
        ),
    ] {
        lab.write("w.csv", content);
        for verb in ["fit w.csv", "family w.csv -o family"] {
            lab.refuses(&format!("dist {verb}"), &message);
        }
    }
    lab.write("w.csv", "PAR1 and no more");
    let broken = lab.run("dist fit w.csv");
    assert_eq!(broken.status.code(), Some(2));
    let message = text(&broken.stderr);
    let expected = "jitterlab: w.csv is not a Parquet file with one INT64 column of nanoseconds: ";
    assert!(message.starts_with(expected), "{message}");
    assert_eq!(message.lines().count(), 1);
    lab.refuses(
        "dist fit none.csv",
        "cannot read samples none.csv: No such file or directory (os error 2)",
    );
    for (samples, verb, message) in [
        (
            "5\n",
            "fit w.csv --shape lognormal",
            "a lognormal fit needs at least 3 samples; there are 1",
        ),
        (
            "5\n",
            "fit w.csv --shape uniform",
            "a uniform fit needs at least 2 samples; there are 1",
        ),
        (
            "5\n5\n5\n",
            "fit w.csv --shape uniform",
            "a uniform fit is not defined for samples that are all equal",
        ),
        (
            "5\n5\n5\n",
            "family w.csv -o family",
            "a lognormal fit is not defined for samples that are all equal",
        ),
    ] {
        lab.write("w.csv", samples);
        lab.refuses(&format!("dist {verb}"), message);
    }
}
