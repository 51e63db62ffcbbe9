//! What ranks publish while they measure is what they report in the end.

mod common;

use jitterlab_live::{Count, PLACE, Place, Reader, Total};
use jitterlab_mpi::npb::{KERNELS, Name};
use serde_json::Value;

/// What so many ranks have published, and what they reported.
fn followed(ranks: usize, arguments: &[&str]) -> (Total, Value) {
    let name = Place::new_name();
    let place = Place::make(&name).unwrap();
    let publishing = format!("{PLACE}={name}");
    let launcher = ["env", &publishing, "mpirun", "--oversubscribe"];
    let program = env!("CARGO_BIN_EXE_jitterlab-mpi");
    let arguments = [arguments, &["--format", "json"]].concat();
    let ran = common::mpirun(&launcher, ranks, program, &arguments);
    assert_eq!(ran.status, Some(0), "{ran}");
    let mut total = Total::default();
    total.take(Reader::of_place(place.path().into()).update().unwrap());
    (total, ran.report())
}

#[test]
fn every_benchmark_tells_how_many_iterations_are_done() {
    for kernel in &KERNELS {
        // Ranks that share cores wait for each other: of one that hardly does there are two.
        let ranks = if kernel.name == Name::Ep { 2 } else { 1 };
        let (total, report) = followed(ranks, &["npb", kernel.name.name(), "--class", "S"]);
        assert_eq!(report["verified"], true, "{report}");
        let (done, planned) = total.iterations().unwrap();
        assert!(planned > 0 && done == planned, "{}: {total:?}", kernel.name);
        assert_eq!((total.part, total.samples()), (1, 0));
        let of_ranks: u64 = total.ranks.values().map(|rank| rank.iterations).sum();
        assert_eq!((total.ranks.len(), of_ranks), (ranks, done));
        assert_eq!(total.label, format!("{} S", kernel.name));
    }
}

#[test]
fn the_load_tells_its_messages() {
    for pattern in ["pairs", "alltoall", "rma-incast", "p2p-incast", "rma-bcast"] {
        let load = ["load", "--pattern", pattern, "--level", "20"];
        let (total, report) = followed(2, &[&load[..], &["--duration", "100ms"]].concat());
        assert_eq!(total.label, pattern);
        for (count, field) in [
            (Count::Messages, "sent_messages"),
            (Count::Bytes, "sent_bytes"),
        ] {
            assert_eq!(
                total.counts[&count],
                report[field].as_u64().unwrap(),
                "{report}"
            );
        }
    }
}

#[test]
fn an_operation_tells_its_samples() {
    let case = ["library", "allreduce", "--size", "64"];
    let (total, report) = followed(2, &[&case[..], &["--iterations", "300"]].concat());
    assert_eq!(total.samples(), 2 * 300, "{report}");
    // Each rank has its own.
    assert_eq!(total.ranks.keys().collect::<Vec<_>>(), [&0, &1]);
    for rank in total.ranks.values() {
        assert_eq!(rank.samples, 300, "{rank:?}");
        assert!(
            0 < rank.median_ns && rank.median_ns <= rank.p99_ns,
            "{rank:?}"
        );
        assert!(
            rank.p99_ns <= rank.max_ns && rank.max_ns <= total.max_ns,
            "{rank:?}"
        );
    }
}
