//! The matches of a round-robin tournament, in their order.

use jitterlab_base::seed;

/// Two nodes that are measured against each other, by their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Match {
    /// The one that asks and measures.
    pub client: usize,
    /// The one that answers.
    pub server: usize,
}

/// The rounds of a tournament of `n` players, numbered from 0: each player meets each other player
/// once, and nobody twice in a round. There are n − 1 rounds of n / 2 pairs. If n is odd, there are n
/// rounds of (n − 1) / 2 pairs, and another player rests in each. None for fewer than two players.
///
/// The rounds are made by the circle method (Lucas 1883, "Récréations mathématiques" II, 6th
/// recreation): the last player keeps its seat, the others move on by one in every round.
///
/// ```
/// use jitterlab_node_tuning::validation::tournament::rounds;
/// assert_eq!(rounds(4), [[(0, 3), (1, 2)], [(1, 3), (2, 0)], [(2, 3), (0, 1)]]);
/// ```
pub fn rounds(n: usize) -> Vec<Vec<(usize, usize)>> {
    if n < 2 {
        return Vec::new();
    }
    // One seat more for an odd number: whoever meets the empty seat rests.
    let seats = n.next_multiple_of(2);
    let circle = seats - 1;
    (0..circle)
        .map(|round| {
            let fixed = (round, circle);
            let across = (1..seats / 2)
                .map(|step| ((round + step) % circle, (round + circle - step) % circle));
            std::iter::once(fixed)
                .chain(across)
                .filter(|&(_, b)| b < n)
                .collect()
        })
        .collect()
}

/// A round of a schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Round {
    /// The repetition of the tournament that it belongs to, counted from 0.
    pub repetition: u32,
    /// The matches, all of different nodes.
    pub matches: Vec<Match>,
}

/// Repeated tournaments of `n` nodes. Every repetition has each pair once. Seats, the order of rounds and
/// the order in a round are drawn from `seed` anew in every repetition, so that no pair is always
/// measured at the same time as another or at the same place in the order; who asks and who answers
/// changes from one repetition to the next.
pub fn schedule(n: usize, repetitions: u32, seed: u64) -> Vec<Round> {
    let rounds = rounds(n);
    let mut schedule = Vec::new();
    for repetition in 0..repetitions {
        let mut random = Random(seed::stream(seed, u64::from(repetition), 0));
        let mut seats: Vec<usize> = (0..n).collect();
        random.shuffle(&mut seats);
        let mut order: Vec<usize> = (0..rounds.len()).collect();
        random.shuffle(&mut order);
        for round in order {
            let directed =
                |&(a, b): &(usize, usize)| directed(seats[a], seats[b], repetition, seed);
            let mut matches: Vec<Match> = rounds[round].iter().map(directed).collect();
            random.shuffle(&mut matches);
            schedule.push(Round {
                repetition,
                matches,
            });
        }
    }
    schedule
}

/// The first to ask is drawn for each pair, so that no node only asks or only answers.
fn directed(a: usize, b: usize, repetition: u32, seed: u64) -> Match {
    let (low, high) = (a.min(b), a.max(b));
    let first = seed::stream(seed, low as u64, high as u64) & 1;
    if first ^ u64::from(repetition & 1) == 0 {
        Match {
            client: low,
            server: high,
        }
    } else {
        Match {
            client: high,
            server: low,
        }
    }
}

/// Numbers that follow from a seed: an order of matches needs no better ones.
struct Random(u64);

impl Random {
    /// Below `limit`.
    fn below(&mut self, limit: usize) -> usize {
        self.0 = seed::child(self.0, 0);
        ((u128::from(self.0) * limit as u128) >> 64) as usize
    }

    /// Fisher and Yates.
    fn shuffle<T>(&mut self, list: &mut [T]) {
        for last in (1..list.len()).rev() {
            let other = self.below(last + 1);
            list.swap(last, other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn every_pair_meets_once_and_nobody_twice_in_a_round(n in 0usize..60) {
            let rounds = rounds(n);
            let expected = if n < 2 { 0 } else if n % 2 == 0 { n - 1 } else { n };
            prop_assert_eq!(rounds.len(), expected);
            let mut pairs = BTreeSet::new();
            for round in &rounds {
                prop_assert_eq!(round.len(), n / 2);
                let players: BTreeSet<usize> = round.iter().flat_map(|&(a, b)| [a, b]).collect();
                prop_assert_eq!(players.len(), n / 2 * 2);
                prop_assert!(players.iter().all(|&player| player < n));
                for &(a, b) in round {
                    prop_assert!(pairs.insert((a.min(b), a.max(b))));
                }
            }
            prop_assert_eq!(pairs.len(), n * n.saturating_sub(1) / 2);
        }

        #[test]
        fn repetitions_differ_in_their_order_and_turn_directions(n in 8usize..30, seed: u64) {
            let schedule = schedule(n, 4, seed);
            prop_assert_eq!(&schedule, &super::schedule(n, 4, seed));
            let rounds = rounds(n).len();
            prop_assert_eq!(schedule.len(), 4 * rounds);
            let mut directions: Vec<BTreeSet<(usize, usize)>> = Vec::new();
            for (repetition, rounds) in (0..).zip(schedule.chunks(rounds)) {
                let mut asked = BTreeSet::new();
                for round in rounds {
                    prop_assert_eq!(round.repetition, repetition);
                    let matches = &round.matches;
                    let players: BTreeSet<usize> =
                        matches.iter().flat_map(|m| [m.client, m.server]).collect();
                    prop_assert_eq!(players.len(), 2 * matches.len());
                    asked.extend(matches.iter().map(|m| (m.client, m.server)));
                }
                prop_assert_eq!(asked.len(), n * (n - 1) / 2);
                directions.push(asked);
            }
            let turned: BTreeSet<_> = directions[0].iter().map(|&(a, b)| (b, a)).collect();
            prop_assert_eq!(&turned, &directions[1]);
            prop_assert_eq!(&directions[0], &directions[2]);
            let matches = |round: &Round| round.matches.clone();
            let (first, third) = (&schedule[..rounds], &schedule[2 * rounds..3 * rounds]);
            prop_assert!(first.iter().map(matches).ne(third.iter().map(matches)));
        }
    }

    #[test]
    fn a_thousand_hosts_meet_in_999_rounds() {
        let rounds = rounds(1_000);
        assert_eq!(rounds.len(), 999);
        assert!(rounds.iter().all(|round| round.len() == 500));
        let pairs: BTreeSet<_> = rounds
            .iter()
            .flatten()
            .map(|&(a, b)| (a.min(b), a.max(b)))
            .collect();
        assert_eq!(pairs.len(), 499_500);
    }
}
