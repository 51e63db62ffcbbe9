//! Starting agents on many hosts at the same time, against what ssh alone takes to get there as often:
//! `cargo bench -p jitterlab --bench agents [-- HOSTS [ROUNDS]]`, as root. All hosts are this machine, behind one server of ssh
//! on loopback whose `MaxStartups` is raised: as it usually is, it refuses some of more than ten at a time.
//!
//! In each round `xargs -P HOSTS ssh HOST true`, and then as many agents until the last has answered; what is compared is the
//! median of the ratios of a round.

#[path = "../tests/common/mod.rs"]
mod common;
#[path = "../tests/ssh/mod.rs"]
mod ssh;

use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::Lab;
use jitterlab_cluster::{Controller, Host, Trust, Worker, together};

const PROGRAM: &str = env!("CARGO_BIN_EXE_jitterlab");

/// Said to the program that measures, which has a PATH whose `ssh` leads to the server: the file with the names of the hosts.
const NAMES: &str = "JITTERLAB_BENCH_NAMES";

fn main() {
    if !nix::unistd::geteuid().is_root() {
        eprintln!("only root may start a server of ssh");
        return;
    }
    // `cargo bench` adds an option of its own.
    let mut words = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with('-'));
    let mut number = |default| {
        let word = words.next();
        word.and_then(|word| word.parse().ok()).unwrap_or(default)
    };
    let (hosts, rounds): (usize, usize) = (number(64), number(5));
    match std::env::var_os(NAMES) {
        Some(names) => measure(Path::new(&names), rounds),
        None => {
            let lab = Lab::new();
            let names: Vec<String> = (1..=hosts).map(|i| format!("n{i}")).collect();
            lab.write("names", names.join("\n"));
            let (_server, path) = server(&lab);
            let measured = Command::new(std::env::current_exe().unwrap())
                .args([hosts.to_string(), rounds.to_string()])
                .env(NAMES, lab.path("names"))
                .env("PATH", path)
                .status();
            assert!(measured.unwrap().success());
        }
    }
}

fn measure(file: &Path, rounds: usize) {
    let names = std::fs::read_to_string(file).unwrap();
    let names: Vec<&str> = names.lines().collect();
    let mut ratios = Vec::new();
    for round in 1..=rounds {
        let (ssh, agents) = (xargs(file, names.len()), agents(&names));
        let ratio = agents.as_secs_f64() / ssh.as_secs_f64();
        println!(
            "round {round}: xargs -P{n} ssh HOST true {:.0} ms, {n} agents {:.0} ms, ratio {ratio:.2}",
            1e3 * ssh.as_secs_f64(),
            1e3 * agents.as_secs_f64(),
            n = names.len(),
        );
        ratios.push(ratio);
    }
    ratios.sort_by(f64::total_cmp);
    println!("median ratio {:.2}", ratios[ratios.len() / 2]);
}

/// A server of ssh, which ends with this value.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts it; gives the PATH whose `ssh` leads to it.
fn server(lab: &Lab) -> (Server, String) {
    let path = ssh::path_to_sshd(lab);
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let settings = lab.read("sshd_config");
    lab.write(
        "sshd_config",
        format!("{settings}Port {port}\nListenAddress 127.0.0.1\nMaxStartups 1000\n"),
    );
    let of_client = lab.read("ssh_config");
    let lines = of_client
        .lines()
        .map(|line| match line.contains("ProxyCommand") {
            true => format!("  HostName 127.0.0.1\n  Port {port}\n"),
            false => format!("{line}\n"),
        });
    lab.write("ssh_config", lines.collect::<String>());
    let server = Command::new("/usr/sbin/sshd")
        .args(["-D", "-f"])
        .arg(lab.path("sshd_config"))
        .spawn()
        .unwrap();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        std::thread::yield_now();
    }
    (Server(server), path)
}

fn xargs(names: &Path, at_once: usize) -> Duration {
    let begin = Instant::now();
    let status = Command::new("xargs")
        .arg("-a")
        .arg(names)
        .args([&format!("-P{at_once}"), "-I{}", "ssh", "{}", "true"])
        .stdin(Stdio::null())
        .status();
    let took = begin.elapsed();
    assert!(status.unwrap().success());
    took
}

fn agents(names: &[&str]) -> Duration {
    let controller = Controller::new(PROGRAM.into(), Trust::Known);
    let begin = Instant::now();
    let started = together(names, |name| {
        let mut host = Host::at(format!("ssh {name}").parse().unwrap());
        host.jitterlab = Some(PROGRAM.into());
        Worker::start(name, &host, &controller, |_, _| {})
    });
    let took = begin.elapsed();
    for (name, worker) in &started {
        assert!(worker.is_ok(), "{name}: {:?}", worker.as_ref().err());
    }
    took
}
