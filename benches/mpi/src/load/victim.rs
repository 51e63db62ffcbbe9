//! A load and who suffers from it.

use jitterlab_base::clock::Clock;
use jitterlab_base::units::{Nanos, Percent};
use jitterlab_mpi_results::load::{Impact, Produced, Victim as Suffered};
use serde::{Deserialize, Serialize};

use super::input::InputEnd;
use super::{Load, after};
use crate::comm::Comm;
use crate::library::{Case, Figures, Length, Plan, Timeline};

/// The measurement beside a load, on ranks of its own.
#[derive(Clone, Copy)]
pub struct Victim {
    /// The case that they measure.
    pub case: &'static Case,
    /// The size of their messages.
    pub size: usize,
    /// The share of all ranks that they are.
    pub share: Percent,
    /// They warm up so long.
    pub warmup: Nanos,
    /// They are measured so long, each time.
    pub duration: Nanos,
}

/// The end of a load.
#[derive(Clone, Copy)]
pub enum End<'a> {
    /// After this time.
    After(Nanos),
    /// When the standard input of rank 0 ends. Rank 0 has to send in the pattern ([`Pattern::sends_from_0`](super::Pattern::sends_from_0)).
    WithInput,
    /// When this was measured, without it and beside it.
    WithVictim(&'a Victim),
}

/// The figures of load and victim.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The load of the ranks that made it.
    pub produced: Vec<Produced>,
    /// The figures of the other ranks.
    pub victim: Option<Suffered>,
}

/// A report of a rank to rank 0.
#[derive(Serialize, Deserialize)]
enum Part {
    Load(Produced),
    /// The times of all victims, isolated and congested, at their first rank.
    Victim(Option<[Figures; 2]>),
}

impl Victim {
    /// Those of so many ranks that are victims: the share, spread evenly. Half of them are every second rank.
    pub fn ranks(&self, ranks: usize) -> Vec<usize> {
        let until = |rank: usize| (rank as f64 * self.share.fraction()).floor();
        (0..ranks)
            .filter(|&rank| until(rank + 1) > until(rank))
            .collect()
    }

    fn measure(&self, comm: &Comm) -> Option<Timeline> {
        let plan = Plan {
            size: self.size,
            non_blocking: false,
            dimensions: 2,
            length: Length::Time(self.duration),
            warmup: self.warmup,
        };
        self.case.measure(comm, &plan)
    }
}

/// Makes a load, and measures the victim without and with it. Called on every rank, it gives the outcome to rank 0, and calls `begins`
/// there when all is prepared and a load without a victim begins.
///
/// Beside a victim the load goes on until the victim has been measured:
/// the ranks that make it have entered a barrier when it begins and look whether the last victim has come to it, and so
/// nobody waits for anybody who is not there.
///
/// # Errors
/// What a rank said of its part cannot be read.
pub fn run(
    world: &Comm,
    load: &Load,
    end: End<'_>,
    begins: impl FnOnce(),
) -> Result<Option<Outcome>, String> {
    let victim = match end {
        End::WithVictim(victim) => Some(victim),
        End::After(_) | End::WithInput => None,
    };
    let victims = victim.map_or(Vec::new(), |victim| victim.ranks(world.size()));
    let suffers = victims.contains(&world.rank());
    let group = world.split(usize::from(suffers));
    let clock = Clock::monotonic();
    let part = match end {
        End::WithVictim(victim) if suffers => Part::Victim(suffer(world, &group, victim)),
        End::WithVictim(_) => Part::Load(congest(world, &group, load, &clock)),
        End::After(time) => {
            let mut prepared = load.prepare(&group, &clock);
            begin(world, begins);
            Part::Load(prepared.produce(&mut after(&clock, time)))
        }
        End::WithInput => {
            let mut prepared = load.prepare(&group, &clock);
            begin(world, begins);
            let mut end = InputEnd::new(world, &clock);
            let produced = prepared.produce(&mut || end.is_over());
            end.wait();
            Part::Load(produced)
        }
    };
    let parts = world.collect(serde_json::json!(part).to_string().as_bytes());
    (world.rank() == 0)
        .then(|| outcome(victim, victims, &parts))
        .transpose()
}

/// All ranks are prepared, and rank 0 says so.
fn begin(world: &Comm, begins: impl FnOnce()) {
    world.barrier();
    if world.rank() == 0 {
        begins();
    }
}

/// The part of those who make the load.
fn congest(world: &Comm, group: &Comm, load: &Load, clock: &Clock) -> Produced {
    let mut prepared = load.prepare(group, clock);
    world.meet().wait_quietly();
    // The victim is alone now.
    world.meet().wait_quietly();
    let mut end = world.meet();
    let produced = prepared.produce(&mut || end.is_over());
    end.wait_quietly();
    Produced {
        rank: world.rank(),
        ..produced
    }
}

/// The part of those who suffer from it.
fn suffer(world: &Comm, group: &Comm, victim: &Victim) -> Option<[Figures; 2]> {
    // The bandwidth is measured now.
    world.meet().wait_quietly();
    let isolated = victim.measure(group);
    world.meet().wait_quietly();
    let congested = victim.measure(group);
    world.meet().wait_quietly();
    // Only now: it takes long, and until the last meeting others wait or make load.
    Some([isolated?, congested?].map(|timeline| victim.case.figures(&timeline)))
}

fn outcome(
    victim: Option<&Victim>,
    ranks: Vec<usize>,
    parts: &[Vec<u8>],
) -> Result<Outcome, String> {
    let mut produced = Vec::new();
    let mut suffered = None;
    for (rank, part) in parts.iter().enumerate() {
        let part = serde_json::from_slice(part).map_err(|error| {
            format!("what rank {rank} says of its part cannot be read: {error}")
        })?;
        match part {
            Part::Load(part) => produced.push(part),
            Part::Victim(part) => suffered = suffered.or(part),
        }
    }
    let victim = victim.zip(suffered);
    Ok(Outcome {
        produced,
        victim: victim.map(|(victim, [isolated, congested])| Suffered {
            case: victim.case.name.into(),
            ranks,
            size_bytes: victim.size,
            isolated,
            congested,
            impact: Impact::of(&isolated, &congested),
        }),
    })
}

impl Outcome {
    /// The bandwidth of all ranks together, in bytes a second.
    pub fn bandwidth(&self) -> f64 {
        self.produced.iter().map(|part| part.bandwidth).sum()
    }

    /// The load that all of them moved, in percent of that.
    pub fn produced_level(&self) -> f64 {
        let moved = |part: &Produced| part.bandwidth * part.produced_level;
        self.produced.iter().map(moved).sum::<f64>() / self.bandwidth()
    }

    /// The time that the load lasted on the rank on which it lasted longest, in seconds.
    pub fn seconds(&self) -> f64 {
        self.produced
            .iter()
            .map(|part| part.seconds)
            .fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library;

    #[test]
    fn a_part_that_cannot_be_read_is_a_failure() {
        let silent = serde_json::json!(Part::Victim(None)).to_string();
        let none = outcome(None, vec![], &[silent.clone().into_bytes()]).unwrap();
        assert_eq!((none.produced, none.victim), (vec![], None));
        let broken = outcome(None, vec![], &[silent.into_bytes(), vec![]]).unwrap_err();
        assert!(broken.starts_with("what rank 1 says"), "{broken}");
    }

    #[test]
    fn victims_are_spread() {
        let ranks = |percent: f64, ranks| {
            let victim = Victim {
                case: library::case("barrier").unwrap(),
                size: 0,
                share: Percent::new(percent).unwrap(),
                warmup: Nanos(0),
                duration: Nanos(0),
            };
            victim.ranks(ranks)
        };
        assert_eq!(ranks(50.0, 4), [1, 3]);
        assert_eq!(ranks(20.0, 10), [4, 9]);
        assert!(ranks(0.0, 8).is_empty());
        assert_eq!(ranks(75.0, 8).len(), 6);
    }
}
