//! A large histogram: times on a logarithmic axis, counts above.

use jitterlab_base::show::percent;
use jitterlab_stats::histogram::Bins;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use super::axis::{short, ticks};
use super::text::put;
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

/// Marks a column of the axis that was drawn in an area.
pub fn mark(buffer: &mut Buffer, area: Rect, column: usize, theme: Theme) {
    let (Some(row), Ok(column)) = (area.height.checked_sub(2), u16::try_from(column)) else {
        return;
    };
    let x = area.x + MARGIN + column;
    if x < area.right() {
        buffer[(x, area.y + row)]
            .set_symbol("↑")
            .set_style(theme.here());
    }
}

/// The number of columns for counts in an area.
pub fn columns(area: Rect) -> usize {
    usize::from(area.width.saturating_sub(MARGIN))
}

/// The count that is as high as the area. Where the axis shows a part, what lies beyond it counts in the columns at its ends, which
/// are cut off.
fn highest(counts: &[u64], is_part: bool) -> u64 {
    let most = |counts: &[u64]| counts.iter().copied().max().unwrap_or(0);
    let inner = counts.get(1..counts.len().saturating_sub(1));
    match inner.map(most) {
        Some(inner) if is_part && inner > 0 => inner,
        _ => most(counts),
    }
}

/// Draws counts, one a column, with their axis below them.
pub fn draw(buffer: &mut Buffer, area: Rect, counts: &[u64], bins: &Bins, theme: Theme) {
    draw_part(buffer, area, counts, bins, false, theme);
}

/// The same on an axis that may show a part of what was counted.
pub fn draw_part(
    buffer: &mut Buffer,
    area: Rect,
    counts: &[u64],
    bins: &Bins,
    is_part: bool,
    theme: Theme,
) {
    let most = highest(counts, is_part);
    let heights = counts
        .iter()
        .map(|&count| count as f64 / most.max(1) as f64);
    if let Some(bars) = frame(buffer, area, &most.to_string(), bins, theme) {
        draw_bars(buffer, bars, heights);
    }
}

/// Draws counts, one a column, and over them the outline of others, both as shares of their sum: they may be sums of very
/// different size. `is_part`: the axis shows a part of what was counted.
pub fn draw_over(
    buffer: &mut Buffer,
    area: Rect,
    counts: &[u64],
    others: &[u64],
    bins: &Bins,
    is_part: bool,
    theme: Theme,
) {
    let sum = |counts: &[u64]| counts.iter().sum::<u64>().max(1) as f64;
    let most = |counts: &[u64]| highest(counts, is_part) as f64 / sum(counts);
    let top = most(counts).max(most(others)).max(f64::MIN_POSITIVE);
    let Some(bars) = frame(buffer, area, &percent(top), bins, theme) else {
        return;
    };
    let heights = |counts: &[u64]| {
        let scale = sum(counts) * top;
        let heights = counts.iter().map(|&count| count as f64 / scale);
        heights.collect::<Vec<_>>()
    };
    draw_bars(buffer, bars, heights(counts).into_iter());
    for (column, height) in (bars.x..bars.right()).zip(heights(others)) {
        if height > 0.0 {
            let above = (height.min(1.0) * f64::from(bars.height)).ceil() as u16;
            let cell = &mut buffer[(column, bars.bottom() - above.clamp(1, bars.height))];
            cell.set_symbol("━").set_style(theme.series(true));
        }
    }
}

/// Draws what is around bars; gives the area of the bars, if there is one.
fn frame(buffer: &mut Buffer, area: Rect, top: &str, bins: &Bins, theme: Theme) -> Option<Rect> {
    let height = area.height.checked_sub(2).filter(|&height| height > 0)?;
    if columns(area) == 0 {
        return None;
    }
    for (row, label) in [(0, top), (height - 1, "0")] {
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
    let below = Rect {
        y: area.y + height,
        height: 2,
        ..bars
    };
    draw_axis(buffer, below, bins, theme);
    Some(bars)
}

fn draw_bars(buffer: &mut Buffer, bars: Rect, heights: impl Iterator<Item = f64>) {
    for (column, height) in (bars.x..bars.right()).zip(heights) {
        bar(buffer, bars, column, height);
    }
}

/// A bar that fills a share of the height; of what is there at all, something is seen.
fn bar(buffer: &mut Buffer, area: Rect, column: u16, share: f64) {
    let full = f64::from(area.height) * 8.0;
    let mut eighths = (share.min(1.0) * full).round() as usize;
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
