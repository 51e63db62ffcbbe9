//! Experiments with delays for which no load is measured: the first screen answers all the same.

mod synthetic;

use jitterlab_experiment::level::{Level, Shape};
use jitterlab_report::Analysed;
use synthetic::given::{given, given_operation};
use synthetic::rows;

const CONSTANT: Level = Level::Delay { ns: 200_000 };
const VARIED: Level = Level::Shape {
    shape: Shape::LogNormal,
    mean_ns: 200_000,
    std_ns: 300_000,
};
const LESS_VARIED: Level = Level::Shape {
    shape: Shape::LogNormal,
    mean_ns: 200_000,
    std_ns: 100_000,
};

#[test]
fn what_variation_does_is_answered_where_constant_delays_have_the_mean() {
    let directory = tempfile::tempdir().unwrap();
    let delays = [(CONSTANT, 0.5), (LESS_VARIED, 0.6), (VARIED, 0.8)];
    let shape = "{ delays: [200us], shape: lognormal, mean: [200us], std: [100us, 300us] }";
    let analysed = Analysed::open(&given(directory.path(), shape, &delays)).unwrap();
    let answer = &analysed.analysis.answer;
    assert_eq!(
        answer.question,
        "Does variation in latency slow redis, apart from its mean?"
    );
    // 1.8 against 1.5.
    let start = "Yes: redis took 20 % more time with varied delays than with constant ones of the same mean (95 % interval: ";
    assert!(answer.sentence.starts_with(start), "{answer:?}");
    let end = "more). Constant delays of 200 µs made it 50 % slower than no delay.";
    assert!(answer.sentence.ends_with(end), "{answer:?}");
    let page = analysed.write_report().unwrap();
    let report = page.parent().unwrap();
    let effects = rows(report, "answer");
    assert_eq!(effects.len(), 1);
    assert_eq!(effects[0]["verdict"], "yes");
    let fixed = rows(report, "fixed-mean");
    let levels: Vec<&str> = fixed.iter().map(|row| row["level"].as_str()).collect();
    assert_eq!(
        levels,
        [
            "injected lognormal of mean 200us and standard deviation 100us",
            "injected lognormal of mean 200us and standard deviation 300us"
        ]
    );
    for figure in ["answer", "fixed-mean"] {
        let drawn = std::fs::read_to_string(report.join(format!("{figure}.svg"))).unwrap();
        assert!(
            drawn.contains("Same mean (200 µs), rising variation")
                || drawn.contains("mean of 200 µs"),
            "{figure}"
        );
    }
}

#[test]
fn without_delays_that_differ_in_variation_alone_it_is_what_delays_do() {
    let answer = |injected: &str, delays: &[(Level, f64)]| {
        let directory = tempfile::tempdir().unwrap();
        let analysed = Analysed::open(&given(directory.path(), injected, delays)).unwrap();
        let page = analysed.write_report().unwrap();
        assert!(page.parent().unwrap().join("answer.svg").exists());
        analysed.analysis.answer
    };
    let short = Level::Delay { ns: 10_000 };
    let constant = answer(
        "{ delays: [10us, 200us] }",
        &[(short, 0.0), (CONSTANT, 0.5)],
    );
    assert_eq!(constant.question, "Does added latency slow redis?");
    let start = "Yes: redis took 50 % more time with constant delays of 200 µs than with none (95 % interval: ";
    assert!(constant.sentence.starts_with(start), "{constant:?}");
    assert!(constant.sentence.ends_with(" more)."), "{constant:?}");
    let varied = answer(
        "{ shape: lognormal, mean: [200us], std: [300us] }",
        &[(VARIED, 0.8)],
    );
    assert_eq!(varied.question, "Does added latency slow redis?");
    let start =
        "Yes: redis took 80 % more time with delays of mean 200 µs and standard deviation 29";
    assert!(varied.sentence.starts_with(start), "{varied:?}");
    let end =
        "for that the experiment needs constant delays of the same mean, too, `delays: [200us]`.";
    assert!(varied.sentence.ends_with(end), "{varied:?}");
    let none = answer("{ delays: [200us] }", &[(CONSTANT, 0.0)]);
    assert!(
        none.sentence
            .starts_with("Not shown by these runs: redis took "),
        "{none:?}"
    );
}

#[test]
fn operations_of_mpi_are_asked_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let delays = [(CONSTANT, 0.5), (LESS_VARIED, 0.6), (VARIED, 0.8)];
    let shape = "{ delays: [200us], shape: lognormal, mean: [200us], std: [100us, 300us] }";
    let folder = given_operation(directory.path(), shape, &delays);
    let analysed = Analysed::open(&folder).unwrap();
    let answer = &analysed.analysis.answer;
    assert_eq!(
        answer.question,
        "Does variation in latency slow barrier, apart from its mean?"
    );
    // 1.8 against 1.5.
    let start = "Yes: barrier took 20 % more time with varied delays than with constant ones of the same mean, 200 µs (95 % interval: ";
    assert!(answer.sentence.starts_with(start), "{answer:?}");
    let end = " more).";
    assert!(answer.sentence.ends_with(end), "{answer:?}");
    let words = &analysed.analysis.summary.library;
    assert!(
        words[0]
            .starts_with("With a mean delay of 200 µs, barrier took 20 % longer under lognormal"),
        "{words:?}"
    );
    let page = analysed.write_report().unwrap();
    let text = std::fs::read_to_string(&page).unwrap();
    assert!(text.contains("the report ends at operations of MPI"));
    let report = page.parent().unwrap();
    let ratio = |row: &std::collections::BTreeMap<String, String>, name: &str| {
        row[name].parse::<f64>().ok()
    };
    let library = rows(report, "library");
    assert_eq!(library.len(), 4);
    for (row, (to_none, to_constant)) in library.iter().zip([
        (None, None),
        (Some(1.5), None),
        (Some(1.6), Some(1.6 / 1.5)),
        (Some(1.8), Some(1.2)),
    ]) {
        for (name, expected) in [
            ("ratio_to_none", to_none),
            ("ratio_to_constant", to_constant),
        ] {
            match (ratio(row, name), expected) {
                (Some(found), Some(expected)) => {
                    assert!((found - expected).abs() < 0.02, "{row:?}")
                }
                (found, expected) => assert_eq!(found, expected, "{row:?}"),
            }
        }
    }
    // No program ran: the first screen has what stands nearest to one.
    assert_eq!(rows(report, "brief").len(), 4);
    let drawn = std::fs::read_to_string(report.join("library-barrier.svg")).unwrap();
    assert!(drawn.contains("Mean of the delays, µs") && drawn.contains("lognormal, std 300us"));
    let first = text.split("<section").next().unwrap();
    assert!(first.contains("library-barrier.svg") && first.contains("What was measured, in short"));
}

#[test]
fn operations_without_constant_delays_are_compared_with_none() {
    let directory = tempfile::tempdir().unwrap();
    let shape = "{ shape: lognormal, mean: [200us], std: [300us] }";
    let folder = given_operation(directory.path(), shape, &[(VARIED, 0.8)]);
    let analysis = Analysed::open(&folder).unwrap().analysis;
    assert_eq!(analysis.answer.question, "Does added latency slow barrier?");
    let sentence = &analysis.answer.sentence;
    assert!(
        sentence.starts_with("Yes: barrier took ")
            && sentence.contains(" more time with delays of mean 200 µs"),
        "{sentence}"
    );
    assert!(
        sentence.ends_with("the same mean, too, `delays: [200us]`."),
        "{sentence}"
    );
    let words = &analysis.summary.library[0];
    assert!(
        words.contains(", barrier took ") && words.contains(" % longer than without injection"),
        "{words}"
    );
    let mut slowdowns = analysis.suites.library.operations.iter();
    let slowdown = slowdowns.find_map(|row| row.to_none).unwrap();
    assert!((slowdown.ratio.value - 1.8).abs() < 0.02, "{slowdown:?}");
}
