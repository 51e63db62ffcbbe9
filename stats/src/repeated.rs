//! Intervals for experiments in which a condition is measured in several runs: what varies from
//! run to run counts, however many samples a run has.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::bootstrap::{Bootstrap, Interval};
use crate::error::{Error, check, check_level};
use crate::moments::Moments;
use crate::special::{two_sided_t, two_sided_t_inverse};
use crate::summary;

/// The samples of a run, in the order in which they were taken, as the moments of at most `count`
/// consecutive segments of equal length.
///
/// Latencies that follow each other are alike. A resample made of whole segments keeps that, one
/// made of single samples would not (Künsch 1989, "The jackknife and the bootstrap for general
/// stationary observations").
pub fn segments(samples: &[f64], count: usize) -> Vec<Moments> {
    let length = samples.len().div_ceil(count.max(1)).max(1);
    samples.chunks(length).map(Moments::of).collect()
}

/// The interval of a statistic of all samples together, from repeated runs. Each run is given by
/// its [`segments`].
///
/// The standard error comes from a two-stage bootstrap: runs are drawn with replacement, then
/// segments within each drawn run (Davison and Hinkley 1997, "Bootstrap Methods and their
/// Application", section 3.8). Runs are few, so two corrections are made: the error is multiplied
/// by √(R / (R − 1)), because R runs drawn from R show too little variance by that much, and the
/// interval is the estimate ± Student's t with R − 1 degrees of freedom times that. Where all
/// values are positive this is done on their logarithms, so that no interval reaches below 0.
///
/// # Errors
/// There are fewer than two runs, or a run without samples; the confidence is not between 0 and 1.
pub fn interval(
    runs: &[Vec<Moments>],
    bootstrap: &Bootstrap,
    statistic: impl Fn(&Moments) -> Option<f64>,
) -> Result<Interval, Error> {
    const STATISTIC: &str = "an interval over runs";
    let statistic = |of: &Moments| {
        statistic(of).ok_or(Error::TooFew {
            statistic: STATISTIC,
            needed: 2,
            given: of.n(),
        })
    };
    check_level("confidence", bootstrap.confidence)?;
    if runs.len() < 2 || bootstrap.resamples < 2 {
        return Err(Error::TooFew {
            statistic: STATISTIC,
            needed: 2,
            given: runs.len().min(bootstrap.resamples),
        });
    }
    if runs.iter().flatten().any(|segment| segment.n() == 0) || runs.iter().any(Vec::is_empty) {
        return Err(Error::TooFew {
            statistic: STATISTIC,
            needed: 1,
            given: 0,
        });
    }
    let merge = |all: Moments, next: &Moments| all.merged(*next);
    let estimate = statistic(&runs.iter().flatten().fold(Moments::NONE, merge))?;
    let replicates = resampled(runs, bootstrap)
        .iter()
        .map(statistic)
        .collect::<Result<Vec<f64>, Error>>()?;
    let positive = estimate > 0.0 && replicates.iter().all(|&x| x > 0.0);
    let t = reach_of(runs.len(), bootstrap.confidence);
    let (low, high) = if positive {
        let logarithms: Vec<f64> = replicates.iter().map(|x| x.ln()).collect();
        let reach = t * summary::std(&logarithms)?;
        (estimate * (-reach).exp(), estimate * reach.exp())
    } else {
        let reach = t * summary::std(&replicates)?;
        (estimate - reach, estimate + reach)
    };
    Ok(Interval {
        estimate,
        low,
        high,
    })
}

/// The standard errors of so many runs, two at least, that an interval reaches to either side.
fn reach_of(runs: usize, confidence: f64) -> f64 {
    let freedom = runs as f64 - 1.0;
    two_sided_t_inverse(1.0 - confidence, freedom) * (runs as f64 / freedom).sqrt()
}

/// Two-sided p of the hypothesis that a statistic is `value`, by its interval from [`of_each`], of which the sample with the fewest runs
/// has so many: Student's t with the standard error that the interval was made with. `None`: there is but one run, or no scatter.
///
/// # Panics
/// The confidence is not between 0 and 1.
pub fn p_of(interval: &Interval, runs: usize, confidence: f64, value: f64) -> Option<f64> {
    let freedom = runs.checked_sub(1).filter(|&left| left > 0)? as f64;
    let reach = (interval.high - interval.low) / 2.0;
    let t =
        (interval.estimate - value).abs() / reach * two_sided_t_inverse(1.0 - confidence, freedom);
    (reach > 0.0).then(|| two_sided_t(t, freedom))
}

/// The interval of a statistic of several independent samples together, each given by the figures of its runs.
///
/// It is that of [`interval`], with single figures in place of segments, with R the number of runs of the sample that has the
/// fewest, and never on logarithms: the statistic may be a difference. Where a sample has one run alone, nothing tells what varies from run to run: the interval is that of
/// [`Bootstrap::percentile_of_each`] then, and holds for this run.
///
/// # Errors
/// A sample has fewer than two figures, one is not finite, or the confidence is not between 0 and 1.
pub fn of_each(
    samples: &[Vec<Vec<f64>>],
    bootstrap: &Bootstrap,
    statistic: impl Fn(&[Vec<f64>]) -> f64,
) -> Result<Interval, Error> {
    let whole: Vec<Vec<f64>> = samples.iter().map(|runs| runs.concat()).collect();
    let fewest = samples.iter().map(Vec::len).min().unwrap_or(0);
    if fewest < 2 {
        let whole: Vec<&[f64]> = whole.iter().map(Vec::as_slice).collect();
        return bootstrap.percentile_of_each(&whole, statistic);
    }
    for figures in &whole {
        check(figures, "an interval over runs", 2)?;
    }
    check_level("confidence", bootstrap.confidence)?;
    let mut random = Xoshiro256PlusPlus::seed_from_u64(bootstrap.seed);
    let mut drawn = whole.clone();
    let replicates: Vec<f64> = (0..bootstrap.resamples)
        .map(|_| {
            for (runs, drawn) in samples.iter().zip(&mut drawn) {
                drawn.clear();
                for _ in runs {
                    let run = &runs[random.random_range(0..runs.len())];
                    drawn.extend(run.iter().map(|_| run[random.random_range(0..run.len())]));
                }
            }
            statistic(&drawn)
        })
        .collect();
    let estimate = statistic(&whole);
    let reach = reach_of(fewest, bootstrap.confidence) * summary::std(&replicates)?;
    Ok(Interval {
        estimate,
        low: estimate - reach,
        high: estimate + reach,
    })
}

/// The moments of all samples of each two-stage resample. (Not generic, so that it is compiled here, with this crate's
/// optimisation.)
fn resampled(runs: &[Vec<Moments>], bootstrap: &Bootstrap) -> Vec<Moments> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(bootstrap.seed);
    let resample = |_| {
        let mut drawn = Moments::NONE;
        for _ in runs {
            let run = &runs[random.random_range(0..runs.len())];
            for _ in run {
                drawn = drawn.merged(run[random.random_range(0..run.len())]);
            }
        }
        drawn
    };
    (0..bootstrap.resamples).map(resample).collect()
}

/// The mean of one figure a run, with the interval of Student's t.
///
/// # Errors
/// There are fewer than two figures, one is not finite, or the confidence is not between 0 and 1.
pub fn mean(figures: &[f64], confidence: f64) -> Result<Interval, Error> {
    check(figures, "the interval of a mean", 2)?;
    check_level("confidence", confidence)?;
    let n = figures.len() as f64;
    let estimate = summary::mean(figures)?;
    let reach = two_sided_t_inverse(1.0 - confidence, n - 1.0) * summary::std(figures)? / n.sqrt();
    Ok(Interval {
        estimate,
        low: estimate - reach,
        high: estimate + reach,
    })
}

/// A figure of all samples together, such as a quantile, with the interval that the same figure of
/// each run gives: Student's t with the standard deviation over runs. A mean of quantiles would be
/// no quantile, but how far those of runs are from each other is how far that of all may be off.
/// Where all are positive this is done on their logarithms, so that no interval reaches below 0.
///
/// # Errors
/// There are fewer than two runs, a figure is not finite, or the confidence is not between 0 and 1.
pub fn about(estimate: f64, figures: &[f64], confidence: f64) -> Result<Interval, Error> {
    check_level("confidence", confidence)?;
    check(figures, "an interval over runs", 2)?;
    let n = figures.len() as f64;
    let t = two_sided_t_inverse(1.0 - confidence, n - 1.0) / n.sqrt();
    let (low, high) = if estimate > 0.0 && figures.iter().all(|&x| x > 0.0) {
        let logarithms: Vec<f64> = figures.iter().map(|x| x.ln()).collect();
        let reach = t * summary::std(&logarithms)?;
        (estimate * (-reach).exp(), estimate * reach.exp())
    } else {
        let reach = t * summary::std(figures)?;
        (estimate - reach, estimate + reach)
    };
    Ok(Interval {
        estimate,
        low,
        high,
    })
}

/// The factor by which one figure exceeds another.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Ratio {
    /// The factor, with its interval.
    pub ratio: Interval,
    /// Two-sided p of the hypothesis that it is 1.
    pub p: f64,
}

/// The ratio of the means of two independent sets of positive figures, one figure a run.
///
/// The difference of the logarithms of the means has the variance s₁²/(n₁ m₁²) + s₂²/(n₂ m₂²) by
/// the delta method, and Welch's degrees of freedom (Welch 1947) for its Student's t.
///
/// # Errors
/// There are fewer than two figures in a set, one of them is not finite and positive, neither set
/// varies, or the confidence is not between 0 and 1.
pub fn ratio(first: &[f64], second: &[f64], confidence: f64) -> Result<Ratio, Error> {
    check_level("confidence", confidence)?;
    let mut means = [0.0; 2];
    let (mut variance, mut weight) = (0.0, 0.0);
    for (place, figures) in means.iter_mut().zip([first, second]) {
        check_positive(figures)?;
        let (mean, std) = (summary::mean(figures)?, summary::std(figures)?);
        let n = figures.len() as f64;
        let share = (std / mean).powi(2) / n;
        *place = mean;
        variance += share;
        weight += share * share / (n - 1.0);
    }
    let freedom = variance * variance / weight;
    on_logarithms(
        (means[0] / means[1]).ln(),
        variance.sqrt(),
        freedom,
        confidence,
    )
}

/// The geometric mean of ratios that were each found in a block of its own, and whether it is 1: Student's
/// t on their logarithms. What all runs of a block share, as the state of the machine, is in no ratio.
///
/// # Errors
/// There are fewer than two ratios, one of them is not finite and positive, they do not vary, or the
/// confidence is not between 0 and 1.
pub fn paired(ratios: &[f64], confidence: f64) -> Result<Ratio, Error> {
    check_level("confidence", confidence)?;
    check_positive(ratios)?;
    let logarithms: Vec<f64> = ratios.iter().map(|ratio| ratio.ln()).collect();
    let n = ratios.len() as f64;
    on_logarithms(
        summary::mean(&logarithms)?,
        summary::std(&logarithms)? / n.sqrt(),
        n - 1.0,
        confidence,
    )
}

const RATIO: &str = "a ratio";

fn check_positive(figures: &[f64]) -> Result<(), Error> {
    check(figures, RATIO, 2)?;
    match figures.iter().find(|&&x| x <= 0.0) {
        Some(&value) => Err(Error::Parameter {
            name: "a figure in a ratio",
            value,
            expected: "above 0",
        }),
        None => Ok(()),
    }
}

/// The ratio from a logarithm with its standard error.
fn on_logarithms(
    logarithm: f64,
    error: f64,
    freedom: f64,
    confidence: f64,
) -> Result<Ratio, Error> {
    // A difference that rounding makes of equal ratios is no variation.
    if error <= 16.0 * f64::EPSILON * (1.0 + logarithm.abs()) {
        return Err(Error::NoVariation { statistic: RATIO });
    }
    let reach = two_sided_t_inverse(1.0 - confidence, freedom) * error;
    Ok(Ratio {
        ratio: Interval {
            estimate: logarithm.exp(),
            low: (logarithm - reach).exp(),
            high: (logarithm + reach).exp(),
        },
        p: two_sided_t(logarithm / error, freedom),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn normal(random: &mut Xoshiro256PlusPlus) -> f64 {
        // Irwin-Hall: the sum of twelve uniform numbers has variance 1.
        (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0
    }

    /// Table values of Student's t, as printed in every textbook.
    #[test]
    fn quantiles_of_students_t_are_the_tables() {
        for (freedom, expected) in [(1.0, 12.706), (2.0, 4.303), (4.0, 2.776), (9.0, 2.262)] {
            assert!((two_sided_t_inverse(0.05, freedom) - expected).abs() < 1e-3);
        }
    }

    /// SciPy 1.17: `scipy.stats.t.interval(0.95, 2, loc=2, scale=1/3**0.5)` for 1, 2, 3.
    #[test]
    fn the_mean_of_a_figure_a_run_has_students_interval() {
        let interval = mean(&[1.0, 2.0, 3.0], 0.95).unwrap();
        assert!((interval.low - -0.484_137_7).abs() < 1e-6, "{interval:?}");
        assert!((interval.high - 4.484_137_7).abs() < 1e-6);
        assert!(mean(&[1.0], 0.95).is_err());
    }

    /// SciPy 1.17: `2 * t.sf(2 * 3**0.5, 2)`, the test of the mean of 1, 2, 3 against 0.
    #[test]
    fn a_hypothesis_is_tested_by_the_interval() {
        let interval = mean(&[1.0, 2.0, 3.0], 0.95).unwrap();
        let p = |value| p_of(&interval, 3, 0.95, value);
        assert!((p(0.0).unwrap() - 0.074_179_9).abs() < 1e-6, "{:?}", p(0.0));
        assert!((p(interval.high).unwrap() - 0.05).abs() < 1e-9);
        assert_eq!(p(2.0), Some(1.0));
        assert_eq!(p_of(&interval, 1, 0.95, 0.0), None);
    }

    /// Means 12 and 10, standard deviations 1, four runs each. With v = s²/(n m²) of either and
    /// Welch's freedom f = (v1 + v2)² / (v1²/3 + v2²/3), SciPy 1.17: `exp(log(1.2) ±
    /// t.ppf(.975, f) * sqrt(v1 + v2))` and `2 * t.sf(log(1.2) / sqrt(v1 + v2), f)`.
    #[test]
    fn a_ratio_is_welchs_on_logarithms() {
        let spread = 3f64.sqrt() / 2.0;
        let around = |m: f64| [m - spread, m - spread, m + spread, m + spread];
        let found = ratio(&around(12.0), &around(10.0), 0.95).unwrap();
        for (found, expected) in [
            (found.ratio.estimate, 1.2),
            (found.ratio.low, 1.022_038_816),
            (found.ratio.high, 1.408_948_444),
            (found.p, 0.032_196_812),
        ] {
            assert!((found - expected).abs() < 1e-8, "{found} {expected}");
        }
        assert!(ratio(&[1.0, 1.0], &[2.0, 2.0], 0.95).is_err());
        assert!(ratio(&[0.0, 1.0], &[2.0, 3.0], 0.95).is_err());
    }

    /// The stated confidence is kept where runs differ and where they do not, for three runs and
    /// for six: the true mean lies inside in at least 93 of 100 experiments.
    #[test]
    fn the_interval_over_runs_holds_the_truth_as_often_as_it_says() {
        let bootstrap = Bootstrap {
            resamples: 200,
            ..Bootstrap::default()
        };
        let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
        for (count, between) in [(3, 0.0), (3, 5.0), (6, 1.0)] {
            let held = (0..400)
                .filter(|_| {
                    let runs: Vec<Vec<Moments>> = (0..count)
                        .map(|_| {
                            let centre = 100.0 + between * normal(&mut random);
                            let samples: Vec<f64> =
                                (0..64).map(|_| centre + normal(&mut random)).collect();
                            segments(&samples, 8)
                        })
                        .collect();
                    let found = interval(&runs, &bootstrap, Moments::mean).unwrap();
                    (found.low..=found.high).contains(&100.0)
                })
                .count();
            assert!(
                held >= 372,
                "{held} of 400 with {count} runs, {between} between"
            );
        }
    }

    /// The same for the difference of the means of two samples, of which each has runs of its own.
    #[test]
    fn the_interval_of_two_samples_holds_the_truth_as_often_as_it_says() {
        let bootstrap = Bootstrap {
            resamples: 200,
            ..Bootstrap::default()
        };
        let mean = |drawn: &Vec<f64>| drawn.iter().sum::<f64>() / drawn.len() as f64;
        let mut random = Xoshiro256PlusPlus::seed_from_u64(13);
        for (count, between) in [(3, 0.0), (4, 5.0), (8, 1.0)] {
            let held = (0..400)
                .filter(|_| {
                    let mut sample = |centre: f64| -> Vec<Vec<f64>> {
                        (0..count)
                            .map(|_| {
                                let centre = centre + between * normal(&mut random);
                                (0..8).map(|_| centre + normal(&mut random)).collect()
                            })
                            .collect()
                    };
                    let samples = [sample(100.0), sample(90.0)];
                    let found = of_each(&samples, &bootstrap, |drawn| {
                        mean(&drawn[0]) - mean(&drawn[1])
                    })
                    .unwrap();
                    (found.low..=found.high).contains(&10.0)
                })
                .count();
            assert!(
                held >= 372,
                "{held} of 400 with {count} runs, {between} between"
            );
        }
        // One run says nothing of others.
        let one = [vec![vec![1.0, 2.0, 4.0]], vec![vec![1.0], vec![2.0]]];
        let found = of_each(&one, &bootstrap, |drawn| mean(&drawn[0])).unwrap();
        let whole =
            bootstrap.percentile_of_each(&[&[1.0, 2.0, 4.0], &[1.0, 2.0]], |drawn| mean(&drawn[0]));
        assert_eq!(found, whole.unwrap());
        let few = [vec![vec![1.0], vec![]]];
        assert!(of_each(&few, &bootstrap, |drawn| mean(&drawn[0])).is_err());
    }

    /// The median of all samples lies inside as often as it should where runs differ.
    #[test]
    fn a_median_of_all_samples_has_the_interval_of_the_runs_medians() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(11);
        for count in [3, 6] {
            let held = (0..400)
                .filter(|_| {
                    let mut runs: Vec<Vec<f64>> = (0..count)
                        .map(|_| {
                            let centre = 100.0 + 5.0 * normal(&mut random);
                            (0..65).map(|_| centre + normal(&mut random)).collect()
                        })
                        .collect();
                    let median = |samples: &mut Vec<f64>| {
                        samples.sort_unstable_by(f64::total_cmp);
                        summary::quantile(samples, 0.5)
                    };
                    let figures: Vec<f64> = runs.iter_mut().map(median).collect();
                    let found = about(median(&mut runs.concat()), &figures, 0.95).unwrap();
                    (found.low..=found.high).contains(&100.0)
                })
                .count();
            assert!(held >= 368, "{held} of 400 with {count} runs");
        }
        assert!(about(1.0, &[1.0], 0.95).is_err());
        let signed = about(0.5, &[-1.0, 2.0], 0.95).unwrap();
        assert!(signed.low < -1.0);
    }

    /// Computed from the closed form that Student's distribution has with 3 degrees of freedom: F(t) = 1/2 + (x / (1 +
    /// x²) + arctan x) / π with x = t / √3.
    #[test]
    fn ratios_of_blocks_have_students_t_on_logarithms() {
        let found = paired(&[1.1, 1.2, 1.3, 1.6], 0.95).unwrap();
        for (found, expected) in [
            (found.ratio.estimate, 1.287_239_377_185),
            (found.ratio.low, 0.997_511_817_589),
            (found.ratio.high, 1.661_118_379_712),
            (found.p, 0.051_211_800_815),
        ] {
            assert!((found - expected).abs() < 1e-8, "{found} {expected}");
        }
        assert!(paired(&[1.1], 0.95).is_err());
        assert!(paired(&[1.1, 1.1], 0.95).is_err());
        assert!(paired(&[1.1 / 1.0, 2.2 / 2.0, 0.11 / 0.1, 3.3 / 3.0], 0.95).is_err());
        assert!(paired(&[1.1, 0.0], 0.95).is_err());
    }

    /// Blocks that differ a lot from each other, and an effect in each: the pairs show it, the two sets alone do not.
    #[test]
    fn what_a_block_shares_is_in_no_ratio() {
        let base = [1.0, 2.0, 4.0, 8.0];
        let slower = [1.11, 2.18, 4.42, 8.84];
        let ratios: Vec<f64> = slower.iter().zip(base).map(|(a, b)| a / b).collect();
        assert!(paired(&ratios, 0.95).unwrap().p < 0.001);
        assert!(ratio(&slower, &base, 0.95).unwrap().p > 0.5);
    }

    #[test]
    fn too_little_is_refused_and_no_variation_gives_no_width() {
        let run = segments(&[5.0; 10], 4);
        let bootstrap = Bootstrap::default();
        assert!(interval(std::slice::from_ref(&run), &bootstrap, Moments::mean).is_err());
        assert!(interval(&[run.clone(), vec![]], &bootstrap, Moments::mean).is_err());
        let found = interval(&[run.clone(), run], &bootstrap, Moments::std).unwrap();
        assert_eq!((found.low, found.estimate, found.high), (0.0, 0.0, 0.0));
    }

    proptest! {
        #[test]
        fn segments_merge_to_the_whole(
            samples in proptest::collection::vec(1.0f64..1e6, 2..300), count in 1usize..40
        ) {
            let parts = segments(&samples, count);
            prop_assert!(parts.len() <= count);
            let all = parts.into_iter().fold(Moments::NONE, Moments::merged);
            prop_assert!((all.mean().unwrap() - summary::mean(&samples).unwrap()).abs() < 1e-6);
            prop_assert!((all.std().unwrap() - summary::std(&samples).unwrap()).abs() < 1e-5);
        }
    }
}
