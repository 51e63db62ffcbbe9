//! A run of an application.

use super::{ApplicationCase, Program};
use crate::command::Failed;
use crate::hosts::Hosts;
use crate::level::LevelKind;
use crate::scene::{Hook, Mpi, Scene};
use crate::suites::{self, Measured, Measures, SuiteResult, Works};

/// A program, with how it is started.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Work<'a> {
    /// The application.
    pub case: &'a ApplicationCase,
    /// The program that it starts.
    pub program: Program<'a>,
}

impl Works for ApplicationCase {
    fn works<'a>(&'a self, scene: Scene<'a>) -> Vec<suites::Work<'a>> {
        let client = self.client.as_ref().map(Program::Client);
        let npb = || Some(Program::Npb(self.npb.as_ref()?, scene.mpi?));
        let work = |program| Work {
            case: self,
            program,
        };
        let program = client.or_else(npb).into_iter();
        program.map(work).map(suites::Work::Application).collect()
    }
}

impl<'a> Measures<'a> for Work<'a> {
    fn case(&self) -> &'a str {
        &self.case.name
    }

    fn measures_on(&self) -> &'a str {
        match self.program {
            Program::Client(client) => &client.on,
            Program::Npb(_, mpi) => &mpi.on,
        }
    }

    fn levels(&self) -> &'a [LevelKind] {
        &self.case.levels
    }

    fn hook(&self) -> Option<Hook> {
        match self.program {
            Program::Client(_) => self.case.hook,
            Program::Npb(_, mpi) => Some(mpi.hook),
        }
    }

    fn mpi(&self) -> Option<&'a Mpi> {
        match self.program {
            Program::Client(_) => None,
            Program::Npb(_, mpi) => Some(mpi),
        }
    }

    fn least_seconds(&self) -> f64 {
        self.case.expected().as_secs_f64()
    }

    fn figure(&self, result: &SuiteResult) -> Option<f64> {
        Some(result.application()?.runtime_s)
    }

    fn prepare(&self, hosts: &mut Hosts<'a>) -> Result<(), Failed> {
        match self.program {
            Program::Client(client) => self.look_for_programs(hosts, client),
            Program::Npb(..) => Ok(()),
        }
    }

    fn perform(
        &self,
        hosts: &mut Hosts<'a>,
        prefix: Vec<String>,
        _seed: u64,
    ) -> Result<Measured, Failed> {
        match self.program {
            Program::Client(client) => self.client(hosts, client, prefix),
            Program::Npb(npb, mpi) => self.npb(hosts, npb, mpi, prefix),
        }
    }

    fn is_silent(&self, result: &SuiteResult) -> bool {
        let figure = result.application();
        figure.is_some_and(|figure| figure.is_silent(self.hook()))
    }
}
