//! The time that a hook adds to a call, over calling the hooked function directly.
//!
//! Beside it, what a function adds that jumps on and does nothing else: nothing that stands there costs less.
//! Both in a loop of nothing but the call, where after a system call every further line of code shows, and in a program with code of
//! its own between two calls, four to twelve cache lines of it (median of these nine).
//!
//! Goals: switched off at most 1 ns, switched on with a delay of zero at most 4 ns
//! (`ibv_post_send` on a device that does nothing; `MPI_Send` of an MPI that does nothing: 5 ns).
//!
//! A core whose other hardware thread is at work does half as much, and the hook then costs three times as much: a
//! virtual machine's core is so by turns of seconds. Both are printed, each with how often it was so.

mod driver;

use driver::{Driver, median};
use jitterlab_injector::table::DelayUnit;

/// As many repeats with the core to itself are waited for,
const REPEATS: usize = 9;
/// but no more made than this.
const MOST_REPEATS: usize = 90;
/// The core is shared where fewer additions are made at once than this share of the most there were.
const ALONE: f64 = 0.9;

/// One repeat: ns a call, and how many additions the processor made at once.
struct Repeat {
    /// A direct call, in a loop of nothing else.
    direct: f64,
    /// What the hook adds, and the jump: in that loop,
    added: [f64; 2],
    /// and in a program with code of its own.
    with_code: [f64; 2],
    at_once: f64,
}

fn main() {
    let mut driver = Driver::start();
    println!("ns a call, medians of interleaved repeats of 101 batches at each of ten places");
    println!(
        "{:<44} {:<6} {:>7} {:>8} {:>8} {:>8} {:>9} {:>8}",
        "", "core", "repeats", "direct", "added", "by jump", "with code", "by jump"
    );
    let calls = [
        ("post_send", "ibv_post_send"),
        ("MPI_Send", "MPI_Send"),
        ("send", "send on a UDP socket (refused)"),
        ("write", "write on a UDP socket (refused)"),
        ("write_file", "write on /dev/null"),
    ];
    let states = [
        ("off", None),
        ("on, delay 0", Some((0, DelayUnit::Nanoseconds))),
    ];
    let mut most_at_once = 0.0;
    for (call, title) in calls {
        let mut measured = [const { Vec::<Repeat>::new() }; 2];
        while measured.iter().any(|repeats| {
            let alone = repeats
                .iter()
                .filter(|repeat| repeat.is_alone(most_at_once));
            alone.count() < REPEATS && repeats.len() < MOST_REPEATS
        }) {
            for ((_, delay), measured) in states.iter().zip(&mut measured) {
                driver.inject(*delay);
                driver.ask(&format!("cost {call}"));
                let answer = driver.ask(&format!("cost {call}"));
                most_at_once = f64::max(most_at_once, answer[5]);
                measured.push(Repeat {
                    direct: answer[0],
                    added: [answer[1], answer[2]],
                    with_code: [answer[3], answer[4]],
                    at_once: answer[5],
                });
            }
        }
        for ((state, _), repeats) in states.iter().zip(measured) {
            let (alone, shared): (Vec<_>, Vec<_>) = repeats
                .into_iter()
                .partition(|repeat| repeat.is_alone(most_at_once));
            for (core, repeats) in [("alone", alone), ("shared", shared)] {
                if !repeats.is_empty() {
                    print(&format!("{title}, {state}"), core, &repeats);
                }
            }
        }
    }
    println!("additions at once: {most_at_once:.2} with the core alone");
}

impl Repeat {
    fn is_alone(&self, most_at_once: f64) -> bool {
        self.at_once >= ALONE * most_at_once
    }
}

fn print(title: &str, core: &str, repeats: &[Repeat]) {
    let column = |figure: fn(&Repeat) -> f64| median(repeats.iter().map(figure).collect());
    println!(
        "{title:<44} {core:<6} {:>7} {:>8.2} {:>8.2} {:>8.2} {:>9.2} {:>8.2}",
        repeats.len(),
        column(|repeat| repeat.direct),
        column(|repeat| repeat.added[0]),
        column(|repeat| repeat.added[1]),
        column(|repeat| repeat.with_code[0]),
        column(|repeat| repeat.with_code[1])
    );
}
