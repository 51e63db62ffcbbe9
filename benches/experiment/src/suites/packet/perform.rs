//! Measuring a case of the packet suite.

use std::net::SocketAddr;

use jitterlab_base::show;
use jitterlab_base::units::Nanos;
use jitterlab_load::Produced;
use jitterlab_packet::cases::Case;

use super::{PacketResult, Work};
use crate::command::{Failed, SLACK, own, printed, words};
use crate::hosts::Hosts;
use crate::link;
use crate::suites::{Measured, Measures, SuiteResult};

/// The name of a file in a worker's directory.
const SAMPLES: &str = "samples.parquet";

impl<'a> Work<'a> {
    /// Runs `jitterlab packet run` against as many servers as it needs.
    pub(super) fn measure(
        &self,
        hosts: &mut Hosts<'a>,
        prefix: Vec<String>,
        seed: u64,
    ) -> Result<Measured, Failed> {
        let Work { case, transport } = *self;
        let (from, to) = (hosts.host(&case.from)?, hosts.host(&case.to)?);
        let address = to.address().ok_or("the server has no address")?;
        let bind = SocketAddr::new(address, 0).to_string();
        let worker = hosts.worker(&case.to)?;
        let (mut servers, mut listening) = (Vec::new(), Vec::new());
        for _ in 0..case.servers() {
            let serve = words(&["packet", "serve", "--until-stdin-closes", "--bind", &bind])
                .chain(link::of_server(transport, to));
            let (server, at): (u32, SocketAddr) = worker.start_server(own(serve, to.cpu))?;
            servers.push(server);
            listening.push(at.to_string());
        }
        let is_rtt = case.case == Case::Rtt;
        let wait = case
            .is_told_to_wait()
            .then(|| case.wait(transport).to_string());
        let run = words(&[
            "packet",
            "run",
            "--case",
            case.case.name(),
            "--format",
            "json",
        ])
        .chain(words(&["--to", &listening.join(",")]))
        .chain(link::of_client(transport, case.verbs(), from))
        .chain(wait.iter().flat_map(|wait| words(&["--wait", wait])))
        .chain(case.arguments())
        .chain(
            case.draws()
                .then(|| words(&["--seed", &seed.to_string()]))
                .into_iter()
                .flatten(),
        )
        .chain(words(&["--warmup", &case.warmup.to_string()]))
        .chain(words(&["--duration", &case.duration.to_string()]))
        .chain(
            is_rtt
                .then(|| words(&["--samples", SAMPLES]))
                .into_iter()
                .flatten(),
        )
        .chain(
            case.timeout
                .iter()
                .flat_map(|timeout| words(&["--timeout", &timeout.to_string()])),
        );
        let mut program = own(run, from.cpu);
        program.command.splice(0..0, prefix);
        let timeout = case.timeout.map_or(0, |timeout| timeout.0);
        let [_, most] = case.measurements();
        let time = Nanos(u64::from(most) * (case.warmup.0 + case.duration.0 + timeout) + SLACK.0);
        let worker = hosts.worker(&case.from)?;
        let ended = worker.run(program, time)?;
        let samples = match is_rtt {
            true => Some(worker.take(SAMPLES)?),
            false => None,
        };
        for server in servers {
            hosts.worker(&case.to)?.stop(server)?;
        }
        let report: PacketResult = printed(&ended)?;
        Ok(Measured {
            result: SuiteResult::Packet(report),
            samples,
        })
    }

    /// Whether a run was as long as it was to be, and under load for as long.
    pub(super) fn is_whole(
        &self,
        result: &SuiteResult,
        load: Option<&Produced>,
    ) -> Result<(), Failed> {
        let Some(packet) = result.packet() else {
            return Ok(());
        };
        if packet.memory_full() {
            return Err(Failed::Always(
                "the memory for samples was full before its time was over; give it a shorter `duration`".into(),
            ));
        }
        let least = self.least_seconds();
        match load {
            Some(load) if load.seconds < least => {
                let seconds = show::time(load.seconds * 1e9);
                Err(format!("the background load was there for {seconds} only").into())
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use jitterlab_packet::transport::Transport;
    use serde_json::json;

    use super::super::PacketCase;
    use super::*;

    #[test]
    fn a_run_that_was_cut_short_says_why() {
        let text = "{ case: rtt, transports: [udp], from: a, to: b, size: 64B, warmup: 0s, duration: 10s, wait: poll }";
        let case: PacketCase = serde_yaml::from_str(text).unwrap();
        let work = Work {
            case: &case,
            transport: Transport::Udp,
        };
        let result = |memory_full: bool| {
            let packet = json!({
                "case": "rtt", "transport": "udp", "path": null, "wait": "poll", "cpus": [0], "clock": "tsc",
                "clock_read_ns": 20.0, "clock_resolution_ns": 1.0, "loop": "closed", "discarded": 0, "size": 64, "lost": 0,
                "reordered": 0, "duplicates": 0, "memory_full": memory_full, "one_way_median_ns": 1.0,
                "rtt_ns": {
                    "n": 7, "mean": 2.0, "std": null, "skew": null, "min": 2.0, "median": 2.0, "p90": 2.0, "p99": 2.0,
                    "p999": 2.0, "max": 2.0
                }
            });
            SuiteResult::Packet(serde_json::from_value(packet).unwrap())
        };
        let produced = |seconds: f64| -> Produced {
            serde_json::from_value(json!({
                "transport": "udp", "message": 1400, "level": 10.0, "produced_level": 10.0, "bandwidth": 1e9,
                "bandwidth_measured": false, "seconds": seconds, "sent_messages": 1, "sent_bytes": 1400,
                "received_messages": 1, "received_bytes": 1400, "lost_messages": 0, "refused_messages": 0,
                "longest_gap_ns": 1, "sent_bytes_each_100ms": [1400]
            }))
            .unwrap()
        };
        let is_whole = |memory_full: bool, load: Option<f64>| {
            work.is_whole(&result(memory_full), load.map(produced).as_ref())
        };
        assert_eq!(is_whole(false, None), Ok(()));
        assert_eq!(is_whole(false, Some(10.5)), Ok(()));
        let short = is_whole(false, Some(4.0));
        assert!(matches!(short, Err(Failed::Once(reason)) if reason.contains("for 4 s only")));
        // The load was there for as long as the run: it is not what was missing.
        for load in [None, Some(4.0)] {
            let full = is_whole(true, load);
            assert!(
                matches!(full, Err(Failed::Always(reason)) if reason.contains("the memory for samples was full"))
            );
        }
    }
}
