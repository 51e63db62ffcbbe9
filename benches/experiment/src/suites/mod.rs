//! The suites: a folder each, with a file for each stage, and one list that names them all.
//!
//! | file | stage |
//! |---|---|
//! | `spec.rs` | a case, as an experiment file describes it ([`Case`]) |
//! | `work.rs` | what it comes to ([`Works`]), and a run of it ([`Measures`]) |
//! | `perform.rs` | how that is measured |
//! | `result.rs` | what comes of it, where the type is not that of the program which measures |

pub mod amvia;
pub mod application;
mod by_case;
pub mod library;
pub mod packet;

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;

use jitterlab_base::named;
use jitterlab_base::yaml::{Checked, Step};
use jitterlab_cluster::Host;
use jitterlab_load::Produced;
use jitterlab_packet::transport::Transport;
use serde::{Deserialize, Serialize};
use serde_yaml::Value;

use crate::command::Failed;
use crate::hosts::Hosts;
use crate::level::{Level, LevelKind, Phase};
use crate::scene::{Hook, Levels, Mpi, Scene};

/// A case of a suite, as an experiment file describes it.
pub trait Case {
    /// Its name in results.
    fn name(&self) -> &str;

    /// Fills in what the file leaves out: what is usual, and what follows from the hosts.
    fn fill(&mut self, hosts: &BTreeMap<String, Host>);

    /// The ranks that it is started on over MPI, 0 where nobody has said how many; nothing where it is not started so.
    fn ranks(&self) -> Option<u32> {
        None
    }

    /// Itself as a file has it that leaves out nothing.
    fn taken(&self) -> Value;

    /// The same of what follows from a transport, for each.
    fn taken_over(&self) -> Vec<(Transport, Value)> {
        Vec::new()
    }

    /// Checks all that has to be right before anything starts; `at` is its place in the file.
    ///
    /// # Errors
    /// What is wrong, and where.
    fn check<'a>(&'a self, scene: Scene<'a>, at: &[Step<'a>; 3]) -> Checked<'a>;
}

/// A case that comes to runs.
pub trait Works: Case {
    /// The works that are measured for it: one for each transport, if it has several.
    fn works<'a>(&'a self, scene: Scene<'a>) -> Vec<Work<'a>>;
}

/// The work that a run measures.
pub trait Measures<'a>: fmt::Debug {
    /// The name of the case.
    fn case(&self) -> &'a str;

    /// The transport of the messages, where the suite chooses.
    fn transport(&self) -> Option<Transport> {
        None
    }

    /// The word that tells it from other works of the case over the same transport, in the names of runs.
    fn variant(&self) -> Option<&'static str> {
        None
    }

    /// The host that measures; delays are injected into what runs there.
    fn measures_on(&self) -> &'a str;

    /// The kinds of level that it is measured at.
    fn levels(&self) -> &'a [LevelKind];

    /// The layer at which delays are injected, if the file says so.
    fn hook(&self) -> Option<Hook> {
        None
    }

    /// The way that it is started over MPI, if it is.
    fn mpi(&self) -> Option<&'a Mpi> {
        None
    }

    /// The time that a run of it takes at least, in seconds, as far as the file tells.
    fn least_seconds(&self) -> f64;

    /// The part of the experiment that it belongs to at a level; `levels` are those of the experiment. What is
    /// compared with itself at the level none has all its runs in the blocks of one phase.
    fn phase(&self, _level: Level, levels: &Levels) -> Phase {
        match levels.injected {
            Some(_) => Phase::Inject,
            None => Phase::Characterise,
        }
    }

    /// True if its runs under delays are compared with its own runs without.
    fn is_compared(&self) -> bool {
        true
    }

    /// The figure of a result that is compared, in any unit: more is slower.
    fn figure(&self, _result: &SuiteResult) -> Option<f64> {
        None
    }

    /// Finds out before anything is started whether it can be measured.
    ///
    /// # Errors
    /// Why not.
    fn prepare(&self, _hosts: &mut Hosts<'a>) -> Result<(), Failed> {
        Ok(())
    }

    /// Measures it; `prefix` stands before the command that does, and what it draws follows from `seed`.
    ///
    /// # Errors
    /// Why it failed.
    fn perform(
        &self,
        hosts: &mut Hosts<'a>,
        prefix: Vec<String>,
        seed: u64,
    ) -> Result<Measured, Failed>;

    /// True if what was measured says itself that nothing was sent that could be delayed.
    fn is_silent(&self, _result: &SuiteResult) -> bool {
        false
    }

    /// Whether what was measured is what was to be; `load` is what was produced beside it.
    ///
    /// # Errors
    /// What is wrong with it.
    fn check(&self, _result: &SuiteResult, _load: Option<&Produced>) -> Result<(), Failed> {
        Ok(())
    }
}

/// The result of a run of a suite.
#[derive(Debug)]
pub struct Measured {
    /// The result.
    pub result: SuiteResult,
    /// Its samples: a Parquet file.
    pub samples: Option<Vec<u8>>,
}

/// Makes the types that have a part for each suite, from one line for each: its name, its folder, the type of its cases
/// in experiment files, and the type of its results.
macro_rules! suites {
    ($($(#[$doc:meta])* $Suite:ident: $folder:ident $name:literal, $Case:ty => $Result:ty;)+) => {
        /// The suites.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum SuiteKind {
            $($(#[$doc])* $Suite,)+
        }

        named!(SuiteKind, serde, $($Suite => $name),+);

        /// The measurements: the cases of each suite.
        #[derive(Debug, Clone, Default, PartialEq, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct Suites {
            $($(#[$doc])* #[serde(default)] pub $folder: Vec<$Case>,)+
        }

        impl Suites {
            /// Every case: its suite, its place in the list of the suite, and itself.
            pub fn cases(&self) -> Vec<(SuiteKind, usize, &dyn Works)> {
                let mut all: Vec<(SuiteKind, usize, &dyn Works)> = Vec::new();
                $(for (i, case) in self.$folder.iter().enumerate() {
                    all.push((SuiteKind::$Suite, i, case));
                })+
                all
            }

            /// Every case, to be changed.
            pub(crate) fn cases_mut(&mut self) -> Vec<&mut dyn Case> {
                let mut all: Vec<&mut dyn Case> = Vec::new();
                $(for case in &mut self.$folder {
                    all.push(case);
                })+
                all
            }
        }

        /// The work that a run measures; see [`Measures`].
        #[derive(Debug, Clone, Copy, PartialEq)]
        pub enum Work<'a> {
            $($(#[$doc])* $Suite($folder::Work<'a>),)+
        }

        impl Work<'_> {
            /// The suite.
            pub fn suite(&self) -> SuiteKind {
                match self {
                    $(Work::$Suite(_) => SuiteKind::$Suite,)+
                }
            }
        }

        impl<'a> Deref for Work<'a> {
            type Target = dyn Measures<'a> + 'a;

            fn deref(&self) -> &Self::Target {
                match self {
                    $(Work::$Suite(work) => work,)+
                }
            }
        }

        /// The result of a run.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "lowercase")]
        pub enum SuiteResult {
            $($(#[$doc])* $Suite($Result),)+
        }

        impl SuiteResult {
            $(
                /// The result, if it is one of the suite.
                pub fn $folder(&self) -> Option<&$Result> {
                    match self {
                        SuiteResult::$Suite(result) => Some(result),
                        _ => None,
                    }
                }
            )+
        }
    };
}

suites! {
    /// Messages between two hosts: what `jitterlab packet run` prints.
    Packet: packet "packet", packet::PacketCase => packet::PacketResult;
    /// Transactions of active messages between two hosts: what `jitterlab amvia` prints of its cases.
    Amvia: amvia "amvia", amvia::AmviaCase => amvia::AmviaResult;
    /// Operations of MPI between ranks: what `jitterlab-mpi library` prints, without its heat map.
    Library: library "library", library::LibraryCase => jitterlab_mpi_results::library::Report;
    /// A real, unmodified program.
    Application: application "application", application::ApplicationCase => application::Application;
}
