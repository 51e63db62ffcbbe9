//! The section on the packet suite in an experiment file.

use std::collections::BTreeMap;

use jitterlab_base::units::{Bytes, Nanos, Rate};
use jitterlab_base::yaml::Step::{self, Index, Key};
use jitterlab_base::yaml::{self, Checked, wrong};
use jitterlab_cluster::{Host, Place};
use jitterlab_packet::cases::open_loop::Spacing;
use jitterlab_packet::cases::{self, Case as Kind, rtt};
use jitterlab_packet::transport::{Transport, Verbs, Wait};
use serde::{Deserialize, Serialize};
use serde_yaml::Value;

use crate::level::LevelKind;
use crate::link;
use crate::scene::Scene;
use crate::scene::ends::fill_ends;
use crate::scene::rules::{NAME, check_time, check_timeout, is_name, link_problem, repeated};
use crate::suites::Case;

/// A case of the packet suite.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PacketCase {
    /// The kind of measurement.
    pub case: Kind,
    /// Its name in results [default: as the case]: two of a kind need two names.
    pub name: Option<String>,
    /// Over what [default: UDP and TCP].
    #[serde(default = "transports")]
    pub transports: Vec<Transport>,
    /// The options of messages over verbs, where that is one of the transports.
    pub verbs: Option<Verbs>,
    /// The host that asks and measures [default: the first of two hosts by name].
    #[serde(default)]
    pub from: String,
    /// The host that answers [default: the other one].
    #[serde(default)]
    pub to: String,
    /// Size of a message, of cases with one size [default: 64B].
    pub size: Option<Bytes>,
    /// Sizes of messages, of cases by size; of buffer-reuse that for latency and that for bandwidth [default: as
    /// `jitterlab packet run` has them].
    #[serde(default)]
    pub sizes: Vec<Bytes>,
    /// Messages that may be under way, of streams and of an open loop [default: as `jitterlab packet run` has it].
    pub window: Option<u32>,
    /// Numbers of buffers that are used in turn, of buffer-reuse.
    #[serde(default)]
    pub buffers: Vec<u32>,
    /// Shares of messages in one single buffer, in percent, of buffer-reuse.
    #[serde(default)]
    pub reuse: Vec<u8>,
    /// Servers, of hot-spot [default: 4].
    pub slaves: Option<u8>,
    /// Messages a second, of rtt: they are sent when they are due, whether or not answers have come [default: each is sent
    /// when the answer to the one before it has come].
    pub rate: Option<Rate>,
    /// The gaps between them [default: fixed].
    pub gaps: Option<Spacing>,
    /// The time to warm up; what is measured in it is discarded [default: as `jitterlab packet run` has it].
    #[serde(default = "warmup")]
    pub warmup: Nanos,
    /// The time to measure [default: 500ms].
    #[serde(default = "duration")]
    pub duration: Nanos,
    /// The way that answers are waited for [default: as the transport usually does].
    pub wait: Option<Wait>,
    /// A message without an answer after this time is lost [default: as `jitterlab packet run` has it].
    pub timeout: Option<Nanos>,
    /// The kinds of level that it is measured at.
    #[serde(default = "LevelKind::every")]
    pub levels: Vec<LevelKind>,
}

/// The transports that need no device.
fn transports() -> Vec<Transport> {
    Transport::SOCKETS.to_vec()
}

/// The time to warm up: as `jitterlab packet run --case rtt` has it.
fn warmup() -> Nanos {
    rtt::WARMUP
}

/// The time to measure: as `jitterlab packet run` has it for cases that are measured for a time.
fn duration() -> Nanos {
    cases::DURATION
}

impl PacketCase {
    /// The size of a message, where the case has one size.
    pub fn message(&self) -> Bytes {
        self.size.unwrap_or(rtt::SIZE)
    }

    /// True if it takes samples of round trips in the closed loop: what a load is known by, and delays are made from.
    pub fn is_closed_rtt(&self) -> bool {
        self.case == Kind::Rtt && self.rate.is_none()
    }

    /// The options of messages over verbs.
    pub fn verbs(&self) -> Verbs {
        self.verbs.unwrap_or_default()
    }

    /// The sizes of messages over a transport, where the case has several.
    pub fn sizes(&self, transport: Transport) -> Vec<Bytes> {
        match self.sizes.as_slice() {
            [] => {
                let host = Host::at(Place::Local);
                let link = link::of_host(&host, transport, self.verbs());
                self.case.usual_sizes_over(&link)
            }
            sizes => sizes.to_vec(),
        }
    }

    /// The way that answers are waited for over a transport.
    pub fn wait(&self, transport: Transport) -> Wait {
        self.wait.unwrap_or(transport.usual_wait())
    }
}

/// What follows from the transport, where the file does not say it.
#[derive(Serialize)]
struct Over {
    sizes: Vec<Bytes>,
    wait: Option<Wait>,
}

impl PacketCase {
    fn over(&self, transport: Transport) -> Over {
        let is_told_to_wait = self.is_told_to_wait();
        Over {
            sizes: match self.has_one_size() {
                true => Vec::new(),
                false => self.sizes(transport),
            },
            wait: is_told_to_wait.then(|| self.wait(transport)),
        }
    }
}

impl Case for PacketCase {
    fn name(&self) -> &str {
        self.name.as_deref().unwrap_or(self.case.name())
    }

    fn fill(&mut self, hosts: &BTreeMap<String, Host>) {
        fill_ends(&mut self.from, &mut self.to, hosts);
        self.fill_options();
        if self.transports.contains(&Transport::Verbs) {
            self.verbs = Some(self.verbs());
        }
        self.timeout.get_or_insert(rtt::TIMEOUT);
    }

    fn taken(&self) -> Value {
        yaml::value(self)
    }

    fn taken_over(&self) -> Vec<(Transport, Value)> {
        let over = |&over: &Transport| (over, yaml::value(&self.over(over)));
        self.transports.iter().map(over).collect()
    }

    fn check<'a>(&'a self, scene: Scene<'a>, at: &[Step<'a>; 3]) -> Checked<'a> {
        let inside = |key| [at[0], at[1], at[2], Key(key)];
        if !is_name(self.name()) {
            return wrong(&inside("name"), NAME);
        }
        scene.check_ends([&self.from, &self.to], at)?;
        let from = scene.named(&self.from, &inside("from"))?;
        scene.target(from, &self.to, &inside("to"))?;
        if self.transports.is_empty() {
            return wrong(&inside("transports"), "there is no transport");
        }
        if let Some(i) = repeated(&self.transports) {
            return wrong(
                &[at[0], at[1], at[2], Key("transports"), Index(i)],
                "this transport is given twice",
            );
        }
        if self.verbs.is_some() && !self.transports.contains(&Transport::Verbs) {
            return wrong(
                &inside("verbs"),
                "`verbs` says how messages go over the transport verbs, which is not among `transports`",
            );
        }
        if self.transports.contains(&Transport::Shm) {
            let to = scene.named(&self.to, &inside("to"))?;
            if self.from != self.to && !(from.at.is_here() && to.at.is_here()) {
                return wrong(
                    &inside("transports"),
                    "`shm` is memory of one machine, and `from` and `to` are not on one",
                );
            }
            let injected = scene.levels.of(&[LevelKind::Injected]);
            if self.levels.contains(&LevelKind::Injected) && !injected.is_empty() {
                return wrong(
                    &inside("transports"),
                    "nothing can be injected into messages over `shm`: let the case have `levels: [none, load]`",
                );
            }
        }
        self.check_options(at)?;
        let message = self.message();
        let sizes = match self.sizes.as_slice() {
            [] => std::slice::from_ref(&message),
            sizes => sizes,
        };
        for &transport in &self.transports {
            let link = link::of_host(from, transport, self.verbs());
            for &size in sizes {
                let Some((key, problem)) = link_problem(&link, size, self.wait(transport)) else {
                    continue;
                };
                let key = if key == "size" && !self.sizes.is_empty() {
                    "sizes"
                } else {
                    key
                };
                return wrong(&inside(key), problem);
            }
        }
        if self.duration.0 < 1_000_000 {
            return wrong(&inside("duration"), "a run must last at least 1ms");
        }
        for (key, time) in [("warmup", self.warmup), ("duration", self.duration)] {
            check_time(time, &inside(key))?;
        }
        if let Some(timeout) = self.timeout {
            check_timeout(timeout, &inside("timeout"))?;
        }
        scene.check_kinds(&self.levels, at)
    }
}
