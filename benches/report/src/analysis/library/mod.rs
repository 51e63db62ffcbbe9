//! The library suite: operations of MPI.

pub mod operations;

use serde::Serialize;

use crate::Error;
use crate::analysis::normality::Normality;
use crate::analysis::pictures::RankPicture;
use crate::analysis::suite::{Measured, Suite};
use crate::table::Table;
use operations::Operation;

/// What was found of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Found {
    /// Operations of MPI.
    #[serde(rename = "library")]
    pub operations: Vec<Operation>,
    /// Tests for normality.
    #[serde(skip)]
    pub normality: Vec<Normality>,
    /// For the figures: operations rank by rank.
    #[serde(skip)]
    pub rank_pictures: Vec<RankPicture>,
}

impl Suite for Found {
    fn of(measured: &Measured) -> Result<Self, Error> {
        let found = operations::operations(measured)?;
        Ok(Found {
            operations: found.rows,
            normality: found.normality,
            rank_pictures: found.ranks,
        })
    }

    fn tables(&self) -> Vec<Table> {
        vec![Table::of(&self.operations)]
    }

    fn normality(&self) -> &[Normality] {
        &self.normality
    }
}
