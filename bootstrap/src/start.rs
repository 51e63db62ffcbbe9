//! The boot, step by step.

use std::thread;
use std::time::{Duration, Instant};

use jitterlab_node_tuning::boot::Parameters;
use nix::time::{ClockId, clock_gettime};

use crate::command::Error;
use crate::node_file::NodeFile;
use crate::report::{BootReport, Missing, Phase, Problem};
use crate::source::Source;
use crate::volume::Volume;
use crate::{kernel, network, phases, rdma, session, ssh, tuning, volume};

/// Does all of it. What fails is in the report, and said on the console as it happens.
pub fn start() -> BootReport {
    let running = Parameters::parse(&std::fs::read_to_string("/proc/cmdline").unwrap_or_default());
    let mut boot = Boot::new(running);
    let volume = boot.step("volume", volume::ours).flatten();
    let (node, node_file) = boot.node_file(volume.as_ref());
    let hostname = boot.step("hostname", || network::name_node(node.hostname.as_deref()));
    boot.step("addresses", || network::give_addresses(&node.addresses));
    let missing = boot.tune(&node, volume.as_ref());
    // Whoever logs in stays: the kernel is not started again after this.
    if !node.ssh_keys.is_empty() {
        boot.step("SSH", || ssh::open(&node.ssh_keys, volume.as_ref()));
    }
    let rdma = boot.step("RDMA", || rdma::set_up(node.device.as_deref()));
    let verdict = boot.step("check", tuning::check);
    if let Some(volume) = &volume {
        boot.step("room", || volume.check_room());
    }
    let report = BootReport {
        hostname: hostname.unwrap_or_else(|| "localhost".into()),
        kernel: std::fs::read_to_string("/proc/sys/kernel/osrelease")
            .unwrap_or_default()
            .trim()
            .into(),
        command_line: boot.running.to_string(),
        node_file,
        volume: volume
            .as_ref()
            .map(|volume| volume.at.display().to_string()),
        ready_ns: boot.before_ns + monotonic_ns(),
        phases: boot.phases,
        missing,
        rdma: rdma.unwrap_or_default(),
        fit: verdict.as_ref().map(|verdict| verdict.fit),
        emulated: verdict.is_some_and(|verdict| verdict.emulated),
        problems: boot.problems,
    };
    session::begin(report, &node, volume.as_ref())
}

struct Boot {
    running: Parameters,
    /// How long the kernel before this one ran.
    before_ns: u64,
    phases: Vec<Phase>,
    problems: Vec<Problem>,
}

impl Boot {
    fn new(running: Parameters) -> Self {
        let before_ns = kernel::restarted_after(&running);
        let first = before_ns.map(|ns| Phase {
            name: "first kernel, which started this one".into(),
            ns,
        });
        Boot {
            phases: first
                .into_iter()
                .chain(phases::until(monotonic_ns()))
                .collect(),
            before_ns: before_ns.unwrap_or(0),
            running,
            problems: Vec::new(),
        }
    }

    /// A part of the boot: its time is a phase, its error a problem.
    fn step<T>(&mut self, name: &str, step: impl FnOnce() -> Result<T, Error>) -> Option<T> {
        let start = Instant::now();
        let outcome = step();
        self.phases.push(Phase {
            name: name.into(),
            ns: start.elapsed().as_nanos() as u64,
        });
        outcome
            .map_err(|error| self.problem(name, error.to_string()))
            .ok()
    }

    fn problem(&mut self, doing: &str, said: String) {
        eprintln!("jitterlab boot: {doing}: {said}");
        self.problems.push(Problem {
            doing: doing.into(),
            said,
        });
    }

    /// What the node is to be, and where that was found. What cannot be read, or is wrong, is a problem, and the
    /// defaults serve.
    fn node_file(&mut self, volume: Option<&Volume>) -> (NodeFile, Option<String>) {
        let source = Source::of(&self.running);
        let found = self.step("node.yaml", || source.read(volume)).flatten();
        let Some((text, path)) = found else {
            return (NodeFile::default(), None);
        };
        let node = NodeFile::parse(&text, &path).map_err(|error| {
            self.problem(
                "node.yaml",
                format!(
                    "{error}; the defaults serve until it is mended and the node started again"
                ),
            );
        });
        (node.unwrap_or_default(), Some(path.display().to_string()))
    }

    /// Tunes the node, and starts the kernel again where that takes other parameters than it has. Gives what is
    /// missing for good.
    fn tune(&mut self, node: &NodeFile, volume: Option<&Volume>) -> Vec<Missing> {
        let applied = self
            .step("tuning", || tuning::apply(node))
            .unwrap_or_default();
        if applied.waiting.is_empty() {
            return Vec::new();
        }
        let wanted = tuning::parameters();
        if kernel::restarted_after(&self.running).is_some() {
            self.problem(
                "kexec",
                format!("the kernel was started again with {wanted}, and does not have what it takes all the same; it is not tried twice"),
            );
            return applied.waiting;
        }
        let next = kernel::parameters(&self.running, &wanted, monotonic_ns());
        self.step("kexec", || {
            kernel::load(&next, &wanted)?;
            eprintln!("jitterlab boot: the kernel is started again, with {wanted}");
            if let Some(volume) = volume {
                volume.unmount()?;
            }
            kernel::start()
        });
        applied.waiting
    }
}

/// Time since the kernel's start.
fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).map(Duration::from);
    now.map_or(0, |now| now.as_nanos() as u64)
}

/// Asks again and again until something is true; whether it became so in time.
pub fn wait_until(patience: Duration, is_true: impl Fn() -> bool) -> bool {
    /// Often enough to lose no time that a person would notice, seldom enough to take none.
    const PAUSE: Duration = Duration::from_millis(20);
    let start = Instant::now();
    loop {
        if is_true() {
            return true;
        }
        if start.elapsed() >= patience {
            return false;
        }
        thread::sleep(PAUSE);
    }
}
