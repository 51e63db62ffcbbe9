//! The tuning plan, with the command that a person would use.

use std::path::Path;

use jitterlab_node_tuning::boot::Parameters;
use jitterlab_node_tuning::topology::Topology;
use serde::Deserialize;

use crate::command::{self, Error};
use crate::node_file::NodeFile;
use crate::report::Missing;

/// The tuning that was applied, or would be.
#[derive(Debug, Default)]
pub struct Tuned {
    /// The device that is measured with.
    pub device: Option<String>,
    /// Settings that are in force only after a boot with `parameters`.
    pub waiting: Vec<Missing>,
    /// The kernel parameters that the running kernel does not have.
    pub parameters: Parameters,
}

#[derive(Deserialize)]
struct Survey {
    plan: Plan,
    settings: Vec<Finding>,
}

#[derive(Deserialize)]
struct Plan {
    device: Option<String>,
}

#[derive(Deserialize)]
struct Finding {
    name: String,
    state: String,
    why: String,
    differences: Vec<Difference>,
}

#[derive(Deserialize)]
struct Difference {
    place: String,
    wanted: Option<String>,
}

/// The name that `jitterlab tune` gives the place of what only the kernel's start can set.
const PARAMETER: &str = "kernel parameter";

/// The plan that would be applied. Nothing is written.
///
/// # Errors
/// There is no plan; the error says what to do.
pub fn plan(node: &NodeFile, device: Option<&str>) -> Result<Tuned, Error> {
    tune("plan", node, device)
}

/// Applies what the file asks for, for the programs that measure with `device`.
///
/// # Errors
/// It was refused as a whole: with what to do.
pub fn apply(node: &NodeFile, device: Option<&str>) -> Result<Tuned, Error> {
    tune("apply", node, device)
}

fn tune(verb: &str, node: &NodeFile, device: Option<&str>) -> Result<Tuned, Error> {
    let Some(profile) = node.tuning.profile() else {
        return Ok(Tuned::default());
    };
    let mut arguments = vec!["tune", verb, "--format", "json", "--profile", profile];
    let ranks = node.ranks.map(|ranks| ranks.to_string());
    if let Some(ranks) = &ranks {
        arguments.extend(["--ranks", ranks]);
    }
    if let Some(device) = device {
        arguments.extend(["--device", device]);
    }
    let printed = command::jitterlab(arguments)?;
    let survey: Survey = serde_json::from_str(&printed)
        .map_err(|error| Error::Said(format!("tune {verb} printed no JSON: {error}")))?;
    Ok(survey.into())
}

impl From<Survey> for Tuned {
    fn from(survey: Survey) -> Self {
        let mut tuned = Tuned {
            device: survey.plan.device,
            ..Tuned::default()
        };
        let able = survey
            .settings
            .into_iter()
            .filter(|finding| ["change", "reboot"].contains(&finding.state.as_str()));
        for finding in able {
            let wanted: Vec<String> = finding
                .differences
                .into_iter()
                .filter(|difference| difference.place == PARAMETER)
                .filter_map(|difference| difference.wanted)
                .collect();
            if wanted.is_empty() {
                continue;
            }
            for parameter in Parameters::parse(&wanted.join(" ")).iter() {
                tuned.parameters.set(parameter.clone());
            }
            tuned.waiting.push(Missing {
                setting: finding.name,
                why: finding.why,
            });
        }
        tuned
    }
}

/// The verdict of `jitterlab check` on a node.
#[derive(Deserialize)]
pub struct Verdict {
    /// True if there is nothing to object to.
    pub fit: bool,
    /// True if its processors are an emulator's, so that only its settings are judged.
    pub emulated: bool,
}

/// Whether the node is fit, by its settings and a second of its noise. An emulator's noise is not judged, nor waited for.
///
/// # Errors
/// It could not be checked.
pub fn check() -> Result<Verdict, Error> {
    let emulated = Topology::read(Path::new("/")).is_ok_and(|topology| topology.is_emulated());
    let duration = if emulated { "10ms" } else { "1s" };
    let printed = command::jitterlab(["check", "--format", "json", "--duration", duration])?;
    serde_json::from_str(&printed)
        .map_err(|error| Error::Said(format!("check printed no JSON: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_for_a_boot_is_told_with_its_parameters() {
        let printed = r#"{
            "plan": { "device": "eth0", "package": 0 },
            "settings": [
                { "name": "isolcpus", "state": "reboot", "why": "quiet", "differences": [
                    { "place": "kernel parameter", "current": null, "wanted": "isolcpus=1" } ] },
                { "name": "swap", "state": "change", "why": "memory", "differences": [
                    { "place": "/proc/swaps", "current": "a", "wanted": null } ] },
                { "name": "hugepages", "state": "change", "why": "pages", "differences": [
                    { "place": "/sys/a", "current": "a", "wanted": "b" },
                    { "place": "kernel parameter", "current": null, "wanted": "transparent_hugepage=never" } ] },
                { "name": "nosmt", "state": "unsupported", "why": "threads", "differences": [
                    { "place": "kernel parameter", "current": null, "wanted": "nosmt" } ] }
            ] }"#;
        let tuned = Tuned::from(serde_json::from_str::<Survey>(printed).unwrap());
        assert_eq!(tuned.device.as_deref(), Some("eth0"));
        assert_eq!(
            tuned.parameters.to_string(),
            "isolcpus=1 transparent_hugepage=never"
        );
        let names: Vec<_> = tuned
            .waiting
            .iter()
            .map(|missing| &missing.setting)
            .collect();
        assert_eq!(names, ["isolcpus", "hugepages"]);
    }
}
