//! The section on applications in an experiment file.

use std::collections::BTreeMap;

use jitterlab_base::named;
use jitterlab_base::units::Nanos;
use jitterlab_base::yaml::Step::{self, Index, Key};
use jitterlab_base::yaml::{self, Checked, wrong};
use jitterlab_cluster::{Host, pattern};
use jitterlab_mpi_results::npb;
use serde::{Deserialize, Serialize};
use serde_yaml::Value;

use crate::level::LevelKind;
use crate::scene::rules::{NAME, check_time, check_timeout, default_timeout, is_name};
use crate::scene::{Hook, Mpi, Scene, slots};
use crate::suites::Case;

/// How long a run takes, if nothing is said.
const EXPECTED: Nanos = Nanos(1_000_000_000);

/// A program whose run time is measured, with a server that it talks to if it needs one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApplicationCase {
    /// Its name in results.
    pub name: String,
    /// Started before the program and stopped after it.
    pub server: Option<Server>,
    /// The program; delays are injected into it. This or `npb`.
    pub client: Option<Client>,
    /// One of the NAS Parallel Benchmarks, whose run time is the one that it reports.
    pub npb: Option<Npb>,
    /// The way that its run time is read from what it prints [default: the time from start to end].
    pub runtime: Option<Runtime>,
    /// A run that takes longer has failed.
    #[serde(default = "default_timeout")]
    pub timeout: Nanos,
    /// The time that a run takes, for the estimate before one was done [default: 1s].
    pub expected: Option<Nanos>,
    /// The layer at which delays are injected into the client [default: as `jitterlab inject run` has it].
    pub hook: Option<Hook>,
    /// The kinds of level that it is measured at.
    #[serde(default = "LevelKind::every")]
    pub levels: Vec<LevelKind>,
}

/// The server of an application.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Server {
    /// The host that it runs on.
    pub on: String,
    /// Program and arguments; `{address}` and `{port}` stand for where it is to listen.
    pub command: Vec<String>,
    /// A pattern in a line that it prints when it is ready [default: it accepts connections].
    pub ready: Option<String>,
}

/// The program of an application.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Client {
    /// The host that it runs on.
    pub on: String,
    /// Program and arguments; `{address}` and `{port}` stand for where the server listens.
    pub command: Vec<String>,
}

/// The program that an application starts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Program<'a> {
    /// A command.
    Client(&'a Client),
    /// One of the NAS Parallel Benchmarks.
    Npb(&'a Npb, &'a Mpi),
}

/// The way that a run time is read from a program's output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Runtime {
    /// A regular expression with one group, which holds the number; its last match counts.
    pub pattern: String,
    /// The unit that the number counts.
    pub unit: RuntimeUnit,
}

/// The unit of a number in a program's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuntimeUnit {
    /// Seconds.
    S,
    /// Milliseconds.
    Ms,
    /// Microseconds.
    Us,
    /// Units of work a second: the run time is the time of one unit.
    PerSecond,
}

named!(RuntimeUnit, serde, S => "s", Ms => "ms", Us => "us", PerSecond => "per_second");

impl RuntimeUnit {
    /// The time in seconds that a number of this unit means.
    pub fn seconds(self, number: f64) -> f64 {
        match self {
            RuntimeUnit::S => number,
            RuntimeUnit::Ms => number / 1e3,
            RuntimeUnit::Us => number / 1e6,
            RuntimeUnit::PerSecond => 1.0 / number,
        }
    }
}

/// A run of the NAS Parallel Benchmarks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Npb {
    /// The kernel.
    pub kernel: npb::Name,
    /// The problem size.
    pub class: npb::Class,
    /// Number of ranks [default: the slots of the hosts].
    #[serde(default)]
    pub ranks: u32,
}

impl ApplicationCase {
    /// How long a run takes, for the estimate before one was done.
    pub fn expected(&self) -> Nanos {
        self.expected.unwrap_or(EXPECTED)
    }
}

impl Case for ApplicationCase {
    fn name(&self) -> &str {
        &self.name
    }

    fn fill(&mut self, hosts: &BTreeMap<String, Host>) {
        if let Some(npb) = &mut self.npb
            && npb.ranks == 0
        {
            npb.ranks = slots(hosts);
        }
        self.expected = Some(self.expected());
    }

    fn taken(&self) -> Value {
        yaml::value(self)
    }

    fn ranks(&self) -> Option<u32> {
        self.npb.as_ref().map(|npb| npb.ranks)
    }

    fn check<'a>(&'a self, scene: Scene<'a>, at: &[Step<'a>; 3]) -> Checked<'a> {
        if !is_name(&self.name) {
            return wrong(&[at[0], at[1], at[2], Key("name")], NAME);
        }
        match (&self.client, &self.npb) {
            (Some(client), None) => check_client(scene, self, client, at)?,
            (None, Some(npb)) => {
                let theirs = [
                    ("server", self.server.is_some()),
                    ("runtime", self.runtime.is_some()),
                    ("hook", self.hook.is_some()),
                ];
                if let Some((key, _)) = theirs.into_iter().find(|&(_, given)| given) {
                    return wrong(
                        &[at[0], at[1], at[2], Key(key)],
                        format!("`{key}` is for programs with a `client`, and this is `npb`"),
                    );
                }
                let at = [at[0], at[1], at[2], Key("npb"), Key("ranks")];
                scene.check_ranks(npb.ranks, &at)?;
            }
            (Some(_), Some(_)) => {
                return wrong(
                    &[at[0], at[1], at[2], Key("npb")],
                    "`client` and `npb` exclude each other",
                );
            }
            (None, None) => {
                return wrong(at, "it needs a `client` or an `npb`, the program to run");
            }
        }
        if let Some(runtime) = &self.runtime {
            let at = [at[0], at[1], at[2], Key("runtime"), Key("pattern")];
            let pattern = pattern::of_number(&runtime.pattern);
            pattern.map(drop).or_else(|problem| wrong(&at, problem))?;
        }
        let key = |key| [at[0], at[1], at[2], Key(key)];
        check_timeout(self.timeout, &key("timeout"))?;
        if let Some(expected) = self.expected {
            check_time(expected, &key("expected"))?;
        }
        scene.check_kinds(&self.levels, at)
    }
}

/// Checks the programs of an application that is not one of ours.
fn check_client<'a>(
    scene: Scene<'a>,
    case: &'a ApplicationCase,
    client: &'a Client,
    at: &[Step<'a>; 3],
) -> Checked<'a> {
    let inside = |key, inner| [at[0], at[1], at[2], Key(key), Key(inner)];
    let host = scene.named(&client.on, &inside("client", "on"))?;
    let commands = [
        ("client", Some(&client.command)),
        ("server", case.server.as_ref().map(|server| &server.command)),
    ];
    for (side, command) in commands {
        if command.is_some_and(|command| command.first().is_none_or(String::is_empty)) {
            return wrong(&inside(side, "command"), "there is no program");
        }
    }
    let is_place = |word: &String| word.contains("{address}") || word.contains("{port}");
    if let (None, Some(i)) = (&case.server, client.command.iter().position(is_place)) {
        return wrong(
            &[at[0], at[1], at[2], Key("client"), Key("command"), Index(i)],
            "`{address}` and `{port}` stand for where the `server` listens, and there is none",
        );
    }
    if let Some(server) = &case.server {
        scene.target(host, &server.on, &inside("server", "on"))?;
        if let Some(pattern) = &server.ready {
            let pattern = pattern::compile(pattern);
            let at = inside("server", "ready");
            pattern.map(drop).or_else(|problem| wrong(&at, problem))?;
        }
    }
    Ok(())
}
