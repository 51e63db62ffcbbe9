//! Two result folders, compared as `jitterlab results compare` does.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use jitterlab_base::show::printable;
use jitterlab_report::analysis::gate::{Gated, Side};
use jitterlab_report::analysis::levels::Figure;
use jitterlab_report::table::Table;
use jitterlab_stats::gate::Slower;
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::table::{Place, TextTable, draw_columns};
use crate::shown::cut;
use crate::ui::action::{News, Task};
use crate::ui::keys::Key;
use crate::ui::parts::text::{put_all, wrapped};
use crate::ui::theme::Theme;

/// Reads both folders: news are [`Sides`].
#[derive(Debug)]
pub struct Open(pub [PathBuf; 2]);

/// The content of two folders, or the reason why they cannot be read.
#[derive(Debug, Clone)]
pub struct Sides {
    /// The folders: a, the kept one, and b.
    pub folders: [PathBuf; 2],
    /// The content of both.
    pub opened: Result<Arc<[Side; 2]>, String>,
}

impl Task for Open {
    fn run(self: Box<Self>, tell: &mut dyn FnMut(News)) {
        let [a, b] = &self.0;
        let opened = Side::open(a).and_then(|a| Ok(Arc::new([a, Side::open(b)?])));
        tell(Box::new(Sides {
            opened: opened.map_err(|error| printable(&error.to_string())),
            folders: self.0,
        }));
    }
}

/// A comparison of two folders, as it is seen.
#[derive(Debug)]
pub struct Against {
    folders: [PathBuf; 2],
    sides: Option<Result<Arc<[Side; 2]>, String>>,
    place: Place,
}

impl Against {
    /// A comparison of a, the kept folder, with b; neither is read yet.
    pub fn new(folders: [PathBuf; 2]) -> Self {
        Against {
            folders,
            sides: None,
            place: Place::default(),
        }
    }

    /// Takes in what was read, if it is of these folders.
    pub fn take(&mut self, sides: &Sides) {
        if sides.folders == self.folders {
            self.sides = Some(sides.opened.clone());
        }
    }

    /// Leads through the table.
    pub fn choose(&mut self, key: Key, figure: Figure, share: f64) {
        if let Some(Ok(gated)) = self.gated(figure, share) {
            self.place = self.place.moved(key, &[table(&gated)]);
        }
    }

    /// The result; none before both were read.
    fn gated(&self, figure: Figure, share: f64) -> Option<Result<Gated, String>> {
        Some(match self.sides.as_ref()? {
            Ok(sides) => {
                let [a, b] = &**sides;
                Gated::of(a, b, figure, share).map_err(|error| error.to_string())
            }
            Err(error) => Err(error.clone()),
        })
    }

    /// Draws it.
    pub fn draw(&self, buffer: &mut Buffer, area: Rect, figure: Figure, share: f64, theme: Theme) {
        let says = |text: &str, style| wrapped(Span::raw(""), text, style, area.width);
        let [a, b] = self.folders.each_ref().map(|folder| name(folder));
        let side = |text: String| Line::styled(cut(&text, area.width.into()), theme.heading());
        let mut lines = vec![side(format!("a  {a}")), side(format!("b  {b}"))];
        let gated = match self.gated(figure, share) {
            Some(Ok(gated)) => gated,
            other => {
                lines.extend(match other {
                    Some(Err(error)) => says(&error, theme.bad()),
                    _ => says("are being read", Style::new()),
                });
                return put_all(buffer, area, &lines);
            }
        };
        let mut below = vec![Line::default()];
        let sentences = gated.sentences();
        below.extend(
            sentences
                .iter()
                .flat_map(|it| says(&printable(it), Style::new())),
        );
        let question = format!(
            "Is anything slower in b by more than {} %?  ",
            100.0 * gated.gate
        );
        below.push(Line::from(vec![
            Span::raw(question),
            verdict(gated.slower, theme),
            Span::styled("  (+ - change the share)", theme.aside()),
        ]));
        let rows = |lines: &[Line]| u16::try_from(lines.len()).unwrap_or(u16::MAX);
        // A title, headings, and a row for each quantity.
        let quantities = u16::try_from(gated.quantities.len() + 2).unwrap_or(u16::MAX);
        let [top, middle, bottom] = Layout::vertical([
            Constraint::Length(rows(&lines)),
            Constraint::Max(quantities),
            Constraint::Length(rows(&below)),
        ])
        .areas(area);
        put_all(buffer, top, &lines);
        put_all(buffer, bottom, &below);
        let title = format!("{figure} of a run, mean over runs");
        draw_columns(buffer, middle, title, &table(&gated), self.place, theme);
    }
}

fn table(gated: &Gated) -> TextTable {
    TextTable::of(&Table::of(&gated.quantities))
}

/// The name of a folder, for people.
pub fn name(folder: &Path) -> String {
    printable(&folder.file_name().unwrap_or_default().to_string_lossy())
}

/// An answer.
pub fn verdict(slower: Slower, theme: Theme) -> Span<'static> {
    match slower {
        Slower::Yes => Span::styled("yes", theme.bad()),
        Slower::No => Span::styled("no", theme.good()),
        Slower::Undecided => Span::styled("undecided", theme.warning()),
    }
}
