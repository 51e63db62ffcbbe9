//! The findings in words.

use jitterlab_experiment::level::Level;
use serde::Serialize;

use super::amvia::{loggp, performability, transactions};
use super::application::runtimes::FixedMean;
use super::application::{correlation, runtimes};
use super::library::operations;
use super::packet::{emulation, fits, latency, places};
use super::paper::Finding;
use super::results::{Results, Suites};
use super::{accuracy, normality, paper};

/// The findings in words, each a sentence or two.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Summary {
    /// The paper's findings that hold here.
    pub paper: Vec<String>,
    /// The effects of variation and mean on applications.
    pub applications: Vec<String>,
    /// The sentences about operations of MPI.
    pub library: Vec<String>,
    /// The sentences about the paper's claim on correlations.
    pub correlations: Vec<String>,
    /// The sentences about active messages.
    pub amvia: Vec<String>,
    /// The sentences about latency under load.
    pub latency: Vec<String>,
    /// The sentences about packet cases beside round trips.
    pub packet: Vec<String>,
    /// The sentences about the fits.
    pub fits: Vec<String>,
    /// The sentences about the emulation.
    pub emulation: Vec<String>,
    /// The sentences about the injector.
    pub injector: Vec<String>,
    /// The sentences about normality.
    pub normality: Vec<String>,
    /// The gaps, and what follows from them.
    pub gaps: Vec<String>,
}

impl Summary {
    /// The sentences on what was found; `by_variation` is what more variation did to each program, and `gaps` is what is missing.
    pub(super) fn of<'a>(
        results: &Results,
        paper: &[Finding],
        by_variation: impl Iterator<Item = &'a FixedMean> + Clone,
        gaps: Vec<String>,
    ) -> Self {
        let Suites {
            packet,
            amvia,
            library,
            application,
        } = &results.suites;
        let load_called = |percent: u8| packet.load_called(percent);
        let level_called = |level: Level| packet.level_called(level);
        Summary {
            paper: paper::in_words(paper),
            applications: runtimes::in_words(
                &application.runtimes,
                &application.fixed_mean,
                by_variation,
                &load_called,
            ),
            library: operations::in_words(&library.operations, packet.imitation(), &load_called),
            correlations: correlation::in_words(&application.correlations),
            amvia: [
                transactions::in_words(&amvia.transactions),
                loggp::in_words(&amvia.identities, &amvia.moved),
                performability::in_words(&amvia.excess, &amvia.performability),
            ]
            .concat(),
            latency: latency::in_words(&packet.latency, &level_called),
            packet: places::in_words(&packet.places, &level_called),
            fits: fits::in_words(&packet.fits, &packet.latency, &packet.tables, &load_called),
            emulation: emulation::in_words(&packet.emulation, packet.imitation(), &load_called),
            injector: accuracy::in_words(&results.injector, &level_called),
            normality: normality::in_words(&results.normality),
            gaps,
        }
    }
}
