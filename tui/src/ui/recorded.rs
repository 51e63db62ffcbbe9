//! Pictures of what was measured on machines: files go through all that reads them. `recorded/README.md` says how they came about.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use tempfile::{NamedTempFile, TempDir};

use crate::ui::action::Action;
use crate::ui::app::{App, Input};
use crate::ui::keys::Key;
use crate::ui::screen::Base;
use crate::ui::testing::{letters, picture, pictures};

/// The folder.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/ui/recorded")
}

/// A recording.
pub fn text(name: &str) -> String {
    fs::read_to_string(folder().join(name)).unwrap()
}

/// Its lines.
pub fn lines(name: &str) -> Vec<String> {
    text(name).lines().map(String::from).collect()
}

/// Shared pages, moment by moment, by their names: a copy of the file of each. A moment is told by the words that are others than in
/// the one before: `NAME SIZE`, and below that a place and a word, in hexadecimal digits; an empty line ends it.
pub fn pages(name: &str) -> Vec<BTreeMap<String, NamedTempFile>> {
    let mut known: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    let mut of = String::new();
    let mut moments = Vec::new();
    for line in lines(name) {
        match *line.split(' ').collect::<Vec<_>>() {
            [""] => moments.push(known.iter().map(copied).collect()),
            ["", place, word] => {
                let place = usize::from_str_radix(place, 16).unwrap();
                let word = u64::from_str_radix(word, 16).unwrap();
                let page = known.get_mut(&of).unwrap();
                page[place..place + 8].copy_from_slice(&word.to_ne_bytes());
            }
            [name, size] => {
                of = name.into();
                let size = size.parse().unwrap();
                known.entry(of.clone()).or_insert_with(|| vec![0; size]);
            }
            _ => panic!("{line}"),
        }
    }
    moments
}

fn copied((name, bytes): (&String, &Vec<u8>)) -> (String, NamedTempFile) {
    let file = NamedTempFile::new().unwrap();
    fs::write(&file, bytes).unwrap();
    (name.clone(), file)
}

/// A copy of the lab with its experiments. Its logs are of a time that is always the same.
fn lab() -> TempDir {
    let copy = tempfile::tempdir().unwrap();
    let mut cp = Command::new("cp");
    cp.arg("-r").arg(folder().join("lab/.")).arg(copy.path());
    assert!(cp.status().unwrap().success());
    for entry in fs::read_dir(copy.path().join("results")).unwrap().flatten() {
        if entry.path().extension().is_some_and(|end| end == "log") {
            let log = File::options().append(true).open(entry.path()).unwrap();
            let then = SystemTime::UNIX_EPOCH + Duration::from_secs(1_795_687_200);
            log.set_modified(then).unwrap();
        }
    }
    copy
}

/// The model of a folder at a screen, with all that this asks for done.
fn at(folder: PathBuf, number: char) -> App {
    let (mut app, _) = App::new(&Base { folder, cpu: 1 });
    press(&mut app, &[Key::Char(number)]);
    app
}

/// Presses keys, and does what is asked for, until nothing more is.
fn press(app: &mut App, keys: &[Key]) {
    for &key in keys {
        let mut asked = app.on(Input::Key(key));
        while let Some(action) = asked.pop() {
            if let Action::Do(task) = action {
                let mut all = Vec::new();
                task.run(&mut |news| all.push(news));
                for news in all {
                    asked.extend(app.on(Input::News(news)));
                }
            }
        }
    }
}

#[test]
fn recorded_pairs_are_shown() {
    let mut app = at(folder(), '8');
    assert_eq!(app.screen().name(), "Validate");
    assert!(picture(&mut app, 80, 24).contains("a - b"));
    pictures("recorded_validate", &mut app);
}

#[test]
fn recorded_experiments_are_shown() {
    let lab = lab();
    let mut app = at(lab.path().into(), '3');
    assert_eq!(app.screen().name(), "Suites");
    assert!(picture(&mut app, 80, 24).contains("two-levels.yaml"));
    pictures("recorded_suites", &mut app);
}

#[test]
fn recorded_levels_are_compared() {
    let lab = lab();
    let mut app = at(lab.path().into(), '7');
    assert_eq!(app.screen().name(), "Results");
    assert!(picture(&mut app, 80, 24).contains("RTT over UDP"));
    pictures("recorded_results", &mut app);
    press(&mut app, &[Key::Enter, Key::Down]);
    let shown = picture(&mut app, 80, 24);
    assert!(shown.contains("more than 5 %?  yes"), "{shown}");
    pictures("recorded_results_compared", &mut app);
    letters(&mut app, "t");
    pictures("recorded_results_table", &mut app);
}

#[test]
fn recorded_folders_are_compared() {
    let lab = lab();
    let mut app = at(lab.path().into(), '7');
    letters(&mut app, "c");
    assert!(picture(&mut app, 80, 24).contains("keep another folder as a first"));
    press(
        &mut app,
        &[Key::Down, Key::Char('a'), Key::Up, Key::Char('c')],
    );
    let shown = picture(&mut app, 80, 24);
    assert!(
        shown.contains("Is anything slower in b by more than 5 %?"),
        "{shown}"
    );
    pictures("recorded_results_against", &mut app);
    // The share may be none at all, which no test decides.
    letters(&mut app, "----");
    assert!(!picture(&mut app, 80, 24).contains("Is anything slower"));
    press(&mut app, &[Key::Escape]);
    assert!(picture(&mut app, 80, 24).contains("c compare"));
}

#[test]
fn recorded_failures_are_in_the_log() {
    let lab = lab();
    let mut app = at(lab.path().into(), '9');
    assert_eq!(app.screen().name(), "Log");
    let shown = picture(&mut app, 80, 24);
    assert!(
        shown.contains("error") && shown.contains("warning"),
        "{shown}"
    );
    pictures("recorded_log", &mut app);
}
