//! The scene of an experiment: what its file says of hosts, ranks and levels, apart from its suites.

pub(crate) mod ends;
mod levels;
mod mpi;
pub(crate) mod rules;

use std::collections::BTreeMap;

use crate::level::LevelKind;
use jitterlab_base::input::shortened;
use jitterlab_base::named;
use jitterlab_base::yaml::Step::{self, Index, Key};
use jitterlab_base::yaml::{Checked, Wrong, list, suggestion, wrong};
use jitterlab_cluster::{Host, NO_ADDRESS, Place, Trust};
use rules::repeated;

pub use levels::{InjectedLevels, Levels, Replay};
pub use mpi::{Hook, Launcher, Mpi};

/// The ranks that hosts take together, as far as they say.
pub(crate) fn slots(hosts: &BTreeMap<String, Host>) -> u32 {
    let slots = hosts.values().filter_map(|host| host.slots);
    slots.fold(0, u32::saturating_add)
}

/// The reaction of an experiment to a host that is missing or lost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LostHost {
    /// It does not begin, or stops, and can be resumed.
    #[default]
    Stop,
    /// Runs that need the host fail, and the others are done.
    GoOn,
}

named!(LostHost, serde, Stop => "stop", GoOn => "go-on");

/// The scene that cases are checked against, and measured in.
#[derive(Debug, Clone, Copy)]
pub struct Scene<'a> {
    /// The hosts by name.
    pub hosts: &'a BTreeMap<String, Host>,
    /// The trust in hosts at the end of ssh whose keys are not named.
    pub trust: Trust,
    /// The reaction to a host that is missing or lost.
    pub lost_host: LostHost,
    /// The way that programs are started over MPI.
    pub mpi: Option<&'a Mpi>,
    /// The levels.
    pub levels: &'a Levels,
}

impl<'a> Scene<'a> {
    /// A host that is named.
    ///
    /// # Errors
    /// There is none of the name; `at` is the place of the name.
    pub fn named(&self, name: &str, at: &[Step<'a>]) -> Result<&'a Host, Wrong<'a>> {
        self.hosts.get(name).ok_or_else(|| {
            let known = self.hosts.keys().map(String::as_str);
            Wrong {
                path: at.into(),
                problem: format!(
                    "there is no host `{}`; the hosts are {}{}",
                    shortened(name),
                    list(known.clone()),
                    suggestion(name, known)
                ),
            }
        })
    }

    /// Refuses a host that another one cannot reach. The address that a local host has by itself is for hosts that are local
    /// too.
    ///
    /// # Errors
    /// Why it cannot.
    pub fn target(&self, from: &Host, name: &'a str, at: &[Step<'a>]) -> Checked<'a> {
        let to = self.named(name, at)?;
        if to.address().is_none() {
            return wrong(
                &[Key("hosts"), Key(name)],
                format!("host `{name}` receives messages and {NO_ADDRESS}"),
            );
        }
        if to.address.is_none() && from.at != Place::Local {
            return wrong(
                &[Key("hosts"), Key(name)],
                format!(
                    "host `{name}` receives messages from another place ({}) and {NO_ADDRESS}",
                    from.at
                ),
            );
        }
        Ok(())
    }

    /// Refuses ends that the file leaves out, and that do not follow from its hosts.
    ///
    /// # Errors
    /// One is left out.
    pub fn check_ends(&self, ends: [&str; 2], at: &[Step<'a>]) -> Checked<'a> {
        match ends.contains(&"") {
            true => wrong(
                at,
                format!(
                    "`from` and `to` have to name hosts: there are {} to choose from",
                    self.hosts.len()
                ),
            ),
            false => Ok(()),
        }
    }

    /// Checks a number of ranks.
    ///
    /// # Errors
    /// Nothing says how they are started, or there are not as many.
    pub fn check_ranks(&self, ranks: u32, at: &[Step<'a>]) -> Checked<'a> {
        let Some(mpi) = self.mpi else {
            return wrong(
                at,
                "ranks need a section `mpi` that says where they are started: `mpi: { on: HOST }`",
            );
        };
        let of_mpi = mpi.hosts.values().map(|&slots| u64::from(slots)).sum();
        let (whose, slots) = match of_mpi {
            0 => ("the hosts have", u64::from(slots(self.hosts))),
            of_mpi => ("the section `mpi` has", of_mpi),
        };
        match ranks {
            0 => wrong(at, "missing key `ranks`: there is at least one rank"),
            _ if slots > 0 && u64::from(ranks) > slots => wrong(
                at,
                format!("{whose} slots for {slots} ranks, and these are {ranks}"),
            ),
            _ => Ok(()),
        }
    }

    /// Checks the kinds of level that a case is measured at; `at` is the place of the case.
    ///
    /// # Errors
    /// There is none, one is given twice, or there is no level of them.
    pub fn check_kinds(&self, kinds: &[LevelKind], at: &[Step<'a>; 3]) -> Checked<'a> {
        let at = [at[0], at[1], at[2], Key("levels")];
        if kinds.is_empty() {
            return wrong(
                &at,
                "there is no kind of level; the kinds are `none`, `load`, `injected`",
            );
        }
        match repeated(kinds) {
            Some(i) => wrong(
                &[at[0], at[1], at[2], at[3], Index(i)],
                "this kind is given twice",
            ),
            None if self.levels.of(kinds).is_empty() => wrong(
                &at,
                "the section `levels` has no level of this kind, so this case would measure nothing",
            ),
            None => Ok(()),
        }
    }
}
