//! Operations of MPI under injected delays: the paper's figures 7 and 8 (ping-pong), and 9 and 10
//! (barrier).

use jitterlab_base::units::Nanos;
use jitterlab_experiment::level::{Level, LevelKind, Member};

use super::{but_the_replay, called, n_of, range, reach, series};
use crate::analysis::Analysis;
use crate::analysis::injected::varied;
use crate::analysis::library::operations::Operation;
use crate::svg::{Axis, Figure, Mark, Panel, Point, Series};
use crate::table::Estimate;

/// Every case of the library suite that was measured with injected delays, in the order of the table.
pub fn cases(analysis: &Analysis) -> Vec<&str> {
    let rows = analysis.suites.library.operations.iter();
    let injected = rows.filter(|row| row.level.kind() == LevelKind::Injected);
    let mut cases: Vec<&str> = injected.map(|row| row.case.as_str()).collect();
    cases.dedup();
    cases
}

/// Mean and median of an operation by load imitated and shape; where no load is imitated, by the mean of the delays.
pub fn centres(analysis: &Analysis, case: &str) -> Option<Figure> {
    let rows = analysis.suites.library.operations.iter();
    let rows = rows.filter(|row| row.case == case && row.level.kind() != LevelKind::Load);
    let rows: Vec<&Operation> = rows.collect();
    let first = rows.first()?;
    let imitates = rows.iter().any(|row| row.level.percent().is_some());
    let of_paper = match case {
        "ping-pong" if imitates => "After the paper's figures 7 and 8: mean",
        "barrier" if imitates => "After the paper's figures 9 and 10: mean",
        _ => "Mean",
    };
    let delays = match imitates {
        true => "the delays that imitate each load",
        false => "delays of each mean",
    };
    let beside = match imitates {
        true => format!(
            " The shapes of one load have one mean{}.",
            but_the_replay(rows.iter().map(|row| row.level))
        ),
        false => String::new(),
    };
    let ranks = first
        .ranks
        .map(|n| format!(" on {n} ranks"))
        .unwrap_or_default();
    Some(Figure {
        id: format!("library-{case}"),
        title: format!("Mean and median time of {case} with injected delays"),
        caption: format!(
            "{of_paper} (left) and median (right) time of {case}{ranks}, without injection (at 0) and with {delays}, with 95 % \
             intervals over runs ({}, of {} a point).{beside}",
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

/// The place of a line among others, which is past all shapes where it is none of them, and its name.
type Look = (usize, String);

/// The line that a row with delays stands in: those that vary alike.
fn look(row: &Operation) -> Option<Look> {
    let other = Member::ALL.len();
    let place = |shape: Member| {
        let place = Member::ALL.iter().position(|&known| known == shape);
        place.unwrap_or(other)
    };
    Some(match row.level {
        Level::Injected { shape, .. } => (place(shape), called(shape).into()),
        Level::None | Level::Load { .. } => return None,
        level if level.is_constant() => (place(Member::Uniform), "constant".into()),
        Level::Shape { shape, std_ns, .. } => (other, format!("{shape}, std {}", Nanos(std_ns))),
        level => (other, varied(level)),
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
    let imitates = rows.iter().any(|row| row.level.percent().is_some());
    let place = |row: &Operation| match (imitates, row.level.percent()) {
        (true, percent) => percent.map(|percent| analysis.suites.packet.imitated(percent)),
        (false, _) => row.injected_ns.map(|(mean, _)| mean / 1e3),
    };
    let mut looks: Vec<Look> = rows.iter().filter_map(|row| look(row)).collect();
    looks.sort_unstable();
    looks.dedup();
    for (i, look_of) in looks.iter().enumerate() {
        let own = rows
            .iter()
            .filter(|row| look(row).as_ref() == Some(look_of));
        let mut points: Vec<Point> = own
            .filter_map(|row| Some(point(row, place(row)?)))
            .collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        if !points.is_empty() {
            let line = points.iter().map(|point| (point.x, point.y)).collect();
            let marks = vec![Mark::Line(line), Mark::Points(points)];
            let (place, name) = look_of;
            let style = if *place < Member::ALL.len() {
                *place
            } else {
                place + i
            };
            all.push(series(name, style + 1, marks));
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
        x: Axis::linear_around(
            match imitates {
                true => "Load imitated, % of bandwidth",
                false => "Mean of the delays, µs",
            },
            &places,
        ),
        y: Axis::linear(label, low.min(0.0), high),
        series: all,
    }
}
