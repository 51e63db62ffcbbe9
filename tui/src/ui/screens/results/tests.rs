//! The screen by its keys, and as it looks.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use jitterlab_experiment::level::{Level, Phase};
use jitterlab_experiment::record::{Outcome, RunRecord, SuiteKind, Transport};
use jitterlab_report::analysis::levels::CaseAtLevel;
use jitterlab_stats::histogram::Histogram;

use super::table::TextTable;
use super::watch::{Buckets, Cache, Look, Opened, Seen, missing};
use crate::ui::action::Task;
use crate::ui::app::App;
use crate::ui::keys::Key;
use crate::ui::testing::{
    THEMES, app_at, drawn, fits_anywhere, letters, picture, pictures, press, tell,
};

const FOLDERS: [&str; 2] = [
    "lab/results/suite1-quick-20261126T041500Z",
    "lab/results/rtt-20261125T101500Z",
];

fn record(transport: Transport, level: Level, word: &str, block: u32) -> RunRecord {
    RunRecord {
        version: RunRecord::VERSION,
        run: format!("packet-rtt-{}.{word}.r{block}", transport.name()),
        phase: Phase::Characterise,
        block,
        repetition: block,
        attempt: 1,
        suite: SuiteKind::Packet,
        case: "rtt".into(),
        transport: Some(transport),
        level,
        outcome: Outcome::Done,
        reason: None,
        started: String::new(),
        seconds: 1.0,
        samples: Some(String::new()),
        n: Some(99),
        result: None,
        load: None,
        injection: None,
    }
}

/// Round trips of two transports at three levels, five times each: more load takes longer.
fn opened() -> Opened {
    let levels = [
        (Level::None, "none"),
        (Level::Load { percent: 20 }, "load-20"),
        (Level::Load { percent: 80 }, "load-80"),
    ];
    let mut records = Vec::new();
    for block in 1..=5 {
        for transport in [Transport::Tcp, Transport::Udp] {
            for (level, word) in levels {
                records.push(record(transport, level, word, block));
            }
        }
    }
    let samples = |record: &RunRecord| -> Result<Vec<f64>, jitterlab_report::Error> {
        let load = f64::from(record.level.percent().unwrap_or(0));
        let block = f64::from(record.block);
        let median = 10_000.0 * (1.0 + load / 400.0) + 40.0 * (block * 2.4 + load).sin();
        Ok((-49..50).map(|n| median + 10.0 * f64::from(n)).collect())
    };
    let records: Vec<&RunRecord> = records.iter().collect();
    let table = |title: &str, rows: usize| {
        let column = |heading: &str, cell: &dyn Fn(usize) -> String| {
            let cells = std::iter::once(heading.to_string()).chain((0..rows).map(cell));
            cells.map(|cell| format!("{cell:<5}")).collect()
        };
        TextTable {
            title: title.into(),
            columns: vec![
                column("Row", &|row| row.to_string()),
                column("r", &|row| format!("0.{row}")),
                column("p", &|row| format!("0.0{row}")),
            ],
        }
    };
    let mut all: BTreeMap<String, Histogram> = BTreeMap::new();
    for record in &records {
        let histogram = all.entry(record.condition().into()).or_default();
        histogram.add(&Histogram::of(&samples(record).unwrap()));
    }
    let buckets = all
        .iter()
        .map(|(name, all)| (name.clone(), Buckets::of(all)));
    Opened {
        cases: CaseAtLevel::all(&records, &samples).unwrap(),
        samples: buckets.collect(),
        answer: "What does a load do to round trips? It lengthens them.".into(),
        tables: vec![table("Round trips", 3), table("Correlations", 90)],
        report: None,
        missing: None,
    }
}

fn told(app: &mut App) {
    told_of(app, opened());
}

fn told_of(app: &mut App, opened: Opened) {
    let folders: Vec<_> = FOLDERS.iter().map(Into::into).collect();
    for opened in [None, Some(Ok(Arc::new(opened)))] {
        let seen = Seen {
            folders: folders.clone(),
            opened: Some((folders[0].clone(), opened)),
        };
        tell(app, seen);
    }
}

#[test]
fn levels_are_grouped_by_case_and_any_two_compared() {
    let mut app = app_at("Results");
    assert!(picture(&mut app, 80, 24).contains("looking"));
    told(&mut app);
    let shown = picture(&mut app, 80, 24);
    assert!(shown.contains("suite1-quick-20261126T041500Z"), "{shown}");
    pictures("results", &mut app);
    press(&mut app, &[Key::Enter, Key::Down]);
    let shown = picture(&mut app, 80, 24);
    let place = |text: &str| {
        shown
            .find(text)
            .unwrap_or_else(|| panic!("no {text} in {shown}"))
    };
    assert!(
        place("RTT over TCP") < place("load 80 %") && place("load 80 %") < place("RTT over UDP")
    );
    assert!(
        shown.contains("a  packet-rtt-tcp.none") && shown.contains("b  packet-rtt-tcp.load-20"),
        "{shown}"
    );
    assert!(
        shown.contains("geometric mean of the ratios")
            && shown.contains("5 blocks, paired t, p = "),
        "{shown}"
    );
    // A load of 20 % takes 5 % more, give or take what runs differ by.
    assert!(shown.contains("more than 5 %?  undecided"), "{shown}");
    letters(&mut app, "-");
    assert!(picture(&mut app, 80, 24).contains("more than 2 %?  yes"));
    letters(&mut app, "++");
    assert!(picture(&mut app, 80, 24).contains("more than 10 %?  no"));
    pictures("results_compared", &mut app);
    // The key that leads on is in the last line of a small terminal, too.
    let shown = picture(&mut app, 80, 24);
    let footer = shown.lines().last().unwrap();
    for key in [
        "a mark as a",
        "b mark as b",
        "t table",
        "x save text",
        "w report",
    ] {
        assert!(footer.contains(key), "{footer}");
    }
    // A large terminal has room for the samples.
    assert!(picture(&mut app, 200, 60).contains("all samples of b, over those of a"));
    // Whatever was said to be a stays a.
    press(
        &mut app,
        &[Key::Char('a'), Key::End, Key::Char('b'), Key::Home],
    );
    let shown = picture(&mut app, 80, 24);
    assert!(
        shown.contains("a  packet-rtt-tcp.load-20") && shown.contains("b  packet-rtt-udp.load-80"),
        "{shown}"
    );
    letters(&mut app, "f");
    assert!(picture(&mut app, 80, 24).contains("p99 of b against a: "));
    fits_anywhere(&mut app);
}

#[test]
fn tables_of_the_report_are_shown_one_after_the_other() {
    let mut app = app_at("Results");
    told(&mut app);
    press(&mut app, &[Key::Enter]);
    letters(&mut app, "tt");
    let shown = picture(&mut app, 80, 24);
    assert!(shown.contains("Correlations (2 of 2)"), "{shown}");
    press(&mut app, &[Key::PageDown]);
    let shown = picture(&mut app, 80, 24);
    assert!(
        shown.contains("Row    r") && shown.contains("  10     0.10") && !shown.contains("  9  "),
        "{shown}"
    );
    letters(&mut app, "T");
    assert!(picture(&mut app, 80, 24).contains("Round trips (1 of 2)"));
    // The next one is below, where there is room for both.
    let large = picture(&mut app, 200, 60);
    assert!(large.contains("Correlations (2 of 2)"), "{large}");
    letters(&mut app, "T");
    assert!(picture(&mut app, 80, 24).contains("RTT over TCP"));
    letters(&mut app, "ttt");
    assert!(picture(&mut app, 80, 24).contains("RTT over TCP"));
}

#[test]
fn of_a_wide_table_all_columns_can_be_seen_beside_the_first() {
    let mut app = app_at("Results");
    told(&mut app);
    letters(&mut app, "t");
    // There is room for two of its three.
    let narrow = |app: &mut App| picture(app, 16, 24);
    assert!(picture(&mut app, 80, 24).contains("Row    r      p"));
    press(&mut app, &[Key::Right]);
    assert!(
        narrow(&mut app).contains("Row    p"),
        "{}",
        narrow(&mut app)
    );
    // The last one stays.
    press(&mut app, &[Key::Right]);
    assert!(narrow(&mut app).contains("Row    p"));
    press(&mut app, &[Key::Left]);
    assert!(narrow(&mut app).contains("Row    r"));
    press(&mut app, &[Key::Escape]);
    assert!(picture(&mut app, 80, 24).contains("its levels"));
}

#[test]
fn a_folder_without_levels_is_entered_by_its_tables() {
    let mut app = app_at("Results");
    let mut only_tables = opened();
    only_tables.cases.clear();
    told_of(&mut app, only_tables);
    press(&mut app, &[Key::Enter]);
    assert!(picture(&mut app, 80, 24).contains("Round trips (1 of 2)"));
    assert!(letters(&mut app, "x").join("").contains("Round trips"));
    press(&mut app, &[Key::Escape]);
    assert!(picture(&mut app, 80, 24).contains("its tables"));
    let mut nothing = opened();
    nothing.cases.clear();
    nothing.tables.clear();
    told_of(&mut app, nothing);
    press(&mut app, &[Key::Enter]);
    assert!(picture(&mut app, 80, 24).contains("nothing was measured in this folder yet"));
}

#[test]
fn the_screen_is_exported_and_the_report_written() {
    let mut app = app_at("Results");
    told(&mut app);
    // That of the folders, too.
    let large = picture(&mut app, 200, 60);
    assert!(large.contains("Correlations (2 of 2)"), "{large}");
    assert!(letters(&mut app, "x")[0].contains("Correlations (2 of 2)"));
    press(&mut app, &[Key::Enter, Key::Down]);
    let shown = picture(&mut app, 80, 24);
    let text = letters(&mut app, "x").join("");
    let line = shown
        .lines()
        .find(|line| line.starts_with("Is b slower"))
        .unwrap();
    assert!(
        text.contains(line.trim_end()) && text.contains(r#"ending: "txt""#),
        "{text}"
    );
    let svg = letters(&mut app, "v").join("");
    assert!(svg.contains("<svg ") && svg.contains(FOLDERS[0]), "{svg}");
    let report = letters(&mut app, "w").join("");
    assert!(
        report.contains("Report") && report.contains(FOLDERS[0]),
        "{report}"
    );
}

#[test]
fn another_folder_is_chosen_and_analysed() {
    let mut app = app_at("Results");
    told(&mut app);
    press(&mut app, &[Key::Down]);
    assert!(picture(&mut app, 80, 24).contains("is being analysed"));
    let wrong = Seen {
        folders: FOLDERS.iter().map(Into::into).collect(),
        opened: Some((FOLDERS[1].into(), Some(Err("no run was measured".into())))),
    };
    tell(&mut app, wrong);
    assert!(picture(&mut app, 80, 24).contains("no run was measured"));
    let nothing = Seen {
        folders: Vec::new(),
        opened: None,
    };
    let mut app = app_at("Results");
    tell(&mut app, nothing);
    assert!(picture(&mut app, 80, 24).contains("No results yet"));
}

const NEWEST: &str = "lab/results/rtt-20261127T050000Z";

/// A newer folder is there, and the one that was looked into is as before.
fn newer_is_there(app: &mut App) {
    let folders = [NEWEST].into_iter().chain(FOLDERS);
    let seen = Seen {
        folders: folders.map(Into::into).collect(),
        opened: Some((FOLDERS[0].into(), Some(Ok(Arc::new(opened()))))),
    };
    tell(app, seen);
}

#[test]
fn a_newer_folder_is_opened_where_nobody_has_chosen() {
    let mut app = app_at("Results");
    told(&mut app);
    newer_is_there(&mut app);
    let shown = picture(&mut app, 80, 24);
    assert!(
        shown.contains("is being analysed") && !shown.contains("newer"),
        "{shown}"
    );
}

#[test]
fn the_folder_that_was_entered_is_named_and_stays_beside_a_newer_one() {
    let mut app = app_at("Results");
    told(&mut app);
    press(&mut app, &[Key::Enter]);
    let shown = picture(&mut app, 80, 24);
    assert!(
        shown.contains("suite1-quick-20261126T041500Z") && !shown.contains("newer"),
        "{shown}"
    );
    press(&mut app, &[Key::Down]);
    newer_is_there(&mut app);
    let shown = picture(&mut app, 80, 24);
    let line = "a newer folder: rtt-20261127T050000Z: Esc, then choose it";
    assert!(
        shown.contains("suite1-quick-20261126T041500Z") && shown.contains(line),
        "{shown}"
    );
    // The level that was chosen stays so.
    assert!(shown.contains("b  packet-rtt-tcp.load-20"), "{shown}");
    fits_anywhere(&mut app);
    // Whoever goes back to an older one knows of it.
    press(&mut app, &[Key::Escape, Key::Up]);
    assert!(picture(&mut app, 80, 24).contains("is being analysed"));
    press(&mut app, &[Key::Down]);
    assert!(!picture(&mut app, 80, 24).contains("a newer"));
}

/// Why a folder cannot be analysed, by the last news of a look.
fn why(base: &Path, folder: &Path, cache: &Cache) -> String {
    let look = Look {
        base: base.into(),
        folder: Some(folder.into()),
        cache: Arc::clone(cache),
    };
    let mut last = None;
    Box::new(look).run(&mut |news| last = news.downcast::<Seen>().ok());
    last.unwrap().opened.unwrap().1.unwrap().unwrap_err()
}

#[test]
fn a_folder_is_read_again_after_it_has_got_runs() {
    let base = tempfile::tempdir().unwrap();
    let folder = base.path().join("results").join("rtt-20261127T050000Z");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("runs.jsonl"), "").unwrap();
    let cache = Cache::default();
    let before = why(base.path(), &folder, &cache);
    fs::write(folder.join("experiment.yaml"), "name: [").unwrap();
    assert_eq!(why(base.path(), &folder, &cache), before);
    fs::write(folder.join("runs.jsonl"), "{}\n").unwrap();
    assert_ne!(why(base.path(), &folder, &cache), before);
}

#[test]
fn a_folder_says_which_part_of_its_runs_is_missing() {
    let done = record(Transport::Tcp, Level::None, "none", 1);
    let mut failed = record(Transport::Udp, Level::None, "none", 1);
    failed.outcome = Outcome::Failed;
    let attempts = [failed.clone(), done.clone(), failed];
    let line = missing(3, &attempts);
    assert_eq!(line.as_deref(), Some("1 of 3 runs done, 2 attempts failed"));
    // A run that failed at first was measured.
    assert_eq!(missing(1, &attempts), None);
    let mut app = app_at("Results");
    let opened = Opened {
        missing: line,
        ..opened()
    };
    told_of(&mut app, opened);
    for _ in ["its folder", "its levels"] {
        let shown = picture(&mut app, 80, 24);
        assert!(
            shown.contains("1 of 3 runs done, 2 attempts failed"),
            "{shown}"
        );
        press(&mut app, &[Key::Enter]);
    }
}

#[test]
fn infinity_is_spelt_where_there_is_only_ascii() {
    let mut app = app_at("Results");
    let mut endless = opened();
    endless.tables[0].columns[1][1] = "(∞)  ".into();
    endless.tables[0].columns[2][1] = "∞    ".into();
    told_of(&mut app, endless);
    letters(&mut app, "t");
    let (_, ascii) = THEMES[2];
    let shown = drawn(&mut app, 80, 24, ascii);
    let shown: String = shown.content.iter().map(|cell| cell.symbol()).collect();
    assert!(shown.contains("0      (inf)  inf  "), "{shown}");
}
