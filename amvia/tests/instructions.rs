//! A transaction takes no more instructions than the tree says (`instructions.txt`): callgrind counts them.

mod ends;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use ends::Ends;
use jitterlab_base::clock::Clock;
use jitterlab_skip::skip;

/// What the program under callgrind makes transactions of.
const WHAT: &str = "AMVIA_TEST_COUNTED";
const TEST: &str = "a_transaction_takes_no_more_instructions";
/// More than this part, and somebody has to look.
const GROWTH: f64 = 0.02;
/// Transactions before those that are counted, and those.
const FIRST: u64 = 300;
const COUNTED: u64 = 200;
/// Protocol, durability and transport.
const ALL: [&str; 14] = [
    "two-way none shm",
    "two-way none udp",
    "two-way process shm",
    "two-way process udp",
    "two-way power shm",
    "two-way power udp",
    "amvia none shm",
    "amvia none udp",
    "amvia process shm",
    "amvia process udp",
    "amvia power shm",
    "amvia power udp",
    "amudp none shm",
    "amudp none udp",
];

/// This test is also the program that is counted.
#[test]
fn a_transaction_takes_no_more_instructions() {
    if let Ok(what) = std::env::var(WHAT) {
        let ends = Ends::new(&what);
        ends.make(FIRST);
        return counted_transactions(&ends);
    }
    // Continuous integration has what is needed: without it nothing would hold the instructions any more.
    let has_to = std::env::var_os("CI").is_some();
    if Command::new("valgrind").arg("--version").output().is_err() {
        assert!(!has_to, "there is no valgrind");
        return skip("there is no valgrind");
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/instructions.txt");
    let text = std::fs::read_to_string(&path).unwrap();
    let (machine, kept) = read(&text);
    let counted = ALL.map(|what| (what, count(what)));
    let fresh = std::env::temp_dir().join("instructions.txt");
    std::fs::write(&fresh, written(&counted)).unwrap();
    print!("{}", written(&counted));
    if machine != this_machine() {
        let differs = format!(
            "the instructions that are kept are those of {machine:?}, and this is {:?}",
            this_machine()
        );
        assert!(
            !has_to,
            "{differs}. Look at {}, and have it take the place of {}",
            fresh.display(),
            path.display()
        );
        return skip(differs);
    }
    let changed = |&&(what, count): &&(&str, u64)| {
        let before = kept.get(what).copied().unwrap_or_default() as f64;
        (count as f64 - before).abs() > GROWTH * before
    };
    let changed: Vec<_> = counted.iter().filter(changed).collect();
    assert!(
        changed.is_empty(),
        "{changed:?} instructions a transaction are not what {} says. If it has to be so, {} is to take its place",
        path.display(),
        fresh.display()
    );
}

/// What else decides how many instructions there are.
fn this_machine() -> String {
    let version = Command::new("rustc").arg("--version").output();
    let version = version.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let profile = if cfg!(debug_assertions) {
        "dev"
    } else {
        "release"
    };
    format!(
        "{}, profile {profile}, clock {:?}",
        version.unwrap_or_default().trim(),
        Clock::global().source()
    )
}

fn written(counted: &[(&str, u64)]) -> String {
    let mut text = format!("# {}\n", this_machine());
    for (what, count) in counted {
        writeln!(text, "{what} {count}").unwrap();
    }
    text
}

fn read(text: &str) -> (&str, BTreeMap<&str, u64>) {
    let (machine, figures) = text.split_once('\n').unwrap();
    let figures = figures.lines().map(|line| {
        let (what, count) = line.rsplit_once(' ').unwrap();
        (what, count.parse().unwrap())
    });
    (machine.trim_start_matches("# "), figures.collect())
}

/// Instructions a transaction, of both ends.
fn count(what: &str) -> u64 {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg("--toggle-collect=*counted_transactions*")
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", TEST, "--nocapture"])
        .env(WHAT, what)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{what}: {said}");
    let collected = said.lines().find_map(|line| line.split_once("Collected :"));
    let (_, collected) = collected.unwrap_or_else(|| panic!("{said}"));
    collected.trim().parse::<u64>().unwrap() / COUNTED
}

/// Callgrind counts in here.
#[inline(never)]
fn counted_transactions(ends: &Ends) {
    ends.make(COUNTED);
}
