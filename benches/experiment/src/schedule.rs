//! From an experiment to the order of its runs.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;

use jitterlab_injector::seed;
use jitterlab_packet::transport::Transport;

use crate::level::{Level, LevelKind};
use crate::record::{Phase, SuiteKind};
use crate::spec::{ApplicationCase, Experiment, PacketCase};

/// A run that is to be done: a case at one level and one repetition.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Run<'a> {
    /// Part of the experiment.
    pub phase: Phase,
    /// The block, counted from 1: every block holds every run of its phase once.
    pub block: u32,
    /// What is measured.
    pub work: Work<'a>,
    /// Under which condition.
    pub level: Level,
    /// The seed of whatever is drawn at random in it. Runs of a block share theirs: their loads
    /// and delays then differ by level alone.
    pub seed: u64,
}

/// What a run measures.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Work<'a> {
    /// A case of the packet suite over one transport.
    Packet(&'a PacketCase, Transport),
    /// A program.
    Application(&'a ApplicationCase),
}

impl<'a> Work<'a> {
    /// The suite.
    pub fn suite(&self) -> SuiteKind {
        match self {
            Work::Packet(..) => SuiteKind::Packet,
            Work::Application(_) => SuiteKind::Application,
        }
    }

    /// The name of the case.
    pub fn case(&self) -> &str {
        match self {
            Work::Packet(case, _) => case.name(),
            Work::Application(case) => &case.name,
        }
    }

    /// What carries the messages, where the suite chooses.
    pub fn transport(&self) -> Option<Transport> {
        match self {
            Work::Packet(_, transport) => Some(*transport),
            Work::Application(_) => None,
        }
    }

    /// The host that measures; delays are injected into what runs there.
    pub fn measures_on(&self) -> &'a str {
        match self {
            Work::Packet(case, _) => &case.from,
            Work::Application(case) => &case.client.on,
        }
    }

    /// How long a run of it takes at least, in seconds, as far as the file tells.
    pub fn least_seconds(&self) -> f64 {
        match self {
            Work::Packet(case, _) => case.warmup.as_secs_f64() + case.duration.as_secs_f64(),
            Work::Application(_) => 1.0,
        }
    }
}

impl Run<'_> {
    /// The name of the run, of which there is one: suite-case-transport.level.repetition.
    pub fn id(&self) -> String {
        let (suite, case) = (self.work.suite().name(), self.work.case());
        let transport = match self.work.transport() {
            Some(transport) => format!("-{transport}"),
            None => String::new(),
        };
        format!(
            "{suite}-{case}{transport}.{}.r{}",
            self.level.id(),
            self.block
        )
    }
}

/// Every run, in the order in which they are done.
///
/// Phase by phase and block by block; within a block in an order drawn from the experiment's seed,
/// so that no level has the same neighbours, or the same share of a drift, in every block.
pub fn schedule(experiment: &Experiment) -> Vec<Run<'_>> {
    let conditions: Vec<(Work, Level)> = works(experiment)
        .flat_map(|(work, kinds)| {
            let levels = experiment.levels.of(kinds);
            levels.into_iter().map(move |level| (work, level))
        })
        .collect();
    let injects = experiment.levels.injected.is_some();
    let mut runs = Vec::with_capacity(conditions.len() * experiment.repetitions as usize);
    for phase in Phase::ALL {
        for block in 1..=experiment.repetitions {
            let stream = seed::stream(experiment.seed, phase as u64, u64::from(block));
            let in_block = runs.len();
            runs.extend(conditions.iter().filter_map(|&(work, level)| {
                (phase_of(&work, level, injects) == phase).then_some(Run {
                    phase,
                    block,
                    work,
                    level,
                    seed: stream,
                })
            }));
            runs[in_block..].shuffle(&mut Xoshiro256PlusPlus::seed_from_u64(stream));
        }
    }
    runs
}

fn works(experiment: &Experiment) -> impl Iterator<Item = (Work<'_>, &[LevelKind])> {
    let packet = experiment.suites.packet.iter().flat_map(|case| {
        let transports = case.transports.iter();
        transports.map(move |&transport| (Work::Packet(case, transport), &case.levels[..]))
    });
    let application = experiment.suites.application.iter();
    packet.chain(application.map(|case| (Work::Application(case), &case.levels[..])))
}

/// Packets without and under load come first: distributions are fitted to them. A program is
/// compared with itself at the level none, so all its runs share the blocks of one phase.
fn phase_of(work: &Work, level: Level, injects: bool) -> Phase {
    match (work, level) {
        (Work::Packet(..), Level::None | Level::Load { .. }) => Phase::Characterise,
        (Work::Packet(..), Level::Injected { .. }) => Phase::Inject,
        (Work::Application(_), _) if injects => Phase::Inject,
        (Work::Application(_), _) => Phase::Characterise,
    }
}
