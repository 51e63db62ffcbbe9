//! One set of hosts, measured pair by pair and judged.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::thread;

use jitterlab_node_tuning::validation::judge::{Judgement, Limits, Measurement, judge};
use jitterlab_node_tuning::validation::remain::{self, left_out};
use jitterlab_node_tuning::validation::tournament::{Match, Round, schedule};
use jitterlab_stats::histogram::Compact;
use nix::unistd::Pid;

use super::ValidateError;
use super::events::Event;
use super::report::{Attempt, Failure, LeftOut, Lost, NodeRow, PairRow, Reason, Run, Validation};
use super::stations::{BROKEN, Measured, Stations};
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
        histograms: BTreeMap::new(),
        failures: Vec::new(),
        repetitions: cluster.repetitions,
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
    measuring.try_again();
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
    /// All round trips of each pair, by the places of its hosts, the smaller first.
    histograms: BTreeMap<(usize, usize), Compact>,
    failures: Vec<(Match, Failure)>,
    repetitions: u32,
    done: usize,
    of: usize,
}

impl Measuring<'_, '_> {
    fn begin(&mut self) -> Result<(), ValidateError> {
        let failed = self.stations.start(self.hosts);
        (self.watch)(Event::Begins {
            version: Validation::VERSION,
            pid: Pid::this().as_raw(),
            hosts: self.hosts.iter().map(ToString::to_string).collect(),
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
        (self.watch)(Event::Lost {
            lost: Cow::Owned(Lost {
                host: name.into(),
                reason: reason.clone(),
            }),
        });
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
                Ok(measured) => self.measured(round.repetition, m, measured),
                Err(reason) => self.failed(round.repetition, m, reason),
            }
        }
        self.done += group.len();
        (self.watch)(Event::Measured {
            done: self.done,
            of: self.of,
        });
    }

    fn measured(&mut self, repetition: u32, m: Match, measured: Measured) {
        self.attendance.met(m);
        self.measurements.push(Measurement {
            pair: (m.client, m.server),
            moment: self.done as u32,
            rtt_ns: measured.rtt_ns.median,
        });
        let run = Run {
            client: self.hosts[m.client].into(),
            server: self.hosts[m.server].into(),
            repetition,
            lost: measured.lost,
            rtt_ns: measured.rtt_ns,
        };
        (self.watch)(Event::Run {
            run: Cow::Borrowed(&run),
            histogram_ns: Cow::Borrowed(&measured.histogram_ns),
        });
        let histogram = self.histograms.entry(pair_of(m)).or_default();
        histogram.add(&measured.histogram_ns);
        self.runs.push(run);
    }

    fn failed(&mut self, repetition: u32, m: Match, reason: String) {
        let failure = Failure {
            client: self.hosts[m.client].into(),
            server: self.hosts[m.server].into(),
            repetition,
            reason,
        };
        (self.watch)(Event::Failed {
            failed: Cow::Borrowed(&failure),
        });
        self.attendance.missed(m, &failure.reason);
        self.recover(m, &failure.reason);
        self.failures.push((m, failure));
    }

    /// Those that were left alone at last, or never measured, are tried with others, first with those that are there: that
    /// three in a row failed with them may have been the others' fault.
    fn try_again(&mut self) {
        for node in 0..self.hosts.len() {
            if !self.attendance.has_part(node) && !self.attendance.lost.contains_key(&node) {
                let others = self.attendance.likely_partners(node);
                others.into_iter().any(|other| self.answers(node, other));
            }
        }
    }

    /// A measurement that nobody answered is not counted: it would be held against the host that asked.
    fn answers(&mut self, node: usize, other: usize) -> bool {
        let m = Match {
            client: other,
            server: node,
        };
        match self.stations.measure(self.hosts[other], self.hosts[node]) {
            Ok(measured) => {
                self.measured(self.repetitions - 1, m, measured);
                true
            }
            Err(reason) => {
                self.recover(m, &reason);
                false
            }
        }
    }

    fn recover(&mut self, m: Match, reason: &str) {
        let [client, server] = [m.client, m.server].map(|node| self.hosts[node]);
        for (name, why) in self.stations.recover(client, server) {
            self.lose(&name, format!("{why} ({reason})"));
        }
    }

    fn end(mut self, judgement: Judgement) -> Attempt {
        let lost = self.attendance.end();
        let absent: Vec<usize> = lost.keys().copied().collect();
        // A failure with a host that is lost says nothing about the other one.
        let failures = self.failures.into_iter();
        let failures: Vec<(Match, Failure)> = failures
            .filter(|(m, _)| !lost.contains_key(&m.client) && !lost.contains_key(&m.server))
            .collect();
        let failed = mostly_failed(&failures, self.repetitions);
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
                    histogram_ns: self.histograms.remove(&verdict.pair).unwrap_or_default(),
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

/// The places of its hosts, the smaller first.
fn pair_of(m: Match) -> (usize, usize) {
    (m.client.min(m.server), m.client.max(m.server))
}

/// The pairs that failed in at least half of their repetitions. One failure among many is an accident, and no host
/// has to go for it.
fn mostly_failed(failures: &[(Match, Failure)], repetitions: u32) -> Vec<(usize, usize)> {
    let mut times: BTreeMap<(usize, usize), u32> = BTreeMap::new();
    for (m, _) in failures {
        *times.entry(pair_of(*m)).or_default() += 1;
    }
    times.retain(|_, times| 2 * *times >= repetitions);
    times.into_keys().collect()
}

/// A host that failed with so many others, one after the other, is left alone for the rest of a
/// repetition: each failure takes time.
const IN_A_ROW: usize = 3;

/// The hosts that are there. A host that stalls makes measurements of others fail, so who is to blame
/// shows only after some: it is the one that fails with everybody.
struct Attendance {
    /// Failures in a row, in this repetition.
    streaks: Vec<usize>,
    /// Whether it was ever measured.
    has_met: Vec<bool>,
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
            has_met: vec![false; hosts],
            reasons: BTreeMap::new(),
            lost: BTreeMap::new(),
            // With two hosts, nobody knows which is to blame; with three, it is the one that fails with both.
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

    /// True if it is there, and was measured.
    fn has_part(&self, node: usize) -> bool {
        self.is_there(node) && self.has_met[node]
    }

    /// The hosts that one without a part may be tried with: those that are there, and others where they are few.
    fn likely_partners(&self, node: usize) -> Vec<usize> {
        let others = (0..self.streaks.len()).filter(|other| *other != node);
        let mut others: Vec<usize> = others.filter(|o| !self.lost.contains_key(o)).collect();
        others.sort_by_key(|&other| self.streaks[other]);
        let there = others.iter().filter(|&&o| self.is_there(o)).count();
        others.truncate(if there < IN_A_ROW {
            2 * IN_A_ROW
        } else {
            IN_A_ROW
        });
        others
    }

    fn met(&mut self, m: Match) {
        for node in [m.client, m.server] {
            self.streaks[node] = 0;
            self.has_met[node] = true;
        }
    }

    fn missed(&mut self, m: Match, reason: &str) {
        for node in [m.client, m.server] {
            self.streaks[node] += 1;
            self.reasons.insert(node, reason.into());
        }
    }

    /// Those that are not there at the end, and those that could be measured with nobody.
    fn end(&self) -> BTreeMap<usize, String> {
        let mut lost = self.lost.clone();
        for node in (0..self.streaks.len()).filter(|&node| !self.has_part(node)) {
            let last = self.reasons.get(&node);
            let last = last.map_or(String::new(), |reason| format!(", last: {reason}"));
            let reason = match self.is_there(node) {
                true => format!("it could be measured with no host{last}"),
                false => {
                    let times = self.streaks[node];
                    format!("it failed with {times} hosts one after the other{last}")
                }
            };
            lost.entry(node).or_insert(reason);
        }
        lost
    }
}
