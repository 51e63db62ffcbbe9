//! IS, integer sort (RNR-94-007, section 2.2.5): the rank of every key, ten times over. Keys are put into buckets,
//! ranks agree on who has which buckets, exchange keys, and count them.

use std::ops::Range;

use mpi::collective::SystemOperation;

use super::random::Random;
use super::{Check, Class, Kernel, Name, Outcome, Ranks};
use crate::comm::Comm;

pub const KERNEL: Kernel = Kernel {
    name: Name::Is,
    title: "bucket sort of integers; all-to-all exchanges of uneven lengths",
    ranks: Ranks {
        rule: "a power of two ranks, up to 128 for class S and 1024 for others",
        allows: |ranks, class| {
            ranks.is_power_of_two() && ranks <= class.of([128, 1024, 1024, 1024, 1024])
        },
    },
    run,
};

const SEED: u64 = 314_159_265;
const ITERATIONS: usize = 10;
/// The most that a class has.
const BUCKETS: usize = 1024;
const TESTED: usize = 5;
/// Keys that are put into buckets at a time: both they and the buckets are in the second-level cache.
const CHUNK: usize = 1 << 16;

/// The keys that are sorted.
struct Problem {
    /// Keys of all ranks.
    keys: usize,
    /// Keys are below it.
    limit: u32,
    /// The number of parts of the range of keys that are handed out to ranks.
    buckets: usize,
    tests: [Test; TESTED],
}

/// A key whose rank is known.
#[derive(Clone, Copy)]
struct Test {
    /// The place of the key.
    place: usize,
    /// Its rank is `rank + step * (iteration - from)`.
    rank: i64,
    step: i64,
    from: i64,
}

impl Test {
    fn rank(self, iteration: usize) -> i64 {
        self.rank + self.step * (iteration as i64 - self.from)
    }
}

fn problem(class: Class) -> Problem {
    let [keys, limit, buckets] = class.of([
        [16, 11, 9],
        [20, 16, 10],
        [23, 19, 10],
        [25, 21, 10],
        [27, 23, 10],
    ]);
    let places = class.of([
        [48427, 17148, 23627, 62548, 4431],
        [357773, 934767, 875723, 898999, 404505],
        [2112377, 662041, 5336171, 3642833, 4250760],
        [41869, 812306, 5102857, 18232239, 26860214],
        [44172927, 72999161, 74326391, 129606274, 21736814],
    ]);
    let ranks = class.of([
        [0, 18, 346, 64917, 65463],
        [1249, 11698, 1039987, 1043896, 1048018],
        [104, 17523, 123928, 8288932, 8388264],
        [33422937, 10244, 59149, 33135281, 99],
        [61147, 882988, 266290, 133997595, 133525895],
    ]);
    let steps = class.of([
        [1, 1, 1, -1, -1],
        [1, 1, -1, -1, -1],
        [1, 1, 1, -1, -1],
        [-1, 1, 1, -1, 1],
        [1, 1, 1, -1, -1],
    ]);
    let from = class.of([[0; 5], [2, 2, 0, 0, 0], [1; 5], [0; 5], [0; 5]]);
    Problem {
        keys: 1 << keys,
        limit: 1 << limit,
        buckets: 1 << buckets,
        tests: std::array::from_fn(|i| Test {
            place: places[i],
            rank: ranks[i],
            step: steps[i],
            from: from[i],
        }),
    }
}

fn run(comm: &Comm, class: Class) -> Outcome {
    let problem = problem(class);
    let mut sort = Sort::new(comm, &problem);

    // Touches code and memory once, as the original does.
    comm.warm_up(|| sort.rank(1));
    let mut mine = [0u64; 2];
    let time_s = comm.timed(|| {
        for iteration in comm.iterations(1..ITERATIONS + 1) {
            sort.rank(iteration);
            mine[0] += sort.right(iteration);
            mine[1] += sort.strays;
        }
    });
    mine[0] += u64::from(sort.sorts());
    let mut found = [0; 2];
    comm.all_reduce(&mine, &mut found, SystemOperation::sum());

    let check = |what: &str, found, expected| Check {
        what: what.to_owned(),
        value: found as f64,
        expected: expected as f64,
        tolerance: 0.0,
    };
    Outcome {
        time_s,
        mop: (ITERATIONS * problem.keys) as f64 / 1e6,
        checks: vec![
            check(
                "right ranks, sorted parts",
                found[0],
                TESTED * ITERATIONS + comm.size(),
            ),
            check("keys that went astray", found[1], 0),
        ],
    }
}

/// The part of a rank in the sort.
struct Sort<'a> {
    comm: &'a Comm,
    problem: &'a Problem,
    /// A key without so many of its low bits is its bucket.
    shift: u32,
    keys: Vec<u32>,
    /// The number of keys of each [`CHUNK`] of them in each bucket, and one chunk by buckets.
    sizes: Vec<[u32; BUCKETS]>,
    chunk: Vec<u32>,
    /// All keys by the rank that has their bucket, and those that this rank has, of everybody. Once keys are sent, their
    /// memory has for each key that may be this rank's how many of those received are less.
    sent: Vec<u32>,
    received: Vec<u32>,
    /// The number of keys that are less than all of this rank's; the first that may be its own, and how many different
    /// ones may; and how many were received that belong elsewhere.
    lesser: u32,
    first: u32,
    values: usize,
    strays: u64,
    /// The keys whose rank is known.
    tested: [u32; TESTED],
}

impl<'a> Sort<'a> {
    /// Draws the keys of this rank.
    fn new(comm: &'a Comm, problem: &'a Problem) -> Sort<'a> {
        let count = problem.keys / comm.size();
        let mut random = Random::new(SEED);
        random.skip((4 * count * comm.rank()) as u64);
        let quarter = f64::from(problem.limit / 4);
        let mut key = || {
            let sum = random.next() + random.next() + random.next() + random.next();
            (quarter * sum) as u32
        };
        Sort {
            comm,
            problem,
            shift: (problem.limit / problem.buckets as u32).ilog2(),
            keys: (0..count).map(|_| key()).collect(),
            sizes: vec![[0; BUCKETS]; count.div_ceil(CHUNK)],
            chunk: vec![0; CHUNK.min(count)],
            sent: vec![0; count],
            // Ranks have the same number of keys but for parts of a bucket.
            received: Vec::with_capacity(count + count / 2),
            lesser: 0,
            first: 0,
            values: 0,
            strays: 0,
            tested: [0; TESTED],
        }
    }

    /// The rank of every key, after two of them have been changed.
    fn rank(&mut self, iteration: usize) {
        if self.comm.rank() == 0 {
            self.keys[iteration] = iteration as u32;
            self.keys[iteration + ITERATIONS] = self.problem.limit - iteration as u32;
        }
        self.comm.phase("bucket sizes");
        let sizes = self.bucket_sizes();
        let (rank, size) = (self.comm.rank(), self.comm.size());
        let shares = shares(&sizes, size, self.keys.len());
        self.lesser = sizes[..shares[rank].start].iter().sum();
        self.comm.phase("buckets");
        let lengths = self.sort_by_receiver(&shares);
        self.comm.phase("redistribution");
        self.redistribute(&lengths);
        self.comm.phase("ranking");
        self.count(&shares[rank]);
    }

    /// The number of keys of all ranks in each bucket. It also tells all ranks the keys that are tested.
    fn bucket_sizes(&mut self) -> Vec<u32> {
        let mut all = vec![0; self.problem.buckets];
        for (chunk, sizes) in self.keys.chunks(CHUNK).zip(&mut self.sizes) {
            *sizes = [0; BUCKETS];
            for key in chunk {
                sizes[bucket(*key, self.shift)] += 1;
            }
            for (all, size) in all.iter_mut().zip(sizes) {
                *all += *size;
            }
        }
        let first = self.keys.len() * self.comm.rank();
        let here = |test: &Test| self.keys.get(test.place.wrapping_sub(first)).copied();
        let tests = self.problem.tests.iter();
        all.extend(tests.map(|test| here(test).unwrap_or(0)));
        self.comm
            .all_reduce_in_place(&mut all, SystemOperation::sum());
        self.tested
            .copy_from_slice(&all.split_off(self.problem.buckets));
        all
    }

    /// Puts keys in the order of the ranks that they are sent to, and says how many each gets.
    ///
    /// A chunk is put into buckets within the cache; then what goes to one rank lies together, and goes out at once.
    /// Later it is counted bucket by bucket.
    fn sort_by_receiver(&mut self, shares: &[Range<usize>]) -> Vec<i32> {
        let lengths: Vec<usize> = shares
            .iter()
            .map(|share| {
                let of_chunk = |sizes: &[u32; BUCKETS]| sizes[share.clone()].iter().sum::<u32>();
                self.sizes.iter().map(of_chunk).sum::<u32>() as usize
            })
            .collect();
        let mut rest = &mut self.sent[..];
        let mut parts: Vec<&mut [u32]> = lengths
            .iter()
            .map(|&length| rest.split_off_mut(..length).unwrap_or_default())
            .collect();
        for (keys, sizes) in self.keys.chunks(CHUNK).zip(&self.sizes) {
            into_buckets(keys, self.shift, *sizes, &mut self.chunk);
            let mut chunk = &self.chunk[..];
            for (part, share) in parts.iter_mut().zip(shares) {
                let length = sizes[share.clone()].iter().sum::<u32>() as usize;
                let run = chunk.split_off(..length).unwrap_or_default();
                let to = part.split_off_mut(..length).unwrap_or_default();
                to.copy_from_slice(run);
            }
        }
        lengths.iter().map(|&length| length as i32).collect()
    }

    /// Sends each rank its keys.
    fn redistribute(&mut self, lengths: &[i32]) {
        let mut received_lengths = vec![0; lengths.len()];
        self.comm.all_to_all(lengths, &mut received_lengths);
        let received = received_lengths.iter().sum::<i32>() as usize;
        self.received.resize(received, 0);
        self.comm
            .all_to_all_parts(&self.sent, lengths, &mut self.received, &received_lengths);
    }

    /// Counts the keys that were received, which are of these buckets.
    fn count(&mut self, buckets: &Range<usize>) {
        self.first = (buckets.start << self.shift) as u32;
        self.values = buckets.len() << self.shift;
        if self.sent.len() < self.values {
            self.sent.resize(self.values, 0);
        }
        let below = &mut self.sent[..self.values];
        below.fill(0);
        self.strays = count(&self.received, self.first, below);
        sums_before(below);
    }

    /// The number of keys with this rank that have the rank that is known for them.
    fn right(&self, iteration: usize) -> u64 {
        let right = |(test, key): &(&Test, &u32)| {
            let below = self.sent[..self.values].get(key.wrapping_sub(self.first) as usize);
            below.is_some_and(|below| i64::from(self.lesser + below) == test.rank(iteration))
        };
        self.problem
            .tests
            .iter()
            .zip(&self.tested)
            .filter(right)
            .count() as u64
    }

    /// True if the keys are in order when each is put where its rank says, and none is less than those of the ranks
    /// before.
    fn sorts(self) -> bool {
        let (mut sorted, mut places) = (self.keys, self.sent);
        sorted.resize(self.received.len(), 0);
        for key in &self.received {
            let next = places[..self.values].get_mut(key.wrapping_sub(self.first) as usize);
            if let Some(next) = next {
                sorted[*next as usize] = *key;
                *next += 1;
            }
        }
        let mut greatest = vec![0; self.comm.size()];
        let mine = sorted.last().copied().unwrap_or(0);
        self.comm.all_gather(&[mine], &mut greatest);
        let before = &greatest[..self.comm.rank()];
        let behind = |first| before.iter().all(|greatest| greatest <= first);
        self.strays == 0 && sorted.is_sorted() && sorted.first().is_none_or(behind)
    }
}

/// The bucket of a key. The remainder changes nothing, but spares a test whether there is such a bucket.
#[inline(always)]
fn bucket(key: u32, shift: u32) -> usize {
    (key >> shift) as usize % BUCKETS
}

/// Puts keys into buckets of these sizes, which lie one behind the other.
fn into_buckets(keys: &[u32], shift: u32, sizes: [u32; BUCKETS], sorted: &mut [u32]) {
    let mut next = sizes;
    sums_before(&mut next);
    for &key in keys {
        let place = &mut next[bucket(key, shift)];
        sorted[*place as usize] = key;
        *place += 1;
    }
}

/// Counts each key from the first possible one on, and says how many others there are.
fn count(keys: &[u32], first: u32, counts: &mut [u32]) -> u64 {
    let mut strays = 0;
    for key in keys {
        match counts.get_mut(key.wrapping_sub(first) as usize) {
            Some(count) => *count += 1,
            None => strays += 1,
        }
    }
    strays
}

/// The buckets of each rank, so that it has about as many keys as others: up to where the sum of their sizes comes to its
/// share and those before.
fn shares(sizes: &[u32], ranks: usize, share: usize) -> Vec<Range<usize>> {
    let (mut sum, mut start) = (0, 0);
    let mut shares = Vec::with_capacity(ranks);
    for (bucket, &size) in sizes.iter().enumerate() {
        sum += size as usize;
        while sum >= share * (shares.len() + 1) && shares.len() + 1 < ranks {
            shares.push(start..bucket + 1);
            start = bucket + 1;
        }
    }
    shares.push(start..sizes.len());
    shares
}

/// Puts the sum of the numbers before it in the place of each number.
fn sums_before(numbers: &mut [u32]) {
    let mut sum = 0;
    for number in numbers {
        sum += std::mem::replace(number, sum);
    }
}
