//! The findings of an experiment on programs whose slowdown is known: `cargo bench --workspace --bench known_law`.
//!
//! Three programs send messages to themselves and then sleep. The first sleeps as long as the longest delay of each eight messages, so it is
//! slowed by variation at a fixed mean. The second sleeps as long as all delays together, so the mean alone slows it. The third always sleeps
//! equally long. Each time varies from run to run besides. The delays are injected: constant ones, and lognormal ones of the same mean.

#[path = "../tests/common/mod.rs"]
mod common;

use std::fs;

use common::{Lab, text};
use jitterlab_stats::distribution::Distribution;

/// Mean and standard deviation of the delays, in microseconds.
const DELAY_US: f64 = 500.0;
/// Messages in a group. The first program waits for the slowest of them.
const GROUP: u32 = 8;
/// The variation of a time from run to run, as a share.
const SCATTER: f64 = 0.04;

/// Name, and what it sleeps of the delays `@d`, in seconds.
const PROGRAMS: [(&str, &str); 3] = [
    ("variation", "while (@d) { $s += max(splice(@d, 0, 8)) }"),
    ("mean", "$s = sum(@d)"),
    ("null", "$s = 0.02"),
];

fn main() {
    let lab = Lab::new();
    lab.write("e.yaml", experiment());
    let output = lab.run("run e.yaml --headless --results made");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
    let made = fs::read_dir(lab.path("made")).unwrap().next().unwrap();
    fs::rename(made.unwrap().path(), lab.path("folder")).unwrap();
    let expected = [longest_over_mean(), 1.0, 1.0];
    for ((name, _), expected) in PROGRAMS.iter().zip(expected) {
        let compared = lab.run(&format!(
            "analyze folder --a application-{name}.delay-{DELAY_US}us --b application-{name}.lognormal-{DELAY_US}us-{DELAY_US}us"
        ));
        println!(
            "{name}: varied over constant delays, by its law {:+.1} %\n{}",
            100.0 * (expected - 1.0),
            text(&compared.stdout)
        );
    }
}

fn experiment() -> String {
    let programs: String = PROGRAMS
        .iter()
        .map(|(name, sleeps)| {
            // Box and Muller (1958).
            let program = format!(
                "use Socket; use List::Util qw(max sum); use Time::HiRes qw(sleep time); \
                 socket(S, PF_INET, SOCK_DGRAM, 0); bind(S, sockaddr_in(0, INADDR_LOOPBACK)); connect(S, getsockname(S)); \
                 for (1..128) {{ $t = time; send(S, 'x', 0); push(@d, time - $t); recv(S, $b, 1, 0) }} {sleeps}; \
                 $t = time; sleep($s * exp({SCATTER} * sqrt(-2 * log(1 - rand)) * cos(6.283185307179586 * rand))); \
                 printf 'took %f s', time - $t"
            );
            let command = serde_json::to_string(&["perl", "-e", &program]).unwrap();
            format!(
                "    - {{ name: {name}, client: {{ on: here, command: {command} }}, \
                 runtime: {{ pattern: 'took ([0-9.]+) s', unit: s }} }}\n"
            )
        })
        .collect();
    format!(
        "name: known-law\nseed: 1\nrepetitions: auto\nresolve: 10 %\nat_most: 6min\nhosts: {{ here: {{ at: local, cpu: 1 }} }}\n\
         levels: {{ injected: {{ delays: [{DELAY_US}us], shape: lognormal, mean: [{DELAY_US}us], std: [{DELAY_US}us] }} }}\n\
         suites:\n  application:\n{programs}"
    )
}

/// The mean of the longest of so many delays over the mean of one: the integral of the quantile function at u^(1/n) over u from 0 to 1.
fn longest_over_mean() -> f64 {
    const STEPS: u32 = 1_000_000;
    let shape = 2f64.ln().sqrt();
    let law = Distribution::LogNormal {
        shape,
        location: 0.0,
        scale: (-shape * shape / 2.0).exp(),
    };
    let at = |step: u32| ((f64::from(step) + 0.5) / f64::from(STEPS)).powf(1.0 / f64::from(GROUP));
    (0..STEPS).map(|step| law.quantile(at(step))).sum::<f64>() / f64::from(STEPS)
}
