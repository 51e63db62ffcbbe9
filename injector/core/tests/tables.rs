//! Distribution tables: what is read, what is refused, and what a table made from a distribution
//! is like.

use std::path::Path;

use jitterlab_base::units::Nanos;
use jitterlab_injector::check::check;
use jitterlab_injector::family::{Family, Member};
use jitterlab_injector::generator::TABLE_ENTRIES;
use jitterlab_injector::netem;
use jitterlab_injector::shape::{self, Shape};
use jitterlab_injector::table::DelayUnit;
use jitterlab_injector::table::{DistributionTable, TableError};
use jitterlab_stats::distribution::Distribution;
use proptest::prelude::*;

fn parse(text: &str) -> Result<DistributionTable, TableError> {
    DistributionTable::parse(text, Path::new("t.dist"), DelayUnit::Nanoseconds)
}

fn plain() -> String {
    "1 2 3 4 5 6 7 8\n".repeat(512)
}

#[test]
fn the_papers_plain_format_is_nanoseconds_or_spins() {
    let table = parse(&plain()).unwrap();
    assert_eq!(
        (table.unit(), table.mean(), table.origin()),
        (DelayUnit::Nanoseconds, 4.5, "")
    );
    let spins = plain().replace('1', "4000000000");
    assert!(parse(&spins).is_err());
    let path = Path::new("t.dist");
    let spins = DistributionTable::parse(&spins, path, DelayUnit::Spins).unwrap();
    assert_eq!(spins.unit(), DelayUnit::Spins);
    assert_eq!(
        parse(&spins.to_text()).unwrap(),
        spins,
        "the header says the unit"
    );
    assert!(parse(&plain().replace('\n', "\r\n")).is_ok());
    assert!(parse(plain().trim_end()).is_ok());
}

#[test]
fn wrong_tables_are_refused_with_their_line() {
    let with = |line: usize, text: &str| {
        let mut lines = vec!["1 2 3 4 5 6 7 8"; 512];
        lines[line - 1] = text;
        lines.join("\n")
    };
    let headed = |header: &str| format!("{header}\n{}", plain());
    for (text, message) in [
        (
            String::new(),
            "t.dist:1: the table ends after 0 lines of delays; it needs 512",
        ),
        (
            with(7, "1 2 3 4 5 6 7"),
            "t.dist:7: this line has 7 integers; each line of a table must have 8 integers",
        ),
        (
            with(512, "1 2 3 4 5 6 7 8 9"),
            "t.dist:512: this line has 9 integers; each line of a table must have 8 integers",
        ),
        (
            with(9, ""),
            "t.dist:9: this line has 0 integers; each line of a table must have 8 integers",
        ),
        (
            with(3, "1 2 -3 4 5 6 7 8"),
            "t.dist:3: column 5: `-3` is negative; a delay is 0 or more",
        ),
        (
            with(4, "1 2 3.5 4 5 6 7 8"),
            "t.dist:4: column 5: `3.5` is not an integer",
        ),
        (
            with(4, "1 2 0x3 4 5 6 7 8"),
            "t.dist:4: column 5: `0x3` is not an integer",
        ),
        (
            with(5, "1 2 3 4 5 6 7 1000000001"),
            "t.dist:5: column 15: 1000000001 ns is beyond 1 s",
        ),
        (
            with(6, "99999999999999999999 2 3 4 5 6 7 8"),
            "t.dist:6: column 1: 99999999999999999999 ns is beyond 1 s",
        ),
        (
            plain() + "1 2 3 4 5 6 7 8",
            "t.dist:513: a line too many; a table has 512 lines of delays",
        ),
        (
            plain().lines().skip(1).collect::<Vec<_>>().join("\n"),
            "t.dist:511: the table ends after 511 lines of delays; it needs 512",
        ),
        (
            headed("# a comment"),
            "t.dist:1: expected `# jitterlab-table 1 unit=ns origin=…` or a line of eight delays",
        ),
        (
            headed("# jitterlab-table 2 unit=ns origin="),
            "t.dist:1: version `2` of the table format; this program reads version 1",
        ),
        (
            headed("# jitterlab-table 1 unit=us origin="),
            "t.dist:1: `us` is not a unit of delays; write ns or spins",
        ),
    ] {
        assert_eq!(parse(&text).unwrap_err().to_string(), message);
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("binary");
    std::fs::write(&path, b"1 2\n\xff\xfe").unwrap();
    let error = DistributionTable::load(&path, DelayUnit::Nanoseconds).unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with(":2: not text: byte 5 is not UTF-8; a distribution table holds integers"),
        "{error}"
    );
    std::fs::write(&path, vec![b'1'; 2 << 20]).unwrap();
    let error = DistributionTable::load(&path, DelayUnit::Nanoseconds).unwrap_err();
    assert!(
        error.to_string().contains("more than 1048576 bytes"),
        "{error}"
    );
    // A pipe to which nobody writes is not waited for, and what never ends is not read to its end.
    let pipe = directory.path().join("pipe");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let error = DistributionTable::load(&pipe, DelayUnit::Nanoseconds).unwrap_err();
    assert!(matches!(error, TableError::Read { .. }), "{error}");
    let zeros = Path::new("/dev/zero");
    let error = DistributionTable::load_from_any(zeros, DelayUnit::Nanoseconds).unwrap_err();
    assert!(
        error.to_string().contains("more than 1048576 bytes"),
        "{error}"
    );
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(seed in any::<u64>(), origin in "[ -~]{0,80}") {
        let mut state = seed;
        let entries = Box::new(std::array::from_fn(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            ((state >> 33) % 1_000_000_001) as u32
        }));
        let table = DistributionTable::new(entries, DelayUnit::Nanoseconds, &origin);
        prop_assert_eq!(parse(&table.to_text()).unwrap(), table);
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in any::<String>(), lines in "([0-9a-z# -]{0,20}\n){0,6}") {
        prop_assert!(parse(&text).is_err());
        prop_assert!(parse(&lines).is_err());
    }

    #[test]
    fn one_delay_makes_the_table_of_a_constant(delay in 0u64..2_000_000_000) {
        let table = DistributionTable::constant(Nanos(delay)).ok();
        let distribution = Distribution::Constant { value: delay as f64 };
        let made = shape::table(&distribution, 1);
        prop_assert_eq!(table, (made.lowered == 0).then_some(made.table));
    }

    #[test]
    fn a_table_keeps_the_mean(shape in 0.05f64..1.6, location in 0.0f64..1e5, scale in 100.0f64..1e5) {
        let distribution = Distribution::LogNormal { shape, location, scale };
        let made = shape::table(&distribution, 7);
        prop_assert_eq!(made.raised + made.lowered, 0);
        prop_assert!((made.table.mean() - distribution.mean()).abs() < 0.01);
        prop_assert_eq!(made.table.distribution(), Some(distribution));
        for row in check(&made.table, &distribution, 0.05) {
            // The far tail of the heaviest shapes is in the last slice; its variation is lost.
            let far = row.figure == "std" && shape > 1.0;
            prop_assert!(row.within || far, "{row:?}");
        }
    }
}

#[test]
fn what_does_not_fit_is_clamped_and_counted() {
    let low = shape::table(
        &Distribution::Uniform {
            low: -1000.0,
            high: 1000.0,
        },
        1,
    );
    assert_eq!((low.raised, low.lowered), (2047, 0));
    let high = shape::table(&Distribution::Constant { value: 2e9 }, 1);
    assert_eq!((high.raised, high.lowered), (0, TABLE_ENTRIES));
}

#[test]
fn shapes_have_the_moments_asked_for() {
    for (shape, mean, std, location) in [
        (Shape::Constant, 5e4, 0.0, 0.0),
        (Shape::Uniform, 5e4, 1e4, 0.0),
        (Shape::LogNormal, 1e4, 2e4, 0.0),
        (Shape::LogNormal, 1e4, 2e3, 8e3),
    ] {
        let distribution = shape.with_moments(mean, std, location).unwrap();
        assert!(
            (distribution.mean() - mean).abs() < 1e-6 && (distribution.std() - std).abs() < 1e-6
        );
    }
    assert!(Shape::Constant.with_moments(1.0, 1.0, 0.0).is_err());
    assert!(Shape::Uniform.with_moments(10.0, 10.0, 0.0).is_err());
    assert!(Shape::LogNormal.with_moments(10.0, 0.0, 0.0).is_err());
    assert!(Shape::LogNormal.with_moments(10.0, 1.0, 10.0).is_err());
}

#[test]
fn seeds_change_the_order_and_nothing_else() {
    let distribution = Shape::LogNormal.with_moments(1e4, 2e4, 0.0).unwrap();
    let [one, again, other] = [1, 1, 2].map(|seed| shape::table(&distribution, seed).table);
    assert_eq!(one, again);
    assert_ne!(one, other);
    assert_eq!(one.sorted(), other.sorted());
}

#[test]
fn the_family_of_samples_shares_their_mean() {
    let source = Distribution::LogNormal {
        shape: 0.8,
        location: 3000.0,
        scale: 2000.0,
    };
    let samples: Vec<f64> = (0..20_000)
        .map(|i| source.quantile((f64::from(i) + 0.5) / 20_000.0))
        .collect();
    let mean = jitterlab_stats::summary::mean(&samples).unwrap();
    let family = Family::from_samples(&samples).unwrap();
    // Nothing is below 0: the paper's three parameters hold.
    assert!(matches!(
        family.distribution(Member::Lognormal),
        Ok(Some(Distribution::LogNormal { location, .. })) if location > 2_900.0
    ));
    for member in Member::tables() {
        let made = family.fitted(member, 1).unwrap().made;
        assert_eq!((made.raised, made.lowered), (0, 0), "{member}");
        assert!((made.table.mean() - mean).abs() < 0.01, "{member}");
    }
}

/// A light load lengthens few round trips, or none: the samples and their mean are injected all the same.
#[test]
fn samples_that_cannot_be_fitted_have_the_members_that_need_no_fit() {
    for above in [0, 2] {
        let mut samples = vec![-50.0; 1_000];
        samples[..above].fill(20_000.0);
        let family = Family::from_samples(&samples).unwrap();
        for member in Member::tables() {
            let fitted = family.fitted(member, 1);
            let needs_none = matches!(member, Member::Uniform | Member::Empirical)
                || (above == 0 && member == Member::Closest);
            assert_eq!(fitted.is_ok(), needs_none, "{member}, {above} above 0");
            if let Ok(fitted) = fitted {
                let mean = above as f64 * 20_000.0 / 1_000.0;
                assert!((fitted.made.table.mean() - mean).abs() < 0.01, "{member}");
            }
        }
    }
}

/// A part of the samples is below 0, which no delay imitates: it counts as 0, and no table is clipped.
#[test]
fn a_family_with_zeros_keeps_their_share() {
    let source = Distribution::LogNormal {
        shape: 0.8,
        location: -2000.0,
        scale: 2000.0,
    };
    let samples: Vec<f64> = (0..20_000)
        .map(|i| source.quantile((f64::from(i) + 0.5) / 20_000.0))
        .collect();
    let raised: Vec<f64> = samples.iter().map(|x| x.max(0.0)).collect();
    let mean = jitterlab_stats::summary::mean(&raised).unwrap();
    let family = Family::from_samples(&samples).unwrap();
    for member in Member::tables() {
        let made = family.fitted(member, 1).unwrap().made;
        assert_eq!(made.raised, 0, "{member}");
        assert!((made.table.mean() - mean).abs() < 0.01, "{member}");
        let zeros = made.table.sorted().partition_point(|&x| x == 0.0);
        if member != Member::Uniform {
            // Half of the source is; a few more round to 0.
            assert!((2_048..2_300).contains(&zeros), "{member}: {zeros}");
        }
    }
}

#[test]
fn netem_tables_come_and_go() {
    let distribution = Shape::Uniform
        .with_moments(50_000.0, 10_000.0, 0.0)
        .unwrap();
    let table = shape::table(&distribution, 3).table;
    let exported = netem::export(&table);
    assert_eq!(exported.clamped, 0);
    assert!(
        exported.value.starts_with("# uniform("),
        "{}",
        &exported.value[..60]
    );
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("u.dist");
    std::fs::write(&path, &exported.value).unwrap();
    let back = netem::import(&path, table.mean(), table.std()).unwrap();
    assert_eq!(back.clamped, 0);
    for (ours, theirs) in table.sorted().iter().zip(back.value.sorted()) {
        // Half a unit of std / 8192.
        assert!((ours - theirs).abs() <= 1.5, "{ours} {theirs}");
    }
    let heavy = shape::table(&Shape::LogNormal.with_moments(1e4, 2e4, 0.0).unwrap(), 1).table;
    assert!(
        netem::export(&heavy).clamped > 0,
        "netem ends at four standard deviations"
    );
    // Two values only: half the delays each, and the negative ones are 0.
    std::fs::write(&path, "# two\n -8192\n 8192\n").unwrap();
    let two = netem::import(&path, 1_000.0, 3_000.0).unwrap();
    assert_eq!((two.clamped, two.value.mean()), (2048, 2_000.0));
    for (text, message) in [
        ("# nothing\n", ":1: no values; a netem table holds integers"),
        (
            "1 2\n3 x\n",
            ":2: `x` is not an integer from -32768 to 32767",
        ),
        (
            "40000",
            ":1: `40000` is not an integer from -32768 to 32767",
        ),
        (
            "1\n\u{ff}",
            ":2: `ÿ` is not an integer from -32768 to 32767",
        ),
    ] {
        std::fs::write(&path, text).unwrap();
        let error = netem::import(&path, 1.0, 1.0).unwrap_err().to_string();
        assert!(error.ends_with(message), "{error}");
    }
}
