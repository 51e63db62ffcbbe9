//! The survivor's view when its peer is killed (kill -9) or stopped (SIGSTOP): ours, and UCX's.
//!
//!     cargo bench -p jitterlab-amvia --bench survivor
//!
//! It fails where the state of a request is not known within the bound. `AMVIA_SURVIVOR_HOST` is the address of this machine that
//! sockets and RDMA devices are looked for at, 127.0.0.1 if it is not set.
//!
//! UCX is `ucx_perftest`'s active-message latency test (package ucx-utils), without and with error handling.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use jitterlab_amvia::endpoint::{Bundle, Credit, Endpoint, Options, PeerId};
use jitterlab_amvia::log::Durability;
use jitterlab_amvia::protocol::{Config, Protocol};
use jitterlab_amvia::transport::{Address, Shm, Udp, Verbs};
use jitterlab_verbs::Adapter;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

const ECHO: u16 = 1;
const SERVE: &str = "AMVIA_SURVIVOR_SERVE";
const HOST: &str = "AMVIA_SURVIVOR_HOST";
/// The time beyond the timeouts that the state may stay unknown.
const BEYOND: Duration = Duration::from_millis(10);
/// The time that UCX is watched.
const WATCHED: Duration = Duration::from_secs(10);
const LONG: Duration = Duration::from_secs(60);

fn main() {
    if let Ok(told) = std::env::var(SERVE) {
        return serve(&told);
    }
    println!(
        "{:44} {:>10} {:>12}  what the survivor sees",
        "", "after", "bound"
    );
    let mut are_late = Vec::new();
    for over in ["udp", "shm", "verbs"] {
        if over == "verbs"
            && let Err(error) = Verbs::bind(socket(None), Adapter::default(), Verbs::MTU)
        {
            println!("ours over verbs: skipped: {error}");
            continue;
        }
        for protocol in [Protocol::Amvia, Protocol::TwoWay] {
            for signal in [Signal::SIGKILL, Signal::SIGSTOP] {
                let (name, is_late) = ours(over, protocol, signal);
                are_late.extend(is_late.then_some(name));
            }
        }
    }
    for (transports, devices) in [("tcp", "lo"), ("posix,self", "memory")] {
        for handles_errors in [false, true] {
            for signal in [Signal::SIGKILL, Signal::SIGSTOP] {
                ucx(transports, devices, handles_errors, signal);
            }
        }
    }
    assert!(are_late.is_empty(), "beyond the bound: {are_late:?}");
}

/// The address of an endpoint: the one that it had before, or any free port.
fn socket(known: Option<&str>) -> SocketAddr {
    let known = known.and_then(|known| Some(known.split_once("://")?.1.into()));
    let host = || std::env::var(HOST).unwrap_or("127.0.0.1".into());
    known
        .unwrap_or_else(|| format!("{}:0", host()))
        .parse()
        .expect("an address")
}

fn options(folder: &Path, name: &str, protocol: Protocol) -> Options {
    Options {
        config: Config {
            protocol,
            ..Config::default()
        },
        peers: 4,
        durability: Durability::Process,
        log: Some(folder.join(name)),
    }
}

fn endpoint(
    bundle: &Bundle,
    over: &str,
    folder: &Path,
    name: &str,
    protocol: Protocol,
) -> Endpoint {
    let options = options(folder, name, protocol);
    let known = fs::read_to_string(folder.join(format!("{name}.address"))).ok();
    let at = known.as_deref();
    let made = match over {
        "udp" => bundle.endpoint(name, Udp::bind(socket(at), Udp::MTU).unwrap(), &options),
        "verbs" => {
            let verbs = Verbs::bind(socket(at), Adapter::default(), Verbs::MTU).unwrap();
            bundle.endpoint(name, verbs, &options)
        }
        _ => {
            let place = folder.file_name().unwrap().to_str().unwrap();
            let place = format!("{}-{name}", place.trim_start_matches('.'));
            let shm = Shm::open(place.parse().unwrap(), Shm::MTU).unwrap();
            bundle.endpoint(name, shm, &options)
        }
    };
    let endpoint = made.unwrap();
    endpoint
        .on(ECHO, |call| call.reply(call.bytes()).unwrap())
        .unwrap();
    endpoint
}

/// A server process, which is told transport, protocol and folder.
fn serve(told: &str) {
    let [over, protocol, folder] = told.splitn(3, ' ').collect::<Vec<_>>()[..] else {
        panic!("{told}");
    };
    let bundle = Bundle::new().unwrap();
    let folder = Path::new(folder);
    let server = endpoint(&bundle, over, folder, "server", protocol.parse().unwrap());
    let address = server.address().unwrap().to_string();
    fs::write(folder.join("server.address"), &address).unwrap();
    println!("{address}");
    thread::spawn(|| {
        let _ = std::io::stdin().read(&mut [0]);
        std::process::exit(0);
    });
    loop {
        bundle.poll().unwrap();
    }
}

fn start(over: &str, protocol: Protocol, folder: &Path) -> (Child, Address) {
    let mut server = Command::new(std::env::current_exe().unwrap())
        .env(SERVE, format!("{over} {protocol} {}", folder.display()))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(server.stdout.as_mut().unwrap())
        .read_line(&mut line)
        .unwrap();
    (server, line.trim().parse().unwrap())
}

fn call(client: &Endpoint, peer: PeerId) -> String {
    let sent = client.request(peer, ECHO, b"x", Credit::Refuse).unwrap();
    let status = client.finish(sent, LONG).unwrap().to_string();
    client.release(sent).unwrap();
    status
}

/// One case: its name, and whether the state was known beyond the bound.
fn ours(over: &str, protocol: Protocol, signal: Signal) -> (String, bool) {
    let folder = tempfile::tempdir_in("/dev/shm").unwrap();
    let folder = folder.path();
    let (mut server, address) = start(over, protocol, folder);
    let bundle = Bundle::new().unwrap();
    let client = endpoint(&bundle, over, folder, "client", protocol);
    let peer = client.connect("server", &address, LONG).unwrap();
    // Another node, which lives on.
    let other = endpoint(&bundle, over, folder, "other", protocol);
    let second = client
        .connect("other", &other.address().unwrap(), LONG)
        .unwrap();
    for _ in 0..2_000 {
        call(&client, peer);
    }
    let bound = client.patience(peer).unwrap() + BEYOND;
    kill(Pid::from_raw(server.id() as i32), signal).unwrap();
    let begun = Instant::now();
    let sent = client.request(peer, ECHO, b"x", Credit::Refuse).unwrap();
    let seen = client.finish(sent, LONG).unwrap();
    let after = begun.elapsed();
    let goes_on = call(&client, second);
    // The truth, once the peer is back.
    let mut again = None;
    match signal {
        Signal::SIGSTOP => kill(Pid::from_raw(server.id() as i32), Signal::SIGCONT).unwrap(),
        _ => {
            server.wait().unwrap();
            again = Some(start(over, protocol, folder));
        }
    }
    let mut truth = client.state(sent).unwrap();
    while !truth.is_final() {
        // Refused while a question is on its way.
        let _ = client.ask(sent);
        bundle.wait(LONG).unwrap();
        truth = client.state(sent).unwrap();
    }
    for server in [Some(server), again.map(|(server, _)| server)]
        .into_iter()
        .flatten()
    {
        let mut server = server;
        let _ = server.kill();
        let _ = server.wait();
    }
    let name = format!("ours, {protocol} over {over}, {signal}");
    println!(
        "{name:44} {:>7.1} ms {:>9.1} ms  {seen}; another node: {goes_on}; asked when it is back: {truth}",
        after.as_secs_f64() * 1e3,
        bound.as_secs_f64() * 1e3,
    );
    (name, after > bound)
}

fn ucx(transports: &str, devices: &str, handles_errors: bool, signal: Signal) {
    let name = format!(
        "UCX AM over {transports}{}, {signal}",
        if handles_errors { ", -e" } else { "" }
    );
    let run = |to: &[&str]| {
        let mut command = Command::new("ucx_perftest");
        command
            .args(to)
            .env("UCX_TLS", transports)
            .env(
                "UCX_NET_DEVICES",
                if devices == "lo" { "lo" } else { "all" },
            )
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if handles_errors {
            command.arg("-e");
        }
        command.spawn()
    };
    let port = "13441";
    let Ok(mut server) = run(&["-p", port]) else {
        println!("{name:44} skipped: ucx_perftest is not here (package ucx-utils)");
        return;
    };
    thread::sleep(Duration::from_secs(1));
    let count = "100000000";
    let to = [
        "127.0.0.1",
        "-p",
        port,
        "-t",
        "ucp_am_lat",
        "-n",
        count,
        "-s",
        "8",
    ];
    let mut client = run(&to).unwrap();
    let (says, said) = mpsc::channel();
    for stream in [
        Box::new(client.stdout.take().unwrap()) as Box<dyn Read + Send>,
        Box::new(client.stderr.take().unwrap()),
    ] {
        let says = says.clone();
        thread::spawn(move || {
            for line in BufReader::new(stream).lines().map_while(Result::ok) {
                if line.contains("ERROR") {
                    let _ = says.send((Instant::now(), line));
                }
            }
        });
    }
    thread::sleep(Duration::from_secs(2));
    if let Ok((_, line)) = said.try_recv() {
        println!(
            "{name:44} {:>10} {:>12}  the test does not start: {}",
            "",
            "",
            short(&line)
        );
    } else {
        kill(Pid::from_raw(server.id() as i32), signal).unwrap();
        let begun = Instant::now();
        let told = said.recv_timeout(WATCHED).ok();
        thread::sleep(WATCHED.saturating_sub(begun.elapsed()));
        let ended = client.try_wait().unwrap();
        let after = told.as_ref().map_or("never".into(), |(when, _)| {
            format!("{:.1} ms", (*when - begun).as_secs_f64() * 1e3)
        });
        println!(
            "{name:44} {after:>10} {:>12}  {}; {} after {} s",
            "",
            told.as_ref().map_or("nothing", |(_, line)| short(line)),
            if ended.is_some() {
                "ended"
            } else {
                "still runs"
            },
            WATCHED.as_secs(),
        );
    }
    for process in [&mut server, &mut client] {
        let _ = process.kill();
        let _ = process.wait();
    }
}

fn short(line: &str) -> &str {
    line.split_once("ERROR")
        .map_or(line, |(_, message)| message.trim())
}
