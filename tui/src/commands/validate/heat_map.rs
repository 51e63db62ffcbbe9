//! A matrix of pairs in characters: how much slower each is than a typical one.

use std::collections::BTreeMap;

use jitterlab_experiment::validate::Attempt;

/// Up to so many hosts, percents are printed.
const IN_NUMBERS: usize = 16;
/// The room of a line. If there are more hosts, each character stands for several.
const WIDTH: usize = 80;
/// Each shade begins at a slowdown, in multiples of the least that matters. It has a character, and a
/// background among the terminal's 256 colours.
const SHADES: [(f64, char, u8); 5] = [
    (4.0, '█', 196),
    (2.0, '▓', 208),
    (1.0, '▒', 220),
    (0.5, '░', 230),
    (f64::NEG_INFINITY, '·', 0),
];

/// The map of an attempt. `least` is the least slowdown that matters, as a share.
pub fn heat_map(attempt: &Attempt, least: f64, colour: bool) -> String {
    let places: BTreeMap<&str, usize> = attempt
        .hosts
        .iter()
        .enumerate()
        .map(|(place, name)| (name.as_str(), place))
        .collect();
    let n = attempt.hosts.len();
    let a_cell = n.div_ceil(WIDTH);
    let mut cells: BTreeMap<(usize, usize), f64> = BTreeMap::new();
    for pair in &attempt.pairs {
        let [a, b] = [0, 1].map(|i| places.get(pair.hosts[i].as_str()).map_or(0, |p| p / a_cell));
        for cell in [(a, b), (b, a)] {
            let worst = cells.entry(cell).or_insert(f64::NEG_INFINITY);
            *worst = worst.max(pair.verdict.relative);
        }
    }
    let rows = n.div_ceil(a_cell);
    let names = (0..rows).map(|row| attempt.hosts[row * a_cell].as_str());
    let margin = names.clone().map(str::len).max().unwrap_or(0);
    let numbers = n <= IN_NUMBERS;
    let mut out = if numbers {
        let columns: String = (1..=rows).map(|column| format!("{column:>5}")).collect();
        format!("{:margin$}    {columns}\n", "")
    } else {
        String::new()
    };
    for (row, name) in names.enumerate() {
        out.push_str(&format!("{name:margin$}"));
        if numbers {
            out.push_str(&format!(" {:>3}", row + 1));
        } else {
            out.push(' ');
        }
        for column in 0..rows {
            let relative = cells.get(&(row, column)).copied();
            out.push_str(&cell(
                relative,
                row == column && a_cell == 1,
                least,
                numbers,
                colour,
            ));
        }
        out.push('\n');
    }
    if a_cell > 1 {
        out.push_str(&format!(
            "each character: the slowest pair of {a_cell} hosts with {a_cell}\n"
        ));
    }
    out
}

fn cell(relative: Option<f64>, diagonal: bool, least: f64, numbers: bool, colour: bool) -> String {
    let text = match (relative, numbers) {
        (None, true) if diagonal => "    -".into(),
        (None, false) if diagonal => " ".into(),
        (None, true) => "    x".into(),
        (None, false) => "x".into(),
        (Some(relative), true) => format!("{:>+5.0}", (100.0 * relative).round() + 0.0),
        (Some(relative), false) => shade(relative, least).0.to_string(),
    };
    match relative.map(|relative| shade(relative, least).1) {
        Some(background) if colour && background > 0 => {
            format!("\x1b[30;48;5;{background}m{text}\x1b[0m")
        }
        _ => text,
    }
}

fn shade(relative: f64, least: f64) -> (char, u8) {
    let found = SHADES.iter().find(|&&(from, ..)| relative >= from * least);
    found.map_or((' ', 0), |&(_, character, background)| {
        (character, background)
    })
}

#[cfg(test)]
mod tests {
    use jitterlab_experiment::validate::PairRow;
    use jitterlab_node_tuning::validation::judge::{PairVerdict, Unit};
    use jitterlab_stats::histogram::Compact;

    use super::*;

    /// `n` hosts; what each pair is slower by, and none where it was not measured.
    fn attempt(n: usize, relative: impl Fn(usize, usize) -> Option<f64>) -> Attempt {
        let name = |host: usize| format!("n{host}");
        let pairs = (0..n).flat_map(|b| (0..b).map(move |a| (a, b)));
        let rows = pairs.filter_map(|(a, b)| {
            Some(PairRow {
                hosts: [name(a), name(b)],
                verdict: PairVerdict {
                    pair: (a, b),
                    n: 5,
                    rtt_ns: 10_000.0,
                    relative: relative(a, b)?,
                    beyond: 0.0,
                    slowdown: None,
                    outlier: false,
                },
                histogram_ns: Compact::default(),
            })
        });
        Attempt {
            hosts: (0..n).map(name).collect(),
            typical_ns: 10_000.0,
            unit: Unit::Pair,
            pairs_testable: true,
            nodes: Vec::new(),
            pairs: rows.collect(),
            lost: Vec::new(),
            failures: Vec::new(),
            left_out: Vec::new(),
            runs: Vec::new(),
        }
    }

    #[test]
    fn few_hosts_are_shown_in_percents() {
        let slow = |a, b| match (a, b) {
            (0, 1) => Some(0.123),
            (1, 2) => None,
            _ => Some(-0.001),
        };
        assert_eq!(
            heat_map(&attempt(3, slow), 0.05, false),
            "          1    2    3\n\
             n0   1    -  +12   +0\n\
             n1   2  +12    -    x\n\
             n2   3   +0    x    -\n"
        );
    }

    #[test]
    fn many_hosts_are_shown_in_shades_and_very_many_together() {
        let slow = |a, b| Some(if (a, b) == (3, 19) { 0.3 } else { 0.0 });
        let map = heat_map(&attempt(20, slow), 0.05, false);
        let lines: Vec<&str> = map.lines().collect();
        assert_eq!(lines.len(), 20);
        assert_eq!(lines[3], "n3  ··· ···············█");
        assert_eq!(lines[19], "n19 ···█··············· ");
        let slow = |a, b| Some(if (a, b) == (3, 199) { 0.06 } else { 0.0 });
        let map = heat_map(&attempt(200, slow), 0.05, false);
        let lines: Vec<&str> = map.lines().collect();
        assert_eq!(lines.len(), 68);
        assert_eq!(lines[1].chars().filter(|&c| c == '▒').count(), 1);
        assert_eq!(lines[66].chars().position(|c| c == '▒'), Some(6));
        assert!(map.ends_with("each character: the slowest pair of 3 hosts with 3\n"));
    }

    #[test]
    fn colour_says_the_same_as_the_shade() {
        let slow = |a, b| Some(if (a, b) == (0, 1) { 0.12 } else { 0.0 });
        let map = heat_map(&attempt(3, slow), 0.05, true);
        assert!(map.contains("\x1b[30;48;5;208m  +12\x1b[0m"), "{map:?}");
        assert_eq!(map.matches("\x1b[0m").count(), 2);
    }
}
