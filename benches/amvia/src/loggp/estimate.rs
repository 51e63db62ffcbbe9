//! Estimates the parameters from what was measured, and tests what has to hold between them. Intervals are of 95 %, by a
//! bootstrap of runs, and of blocks within each.

use jitterlab_base::named;
use jitterlab_injector::control::Mode;
use jitterlab_stats::Error;
use jitterlab_stats::bootstrap::{Bootstrap, Interval};
use jitterlab_stats::repeated;

use super::measure::LONG;
use super::schedule::{self, Costs, Schedule};
use super::{Block, Injected, Observed, Report};
use crate::Protocol;

/// The parameters of a protocol over a transport. Times in nanoseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimates {
    /// Blocks that they are made from.
    pub blocks: usize,
    /// o_s.
    pub send: Interval,
    /// o_r.
    pub receive: Visible,
    /// The time from one message to the next in a long burst: what the processor or the network allows.
    pub interval: Interval,
    /// The time from one request to the next, each after the reply to the one before.
    pub round_trip: Interval,
    /// L, that makes the round trip what it is.
    pub latency: Visible,
    /// g: the interval, where it and a message of a burst that the window holds are longer than the work of processors by more than 5 %.
    pub gap: Visible,
    /// G, for each byte.
    pub gap_per_byte: Visible,
    /// The interval against the work of the processor with more of it, with the costs of LogP: where there are runs of other protocols,
    /// [`super::related`] knows more.
    pub identity: Identity,
    /// The schedule with these costs, and those of messages for acknowledgements. Its L may be below 0, where a frame is there before
    /// the call that sends it is over, as on a loopback. Where the interval is longer than the work of either processor, the target's
    /// handler makes the difference.
    pub schedule: Schedule,
    /// The times that delays have moved.
    pub shifts: Vec<Shift>,
}

/// A parameter, or that it cannot be seen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Visible {
    /// It can.
    Seen(Interval),
    /// It is hidden behind others.
    Hidden {
        /// It is not more than this, with the confidence of the intervals.
        at_most: f64,
    },
}

/// One time as two ways of measuring it give it. Times in nanoseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct Identity {
    /// The time in terms of the costs.
    pub formula: &'static str,
    /// The time as it was measured.
    pub measured: f64,
    /// The time as it follows from the costs.
    pub expected: f64,
    /// Measured less expected.
    pub difference: Interval,
}

/// The times that can be observed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Observable {
    /// A message of a burst that the window holds.
    Send,
    /// The time from one message to the next in a long burst.
    Interval,
    /// The time from one request to the next, each after the reply to the one before.
    RoundTrip,
}

named!(Observable, serde, Send => "o_s", Interval => "interval", RoundTrip => "round trip");

/// The change of a time by a delay, and the change that the schedule asks for. Times in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shift {
    /// The delay.
    pub injected: Injected,
    /// The mean length of the delay, as the injector achieved it. In bursts deferred frames also wait for each other.
    pub achieved: f64,
    /// The time that was observed.
    pub observable: Observable,
    /// The change of it that was to be expected of the delay that was achieved.
    pub expected: f64,
    /// The change of it that was measured.
    pub measured: Interval,
    /// Two-sided p of the hypothesis that the measured change is the expected one; `None` for one run.
    pub p: Option<f64>,
    /// The measurements without the delay, beside a wait as long if the delay makes the initiator wait.
    pub plain: f64,
}

/// The share that measurements may be off by.
pub(super) const TOLERANCE: f64 = 0.05;

/// Whether an identity holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The interval of the difference has 0 in it.
    Closes,
    /// It has not, and the difference is at most 5 % of the time.
    Near,
    /// The difference is more.
    Open,
}

named!(Verdict, serde, Closes => "closes", Near => "within 5 %", Open => "does not close");

impl Identity {
    /// Whether it holds.
    pub fn verdict(&self) -> Verdict {
        let Interval {
            estimate,
            low,
            high,
        } = self.difference;
        match low <= 0.0 && high >= 0.0 {
            true => Verdict::Closes,
            false if estimate.abs() <= TOLERANCE * self.measured => Verdict::Near,
            false => Verdict::Open,
        }
    }
}

impl Shift {
    /// True if it is within 5 % of what it had to be, or its interval holds that. Where it had to be less than 5 % of the time
    /// without the delay, it may be off by 5 % of that time.
    pub fn is_as_expected(&self) -> bool {
        let Interval {
            estimate,
            low,
            high,
        } = self.measured;
        let is_seen = self.expected > TOLERANCE * self.plain;
        let of = if is_seen { self.expected } else { self.plain };
        let is_close = (estimate - self.expected).abs() <= TOLERANCE * of;
        is_close || (low <= self.expected && self.expected <= high)
    }
}

impl Visible {
    /// The value, if another's interval is above a limit.
    fn of(value: Interval, shown_by: Interval, above: f64) -> Self {
        match shown_by.low > above {
            true => Visible::Seen(value),
            false => Visible::Hidden {
                at_most: value.high.max(0.0),
            },
        }
    }

    /// The interval, if it can be seen.
    pub fn seen(&self) -> Option<Interval> {
        match self {
            Visible::Seen(interval) => Some(*interval),
            Visible::Hidden { .. } => None,
        }
    }
}

impl Observed {
    fn get(&self, observable: Observable) -> f64 {
        match observable {
            Observable::Send => self.send_ns,
            Observable::Interval => self.interval_ns,
            Observable::RoundTrip => self.round_trip_ns,
        }
    }
}

/// The figures of a set of blocks. Times in nanoseconds.
pub(super) struct Figures {
    /// A message of a burst that the window holds, without computing.
    burst: f64,
    /// The time that the frames of a transaction hold the initiator.
    pub(super) work: f64,
    pub(super) interval: f64,
    pub(super) round_trip: f64,
    /// The costs of LogP.
    pub(super) costs: Costs,
    per_byte: f64,
}

/// Blocks of runs that were measured in the same way.
pub(super) struct Blocks<'a> {
    like: &'a Report,
    all: Vec<&'a Block>,
    /// The number of blocks of each run.
    runs: Vec<usize>,
}

impl<'a> Blocks<'a> {
    pub(super) fn of(reports: &[&'a Report]) -> Option<Self> {
        let like = *reports.first()?;
        let alike = reports.iter().filter(|report| {
            report.bursts == like.bursts
                && report.computing_ns == like.computing_ns
                && report.bulk == like.bulk
                && report.injected == like.injected
                && report.pauses_ns == like.pauses_ns
                && report.setting.window == like.setting.window
        });
        let runs = alike.clone().map(|report| report.blocks.len());
        Some(Blocks {
            like,
            runs: runs.filter(|&blocks| blocks > 0).collect(),
            all: alike.flat_map(|report| &report.blocks).collect(),
        })
    }

    fn protocol(&self) -> Protocol {
        self.like.setting.protocol
    }

    /// The places of two long bursts: see [`super::LogGp::bursts`].
    fn long(&self) -> Option<[usize; 2]> {
        let window = u64::from(self.like.setting.window);
        let first = self.like.bursts.iter().position(|&n| n >= LONG * window)?;
        let last = self.like.bursts.len() - 1;
        (first < last).then_some([first, last])
    }

    pub(super) fn figures(&self, drawn: &[f64]) -> Figures {
        let each = |of: &dyn Fn(&Block) -> f64| self.median(drawn, of);
        let send = each(&|block| self.send(block));
        let round_trip = each(&|block| block.plain.round_trip_ns);
        let frames = self.protocol().at_initiator();
        let work = each(&|block| self.work(block));
        let receive = (work - f64::from(frames.sends()) * send) / f64::from(frames.receives());
        let mut costs = Costs::log_p(send, receive, 0.0);
        costs.latency = (round_trip - self.protocol().round_trip(&costs)) / 2.0;
        let sizes = self.like.bulk.iter().map(|&size| size as f64);
        let bulk = (0..self.like.bulk.len()).map(|i| each(&|block| block.bulk[i].interval_ns));
        Figures {
            burst: each(&|block| block.plain.send_ns),
            work,
            interval: each(&|block| block.plain.interval_ns),
            round_trip,
            costs,
            per_byte: slope(&sizes.zip(bulk).collect::<Vec<_>>()),
        }
    }

    /// The time that a send holds a processor: the least that a message of a burst costs beside its computing, where the window holds
    /// the burst. Without computing the network may be what limits; after much, what the processor needs has left its caches.
    fn send(&self, block: &Block) -> f64 {
        let window = u64::from(self.like.setting.window);
        let place = self.like.bursts.iter().rposition(|&burst| burst <= window);
        let Some(place) = place else {
            return f64::NAN;
        };
        let all = block.signature_ns.iter().zip(&self.like.computing_ns);
        all.map(|(costs, &computing)| costs[place] - computing as f64)
            .fold(f64::INFINITY, f64::min)
    }

    /// The time from one message to the next in a long burst, less the computing after each, which is that at `place`.
    fn beside(&self, block: &Block, place: usize) -> f64 {
        let Some([short, long]) = self.long() else {
            return f64::NAN;
        };
        let messages = |place: usize| self.like.bursts[place] as f64;
        let whole = |burst: usize| block.signature_ns[place][burst] * messages(burst);
        let interval = (whole(long) - whole(short)) / (messages(long) - messages(short));
        interval - self.like.computing_ns[place] as f64
    }

    /// The time that the frames of a transaction hold a processor that also computes: the least that a message costs beside
    /// its computing. If it computes little, the other end may be what limits; if much, what the processor needs has left
    /// its caches.
    fn work(&self, block: &Block) -> f64 {
        let all = self.like.computing_ns.iter().enumerate();
        let computing = all.filter(|&(_, &computing)| computing > 0);
        computing
            .map(|(place, _)| self.beside(block, place))
            .fold(f64::INFINITY, f64::min)
    }

    fn schedule(&self, figures: &Figures) -> Schedule {
        let (protocol, mut costs) = (self.protocol(), figures.costs);
        if figures.interval > protocol.interval(&costs) {
            costs.handler = figures.interval - protocol.at_target().work(&costs);
            costs.latency += (figures.round_trip - protocol.round_trip(&costs)) / 2.0;
        }
        Schedule {
            protocol,
            costs,
            window: self.like.setting.window.into(),
            injected: None,
        }
    }

    /// True if the delay makes the initiator wait before it goes on: what it needs has left its caches then. The base is measured beside a
    /// wait as long, if there was one. A spin is a wait in each round trip and for each message of a long burst, a deferral in each round
    /// trip and before a burst.
    fn waits(&self, injected: Injected, observable: Observable) -> bool {
        let (of, waits) = match observable {
            Observable::Send => (&self.like.pauses_ns, injected.mode == Mode::Defer),
            Observable::Interval => (&self.like.computing_ns, injected.mode == Mode::Spin),
            Observable::RoundTrip => (&self.like.pauses_ns, injected.mode != Mode::Pace),
        };
        waits && of.contains(&injected.delay_ns)
    }

    /// The base that a delay is compared with: where it [waits](Blocks::waits), the same beside a wait as long.
    fn base(&self, injected: Injected, observable: Observable) -> impl Fn(&Block) -> f64 {
        let waits = self.waits(injected, observable);
        let place = |all: &[u64]| all.iter().position(|&it| it == injected.delay_ns);
        let (pause, computing) = (place(&self.like.pauses_ns), place(&self.like.computing_ns));
        move |block| {
            let paused = pause.and_then(|place| block.paused.get(place));
            let beside = computing.map(|place| self.beside(block, place));
            match (observable, paused, beside) {
                (Observable::Send, Some(paused), _) if waits => paused.send_ns,
                (Observable::RoundTrip, Some(paused), _) if waits => paused.round_trip_ns,
                (Observable::Interval, _, Some(beside)) if waits => beside,
                _ => block.plain.get(observable),
            }
        }
    }

    /// The numbers of the blocks of each run, which a resample draws from.
    pub(super) fn places(&self) -> Vec<Vec<f64>> {
        let mut numbers = (0..self.all.len()).map(|i| i as f64);
        let runs = self.runs.iter();
        runs.map(|&blocks| numbers.by_ref().take(blocks).collect())
            .collect()
    }

    fn interval(&self, of: impl Fn(&Figures) -> f64) -> Result<Interval, Error> {
        self.resampled(|drawn| of(&self.figures(drawn)))
    }

    fn resampled(&self, of: impl Fn(&[f64]) -> f64) -> Result<Interval, Error> {
        repeated::of_each(&[self.places()], &BOOTSTRAP, |drawn| of(&drawn[0]))
    }

    fn median(&self, drawn: &[f64], of: impl Fn(&Block) -> f64) -> f64 {
        median(drawn.iter().map(|&i| of(self.all[i as usize])))
    }
}

pub(super) const BOOTSTRAP: Bootstrap = Bootstrap {
    resamples: 1_000,
    confidence: 0.95,
    seed: 1,
};

impl Estimates {
    /// The estimates from runs of one protocol over one transport. Runs count if they were measured with the settings of the
    /// first. `None`: there is no run.
    ///
    /// # Errors
    /// There are fewer than two blocks.
    pub fn of(reports: &[&Report]) -> Result<Option<Self>, Error> {
        let Some(blocks) = Blocks::of(reports) else {
            return Ok(None);
        };
        let protocol = blocks.protocol();
        let interval = blocks.interval(|it| it.interval)?;
        let receive = blocks.interval(|it| it.costs.receive)?;
        let latency = blocks.interval(|it| it.costs.latency)?;
        let per_byte = blocks.interval(|it| it.per_byte)?;
        let idle = blocks.interval(|it| it.interval - protocol.interval(&it.costs))?;
        // A target that takes its time holds up no burst that the window holds. A network does.
        let held = blocks.interval(|it| it.burst - (1.0 + TOLERANCE) * it.costs.send)?;
        let gap = match held.low > 0.0 {
            true => Visible::of(interval, idle, TOLERANCE * interval.estimate),
            false => Visible::Hidden {
                at_most: interval.high.max(0.0),
            },
        };
        let all = blocks.figures(&blocks.places().concat());
        let schedule = blocks.schedule(&all);
        Ok(Some(Estimates {
            blocks: blocks.all.len(),
            send: blocks.interval(|it| it.costs.send)?,
            receive: Visible::of(receive, receive, 0.0),
            interval,
            round_trip: blocks.interval(|it| it.round_trip)?,
            latency: Visible::of(latency, latency, 0.0),
            gap,
            gap_per_byte: Visible::of(per_byte, per_byte, 0.0),
            identity: Identity {
                formula: protocol.interval_formula(),
                measured: interval.estimate,
                expected: protocol.interval(&all.costs),
                difference: idle,
            },
            shifts: shifts(&blocks, schedule)?,
            schedule,
        }))
    }
}

impl Estimates {
    /// The median over the blocks of runs that were measured as the first.
    ///
    /// # Errors
    /// There are fewer than two blocks.
    pub fn over_blocks(reports: &[&Report], of: impl Fn(&Block) -> f64) -> Result<Interval, Error> {
        let blocks = Blocks::of(reports).ok_or(Error::TooFew {
            statistic: "a median over blocks",
            needed: 2,
            given: 0,
        })?;
        blocks.resampled(|drawn| blocks.median(drawn, &of))
    }
}

fn shifts(blocks: &Blocks, plain: Schedule) -> Result<Vec<Shift>, Error> {
    let mut all = Vec::new();
    for (place, &injected) in blocks.like.injected.iter().enumerate() {
        for observable in Observable::ALL {
            let asked = injected.delay_ns as f64;
            let lengths = blocks.all.iter().map(|block| &block.achieved[place]);
            let achieved = median(lengths.map(|lengths| lengths.get(observable)));
            // In a burst deferred frames wait for each other, too, which the schedule has them do.
            let queues = injected.mode == Mode::Defer && observable != Observable::RoundTrip;
            let delayed = Schedule {
                injected: Some(schedule::Injected {
                    mode: injected.mode,
                    delay: if queues { asked } else { achieved },
                }),
                ..plain
            };
            let of = |schedule: &Schedule, wait: f64| match observable {
                Observable::Send => schedule.burst(plain.window, 0.0),
                Observable::Interval => schedule.interval(wait) - wait,
                Observable::RoundTrip => schedule.round_trip_after(wait),
            };
            let wait = match blocks.waits(injected, observable) {
                true => asked,
                false => 0.0,
            };
            let base = blocks.base(injected, observable);
            let moved = |block: &Block| block.injected[place].get(observable) - base(block);
            let measured = blocks.resampled(|drawn| blocks.median(drawn, moved))?;
            let expected = of(&delayed, 0.0) - of(&plain, wait);
            all.push(Shift {
                injected,
                achieved,
                observable,
                expected,
                measured,
                p: repeated::p_of(&measured, blocks.runs.len(), BOOTSTRAP.confidence, expected),
                plain: median(blocks.all.iter().map(|block| base(block))),
            });
        }
    }
    Ok(all)
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// The slope of the line of least squares.
fn slope(points: &[(f64, f64)]) -> f64 {
    let n = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / n;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let product: f64 = points
        .iter()
        .map(|point| (point.0 - x) * (point.1 - y))
        .sum();
    let square: f64 = points.iter().map(|point| (point.0 - x).powi(2)).sum();
    product / square
}
