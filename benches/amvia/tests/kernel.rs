//! What the tracepoints of this machine's kernel tell of a datagram.

use std::process::Command;

use jitterlab_amvia_suite::performability::{Kernel, Over, Step, kernel};
use jitterlab_packet::transport::Transport;
use jitterlab_skip::skip;
use nix::sched::{CloneFlags, unshare};

fn mount(arguments: &[&str]) -> bool {
    let done = Command::new("mount").args(arguments).status();
    done.is_ok_and(|status| status.success())
}

#[test]
fn steps_of_datagrams_are_told_apart() {
    // This thread and those that it starts see the tracing file system; the machine does not.
    if unshare(CloneFlags::CLONE_NEWNS).is_err() {
        return skip("only root may make a mount namespace");
    }
    assert!(mount(&["--make-rprivate", "/"]));
    let tracing = "/sys/kernel/tracing";
    if !mount(&["-t", "tracefs", "tracefs", tracing]) {
        return skip("there is no tracing file system");
    }
    let traced = match kernel(&Over::of(Transport::Udp), 32).unwrap() {
        Kernel::Traced(traced) => traced,
        Kernel::NotTraced(reason)
            if ["this kernel", "the trace of this", "this machine's clock"]
                .iter()
                .any(|lacks| reason.starts_with(lacks)) =>
        {
            return skip(&reason);
        }
        Kernel::NotTraced(reason) => panic!("{reason}"),
    };
    // A request and a reply of each transaction.
    assert!(traced.frames + traced.left_out >= 2_000, "{traced:?}");
    let steps: Vec<Step> = traced.steps.iter().map(|it| it.step).collect();
    assert_eq!(steps, Step::ALL);
    // A reader may be there before its datagram.
    let seen = traced.steps.iter().filter(|it| it.step != Step::Wait);
    for passed in seen {
        assert!(passed.median_ns > 0.0, "{traced:?}");
        assert!(passed.median_ns < traced.traced_round_trip_ns, "{traced:?}");
    }
    let instance = format!("{tracing}/instances/jitterlab-{}", std::process::id());
    assert!(!std::path::Path::new(&instance).exists());
}

#[test]
fn where_no_socket_is_passed_nothing_is_traced() {
    let found = kernel(&Over::of(Transport::Shm), 32).unwrap();
    assert_eq!(
        found,
        Kernel::NotTraced("no frame passes a socket".to_string())
    );
}
