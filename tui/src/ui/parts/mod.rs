//! The parts that screens are made of.

pub mod axis;
pub mod curves;
pub mod export;
pub mod histogram;
pub mod ladder;
pub mod over_time;
pub mod sweep;
pub mod text;

use ratatui::layout::{Constraint, Layout, Rect};

/// An area in two columns: the first so wide, the second with the rest.
pub fn beside(area: Rect, first: u16) -> [Rect; 2] {
    let [left, _, right] = Layout::horizontal([
        Constraint::Length(first),
        Constraint::Length(2),
        Constraint::Min(1),
    ])
    .areas(area);
    [left, right]
}
