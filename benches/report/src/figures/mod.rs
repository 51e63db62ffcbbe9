//! The figures of the report, each made from the analysis; a module a kind of figure.

mod amvia;
mod applications;
mod emulation;
mod excess;
mod library;
mod load;
mod packet;
mod performability;
mod ranks;
mod runtimes;

use jitterlab_base::show;
use jitterlab_experiment::level::{Level, Member};
use jitterlab_experiment::record::Transport;

use crate::analysis::Analysis;
use crate::analysis::condition::Link;
use crate::svg::{Figure, Mark, Point, Series, Style};

/// The figures of all links or applications.
const OF_ALL: [&str; 8] = [
    "answer",
    "unloaded",
    "load",
    "quantiles",
    "runtimes",
    "fixed-mean",
    "slowdowns",
    "correlations",
];
/// The figures of one link, whose id follows.
const OF_LINK: [&str; 3] = ["fits-", "emulation-", "shapes-"];
/// The figures of one case of a suite, whose name follows.
const OF_CASE: [&str; 4] = ["library-", "ranks-", "packet-", "amvia-"];

/// True if a file has the name of a figure that a report can have.
pub fn is_name(file: &str) -> bool {
    file.strip_suffix(".svg").is_some_and(|id| {
        let over = |transport: &Transport| id.ends_with(&format!("-{}", transport.name()));
        OF_ALL.contains(&id)
            || OF_CASE.iter().any(|kind| id.starts_with(kind))
            || OF_LINK.iter().any(|kind| id.starts_with(kind)) && Transport::ALL.iter().any(over)
    })
}

/// Every figure that there is something to show in, by the part of the report that it belongs to.
pub struct Figures {
    /// The first screen.
    pub answer: Vec<Figure>,
    /// Latency under load.
    pub latency: Vec<Figure>,
    /// Cases of the packet suite.
    pub packet: Vec<Figure>,
    /// Active messages.
    pub amvia: Vec<Figure>,
    /// Operations of MPI.
    pub library: Vec<Figure>,
    /// Fits.
    pub fits: Vec<Figure>,
    /// Injected against background.
    pub emulation: Vec<Figure>,
    /// Applications.
    pub applications: Vec<Figure>,
    /// Correlations.
    pub correlations: Vec<Figure>,
}

impl Figures {
    /// Draws them.
    pub fn of(analysis: &Analysis) -> Self {
        let latency = [
            load::unloaded(analysis),
            load::moments(analysis),
            load::quantiles(analysis),
        ];
        let applications = [
            runtimes::by_load(analysis),
            runtimes::by_std(analysis),
            applications::slowdowns(analysis),
        ];
        let cases = library::cases(analysis);
        let mut fits: Vec<Figure> = Vec::new();
        let mut emulated: Vec<Figure> = Vec::new();
        for link in links(analysis) {
            fits.extend(excess::histograms(analysis, link));
            emulated.extend(emulation::distributions(analysis, link));
            emulated.extend(emulation::centres(analysis, link));
        }
        let mut latency: Vec<Figure> = latency.into_iter().flatten().collect();
        let mut packet = packet::cases(analysis);
        let mut amvia = [amvia::figures(analysis), performability::figures(analysis)].concat();
        let mut library: Vec<Figure> = cases
            .into_iter()
            .flat_map(|case| [library::centres(analysis, case), ranks::map(analysis, case)])
            .flatten()
            .collect();
        let mut answer: Vec<Figure> = runtimes::answer(analysis).into_iter().collect();
        if answer.is_empty() {
            // The figure that is nearest to programs stands on the first screen, and not again below.
            let kinds = [&mut library, &mut latency, &mut packet, &mut amvia];
            let nearest = kinds.into_iter().find(|kind| !kind.is_empty());
            answer.extend(nearest.map(|kind| {
                let main = kind.iter().position(|figure| figure.id == load::MOMENTS);
                kind.remove(main.unwrap_or(0))
            }));
        }
        Figures {
            answer,
            latency,
            packet,
            amvia,
            library,
            fits,
            emulation: emulated,
            applications: applications.into_iter().flatten().collect(),
            correlations: applications::scatters(analysis).into_iter().collect(),
        }
    }

    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = &Figure> {
        [
            &self.answer,
            &self.latency,
            &self.packet,
            &self.amvia,
            &self.library,
            &self.fits,
            &self.emulation,
            &self.applications,
            &self.correlations,
        ]
        .into_iter()
        .flatten()
    }
}

/// The links that were measured, in the order of the tables.
fn links(analysis: &Analysis) -> Vec<&Link> {
    let mut links: Vec<&Link> = Vec::new();
    for row in &analysis.suites.packet.latency {
        if !links.contains(&&row.link) {
            links.push(&row.link);
        }
    }
    links
}

/// The name of delays of a shape in figures.
fn called(shape: Member) -> &'static str {
    match shape {
        Member::Uniform => "constant (uniform)",
        varied => varied.name(),
    }
}

/// An exception to delays of one mean, where a replay is among these levels.
fn but_the_replay(mut levels: impl Iterator<Item = Level>) -> &'static str {
    let is_replay = |level: Level| {
        matches!(
            level,
            Level::Injected {
                shape: Member::Replay,
                ..
            }
        )
    };
    match levels.any(is_replay) {
        true => ", but for the replay",
        false => "",
    }
}

/// A series of marks.
fn series(name: &str, style: usize, marks: Vec<Mark>) -> Series {
    Series {
        name: name.into(),
        style: Style(style),
        marks,
    }
}

/// The distance between points that belong to one place, as a part of the axis.
const SIDE_BY_SIDE: f64 = 0.012;

/// Least and greatest of some numbers; infinite the wrong way round if there are none.
fn range(values: impl IntoIterator<Item = f64>) -> (f64, f64) {
    values
        .into_iter()
        .filter(|value| value.is_finite())
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        })
}

/// The places that points reach on the vertical axis, their intervals included.
fn reach<'a>(points: impl IntoIterator<Item = &'a Point>) -> impl Iterator<Item = f64> {
    points.into_iter().flat_map(|point| {
        let (low, high) = point.interval.unwrap_or((point.y, point.y));
        [low, point.y, high]
    })
}

/// `n = 5 runs`, or `n = 5 to 7 runs`.
fn n_of(counts: impl IntoIterator<Item = usize>, noun: &str) -> String {
    let (low, high) = range(counts.into_iter().map(|n| n as f64));
    let counted = show::counted(high as usize, noun);
    if low == high {
        format!("n = {counted}")
    } else {
        format!("n = {} to {counted}", show::count(low as u64))
    }
}
