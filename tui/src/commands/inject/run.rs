//! `inject run`.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process;
use std::time::{SystemTime, UNIX_EPOCH};

use jitterlab_base::seed;
use jitterlab_base::units::Nanos;
use jitterlab_injector::control::{HookFamily, Mode};
use jitterlab_injector::environment;
use jitterlab_injector::generator::GeneratorKind;
use jitterlab_injector::recording::Recording;
use jitterlab_injector::replay::{Order, Stretch};
use jitterlab_injector::table::DelayUnit;
use jitterlab_injector::table::DistributionTable;
use nix::unistd::AccessFlags;

use super::{collect, launcher};
use crate::files;
use crate::outcome::{Exit, Failure};
use jitterlab_doctor::beforehand::{self, Limit};
use jitterlab_doctor::elf;

/// Options of `inject run`.
#[derive(clap::Args)]
#[command(group(clap::ArgGroup::new("delays").required(true).args(["delay", "table", "replay"])))]
pub struct Run {
    /// One delay for every send, such as 50us
    #[arg(long)]
    delay: Option<Nanos>,
    /// A distribution table; each send takes a delay drawn from it
    #[arg(long)]
    table: Option<PathBuf>,
    /// A file of recorded delays, made by `jitterlab dist record`. They are injected in the recorded order
    #[arg(long)]
    replay: Option<PathBuf>,
    /// Each send takes the next recorded delay. Without this option, time decides: a send one second after the start of the program
    /// takes the delay that was recorded one second after the start of the recording
    #[arg(long, conflicts_with_all = ["delay", "table"])]
    by_message: bool,
    /// Each MPI rank starts at its own place in the recording [default: all ranks start at the same place]
    #[arg(long, conflicts_with_all = ["delay", "table"])]
    each_rank: bool,
    /// File with the seed, which is one integer. The same seed gives the same delays [default: the seed is 1]
    #[arg(long, value_name = "FILE")]
    seed: Option<PathBuf>,
    /// The calls that are delayed: verbs, socket, mpi, mpi-collectives, uct
    #[arg(long, value_delimiter = ',', default_value = "verbs,socket")]
    hook: Vec<HookFamily>,
    /// spin: the caller waits, then sends. defer: a helper thread sends later (socket and verbs only).
    /// pace: the delay is the least time between two sends
    #[arg(long, default_value = "spin")]
    mode: Mode,
    /// Random number generator: pcg, or lcg (as in the paper on latency variation that docs/distributions.md names)
    #[arg(long, default_value = "pcg", conflicts_with = "replay")]
    generator: GeneratorKind,
    /// Unit of a table file that has no header line: ns (nanoseconds) or spins (turns of a waiting loop)
    #[arg(long, default_value = "ns", conflicts_with_all = ["delay", "replay"])]
    unit: DelayUnit,
    /// When the program ends, append the counts of sends and delays to this file, as a line of JSON
    #[arg(long)]
    report: Option<PathBuf>,
    /// The program and its arguments
    #[arg(last = true, required = true)]
    program: Vec<OsString>,
}

impl Run {
    pub fn run(self) -> Result<Exit, Failure> {
        match beforehand::limit(&self.program) {
            Some(Limit::DoesNotStart(why)) => return Err(Failure::input(why)),
            Some(Limit::Injects(why)) => eprintln!("jitterlab: {why}"),
            None => {}
        }
        let preloaded = preload(&library()?);
        self.start(preloaded, Self::say)
    }

    /// Says what was left to a default.
    fn say(&self) {
        match self.delay {
            Some(delay) => eprintln!(
                "jitterlab: each send over {} gets a delay of {delay} (mode {})",
                names(&self.hook).join(" and "),
                self.mode.name()
            ),
            None if self.seed.is_none() => {
                let seed = seed::DEFAULT;
                let what = match self.replay {
                    Some(_) => "where in the recording the delays begin",
                    None => "the delays",
                };
                eprintln!("jitterlab: seed {seed} draws {what}; --seed FILE gives another seed");
            }
            None => {}
        }
    }

    /// Does as `run`, for the doctor. It has a finding for what limits injection, and sees the program's sends where the
    /// library cannot be.
    pub fn start_watched(self) -> Result<Exit, Failure> {
        match beforehand::limit(&self.program) {
            Some(Limit::DoesNotStart(_)) => {
                self.start(std::env::var_os("LD_PRELOAD").unwrap_or_default(), |_| {})
            }
            _ => self.start(preload(&library()?), |_| {}),
        }
    }

    /// The unit of the delays; refuses what the library could not use.
    fn unit(&self) -> Result<DelayUnit, Failure> {
        if let Some(path) = &self.replay {
            Recording::load(path).map_err(Failure::input)?;
            return Ok(DelayUnit::Nanoseconds);
        }
        let table = match (&self.table, self.delay) {
            (Some(path), _) => DistributionTable::load(path, self.unit).map_err(Failure::input)?,
            (None, delay) => {
                DistributionTable::constant(delay.unwrap_or_default()).map_err(Failure::input)?
            }
        };
        Ok(table.unit())
    }

    /// Becomes the program. `say` is called when nothing is found wrong.
    fn start(self, preloaded: OsString, say: impl FnOnce(&Self)) -> Result<Exit, Failure> {
        let table_file = self.table.as_deref().map(lasting).transpose()?;
        let replay_file = self.replay.as_deref().map(lasting).transpose()?;
        let seed_file = self.seed.as_deref().map(lasting).transpose()?;
        let unit = self.unit()?;
        if let Some(seed) = &self.seed {
            seed::load(seed).map_err(Failure::input)?;
        }
        let hooks = self.hook.iter().fold(0, |set, family| set | family.bit());
        if let Some(obstacle) = self.mode.obstacle(unit, hooks) {
            return Err(Failure::input(obstacle));
        }
        let report = self.report.as_deref().map(report_file).transpose()?;
        let (program, arguments) = self
            .program
            .split_first()
            .ok_or_else(|| Failure::input("no program is given"))?;
        let mut command = process::Command::new(program);
        let delay = self.delay.map(|delay| delay.to_string().into());
        let began = self.replay.as_ref().map(|_| now_ns().to_string().into());
        let order = match self.by_message {
            true => Order::ByMessage,
            false => Order::ByTime,
        };
        let stretch = match self.each_rank {
            true => Stretch::Each,
            false => Stretch::All,
        };
        for (name, value) in [
            (environment::TABLE, table_file.map(OsString::from)),
            (environment::DELAY, delay),
            (environment::REPLAY, replay_file.map(OsString::from)),
            (environment::BEGAN, began),
            (environment::SEED, seed_file.map(OsString::from)),
        ] {
            match value {
                Some(value) => command.env(name, value),
                // One that `inject run` around this one has set.
                None => command.env_remove(name),
            };
        }
        command
            .env(environment::HOOKS, names(&self.hook).join(","))
            .env(environment::MODE, self.mode.name())
            .env(environment::GENERATOR, self.generator.name())
            .env(environment::UNIT, self.unit.name())
            .env(environment::ORDER, order.name())
            .env(environment::STRETCH, stretch.name())
            .env(environment::LINEAGE, environment::NO_LINEAGE)
            .env_remove(environment::SILENT)
            .env("LD_PRELOAD", preloaded);
        match report {
            Some(report) => {
                let run = collect::start(&report)?;
                command
                    .env(environment::REPORT, report)
                    .env(environment::RUN, run);
            }
            None => {
                command.env_remove(environment::RUN);
            }
        }
        tell_sanitizers(&mut command);
        launcher::give_arguments(&mut command, arguments);
        say(&self);
        // Replaces this process: whoever started `jitterlab inject run` waits for the program.
        let error = command.exec();
        Err(Failure::input(format!(
            "cannot start {}: {error}",
            Path::new(program).display()
        )))
    }
}

/// Nanoseconds since 1970.
fn now_ns() -> u128 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos())
}

fn names(hooks: &[HookFamily]) -> Vec<&'static str> {
    hooks.iter().map(|family| family.name()).collect()
}

/// The program may change its folder before the library opens the file.
fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path).map_err(Failure::run)
}

/// The path at which the library finds a file that is read here first. It reads it again in every
/// process, so it cannot be a pipe, nor named by a descriptor that not every process has.
fn lasting(path: &Path) -> Result<PathBuf, Failure> {
    if std::fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        return Err(Failure::input(format!(
            "{} is not a regular file. Every process of the program has to read it; copy it to \
             a file first",
            path.display()
        )));
    }
    path.canonicalize().or_else(|_| absolute(path))
}

/// The file in which the library leaves its report; it has nobody to tell if it cannot.
fn report_file(path: &Path) -> Result<PathBuf, Failure> {
    files::check_place("the report ", path)?;
    let path = absolute(path)?;
    // A file that is there is appended to; one that is not there is made in its folder.
    let written = match path.parent() {
        Some(folder) if !path.exists() => folder,
        _ => &path,
    };
    nix::unistd::access(written, AccessFlags::W_OK).map_err(|errno| {
        let reason = errno.desc();
        Failure::input(format!(
            "cannot write the report {}: {reason}",
            path.display()
        ))
    })?;
    Ok(path)
}

/// The library goes before what is preloaded already: the hooks of a mock device, say, stand for
/// the system and belong below. What watches memory is to see all that happens in it, and goes first.
fn preload(library: &Path) -> OsString {
    let others = std::env::var_os("LD_PRELOAD").unwrap_or_default();
    let others = others.as_bytes().split(|byte| b": ".contains(byte));
    let (first, last): (Vec<_>, Vec<_>) = others
        .filter(|name| !name.is_empty())
        .partition(|name| elf::is_sanitizer(name));
    let library = for_glibc_alone(library);
    let all = [first, vec![library.as_bytes()], last].concat();
    OsString::from_vec(all.join(&b':'))
}

/// A name of the library that the dynamic linker of another C library does not understand. musl's knows no folder `$LIB`, and
/// passes over what it cannot find without a word. So what the program starts runs as ever, whatever it is linked against.
/// glibc's puts the folder of its own libraries there. The way leads from it up to the root: `..` leads no further.
fn for_glibc_alone(library: &Path) -> OsString {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let folder = maps
        .lines()
        .filter_map(|line| Some(Path::new(&line[line.find('/')?..])))
        .find(|file| file.ends_with("libc.so.6"))
        .and_then(Path::parent);
    let is_usual = |folder: &Path| {
        let below = folder.strip_prefix("/usr").or(folder.strip_prefix("/"));
        below.is_ok_and(|lib| {
            (lib.starts_with("lib") || lib.starts_with("lib64"))
                && Path::new("/usr").join(lib).is_dir()
        })
    };
    if !folder.is_some_and(is_usual) {
        return library.into();
    }
    let mut name = OsString::from("/usr/$LIB/../../../..");
    name.push(library);
    name
}

/// The options of sanitizers, in the variables that they read, after what the user tells them.
const SANITIZERS: [(&str, &str); 2] = [
    // A program that is linked to its runtime has the library before it. Its sends still pass both.
    ("ASAN_OPTIONS", "verify_asan_link_order=0"),
    // It knows nothing of how the threads of the library keep out of each other's way; forked children have such threads.
    (
        "TSAN_OPTIONS",
        "ignore_noninstrumented_modules=1:die_after_fork=0",
    ),
];

fn tell_sanitizers(command: &mut process::Command) {
    for (name, option) in SANITIZERS {
        let mut value = std::env::var_os(name).unwrap_or_default();
        if !value.is_empty() {
            value.push(":");
        }
        value.push(option);
        command.env(name, value);
    }
}

const LIBRARY: &str = "libjitterlab_preload.so";

/// The library: beside this program, or where a package puts it.
pub(super) fn library() -> Result<PathBuf, Failure> {
    let program = std::env::current_exe().map_err(Failure::run)?;
    let beside = program.parent().unwrap_or(Path::new("/"));
    let places = [
        beside.join(LIBRARY),
        beside.join("../lib/jitterlab").join(LIBRARY),
    ];
    let library = places.iter().find(|place| place.is_file()).ok_or_else(|| {
        Failure::run(format!(
            "cannot find {LIBRARY}: it is not at {}, and not at {}; build the whole workspace",
            places[0].display(),
            places[1].display()
        ))
    })?;
    if library.as_os_str().to_string_lossy().contains([' ', ':']) {
        return Err(Failure::run(format!(
            "{} has a space or colon in its path, and LD_PRELOAD cannot name it; move jitterlab",
            library.display()
        )));
    }
    Ok(library.clone())
}
