//! The cores that are as fast as each other.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::tree::{CPU, Tree};
use super::{Cache, CoreKind, Error};
use crate::cpus::{Cpu, CpuSet};

/// The speed of a core, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Class {
    /// 0 for the fastest.
    pub number: u32,
    pub kind: CoreKind,
    /// Its highest clock.
    pub max_khz: Option<u64>,
}

/// A number that tells how fast a CPU is.
struct Measure {
    file: &'static str,
    /// The percentage below the next faster core that makes a core one of another speed.
    gap_percent: u64,
}

/// Cores of one kind do not turn alike: some are favoured, by up to an eighth with Intel's Turbo Boost Max 3.0 (Core
/// i7-6950X: 4.0 and 3.5 GHz), and CPPC's highest performance falls by some 2 % from one of AMD's preferred cores to the
/// next, over 30 % in all. So it is the gap between two neighbours that counts. Between kinds it is larger: 16 % on a Core
/// Ultra 9 285K, 36 % on a Ryzen AI 9 HX 370. The scheduler's capacity knows the kinds, and a tenth is enough.
const MEASURES: [Measure; 4] = [
    Measure {
        file: "cpu_capacity",
        gap_percent: 10,
    },
    Measure {
        file: MAX_KHZ,
        gap_percent: 15,
    },
    // Turbo is off, or some cores have a higher base clock than others (Speed Select).
    Measure {
        file: "cpufreq/base_frequency",
        gap_percent: 15,
    },
    // The highest clock is the base clock, because turbo is off.
    Measure {
        file: "acpi_cppc/highest_perf",
        gap_percent: 15,
    },
];

const MAX_KHZ: &str = "cpufreq/cpuinfo_max_freq";

/// The class of each of these cores. Cores of one class are alike in all that is known of all of them: the performance
/// counters that they have, how fast they are, how many threads, and how large their second- and third-level caches.
pub(super) fn classes(
    tree: &Tree,
    cores: &[CpuSet],
    caches: &[Cache],
    all_online: bool,
) -> Result<Vec<Class>, Error> {
    let first: Vec<Cpu> = cores.iter().filter_map(CpuSet::first).collect();
    let mut speeds = vec![Vec::new(); first.len()];
    let mut max_khz = vec![None; first.len()];
    for measure in &MEASURES {
        let value = |&cpu: &Cpu| tree.number(&format!("{CPU}/cpu{cpu}/{}", measure.file));
        let values: Vec<Option<u64>> = first.iter().map(value).collect::<Result<_, _>>()?;
        for (speeds, speed) in speeds.iter_mut().zip(ranked(&values, measure.gap_percent)) {
            speeds.push(speed);
        }
        if measure.file == MAX_KHZ {
            max_khz = values;
        }
    }
    // Intel's hybrids have performance counters of their own for each kind of core.
    let large = tree.cpus("sys/devices/cpu_core/cpus")?;
    let small = |cpu: Cpu| large.as_ref().is_some_and(|large| !large.contains(cpu));
    let [second, third] = [2, 3].map(|level| sizes(&first, caches, level));

    let features = first.iter().enumerate().map(|(index, &cpu)| {
        (
            small(cpu),
            speeds[index].clone(),
            // The threads that are left say nothing where others are offline.
            Reverse(if all_online { cores[index].len() } else { 0 }),
            Reverse(third[index]),
            Reverse(second[index]),
        )
    });
    let features: Vec<_> = features.collect();
    let distinct: BTreeSet<_> = features.iter().collect();
    let number = |features| distinct.iter().position(|&one| one == features);
    Ok(features
        .iter()
        .zip(max_khz)
        .map(|(features, max_khz)| {
            let slower = features.0 || features.1.iter().any(|&rank| rank > 0);
            Class {
                number: number(features).unwrap_or(0) as u32,
                kind: match slower {
                    true => CoreKind::Efficiency,
                    false => CoreKind::Performance,
                },
                max_khz,
            }
        })
        .collect())
}

/// The number of gaps above each value; none where not all are known.
fn ranked(values: &[Option<u64>], gap_percent: u64) -> Vec<usize> {
    let known: Option<BTreeSet<u64>> = values.iter().copied().collect();
    let known = known.unwrap_or_default();
    // The least value of each speed but the slowest.
    let falling = known.iter().rev().zip(known.iter().rev().skip(1));
    let least: Vec<u64> = falling
        .filter(|&(&more, &less)| {
            u128::from(more - less) * 100 > u128::from(more) * u128::from(gap_percent)
        })
        .map(|(&more, _)| more)
        .collect();
    let above = |value: &Option<u64>| least.iter().filter(|&&least| *value < Some(least)).count();
    match known.is_empty() {
        true => vec![0; values.len()],
        false => values.iter().map(above).collect(),
    }
}

/// The sizes of these CPUs' caches of a level, 0 for none; all 0 where they are not known of all.
fn sizes(cpus: &[Cpu], caches: &[Cache], level: u32) -> Vec<u64> {
    let size = |&cpu: &Cpu| {
        let mut own = caches.iter().filter(|cache| cache.cpus.contains(cpu));
        let any = own.clone().next().is_some();
        match own.find(|cache| cache.level == level) {
            Some(cache) => cache.size_bytes,
            None => any.then_some(0),
        }
    };
    let sizes: Option<Vec<u64>> = cpus.iter().map(size).collect();
    sizes.unwrap_or_else(|| vec![0; cpus.len()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_makes_a_speed_and_a_slope_does_not() {
        let ranks = |values: &[u64], gap| {
            let values: Vec<Option<u64>> = values.iter().copied().map(Some).collect();
            ranked(&values, gap)
        };
        // Preferred cores of a Ryzen 9 7950X, and the favoured ones of a Core i7-6950X.
        let slope: Vec<u64> = (0..16).map(|n| 236 - 5 * n).collect();
        assert_eq!(ranks(&slope, 15), [0; 16]);
        assert_eq!(ranks(&[3_500_000, 4_000_000, 3_500_000], 15), [0; 3]);
        assert_eq!(ranks(&[4_600_000, 5_500_000, 5_700_000], 15), [1, 0, 0]);
        assert_eq!(ranks(&[1024, 446, 870, 1009], 10), [0, 2, 1, 0]);
        assert_eq!(ranks(&[], 10), [0; 0]);
        assert_eq!(ranks(&[u64::MAX, 0], 10), [0, 1]);
        assert_eq!(ranked(&[Some(9), None, Some(1)], 10), [0; 3]);
    }
}
