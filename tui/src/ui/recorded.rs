//! Pictures of what was measured on a machine: files go through all that reads them.
//!
//! In `recorded` are `live.json` of a run of `rtt` with 400 messages a second, twice a second, a line each, and what `jitterlab
//! validate hosts.yaml --transport udp --events results/validate-hosts.jsonl` has told. Who changes a format records them anew.

use std::path::{Path, PathBuf};

use crate::ui::action::Action;
use crate::ui::app::{App, Input};
use crate::ui::keys::Key;
use crate::ui::screen::Base;
use crate::ui::testing::{picture, pictures};

/// The folder.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/ui/recorded")
}

/// Does what is asked for, until nothing more is.
fn settle(app: &mut App, mut asked: Vec<Action>) {
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

#[test]
fn recorded_pairs_are_shown() {
    let folder = folder();
    let (mut app, _) = App::new(&Base { folder, cpu: 1 });
    // It is looked for as soon as the screen is seen.
    let asked = app.on(Input::Key(Key::Char('8')));
    assert_eq!(app.screen().name(), "Validate");
    settle(&mut app, asked);
    assert!(picture(&mut app, 80, 24).contains("a - b"));
    pictures("recorded_validate", &mut app);
}
