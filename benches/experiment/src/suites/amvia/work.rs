//! A run of the active-message suite.

use jitterlab_amvia_suite::Protocol;
use jitterlab_load::Produced;
use jitterlab_packet::transport::Transport;

use super::AmviaCase;
use crate::command::Failed;
use crate::hosts::Hosts;
use crate::level::LevelKind;
use crate::scene::Scene;
use crate::suites::{self, Case, Measured, Measures, SuiteResult, Works};

/// A case over one transport, in one protocol.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Work<'a> {
    /// The case.
    pub case: &'a AmviaCase,
    /// The carrier of the frames.
    pub transport: Transport,
    /// The protocol.
    pub protocol: Protocol,
}

impl Works for AmviaCase {
    fn works<'a>(&'a self, _: Scene<'a>) -> Vec<suites::Work<'a>> {
        let each = self.transports.iter().flat_map(|&transport| {
            let protocols = self.protocols.iter();
            protocols.map(move |&protocol| Work {
                case: self,
                transport,
                protocol,
            })
        });
        each.map(suites::Work::Amvia).collect()
    }
}

impl<'a> Measures<'a> for Work<'a> {
    fn case(&self) -> &'a str {
        self.case.name()
    }

    fn transport(&self) -> Option<Transport> {
        Some(self.transport)
    }

    fn variant(&self) -> Option<&'static str> {
        Some(self.protocol.name())
    }

    fn measures_on(&self) -> &'a str {
        &self.case.from
    }

    fn levels(&self) -> &'a [LevelKind] {
        &self.case.levels
    }

    fn least_seconds(&self) -> f64 {
        self.case.seconds()
    }

    fn is_compared(&self) -> bool {
        false
    }

    fn perform(
        &self,
        hosts: &mut Hosts<'a>,
        prefix: Vec<String>,
        seed: u64,
    ) -> Result<Measured, Failed> {
        match self.case.is_of_one() {
            true => self.measure_alone(hosts, prefix, seed),
            false => self.measure(hosts, prefix, seed),
        }
    }

    fn check(&self, result: &SuiteResult, load: Option<&Produced>) -> Result<(), Failed> {
        self.is_whole(result, load)
    }
}
