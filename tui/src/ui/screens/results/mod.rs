//! Results: what experiments have found, and whether anything is slower than anything else.

mod against;
mod table;
#[cfg(test)]
mod tests;
mod view;
mod watch;

use std::any::Any;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jitterlab_packet::cases::open_loop::TwoLoops;
use jitterlab_report::analysis::levels::{CaseAtLevel, Comparison, Figure};
use jitterlab_stats::histogram::Histogram;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::ui::action::Action;
use crate::ui::keys::{Binding, Hint, Key, MOVES, command, hints, moved};
use crate::ui::parts::export;
use crate::ui::screen::{Base, Screen};
use crate::ui::theme::Theme;
use against::{Against, Open};
use table::Place;
use watch::{Analysis, Cache, Export, Look, Opened, Report, Seen};

#[derive(Debug, Clone, Copy)]
enum Does {
    Choose,
    Enter,
    Back,
    A,
    B,
    Keep,
    Compare,
    Figure,
    More,
    Less,
    Table,
    TableBefore,
    Again,
    Report,
    Text,
    Svg,
}

const FIGURE: Binding<Does> = Binding {
    keys: &[Key::Char('f')],
    does: "figure",
    command: Does::Figure,
};
const MORE: Binding<Does> = Binding {
    keys: &[Key::Char('+')],
    does: "share up",
    command: Does::More,
};
const LESS: Binding<Does> = Binding {
    keys: &[Key::Char('-')],
    does: "down",
    command: Does::Less,
};

const TEXT: Binding<Does> = Binding {
    keys: &[Key::Char('x')],
    does: "save text",
    command: Does::Text,
};
const SVG: Binding<Does> = Binding {
    keys: &[Key::Char('v')],
    does: "save SVG",
    command: Does::Svg,
};

const FOLDERS: &[Binding<Does>] = &[
    Binding {
        keys: &[Key::Enter, Key::Right],
        does: "its levels",
        command: Does::Enter,
    },
    Binding {
        keys: &[Key::Char('t')],
        does: "its tables",
        command: Does::Table,
    },
    Binding {
        keys: &[Key::Char('a')],
        does: "keep as a",
        command: Does::Keep,
    },
    Binding {
        keys: &[Key::Char('c')],
        does: "compare",
        command: Does::Compare,
    },
    Binding {
        keys: &[Key::Char('w')],
        does: "write the report",
        command: Does::Report,
    },
    Binding {
        keys: &[Key::Char('r')],
        does: "read again",
        command: Does::Again,
    },
    TEXT,
    SVG,
    Binding {
        keys: MOVES,
        does: "choose",
        command: Does::Choose,
    },
];

/// Keys while two folders are compared.
const AGAINST: &[Binding<Does>] = &[
    FIGURE,
    MORE,
    LESS,
    Binding {
        keys: &[Key::Escape],
        does: "back",
        command: Does::Back,
    },
    Binding {
        keys: &[Key::Left, Key::Right],
        does: "columns",
        command: Does::Choose,
    },
    TEXT,
    SVG,
    Binding {
        keys: MOVES,
        does: "rows",
        command: Does::Choose,
    },
];

/// The keys in the last line of the terminal, in this order, as many as there is room for.
const LEVELS: &[Binding<Does>] = &[
    Binding {
        keys: &[Key::Char('a')],
        does: "mark as a",
        command: Does::A,
    },
    Binding {
        keys: &[Key::Char('b')],
        does: "mark as b",
        command: Does::B,
    },
    Binding {
        keys: &[Key::Char('t')],
        does: "tables",
        command: Does::Table,
    },
    TEXT,
    Binding {
        keys: &[Key::Char('w')],
        does: "report",
        command: Does::Report,
    },
    MORE,
    LESS,
    FIGURE,
    Binding {
        keys: &[Key::Left, Key::Escape],
        does: "back",
        command: Does::Back,
    },
    SVG,
    Binding {
        keys: &[Key::Char('r')],
        does: "read again",
        command: Does::Again,
    },
    Binding {
        keys: MOVES,
        does: "choose",
        command: Does::Choose,
    },
];

/// Keys in a table.
const TABLES: &[Binding<Does>] = &[
    Binding {
        keys: &[Key::Char('t')],
        does: "next table",
        command: Does::Table,
    },
    Binding {
        keys: &[Key::Char('T')],
        does: "the one before",
        command: Does::TableBefore,
    },
    Binding {
        keys: &[Key::Left, Key::Right],
        does: "columns",
        command: Does::Choose,
    },
    Binding {
        keys: &[Key::Escape],
        does: "back",
        command: Does::Back,
    },
    TEXT,
    SVG,
    Binding {
        keys: &[Key::Char('w')],
        does: "write the report",
        command: Does::Report,
    },
    Binding {
        keys: MOVES,
        does: "rows",
        command: Does::Choose,
    },
];

/// The shares that something may be slower by, in percent.
const SHARES: [f64; 8] = [0.0, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0];

/// The screen.
struct Results {
    base: PathBuf,
    cache: Cache,
    looks: bool,
    /// Result folders; not looked for yet.
    folders: Option<Vec<PathBuf>>,
    /// The one that is chosen.
    folder: Option<PathBuf>,
    /// True since a key was pressed here: the folder stays. Before that, it is the newest one.
    by_hand: bool,
    /// The newest folder when that was chosen.
    known: Option<PathBuf>,
    analysis: Analysis,
    /// The folder that others are compared with, and the comparison that is seen.
    kept: Option<PathBuf>,
    against: Option<Against>,
    /// True if the arrows lead through levels; through folders, otherwise.
    inside: bool,
    /// The level that is chosen, by its place, and those that were said to be a and b.
    at: usize,
    marked: [Option<usize>; 2],
    figure: Figure,
    /// The share that is asked about, by its place.
    share: usize,
    /// The place in the tables of the report; the levels, where it is nothing.
    table: Option<Place>,
    /// The area and theme that it was drawn with last.
    drawn: Option<(Rect, Theme)>,
}

/// The screen for the results of a folder.
pub fn screen(base: &Base) -> Box<dyn Screen> {
    Box::new(Results {
        base: base.folder.clone(),
        cache: Cache::default(),
        looks: false,
        folders: None,
        folder: None,
        by_hand: false,
        known: None,
        analysis: None,
        kept: None,
        against: None,
        inside: false,
        at: 0,
        marked: [None; 2],
        figure: Figure::Median,
        share: 4,
        table: None,
        drawn: None,
    })
}

impl Results {
    fn opened(&self) -> Option<&Arc<Opened>> {
        self.analysis.as_ref()?.as_ref().ok()
    }

    fn cases(&self) -> &[CaseAtLevel] {
        self.opened().map_or(&[], |opened| &opened.cases)
    }

    fn share(&self) -> f64 {
        SHARES[self.share] / 100.0
    }

    /// The places of a and b: the first level of what is chosen, and what is chosen, where nothing else was said.
    fn compared(&self) -> Option<[usize; 2]> {
        let chosen = self.cases().get(self.at)?;
        let mut cases = self.cases().iter();
        let first = cases.position(|it| it.subject == chosen.subject)?;
        let [a, b] = self.marked;
        Some([a.unwrap_or(first), b.unwrap_or(self.at)])
    }

    /// Makes what is chosen a (0) or b (1), and says so: the mark may stand there already.
    fn mark(&mut self, side: usize) -> Option<Action> {
        let name = self.cases().get(self.at)?.name.clone();
        self.marked[side] = Some(self.at);
        Some(Action::Say(format!("{} is {name}", ["a", "b"][side])))
    }

    /// The comparison of a and b; `None` if they are one.
    fn comparison(&self) -> Option<Result<Comparison, TwoLoops>> {
        let [a, b] = self.compared()?;
        let (a, b) = (self.cases().get(a)?, self.cases().get(b)?);
        let is_same = a.name == b.name;
        (!is_same).then(|| Comparison::of(a, b, self.figure, self.share()))
    }

    /// All samples of a and b.
    fn distributions(&self) -> Option<[Histogram; 2]> {
        let [a, b] = self.compared()?;
        let of = |at: usize| {
            let name = &self.cases().get(at)?.name;
            Some(self.opened()?.samples.get(name)?.histogram())
        };
        (a != b).then_some([of(a)?, of(b)?])
    }

    fn choose_folder(&mut self, folder: PathBuf) {
        self.folder = Some(folder);
        self.known = self.newest().cloned();
        self.analysis = None;
        self.forget();
    }

    fn newest(&self) -> Option<&PathBuf> {
        self.folders.as_ref()?.first()
    }

    /// The newest folder, where it was made after another one had been chosen.
    fn newer(&self) -> Option<&PathBuf> {
        let newest = self.newest().filter(|it| Some(*it) != self.folder.as_ref());
        newest.filter(|it| Some(*it) != self.known.as_ref())
    }

    fn forget(&mut self) {
        self.at = 0;
        self.marked = [None; 2];
        self.table = None;
    }

    fn take_seen(&mut self, seen: &Seen) {
        self.folders = Some(seen.folders.clone());
        let newest = self.newest().filter(|it| Some(*it) != self.folder.as_ref());
        if let Some(newest) = newest.filter(|_| !self.by_hand).cloned() {
            self.choose_folder(newest);
        }
        let Some((folder, analysis)) = &seen.opened else {
            self.looks = false;
            return;
        };
        // The first of two is told before the folder is analysed.
        self.looks = analysis.is_none();
        if self.folder.as_ref() == Some(folder) && analysis.is_some() {
            let before = self.cases().len();
            self.analysis = analysis.clone();
            if self.cases().len() != before {
                self.forget();
            }
        }
    }

    fn choose(&mut self, key: Key) {
        let (figure, share) = (self.figure, self.share());
        if let Some(against) = &mut self.against {
            against.choose(key, figure, share);
        } else if let (Some(place), Some(opened)) = (self.table, self.opened()) {
            self.table = Some(place.moved(key, &opened.tables));
        } else if self.inside {
            self.at = moved(key, self.at, self.cases().len()).unwrap_or(self.at);
        } else {
            let folders = self.folders.as_deref().unwrap_or_default();
            let at = folders
                .iter()
                .position(|it| Some(it) == self.folder.as_ref());
            let next = moved(key, at.unwrap_or(0), folders.len());
            if let Some(folder) = next.and_then(|at| folders.get(at)).cloned() {
                self.choose_folder(folder);
            }
        }
    }

    /// Enters the folder; one without levels by its tables, if it has any.
    fn enter(&mut self) -> Option<Action> {
        let opened = self.opened()?;
        let (has_levels, has_tables) = (!opened.cases.is_empty(), !opened.tables.is_empty());
        if !has_levels && !has_tables {
            let text = "nothing was measured in this folder yet, neither levels nor tables";
            return Some(Action::Say(text.into()));
        }
        self.inside = has_levels;
        self.table = (!has_levels).then(Place::default);
        None
    }

    /// Compares the folder that is chosen with the kept one.
    fn compare(&mut self) -> Option<Action> {
        let b = self.folder.clone()?;
        let Some(a) = self.kept.clone().filter(|a| *a != b) else {
            let text =
                "keep another folder as a first: the one that is chosen is compared with that";
            return Some(Action::Say(text.into()));
        };
        self.against = Some(Against::new([a.clone(), b.clone()]));
        Some(Action::work(Open([a, b])))
    }

    /// The next table, or the one before; beyond either end there is none.
    fn turn(&mut self, by: isize) {
        let tables = self.opened().map_or(0, |it| it.tables.len());
        self.table = match self.table {
            Some(place) => place.on(by, tables),
            None => (tables > 0).then(Place::default),
        };
    }

    fn bindings(&self) -> &'static [Binding<Does>] {
        match (&self.against, self.table, self.inside) {
            (Some(_), ..) => AGAINST,
            (None, Some(_), _) => TABLES,
            (None, None, true) => LEVELS,
            (None, None, false) => FOLDERS,
        }
    }

    fn export(&mut self, ending: &'static str, of: impl Fn(&Buffer) -> String) -> Option<Action> {
        let (area, theme) = self.drawn?;
        let folder = self.folder.clone()?;
        let mut buffer = Buffer::empty(area);
        self.draw(&mut buffer, area, theme);
        let picture = of(&buffer);
        Some(Action::work(Export {
            folder,
            ending,
            picture,
        }))
    }
}

impl Screen for Results {
    fn name(&self) -> &'static str {
        "Results"
    }

    fn hints(&self) -> Vec<Hint> {
        hints(self.bindings())
    }

    fn key(&mut self, key: Key, _measures: bool) -> Option<Action> {
        let does = command(self.bindings(), key)?;
        self.by_hand = true;
        match does {
            Does::Choose => self.choose(key),
            Does::Enter => return self.enter(),
            Does::Keep => self.kept = self.folder.clone(),
            Does::Compare => return self.compare(),
            Does::Back if self.against.is_some() => self.against = None,
            Does::Back if self.table.is_some() => self.table = None,
            Does::Back => self.inside = false,
            Does::A => return self.mark(0),
            Does::B => return self.mark(1),
            Does::More => self.share = (self.share + 1).min(SHARES.len() - 1),
            Does::Less => self.share = self.share.saturating_sub(1),
            Does::Figure => {
                let at = Figure::ALL.iter().position(|it| *it == self.figure);
                self.figure = Figure::ALL[(at.unwrap_or(0) + 1) % Figure::ALL.len()];
            }
            Does::Table => self.turn(1),
            Does::TableBefore => self.turn(-1),
            Does::Again => {
                let folder = self.folder.clone()?;
                if let Ok(mut cache) = self.cache.try_lock() {
                    cache.remove(&folder);
                }
                self.analysis = None;
            }
            Does::Report => {
                return Some(Action::work(Report {
                    folder: self.folder.clone()?,
                    cache: Arc::clone(&self.cache),
                }));
            }
            Does::Text => return self.export("txt", export::text),
            Does::Svg => return self.export("svg", export::svg),
        }
        None
    }

    fn take(&mut self, news: &dyn Any) -> Option<Action> {
        if let Some(seen) = news.downcast_ref::<Seen>() {
            self.take_seen(seen);
        }
        if let (Some(sides), Some(against)) = (news.downcast_ref(), &mut self.against) {
            against.take(sides);
        }
        None
    }

    fn period(&self) -> Option<Duration> {
        Some(Duration::from_secs(2))
    }

    fn look(&mut self, due: bool) -> Option<Action> {
        let is_wanted = due || self.folder.is_some() && self.analysis.is_none();
        if self.looks || !is_wanted {
            return None;
        }
        self.looks = true;
        Some(Action::work(Look {
            base: self.base.clone(),
            folder: self.folder.clone(),
            cache: Arc::clone(&self.cache),
        }))
    }

    fn draw(&mut self, buffer: &mut Buffer, area: Rect, theme: Theme) {
        self.drawn = Some((area, theme));
        view::draw(buffer, area, self, theme);
    }
}
