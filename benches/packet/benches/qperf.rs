//! Our streams against qperf's, on the loopback of this machine: the same size, sleeping at both ends, the
//! same two CPUs, in interleaved pairs. qperf has no window: the system's memory is one, over UDP what does not
//! fit is lost, and what it says of the receiver is compared.
//!
//!     cargo bench -p jitterlab-packet --bench qperf

mod peers;

use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpStream};
use std::process::Stdio;

use jitterlab_base::units::{Bytes, Nanos};
use jitterlab_packet::cases::bandwidth::{Bandwidth, Point};
use jitterlab_packet::cases::rtt::Length;
use jitterlab_packet::transport::{Buffers, Link, Transport, Wait};

use peers::{CLIENT_CPU, SERVER_CPU, end, on_cpu, ourselves, quantile_of, serve};

const PAIRS: usize = 10;
const SECONDS: u64 = 2;
const PORT: &str = "17412";

/// Transport, bytes of a message, window, and qperf's test with what it says of the end that receives.
const STREAMS: [(Transport, u64, u32, [&str; 2]); 3] = [
    (Transport::Tcp, 64 << 10, 100, ["tcp_bw", "bw"]),
    (Transport::Tcp, 64 << 10, 16, ["tcp_bw", "bw"]),
    (Transport::Udp, 32 << 10, 8, ["udp_bw", "recv_bw"]),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["serve", transport] => serve(transport.parse().unwrap()),
        ["ask", transport, size, window, to] => ask(
            transport.parse().unwrap(),
            Bytes(size.parse().unwrap()),
            window.parse().unwrap(),
            to.parse().unwrap(),
        ),
        _ => compare(),
    }
}

fn compare() {
    println!(
        "bandwidth in MB/s on loopback, client on CPU {CLIENT_CPU}, server on CPU {SERVER_CPU}: medians over \
         {PAIRS} interleaved pairs of {SECONDS} s;\nratio: ours / qperf's, median of the pairs [least, greatest]\n"
    );
    let qperf = on_cpu(SERVER_CPU, "qperf").args(["-lp", PORT]).spawn();
    let qperf = qperf.expect("qperf is not there");
    while TcpStream::connect(("127.0.0.1", PORT.parse().unwrap())).is_err() {
        std::thread::yield_now();
    }
    for (transport, size, window, test) in STREAMS {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for pair in 0..PAIRS {
            // The one that goes first alternates, so that a drift of the machine favours nobody.
            for first in [true, false] {
                if first == (pair % 2 == 0) {
                    ours.push(our_round(transport, size, window));
                } else {
                    theirs.push(their_round(size, test));
                }
            }
        }
        let ratios: Vec<f64> = std::iter::zip(&ours, &theirs).map(|(o, t)| o / t).collect();
        println!(
            "{transport}, {size} B, {window:3} under way: {:7.0} {:7.0}   {:.3} [{:.3}, {:.3}]",
            quantile_of(&ours, 0.5),
            quantile_of(&theirs, 0.5),
            quantile_of(&ratios, 0.5),
            quantile_of(&ratios, 0.0),
            quantile_of(&ratios, 1.0),
        );
    }
    end(qperf);
}

fn our_round(transport: Transport, size: u64, window: u32) -> f64 {
    let mut command = ourselves(SERVER_CPU, &["serve", transport.name()]);
    let mut server = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut listening = String::new();
    let mut stdout = BufReader::new(server.stdout.take().unwrap());
    stdout.read_line(&mut listening).unwrap();
    let words = [
        "ask",
        transport.name(),
        &size.to_string(),
        &window.to_string(),
        listening.trim(),
    ];
    let asked = ourselves(CLIENT_CPU, &words).output().unwrap();
    end(server);
    let said = String::from_utf8(asked.stdout).unwrap();
    said.trim().parse().expect("our client failed")
}

fn ask(transport: Transport, size: Bytes, window: u32, to: SocketAddr) {
    let case = Bandwidth {
        link: Link::of(transport),
        size,
        wait: Wait::Block,
        window,
        buffers: Buffers::Fifo(1),
        both: false,
        computing: Nanos(0),
        warmup: Length::Time(Nanos(50_000_000)),
        length: Length::Time(Nanos(SECONDS * 1_000_000_000)),
        timeout: Nanos(100_000_000),
    };
    let point = Point::of(size, &case.run(to).unwrap()).unwrap();
    println!("{}", point.bytes_per_second / 1e6);
}

fn their_round(size: u64, [test, figure]: [&str; 2]) -> f64 {
    let mut command = on_cpu(CLIENT_CPU, "qperf");
    command.args(["-lp", PORT, "127.0.0.1", "-t", &SECONDS.to_string()]);
    // All of them are in bytes a second.
    command.args(["-m", &size.to_string(), "-uu", test]);
    let said = String::from_utf8(command.output().unwrap().stdout).unwrap();
    let line = said.lines().map(str::trim).find(|line| {
        let name = line.split_whitespace().next();
        name == Some(figure)
    });
    let line = line.unwrap_or_else(|| panic!("no {figure}: {said}"));
    let (_, value) = line.split_once('=').unwrap();
    let words: Vec<&str> = value.split_whitespace().collect();
    let [number, unit] = words[..] else {
        panic!("{line}");
    };
    let scale = match unit {
        "bytes/sec" => 1e-6,
        "KB/sec" => 1e-3,
        "MB/sec" => 1.0,
        "GB/sec" => 1e3,
        _ => panic!("{line}"),
    };
    number.replace(',', "").parse::<f64>().unwrap() * scale
}
