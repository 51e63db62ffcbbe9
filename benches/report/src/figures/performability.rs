//! The costs of failures for active messages, after figures 4.9 to 4.14 of Kaur.

use std::ops::Range;

use jitterlab_amvia_suite::Protocol;
use jitterlab_amvia_suite::performability::Component;
use jitterlab_experiment::level::Level;
use jitterlab_experiment::record::Transport;

use super::amvia::{heights, point, style, transports};
use super::{SIDE_BY_SIDE, range, series};
use crate::analysis::Analysis;
use crate::analysis::amvia::performability::{Excess, Stage, Throughput};
use crate::analysis::amvia::way::OfWay;
use crate::svg::{Axis, Bar, Figure, Mark, Panel, Point, Series};
use crate::table::Estimate;
use crate::words;

/// Every figure that there is something to show in.
pub fn figures(analysis: &Analysis) -> Vec<Figure> {
    let found = &analysis.suites.amvia;
    let mut all: Vec<Figure> = Vec::new();
    let stages = plain(&found.stages);
    let excess = plain(&found.excess);
    let throughput = plain(&found.throughput);
    all.extend(of_stages(&stages));
    for transport in transports(excess.iter().map(|row| row.way())) {
        let (bits, components): (Vec<&Excess>, Vec<&Excess>) =
            over(&excess, transport).partition(|row| row.failing == BITS);
        all.extend(times(transport, &bits, "bits", by_bits));
        all.extend(times(transport, &components, "components", by_component));
    }
    for transport in transports(throughput.iter().map(|row| row.way())) {
        let here: Vec<&Throughput> = over(&throughput, transport).collect();
        all.extend(by_outstanding(transport, &here));
        all.extend(by_failures(transport, &here));
    }
    all
}

/// The names of flipped bits, and of no failures, in the rows.
const BITS: &str = "bits";
const NOTHING: &str = "nothing";

/// The rows without load and delays.
fn plain<R: OfWay>(rows: &[R]) -> Vec<&R> {
    let plain = rows.iter().filter(|row| row.way().level == Level::None);
    plain.collect()
}

fn over<'a, R: OfWay>(rows: &[&'a R], transport: Transport) -> impl Iterator<Item = &'a R> {
    let here = rows
        .iter()
        .filter(move |row| row.way().transport == transport);
    here.copied().collect::<Vec<_>>().into_iter()
}

/// The protocols of some rows, in their order.
fn protocols<R: OfWay>(rows: &[&R]) -> Vec<Protocol> {
    let all = Protocol::ALL.into_iter();
    all.filter(|protocol| rows.iter().any(|row| row.way().protocol == *protocol))
        .collect()
}

/// Mean times in microseconds by the chance of a failure: a panel for each protocol, with the series that `of` makes of its rows.
fn times(
    transport: Transport,
    rows: &[&Excess],
    of_what: &str,
    of: fn(&[&Excess]) -> Vec<Series>,
) -> Option<Figure> {
    rows.first()?;
    let ends = axis(rows);
    let panel = |protocol: Protocol| {
        let here: Vec<&Excess> = rows
            .iter()
            .filter(|row| row.way.protocol == protocol)
            .copied()
            .collect();
        let series = of(&here);
        let (low, high) = heights(&series);
        let label = match of_what {
            BITS => "Chance that a bit is flipped",
            _ => "Chance that the component fails for a message",
        };
        Panel {
            title: protocol.name().into(),
            x: Axis::log(label, ends.start, ends.end),
            y: Axis::log("Mean time, µs", low / 1.2, high * 1.2),
            series,
        }
    };
    let panels: Vec<Panel> = protocols(rows).into_iter().map(panel).collect();
    let over = words::transport(transport.name());
    let (title, caption) = match of_what {
        BITS => (
            format!("What bit errors cost a transaction over {over}"),
            format!(
                "After figure 4.14 of Kaur: the mean time of a transaction over {over} by bit error rate: by the model, in the \
                 simulation (99 % interval) and in the experiment (95 % interval; none where fewer than 1,000 losses were counted). \
                 Points of one rate are shifted sideways, so that they do not hide each other. Both axes are logarithmic."
            ),
        ),
        _ => (
            format!("What failures of components cost a transaction over {over}"),
            format!(
                "After figures 4.10 to 4.13 of Kaur: the mean time of a transaction over {over} by the chance that a component \
                 fails for a message that passes: by the model as lines, in the simulation as points (99 % interval), and in the \
                 experiment as points of one colour for all components (95 % interval; none where fewer than 1,000 losses were counted). \
                 Library, kernel and NIC are passed twice by a frame, wire and switch once. The experiment loses the frame between the \
                 protocol and its transport, whatever component is said to fail; its points are shifted sideways. Both axes are logarithmic."
            ),
        ),
    };
    Some(Figure {
        id: format!("amvia-{of_what}-{}", transport.name()),
        title,
        caption,
        columns: panels.len().min(2),
        panels,
        panel_height: 260.0,
    })
}

/// The time of a row with such an excess, in microseconds.
fn place(row: &Excess, excess: Estimate) -> Point {
    point(row.chance, row.in_all(excess).scaled(1e-3))
}

fn by_model(rows: &[&Excess]) -> Mark {
    let line = rows.iter().map(|row| {
        let model = place(row, Estimate::alone(row.model_ns));
        (model.x, model.y)
    });
    Mark::Line(line.collect())
}

fn by_simulation(rows: &[&Excess]) -> Vec<Point> {
    let points = rows.iter().map(|row| place(row, row.simulation_ns));
    points.collect()
}

/// Points of what the experiment could measure.
fn by_experiment(rows: &[&Excess]) -> Vec<Point> {
    let measured = rows.iter();
    measured
        .filter_map(|row| Some(place(row, row.experiment_ns?)))
        .collect()
}

/// The points, so many steps to the right.
fn aside(rows: &[&Excess], points: Vec<Point>, steps: f64) -> Mark {
    let axis = axis(rows);
    let step = (axis.end / axis.start).powf(SIDE_BY_SIDE * steps);
    let shifted = |point: Point| Point {
        x: point.x * step,
        ..point
    };
    Mark::Points(points.into_iter().map(shifted).collect())
}

/// The ends of the axis of chances.
fn axis(rows: &[&Excess]) -> Range<f64> {
    let (first, last) = range(rows.iter().map(|row| row.chance));
    first / 1.5..last * 1.5
}

fn by_bits(rows: &[&Excess]) -> Vec<Series> {
    vec![
        series("model", 0, vec![by_model(rows)]),
        series(
            "simulation",
            2,
            vec![aside(rows, by_simulation(rows), -1.0)],
        ),
        series("experiment", 1, vec![aside(rows, by_experiment(rows), 1.0)]),
    ]
}

fn by_component(rows: &[&Excess]) -> Vec<Series> {
    let of = |(i, component): (usize, Component)| -> Option<Series> {
        let own: Vec<&Excess> = rows
            .iter()
            .filter(|row| row.failing == component.name())
            .copied()
            .collect();
        let marks = vec![by_model(&own), Mark::Points(by_simulation(&own))];
        (!own.is_empty()).then(|| series(component.name(), i, marks))
    };
    let all = Component::ALL.into_iter().enumerate();
    let mut all: Vec<Series> = all.filter_map(of).collect();
    // One series for all components: each of its points lies on the line of its own.
    let measured = by_experiment(rows);
    if !measured.is_empty() {
        let marks = vec![aside(rows, measured, 1.0)];
        all.push(series("experiment", Component::ALL.len(), marks));
    }
    all
}

/// The mean value analysis of some rows as a line, and their simulation as points, in thousands a second, by a figure of each row.
fn analysis_and_simulation(rows: &[&Throughput], by: fn(&Throughput) -> f64) -> Vec<Mark> {
    let analysis = rows.iter().map(|row| (by(row), row.analysis / 1e3));
    let simulation = rows.iter().map(|row| {
        let simulated = Estimate::alone(row.simulation / 1e3);
        point(by(row), simulated)
    });
    vec![
        Mark::Line(analysis.collect()),
        Mark::Points(simulation.collect()),
    ]
}

/// Transactions a second by transactions at a time: a panel for each bit error rate for which there are several.
fn by_outstanding(transport: Transport, rows: &[&Throughput]) -> Option<Figure> {
    let (first, last) = range(rows.iter().map(|row| f64::from(row.outstanding)));
    let mut errors: Vec<f64> = rows
        .iter()
        .filter(|row| matches!(row.failing, NOTHING | BITS) && row.outstanding == 1)
        .map(|row| row.chance)
        .collect();
    errors.sort_unstable_by(f64::total_cmp);
    errors.dedup();
    errors.first()?;
    let panel = |&rate: &f64| {
        let line = |protocol: Protocol| {
            let own: Vec<&Throughput> = rows
                .iter()
                .filter(|row| row.way.protocol == protocol && row.chance == rate)
                .filter(|row| matches!(row.failing, NOTHING | BITS))
                .copied()
                .collect();
            let marks = analysis_and_simulation(&own, |row| row.outstanding.into());
            series(protocol.name(), style(protocol), marks)
        };
        let series: Vec<Series> = protocols(rows).into_iter().map(line).collect();
        let (_, high) = heights(&series);
        let title = match rate {
            0.0 => "Without failures".into(),
            _ => format!("{rate:e} errors a bit"),
        };
        Panel {
            title,
            x: Axis::log("Transactions at a time", first / 1.2, last * 1.2),
            y: Axis::linear("Thousands a second", 0.0, high),
            series,
        }
    };
    let over = words::transport(transport.name());
    Some(Figure {
        id: format!("amvia-throughput-{}", transport.name()),
        title: format!("Throughput of active messages over {over}, several transactions at a time"),
        caption: format!(
            "Transactions a second over {over} by the number of transactions at a time, without failures and with flipped bits: by mean \
             value analysis as lines, in the simulation as points. The horizontal axis is logarithmic."
        ),
        panels: errors.iter().map(panel).collect(),
        columns: 2,
        panel_height: 260.0,
    })
}

/// Transactions a second by the chance that a component fails: a panel for each protocol.
fn by_failures(transport: Transport, rows: &[&Throughput]) -> Option<Figure> {
    let failing: Vec<&Throughput> = rows
        .iter()
        .filter(|row| !matches!(row.failing, NOTHING | BITS))
        .copied()
        .collect();
    let outstanding = failing.first()?.outstanding;
    let (first, last) = range(failing.iter().map(|row| row.chance));
    let panel = |protocol: Protocol| {
        let of = |(i, component): (usize, Component)| -> Option<Series> {
            let own: Vec<&Throughput> = failing
                .iter()
                .filter(|row| row.way.protocol == protocol && row.failing == component.name())
                .copied()
                .collect();
            let marks = analysis_and_simulation(&own, |row| row.chance);
            (!own.is_empty()).then(|| series(component.name(), i, marks))
        };
        let series: Vec<Series> = Component::ALL
            .into_iter()
            .enumerate()
            .filter_map(of)
            .collect();
        let (low, high) = heights(&series);
        let label = "Chance that the component fails for a message";
        Panel {
            title: protocol.name().into(),
            x: Axis::log(label, first / 1.5, last * 1.5),
            y: Axis::log("Thousands a second", low / 1.2, high * 1.2),
            series,
        }
    };
    let panels: Vec<Panel> = protocols(&failing).into_iter().map(panel).collect();
    let over = words::transport(transport.name());
    Some(Figure {
        id: format!("amvia-throughput-components-{}", transport.name()),
        title: format!("Throughput of active messages over {over} where components fail"),
        caption: format!(
            "After figures 4.12 and 4.13 of Kaur: transactions a second over {over}, {outstanding} at a time, by the chance that a \
             component fails for a message that passes: by mean value analysis as lines, in the simulation as points. Both axes are \
             logarithmic."
        ),
        columns: panels.len().min(2),
        panels,
        panel_height: 260.0,
    })
}

/// The cost of a frame at each stage.
fn of_stages(rows: &[&Stage]) -> Option<Figure> {
    rows.first()?;
    let places: Vec<(f64, String)> = Component::ALL
        .iter()
        .enumerate()
        .map(|(i, component)| (i as f64, component.name().into()))
        .collect();
    let panel = |transport: Transport| {
        // Stages are those of the transport, whatever the protocol: the first stands for all.
        let here: Vec<&Stage> = over(rows, transport).collect();
        let own: Vec<&Stage> = here
            .iter()
            .filter(|row| row.way == here[0].way)
            .copied()
            .collect();
        let bars = |name: &str, i: usize, of: fn(&Stage) -> Estimate| {
            let each = own.iter().enumerate().map(|(place, row)| {
                let cost = of(row).scaled(1e-3);
                let left = place as f64 - 0.36 + 0.36 * i as f64;
                Bar {
                    x: (left, left + 0.36),
                    base: 0.0,
                    y: cost.value,
                    interval: cost.positive().interval(),
                    is_estimate: true,
                }
            });
            series(name, i + 1, vec![Mark::Bars(each.collect())])
        };
        let costs = own.iter().flat_map(|row| [row.send_ns, row.receive_ns]);
        let (_, high) = range(costs.map(|cost| cost.high.unwrap_or(cost.value) / 1e3));
        Panel {
            title: format!("Over {}", words::transport(transport.name())),
            x: Axis::linear_at("", &places, 1.0),
            y: Axis::linear("A frame, µs", 0.0, high),
            series: vec![
                bars("sent", 0, |row| row.send_ns),
                bars("received", 1, |row| row.receive_ns),
            ],
        }
    };
    let over = transports(rows.iter().map(|row| row.way()));
    Some(Figure {
        id: "amvia-stages".into(),
        title: "What a frame costs at each stage".into(),
        caption: "After figures 4.8 and 4.9 of Kaur: what a frame costs at each stage of its way, where it is sent and where it is \
                  received; the table says how each was found."
            .into(),
        panels: over.into_iter().map(panel).collect(),
        columns: 1,
        panel_height: 220.0,
    })
}
