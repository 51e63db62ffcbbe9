//! A large histogram: times on a logarithmic axis, counts above.

use jitterlab_stats::histogram::Bins;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use crate::ui::parts::text::put;
use crate::ui::theme::Theme;

const EIGHTHS: [&str; 9] = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
/// Columns left of the axis, for the largest count.
const MARGIN: u16 = 9;

/// The columns of an axis from one time to another, in nanoseconds; wide enough to be seen.
pub fn axis(from: f64, to: f64, columns: usize) -> Bins {
    /// So much from end to end, at least.
    const LEAST: f64 = 1.5;
    let from = from.max(1.0);
    Bins::logarithmic(from, to.max(from * LEAST), columns)
}

/// Round times on an axis: 1, 2 and 5 of each decade.
fn ticks(axis: &Bins) -> impl Iterator<Item = f64> {
    let (from, to) = (axis.edges()[0], axis.edges()[axis.count()]);
    let decades = (0..19).map(|decade| 10f64.powi(decade));
    let all = decades.flat_map(|decade| [1.0, 2.0, 5.0].map(|n| n * decade));
    all.filter(move |tick| (from..=to).contains(tick))
}

/// How many columns there are for counts in an area.
pub fn columns(area: Rect) -> usize {
    usize::from(area.width.saturating_sub(MARGIN))
}

/// Draws counts, one a column, with their axis below them.
pub fn draw(buffer: &mut Buffer, area: Rect, counts: &[u64], bins: &Bins, theme: Theme) {
    let Some(height) = area.height.checked_sub(2).filter(|&height| height > 0) else {
        return;
    };
    if columns(area) == 0 {
        return;
    }
    let most = counts.iter().copied().max().unwrap_or(0);
    for (row, label) in [(0, most), (height - 1, 0)] {
        let label = format!("{label:>width$} ", width = usize::from(MARGIN - 2));
        put(
            buffer,
            area,
            row.into(),
            &Line::styled(label, theme.aside()),
        );
    }
    let bars = Rect {
        x: area.x + MARGIN,
        width: area.width - MARGIN,
        height,
        ..area
    };
    for (column, &count) in (bars.x..bars.right()).zip(counts) {
        bar(buffer, bars, column, count as f64 / most.max(1) as f64);
    }
    let below = Rect {
        y: area.y + height,
        height: 2,
        ..bars
    };
    draw_axis(buffer, below, bins, theme);
}

/// A bar that fills a share of the height; of what is there at all, something is seen.
fn bar(buffer: &mut Buffer, area: Rect, column: u16, share: f64) {
    let full = f64::from(area.height) * 8.0;
    let mut eighths = (share * full).round() as usize;
    if share > 0.0 {
        eighths = eighths.max(1);
    }
    for row in (area.y..area.bottom()).rev() {
        let here = eighths.min(8);
        eighths -= here;
        buffer[(column, row)].set_symbol(EIGHTHS[here]);
    }
}

fn draw_axis(buffer: &mut Buffer, area: Rect, axis: &Bins, theme: Theme) {
    let width = usize::from(area.width);
    let mut line: Vec<char> = vec!['─'; width];
    let mut labels: Vec<char> = vec![' '; width];
    let mut free = 0;
    for tick in ticks(axis) {
        let at = axis.place(tick);
        if let Some(mark) = line.get_mut(at) {
            *mark = '┴';
        }
        let label: Vec<char> = short(tick).chars().collect();
        if at >= free && at + label.len() <= width {
            labels[at..at + label.len()].copy_from_slice(&label);
            free = at + label.len() + 1;
        }
    }
    for (row, line) in [line, labels].into_iter().enumerate() {
        let line: String = line.into_iter().collect();
        put(buffer, area, row, &Line::styled(line, theme.aside()));
    }
}

/// A round time.
fn short(ns: f64) -> String {
    match ns {
        ns if ns < 1e3 => format!("{ns}ns"),
        ns if ns < 1e6 => format!("{}us", ns / 1e3),
        ns if ns < 1e9 => format!("{}ms", ns / 1e6),
        ns => format!("{}s", ns / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round() {
        let labels: Vec<String> = ticks(&axis(900.0, 21e3, 60)).map(short).collect();
        assert_eq!(labels, ["1us", "2us", "5us", "10us", "20us"]);
    }
}
