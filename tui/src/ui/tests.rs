//! The model by its keys, whichever screen is seen.

use crate::ui::action::Said;
use crate::ui::app::Input;
use crate::ui::keys::Key;
use crate::ui::testing::{THEMES, app_at, drawn, letters, picture, press, tell};

#[test]
fn screens_are_chosen_by_number_or_one_after_the_other() {
    let mut app = app_at("Node");
    let names: Vec<&str> = app.names().collect();
    for (at, name) in names.iter().enumerate() {
        letters(&mut app, &(at + 1).to_string());
        assert_eq!(app.screen().name(), *name);
    }
    press(&mut app, &[Key::Tab]);
    assert_eq!(app.screen().name(), names[0]);
    letters(&mut app, "0");
    assert_eq!(app.screen().name(), names[0]);
}

/// Screens that messages on other screens lead to.
#[test]
fn screens_have_the_numbers_that_people_are_told() {
    let app = app_at("Node");
    let names: Vec<&str> = app.names().collect();
    for (number, name) in [(3, "Suites"), (4, "Live"), (7, "Results"), (9, "Log")] {
        assert_eq!(names[number - 1], name);
    }
}

#[test]
fn every_key_of_the_footer_is_in_the_help_and_any_key_closes_it() {
    let mut app = app_at("Node");
    let names: Vec<&str> = app.names().collect();
    for at in 1..=names.len() {
        letters(&mut app, &at.to_string());
        let [own, general] = app.hints();
        letters(&mut app, "?");
        let help = picture(&mut app, 80, 40);
        for hint in own.iter().chain(&general) {
            let is_it = |line: &str| {
                let line = line.trim();
                line.starts_with(&hint.keys()) && line.ends_with(hint.does)
            };
            assert!(help.lines().any(is_it), "{help}");
        }
        // It is not taken for what it means otherwise.
        assert!(letters(&mut app, "q").is_empty());
        assert!(!app.help);
    }
}

#[test]
fn whoever_leaves_leaves() {
    let mut app = app_at("Node");
    assert_eq!(letters(&mut app, "q"), ["Leave"]);
    assert_eq!(press(&mut app, &[Key::Break]), ["Leave"]);
    letters(&mut app, "?");
    assert_eq!(press(&mut app, &[Key::Break]), ["Leave"]);
    assert!(matches!(
        app.on(Input::Gone)[..],
        [crate::ui::action::Action::Leave]
    ));
}

#[test]
fn what_is_said_is_seen_until_the_next_key() {
    let mut app = app_at("Node");
    tell(&mut app, Said::now("quick.yaml: done".into()));
    assert!(picture(&mut app, 80, 24).contains("quick.yaml: done"));
    press(&mut app, &[Key::Down]);
    assert!(!picture(&mut app, 80, 24).contains("quick.yaml: done"));
}

#[test]
fn where_there_is_no_unicode_all_is_ascii() {
    let mut app = app_at("Node");
    let names: Vec<&str> = app.names().collect();
    let (_, theme) = THEMES[2];
    for at in 1..=names.len() {
        letters(&mut app, &at.to_string());
        let cells = drawn(&mut app, 80, 24, theme).content;
        assert!(cells.iter().all(|cell| cell.symbol().is_ascii()));
    }
}
