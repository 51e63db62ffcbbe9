//! A table of the report: where in it one is, and how it is drawn.

use jitterlab_base::show::printable;
use jitterlab_report::table::Table;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Line;

use crate::ui::keys::{Key, moved};
use crate::ui::parts::text::put;
use crate::ui::theme::Theme;

/// A table as text.
#[derive(Debug, PartialEq)]
pub struct TextTable {
    /// Its title.
    pub title: String,
    /// Its columns: the heading and a cell for each row, all of one width.
    pub columns: Vec<Vec<String>>,
}

impl TextTable {
    /// Makes the text of a table of the report.
    pub fn of(table: &Table) -> Self {
        let printed = |cells: &Vec<String>| cells.iter().map(|cell| printable(cell)).collect();
        TextTable {
            title: table.title.into(),
            columns: table.text_columns().iter().map(printed).collect(),
        }
    }

    fn rows(&self) -> usize {
        let first = self.columns.first();
        first.map_or(0, |cells| cells.len().saturating_sub(1))
    }
}

/// The part of the tables that is seen.
#[derive(Debug, Clone, Copy, Default)]
pub struct Place {
    /// The table.
    table: usize,
    /// Its first row.
    row: usize,
    /// The number of columns after the first that are passed over.
    column: usize,
}

impl Place {
    /// The table that is so many places on, of so many; none beyond either end.
    pub fn on(self, by: isize, of: usize) -> Option<Self> {
        let table = self.table.checked_add_signed(by).filter(|at| *at < of)?;
        Some(Place {
            table,
            ..Place::default()
        })
    }

    /// The place in the table that a key leads to.
    pub fn moved(self, key: Key, tables: &[TextTable]) -> Self {
        let Some(table) = tables.get(self.table) else {
            return self;
        };
        // The first column stays, and one other is always seen.
        let others = table.columns.len().saturating_sub(1);
        let column = match key {
            Key::Left => self.column.saturating_sub(1),
            Key::Right => (self.column + 1).min(others.saturating_sub(1)),
            _ => self.column,
        };
        Place {
            row: moved(key, self.row, table.rows()).unwrap_or(self.row),
            column,
            ..self
        }
    }
}

/// A narrower area shows little of a table.
pub const WIDE: u16 = 120;

/// Draws one of these tables; in a wide area, as many of those after it below as there is room for.
pub fn draw(buffer: &mut Buffer, area: Rect, tables: &[TextTable], place: Place, theme: Theme) {
    /// So many rows a table takes at least.
    const LEAST: u16 = 4;
    let mut rest = area;
    for (at, table) in tables.iter().enumerate().skip(place.table) {
        let place = match at == place.table {
            true => place,
            false => Place::default(),
        };
        let title = format!("{} ({} of {})", table.title, at + 1, tables.len());
        draw_columns(buffer, rest, title, table, place, theme);
        // Title, head and an empty row are not its own.
        let rows = u16::try_from(table.rows().saturating_sub(place.row) + 3).unwrap_or(u16::MAX);
        if area.width < WIDE || rest.height < rows.saturating_add(LEAST) {
            return;
        }
        rest = Rect {
            y: rest.y + rows,
            height: rest.height - rows,
            ..rest
        };
    }
}

/// Draws a table: its first column, and beside that what there is room for of the others.
pub fn draw_columns(
    buffer: &mut Buffer,
    area: Rect,
    title: String,
    table: &TextTable,
    place: Place,
    theme: Theme,
) {
    let first = table.columns.iter().take(1);
    let columns = first.chain(table.columns.iter().skip(1 + place.column));
    let columns: Vec<&Vec<String>> = columns.collect();
    let line = |row: usize| {
        let cells = columns.iter().filter_map(|cells| cells.get(row));
        cells.map(|cell| format!("  {cell}")).collect::<String>()
    };
    let is_more = line(0).chars().count() > area.width.into();
    let before = if place.column > 0 { "  ←" } else { "" };
    let more = if is_more { "  → more columns" } else { "" };
    let title = format!("{title}{before}{more}");
    put(buffer, area, 0, &Line::styled(title, theme.heading()));
    // The head of the table stays.
    put(buffer, area, 1, &Line::styled(line(0), theme.aside()));
    let rows = usize::from(area.height).saturating_sub(2);
    for row in (1 + place.row..=table.rows()).take(rows) {
        let at = row - place.row + 1;
        put(buffer, area, at, &Line::styled(line(row), Style::new()));
    }
}
