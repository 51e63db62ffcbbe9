//! A frame takes one call of the system that moves data at each end, and over shared memory none: strace tells them.

mod ends;

use std::io::Write;
use std::process::Command;

use ends::Ends;
use jitterlab_skip::skip;

/// The way of the transactions that the program under strace makes.
const WHAT: &str = "AMVIA_TEST_TRACED";
const TEST: &str = "a_frame_takes_one_call_that_moves_data_at_each_end";
/// Transactions before those that are counted, and those.
const FIRST: u64 = 300;
const COUNTED: u64 = 2_000;
/// The mark that the program writes before the counted transactions and after them.
const MARK: &str = "transactions are counted from here to here";

/// System calls that move data by a descriptor.
const MOVES: [&str; 16] = [
    "read", "readv", "pread64", "preadv", "preadv2", "write", "writev", "pwrite64", "pwritev",
    "pwritev2", "recvfrom", "recvmsg", "recvmmsg", "sendto", "sendmsg", "sendmmsg",
];

/// This test is also the program that is traced.
#[test]
fn a_frame_takes_one_call_that_moves_data_at_each_end() {
    if let Ok(what) = std::env::var(WHAT) {
        let ends = Ends::new(&what);
        ends.make(FIRST);
        let mark = || std::io::stderr().write_all(MARK.as_bytes()).unwrap();
        mark();
        ends.make(COUNTED);
        return mark();
    }
    let tried = Command::new("strace").arg("true").output();
    if !tried.is_ok_and(|tried| tried.status.success()) {
        return skip("there is no strace that may trace");
    }
    // Frames of a transaction: request and reply, and an acknowledgement of the request or of the reply.
    for (what, frames) in [
        ("two-way none udp", 2),
        ("two-way process udp", 2),
        ("amvia none udp", 3),
        ("amvia process udp", 3),
        ("amudp none udp", 3),
        ("two-way none shm", 0),
        ("amvia process shm", 0),
        ("amudp none shm", 0),
    ] {
        let moved = moved(what);
        println!("{what}: {moved:?} calls for {COUNTED} transactions");
        assert_eq!(moved, [frames * COUNTED; 2], "{what}");
    }
}

/// Calls that have sent something, and calls that have received something.
fn moved(what: &str) -> [u64; 2] {
    let trace = tempfile::NamedTempFile::new().unwrap();
    let output = Command::new("strace")
        .args(["-f", "-o"])
        .arg(trace.path())
        .arg(format!("--trace={}", MOVES.join(",")))
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", TEST, "--nocapture"])
        .env(WHAT, what)
        .output()
        .unwrap();
    assert!(output.status.success(), "{what}: {output:?}");
    let trace = std::fs::read_to_string(trace.path()).unwrap();
    let is_mark = |line: &&str| line.contains("transactions are counted");
    let counted = trace.lines().skip_while(|line| !is_mark(line)).skip(1);
    let counted = counted.take_while(|line| !is_mark(line));
    let (mut sent, mut received) = (0, 0);
    for line in counted.filter(|line| !line.contains(" = -1 ")) {
        // NUMBER OF THE THREAD, CALL(…
        let call = line.split_whitespace().nth(1).unwrap_or_default();
        let call = call.split('(').next().unwrap_or_default();
        match call.starts_with("send") || call.contains("write") {
            true => sent += 1,
            false => received += 1,
        }
    }
    [sent, received]
}
