//! The hot path: what happens between a program's call of a send function and the send.

mod stream;

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

pub use stream::{Stream, Undelayed};

use crate::control::{Asked, Counters, Hook, Mode, Page, Settings, Slot, Switch};
use crate::recording::Recording;
use crate::replay::{self, Order, Place, Stretch};
use crate::table::DelayUnit;
use jitterlab_base::clock::Clock;
use jitterlab_base::page::published::{Generation, Seen};
use jitterlab_base::seed;

/// The injection of one process.
pub struct Injection {
    page: &'static Page,
    clock: Clock,
    rank: u64,
    compensation: Compensation,
    /// [`REHEARSAL_NS`] in ticks.
    rehearsal: u64,
    /// Rounds of the counting loop in a microsecond where the clock may not be read any more; 0 where it may.
    blind: AtomicU64,
    replay: Option<Replay>,
}

/// The recording that is replayed.
#[derive(Debug, Clone, Copy)]
struct Replay {
    recording: &'static Recording,
    /// When the replay began, a reading of the clock.
    began: u64,
}

/// The cost of a spin over and above the wait itself, in ticks. Taken off that.
#[derive(Debug, Clone, Copy, Default)]
struct Compensation {
    /// Off one that is too short to be rehearsed.
    short: u64,
    /// Off any other.
    long: u64,
}

/// So long before its end a wait does what it will do after it, for nothing: during a long wait that code and those counters
/// leave the processor's caches, and to get them back takes up to some hundred nanoseconds.
const REHEARSAL_NS: u32 = 1_000;

/// A wait of so many nanoseconds or more is long enough for a rehearsal.
const REHEARSED_NS: u32 = 2 * REHEARSAL_NS;

/// The next step of a hook with the send that it caught.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Passage {
    /// Perform it: there is nothing to wait for, or it has been waited for.
    Now,
    /// Hand it to the helper thread.
    Defer(Delay),
}

/// A delay that is drawn and not over yet: [`Injection::is_over`] counts it. A send that is
/// refused in between has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delay {
    /// When the program asked for the send, a reading of [`Injection::clock`].
    pub start: u64,
    /// The time at which it is due.
    pub due: u64,
    /// `None` where there is nothing to count, or no more.
    asked_ns: Option<u32>,
}

impl Delay {
    /// The delay of a send that goes `now`.
    pub fn none(now: u64) -> Self {
        Delay {
            start: now,
            due: now,
            asked_ns: None,
        }
    }

    /// The delay of what else the same call sends: it is due at the same time, and not counted again.
    pub fn same(self) -> Self {
        Delay {
            asked_ns: None,
            ..self
        }
    }
}

impl Injection {
    /// Injection as `page` says, for the process with `rank` in its parallel program (0 outside
    /// one). Measures its own cost first, in about a millisecond.
    pub fn new(page: &'static Page, clock: &Clock, rank: u64) -> Self {
        let mut injection = Injection {
            page,
            clock: clock.clone(),
            rank,
            compensation: Compensation::default(),
            rehearsal: clock.ns_to_ticks(u64::from(REHEARSAL_NS)),
            blind: AtomicU64::new(0),
            replay: None,
        };
        injection.compensation = injection.measure_overhead();
        page.set_compensation_ns(injection.compensation_ns());
        injection
    }

    /// The same injection with a recording, for when the page says that its delays come in their order. The replay began `elapsed_ns`
    /// nanoseconds ago.
    #[must_use]
    pub fn replaying(mut self, recording: &'static Recording, elapsed_ns: u64) -> Self {
        let elapsed = self.clock.ns_to_ticks(elapsed_ns);
        self.replay = Some(Replay {
            recording,
            began: self.clock.now().wrapping_sub(elapsed),
        });
        self
    }

    /// The same injection for a forked child, which has a page of its own.
    pub fn for_child(&self, page: &'static Page) -> Self {
        page.set_compensation_ns(self.compensation_ns());
        Injection {
            page,
            clock: self.clock.clone(),
            rank: self.rank,
            compensation: self.compensation,
            rehearsal: self.rehearsal,
            blind: AtomicU64::new(self.blind.load(Ordering::Relaxed)),
            replay: self.replay,
        }
    }

    /// The process is about to lose the clock: a processor that reads it would end it. Delays are waited out by the counting
    /// loop from now on. How long the loop takes is measured first, in half a millisecond.
    pub fn go_blind(&self) {
        const ROUNDS: u32 = 20_000;
        let ns = (0..8)
            .map(|_| {
                let start = self.clock.now();
                count_to(ROUNDS);
                self.clock.ticks_to_ns(self.clock.now() - start)
            })
            .min();
        let rounds = u64::from(ROUNDS) * 1_000 / ns.unwrap_or(0).max(1);
        self.blind.store(rounds.max(1), Ordering::Relaxed);
    }

    /// True if the clock may not be read.
    #[inline(always)]
    pub fn is_blind(&self) -> bool {
        self.blind.load(Ordering::Relaxed) != 0
    }

    /// True if sends are deferred, as the page has it now.
    pub fn defers(&self) -> bool {
        self.page.head().1.mode == Mode::Defer
    }

    /// The page it reads.
    pub fn page(&self) -> &'static Page {
        self.page
    }

    /// The rank in the parallel program, 0 outside one.
    pub fn rank(&self) -> u64 {
        self.rank
    }

    /// The clock that its delays are measured with.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// The time that is taken off a wait at most, in nanoseconds: the readings of the clock and the hook.
    pub fn compensation_ns(&self) -> f64 {
        let Compensation { short, long } = self.compensation;
        self.clock.ticks_to_ns_f64(short.max(long))
    }

    /// The switch that says whether anything is injected.
    pub fn switch(&self) -> &'static Generation {
        self.page.switch()
    }

    /// Called by a hook when the program sends, before anything else is done.
    ///
    /// In spin mode this is where the delay is waited out, and in pace mode what is left of it. What happens rarely, or takes its time
    /// anyway, is in functions of its own that come last, so that a zero that a table with delays has, too, is a few loads
    /// and stores.
    #[inline(always)]
    pub fn before_send(&self, stream: &Stream, hook: Hook) -> Passage {
        let generation = stream.generation.get();
        let settings = stream.settings.get();
        let slot = match stream.own.get() {
            Some(own) if self.page.generation() == generation && settings.enabled => Slot::own(own),
            _ => return self.before_send_anew(stream, hook),
        };
        let Some(delay) = self.next_delay(stream, settings, generation) else {
            return self.before_send_anew(stream, hook);
        };
        if delay == 0 && settings.mode != Mode::Pace {
            slot.undelayed(hook);
            return Passage::Now;
        }
        slot.call(hook);
        self.pass(slot, stream, delay)
    }

    /// The same, with a new look at the page first.
    #[cold]
    #[inline(never)]
    fn before_send_anew(&self, stream: &Stream, hook: Hook) -> Passage {
        loop {
            self.refresh(stream);
            let settings = stream.settings.get();
            let Some(slot) = stream.slot() else {
                return Passage::Now;
            };
            if !settings.enabled {
                return Passage::Now;
            }
            if let Some(delay) = self.next_delay(stream, settings, stream.generation.get()) {
                slot.call(hook);
                return self.pass(slot, stream, delay);
            }
        }
    }

    /// The delay of the next send; `None` where the page has a newer generation.
    #[inline(always)]
    fn next_delay(&self, stream: &Stream, settings: Settings, generation: u64) -> Option<u32> {
        match settings.order {
            Order::Drawn => {
                let index = stream.generator.next_index(settings.generator);
                self.page.delay(generation, index)
            }
            Order::ByMessage | Order::ByTime => Some(self.replayed(stream, settings.order)),
        }
    }

    /// The delay that was recorded. Without a clock there is no time to go by, and it goes by message.
    #[inline(never)]
    fn replayed(&self, stream: &Stream, order: Order) -> u32 {
        let Some(Replay { recording, began }) = self.replay else {
            return 0;
        };
        let seed = stream.stretches.get();
        if order == Order::ByTime && !self.is_blind() {
            let now = match stream.entered.get() {
                entered if entered > 0 && self.clock.reads_counter() => entered,
                _ => self.clock.now(),
            };
            // A replay may have begun before the counter was 0.
            let ticks = now.wrapping_sub(began).cast_signed().max(0).cast_unsigned();
            let elapsed = self.clock.ticks_to_ns(ticks);
            return replay::at_time(recording, elapsed, seed);
        }
        let (delay, place) = stream.place.get().next(recording, seed);
        stream.place.set(place);
        delay
    }

    #[inline(never)]
    fn pass(&self, slot: Slot, stream: &Stream, delay: u32) -> Passage {
        let settings = stream.settings.get();
        match (settings.unit, settings.mode) {
            (DelayUnit::Nanoseconds, _) if self.is_blind() => self.count_out(slot, delay),
            (DelayUnit::Nanoseconds, Mode::Pace) => {
                slot.asked(delay);
                self.pace(slot, stream, delay);
            }
            _ if delay == 0 => slot.asked(delay),
            (DelayUnit::Spins, _) => {
                slot.asked(delay);
                count_to(delay);
            }
            (DelayUnit::Nanoseconds, Mode::Spin) => {
                slot.asked(delay);
                self.spin(slot, stream, delay);
            }
            (DelayUnit::Nanoseconds, Mode::Defer) => {
                let start = self.entered(stream);
                return Passage::Defer(Delay {
                    start,
                    due: start + self.clock.ns_to_ticks(u64::from(delay)),
                    asked_ns: Some(delay),
                });
            }
        }
        Passage::Now
    }

    /// When the send that is under way began, a reading of the clock.
    #[inline(always)]
    fn entered(&self, stream: &Stream) -> u64 {
        match stream.entered.replace(0) {
            entered if entered > 0 && self.clock.reads_counter() => entered,
            _ => self.clock.now(),
        }
    }

    #[inline(always)]
    fn spin(&self, slot: Slot, stream: &Stream, delay_ns: u32) {
        let start = self.entered(stream);
        let ticks = self.clock.ns_to_ticks(u64::from(delay_ns));
        let is_long = delay_ns >= REHEARSED_NS;
        let compensation = match is_long {
            true => self.compensation.long,
            false => self.compensation.short,
        };
        let due = start + ticks.saturating_sub(compensation);
        if is_long {
            self.clock.wait_until(due - self.rehearsal);
            // The compiler must not see that nothing is added.
            let nothing = std::hint::black_box(0);
            slot.achieved(nothing, nothing);
        }
        let end = self.clock.wait_until(due);
        let achieved = end - start + compensation;
        slot.achieved(achieved, achieved.saturating_sub(ticks));
    }

    /// Waits without a clock. That what was asked is achieved is taken for granted: nobody can look.
    #[cold]
    fn count_out(&self, slot: Slot, delay_ns: u32) {
        slot.asked(delay_ns);
        let rounds = u64::from(delay_ns) * self.blind.load(Ordering::Relaxed) / 1_000;
        count_to(u32::try_from(rounds).unwrap_or(u32::MAX));
        slot.achieved(self.clock.ns_to_ticks(u64::from(delay_ns)), 0);
    }

    /// Waits until the last send is `gap_ns` ago. Counted as achieved is the gap where it was waited
    /// for; where the program took longer by itself, and before the first send, what was asked.
    fn pace(&self, slot: Slot, stream: &Stream, gap_ns: u32) {
        let gap = self.clock.ns_to_ticks(u64::from(gap_ns));
        let (last, now) = (stream.last.get(), self.clock.now());
        let went = if last == 0 || now >= last + gap {
            slot.achieved(gap, 0);
            now
        } else {
            let end = self.clock.wait_until(last + gap);
            slot.achieved(end - last, end - last - gap);
            end
        };
        stream.last.set(went);
    }

    /// Counts a delay that is over now, if it was not counted before: asked and achieved together.
    pub fn is_over(&self, slot: Slot, delay: &mut Delay) {
        if let Some(asked_ns) = delay.asked_ns.take() {
            let now = self.clock.now();
            slot.asked(asked_ns);
            slot.achieved(
                now.saturating_sub(delay.start),
                now.saturating_sub(delay.due),
            );
        }
    }

    /// Waits a delay out in the thread that drew it.
    pub fn wait_out(&self, stream: &Stream, mut delay: Delay) {
        self.clock.wait_until(delay.due);
        if let Some(slot) = stream.slot() {
            self.is_over(slot, &mut delay);
        }
    }

    /// A slot of counters for a thread that sends on behalf of others.
    pub fn claim_slot(&self) -> Slot {
        self.page.claim()
    }

    /// Takes the page's settings into the thread's own.
    fn refresh(&self, stream: &Stream) {
        let (generation, settings) = self.page.head();
        if stream.slot().is_none() {
            stream.set_slot(Some(self.page.claim()));
        }
        let before = stream.settings.replace(settings);
        let first = stream.generation.replace(generation) == 0;
        // The delays that were only counted are drawn, or do not matter any more.
        let pending = stream.pending.replace(0);
        if first || before.seedings != settings.seedings || before.generator != settings.generator {
            stream
                .generator
                .seed(seed::stream(settings.seed, self.rank, stream.lineage.get()));
            stream.place.set(Place::START);
        } else {
            stream.generator.skip(pending);
        }
        let rank = match settings.stretch {
            Stretch::All => 0,
            Stretch::Each => self.rank,
        };
        stream.stretches.set(seed::stream(settings.seed, rank, 0));
        stream.zeros.set(match Seen::of(generation).switch() {
            Switch::ZEROS => generation,
            _ => 0,
        });
    }

    /// Measures the time that a delay takes, seen from outside, beyond what was asked.
    ///
    /// The processor foresees the end of a short wait that is always the same. It does not foresee
    /// the end of one that is long or not like the one before, and that costs some 15 to 25 ns more.
    /// Short waits are of both kinds. Their mean is taken off, and the error that this leaves is half
    /// of the difference either way.
    fn measure_overhead(&self) -> Compensation {
        const FORESEEN: Range<u32> = 200..201;
        // Each a nanosecond longer than the last: a clock whose steps are of 10 ns, as on some
        // machines, rounds each of them up by another part of a step.
        const UNFORESEEN: Range<u32> = 1_000..1_064;
        const LONG: Range<u32> = REHEARSED_NS..REHEARSED_NS + 64;
        Compensation {
            short: (self.overhead_of(FORESEEN) + self.overhead_of(UNFORESEEN)) / 2,
            long: self.overhead_of(LONG),
        }
    }

    /// Measures the same for delays of some lengths, in nanoseconds, one after the other. Gives ticks.
    ///
    /// The least of some measurements: a processor that has not come this way before, or that shares its core for a
    /// moment, is slower.
    fn overhead_of(&self, delays: Range<u32>) -> u64 {
        const TIMES: usize = 4;
        let least = (0..TIMES).map(|_| self.overhead_once(delays.clone())).min();
        least.unwrap_or(0).max(0) as u64
    }

    /// Measured on the path itself, with counters that nobody reads.
    fn overhead_once(&self, delays: Range<u32>) -> i64 {
        const ROUNDS: usize = 64;
        static SCRATCH: Counters = Counters::new();
        let slot = Slot::own(&SCRATCH);
        let stream = Stream::new();
        let mut extra = [0; ROUNDS];
        for (round, delay_ns) in extra.iter_mut().zip(delays.cycle()) {
            let before = self.clock.now();
            let empty = self.clock.now() - before;
            let start = self.clock.now();
            stream.enter(Clock::counter());
            std::hint::black_box(self.pass(
                slot,
                std::hint::black_box(&stream),
                std::hint::black_box(delay_ns),
            ));
            let whole = self.clock.now() - start;
            let asked = self.clock.ns_to_ticks(u64::from(delay_ns));
            *round = whole as i64 - (empty + asked) as i64;
        }
        extra.sort_unstable();
        // The mean of the middle half: a median would be as coarse as the clock.
        let middle = &extra[ROUNDS / 4..ROUNDS * 3 / 4];
        middle.iter().sum::<i64>() / middle.len() as i64
    }
}

/// The paper's busy wait (Algorithm 2): a variable, counted up. How long a round takes depends on the
/// processor and its clock frequency. The paper's variable is static; here each call has its own, for
/// threads that count at the same time would slow each other down.
#[inline(never)]
pub fn count_to(rounds: u32) {
    let count = AtomicU64::new(0);
    // A compiler that sees everybody who uses the variable sees that nobody needs it, and leaves
    // the loop out, atomic or not: the paper's variable is volatile.
    let count = std::hint::black_box(&count);
    count.store(0, Ordering::Relaxed);
    for _ in 0..rounds {
        count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }
}
