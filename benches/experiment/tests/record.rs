//! Lines of `runs.jsonl`: whatever a suite has measured is read back as it was.

#[path = "../../packet/tests/common/mod.rs"]
mod kept;
#[path = "common/results.rs"]
mod results;

use jitterlab_experiment::level::{Level, Member};
use jitterlab_experiment::record::{
    Application, Injection, Outcome, PacketResult, Phase, RunRecord, SuiteKind, SuiteResult,
    Transport, library, npb,
};

use kept::assert_kept;

fn record(suite: SuiteKind, result: SuiteResult) -> RunRecord {
    RunRecord {
        version: RunRecord::VERSION,
        run: "a-run".into(),
        phase: Phase::Inject,
        block: 1,
        repetition: 1,
        attempt: 2,
        suite,
        case: "a-case".into(),
        transport: Some(Transport::Udp),
        level: Level::Injected {
            percent: 60,
            shape: Member::Lognormal,
        },
        outcome: Outcome::Done,
        reason: None,
        started: "2026-01-02T03:04:05.678Z".into(),
        seconds: 0.2,
        samples: Some("samples/a-run.parquet".into()),
        n: Some(3),
        result: Some(result),
        load: Some(results::load(60)),
        injection: Some(Injection {
            delayed: 10,
            asked_mean_ns: 1_000.0,
            achieved_mean_ns: 1_012.0,
            error_max_ns: 4_321,
        }),
    }
}

#[test]
fn the_result_of_every_suite_is_read_back() {
    let packet = SuiteResult::Packet(PacketResult::Rtt(results::packet(Transport::Udp)));
    assert_kept(&record(SuiteKind::Packet, packet));

    let mut report = results::library("barrier", 4);
    let clock = library::Alignment {
        offset_before_ns: -3.0,
        offset_after_ns: 2.5,
        error_ns: 40.0,
    };
    let figures = report.points[0].figures;
    report.points[0].per_rank.push(library::RankFigures {
        rank: 0,
        figures,
        late: Some(figures),
        operation: None,
        clock,
    });
    report.points[0].heat_map = Some(library::HeatMap {
        bin_starts_s: vec![0.0],
        mean_ns: vec![vec![1.0]],
        max_ns: vec![vec![2.0]],
        late_mean_ns: None,
        late_max_ns: Some(vec![vec![3.0]]),
    });
    assert_kept(&record(SuiteKind::Library, SuiteResult::Library(report)));

    let mut report = results::npb("cg", 1.5);
    report.checks.push(npb::Check {
        what: "zeta".into(),
        // Such a result is wrong, and JSON has no word for it.
        value: f64::NAN,
        expected: 8.6,
        error: f64::NAN,
        tolerance: 1e-10,
        passed: false,
    });
    report.phases[0].push(npb::Phase {
        name: "setup".into(),
        wall_s: 0.1,
        mpi_s: 0.05,
        messages: 1,
        bytes: 2,
        collectives: 3,
        collective_bytes: 4,
    });
    let figure = Application {
        runtime_s: 1.5,
        program_s: 1.5,
        npb: Some(report),
    };
    let result = SuiteResult::Application(figure);
    assert_kept(&record(SuiteKind::Application, result));

    let failed = RunRecord {
        outcome: Outcome::Failed,
        reason: Some("the server did not answer".into()),
        samples: None,
        n: None,
        result: None,
        load: None,
        injection: None,
        ..record(
            SuiteKind::Packet,
            SuiteResult::Packet(PacketResult::Rtt(results::packet(Transport::Tcp))),
        )
    };
    assert_kept(&failed);
}
