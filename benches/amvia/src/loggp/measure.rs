//! Measuring bursts and round trips, block by block.

use std::collections::{BTreeSet, VecDeque};

use jitterlab_amvia::endpoint::Transaction;
use jitterlab_amvia::transport::Address;
use jitterlab_base::clock::Clock;
use jitterlab_base::units::{Bytes, Nanos};
use jitterlab_live::{Publisher, Timing};

use super::{Block, Bulk, LogGp, Observed, Paused, Report};
use crate::cases::{Case, Setting};
use crate::delayed::{Delayed, Switch};
use crate::handlers::{ECHO, TAKE};
use crate::{Client, Error, Options};

/// A burst of so many windows is long: the end with more work has a window to do then.
pub(super) const LONG: u64 = 8;
/// Bytes under way at most, of requests in bulk: what a socket holds by default.
const UNDER_WAY: u64 = 64 << 10;
/// Round trips that one mean is taken of, and means that the least is taken of.
const ROUND_TRIPS: [u64; 2] = [32, 10];
/// Messages of all bursts of a length in a block, about; and the least and the most bursts.
const MESSAGES: u64 = 512;
const BURSTS: [u64; 2] = [3, 15];
/// The blocks with a request sent again that are discarded for each that counts, at most.
const DISCARDED: u64 = 2;

impl LogGp {
    /// The longest message.
    pub fn longest(&self) -> Bytes {
        self.bulk.iter().copied().fold(self.size, Bytes::max)
    }

    /// The number of samples that are published while it is measured: means of round trips without a delay.
    pub fn samples(&self) -> u64 {
        u64::from(self.blocks) * ROUND_TRIPS[1]
    }

    /// Connects to the server at an address, with the delays that are going to be injected.
    ///
    /// # Errors
    /// As [`Client::connect`].
    pub fn connect(&self, options: &Options, server: &Address) -> Result<(Client, Switch), Error> {
        let delays = self.injected.iter();
        let delays: Vec<_> = delays.map(|it| (it.mode, Nanos(it.delay_ns))).collect();
        let switch = Switch::default();
        let through = |carrier| Delayed::new(carrier, &delays, &switch);
        let client = Client::connect_through(options, server, through)?;
        Ok((client, switch))
    }

    /// Measures. `switch` is the switch of the client's delays.
    ///
    /// # Errors
    /// There is no burst that the window holds, or no two that are longer; a message is too long, a transaction does not end
    /// well, or requests are sent again and again.
    pub fn run(&self, client: &Client, switch: &Switch) -> Result<Report, Error> {
        let clock = Clock::global();
        self.run_by(client, switch, move || clock.now())
    }

    /// The same by another time: `now` says what time it is, in ticks of [`Clock::global`]. Delays are injected by the clock itself.
    ///
    /// # Errors
    /// As those of [`LogGp::run`].
    pub fn run_by(
        &self,
        client: &Client,
        switch: &Switch,
        now: impl Fn() -> u64,
    ) -> Result<Report, Error> {
        let window = u64::from(client.options().window);
        let long = self.long(window).ok_or(Error::Bursts {
            window,
            long: LONG * window,
        })?;
        let mut bench = Bench::new(client, switch, now);
        let message = client.message(self.size)?;
        let live = jitterlab_live::publisher();
        let mut blocks = Vec::new();
        let mut discarded = 0;
        // The first warms up.
        self.block(&mut bench, &message, long, switch, Publisher::NOBODY)?;
        live.begin(&format!("{} {}", client.options().protocol, self.size));
        live.timed(Timing::ClosedLoop);
        while blocks.len() < self.blocks as usize {
            let before = client.counters()?.retransmissions;
            let block = self.block(&mut bench, &message, long, switch, live)?;
            if client.counters()?.retransmissions == before {
                blocks.push(block);
                continue;
            }
            discarded += 1;
            if discarded > DISCARDED * u64::from(self.blocks) {
                return Err(Error::SentAgain { blocks: discarded });
            }
        }
        Ok(Report {
            case: Case::Loggp,
            setting: Setting::now(client),
            size: self.size.0,
            bursts: self.bursts.clone(),
            computing_ns: self.computing.iter().map(|it| it.0).collect(),
            bulk: self.bulk.iter().map(|it| it.0).collect(),
            injected: self.injected.clone(),
            pauses_ns: self.pauses(),
            discarded_blocks: discarded,
            blocks,
        })
    }

    /// The times of the delays.
    fn pauses(&self) -> Vec<u64> {
        let times: BTreeSet<u64> = self.injected.iter().map(|it| it.delay_ns).collect();
        times.into_iter().collect()
    }

    /// The lengths of two bursts that are longer than the window: the difference has none of its beginning.
    fn long(&self, window: u64) -> Option<[u64; 2]> {
        let short = self.bursts.iter().any(|&burst| burst <= window);
        let mut long = self.bursts.iter().filter(|&&burst| burst >= LONG * window);
        let least = *long.next()?;
        let most = *long.next_back()?;
        short.then_some([least, most])
    }

    fn block(
        &self,
        bench: &mut Bench<'_, impl Fn() -> u64>,
        message: &[u8],
        long: [u64; 2],
        switch: &Switch,
        live: Publisher,
    ) -> Result<Block, Error> {
        switch.set(None);
        let mut signature_ns = Vec::with_capacity(self.computing.len());
        for &computing in &self.computing {
            let of = |&burst: &u64| Ok(bench.cost(ECHO, message, burst, computing)?.ns);
            signature_ns.push(self.bursts.iter().map(of).collect::<Result<_, Error>>()?);
        }
        let (plain, _) = bench.observe(message, long, live)?;
        let bulk = self.bulk.iter().map(|&size| bench.bulk(size, long));
        let bulk = bulk.collect::<Result<_, _>>()?;
        let mut injected = Vec::with_capacity(self.injected.len());
        let mut achieved = Vec::with_capacity(self.injected.len());
        for place in 0..self.injected.len() {
            switch.set(Some(place));
            let (observed, lengths) = bench.observe(message, long, Publisher::NOBODY)?;
            injected.push(observed);
            // Each has one, so that places stay those of the delays.
            let asked = self.injected[place].delay_ns as f64;
            achieved.push(lengths.unwrap_or(Observed {
                send_ns: asked,
                interval_ns: asked,
                round_trip_ns: asked,
            }));
        }
        switch.set(None);
        let paused = self.pauses().into_iter();
        let paused = paused.map(|pause| bench.paused(message, Nanos(pause)));
        Ok(Block {
            signature_ns,
            plain,
            bulk,
            injected,
            achieved,
            paused: paused.collect::<Result<_, _>>()?,
        })
    }
}

struct Bench<'a, N> {
    client: &'a Client,
    switch: &'a Switch,
    /// What time it is, in ticks of the clock.
    now: N,
    clock: &'static Clock,
    /// Maximum number of transactions under way.
    most: usize,
    under_way: VecDeque<Transaction>,
    done: u64,
}

impl<'a, N: Fn() -> u64> Bench<'a, N> {
    fn new(client: &'a Client, switch: &'a Switch, now: N) -> Self {
        let window = client.options().window.into();
        Bench {
            client,
            switch,
            now,
            clock: Clock::global(),
            most: window,
            under_way: VecDeque::with_capacity(window),
            done: 0,
        }
    }

    /// The time that a burst takes, its computing included, in ticks. The messages under way at its end are waited for, and are
    /// no part of it.
    fn burst(
        &mut self,
        handler: u16,
        message: &[u8],
        messages: u64,
        computing: u64,
    ) -> Result<u64, Error> {
        let begin = (self.now)();
        for _ in 0..messages {
            if self.under_way.len() == self.most {
                self.end_one()?;
            }
            self.under_way
                .push_back(self.client.request(handler, message)?);
            if computing > 0 {
                self.wait_until((self.now)() + computing);
            }
        }
        let end = (self.now)();
        while !self.under_way.is_empty() {
            self.end_one()?;
        }
        Ok(end - begin)
    }

    /// Waits for the oldest transaction: credits come back in order.
    fn end_one(&mut self) -> Result<(), Error> {
        if let Some(oldest) = self.under_way.pop_front() {
            self.client.finish(oldest, self.done)?;
            self.client.release(oldest)?;
            self.done += 1;
        }
        Ok(())
    }

    /// The mean cost of a message of a burst: the least of some bursts.
    fn cost(
        &mut self,
        handler: u16,
        message: &[u8],
        messages: u64,
        computing: Nanos,
    ) -> Result<Cost, Error> {
        let computing = self.clock.ns_to_ticks(computing.0);
        let least = least(times(messages), self.switch, || {
            self.burst(handler, message, messages, computing)
        })?;
        Ok(least.of_each(messages))
    }

    /// The time from one message to the next in long bursts.
    fn interval(&mut self, handler: u16, message: &[u8], long: [u64; 2]) -> Result<Cost, Error> {
        let [short, long] = long;
        let before = self.cost(handler, message, short, Nanos(0))?;
        let after = self.cost(handler, message, long, Nanos(0))?;
        let whole = |cost: &Cost, messages: u64| cost.ns * messages as f64;
        Ok(Cost {
            ns: (whole(&after, long) - whole(&before, short)) / (long - short) as f64,
            ..after
        })
    }

    /// Everything observed once, and the mean length of the delays that were injected in each.
    fn observe(
        &mut self,
        message: &[u8],
        long: [u64; 2],
        live: Publisher,
    ) -> Result<(Observed, Option<Observed>), Error> {
        let send = self.cost(ECHO, message, self.most as u64, Nanos(0))?;
        let interval = self.interval(ECHO, message, long)?;
        let round_trip = self.round_trip(message, Nanos(0), live)?;
        let observed = |of: fn(&Cost) -> Option<f64>| {
            Some(Observed {
                send_ns: of(&send)?,
                interval_ns: of(&interval)?,
                round_trip_ns: of(&round_trip)?,
            })
        };
        Ok((
            Observed {
                send_ns: send.ns,
                interval_ns: interval.ns,
                round_trip_ns: round_trip.ns,
            },
            observed(|cost| cost.delay_ns),
        ))
    }

    /// The mean from one request to the next, each after the reply to the one before and a pause, which is no part of it: the least of
    /// some means.
    fn round_trip(&mut self, message: &[u8], pause: Nanos, live: Publisher) -> Result<Cost, Error> {
        let [together, means] = ROUND_TRIPS;
        let least = least(means, self.switch, || {
            let begin = (self.now)();
            let mut paused = 0;
            for _ in 0..together {
                paused += self.pause(pause);
                self.under_way
                    .push_back(self.client.request(ECHO, message)?);
                self.end_one()?;
            }
            let took = (self.now)() - begin - paused;
            live.sample(|| self.clock.ticks_to_ns(took) / together);
            Ok(took)
        })?;
        Ok(least.of_each(together))
    }

    /// Waits, if there is something to wait for, and gives how long that was, in ticks.
    fn pause(&self, time: Nanos) -> u64 {
        if time == Nanos(0) {
            return 0;
        }
        let begin = (self.now)();
        let end = begin + self.clock.ns_to_ticks(time.0);
        self.wait_until(end) - begin
    }

    /// Holds the processor until a time, and gives the reading that is at or past it.
    #[inline]
    fn wait_until(&self, deadline: u64) -> u64 {
        loop {
            let now = (self.now)();
            if now >= deadline {
                return now;
            }
        }
    }

    /// The times of messages after a pause.
    fn paused(&mut self, message: &[u8], pause: Nanos) -> Result<Paused, Error> {
        let window = self.most as u64;
        let least = least(times(window), self.switch, || {
            self.pause(pause);
            self.burst(ECHO, message, window, 0)
        })?;
        Ok(Paused {
            send_ns: least.of_each(window).ns,
            round_trip_ns: self.round_trip(message, pause, Publisher::NOBODY)?.ns,
        })
    }

    /// Sends requests of a size, with as many under way as sockets hold.
    fn bulk(&mut self, size: Bytes, long: [u64; 2]) -> Result<Bulk, Error> {
        let message = self.client.message(size)?;
        let window = self.most;
        self.most = window.min((UNDER_WAY / size.0.max(1)).max(1) as usize);
        let send = self.cost(TAKE, &message, self.most as u64, Nanos(0));
        let interval = self.interval(TAKE, &message, long);
        self.most = window;
        Ok(Bulk {
            send_ns: send?.ns,
            interval_ns: interval?.ns,
        })
    }
}

/// A time, and the mean length of the delays that were injected meanwhile; none if there were none. In nanoseconds.
struct Cost {
    ns: f64,
    delay_ns: Option<f64>,
}

/// The least of some measurements: what disturbs one adds to it.
struct Least {
    ticks: u64,
    delay_ns: Option<f64>,
}

impl Least {
    /// The time of each message.
    fn of_each(self, messages: u64) -> Cost {
        Cost {
            ns: Clock::global().ticks_to_ns_f64(self.ticks) / messages as f64,
            delay_ns: self.delay_ns,
        }
    }
}

/// Measures so often, in ticks.
fn least(
    times: u64,
    switch: &Switch,
    mut one: impl FnMut() -> Result<u64, Error>,
) -> Result<Least, Error> {
    let mut least = Least {
        ticks: u64::MAX,
        delay_ns: None,
    };
    for _ in 0..times {
        let before = switch.achieved();
        let ticks = one()?;
        if ticks < least.ticks {
            let delay = switch.achieved().zip(before);
            let delay_ns = delay.and_then(|(after, before)| after.mean_since(before));
            least = Least { ticks, delay_ns };
        }
    }
    Ok(least)
}

/// Bursts of so many messages in a block.
fn times(messages: u64) -> u64 {
    let [least, most] = BURSTS;
    (MESSAGES / messages).clamp(least, most)
}
