//! The cost of the terminal UI for a ping-pong that it watches: `cargo bench -p jitterlab --bench watched [-- PAIRS]`.
//!
//! Client and server are on CPU 1. All else is on CPU 0: the controller, its workers, and in one half of each pair the UI on its
//! screen Live, in a pseudo-terminal. The halves of a pair follow each other, and the next pair has them in the other order.

#[path = "../tests/common/mod.rs"]
mod common;
#[path = "../tests/pty/mod.rs"]
mod pty;

use std::fs;
use std::process::Stdio;

use common::Lab;
use common::experiments::folder;
use core_affinity::CoreId;
use jitterlab_experiment::store::ResultFolder;
use jitterlab_stats::bootstrap::Bootstrap;
use jitterlab_stats::sorted;
use jitterlab_stats::summary::quantile;
use pty::Session;

const HOUSEKEEPING: usize = 0;
const EXPERIMENT: &str = "
name: watched
seed: 1
repetitions: 1
hosts: { client: { at: local, cpu: 1 }, server: { at: local, cpu: 1 } }
suites:
  packet:
    - { case: rtt, transports: [udp], from: client, to: server, size: 64B, warmup: 200ms, duration: 2s, wait: block }
";
/// Percentiles that are compared.
const SHARES: [(f64, &str); 2] = [(0.5, "median"), (0.999, "99.9 %")];

/// Percentiles of the round trips, in nanoseconds.
type Half = [f64; SHARES.len()];

fn main() {
    // `cargo bench` adds an option of its own.
    let mut words = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with('-'));
    let pairs: usize = words.next().map_or(40, |word| word.parse().unwrap());
    // All that is started begins there, too. The two ends go to their own CPU.
    assert!(core_affinity::set_for_current(CoreId { id: HOUSEKEEPING }));
    let lab = Lab::new();
    lab.write("e.yaml", EXPERIMENT);
    let mut both: Vec<[Half; 2]> = Vec::new();
    let mut bytes = Vec::new();
    for pair in 0..pairs {
        let mut halves = [[0.0; SHARES.len()]; 2];
        for half in [pair % 2, 1 - pair % 2] {
            halves[half] = match half {
                0 => headless(&lab),
                _ => watched(&lab, &mut bytes),
            };
        }
        both.push(halves);
    }
    for (at, (_, name)) in SHARES.into_iter().enumerate() {
        let [headless, watched] = [0, 1].map(|half| {
            let all: Vec<f64> = both.iter().map(|it| it[half][at]).collect();
            median(&all)
        });
        let ratios: Vec<f64> = both.iter().map(|[a, b]| b[at] / a[at]).collect();
        let bootstrap = Bootstrap {
            resamples: 10_000,
            ..Bootstrap::default()
        };
        let ratio = bootstrap.percentile(&ratios, median).unwrap();
        println!(
            "{name}: headless {headless:.0} ns, watched {watched:.0} ns, ratio {:.3} [{:.3}, {:.3}], {pairs} pairs",
            ratio.estimate, ratio.low, ratio.high
        );
    }
    println!("bytes drawn while it was watched: {:.0}", median(&bytes));
}

fn median(values: &[f64]) -> f64 {
    quantile(&sorted(values).unwrap(), 0.5)
}

fn headless(lab: &Lab) -> Half {
    clear(lab);
    let output = lab.run("run e.yaml --headless");
    assert!(output.status.success(), "{output:?}");
    measured(lab)
}

/// Measures the same while the UI shows it.
fn watched(lab: &Lab, bytes: &mut Vec<f64>) -> Half {
    clear(lab);
    let mut session = Session::start(lab, "ui", 80, 24);
    session.until("q leave");
    session.press("4");
    session.until("Nothing is being measured");
    let mut run = lab.command("run e.yaml --headless");
    let mut run = run.stdout(Stdio::null()).spawn().unwrap();
    session.until("closed loop");
    let before = session.bytes;
    let status = loop {
        // A terminal that nobody reads would hold it up.
        session.until_silent(100);
        if let Some(status) = run.try_wait().unwrap() {
            break status;
        }
    };
    assert!(status.success());
    bytes.push((session.bytes - before) as f64);
    session.press("q");
    assert_eq!(session.end().code(), Some(0));
    measured(lab)
}

fn clear(lab: &Lab) {
    let results = lab.path("results");
    if results.exists() {
        fs::remove_dir_all(results).unwrap();
    }
}

fn measured(lab: &Lab) -> Half {
    let folder = ResultFolder::open(&folder(lab)).unwrap();
    let [record] = folder.attempts() else {
        panic!("one run, and it is done at once");
    };
    let samples = sorted(&folder.samples(record).unwrap()).unwrap();
    SHARES.map(|(share, _)| quantile(&samples, share))
}
