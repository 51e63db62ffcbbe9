//! The hot path: what happens between a program's call of a send function and the send.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::clock::Clock;
use crate::control::{Hook, Mode, Page, Settings, Slot};
use crate::generator::Generator;
use crate::seed;
use crate::units::DelayUnit;

/// The injection of one process.
pub struct Injection {
    page: &'static Page,
    clock: Clock,
    rank: u64,
    /// What a delay costs over and above the wait itself, in ticks. Taken off every wait.
    compensation: u64,
}

/// What a hook does next with the send that it caught.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Passage {
    /// Perform it: there is nothing to wait for, or it has been waited for.
    Now,
    /// Hand it to the helper thread.
    Defer {
        /// When it is due, a reading of [`Injection::clock`].
        due: u64,
        /// The delay that was drawn, in nanoseconds.
        asked_ns: u32,
    },
}

/// What a thread keeps of its own: where it is in its stream of delays.
///
/// All cells, taken by `&self`, because a signal handler may send in the middle of a send.
pub struct Stream {
    generator: Generator,
    /// The generation of the page that `settings` is of; 0 before the first send.
    generation: Cell<u64>,
    settings: Cell<Settings>,
    lineage: Cell<u64>,
    children: Cell<u64>,
    slot: Cell<Option<Slot>>,
}

impl Injection {
    /// Injection as `page` says, for the process with `rank` in its parallel program (0 outside
    /// one). Measures its own cost first, in well under a millisecond.
    pub fn new(page: &'static Page, clock: &Clock, rank: u64) -> Self {
        let mut injection = Injection {
            page,
            clock: clock.clone(),
            rank,
            compensation: 0,
        };
        injection.compensation = injection.measure_overhead();
        injection
    }

    /// The same injection for a forked child, which has a page of its own.
    pub fn for_child(&self, page: &'static Page) -> Self {
        Injection {
            page,
            clock: self.clock.clone(),
            rank: self.rank,
            compensation: self.compensation,
        }
    }

    /// The page it reads.
    pub fn page(&self) -> &'static Page {
        self.page
    }

    /// The clock that its delays are measured with.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// What is taken off every wait, in nanoseconds: the readings of the clock and the hook.
    pub fn compensation_ns(&self) -> f64 {
        self.clock.ticks_to_ns_f64(self.compensation)
    }

    /// Whether anything is injected at the moment.
    #[inline(always)]
    pub fn is_enabled(&self) -> bool {
        self.page.is_enabled()
    }

    /// Called by a hook when the program sends, before anything else is done.
    ///
    /// In spin mode this is where the delay is waited out.
    #[inline(always)]
    pub fn before_send(&self, stream: &Stream, hook: Hook) -> Passage {
        if self.page.generation() != stream.generation.get() {
            self.refresh(stream);
        }
        let settings = stream.settings.get();
        let Some(slot) = stream.slot.get() else {
            return Passage::Now;
        };
        slot.call(hook);
        if !settings.enabled {
            return Passage::Now;
        }
        let index = stream.generator.next_index(settings.generator);
        let Some(delay) = self.page.delay(stream.generation.get(), index) else {
            return self.before_send_anew(stream);
        };
        self.pass(slot, settings, delay)
    }

    /// The table changed between the two looks at it: draw from the new one.
    #[cold]
    fn before_send_anew(&self, stream: &Stream) -> Passage {
        loop {
            self.refresh(stream);
            let settings = stream.settings.get();
            let Some(slot) = stream.slot.get().filter(|_| settings.enabled) else {
                return Passage::Now;
            };
            let index = stream.generator.next_index(settings.generator);
            if let Some(delay) = self.page.delay(stream.generation.get(), index) {
                return self.pass(slot, settings, delay);
            }
        }
    }

    #[inline(always)]
    fn pass(&self, slot: Slot, settings: Settings, delay: u32) -> Passage {
        slot.asked(delay);
        if delay == 0 {
            return Passage::Now;
        }
        match (settings.unit, settings.mode) {
            (DelayUnit::Spins, _) => count_to(delay),
            (DelayUnit::Nanoseconds, Mode::Spin) => self.spin(slot, delay),
            (DelayUnit::Nanoseconds, Mode::Defer) => {
                let due = self.clock.now() + self.clock.ns_to_ticks(u64::from(delay));
                return Passage::Defer {
                    due,
                    asked_ns: delay,
                };
            }
        }
        Passage::Now
    }

    #[inline(always)]
    fn spin(&self, slot: Slot, delay_ns: u32) {
        let start = self.clock.now();
        let ticks = self.clock.ns_to_ticks(u64::from(delay_ns));
        let end = self
            .clock
            .wait_until(start + ticks.saturating_sub(self.compensation));
        let achieved = end - start + self.compensation;
        slot.achieved(achieved, achieved.saturating_sub(ticks));
    }

    /// Called by the helper thread right after it performed a deferred send.
    pub fn after_deferred_send(&self, slot: Slot, due: u64, asked_ns: u32) {
        let late = self.clock.now().saturating_sub(due);
        slot.achieved(self.clock.ns_to_ticks(u64::from(asked_ns)) + late, late);
    }

    /// A slot of counters for a thread that sends on behalf of others.
    pub fn claim_slot(&self) -> Slot {
        self.page.claim()
    }

    /// Takes the page's settings into the thread's own.
    #[cold]
    #[inline(never)]
    fn refresh(&self, stream: &Stream) {
        let (generation, settings) = self.page.head();
        if stream.slot.get().is_none() {
            stream.slot.set(Some(self.page.claim()));
        }
        let before = stream.settings.replace(settings);
        let first = stream.generation.replace(generation) == 0;
        if first || before.seedings != settings.seedings || before.generator != settings.generator {
            stream
                .generator
                .seed(seed::stream(settings.seed, self.rank, stream.lineage.get()));
        }
    }

    /// The median of what a delay takes, seen from outside, beyond what was asked, in ticks.
    ///
    /// Measured on the path itself, with counters that nobody reads.
    fn measure_overhead(&self) -> u64 {
        const ROUNDS: usize = 255;
        /// Long enough that the wait goes round its loop, short enough to be interrupted rarely.
        const DELAY_NS: u32 = 300;
        static SCRATCH: crate::control::Counters = crate::control::Counters::new();
        let slot = Slot::private(&SCRATCH);
        let settings = std::hint::black_box(Settings {
            enabled: true,
            ..Settings::default()
        });
        let mut extra = [0; ROUNDS];
        for round in &mut extra {
            let before = self.clock.now();
            let empty = self.clock.now() - before;
            let start = self.clock.now();
            std::hint::black_box(self.pass(slot, settings, std::hint::black_box(DELAY_NS)));
            let whole = self.clock.now() - start;
            *round = whole.saturating_sub(empty + self.clock.ns_to_ticks(u64::from(DELAY_NS)));
        }
        extra.sort_unstable();
        extra[ROUNDS / 2]
    }
}

impl Stream {
    /// The stream of a thread that has not sent yet: the main thread's, until
    /// [`Stream::set_lineage`].
    pub const fn new() -> Self {
        Stream {
            generator: Generator::new(),
            generation: Cell::new(0),
            settings: Cell::new(Settings::NONE),
            lineage: Cell::new(0),
            children: Cell::new(0),
            slot: Cell::new(None),
        }
    }

    /// The lineage of the next thread or child process that the calling thread starts.
    pub fn next_child(&self) -> u64 {
        let index = self.children.get();
        self.children.set(index + 1);
        seed::child(self.lineage.get(), index)
    }

    /// Makes this the stream of a newly started thread or process.
    pub fn set_lineage(&self, lineage: u64) {
        self.lineage.set(lineage);
        self.children.set(0);
        self.generation.set(0);
        self.slot.set(None);
    }

    /// Gives the counters back; the thread is about to end.
    pub fn release(&self) {
        if let Some(slot) = self.slot.take() {
            slot.release();
        }
        self.generation.set(0);
    }
}

impl Default for Stream {
    fn default() -> Self {
        Stream::new()
    }
}

/// The paper's busy wait (Algorithm 2): a static variable, counted up so that no compiler can
/// leave it out. How long a round takes depends on the processor and its clock frequency.
#[inline(never)]
pub fn count_to(rounds: u32) {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    COUNT.store(0, Ordering::Relaxed);
    for _ in 0..rounds {
        COUNT.store(COUNT.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }
}
