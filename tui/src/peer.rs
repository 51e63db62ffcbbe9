//! The other end of a measurement: a server of ours that is there, or one that is started for it.

use std::io::{self, BufRead, BufReader, Read};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::str::FromStr;

use jitterlab_injector::environment;
use serde::Deserialize;

use crate::cpus::beside;
use crate::outcome::Failure;

/// The other end.
pub enum Peer {
    /// It was there.
    Existing(SocketAddr),
    /// It was started, and ends with this value.
    Started(Server<SocketAddr>),
}

/// A server that was started; it ends when its stdin does.
pub struct Server<A> {
    /// The address that it listens at.
    pub address: A,
    child: Child,
    stdin: Option<ChildStdin>,
}

/// An address to listen on.
///
/// # Errors
/// The text is no IP address with a port.
pub fn listening(text: &str) -> Result<SocketAddr, String> {
    text.parse()
        .map_err(|_| format!("`{text}` is not an IP address with a port, as in `127.0.0.1:7411`"))
}

/// The line of a server that is ready.
#[derive(Deserialize)]
struct Ready {
    listening: String,
}

impl Peer {
    /// The peer that `to` names.
    ///
    /// Without `to`, and with a loopback host without a port, one is started on that address by
    /// `serve`, the arguments of `jitterlab` that make a server. Otherwise one has to be there;
    /// `port` is the one to expect it on.
    pub fn new(to: Option<&str>, port: u16, serve: &[String]) -> Result<Self, Failure> {
        let Some(to) = to else {
            return start(Ipv4Addr::LOCALHOST.into(), serve);
        };
        if let Ok(address) = to.parse::<SocketAddr>() {
            return Ok(Peer::Existing(address));
        }
        let with_port = to
            .rsplit_once(':')
            .is_some_and(|(_, port)| port.parse::<u16>().is_ok())
            && to.parse::<IpAddr>().is_err();
        let address = if with_port {
            resolve(to)?
        } else {
            resolve((to, port)).map_err(|_| unknown(to))?
        };
        if !with_port && address.ip().is_loopback() {
            return start(address.ip(), serve);
        }
        Ok(Peer::Existing(address))
    }

    /// True if it was started here.
    pub fn is_started(&self) -> bool {
        matches!(self, Peer::Started(_))
    }

    /// The address that it listens at.
    pub fn address(&self) -> SocketAddr {
        match self {
            Peer::Existing(address) => *address,
            Peer::Started(server) => server.address,
        }
    }
}

fn resolve(name: impl ToSocketAddrs + std::fmt::Debug) -> Result<SocketAddr, Failure> {
    name.to_socket_addrs()
        .ok()
        .and_then(|mut addresses| addresses.next())
        .ok_or_else(|| unknown(&format!("{name:?}")))
}

fn unknown(name: &str) -> Failure {
    Failure::input(format!(
        "{name} is not a host or HOST:PORT that can be resolved"
    ))
}

/// One of ours at an address.
fn start(ip: IpAddr, serve: &[String]) -> Result<Peer, Failure> {
    let bind = ["--bind".into(), SocketAddr::new(ip, 0).to_string()];
    Server::start(&[serve, &bind].concat()).map(Peer::Started)
}

impl<A: FromStr> Server<A> {
    /// Starts one by the arguments of `jitterlab` that make it. It is a process of its own, so that what is injected into
    /// this one does not reach it.
    pub fn start(serve: &[String]) -> Result<Self, Failure> {
        let program = std::env::current_exe().map_err(Failure::run)?;
        let mut command = Command::new(program);
        command
            .args(serve)
            .arg("--until-stdin-closes")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Ctrl-C is for whoever measures, who still has to ask what has arrived. This one ends with it.
            .process_group(0);
        if environment::injects() {
            command.env_remove("LD_PRELOAD");
        }
        let mut child = command.spawn().map_err(Failure::run)?;
        let stdin = child.stdin.take();
        let mut line = String::new();
        if let Some(stdout) = child.stdout.take() {
            BufReader::new(stdout)
                .read_line(&mut line)
                .map_err(Failure::run)?;
        }
        let mut stderr = child.stderr.take();
        let ready = serde_json::from_str::<Ready>(&line).ok();
        let Some(address) = ready.and_then(|ready| ready.listening.parse().ok()) else {
            return Err(not_up(child, stderr));
        };
        if let Some(mut stderr) = stderr.take() {
            beside(|| std::thread::spawn(move || io::copy(&mut stderr, &mut io::stderr())));
        }
        Ok(Server {
            address,
            child,
            stdin,
        })
    }
}

/// The output of a server that did not come up is the message, and its status ours.
fn not_up(mut child: Child, stderr: Option<impl Read>) -> Failure {
    let mut said = String::new();
    if let Some(mut stderr) = stderr {
        let _ = stderr.read_to_string(&mut said);
    }
    let why = said.trim().trim_start_matches("jitterlab: ");
    let message = format!("the server for this measurement did not come up: {why}");
    match child.wait().ok().and_then(|status| status.code()) {
        Some(2) => Failure::input(message),
        _ => Failure::run(message),
    }
}

impl<A> Drop for Server<A> {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let _ = self.child.wait();
    }
}

/// Ends this process when its stdin does: whoever started it has gone.
pub fn end_with_stdin() {
    beside(|| {
        std::thread::spawn(|| {
            let _ = io::copy(&mut io::stdin(), &mut io::sink());
            std::process::exit(0);
        })
    });
}
