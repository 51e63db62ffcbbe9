//! A cluster of network namespaces on a bridge, in which hosts and pairs can be slowed.

// Each program that uses it has its own part of this.
#![allow(dead_code)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

use jitterlab_skip::built;
use serde_json::Value;

use crate::common::experiments::until;
use crate::common::{Lab, text};

/// A command that has to succeed.
fn done(command: &str) {
    let mut words = command.split_whitespace();
    let status = Command::new(words.next().unwrap()).args(words).status();
    assert!(status.unwrap().success(), "{command}");
}

/// Whether namespaces can be made; says so if not.
pub fn is_root() -> bool {
    jitterlab_skip::is_root("make network namespaces")
}

/// What is slow. Hosts are counted from 1, as their names are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Slow {
    Nothing,
    Node(usize),
    Pair(usize, usize),
}

/// Namespaces with a cable each to a bridge in one more; they go with this value.
pub struct Cluster {
    pub lab: Lab,
    prefix: String,
    hosts: usize,
}

impl Cluster {
    /// With hosts `n1`, `n2` and so on.
    pub fn new(hosts: usize) -> Self {
        static MADE: AtomicU32 = AtomicU32::new(0);
        built();
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let cluster = Cluster {
            lab: Lab::new(),
            prefix: format!("jlv-{}-{number}-", std::process::id()),
            hosts,
        };
        let bridge = cluster.namespace(0);
        done(&format!("ip netns add {bridge}"));
        done(&format!("ip -n {bridge} link add br0 type bridge"));
        done(&format!("ip -n {bridge} link set br0 up"));
        for host in 1..=hosts {
            let name = cluster.namespace(host);
            done(&format!("ip netns add {name}"));
            done(&format!(
                "ip -n {name} link add veth0 type veth peer name port{host} netns {bridge}"
            ));
            done(&format!("ip -n {bridge} link set port{host} master br0 up"));
            done(&format!(
                "ip -n {name} address add {}/24 dev veth0",
                address(host)
            ));
            done(&format!("ip -n {name} link set veth0 up"));
            done(&format!("ip -n {name} link set lo up"));
        }
        // The kernel says up to a second later that a device is running, and an MPI takes no other: it would use loopback.
        until(|| (1..=hosts).all(|host| cluster.is_running(host)));
        fs::create_dir(cluster.lab.path("bin")).unwrap();
        cluster
    }

    fn is_running(&self, host: usize) -> bool {
        let link = Command::new("ip")
            .args(["-n", &self.namespace(host)])
            .args(["-oneline", "link", "show", "veth0"])
            .output();
        text(&link.unwrap().stdout).contains(" state UP ")
    }

    /// The namespace of a host; of the bridge, 0.
    pub fn namespace(&self, host: usize) -> String {
        format!("{}{host}", self.prefix)
    }

    /// A host as a hosts file describes it. All are on one CPU: a round trip has no wake-up of another CPU
    /// in it then, which takes as long as it likes.
    pub fn host(&self, host: usize) -> String {
        let (name, address) = (self.namespace(host), address(host));
        format!("  n{host}: {{ at: netns {name}, address: {address}, cpu: 0 }}\n")
    }

    /// Writes `h.yaml` with the first hosts, the rest as spares, and other keys.
    pub fn write(&self, hosts: usize, keys: &str) {
        let lines = |from: usize, to: usize| (from..=to).map(|host| self.host(host));
        let spares: String = lines(hosts + 1, self.hosts).collect();
        let hosts: String = lines(1, hosts).collect();
        let spares = match spares.is_empty() {
            true => spares,
            false => format!("spares:\n{spares}"),
        };
        self.lab
            .write("h.yaml", format!("hosts:\n{hosts}{spares}{keys}"));
    }

    /// Slows a host or a pair by `delay`: from now on `jitterlab inject run` puts so much before each
    /// message that it sends. A pair is slowed at whichever host asks. A worker starts every program with
    /// `setpriv`, so that is where this comes in.
    pub fn slow(&self, slow: Slow, delay: &str) {
        let _ = fs::remove_file(self.lab.path("d.dist"));
        self.lab.done(&format!(
            "dist make --shape constant --mean {delay} -o d.dist"
        ));
        self.lab.write("s.seed", "1\n");
        let asks = |client, server| {
            format!(
                "\"{} \"*\" --to {}:\"*",
                self.namespace(client),
                address(server)
            )
        };
        let when = match slow {
            Slow::Nothing => String::new(),
            Slow::Node(host) => format!("\"{} \"*packet*) inject \"$@\";;\n", self.namespace(host)),
            Slow::Pair(a, b) => format!("{}|{}) inject \"$@\";;\n", asks(a, b), asks(b, a)),
        };
        let folder = self.lab.path("");
        self.wrap(&format!(
            "inject() {{ exec {program} inject run --table {folder}d.dist --seed {folder}s.seed \
             --hook socket -- /usr/bin/setpriv \"$@\"; }}\n\
             case \"$host $*\" in\n{when}esac\n",
            program = env!("CARGO_BIN_EXE_jitterlab"),
            folder = folder.display(),
        ));
    }

    /// Puts lines of shell before every program that a worker starts; `$host` is its namespace. No process is started
    /// to find that out: this comes before each measurement.
    pub fn wrap(&self, lines: &str) {
        let script = format!(
            "#!/bin/sh\n\
             for at in /run/netns/{}*; do [ /proc/self/ns/net -ef \"$at\" ] && break; done\n\
             host=${{at##*/}}\n\
             {lines}exec /usr/bin/setpriv \"$@\"\n",
            self.prefix
        );
        self.lab.write("bin/setpriv", script);
        let permissions = fs::Permissions::from_mode(0o755);
        fs::set_permissions(self.lab.path("bin/setpriv"), permissions).unwrap();
    }

    /// `jitterlab validate h.yaml` with these options, not started yet.
    pub fn command(&self, options: &str) -> Command {
        let mut command = self
            .lab
            .command(&format!("validate h.yaml --transport {options}"));
        command.env("PATH", self.lab.path_with_bin());
        command
    }

    /// Runs it; gives what it said and its JSON.
    pub fn validated(&self, options: &str) -> (Output, Value) {
        let output = self
            .command(&format!("{options} --format json"))
            .output()
            .unwrap();
        let json = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}", text(&output.stderr)));
        (output, json)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for host in 0..=self.hosts {
            let name = self.namespace(host);
            let _ = Command::new("ip").args(["netns", "delete", &name]).status();
        }
    }
}

fn address(host: usize) -> String {
    format!("10.72.0.{host}")
}

/// The hosts that are outliers.
pub fn slow_nodes(attempt: &Value) -> Vec<String> {
    let nodes = attempt["nodes"].as_array().unwrap().iter();
    nodes
        .filter(|node| node["outlier"] == true)
        .map(|node| node["host"].as_str().unwrap().into())
        .collect()
}

/// The pairs that are outliers.
pub fn slow_pairs(attempt: &Value) -> Vec<[String; 2]> {
    let pairs = attempt["pairs"].as_array().unwrap().iter();
    pairs
        .filter(|pair| pair["outlier"] == true)
        .map(|pair| [0, 1].map(|i| pair["hosts"][i].as_str().unwrap().into()))
        .collect()
}
