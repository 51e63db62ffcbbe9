//! The section on the active-message suite in an experiment file.

use std::collections::BTreeMap;

use jitterlab_amvia::transport::Faults;
use jitterlab_amvia_suite::cases::{Case as Kind, bandwidth, rtt};
use jitterlab_amvia_suite::performability::{Asked, CHANCES, Component, Failing, Over};
use jitterlab_amvia_suite::{Protocol, WINDOW, loggp, message_for};
use jitterlab_base::seed;
use jitterlab_base::units::{Bytes, Nanos};
use jitterlab_base::yaml::Step::{self, Index, Key};
use jitterlab_base::yaml::{self, Checked, wrong};
use jitterlab_cluster::Host;
use jitterlab_packet::cases;
use jitterlab_packet::transport::Transport;
use serde::{Deserialize, Serialize};
use serde_yaml::Value;

use crate::level::LevelKind;
use crate::scene::Scene;
use crate::scene::ends::fill_ends;
use crate::scene::rules::{NAME, check_time, is_name, repeated};
use crate::suites::Case;

/// A case of the active-message suite.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AmviaCase {
    /// The kind of measurement.
    pub case: Kind,
    /// Its name in results [default: as the case]: two of a kind need two names.
    pub name: Option<String>,
    /// Over what [default: UDP].
    #[serde(default = "transports")]
    pub transports: Vec<Transport>,
    /// The protocols [default: all].
    #[serde(default = "protocols")]
    pub protocols: Vec<Protocol>,
    /// The host that requests and measures [default: the first of two hosts by name]. It has both ends of performability, in one
    /// program.
    #[serde(default)]
    pub from: String,
    /// The host that answers [default: the other one; of performability: `from`].
    #[serde(default)]
    pub to: String,
    /// Size of a request and of its reply, of all but bandwidth [default: 32B].
    pub size: Option<Bytes>,
    /// Sizes of requests, of bandwidth [default: as `jitterlab amvia bandwidth` has them].
    #[serde(default)]
    pub sizes: Vec<Bytes>,
    /// Maximum number of transactions under way, of all but performability [default: 16].
    pub window: Option<u8>,
    /// Faults that both ends make of what they send, of all but performability [default: none].
    pub faults: Option<String>,
    /// The number of times that everything is measured, of loggp [default: 20].
    pub blocks: Option<u32>,
    /// Bit error rates, of performability [default: 1e-6, 1e-5, 1e-4].
    #[serde(default)]
    pub ber: Vec<f64>,
    /// Components that fail, of performability [default: none].
    #[serde(default)]
    pub components: Vec<Component>,
    /// Chances that each fails for a message that passes, of performability [default: 1e-4, 1e-3, 1e-2].
    #[serde(default)]
    pub chances: Vec<f64>,
    /// Timeout before a message is sent again; it does not adapt, of performability [default: 1ms].
    pub timeout: Option<Nanos>,
    /// Transactions of each experiment and of each simulation at most, of performability [default: 1,200,000].
    pub transactions: Option<u64>,
    /// The time to warm up, of rtt and bandwidth [default: 50ms].
    pub warmup: Option<Nanos>,
    /// The time to measure, of rtt and bandwidth [default: 500ms].
    pub duration: Option<Nanos>,
    /// The kinds of level that it is measured at.
    #[serde(default = "LevelKind::every")]
    pub levels: Vec<LevelKind>,
}

fn transports() -> Vec<Transport> {
    vec![Transport::Udp]
}

fn protocols() -> Vec<Protocol> {
    Protocol::ALL.to_vec()
}

/// The window that there may be.
const WINDOWS: std::ops::RangeInclusive<u8> = 1..=64;
/// The longest message of the suite.
const LONGEST: Bytes = Bytes(1 << 20);
/// A block of loggp takes about so long, in seconds.
const BLOCK: f64 = 0.5;
/// Bit error rates, if nothing is said.
const RATES: [f64; 3] = [1e-6, 1e-5, 1e-4];
/// The timeout, if nothing is said.
const TIMEOUT: Nanos = Nanos(1_000_000);
/// Transactions, if nothing is said: enough for 1,000 losses of short messages at 1e-6 errors a bit.
const TRANSACTIONS: u64 = 1_200_000;

impl AmviaCase {
    /// Sizes of requests: one, or several.
    pub fn sizes(&self) -> Vec<Bytes> {
        match (self.case, self.sizes.as_slice()) {
            (Kind::Bandwidth, []) => bandwidth::SIZES.to_vec(),
            (Kind::Bandwidth, sizes) => sizes.to_vec(),
            (Kind::Rtt | Kind::Loggp | Kind::Performability, _) => {
                vec![self.size.unwrap_or(rtt::SIZE)]
            }
        }
    }

    /// Bit error rates.
    pub fn ber(&self) -> &[f64] {
        match self.ber.as_slice() {
            [] => &RATES,
            rates => rates,
        }
    }

    /// Transactions under way at most.
    pub fn window(&self) -> u8 {
        self.window.unwrap_or(WINDOW)
    }

    /// The timeout of performability.
    pub fn timeout(&self) -> Nanos {
        self.timeout.unwrap_or(TIMEOUT)
    }

    /// Transactions of each experiment and simulation at most.
    pub fn transactions(&self) -> u64 {
        self.transactions.unwrap_or(TRANSACTIONS)
    }

    /// True if both ends are in one program.
    pub(super) fn is_of_one(&self) -> bool {
        self.case == Kind::Performability
    }

    /// The number of times that everything is measured.
    pub fn blocks(&self) -> u32 {
        self.blocks.unwrap_or(loggp::LogGp::default().blocks)
    }

    /// The time to warm up, and the time to measure, each size.
    pub fn times(&self) -> [Nanos; 2] {
        [
            self.warmup.unwrap_or(cases::WARMUP),
            self.duration.unwrap_or(cases::DURATION),
        ]
    }

    /// The time that a run takes, about, in seconds.
    pub(super) fn seconds(&self) -> f64 {
        match self.case {
            Kind::Loggp => f64::from(self.blocks()) * BLOCK,
            Kind::Performability => {
                let asked = Asked {
                    over: Over::of(Transport::Udp),
                    protocol: Protocol::Amvia,
                    failing: Failing::each(self.ber(), &self.components, &self.chances),
                    assumed: Vec::new(),
                    timeout: self.timeout().0,
                    payload: self.sizes()[0].0 as usize,
                    simulated: self.transactions(),
                    measured: self.transactions(),
                    seed: seed::DEFAULT,
                };
                asked.seconds()
            }
            Kind::Rtt | Kind::Bandwidth => {
                let each: f64 = self.times().iter().map(|time| time.as_secs_f64()).sum();
                each * self.sizes().len() as f64
            }
        }
    }

    fn check_options<'a>(&'a self, at: &[Step<'a>; 3]) -> Checked<'a> {
        let inside = |key| [at[0], at[1], at[2], Key(key)];
        let is_stream = self.case == Kind::Bandwidth;
        let is_timed = matches!(self.case, Kind::Rtt | Kind::Bandwidth);
        let fails = self.case == Kind::Performability;
        let given = [
            ("size", self.size.is_some(), !is_stream),
            ("sizes", !self.sizes.is_empty(), is_stream),
            ("window", self.window.is_some(), !fails),
            ("blocks", self.blocks.is_some(), self.case == Kind::Loggp),
            ("faults", self.faults.is_some(), !fails),
            ("ber", !self.ber.is_empty(), fails),
            ("components", !self.components.is_empty(), fails),
            ("chances", !self.chances.is_empty(), fails),
            ("timeout", self.timeout.is_some(), fails),
            ("transactions", self.transactions.is_some(), fails),
            ("warmup", self.warmup.is_some(), is_timed),
            ("duration", self.duration.is_some(), is_timed),
        ];
        for (key, is_given, is_told) in given {
            if is_given && !is_told {
                return wrong(
                    &inside(key),
                    format!("the case {} has no `{key}`", self.case),
                );
            }
        }
        let key = if is_stream { "sizes" } else { "size" };
        let longest = match self.case {
            Kind::Performability => message_for(Bytes(0)),
            Kind::Rtt | Kind::Bandwidth | Kind::Loggp => LONGEST,
        };
        if self.sizes().iter().any(|&size| size > longest) {
            return wrong(&inside(key), format!("a message has at most {longest}"));
        }
        if !WINDOWS.contains(&self.window()) {
            return wrong(&inside("window"), "a window has 1 to 64 transactions");
        }
        if self
            .blocks
            .is_some_and(|blocks| !(2..=10_000).contains(&blocks))
        {
            return wrong(&inside("blocks"), "there are 2 to 10000 blocks");
        }
        for (key, chances) in [("ber", &self.ber), ("chances", &self.chances)] {
            if !chances.iter().all(|&chance| 0.0 < chance && chance < 1.0) {
                return wrong(&inside(key), "a chance is between 0 and 1, as in 1e-6");
            }
        }
        if let Some(faults) = &self.faults
            && let Err(error) = faults.parse::<Faults>()
        {
            return wrong(&inside("faults"), error.to_string());
        }
        if !(1..=1 << 30).contains(&self.transactions()) {
            let range = "there are 1 to 1073741824 transactions";
            return wrong(&inside("transactions"), range);
        }
        check_time(self.timeout(), &inside("timeout"))?;
        if self.timeout().0 < 1_000 {
            return wrong(&inside("timeout"), "a timeout is at least 1us");
        }
        if self.is_of_one() && self.from != self.to {
            return wrong(
                &inside("to"),
                "both ends of performability are in one program, on the host `from`",
            );
        }
        let [warmup, duration] = self.times();
        if duration.0 < 1_000_000 {
            return wrong(&inside("duration"), "a run must last at least 1ms");
        }
        check_time(warmup, &inside("warmup"))?;
        check_time(duration, &inside("duration"))
    }
}

impl Case for AmviaCase {
    fn name(&self) -> &str {
        self.name.as_deref().unwrap_or(self.case.name())
    }

    fn fill(&mut self, hosts: &BTreeMap<String, Host>) {
        if self.is_of_one() && self.to.is_empty() {
            fill_ends(&mut self.from, &mut String::new(), hosts);
            self.to.clone_from(&self.from);
        }
        fill_ends(&mut self.from, &mut self.to, hosts);
        match (self.case, self.sizes()) {
            (Kind::Bandwidth, sizes) => self.sizes = sizes,
            (Kind::Rtt | Kind::Loggp | Kind::Performability, sizes) => self.size = Some(sizes[0]),
        }
        if !self.is_of_one() {
            self.window = Some(self.window());
        }
        match self.case {
            Kind::Performability => {
                self.ber = self.ber().to_vec();
                self.timeout = Some(self.timeout());
                self.transactions = Some(self.transactions());
                if !self.components.is_empty() && self.chances.is_empty() {
                    self.chances = CHANCES.to_vec();
                }
            }
            Kind::Loggp => self.blocks = Some(self.blocks()),
            Kind::Rtt | Kind::Bandwidth => {
                [self.warmup, self.duration] = self.times().map(Some);
            }
        }
    }

    fn taken(&self) -> Value {
        yaml::value(self)
    }

    fn check<'a>(&'a self, scene: Scene<'a>, at: &[Step<'a>; 3]) -> Checked<'a> {
        let inside = |key| [at[0], at[1], at[2], Key(key)];
        if !is_name(self.name()) {
            return wrong(&inside("name"), NAME);
        }
        scene.check_ends([&self.from, &self.to], at)?;
        let from = scene.named(&self.from, &inside("from"))?;
        if !self.is_of_one() {
            scene.target(from, &self.to, &inside("to"))?;
            let to = scene.named(&self.to, &inside("to"))?;
            if let Some(cpu) = shared_cpu(from, to) {
                let why = format!(
                    "both ends poll, and would share CPU {cpu}: name two hosts of that machine, each with a `cpu` of its own"
                );
                return wrong(&inside("to"), why);
            }
        }
        let [no_transport, no_protocol] = [self.transports.is_empty(), self.protocols.is_empty()];
        if no_transport {
            return wrong(&inside("transports"), "there is no transport");
        }
        if no_protocol {
            return wrong(&inside("protocols"), "there is no protocol");
        }
        for (key, twice, what) in [
            ("transports", repeated(&self.transports), "transport"),
            ("protocols", repeated(&self.protocols), "protocol"),
        ] {
            if let Some(i) = twice {
                return wrong(
                    &[at[0], at[1], at[2], Key(key), Index(i)],
                    format!("this {what} is given twice"),
                );
            }
        }
        if self.transports.contains(&Transport::Tcp) {
            return wrong(
                &inside("transports"),
                "active messages go over udp, shm or verbs",
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
        }
        self.check_options(at)?;
        scene.check_kinds(&self.levels, at)
    }
}

/// The CPU of one machine that both hosts name.
fn shared_cpu(from: &Host, to: &Host) -> Option<usize> {
    let is_one_machine = from.at == to.at || (from.at.is_here() && to.at.is_here());
    from.cpu.filter(|_| is_one_machine && from.cpu == to.cpu)
}
