//! Tests of figures in groups that have each a mean and a variance of its own.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::error::{Error, check};
use crate::ks;
use crate::special::phi_inverse;
use crate::summary;

/// The outcome of a test of figures in groups.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct GroupedNormality {
    /// Number of figures in the groups that count.
    pub n: usize,
    /// The greatest distance of the residuals' distribution function to that of a normal.
    pub d: f64,
    /// The share of simulated distances that are no less.
    pub p: f64,
}

/// Tells whether the figures of each group come from *some* normal distribution, maybe another one for each
/// group: the distance of the Lilliefors test, over all [`residuals`] together.
///
/// Residuals over a standard deviation of so few depend on each other and follow no table. If all groups are normal,
/// their law depends on the groups' sizes alone, and is simulated: p is (1 + k) / (1 + `replicates`) where k
/// replicates of normal groups of the same sizes have a distance that is no less (Davison and Hinkley 1997,
/// "Bootstrap Methods and their Application", section 4.2.1). The same figures and seed give the same p.
///
/// # Errors
/// There are fewer than five residuals, or a figure is not finite.
pub fn normality(
    groups: &[&[f64]],
    replicates: usize,
    seed: u64,
) -> Result<GroupedNormality, Error> {
    for group in groups {
        check(group, "the test for normality", 0)?;
    }
    let residuals = residuals(groups);
    let d = ks::distance_to_normal(&residuals)?;
    let sizes: Vec<usize> = groups
        .iter()
        .filter_map(|group| Some(of_one(group)?.len()))
        .collect();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut drawn: Vec<Vec<f64>> = sizes.iter().map(|&size| vec![0.0; size]).collect();
    let mut no_less = 0;
    for _ in 0..replicates {
        for figure in drawn.iter_mut().flatten() {
            *figure = phi_inverse(random.random_range(f64::MIN_POSITIVE..1.0));
        }
        let groups: Vec<&[f64]> = drawn.iter().map(Vec::as_slice).collect();
        let simulated = ks::distance_to_normal(&self::residuals(&groups))?;
        no_less += usize::from(simulated >= d);
    }
    Ok(GroupedNormality {
        n: residuals.len(),
        d,
        p: (1 + no_less) as f64 / (1 + replicates) as f64,
    })
}

/// Figures about the mean of their group, over its standard deviation. Groups of fewer than three say nothing of the
/// form of a distribution, and those that do not vary have none: they are left out.
pub fn residuals(groups: &[&[f64]]) -> Vec<f64> {
    groups
        .iter()
        .filter_map(|group| of_one(group))
        .flatten()
        .collect()
}

fn of_one(group: &[f64]) -> Option<Vec<f64>> {
    let (mean, std) = (summary::mean(group).ok()?, summary::std(group).ok()?);
    (group.len() > 2 && std > 0.0).then(|| group.iter().map(|x| (x - mean) / std).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_that_say_nothing_are_left_out() {
        let (normal, constant) = ([1.0, 2.0, 4.0, 5.0, 7.0], [3.0; 4]);
        let found = normality(&[&normal, &[1.0, 2.0], &constant], 99, 1).unwrap();
        assert_eq!(found, normality(&[&normal], 99, 1).unwrap());
        assert_eq!(found.n, 5);
        assert!(normality(&[&constant], 99, 1).is_err());
        assert!(normality(&[&normal, &[f64::NAN; 3]], 99, 1).is_err());
        // One group alone is the Lilliefors test.
        let known = ks::lilliefors(&normal).unwrap();
        let simulated = normality(&[&normal], 4_000, 1).unwrap();
        assert!((simulated.d - known.d).abs() < 1e-12);
        assert!(
            (simulated.p - known.p).abs() < 0.04,
            "{simulated:?} {known:?}"
        );
    }

    /// Seven levels of 5 to 10 runs, which vary by 9 to 47 % of their means.
    fn rejections(sets: usize, draw: impl Fn(f64) -> f64) -> usize {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(11);
        let mut rejected = 0;
        for set in 0..sets {
            let groups: Vec<Vec<f64>> = (0..7)
                .map(|level| {
                    let (mean, cv) = (
                        10.0 * (1.0 + level as f64),
                        0.09 + 0.38 / 6.0 * level as f64,
                    );
                    let runs = 5 + (level + set) % 6;
                    let figure = |_| mean * (1.0 + cv * draw(random.random_range(1e-12..1.0)));
                    (0..runs).map(figure).collect()
                })
                .collect();
            let groups: Vec<&[f64]> = groups.iter().map(Vec::as_slice).collect();
            rejected += usize::from(normality(&groups, 199, set as u64).unwrap().p <= 0.05);
        }
        rejected
    }

    #[test]
    fn normal_groups_of_unlike_variance_are_rejected_as_often_as_alpha() {
        // Chance rejects 10 of 200 at a level of 0.05 on the mean, and 3 to 19 in all but 1 % of cases.
        let rejected = rejections(200, phi_inverse);
        assert!((3..=19).contains(&rejected), "{rejected}");
        // Most groups of an exponential distribution are rejected.
        let rejected = rejections(40, |p| -p.ln() - 1.0);
        assert!(rejected > 20, "{rejected}");
    }
}
