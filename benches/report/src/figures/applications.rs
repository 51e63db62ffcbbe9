//! Runtimes of applications: against mean and standard deviation of the injected delays (the
//! paper's figures 13 and 14), and by shape at a fixed mean (figures 15 and 16).

use jitterlab_base::show;
use jitterlab_experiment::level::{Level, Member};
use jitterlab_stats::correlation::Pearson;
use jitterlab_stats::{correlation, summary};

use super::emulation::imitated;
use super::{but_the_replay, called, n_of, range, series};
use crate::analysis::Analysis;
use crate::analysis::application::groups::Group;
use crate::analysis::application::runtimes::Runtime;
use crate::svg::{Axis, Bar, Figure, Mark, Panel, Series};
use crate::words;

/// The order of the shapes in figures, and their look.
fn shapes() -> impl Iterator<Item = (usize, Member)> {
    Member::ALL.into_iter().enumerate()
}

/// Runtime against mean and standard deviation of the delays, a row an application that was asked
/// which of the two it goes with.
pub fn scatters(analysis: &Analysis) -> Option<Figure> {
    let mut panels = Vec::new();
    let mut counts = Vec::new();
    for row in &analysis.suites.application.correlations {
        let name = &row.application;
        let groups: Vec<&Group> = analysis
            .suites
            .application
            .groups
            .iter()
            .filter(|group| group.application == *name && group.injected.is_some())
            .collect();
        counts.push(groups.iter().map(|group| group.runtimes.runs()).sum());
        panels.push(scatter(
            &format!("{name}: {}", r(row.mean)),
            &groups,
            "Mean injected delay, µs",
            |(mean, _)| mean,
        ));
        panels.push(scatter(
            &format!("{name}: {}", r(row.std)),
            &groups,
            "Standard deviation of the injected delay, µs",
            |(_, std)| std,
        ));
    }
    panels.first()?;
    Some(Figure {
        id: "correlations".into(),
        title: "Runtime against mean and standard deviation of the injected delays".into(),
        caption: format!(
            "After the paper's figures 13 and 14: runtime of each run against the mean (left) and the standard deviation (right) of the \
             delays injected ({} an application), with the line of least squares and r with its 95 % interval. If \
             variation decided, the right points would lie on their line, and the left ones would \
             be spread by shape.",
            n_of(counts, "run")
        ),
        panels,
        columns: 2,
        panel_height: 300.0,
    })
}

/// `r = 0.89 (0.81 to 0.94)`.
fn r(of: Pearson) -> String {
    let r = [of.r.estimate, of.r.low, of.r.high].map(words::coefficient);
    format!("r = {}", show::with_interval(r))
}

fn scatter(title: &str, groups: &[&Group], label: &str, delay: fn((f64, f64)) -> f64) -> Panel {
    let longest = groups.iter().flat_map(|group| group.runtimes.figures());
    let (factor, unit) = words::unit(longest.copied().fold(0.0, f64::max));
    let timed = groups.first().map_or("time", |group| group.timed.name());
    let points = |group: &Group| -> Vec<(f64, f64)> {
        let Some(injected) = group.injected else {
            return Vec::new();
        };
        let x = delay(injected) / 1e3;
        let runtimes = group.runtimes.figures().iter();
        runtimes.map(|&seconds| (x, factor * seconds)).collect()
    };
    let all: Vec<(f64, f64)> = groups.iter().flat_map(|group| points(group)).collect();
    let (left, right) = range(all.iter().map(|point| point.0));
    let (low, high) = range(all.iter().map(|point| point.1));
    let dots = |name: &str, i: usize, is_of: &dyn Fn(Level) -> bool| {
        let of_shape = groups.iter().filter(|group| is_of(group.level));
        let points: Vec<(f64, f64)> = of_shape.flat_map(|group| points(group)).collect();
        (!points.is_empty()).then(|| series(name, i, vec![Mark::Dots(points)]))
    };
    let mut series_of_panel: Vec<Series> = shapes()
        .filter_map(|(i, shape)| {
            let imitates =
                |level| matches!(level, Level::Injected { shape: of, .. } if of == shape);
            dots(called(shape), i, &imitates)
        })
        .collect();
    // Delays that imitate no load.
    let is_made = |level| !matches!(level, Level::Injected { .. });
    for (i, (name, is_constant)) in [("constant", true), ("varied", false)]
        .into_iter()
        .enumerate()
    {
        let is_of = |level: Level| is_made(level) && level.is_constant() == is_constant;
        series_of_panel.extend(dots(name, i, &is_of));
    }
    if let Some(line) = least_squares(&all, left, right) {
        series_of_panel.push(series("least squares", 0, vec![Mark::Line(line)]));
    }
    Panel {
        title: title.into(),
        x: Axis::linear(label, left.min(0.0), right),
        y: Axis::linear(&format!("{}, {unit}", capitalised(timed)), low, high),
        series: series_of_panel,
    }
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters).collect()
}

/// The line of least squares from `left` to `right`: its slope is r s_y / s_x.
fn least_squares(points: &[(f64, f64)], left: f64, right: f64) -> Option<Vec<(f64, f64)>> {
    let (x, y): (Vec<f64>, Vec<f64>) = points.iter().copied().unzip();
    let r = correlation::pearson(&x, &y, 0.95).ok()?.r.estimate;
    let slope = r * summary::std(&y).ok()? / summary::std(&x).ok()?;
    let (mean_x, mean_y) = (summary::mean(&x).ok()?, summary::mean(&y).ok()?);
    let at = |x: f64| (x, mean_y + slope * (x - mean_x));
    Some(vec![at(left), at(right)])
}

/// Slowdown against no injection by shape, at each mean; a panel an application.
pub fn slowdowns(analysis: &Analysis) -> Option<Figure> {
    let rows: Vec<&Runtime> = analysis
        .suites
        .application
        .runtimes
        .iter()
        .filter(|row| row.slowdown.is_some() && matches!(row.level, Level::Injected { .. }))
        .collect();
    let mut applications: Vec<&str> = rows.iter().map(|row| row.application.as_str()).collect();
    applications.dedup();
    applications.first()?;
    Some(Figure {
        id: "slowdowns".into(),
        title: "Slowdown of applications by shape of the injected delays, at a fixed mean".into(),
        caption: format!(
            "Change of the runtime against no injection, with 95 % intervals over runs ({} a \
             bar). Bars that stand together have delays of one mean{}; from left to right these vary \
             more.",
            n_of(rows.iter().map(|row| row.runs), "run"),
            but_the_replay(rows.iter().map(|row| row.level))
        ),
        panels: applications
            .iter()
            .map(|name| {
                let rows: Vec<&Runtime> = rows
                    .iter()
                    .filter(|row| row.application == **name)
                    .copied()
                    .collect();
                bars(analysis, name, &rows)
            })
            .collect(),
        columns: 1,
        panel_height: 290.0,
    })
}

/// The part of a category that its bars fill.
const GROUP: f64 = 0.8;

fn bars(analysis: &Analysis, title: &str, rows: &[&Runtime]) -> Panel {
    let percent = |row: &Runtime| match row.level {
        Level::Injected { percent, .. } => percent,
        _ => 0,
    };
    let mut percents: Vec<u8> = rows.iter().map(|row| percent(row)).collect();
    percents.sort_unstable();
    percents.dedup();
    let names: Vec<String> = percents
        .iter()
        .map(|&of| {
            let mean = rows
                .iter()
                .find(|row| percent(row) == of)
                .and_then(|row| row.injected_ns);
            let load = imitated(analysis, of);
            match mean {
                Some((mean, _)) => format!("{load} %, {}", words::time(mean)),
                None => format!("{load} %"),
            }
        })
        .collect();
    let change = |ratio: f64| 100.0 * (ratio - 1.0);
    let is_there = |of: Member| {
        let mut levels = rows.iter().map(|row| row.level);
        levels.any(|level| matches!(level, Level::Injected { shape, .. } if shape == of))
    };
    let there: Vec<(usize, Member)> = shapes().filter(|&(_, shape)| is_there(shape)).collect();
    let count = there.len() as f64;
    let width = GROUP / count;
    let all: Vec<Series> = there
        .into_iter()
        .enumerate()
        .map(|(place, (i, shape))| {
            let left = (place as f64 - count / 2.0) * width;
            let bars = rows.iter().filter_map(|row| {
                let matching =
                    matches!(row.level, Level::Injected { shape: of, .. } if of == shape);
                let ratio = row.slowdown.filter(|_| matching)?.ratio;
                let place = percents.iter().position(|&of| of == percent(row))? as f64;
                Some(Bar {
                    x: (place + left + 0.01, place + left + width - 0.01),
                    base: 0.0,
                    y: change(ratio.value),
                    interval: ratio.interval().map(|(a, b)| (change(a), change(b))),
                    is_estimate: true,
                })
            });
            series(called(shape), i, vec![Mark::Bars(bars.collect())])
        })
        .collect();
    let (low, high) = range(
        rows.iter()
            .filter_map(|row| row.slowdown)
            .flat_map(|slowdown| {
                let (low, high) = slowdown
                    .ratio
                    .interval()
                    .unwrap_or((slowdown.ratio.value, slowdown.ratio.value));
                [change(low), change(high), change(slowdown.ratio.value)]
            }),
    );
    Panel {
        title: title.into(),
        x: Axis::categories("Load imitated, produced (asked), and mean delay", &names),
        y: Axis::linear("Change of runtime, %", low.min(0.0), high.max(0.0)),
        series: all,
    }
}
