//! Sends that a helper thread performs later.

mod common;

use common::{Ended, Lab};
use jitterlab_injector::control::Hook;
use jitterlab_injector::environment;

fn deferred(delay_ns: u32) -> Lab {
    Lab::constant(delay_ns).set(environment::MODE, "defer")
}

#[test]
fn every_call_is_deferred_and_arrives() {
    let ended = deferred(30_000).run("every_call", &["25"]);
    assert_eq!(ended.sum("delays"), 300);
    assert_eq!(ended.calls(Hook::SendMMsg), 50);
    assert_eq!(ended.sum("send_errors"), 0);
    assert_eq!(ended.sum("asked_ns"), 300 * 30_000);
    expect_each_delay_counted_once(&ended);
}

/// What is achieved is what is asked, and at most as much more for each delay as for the worst.
fn expect_each_delay_counted_once(ended: &Ended) {
    let [delays, asked, achieved, late] =
        ["delays", "asked_ns", "achieved_ns", "late_max_ns"].map(|name| ended.sum(name));
    assert!(achieved >= asked, "{:?}", ended.reports);
    // Ticks of the clock are no whole nanoseconds.
    assert!(
        achieved <= asked + delays * (late + 1),
        "{:?}",
        ended.reports
    );
}

#[test]
fn a_delay_is_counted_for_each_call_that_is_performed_and_no_other() {
    let ended = deferred(5_000_000).run("counted", &[]);
    let calls: u64 = ended.stdout().trim().parse().unwrap();
    assert_eq!(ended.sum("delays"), calls);
    assert_eq!(ended.sum("asked_ns"), calls * 5_000_000);
    expect_each_delay_counted_once(&ended);
}

#[test]
fn the_caller_goes_on_and_order_errors_and_ends_are_kept() {
    let delay = "5000000";
    let lab = deferred(delay.parse().unwrap());
    for ending in ["return", "pthread_exit"] {
        let ended = lab.run("defer", &[delay, ending]);
        // One and the same message, to nowhere, that did not leave.
        assert!(ended.sum("send_errors") >= 1);
    }
    assert!(lab.pages_left().is_empty());
}

/// The same programs that spinning leaves alone.
#[test]
fn programs_are_left_alone() {
    let lab = deferred(50_000);
    for name in [
        "fork", "exec", "errors", "signals", "stacks", "closing", "threads",
    ] {
        lab.run(name, &[]);
    }
}

/// A stream of which parent and child send parts stays in order, however the child was made.
#[test]
fn what_a_parent_deferred_goes_before_what_its_child_sends() {
    deferred(50_000_000).run("inherited", &[]);
}

#[test]
fn nothing_is_lost_where_nothing_more_can_wait() {
    let ended = deferred(400_000_000).run("full", &[]);
    assert_eq!(ended.sum("send_errors"), 0);
}

#[test]
fn what_is_not_deferred_keeps_its_place() {
    let lab = deferred(20_000_000);
    let file = lab.path("file");
    lab.run("around", &[file.to_str().unwrap()]);
}

#[test]
fn a_send_that_waits_is_interrupted_as_ever() {
    let lab = deferred(1_000);
    lab.run("interrupted", &[]);
    let program = lab.path("interrupted");
    lab.end(lab.command_without(program))
        .expect_done("interrupted, alone");
}

#[test]
fn room_in_a_lane_is_an_edge() {
    let lab = deferred(1_000_000);
    for kind in ["tcp", "udp"] {
        lab.run("edges", &[kind]);
    }
}
