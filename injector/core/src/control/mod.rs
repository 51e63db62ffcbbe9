//! The control page: a shared page ([`jitterlab_base::page`]) through which a running, injected program is
//! observed and changed.
//!
//! The program creates it ([`Page::create`]) as `/dev/shm/jitterlab-<uid>/<pid>`, readable by
//! its user alone, and reads its settings and table from it; others attach ([`Attached`]), and lock it to change it
//! ([`Locked`]). A page outlives a program that is killed: [`programs`] finds those that run, and collects
//! what the others have left.

mod counters;
mod hook;
mod pages;
mod programs;
#[allow(unsafe_code)]
mod report;
mod settings;
mod switch;

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

pub use counters::{Counters, Slot, THREAD_SLOTS, Totals};
pub use hook::{Hook, HookFamily};
pub use pages::{Attached, Created, Locked, attach};
pub use programs::{Collector, Program, programs};
pub use report::Ended;
pub use settings::{Mode, Settings};
pub use switch::{Asked, Switch};

use crate::replay::Order;
use crate::table::TableSource;
use jitterlab_base::clock::Clock;
use jitterlab_base::page::published::{Generation, Published};
use jitterlab_base::page::{Content, Head, Namespaces, Owner, set_text, text};
use jitterlab_base::shared;
use settings::SETTINGS_WORDS;

/// The switch of a page that there is not: nothing is injected.
pub static OFF: Generation = Switch::OFF.alone();
/// The switch of a process that has deferred something, or ends, whatever its page says: sends have to be looked at, for they may
/// have to wait for their turn.
pub static DEFERRING: Generation = Switch::DELAYS.alone();

shared! {
    /// The shared memory itself. Zeroed, it is a page that has not been published.
    pub struct Page {
        head: Head,
        rank: AtomicU64,
        hooks: AtomicU64,
        run: AtomicU64,
        /// Whether the counters have been reported.
        reported: AtomicU64,
        ns_per_tick: AtomicU64,
        compensation_ns: AtomicU64,
        program: [AtomicU64; 8],
        report: [AtomicU64; 512],
        settings: Published<SETTINGS_WORDS>,
        threads: [Counters; THREAD_SLOTS],
    }
}

impl Content for Page {
    const MAGIC: u64 = u64::from_be_bytes(*b"jlabctl\x09");
    const NAME: &'static str = "control page";

    fn head(&self) -> &Head {
        &self.head
    }
}

/// The program that a page belongs to.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Identity {
    /// The process.
    pub pid: u32,
    /// When it started, in the kernel's ticks since boot (field 22 of `/proc/<pid>/stat`): tells
    /// it from a later process of the same number.
    pub start_time: u64,
    /// The namespaces in which its number and its paths mean something.
    pub namespaces: Namespaces,
    /// The `inject run` that it belongs to; 0 where there was none.
    pub run: u64,
    /// The rank in its parallel program, 0 outside one.
    pub rank: u64,
    /// The families of hooks that are on, as a sum of [`HookFamily::bit`].
    pub hooks: u32,
    /// The program's name, its first 64 bytes.
    pub program: String,
    /// The file that is to get its counters when it ends; empty where there is none.
    pub report: PathBuf,
}

impl Page {
    /// The program that it belongs to.
    pub fn identity(&self) -> Identity {
        let load = |word: &AtomicU64| word.load(Ordering::Relaxed);
        let owner = self.head.owner();
        Identity {
            pid: owner.pid,
            start_time: owner.start_time,
            namespaces: owner.namespaces,
            run: load(&self.run),
            rank: load(&self.rank),
            hooks: load(&self.hooks) as u32,
            program: String::from_utf8_lossy(&text(&self.program)).into_owned(),
            report: OsString::from_vec(text(&self.report)).into(),
        }
    }

    fn set_identity(&self, identity: &Identity) {
        let ns_per_tick = Clock::global().ticks_to_ns_f64(1);
        self.head.set_owner(&Owner {
            pid: identity.pid,
            start_time: identity.start_time,
            namespaces: identity.namespaces,
        });
        for (word, value) in [
            (&self.run, identity.run),
            (&self.rank, identity.rank),
            (&self.hooks, identity.hooks.into()),
            (&self.ns_per_tick, ns_per_tick.to_bits()),
        ] {
            word.store(value, Ordering::Relaxed);
        }
        set_text(&self.program, identity.program.as_bytes());
        let report = identity.report.as_os_str().as_bytes();
        // Half a path would be another file.
        if report.len() <= size_of_val(&self.report) {
            set_text(&self.report, report);
        }
    }

    /// Says what is taken off a wait at most, for the report.
    pub(crate) fn set_compensation_ns(&self, compensation_ns: f64) {
        let bits = compensation_ns.to_bits();
        self.compensation_ns.store(bits, Ordering::Relaxed);
    }

    /// The sum of the counters over all threads.
    pub fn totals(&self) -> Totals {
        let ns_per_tick = f64::from_bits(self.ns_per_tick.load(Ordering::Relaxed));
        counters::total(&self.threads, ns_per_tick)
    }

    /// The current settings and table, all of one moment.
    pub fn settings(&self) -> (Settings, TableSource) {
        let mut words = settings::zeroed::<SETTINGS_WORDS>();
        self.settings.read(&mut words);
        settings::decode(&words)
    }

    /// Changes what `change` changes of the settings and table, all at once. Writers exclude each
    /// other: the page's maker changes it before anybody can attach it, others while they hold
    /// its lock.
    fn change(&self, change: impl FnOnce(&mut Settings, &mut TableSource)) {
        let (mut settings, mut table) = self.settings();
        change(&mut settings, &mut table);
        let zeros =
            || settings.order == Order::Drawn && table.entries.iter().all(|&delay| delay == 0);
        let switch = match settings.enabled {
            false => Switch::OFF,
            // A thread that paces needs to know when the last send went.
            true if settings.mode != Mode::Pace && zeros() => Switch::ZEROS,
            true => Switch::DELAYS,
        };
        self.settings
            .publish(&settings::encode(&settings, &table), switch.mark());
    }

    /// The current generation of the settings.
    #[inline(always)]
    pub(crate) fn generation(&self) -> u64 {
        self.settings.generation()
    }

    /// The switch that says whether anything is injected: for a hook that has nothing else to do.
    pub(crate) fn switch(&self) -> &Generation {
        self.settings.mark()
    }

    /// The settings' own words (not the table) of the current generation, for a thread to keep.
    pub(crate) fn head(&self) -> (u64, settings::Head) {
        loop {
            let generation = self.generation();
            if let Some(head) = settings::head(|i| self.settings.word(generation, i)) {
                return (generation, head);
            }
        }
    }

    /// One delay of `generation`'s table; `None` when there is a newer one.
    #[inline(always)]
    pub(crate) fn delay(&self, generation: u64, index: usize) -> Option<u32> {
        self.settings.word(generation, settings::TABLE_AT + index)
    }

    /// A slot of counters for the calling thread.
    pub(crate) fn claim(&'static self) -> Slot {
        counters::claim(&self.threads)
    }
}
