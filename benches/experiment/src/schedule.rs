//! From an experiment to the order of its runs.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;

use jitterlab_base::seed;
use jitterlab_base::units::Nanos;
use jitterlab_packet::transport::Transport;

use crate::level::{Level, LevelKind};
use crate::record::{Phase, SuiteKind};
use crate::spec::{ApplicationCase, Client, Experiment, Hook, LibraryCase, Mpi, Npb, PacketCase};

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
    /// A case of the library suite.
    Library(&'a LibraryCase, &'a Mpi),
    /// A program, with how it is started.
    Application(&'a ApplicationCase, Program<'a>),
}

/// What an application starts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Program<'a> {
    /// A command.
    Client(&'a Client),
    /// One of the NAS Parallel Benchmarks.
    Npb(&'a Npb, &'a Mpi),
}

impl<'a> Work<'a> {
    /// The suite.
    pub fn suite(&self) -> SuiteKind {
        match self {
            Work::Packet(..) => SuiteKind::Packet,
            Work::Library(..) => SuiteKind::Library,
            Work::Application(..) => SuiteKind::Application,
        }
    }

    /// The name of the case.
    pub fn case(&self) -> &str {
        match self {
            Work::Packet(case, _) => case.name(),
            Work::Library(case, _) => case.name(),
            Work::Application(case, _) => &case.name,
        }
    }

    /// What carries the messages, where the suite chooses.
    pub fn transport(&self) -> Option<Transport> {
        match self {
            Work::Packet(_, transport) => Some(*transport),
            Work::Library(..) | Work::Application(..) => None,
        }
    }

    /// The host that measures; delays are injected into what runs there.
    pub fn measures_on(&self) -> &'a str {
        match self {
            Work::Packet(case, _) => &case.from,
            Work::Library(_, mpi) | Work::Application(_, Program::Npb(_, mpi)) => &mpi.on,
            Work::Application(_, Program::Client(client)) => &client.on,
        }
    }

    /// The kinds of level that it is measured at.
    pub fn levels(&self) -> &'a [LevelKind] {
        match self {
            Work::Packet(case, _) => &case.levels,
            Work::Library(case, _) => &case.levels,
            Work::Application(case, _) => &case.levels,
        }
    }

    /// Where delays are injected, if the file says so.
    pub fn hook(&self) -> Option<Hook> {
        match self {
            Work::Application(case, Program::Client(_)) => case.hook,
            _ => self.mpi().map(|mpi| mpi.hook),
        }
    }

    /// How it is started over MPI, if it is.
    pub fn mpi(&self) -> Option<&'a Mpi> {
        match self {
            Work::Library(_, mpi) | Work::Application(_, Program::Npb(_, mpi)) => Some(mpi),
            Work::Packet(..) | Work::Application(_, Program::Client(_)) => None,
        }
    }

    /// How long a run of it takes at least, in seconds, as far as the file tells.
    pub fn least_seconds(&self) -> f64 {
        match self {
            Work::Packet(case, _) => case.warmup.as_secs_f64() + case.duration.as_secs_f64(),
            Work::Library(case, _) => {
                let duration = case.duration.map_or(0.0, Nanos::as_secs_f64);
                case.warmup.as_secs_f64() + duration
            }
            Work::Application(case, _) => case.expected.map_or(1.0, Nanos::as_secs_f64),
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
        .flat_map(|work| {
            let levels = experiment.levels.of(work.levels());
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

fn works(experiment: &Experiment) -> impl Iterator<Item = Work<'_>> {
    let packet = experiment.suites.packet.iter().flat_map(|case| {
        let transports = case.transports.iter();
        transports.map(move |&transport| Work::Packet(case, transport))
    });
    let mpi = experiment.mpi.as_ref();
    let library = experiment.suites.library.iter();
    let library = library.filter_map(move |case| Some(Work::Library(case, mpi?)));
    let application = experiment
        .suites
        .application
        .iter()
        .filter_map(move |case| {
            let client = case.client.as_ref().map(Program::Client);
            let npb = || Some(Program::Npb(case.npb.as_ref()?, mpi?));
            Some(Work::Application(case, client.or_else(npb)?))
        });
    packet.chain(library).chain(application)
}

/// Packets without and under load come first: distributions are fitted to them. What is compared
/// with itself at the level none, operations of MPI and programs, has all its runs in the blocks of
/// one phase.
fn phase_of(work: &Work, level: Level, injects: bool) -> Phase {
    match (work, level) {
        (Work::Packet(..), Level::None | Level::Load { .. }) => Phase::Characterise,
        (Work::Packet(..), Level::Injected { .. }) => Phase::Inject,
        _ if injects => Phase::Inject,
        _ => Phase::Characterise,
    }
}
