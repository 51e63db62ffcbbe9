//! Active messages: round trips by protocol, bytes a second by size, and the figures 3.10 and 3.11 of Kaur, the first over what
//! the schedule of the protocol makes of the costs (its figure 3.9).

use jitterlab_amvia_suite::Protocol;
use jitterlab_experiment::level::Level;
use jitterlab_experiment::record::Transport;

use super::{n_of, range, reach, series};
use crate::analysis::Analysis;
use crate::analysis::amvia::loggp::{Curve, Signature};
use crate::analysis::amvia::rates::Rate;
use crate::analysis::amvia::transactions::Transactions;
use crate::analysis::amvia::way::{OfWay, Way};
use crate::svg::{Axis, Figure, Mark, Panel, Point, Series};
use crate::table::Estimate;

/// Every figure that there is something to show in.
pub fn figures(analysis: &Analysis) -> Vec<Figure> {
    let found = &analysis.suites.amvia;
    let mut all: Vec<Figure> = Vec::new();
    all.extend(round_trips(analysis, &found.transactions));
    all.extend(bandwidth(analysis, &found.rates));
    let plain = found.signatures.iter();
    let plain: Vec<&Signature> = plain.filter(|it| it.way.level == Level::None).collect();
    for transport in transports(plain.iter().map(|it| &it.way)) {
        let here: Vec<&Signature> = plain
            .iter()
            .filter(|it| it.way.transport == transport)
            .copied()
            .collect();
        all.push(signature(transport, &here));
        all.push(per_byte(transport, &here));
    }
    all
}

pub(super) fn transports<'a>(ways: impl Iterator<Item = &'a Way>) -> Vec<Transport> {
    let known: Vec<Transport> = ways.map(|way| way.transport).collect();
    let all = Transport::ALL.into_iter();
    all.filter(|transport| known.contains(transport)).collect()
}

/// A panel for each transport, a line for each protocol; `figure` makes them of the rows of one transport.
fn by_transport<R: OfWay>(rows: &[R], figure: impl Fn(Transport, &[&R]) -> Panel) -> Vec<Panel> {
    let over = transports(rows.iter().map(OfWay::way)).into_iter();
    over.map(|transport| {
        let here = rows.iter().filter(|row| row.way().transport == transport);
        figure(transport, &here.collect::<Vec<_>>())
    })
    .collect()
}

fn lines<R>(
    rows: &[&R],
    of: impl Fn(&R) -> (Protocol, f64, Estimate),
    joined: bool,
) -> Vec<Series> {
    let line = |protocol: Protocol| -> Option<Series> {
        let points = rows.iter().map(|row| of(row));
        let points: Vec<Point> = points
            .filter(|(own, ..)| *own == protocol)
            .map(|(_, x, estimate)| point(x, estimate))
            .collect();
        let mut marks = Vec::new();
        if joined {
            marks.push(Mark::Line(points.iter().map(|it| (it.x, it.y)).collect()));
        }
        let is_any = !points.is_empty();
        marks.push(Mark::Points(points));
        is_any.then(|| series(protocol.name(), style(protocol), marks))
    };
    Protocol::ALL.into_iter().filter_map(line).collect()
}

pub(super) fn style(protocol: Protocol) -> usize {
    protocol as usize
}

pub(super) fn point(x: f64, estimate: Estimate) -> Point {
    Point {
        x,
        y: estimate.value,
        interval: estimate.positive().interval(),
    }
}

/// All places of points on the vertical axis, with their intervals.
pub(super) fn heights(series: &[Series]) -> (f64, f64) {
    let marks = series.iter().flat_map(|series| &series.marks);
    range(marks.flat_map(|mark| match mark {
        Mark::Points(points) => reach(points).collect::<Vec<_>>(),
        Mark::Line(line) => line.iter().map(|&(_, y)| y).collect(),
        _ => Vec::new(),
    }))
}

fn round_trips(analysis: &Analysis, rows: &[Transactions]) -> Option<Figure> {
    rows.first()?;
    let mut levels: Vec<Level> = rows.iter().map(|row| row.way.level).collect();
    levels.sort();
    levels.dedup();
    let place = |level: Level| levels.iter().position(|&known| known == level);
    let named: Vec<(f64, String)> = levels
        .iter()
        .enumerate()
        .map(|(i, &level)| (i as f64, analysis.suites.packet.level_called(level)))
        .collect();
    // Protocols stand side by side at a level.
    let beside = |protocol: Protocol| (protocol as usize as f64 - 1.5) * 0.12;
    let panels = by_transport(rows, |transport, here| {
        let series = lines(
            here,
            |row| {
                let at = place(row.way.level).unwrap_or(0) as f64;
                let median = row.median_ns.scaled(1e-3);
                (row.way.protocol, at + beside(row.way.protocol), median)
            },
            false,
        );
        let (_, high) = heights(&series);
        Panel {
            title: format!("Over {}", crate::words::transport(transport.name())),
            x: Axis::linear_at("", &named, 0.5),
            y: Axis::linear("Median round trip, µs", 0.0, high),
            series,
        }
    });
    Some(Figure {
        id: "amvia-rtt".into(),
        title: "Round trips of active messages by protocol".into(),
        caption: format!(
            "The median round trip of a transaction in each protocol and at each level, with 95 % intervals over runs ({} and {} a \
             point).",
            n_of(rows.iter().map(|row| row.runs), "run"),
            n_of(rows.iter().map(|row| row.n), "transaction"),
        ),
        columns: 1,
        panels,
        panel_height: 220.0,
    })
}

fn bandwidth(analysis: &Analysis, rows: &[Rate]) -> Option<Figure> {
    let plain: Vec<Rate> = rows
        .iter()
        .filter(|row| row.way.level == Level::None)
        .cloned()
        .collect();
    plain.first()?;
    let (first, last) = range(plain.iter().map(|row| row.size as f64));
    let panels = by_transport(&plain, |transport, here| {
        let of = |row: &Rate| (row.way.protocol, row.size as f64, row.bytes.scaled(1e-6));
        let series = lines(here, of, true);
        let (low, high) = heights(&series);
        Panel {
            title: format!("Over {}", crate::words::transport(transport.name())),
            x: Axis::sizes("Request", first / 1.5, last * 1.5),
            y: Axis::log("MB/s", low / 1.2, high * 1.2),
            series,
        }
    });
    Some(Figure {
        id: "amvia-bandwidth".into(),
        title: "Bandwidth of active messages by size".into(),
        caption: format!(
            "Bytes of requests a second by the size of a request, with as many transactions at once as the window holds, {}: means \
             with 95 % intervals over runs ({} a point). Both axes are logarithmic.",
            analysis.suites.packet.level_called(Level::None),
            n_of(plain.iter().map(|row| row.runs), "run"),
        ),
        columns: panels.len().min(2),
        panels,
        panel_height: 270.0,
    })
}

/// The cost of a message of a burst: measured as points, by the schedule as lines.
fn signature(transport: Transport, here: &[&Signature]) -> Figure {
    let over = crate::words::transport(transport.name());
    let panel = |signature: &&Signature| {
        let curve = |(i, curve): (usize, &Curve)| {
            let us =
                |(burst, cost, _): &(u64, Estimate, f64)| point(*burst as f64, cost.scaled(1e-3));
            let expected =
                |(burst, _, expected): &(u64, Estimate, f64)| (*burst as f64, expected / 1e3);
            let marks = vec![
                Mark::Line(curve.points.iter().map(expected).collect()),
                Mark::Points(curve.points.iter().map(us).collect()),
            ];
            let computing = curve.computing_ns as f64;
            series(&format!("Δ = {}", crate::words::time(computing)), i, marks)
        };
        let series: Vec<Series> = signature.curves.iter().enumerate().map(curve).collect();
        let (low, high) = heights(&series);
        let bursts = signature.curves.iter().flat_map(|curve| &curve.points);
        let (first, last) = range(bursts.map(|(burst, ..)| *burst as f64));
        Panel {
            title: signature.way.protocol.name().into(),
            x: Axis::log("Messages of a burst", first / 1.2, last * 1.2),
            y: Axis::log("A message, µs", low / 1.2, high * 1.2),
            series,
        }
    };
    Figure {
        id: format!("amvia-signature-{}", transport.name()),
        title: format!("The signature of active messages over {over}"),
        caption: format!(
            "After figures 3.9 and 3.10 of Kaur: what a message costs over {over} in a burst of so many, with so much computing (Δ) \
             after each; points are measured (medians with 95 % intervals over blocks), lines are what the schedule of the protocol \
             makes of o_s, o_r and L. A burst that the window holds shows o_s; a long one the interval, and with computing o_r."
        ),
        panels: here.iter().map(panel).collect(),
        columns: here.len().min(2),
        panel_height: 260.0,
    }
}

/// The cost of a message by its size.
fn per_byte(transport: Transport, here: &[&Signature]) -> Figure {
    let over = crate::words::transport(transport.name());
    let panel = |(title, part): (&str, usize)| {
        let of = |signature: &&Signature| {
            let points = signature.bulk.iter();
            let points: Vec<Point> = points
                .map(|(size, costs)| point(*size as f64 / 1024.0, costs[part].scaled(1e-3)))
                .collect();
            let line = points.iter().map(|it| (it.x, it.y)).collect();
            let protocol = signature.way.protocol;
            let marks = vec![Mark::Line(line), Mark::Points(points)];
            series(protocol.name(), style(protocol), marks)
        };
        let series: Vec<Series> = here.iter().map(of).collect();
        let (_, high) = heights(&series);
        let sizes = here.iter().flat_map(|it| &it.bulk);
        let (_, last) = range(sizes.map(|(size, _)| *size as f64 / 1024.0));
        Panel {
            title: title.into(),
            x: Axis::linear("Request, KiB", 0.0, last),
            y: Axis::linear("A message, µs", 0.0, high),
            series,
        }
    };
    let parts = [("To send", 0), ("From one to the next", 1)];
    Figure {
        id: format!("amvia-bytes-{}", transport.name()),
        title: format!("What bytes cost over {over}"),
        caption: format!(
            "After figure 3.11 of Kaur: what a message costs over {over} by its size, medians with 95 % intervals over blocks. Left: \
             the call that sends. Right: from one message to the next in a long burst, whose slope is G."
        ),
        panels: parts.into_iter().map(panel).collect(),
        columns: 2,
        panel_height: 260.0,
    }
}
