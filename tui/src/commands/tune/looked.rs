//! The settings of this node, be it tuned or not.

use jitterlab_node_tuning::system::System;
use jitterlab_node_tuning::tune::{self, Asked, Error, Survey};

use super::failure;
use crate::outcome::Failure;

/// The settings of a node.
pub struct Looked {
    /// True if something was applied on it; otherwise the settings are what `tune apply` would want.
    pub tuned: bool,
    /// The settings, or why there is no CPU that could measure.
    pub survey: Result<Survey, String>,
}

/// Looks at the settings that were applied, or at those that would be.
pub fn look(system: &System) -> Result<Looked, Failure> {
    let verified = tune::verify(system);
    let tuned = verified.is_ok();
    let surveyed = match verified {
        Err(Error::NothingApplied) => tune::plan(system, &Asked::default()),
        verified => verified,
    };
    let survey = match surveyed {
        Ok(survey) => Ok(survey),
        // The request is not wrong: the node is too small.
        Err(Error::Refused(refusal)) => Err(refusal.to_string()),
        Err(error) => return Err(failure(error)),
    };
    Ok(Looked { tuned, survey })
}
