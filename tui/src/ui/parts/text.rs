//! Lines in an area.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

/// Puts a line into a row of an area; what does not fit is cut off.
pub fn put(buffer: &mut Buffer, area: Rect, row: usize, line: &Line) {
    let Ok(row) = u16::try_from(row) else { return };
    if row < area.height {
        buffer.set_line(area.x, area.y + row, line, area.width);
    }
}

/// Puts lines into an area from its first row on.
pub fn put_all(buffer: &mut Buffer, area: Rect, lines: &[Line]) {
    for (row, line) in lines.iter().enumerate() {
        put(buffer, area, row, line);
    }
}

/// The first of so many rows that are shown, where this one has to be among them.
pub fn first_shown(chosen: usize, rows: usize) -> usize {
    (chosen + 1).saturating_sub(rows.max(1))
}

/// The first of so many rows that are shown of a list, where this one has to be among them: the one that was the first, as far as that can stay.
pub fn scrolled(first: usize, chosen: usize, rows: usize, of: usize) -> usize {
    let first = first.min(chosen).min(of.saturating_sub(rows));
    first.max(first_shown(chosen, rows))
}

/// A text behind a label, in as many lines as it takes; those after the first are indented as far, or less where that would
/// leave no room.
pub fn wrapped(label: Span<'static>, text: &str, style: Style, width: u16) -> Vec<Line<'static>> {
    const LEAST: usize = 20;
    let width = usize::from(width);
    let behind = label.width();
    let indent = behind.min(width.saturating_sub(LEAST));
    let mut lines = vec![Line::from(label)];
    let mut used = behind;
    let mut fresh = true;
    for word in text.split(' ') {
        let mut word: Vec<char> = word.chars().collect();
        let space = usize::from(!fresh);
        if used + space + word.len() > width && !fresh {
            next(&mut lines, indent);
            (used, fresh) = (indent, true);
        }
        // A word that has no room in any line is broken.
        while used + word.len() > width && width > indent && fresh {
            let rest = word.split_off(width.saturating_sub(used).min(word.len()));
            push(&mut lines, word.into_iter().collect(), style);
            next(&mut lines, indent);
            (used, word) = (indent, rest);
        }
        let space = if fresh { "" } else { " " };
        used += space.len() + word.len();
        let word: String = word.into_iter().collect();
        push(&mut lines, format!("{space}{word}"), style);
        fresh = false;
    }
    lines
}

fn next(lines: &mut Vec<Line<'static>>, indent: usize) {
    lines.push(Line::from(" ".repeat(indent)));
}

fn push(lines: &mut [Line<'static>], text: String, style: Style) {
    if let Some(line) = lines.last_mut() {
        line.push_span(Span::styled(text, style));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(label: &'static str, text: &str, width: u16) -> Vec<String> {
        let lines = wrapped(Span::raw(label), text, Style::new(), width);
        lines.iter().map(|line| line.to_string()).collect()
    }

    #[test]
    fn texts_stay_in_their_width() {
        let label = "vm.stat_interval  ";
        let text = "one two three four five six seven";
        let in_40 = lines(label, text, 40);
        assert_eq!(
            in_40,
            [
                "vm.stat_interval  one two three four",
                "                  five six seven",
            ]
        );
        // Less is indented if there is no room behind the label.
        assert_eq!(lines(label, text, 24)[1], "    two three four five");
        let long = "a".repeat(50);
        let broken = lines("x ", &long, 22);
        assert!(broken.iter().all(|line| line.len() <= 22), "{broken:?}");
        assert_eq!(broken.concat().matches('a').count(), 50);
    }

    #[test]
    fn what_is_chosen_is_among_what_is_shown() {
        assert_eq!([0, 4, 5, 9].map(|at| first_shown(at, 5)), [0, 0, 1, 5]);
    }
}
