//! What is known of a synthetic world comes out of its result folder.

mod synthetic;

use std::path::Path;

use jitterlab_experiment::level::{Level, Member};
use jitterlab_experiment::record::{RunRecord, Transport};
use jitterlab_report::Analysed;
use synthetic::{World, analysed, files, folder, rows};

/// Load that keeps processors awake makes round trips shorter: the report says what that means, and only then.
#[test]
fn a_network_that_is_slower_without_load_is_one_that_sleeps() {
    for (waking, says) in [(0.0, false), (40e3, true)] {
        let world = World {
            waking,
            ..World::default()
        };
        let (_directory, analysed) = analysed(&world);
        let words = analysed.analysis.summary.latency.join(" ");
        assert_eq!(words.contains("jitterlab tune apply"), says, "{words}");
    }
}

#[test]
fn known_means_and_effects_are_found() {
    let (_directory, analysed) = analysed(&World::default());
    let analysis = &analysed.analysis;
    // Load adds 100 ns a percent, times a lognormal with shape 0.6, whose mean is exp(0.18).
    let factor = 0.18f64.exp();
    for row in &analysis.suites.packet.latency {
        let Level::Load { percent } = row.level else {
            continue;
        };
        let base = if row.link.transport == Transport::Udp {
            20e3
        } else {
            25e3
        };
        let expected = base + 100.0 * f64::from(percent) * factor;
        let (low, high) = row.mean_ns.interval().unwrap();
        assert!((row.mean_ns.value / expected - 1.0).abs() < 0.05, "{row:?}");
        assert!(
            low < row.mean_ns.value && row.mean_ns.value < high,
            "{row:?}"
        );
    }
    // The program is slowed by variation as well as by the mean, and the report says so.
    let words = analysis.summary.applications.join(" ");
    assert!(words.contains("significantly slower in"), "{words}");
    let slower = analysis
        .suites
        .application
        .fixed_mean
        .iter()
        .filter(|row| row.slowdown.ratio.value > 1.0);
    assert_eq!(slower.count(), analysis.suites.application.fixed_mean.len());
    let correlation = &analysis.suites.application.correlations[0];
    assert!(correlation.std.r.estimate > 0.9, "{correlation:?}");
    // The fitted lognormal imitates a lognormal well.
    for row in &analysis.suites.packet.emulation {
        if row.shape == Member::Lognormal && row.link.transport == Transport::Udp {
            assert!(row.rank_biserial.abs() < 0.1, "{row:?}");
        }
    }
    assert!(analysis.failures.is_empty());
    // How late the latest delay was is known, and why it was is not.
    let words = &analysis.summary.injector[0];
    assert!(words.contains("4.321 µs late (redis, "), "{words}");
    assert!(words.ends_with("why was not measured."), "{words}");
}

#[test]
fn an_emulation_with_another_variation_than_the_load_is_called_poor_and_it_is_said() {
    let (_directory, analysed) = analysed(&World {
        tail: true,
        application: false,
        ..World::default()
    });
    let fitted: Vec<_> = analysed
        .analysis
        .suites
        .packet
        .emulation
        .iter()
        .filter(|row| row.shape == Member::Lognormal && row.link.transport == Transport::Udp)
        .collect();
    assert_eq!(fitted.len(), 2);
    let sentence = &analysed.analysis.summary.emulation[0];
    for row in fitted {
        // By ranks and distance it would do.
        assert!(row.rank_biserial.abs() < 0.1, "{row:?}");
        assert!(row.wasserstein_share < 0.25, "{row:?}");
        let ratio = row.injected_std_ns.value / row.background_std_ns.value;
        assert!(ratio > 1.5, "{row:?}");
        assert_eq!(row.verdict, "poor", "{row:?}");
        let said = format!("{:.0} % at load {} %", 100.0 * ratio, row.percent);
        assert!(sentence.contains(&said), "{sentence}");
    }
}

#[test]
fn what_shows_of_delays_is_of_the_program_and_not_of_a_unit_of_its_work() {
    let shown = |units: f64| -> Vec<f64> {
        let (_directory, analysed) = analysed(&World {
            units,
            samples: 50,
            ..World::default()
        });
        let rows = analysed.analysis.suites.application.runtimes.iter();
        let costs = rows.filter_map(|row| row.cost.as_ref());
        costs.map(|cost| cost.shown().unwrap().value).collect()
    };
    // A runtime of one over a rate is one of so many parts of how long the program ran.
    let of_whole = shown(1.0);
    assert_eq!(of_whole.len(), 10);
    assert!(of_whole.iter().all(|&shown| shown > 0.1), "{of_whole:?}");
    assert_eq!(shown(10_000.0), of_whole);
}

#[test]
fn the_report_is_the_same_whenever_it_is_made() {
    let (_directory, analysed) = analysed(&World {
        ranks: true,
        ..World::default()
    });
    let page = analysed.write_report().unwrap();
    let report = page.parent().unwrap();
    let first = files(report);
    let again = Analysed::open(analysed.folder.path()).unwrap();
    again.write_report().unwrap();
    assert!(files(report) == first);
    for (name, content) in &first {
        let text = String::from_utf8(content.clone()).unwrap();
        match name.rsplit('.').next().unwrap() {
            "svg" => well_formed(name, &text),
            "html" => {
                for figure in text.split("<svg").skip(1) {
                    let end = figure.find("</svg>").unwrap() + "</svg>".len();
                    well_formed(name, &format!("<svg{}", &figure[..end]));
                }
                // Nothing is fetched, and what a machine is called is not markup.
                for outside in ["src=", "<link", "<script", "@import", "url(http"] {
                    assert!(!text.contains(outside), "{outside}");
                }
                assert!(text.contains("A CPU &lt;fast&gt;"));
            }
            _ => {
                let rows = rows(report, name.strip_suffix(".csv").unwrap());
                assert!(!rows.is_empty(), "{name}");
            }
        }
    }
    assert!(first.contains_key("index.html") && first.contains_key("latency.csv"));
}

/// Every element that is opened is closed, in order, and attributes are quoted.
fn well_formed(name: &str, text: &str) {
    let mut open = Vec::new();
    for element in text.split('<').skip(1) {
        let (tag, after) = element
            .split_once('>')
            .unwrap_or_else(|| panic!("{name}: <{element}"));
        assert!(!after.contains('>'), "{name}: {after}");
        assert_eq!(tag.matches('"').count() % 2, 0, "{name}: <{tag}>");
        let word = |tag: &str| tag.split([' ', '\n']).next().unwrap().to_string();
        if let Some(closed) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(word(closed)), "{name}: </{closed}>");
        } else if !tag.ends_with('/') && !tag.starts_with(['?', '!']) {
            open.push(word(tag));
        }
    }
    assert!(open.is_empty(), "{name}: {open:?}");
}

#[test]
fn what_is_missing_is_said_and_the_rest_is_there() {
    let injected = |percent| Level::Injected {
        percent,
        shape: Member::Uniform,
    };
    let nothing_injected: Vec<Level> = synthetic::levels()
        .filter(|level| matches!(level, Level::Injected { .. }))
        .collect();
    let worlds = [
        (
            "one repetition",
            World {
                repetitions: 1,
                ..World::default()
            },
        ),
        (
            "no application",
            World {
                application: false,
                ..World::default()
            },
        ),
        (
            "no level none",
            World {
                without: vec![Level::None],
                ..World::default()
            },
        ),
        (
            "no load",
            World {
                without: vec![Level::Load { percent: 60 }],
                ..World::default()
            },
        ),
        (
            "no constant delays",
            World {
                without: vec![injected(20), injected(60)],
                ..World::default()
            },
        ),
        (
            "nothing injected",
            World {
                without: nothing_injected,
                ..World::default()
            },
        ),
    ];
    for (name, world) in worlds {
        let (_directory, analysed) = analysed(&world);
        let page = analysed.write_report().unwrap();
        let text = std::fs::read_to_string(page).unwrap();
        assert!(!text.contains("NaN") && !text.contains("inf"), "{name}");
        assert!(!analysed.to_text().contains("NaN"), "{name}");
        assert!(
            !analysed.analysis.suites.packet.latency.is_empty(),
            "{name}"
        );
    }
}

#[test]
fn moments_that_differ_by_rounding_alone_are_not_correlated_with() {
    let only = |wanted: fn(u8, Member) -> bool| -> Vec<Level> {
        synthetic::levels()
            .filter(|level| {
                matches!(*level, Level::Injected { percent, shape } if !wanted(percent, shape))
            })
            .collect()
    };
    let worlds = [
        (
            only(|percent, _| percent == 20),
            "one mean",
            "a second load",
        ),
        (
            only(|_, shape| shape == Member::Uniform),
            "one standard deviation",
            "a second shape",
        ),
    ];
    for (without, same, add) in worlds {
        let (_directory, analysed) = analysed(&World {
            samples: 20,
            without,
            ..World::default()
        });
        assert!(
            analysed.analysis.suites.application.correlations.is_empty(),
            "{same}"
        );
        assert!(analysed.analysis.summary.correlations.is_empty(), "{same}");
        let gaps = &analysed.analysis.summary.gaps;
        let gap = gaps.iter().find(|gap| gap.contains(same)).unwrap();
        assert!(gap.contains("redis") && gap.contains(add), "{gap}");
        let page = analysed.write_report().unwrap();
        assert!(!page.with_file_name("correlations.svg").exists(), "{same}");
    }
}

#[test]
fn failed_runs_are_listed_with_their_reason_and_what_is_not_done_is_counted() {
    let failing = ["packet-rtt-udp.load-60.r2", "packet-rtt-udp.load-20.r1"];
    let (_directory, analysed) = analysed(&World {
        failing: vec![(failing[0].into(), 3), (failing[1].into(), 1)],
        // Three repetitions of a load over two transports.
        without: vec![Level::Load { percent: 60 }],
        ..World::default()
    });
    let gaps = &analysed.analysis.summary.gaps;
    let page = analysed.write_report().unwrap();
    let failures = rows(page.parent().unwrap(), "failures");
    assert_eq!(failures.len(), 1);
    assert_eq!(
        (&failures[0]["run"][..], &failures[0]["given_up"][..]),
        (failing[1], "no")
    );
    assert_eq!(
        gaps[0],
        "7 of 111 runs were not done, and nothing of them stands below; `jitterlab run --resume` does them, also 1 of them that failed \
         and may be tried again (under “Runs that failed”)."
    );
    let text = std::fs::read_to_string(page).unwrap();
    assert!(text.contains("the server &lt;did&gt; not answer &amp; went away"));
    assert!(text.contains("3 blocks; each was to hold every run once"));
    assert!(text.contains("104 measured of 111, 0 given up, 7 not done"));
}

#[test]
fn runs_that_are_given_up_are_told_from_those_that_are_not_done() {
    let failing = vec![("packet-rtt-udp.load-60.r2".to_string(), 3)];
    let (_directory, analysed) = analysed(&World {
        failing,
        samples: 50,
        ..World::default()
    });
    let gap = "1 run was given up after all attempts, and nothing of them stands below; the reasons are listed under “Runs that \
               failed”.";
    assert_eq!(analysed.analysis.summary.gaps[0], gap);
    let page = std::fs::read_to_string(analysed.write_report().unwrap()).unwrap();
    assert!(page.contains("110 measured of 111, 1 given up, 0 not done"));
}

#[test]
fn messages_without_a_round_trip_are_counted_and_said_where_they_are_many() {
    let latency_and_gap = |samples: usize| {
        let (_directory, analysed) = analysed(&World {
            samples,
            application: false,
            without: synthetic::levels()
                .filter(|level| *level != Level::None)
                .collect(),
            ..World::default()
        });
        let gaps = analysed.analysis.summary.gaps.clone();
        let gap = gaps.into_iter().find(|gap| gap.contains("too late"));
        let page = analysed.write_report().unwrap();
        (rows(page.parent().unwrap(), "latency"), gap)
    };
    // In each of three runs over UDP one message is lost and two are late.
    let (latency, gap) = latency_and_gap(1_000);
    for row in &latency {
        let of_udp = row["transport"] == "udp";
        assert_eq!(row["lost"], if of_udp { "3" } else { "0" }, "{row:?}");
        assert_eq!(row["reordered"], if of_udp { "6" } else { "0" }, "{row:?}");
    }
    let gap = gap.unwrap();
    let says = [
        "In 1 condition more than 0.1 %",
        "RTT over UDP, no load: 3 lost and 6 late beside 3,000 round trips",
    ];
    assert!(says.iter().all(|part| gap.contains(part)), "{gap}");
    assert_eq!(latency_and_gap(3_000).1, None);
}

#[test]
fn nothing_of_an_earlier_report_is_left() {
    let (_before, earlier) = analysed(&World {
        samples: 50,
        failing: vec![("packet-rtt-udp.load-60.r2".into(), 3)],
        ..World::default()
    });
    let mine = ["mine.csv", "fits-mine.svg", "notes.txt"];
    let leave = |analysed: &Analysed, ending: &str| {
        let report = analysed.folder.path().join("report");
        std::fs::create_dir_all(&report).unwrap();
        for (name, content) in files(earlier.write_report().unwrap().parent().unwrap()) {
            if name.ends_with(ending) {
                std::fs::write(report.join(name), content).unwrap();
            }
        }
        for name in mine {
            std::fs::write(report.join(name), name).unwrap();
        }
        report
    };
    let fewer = World {
        samples: 50,
        application: false,
        without: synthetic::levels()
            .filter(|level| *level != Level::None)
            .collect(),
        ..World::default()
    };
    type Make = fn(&Analysed);
    let made: [(Make, &str); 2] = [
        (|analysed| drop(analysed.write_report().unwrap()), ""),
        (|analysed| drop(analysed.write_tables().unwrap()), ".csv"),
    ];
    for (make, ending) in made {
        let (_directory, clean) = analysed(&fewer);
        make(&clean);
        let mut expected = files(&clean.folder.path().join("report"));
        assert!(expected.contains_key("latency.csv") && !expected.contains_key("failures.csv"));
        expected.extend(mine.map(|name| (name.into(), name.into())));
        let (_directory, analysed) = analysed(&fewer);
        let report = leave(&analysed, ending);
        assert!(files(&report).len() > expected.len());
        make(&analysed);
        let left = files(&report);
        assert!(left == expected, "{:?}", left.keys());
    }
}

#[test]
fn every_column_stands_in_the_book() {
    let book = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/report.md");
    let book = std::fs::read_to_string(book).unwrap();
    let (_directory, analysed) = analysed(&World {
        failing: vec![("packet-rtt-udp.load-60.r2".into(), 3)],
        ranks: true,
        ..World::default()
    });
    let mut columns = 0;
    for table in analysed.analysis.tables() {
        let csv = String::from_utf8(table.to_csv().unwrap()).unwrap();
        let chapter = book.split(&format!("**{}.csv**", table.id)).nth(1).unwrap();
        let chapter = chapter.split("\n\n").next().unwrap();
        let common = book.split("An *estimate* takes").nth(1).unwrap();
        let common = common.split("\n\n").next().unwrap();
        for column in csv.lines().next().unwrap().split(',') {
            let name = column.strip_suffix("_low").or(column.strip_suffix("_high"));
            let name = format!("`{}`", name.unwrap_or(column));
            let there = chapter.contains(&name) || common.contains(&name);
            assert!(there, "{}.csv: {name}", table.id);
            columns += 1;
        }
    }
    assert!(columns > 100);
}

#[test]
fn a_folder_that_is_broken_is_refused_and_nothing_is_written() {
    type Break = fn(&Path);
    let breaks: [(&str, Break, &str); 7] = [
        (
            "missing folder",
            |p| std::fs::remove_dir_all(p).unwrap(),
            "cannot read result folder",
        ),
        (
            "no experiment",
            |p| std::fs::remove_file(p.join("experiment.yaml")).unwrap(),
            "is not a result folder",
        ),
        (
            "no environment",
            |p| std::fs::remove_file(p.join("environment.json")).unwrap(),
            "environment.json",
        ),
        (
            "broken line",
            |p| {
                let line = format!("{{\"version\":{}}}\n", RunRecord::VERSION);
                std::fs::write(p.join("runs.jsonl"), line).unwrap();
            },
            "runs.jsonl:1",
        ),
        (
            "format of another version",
            |p| {
                std::fs::write(
                    p.join("runs.jsonl"),
                    "{\"run\":\"packet-rtt-udp.none.r1\"}\n",
                )
                .unwrap()
            },
            "holds results of format 1, and this jitterlab reads format 9",
        ),
        (
            "no runs",
            |p| std::fs::write(p.join("runs.jsonl"), "").unwrap(),
            "no run",
        ),
        (
            "no samples",
            |p| std::fs::remove_dir_all(p.join("samples")).unwrap(),
            "cannot read samples",
        ),
    ];
    for (name, damage, says) in breaks {
        let directory = tempfile::tempdir().unwrap();
        let world = World {
            samples: 20,
            ..World::default()
        };
        let path = folder(directory.path(), &world);
        damage(&path);
        let Err(error) = Analysed::open(&path) else {
            panic!("{name} was taken");
        };
        assert!(error.to_string().contains(says), "{name}: {error}");
        assert!(!path.join("report").exists(), "{name}");
    }
}
