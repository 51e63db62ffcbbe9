//! The records of the ranks, added up.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use serde::Serialize;

use super::{Calls, Others, Record, Sent};

/// The messages between the ranks of a program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Traffic {
    /// The number of ranks; 0 where no call of MPI was seen.
    pub ranks: usize,
    /// Messages and one-sided calls from one rank to another, of all ranks.
    pub messages: u64,
    /// Bytes in them.
    pub bytes: u64,
    /// Collective calls, of all ranks.
    pub collectives: u64,
    /// Bytes given to them.
    pub collective_bytes: u64,
    /// Each function, over all ranks; those that send to single ranks come first.
    pub calls: Vec<Calls>,
    /// The messages from a rank (the line) to a rank (the column).
    pub matrix: Matrix,
    /// Each rank that has left something.
    pub by_rank: Vec<Rank>,
    /// Ranks that have left nothing: they made none of these calls, or were killed.
    pub silent: Vec<usize>,
    /// Processes that ranks have spawned. They are ranks of another world, and left out.
    pub spawned: usize,
}

/// The messages from each rank to each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Matrix {
    /// Messages and one-sided calls.
    pub messages: Vec<Vec<u64>>,
    /// Bytes in them.
    pub bytes: Vec<Vec<u64>>,
}

/// The messages of one rank.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Rank {
    /// Its number.
    pub rank: usize,
    /// Messages and one-sided calls.
    pub messages: u64,
    /// Bytes in them.
    pub bytes: u64,
    /// Collective calls.
    pub collectives: u64,
    /// Bytes given to them.
    pub collective_bytes: u64,
    /// Each function.
    pub calls: Vec<Calls>,
    /// The messages to other processes than these ranks.
    pub others: Others,
}

/// The records of the ranks in a folder, and how many of the files are not whole.
///
/// # Errors
/// The folder or a file cannot be read.
pub fn read(folder: &Path) -> io::Result<(Vec<Record>, usize)> {
    let (mut records, mut cut_off) = (Vec::new(), 0);
    for entry in fs::read_dir(folder)? {
        match serde_json::from_slice(&fs::read(entry?.path())?) {
            Ok(record) => records.push(record),
            Err(_) => cut_off += 1,
        }
    }
    Ok((records, cut_off))
}

impl Traffic {
    /// Adds records up. Programs that ran one after the other are added, rank by rank.
    pub fn of(mut records: Vec<Record>) -> Self {
        let all = records.len();
        records.retain(|record| !record.spawned);
        let ranks = records.iter().map(ranks_of).max().unwrap_or(0);
        let mut matrix = Matrix {
            messages: vec![vec![0; ranks]; ranks],
            bytes: vec![vec![0; ranks]; ranks],
        };
        let mut by_rank: BTreeMap<usize, Rank> = BTreeMap::new();
        let mut calls: Vec<Calls> = Vec::new();
        for record in &records {
            let rank = by_rank.entry(record.rank).or_insert_with(|| Rank {
                rank: record.rank,
                ..Rank::default()
            });
            for of_call in &record.calls {
                rank.add(of_call);
                add(&mut calls, of_call);
            }
            rank.others.messages += record.others.messages;
            rank.others.bytes += record.others.bytes;
            for sent in &record.peers {
                matrix.messages[record.rank][sent.rank] += sent.messages;
                matrix.bytes[record.rank][sent.rank] += sent.bytes;
            }
        }
        calls.sort_by(|a, b| (a.messages == 0, &a.call).cmp(&(b.messages == 0, &b.call)));
        let silent = (0..ranks)
            .filter(|rank| !by_rank.contains_key(rank))
            .collect();
        let by_rank: Vec<Rank> = by_rank.into_values().collect();
        let sum = |figure: fn(&Rank) -> u64| by_rank.iter().map(figure).sum();
        Traffic {
            ranks,
            messages: sum(|rank| rank.messages),
            bytes: sum(|rank| rank.bytes),
            collectives: sum(|rank| rank.collectives),
            collective_bytes: sum(|rank| rank.collective_bytes),
            calls,
            matrix,
            by_rank,
            silent,
            spawned: all - records.len(),
        }
    }
}

/// The number of ranks that a record tells of.
fn ranks_of(record: &Record) -> usize {
    let peers = record.peers.iter().map(|&Sent { rank, .. }| rank + 1);
    peers.fold(record.ranks.max(record.rank + 1), usize::max)
}

/// Adds what there is to say of some function to what was said of it before.
fn add(sums: &mut Vec<Calls>, calls: &Calls) {
    match sums.iter_mut().find(|sum| sum.call == calls.call) {
        Some(sum) => {
            sum.calls += calls.calls;
            sum.messages += calls.messages;
            sum.bytes += calls.bytes;
        }
        None => sums.push(calls.clone()),
    }
}

impl Rank {
    fn add(&mut self, calls: &Calls) {
        if calls.messages > 0 {
            self.messages += calls.messages;
            self.bytes += calls.bytes;
        } else {
            self.collectives += calls.calls;
            self.collective_bytes += calls.bytes;
        }
        add(&mut self.calls, calls);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(rank: usize, call: &str, messages: u64, to: usize) -> Record {
        let sent = Sent {
            rank: to,
            messages,
            bytes: 8 * messages,
        };
        Record {
            rank,
            ranks: 3,
            spawned: false,
            calls: vec![Calls {
                call: call.into(),
                calls: 2,
                messages,
                bytes: 16,
            }],
            peers: if messages > 0 { vec![sent] } else { Vec::new() },
            others: Others::default(),
        }
    }

    #[test]
    fn records_are_added_up_by_rank_and_by_function() {
        let spawned = Record {
            spawned: true,
            ..record(9, "MPI_Send", 7, 0)
        };
        let traffic = Traffic::of(vec![
            record(0, "MPI_Bcast", 0, 0),
            record(0, "MPI_Send", 2, 1),
            record(1, "MPI_Send", 2, 0),
            record(1, "MPI_Send", 2, 0),
            spawned,
        ]);
        assert_eq!(
            (traffic.ranks, traffic.messages, traffic.bytes),
            (3, 6, 48),
            "{traffic:?}"
        );
        assert_eq!((traffic.collectives, traffic.collective_bytes), (2, 16));
        let calls: Vec<_> = traffic.calls.iter().map(|c| (&*c.call, c.calls)).collect();
        assert_eq!(calls, [("MPI_Send", 6), ("MPI_Bcast", 2)]);
        assert_eq!(
            traffic.matrix.messages,
            [[0, 2, 0], [4, 0, 0], [0, 0, 0]].map(Vec::from)
        );
        assert_eq!((traffic.silent, traffic.spawned), (vec![2], 1));
        assert_eq!(Traffic::of(Vec::new()).ranks, 0);
    }

    #[test]
    fn a_file_that_is_cut_off_is_counted() {
        let folder = tempfile::tempdir().unwrap();
        let whole = record(1, "MPI_Send", 1, 0);
        let text = serde_json::to_string(&whole).unwrap();
        fs::write(folder.path().join("1"), &text).unwrap();
        fs::write(folder.path().join("2"), &text[..text.len() / 2]).unwrap();
        assert_eq!(read(folder.path()).unwrap(), (vec![whole], 1));
    }
}
