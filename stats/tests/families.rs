//! Families on the positive numbers, their fits and the choice among them, against SciPy, scikit-learn and mpmath
//! (`reference/families.py`), on the very same samples.

use std::path::Path;

use jitterlab_stats::distribution::Distribution;
use jitterlab_stats::imitation::{self, Closeness, Fault};
use jitterlab_stats::positive::Family;
use jitterlab_stats::positive::{Component, Mixture, Positive};
use jitterlab_stats::sorted;
use jitterlab_stats::special::{digamma, gamma_p, gamma_q, trigamma};
use jitterlab_stats::summary;
use proptest::prelude::*;
use serde_json::Value;

fn reference() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference/families.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    list(value).iter().map(|x| x.as_f64().unwrap()).collect()
}

#[track_caller]
fn close(what: &str, ours: f64, theirs: f64, relative: f64) {
    let apart = (ours / theirs - 1.0).abs();
    assert!(
        ours == theirs || apart <= relative,
        "{what}: {ours} is not {theirs}: {apart:e}"
    );
}

/// The samples of `make.py`.
fn uniforms(mut seed: u64) -> impl Iterator<Item = f64> {
    std::iter::repeat_with(move || {
        seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = seed;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        ((z >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    })
}

fn draw(law: &Positive, seed: u64, n: usize) -> Vec<f64> {
    uniforms(seed).take(n).map(|p| law.quantile(p)).collect()
}

const N: usize = 100_000;

fn law(family: &str, shape: f64, scale: f64) -> (Family, Positive) {
    match family {
        "lognormal" => (Family::LogNormal, Positive::LogNormal { shape, scale }),
        "gamma" => (Family::Gamma, Positive::Gamma { shape, scale }),
        "weibull" => (Family::Weibull, Positive::Weibull { shape, scale }),
        _ => (
            Family::GeneralisedPareto,
            Positive::GeneralisedPareto { shape, scale },
        ),
    }
}

fn parameters(law: &Positive) -> (f64, f64) {
    match *law {
        Positive::LogNormal { shape, scale }
        | Positive::Gamma { shape, scale }
        | Positive::Weibull { shape, scale }
        | Positive::GeneralisedPareto { shape, scale } => (shape, scale),
        Positive::Mixture(_) => unreachable!("these have components"),
    }
}

#[test]
fn the_gamma_functions_are_mpmaths() {
    let reference = reference();
    for row in list(&reference["special"]["gamma"]) {
        let [a, x, lower, upper] = numbers(row)[..] else {
            unreachable!()
        };
        // The smaller of the two keeps its digits; a chance under 1e-300 may be 0.
        if lower < upper {
            close(&format!("P({a}, {x})"), gamma_p(a, x), lower, 2e-12);
        } else if upper > 1e-300 {
            close(&format!("Q({a}, {x})"), gamma_q(a, x), upper, 2e-12);
        }
        assert!((gamma_p(a, x) + gamma_q(a, x) - 1.0).abs() < 1e-14);
    }
    for row in list(&reference["special"]["psi"]) {
        let [x, psi, derivative] = numbers(row)[..] else {
            unreachable!()
        };
        close(&format!("digamma({x})"), digamma(x), psi, 1e-13);
        close(&format!("trigamma({x})"), trigamma(x), derivative, 1e-13);
    }
}

#[test]
fn families_are_scipys() {
    for entry in list(&reference()["laws"]) {
        let number = |name: &str| entry[name].as_f64().unwrap();
        let family = entry["family"].as_str().unwrap();
        let (_, law) = law(family, number("shape"), number("scale"));
        close(family, law.mean(), number("mean"), 1e-13);
        let std = (law.second_moment() - law.mean().powi(2)).sqrt();
        close(family, std, number("std"), 1e-12);
        for row in list(&entry["points"]) {
            let [p, x, cdf, survival, log_density, above] = numbers(row)[..] else {
                unreachable!()
            };
            let what = format!("{family} at {p}");
            close(&what, law.quantile(p), x, 1e-9);
            close(&what, law.cdf(x), cdf, 1e-11);
            close(&what, law.survival(x), survival, 1e-9);
            close(&what, law.log_density(x), log_density, 1e-11);
            close(&what, law.mean_above(x), above, 1e-7);
        }
    }
}

#[test]
fn a_hundred_thousand_samples_are_fitted_as_by_scipy() {
    for entry in list(&reference()["laws"]) {
        let number = |of: &Value, name: &str| of[name].as_f64().unwrap();
        let name = entry["family"].as_str().unwrap();
        let (family, law) = law(name, number(entry, "shape"), number(entry, "scale"));
        let samples = sorted(&draw(&law, entry["seed"].as_u64().unwrap(), N)).unwrap();
        let fitted = family.fit(&samples).unwrap();
        let likelihood: f64 = samples.iter().map(|&x| fitted.log_density(x)).sum();
        let theirs = &entry["fitted"];
        let (shape, scale) = parameters(&fitted);
        println!("{name}: {fitted:?}, SciPy {theirs}, ours {likelihood}");
        // SciPy's search stops a little before the top.
        close(name, shape, number(theirs, "shape"), 1e-3);
        close(name, scale, number(theirs, "scale"), 1e-3);
        assert!(likelihood > number(theirs, "log_likelihood") - 1e-3 * 1e-3);
    }
}

#[test]
fn mixtures_are_fitted_as_by_scikit_learn() {
    for entry in list(&reference()["mixtures"]) {
        let components: Vec<Vec<f64>> = list(&entry["components"]).iter().map(numbers).collect();
        let seed = entry["seed"].as_u64().unwrap();
        let mut samples = Vec::new();
        for (i, of) in components.iter().enumerate() {
            let law = Positive::LogNormal {
                shape: of[1],
                scale: of[2],
            };
            let n = (of[0] * N as f64).round() as usize;
            samples.extend(draw(&law, seed + 1000 * i as u64, n));
        }
        let family = match components.len() {
            2 => Family::TwoLognormals,
            _ => Family::ThreeLognormals,
        };
        let fitted = family.fit(&sorted(&samples).unwrap()).unwrap();
        let Positive::Mixture(mixture) = fitted else {
            panic!("{fitted:?}")
        };
        let theirs = list(&entry["fitted"]).iter().map(numbers);
        for (ours, theirs) in mixture.components().iter().zip(theirs) {
            println!("{ours:?} {theirs:?}");
            close("weight", ours.weight, theirs[0], 2e-3);
            close("shape", ours.shape, theirs[1], 5e-3);
            close("scale", ours.scale, theirs[2], 2e-3);
        }
    }
}

/// Parameters away from the exponential, which gamma, Weibull and Pareto share.
fn recognisable() -> Vec<Positive> {
    let component = |weight, shape, scale| Component {
        weight,
        shape,
        scale,
    };
    let mixture = |of: &[Component]| Positive::Mixture(Mixture::new(of).unwrap());
    vec![
        Positive::LogNormal {
            shape: 1.0,
            scale: 4e3,
        },
        Positive::Gamma {
            shape: 4.0,
            scale: 2e3,
        },
        Positive::Weibull {
            shape: 0.5,
            scale: 5e3,
        },
        Positive::GeneralisedPareto {
            shape: 0.3,
            scale: 3e3,
        },
        mixture(&[component(0.6, 0.3, 2e3), component(0.4, 0.4, 3e4)]),
        mixture(&[
            component(0.5, 0.25, 1e3),
            component(0.3, 0.3, 9e3),
            component(0.2, 0.4, 8e4),
        ]),
    ]
}

/// `SEEDS=100` tries more of them, which takes minutes.
#[test]
fn the_family_that_samples_came_from_is_chosen() {
    let seeds: u64 = std::env::var("SEEDS").map_or(2, |seeds| seeds.parse().unwrap());
    for law in recognisable() {
        let mut right = 0;
        for seed in 0..seeds {
            let mut samples = vec![0.0; N / 4];
            samples.extend(draw(&law, 100 + seed, N));
            let candidates = imitation::candidates(&samples).unwrap();
            let Distribution::WithZeros { zeros, rest } = candidates[0].distribution else {
                panic!("{:?}", candidates[0])
            };
            right += u64::from(rest.name() == law.name());
            assert!((zeros - 0.2).abs() < 1e-12);
            let mean = summary::mean(&samples).unwrap();
            close("mean", candidates[0].distribution.mean(), mean, 1e-12);
            assert_eq!(candidates[0].closeness.fault(), None);
        }
        println!("{}: right in {right} of {seeds}", law.name());
        assert!(
            100 * right >= 95 * seeds,
            "{}: {right} of {seeds}",
            law.name()
        );
    }
}

#[test]
fn slices_keep_zeros_mean_and_deviation() {
    for law in recognisable() {
        let mut samples = vec![-300.0; N / 8];
        samples.extend(draw(&law, 7, N));
        let raised: Vec<f64> = samples.iter().map(|x| x.max(0.0)).collect();
        let slices = imitation::slices(&samples, 4_096).unwrap();
        assert!(slices.is_sorted() && slices[0] == 0.0);
        close(
            "mean",
            summary::mean(&slices).unwrap(),
            summary::mean(&raised).unwrap(),
            1e-12,
        );
        let close_to = Closeness::between(&samples, &slices).unwrap();
        close("std", close_to.std, close_to.std_of_samples, 1e-9);
        assert!(close_to.distance_ratio() < 0.01, "{close_to:?}");
        assert_eq!(close_to.fault(), None);
    }
}

/// One round trip of 14 ms among 95,000 of some microseconds, as on a machine that is shared: a 4,096th of a table is more than it.
#[test]
fn a_sample_that_is_rarer_than_a_slice_keeps_its_deviation() {
    let law = Positive::LogNormal {
        shape: 0.8,
        scale: 5e3,
    };
    let mut samples = vec![0.0; 28_000];
    samples.extend(draw(&law, 5, 67_000));
    samples.push(14e6);
    let slices = imitation::slices(&samples, 4_096).unwrap();
    assert!(slices.is_sorted() && slices[0] >= 0.0);
    let close = Closeness::between(&samples, &slices).unwrap();
    assert!((close.std_ratio() - 1.0).abs() < 1e-6, "{close:?}");
    assert!(
        close.distance_ratio() < 0.35 && close.fault().is_none(),
        "{close:?}"
    );
}

#[test]
fn what_does_not_imitate_is_told() {
    let samples = draw(&recognisable()[4], 3, N);
    let mean = summary::mean(&samples).unwrap();
    let of = |delays: &[f64]| Closeness::between(&samples, delays).unwrap();
    let constant = of(&[mean]);
    assert_eq!(constant.fault(), Some(Fault::NoCloserThanConstant));
    assert!((constant.distance_ratio() - 1.0).abs() < 1e-9);
    // Close, but for half of the deviation.
    let slices = imitation::slices(&samples, 4_096).unwrap();
    let half: Vec<f64> = slices.iter().map(|x| mean + (x - mean) / 2.0).collect();
    assert_eq!(of(&half).fault(), Some(Fault::Deviation));
    assert_eq!(of(&slices).fault(), None);
    // Constant samples have nothing to imitate but their mean.
    assert_eq!(Closeness::between(&[5.0; 9], &[5.0]).unwrap().fault(), None);
}

#[test]
fn powers_have_the_mean_and_the_deviation_that_were_asked_for() {
    let mut samples = vec![0.0; N / 4];
    samples.extend(draw(&recognisable()[0], 5, N));
    let slices = imitation::slices(&samples, 4_096).unwrap();
    let moments = |x: &[f64]| {
        let close = Closeness::between(x, x).unwrap();
        (summary::mean(x).unwrap(), close.std)
    };
    let (mean, std) = moments(&slices);
    for multiple in [0.0, 0.7, 1.0, 2.0, 5.0] {
        let scaled = imitation::scaled(&slices, multiple).unwrap();
        let (of_mean, of_std) = moments(&scaled);
        close("mean", of_mean, mean, 1e-9);
        assert!((of_std - multiple * std).abs() < 1e-6 * std, "{multiple}");
    }
    // A fifth is 0, and stays so: a coefficient of variation of 1/2 at least.
    let least = 0.5 * mean / std;
    let reach = imitation::scaled(&slices, 0.9 * least).unwrap_err();
    close("least", reach.least, least, 1e-3);
    assert!(imitation::scaled(&slices, 1.01 * least).is_ok());
    assert!(imitation::scaled(&slices, 1e4).is_err());
}

#[test]
fn what_cannot_be_fitted_is_told() {
    let refused = |samples: &[f64]| imitation::candidates(samples).unwrap_err().to_string();
    assert!(refused(&[]).contains("needs at least 1"));
    assert!(refused(&[0.0, 7.0]).contains("needs at least 10 samples; there are 1"));
    let mut two = [7.0; 50];
    two[..9].fill(0.0);
    assert!(refused(&two).contains("all equal"));
    let constant = imitation::candidates(&[7.0; 50]).unwrap()[0].distribution;
    assert_eq!(constant, Distribution::Constant { value: 7.0 });
    assert!(refused(&[1.0, f64::NAN]).contains("not a finite number"));
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(
        zeros in 0.0f64..0.99, which in 0usize..6, shape in 0.01f64..3.0, scale in 1.0f64..1e9
    ) {
        let law = match which {
            0 => Positive::LogNormal { shape, scale },
            1 => Positive::Gamma { shape, scale },
            2 => Positive::Weibull { shape, scale },
            3 => Positive::GeneralisedPareto { shape: shape - 1.0, scale },
            which => recognisable()[which].scaled(scale),
        };
        let distribution = Distribution::WithZeros { zeros, rest: law };
        prop_assert_eq!(distribution.to_string().parse(), Ok(distribution));
        let json = serde_json::to_string(&distribution).unwrap();
        let read: Distribution = serde_json::from_str(&json).unwrap();
        prop_assert!((read.mean() / distribution.mean() - 1.0).abs() < 1e-12 || !read.mean().is_finite());
    }

    #[test]
    fn slices_have_the_mean_of_their_distribution(which in 0usize..6, zeros in 0.0f64..0.9) {
        let distribution = Distribution::WithZeros { zeros, rest: recognisable()[which] };
        let slices = distribution.slices(512);
        prop_assert!(slices.is_sorted() && slices[0] >= 0.0);
        let mean = slices.iter().sum::<f64>() / 512.0;
        prop_assert!((mean / distribution.mean() - 1.0).abs() < 1e-9);
    }
}
