//! A transaction takes no more instructions than the tree says (`instructions.txt`): callgrind counts them.
//!
//! No time enters what is counted: one thread polls each end when a frame has arrived there, and every time-out is far away.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use jitterlab_amvia::endpoint::{Bundle, Credit, Endpoint, Options, PeerId, Standing};
use jitterlab_amvia::log::Durability;
use jitterlab_amvia::protocol::{Config, Protocol};
use jitterlab_amvia::transport::{Shm, Udp};
use jitterlab_base::clock::Clock;
use jitterlab_skip::skip;

/// What the program under callgrind makes transactions of.
const WHAT: &str = "AMVIA_TEST_COUNTED";
const TEST: &str = "a_transaction_takes_no_more_instructions";
/// More than this part, and somebody has to look.
const GROWTH: f64 = 0.02;
const ECHO: u16 = 1;
/// A short message.
const BYTES: usize = 32;
/// Transactions before those that are counted, and those.
const FIRST: u64 = 300;
const COUNTED: u64 = 200;
/// No time-out in nanoseconds comes before.
const HOUR: u64 = 3_600_000_000_000;

/// Protocol, durability and transport.
const ALL: [&str; 10] = [
    "two-way none shm",
    "two-way none udp",
    "two-way process shm",
    "two-way process udp",
    "amvia none shm",
    "amvia none udp",
    "amvia process shm",
    "amvia process udp",
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
    if Command::new("valgrind").arg("--version").output().is_err() {
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
        return skip(format!(
            "the instructions that are kept are those of {machine:?}, and this is {:?}",
            this_machine()
        ));
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

/// A client and a server, each in a bundle of its own.
struct Ends {
    protocol: Protocol,
    bundles: [Bundle; 2],
    client: Endpoint,
    peer: PeerId,
    _server: Endpoint,
    _folder: tempfile::TempDir,
}

impl Ends {
    fn new(what: &str) -> Ends {
        let [protocol, durability, over] = what.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{what}");
        };
        let folder = tempfile::tempdir_in("/dev/shm").unwrap();
        let protocol = protocol.parse().unwrap();
        let durability: Durability = durability.parse().unwrap();
        let bundles = [(); 2].map(|()| Bundle::new().unwrap());
        let end = |bundle: &Bundle, name: &str| {
            let options = Options {
                config: Config {
                    protocol,
                    min_rto: HOUR,
                    max_rto: HOUR,
                    initial_rto: HOUR,
                    lease: HOUR,
                    ..Config::default()
                },
                peers: 2,
                durability,
                log: (durability != Durability::None).then(|| folder.path().join(name)),
            };
            let endpoint = match over {
                "udp" => {
                    let udp = Udp::bind("127.0.0.1:0".parse().unwrap(), Udp::MTU).unwrap();
                    bundle.endpoint(name, udp, &options)
                }
                _ => {
                    let own = format!("instructions-{}-{name}", std::process::id());
                    let shm = Shm::open(own.parse().unwrap(), Shm::MTU).unwrap();
                    bundle.endpoint(name, shm, &options)
                }
            };
            endpoint.unwrap()
        };
        let server = end(&bundles[1], "server");
        server
            .on(ECHO, |call| call.reply(call.bytes()).unwrap())
            .unwrap();
        let client = end(&bundles[0], "client");
        let address = server.address().unwrap();
        let peer = client.begin_connect("server", &address).unwrap();
        while !matches!(client.standing(peer), Ok(Standing::Connected(_))) {
            bundles.iter().for_each(|bundle| _ = bundle.poll().unwrap());
        }
        // What else they say to connect.
        while bundles.iter().any(|bundle| bundle.poll().unwrap()) {}
        Ends {
            protocol,
            bundles,
            client,
            peer,
            _server: server,
            _folder: folder,
        }
    }

    fn make(&self, count: u64) {
        let [own, others] = &self.bundles;
        for _ in 0..count {
            let request = self
                .client
                .request(self.peer, ECHO, &[0; BYTES], Credit::Refuse);
            take_frame(others);
            if self.protocol == Protocol::Amvia {
                take_frame(own);
            }
            take_frame(own);
            let request = request.unwrap();
            assert!(self.client.state(request).unwrap().is_final());
            self.client.release(request).unwrap();
            if self.protocol == Protocol::Amudp {
                take_frame(others);
            }
        }
    }
}

/// Takes a frame that is there. Of two sockets one may be empty: that is as many looks each time.
fn take_frame(bundle: &Bundle) {
    let looks = (0..10).take_while(|_| !bundle.poll().unwrap()).count();
    assert!(looks < 10, "a frame is missing");
}

/// Callgrind counts in here.
#[inline(never)]
fn counted_transactions(ends: &Ends) {
    ends.make(COUNTED);
}
