//! The catalogue of measurements: the suites with their cases, in one list, and the experiment file that a choice of them makes.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::path::Path;

use jitterlab_amvia_suite::Protocol;
use jitterlab_amvia_suite::cases::Case as AmviaCase;
use jitterlab_base::yaml::FileError;
use jitterlab_experiment::conduct::duration;
use jitterlab_experiment::level::Level;
use jitterlab_experiment::schedule::{Run, schedule};
use jitterlab_experiment::spec::Experiment;
use jitterlab_experiment::suites::library::LibraryCaseKind;
use jitterlab_packet::cases::Case as PacketCase;
use jitterlab_packet::transport::Transport;

use super::place::Place;

/// A group of things to choose from.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// Its name; of a suite, as experiment files have it.
    pub name: &'static str,
    /// A line about it.
    pub about: &'static str,
    /// The kind of its choices.
    pub kind: Kind,
    /// The options that can be chosen.
    pub options: Vec<Choice>,
}

impl Group {
    /// True if at most one thing can be chosen.
    pub fn is_one_of(&self) -> bool {
        self.kind == Kind::Durations
    }
}

/// Something to choose.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// Its name in a word.
    pub name: &'static str,
    /// A line about it.
    pub about: &'static str,
    /// The text of a case in experiment files, or the value of a level.
    pub text: String,
    /// True if it is chosen.
    pub is_on: bool,
}

/// The kind of choices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A suite; whether it is started over MPI.
    Suite {
        mpi: bool,
    },
    /// The carriers of messages of the packet suite.
    Transports,
    /// The carriers of active messages, and their protocols.
    AmviaTransports,
    Protocols,
    /// The time that each size is measured.
    Durations,
    /// Levels.
    Loads,
    Imitations,
    Delays,
}

fn choice(name: &'static str, about: &'static str, text: impl Into<String>) -> Choice {
    Choice {
        name,
        about,
        text: text.into(),
        is_on: false,
    }
}

/// All that can be chosen: a suite is a line here.
pub fn all() -> Vec<Group> {
    let group = |name, about, kind, options| Group {
        name,
        about,
        kind,
        options,
    };
    let mut all = vec![
        group(
            "packet",
            "messages between two ends",
            Kind::Suite { mpi: false },
            packet(),
        ),
        group(
            "library",
            "operations of MPI between two ranks",
            Kind::Suite { mpi: true },
            library(),
        ),
        group(
            "application",
            "whole programs",
            Kind::Suite { mpi: true },
            application(),
        ),
        group(
            "amvia",
            "active messages",
            Kind::Suite { mpi: false },
            amvia(),
        ),
        group(
            "transports",
            "what carries the messages of the packet suite",
            Kind::Transports,
            transports(),
        ),
        group(
            "amvia over",
            "what carries active messages; none chosen: udp and shm",
            Kind::AmviaTransports,
            amvia_transports(),
        ),
        group(
            "protocols",
            "of active messages; none chosen: all",
            Kind::Protocols,
            protocols(),
        ),
        group(
            "duration",
            "how long a size is measured; none chosen: shortly",
            Kind::Durations,
            durations(),
        ),
        group(
            "load",
            "no load is always measured; percent of the bandwidth",
            Kind::Loads,
            loads(),
        ),
        group(
            "injected",
            "delays as each load that is chosen adds them",
            Kind::Imitations,
            imitations(),
        ),
        group(
            "delays",
            "no delay is always measured; one for every message",
            Kind::Delays,
            delays(),
        ),
    ];
    // Something that takes a minute, and two transports to compare, to begin with.
    for (group, option) in [(0, 0), (4, 0), (4, 1)] {
        all[group].options[option].is_on = true;
    }
    all
}

fn packet() -> Vec<Choice> {
    let case = |case: &PacketCase| {
        let text = match case {
            PacketCase::Rtt => "size: 64B, warmup: 50ms, duration: 300ms, wait: block",
            PacketCase::Latency => "sizes: [8B, 256B, 4KiB, 32KiB], warmup: 10ms, duration: 60ms",
            PacketCase::Bandwidth | PacketCase::Bidirectional => {
                "sizes: [64B, 1KiB, 16KiB, 32KiB], window: 16, warmup: 10ms, duration: 60ms"
            }
            PacketCase::Overhead => {
                "sizes: [64B, 4KiB, 32KiB], window: 16, warmup: 10ms, duration: 60ms"
            }
            PacketCase::Completion => "sizes: [64B, 4KiB, 32KiB], warmup: 10ms, duration: 60ms",
            PacketCase::BufferReuse => {
                "sizes: [4KiB, 32KiB], window: 16, buffers: [1, 10, 100], reuse: [0, 50, 100], warmup: 10ms, \
                 duration: 60ms"
            }
            PacketCase::HotSpot => "slaves: 3, warmup: 10ms, duration: 60ms",
        };
        choice(case.name(), case.meaning(), text)
    };
    PacketCase::ALL.iter().map(case).collect()
}

fn library() -> Vec<Choice> {
    let about = |case: &LibraryCaseKind| match case {
        LibraryCaseKind::PingPong => "a message there and back between two ranks",
        LibraryCaseKind::Barrier => "every rank waits for every other",
        LibraryCaseKind::Allreduce => "everybody has the sum of what everybody gives",
        LibraryCaseKind::Bcast => "everybody has what one gives",
        LibraryCaseKind::Alltoall => "everybody gives everybody something else",
        LibraryCaseKind::Allgather => "everybody has what everybody gives",
        LibraryCaseKind::ReduceScatter => "everybody has a part of the sum of what everybody gives",
        LibraryCaseKind::HaloExchange => "neighbours in a grid exchange their borders",
    };
    let case = |case: &LibraryCaseKind| {
        choice(
            case.name(),
            about(case),
            "ranks: 2, duration: 400ms, levels: [none, injected]",
        )
    };
    LibraryCaseKind::ALL.iter().map(case).collect()
}

fn application() -> Vec<Choice> {
    let redis = choice(
        "redis",
        "a data base in memory: the time of a request",
        "server: { on: server, command: [redis-server, --bind, \"{address}\", --port, \"{port}\", --save, \"\", \
         --appendonly, \"no\"] }, client: { on: client, command: [redis-benchmark, -h, \"{address}\", -p, \"{port}\", \
         -c, \"1\", -n, \"10000\", -t, get, -q] }, runtime: { pattern: 'GET: ([0-9.]+) requests per second', unit: \
         per_second }, levels: [none, injected]",
    );
    let kernels = [
        ("cg", "NAS Parallel Benchmark: conjugate gradient", "W"),
        ("ep", "NAS Parallel Benchmark: embarrassingly parallel", "W"),
        ("ft", "NAS Parallel Benchmark: Fourier transform", "W"),
        ("is", "NAS Parallel Benchmark: integer sort", "A"),
        ("lu", "NAS Parallel Benchmark: Gauss-Seidel solver", "W"),
        ("mg", "NAS Parallel Benchmark: multigrid", "W"),
    ];
    let kernels = kernels.into_iter().map(|(name, about, class)| {
        let text = format!(
            "npb: {{ kernel: {name}, class: {class}, ranks: 2 }}, levels: [none, injected]"
        );
        choice(name, about, text)
    });
    [redis].into_iter().chain(kernels).collect()
}

fn amvia() -> Vec<Choice> {
    let case = |case: &AmviaCase| {
        let (about, text) = match case {
            AmviaCase::Rtt => (
                "transactions one after the other",
                "warmup: 20ms, duration: 200ms",
            ),
            AmviaCase::Bandwidth => (
                "as many at once as the window holds",
                "warmup: 10ms, duration: 50ms, levels: [none]",
            ),
            AmviaCase::Loggp => ("o_s, o_r, L, g and G", "blocks: 6, levels: [none]"),
            AmviaCase::Performability => (
                "what bit errors cost, by model and experiment",
                "ber: [1e-5, 1e-4], transactions: 100000, levels: [none]",
            ),
        };
        choice(case.name(), about, text)
    };
    AmviaCase::ALL.iter().map(case).collect()
}

fn transports() -> Vec<Choice> {
    let about = |transport: &Transport| match transport {
        Transport::Udp => "datagrams",
        Transport::Tcp => "a stream",
        Transport::Verbs => "an RDMA device",
        Transport::Shm => "memory of one machine; nothing can be injected there",
    };
    let transport = |it: &Transport| choice(it.name(), about(it), it.name());
    Transport::ALL.iter().map(transport).collect()
}

fn amvia_transports() -> Vec<Choice> {
    let carries = |choice: &Choice| choice.name != Transport::Tcp.name();
    transports().into_iter().filter(carries).collect()
}

fn protocols() -> Vec<Choice> {
    let about = |protocol: &Protocol| match protocol {
        Protocol::Amvia => "request, acknowledgement, reply",
        Protocol::AmviaRiding => "request, reply that carries the acknowledgement",
        Protocol::TwoWay => "request, reply",
        Protocol::Amudp => "request, reply, acknowledgement of that; one pool for all peers",
    };
    let protocol = |it: &Protocol| choice(it.name(), about(it), it.name());
    Protocol::ALL.iter().map(protocol).collect()
}

fn durations() -> Vec<Choice> {
    vec![
        choice("1s", "", "1s"),
        choice("5s", "", "5s"),
        choice("30s", "Live tells how far a median has shifted", "30s"),
    ]
}

fn loads() -> Vec<Choice> {
    let load = |name| choice(name, "", name);
    ["20", "40", "60", "80"].map(load).into()
}

fn imitations() -> Vec<Choice> {
    vec![
        choice(
            "uniform",
            "the mean alone: every delay is the same",
            "uniform",
        ),
        choice(
            "empirical",
            "the distribution as it was measured",
            "empirical",
        ),
        choice(
            "lognormal",
            "a lognormal distribution of that mean and deviation",
            "lognormal",
        ),
    ]
}

fn delays() -> Vec<Choice> {
    let delay = |name| choice(name, "", name);
    ["1us", "10us", "100us", "1ms"].map(delay).into()
}

/// The first line of a file that is made here.
pub const HEADER: &str =
    "# Made by the screen Suites of `jitterlab ui`. What it means: docs/experiment.md.\n";

/// The choices that were made.
#[derive(Debug)]
pub struct Chosen<'a> {
    /// All that could be.
    pub groups: &'a [Group],
    /// The name of the experiment; after its suites, if it has no name yet.
    pub name: Option<&'a str>,
    /// The seed that its order follows from.
    pub seed: u64,
    /// The number of times that each run is done.
    pub repetitions: u32,
    /// The place that it measures at.
    pub place: &'a Place,
}

/// A case as experiment files have it, with each size measured for so long.
fn lasting(text: &str, duration: Option<&Choice>) -> String {
    const KEY: &str = "duration: ";
    let (Some(duration), Some((before, rest))) = (duration, text.split_once(KEY)) else {
        return text.into();
    };
    let end = rest.find(',').unwrap_or(rest.len());
    format!("{before}{KEY}{}{}", duration.text, &rest[end..])
}

/// An experiment that was made from what was chosen.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Its name.
    pub name: String,
    /// Its file.
    pub text: String,
    /// The number of its runs, and the seconds that they take; or what is wrong with it.
    pub cost: Result<(usize, f64), String>,
    /// Levels that are not measured by all suites.
    pub partial: Vec<String>,
}

impl Chosen<'_> {
    fn on(&self, of: impl Fn(Kind) -> bool) -> impl Iterator<Item = &Choice> {
        let groups = self.groups.iter().filter(move |group| of(group.kind));
        groups.flat_map(|group| group.options.iter().filter(|option| option.is_on))
    }

    /// The cases of a suite that are chosen.
    fn suite(&self, name: &str) -> impl Iterator<Item = &Choice> {
        let group = self.groups.iter().filter(move |group| group.name == name);
        group.flat_map(|group| group.options.iter().filter(|option| option.is_on))
    }

    fn texts(&self, kind: Kind) -> String {
        let texts: Vec<&str> = self
            .on(|it| it == kind)
            .map(|it| it.text.as_str())
            .collect();
        texts.join(", ")
    }

    /// The experiment, with what it costs by the same reckoning as `jitterlab run --dry-run`.
    pub fn plan(&self) -> Plan {
        let name = self.name.map_or_else(|| self.suites_name(), String::from);
        let text = self.text(&name);
        let parsed = Experiment::parse(&self.place.filled(&text), Path::new("new"));
        let mut partial = Vec::new();
        let cost = match parsed {
            Ok(experiment) => {
                let runs = schedule(&experiment, experiment.repetitions.first());
                partial = self.partial(&runs);
                Ok((runs.len(), duration(&runs)))
            }
            Err(FileError::Content { problem, .. }) => Err(self.unwoken().unwrap_or(problem)),
            Err(error) => Err(error.to_string()),
        };
        Plan {
            name,
            text,
            cost,
            partial,
        }
    }

    /// The case that sleeps until a message comes, where shared memory is chosen, in which nothing wakes it.
    fn unwoken(&self) -> Option<String> {
        let shm = Transport::Shm.name();
        let mut transports = self.on(|kind| kind == Kind::Transports);
        transports.find(|it| it.name == shm)?;
        let case = self
            .suite("packet")
            .find(|it| it.text.contains("wait: block"))?
            .name;
        Some(format!(
            "{shm}: leave it out, or {case}, which sleeps until a message comes: nothing wakes it in shared memory"
        ))
    }

    /// The levels that are chosen and that not all suites are measured at, with those that are.
    fn partial(&self, runs: &[Run]) -> Vec<String> {
        let suites = |of: &dyn Fn(&Level) -> bool| -> BTreeSet<&'static str> {
            let runs = runs.iter().filter(|run| of(&run.level));
            runs.map(|run| run.work.suite().name()).collect()
        };
        let all = suites(&|_| true);
        let of = |kind: Kind, is_it: &dyn Fn(&Level) -> bool| {
            let group = self.groups.iter().find(|group| group.kind == kind)?;
            let is_chosen = group.options.iter().any(|option| option.is_on);
            let some = suites(is_it);
            let names: Vec<&str> = some.iter().copied().collect();
            let who = match names.is_empty() {
                true => "no case that is chosen".into(),
                false => format!("cases of {} alone", names.join(", ")),
            };
            (is_chosen && some != all).then(|| format!("{}: for {who}", group.name))
        };
        let partial = [
            of(Kind::Loads, &|it| matches!(it, Level::Load { .. })),
            of(Kind::Imitations, &|it| matches!(it, Level::Injected { .. })),
            of(Kind::Delays, &|it| matches!(it, Level::Delay { .. })),
        ];
        partial.into_iter().flatten().collect()
    }

    /// The suites.
    fn suites_name(&self) -> String {
        let is_suite = |group: &&Group| matches!(group.kind, Kind::Suite { .. });
        let suites = self.groups.iter().filter(is_suite);
        let with_cases = suites.filter(|group| group.options.iter().any(|option| option.is_on));
        let names: Vec<&str> = with_cases.map(|group| group.name).collect();
        match names.is_empty() {
            true => "nothing".into(),
            false => names.join("-"),
        }
    }

    fn text(&self, name: &str) -> String {
        let is_mpi = self
            .on(|kind| kind == Kind::Suite { mpi: true })
            .any(|case| case.name != "redis");
        let is_amvia = self.suite("amvia").next().is_some();
        let Chosen {
            seed, repetitions, ..
        } = self;
        let mut text = format!("{HEADER}name: {name}\nseed: {seed}\nrepetitions: {repetitions}\n");
        text += &self.place.section(is_mpi || is_amvia);
        if is_mpi {
            text += &self.place.mpi();
        }
        let loads = self.texts(Kind::Loads);
        if !loads.is_empty() {
            let [from, to] = self.place.ends();
            text +=
                &format!("load: {{ transport: udp, from: {from}, to: {to}, message: 16KiB }}\n");
        }
        text += &format!("levels:\n  load: [{loads}]\n");
        let imitations = self.texts(Kind::Imitations);
        let delays = self.texts(Kind::Delays);
        let injected: Vec<String> = [
            (!imitations.is_empty())
                .then(|| format!("percent: [{loads}], transport: udp, shapes: [{imitations}]")),
            (!delays.is_empty()).then(|| format!("delays: [{delays}]")),
        ]
        .into_iter()
        .flatten()
        .collect();
        if !injected.is_empty() {
            text += &format!("  injected: {{ {} }}\n", injected.join(", "));
        }
        text + &self.suites()
    }

    fn suites(&self) -> String {
        let transports = self.texts(Kind::Transports);
        let amvia_transports = match self.texts(Kind::AmviaTransports) {
            none if none.is_empty() => "udp, shm".into(),
            chosen => chosen,
        };
        let protocols = match self.texts(Kind::Protocols) {
            none if none.is_empty() => String::new(),
            chosen => format!(", protocols: [{chosen}]"),
        };
        let duration = self.on(|kind| kind == Kind::Durations).next();
        let [from, to] = self.place.ends();
        let [from_polling, to_polling] = self.place.polling_ends();
        let mut text = String::from("suites:\n");
        for group in self.groups {
            let Kind::Suite { .. } = group.kind else {
                continue;
            };
            let cases = group.options.iter().filter(|option| option.is_on);
            let line = |case: &Choice| {
                let (name, text) = (case.name, lasting(&case.text, duration));
                match group.name {
                    "packet" => format!(
                        "    - {{ case: {name}, transports: [{transports}], from: {from}, to: {to}, {text} }}\n"
                    ),
                    "amvia" => {
                        let is_of_one = name == AmviaCase::Performability.name();
                        let to = if is_of_one { from_polling } else { to_polling };
                        format!(
                            "    - {{ case: {name}, transports: [{amvia_transports}]{protocols}, from: {from_polling}, to: {to}, \
                             {text} }}\n"
                        )
                    }
                    "application" => {
                        let text = text.replace("on: client", &format!("on: {from}"));
                        let text = text.replace("on: server", &format!("on: {to}"));
                        format!("    - {{ name: {name}, {text} }}\n")
                    }
                    _ => format!("    - {{ case: {name}, {text} }}\n"),
                }
            };
            let lines: String = cases.map(line).collect();
            if !lines.is_empty() {
                text += &format!("  {}:\n{lines}", group.name);
            }
        }
        text
    }
}
