//! A run of the packet suite.

use jitterlab_load::Produced;
use jitterlab_packet::transport::Transport;

use super::PacketCase;
use crate::command::Failed;
use crate::hosts::Hosts;
use crate::level::{Level, LevelKind, Phase};
use crate::scene::{Levels, Scene};
use crate::suites::{self, Case, Measured, Measures, SuiteResult, Works};

/// A case over one transport.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Work<'a> {
    /// The case.
    pub case: &'a PacketCase,
    /// The carrier of the messages.
    pub transport: Transport,
}

impl Works for PacketCase {
    fn works<'a>(&'a self, _: Scene<'a>) -> Vec<suites::Work<'a>> {
        let transports = self.transports.iter();
        let work = |&transport| Work {
            case: self,
            transport,
        };
        transports.map(work).map(suites::Work::Packet).collect()
    }
}

impl<'a> Measures<'a> for Work<'a> {
    fn case(&self) -> &'a str {
        self.case.name()
    }

    fn transport(&self) -> Option<Transport> {
        Some(self.transport)
    }

    fn measures_on(&self) -> &'a str {
        &self.case.from
    }

    fn levels(&self) -> &'a [LevelKind] {
        &self.case.levels
    }

    fn least_seconds(&self) -> f64 {
        let [least, _] = self.case.measurements();
        let each = self.case.warmup.as_secs_f64() + self.case.duration.as_secs_f64();
        f64::from(least) * each
    }

    /// Packets without and under load come first where a load is imitated: distributions are fitted to them.
    fn phase(&self, level: Level, levels: &Levels) -> Phase {
        match level.kind() {
            LevelKind::None | LevelKind::Load if levels.imitate() => Phase::Characterise,
            _ if levels.injected.is_some() => Phase::Inject,
            _ => Phase::Characterise,
        }
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
        self.measure(hosts, prefix, seed)
    }

    fn check(&self, result: &SuiteResult, load: Option<&Produced>) -> Result<(), Failed> {
        self.is_whole(result, load)
    }
}
