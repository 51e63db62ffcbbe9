//! Load on the network: between pairs of ranks (the congestion simulator of latency-variation, section 5.1,
//! Algorithm 3), and in the four patterns of GPCNeT (Chunduri and others, "GPCNeT: designing a benchmark suite for
//! inducing and measuring contention in HPC networks", SC 2019); alone, or beside a victim ([`run`]).
//!
//! A level is a share of what the pattern moves when every rank in it is as fast as it can be, which is measured first.

mod input;
mod messages;
mod one_sided;
mod pace;
mod traffic;
mod victim;

use jitterlab_base::clock::Clock;
use jitterlab_base::show;
use jitterlab_base::units::{Nanos, Percent};
use jitterlab_load::bucket::Bucket;
use jitterlab_stats::gaps::Gaps;

use crate::comm::Comm;
use messages::Messages;
use one_sided::{Direction, OneSided};
use pace::Pace;
use traffic::{Moved, Traffic};

pub use jitterlab_mpi_results::load::{Impact, Pattern, Produced};
pub use victim::{End, Outcome, Victim, run};

/// The load that is wanted.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    /// The pattern: who sends to whom.
    pub pattern: Pattern,
    /// Share of the bandwidth.
    pub level: Percent,
    /// Bytes of a message.
    pub message: usize,
    /// The bytes a second that a rank that sends can move; measured first where it is not known.
    pub bandwidth: Option<f64>,
    /// Seed of the gaps.
    pub seed: u64,
}

/// The time that the bandwidth is measured.
const MEASURE: Nanos = Nanos(500_000_000);

/// True if that many ranks can make the pattern with messages of that many bytes, where rank 0's machine has so much memory.
///
/// # Errors
/// The reason why they cannot, for people.
pub fn check(pattern: Pattern, ranks: usize, message: usize, memory: u64) -> Result<(), String> {
    let taken = |ranks| one_sided(pattern).map_or(0, |way| way.exposed(ranks, message));
    match pattern {
        _ if ranks < 2 => Err(format!(
            "a load takes 2 ranks or more, and these are {ranks}"
        )),
        Pattern::Pairs if !ranks.is_multiple_of(2) => Err(format!(
            "pairs are made of an even number of ranks, and these are {ranks}"
        )),
        _ if taken(ranks) as u64 > memory => Err(format!(
            "messages of {message} bytes to or from {ranks} ranks take {} of rank 0's memory, and its machine has \
             {}: make them smaller",
            show::size(taken(ranks) as f64),
            show::size(memory as f64)
        )),
        _ => Ok(()),
    }
}

/// Which way the bytes of a pattern go if one side alone moves them.
fn one_sided(pattern: Pattern) -> Option<Direction> {
    match pattern {
        Pattern::RmaIncast => Some(Direction::Put),
        Pattern::RmaBcast => Some(Direction::Get),
        Pattern::Pairs | Pattern::Alltoall | Pattern::P2pIncast => None,
    }
}

/// This rank's part in a pattern. Every rank comes here.
fn traffic(pattern: Pattern, comm: &Comm, message: usize) -> Box<dyn Traffic + '_> {
    let (rank, ranks) = (comm.rank(), comm.size());
    let others = ranks - 1;
    let (targets, sources) = match pattern {
        Pattern::Pairs if rank < ranks / 2 => (vec![rank + ranks / 2], 0),
        Pattern::Pairs => (vec![], 1),
        Pattern::Alltoall => ((1..ranks).map(|i| (rank + i) % ranks).collect(), others),
        Pattern::P2pIncast if rank == 0 => (vec![], others),
        Pattern::P2pIncast => (vec![0], 0),
        Pattern::RmaIncast => return Box::new(OneSided::new(comm, Direction::Put, message)),
        Pattern::RmaBcast => return Box::new(OneSided::new(comm, Direction::Get, message)),
    };
    Box::new(Messages::new(comm.bare(), targets, sources, message))
}

/// A rank that knows what it can move.
struct Prepared<'a> {
    load: &'a Load,
    comm: &'a Comm,
    clock: &'a Clock,
    traffic: Box<dyn Traffic + 'a>,
    /// Messages in a nanosecond; 0 of a rank that moves none on its own account.
    rate: f64,
}

impl Load {
    /// Measures the bandwidth where it is not known: all ranks of the pattern at once, as fast as they can, for half a second.
    fn prepare<'a>(&'a self, comm: &'a Comm, clock: &'a Clock) -> Prepared<'a> {
        let mut traffic = traffic(self.pattern, comm, self.message);
        comm.barrier();
        let rate = match self.bandwidth {
            Some(bandwidth) if traffic.moves() => bandwidth / self.message as f64 / 1e9,
            Some(_) => 0.0,
            None => {
                let moved = traffic.run(Pace::new(clock, None), &mut after(clock, MEASURE));
                comm.barrier();
                moved.caused as f64 / (moved.elapsed_ns as f64).max(1.0)
            }
        };
        Prepared {
            load: self,
            comm,
            rate,
            clock,
            traffic,
        }
    }
}

impl Prepared<'_> {
    /// Produces the load until it is over.
    fn produce(&mut self, over: &mut dyn FnMut() -> bool) -> Produced {
        // Sleeps end when they should, not within the 50 us that the system takes otherwise. Where that is not
        // allowed, the bucket makes up for what was overslept.
        let _ = nix::sys::prctl::set_timerslack(1);
        let rate = self.load.level.fraction() * self.rate;
        let moved = if self.load.level.value() > 0.0 {
            let seed = self.load.seed.wrapping_add(self.comm.rank() as u64);
            let gaps = Gaps::new(seed, 1.0 / rate);
            let live = jitterlab_live::publisher();
            live.begin(self.load.pattern.name());
            let pace = Pace::new(self.clock, Some(Bucket::new(gaps)))
                .publishing(live, self.load.message as u64);
            self.traffic.run(pace, over)
        } else {
            self.rest(over)
        };
        let bytes = |messages: u64| messages * self.load.message as u64;
        let moves = self.rate > 0.0;
        Produced {
            rank: self.comm.rank(),
            bandwidth: self.rate * self.load.message as f64 * 1e9,
            produced_level: if moves {
                100.0 * moved.caused as f64 / moved.elapsed_ns as f64 / self.rate
            } else {
                0.0
            },
            seconds: moved.elapsed_ns as f64 / 1e9,
            sent_messages: moved.sent,
            sent_bytes: bytes(moved.sent),
            received_messages: moved.received,
            received_bytes: bytes(moved.received),
            longest_gap_ns: if moves { moved.longest_gap_ns } else { 0 },
        }
    }

    /// Level 0: nothing is sent, and nothing looked for.
    fn rest(&self, over: &mut dyn FnMut() -> bool) -> Moved {
        let mut pace = Pace::new(self.clock, None);
        while !over() {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        pace.pass();
        Moved {
            elapsed_ns: pace.elapsed(),
            ..Moved::default()
        }
    }
}

/// True if a time has gone by since now.
fn after(clock: &Clock, time: Nanos) -> impl FnMut() -> bool {
    let end = clock.now() + clock.ns_to_ticks(time.0);
    move || clock.now() >= end
}

#[cfg(test)]
mod tests {
    use super::traffic::HALF_WINDOW;
    use super::*;

    #[test]
    fn rank_0_has_the_memory_that_others_put_into_and_get_from() {
        let message = 1 << 20;
        let takes = |pattern: Pattern, shares: usize| {
            let memory = (shares * HALF_WINDOW * message) as u64;
            assert_eq!(check(pattern, 4, message, memory), Ok(()));
            assert!(check(pattern, 4, message, memory - 1).is_err());
        };
        takes(Pattern::RmaIncast, 3);
        takes(Pattern::RmaBcast, 1);
        assert_eq!(check(Pattern::Pairs, 4, message, 0), Ok(()));
    }
}
