//! The tuning plan, with the command that a person would use.

use std::fs;

use jitterlab_node_tuning::boot::Parameters;
use serde::Deserialize;

use crate::command::{self, Error};
use crate::node_file::NodeFile;
use crate::report::Missing;

/// Where `jitterlab tune apply` writes kernel parameters on the appliance.
const PARAMETERS: &str = "/etc/jitterlab/kernel-parameters";

/// What was applied.
#[derive(Debug, Default)]
pub struct Applied {
    /// Settings that are in force only after a boot with [`parameters`].
    pub waiting: Vec<Missing>,
}

#[derive(Deserialize)]
struct Findings {
    settings: Vec<Finding>,
}

#[derive(Deserialize)]
struct Finding {
    name: String,
    state: String,
    why: String,
}

/// Applies what the file asks for.
///
/// # Errors
/// It was refused as a whole: with what to do.
pub fn apply(node: &NodeFile) -> Result<Applied, Error> {
    let Some(profile) = node.tuning.profile() else {
        return Ok(Applied::default());
    };
    let mut arguments = vec!["tune", "apply", "--format", "json", "--profile", profile];
    let ranks = node.ranks.map(|ranks| ranks.to_string());
    if let Some(ranks) = &ranks {
        arguments.extend(["--ranks", ranks]);
    }
    if let Some(device) = &node.device {
        arguments.extend(["--device", device]);
    }
    let printed = command::jitterlab(arguments)?;
    let findings: Findings = serde_json::from_str(&printed)
        .map_err(|error| Error::Said(format!("tune apply printed no JSON: {error}")))?;
    let waiting = findings
        .settings
        .into_iter()
        .filter(|finding| finding.state == "reboot");
    Ok(Applied {
        waiting: waiting
            .map(|finding| Missing {
                setting: finding.name,
                why: finding.why,
            })
            .collect(),
    })
}

/// The kernel parameters that wait for the next boot.
pub fn parameters() -> Parameters {
    Parameters::parse(&fs::read_to_string(PARAMETERS).unwrap_or_default())
}

/// What `jitterlab check` says of a node.
#[derive(Deserialize)]
pub struct Verdict {
    /// Whether there is nothing to object to.
    pub fit: bool,
    /// Whether its processors are an emulator's, so that only its settings are judged.
    pub emulated: bool,
}

/// Whether the node is fit, by its settings and a second of its noise.
///
/// # Errors
/// It could not be checked.
pub fn check() -> Result<Verdict, Error> {
    let printed = command::jitterlab(["check", "--format", "json", "--duration", "1s"])?;
    serde_json::from_str(&printed)
        .map_err(|error| Error::Said(format!("check printed no JSON: {error}")))
}
