//! Operations of MPI under injected delays: the paper's figures 7 and 8 (ping-pong), and 9 and 10
//! (barrier).

use jitterlab_experiment::level::{Level, Member};

use super::{called, n_of, range, reach, series};
use crate::analysis::Analysis;
use crate::analysis::library::operations::Operation;
use crate::svg::{Axis, Figure, Mark, Panel, Point, Series};
use crate::table::Estimate;

/// Every case of the library suite that was measured with injected delays, in the order of the table.
pub fn cases(analysis: &Analysis) -> Vec<&str> {
    let injected = analysis
        .suites
        .library
        .operations
        .iter()
        .filter(|row| row.injected().is_some());
    let mut cases: Vec<&str> = injected.map(|row| row.case.as_str()).collect();
    cases.dedup();
    cases
}

/// Mean and median of an operation by load imitated and shape.
pub fn centres(analysis: &Analysis, case: &str) -> Option<Figure> {
    let rows: Vec<&Operation> = analysis
        .suites
        .library
        .operations
        .iter()
        .filter(|row| row.case == case)
        .filter(|row| row.level == Level::None || row.injected().is_some())
        .collect();
    let first = rows.first()?;
    let of_paper = match case {
        "ping-pong" => "After the paper's figures 7 and 8: mean",
        "barrier" => "After the paper's figures 9 and 10: mean",
        _ => "Mean",
    };
    let ranks = first
        .ranks
        .map(|n| format!(" on {n} ranks"))
        .unwrap_or_default();
    Some(Figure {
        id: format!("library-{case}"),
        title: format!("Mean and median time of {case} with injected delays"),
        caption: format!(
            "{of_paper} (left) and median (right) time of {case}{ranks}, without injection (at 0) and with \
             the delays that imitate each load, with 95 % intervals over runs ({}, of {} a \
             point). The shapes of one load have one mean.",
            n_of(rows.iter().map(|row| row.n), "sample"),
            n_of(rows.iter().map(|row| row.runs), "run"),
        ),
        panels: vec![
            panel(analysis, "Mean, µs", &rows, |row| row.mean_ns),
            panel(analysis, "Median, µs", &rows, |row| row.median_ns),
        ],
        columns: 2,
        panel_height: 300.0,
    })
}

fn panel(
    analysis: &Analysis,
    label: &str,
    rows: &[&Operation],
    figure: fn(&Operation) -> Estimate,
) -> Panel {
    let point = |row: &Operation, x: f64| {
        let estimate = figure(row).scaled(1e-3);
        Point {
            x,
            y: estimate.value,
            interval: estimate.interval(),
        }
    };
    let none = rows.iter().filter(|row| row.level == Level::None);
    let mut all: Vec<Series> = vec![series(
        "no injection",
        0,
        vec![Mark::Points(none.map(|row| point(row, 0.0)).collect())],
    )];
    for (i, shape) in Member::ALL.into_iter().enumerate() {
        let points: Vec<Point> = rows
            .iter()
            .filter_map(|row| {
                let (percent, of) = row.injected()?;
                (of == shape).then(|| point(row, analysis.suites.packet.imitated(percent)))
            })
            .collect();
        if !points.is_empty() {
            let line = points.iter().map(|point| (point.x, point.y)).collect();
            all.push(series(
                called(shape),
                i + 1,
                vec![Mark::Line(line), Mark::Points(points)],
            ));
        }
    }
    let points = || {
        all.iter()
            .flat_map(|series| &series.marks)
            .flat_map(|mark| match mark {
                Mark::Points(points) => points.as_slice(),
                _ => &[],
            })
    };
    let (low, high) = range(reach(points()));
    let mut places: Vec<f64> = points().map(|point| point.x).collect();
    places.sort_unstable_by(f64::total_cmp);
    places.dedup();
    Panel {
        title: String::new(),
        x: Axis::linear_around("Load imitated, % of bandwidth", &places),
        y: Axis::linear(label, low.min(0.0), high),
        series: all,
    }
}
