//! What endpoints take does not grow with their transactions, and grows with their peers as docs/amvia.md says. Each figure is that of a
//! process of its own.

mod ends;

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

use ends::Ends;
use jitterlab_amvia::endpoint::{Bundle, Options};
use jitterlab_amvia::protocol::{Config, Protocol};
use jitterlab_amvia::transport::{Transport, Udp};

/// Set for a process that is measured: what of.
const MEASURED: &str = "AMVIA_TEST_MEASURED";
const TRANSACTIONS: u64 = 1_000_000;

/// Bytes of this process in memory, to the page: VmRSS of /proc/self/status is counted in larger steps.
fn resident() -> u64 {
    let rollup = fs::read_to_string("/proc/self/smaps_rollup").unwrap();
    let resident = rollup.lines().find_map(|line| line.strip_prefix("Rss:"));
    let kilobytes = resident.unwrap().trim().trim_end_matches(" kB");
    kilobytes.parse::<u64>().unwrap() * 1024
}

/// Has the test of this name run in a process of its own; what it printed behind `measured: `.
fn measured(test: &str, what: &str) -> String {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(MEASURED, what)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8(output.stdout).unwrap();
    let (_, measured) = said.split_once("measured: ").unwrap();
    measured.lines().next().unwrap().into()
}

/// Bytes and blocks of each log.
fn room(folder: &Path) -> Vec<(u64, u64)> {
    let found = ["client", "server"].map(|log| fs::metadata(folder.join(log)).unwrap());
    found.iter().map(|log| (log.len(), log.blocks())).collect()
}

#[test]
fn a_million_transactions_leave_logs_and_memory_as_they_were() {
    const TEST: &str = "a_million_transactions_leave_logs_and_memory_as_they_were";
    if std::env::var_os(MEASURED).is_none() {
        println!("{}", measured(TEST, ""));
        return;
    }
    let ends = Ends::new("amvia process shm");
    ends.make(TRANSACTIONS / 100);
    let (before, memory) = (room(ends.folder()), resident());
    ends.make(TRANSACTIONS);
    let grown = resident().saturating_sub(memory);
    assert_eq!(room(ends.folder()), before);
    // A sixteenth of a byte a transaction.
    assert!(grown < TRANSACTIONS / 16, "{grown} bytes more");
    println!(
        "measured: {TRANSACTIONS} transactions, logs of {before:?} bytes and blocks; {grown} bytes of memory more"
    );
}

/// Bytes that an endpoint takes when it is made, and its connections when all its peers are there.
fn taken(test: &str, protocol: Protocol, peers: u32) -> [u64; 2] {
    let taken = measured(test, &format!("{protocol} {peers}"));
    println!("{protocol}, {peers} peers: {taken} bytes");
    let (made, connected) = taken.split_once(" + ").unwrap();
    [made, connected].map(|bytes| bytes.parse().unwrap())
}

#[test]
fn memory_grows_with_the_peers_of_amvia_and_hardly_with_those_of_amudp() {
    const TEST: &str = "memory_grows_with_the_peers_of_amvia_and_hardly_with_those_of_amudp";
    if let Ok(what) = std::env::var(MEASURED) {
        let (protocol, peers) = what.split_once(' ').unwrap();
        return measure(protocol.parse().unwrap(), peers.parse().unwrap());
    }
    let [few, many] = [2, 1_000].map(|peers| taken(TEST, Protocol::Amudp, peers)[0]);
    let [two, more, most] = [2, 502, 1_002].map(|peers| taken(TEST, Protocol::Amvia, peers)[0]);
    // 2k slots of 384 bytes a peer, and a table.
    let slots = 500 * 2 * 16 * 384;
    for grown in [more - two, most - more] {
        assert!(
            (slots..slots * 5 / 4).contains(&grown),
            "{grown} bytes for 500 peers"
        );
    }
    assert!(many - few < slots / 4, "{few}, {many}");
}

fn measure(protocol: Protocol, peers: u32) {
    let udp = || Udp::bind("127.0.0.1:0".parse().unwrap(), Udp::MTU).unwrap();
    let options = Options {
        config: Config {
            protocol,
            message: 128,
            ..Config::default()
        },
        peers,
        ..Options::default()
    };
    let (bundle, silent) = (Bundle::new().unwrap(), udp());
    let udp = udp();
    let before = resident();
    let endpoint = bundle.endpoint("node", udp, &options).unwrap();
    let made = resident();
    for peer in 0..peers {
        let peer = format!("peer-{peer}");
        endpoint.begin_connect(&peer, &silent.address()).unwrap();
    }
    println!("measured: {} + {}", made - before, resident() - made);
}
