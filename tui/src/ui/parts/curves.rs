//! Curves over columns, on a logarithmic axis that goes up.

use jitterlab_base::show;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::axis::{Range, short};
use super::text::put;
use crate::ui::theme::Theme;

/// Columns left of the curves, for the ends of the axis.
pub const MARGIN: u16 = 9;
/// The marks that points are drawn with; they differ without colours, too.
const POINTS: [&str; 2] = ["●", "○"];

/// A curve: its name, and its points as column and value.
#[derive(Debug)]
pub struct Curve {
    /// Its name for people.
    pub name: &'static str,
    /// The points, in any order.
    pub points: Vec<(usize, f64)>,
}

/// The number of columns for points in an area.
pub fn columns(area: Rect) -> usize {
    usize::from(area.width.saturating_sub(MARGIN))
}

/// Draws a curve or two below a line with their names; `label` tells a value in a few characters. Where they meet, the second one is
/// seen.
pub fn draw(
    buffer: &mut Buffer,
    area: Rect,
    curves: &[Curve],
    label: fn(f64) -> String,
    theme: Theme,
) {
    let curves = &curves[..curves.len().min(POINTS.len())];
    let names = curves.iter().enumerate().flat_map(|(n, curve)| {
        [
            Span::styled(POINTS[n], theme.series(n == 1)),
            Span::raw(format!(" {}  ", curve.name)),
        ]
    });
    put(buffer, area, 0, &Line::from(names.collect::<Vec<_>>()));
    let all = curves.iter().flat_map(|curve| &curve.points);
    let values = all.map(|(_, value)| *value).filter(|value| *value > 0.0);
    let ends = values.fold(None, |ends: Option<(f64, f64)>, value| {
        Some(ends.map_or((value, value), |(low, high)| {
            (low.min(value), high.max(value))
        }))
    });
    let rows = area.height.saturating_sub(1);
    let (Some((low, high)), true) = (ends, rows > 0 && columns(area) > 0) else {
        return;
    };
    let axis = Range::around(low, high).rows(rows.into());
    let edges = axis.edges();
    for (row, value) in [(1, edges[axis.count()]), (rows, edges[0])] {
        let label = format!("{:>width$} ", label(value), width = usize::from(MARGIN - 2));
        put(
            buffer,
            area,
            row.into(),
            &Line::styled(label, theme.aside()),
        );
    }
    for (n, curve) in curves.iter().enumerate() {
        for &(column, value) in curve.points.iter().filter(|(_, value)| *value > 0.0) {
            let Ok(column) = u16::try_from(column) else {
                continue;
            };
            let x = area.x + MARGIN + column;
            // The row is within the area.
            let y = area.bottom() - 1 - axis.place(value) as u16;
            if x < area.right() {
                mark(buffer, x, y, POINTS[n], theme.series(n == 1));
            }
        }
    }
}

fn mark(buffer: &mut Buffer, x: u16, y: u16, symbol: &str, style: Style) {
    buffer[(x, y)].set_symbol(symbol).set_style(style);
}

/// A time with two digits: the ends of an axis are not round.
pub fn short_of(ns: f64) -> String {
    short(with_two_digits(ns))
}

/// A number with two digits.
pub fn number_of(value: f64) -> String {
    show::short_count(with_two_digits(value))
}

fn with_two_digits(value: f64) -> f64 {
    let digits = 10f64.powf(value.max(1.0).log10().floor() - 1.0);
    // The digits that powers of ten leave behind are rounded away.
    ((value / digits).round() * digits * 1e3).round() / 1e3
}
