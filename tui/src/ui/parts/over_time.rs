//! Latency over time as a heat map: time across, latency up, density as shade.

use jitterlab_stats::histogram::Bins;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use super::axis::{short, ticks};
use super::curves::MARGIN;
use super::text::put;
use crate::ui::theme::Theme;

/// A share of the samples of a column, as heat: a tenth of them is two thirds of the heat, a hundredth one third; of what is there
/// at all, something is seen.
fn heat(share: f64) -> f64 {
    match share {
        share if share > 0.0 => (1.0 + share.log10() / 3.0).clamp(0.01, 1.0),
        _ => 0.0,
    }
}

/// The number of columns for time in an area.
pub fn columns(area: Rect) -> usize {
    usize::from(area.width.saturating_sub(MARGIN))
}

/// The number of rows for latency in an area.
pub fn rows(area: Rect) -> usize {
    usize::from(area.height.saturating_sub(1))
}

/// Draws columns; below them a mark at the newest one. `shares` gives, for a column, the share of its samples in each bin of the
/// axis, which has [`rows`] bins and begins below; nothing where there is no such column.
pub fn draw(
    buffer: &mut Buffer,
    area: Rect,
    axis: &Bins,
    newest: Option<usize>,
    mut shares: impl FnMut(usize, &mut [f64]) -> bool,
    theme: Theme,
) {
    let (columns, rows) = (columns(area), rows(area));
    if columns == 0 || rows == 0 || axis.count() != rows {
        return;
    }
    let mut next = 0;
    for tick in ticks(axis) {
        let above = axis.place(tick);
        // Labels of neighbouring rows would be read as one.
        if above < next {
            continue;
        }
        next = above + 2;
        let label = format!("{:>width$} ", short(tick), width = usize::from(MARGIN - 2));
        put(
            buffer,
            area,
            rows - 1 - above,
            &Line::styled(label, theme.aside()),
        );
    }
    let mut column_shares = vec![0.0; rows];
    for column in 0..columns {
        if !shares(column, &mut column_shares) {
            continue;
        }
        // Narrower than the area, whose width is an u16.
        let x = area.x + MARGIN + column as u16;
        for (above, &share) in column_shares.iter().enumerate() {
            let (symbol, style) = theme.heat(heat(share));
            let y = area.y + (rows - 1 - above) as u16;
            buffer[(x, y)].set_symbol(symbol).set_style(style);
        }
    }
    if let Some(newest) = newest.filter(|newest| *newest < columns) {
        let x = area.x + MARGIN + newest as u16;
        let mark = &mut buffer[(x, area.y + rows as u16)];
        mark.set_symbol("↑").set_style(theme.aside());
    }
}
