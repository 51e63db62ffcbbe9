//! A histogram for the terminal.

use crate::table::DelayUnit;
use jitterlab_base::units::Nanos;

/// Characters that bars are drawn with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Eighths of a block.
    Unicode,
    /// `#` only, for terminals and pipes that are not UTF-8.
    Ascii,
}

/// Draws a histogram of samples in ascending order, in `unit`: `rows` bins, bars at most `width`
/// characters long. Bins are even in the logarithm where the samples span more than two
/// decades above 1, below which the first bin takes all; and even otherwise.
pub fn histogram(
    sorted: &[f64],
    unit: DelayUnit,
    rows: usize,
    width: usize,
    style: Style,
) -> String {
    let (Some(&low), Some(&high)) = (sorted.first(), sorted.last()) else {
        return String::new();
    };
    let rows = if low == high { 1 } else { rows.max(1) };
    let least = low.max(1.0);
    let log = high / least > 100.0;
    let edge = |i: usize| {
        let share = i as f64 / rows as f64;
        if i == 0 {
            low
        } else if log {
            least * (high / least).powf(share)
        } else {
            low + (high - low) * share
        }
    };
    let counts: Vec<usize> = (0..rows)
        .map(|i| {
            let upper = if i + 1 == rows {
                sorted.len()
            } else {
                sorted.partition_point(|&x| x < edge(i + 1))
            };
            upper
                - if i == 0 {
                    0
                } else {
                    sorted.partition_point(|&x| x < edge(i))
                }
        })
        .collect();
    let most = counts.iter().copied().max().unwrap_or(1).max(1);
    let mut picture = String::new();
    for (i, &count) in counts.iter().enumerate() {
        let least = edge(i).max(0.0).round() as u64;
        let label = match unit {
            DelayUnit::Nanoseconds => Nanos(least).to_string(),
            DelayUnit::Spins => least.to_string(),
        };
        let bar = bar(count as f64 / most as f64 * width as f64, style);
        let share = 100.0 * count as f64 / sorted.len() as f64;
        picture.push_str(&format!("{label:>12} {share:6.2}% {bar}\n"));
    }
    picture
}

fn bar(length: f64, style: Style) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    match style {
        Style::Unicode => {
            let eighths = (length * 8.0).round() as usize;
            format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
        }
        Style::Ascii => "#".repeat(length.round() as usize),
    }
}
