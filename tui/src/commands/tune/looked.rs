//! What the settings of this node say, be it tuned or not.

use jitterlab_node_tuning::system::System;
use jitterlab_node_tuning::tune::{self, Asked, Error, Survey};

use super::failure;
use crate::outcome::Failure;

/// What the settings of a node say.
pub struct Looked {
    /// Whether something was applied on it; otherwise the settings are what `tune apply` would want.
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
        // Nothing was asked for that could be wrong: the node is too small.
        Err(Error::Refused(refusal)) => Err(refusal.to_string()),
        Err(error) => return Err(failure(error)),
    };
    Ok(Looked { tuned, survey })
}
