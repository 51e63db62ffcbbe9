//! The part of a distribution that is seen, and a cursor in it.

use jitterlab_base::show::{percent, time};
use jitterlab_stats::histogram::{Bins, Histogram};

use super::picture::Distribution;
use crate::ui::parts::axis::{Range, Zoom};

/// The part of the samples that is seen.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Lens {
    zoom: Zoom,
    /// The part between two cursors, in the place of the zoom.
    part: Option<Range>,
    /// The place of the cursor, in nanoseconds.
    pub cursor: Option<f64>,
    /// The first of two cursors.
    pub mark: Option<f64>,
}

impl Lens {
    /// The range of the samples that are looked at; none where there are none.
    pub fn range<'a>(&self, all: impl IntoIterator<Item = &'a Histogram>) -> Option<Range> {
        self.part.or_else(|| Range::of(all, self.zoom))
    }

    /// True if most samples may lie beyond an end.
    pub fn shows_part(&self) -> bool {
        self.part.is_some() || self.zoom == Zoom::Tail
    }

    /// An axis of so many bins. If a part is shown, nothing is left free beside it: what lies beyond would hide it.
    pub fn axis(&self, range: Range, bins: usize) -> Bins {
        match self.shows_part() {
            true => range.rows(bins),
            false => range.axis(bins),
        }
    }

    /// The next zoom, of the whole.
    pub fn next_zoom(&mut self) {
        let zoom = self.zoom.next();
        *self = Lens {
            zoom,
            ..Lens::default()
        };
    }

    /// Moves the cursor by a step of the range that is seen; it begins in the middle.
    pub fn step(&mut self, range: Range, is_right: bool) {
        const STEPS: f64 = 64.0;
        let step = if is_right { 1.0 } else { -1.0 } / STEPS;
        let place = self.cursor.map_or(0.5, |ns| range.place(ns) + step);
        self.cursor = Some(range.at(place.clamp(0.0, 1.0)));
    }

    /// Marks where the cursor is, or looks at what lies between the mark and the cursor.
    pub fn mark_or_zoom(&mut self) {
        match (self.mark, self.cursor) {
            (Some(mark), Some(cursor)) => {
                self.part = Some(Range::between(mark, cursor));
                (self.mark, self.cursor) = (None, None);
            }
            _ => self.mark = self.cursor,
        }
    }

    /// Back to the zoom, without cursors.
    pub fn back(&mut self) {
        *self = Lens {
            zoom: self.zoom,
            ..Lens::default()
        };
    }

    /// The lens in words; with what it does not show of these samples, where it is between two cursors.
    pub fn about(&self, samples: &Distribution) -> String {
        match self.part {
            Some(part) => {
                let (from, to) = (part.at(0.0), part.at(1.0));
                let beyond = [
                    (1.0 - samples.beyond(from), "below"),
                    (samples.beyond(to), "above"),
                ];
                let beyond = beyond.into_iter().filter(|(share, _)| *share > 0.0);
                let beyond = beyond.map(|(share, side)| format!("{} {side}", percent(share)));
                let beyond = beyond.collect::<Vec<_>>().join(", ");
                let seen = format!("{} to {}", time(from), time(to));
                match beyond.is_empty() {
                    true => seen,
                    false => format!("{seen} ({beyond})"),
                }
            }
            None => format!("zoom {}", self.zoom),
        }
    }
}
