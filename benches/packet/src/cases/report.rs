//! The report of a case, in the form that is printed, stored and read back.

use jitterlab_base::clock::{Clock, Source};
use jitterlab_base::print::{Part, Text};
use jitterlab_base::show;
use jitterlab_base::units::Bytes;
use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::Pid;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::Case;
use crate::transport::{Link, Path, Transport, Wait};

/// A report of a case that measures point by point: by size, pattern, way or number of slaves.
///
/// A field that may have no value is stored as null: one that is not there at all is refused.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Report<P: Point> {
    /// The case.
    pub case: Case,
    /// The setting of the measurements.
    #[serde(flatten)]
    pub setting: Setting,
    /// The other settings that hold for all points.
    #[serde(flatten)]
    pub common: P::Common,
    /// The points, in the order in which they were measured.
    pub points: Vec<P>,
}

/// A point of a report.
pub trait Point: Sized + Serialize + DeserializeOwned + 'static {
    /// The settings that hold for all points of a report; `()` where there are none.
    type Common: Serialize + DeserializeOwned;

    /// The columns of its table for people; the first one names the point.
    const COLUMNS: &'static [Column<Self>];

    /// True if it ended before its time because there was no memory left for samples.
    fn memory_full(&self) -> bool;

    /// The head of the text behind the case: what carried the messages, and how they were waited for.
    fn head(_report: &Report<Self>) -> String {
        String::new()
    }

    /// The rest of the text, behind the table of points.
    fn rest(_report: &Report<Self>) -> Vec<Part> {
        Vec::new()
    }
}

/// A column of a table for people: its name, and what it says of a point.
pub type Column<P> = (&'static str, fn(&P) -> String);

impl<P: Point> Text for Report<P> {
    fn parts(&self) -> Vec<Part> {
        let setting = &self.setting;
        let (over, waiting) = (setting.over(), setting.waiting());
        let head = format!("{}{over}{waiting}{}", self.case, P::head(self));
        let mut parts = vec![Part::Line(head), table(P::COLUMNS, &self.points)];
        parts.extend(P::rest(self));
        parts.push(Part::Line(setting.clock()));
        let (named_by, name) = P::COLUMNS[0];
        let full = self.points.iter().filter(|point| point.memory_full());
        let names: Vec<String> = full.map(name).collect();
        if !names.is_empty() {
            let names = names.join(", ");
            parts.push(Part::Line(format!("{MEMORY_FULL}: {named_by} {names}")));
        }
        parts
    }
}

/// The words about a measurement without memory for more samples.
pub(super) const MEMORY_FULL: &str = "ended before its time, the memory for samples was full";

/// A table of some rows.
pub(super) fn table<P>(columns: &[Column<P>], rows: &[P]) -> Part {
    let names = columns.iter().map(|(name, _)| (*name).to_string());
    let row = |row| columns.iter().map(|(_, cell)| cell(row)).collect();
    let rows = rows.iter().map(row);
    Part::Table(std::iter::once(names.collect()).chain(rows).collect())
}

/// A size for people, which names a point: exact.
pub(super) fn size(bytes: u64) -> String {
    Bytes(bytes).to_string()
}

/// The setting in which a case was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    /// The transport.
    pub transport: Transport,
    /// The path of this end, where the transport knows it, and all messages went over the same.
    #[serde(deserialize_with = "Option::deserialize")]
    pub path: Option<Path>,
    /// The way that messages were waited for, if it was one for all.
    #[serde(deserialize_with = "Option::deserialize")]
    pub wait: Option<Wait>,
    /// The CPUs that the measuring thread may run on.
    pub cpus: Vec<usize>,
    /// The clock that times were measured with.
    pub clock: Source,
    /// Time that one reading takes.
    pub clock_read_ns: f64,
    /// Smallest step between two readings.
    pub clock_resolution_ns: f64,
}

impl Setting {
    /// The setting of the calling thread.
    pub fn now(link: &Link, wait: impl Into<Option<Wait>>, path: Option<Path>) -> Self {
        let clock = Clock::global();
        Setting {
            transport: link.transport(),
            path,
            wait: wait.into(),
            cpus: allowed_cpus(),
            clock: clock.source(),
            clock_read_ns: clock.read_cost_ns(),
            clock_resolution_ns: clock.resolution_ns(),
        }
    }

    /// The carrier of the messages for people, to follow what was measured.
    pub(super) fn over(&self) -> String {
        let path = self.path.as_ref();
        let path = path.map_or(String::new(), |path| format!(" ({path})"));
        format!(" over {}{path}", self.transport)
    }

    /// The way that they were waited for, to follow something else.
    pub(super) fn waiting(&self) -> String {
        self.wait.map_or(String::new(), |wait| format!(", {wait}"))
    }

    /// The place of the measurement and its clock, for people.
    pub(super) fn clock(&self) -> String {
        let on = match self.cpus[..] {
            [cpu] => format!("on CPU {cpu}; "),
            _ => String::new(),
        };
        format!(
            "{on}clock: a reading takes {}",
            show::time(self.clock_read_ns)
        )
    }
}

/// None where the system does not say.
fn allowed_cpus() -> Vec<usize> {
    let set = sched_getaffinity(Pid::from_raw(0)).unwrap_or_default();
    (0..CpuSet::count())
        .filter(|&cpu| set.is_set(cpu).unwrap_or(false))
        .collect()
}
