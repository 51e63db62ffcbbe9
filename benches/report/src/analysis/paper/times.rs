//! Findings on packets and on operations of MPI: figures 2 to 10.

use std::cmp::Ordering;

use jitterlab_base::show;
use jitterlab_experiment::level::{Level, Member};
use jitterlab_experiment::record::Transport;
use jitterlab_experiment::spec::Experiment;

use super::Finding;
use super::standing::{Standing, above, above_one, alike, all, compared, ordered};
use crate::analysis::library::operations::at_highest;
use crate::analysis::packet::latency::Latency;
use crate::analysis::results::Results;
use crate::analysis::route::Route;
use crate::table::Estimate;
use crate::words;

/// Every finding on round trips and operations.
pub fn findings(results: &Results, experiment: &Experiment) -> Vec<Finding> {
    let of_packets = [
        load(results),
        unloaded(results),
        overhead(results, experiment),
    ];
    let mut findings: Vec<Finding> = of_packets.into_iter().flatten().collect();
    findings.extend(packets(results));
    findings.extend(ping_pong(results));
    findings.extend(barrier(results));
    findings
}

/// The round trips over the first link without load.
fn unloaded_row(results: &Results) -> Option<&Latency> {
    let mut rows = results.suites.packet.latency.iter();
    rows.find(|row| row.level == Level::None)
}

/// Figures 2 and 3.
fn load(results: &Results) -> Option<Finding> {
    let none = unloaded_row(results)?;
    let loaded = results
        .suites
        .packet
        .latency
        .iter()
        .filter(|row| row.link == none.link && matches!(row.level, Level::Load { .. }));
    let highest = loaded.max_by_key(|row| row.level)?;
    let rises = |figure: fn(&Latency) -> Estimate| {
        ordered(figure(highest), figure(none), Ordering::Greater)
    };
    let (mean, std) = (rises(|row| row.mean_ns), rises(|row| row.std_ns));
    let each = if mean.standing == std.standing {
        String::new()
    } else {
        format!(
            "it {} for the mean, and {} for the standard deviation; ",
            is(mean.standing),
            is(std.standing)
        )
    };
    Some(Finding::new(
        "figures 2 and 3",
        "background load raises mean and standard deviation of a round trip",
        all([mean, std]),
        format!(
            "{each}{}: mean {} without load and {} at {}, standard deviation {} and {}; n = {} and {}",
            none.link,
            none.mean_ns.in_time(),
            highest.mean_ns.in_time(),
            results.suites.packet.level_called(highest.level),
            none.std_ns.in_time(),
            highest.std_ns.in_time(),
            show::counted(none.runs, "run"),
            show::counted(highest.runs, "run")
        ),
    ))
}

/// A standing as a predicate: `is undecided`.
fn is(standing: Standing) -> String {
    match standing {
        Standing::Undecided => "is undecided".into(),
        told => told.name().into(),
    }
}

/// Figure 4.
fn unloaded(results: &Results) -> Option<Finding> {
    let none = unloaded_row(results)?;
    // Round trips that follow each other are alike, so that a run is one figure, however many it has.
    let standing = none
        .skew_of_run
        .map_or(Standing::Undecided.into(), |skew| above(skew, 0.0));
    let of_run = match none
        .skew_of_run
        .and_then(|skew| Some((skew.value, skew.interval()?)))
    {
        Some((skew, (low, high))) => format!(
            "skewness of a run {} on the mean (Student's t)",
            show::with_interval([skew, low, high].map(words::short))
        ),
        None => "skewness of a run not known without repeated runs".into(),
    };
    Some(Finding::new(
        "figure 4",
        "without load the distribution of round trips is skewed to the right",
        standing,
        format!(
            "{}: {of_run}, of all round trips {}; mean {}, median {}; n = {}, of {}",
            none.link,
            words::short(none.skew.unwrap_or(f64::NAN)),
            none.mean_ns.in_time(),
            none.median_ns.in_time(),
            show::counted(none.n, "round trip"),
            show::counted(none.runs, "run")
        ),
    ))
}

/// Figure 7 against figure 5: what the library adds to a packet. It is known where both go one way.
fn overhead(results: &Results, experiment: &Experiment) -> Option<Finding> {
    let mut rows = results.suites.library.operations.iter();
    let ping_pong = rows.find(|row| row.case == "ping-pong" && row.level == Level::None)?;
    let way = Route::of_ping_pong(experiment, &ping_pong.case, ping_pong.size)?;
    // The ranks most likely speak TCP: packets over TCP that go their way are taken first, then any others.
    let (packets, of_packets) = results
        .suites
        .packet
        .latency
        .iter()
        .filter(|row| row.level == Level::None && row.link.transport == Transport::Tcp)
        .filter_map(|row| Some((row, Route::of_packets(experiment, &row.link)?)))
        .min_by_key(|(_, of_packets)| !way.is(of_packets))?;
    let standing = if way.is(&of_packets) {
        ordered(ping_pong.mean_ns, packets.mean_ns, Ordering::Greater)
    } else {
        Standing::Undecided.into()
    };
    Some(Finding::new(
        "figure 7",
        "an MPI ping-pong takes longer than a round trip of packets",
        standing,
        format!(
            "without injection, mean of ping-pong {} ({way}), of {} {} ({of_packets}); n = {} and {}",
            ping_pong.mean_ns.in_time(),
            packets.link,
            packets.mean_ns.in_time(),
            show::counted(ping_pong.runs, "run"),
            show::counted(packets.runs, "run")
        ),
    ))
}

/// Mean, median and number of runs of one shape at the highest mean.
type Centre = (Estimate, Estimate, usize);

/// Figures 5 and 6.
fn packets(results: &Results) -> Vec<Finding> {
    // Delays were fitted over one link, and there they are to be alike.
    let fitted = results
        .suites
        .packet
        .tables
        .first()
        .map(|table| &table.link);
    let of_link = |row: &&Latency| Some(&row.link) == fitted;
    let at = |wanted: Member| -> Option<(u8, Centre)> {
        let rows = results.suites.packet.latency.iter().filter(of_link);
        let injected = rows.filter_map(|row| match row.level {
            Level::Injected { percent, shape } if shape == wanted => Some((percent, row)),
            _ => None,
        });
        let (percent, row) = injected.max_by_key(|(percent, _)| *percent)?;
        Some((percent, (row.mean_ns, row.median_ns, row.runs)))
    };
    let (Some((percent, constant)), Some((_, varied))) =
        (at(Member::Uniform), at(results.suites.packet.imitation()))
    else {
        return Vec::new();
    };
    let mut findings = centres(
        "packets",
        &results.suites.packet.load_called(percent),
        constant,
        varied,
        ["figure 5", "figure 6"],
    );
    let (mean, median, runs) = constant;
    findings.push(Finding::new(
        "figure 6",
        "mean and median of packets are one under constant delays",
        alike(mean, median),
        format!(
            "mean {} and median {} with constant delays of {}; n = {}",
            mean.in_time(),
            median.in_time(),
            results.suites.packet.load_called(percent),
            show::counted(runs, "run")
        ),
    ));
    findings
}

/// Figures 7 and 8.
fn ping_pong(results: &Results) -> Vec<Finding> {
    let Some((percent, constant, varied)) = operation(results, "ping-pong") else {
        return Vec::new();
    };
    centres(
        "MPI ping-pong",
        &results.suites.packet.load_called(percent),
        constant,
        varied,
        ["figure 7", "figure 8"],
    )
}

fn operation(results: &Results, case: &str) -> Option<(u8, Centre, Centre)> {
    let constant = at_highest(&results.suites.library.operations, case, Member::Uniform)?;
    let varied = at_highest(
        &results.suites.library.operations,
        case,
        results.suites.packet.imitation(),
    )?;
    let (percent, _) = constant.injected()?;
    Some((
        percent,
        (constant.mean_ns, constant.median_ns, constant.runs),
        (varied.mean_ns, varied.median_ns, varied.runs),
    ))
}

/// One mean, and a lower median under varied ones.
fn centres(
    what: &str,
    load: &str,
    constant: Centre,
    varied: Centre,
    places: [&'static str; 2],
) -> Vec<Finding> {
    let evidence = |figure: &str, constant_ns: Estimate, varied_ns: Estimate| {
        format!(
            "{figure} {} with constant and {} with varied delays of {load}; n = {} and {}",
            constant_ns.in_time(),
            varied_ns.in_time(),
            show::counted(constant.2, "run"),
            show::counted(varied.2, "run")
        )
    };
    vec![
        Finding::new(
            places[0],
            format!("constant and varied delays made for one load give {what} one mean"),
            alike(varied.0, constant.0),
            evidence("mean", constant.0, varied.0),
        ),
        Finding::new(
            places[1],
            format!("the median of {what} is lower under varied than under constant delays"),
            ordered(varied.1, constant.1, Ordering::Less),
            evidence("median", constant.1, varied.1),
        ),
    ]
}

/// Figures 9 and 10.
fn barrier(results: &Results) -> Vec<Finding> {
    let row = at_highest(
        &results.suites.library.operations,
        "barrier",
        results.suites.packet.imitation(),
    );
    let (Some((percent, constant, varied)), Some(ratio)) = (
        operation(results, "barrier"),
        row.and_then(|row| row.to_constant),
    ) else {
        return Vec::new();
    };
    let mut findings = centres(
        "barriers",
        &results.suites.packet.load_called(percent),
        constant,
        varied,
        ["figure 9", "figure 10"],
    );
    // A barrier waits for the slowest: here the paper finds that means part.
    findings[0].claim =
        "a barrier takes longer on the mean under varied than under constant delays".into();
    findings[0].standing = above_one(ratio.ratio.value, ratio.holm_p);
    findings[0].evidence.push_str(&compared(ratio));
    findings
}
