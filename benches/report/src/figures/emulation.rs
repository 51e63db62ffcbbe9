//! Injected against background: distribution functions, and means and medians by shape (the
//! paper's figures 5 and 6).

use jitterlab_experiment::level::{Level, Member};

use super::{called, n_of, range, reach, series};
use crate::analysis::Analysis;
use crate::analysis::condition::Link;
use crate::analysis::packet::emulation::Emulation;
use crate::analysis::pictures::RttPicture;
use crate::svg::{Axis, Figure, Mark, Panel, Point, Series};

/// The look of the background; the members follow.
const BACKGROUND: usize = 0;

fn style(shape: Member) -> usize {
    match shape {
        Member::Empirical => 1,
        Member::Uniform => 2,
        Member::Scale75 => 3,
        Member::Scale50 => 4,
        Member::Scale25 => 5,
        Member::Lognormal => 6,
        Member::Closest => 7,
        Member::Replay => 8,
    }
}

/// The loads at which there is something to compare.
fn percents(analysis: &Analysis, link: &Link) -> Vec<u8> {
    let rows = analysis
        .suites
        .packet
        .emulation
        .iter()
        .filter(|row| row.link == *link);
    let mut percents: Vec<u8> = rows.map(|row| row.percent).collect();
    percents.dedup();
    percents
}

/// Distribution functions of the RTT under load and with injection, a panel a load.
pub fn distributions(analysis: &Analysis, link: &Link) -> Option<Figure> {
    let percents = percents(analysis, link);
    percents.first()?;
    let pictures = |percent: u8| {
        let of_link = analysis
            .suites
            .packet
            .rtt_pictures
            .iter()
            .filter(|p| p.link == *link);
        of_link.filter(move |picture| match (picture.level, &picture.load) {
            (Level::Injected { percent: of, .. }, _) => of == percent,
            (_, load) => load
                .as_ref()
                .is_some_and(|load| load.asked.contains(&percent)),
        })
    };
    let shown = percents.iter().flat_map(|&percent| pictures(percent));
    Some(Figure {
        id: format!("emulation-{}", link.id()),
        title: format!("Distribution functions of the {link} under load and with injected delays"),
        caption: format!(
            "Share of round trips that took at most so long: {link} (in a closed loop) under each load (solid) and \
             with the delays that imitate it ({} a line, all runs together). \
             Logarithmic.",
            n_of(shown.map(|picture| picture.n), "round trip")
        ),
        panels: percents
            .iter()
            .map(|&percent| {
                let title = analysis.suites.packet.load_called(percent);
                functions(title, &pictures(percent).collect::<Vec<_>>())
            })
            .collect(),
        columns: percents.len().min(2),
        panel_height: 270.0,
    })
}

fn functions(title: String, pictures: &[&RttPicture]) -> Panel {
    let all = pictures
        .iter()
        .map(|picture| {
            let (name, style) = match picture.level {
                Level::Injected { shape, .. } => (called(shape), style(shape)),
                _ => ("background load", BACKGROUND),
            };
            let quantiles = picture.quantiles.iter();
            let steps = quantiles.map(|&(share, ns)| (ns / 1e3, share)).collect();
            series(name, style, vec![Mark::Steps(steps)])
        })
        .collect();
    let (low, high) = range(
        pictures
            .iter()
            .flat_map(|picture| picture.quantiles.iter().map(|&(_, ns)| ns / 1e3)),
    );
    Panel {
        title,
        x: Axis::log("RTT, µs", low, high),
        y: Axis::linear("Share of round trips", 0.0, 1.0),
        series: all,
    }
}

/// Mean and median RTT by shape and load.
pub fn centres(analysis: &Analysis, link: &Link) -> Option<Figure> {
    let rows: Vec<&Emulation> = analysis
        .suites
        .packet
        .emulation
        .iter()
        .filter(|row| row.link == *link)
        .collect();
    rows.first()?;
    let percents = percents(analysis, link);
    let places: Vec<f64> = percents.iter().map(|&percent| percent.into()).collect();
    let ticks: Vec<(f64, String)> = percents
        .iter()
        .map(|&percent| (percent.into(), imitated(analysis, percent)))
        .collect();
    let panel = |label: &str, all: Vec<Series>| {
        let (low, high) = range(all.iter().flat_map(|series| {
            series.marks.iter().flat_map(|mark| match mark {
                Mark::Points(points) => reach(points).collect::<Vec<_>>(),
                _ => Vec::new(),
            })
        }));
        Panel {
            title: String::new(),
            x: Axis::linear_at(
                "Load imitated, % of bandwidth (asked)",
                &ticks,
                spread(&places),
            ),
            y: Axis::linear(label, low.min(0.0), high),
            series: all,
        }
    };
    let width = spread(&places);
    Some(Figure {
        id: format!("shapes-{}", link.id()),
        title: format!("Mean and median of the {link} under load and with injected delays"),
        caption: format!(
            "After the paper's figures 5 and 6: mean (left) and median (right) of the {link} (in a closed loop) under load \
             and with the distributions that imitate it, with 95 % intervals over runs ({} a \
             point). All were made to have one mean; the median shows how they differ. Points of one \
             load are shifted sideways, so that they do not hide each other.",
            n_of(
                rows.iter()
                    .flat_map(|row| [row.injected_n, row.background_n]),
                "round trip",
            )
        ),
        panels: vec![
            panel("Mean RTT, µs", means(&rows, width)),
            panel("Median RTT, µs", medians(&rows, width)),
        ],
        columns: 2,
        panel_height: 300.0,
    })
}

/// The load that delays imitate, in percent: what was produced, and what was asked for where that is something else.
pub fn imitated(analysis: &Analysis, percent: u8) -> String {
    let (produced, asked) = (
        format!("{:.0}", analysis.suites.packet.imitated(percent)),
        percent.to_string(),
    );
    if produced == asked {
        asked
    } else {
        format!("{produced} ({asked})")
    }
}

/// The part of the least gap between two loads over which the points of one load are spread.
const SPREAD: f64 = 0.6;

/// The distance that the points of one load are spread over.
fn spread(places: &[f64]) -> f64 {
    let gaps = places.windows(2).map(|pair| pair[1] - pair[0]);
    let least = gaps.fold(f64::INFINITY, f64::min);
    SPREAD * if least.is_finite() { least } else { 10.0 }
}

fn means(rows: &[&Emulation], width: f64) -> Vec<Series> {
    by_shape(rows, width, |row, of_background| {
        let estimate = if of_background {
            row.background_mean_ns
        } else {
            row.injected_mean_ns
        };
        let estimate = estimate.scaled(1e-3);
        (estimate.value, estimate.interval())
    })
}

fn medians(rows: &[&Emulation], width: f64) -> Vec<Series> {
    by_shape(rows, width, |row, of_background| {
        let estimate = if of_background {
            row.background_median_ns
        } else {
            row.injected_median_ns
        };
        let estimate = estimate.scaled(1e-3);
        (estimate.value, estimate.interval())
    })
}

/// The background and each shape, side by side.
fn by_shape(
    rows: &[&Emulation],
    width: f64,
    figure: impl Fn(&Emulation, bool) -> (f64, Option<(f64, f64)>),
) -> Vec<Series> {
    let shapes: Vec<Member> = Member::ALL
        .into_iter()
        .filter(|&shape| rows.iter().any(|row| row.shape == shape))
        .collect();
    // The background stands first, and all of them about their load.
    let step = width / shapes.len() as f64;
    let point = |row: &Emulation, place: usize, of_background| {
        let (y, interval) = figure(row, of_background);
        Point {
            x: f64::from(row.percent) - width / 2.0 + step * place as f64,
            y,
            interval,
        }
    };
    let mut background: Vec<Point> = Vec::new();
    for row in rows {
        let next = point(row, 0, true);
        if background.last().is_none_or(|last| last.x != next.x) {
            background.push(next);
        }
    }
    let mut all = vec![series(
        "background load",
        BACKGROUND,
        vec![Mark::Points(background)],
    )];
    for (i, &shape) in shapes.iter().enumerate() {
        let of_shape = rows.iter().filter(|row| row.shape == shape);
        let points = of_shape.map(|row| point(row, i + 1, false)).collect();
        all.push(series(
            called(shape),
            style(shape),
            vec![Mark::Points(points)],
        ));
    }
    all
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::svg::Style;

    #[test]
    fn the_background_and_each_shape_have_a_look_of_their_own() {
        let of_shapes = Member::ALL.into_iter().map(style);
        let looks: HashSet<String> = of_shapes
            .chain([BACKGROUND])
            .map(|look| Style(look).stroke(1.0))
            .collect();
        assert_eq!(looks.len(), Member::ALL.len() + 1);
    }
}
