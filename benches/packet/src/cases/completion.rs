//! `completion`: latency by the way in which an end sees that a message has come (interconnect-microbenchmarks,
//! "Cost of checking for communication completion"): over verbs polling the memory that it is written to,
//! polling the completion queue, and sleeping until an event of that; over sockets polling and sleeping.
//!
//! The ways are measured in turn, several times, so that a machine which becomes slower or faster does so for
//! all of them.

use std::net::SocketAddr;

use jitterlab_base::show;
use jitterlab_base::units::{Bytes, Nanos};
use jitterlab_stats::summary::Summary;
use serde::{Deserialize, Serialize};

use super::Case;
use super::report::{self, Column, Report, Setting, size};
use super::rtt::{Length, Rtt, summary};
use crate::Error;
use crate::transport::{Link, Operation, Path, Verbs, Wait};

/// The number of turns of each way.
const TURNS: u64 = 5;

/// A way to see that a message has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// Polling the last byte of the memory that it is written to.
    PollMemory,
    /// Polling the completion queue.
    PollQueue,
    /// Sleeping until an event of the completion queue.
    SleepOnQueue,
    /// Asking the socket again and again.
    PollSocket,
    /// Sleeping in the call that receives.
    SleepOnSocket,
}

impl Way {
    /// The way in words.
    pub fn words(self) -> &'static str {
        match self {
            Way::PollMemory => "polling memory",
            Way::PollQueue => "polling the completion queue",
            Way::SleepOnQueue => "sleeping until an event of it",
            Way::PollSocket => "polling the socket",
            Way::SleepOnSocket => "sleeping on the socket",
        }
    }
}

/// Latency by one way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Size of a message in bytes.
    pub size: u64,
    /// The way, at both ends.
    pub way: Way,
    /// The way that messages were waited for in it.
    pub wait: Wait,
    /// The path of this end, where the transport knows it.
    #[serde(deserialize_with = "Option::deserialize")]
    pub path: Option<Path>,
    /// Over verbs: what carried the messages.
    #[serde(deserialize_with = "Option::deserialize")]
    pub operation: Option<Operation>,
    /// Messages without an answer.
    pub lost: u64,
    /// True if a turn ended before its time because there was no memory left for samples.
    pub memory_full: bool,
    /// Round trips, in nanoseconds.
    pub rtt_ns: Summary,
    /// Half the median round trip.
    pub one_way_median_ns: f64,
    /// The time that it takes beyond the first way's with messages of the same size.
    pub added_ns: f64,
}

/// The settings that hold for every way; the one that costs least in theory is the first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Common {
    /// The number of turns of each way.
    pub turns: u64,
}

impl report::Point for Point {
    type Common = Common;

    const COLUMNS: &'static [Column<Self>] = &[
        ("size", |point| size(point.size)),
        ("by", |point| point.way.words().into()),
        ("", |point| {
            point.operation.map_or(String::new(), |way| way.to_string())
        }),
        ("one-way", |point| show::time(point.one_way_median_ns)),
        ("added", |point| show::time(point.added_ns)),
        ("RTT 99.9 %", |point| show::time(point.rtt_ns.p999)),
        ("n", |point| show::count(point.rtt_ns.n as u64)),
    ];

    fn memory_full(&self) -> bool {
        self.memory_full
    }

    fn head(report: &Report<Self>) -> String {
        let path = report.points.iter().find_map(|point| point.path.as_ref());
        let device = path.map_or(String::new(), |path| format!(" ({})", path.device));
        let Common { turns } = report.common;
        format!("{device}, in {turns} turns")
    }
}

/// The ways over a link: with what carries messages, and how they are waited for.
fn ways(link: &Link) -> Vec<(Way, Link, Wait)> {
    if *link == Link::Shm {
        return vec![(Way::PollMemory, Link::Shm, Wait::Poll)];
    }
    let Link::Verbs(how, adapter) = link else {
        return vec![
            (Way::PollSocket, link.clone(), Wait::Poll),
            (Way::SleepOnSocket, link.clone(), Wait::Block),
        ];
    };
    let over = |operation| {
        let how = Verbs { operation, ..*how };
        Link::Verbs(how, adapter.clone())
    };
    match how.operation {
        Operation::Send => vec![
            (Way::PollQueue, over(Operation::Send), Wait::Poll),
            (Way::SleepOnQueue, over(Operation::Send), Wait::Block),
        ],
        Operation::Write | Operation::WriteImm => vec![
            (Way::PollMemory, over(Operation::Write), Wait::Poll),
            (Way::PollQueue, over(Operation::WriteImm), Wait::Poll),
            (Way::SleepOnQueue, over(Operation::WriteImm), Wait::Block),
        ],
    }
}

/// Measures each size in turn by every way that there is over the link of `options`, which says the rest but how to wait.
///
/// # Errors
/// As those of [`Rtt::run`].
pub fn by_way(options: &Rtt, sizes: &[Bytes], address: SocketAddr) -> Result<Report<Point>, Error> {
    let mut points = Vec::new();
    for &size in sizes {
        let options = Rtt {
            size,
            ..options.clone()
        };
        points.extend(at_size(&options, address)?);
    }
    Ok(Report {
        case: Case::Completion,
        // Each way has a path, and a way to wait, of its own.
        setting: Setting::now(&options.link, None, None),
        common: Common { turns: TURNS },
        points,
    })
}

/// Measures messages of one size by every way.
fn at_size(options: &Rtt, address: SocketAddr) -> Result<Vec<Point>, Error> {
    let ways = ways(&options.link);
    let mut measured = vec![Measured::default(); ways.len()];
    for _ in 0..TURNS {
        for ((_, link, wait), measured) in ways.iter().zip(&mut measured) {
            let turn = Rtt {
                link: link.clone(),
                wait: *wait,
                length: turn(options.length),
                ..options.clone()
            };
            let outcome = turn.run(address)?;
            measured.samples.extend(outcome.samples);
            measured.lost += outcome.lost;
            measured.memory_full |= outcome.memory_full;
            measured.path = outcome.path;
        }
    }
    let mut points: Vec<Point> = Vec::new();
    for ((way, link, wait), measured) in ways.into_iter().zip(measured) {
        let rtt_ns = summary(&measured.samples)?;
        let one_way_median_ns = rtt_ns.median / 2.0;
        let first = points
            .first()
            .map_or(one_way_median_ns, |p| p.one_way_median_ns);
        points.push(Point {
            size: options.size.0,
            way,
            wait,
            path: measured.path,
            operation: match link {
                Link::Verbs(how, _) => Some(how.operation),
                _ => None,
            },
            lost: measured.lost,
            memory_full: measured.memory_full,
            rtt_ns,
            one_way_median_ns,
            added_ns: one_way_median_ns - first,
        });
    }
    Ok(points)
}

/// The result of the turns of a way.
#[derive(Clone, Default)]
struct Measured {
    samples: Vec<u64>,
    lost: u64,
    memory_full: bool,
    path: Option<Path>,
}

/// A turn's part of a length.
fn turn(length: Length) -> Length {
    match length {
        Length::Messages(count) => Length::Messages(count.div_ceil(TURNS)),
        Length::Time(time) => Length::Time(Nanos(time.0.div_ceil(TURNS))),
    }
}
