//! The second screen: what takes CPUs away, second by second.

use std::collections::BTreeMap;
use std::path::Path;

use jitterlab_base::units::Nanos;
use jitterlab_node_tuning::cpus::Cpu;
use jitterlab_node_tuning::noise::Noise;
use jitterlab_node_tuning::noise::limits::{self, Figure, Limits};
use jitterlab_node_tuning::noise::report::{Core, NoiseReport};
use jitterlab_node_tuning::system::System;
use jitterlab_node_tuning::topology::Topology;
use jitterlab_stats::histogram::Histogram;

use crate::commands::tune::looked::look;
use crate::commands::ui::action::{Action, Key, Where};
use crate::cpus::visit;
use crate::outcome::Failure;

/// For how long is measured at a time.
const TURN: Nanos = Nanos(1_000_000_000);

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

/// What was found in a second.
#[derive(Debug)]
pub struct Listened {
    /// Where.
    pub place: Where,
    /// What.
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

/// What is known of a CPU.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CpuNoise {
    /// In the last second.
    pub gaps_per_s: f64,
    /// In the last second, from 0 to 1.
    pub lost_share: f64,
    /// In the last second.
    pub longest_ns: u64,
    /// Since the beginning.
    pub longest_of_all_ns: u64,
    /// Limits that the last second exceeds.
    pub exceeds: Vec<Figure>,
    /// The lengths of all gaps since the beginning, in nanoseconds.
    pub gaps: Histogram,
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
    }
}

/// The screen.
#[derive(Debug, Default)]
pub struct NoiseScreen {
    /// Whether it goes on after the second that is being measured.
    pub running: bool,
    /// Whether a second is being measured.
    busy: bool,
    /// Where, as soon as it is known.
    pub place: Option<Where>,
    /// Seconds measured.
    pub seconds: u64,
    /// A longer time between two readings of the clock is a gap.
    pub threshold_ns: u64,
    /// By CPU.
    pub cpus: BTreeMap<Cpu, CpuNoise>,
    /// What exceeds the limits in the last second, in words.
    pub findings: Vec<String>,
    /// Why it has ended by itself.
    pub error: Option<String>,
    /// The CPU whose histogram is large, by its place.
    pub selected: usize,
}

impl NoiseScreen {
    /// Whether a second is being measured.
    pub fn is_busy(&self) -> bool {
        self.busy
    }

    /// Takes in a second; asks for the next one. It is asked for when this one has been drawn: drawing is no noise.
    pub fn take(&mut self, listened: Result<Listened, String>) -> Option<Action> {
        self.busy = false;
        match listened {
            Ok(listened) => self.add(listened),
            Err(error) => {
                self.running = false;
                self.error = Some(error);
            }
        }
        self.running.then(|| self.listen())
    }

    fn listen(&mut self) -> Action {
        self.busy = true;
        Action::Listen(self.place.clone())
    }

    fn add(&mut self, Listened { place, report }: Listened) {
        let findings = match place.emulated {
            true => Vec::new(),
            false => limits::judge(&report, &Limits::default()),
        };
        for core in &report.cores {
            let cpu = self.cpus.entry(core.cpu).or_default();
            cpu.take(core, &findings);
        }
        self.findings = findings.into_iter().map(|it| it.message).collect();
        self.place = Some(place);
        self.threshold_ns = report.threshold_ns;
        self.seconds += 1;
    }

    /// Takes in a key.
    pub fn key(&mut self, key: Key) -> Option<Action> {
        let last = self.cpus.len().saturating_sub(1);
        match key {
            Key::Up => self.selected = self.selected.saturating_sub(1),
            Key::Down => self.selected = (self.selected + 1).min(last),
            Key::Home => self.selected = 0,
            Key::End => self.selected = last,
            Key::Enter if self.running => self.running = false,
            // The last second is not over: it was not the last one.
            Key::Enter if self.busy => self.running = true,
            Key::Enter => {
                *self = NoiseScreen {
                    running: true,
                    ..NoiseScreen::default()
                };
                return Some(self.listen());
            }
            _ => {}
        }
        None
    }
}
