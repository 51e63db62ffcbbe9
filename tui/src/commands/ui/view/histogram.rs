//! A large histogram: times on a logarithmic axis, counts above.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use super::Theme;
use super::text::put;

const EIGHTHS: [&str; 9] = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
/// Columns left of the axis, for the largest count.
const MARGIN: u16 = 9;

/// The span of an axis in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Span {
    from: f64,
    to: f64,
}

impl Span {
    /// From the one to the other, and wide enough to be seen.
    pub fn of(from: f64, to: f64) -> Self {
        /// So much from end to end, at least.
        const LEAST: f64 = 1.5;
        let from = from.max(1.0);
        Span {
            from,
            to: to.max(from * LEAST),
        }
    }

    /// The time at which a column of so many begins.
    pub fn at(self, column: usize, columns: usize) -> f64 {
        let share = column as f64 / columns.max(1) as f64;
        self.from * (self.to / self.from).powf(share)
    }

    /// The column of so many in which a time is.
    fn column(self, ns: f64, columns: usize) -> usize {
        let share = (ns / self.from).ln() / (self.to / self.from).ln();
        ((share * columns as f64) as usize).min(columns.saturating_sub(1))
    }

    /// Round times: 1, 2 and 5 of each decade.
    fn ticks(self) -> impl Iterator<Item = f64> {
        let decades = (0..19).map(|decade| 10f64.powi(decade));
        let all = decades.flat_map(|decade| [1.0, 2.0, 5.0].map(|n| n * decade));
        all.filter(move |tick| (self.from..=self.to).contains(tick))
    }
}

/// How many columns there are for counts in an area.
pub fn columns(area: Rect) -> usize {
    usize::from(area.width.saturating_sub(MARGIN))
}

/// How many samples, ascending, there are in each of so many columns.
pub fn counted(sorted: &[f64], span: Span, columns: usize) -> Vec<u64> {
    let below = |column: usize| match column {
        0 => 0,
        column if column == columns => sorted.len(),
        column => sorted.partition_point(|&ns| ns < span.at(column, columns)),
    };
    let each = (0..columns).map(|column| below(column + 1).saturating_sub(below(column)));
    each.map(|count| count as u64).collect()
}

/// Draws counts, one a column, with their axis below them.
pub fn draw(buffer: &mut Buffer, area: Rect, counts: &[u64], span: Span, theme: Theme) {
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
    let axis = Rect {
        y: area.y + height,
        height: 2,
        ..bars
    };
    draw_axis(buffer, axis, span, theme);
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

fn draw_axis(buffer: &mut Buffer, area: Rect, span: Span, theme: Theme) {
    let width = usize::from(area.width);
    let mut line: Vec<char> = vec!['─'; width];
    let mut labels: Vec<char> = vec![' '; width];
    let mut free = 0;
    for tick in span.ticks() {
        let at = span.column(tick, width);
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
    fn every_sample_is_counted_once() {
        let sorted = [1e3, 1.1e3, 5e3, 9.99e4, 1e5];
        let span = Span::of(1e3, 1e5);
        assert_eq!(counted(&sorted, span, 2), [3, 2]);
        for columns in [1, 7, 120] {
            let counts = counted(&sorted, span, columns);
            assert_eq!(counts.iter().sum::<u64>(), 5, "{columns}");
        }
        // All samples are the same.
        let counts = counted(&[7.0, 7.0], Span::of(7.0, 7.0), 10);
        assert_eq!((counts[0], counts.len()), (2, 10));
    }

    #[test]
    fn ticks_are_round() {
        let labels: Vec<String> = Span::of(900.0, 21e3).ticks().map(short).collect();
        assert_eq!(labels, ["1us", "2us", "5us", "10us", "20us"]);
    }
}
