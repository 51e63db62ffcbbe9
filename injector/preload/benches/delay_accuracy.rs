//! How far an injected delay is from the one that was asked for, measured from the program's
//! side: the time of a delayed `ibv_post_send` on a device that does nothing, less that of a
//! direct call.
//!
//! Goals on an otherwise idle core: median within 15 ns either way, 99th percentile under 60 ns.
//! Beside it, the paper's counting loop (calibrated right before), and nanosleep.
//!
//! A processor that is taken away while a wait ends makes it late, whatever does the waiting. So a
//! thread that only reads the counter measures, on the same processor between the repeats, how
//! much of the time is lost in gaps, and how many waits of each length would end late for it: where
//! that is more than 1 %, no wait has its 99th percentile under the goal.

mod driver;

use driver::{Driver, median};
use jitterlab_injector::units::DelayUnit;

const REPEATS: usize = 9;
const TARGETS: [u32; 4] = [200, 1_000, 5_000, 50_000];
/// How long gaps are looked for, each time.
const PROBE_MS: u32 = 100;

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
    let mut gaps = TARGETS.map(|asked| (asked, Vec::new()));
    for _ in 0..REPEATS {
        driver.inject(Some((100_000, DelayUnit::Spins)));
        let ns_per_round = driver.ask("spins")[0];
        for (asked, gaps) in &mut gaps {
            let asked = *asked;
            gaps.push(driver.ask(&format!("gaps {asked} {PROBE_MS}")));
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
    print_bound(&gaps);
}

/// What no wait can do better than, on this processor during the run.
fn print_bound(gaps: &[(u32, Vec<Vec<f64>>)]) {
    let lost = gaps.iter().flat_map(|(_, answers)| answers);
    let lost = median(lost.map(|answer| answer[0]).collect());
    println!(
        "\nbound: {lost:.2} % of this processor's time is lost, in gaps of more than 100 ns between two readings of the counter"
    );
    for (asked, answers) in gaps {
        let late = median(answers.iter().map(|answer| answer[1]).collect());
        let meaning = if late > 1.0 {
            "the p99 cannot be under 60 ns"
        } else {
            "leaves the p99 to the wait"
        };
        println!(
            "{asked:>8} ns: {late:>5.2} % of the waits end in a gap, over 60 ns late: {meaning}"
        );
    }
}
