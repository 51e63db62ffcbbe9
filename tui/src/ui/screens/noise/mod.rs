//! Noise: what takes CPUs away, second by second.

#[cfg(test)]
mod tests;
mod view;

use std::any::Any;
use std::collections::BTreeMap;
use std::path::Path;

use jitterlab_base::show::printable;
use jitterlab_base::units::Nanos;
use jitterlab_node_tuning::cpus::{Cpu, CpuSet};
use jitterlab_node_tuning::noise::Noise;
use jitterlab_node_tuning::noise::limits::{self, Figure, Limits};
use jitterlab_node_tuning::noise::report::{Core, NoiseReport};
use jitterlab_node_tuning::system::System;
use jitterlab_node_tuning::topology::Topology;
use jitterlab_stats::histogram::Histogram;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::commands::tune::looked::look;
use crate::cpus::visit;
use crate::outcome::Failure;
use crate::ui::action::{Action, News, Task};
use crate::ui::keys::{Binding, Hint, Key, MOVES, command, hints, moved};
use crate::ui::parts::sweep::Sweep;
use crate::ui::screen::Screen;
use crate::ui::theme::Theme;

/// The time that is measured at once.
const TURN: Nanos = Nanos(1_000_000_000);

/// The CPUs whose noise is measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Where {
    /// The CPUs; all that can be used, where no tuning says which measure.
    pub cpus: Option<CpuSet>,
    /// True if the processors are an emulator's, whose noise is not judged.
    pub emulated: bool,
}

impl Where {
    /// The CPUs that `jitterlab check` would take, or else those of `jitterlab noise run`.
    ///
    /// # Errors
    /// The node cannot be looked at.
    pub fn find() -> Result<Self, Failure> {
        // Nothing is started, since nothing is changed.
        let survey = look(&System::at("/", ""))?.survey;
        let topology = Topology::read(Path::new("/")).map_err(Failure::run)?;
        Ok(Where {
            cpus: survey.ok().map(|survey| survey.plan.measuring),
            emulated: topology.is_emulated(),
        })
    }
}

/// The findings of a second.
#[derive(Debug)]
pub struct Listened {
    /// The CPUs.
    pub place: Where,
    /// The report.
    pub report: NoiseReport,
}

impl Listened {
    /// Measures for a second. This process may be in the partition of the CPUs meanwhile, and not after.
    ///
    /// # Errors
    /// It cannot be measured there.
    pub fn at(place: Where) -> Result<Self, Failure> {
        let noise = Noise {
            cpus: place.cpus.clone(),
            duration: TURN,
            threshold: None,
            root: "/".into(),
        };
        let report = match &place.cpus {
            Some(cpus) => visit(cpus, || noise.run())?,
            None => noise.run(),
        };
        let report = report.map_err(Failure::run)?;
        Ok(Listened { place, report })
    }
}

/// The noise of a CPU.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CpuNoise {
    /// The gaps in the last second.
    pub gaps_per_s: f64,
    /// The share that was lost in the last second, from 0 to 1.
    pub lost_share: f64,
    /// The longest gap in the last second.
    pub longest_ns: u64,
    /// The longest gap since the beginning.
    pub longest_of_all_ns: u64,
    /// Limits that the last second exceeds.
    pub exceeds: Vec<Figure>,
    /// The lengths of all gaps since the beginning, in nanoseconds.
    pub gaps: Histogram,
    /// The share that was lost in each of the last seconds.
    pub lost: Sweep<f64>,
}

impl CpuNoise {
    fn take(&mut self, core: &Core, findings: &[limits::Finding]) {
        self.gaps_per_s = core.gaps_per_s;
        self.lost_share = core.lost_share;
        self.longest_ns = core.longest_ns;
        self.longest_of_all_ns = self.longest_of_all_ns.max(core.longest_ns);
        let own = findings.iter().filter(|finding| finding.cpu == core.cpu);
        self.exceeds = own.map(|finding| finding.figure).collect();
        self.gaps.add(&core.histogram);
        self.lost.push(core.lost_share);
    }
}

/// A second of noise, or why there is none.
pub type Second = Result<Listened, String>;

/// Measures noise for a second; where, if it is known already.
#[derive(Debug)]
struct Listen(Option<Where>);

impl Task for Listen {
    fn run(self: Box<Self>, tell: &mut dyn FnMut(News)) {
        let place = self.0.map_or_else(Where::find, Ok);
        let second = place.and_then(Listened::at);
        let second: Second = second.map_err(|failure| printable(&failure.to_string()));
        tell(Box::new(second));
    }

    fn leaves_housekeeping(&self) -> bool {
        true
    }
}

#[derive(Debug, Clone, Copy)]
enum Does {
    Choose,
    BeginOrEnd,
}

const CHOOSE: Binding<Does> = Binding {
    keys: MOVES,
    does: "choose CPU",
    command: Does::Choose,
};
const ENDED: &[Binding<Does>] = &[
    Binding {
        keys: &[Key::Enter],
        does: "begin",
        command: Does::BeginOrEnd,
    },
    CHOOSE,
];
const RUNNING: &[Binding<Does>] = &[
    Binding {
        keys: &[Key::Enter],
        does: "end",
        command: Does::BeginOrEnd,
    },
    CHOOSE,
];

/// The screen.
pub fn screen() -> Box<dyn Screen> {
    Box::new(NoiseScreen::default())
}

#[derive(Debug, Default)]
struct NoiseScreen {
    /// True if it goes on after the second that is being measured.
    running: bool,
    /// True if a second is being measured.
    busy: bool,
    /// The CPUs, as soon as they are known.
    place: Option<Where>,
    /// Seconds measured.
    seconds: u64,
    /// A longer time between two readings of the clock is a gap.
    threshold_ns: u64,
    /// The noise of each CPU.
    cpus: BTreeMap<Cpu, CpuNoise>,
    /// The findings that exceed the limits in the last second, in words.
    findings: Vec<String>,
    /// Why it has ended by itself.
    error: Option<String>,
    /// The CPU whose histogram is large, by its place.
    selected: usize,
}

impl NoiseScreen {
    fn bindings(&self) -> &'static [Binding<Does>] {
        if self.running { RUNNING } else { ENDED }
    }

    fn listen(&mut self) -> Action {
        self.busy = true;
        Action::work(Listen(self.place.clone()))
    }

    fn add(&mut self, Listened { place, report }: &Listened) {
        let findings = match place.emulated {
            true => Vec::new(),
            false => limits::judge(report, &Limits::default()),
        };
        for core in &report.cores {
            let cpu = self.cpus.entry(core.cpu).or_default();
            cpu.take(core, &findings);
        }
        self.findings = findings.into_iter().map(|it| it.message).collect();
        self.place = Some(place.clone());
        self.threshold_ns = report.threshold_ns;
        self.seconds += 1;
    }

    fn begin_or_end(&mut self) -> Option<Action> {
        match (self.running, self.busy) {
            (true, _) => self.running = false,
            // The last second is not over: it was not the last one.
            (false, true) => self.running = true,
            (false, false) => {
                *self = NoiseScreen {
                    running: true,
                    ..NoiseScreen::default()
                };
                return Some(self.listen());
            }
        }
        None
    }
}

impl Screen for NoiseScreen {
    fn name(&self) -> &'static str {
        "Noise"
    }

    fn hints(&self) -> Vec<Hint> {
        hints(self.bindings())
    }

    fn measures(&self) -> bool {
        self.busy
    }

    fn key(&mut self, key: Key, _measures: bool) -> Option<Action> {
        match command(self.bindings(), key)? {
            Does::Choose => {
                let moved = moved(key, self.selected, self.cpus.len());
                self.selected = moved.unwrap_or(self.selected);
                None
            }
            Does::BeginOrEnd => self.begin_or_end(),
        }
    }

    /// Takes in a second; asks for the next one. It is asked for when this one has been drawn: drawing is no noise.
    fn take(&mut self, news: &dyn Any) -> Option<Action> {
        let second: &Second = news.downcast_ref()?;
        self.busy = false;
        match second {
            Ok(listened) => self.add(listened),
            Err(error) => {
                self.running = false;
                self.error = Some(error.clone());
            }
        }
        self.running.then(|| self.listen())
    }

    fn draw(&mut self, buffer: &mut Buffer, area: Rect, theme: Theme) {
        view::draw(buffer, area, self, theme);
    }
}
