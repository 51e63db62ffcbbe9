//! What a hook adds to a call, over calling the hooked function directly.
//!
//! Goals: switched off at most 1 ns, switched on with a delay of zero at most 4 ns
//! (`ibv_post_send` on a device that does nothing; `MPI_Send` of an MPI that does nothing: 5 ns).

mod driver;

use driver::{Driver, median};
use jitterlab_injector::units::DelayUnit;

const REPEATS: usize = 9;

fn main() {
    let mut driver = Driver::start();
    println!("ns a call, medians of {REPEATS} interleaved repeats of 3,001 batches");
    println!("{:<44} {:>8} {:>8} {:>8}", "", "direct", "hooked", "added");
    let calls = [
        ("post_send", "ibv_post_send"),
        ("MPI_Send", "MPI_Send"),
        ("send", "send on a UDP socket (refused)"),
        ("write", "write on /dev/null"),
    ];
    let states = [
        ("off", None),
        ("on, delay 0", Some((0, DelayUnit::Nanoseconds))),
    ];
    for (call, title) in calls {
        let mut measured = [const { Vec::new() }; 2];
        for _ in 0..REPEATS {
            for ((_, delay), measured) in states.iter().zip(&mut measured) {
                driver.inject(*delay);
                driver.ask(&format!("cost {call}"));
                measured.push(driver.ask(&format!("cost {call}")));
            }
        }
        for ((state, _), measured) in states.iter().zip(measured) {
            let column = |index: usize| median(measured.iter().map(|row| row[index]).collect());
            let added = median(measured.iter().map(|row| row[1] - row[0]).collect());
            let title = format!("{title}, {state}");
            println!(
                "{title:<44} {:>8.2} {:>8.2} {added:>8.2}",
                column(0),
                column(1)
            );
        }
    }
}
