//! A gate with the repetitions that were planned: how often a slowdown is found, and how often what is equal passes.

use jitterlab_stats::gate::{Gate, Slower};
use jitterlab_stats::special::phi_inverse;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Quantities that are read together.
const QUANTITIES: usize = 3;
/// Runs by which the repetitions are planned.
const PILOT: usize = 10;
/// How much a figure varies from run to run, as a share.
const SCATTER: f64 = 0.04;

/// Releases of which each run shows a figure for each quantity.
struct World(Xoshiro256PlusPlus);

impl World {
    fn runs(&mut self, runs: usize, slower: f64) -> Vec<f64> {
        let mut figure = || {
            let normal = phi_inverse(self.0.random_range(f64::MIN_POSITIVE..1.0));
            20_000.0 * slower * (SCATTER * normal).exp()
        };
        (0..runs).map(|_| figure()).collect()
    }

    /// A release against the one before it, with as many runs as the pilot says it takes; one quantity is slower by such a factor.
    fn release(&mut self, slower: f64) -> (Slower, u64) {
        let gate = Gate::new(0.05, 0.05, QUANTITIES).unwrap();
        let pilots = (0..QUANTITIES).map(|_| gate.repetitions(&self.runs(PILOT, 1.0)).unwrap());
        let planned = pilots.max().unwrap();
        let runs = planned as usize;
        let decided = (0..QUANTITIES).map(|quantity| {
            let slower = if quantity == 0 { slower } else { 1.0 };
            gate.decide(&self.runs(runs, 1.0), &self.runs(runs, slower))
                .slower
        });
        (Slower::any(decided), planned)
    }
}

#[test]
fn planned_repetitions_find_ten_percent_and_let_equals_pass() {
    const RELEASES: u32 = 2_000;
    let mut world = World(Xoshiro256PlusPlus::seed_from_u64(30));
    for (name, slower, expected, least) in [
        ("slower by 10 %", 1.1, Slower::Yes, 1_970),
        ("equal", 1.0, Slower::No, 1_970),
    ] {
        let (mut found, mut wrong, mut runs) = (0, 0, 0);
        for _ in 0..RELEASES {
            let (decided, planned) = world.release(slower);
            found += u32::from(decided == expected);
            wrong += u32::from(decided != expected && decided != Slower::Undecided);
            runs += planned;
        }
        let mean = runs / u64::from(RELEASES);
        println!(
            "{name}: {expected} in {found} of {RELEASES}, {mean} repetitions; decided otherwise {wrong}"
        );
        assert!(found >= least, "{name}: {found}");
        assert_eq!(wrong, 0, "{name}");
    }
}
