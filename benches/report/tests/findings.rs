//! What is said follows from what was measured.

mod synthetic;

use jitterlab_experiment::level::{Level, Member};
use jitterlab_report::Analysed;
use jitterlab_report::analysis::paper::Finding;
use synthetic::{World, analysed};

/// What is said of a place in the paper.
fn found<'a>(analysed: &'a Analysed, place: &str) -> &'a Finding {
    let mut findings = analysed.analysis.paper.iter();
    findings.find(|finding| finding.place == place).unwrap()
}

#[test]
fn of_two_cases_over_one_transport_the_one_that_was_fitted_is_compared() {
    let (_directory, analysed) = analysed(&World {
        second: true,
        application: false,
        ..World::default()
    });
    let analysis = &analysed.analysis;
    // The other one comes first in every table, and load adds five times as much to it.
    assert_eq!(analysis.suites.packet.latency[0].link.case, "big");
    for table in &analysis.suites.packet.tables {
        assert_eq!(table.link.case, "rtt");
        if table.shape == Member::Lognormal {
            assert!(
                table.closeness.largest_difference < 0.3,
                "{}",
                table.percent
            );
        }
    }
    let emulation = &analysis.summary.emulation;
    assert!(emulation[0].starts_with("As an emulation of the RTT over UDP under load, "));
    let other = "RTT of big over UDP under load, the lognormal table is poor at load 20 % and load 60 % (it was made from the RTT \
                 over UDP)";
    assert!(
        emulation.iter().any(|said| said.contains(other)),
        "{emulation:?}"
    );
    for place in ["section 3.2", "figure 5"] {
        let of_fitted = found(&analysed, place);
        assert_eq!(of_fitted.standing.name(), "holds", "{of_fitted:?}");
    }
}

#[test]
fn a_lognormal_that_could_not_be_fitted_has_not_lost() {
    let of = |resolution: u64| {
        let (_directory, analysed) = analysed(&World {
            resolution,
            application: false,
            ..World::default()
        });
        let best = found(&analysed, "section 5.3");
        (
            best.standing.name(),
            best.evidence.clone(),
            analysed.analysis.summary.fits.join(" "),
        )
    };
    // Samples that are nearly all one number.
    let (standing, evidence, words) = of(64_000);
    assert_eq!(standing, "undecided", "{evidence}");
    assert!(
        evidence.contains("none could be fitted to the RTT over UDP at load 20 %"),
        "{evidence}"
    );
    assert!(
        words.contains("No family could be fitted to RTT over UDP at load 20 %"),
        "{words}"
    );
    let (standing, evidence, words) = of(1);
    // Lognormal and the noise of the machine: no family but a mixture has both.
    assert_eq!(standing, "does not hold", "{evidence}");
    assert!(
        !evidence.contains("fitted") && !words.contains("No family"),
        "{evidence} {words}"
    );
}

#[test]
fn skewness_is_known_from_repeated_runs_and_not_from_many_round_trips() {
    let standing = |repetitions: u32, samples: usize| {
        let (_directory, analysed) = analysed(&World {
            repetitions,
            samples,
            application: false,
            without: synthetic::levels()
                .filter(|level| *level != Level::None)
                .collect(),
            ..World::default()
        });
        let skewed = found(&analysed, "figure 4");
        (skewed.standing.name(), skewed.evidence.clone())
    };
    let (here, evidence) = standing(1, 5_000);
    assert_eq!(here, "undecided", "{evidence}");
    let (here, evidence) = standing(8, 1_000);
    assert_eq!(here, "holds", "{evidence}");
    assert!(evidence.contains("of 8 runs"), "{evidence}");
}

#[test]
fn words_for_a_cause_follow_from_the_test() {
    let said = |world: World| {
        let (_directory, analysed) = analysed(&World {
            ranks: true,
            samples: 60,
            ..world
        });
        let summary = &analysed.analysis.summary;
        let parts = [&summary.applications, &summary.library, &summary.latency];
        parts.map(|part| part.join(" "))
    };
    let [programs, operations, packets] = said(World {
        repetitions: 8,
        ..World::default()
    });
    assert!(programs.contains("made the runtime of redis"), "{programs}");
    assert!(operations.contains("barrier took"), "{operations}");
    assert!(
        packets.contains("Under background load 60 % the mean RTT over UDP changed"),
        "{packets}"
    );
    let [programs, operations, packets] = said(World {
        repetitions: 8,
        by_mean: 0.0,
        by_std: 0.0,
        ..World::default()
    });
    assert!(!programs.contains("made the runtime"), "{programs}");
    assert!(
        programs.contains("The mean alone: no effect of constant delays"),
        "{programs}"
    );
    assert!(
        operations.contains("no difference of ping-pong between"),
        "{operations}"
    );
    assert!(packets.contains("changed"), "{packets}");
    let single = said(World {
        repetitions: 1,
        ..World::default()
    });
    for part in single {
        assert!(part.contains("without repeated runs"), "{part}");
        for cause in ["made", "took", "changed"] {
            assert!(!part.contains(cause), "{part}");
        }
    }
}

#[test]
fn a_world_without_an_effect_of_variation_is_not_given_one() {
    let (_directory, analysed) = analysed(&World {
        by_std: 0.0,
        ..World::default()
    });
    let words = &analysed.analysis.summary.applications[0];
    assert!(words.contains("no effect of variation"), "{words}");
}

#[test]
fn the_first_screen_asks_and_answers_in_one_sentence() {
    let answer = |world: World| {
        let (_directory, analysed) = analysed(&World {
            samples: 50,
            ..world
        });
        let page = std::fs::read_to_string(analysed.write_report().unwrap()).unwrap();
        let answer = analysed.analysis.answer;
        let head = page.split("<h1>").nth(1).unwrap();
        assert!(head.starts_with(&answer.question) && answer.question.ends_with('?'));
        assert!(head.contains(&answer.sentence), "{answer:?}");
        answer.sentence
    };
    let by_variation = answer(World::default());
    let said =
        " more time with varied delays than with constant ones of the same mean (95 % interval: ";
    assert!(
        by_variation.starts_with("Yes: redis took ") && by_variation.contains(said),
        "{by_variation}"
    );
    let by_mean = answer(World {
        by_std: 0.0,
        ..World::default()
    });
    assert!(
        by_mean.starts_with("Not shown by these runs: "),
        "{by_mean}"
    );
    assert!(
        by_mean.contains(". Constant delays of ") && by_mean.contains(" slower than no delay."),
        "{by_mean}"
    );
    let single = answer(World {
        repetitions: 1,
        ..World::default()
    });
    assert!(single.starts_with("That is not known: "), "{single}");
    let several = answer(World {
        ranks: true,
        ..World::default()
    });
    for part in [
        "Yes, lu and redis: ",
        "make lu take ",
        "shown on ep: ",
        "same mean, ",
    ] {
        assert!(several.contains(part), "{several}");
    }
    let faster = answer(World {
        by_std: -0.012,
        ..World::default()
    });
    assert!(faster.starts_with("No, on the contrary: "), "{faster}");
    let no_program = answer(World {
        application: false,
        ..World::default()
    });
    assert!(
        no_program.starts_with("Under background load"),
        "{no_program}"
    );
}

#[test]
fn what_two_repetitions_do_not_tell_is_not_drawn_and_is_said() {
    let (_directory, analysed) = analysed(&World {
        repetitions: 2,
        samples: 50,
        noise: 0.6,
        ranks: true,
        ..World::default()
    });
    let analysis = &analysed.analysis;
    let ratios = analysis
        .suites
        .application
        .runtimes
        .iter()
        .filter_map(|row| row.slowdown);
    let figures = (ratios.map(|slowdown| slowdown.ratio)).chain(
        analysis
            .suites
            .application
            .runtimes
            .iter()
            .map(|row| row.runtime_s),
    );
    let (known, unknown): (Vec<_>, Vec<_>) = figures.partition(|of| of.interval().is_some());
    assert!(!unknown.is_empty());
    for (low, high) in known.iter().filter_map(|of| of.interval()) {
        assert!(low >= 0.0 && high <= 10.0 * low, "{low} to {high}");
    }
    let gaps = analysis.summary.gaps.join(" ");
    assert!(
        gaps.contains(
            "figures have no interval. With 2 runs their uncertainty exceeds a factor of 10."
        ),
        "{gaps}"
    );
    let page = std::fs::read_to_string(analysed.write_report().unwrap()).unwrap();
    assert!(page.contains("A point or bar without an interval has none"));
    // Axes end where the figures do.
    let ticks = page.split("text-anchor=\"end\" >").skip(1);
    for tick in ticks.filter_map(|text| text.split('<').next()?.parse::<f64>().ok()) {
        assert!(tick.abs() < 20_000.0, "{tick}");
    }
}

#[test]
fn a_time_is_called_what_it_is_and_read_in_a_unit_of_its_size() {
    let (_directory, analysed) = analysed(&World {
        units: 10_000.0,
        rate: true,
        samples: 50,
        ..World::default()
    });
    let report = analysed.write_report().unwrap();
    let drawn = std::fs::read_to_string(report.with_file_name("correlations.svg")).unwrap();
    assert!(drawn.contains(">Time of a unit of work, µs<"));
    let page = std::fs::read_to_string(report).unwrap();
    assert!(page.contains("time of a unit of work of redis") && !page.contains("0.0001"));
    let first = page.split("<section").next().unwrap();
    let unit =
        "The time of redis is that of a unit of its work: one over the rate in “… requests”.";
    assert!(first.contains(unit) && first.contains("corrected after Holm over one test"));
}

#[test]
fn a_link_that_lacks_the_higher_of_loads_that_are_one_keeps_its_row() {
    let failing = (1..=3).map(|run| (format!("packet-rtt-tcp.load-60.r{run}"), 3));
    let (_directory, analysed) = analysed(&World {
        reached: 20.0,
        samples: 100,
        application: false,
        failing: failing.collect(),
        ..World::default()
    });
    let page = analysed.write_report().unwrap();
    let rows = synthetic::rows(page.parent().unwrap(), "latency");
    let mut loads: Vec<(&str, &str, &str)> = rows
        .iter()
        .filter(|row| row["level_kind"] == "load")
        .map(|row| {
            let [transport, level, runs] =
                ["transport", "level", "runs"].map(|it| row[it].as_str());
            (transport, level, runs)
        })
        .collect();
    loads.sort_unstable();
    let one = "load 20 % (asked 20 and 60 %)";
    assert_eq!(loads, [("tcp", one, "3"), ("udp", one, "6")]);
}

#[test]
fn a_load_is_named_by_what_was_produced_and_those_that_are_the_same_are_one() {
    let said = |reached: f64| {
        let (_directory, analysed) = analysed(&World {
            reached,
            samples: 100,
            application: false,
            ..World::default()
        });
        let page = analysed.write_report().unwrap();
        let rows = synthetic::rows(page.parent().unwrap(), "latency");
        let levels = rows
            .iter()
            .filter(|row| row["transport"] == "udp" && row["level_kind"] == "load");
        let levels: Vec<(String, String, String)> = levels
            .map(|row| {
                (
                    row["level"].clone(),
                    row["runs"].clone(),
                    row["produced_percent"].clone(),
                )
            })
            .collect();
        (
            levels,
            analysed.analysis.summary.clone(),
            found(&analysed, "figures 2 and 3").evidence.clone(),
        )
    };
    let row =
        |level: &str, runs: &str, produced: &str| (level.into(), runs.into(), produced.into());
    let (levels, summary, _) = said(100.0);
    assert_eq!(
        levels,
        [row("load 20 %", "3", "20"), row("load 60 %", "3", "60")]
    );
    assert!(
        !summary.gaps.join(" ").contains("asked"),
        "{:?}",
        summary.gaps
    );
    let (levels, summary, evidence) = said(47.0);
    assert_eq!(
        levels,
        [
            row("load 20 %", "3", "20"),
            row("load 47 % (asked 60 %)", "3", "47")
        ]
    );
    assert!(
        summary.gaps.join(" ").contains("asked 60 %, produced 47 %"),
        "{:?}",
        summary.gaps
    );
    assert!(evidence.contains("at load 47 % (asked 60 %)"), "{evidence}");
    // Of loads that are one, the runs of either count.
    let (levels, summary, _) = said(22.0);
    assert_eq!(levels, [row("load 21 % (asked 20 and 60 %)", "6", "21")]);
    assert!(
        summary.gaps.join(" ").contains("This machine reaches 21 %"),
        "{:?}",
        summary.gaps
    );
    // What imitates either is compared with it.
    assert!(
        !summary
            .gaps
            .join(" ")
            .contains("to compare the injected delays with"),
        "{:?}",
        summary.gaps
    );
    assert!(
        summary.latency[0].contains("background load 21 % (asked 20 and 60 %)"),
        "{:?}",
        summary.latency
    );
}

#[test]
fn only_what_was_measured_is_named_and_every_correction_says_over_how_many_tests() {
    let (_directory, analysed) = analysed(&World::default());
    let normality = &analysed.analysis.summary.normality[0];
    assert!(
        normality.contains("distribution of the round trips in "),
        "{normality}"
    );
    let claims = analysed.analysis.paper.iter().map(|found| &found.claim);
    let claims: Vec<&String> = claims.filter(|claim| claim.contains("normally")).collect();
    assert_eq!(claims[0], "round trips are not normally distributed");
    // Every correction says over how many tests it was made.
    let report = analysed.write_report().unwrap();
    let page = std::fs::read_to_string(report).unwrap();
    for tests in [
        "over one test, ",
        "over the 8 tests of this table",
        "over the 10 tests of this table",
    ] {
        assert!(page.contains(tests), "{tests}");
    }
    let emulation = analysed.analysis.summary.emulation.join(" ");
    assert!(
        emulation.contains("nor do injected ones (at most "),
        "{emulation}"
    );
    let fits = analysed.analysis.summary.fits.join(" ");
    assert!(
        fits.contains(" is chosen for the excess of ") && !fits.contains("comes closest"),
        "{fits}"
    );
}

#[test]
fn hosts_that_share_a_cpu_of_one_machine_are_a_limit() {
    let said = |apart: bool| {
        let directory = tempfile::tempdir().unwrap();
        let folder = synthetic::folder(
            directory.path(),
            &World {
                samples: 50,
                ..World::default()
            },
        );
        if !apart {
            let file = folder.join("experiment.yaml");
            let text = std::fs::read_to_string(&file).unwrap();
            std::fs::write(file, text.replace("cpu: 1", "cpu: 0")).unwrap();
        }
        let analysed = Analysed::open(&folder).unwrap();
        analysed.analysis.summary.gaps.join(" ")
    };
    assert!(said(false).contains("client and server share CPU 0 of one machine."));
    assert!(!said(true).contains("share CPU"));
}
