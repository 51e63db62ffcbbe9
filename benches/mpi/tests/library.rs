//! Every case of the library suite that is registered, as people run it: under mpirun.

mod common;
mod mpi;

use std::fs;
use std::path::Path;

use jitterlab_base::clock::Clock;
use jitterlab_mpi::library::{CASES, Case, Choice, Sample, case};
use mpi::{assert_wrong, mpirun};
use serde_json::Value;

const OPERATIONS: usize = 150;
/// A clock's setting is wrong by less than the reading of another clock takes; so are two of them.
const SETTING_NS: f64 = 2_000.0;

#[test]
fn every_sample_of_every_rank_is_kept() {
    for case in &CASES {
        for ranks in [1, 2, 4] {
            if case.check(ranks, 8).is_ok() {
                assert_keeps_all(case, ranks, &[]);
            }
        }
    }
}

#[test]
fn every_option_is_taken_where_it_has_a_use_and_refused_where_not() {
    for (choice, option) in [
        (Choice::NonBlocking, &["--non-blocking"][..]),
        (Choice::Dimensions, &["--dimensions", "3"]),
    ] {
        for case in &CASES {
            if case.options.contains(&choice) {
                assert_keeps_all(case, 2, option);
                assert_keeps_all(case, 4, option);
            } else {
                let arguments = [&["library", case.name], option].concat();
                assert_wrong(2, &arguments, &format!("has no use for {}", option[0]));
            }
        }
    }
}

#[test]
fn sizes_are_measured_in_turn() {
    let sizes = ["--size", "8,1KiB,128KiB", "--iterations", "20"];
    for case in CASES.iter().filter(|case| case.unit > 0) {
        let report = measured(case, 2, &sizes);
        let points = report["points"].as_array().unwrap();
        let sizes = points
            .iter()
            .map(|point| point["size_bytes"].as_u64().unwrap());
        assert!(sizes.eq([8, 1024, 131_072]), "{}", case.name);
        assert!(
            points
                .iter()
                .all(|point| point["per_rank"][1]["samples"] == 20)
        );
    }
}

#[test]
fn the_least_size_is_measured() {
    for case in CASES.iter().filter(|case| case.unit > 0) {
        let size = case.least.to_string();
        let options = ["--size", &size, "--iterations", "20"];
        for ranks in [1, 2] {
            if case.check(ranks, case.least).is_err() {
                continue;
            }
            let point = &measured(case, ranks, &options)["points"][0];
            assert_eq!(point["size_bytes"], case.least, "{}", case.name);
            assert_eq!(point["samples"], 20 * case.counted(ranks), "{}", case.name);
        }
        if case.least > 0 {
            let arguments = ["library", case.name, "--size", "0"];
            assert_wrong(2, &arguments, "bytes or more, and not 0");
        }
    }
}

#[test]
fn a_size_is_as_large_as_mpi_can_count() {
    let most = i32::MAX as usize;
    for (name, size, fits) in [
        ("ping-pong", most, true),
        ("ping-pong", most + 1, false),
        ("bcast", most, true),
        ("halo-exchange", most, true),
        ("allreduce", 8 * most, true),
        ("allreduce", 8 * most + 8, false),
        ("alltoall", most / 4, true),
        ("alltoall", most / 4 + 1, false),
        ("allgather", most / 4 + 1, false),
        ("reduce-scatter", 8 * (most / 4), true),
        ("reduce-scatter", 8 * (most / 4) + 8, false),
    ] {
        let checked = case(name).unwrap().check(4, size);
        assert_eq!(checked.is_ok(), fits, "{name}, {size} B: {checked:?}");
    }
}

#[test]
fn a_time_becomes_the_same_number_of_operations_on_every_rank() {
    let report = measured(case("allgather").unwrap(), 4, &["--duration", "5ms"]);
    let point = &report["points"][0];
    let each = point["per_rank"][0]["samples"].as_u64().unwrap();
    assert!(each > 0);
    assert_eq!(point["samples"], 4 * each);
    assert_eq!(point["per_rank"][3]["samples"], each);
}

/// They are set by the same clock of the system: whatever is found between them is error, and is within what is
/// stated, but for what the setting of the two may be wrong by.
#[test]
fn clocks_of_ranks_on_one_machine_agree() {
    let report = measured(case("barrier").unwrap(), 4, &["--iterations", "50"]);
    let point = &report["points"][0];
    for (rank, figures) in point["per_rank"].as_array().unwrap().iter().enumerate() {
        let clock = |field: &str| figures["clock"][field].as_f64().unwrap();
        let error = clock("error_ns");
        for offset in ["offset_before_ns", "offset_after_ns"] {
            assert!(clock(offset).abs() <= error + SETTING_NS, "{figures}");
        }
        assert_eq!(error > 0.0, rank > 0, "{figures}");
        assert!(point["clock_error_ns"].as_f64().unwrap() >= error);
    }
}

/// What shows that arrivals are put in order across ranks: no rank leaves before the last has come.
#[test]
fn nobody_leaves_before_the_last_has_entered() {
    for name in [
        "barrier",
        "allreduce",
        "alltoall",
        "allgather",
        "reduce-scatter",
    ] {
        let report = measured(case(name).unwrap(), 4, &["--iterations", "500"]);
        let point = &report["points"][0];
        let least = point["operation"]["min_ns"].as_f64().unwrap();
        // Times are whole nanoseconds, and offsets are rounded to them.
        let error = point["clock_error_ns"].as_f64().unwrap() + 2.0;
        assert!(least >= -error, "{name}: {least} ns, but for {error} ns");
    }
}

#[test]
fn what_cannot_be_measured_is_wrong_usage_and_said_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("samples");
    let file = file.to_str().unwrap();
    let nowhere = folder.path().join("nowhere/samples");
    let nowhere = nowhere.to_str().unwrap();
    let is_a_folder = folder.path().to_str().unwrap();
    for (ranks, arguments, words) in [
        (
            3,
            &["ping-pong"][..],
            "runs on pairs of ranks, and these are 3",
        ),
        (
            2,
            &["barier"],
            "[possible values: ping-pong, barrier, allreduce,",
        ),
        (2, &["barrier", "--size", "8"], "has no use for --size"),
        (2, &["allreduce", "--size", "12"], "12 is no multiple"),
        (
            2,
            &["bcast", "--size", "8KB"],
            "`8KB` is not a size; write KiB",
        ),
        (2, &["bcast", "--size", "2GiB"], "more than MPI counts"),
        (2, &["bcast", "--iterations", "0"], "a number from 1"),
        (
            2,
            &["bcast", "--iterations", "33554433"],
            "a number from 1 to 33554432 on 2 ranks",
        ),
        (2, &["halo-exchange", "--dimensions", "4"], "2 or 3"),
        (
            2,
            &["bcast", "--size", "8,16", "--samples", file],
            "of one size",
        ),
        (2, &["bcast", "--samples", nowhere], "cannot write"),
        (2, &["bcast", "--arrivals", nowhere], "No such file or dir"),
        (2, &["bcast", "--samples", is_a_folder], "Is a directory"),
        (2, &["bcast", "--samples", "/proc/samples"], "cannot write"),
    ] {
        assert_wrong(ranks, &[&["library"], arguments].concat(), words);
    }
}

/// What was measured is not lost with it.
#[test]
fn a_file_that_cannot_be_written_after_all_is_said_behind_the_report() {
    let quick = ["library", "barrier", "--iterations", "5", "--warmup", "0ns"];
    let ran = mpirun(2, &[&quick[..], &["--samples", "/dev/full"]].concat());
    assert_eq!(ran.status, Some(3), "{ran}");
    let said = ran.stderr.matches("jitterlab-mpi: cannot write /dev/full");
    assert_eq!(said.count(), 1, "{ran}");
    assert!(ran.stdout.starts_with("barrier on 2 ranks"), "{ran}");
}

#[test]
fn help_says_what_each_case_does() {
    let ran = mpirun(1, &["library", "--help"]);
    for case in &CASES {
        assert!(ran.stdout.contains(case.title), "{ran}");
    }
}

#[test]
fn people_get_a_table() {
    let quick = [
        "library",
        "barrier",
        "--iterations",
        "50",
        "--warmup",
        "1ms",
    ];
    let ran = mpirun(2, &quick);
    assert_eq!(ran.status, Some(0), "{ran}");
    assert!(
        ran.stdout
            .starts_with("barrier on 2 ranks, 0 B: time in the call"),
        "{ran}"
    );
    for line in ["all ", "skew ", "operation ", "rank 0 ", "rank 1 "] {
        assert_eq!(ran.stdout.matches(&format!("\n{line}")).count(), 1, "{ran}");
    }
}

fn measured(case: &Case, ranks: usize, options: &[&str]) -> Value {
    let quick = ["library", case.name, "--warmup", "1ms", "--format", "json"];
    let ran = mpirun(ranks, &[&quick[..], options].concat());
    assert_eq!(ran.status, Some(0), "{}: {ran}", case.name);
    let report = ran.report();
    assert_eq!(report["suite"], "library");
    assert_eq!(report["case"], case.name);
    assert_eq!(report["ranks"], ranks);
    let source = Clock::global().source();
    assert_eq!(report["clock"], serde_json::json!(source));
    report
}

fn assert_keeps_all(case: &Case, ranks: usize, options: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let [samples, arrivals] = ["samples", "arrivals"].map(|name| folder.path().join(name));
    let count = OPERATIONS.to_string();
    let files = [
        ["--iterations", &count],
        ["--samples", samples.to_str().unwrap()],
        ["--arrivals", arrivals.to_str().unwrap()],
    ];
    let report = measured(case, ranks, &[options, &files.concat()[..]].concat());
    let what = format!("{} {options:?} on {ranks} ranks", case.name);
    let counted = case.counted(ranks);
    let point = &report["points"][0];
    assert_eq!(point["samples"], counted * OPERATIONS, "{what}");

    let per_rank = point["per_rank"].as_array().unwrap();
    assert_eq!(per_rank.len(), ranks, "{what}");
    for (rank, figures) in per_rank.iter().enumerate() {
        assert_eq!(figures["rank"], rank, "{what}");
        assert_eq!(figures["samples"], OPERATIONS, "{what}");
    }
    if case.sample == Sample::Call {
        assert_eq!(point["skew"]["samples"], OPERATIONS, "{what}");
        assert_eq!(point["operation"]["samples"], ranks * OPERATIONS, "{what}");
        assert_eq!(per_rank[ranks - 1]["late"]["samples"], OPERATIONS, "{what}");
        assert_map(
            &point["heat_map"],
            &["mean_ns", "max_ns", "late_mean_ns", "late_max_ns"],
            ranks,
        );
    } else {
        assert!(point["skew"].is_null(), "{what}");
        assert_map(&point["heat_map"], &["mean_ns", "max_ns"], ranks);
    }
    assert_samples(&samples, point, counted, &what);
    assert_arrivals(&arrivals, ranks, &what);
}

fn assert_map(map: &Value, fields: &[&str], ranks: usize) {
    let bins = map["bin_starts_s"].as_array().unwrap().len();
    let values = map.as_object().unwrap().values();
    let given = values.filter(|value| !value.is_null());
    assert_eq!(given.count(), fields.len() + 1);
    for field in fields {
        let lists = map[field].as_array().unwrap();
        assert_eq!(lists.len(), ranks, "{field}");
        let lengths = lists.iter().map(|list| list.as_array().unwrap().len());
        assert!(lengths.into_iter().all(|length| length == bins), "{field}");
    }
}

/// The file holds the samples that the figures are of.
fn assert_samples(file: &Path, point: &Value, counted: usize, what: &str) {
    let text = fs::read_to_string(file).unwrap();
    let comments = text.lines().filter(|line| line.starts_with("# rank "));
    assert_eq!(comments.count(), counted, "{what}");
    let samples: Vec<u64> = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.parse().unwrap())
        .collect();
    assert_eq!(samples.len(), counted * OPERATIONS, "{what}");
    let figure = |name: &str| point[name].as_f64().unwrap();
    assert_eq!(
        figure("min_ns"),
        *samples.iter().min().unwrap() as f64,
        "{what}"
    );
    assert_eq!(
        figure("max_ns"),
        *samples.iter().max().unwrap() as f64,
        "{what}"
    );
}

/// The file holds every operation of every rank, and a rank enters no operation before it has left the last.
fn assert_arrivals(file: &Path, ranks: usize, what: &str) {
    let text = fs::read_to_string(file).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("operation,rank,entered_ns,left_ns"));
    let mut left = vec![i64::MIN; ranks];
    for line in 0..ranks * OPERATIONS {
        let fields: Vec<i64> = lines
            .next()
            .unwrap()
            .split(',')
            .map(|field| field.parse().unwrap())
            .collect();
        let rank = line % ranks;
        assert_eq!(fields[..2], [(line / ranks) as i64, rank as i64], "{what}");
        assert!(
            left[rank] <= fields[2] && fields[2] <= fields[3],
            "{what}: {line}"
        );
        left[rank] = fields[3];
    }
    assert_eq!(lines.next(), None, "{what}");
}
