//! Measuring a case of the active-message suite.

use std::net::SocketAddr;

use jitterlab_amvia_suite::cases::Case;
use jitterlab_amvia_suite::loggp::LogGp;
use jitterlab_amvia_suite::message_for;
use jitterlab_base::show;
use jitterlab_base::units::{Bytes, Nanos};
use jitterlab_load::Produced;
use jitterlab_packet::transport::Transport;

use super::{AmviaResult, Work};
use crate::command::{Failed, SLACK, own, printed, words};
use crate::hosts::Hosts;
use crate::suites::{Measured, SuiteResult};

/// The name of a file in a worker's directory.
const SAMPLES: &str = "samples.parquet";
/// A run has so many times the time that it usually takes: under load or with delays everything takes longer.
const PATIENCE: f64 = 20.0;
/// A run of loggp has so many times its usual time: it makes a number of transactions, and they take as long as they take. A block over
/// Soft-RoCE in an emulated machine takes 80 times as long as usual.
const PATIENCE_OF_BLOCKS: f64 = 200.0;
/// Two ends in one program have so many seconds at least: each waits for the other wherever something else takes its CPU.
const LEAST: f64 = 300.0;

impl<'a> Work<'a> {
    /// Runs a case of `jitterlab amvia` whose ends are both in one program.
    pub(super) fn measure_alone(
        &self,
        hosts: &mut Hosts<'a>,
        prefix: Vec<String>,
        seed: u64,
    ) -> Result<Measured, Failed> {
        let case = self.case;
        let from = hosts.host(&case.from)?;
        fn list<T: ToString>(items: &[T]) -> String {
            let items: Vec<String> = items.iter().map(ToString::to_string).collect();
            items.join(",")
        }
        let transactions = case.transactions().to_string();
        let run = words(&["amvia", case.case.name(), "--format", "json"])
            .chain(words(&["--transport", self.transport.name()]))
            .chain(words(&["--protocol", self.protocol.name()]))
            .chain(device(&from.device, self.transport))
            .chain(words(&["--ber", &list(case.ber())]))
            .chain(words(&["--timeout", &case.timeout().to_string()]))
            .chain(words(&["--size", &case.sizes()[0].to_string()]))
            .chain(words(&["--measured", &transactions]))
            .chain(words(&["--simulated", &transactions]))
            .chain(words(&["--seed", &seed.to_string()]));
        let failing = [
            ("--component", list(&case.components)),
            ("--chance", list(&case.chances)),
        ];
        let failing = failing.into_iter().filter(|(_, list)| !list.is_empty());
        let run = run.chain(failing.flat_map(|(name, list)| [name.into(), list]));
        // Its two threads poll, and cannot share a CPU.
        let mut program = own(run, None);
        program.command.splice(0..0, prefix);
        let worker = hosts.worker(&case.from)?;
        // It ends with 1 where experiment and model differ, which is a result.
        let ended = worker.run_to_end(program, self.time())?;
        let [report] = printed::<[AmviaResult; 1]>(&ended)?;
        Ok(Measured {
            result: SuiteResult::Amvia(report),
            samples: None,
        })
    }

    /// The time that a run may take.
    fn time(&self) -> Nanos {
        let usual = self.case.seconds();
        let seconds = match self.case.case {
            Case::Performability => (PATIENCE * usual).max(LEAST),
            Case::Loggp => PATIENCE_OF_BLOCKS * usual,
            Case::Rtt | Case::Bandwidth => PATIENCE * usual,
        };
        Nanos((seconds * 1e9) as u64 + SLACK.0)
    }

    /// Runs a case of `jitterlab amvia` against a server.
    pub(super) fn measure(
        &self,
        hosts: &mut Hosts<'a>,
        prefix: Vec<String>,
        seed: u64,
    ) -> Result<Measured, Failed> {
        let Work {
            case, transport, ..
        } = *self;
        let (from, to) = (hosts.host(&case.from)?, hosts.host(&case.to)?);
        let address = to.address().ok_or("the server has no address")?;
        let bind = SocketAddr::new(address, 0);
        let listen = match transport {
            // A server is there alone, and one of another experiment has another process that conducts it.
            Transport::Shm => format!("shm://run-{}", std::process::id()),
            over => format!("{over}://{bind}"),
        };
        let longest = message_for(self.longest());
        let serve = words(&["amvia", "serve", "--until-stdin-closes", "--wait", "poll"])
            .chain(words(&[
                "--listen",
                &listen,
                "--message",
                &longest.to_string(),
            ]))
            .chain(self.both(seed))
            .chain(device(&to.device, transport));
        let worker = hosts.worker(&case.to)?;
        let (server, at): (u32, String) = worker.start_server(own(serve, to.cpu))?;
        let run = words(&["amvia", case.case.name(), "--format", "json", "--to", &at])
            .chain(words(&["--transport", transport.name()]))
            .chain(self.both(seed))
            .chain(device(&from.device, transport))
            .chain(self.told());
        let mut program = own(run, from.cpu);
        program.command.splice(0..0, prefix);
        let worker = hosts.worker(&case.from)?;
        let ended = worker.run(program, self.time())?;
        let samples = match case.case {
            Case::Rtt => Some(worker.take(SAMPLES)?),
            Case::Bandwidth | Case::Loggp | Case::Performability => None,
        };
        hosts.worker(&case.to)?.stop(server)?;
        let report: AmviaResult = printed(&ended)?;
        Ok(Measured {
            result: SuiteResult::Amvia(report),
            samples,
        })
    }

    /// The longest message.
    fn longest(&self) -> Bytes {
        let sizes = self.case.sizes().into_iter();
        let bulk = match self.case.case {
            Case::Loggp => LogGp::default().longest(),
            Case::Rtt | Case::Bandwidth | Case::Performability => Bytes(0),
        };
        sizes.fold(bulk, Bytes::max)
    }

    /// Options that both ends get. Faults differ from run to run, unless the file has a seed for them.
    fn both(&self, seed: u64) -> impl Iterator<Item = String> {
        let faults = self.case.faults.as_ref().map(|faults| {
            let seed = match faults.contains("seed=") {
                true => String::new(),
                false => format!(",seed={seed}"),
            };
            ["--faults".to_string(), format!("{faults}{seed}")]
        });
        words(&["--protocol", self.protocol.name()])
            .chain(words(&["--window", &self.case.window().to_string()]))
            .chain(words(&["--min-rto", &self.case.case.min_rto().to_string()]))
            .chain(faults.into_iter().flatten())
    }

    /// The arguments for the case alone.
    fn told(&self) -> Vec<String> {
        let case = self.case;
        let sizes: Vec<String> = case.sizes().iter().map(ToString::to_string).collect();
        let [warmup, duration] = case.times();
        let mut told: Vec<String> = words(&["--size", &sizes.join(",")]).collect();
        match case.case {
            Case::Loggp => told.extend(words(&["--blocks", &case.blocks().to_string()])),
            Case::Rtt | Case::Bandwidth => {
                told.extend(words(&["--warmup", &warmup.to_string()]));
                told.extend(words(&["--duration", &duration.to_string()]));
            }
            Case::Performability => {}
        }
        if case.case == Case::Rtt {
            told.extend(words(&["--samples", SAMPLES]));
        }
        told
    }

    /// Whether a run was as long as it was to be, and under load for as long.
    pub(super) fn is_whole(
        &self,
        result: &SuiteResult,
        load: Option<&Produced>,
    ) -> Result<(), Failed> {
        if result.amvia().is_some_and(AmviaResult::memory_full) {
            return Err(Failed::Always(
                "the memory for samples was full before its time was over; give it a shorter `duration`".into(),
            ));
        }
        let timed = match self.case.case {
            Case::Rtt | Case::Bandwidth => self.case.seconds(),
            // It takes as long as it takes.
            Case::Loggp | Case::Performability => 0.0,
        };
        match load {
            Some(load) if load.seconds < timed => {
                let seconds = show::time(load.seconds * 1e9);
                Err(format!("the background load was there for {seconds} only").into())
            }
            _ => Ok(()),
        }
    }
}

/// The option that says the device of a host.
fn device(device: &Option<String>, transport: Transport) -> Vec<String> {
    let named = device.iter().filter(|_| transport == Transport::Verbs);
    let words = named.flat_map(|name| ["--device".into(), name.clone()]);
    words.collect()
}
