//! The content of a live page.

use std::sync::atomic::{AtomicU64, Ordering, fence};

use jitterlab_base::page::{Content, Head, Owner, set_text, slots, text};
use jitterlab_base::{named, shared};
use jitterlab_stats::histogram::{Histogram, buckets};

/// A count beside samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Count {
    /// Messages without an answer.
    Lost,
    /// Messages that were sent.
    Messages,
    /// Bytes that were sent.
    Bytes,
    /// Iterations that are done.
    Iterations,
    /// Iterations that there are to be.
    Planned,
}

named!(
    Count, serde, "a count: lost, messages, bytes, iterations or planned",
    Lost => "lost",
    Messages => "messages",
    Bytes => "bytes",
    Iterations => "iterations",
    Planned => "planned",
);

/// When messages are sent whose times are published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timing {
    /// The next one waits for the last answer.
    ClosedLoop = 1,
    /// Each is due at a time of its own, and its sample counts from then.
    OpenLoop,
}

named!(Timing, serde, ClosedLoop => "closed loop", OpenLoop => "open loop");

shared! {
    /// The page of a thread that measures, in parts: a part is a point of a case, as a size of its messages.
    pub struct Live {
        head: Head,
        /// The number of the part, twice; odd while the next part is made ready.
        epoch: AtomicU64,
        /// The name of the part.
        part: [AtomicU64; 8],
        /// Samples of the parts before.
        before: AtomicU64,
        /// The highest sample of the part.
        max: AtomicU64,
        counts: [AtomicU64; Count::ALL.len()],
        /// The number of the [`Timing`], from 1; 0 where none was said.
        timing: AtomicU64,
        /// The rank in a parallel program, counted from 1; 0 where none was said.
        rank: AtomicU64,
        /// Samples of the part, at [`buckets::index`].
        buckets: [AtomicU64; buckets::LEN],
    }
}

impl Content for Live {
    const MAGIC: u64 = u64::from_be_bytes(*b"jlabliv\x04");
    const NAME: &'static str = "live page";

    fn head(&self) -> &Head {
        &self.head
    }
}

/// The content of a page at a moment.
pub(crate) struct Seen {
    /// The number of the part, counted from 0, which is none.
    pub part: u64,
    pub label: String,
    pub before: u64,
    pub max: u64,
    pub counts: [u64; Count::ALL.len()],
    pub timing: Option<Timing>,
    pub rank: Option<u64>,
    pub histogram: Histogram,
}

impl Live {
    pub(crate) fn fill(&self) {
        self.head.set_owner(&Owner::own());
    }

    /// The content, all of one part. The one who publishes may go on meanwhile, and is not held up; one that has died
    /// between two parts has none.
    pub(crate) fn seen(&self) -> Option<Seen> {
        const TRIES: usize = 100;
        (0..TRIES).find_map(|_| {
            let epoch = self.epoch.load(Ordering::Acquire);
            if epoch % 2 == 1 {
                std::thread::yield_now();
                return None;
            }
            let load = |word: &AtomicU64| word.load(Ordering::Relaxed);
            let seen = Seen {
                part: epoch / 2,
                label: String::from_utf8_lossy(&text(&self.part)).into_owned(),
                before: load(&self.before),
                max: load(&self.max),
                counts: std::array::from_fn(|count| load(&self.counts[count])),
                timing: Timing::ALL
                    .into_iter()
                    .find(|it| *it as u64 == load(&self.timing)),
                rank: load(&self.rank).checked_sub(1),
                histogram: Histogram::from_counts(self.buckets.iter().map(load)),
            };
            fence(Ordering::Acquire);
            (self.epoch.load(Ordering::Relaxed) == epoch).then_some(seen)
        })
    }
}

/// A thread's way to its page, if it has one. It alone writes there, so nothing is locked and nothing is added atomically:
/// a sample takes a load and a store, and another store if it is the highest so far.
#[derive(Clone, Copy)]
pub struct Publisher(pub(crate) Option<&'static Live>);

impl std::fmt::Debug for Publisher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_some() {
            "to a page"
        } else {
            "to nobody"
        })
    }
}

impl Publisher {
    /// The publisher to no page: nothing is published.
    pub const NOBODY: Publisher = Publisher(None);

    /// A new part begins. This must not be called between two messages: it empties the histogram.
    pub fn begin(self, label: &str) {
        let Some(page) = self.0 else {
            return;
        };
        let epoch = page.epoch.load(Ordering::Relaxed);
        page.epoch.store(epoch + 1, Ordering::Relaxed);
        // Whoever sees one of the stores below also sees that the epoch is odd.
        fence(Ordering::Release);
        let mut samples = 0;
        for bucket in &page.buckets {
            samples += bucket.load(Ordering::Relaxed);
            bucket.store(0, Ordering::Relaxed);
        }
        slots::add(&page.before, samples);
        page.max.store(0, Ordering::Relaxed);
        for word in &page.part {
            word.store(0, Ordering::Relaxed);
        }
        set_text(&page.part, label.as_bytes());
        page.epoch.store(epoch + 2, Ordering::Release);
    }

    /// Says when messages are sent.
    pub fn timed(self, timing: Timing) {
        if let Some(page) = self.0 {
            page.timing.store(timing as u64, Ordering::Relaxed);
        }
    }

    /// Says which rank of a parallel program this is, from 0.
    pub fn ranked(self, rank: usize) {
        if let Some(page) = self.0 {
            page.rank.store(rank as u64 + 1, Ordering::Relaxed);
        }
    }

    /// Publishes a sample, in nanoseconds; it is asked for where there is a page.
    #[inline(always)]
    pub fn sample(self, ns: impl FnOnce() -> u64) {
        if let Some(page) = self.0 {
            let ns = ns();
            slots::add(&page.buckets[buckets::index(ns)], 1);
            if ns > page.max.load(Ordering::Relaxed) {
                page.max.store(ns, Ordering::Relaxed);
            }
        }
    }

    /// Counts something else.
    #[inline(always)]
    pub fn count(self, count: Count, n: u64) {
        if let Some(page) = self.0 {
            slots::add(&page.counts[count as usize], n);
        }
    }
}
