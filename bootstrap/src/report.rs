//! The report of a boot: kept for `jitterlab boot report`, and printed.

use std::fmt::Write;
use std::path::Path;

use jitterlab_base::durable::write_atomically;
use jitterlab_base::show;
use serde::{Deserialize, Serialize};

use crate::command::{Error, of_file};
pub use crate::rdma::Device;

/// The file in which it is kept: as long as the node runs.
const PATH: &str = "/run/jitterlab/boot.json";
/// The file that says that the boot service has ended in the middle, and how.
const FAILED: &str = "/run/jitterlab/boot-failed";
/// The file in which the initrd says that memory is too little.
const SHORT_OF_MEMORY: &str = "/run/jitterlab/short-of-memory";

/// A boot.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct BootReport {
    /// The name of the node.
    pub hostname: String,
    /// The kernel.
    pub kernel: String,
    /// The command line that the kernel was started with.
    pub command_line: String,
    /// The place where `node.yaml` was found; none where the defaults serve.
    pub node_file: Option<String>,
    /// The directory in which the volume is mounted, if there is one.
    pub volume: Option<String>,
    /// The time that each part of the boot took, in their order.
    pub phases: Vec<Phase>,
    /// The time from the start of the kernel (of the first one, where another was started) until it was ready.
    pub ready_ns: u64,
    /// The kernel parameters that tuning takes and the boot loader did not give: where they are given, no kernel need be
    /// started again.
    pub parameters: String,
    /// Settings that need kernel parameters which this boot does not have, and why it has not.
    pub missing: Vec<Missing>,
    /// The public key that the node proves itself by over SSH; nothing where nobody may log in.
    pub host_key: Option<String>,
    /// The RDMA devices.
    pub rdma: Vec<Device>,
    /// Whether `jitterlab check` finds the node fit; nothing where it did not come to that.
    pub fit: Option<bool>,
    /// True if the processors are an emulator's, whose noise is not judged.
    pub emulated: bool,
    /// The step that is under way; none at the end.
    pub doing: Option<String>,
    /// The problems, with what to do.
    pub problems: Vec<Problem>,
}

/// A part of a boot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Phase {
    /// Its name.
    pub name: String,
    /// The time that it took.
    pub ns: u64,
}

/// A setting that waits for a boot which will not come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing {
    /// The setting.
    pub setting: String,
    /// The reason why it matters.
    pub why: String,
}

/// Something that went wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// The step that was under way.
    pub doing: String,
    /// The event, and what to do.
    pub said: String,
}

impl BootReport {
    /// The report of this boot, as far as it has come; also of one that has failed.
    ///
    /// # Errors
    /// There is none: this is no appliance.
    pub fn load() -> Result<Self, Error> {
        let failed = said_in(FAILED);
        let mut report = match std::fs::read_to_string(PATH) {
            Ok(text) => serde_json::from_str(&text)
                .map_err(|error| Error::Said(format!("{PATH}: {error}")))?,
            // It did not come to its first step.
            Err(_) if failed.is_some() => BootReport {
                problems: short_of_memory().into_iter().collect(),
                ..BootReport::default()
            },
            Err(source) => {
                return Err(Error::Said(format!(
                    "there is no boot report: this node was not booted from jitterlab's image ({PATH}: {source})"
                )));
            }
        };
        if let Some(said) = failed {
            let doing = report.doing.take();
            report.problems.push(Problem {
                doing: doing.unwrap_or_else(|| "boot".into()),
                said,
            });
        }
        Ok(report)
    }

    pub(crate) fn store(&self) -> Result<(), Error> {
        let text = serde_json::to_string_pretty(self).unwrap_or_default();
        write_atomically(Path::new(PATH), text.as_bytes()).map_err(of_file(PATH))
    }

    /// True if there is nothing to object to.
    pub fn is_clean(&self) -> bool {
        self.problems.is_empty()
            && self.doing.is_none()
            && self.missing.is_empty()
            && self.fit != Some(false)
    }

    /// The report as text for people.
    pub fn text(&self) -> String {
        let mut out = String::new();
        let _ = self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) -> std::fmt::Result {
        let none = "none";
        writeln!(out, "{}: Linux {}", self.hostname, self.kernel)?;
        let or = |text: &Option<String>, other: &str| text.clone().unwrap_or_else(|| other.into());
        writeln!(
            out,
            "  node.yaml  {}",
            or(&self.node_file, "none: as it is by default")
        )?;
        writeln!(
            out,
            "  volume     {}",
            or(&self.volume, "none: results are lost at the next boot")
        )?;
        let rdma: Vec<String> = self
            .rdma
            .iter()
            .map(|device| format!("{} ({}, {})", device.name, device.driver, device.state))
            .collect();
        writeln!(
            out,
            "  RDMA       {}",
            if rdma.is_empty() {
                none.into()
            } else {
                rdma.join(", ")
            }
        )?;
        if let Some(key) = &self.host_key {
            writeln!(out, "  host key   {key}")?;
        }
        let verdict = match (self.fit, self.emulated) {
            (Some(true), false) => "fit: microseconds can be measured here",
            (Some(true), true) => "fit: every setting holds (emulated: its noise is not judged)",
            (Some(false), _) => "not fit: `jitterlab check` says why",
            (None, _) => "not checked",
        };
        writeln!(out, "  check      {verdict}")?;
        match &self.doing {
            Some(doing) => writeln!(out, "  boot       not done yet: {doing}")?,
            None if self.ready_ns == 0 => writeln!(out, "  boot       did not come to its end")?,
            None => writeln!(
                out,
                "  boot       ready {} after the kernel's start",
                show::time(self.ready_ns as f64)
            )?,
        }
        for Phase { name, ns } in &self.phases {
            writeln!(out, "    {:7.2} s  {name}", seconds(*ns))?;
        }
        if !self.parameters.is_empty() {
            writeln!(
                out,
                "  tuning     takes kernel parameters; where the boot loader gives them, one kernel is enough:\n    {}",
                self.parameters
            )?;
        }
        for Missing { setting, why } in &self.missing {
            writeln!(out, "  missing    {setting}: {why}")?;
        }
        for Problem { doing, said } in &self.problems {
            writeln!(out, "  PROBLEM    {doing}: {said}")?;
        }
        Ok(())
    }
}

/// A boot that failed before is begun anew.
pub(crate) fn begin() {
    let _ = std::fs::remove_file(FAILED);
}

/// The words of the initrd about memory, if it is too little.
pub(crate) fn short_of_memory() -> Option<Problem> {
    Some(Problem {
        doing: "memory".into(),
        said: said_in(SHORT_OF_MEMORY)?,
    })
}

/// The words that somebody has left in a file.
fn said_in(path: &str) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    Some(text.trim().into())
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problems_are_in_the_text_and_in_the_verdict() {
        let mut report = BootReport {
            hostname: "n1".into(),
            kernel: "6.1".into(),
            command_line: "quiet".into(),
            node_file: None,
            volume: None,
            phases: vec![Phase {
                name: "services".into(),
                ns: 1_500_000_000,
            }],
            ready_ns: 4_250_000_000,
            parameters: "isolcpus=1".into(),
            missing: Vec::new(),
            host_key: Some("ssh-ed25519 AAAA".into()),
            rdma: Vec::new(),
            fit: Some(true),
            emulated: false,
            doing: None,
            problems: Vec::new(),
        };
        assert!(report.is_clean());
        let text = report.text();
        assert!(
            text.contains("ready 4.25 s after")
                && text.contains("  host key   ssh-ed25519 AAAA\n")
                && text.contains("   1.50 s  services")
                && text.contains("one kernel is enough:\n    isolcpus=1\n"),
            "{text}"
        );
        report.doing = Some("tuning".into());
        assert!(!report.is_clean() && report.text().contains("not done yet: tuning"));
        report.doing = None;
        report.problems.push(Problem {
            doing: "node.yaml".into(),
            said: "line 3".into(),
        });
        assert!(!report.is_clean() && report.text().contains("PROBLEM    node.yaml: line 3"));
    }
}
