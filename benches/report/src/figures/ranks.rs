//! Heat maps of operations of MPI: how long each rank was in them, rank by quantile.

use jitterlab_base::show;
use jitterlab_experiment::level::{Level, Member};

use super::{n_of, range, series};
use crate::analysis::Analysis;
use crate::analysis::pictures::RankPicture;
use crate::svg::{Axis, Cell, Figure, Mark, Panel, Series};
use crate::words;

/// Shades, at most: more are not told apart in grey.
const SHADES: usize = 6;
/// Height of a panel's frame with many ranks, of a row with few, and what stands around the frame, in pixels.
const FRAME: f64 = 448.0;
const ROW: f64 = 26.0;
const AROUND: f64 = 72.0;
/// Rows that are labelled are this far from each other at least.
const LABEL: f64 = 15.0;

/// Every rank's times at each quantile, without injection and with the delays that imitate the highest load.
pub fn map(analysis: &Analysis, case: &str) -> Option<Figure> {
    let pictures = pictures(analysis, case);
    let ranks = pictures.iter().map(|picture| picture.n.len()).max()?;
    let times = pictures
        .iter()
        .flat_map(|picture| picture.quantiles_ns.iter().flatten());
    let limits = limits(range(times.map(|ns| ns / 1e3)));
    let row = (FRAME / ranks as f64).min(ROW);
    Some(Figure {
        id: format!("ranks-{case}"),
        title: format!("Time of {case} on each rank, by quantile"),
        caption: format!(
            "Time of {case} in µs on each rank that times it: a row a rank, a column a quantile of all its samples, \
             the longest on the right ({} a row, of {}); darker is longer. Rows differ where ranks do, and columns \
             where times vary. Of a collective operation, short times are those of a rank that comes late.",
            n_of(
                pictures
                    .iter()
                    .flat_map(|picture| picture.n.iter().copied()),
                "sample",
            ),
            n_of(pictures.iter().map(|picture| picture.runs), "run"),
        ),
        panels: pictures
            .iter()
            .map(|picture| panel(analysis, picture, &limits, row))
            .collect(),
        columns: 1,
        panel_height: AROUND + row * ranks as f64,
    })
}

/// The levels that are shown: without injection, and constant and varied delays of the highest load.
fn pictures<'a>(analysis: &'a Analysis, case: &str) -> Vec<&'a RankPicture> {
    let of_case = || {
        let pictures = analysis.suites.library.rank_pictures.iter();
        pictures.filter(|picture| picture.case == case && !picture.n.is_empty())
    };
    let highest = |shape: Member| {
        let of_shape = of_case().filter(
            |picture| matches!(picture.level, Level::Injected { shape: of, .. } if of == shape),
        );
        of_shape.max_by_key(|picture| picture.level)
    };
    let none = of_case().find(|picture| picture.level == Level::None);
    [
        none,
        highest(Member::Uniform),
        highest(analysis.suites.packet.imitation()),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn panel(analysis: &Analysis, picture: &RankPicture, limits: &[f64], row: f64) -> Panel {
    let mut all: Vec<Series> = (0..=limits.len())
        .map(|class| {
            let shade = class as f64 / limits.len().max(1) as f64;
            series(
                &name(limits, class),
                0,
                vec![Mark::Cells(shade, Vec::new())],
            )
        })
        .collect();
    for (rank, quantiles) in picture.quantiles_ns.iter().enumerate() {
        for (column, ns) in quantiles.iter().enumerate() {
            let us = ns / 1e3;
            let class = limits.iter().filter(|&&limit| us >= limit).count();
            if let Mark::Cells(_, cells) = &mut all[class].marks[0] {
                cells.push(Cell {
                    x: column as f64,
                    y: rank as f64,
                    label: words::short(us),
                });
            }
        }
    }
    let step = (LABEL / row).ceil() as usize;
    let ranks: Vec<String> = (0..picture.n.len())
        .map(|rank| {
            if rank % step == 0 {
                rank.to_string()
            } else {
                String::new()
            }
        })
        .collect();
    let columns: Vec<String> = RankPicture::SHARES
        .iter()
        .map(|&share| {
            if share < 1.0 {
                show::percent(share)
            } else {
                "longest".into()
            }
        })
        .collect();
    Panel {
        title: match picture.level {
            Level::None => "no injection".into(),
            level => analysis.suites.packet.level_called(level),
        },
        x: Axis::categories("Quantile", &columns),
        y: Axis::categories("Rank", &ranks),
        series: all,
    }
}

/// The limits between shades, in microseconds: round numbers between the least and the greatest time, evenly spaced
/// on a logarithmic scale.
fn limits((low, high): (f64, f64)) -> Vec<f64> {
    let inside = |digits: &[f64]| -> Vec<f64> {
        let decades = low.max(1e-3).log10().floor() as i32..=high.max(1e-3).log10().ceil() as i32;
        decades
            .flat_map(|decade| digits.iter().map(move |digit| digit * 10f64.powi(decade)))
            .filter(|&limit| limit > low && limit < high)
            .collect()
    };
    let choices: [&[f64]; 3] = [&[1.0, 2.0, 5.0], &[1.0, 3.0], &[1.0]];
    let fitting = choices
        .iter()
        .map(|digits| inside(digits))
        .find(|limits| limits.len() < SHADES);
    fitting.unwrap_or_else(|| {
        // More decades than shades: the shortest times have one of them.
        let decades = inside(&[1.0]);
        decades[decades.len() + 1 - SHADES..].to_vec()
    })
}

/// `below 10 µs`, `10 µs to 20 µs`, `20 µs and more`.
fn name(limits: &[f64], class: usize) -> String {
    let time = |us: &f64| words::time(us * 1e3);
    let begin = class.checked_sub(1).and_then(|before| limits.get(before));
    match (begin, limits.get(class)) {
        (None, None) => "all".into(),
        (None, Some(end)) => format!("below {}", time(end)),
        (Some(begin), Some(end)) => format!("{} to {}", time(begin), time(end)),
        (Some(begin), None) => format!("{} and more", time(begin)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shades_change_at_round_numbers_and_are_few() {
        assert_eq!(limits((8.0, 45.0)), [10.0, 20.0]);
        assert_eq!(limits((0.9, 150.0)), [1.0, 3.0, 10.0, 30.0, 100.0]);
        assert_eq!(
            limits((0.5, 20_000.0)),
            [1.0, 10.0, 100.0, 1_000.0, 10_000.0]
        );
        assert_eq!(limits((0.0, 2e6)).len(), SHADES - 1);
        assert!(limits((4.0, 4.0)).is_empty());
        let names = |limits: &[f64]| -> Vec<String> {
            (0..=limits.len())
                .map(|class| name(limits, class))
                .collect()
        };
        assert_eq!(
            names(&[10.0, 20.0]),
            ["below 10 µs", "10 µs to 20 µs", "20 µs and more"]
        );
        assert_eq!(names(&[]), ["all"]);
    }
}
