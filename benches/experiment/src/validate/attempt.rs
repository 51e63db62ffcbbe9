//! One set of hosts, measured pair by pair and judged.

use std::collections::BTreeMap;
use std::thread;

use jitterlab_node_tuning::validation::judge::{Judgement, Limits, Measurement, judge};
use jitterlab_node_tuning::validation::remain::{self, left_out};
use jitterlab_node_tuning::validation::tournament::{Match, Round, schedule};

use super::report::{Attempt, Failure, LeftOut, Lost, NodeRow, PairRow, Reason, Run};
use super::stations::{BROKEN, Measured, Stations};
use super::{Event, ValidateError};
use crate::spec::Cluster;

/// Measures all pairs of these hosts.
pub fn attempt<'a>(
    cluster: &Cluster,
    stations: &mut Stations<'a>,
    hosts: &[&'a str],
    watch: &mut dyn FnMut(Event),
) -> Result<Attempt, ValidateError> {
    let pairs = hosts.len() * (hosts.len() - 1) / 2;
    let mut measuring = Measuring {
        hosts,
        stations,
        watch,
        attendance: Attendance::of(hosts.len()),
        runs: Vec::new(),
        measurements: Vec::new(),
        failures: Vec::new(),
        done: 0,
        of: pairs * cluster.repetitions as usize,
    };
    measuring.begin()?;
    let mut repetition = None;
    for round in schedule(hosts.len(), cluster.repetitions, cluster.seed) {
        if repetition.replace(round.repetition) != Some(round.repetition) {
            measuring.attendance.begin_repetition();
        }
        for group in round.matches.chunks(cluster.at_once()) {
            measuring.group(&round, group);
        }
    }
    let limits = Limits {
        alpha: cluster.alpha,
        minimum_effect: cluster.minimum_effect.fraction(),
    };
    let judgement = judge(hosts.len(), &measuring.measurements, limits)?;
    Ok(measuring.end(judgement))
}

struct Measuring<'m, 'a> {
    hosts: &'m [&'a str],
    stations: &'m mut Stations<'a>,
    watch: &'m mut dyn FnMut(Event),
    attendance: Attendance,
    runs: Vec<Run>,
    measurements: Vec<Measurement>,
    failures: Vec<(Match, Failure)>,
    done: usize,
    of: usize,
}

impl Measuring<'_, '_> {
    fn begin(&mut self) -> Result<(), ValidateError> {
        let failed = self.stations.start(self.hosts);
        (self.watch)(Event::Begins {
            hosts: self.hosts,
            measurements: self.of,
        });
        for (name, reason) in &failed {
            self.lose(name, reason.clone());
        }
        match failed.into_iter().next() {
            Some((host, reason)) if !self.hosts.iter().any(|name| self.stations.has(name)) => {
                Err(ValidateError::Nobody {
                    host: host.into(),
                    reason,
                })
            }
            _ => Ok(()),
        }
    }

    fn lose(&mut self, name: &str, reason: String) {
        let Some(node) = self.hosts.iter().position(|host| *host == name) else {
            return;
        };
        (self.watch)(Event::Lost(&Lost {
            host: name.into(),
            reason: reason.clone(),
        }));
        self.attendance.lost.insert(node, reason);
    }

    /// Measures disjoint pairs at the same time.
    fn group(&mut self, round: &Round, group: &[Match]) {
        let is_due =
            |m: &&Match| self.attendance.is_there(m.client) && self.attendance.is_there(m.server);
        let due: Vec<Match> = group.iter().filter(is_due).copied().collect();
        let (hosts, stations) = (self.hosts, &*self.stations);
        let measure = |m: Match| stations.measure(hosts[m.client], hosts[m.server]);
        let measure = &measure;
        let outcomes: Vec<Result<Measured, String>> = thread::scope(|scope| {
            let threads: Vec<_> = due
                .iter()
                .map(|&m| scope.spawn(move || measure(m)))
                .collect();
            let joined = threads.into_iter().map(|thread| thread.join());
            joined
                .map(|outcome| outcome.unwrap_or_else(|_| Err(BROKEN.into())))
                .collect()
        });
        for (m, outcome) in due.into_iter().zip(outcomes) {
            match outcome {
                Ok(measured) => self.measured(round, m, measured),
                Err(reason) => self.failed(round, m, reason),
            }
        }
        self.done += group.len();
        (self.watch)(Event::Measured {
            done: self.done,
            of: self.of,
        });
    }

    fn measured(&mut self, round: &Round, m: Match, measured: Measured) {
        self.attendance.met(m);
        self.measurements.push(Measurement {
            pair: (m.client, m.server),
            moment: self.done as u32,
            rtt_ns: measured.rtt_ns.median,
        });
        self.runs.push(Run {
            client: self.hosts[m.client].into(),
            server: self.hosts[m.server].into(),
            repetition: round.repetition,
            lost: measured.lost,
            rtt_ns: measured.rtt_ns,
        });
    }

    fn failed(&mut self, round: &Round, m: Match, reason: String) {
        let failure = Failure {
            client: self.hosts[m.client].into(),
            server: self.hosts[m.server].into(),
            repetition: round.repetition,
            reason,
        };
        (self.watch)(Event::Failed(&failure));
        self.attendance.missed(m, &failure.reason);
        for (name, reason) in self.stations.recover(&failure.client, &failure.server) {
            self.lose(&name, format!("{reason} ({})", failure.reason));
        }
        self.failures.push((m, failure));
    }

    fn end(self, judgement: Judgement) -> Attempt {
        let lost = self.attendance.end();
        let absent: Vec<usize> = lost.keys().copied().collect();
        // What fails with a host that is lost says nothing about the other one.
        let failures = self.failures.into_iter();
        let failures: Vec<(Match, Failure)> = failures
            .filter(|(m, _)| !lost.contains_key(&m.client) && !lost.contains_key(&m.server))
            .collect();
        let failed: Vec<(usize, usize)> =
            failures.iter().map(|(m, _)| (m.client, m.server)).collect();
        let name = |node: usize| self.hosts[node].to_string();
        let left_out = left_out(&judgement, &absent, &failed);
        let reason = |reason| match reason {
            remain::Reason::Absent => Reason::Lost,
            remain::Reason::Outlier => Reason::Outlier,
            remain::Reason::Pair(other) => Reason::Pair { with: name(other) },
        };
        Attempt {
            hosts: self.hosts.iter().map(ToString::to_string).collect(),
            typical_ns: judgement.typical_ns,
            unit: judgement.unit,
            pairs_testable: judgement.pairs_testable,
            nodes: judgement
                .nodes
                .into_iter()
                .map(|verdict| NodeRow {
                    host: name(verdict.node),
                    verdict,
                })
                .collect(),
            pairs: judgement
                .pairs
                .into_iter()
                .map(|verdict| PairRow {
                    hosts: [name(verdict.pair.0), name(verdict.pair.1)],
                    verdict,
                })
                .collect(),
            lost: lost
                .into_iter()
                .map(|(node, reason)| Lost {
                    host: name(node),
                    reason,
                })
                .collect(),
            failures: failures.into_iter().map(|(_, failure)| failure).collect(),
            left_out: left_out
                .into_iter()
                .map(|(node, why)| LeftOut {
                    host: name(node),
                    reason: reason(why),
                })
                .collect(),
            runs: self.runs,
        }
    }
}

/// A host that failed with so many others, one after the other, is left alone for the rest of a
/// repetition: each failure takes time.
const IN_A_ROW: usize = 3;

/// Who is there. A host that stalls makes measurements of others fail, so who is to blame shows only after
/// some: the one that fails with everybody.
struct Attendance {
    /// Failures in a row, in this repetition.
    streaks: Vec<usize>,
    /// The reason of the last failure of each.
    reasons: BTreeMap<usize, String>,
    /// Those that will not come back.
    lost: BTreeMap<usize, String>,
    most: usize,
}

impl Attendance {
    fn of(hosts: usize) -> Self {
        Attendance {
            streaks: vec![0; hosts],
            reasons: BTreeMap::new(),
            lost: BTreeMap::new(),
            // Of two hosts nobody knows which is to blame; of three, the one that fails with both.
            most: IN_A_ROW.min(hosts.saturating_sub(1)).max(2),
        }
    }

    /// Everybody has another chance: three in a row may have been the others' fault.
    fn begin_repetition(&mut self) {
        self.streaks.fill(0);
    }

    fn is_there(&self, node: usize) -> bool {
        self.streaks[node] < self.most && !self.lost.contains_key(&node)
    }

    fn met(&mut self, m: Match) {
        self.streaks[m.client] = 0;
        self.streaks[m.server] = 0;
    }

    fn missed(&mut self, m: Match, reason: &str) {
        for node in [m.client, m.server] {
            self.streaks[node] += 1;
            self.reasons.insert(node, reason.into());
        }
    }

    /// Those that are not there at the end.
    fn end(&self) -> BTreeMap<usize, String> {
        let mut lost = self.lost.clone();
        for (node, reason) in &self.reasons {
            if !self.is_there(*node) && !lost.contains_key(node) {
                let times = self.streaks[*node];
                let reason =
                    format!("it failed with {times} hosts one after the other, last: {reason}");
                lost.insert(*node, reason);
            }
        }
        lost
    }
}
