//! The picture of what is watched: the distribution that runs, its history, and the one that is pinned.

use jitterlab_base::show::printable;
use jitterlab_stats::bootstrap::Interval;
use jitterlab_stats::confidence_sequence::{self, LEAST, Sequence};
use jitterlab_stats::histogram::{Histogram, buckets};

use super::history::{Done, History};
use super::watch::Heard;
use crate::ui::parts::ladder::Ladder;
use crate::ui::parts::sweep::KEPT;

/// A block has so many samples, and takes at least a second.
const BLOCK_SAMPLES: u64 = 32;
/// The confidence with which the intervals of all looks hold together.
const CONFIDENCE: f64 = 0.95;

/// A distribution.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Distribution {
    /// The run or program, and what it measures.
    pub name: String,
    /// All samples, in nanoseconds.
    pub samples: Histogram,
    /// The highest.
    pub max: u64,
    /// The medians of its blocks, in nanoseconds.
    pub medians: Sequence,
}

impl Distribution {
    /// The share of its samples that are longer than a time in nanoseconds.
    pub fn beyond(&self, ns: f64) -> f64 {
        let longer = self
            .samples
            .buckets()
            .filter(|(lowest, ..)| *lowest as f64 > ns);
        let n: u64 = longer.map(|(.., count)| count).sum();
        n as f64 / self.samples.count().max(1) as f64
    }

    /// Its percentiles.
    pub fn ladder(&self) -> Ladder {
        Ladder::of(&self.samples, self.max)
    }
}

/// The shift of the medians of blocks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Shift {
    /// The blocks that are still to come.
    Awaits(u64),
    /// The pinned distribution has too few blocks, and gets no more.
    Unknown,
    /// The shift in nanoseconds; the intervals of all looks hold it together.
    Known(Interval),
}

/// The picture of what is watched.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Picture {
    /// The news that was heard last.
    pub heard: Option<Heard>,
    /// True if nothing more will be heard of that.
    pub is_over: bool,
    /// The distribution that runs: its samples since its part began, or since another one was pinned.
    pub running: Distribution,
    /// The one that is pinned.
    pub pinned: Option<Distribution>,
    /// Second by second.
    pub history: History,
    /// Samples of the second and of the block that are not over, and when these began.
    second: Histogram,
    second_at: f64,
    /// The counts before that second.
    second_done: Done,
    block: Histogram,
    block_at: f64,
}

impl Picture {
    /// Takes in what is heard at a time, in seconds; nothing, of what has ended.
    pub fn take(&mut self, at: f64, heard: Option<Heard>) {
        let Some(heard) = heard else {
            self.is_over = self.heard.is_some();
            return;
        };
        let before = self.heard.take().filter(|it| it.source == heard.source);
        let is_first = before.is_none() || self.is_over;
        self.is_over = false;
        let done = Done::of(&heard.total);
        let same_run = before.filter(|before| before.run == heard.run);
        if same_run.is_none() {
            self.second_done = Done::default();
        }
        let same = same_run.filter(|before| before.total.part == heard.total.part);
        let more = same.as_ref().and_then(|before| {
            let earlier = &before.total.histogram;
            heard.total.histogram.since(earlier).ok()
        });
        if more.is_none() {
            self.begin(at, &heard);
        }
        self.add(
            more.as_ref().unwrap_or(&heard.total.histogram),
            heard.total.max_ns,
        );
        if is_first {
            // When its samples so far were taken is not known.
            self.history = History::default();
            self.block = Histogram::new();
            self.begin_second(at, done);
        }
        self.end_seconds(at, done);
        self.end_block(at);
        self.heard = Some(heard);
    }

    /// The samples of what is pinned, and of what runs.
    pub fn distributions(&self) -> impl Iterator<Item = &Histogram> {
        let pinned = self.pinned.iter().map(|it| &it.samples);
        pinned.chain([&self.running.samples])
    }

    /// Pins what runs; whatever comes from now on is laid over it.
    pub fn pin(&mut self) {
        if !self.running.samples.is_empty() {
            self.pinned = Some(self.start_over());
        }
    }

    /// Pins what ran at an earlier time. What has come since then of the same run is of neither.
    pub fn pin_earlier(&mut self, earlier: Distribution) {
        if !earlier.samples.is_empty() {
            if self.running.name == earlier.name {
                self.start_over();
            }
            self.pinned = Some(earlier);
        }
    }

    /// Takes in that something was changed: what ran before is pinned, unless the change before that was a moment ago.
    pub fn changed(&mut self) {
        /// The number of blocks that are no more than a moment.
        const MOMENT: u64 = 2;
        match self.pinned.is_some() && self.running.medians.count() <= MOMENT {
            true => drop(self.start_over()),
            false => self.pin(),
        }
    }

    /// The distribution so far; from now on it is another one.
    fn start_over(&mut self) -> Distribution {
        let next = Distribution {
            name: self.running.name.clone(),
            ..Distribution::default()
        };
        self.block = Histogram::new();
        self.block_at = self.second_at;
        std::mem::replace(&mut self.running, next)
    }

    /// The shift of the distribution that runs from the one that is pinned.
    pub fn shift(&self) -> Option<Shift> {
        let pinned = &self.pinned.as_ref()?.medians;
        let running = &self.running.medians;
        let shift = confidence_sequence::shift(pinned, running, CONFIDENCE);
        Some(match shift.ok().flatten() {
            Some(shift) => Shift::Known(widened(shift, pinned, running)),
            None if pinned.count() < LEAST => Shift::Unknown,
            None => Shift::Awaits(LEAST.saturating_sub(running.count()).max(1)),
        })
    }

    fn begin(&mut self, at: f64, heard: &Heard) {
        let label = &heard.total.label;
        let name = match label.is_empty() {
            true => heard.run.clone(),
            false => format!("{}, {}", heard.run, printable(label)),
        };
        self.running = Distribution {
            name,
            ..Distribution::default()
        };
        self.block = Histogram::new();
        self.block_at = at;
    }

    fn add(&mut self, more: &Histogram, max: u64) {
        self.running.samples.add(more);
        // A bucket is told by its highest value.
        self.running.max = self.running.samples.max().unwrap_or(0).min(max);
        self.second.add(more);
        self.block.add(more);
    }

    fn begin_second(&mut self, at: f64, done: Done) {
        self.second = Histogram::new();
        self.second_done = done;
        self.second_at = at.floor();
    }

    fn end_seconds(&mut self, at: f64, done: Done) {
        let over = (at.floor() - self.second_at) as usize;
        if over == 0 {
            return;
        }
        self.history.add(&self.second, done.since(self.second_done));
        self.begin_second(at, done);
        // Seconds in which nobody looked.
        let nothing = Histogram::new();
        for _ in 1..over.min(KEPT) {
            self.history.add(&nothing, Done::default());
        }
    }

    fn end_block(&mut self, at: f64) {
        if at - self.block_at >= 1.0 && self.block.count() >= BLOCK_SAMPLES {
            if let Some(median) = self.block.quantile(0.5) {
                self.running.medians.add(median as f64);
            }
            self.block = Histogram::new();
            self.block_at = at;
        }
    }
}

/// Medians are known by their buckets, however little they vary.
fn widened(shift: Interval, pinned: &Sequence, running: &Sequence) -> Interval {
    let width = |medians: &Sequence| {
        let median = medians.mean().unwrap_or(0.0).max(0.0) as u64;
        let (lowest, highest) = buckets::range(buckets::index(median));
        (highest - lowest) as f64
    };
    let widths = width(pinned).max(width(running));
    Interval {
        estimate: shift.estimate,
        low: shift.low - widths,
        high: shift.high + widths,
    }
}
