//! Round trips without load (the paper's figure 4) and under background load (figures 2 and 3), and
//! the quantiles behind them.

use jitterlab_base::show;
use jitterlab_experiment::level::Level;

use super::{excess, links, n_of, range, reach, series};
use crate::analysis::Analysis;
use crate::analysis::condition::Link;
use crate::analysis::load::Load;
use crate::analysis::packet::latency::Latency;
use crate::analysis::pictures::RttPicture;
use crate::svg::{Axis, Figure, Mark, Panel, Point};
use crate::table::Estimate;

/// The load of a level without injection in percent: what was produced, and none is 0.
fn percent(level: Level, load: Option<&Load>) -> Option<f64> {
    match level {
        Level::None => Some(0.0),
        Level::Load { percent } => Some(load.map_or(percent.into(), |load| load.produced.value)),
        _ => None,
    }
}

/// The id of [`moments`].
pub const MOMENTS: &str = "load";

/// Mean and standard deviation of the RTT by load.
pub fn moments(analysis: &Analysis) -> Option<Figure> {
    let rows: Vec<&Latency> = analysis
        .suites
        .packet
        .latency
        .iter()
        .filter(|row| percent(row.level, row.load.as_ref()).is_some())
        .collect();
    rows.iter().find(|row| row.level != Level::None)?;
    Some(Figure {
        id: MOMENTS.into(),
        title: "Mean and standard deviation of the RTT by background load".into(),
        caption: format!(
            "After the paper's figures 2 and 3: mean (left) and standard deviation (right) of the RTT (in a closed loop) \
             by background load that was produced, with 95 % intervals over runs ({} and {} a point). No load stands at 0 %. Load \
             is a continuous quantity, so points are joined.",
            n_of(rows.iter().map(|row| row.runs), "run"),
            n_of(rows.iter().map(|row| row.n), "round trip"),
        ),
        panels: vec![
            moment(analysis, &rows, "Mean RTT, µs", |row| row.mean_ns),
            moment(
                analysis,
                &rows,
                "Standard deviation of the RTT, µs",
                |row| row.std_ns,
            ),
        ],
        columns: 2,
        panel_height: 300.0,
    })
}

fn moment(
    analysis: &Analysis,
    rows: &[&Latency],
    label: &str,
    figure: fn(&Latency) -> Estimate,
) -> Panel {
    let mut all = Vec::new();
    let mut places = Vec::new();
    for (i, link) in links(analysis).into_iter().enumerate() {
        // Without load stands where load 0 would; where that was measured too, they would hide
        // each other.
        let asks_zero = |row: &Latency| match &row.load {
            Some(load) => load.asked.contains(&0),
            None => row.level == Level::Load { percent: 0 },
        };
        let has_zero = rows.iter().any(|row| row.link == *link && asks_zero(row));
        let points: Vec<Point> = rows
            .iter()
            .filter(|row| row.link == *link && !(has_zero && row.level == Level::None))
            .filter_map(|row| {
                let estimate = figure(row).scaled(1e-3);
                Some(Point {
                    x: percent(row.level, row.load.as_ref())?,
                    y: estimate.value,
                    interval: estimate.interval(),
                })
            })
            .collect();
        places.extend(points.iter().map(|point| point.x));
        let line = points.iter().map(|point| (point.x, point.y)).collect();
        all.push(series(
            &link.to_string(),
            i,
            vec![Mark::Line(line), Mark::Points(points)],
        ));
    }
    let (low, high) = range(all.iter().flat_map(|series| &series.marks).flat_map(
        |mark| match mark {
            Mark::Points(points) => reach(points).collect::<Vec<_>>(),
            _ => Vec::new(),
        },
    ));
    Panel {
        title: String::new(),
        x: Axis::linear_around("Background load produced, % of bandwidth", &places),
        y: Axis::linear(label, low.min(0.0), high),
        series: all,
    }
}

/// Quantiles of the RTT at each level but those that imitate a load, a panel a link.
pub fn quantiles(analysis: &Analysis) -> Option<Figure> {
    let links = links(analysis);
    let most = links
        .iter()
        .map(|link| of_link(analysis, link).len())
        .max()?;
    let all = || links.iter().flat_map(|link| of_link(analysis, link));
    Some(Figure {
        id: "quantiles".into(),
        title: "Quantiles of the RTT by level".into(),
        caption: format!(
            "The RTT (in a closed loop) at each background load, and with delays that imitate none: the box holds the middle half of all round trips, \
             the stroke in it is the median, the whiskers reach from the 1st to the 99th \
             percentile ({} a box, all runs together). Logarithmic.",
            n_of(all().map(|picture| picture.n), "round trip")
        ),
        panels: links.iter().map(|link| boxes(analysis, link)).collect(),
        columns: links.len().min(2),
        panel_height: 100.0 + 30.0 * most as f64,
    })
}

/// The RTT without load, a panel a link.
pub fn unloaded(analysis: &Analysis) -> Option<Figure> {
    let pictures = analysis.suites.packet.rtt_pictures.iter();
    let pictures: Vec<&RttPicture> = pictures.filter(|p| p.level == Level::None).collect();
    let rows = || {
        analysis
            .suites
            .packet
            .latency
            .iter()
            .filter(|row| row.level == Level::None)
    };
    let beyond = pictures.iter().map(|picture| picture.histogram.beyond);
    let most_beyond = beyond.max_by(f64::total_cmp)?;
    let centres: Vec<String> = rows()
        .map(|row| {
            let (mean, median) = (row.mean_ns, row.median_ns);
            format!(
                "{}: mean {}, median {}, skewness {}",
                row.link,
                mean.in_time(),
                median.in_time(),
                crate::words::short(row.skew.unwrap_or(f64::NAN))
            )
        })
        .collect();
    Some(Figure {
        id: "unloaded".into(),
        title: "Distribution of the RTT without background load".into(),
        caption: format!(
            "After the paper's figure 4: how many round trips without load, in a closed loop, took how long ({}, of {} \
             a panel; at most {} lie to the right of a panel). {}; in brackets \
             the 95 % intervals over runs.",
            n_of(pictures.iter().map(|picture| picture.n), "round trip"),
            n_of(pictures.iter().map(|picture| picture.runs), "run"),
            show::percent(most_beyond),
            centres.join("; ")
        ),
        panels: pictures.iter().map(|picture| histogram(picture)).collect(),
        columns: pictures.len().min(2),
        panel_height: 270.0,
    })
}

fn histogram(picture: &RttPicture) -> Panel {
    let shown = &picture.histogram;
    let bars = excess::bars(shown);
    let (_, top) = range(bars.iter().map(|bar| bar.y));
    Panel {
        title: picture.link.to_string(),
        x: Axis::linear_between("RTT, µs", shown.start_ns() / 1e3, shown.end_ns() / 1e3),
        y: Axis::linear("Density, 1/µs", 0.0, top),
        series: vec![series("", 5, vec![Mark::Bars(bars)])],
    }
}

fn of_link<'a>(analysis: &'a Analysis, link: &Link) -> Vec<&'a RttPicture> {
    let pictures = analysis.suites.packet.rtt_pictures.iter();
    pictures
        .filter(|picture| picture.link == *link && !matches!(picture.level, Level::Injected { .. }))
        .collect()
}

fn boxes(analysis: &Analysis, link: &Link) -> Panel {
    let pictures = of_link(analysis, link);
    let us = |picture: &RttPicture| picture.box_ns.map(|ns| ns / 1e3);
    let (low, high) = range(pictures.iter().flat_map(|picture| us(picture)));
    // The first stands at the top.
    let names: Vec<String> = pictures
        .iter()
        .rev()
        .map(|picture| analysis.suites.packet.level_called(picture.level))
        .collect();
    let marks = pictures
        .iter()
        .rev()
        .enumerate()
        .map(|(i, picture)| Mark::Box {
            x: us(picture),
            y: i as f64,
            height: 0.56,
        })
        .collect();
    Panel {
        title: link.to_string(),
        x: Axis::log("RTT, µs", low, high),
        y: Axis::categories("", &names),
        series: vec![series("", 1, marks)],
    }
}
