//! Reading live pages: those of a place, or of this process.

use std::collections::BTreeMap;
use std::path::PathBuf;

use jitterlab_base::page::{Attached, Namespaces, Standing, attach};
use jitterlab_stats::histogram::Histogram;

use crate::own::pages;
use crate::page::{Count, Live, Seen, Timing};
use crate::total::{Rank, Update};

/// Adds up pages, and tells what has changed.
pub struct Reader {
    source: Source,
    /// The sum that was told last.
    told: Option<Sum>,
}

/// Reads the pages of this process.
pub fn own_reader() -> Reader {
    Reader {
        source: Source::Process,
        told: None,
    }
}

enum Source {
    Process,
    Place {
        path: PathBuf,
        pages: BTreeMap<PathBuf, Attached<Live>>,
    },
}

/// Pages added up.
#[derive(Clone, PartialEq)]
struct Sum {
    /// The latest part that any of them is at.
    part: u64,
    label: String,
    /// Samples that are not of that part.
    before: u64,
    max: u64,
    counts: BTreeMap<Count, u64>,
    timing: Option<Timing>,
    ranks: BTreeMap<u64, Rank>,
    /// Samples of that part.
    histogram: Histogram,
}

impl Reader {
    /// The reader of the pages in a place.
    pub fn of_place(place: PathBuf) -> Self {
        Reader {
            source: Source::Place {
                path: place,
                pages: BTreeMap::new(),
            },
            told: None,
        }
    }

    /// True if a process that published, as far as was read, may go on.
    pub fn is_written(&self) -> bool {
        match &self.source {
            Source::Process => true,
            Source::Place { pages, .. } => running(pages.values()).next().is_some(),
        }
    }

    /// The number here of a process that publishes in the place, as far as was read; none where it has none here.
    pub fn process(&self) -> Option<u32> {
        match &self.source {
            Source::Process => Some(std::process::id()),
            Source::Place { pages, .. } => running(pages.values()).flatten().next(),
        }
    }

    /// The update since it was asked last; none if nothing was published.
    pub fn update(&mut self) -> Option<Update> {
        let sum = Sum::of(self.source.seen())?;
        if self.told.as_ref() == Some(&sum) {
            return None;
        }
        let earlier = self
            .told
            .as_ref()
            .filter(|told| told.part == sum.part)
            .and_then(|told| sum.histogram.since(&told.histogram).ok());
        let update = Update {
            part: sum.part,
            label: sum.label.clone(),
            before: sum.before,
            max_ns: sum.max,
            counts: sum.counts.clone(),
            timing: sum.timing,
            ranks: sum.ranks.clone(),
            starts_over: earlier.is_none(),
            more: earlier.unwrap_or_else(|| sum.histogram.clone()),
        };
        self.told = Some(sum);
        Some(update)
    }
}

/// The numbers of the processes that go on.
fn running<'a>(
    pages: impl Iterator<Item = &'a Attached<Live>>,
) -> impl Iterator<Item = Option<u32>> {
    let here = Namespaces::own();
    pages.filter_map(move |page| match page.standing(here) {
        Standing::Runs(pid) => Some(pid),
        _ => None,
    })
}

impl Source {
    fn seen(&mut self) -> Vec<Seen> {
        match self {
            Source::Process => pages().into_iter().filter_map(Live::seen).collect(),
            Source::Place { path, pages } => {
                let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
                for file in entries.map(|entry| entry.path()) {
                    // One that is being made is no page yet.
                    if !pages.contains_key(&file)
                        && let Ok(page) = attach(&file)
                    {
                        pages.insert(file, page);
                    }
                }
                pages.values().filter_map(|page| page.seen()).collect()
            }
        }
    }
}

impl Seen {
    /// The figures of its rank. A rank at another part of the program has no samples of this one.
    fn of_rank(&self, part: u64) -> Rank {
        let iterations = self.counts[Count::Iterations as usize];
        if self.part != part {
            return Rank {
                iterations,
                ..Rank::default()
            };
        }
        // A bucket is told by its highest value.
        let at = |share| self.histogram.quantile(share).unwrap_or(0).min(self.max);
        Rank {
            samples: self.histogram.count(),
            median_ns: at(0.5),
            p99_ns: at(0.99),
            max_ns: self.max,
            iterations,
        }
    }
}

impl Sum {
    /// The sum of pages; `None` if there are none, or none has begun a part.
    fn of(pages: Vec<Seen>) -> Option<Self> {
        let latest = pages.iter().max_by_key(|page| page.part)?;
        let mut sum = Sum {
            part: latest.part,
            label: latest.label.clone(),
            before: 0,
            max: 0,
            counts: BTreeMap::new(),
            timing: latest.timing,
            ranks: BTreeMap::new(),
            histogram: Histogram::new(),
        };
        for page in pages {
            if let Some(rank) = page.rank {
                sum.ranks.insert(rank, page.of_rank(sum.part));
            }
            sum.before += page.before;
            for (count, n) in Count::ALL.iter().zip(page.counts) {
                if n > 0 {
                    *sum.counts.entry(*count).or_default() += n;
                }
            }
            if page.part == sum.part {
                sum.max = sum.max.max(page.max);
                sum.histogram.add(&page.histogram);
            } else {
                sum.before += page.histogram.count();
            }
        }
        (sum.part > 0).then_some(sum)
    }
}
