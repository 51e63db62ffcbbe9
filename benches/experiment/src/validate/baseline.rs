//! A validation against a kept one, by the names of the hosts.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use jitterlab_node_tuning::validation::baseline::{Drift, Measured, drift};
use jitterlab_stats::gate::Slower;
use thiserror::Error;

use super::report::{Attempt, Baseline, HostDrift, PairDrift, Setup, Validation};
use crate::format;

/// A kept validation that cannot be used.
#[derive(Debug, Error)]
pub enum BaselineError {
    /// It cannot be read.
    #[error("cannot read the baseline {path}", path = path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// It is none.
    #[error("{path} is no validation that this jitterlab has kept", path = path.display())]
    Broken {
        /// The file.
        path: PathBuf,
        /// The error of the reader.
        source: serde_json::Error,
    },
    /// Another version of jitterlab has kept it.
    #[error(
        "{path} holds a validation of format {found}, and this jitterlab reads format {}: keep a new one",
        Validation::VERSION,
        path = path.display()
    )]
    Format {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u32,
    },
    /// It was measured in another way.
    #[error("{path} was measured with {key} {then}, but this validation uses {now}", path = path.display())]
    Setup {
        /// The file.
        path: PathBuf,
        /// The key that differs.
        key: &'static str,
        /// Its value then.
        then: String,
        /// Its value now.
        now: String,
    },
    /// It has nothing to compare with.
    #[error("the baseline {path} knows fewer than two of these hosts, so there is no pair to compare", path = path.display())]
    NoPair {
        /// The file.
        path: PathBuf,
    },
}

/// A validation that was kept.
pub struct Kept {
    path: PathBuf,
    validation: Validation,
}

impl Kept {
    /// Reads a file that `validate --keep` or `--format json` has written, for a validation with this setup of hosts with these names.
    ///
    /// # Errors
    /// It cannot be read, is none, was measured in another way, or shares no pair of hosts.
    pub fn load<'a>(
        path: &Path,
        setup: &Setup,
        hosts: impl Iterator<Item = &'a String>,
    ) -> Result<Self, BaselineError> {
        let bytes = fs::read(path).map_err(|source| BaselineError::Read {
            path: path.into(),
            source,
        })?;
        let broken = |source| BaselineError::Broken {
            path: path.into(),
            source,
        };
        let found = format::version(&bytes).map_err(broken)?;
        if found != Validation::VERSION {
            return Err(BaselineError::Format {
                path: path.into(),
                found,
            });
        }
        let validation: Validation = serde_json::from_slice(&bytes).map_err(broken)?;
        let kept = Kept {
            path: path.into(),
            validation,
        };
        kept.check(setup)?;
        let known: BTreeSet<&str> = kept.hosts().collect();
        match hosts.filter(|name| known.contains(name.as_str())).count() {
            0 | 1 => Err(BaselineError::NoPair { path: kept.path }),
            _ => Ok(kept),
        }
    }

    fn check(&self, now: &Setup) -> Result<(), BaselineError> {
        let then = &self.validation.setup;
        let verbs = |setup: &Setup| setup.verbs.map_or("none".into(), |it| format!("{it:?}"));
        for (key, then, now) in [
            (
                "transport",
                then.transport.to_string(),
                now.transport.to_string(),
            ),
            ("verbs", verbs(then), verbs(now)),
            ("size", then.size.to_string(), now.size.to_string()),
            ("wait", then.wait.to_string(), now.wait.to_string()),
            ("at_once", at_once(then), at_once(now)),
        ] {
            if then != now {
                return Err(BaselineError::Setup {
                    path: self.path.clone(),
                    key,
                    then,
                    now,
                });
            }
        }
        Ok(())
    }

    /// The hosts that were measured last: with spares in the place of those that did not fit.
    fn hosts(&self) -> impl Iterator<Item = &str> {
        let last = self.validation.attempts.last();
        let hosts = last.map_or(&[][..], |attempt| &attempt.hosts);
        hosts.iter().map(String::as_str)
    }

    /// Holds the hosts of a validation, as they were before any was replaced, against it: by the minimum effect and the level of
    /// significance of the validation.
    ///
    /// # Errors
    /// The minimum effect is 0.
    pub fn against(&self, now: &Validation) -> Result<Baseline, jitterlab_stats::Error> {
        let (then, now_first) = (self.validation.attempts.last(), now.attempts.first());
        let [known, is_there] = [then, now_first].map(hosts_of);
        let hosts: Vec<&str> = known.intersection(&is_there).copied().collect();
        let places: BTreeMap<&str, usize> = (0..).zip(&hosts).map(|(i, &it)| (it, i)).collect();
        let Setup {
            minimum_effect,
            alpha,
            ..
        } = now.setup;
        let Drift {
            typical,
            nodes,
            pairs,
            not_compared,
        } = drift(
            hosts.len(),
            &measured(then, &places),
            &measured(now_first, &places),
            minimum_effect,
            alpha,
        )?;
        let nodes = hosts.iter().zip(nodes);
        let hosts_drift: Vec<HostDrift> = nodes
            .filter_map(|(&host, decision)| {
                Some(HostDrift {
                    host: host.into(),
                    decision: decision?,
                })
            })
            .collect();
        let pairs: Vec<PairDrift> = pairs
            .into_iter()
            .map(|((a, b), decision)| PairDrift {
                hosts: [hosts[a].into(), hosts[b].into()],
                decision,
            })
            .collect();
        let alone = known.symmetric_difference(&is_there);
        let pairs_alone = not_compared.into_iter();
        let pairs_alone = pairs_alone.map(|(a, b)| format!("{} - {}", hosts[a], hosts[b]));
        let all = typical.iter().map(|it| it.slower);
        let all = all.chain(hosts_drift.iter().map(|it| it.decision.slower));
        Ok(Baseline {
            slower: Slower::any(all.chain(pairs.iter().map(|it| it.decision.slower))),
            typical,
            hosts: hosts_drift,
            pairs,
            not_compared: alone.map(ToString::to_string).chain(pairs_alone).collect(),
        })
    }
}

fn at_once(setup: &Setup) -> String {
    setup
        .at_once
        .map_or("all of a round".into(), |n| n.to_string())
}

/// The hosts that an attempt has measured with others.
fn hosts_of(attempt: Option<&Attempt>) -> BTreeSet<&str> {
    let runs = attempt.map_or(&[][..], |attempt| &attempt.runs);
    let hosts = runs.iter().flat_map(|run| [&run.client, &run.server]);
    hosts.map(String::as_str).collect()
}

/// The measurements of an attempt, between hosts that have places.
fn measured(of: Option<&Attempt>, places: &BTreeMap<&str, usize>) -> Vec<Measured> {
    let runs = of.map_or(&[][..], |attempt| &attempt.runs);
    runs.iter()
        .filter_map(|run| {
            let client = *places.get(run.client.as_str())?;
            let server = *places.get(run.server.as_str())?;
            Some(Measured {
                pair: (client.min(server), client.max(server)),
                repetition: run.repetition,
                rtt_ns: run.rtt_ns.median,
            })
        })
        .collect()
}
