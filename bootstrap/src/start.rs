//! The boot, step by step.

use std::time::Instant;

use jitterlab_node_tuning::boot::Parameters;

use crate::command::Error;
use crate::kernel::Before;
use crate::node_file::NodeFile;
use crate::report::{BootReport, Phase, Problem};
use crate::source::Source;
use crate::time::monotonic_ns;
use crate::tuning::Tuned;
use crate::volume::{Access, Volume};
use crate::{kernel, network, phases, rdma, report, session, ssh, tuning, volume};

/// Does all of it. What fails is in the report, and said on the console as it happens.
pub fn start() -> BootReport {
    report::begin();
    let running = Parameters::parse(&std::fs::read_to_string("/proc/cmdline").unwrap_or_default());
    let mut boot = Boot::new(running);
    let had_volume = boot.before.as_ref().is_some_and(|before| before.had_volume);
    let access = match boot.before {
        Some(_) => Access::Write,
        None => Access::Read,
    };
    let volume = boot.step("volume", || volume::ours(access, had_volume));
    let mut volume = volume.flatten();
    let (node, node_file) = boot.node_file(&mut volume, access);
    boot.step("RDMA modules", rdma::load);
    let device = measured_with(&node, boot.before.as_ref());
    if device.is_none() {
        boot.step("links", network::bring_links_up);
    }
    if boot.before.is_none() {
        // One that jitterlab.config names is looked for by that again.
        let had_volume = volume.as_ref().is_some_and(Volume::is_ours);
        boot.restart(&node, device.as_deref(), had_volume);
        volume = volume.and_then(|volume| boot.step("volume", || volume.for_writing()));
    }
    let hostname = boot.step("hostname", || network::name_node(node.hostname.as_deref()));
    boot.step("addresses", || network::give_addresses(&node.addresses));
    let tuned = boot.tune(&node, device.as_deref());
    if !node.known_hosts.is_empty() {
        boot.step("known hosts", || ssh::know(&node.known_hosts));
    }
    // Whoever logs in stays: the kernel is not started again after this.
    if !node.ssh_keys.is_empty() {
        boot.step("SSH", || ssh::open(&node.ssh_keys, volume.as_ref()));
    }
    let named = node.device.as_deref();
    // If it is not tuned, or refused, the device is the same.
    let chosen = tuned.device.as_deref().or(device.as_deref());
    boot.step("RDMA", || rdma::set_up(chosen, named));
    let rdma = rdma::devices();
    boot.check("RDMA", rdma::check(&rdma, named));
    let verdict = boot.step("check", tuning::check);
    if let Some(volume) = &volume {
        boot.check("volume", volume.check());
    }
    let report = BootReport {
        hostname: hostname.unwrap_or(boot.report.hostname),
        node_file,
        volume: volume
            .as_ref()
            .map(|volume| volume.at.display().to_string()),
        ready_ns: boot.before_ns + monotonic_ns(),
        parameters: match boot.before {
            Some(_) => kernel::added(&boot.running),
            None => tuned.parameters.to_string(),
        },
        missing: tuned.waiting,
        host_key: ssh::host_key(),
        rdma,
        fit: verdict.as_ref().map(|verdict| verdict.fit),
        emulated: verdict.is_some_and(|verdict| verdict.emulated),
        doing: None,
        ..boot.report
    };
    session::begin(report, &node, volume.as_ref())
}

/// The device that is measured with, as far as it is known: what `node.yaml` names, or the kernel before this one chose. That
/// in software is made later, on one that is chosen as if nobody had named any.
fn measured_with(node: &NodeFile, before: Option<&Before>) -> Option<String> {
    let named = node.device.clone();
    named
        .filter(|device| device != rdma::SOFTWARE)
        .or_else(|| before?.device.clone())
}

struct Boot {
    running: Parameters,
    /// The message of the kernel before this one, if there was one.
    before: Option<Before>,
    /// The time before this kernel at which that one started.
    before_ns: u64,
    /// The text of `node.yaml`, where it came from the network.
    fetched: Option<String>,
    /// The report so far.
    report: BootReport,
}

impl Boot {
    fn new(running: Parameters) -> Self {
        let before = Before::of(&running);
        let before_ns = before.as_ref().map_or(0, Before::ran_ns);
        let first = before.as_ref().map(|_| Phase {
            name: "first kernel, until this one started (to a second)".into(),
            ns: before_ns,
        });
        let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease");
        let report = BootReport {
            hostname: "localhost".into(),
            kernel: kernel.unwrap_or_default().trim().into(),
            command_line: running.to_string(),
            phases: first
                .into_iter()
                .chain(phases::until(monotonic_ns()))
                .collect(),
            problems: report::short_of_memory().into_iter().collect(),
            ..BootReport::default()
        };
        Boot {
            report,
            fetched: before.as_ref().and_then(Before::fetched),
            before,
            before_ns,
            running,
        }
    }

    /// A part of the boot: its time is a phase, its error a problem. Where the boot ends in it, the report so far says so.
    fn step<T>(&mut self, name: &str, step: impl FnOnce() -> Result<T, Error>) -> Option<T> {
        self.report.doing = Some(name.into());
        // The end of the boot says whether the report can be kept.
        let _ = self.report.store();
        let start = Instant::now();
        let outcome = step();
        self.report.phases.push(Phase {
            name: name.into(),
            ns: start.elapsed().as_nanos() as u64,
        });
        self.check(name, outcome)
    }

    /// Takes the outcome of a step that takes no time: its error is a problem.
    fn check<T>(&mut self, name: &str, outcome: Result<T, Error>) -> Option<T> {
        outcome
            .map_err(|error| self.problem(name, error.to_string()))
            .ok()
    }

    fn problem(&mut self, doing: &str, said: String) {
        eprintln!("jitterlab boot: {doing}: {said}");
        self.report.problems.push(Problem {
            doing: doing.into(),
            said,
        });
    }

    /// The node file, and where it was found. A file that cannot be read, or is wrong, is a problem, and the
    /// defaults serve.
    fn node_file(
        &mut self,
        volume: &mut Option<Volume>,
        access: Access,
    ) -> (NodeFile, Option<String>) {
        let source = Source::of(&self.running);
        let fetched = self.fetched.take();
        let found = self.step("node.yaml", || source.read(volume, access, fetched));
        let Some((text, path)) = found.flatten() else {
            return (NodeFile::default(), None);
        };
        if matches!(source, Source::Address(_)) {
            self.fetched = Some(text.clone());
        }
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

    /// Starts the kernel again where tuning takes parameters that this one does not have. Comes back where it takes none, or
    /// that is not possible: then nothing is left of it.
    fn restart(&mut self, node: &NodeFile, device: Option<&str>, has_volume: bool) {
        if !node.tuning.takes_parameters() || !kernel::is_allowed(&self.running) {
            return;
        }
        // The faults of a plan are told where it is applied.
        let Ok(plan) = tuning::plan(node, device) else {
            return;
        };
        if plan.parameters.iter().next().is_none() {
            return;
        }
        let next = Before {
            started_ms: kernel::started_ms(),
            device: plan.device,
            had_volume: has_volume,
        };
        let wanted = plan.parameters;
        let parameters = next.parameters(&self.running, &wanted);
        let fetched = self.fetched.take();
        self.step("kexec", || {
            let loaded = kernel::load(&parameters, &wanted, fetched.as_deref());
            let failed = loaded.and_then(|()| {
                eprintln!("jitterlab boot: the kernel is started again, with {wanted}");
                volume::unmount_all()?;
                kernel::start()
            });
            kernel::unload();
            failed
        });
    }

    /// Tunes the node; gives what is missing for good.
    fn tune(&mut self, node: &NodeFile, device: Option<&str>) -> Tuned {
        let tuned = self.step("tuning", || tuning::apply(node, device));
        let tuned = tuned.unwrap_or_default();
        if self.before.is_some() && !tuned.waiting.is_empty() {
            self.problem(
                "kexec",
                format!(
                    "the kernel was started again, and does not have {} all the same; it is not tried twice",
                    tuned.parameters
                ),
            );
        }
        tuned
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_device_in_software_is_made_on_one_that_is_chosen() {
        let before = Before {
            device: Some("eth1".into()),
            ..Before::default()
        };
        for (named, before, expected) in [
            (None, None, None),
            (None, Some(&before), Some("eth1")),
            (Some("eth0"), Some(&before), Some("eth0")),
            (Some(rdma::SOFTWARE), None, None),
            (Some(rdma::SOFTWARE), Some(&before), Some("eth1")),
        ] {
            let node = NodeFile {
                device: named.map(Into::into),
                ..NodeFile::default()
            };
            assert_eq!(measured_with(&node, before).as_deref(), expected);
        }
    }
}
