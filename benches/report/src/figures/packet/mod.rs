//! The curves of the packet suite, in the form of the figures of interconnect-microbenchmarks: a figure a case, a row of panels
//! a curve, a panel for each transport, a line for each level.

use jitterlab_experiment::level::Level;

use super::{n_of, range, reach, series};
use crate::analysis::Analysis;
use crate::analysis::packet::curves::{Curve, Over};
use crate::analysis::packet::places::Place;
use crate::svg::{Axis, Figure, Mark, Panel, Point, Series};
use crate::words;

/// A figure for each case.
pub fn cases(analysis: &Analysis) -> Vec<Figure> {
    let mut names: Vec<&str> = Vec::new();
    for place in &analysis.suites.packet.places {
        if !names.contains(&place.link.case.as_str()) {
            names.push(&place.link.case);
        }
    }
    names
        .into_iter()
        .map(|case| figure(analysis, case))
        .collect()
}

fn figure(analysis: &Analysis, case: &str) -> Figure {
    let rows: Vec<&Place> = analysis
        .suites
        .packet
        .places
        .iter()
        .filter(|row| row.link.case == case)
        .collect();
    let mut curves: Vec<Curve> = rows.iter().map(|row| row.curve).collect();
    curves.sort();
    curves.dedup();
    let mut transports: Vec<_> = rows.iter().map(|row| row.link.transport).collect();
    transports.dedup();
    let mut known = Vec::new();
    transports.retain(|transport| {
        let is_new = !known.contains(transport);
        known.push(*transport);
        is_new
    });
    let mut levels: Vec<Level> = rows.iter().map(|row| row.level).collect();
    levels.sort();
    levels.dedup();
    let levels: Vec<(Level, String)> = levels
        .into_iter()
        .map(|level| (level, analysis.suites.packet.level_called(level)))
        .collect();
    let mut panels = Vec::new();
    for curve in curves {
        let of_curve: Vec<&Place> = rows
            .iter()
            .filter(|row| row.curve == curve)
            .copied()
            .collect();
        let (_, most) = range(of_curve.iter().map(|row| row.value.value));
        for &transport in &transports {
            let here: Vec<&Place> = of_curve
                .iter()
                .filter(|row| row.link.transport == transport)
                .copied()
                .collect();
            let name = capitalised(curve.name);
            let title = format!("{name} over {}", words::transport(transport.name()));
            panels.push(panel(title, curve, &levels, &here, most));
        }
    }
    Figure {
        id: format!("packet-{case}"),
        title: format!("The packet case {case} by level"),
        caption: format!(
            "The packet case {case}, without load, under load and with injected delays: means, {}, with 95 % intervals. \
             Where values are far apart, the vertical axis is logarithmic.",
            n_of(rows.iter().map(|row| row.runs), "run"),
        ),
        panels,
        columns: transports.len().min(2),
        panel_height: 250.0,
    }
}

fn capitalised(name: &str) -> String {
    let mut letters = name.chars();
    let first = letters.next().map(|letter| letter.to_uppercase());
    first.into_iter().flatten().chain(letters).collect()
}

fn panel(
    title: String,
    curve: Curve,
    levels: &[(Level, String)],
    rows: &[&Place],
    most: f64,
) -> Panel {
    /// Values further apart than this are drawn on a logarithmic axis.
    const FAR: f64 = 30.0;
    let line = |(style, (level, called)): (usize, &(Level, String))| -> Option<Series> {
        let points: Vec<Point> = rows
            .iter()
            .filter(|row| row.level == *level)
            .map(|row| Point {
                x: row.x,
                y: row.value.value,
                interval: row.value.positive().interval(),
            })
            .collect();
        let line = points.iter().map(|point| (point.x, point.y)).collect();
        (!points.is_empty())
            .then(|| series(called, style, vec![Mark::Line(line), Mark::Points(points)]))
    };
    let series: Vec<Series> = levels.iter().enumerate().filter_map(line).collect();
    let points = || {
        let marks = series.iter().flat_map(|series| &series.marks);
        marks.flat_map(|mark| match mark {
            Mark::Points(points) => points.as_slice(),
            _ => &[],
        })
    };
    let (low, high) = range(reach(points()));
    let mut places: Vec<f64> = points().map(|point| point.x).collect();
    places.sort_unstable_by(f64::total_cmp);
    places.dedup();
    let (first, last) = range(places.iter().copied());
    let label = curve.over.label();
    let x = match curve.over {
        Over::Size => Axis::sizes(label, first / 1.5, last * 1.5),
        Over::Buffers | Over::Window if first < last => Axis::log(label, first / 1.5, last * 1.5),
        Over::Computing => Axis::linear(label, 0.0, 100.0_f64.max(last)),
        _ => {
            let named: Vec<(f64, String)> = places
                .iter()
                .map(|&place| (place, words::short(place)))
                .collect();
            Axis::linear_at(label, &named, 0.0)
        }
    };
    let y = match high > FAR * low {
        true => Axis::log(curve.unit, low / 1.2, high * 1.2),
        false => Axis::linear(curve.unit, 0.0, high.min(3.0 * most)),
    };
    Panel {
        title,
        x,
        y,
        series,
    }
}
