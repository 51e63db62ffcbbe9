//! The active-message suite: transactions by condition, what a frame costs, and what failures do.

pub mod loggp;
pub mod performability;
pub mod rates;
pub mod steps;
pub mod transactions;
pub mod way;

use jitterlab_amvia_suite::cases::Case as Kind;
use jitterlab_base::show;
use jitterlab_experiment::record::RunRecord;
use jitterlab_experiment::spec::Experiment;
use jitterlab_experiment::suites::Case as _;
use jitterlab_experiment::suites::amvia::AmviaCase;
use serde::Serialize;

use crate::Error;
use crate::analysis::brief::Brief;
use crate::analysis::normality::Normality;
use crate::analysis::suite::{Measured, Suite};
use crate::table::Table;
use crate::words;
use loggp::{Costs, Identity, Moved, Signature};
use performability::{Excess, Performability, Stage, Throughput};
use rates::Rate;
use steps::Passed;
use transactions::Transactions;
use way::Way;

/// The findings of the suite.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Found {
    /// Round trips of transactions by condition.
    #[serde(rename = "amvia")]
    pub transactions: Vec<Transactions>,
    /// Transactions and bytes a second.
    #[serde(rename = "amvia_bandwidth")]
    pub rates: Vec<Rate>,
    /// The parameters of LogGP.
    #[serde(rename = "loggp")]
    pub costs: Vec<Costs>,
    /// The identities that have to hold between them.
    #[serde(rename = "loggp_identities")]
    pub identities: Vec<Identity>,
    /// The times that delays have moved.
    #[serde(rename = "loggp_shifts")]
    pub moved: Vec<Moved>,
    /// The cost of a frame at each stage.
    #[serde(rename = "performability_stages")]
    pub stages: Vec<Stage>,
    /// The steps of a frame in the kernel.
    #[serde(rename = "performability_steps")]
    pub steps: Vec<Passed>,
    /// The costs of failures.
    #[serde(rename = "performability_excess")]
    pub excess: Vec<Excess>,
    /// Several transactions at a time, with failures and without.
    #[serde(rename = "performability_throughput")]
    pub throughput: Vec<Throughput>,
    /// Performability as one number.
    pub performability: Vec<Performability>,
    /// The messages of bursts, for the figures.
    #[serde(skip)]
    pub signatures: Vec<Signature>,
    /// Tests for normality.
    #[serde(skip)]
    normality: Vec<Normality>,
}

impl Suite for Found {
    const DISTANCE: u8 = 3;

    fn of(measured: &Measured) -> Result<Self, Error> {
        let found = transactions::transactions(measured.done, measured.samples)?;
        let loggp = loggp::loggp(measured.done)?;
        let failures = performability::performability(measured.done);
        Ok(Found {
            transactions: found.rows,
            rates: rates::rates(measured.done),
            costs: loggp.costs,
            identities: loggp.identities,
            moved: loggp.moved,
            stages: failures.stages,
            steps: steps::steps(measured.done),
            excess: failures.excess,
            throughput: failures.throughput,
            performability: failures.performability,
            signatures: loggp.signatures,
            normality: found.normality,
        })
    }

    fn tables(&self) -> Vec<Table> {
        vec![
            Table::of(&self.transactions),
            Table::of(&self.rates),
            Table::of(&self.costs),
            Table::of(&self.identities),
            Table::of(&self.moved),
            Table::of(&self.stages),
            Table::of(&self.steps),
            Table::of(&self.excess),
            Table::of(&self.throughput),
            Table::of(&self.performability),
        ]
    }

    fn normality(&self) -> &[Normality] {
        &self.normality
    }

    fn brief(&self) -> Vec<Brief> {
        let time = |way: &Way, figure, ns| Brief::time(way.to_string(), way.level, figure, ns);
        let transactions = self.transactions.iter();
        let transactions = transactions.map(|row| time(&row.way, "mean round trip", row.mean_ns));
        let rates = self.rates.iter().map(|row| Brief {
            of: format!("{}, {} B", row.way, row.size),
            level: row.way.level,
            figure: "transactions",
            unit: "a second",
            mean: row.transactions,
        });
        let costs = self.costs.iter();
        let costs = costs.map(|row| time(&row.way, "round trip", row.round_trip_ns));
        Brief::first([transactions.collect(), rates.collect(), costs.collect()])
    }

    fn described(experiment: &Experiment) -> Vec<String> {
        experiment.suites.amvia.iter().map(described).collect()
    }

    fn subject(run: &RunRecord) -> Option<String> {
        Way::of(run).map(|way| way.to_string())
    }
}

fn described(case: &AmviaCase) -> String {
    let transports = case.transports.iter().map(|it| words::transport(it.name()));
    let protocols = case.protocols.iter().map(ToString::to_string);
    let how = match case.case {
        Kind::Performability => format!("a fixed timeout of {}", case.timeout()),
        Kind::Rtt | Kind::Bandwidth | Kind::Loggp => {
            show::counted(case.window().into(), "transaction") + " at once"
        }
    };
    format!(
        "amvia, {}: {} over {} from {} to {}, {how}",
        case.name(),
        words::list(&protocols.collect::<Vec<_>>()),
        words::list(&transports.collect::<Vec<_>>()),
        case.from,
        case.to,
    )
}
