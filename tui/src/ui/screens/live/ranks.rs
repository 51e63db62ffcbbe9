//! The ranks of a parallel program, slowest first.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use jitterlab_base::show::{count, time};
use jitterlab_live::Rank;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use crate::ui::parts::text::put;
use crate::ui::theme::Theme;

/// Draws a line a rank, as many as there is room for: those with the highest median first; of what takes no samples, those that have
/// done least.
pub fn draw(buffer: &mut Buffer, area: Rect, ranks: &BTreeMap<u64, Rank>, theme: Theme) {
    let mut all: Vec<(u64, Rank)> = ranks
        .iter()
        .map(|(number, rank)| (*number, *rank))
        .collect();
    all.sort_by_key(|(_, rank)| (Reverse(rank.median_ns), rank.iterations));
    let has_samples = all.iter().any(|(_, rank)| rank.samples > 0);
    let heading = match has_samples {
        true => format!(
            "{:>6} {:>12} {:>11} {:>11} {:>11}  slowest first",
            "rank", "samples", "median", "99 %", "max"
        ),
        false => format!("{:>6} {:>12}  slowest first", "rank", "iterations"),
    };
    put(buffer, area, 0, &Line::styled(heading, theme.heading()));
    for (row, (number, rank)) in all.into_iter().enumerate() {
        let of = |ns: u64| match rank.samples {
            0 => "–".into(),
            _ => time(ns as f64),
        };
        let line = match has_samples {
            true => format!(
                "{number:>6} {:>12} {:>11} {:>11} {:>11}",
                count(rank.samples),
                of(rank.median_ns),
                of(rank.p99_ns),
                of(rank.max_ns)
            ),
            false => format!("{number:>6} {:>12}", count(rank.iterations)),
        };
        put(buffer, area, row + 1, &Line::from(line));
    }
}
