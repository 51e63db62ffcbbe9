//! The drawing of the screen.

use jitterlab_base::show::{counted, printable};
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::{Entry, LogScreen, Weight};
use crate::shown::cut;
use crate::ui::parts::text::{first_shown, put, put_all, wrapped};
use crate::ui::theme::Theme;

/// Draws it: a line each, and the one that is chosen as a whole.
pub(super) fn draw(buffer: &mut Buffer, area: Rect, screen: &LogScreen, theme: Theme) {
    /// The rows that the chosen line takes at most.
    const WHOLE: u16 = 6;
    let shown = screen.shown();
    let at = screen.at.min(shown.len().saturating_sub(1));
    let whole = match shown.get(at) {
        Some(entry) => whole(entry, area.width, theme),
        None => Vec::new(),
    };
    let rows = u16::try_from(whole.len()).unwrap_or(WHOLE).min(WHOLE);
    let [head, list, below] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Min(1),
        Constraint::Length(rows + u16::from(rows > 0)),
    ])
    .areas(area);
    put(buffer, head, 0, &heading(screen, shown.len(), theme));
    if shown.is_empty() {
        put(
            buffer,
            list,
            0,
            &Line::styled("nothing to be seen", theme.aside()),
        );
    }
    let first = first_shown(at, list.height.into());
    let rows = shown
        .iter()
        .enumerate()
        .skip(first)
        .take(list.height.into());
    for (row, (place, entry)) in rows.enumerate() {
        let style = match place == at {
            true => theme.here(),
            false => Style::new(),
        };
        put(buffer, list, row, &line(entry, list.width, style, theme));
    }
    let mut words = vec![Line::default()];
    words.extend(whole);
    put_all(buffer, below, &words);
}

fn heading(screen: &LogScreen, lines: usize, theme: Theme) -> Line<'static> {
    let which = match screen.least {
        Weight::Note => "all",
        Weight::Warning => "warnings and errors",
        Weight::Error => "errors",
    };
    let text = match (screen.text.as_str(), screen.is_typed) {
        ("", false) => String::new(),
        (text, true) => format!(", with: {}_", printable(text)),
        (text, false) => format!(", with: {}", printable(text)),
    };
    let lines = counted(lines, "line");
    Line::styled(format!("{which}{text}: {lines}"), theme.heading())
}

fn style(weight: Weight, theme: Theme) -> Style {
    match weight {
        Weight::Note => theme.aside(),
        Weight::Warning => theme.warning(),
        Weight::Error => theme.bad(),
    }
}

fn line(entry: &Entry, width: u16, here: Style, theme: Theme) -> Line<'static> {
    /// The columns that the source takes at most.
    const SOURCE: usize = 28;
    let room = (usize::from(width) / 4).min(SOURCE);
    // Day and time, without year and parts of seconds.
    let when = entry.when.get(5..19).unwrap_or("").replace('T', " ");
    let source = cut(&entry.source, room);
    Line::from(vec![
        Span::styled(format!("{when:<14} "), here),
        Span::styled(
            format!("{:<7} ", entry.weight.name()),
            style(entry.weight, theme),
        ),
        Span::styled(format!("{source:room$} "), theme.aside()),
        Span::raw(entry.text.clone()),
    ])
}

fn whole(entry: &Entry, width: u16, theme: Theme) -> Vec<Line<'static>> {
    let source = match entry.when.as_str() {
        "" => entry.source.clone(),
        when => format!("{}, {when}", entry.source),
    };
    let mut lines = vec![Line::styled(source, theme.heading())];
    lines.extend(wrapped(Span::raw(""), &entry.text, Style::new(), width));
    lines
}
