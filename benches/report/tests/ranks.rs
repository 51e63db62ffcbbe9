//! What ranks did, and what the report says of it: the paper's findings, and each rank for itself.

mod synthetic;

use std::collections::BTreeMap;

use jitterlab_report::Analysed;
use synthetic::{World, analysed, files, folder, rows};

#[test]
fn the_papers_findings_are_asked_of_what_ranks_did() {
    let with_ranks = World {
        ranks: true,
        application: false,
        samples: 2_000,
        ..World::default()
    };
    let (_directory, analysed) = analysed(&with_ranks);
    let report = analysed.write_report().unwrap();
    let report = report.parent().unwrap();
    let of = |place: &str| -> BTreeMap<String, String> {
        let findings = rows(report, "paper");
        let found: Vec<_> = findings
            .into_iter()
            .filter(|row| row["place"] == place)
            .collect();
        found
            .into_iter()
            .map(|row| (row["finding"].clone(), row["here"].clone()))
            .collect()
    };
    // Load adds a lognormal excess, whose delays have one mean and a lower median; a barrier has the longest of
    // four in it.
    for place in [
        "abstract",
        "section 3.2",
        "figures 2 and 3",
        "figure 5",
        "figure 7",
        "figure 8",
        "figure 9",
        "figure 11",
        "figure 12",
    ] {
        let found = of(place);
        assert!(!found.is_empty(), "{place}");
        assert!(
            found.values().all(|here| here == "holds"),
            "{place}: {found:?}"
        );
    }
    // The noise of the machine is in it, too: no single family has both.
    assert!(
        of("section 5.3")
            .values()
            .all(|here| here == "does not hold")
            && !of("section 5.3").is_empty()
    );
    assert_eq!(
        of("figures 11 and 12")["lu runs longer under varied than under constant delays of the same mean"],
        "holds"
    );
    // EP is no program that the paper says more of.
    assert!(of("table 4").keys().all(|claim| !claim.contains(" ep ")));
    // Everything was measured that the paper says something of, and the words repeat nothing of the table.
    let words = &analysed.analysis.summary.paper;
    assert_eq!(words.len(), 1, "{words:?}");
    assert!(!words[0].contains("slows down more than ep"), "{words:?}");
    let library = rows(report, "library");
    assert_eq!(library.len(), 2 * 11);
    for row in &library {
        let injected = row["level_kind"] == "injected";
        let varied = injected && row["shape"] != "uniform";
        assert_eq!(row["ratio_to_constant"].is_empty(), !varied, "{row:?}");
        assert_eq!(row["n"], "6000");
        assert!(row["mean_us_low"].parse::<f64>().unwrap() < row["mean_us_high"].parse().unwrap());
    }
    let communication = rows(report, "communication");
    assert_eq!(communication.len(), 2 * 11);
    assert!(
        communication
            .iter()
            .all(|row| row["messages"] == "1000" && row["ranks"] == "4")
    );
    let names: Vec<String> = files(report).into_keys().collect();
    for figure in [
        "unloaded",
        "load",
        "shapes-rtt-udp",
        "library-ping-pong",
        "library-barrier",
        "ranks-ping-pong",
        "ranks-barrier",
        "runtimes",
        "correlations",
        "fixed-mean",
    ] {
        assert!(names.contains(&format!("{figure}.svg")), "{figure}");
    }
}

#[test]
fn a_ping_pong_and_packets_that_go_different_ways_are_not_compared() {
    let directory = tempfile::tempdir().unwrap();
    let world = World {
        ranks: true,
        application: false,
        samples: 50,
        ..World::default()
    };
    let path = folder(directory.path(), &world);
    let file = path.join("experiment.yaml");
    let alike = std::fs::read_to_string(&file).unwrap();
    let one_way = "64B between client and server over TCP";
    for (before, after, ways) in [
        ("", "", [one_way, one_way]),
        (
            "to: server, size: 64B",
            "to: server, size: 1KiB",
            [one_way, "1KiB between client and server over TCP"],
        ),
        (
            "client: 1",
            "client: 2",
            ["64B within client over TCP", one_way],
        ),
        (
            "'self,tcp'",
            "'self,vader,tcp'",
            [
                "64B between client and server over what the MPI chose",
                one_way,
            ],
        ),
        (
            ", hosts: { client: 1, server: 3 }",
            "",
            ["64B within client over TCP", one_way],
        ),
    ] {
        std::fs::write(&file, alike.replacen(before, after, 1)).unwrap();
        let analysed = Analysed::open(&path).unwrap();
        let mut findings = analysed.analysis.paper.iter();
        let found = findings
            .find(|finding| finding.claim.starts_with("an MPI ping-pong takes longer"))
            .unwrap();
        let expected = if before.is_empty() {
            "holds"
        } else {
            "undecided"
        };
        assert_eq!(found.standing.name(), expected, "{found:?}");
        for way in ways {
            assert!(
                found.evidence.contains(&format!("({way})")),
                "{way}: {found:?}"
            );
        }
    }
}

#[test]
fn a_world_without_an_effect_contradicts_the_paper_nowhere_that_it_cannot() {
    let (_directory, analysed) = analysed(&World {
        ranks: true,
        by_mean: 0.0,
        by_std: 0.0,
        ..World::default()
    });
    for finding in &analysed.analysis.paper {
        let is_of_slowdowns = ["figure 11", "figure 12", "figures 11 and 12"];
        if is_of_slowdowns.contains(&finding.place) && !finding.claim.contains("hardly") {
            assert_ne!(finding.standing.name(), "holds", "{finding:?}");
        }
    }
}

/// What is said of each comparison that the suites are made for: LU beside EP, and LU beside itself.
fn planned(world: World) -> [String; 2] {
    let (_directory, analysed) = analysed(&World {
        ranks: true,
        application: false,
        repetitions: 6,
        samples: 50,
        ..world
    });
    [
        "lu slows down more than ep",
        "lu runs longer under varied than under constant delays",
    ]
    .map(|claim| told(&analysed, claim))
}

/// All that the table says of a finding.
fn told(analysed: &Analysed, claim: &str) -> String {
    let mut findings = analysed.analysis.paper.iter();
    let finding = findings.find(|of| of.claim.contains(claim)).unwrap();
    format!(
        "{} {}: {}. {}",
        finding.claim,
        finding.standing.name(),
        finding.evidence,
        finding.reason.as_deref().unwrap_or("no reason")
    )
}

fn assert_says(paragraph: &str, parts: &[&str]) {
    for part in parts {
        assert!(paragraph.contains(part), "`{part}`: {paragraph}");
    }
}

#[test]
fn what_the_suites_are_made_for_is_told_in_full_where_it_is_shown() {
    let [beside_ep, beside_constant] = planned(World::default());
    assert_says(
        &beside_ep,
        &[
            "lu slows down more than ep holds: at the highest mean",
            "lu +",
            "n = 6 pairs of runs; 10,000 delays a run",
            ", p = ",
        ],
    );
    assert_says(
        &beside_constant,
        &[
            "constant delays of the same mean holds: at the highest mean",
            "injected uniform of load 60 %",
        ],
    );
    for paragraph in [beside_ep, beside_constant] {
        assert!(paragraph.ends_with("no reason"), "{paragraph}");
    }
}

#[test]
fn where_variation_does_nothing_it_is_said_with_what_the_delays_came_to() {
    let [beside_ep, beside_constant] = planned(World {
        by_std: 0.0,
        ..World::default()
    });
    assert_says(&beside_ep, &[" holds: "]);
    assert_says(
        &beside_constant,
        &[
            " undecided: ",
            "a run draws 10,000 delays",
            "by chance alone such a sum has a standard deviation of",
            "as much of either, so the runtime follows the total delay",
            "against the paper's figures 11 and 12, by which LU ran about 75 % longer, the interval excludes +75 %",
        ],
    );
}

#[test]
fn the_other_way_round_is_said_too() {
    let [_, beside_constant] = planned(World {
        by_std: -0.012,
        ..World::default()
    });
    assert_says(
        &beside_constant,
        &[
            " does not hold: ",
            "less of those that vary",
            "these figures do not tell",
        ],
    );
}

#[test]
fn where_nothing_is_slowed_the_delays_are_said_not_to_show() {
    let [beside_ep, _] = planned(World {
        by_mean: 0.0,
        by_std: 0.0,
        ..World::default()
    });
    assert_says(
        &beside_ep,
        &[
            " undecided: ",
            "lu got delays of",
            "all ranks together, of which",
            "if all of it showed",
        ],
    );
}

#[test]
fn with_one_run_of_each_nothing_is_shown() {
    let (_directory, analysed) = analysed(&World {
        ranks: true,
        application: false,
        repetitions: 1,
        samples: 50,
        ..World::default()
    });
    for claim in ["lu slows down more than ep", "lu runs longer under varied"] {
        assert_says(
            &told(&analysed, claim),
            &[
                " undecided: ",
                "without repeated runs no effect can be shown",
            ],
        );
    }
}

#[test]
fn what_was_not_measured_is_named_with_what_it_takes() {
    let (_directory, analysed) = analysed(&World {
        samples: 50,
        ..World::default()
    });
    let paragraphs = &analysed.analysis.summary.paper;
    assert_says(
        &paragraphs[1],
        &[
            "This experiment asks nothing about: abstract, figure 11 and figure 12 (needs the benchmarks LU and EP",
            "figure 7 and figure 8 (needs a ping-pong over MPI",
            "figure 9 and figure 10 (needs a barrier",
        ],
    );
}

/// A cell for each rank and quantile without injection and with two kinds of delays, in greys that rise with time.
#[test]
fn every_rank_has_a_row_in_the_heat_map() {
    let (_directory, analysed) = analysed(&World {
        ranks: true,
        application: false,
        samples: 400,
        ..World::default()
    });
    for picture in analysed
        .analysis
        .suites
        .library
        .rank_pictures
        .iter()
        .filter(|picture| picture.case == "barrier")
    {
        assert_eq!((picture.runs, &picture.n[..]), (3, &[300; 4][..]));
        for quantiles in &picture.quantiles_ns {
            assert!(quantiles.is_sorted(), "{picture:?}");
        }
    }
    let page = analysed.write_report().unwrap();
    let drawn = std::fs::read_to_string(page.with_file_name("ranks-barrier.svg")).unwrap();
    assert_eq!(drawn.matches("font-size=\"11\"").count(), 3 * 4 * 9);
    let shades = drawn
        .split("fill=\"#")
        .skip(1)
        .filter(|after| after[6..].contains("stroke-width=\"0.8\""));
    for shade in shades.map(|after| &after[..6]) {
        let parts = [&shade[..2], &shade[2..4], &shade[4..]];
        assert!(
            parts.iter().all(|part| *part == parts[0]),
            "{shade} is no grey"
        );
    }
    for text in [
        ">no injection<",
        ">injected lognormal of load 60 %<",
        ">longest<",
        ">Rank<",
        " and more<",
    ] {
        assert!(drawn.contains(text), "{text}");
    }
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("the longest on the right (n = 300 samples a row, of n = 3 runs)"));
}
