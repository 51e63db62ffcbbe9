//! The percentile ladder: how long the slow ones take.

use jitterlab_base::show::{self, time};
use jitterlab_stats::histogram::Histogram;
use ratatui::text::{Line, Span};

use crate::ui::theme::Theme;

/// Shares of the samples that are at or below a rung, and what they are called.
const RUNGS: [(f64, &str); 6] = [
    (0.5, "50 %"),
    (0.9, "90 %"),
    (0.99, "99 %"),
    (0.999, "99.9 %"),
    (0.9999, "99.99 %"),
    (1.0, "max"),
];

/// The rungs, in nanoseconds. One that no sample lies beyond has none: the highest would stand for it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ladder([Option<u64>; RUNGS.len()]);

impl Ladder {
    /// The ladder of these samples. `max` is the highest, where it is known better than by its bucket.
    pub fn of(samples: &Histogram, max: u64) -> Self {
        let n = samples.count() as f64;
        Ladder(RUNGS.map(|(share, _)| {
            let is_there = share == 1.0 || n * (1.0 - share) >= 1.0;
            let rung = samples.quantile(share).filter(|_| is_there)?;
            Some(rung.min(max))
        }))
    }

    /// A line a rung, beside the rungs of another one if there is one, with the change from that.
    pub fn lines(&self, other: Option<&Ladder>, theme: Theme) -> Vec<Line<'static>> {
        let rung = |at: usize| {
            let own = self.0[at];
            let mut spans = vec![
                Span::styled(format!("{:>8}  ", RUNGS[at].1), theme.aside()),
                Span::styled(format!("{:>9}", shown(own)), theme.series(false)),
            ];
            if let Some(Ladder(others)) = other {
                spans.push(Span::styled(
                    format!("  {:>9}", shown(others[at])),
                    theme.series(true),
                ));
                let change = own.zip(others[at]).filter(|(_, other)| *other > 0);
                let change = change.map(|(own, other)| own as f64 / other as f64 - 1.0);
                let change = change.map(show::change);
                spans.push(Span::raw(format!("  {:>9}", change.unwrap_or_default())));
            }
            Line::from(spans)
        };
        (0..RUNGS.len()).map(rung).collect()
    }
}

fn shown(rung: Option<u64>) -> String {
    rung.map_or("–".into(), |ns| time(ns as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::theme::{Colors, Glyphs};

    #[test]
    fn a_rung_that_nothing_lies_beyond_is_not_made_up() {
        let samples: Vec<f64> = (1..=1_000).map(|n| f64::from(n) * 1_000.0).collect();
        let ladder = Ladder::of(&Histogram::of(&samples), 1_000_000);
        let theme = Theme {
            colors: Colors::None,
            glyphs: Glyphs::Fine,
        };
        let lines: Vec<String> = ladder
            .lines(None, theme)
            .iter()
            .map(Line::to_string)
            .collect();
        assert!(lines[0].ends_with("500.2 us"), "{lines:?}");
        assert!(lines[3].contains("999.4 us"), "{lines:?}");
        assert!(lines[4].ends_with("–"), "{lines:?}");
        assert!(lines[5].ends_with("1 ms"), "{lines:?}");
        let twice: Vec<f64> = samples.iter().map(|it| it * 2.0).collect();
        let twice = Ladder::of(&Histogram::of(&twice), 2_000_000);
        let line = twice.lines(Some(&ladder), theme)[5].to_string();
        assert!(line.ends_with("2 ms       1 ms     +100 %"), "{line}");
    }
}
