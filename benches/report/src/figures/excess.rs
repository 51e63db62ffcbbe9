//! The excess RTT under load and what was fitted to it.

use jitterlab_base::show;
use jitterlab_experiment::level::Member;
use jitterlab_stats::distribution::Distribution;

use super::{called, n_of, series};
use crate::analysis::Analysis;
use crate::analysis::condition::Link;
use crate::analysis::packet::fits::Injected;
use crate::analysis::pictures::{ExcessPicture, Shares};
use crate::svg::{Axis, Bar, Figure, Mark, Panel, Series};

/// Points of a curve.
const POINTS: usize = 200;

/// A histogram with the fitted curves for each load.
pub fn histograms(analysis: &Analysis, link: &Link) -> Option<Figure> {
    let pictures: Vec<&ExcessPicture> = analysis
        .suites
        .packet
        .excess_pictures
        .iter()
        .filter(|picture| picture.link == *link)
        .collect();
    let beyond = pictures.iter().map(|picture| picture.histogram.beyond);
    let most_beyond = beyond.max_by(f64::total_cmp)?;
    Some(Figure {
        id: format!("fits-{}", link.id()),
        title: format!("Excess of the {link} under load, and the distributions fitted to it"),
        caption: format!(
            "The bars show how much longer round trips ({link}) took under each load than the median without load; what was \
             shorter counts as 0 ({} a panel, all runs together; at most {} lie to the right of a panel). The curves show \
             the distributions that are injected; “empirical” is the bars themselves. The upright line marks the mean, which \
             all of them have; every delay of “uniform” is this long.",
            n_of(pictures.iter().map(|picture| picture.n), "round trip"),
            show::percent(most_beyond)
        ),
        panels: pictures
            .iter()
            .map(|picture| histogram(analysis, picture))
            .collect(),
        columns: pictures.len().min(2),
        panel_height: 270.0,
    })
}

fn histogram(analysis: &Analysis, picture: &ExcessPicture) -> Panel {
    let shown = &picture.histogram;
    // The excesses that were held at 0 fill the first bin; the rest has to stay readable.
    let bars = bars(shown);
    let heights = || bars.iter().map(|bar| bar.y);
    let highest = heights().skip(1).fold(0.0, f64::max);
    let top = heights().fold(0.0, f64::max).min(2.5 * highest);
    let mut all = vec![series("measured", 5, vec![Mark::Bars(bars)])];
    let tables = analysis
        .suites
        .packet
        .tables
        .iter()
        .filter(|table| table.link == picture.link && table.percent == picture.percent);
    all.extend(tables.filter_map(|table| curve(table, shown.end_ns())));
    Panel {
        title: analysis.suites.packet.load_called(picture.percent),
        x: Axis::linear_between("Excess RTT, µs", 0.0, shown.end_ns() / 1e3),
        y: Axis::linear("Density, 1/µs", 0.0, top),
        series: all,
    }
}

/// The bars of a histogram: densities in 1/µs over microseconds.
pub fn bars(histogram: &Shares) -> Vec<Bar> {
    let edges = histogram.bins.edges().windows(2);
    edges
        .map(|edges| (edges[0] / 1e3, edges[1] / 1e3))
        .zip(&histogram.shares)
        .map(|(x, &share)| Bar {
            x,
            base: 0.0,
            y: share / (x.1 - x.0),
            interval: None,
            is_estimate: false,
        })
        .collect()
}

/// The curves that are drawn: all five would hide the histogram.
fn curve(table: &Injected, end_ns: f64) -> Option<Series> {
    let style = match table.shape {
        Member::Lognormal => 0,
        Member::Closest => 3,
        Member::Uniform => 2,
        Member::Scale25 => 1,
        Member::Scale50 | Member::Scale75 | Member::Empirical | Member::Replay => return None,
    };
    let mark = match table.distribution? {
        Distribution::Constant { value } => Mark::Upright(value / 1e3),
        distribution => Mark::Line(
            (0..=POINTS)
                .map(|i| end_ns * i as f64 / POINTS as f64)
                // A density in 1/ns, drawn in 1/µs.
                .map(|ns| (ns / 1e3, distribution.density(ns) * 1e3))
                .collect(),
        ),
    };
    Some(series(called(table.shape), style, vec![mark]))
}
