//! The result of a run of an application.

use jitterlab_mpi_results::npb;
use serde::{Deserialize, Serialize};

use crate::scene::Hook;

/// The figure of an application.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Application {
    /// Time in seconds for a unit of work; less is better.
    pub runtime_s: f64,
    /// The time that the program ran in seconds; the part that it times, of a benchmark. The delays are a part of
    /// this time. `runtime_s` is another where it is made from a rate.
    pub program_s: f64,
    /// The output of `jitterlab-mpi npb`, of a benchmark.
    #[serde(deserialize_with = "Option::deserialize")]
    pub npb: Option<npb::Report>,
}

impl Application {
    /// True if a program says itself that it has sent nothing that could be delayed. What one rank says to itself passes
    /// the calls of MPI, and nothing below them.
    pub(crate) fn is_silent(&self, hook: Option<Hook>) -> bool {
        self.npb.as_ref().is_some_and(|npb| {
            let is_alone = npb.ranks == 1 && hook != Some(Hook::Mpi);
            is_alone || (npb.messages == 0 && npb.collectives == 0)
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_program_is_silent_where_nothing_could_be_delayed() {
        let silent = |messages: u64, collectives: u64, ranks: usize, hook| {
            let npb = json!({
                "kernel": "ep", "class": "S", "ranks": ranks, "time_s": 1.0, "mops": 1.0, "verified": true, "checks": [],
                "messages": messages, "bytes": 0, "collectives": collectives, "collective_bytes": 0, "mpi_share": 0.0,
                "memory_bytes": [], "phases": []
            });
            let figure = json!({ "runtime_s": 1.0, "program_s": 1.0, "npb": npb });
            let figure: Application = serde_json::from_value(figure).unwrap();
            figure.is_silent(Some(hook))
        };
        for hook in [Hook::Mpi, Hook::Socket, Hook::Verbs, Hook::Uct] {
            // ft and is have sent by collectives alone.
            assert!(!silent(0, 44, 4, hook));
            assert!(!silent(8, 0, 4, hook));
            assert!(silent(0, 0, 4, hook));
            assert_eq!(silent(0, 44, 1, hook), hook != Hook::Mpi);
        }
        let figure = Application {
            runtime_s: 1.0,
            program_s: 1.0,
            npb: None,
        };
        assert!(!figure.is_silent(None));
    }
}
