//! Looks for what is being measured and publishes: experiments by their `live.json`, programs that were started by hand by
//! their pages.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use jitterlab_base::show::printable;
use jitterlab_experiment::live::{self, Now, Stage};
use jitterlab_live::{Place, Reader, Total};

use crate::ui::action::{News, Task};
use crate::ui::files::under_way;

/// The source of a measurement: a result folder that is being filled, or the place of a program's pages.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// An experiment.
    Experiment(PathBuf),
    /// A program that was started by hand.
    Program(PathBuf),
}

/// A source, and what people know it by.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The source.
    pub source: Source,
    /// The name of its result folder, or its command.
    pub name: String,
}

/// The progress of an experiment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// Runs that are behind it.
    pub finished: usize,
    /// Runs of the schedule.
    pub runs: usize,
    /// The time that it will still take.
    pub seconds_left: f64,
}

/// The news of a source.
#[derive(Debug, Clone, PartialEq)]
pub struct Heard {
    /// The source.
    pub source: Source,
    /// The run, with its attempt if it is not the first; the command of a program.
    pub run: String,
    /// The stage of the run.
    pub stage: Stage,
    /// The samples that were published.
    pub total: Total,
    /// The samples that the background load has published.
    pub load: Option<Total>,
    /// The line that a program printed last which publishes nothing.
    pub said: String,
    /// The progress of its experiment.
    pub progress: Option<Progress>,
}

/// The sources that there are at a moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    /// When, in seconds since it was looked for the first time.
    pub at: f64,
    /// All sources.
    pub found: Vec<Found>,
    /// The news of the chosen one; of the first one where that is not there.
    pub heard: Option<Heard>,
}

/// A look, for whoever asks for one.
pub struct Look {
    /// The one who looks.
    pub watcher: Arc<Mutex<Watcher>>,
    /// The source that is listened to.
    pub chosen: Option<Source>,
}

impl fmt::Debug for Look {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Look").field(&self.chosen).finish()
    }
}

impl Task for Look {
    fn run(self: Box<Self>, tell: &mut dyn FnMut(News)) {
        let mut watcher = self.watcher.lock().unwrap_or_else(PoisonError::into_inner);
        tell(Box::new(watcher.look(self.chosen.as_ref(), Instant::now())));
    }
}

/// Looks, and remembers what was published before.
pub struct Watcher {
    results: PathBuf,
    /// When it looked for the first time.
    begun: Option<Instant>,
    programs: BTreeMap<PathBuf, Program>,
}

/// A program that was started by hand.
struct Program {
    reader: Reader,
    total: Total,
    name: String,
}

impl Watcher {
    /// The watcher of the experiments in this folder, and of programs of this user.
    pub fn new(folder: &Path) -> Self {
        Watcher {
            results: folder.join("results"),
            begun: None,
            programs: BTreeMap::new(),
        }
    }

    /// Looks once, at a time.
    pub fn look(&mut self, chosen: Option<&Source>, at: Instant) -> Seen {
        let begun = *self.begun.get_or_insert(at);
        self.find_programs();
        let mut found = self.experiments();
        found.extend(self.programs.iter().map(|(place, program)| Found {
            source: Source::Program(place.clone()),
            name: program.name.clone(),
        }));
        let chosen = found.iter().find(|it| Some(&it.source) == chosen);
        let heard = chosen.or(found.first()).map(|it| it.source.clone());
        Seen {
            at: at.saturating_duration_since(begun).as_secs_f64(),
            heard: heard.and_then(|source| self.hear(source)),
            found,
        }
    }

    fn experiments(&self) -> Vec<Found> {
        let folders = under_way(&self.results).into_iter();
        let found = folders.map(|folder| Found {
            name: printable(&folder.file_name().unwrap_or_default().to_string_lossy()),
            source: Source::Experiment(folder),
        });
        found.collect()
    }

    /// Takes in programs that have begun, and drops those that have ended.
    fn find_programs(&mut self) {
        let places = Place::of_programs();
        self.programs.retain(|place, _| places.contains(place));
        for place in places {
            if self.programs.contains_key(&place) {
                continue;
            }
            let mut reader = Reader::of_place(place.clone());
            let mut total = Total::default();
            if let Some(update) = reader.update() {
                total.take(update);
            }
            // Until it has a page it is nobody's.
            if let Some(process) = reader.process() {
                let name = command(process);
                let program = Program {
                    reader,
                    total,
                    name,
                };
                self.programs.insert(place, program);
            }
        }
    }

    fn hear(&mut self, source: Source) -> Option<Heard> {
        match &source {
            Source::Experiment(folder) => {
                let now = live::read(folder).ok().flatten()?;
                Some(of_experiment(source, now))
            }
            Source::Program(place) => {
                let program = self.programs.get_mut(place)?;
                if let Some(update) = program.reader.update() {
                    program.total.take(update);
                }
                Some(Heard {
                    run: program.name.clone(),
                    stage: Stage::UnderWay,
                    total: program.total.clone(),
                    load: None,
                    said: String::new(),
                    progress: None,
                    source,
                })
            }
        }
    }
}

/// The content of an experiment's `live.json`.
pub fn of_experiment(source: Source, now: Now) -> Heard {
    let run = match now.attempt {
        1 => printable(&now.run),
        attempt => format!("{} (attempt {attempt})", printable(&now.run)),
    };
    Heard {
        source,
        run,
        stage: now.stage,
        total: now.measured,
        load: now.load,
        said: printable(&now.said),
        progress: Some(Progress {
            finished: now.finished,
            runs: now.runs,
            seconds_left: now.seconds_left,
        }),
    }
}

/// The command that a process was started with, without the folder of its program.
fn command(process: u32) -> String {
    let words = procfs::process::Process::new(process.cast_signed())
        .and_then(|process| process.cmdline())
        .unwrap_or_default();
    let mut words = words.into_iter();
    let program = words.next().unwrap_or_default();
    let program = Path::new(&program).file_name().unwrap_or_default();
    let name = program.to_string_lossy().into_owned();
    let all: Vec<String> = std::iter::once(name).chain(words).collect();
    printable(&format!("{process} {}", all.join(" ")))
}
