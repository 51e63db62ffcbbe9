//! Measuring an application.

use std::net::SocketAddr;

use jitterlab_cluster::{Program, Ready};
use jitterlab_mpi_results::npb as results;

use super::runtime::runtime;
use super::{Application, Client, Npb, Work};
use crate::command::{Failed, words};
use crate::hosts::Hosts;
use crate::mpi::PROGRAM;
use crate::scene::Mpi;
use crate::suites::{Measured, SuiteResult};

impl<'a> Work<'a> {
    /// A program that is not there will not be there at the next attempt.
    pub(super) fn look_for_programs(
        &self,
        hosts: &mut Hosts<'a>,
        client: &'a Client,
    ) -> Result<(), Failed> {
        let server = self.case.server.iter();
        let places = server.map(|server| (&server.on, &server.command));
        for (on, command) in places.chain([(&client.on, &client.command)]) {
            if let Some(program) = command.first()
                && !hosts.worker(on)?.has_program(program)?
            {
                let reason = format!("host {on} has no program {program}");
                return Err(Failed::Always(reason));
            }
        }
        Ok(())
    }

    /// Runs a command, beside its server if it has one.
    pub(super) fn client(
        &self,
        hosts: &mut Hosts<'a>,
        client: &'a Client,
        prefix: Vec<String>,
    ) -> Result<Measured, Failed> {
        let case = self.case;
        let mut server = None;
        let mut place = None;
        if let Some(wanted) = &case.server {
            let host = hosts.host(&wanted.on)?;
            let address = host.address().ok_or("the server has no address")?;
            let worker = hosts.worker(&wanted.on)?;
            let listens = SocketAddr::new(address, worker.free_port(address)?);
            let program = Program {
                command: filled(&wanted.command, Some(listens)),
                cpu: host.cpu,
            };
            let ready = match &wanted.ready {
                Some(pattern) => Ready::Line(pattern.clone()),
                None => Ready::Accepts(listens),
            };
            let (id, _) = worker.start_program(program, ready)?;
            server = Some((&wanted.on, id));
            place = Some(listens);
        }
        let program = Program {
            command: [prefix, filled(&client.command, place)].concat(),
            cpu: hosts.host(&client.on)?.cpu,
        };
        let worker = hosts.worker(&client.on)?;
        let mut outcome = worker.run(program, case.timeout);
        if let Some((host, id)) = server {
            // A server that has failed is why its client did, or makes what it measured worthless.
            if let Err(failure) = hosts.worker(host)?.stop(id) {
                outcome = Err(match outcome {
                    Ok(_) => failure,
                    Err(reason) => format!("{reason}; {failure}"),
                });
            }
        }
        let ended = outcome?;
        let runtime_s = runtime(case.runtime.as_ref(), &ended)?;
        let figure = SuiteResult::Application(Application {
            runtime_s,
            program_s: ended.seconds,
            npb: None,
        });
        Ok(Measured {
            result: figure,
            samples: None,
        })
    }

    /// Runs one of the NAS Parallel Benchmarks; its run time is the one that it reports.
    pub(super) fn npb(
        &self,
        hosts: &mut Hosts<'a>,
        npb: &'a Npb,
        mpi: &'a Mpi,
        prefix: Vec<String>,
    ) -> Result<Measured, Failed> {
        let program = words(&[PROGRAM, "npb", npb.kernel.name()]).chain(words(&[
            "--class",
            npb.class.name(),
            "--format",
            "json",
        ]));
        let program = prefix.into_iter().chain(program);
        let report: results::Report = hosts.ranks(mpi, npb.ranks, program, self.case.timeout)?;
        let figure = SuiteResult::Application(Application {
            runtime_s: report.time_s,
            program_s: report.time_s,
            npb: Some(report),
        });
        Ok(Measured {
            result: figure,
            samples: None,
        })
    }
}

/// A command with what stands for the server's place filled in.
fn filled(command: &[String], place: Option<SocketAddr>) -> Vec<String> {
    let Some(place) = place else {
        return command.to_vec();
    };
    let (address, port) = (place.ip().to_string(), place.port().to_string());
    let fill = |word: &String| word.replace("{address}", &address).replace("{port}", &port);
    command.iter().map(fill).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_servers_place_is_filled_in_everywhere() {
        let command = ["a", "{address}:{port}", "--x={port}"].map(String::from);
        let place = "10.0.0.1:99".parse().unwrap();
        assert_eq!(
            filled(&command, Some(place)),
            ["a", "10.0.0.1:99", "--x=99"]
        );
    }
}
