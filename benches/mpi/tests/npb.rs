//! Every kernel that is registered, as people run it: under mpirun, on each number of ranks that it allows.

mod common;

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use common::Ran;
use jitterlab_mpi::npb::{self, Class, KERNELS, Kernel};
use serde_json::Value;

/// The numbers of ranks that are tried.
const RANKS: [usize; 6] = [1, 2, 3, 4, 8, 9];

#[test]
fn every_kernel_verifies_class_s_on_any_number_of_ranks_it_allows() {
    for kernel in &KERNELS {
        for ranks in allowed(kernel, Class::S) {
            assert_verifies(kernel, Class::S, ranks);
        }
    }
}

/// What the arrays of NPB 3.4 take in class W on one rank, in bytes, by the formulas in docs/npb.md.
const MEMORY_OF_THE_ORIGINAL: [(&str, u64); 8] = [
    ("bt", 6_790_640),
    ("cg", 18_312_336),
    ("ep", 1_128_576),
    ("ft", 29_362_320),
    ("is", 18_874_368),
    ("lu", 7_258_480),
    ("mg", 59_153_120),
    ("sp", 16_683_872),
];

#[test]
fn every_kernel_verifies_class_w_alone_and_in_company_in_no_more_memory_than_the_original() {
    for kernel in &KERNELS {
        let [alone, _] = [0, 1].map(|place| {
            let ranks = allowed(kernel, Class::W).nth(place).unwrap();
            assert_verifies(kernel, Class::W, ranks)
        });
        let mut originals = MEMORY_OF_THE_ORIGINAL.iter();
        let (_, original) = originals
            .find(|(name, _)| *name == kernel.name.name())
            .unwrap();
        let [ours] = &alone["memory_bytes"].as_array().unwrap()[..] else {
            panic!("one rank: {alone}");
        };
        let ours = ours.as_u64().unwrap();
        assert!(
            ours <= *original,
            "{}: {ours} > {original}",
            kernel.name.name()
        );
    }
}

#[test]
fn ft_divides_planes_where_ranks_are_more_than_planes() {
    assert_verifies(npb::kernel("ft").unwrap(), Class::W, 64);
}

#[test]
fn mg_leaves_ranks_out_that_have_no_point_of_a_level() {
    assert_verifies(npb::kernel("mg").unwrap(), Class::S, 64);
}

#[test]
fn the_book_has_every_rule_of_ranks() {
    let book = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/npb.md");
    let book = fs::read_to_string(book).unwrap();
    for kernel in &KERNELS {
        let row = format!("| `{}` | ", kernel.name.name());
        let row = book.lines().find(|line| line.starts_with(&row)).unwrap();
        let rule = format!(" | {} |", kernel.ranks.rule);
        assert!(row.ends_with(&rule), "{row} is not of{rule}");
    }
}

#[test]
fn a_number_of_ranks_that_a_kernel_does_not_run_on_is_wrong_usage_and_said_once() {
    for kernel in &KERNELS {
        for ranks in RANKS {
            if !(kernel.ranks.allows)(ranks, Class::S) {
                let ran = run(ranks, &[], kernel.name.name(), Class::S);
                let message = format!("these are {ranks}\n");
                assert_eq!((ran.status, says(&ran, &message)), (Some(2), 1), "{ran}");
                assert!(
                    says(&ran, kernel.ranks.rule) == 1 && ran.stdout.is_empty(),
                    "{ran}"
                );
            }
        }
    }
}

#[test]
fn what_is_not_known_is_wrong_usage_and_said_once() {
    for (arguments, message) in [
        (["npb", "xx", "--class=S"], "[possible values: bt, cg,"),
        (
            ["npb", "ep", "--class=X"],
            "`X` is not a problem size; write S, W, A, B or C",
        ),
        (["npb", "ep", "--klass=S"], "unexpected argument '--klass'"),
    ] {
        let ran = mpirun(3, &[], &arguments);
        assert_eq!((ran.status, says(&ran, message)), (Some(2), 1), "{ran}");
        assert!(ran.stdout.is_empty(), "{ran}");
    }
}

#[test]
fn one_corrupted_message_fails_verification() {
    let corrupt = compiled("corrupt.c");
    let preload = ("LD_PRELOAD", corrupt.to_str().unwrap());
    for kernel in &KERNELS {
        let ranks = allowed(kernel, Class::S).find(|&ranks| ranks > 1).unwrap();

        // Looked at and left alone, and how many there are.
        let sound = run(ranks, &[preload], kernel.name.name(), Class::S);
        assert!(verified(&sound) && sound.status == Some(0), "{sound}");
        let line = |line: &str| line.strip_prefix("corrupt: messages: ")?.parse().ok();
        let messages: usize = sound.stderr.lines().find_map(line).unwrap();
        assert!(messages > 0, "{}: rank 1 sends no data", kernel.name.name());

        let middle = (messages / 2).to_string();
        let variables = [preload, ("CORRUPT_MESSAGE", &middle)];
        let corrupted = run(ranks, &variables, kernel.name.name(), Class::S);
        assert_eq!(says(&corrupted, "corrupt: flipped"), 1, "{corrupted}");
        assert!(!verified(&corrupted), "{}: {corrupted}", kernel.name.name());
        assert_eq!(corrupted.status, Some(1), "{corrupted}");
    }
}

fn allowed(kernel: &Kernel, class: Class) -> impl Iterator<Item = usize> {
    RANKS
        .into_iter()
        .filter(move |&ranks| (kernel.ranks.allows)(ranks, class))
}

fn run(ranks: usize, variables: &[(&str, &str)], kernel: &str, class: Class) -> Ran {
    let class = format!("--class={class}");
    mpirun(ranks, variables, &["npb", kernel, &class, "--format=json"])
}

/// Runs `jitterlab-mpi ARGUMENTS…` on so many ranks of Open MPI, with variables of theirs. One that hangs ends as a
/// failure.
fn mpirun(ranks: usize, variables: &[(&str, &str)], arguments: &[&str]) -> Ran {
    let variables: Vec<String> = variables
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let mut launcher = vec!["mpirun", "--oversubscribe", "--timeout", "300"];
    launcher.extend(variables.iter().flat_map(|variable| ["-x", variable]));
    let program = env!("CARGO_BIN_EXE_jitterlab-mpi");
    common::mpirun(&launcher, ranks, program, arguments)
}

/// How often a run says something on standard error.
fn says(ran: &Ran, what: &str) -> usize {
    ran.stderr.matches(what).count()
}

fn verified(ran: &Ran) -> bool {
    ran.report()["verified"].as_bool().unwrap()
}

fn assert_verifies(kernel: &Kernel, class: Class, ranks: usize) -> Value {
    let ran = run(ranks, &[], kernel.name.name(), class);
    let what = format!("{} {class} on {ranks} ranks", kernel.name.name());
    assert!(ran.status == Some(0) && verified(&ran), "{what}: {ran}");

    let report = ran.report();
    assert_eq!(report["kernel"], kernel.name.name());
    assert_eq!(report["class"], class.to_string());
    assert_eq!(report["ranks"], ranks);
    assert!(report["mops"].as_f64().unwrap() > 0.0, "{what}");
    assert_adds_up(&report, &what);
    report
}

/// The phases of all ranks make the totals, and no time in MPI is outside its phase.
fn assert_adds_up(report: &Value, what: &str) {
    let ranks = report["phases"].as_array().unwrap();
    assert_eq!(report["ranks"], ranks.len());
    let phases = || ranks.iter().flat_map(|phases| phases.as_array().unwrap());
    for total in ["messages", "bytes", "collectives", "collective_bytes"] {
        let sum: u64 = phases().map(|phase| phase[total].as_u64().unwrap()).sum();
        assert_eq!(report[total], sum, "{what}: {total}");
    }
    for phase in phases() {
        let [wall, mpi] = ["wall_s", "mpi_s"].map(|time| phase[time].as_f64().unwrap());
        assert!(0.0 <= mpi && mpi <= wall, "{what}: {phase}");
    }
}

/// A library to be preloaded, made by Open MPI's compiler.
fn compiled(fixture: &str) -> PathBuf {
    let source = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let library = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{fixture}.so"));
    let status = Command::new("mpicc")
        .args(["-Wall", "-Werror", "-shared", "-fPIC", "-o"])
        .args([&library, &source.join(fixture)])
        .status()
        .expect("these tests need mpicc, as of Debian's libopenmpi-dev");
    assert!(status.success(), "mpicc cannot compile {fixture}");
    library
}
