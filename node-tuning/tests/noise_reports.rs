//! What is made of reports whose gaps are known beforehand: comparisons and verdicts.

use jitterlab_base::clock::{Clock, Source};
use jitterlab_base::units::Nanos;
use jitterlab_node_tuning::cpus::Cpu;
use jitterlab_node_tuning::noise::compare::{Comparison, Figure, Found, Row, Verdict};
use jitterlab_node_tuning::noise::limits::{self, Limits, judge};
use jitterlab_node_tuning::noise::probe::{Spun, ThreadCounts};
use jitterlab_node_tuning::noise::record::Record;
use jitterlab_node_tuning::noise::report::{Core, NoiseReport};
use proptest::prelude::*;

const SECOND: u64 = 1_000_000_000;
const INTERVAL: u64 = 50_000_000;

/// A core that was away `length` ns, and up to 15 % longer, every `period` ns of two seconds.
fn core(cpu: Cpu, period: u64, length: u64, kept: usize) -> Core {
    // A tick of this clock is a nanosecond.
    let clock = Clock::monotonic();
    let mut record = Record::new(&clock, INTERVAL, 40, kept);
    record.begin_at(0);
    let mut count = 0;
    let mut start = period / 2;
    while start < 2 * SECOND {
        record.push(start, length + length * (count * 7 % 16) / 100);
        count += 1;
        // Not in step with the intervals.
        start += period + period * (count % 3) / 50;
    }
    record.close();
    let iterations = (2 * SECOND - record.lost()) / 20;
    let spun = Spun {
        cpu,
        begin: 0,
        end: 2 * SECOND,
        iterations,
        record,
        thread: ThreadCounts::default(),
    };
    Core::of(&spun, &clock, Vec::new())
}

fn report(cores: Vec<Core>) -> NoiseReport {
    NoiseReport {
        host: "node1".into(),
        kernel: "6.1".into(),
        clock: Source::Tsc,
        iteration_ns: 20.0,
        threshold_ns: 300,
        duration_ns: 2 * SECOND,
        interval_ns: INTERVAL,
        cores,
        not_counted: Vec::new(),
        tracers: None,
    }
}

/// A tick of 250 Hz, 3 us.
fn noisy(cpu: Cpu) -> Core {
    core(cpu, 4_000_000, 3_000, 10_000)
}

/// One of 4 Hz, 2 us.
fn quiet(cpu: Cpu) -> Core {
    core(cpu, 250_000_000, 2_000, 10_000)
}

fn row(comparison: &Comparison, cpu: Cpu, figure: Figure) -> &Row {
    let found = comparison
        .rows
        .iter()
        .find(|t| t.cpu == cpu && t.figure == figure);
    found.unwrap()
}

#[test]
fn a_report_is_read_as_it_was_written() {
    let written = report(vec![noisy(1), core(2, 250_000_000, 2_000, 3)]);
    let text = serde_json::to_string(&written).unwrap();
    assert_eq!(serde_json::from_str::<NoiseReport>(&text).unwrap(), written);
}

#[test]
fn one_recording_of_each_is_described() {
    let before = [report(vec![noisy(1), noisy(2)])];
    let after = [report(vec![quiet(1), noisy(2)])];
    let compared = Comparison::of(&before, &after, 0.05).unwrap();
    assert_eq!(compared.rows.len(), 6);
    let described = |cpu, figure| match row(&compared, cpu, figure).found {
        Found::Described {
            n_a,
            n_b,
            shift,
            rank_biserial,
        } => (n_a, n_b, shift, rank_biserial),
        Found::Tested { .. } => panic!("there is one recording of each"),
    };
    for figure in [Figure::Length, Figure::Rate, Figure::Lost] {
        let quieter = row(&compared, 1, figure);
        assert!(described(1, figure).3 < -0.9 && quieter.b < quieter.a);
        let same = row(&compared, 2, figure);
        assert_eq!((described(2, figure).3, same.a), (0.0, same.b));
    }
    // 245 gaps a second on average, and 4.
    let (n_a, n_b, shift, _) = described(1, Figure::Rate);
    assert_eq!((n_a, n_b), (40, 40));
    assert!((shift + 241.0).abs() < 10.0, "{shift}");
}

/// Recordings whose gaps come every `period` ns, a little more or less.
fn recordings(period: u64) -> Vec<NoiseReport> {
    let of_one = |i: u64| {
        report(vec![
            core(1, period + i * period / 50, 3_000, 10_000),
            noisy(2),
        ])
    };
    (0..4).map(of_one).collect()
}

#[test]
fn several_recordings_of_each_are_tested() {
    let (before, after) = (recordings(4_000_000), recordings(5_000_000));
    let tested = |compared: &Comparison, cpu, figure| match row(compared, cpu, figure).found {
        Found::Tested {
            n_a,
            n_b,
            welch,
            p_corrected,
            verdict,
        } => {
            assert_eq!((n_a, n_b), (4, 4));
            (welch, p_corrected, verdict)
        }
        Found::Described { .. } => panic!("there are several recordings"),
    };
    let compared = Comparison::of(&before, &after, 0.05).unwrap();
    let (welch, corrected, verdict) = tested(&compared, 1, Figure::Rate);
    assert_eq!(verdict, Verdict::Less);
    assert!(
        welch.difference.low < -40.0 && welch.difference.high > -60.0,
        "{welch:?}"
    );
    // What does not vary from recording to recording is in no test: the three figures of CPU 2.
    let (same, none, verdict) = tested(&compared, 2, Figure::Rate);
    assert_eq!((same.p, none, verdict), (None, None, Verdict::NotShown));
    assert!(corrected.unwrap() >= welch.p.unwrap() && corrected.unwrap() < 0.05);
    let back = Comparison::of(&after, &before, 0.05).unwrap();
    let (more, _, verdict) = tested(&back, 1, Figure::Rate);
    assert_eq!((verdict, more.p), (Verdict::More, welch.p));
    let equal = Comparison::of(&before, &before, 0.05).unwrap();
    assert_eq!(tested(&equal, 1, Figure::Rate).2, Verdict::NotShown);
    assert!(Comparison::of(&before, &after[..1], 0.05).is_err());
    assert!(Comparison::of(&[], &after, 0.05).is_err());
}

#[test]
fn what_cannot_be_compared_is_said() {
    let a = report(vec![noisy(1), noisy(2)]);
    let of =
        |b: &NoiseReport| Comparison::of(std::slice::from_ref(&a), std::slice::from_ref(b), 0.05);
    let refused = |b: &NoiseReport| of(b).unwrap_err().to_string();
    let other_threshold = NoiseReport {
        threshold_ns: 500,
        ..a.clone()
    };
    assert_eq!(
        refused(&other_threshold),
        "A counts gaps above 300ns, B above 500ns: measure both with the same threshold"
    );
    let other_intervals = NoiseReport {
        interval_ns: 5_000_000,
        ..a.clone()
    };
    assert!(refused(&other_intervals).ends_with("measure both for 1s to 500s"));
    assert!(refused(&report(vec![noisy(3)])).ends_with("measure both on the same CPUs"));
    assert!(Comparison::of(std::slice::from_ref(&a), std::slice::from_ref(&a), 1.5).is_err());

    // Part of it can.
    let none = core(2, 10 * SECOND, 1_000, 100);
    assert_eq!(none.gaps, 0);
    let full = core(3, 4_000_000, 3_000, 100);
    let mut b = report(vec![none, full]);
    b.host = "node2".into();
    let compared = of(&b).unwrap();
    assert_eq!(
        (compared.only_a.to_string(), compared.only_b.to_string()),
        ("1".into(), "3".into())
    );
    let figures: Vec<Figure> = compared.rows.iter().map(|t| t.figure).collect();
    assert_eq!(figures, [Figure::Rate, Figure::Lost]);
    assert_eq!(compared.notes.len(), 3, "{:?}", compared.notes);
    assert!(compared.notes[0].contains("node2"));
    assert!(compared.notes[1].starts_with("B, CPU 3: the lengths are those of the first 100 of "));
    assert!(compared.notes[2].starts_with("CPU 2: lengths are not compared: "));
}

#[test]
fn a_verdict_names_what_exceeds_its_limit() {
    let limits = Limits::default();
    assert_eq!(judge(&report(vec![quiet(1), quiet(2)]), &limits), []);
    let figures = |core: Core| -> Vec<limits::Figure> {
        let findings = judge(&report(vec![quiet(1), core]), &limits);
        assert!(
            findings
                .iter()
                .all(|finding| finding.cpu == 2 && finding.found > finding.limit)
        );
        findings.iter().map(|finding| finding.figure).collect()
    };
    use limits::Figure::{GapsPerSecond, Iteration, Longest, LostShare};
    assert_eq!(figures(noisy(2)), [GapsPerSecond, LostShare]);
    assert_eq!(figures(core(2, SECOND, 60_000, 10)), [Longest]);
    let slow = Core {
        iteration_ns: 350.0,
        ..quiet(2)
    };
    assert_eq!(figures(slow), [Iteration]);
    let stricter = Limits {
        longest: Nanos(1_000),
        ..limits
    };
    let finding = &judge(&report(vec![quiet(1)]), &stricter)[0];
    assert_eq!(
        finding.message,
        "CPU 1: longest gap: 2.28 us, above the limit of 1 us"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Nothing that a person measures makes it panic or contradict itself.
    #[test]
    fn comparisons_are_antisymmetric(
        periods in (1_000_000u64..SECOND, 1_000_000u64..SECOND),
        lengths in (400u64..900_000, 400u64..900_000),
    ) {
        let of = |period: u64, length: u64, n: u64| -> Vec<NoiseReport> {
            (0..n).map(|i| report(vec![core(1, period + i * period / 40, length + i * length / 30, 500)])).collect()
        };
        for n in [1, 3] {
            let (a, b) = (of(periods.0, lengths.0, n), of(periods.1, lengths.1, n));
            let there = Comparison::of(&a, &b, 0.05).unwrap();
            let back = Comparison::of(&b, &a, 0.05).unwrap();
            prop_assert_eq!(there.rows.len(), back.rows.len());
            for (x, y) in there.rows.iter().zip(&back.rows) {
                prop_assert_eq!((x.a, x.b), (y.b, y.a));
                match (x.found, y.found) {
                    (Found::Described { rank_biserial: x, .. }, Found::Described { rank_biserial: y, .. }) => {
                        prop_assert!((x + y).abs() < 1e-12);
                    }
                    (
                        Found::Tested { welch: x, verdict: of_x, .. },
                        Found::Tested { welch: y, verdict: of_y, .. },
                    ) => {
                        prop_assert_eq!(x.p.is_some(), y.p.is_some());
                        prop_assert!((x.p.unwrap_or(0.0) - y.p.unwrap_or(0.0)).abs() < 1e-12);
                        let opposite = match of_x {
                            Verdict::Less => Verdict::More,
                            Verdict::More => Verdict::Less,
                            same @ (Verdict::NotShown | Verdict::BelowResolution) => same,
                        };
                        prop_assert_eq!(opposite, of_y);
                    }
                    _ => prop_assert!(false, "one is tested, the other described"),
                }
            }
        }
    }
}
