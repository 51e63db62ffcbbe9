//! Histograms in text: in rows, or in one line.

use jitterlab_stats::histogram::Bins;

/// Characters that rows are drawn with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Eighths of a block.
    Unicode,
    /// `#` only, for terminals and pipes that are not UTF-8.
    Ascii,
}

/// True if the locale says that the terminal reads UTF-8; `variable` reads the environment.
pub fn is_utf8(variable: impl Fn(&str) -> Option<String>) -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].map(variable);
    let locale = locale.into_iter().flatten().find(|it| !it.is_empty());
    let locale = locale.unwrap_or_default().to_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}

/// Draws a histogram of samples in ascending order: a row a bin, which begins with the value where the bin begins, as
/// `label` writes it; bars at most `width` characters long. Bins are even in the logarithm where the samples span more
/// than two decades above 1, below which the first bin takes all; and even otherwise.
pub fn rows(
    sorted: &[f64],
    label: impl Fn(u64) -> String,
    rows: usize,
    width: usize,
    style: Style,
) -> String {
    let (Some(&low), Some(&high)) = (sorted.first(), sorted.last()) else {
        return String::new();
    };
    let rows = if low == high { 1 } else { rows };
    let least = low.max(1.0);
    let bins = match high / least > 100.0 {
        true => Bins::logarithmic(least, high, rows),
        false => Bins::linear(low, high, rows),
    };
    let counts = bins.of_sorted(sorted);
    let most = counts.iter().copied().max().unwrap_or(1).max(1);
    let begins = [low].into_iter().chain(bins.edges()[1..].iter().copied());
    let row = |(begin, count): (f64, u64)| {
        let label = label(begin.max(0.0).round() as u64);
        let bar = bar(count as f64 / most as f64 * width as f64, style);
        let share = 100.0 * count as f64 / sorted.len() as f64;
        format!("{label:>12} {share:6.2}% {bar}\n")
    };
    begins.zip(counts).map(row).collect()
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

/// Draws a histogram in one line: a character a count; the largest is as high as the line.
pub fn line(counts: &[u64]) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let most = counts.iter().copied().max().unwrap_or(1).max(1) as f64;
    let bar = |&count: &u64| match count {
        0 => ' ',
        // Also one sample in a million is seen.
        n => BARS[((n as f64 / most).sqrt() * 7.0).round() as usize],
    };
    counts.iter().map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_show_every_sample_once() {
        let label = |value: u64| value.to_string();
        let sorted: Vec<f64> = (1..=1000).map(f64::from).collect();
        let picture = rows(&sorted, label, 10, 20, Style::Ascii);
        assert_eq!(picture.lines().count(), 10);
        let share = |line: &str| {
            let share = line.split_whitespace().nth(1).unwrap();
            share.trim_end_matches('%').parse::<f64>().unwrap()
        };
        let shares: f64 = picture.lines().map(share).sum();
        assert!((shares - 100.0).abs() < 0.1, "{picture}");
        let same = |style| rows(&[5.0; 9], label, 10, 4, style);
        assert_eq!(same(Style::Unicode), "           5 100.00% ████\n");
        assert_eq!(same(Style::Ascii), "           5 100.00% ####\n");
        // A least of 0 does not take the decades above it away.
        let with_zero = [0.0, 30.0, 300.0, 3e3, 3e4, 1e5];
        let picture = rows(&with_zero, label, 5, 4, Style::Ascii);
        assert!(picture.lines().all(|line| line.ends_with('#')), "{picture}");
        assert!(picture.starts_with("           0"), "{picture}");
        assert_eq!(rows(&[], label, 10, 4, Style::Ascii), "");
    }
}
