//! The common part of comparisons with other programs: both ends on a CPU each, as processes that are ended.

use std::net::SocketAddr;
use std::process::{Child, Command};

use jitterlab_packet::server;
use jitterlab_packet::transport::Transport;
use jitterlab_stats::sorted;
use jitterlab_stats::summary::quantile;
use jitterlab_verbs::Adapter;

pub const CLIENT_CPU: &str = "0";
pub const SERVER_CPU: &str = "1";

pub fn quantile_of(values: &[f64], q: f64) -> f64 {
    quantile(&sorted(values).unwrap(), q)
}

/// A program on one CPU.
pub fn on_cpu(cpu: &str, program: &str) -> Command {
    let mut command = Command::new("taskset");
    command.args(["-c", cpu, program]);
    command
}

/// This program on one CPU.
pub fn ourselves(cpu: &str, words: &[&str]) -> Command {
    let program = std::env::current_exe().unwrap();
    let mut command = on_cpu(cpu, program.to_str().unwrap());
    command.args(words);
    command
}

/// Our server, which says where it listens.
pub fn serve(transport: Transport) {
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    let adapter = Adapter::default();
    server::serve(transport, any, &adapter, |address| println!("{address}")).unwrap();
}

pub fn end(mut server: Child) {
    server.kill().unwrap();
    server.wait().unwrap();
}
