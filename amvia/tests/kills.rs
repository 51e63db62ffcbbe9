//! Processes that are killed and started again, against a ledger that they share with nobody: what a client is told of each
//! transaction is what the servers did.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use jitterlab_amvia::endpoint::{Bundle, Credit, Endpoint, EndpointError, Options, PeerId};
use jitterlab_amvia::log::Durability;
use jitterlab_amvia::protocol::{Config, Protocol, RequestError};
use jitterlab_amvia::transport::{Address, Shm, Transport, Udp};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

const SERVERS: usize = 4;
const CLIENTS: usize = 4;
const WORK: u16 = 1;
/// The line of a server's ledger with which each of its lives begins.
const BEGIN: &str = "begin";
/// Bytes of a line of a ledger. A line crosses no page of memory: a process can be killed between two pages of a write.
const LINE: usize = 64;

/// Who a child process is.
const ROLE: &str = "AMVIA_TEST_ROLE";
const FOLDER: &str = "AMVIA_TEST_FOLDER";
const OVER: &str = "AMVIA_TEST_TRANSPORT";
/// The store to its log at which it kills itself, counted from 1; none: it does not.
const AT: &str = "AMVIA_TEST_KILL_AT";
/// Servers that a client makes requests of, and how many it makes in a life; none: all, and no end.
const TO: &str = "AMVIA_TEST_SERVERS";
const REQUESTS: &str = "AMVIA_TEST_REQUESTS";

fn options(folder: &Path, name: &str) -> Options {
    Options {
        config: Config {
            protocol: Protocol::Amvia,
            window: 8,
            message: 256,
            // A restart takes longer than a round trip, and the test is not to wait for each.
            request_retransmissions: 4,
            reply_retransmissions: 4,
            max_rto: 20_000_000,
            initial_rto: 5_000_000,
            ..Config::default()
        },
        peers: (SERVERS + CLIENTS) as u32,
        durability: Durability::Process,
        log: Some(folder.join(format!("{name}.log"))),
    }
}

fn endpoint(bundle: &Bundle, folder: &Path, name: &str, over: &str) -> Endpoint {
    let options = options(folder, name);
    match over {
        "udp" => {
            // A restarted process has the address that its peers know.
            let known = fs::read_to_string(folder.join(format!("{name}.address"))).ok();
            let at = known
                .as_deref()
                .map_or("127.0.0.1:0", |known| &known["udp://".len()..]);
            let udp = Udp::bind(at.parse().unwrap(), Udp::MTU).unwrap();
            publish(folder, name, &udp.address());
            bundle.endpoint(name, udp, &options).unwrap()
        }
        _ => {
            // Names of two tests at once do not meet.
            let own = format!("{}-{name}", folder.file_name().unwrap().to_str().unwrap());
            let own = own.trim_start_matches('.').parse().unwrap();
            let shm = Shm::open(own, Shm::MTU).unwrap();
            publish(folder, name, &shm.address());
            bundle.endpoint(name, shm, &options).unwrap()
        }
    }
}

fn publish(folder: &Path, name: &str, address: &Address) {
    let unnamed = folder.join(format!("{name}.new"));
    fs::write(&unnamed, address.to_string()).unwrap();
    fs::rename(unnamed, folder.join(format!("{name}.address"))).unwrap();
}

fn ledger(folder: &Path, name: &str) -> File {
    let path = folder.join(format!("{name}.ledger"));
    OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .unwrap()
}

fn write_line(ledger: &mut File, text: &str) {
    let line = format!("{text:<width$}\n", width = LINE - 1);
    assert_eq!(line.len(), LINE);
    ledger.write_all(line.as_bytes()).unwrap();
}

/// Ends this process with its parent.
fn end_with_parent() {
    std::thread::spawn(|| {
        let _ = std::io::stdin().read(&mut [0]);
        std::process::exit(0);
    });
}

/// Kills this process at the store that it is told.
fn kill_at_store(endpoint: &Endpoint) {
    let Ok(at) = std::env::var(AT) else {
        return;
    };
    let mut left: u64 = at.parse().unwrap();
    let watch = move || {
        left -= 1;
        if left == 0 {
            kill(Pid::this(), Signal::SIGKILL).unwrap();
        }
    };
    endpoint.watch_log(watch).unwrap();
}

fn serve(folder: &Path, name: &str, over: &str) {
    let mut ledger = ledger(folder, name);
    write_line(&mut ledger, BEGIN);
    let bundle = Bundle::new().unwrap();
    let server = endpoint(&bundle, folder, name, over);
    kill_at_store(&server);
    server
        .on(WORK, move |call| {
            write_line(&mut ledger, &call.transaction().to_string());
            let bytes = call.bytes().to_vec();
            call.reply(&bytes).unwrap();
        })
        .unwrap();
    loop {
        bundle.wait(Duration::from_millis(1)).unwrap();
    }
}

fn ask_servers(folder: &Path, name: &str, over: &str) {
    let bundle = Bundle::new().unwrap();
    let client = endpoint(&bundle, folder, name, over);
    kill_at_store(&client);
    let mut ledger = ledger(folder, name);
    let number_of = |key, otherwise| match std::env::var(key) {
        Ok(number) => number.parse().unwrap(),
        Err(_) => otherwise,
    };
    let servers: Vec<(String, Address)> = (0..number_of(TO, SERVERS))
        .map(|number| {
            let server = format!("server-{number}");
            let path = folder.join(format!("{server}.address"));
            loop {
                match fs::read_to_string(&path) {
                    Ok(address) => return (server, address.parse().unwrap()),
                    Err(_) => _ = bundle.wait(Duration::from_millis(1)).unwrap(),
                }
            }
        })
        .collect();
    let peers: Vec<PeerId> = servers
        .iter()
        .map(|(server, address)| client.begin_connect(server, address).unwrap())
        .collect();
    let names: HashMap<_, _> = peers
        .iter()
        .zip(&servers)
        .map(|(peer, (name, _))| (*peer, name))
        .collect();
    let stop = folder.join("stop");
    let most = number_of(REQUESTS, usize::MAX);
    let mut sent = 0;
    loop {
        let stops = sent >= most || stop.exists();
        for &peer in &peers {
            while !stops && sent < most {
                match client.request(peer, WORK, b"work", Credit::Refuse) {
                    Ok(_) => sent += 1,
                    Err(EndpointError::Request(RequestError::NoCredit)) => break,
                    Err(error) => panic!("{error}"),
                }
            }
        }
        bundle.wait(Duration::from_millis(1)).unwrap();
        let open = client.transactions().unwrap();
        if stops && open.is_empty() {
            return;
        }
        for (transaction, state) in open {
            if state.is_unknown() {
                // Refused while the question is on its way.
                let _ = client.ask(transaction);
            } else if state.is_final() {
                let server = names[&transaction.peer()];
                write_line(
                    &mut ledger,
                    &format!("{server} {} {state:?}", transaction.id()),
                );
                client.release(transaction).unwrap();
            }
        }
    }
}

/// The part of a child process; false in the test itself.
fn is_child() -> bool {
    let Ok(role) = std::env::var(ROLE) else {
        return false;
    };
    end_with_parent();
    let folder = PathBuf::from(std::env::var_os(FOLDER).unwrap());
    let over = std::env::var(OVER).unwrap();
    match role.starts_with("server") {
        true => serve(&folder, &role, &over),
        false => ask_servers(&folder, &role, &over),
    }
    true
}

fn start(test: &str, role: &str, folder: &Path, over: &str) -> Child {
    process(test, role, folder, over).spawn().unwrap()
}

fn process(test: &str, role: &str, folder: &Path, over: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", test, "--nocapture"])
        .env(ROLE, role)
        .env(FOLDER, folder)
        .env(OVER, over)
        .stdin(Stdio::piped())
        .stdout(Stdio::null());
    command
}

fn read_lines(folder: &Path, name: &str) -> Vec<String> {
    let text = fs::read_to_string(folder.join(format!("{name}.ledger"))).unwrap_or_default();
    text.lines().map(|line| line.trim_end().into()).collect()
}

/// Numbers of a fixed sequence (Marsaglia, xorshift64).
struct Draw(u64);

impl Draw {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }
}

/// What the clients were told of each transaction is what the servers did. Gives how many there were of each state.
fn ledgers_agree(
    folder: &Path,
    names: &[String],
    server_kills: &HashMap<String, usize>,
) -> BTreeMap<String, usize> {
    let mut ran: HashMap<String, usize> = HashMap::new();
    // The last handler of each life that was killed. What ran in the life that came to the end of the test is known.
    let mut cut_off: HashSet<String> = HashSet::new();
    for name in names.iter().filter(|name| name.starts_with("server")) {
        let mut latest = None;
        for line in read_lines(folder, name) {
            if line == BEGIN {
                cut_off.extend(latest.take());
                continue;
            }
            let transaction = format!("{name} {line}");
            *ran.entry(transaction.clone()).or_default() += 1;
            latest = Some(transaction);
        }
    }
    let mut told: HashMap<String, String> = HashMap::new();
    for name in names.iter().filter(|name| name.starts_with("client")) {
        for line in read_lines(folder, name) {
            let (transaction, state) = line.rsplit_once(' ').unwrap();
            // One that was killed between its ledger and the release is told again, and the same.
            let before = told.insert(transaction.into(), state.into());
            assert!(before.is_none_or(|before| before == state), "{line}");
        }
    }
    let twice = ran.values().filter(|&&times| times > 1).count();
    assert_eq!(twice, 0, "transactions that ran twice");
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut indeterminate: HashMap<&str, usize> = HashMap::new();
    for (transaction, state) in &told {
        *counts.entry(state.clone()).or_default() += 1;
        let times = ran.get(transaction).copied().unwrap_or(0);
        match state.as_str() {
            "Processed" => assert_eq!(times, 1, "{transaction} was said to be done"),
            "NotRun" => assert_eq!(times, 0, "{transaction} was said not to have run"),
            "Indeterminate" => {
                assert!(
                    times == 0 || cut_off.contains(transaction),
                    "{transaction} was said to be indeterminate, and another ran after it in the same life"
                );
                *indeterminate
                    .entry(transaction.split(' ').next().unwrap())
                    .or_default() += 1;
            }
            other => panic!("{transaction}: {other}"),
        }
    }
    // A server runs one handler at a time: each kill leaves one at most, with a line in its ledger or without one.
    for (server, count) in &indeterminate {
        let kills = server_kills.get(*server).copied().unwrap_or(0);
        assert!(
            *count <= kills,
            "{server}: {count} indeterminate after {kills} kills"
        );
    }
    counts
}

fn ledgers_agree_after(test: &str, over: &str, transactions: usize, kills: usize) {
    if is_child() {
        return;
    }
    let folder = tempfile::tempdir_in("/dev/shm").unwrap();
    let folder = folder.path();
    let names: Vec<String> = (0..SERVERS)
        .map(|number| format!("server-{number}"))
        .chain((0..CLIENTS).map(|number| format!("client-{number}")))
        .collect();
    let mut children: Vec<Child> = names
        .iter()
        .map(|name| start(test, name, folder, over))
        .collect();
    let clients = || names[SERVERS..].iter();
    // By the sizes of their ledgers: to read them takes longer than to write them.
    let done = || -> usize {
        let paths = clients().map(|name| folder.join(format!("{name}.ledger")));
        let sizes = paths.filter_map(|path| fs::metadata(path).ok());
        sizes.map(|ledger| ledger.len() as usize / LINE).sum()
    };
    let mut draw = Draw(20_001);
    let mut server_kills = HashMap::new();
    for number in 1..=kills {
        let goal = transactions * number / (kills + 1);
        while done() < goal {
            for (child, name) in children.iter_mut().zip(&names) {
                assert!(
                    child.try_wait().unwrap().is_none(),
                    "{name} ended by itself"
                );
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let victim = draw.below(names.len());
        let child = &mut children[victim];
        kill(Pid::from_raw(child.id() as i32), Signal::SIGKILL).unwrap();
        child.wait().unwrap();
        if victim < SERVERS {
            *server_kills.entry(names[victim].clone()).or_insert(0) += 1;
        }
        *child = start(test, &names[victim], folder, over);
    }
    while done() < transactions {
        std::thread::sleep(Duration::from_millis(1));
    }
    File::create(folder.join("stop")).unwrap();
    for child in &mut children[SERVERS..] {
        assert!(child.wait().unwrap().success());
    }
    for child in &mut children[..SERVERS] {
        child.kill().unwrap();
        child.wait().unwrap();
    }

    let told = ledgers_agree(folder, &names, &server_kills);
    assert!(told.values().sum::<usize>() >= transactions);
    println!("{over}: {kills} kills: {told:?}");
}

#[test]
fn over_udp() {
    ledgers_agree_after("over_udp", "udp", 100_000, 200);
}

#[test]
fn over_shared_memory() {
    ledgers_agree_after("over_shared_memory", "shm", 100_000, 200);
}

/// Kills `victim` at each store to its log in turn, starts it again, and has the client learn what became of each request.
fn killed_at_each_store(test: &str, victim: &str) {
    if is_child() {
        return;
    }
    let names = ["server-0".to_string(), "client-0".to_string()];
    let mut told: BTreeMap<String, usize> = BTreeMap::new();
    let (mut at, mut unmade) = (1, 0);
    loop {
        let folder = tempfile::tempdir_in("/dev/shm").unwrap();
        let folder = folder.path();
        let begin = |name: &str, at: Option<u64>| {
            let mut process = process(test, name, folder, "udp");
            process.env(TO, "1").env(REQUESTS, "3");
            if let Some(at) = at {
                process.env(AT, at.to_string());
            }
            process.spawn().unwrap()
        };
        let [mut server, mut client] = names
            .each_ref()
            .map(|name| begin(name, (name == victim).then_some(at)));
        let mut server_kills = HashMap::new();
        let mut was_killed = false;
        let ended = loop {
            if let Some(ended) = client.try_wait().unwrap() {
                if ended.success() {
                    break ended;
                }
                assert_eq!(
                    (victim, ended.signal()),
                    ("client-0", Some(Signal::SIGKILL as i32))
                );
                (client, was_killed) = (begin("client-0", None), true);
            }
            if let Some(ended) = server.try_wait().unwrap() {
                assert_eq!(
                    (victim, ended.signal()),
                    ("server-0", Some(Signal::SIGKILL as i32))
                );
                (server, was_killed) = (begin("server-0", None), true);
                server_kills.insert(names[0].clone(), 1);
            }
            std::thread::sleep(Duration::from_millis(1));
        };
        assert!(ended.success());
        server.kill().unwrap();
        server.wait().unwrap();
        match was_killed {
            true => at += 1,
            false if at > 50 => {
                println!("{victim} killed at each of {} stores: {told:?}", at - 1);
                return;
            }
            // On a loaded machine a server may come to run only after its client has given up: there is nothing to store then.
            false => {
                unmade += 1;
                assert!(unmade < 20, "{victim} makes no store {at}");
            }
        }
        for (state, count) in ledgers_agree(folder, &names, &server_kills) {
            *told.entry(state).or_default() += count;
        }
    }
}

#[test]
fn a_server_killed_at_each_store() {
    killed_at_each_store("a_server_killed_at_each_store", "server-0");
}

#[test]
fn a_client_killed_at_each_store() {
    killed_at_each_store("a_client_killed_at_each_store", "client-0");
}
