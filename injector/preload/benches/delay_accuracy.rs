//! How far an injected delay is from the one that was asked for, measured from the program's
//! side: the time of a delayed `ibv_post_send` on a device that does nothing, less that of a
//! direct call.
//!
//! Goals on an otherwise idle core: median within 15 ns either way, 99th percentile under 60 ns.
//! Beside it, the paper's counting loop (calibrated right before), and nanosleep.

mod driver;

use driver::{Driver, median};
use jitterlab_injector::units::DelayUnit;

const REPEATS: usize = 9;
const TARGETS: [u32; 4] = [200, 1_000, 5_000, 50_000];

fn main() {
    let mut driver = Driver::start();
    println!(
        "error of a delay in ns (achieved less asked), medians of {REPEATS} interleaved repeats"
    );
    println!(
        "{:<28} {:>8} {:>9} {:>9} {:>9} {:>9}",
        "", "asked", "p1", "p50", "p99", "p99.9"
    );
    let mut rows: Vec<(String, u32, Vec<Vec<f64>>)> = Vec::new();
    for _ in 0..REPEATS {
        driver.inject(Some((100_000, DelayUnit::Spins)));
        let ns_per_round = driver.ask("spins")[0];
        for asked in TARGETS {
            let samples = 20_000_000 / (asked + 1_000);
            driver.inject(Some((asked, DelayUnit::Nanoseconds)));
            let spin = driver.ask(&format!("delay {asked} {samples} hook"));
            let rounds = (f64::from(asked) / ns_per_round).round() as u32;
            driver.inject(Some((rounds, DelayUnit::Spins)));
            let count = driver.ask(&format!("delay {asked} {samples} hook"));
            let samples = 20_000_000 / (asked + 60_000);
            let tight = driver.ask(&format!("delay {asked} {samples} tight"));
            let sleep = driver.ask(&format!("delay {asked} {samples} sleep"));
            for (method, answer) in [
                ("spin", spin),
                ("counting loop (the paper's)", count),
                ("nanosleep, slack 1 ns", tight),
                ("nanosleep", sleep),
            ] {
                match rows
                    .iter_mut()
                    .find(|row| row.0 == method && row.1 == asked)
                {
                    Some(row) => row.2.push(answer),
                    None => rows.push((method.into(), asked, vec![answer])),
                }
            }
        }
    }
    rows.sort_by_key(|row| row.1);
    for (method, asked, answers) in rows {
        let column = |index: usize| median(answers.iter().map(|row| row[index]).collect());
        println!(
            "{method:<28} {asked:>8} {:>9.0} {:>9.0} {:>9.0} {:>9.0}",
            column(0),
            column(1),
            column(2),
            column(3)
        );
    }
}
