//! Runtimes of all applications beside each other: by load imitated, with constant and with varied
//! delays (the paper's figures 11 and 12), and by standard deviation at a fixed mean (figures 15 and
//! 16).

use jitterlab_experiment::level::{Level, Member};

use super::{called, n_of, range, reach, series};
use crate::analysis::Analysis;
use crate::analysis::application::runtimes::Runtime;
use crate::svg::{Axis, Figure, Mark, Panel, Point, Series};
use crate::words;

/// What each program is slowed by: over the mean of constant delays, and over the standard deviation of delays of one mean.
pub fn answer(analysis: &Analysis) -> Option<Figure> {
    let highest = analysis
        .effects
        .iter()
        .map(|effect| effect.by_variation.percent)
        .max()?;
    let constant: Vec<(u8, Member, &Runtime)> = injected(analysis)
        .filter(|(_, shape, _)| *shape == Member::Uniform)
        .collect();
    let of_one_mean: Vec<(u8, Member, &Runtime)> = injected(analysis)
        .filter(|(percent, _, _)| *percent == highest)
        .collect();
    let mean = of_one_mean
        .iter()
        .find_map(|(_, _, row)| Some(row.injected_ns?.0 / 1e3))?;
    let mut panels = [
        (
            "Mean alone: constant delays".to_string(),
            "Mean of the delays, µs",
            changes(analysis, &constant, |(mean, _)| mean),
        ),
        (
            format!("Variation alone: delays of mean {} µs", words::short(mean)),
            "Standard deviation of the delays, µs",
            changes(analysis, &of_one_mean, |(_, std)| std),
        ),
    ]
    .map(|(title, label, (x, series))| (title, Axis::linear(label, 0.0, x), series));
    let (low, high) = range(
        panels
            .iter()
            .flat_map(|(_, _, series)| reach(marked(series)).collect::<Vec<_>>()),
    );
    let counted = constant.iter().chain(&of_one_mean);
    let caption = format!(
        "How much longer each program takes than without injection, by the mean of delays that are all alike (left) and by the \
         standard deviation of delays of one mean (right), with 95 % intervals over runs ({} a point). Lines that rise on \
         the right are programs that variation slows. Points of one place are shifted sideways, so that they do not hide each other.",
        n_of(counted.map(|(_, _, row)| row.runs), "run")
    );
    Some(Figure {
        id: "answer".into(),
        title: "Slowdown of each program over mean and over standard deviation of the delays"
            .into(),
        caption,
        panels: panels
            .iter_mut()
            .map(|(title, x, series)| Panel {
                title: std::mem::take(title),
                x: x.clone(),
                y: with_room("Change of time, %", low.min(0.0), high.max(0.0)),
                series: std::mem::take(series),
            })
            .collect(),
        columns: 2,
        panel_height: 290.0,
    })
}

/// Runtime in proportion to that without injection, a panel a shape.
pub fn by_load(analysis: &Analysis) -> Option<Figure> {
    let varied = analysis.suites.packet.imitation();
    let shapes = [Member::Uniform, varied];
    let rows = |shape: Member| injected(analysis).filter(move |(_, of, _)| *of == shape);
    let drawn: Vec<Member> = shapes
        .into_iter()
        .filter(|&shape| rows(shape).next().is_some())
        .collect();
    drawn.first()?;
    let mut places: Vec<f64> = drawn
        .iter()
        .flat_map(|&shape| rows(shape))
        .map(|(percent, _, _)| analysis.suites.packet.imitated(percent))
        .collect();
    places.sort_unstable_by(f64::total_cmp);
    places.dedup();
    let step = SIDE_BY_SIDE
        * places
            .last()
            .zip(places.first())
            .map_or(1.0, |(a, b)| a - b);
    let points: Vec<(Member, Vec<Series>)> = drawn
        .iter()
        .map(|&shape| {
            let of_application = |name: &str| {
                let rows = rows(shape).filter(|(_, _, row)| row.application == name);
                rows.filter_map(|(percent, _, row)| {
                    point(row, analysis.suites.packet.imitated(percent))
                })
                .collect()
            };
            (shape, lines(analysis, step, of_application))
        })
        .collect();
    let all = points.iter().flat_map(|(_, series)| marked(series));
    let (low, high) = range(reach(all));
    let counted = drawn
        .iter()
        .flat_map(|&shape| rows(shape))
        .map(|(_, _, row)| row.runs);
    Some(Figure {
        id: "runtimes".into(),
        title: format!(
            "Runtime of applications by load imitated, with constant and with {varied} delays"
        ),
        caption: format!(
            "After the paper's figures 11 and 12: runtime in proportion to that without injection, with \
             delays that are constant (“uniform”, left) and that vary ({varied}, right), with 95 % \
             intervals over runs ({} a point). Both have one mean at each load imitated. Points of one \
             load are shifted sideways, so that they do not hide each other.",
            n_of(counted, "run")
        ),
        panels: points
            .into_iter()
            .map(|(shape, series)| Panel {
                title: format!("{} delays", called(shape)),
                x: Axis::linear_around("Load imitated, % of bandwidth", &places),
                y: Axis::linear("Runtime / without injection", low.min(1.0), high.max(1.0)),
                series,
            })
            .collect(),
        columns: 2,
        panel_height: 320.0,
    })
}

/// Change of runtime by standard deviation of the delays, a panel a mean.
pub fn by_std(analysis: &Analysis) -> Option<Figure> {
    let mut percents: Vec<u8> = injected(analysis).map(|(percent, _, _)| percent).collect();
    percents.sort_unstable();
    percents.dedup();
    let at = |percent: u8| injected(analysis).filter(move |(of, _, _)| *of == percent);
    percents.retain(|&percent| at(percent).any(|(_, shape, _)| shape != Member::Uniform));
    percents.first()?;
    Some(Figure {
        id: "fixed-mean".into(),
        title: "Change of runtime by standard deviation of the injected delays, at a fixed mean"
            .into(),
        caption: format!(
            "After the paper's figures 15 and 16: change of the runtime against no injection, by the \
             standard deviation of the delays, with 95 % intervals over runs ({} a point). In a \
             panel all delays have one mean. Points of one deviation are shifted sideways, so that they do not hide each other.",
            n_of(injected(analysis).map(|(_, _, row)| row.runs), "run")
        ),
        panels: percents
            .iter()
            .map(|&percent| fixed(analysis, percent, &at(percent).collect::<Vec<_>>()))
            .collect(),
        columns: 2,
        panel_height: 300.0,
    })
}

fn fixed(analysis: &Analysis, percent: u8, rows: &[(u8, Member, &Runtime)]) -> Panel {
    let (right, all) = changes(analysis, rows, |(_, std)| std);
    let (low, high) = range(reach(marked(&all)));
    let mean = rows
        .iter()
        .find_map(|(_, _, row)| Some(row.injected_ns?.0 / 1e3));
    Panel {
        title: format!(
            "mean of {} ({} µs)",
            analysis.suites.packet.load_called(percent),
            words::short(mean.unwrap_or(f64::NAN))
        ),
        x: Axis::linear("Standard deviation of the delays, µs", 0.0, right),
        y: with_room("Change of time, %", low.min(0.0), high.max(0.0)),
        series: all,
    }
}

/// The change of each application's runtime by a moment of the delays in microseconds, and the greatest of these.
fn changes(
    analysis: &Analysis,
    rows: &[(u8, Member, &Runtime)],
    moment: fn((f64, f64)) -> f64,
) -> (f64, Vec<Series>) {
    let change = |ratio: f64| 100.0 * (ratio - 1.0);
    let of_application = |name: &str| {
        let rows = rows.iter().filter(|(_, _, row)| row.application == name);
        let mut points: Vec<Point> = rows
            .filter_map(|(_, _, row)| {
                let point = point(row, moment(row.injected_ns?) / 1e3)?;
                Some(Point {
                    x: point.x,
                    y: change(point.y),
                    interval: point
                        .interval
                        .map(|(low, high)| (change(low), change(high))),
                })
            })
            .collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        points
    };
    let moments = rows.iter().filter_map(|(_, _, row)| row.injected_ns);
    let (_, right) = range(moments.map(|of| moment(of) / 1e3));
    (right, lines(analysis, SIDE_BY_SIDE * right, of_application))
}

/// The runtimes with injected delays, with the load that is imitated and the shape.
fn injected(analysis: &Analysis) -> impl Iterator<Item = (u8, Member, &Runtime)> {
    analysis
        .suites
        .application
        .runtimes
        .iter()
        .filter_map(|row| match row.level {
            Level::Injected { percent, shape } if row.slowdown.is_some() => {
                Some((percent, shape, row))
            }
            _ => None,
        })
}

fn point(row: &Runtime, x: f64) -> Option<Point> {
    let ratio = row.slowdown?.ratio;
    Some(Point {
        x,
        y: ratio.value,
        interval: ratio.interval(),
    })
}

/// An axis with a little room beyond the least and the greatest value.
fn with_room(label: &str, low: f64, high: f64) -> Axis {
    let room = 0.06 * (high - low);
    Axis::linear_between(label, low - room, high + room)
}

/// How far points that belong to one place stand from each other, as a part of the axis.
const SIDE_BY_SIDE: f64 = 0.012;

/// A series an application, each with its look in every panel, and its points `step` beside those of the one before.
fn lines(analysis: &Analysis, step: f64, points: impl Fn(&str) -> Vec<Point>) -> Vec<Series> {
    let mut names: Vec<&str> = analysis
        .suites
        .application
        .runtimes
        .iter()
        .map(|row| row.application.as_str())
        .collect();
    names.dedup();
    let middle = (names.len() as f64 - 1.0) / 2.0;
    names
        .into_iter()
        .enumerate()
        .map(|(i, name)| {
            let beside = |point: Point| Point {
                x: point.x + step * (i as f64 - middle),
                ..point
            };
            let points: Vec<Point> = points(name).into_iter().map(beside).collect();
            let line = points.iter().map(|point| (point.x, point.y)).collect();
            series(name, i, vec![Mark::Line(line), Mark::Points(points)])
        })
        .collect()
}

fn marked(series: &[Series]) -> impl Iterator<Item = &Point> {
    series
        .iter()
        .flat_map(|series| &series.marks)
        .flat_map(|mark| match mark {
            Mark::Points(points) => points.as_slice(),
            _ => &[],
        })
}
