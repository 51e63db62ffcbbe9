//! The open loop of `rtt`: messages are sent when they are due, whether or not the answers to earlier ones have come.
//!
//! A sample is the time from when a message was *due* to when its answer was there. A message that could not be sent in
//! time, for the other end or the network stood still, waits, and its wait is part of its sample. A closed loop sends
//! nothing meanwhile, and leaves the wait out: coordinated omission (Tene, "How NOT to measure latency", 2013).

use std::net::SocketAddr;
use std::time::Duration;

use jitterlab_base::clock::Clock;
use jitterlab_base::units::Rate;
use jitterlab_live::Timing;
use jitterlab_stats::gaps::Gaps;
use nix::sys::prctl;

use super::bidirectional::ahead;
use super::length::Length;
use super::rtt::{Outcome, Rtt};
use super::samples::Samples;
use super::silence::Silence;
use crate::Error;
use crate::transport::{Plan, Unwaited};

pub use super::pacing::{Loop, Open, Spacing, TwoLoops};

/// The most messages under way, if nothing is said.
pub const WINDOW: u32 = 1024;
/// The most messages whose fate is kept.
const MOST_PLACES: u64 = 1 << 22;

/// The times when messages are due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timetable {
    /// Messages a second.
    pub rate: Rate,
    /// The gaps between them.
    pub gaps: Spacing,
    /// The seed of gaps that are drawn.
    pub seed: u64,
    /// Messages that may be under way; others wait.
    pub window: u32,
}

/// The measurement that is made.
#[derive(Debug, Clone)]
pub struct OpenLoop {
    /// Over what, and for how long.
    pub rtt: Rtt,
    /// The times when messages are due.
    pub timetable: Timetable,
}

impl OpenLoop {
    /// The plan of both ends.
    pub fn plan(&self) -> Plan {
        Plan {
            buffers: ahead(&self.rtt.link, self.timetable.window),
            ..Plan::ping_pong(self.rtt.size.0, self.rtt.wait)
        }
    }

    /// Measures against the server at `address`.
    ///
    /// # Errors
    /// The link cannot carry such messages, nobody answers, or the peer goes away or falls silent.
    pub fn run(&self, address: SocketAddr) -> Result<Outcome, Error> {
        let connection = self.rtt.link.unwaited(address, &self.plan())?;
        // A thread that sleeps until the next message is due is woken then, and not 50 us later.
        let _ = prctl::set_timerslack(1);
        let clock = Clock::global();
        self.run_on(connection, || clock.now())
    }

    /// Measures over a connection that is there already. `now` reads the time, in ticks of the
    /// [clock](Clock::global) since any moment.
    ///
    /// # Errors
    /// The peer goes away or falls silent.
    pub fn run_on(
        &self,
        mut connection: Box<dyn Unwaited>,
        mut now: impl FnMut() -> u64,
    ) -> Result<Outcome, Error> {
        let samples = Samples::room(Length::Messages(self.most()), self.rtt.size);
        let mut samples = samples.timed(Timing::OpenLoop);
        let mut account = Account::new(self, now());
        let gone = |answered, source| Error::PeerGone { answered, source };
        let mut time = now();
        while !account.is_over(time) {
            let mut is_idle = false;
            match connection.receive() {
                Ok(Some(number)) => {
                    if let Some(sample) = account.answered(number, now())
                        && !samples.push(sample)
                    {
                        break;
                    }
                }
                Ok(None) => is_idle = true,
                Err(source) => return Err(gone(account.answered, source)),
            }
            time = now();
            if let Some(number) = account.due(time) {
                match connection.send(number) {
                    Ok(true) => {
                        account.sent(time);
                        is_idle = false;
                    }
                    Ok(false) => {}
                    Err(source) => return Err(gone(account.answered, source)),
                }
            }
            if account.pass(time)? {
                connection
                    .look()
                    .map_err(|source| gone(account.answered, source))?;
            }
            if is_idle {
                connection
                    .idle(account.wait(time))
                    .map_err(|source| gone(account.answered, source))?;
            }
        }
        if samples.is_empty() {
            return Err(Error::NoSamples);
        }
        Ok(Outcome {
            memory_full: samples.is_full(self.rtt.length),
            samples: samples.into_ns(),
            lost: account.lost,
            reordered: account.reordered,
            duplicates: account.duplicates,
            discarded: account.discarded,
            path: connection.path().cloned(),
            pacing: Loop::Open(account.went()),
        })
    }

    /// More messages than are measured: gaps that are drawn add up to their time but for a few.
    fn most(&self) -> u64 {
        match self.rtt.length {
            Length::Messages(count) => count,
            Length::Time(time) => {
                let mean = self.timetable.rate.0 as f64 * time.as_secs_f64();
                (mean + 10.0 * mean.sqrt()) as u64 + 100
            }
        }
    }
}

/// When the next message is due: its number, and its time in ticks after the start.
struct Due {
    number: u64,
    ticks: f64,
    gap: f64,
    drawn: Option<Gaps>,
}

impl Due {
    fn new(timetable: &Timetable, clock: &Clock) -> Self {
        let gap = clock.ns_to_ticks(1_000_000_000) as f64 / timetable.rate.0 as f64;
        let drawn = match timetable.gaps {
            Spacing::Fixed => None,
            Spacing::Exponential => Some(Gaps::new(timetable.seed, gap)),
        };
        let mut due = Due {
            number: 0,
            ticks: 0.0,
            gap,
            drawn,
        };
        due.advance();
        due
    }

    #[inline]
    fn advance(&mut self) {
        self.number += 1;
        match &mut self.drawn {
            Some(gaps) => self.ticks += gaps.draw(),
            // A product, and no sum, whose rounding would add up.
            None => self.ticks = self.number as f64 * self.gap,
        }
    }
}

/// The last message of a part of the run.
#[derive(Clone, Copy)]
enum Last {
    /// The one of this number.
    Number(u64),
    /// The last one that is due by this time, in ticks after the start.
    Ticks(f64),
}

impl Last {
    /// The end of a part of this length, which begins behind a message, or at a time.
    fn of(length: Length, number: u64, ticks: f64, clock: &Clock) -> Self {
        match length {
            Length::Messages(count) => Last::Number(number.saturating_add(count)),
            Length::Time(time) => Last::Ticks(ticks + clock.ns_to_ticks(time.0) as f64),
        }
    }

    #[inline]
    fn is_before(self, due: &Due) -> bool {
        match self {
            Last::Number(last) => due.number > last,
            // The end is in whole ticks, and the product of a gap is rounded: the message that is due at the end belongs to it.
            Last::Ticks(last) => due.ticks >= last + 1.0,
        }
    }
}

/// The fate of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    UnderWay,
    Answered,
    Lost,
}

/// A message that was sent; times in ticks.
#[derive(Debug, Clone, Copy)]
struct Message {
    number: u64,
    due: u64,
    sent: u64,
    fate: Fate,
}

/// The account of all messages; times in ticks.
struct Account<'a> {
    options: &'a OpenLoop,
    clock: &'static Clock,
    start: u64,
    due: Due,
    /// The last message of the warm-up, then that of all.
    last: Last,
    is_warm: bool,
    /// When what is measured begins, after the start.
    begin: f64,
    /// The time that an answer may take: over a reliable link as long as it likes.
    limit: u64,
    timeout: u64,
    /// Messages, each in the place of its number modulo their count.
    messages: Vec<Message>,
    /// Every message before this one is no longer under way.
    oldest: u64,
    under_way: u32,
    /// When an answer came last, or began to be waited for.
    heard: u64,
    silence: Silence,
    answered: u64,
    /// Messages up to this one are those of the warm-up.
    discarded: u64,
    /// When a message was sent last.
    sent: u64,
    lost: u64,
    reordered: u64,
    duplicates: u64,
    latest: u64,
    most_under_way: u32,
}

impl<'a> Account<'a> {
    fn new(options: &'a OpenLoop, start: u64) -> Self {
        let clock = Clock::global();
        let OpenLoop { rtt, timetable } = options;
        let timeout = clock.ns_to_ticks(rtt.timeout.0);
        let is_reliable = rtt.link.is_reliable();
        let due = Due::new(timetable, clock);
        // There are more places if messages may be lost: for as many as are sent until a loss is known.
        let forgotten = match is_reliable {
            true => 0.0,
            false => 2.0 * timeout as f64 / due.gap,
        };
        let places = (u64::from(timetable.window) + forgotten as u64).clamp(1, MOST_PLACES);
        let nothing = Message {
            number: 0,
            due: 0,
            sent: 0,
            fate: Fate::Answered,
        };
        let mut account = Account {
            options,
            clock,
            start,
            last: Last::of(rtt.warmup, 0, 0.0, clock),
            due,
            is_warm: true,
            begin: 0.0,
            limit: if is_reliable { u64::MAX } else { timeout },
            timeout,
            messages: vec![nothing; places.next_power_of_two() as usize],
            oldest: 1,
            under_way: 0,
            heard: start,
            silence: Silence::default(),
            answered: 0,
            discarded: 0,
            sent: start,
            lost: 0,
            reordered: 0,
            duplicates: 0,
            latest: 0,
            most_under_way: 0,
        };
        account.end_warmup();
        account
    }

    /// Goes over to what is measured where the message that is due next is no longer one of the warm-up.
    #[inline]
    fn end_warmup(&mut self) {
        if !self.is_warm || !self.last.is_before(&self.due) {
            return;
        }
        self.is_warm = false;
        self.discarded = self.due.number - 1;
        if let Last::Ticks(end) = self.last {
            self.begin = end;
        }
        let length = self.options.rtt.length;
        self.last = Last::of(length, self.discarded, self.begin, self.clock);
    }

    /// The place of a message.
    #[inline]
    fn place(&self, number: u64) -> usize {
        number as usize & (self.messages.len() - 1)
    }

    /// True if all have been sent.
    #[inline]
    fn is_sent(&self) -> bool {
        !self.is_warm && self.last.is_before(&self.due)
    }

    /// The message that is to be sent now, if one is due and there is room for it.
    #[inline]
    fn due(&self, now: u64) -> Option<u64> {
        let number = self.due.number;
        let is_due =
            now >= self.start + self.due.ticks as u64 && !self.is_sent() && !self.is_late(now);
        let is_room = self.under_way < self.options.timetable.window
            && self.messages[self.place(number)].fate != Fate::UnderWay;
        (is_due && is_room).then_some(number)
    }

    /// The time for which nothing has to be done but to take what comes.
    #[inline]
    fn wait(&self, now: u64) -> Duration {
        /// So long where a message is due and there is no room for it.
        const ROOM: Duration = Duration::from_millis(1);
        let due = self.start + self.due.ticks as u64;
        match due.checked_sub(now) {
            Some(ticks) if !self.is_sent() => {
                Duration::from_nanos(self.clock.ticks_to_ns(ticks)).min(ROOM)
            }
            _ => ROOM,
        }
    }

    /// It was sent.
    #[inline]
    fn sent(&mut self, now: u64) {
        let number = self.due.number;
        let due = self.start + self.due.ticks as u64;
        let place = self.place(number);
        self.messages[place] = Message {
            number,
            due,
            sent: now,
            fate: Fate::UnderWay,
        };
        if self.under_way == 0 {
            self.heard = now;
        }
        self.under_way += 1;
        self.sent = now;
        if number > self.discarded && !self.is_warm {
            self.latest = self.latest.max(now - due);
            self.most_under_way = self.most_under_way.max(self.under_way);
        }
        if self.is_warm {
            // A warm-up of so many messages ends with this one, if it is the last.
            self.begin = self.due.ticks;
        }
        self.due.advance();
        self.end_warmup();
    }

    /// An answer came: the time since its message was due, if that is a sample.
    #[inline]
    fn answered(&mut self, number: u64, now: u64) -> Option<u64> {
        let place = self.place(number);
        let message = self.messages[place];
        if message.number != number || number == 0 {
            // Nobody knows it any more.
            return None;
        }
        let is_measured = number > self.discarded && !self.is_warm;
        match message.fate {
            Fate::UnderWay => {
                self.messages[place].fate = Fate::Answered;
                self.under_way -= 1;
                self.heard = now;
                if now - message.sent > self.limit {
                    self.reordered += u64::from(is_measured);
                    self.silence.late();
                    return None;
                }
                self.answered += 1;
                self.silence.end();
                is_measured.then(|| now - message.due)
            }
            Fate::Lost => {
                self.messages[place].fate = Fate::Answered;
                self.silence.late();
                self.reordered += u64::from(is_measured);
                self.lost -= u64::from(is_measured);
                None
            }
            Fate::Answered => {
                self.duplicates += u64::from(is_measured);
                None
            }
        }
    }

    /// Gives up what is lost by `now`. True if the other end, of which nothing was heard for long, has to be looked after.
    #[inline]
    fn pass(&mut self, now: u64) -> Result<bool, Error> {
        let is_silent = self.under_way > 0 && now.saturating_sub(self.heard) > self.timeout;
        if is_silent {
            self.heard = now;
            self.silence
                .timed_out(self.options.rtt.timeout, self.answered)?;
        }
        while self.oldest < self.due.number {
            let place = self.place(self.oldest);
            let message = &mut self.messages[place];
            if message.fate == Fate::UnderWay {
                if now.saturating_sub(message.sent) <= self.limit {
                    break;
                }
                message.fate = Fate::Lost;
                self.under_way -= 1;
                let is_measured = self.oldest > self.discarded && !self.is_warm;
                self.lost += u64::from(is_measured);
            }
            self.oldest += 1;
        }
        Ok(is_silent)
    }

    /// True if there is nothing left to be sent, or no time for it, and nothing left to be waited for.
    #[inline]
    fn is_over(&self, now: u64) -> bool {
        self.under_way == 0 && (self.is_sent() || self.is_late(now))
    }

    /// True if the time is over for what has not been sent.
    #[inline]
    fn is_late(&self, now: u64) -> bool {
        match self.last {
            Last::Ticks(end) if !self.is_warm => now > self.start + end as u64 + self.timeout,
            _ => false,
        }
    }

    /// The figures of the loop. Messages that were due and were not sent are gone through for that.
    fn went(mut self) -> Open {
        let Timetable {
            rate,
            gaps,
            seed,
            window,
        } = self.options.timetable;
        let sent = self.due.number - 1 - self.discarded;
        let mut seconds = self.clock.ticks_to_ns(self.sent - self.start) as f64 / 1e9
            - self.begin / self.ticks_per_second();
        if let Last::Ticks(end) = self.last {
            seconds = seconds.max((end - self.begin) / self.ticks_per_second());
        }
        let mut unsent = 0;
        while !self.is_sent() {
            self.due.advance();
            unsent += 1;
        }
        Open {
            rate_asked: rate.0 as f64,
            rate_achieved: sent as f64 / seconds,
            gaps,
            seed,
            window,
            most_under_way: self.most_under_way,
            unsent,
            latest_ns: self.clock.ticks_to_ns(self.latest),
        }
    }

    fn ticks_per_second(&self) -> f64 {
        self.clock.ns_to_ticks(1_000_000_000) as f64
    }
}
