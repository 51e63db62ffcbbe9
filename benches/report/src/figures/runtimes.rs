//! Runtimes of all applications beside each other: by load imitated, with constant and with varied
//! delays (the paper's figures 11 and 12), and by standard deviation at a fixed mean (figures 15 and
//! 16).

use jitterlab_experiment::level::{Level, Member};

use super::{SIDE_BY_SIDE, called, n_of, range, reach, series};
use crate::analysis::Analysis;
use crate::analysis::application::runtimes::{FixedMean, Runtime};
use crate::svg::{Axis, Figure, Mark, Panel, Point, Series};
use crate::words;

/// The slowdown of each program: over the mean of constant delays, and over the standard deviation of delays of one mean. Where no
/// delays vary, the first alone.
pub fn answer(analysis: &Analysis) -> Option<Figure> {
    let all: Vec<&Runtime> = slowed(analysis).collect();
    let mut constant = all.clone();
    constant.retain(|row| row.level.is_constant());
    let means = analysis.effects.iter().map(|effect| &effect.by_variation);
    let highest = means.max_by(|a, b| {
        let mean = |row: &FixedMean| row.injected_ns.map_or(0.0, |(mean, _)| mean);
        mean(a).total_cmp(&mean(b))
    });
    let of_one_mean = highest.map_or_else(Vec::new, |row| at_mean(analysis, row.constant));
    let mut panels = Vec::new();
    let mut add = |title: String, label: &str, rows: &[&Runtime], moment: fn((f64, f64)) -> f64| {
        let (x, series) = changes(analysis, rows, moment);
        if !rows.is_empty() {
            panels.push((title, with_room(label, 0.0, x), series));
        }
    };
    let (by_mean, title) = match constant[..] {
        [] => (&all, "Injected delays"),
        _ => (&constant, "Constant delays, rising mean"),
    };
    let label = "Mean of the delays, µs";
    add(title.into(), label, by_mean, |(mean, _)| mean);
    let mean = of_one_mean.iter().find_map(|row| Some(row.injected_ns?.0));
    add(
        format!(
            "Same mean ({}), rising variation",
            words::time(mean.unwrap_or(f64::NAN))
        ),
        "Standard deviation of the delays, µs",
        &of_one_mean,
        |(_, std)| std,
    );
    panels.first()?;
    let (low, high) = range(
        panels
            .iter()
            .flat_map(|(_, _, series)| reach(marked(series)).collect::<Vec<_>>()),
    );
    let counted = n_of(
        by_mean.iter().chain(&of_one_mean).map(|row| row.runs),
        "run",
    );
    let mut programs: Vec<&str> = all.iter().map(|row| row.application.as_str()).collect();
    programs.dedup();
    let beside = match programs[..] {
        [_] => "",
        _ => "Points of one place are shifted sideways, so that they do not hide each other.",
    };
    let (title, caption) = match of_one_mean[..] {
        [] => (
            "Slowdown of each program over the mean of the delays",
            format!(
                "How much longer each program takes than without injection, by the mean of the delays, with 95 % intervals over \
                 runs ({counted} a point). {beside}"
            ),
        ),
        _ => (
            "Slowdown of each program over mean and over standard deviation of the delays",
            format!(
                "How much longer each program takes than without injection: left by the mean of constant delays, right by the \
                 standard deviation of delays of one mean, with 95 % intervals over runs ({counted} a point). {} {beside}",
                rise(&programs)
            ),
        ),
    };
    Some(Figure {
        id: "answer".into(),
        title: title.into(),
        caption: caption.trim_end().into(),
        panels: panels
            .into_iter()
            .map(|(title, x, series)| Panel {
                title,
                x,
                y: with_room("Change of time, %", low.min(0.0), high.max(0.0)),
                series,
            })
            .collect(),
        columns: 2,
        panel_height: 290.0,
    })
}

/// The meaning of a line that rises on the right.
fn rise(programs: &[&str]) -> String {
    match programs {
        [one] => format!(
            "The leftmost point on the right is the constant delays; if variation slowed {one}, the line would rise from there."
        ),
        _ => "The leftmost points on the right are the constant delays. Lines that rise on the right are programs that variation \
              slows."
            .into(),
    }
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
    // A load that is alone has the room that its axis has about it.
    let span = places
        .last()
        .zip(places.first())
        .map_or(0.0, |(a, b)| a - b);
    let step = SIDE_BY_SIDE * if span > 0.0 { span } else { places[0] };
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
    let shapes: Vec<String> = drawn.iter().map(|&shape| called(shape).into()).collect();
    let shapes = words::list(&shapes);
    let one_mean = match drawn[..] {
        [_, varied] if varied != Member::Replay => " Both have one mean at each load imitated.",
        _ => "",
    };
    Some(Figure {
        id: "runtimes".into(),
        title: format!("Runtime of applications by load imitated, with {shapes} delays"),
        caption: format!(
            "After the paper's figures 11 and 12: runtime in proportion to that without injection, with \
             {shapes} delays, with 95 % intervals over runs ({} a point).{one_mean} Points of one \
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
    let fixed_mean = analysis.suites.application.fixed_mean.iter();
    let mut means: Vec<Level> = fixed_mean.map(|row| row.constant).collect();
    means.sort_unstable();
    means.dedup();
    let panels: Vec<(Level, Vec<&Runtime>)> = means
        .into_iter()
        .map(|constant| (constant, at_mean(analysis, constant)))
        .filter(|(_, rows)| !rows.is_empty())
        .collect();
    panels.first()?;
    let counted = panels.iter().flat_map(|(_, rows)| rows);
    Some(Figure {
        id: "fixed-mean".into(),
        title: "Change of runtime by standard deviation of the injected delays, at a fixed mean"
            .into(),
        caption: format!(
            "After the paper's figures 15 and 16: change of the runtime against no injection, by the \
             standard deviation of the delays, with 95 % intervals over runs ({} a point). In a \
             panel all delays have one mean. Points of one deviation are shifted sideways, so that they do not hide each other.",
            n_of(counted.map(|row| row.runs), "run")
        ),
        panels: panels
            .iter()
            .map(|(constant, rows)| fixed(analysis, *constant, rows))
            .collect(),
        columns: 2,
        panel_height: 300.0,
    })
}

fn fixed(analysis: &Analysis, constant: Level, rows: &[&Runtime]) -> Panel {
    let (right, all) = changes(analysis, rows, |(_, std)| std);
    let (low, high) = range(reach(marked(&all)));
    let mean = rows.iter().find_map(|row| Some(row.injected_ns?.0));
    let mean = words::time(mean.unwrap_or(f64::NAN));
    Panel {
        title: match constant.percent() {
            Some(percent) => {
                let load = analysis.suites.packet.load_called(percent);
                format!("mean of {load} ({mean})")
            }
            None => format!("mean of {mean}"),
        },
        x: with_room("Standard deviation of the delays, µs", 0.0, right),
        y: with_room("Change of time, %", low.min(0.0), high.max(0.0)),
        series: all,
    }
}

/// The change of each application's runtime by a moment of the delays in microseconds, and the greatest of these.
fn changes(
    analysis: &Analysis,
    rows: &[&Runtime],
    moment: fn((f64, f64)) -> f64,
) -> (f64, Vec<Series>) {
    let change = |ratio: f64| 100.0 * (ratio - 1.0);
    let of_application = |name: &str| {
        let rows = rows.iter().filter(|row| row.application == name);
        let mut points: Vec<Point> = rows
            .filter_map(|row| {
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
    let moments = rows.iter().filter_map(|row| row.injected_ns);
    let (_, right) = range(moments.map(|of| moment(of) / 1e3));
    (right, lines(analysis, SIDE_BY_SIDE * right, of_application))
}

/// The runtimes with injected delays of a known mean and standard deviation, beside those without.
fn slowed(analysis: &Analysis) -> impl Iterator<Item = &Runtime> {
    let rows = analysis.suites.application.runtimes.iter();
    rows.filter(|row| row.slowdown.is_some() && row.injected_ns.is_some())
}

/// Those with delays of one mean, which these constant ones have.
fn at_mean(analysis: &Analysis, constant: Level) -> Vec<&Runtime> {
    let has_it = |level: Level| {
        let mut varied = analysis.suites.application.fixed_mean.iter();
        level == constant || varied.any(|row| row.level == level && row.constant == constant)
    };
    slowed(analysis).filter(|row| has_it(row.level)).collect()
}

/// Those with delays that imitate a load, with that load and the shape.
fn injected(analysis: &Analysis) -> impl Iterator<Item = (u8, Member, &Runtime)> {
    let rows = analysis.suites.application.runtimes.iter();
    let slowed = rows.filter(|row| row.slowdown.is_some());
    slowed.filter_map(|row| match row.level {
        Level::Injected { percent, shape } => Some((percent, shape, row)),
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
