//! A case of the packet suite in a sentence.

use jitterlab_experiment::record::Transport;
use jitterlab_experiment::suites::Case as _;
use jitterlab_experiment::suites::packet::PacketCase;
use jitterlab_packet::cases::Case as Kind;

use crate::words;

/// The case in a sentence: its measurement, its hosts and its options.
pub fn described(case: &PacketCase) -> String {
    let verbs = case.verbs();
    let transports = case.transports.iter().map(|transport| match transport {
        Transport::Verbs => format!("verbs ({}, {})", verbs.operation, verbs.service),
        sockets => words::transport(sockets.name()),
    });
    let waits = case.transports.iter();
    let waits = waits.map(|&over| match case.wait(over).name() {
        "poll" => "polling".to_string(),
        _ => "blocking".to_string(),
    });
    let mut waits: Vec<String> = waits.collect();
    waits.dedup();
    format!(
        "packet, {}: {}{}messages over {} from {} to {}, {} after {} of warm-up that is \
         discarded, waiting by {}",
        case.name(),
        in_what_loop(case),
        sizes(case),
        words::list(&transports.collect::<Vec<_>>()),
        case.from,
        case.to,
        case.duration,
        case.warmup,
        words::list(&waits)
    )
}

/// The size of its messages, or the sizes that the file gives: `64B `. None where the file leaves out a list.
fn sizes(case: &PacketCase) -> String {
    let sizes = case.size.iter().chain(&case.sizes);
    let sizes: Vec<String> = sizes.map(ToString::to_string).collect();
    match sizes.is_empty() {
        true => String::new(),
        false => format!("{} ", words::list(&sizes)),
    }
}

/// How the messages of round trips follow each other: `in a closed loop, `.
fn in_what_loop(case: &PacketCase) -> String {
    match (case.case, case.rate) {
        (Kind::Rtt, None) => "in a closed loop, ".into(),
        (_, None) => String::new(),
        (_, Some(rate)) => format!(
            "in an open loop of {} messages a second with {} gaps, ",
            rate,
            case.gaps.unwrap_or_default()
        ),
    }
}
