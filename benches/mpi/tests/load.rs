//! Every pattern of load, as people run it: under mpirun.

mod common;
mod mpi;

use jitterlab_mpi::load::Pattern;
use mpi::{assert_wrong, mpirun, mpirun_until_announced};
use serde_json::Value;

const MESSAGE: u64 = 4096;

#[test]
fn what_is_sent_arrives_where_the_pattern_says() {
    for pattern in Pattern::ALL {
        for ranks in [2, 4] {
            let report = loaded(pattern, ranks, &["--level", "50", "--duration", "100ms"]);
            assert!(count(&report, "sent_messages") > 0, "{report}");
            assert!(number(&report, "produced_level") > 0.0, "{report}");
            assert_adds_up(&report, ranks);
            assert_directions(pattern, &report);
        }
    }
}

/// Rank 0 takes no part in what others put into its memory and get from it, but it lasts as long.
#[test]
fn a_load_on_rank_0_lasts_there_too() {
    for pattern in [Pattern::RmaIncast, Pattern::RmaBcast] {
        let report = loaded(pattern, 2, &["--level", "50", "--duration", "200ms"]);
        let [root, other] = [0, 1].map(|rank| number(&report["per_rank"][rank], "seconds"));
        // But for how far apart they began.
        assert!(root > other / 10.0, "{report}");
    }
}

#[test]
fn any_seed_is_one() {
    let seed = u64::MAX.to_string();
    // A machine that is busy may not come to a message for some tens of milliseconds.
    let options = ["--level", "50", "--duration", "2s", "--seed", &seed];
    let report = loaded(Pattern::Alltoall, 2, &options);
    assert!(count(&report, "sent_messages") > 0, "{report}");
}

#[test]
fn a_level_of_0_sends_nothing() {
    for pattern in Pattern::ALL {
        let report = loaded(pattern, 2, &["--level", "0", "--duration", "20ms"]);
        assert_eq!(report["sent_messages"], 0, "{report}");
        assert_eq!(report["produced_level"], 0.0, "{report}");
        assert_adds_up(&report, 2);
    }
}

#[test]
fn the_most_that_there_is_ends_by_itself() {
    for pattern in Pattern::ALL {
        let options = ["--level", "100", "--duration", "100ms", "--size", "256KiB"];
        let report = loaded(
            pattern,
            3 + usize::from(pattern == Pattern::Pairs),
            &options,
        );
        assert_eq!(report["sent_bytes"], count(&report, "sent_messages") << 18);
        assert_eq!(report["sent_bytes"], report["received_bytes"], "{report}");
    }
}

#[test]
fn a_victim_is_measured_without_the_load_and_with_it() {
    for pattern in Pattern::ALL {
        let victim = [
            "--level",
            "30",
            "--duration",
            "20ms",
            "--victim",
            "ping-pong",
        ];
        let report = loaded(pattern, 4, &victim);
        assert_eq!(ranks(&report), [0, 2]);
        assert_victim(&report, "ping-pong", &[1, 3], 8);
        assert!(count(&report, "sent_messages") > 0, "{report}");
    }
}

/// Whoever starts it beside something else ends it with that: under a launcher a signal would end the ranks.
#[test]
fn a_load_lasts_until_the_input_of_rank_0_ends() {
    for pattern in ["pairs", "alltoall"] {
        let options = [
            "--level",
            "50",
            "--bandwidth",
            "100MiB",
            "--size",
            "64",
            "--announce",
        ];
        let load = ["load", "--pattern", pattern, "--until-stdin-closes"];
        let json = ["--format", "json"];
        let arguments = [&load[..], &options, &json].concat();
        // The input ends as soon as the load begins: now and then that is before the first message.
        let report = (0..20)
            .map(|_| {
                let ran = mpirun_until_announced(2, &arguments);
                assert_eq!(ran.status, Some(0), "{ran}");
                ran.report()
            })
            .find(|report| count(report, "sent_messages") > 0)
            .expect("no load sent anything");
        assert_eq!(report["sent_bytes"], report["received_bytes"], "{report}");
        let senders = if pattern == "pairs" { 1.0 } else { 2.0 };
        let bandwidth = senders * f64::from(100 << 20);
        assert_eq!(number(&report, "bandwidth"), bandwidth, "{report}");
        assert_eq!(report["bandwidth_measured"], false, "{report}");
    }
}

#[test]
fn victims_are_as_many_as_is_asked_for() {
    let load = ["--level", "0", "--duration", "5ms", "--warmup", "0ns"];
    let few = ["--victim", "barrier", "--victims", "25"];
    let report = loaded(Pattern::Alltoall, 4, &[&load[..], &few].concat());
    assert_eq!(ranks(&report), [0, 1, 2]);
    assert_victim(&report, "barrier", &[3], 0);

    let large = [
        "--victim",
        "allreduce",
        "--victim-size",
        "1KiB",
        "--victims",
        "50%",
    ];
    let report = loaded(Pattern::Pairs, 4, &[&load[..], &large].concat());
    assert_victim(&report, "allreduce", &[1, 3], 1024);
}

#[test]
fn what_cannot_be_done_is_wrong_usage_and_said_once() {
    for (ranks, options, words) in [
        (1, &[][..], "takes 2 ranks or more, and these are 1"),
        (3, &[], "an even number of ranks, and these are 3"),
        (2, &["--size", "0"], "1 byte or more"),
        (2, &["--victim", "barrier"], "takes 2 ranks or more"),
        (2, &["--victim", "barier"], "[possible values: ping-pong,"),
        (
            4,
            &["--victim", "barrier", "--victims", "0"],
            "no rank would be a victim",
        ),
        (
            4,
            &["--victim", "barrier", "--victim-size", "8"],
            "has no size",
        ),
        (
            4,
            &["--victim", "ping-pong", "--victims", "25"],
            "runs on pairs of ranks",
        ),
        (2, &["--victim-size", "8"], "--victim <CASE>"),
        (2, &["--bandwidth", "0"], "has to be above 0"),
        (
            4,
            &["--victim", "barrier", "--until-stdin-closes"],
            "cannot be used with",
        ),
    ] {
        let load = ["load", "--pattern", "pairs", "--level", "10"];
        assert_wrong(ranks, &[&load[..], options].concat(), words);
    }
    assert_wrong(
        2,
        &["load", "--pattern", "pairs", "--level", "101"],
        "a percentage",
    );
    assert_wrong(
        2,
        &["load", "--pattern", "ring", "--level", "10"],
        "rma-incast",
    );
    assert_wrong(
        2,
        &[
            "load",
            "--pattern",
            "p2p-incast",
            "--level",
            "10",
            "--until-stdin-closes",
        ],
        "in the others rank 0 sends nothing",
    );
    // On few machines there are 448 GiB.
    let large = ["load", "--pattern", "rma-incast", "--level", "10"];
    assert_wrong(
        8,
        &[&large[..], &["--size", "2147483647"]].concat(),
        "take 448 GiB of rank 0's memory",
    );
}

#[test]
fn people_get_the_impact() {
    let load = [
        "load",
        "--pattern",
        "pairs",
        "--level",
        "10",
        "--duration",
        "5ms",
    ];
    let ran = mpirun(4, &[&load[..], &["--victim", "barrier"]].concat());
    assert_eq!(ran.status, Some(0), "{ran}");
    assert!(
        ran.stdout.starts_with("pairs of 65536 B at 10 %: "),
        "{ran}"
    );
    assert_eq!(ran.stdout.matches("\nimpact: mean ").count(), 1, "{ran}");
}

fn loaded(pattern: Pattern, ranks: usize, options: &[&str]) -> Value {
    let name = pattern.name();
    let size = MESSAGE.to_string();
    let mut arguments = vec!["load", "--pattern", name, "--format", "json"];
    if !options.contains(&"--size") {
        arguments.extend(["--size", &size]);
    }
    let ran = mpirun(ranks, &[&arguments[..], options].concat());
    assert_eq!(ran.status, Some(0), "{arguments:?}: {ran}");
    let report = ran.report();
    assert_eq!(report["transport"], "mpi");
    assert_eq!(report["pattern"], name);
    assert_eq!(report["ranks"], ranks);
    assert!(number(&report, "bandwidth") > 0.0, "{report}");
    report
}

/// What the ranks sent and received makes the totals, and nothing was lost.
fn assert_adds_up(report: &Value, ranks: usize) {
    let per_rank = report["per_rank"].as_array().unwrap();
    assert_eq!(per_rank.len(), ranks, "{report}");
    for (what, bytes) in [
        ("sent_messages", "sent_bytes"),
        ("received_messages", "received_bytes"),
    ] {
        let sum: u64 = per_rank.iter().map(|part| count(part, what)).sum();
        assert_eq!(report[what], sum, "{report}");
        assert_eq!(report[bytes], sum * MESSAGE, "{report}");
    }
    assert_eq!(
        report["sent_messages"], report["received_messages"],
        "{report}"
    );
}

fn assert_directions(pattern: Pattern, report: &Value) {
    let per_rank = report["per_rank"].as_array().unwrap();
    for (rank, part) in per_rank.iter().enumerate() {
        let (sends, receives) = match pattern {
            Pattern::Pairs => (rank < per_rank.len() / 2, rank >= per_rank.len() / 2),
            Pattern::Alltoall => (true, true),
            Pattern::RmaIncast | Pattern::P2pIncast => (rank > 0, rank == 0),
            Pattern::RmaBcast => (rank == 0, rank > 0),
        };
        assert_eq!(count(part, "sent_messages") > 0, sends, "{report}");
        assert_eq!(count(part, "received_messages") > 0, receives, "{report}");
    }
}

fn assert_victim(report: &Value, case: &str, ranks: &[usize], size: u64) {
    let victim = &report["victim"];
    assert_eq!(victim["case"], case);
    assert_eq!(victim["ranks"], serde_json::json!(ranks));
    assert_eq!(victim["size_bytes"], size);
    let impact = &victim["impact"];
    for (factor, figure) in [("mean", "mean_ns"), ("p99", "p99_ns")] {
        let [isolated, congested] =
            ["isolated", "congested"].map(|when| number(&victim[when], figure));
        // But for the last digit, which JSON does not keep.
        let error = number(impact, factor) * isolated / congested - 1.0;
        assert!(error.abs() < 1e-12, "{report}");
    }
    for when in ["isolated", "congested"] {
        assert!(count(&victim[when], "samples") > 0);
        assert_eq!(impact[format!("samples_{when}")], victim[when]["samples"]);
    }
}

fn ranks(report: &Value) -> Vec<u64> {
    let per_rank = report["per_rank"].as_array().unwrap();
    per_rank.iter().map(|part| count(part, "rank")).collect()
}

fn count(value: &Value, field: &str) -> u64 {
    value[field].as_u64().unwrap()
}

fn number(value: &Value, field: &str) -> f64 {
    value[field].as_f64().unwrap()
}
