//! Every statistic against values computed with SciPy, NumPy and statsmodels
//! (`reference/make.py`), on the very same samples.

use std::path::Path;

use jitterlab_stats::bootstrap::{Bootstrap, Interval};
use jitterlab_stats::distribution::Distribution;
use jitterlab_stats::{
    autocorrelation, correlation, fit, hodges_lehmann, holm, imitation, ks, mann_whitney, sorted,
    summary, wasserstein, welch,
};
use serde_json::Value;

fn reference(file: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/reference")
        .join(file);
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn scipy() -> Value {
    reference("scipy.json")
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(number).collect()
}

#[track_caller]
fn close(ours: f64, theirs: &Value, relative: f64) {
    let theirs = number(theirs);
    let scale = theirs.abs().max(1e-300);
    assert!(
        (ours - theirs).abs() <= relative * scale,
        "{ours} is not {theirs}"
    );
}

/// The samples of `make.py`.
fn uniforms(mut seed: u64, n: usize) -> impl Iterator<Item = f64> {
    (0..n).map(move |_| {
        seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = seed;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        ((z >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    })
}

fn lognormal(seed: u64, n: usize, shape: f64, location: f64, scale: f64) -> Vec<f64> {
    let distribution = Distribution::LogNormal {
        shape,
        location,
        scale,
    };
    uniforms(seed, n)
        .map(|p| distribution.quantile(p))
        .collect()
}

fn normal(seed: u64, n: usize) -> Vec<f64> {
    // ln of a lognormal with shape 1, location 0, scale 1.
    lognormal(seed, n, 1.0, 0.0, 1.0)
        .into_iter()
        .map(f64::ln)
        .collect()
}

fn latencies(seed: u64, n: usize) -> Vec<f64> {
    lognormal(seed, n, 0.6, 5000.0, 800.0)
        .into_iter()
        .map(|x| (x / 50.0).floor() * 50.0)
        .collect()
}

fn plus(mut samples: Vec<f64>, by: f64) -> Vec<f64> {
    samples.iter_mut().for_each(|x| *x += by);
    samples
}

#[test]
fn summaries() {
    let expected = &scipy()["summary"];
    for (name, samples) in [
        ("latencies", latencies(11, 5000)),
        ("normal", normal(3, 17)),
    ] {
        let expected = &expected[name];
        close(summary::mean(&samples).unwrap(), &expected["mean"], 1e-9);
        close(summary::std(&samples).unwrap(), &expected["std"], 1e-9);
        close(summary::skew(&samples).unwrap(), &expected["skew"], 1e-9);
        let sorted = sorted(&samples).unwrap();
        let at = [0.0, 0.1, 0.25, 0.5, 0.9, 0.99, 0.999, 1.0];
        for (p, theirs) in at.iter().zip(expected["quantiles"].as_array().unwrap()) {
            close(summary::quantile(&sorted, *p), theirs, 1e-9);
        }
        let whole = summary::Summary::of(&samples).unwrap();
        close(whole.mean, &expected["mean"], 1e-9);
        close(whole.skew.unwrap(), &expected["skew"], 1e-9);
    }
}

#[test]
fn autocorrelations_of_ranks() {
    // Latencies that change slowly, with ties.
    let walk: Vec<f64> = latencies(9, 3_039)
        .windows(40)
        .map(|near| (near.iter().sum::<f64>() / 40.0 / 10.0).floor() * 10.0)
        .collect();
    let ours = autocorrelation::of_ranks(&walk, &autocorrelation::LAGS).unwrap();
    let theirs = &scipy()["autocorrelation"];
    for (ours, theirs) in ours.iter().zip(theirs.as_array().unwrap()) {
        close(*ours, theirs, 1e-9);
    }
}

#[test]
fn mann_whitney_tests() {
    let expected = &scipy()["mann_whitney"];
    for (name, a, b) in [
        ("small_exact", normal(5, 7), plus(normal(6, 9), 0.8)),
        ("one_against_many", normal(5, 1), normal(6, 40)),
        ("ties", latencies(5, 300), plus(latencies(6, 250), 50.0)),
        ("large", latencies(7, 20_000), latencies(8, 30_000)),
    ] {
        let ours = mann_whitney::test(&a, &b).unwrap();
        close(ours.u, &expected[name]["u"], 0.0);
        close(ours.p, &expected[name]["p"], 1e-9);
        assert_eq!(ours.exact, a.len() < 8, "{name}");
    }
}

#[test]
fn hodges_lehmann_shifts() {
    let expected = &scipy()["hodges_lehmann"];
    for (name, a, b) in [
        ("odd", normal(5, 7), plus(normal(6, 9), 0.8)),
        ("even", latencies(5, 300), plus(latencies(6, 250), 50.0)),
    ] {
        let ours = hodges_lehmann::shift(&a, &b, 0.95).unwrap();
        let Interval {
            estimate,
            low,
            high,
        } = ours.interval;
        close(estimate, &expected[name], 1e-9);
        assert!(low <= estimate && estimate <= high);
    }
}

/// The ends are where the test begins to reject.
#[test]
fn hodges_lehmann_intervals() {
    let expected = &scipy()["hodges_lehmann"];
    for (name, a, b) in [
        ("ends_exact", normal(5, 7), plus(normal(6, 9), 0.8)),
        ("ends_normal", normal(5, 30), plus(normal(6, 41), 0.5)),
    ] {
        let ours = hodges_lehmann::shift(&a, &b, 0.95).unwrap();
        close(ours.interval.low, &expected[name][0], 1e-9);
        close(ours.interval.high, &expected[name][1], 1e-9);
        assert!(ours.confidence >= 0.95, "{name}");
    }
}

#[test]
fn welchs_interval() {
    let expected = &scipy()["welch"];
    let of = |samples: &[f64]| summary::Summary::of(samples).unwrap();
    let (a, b) = (
        lognormal(5, 30, 0.6, 5000.0, 800.0),
        plus(lognormal(6, 41, 0.6, 5000.0, 800.0), 50.0),
    );
    let ours = welch::mean_difference(&of(&a), &of(&b), 0.95).unwrap();
    close(ours.low, &expected["low"], 1e-8);
    close(ours.high, &expected["high"], 1e-8);
}

/// Of 1, 2, … n against themselves, n (n + 1) / 12 is the variance, and there are 2 n − 2 degrees of freedom. SciPy
/// 1.17: `t.ppf(0.975, 2 * n - 2)`; of so many, that of the normal to seven digits.
#[test]
fn welchs_interval_of_millions() {
    for (n, t) in [
        (2_525_901, 1.959_964_454_129_465_6),
        (7_250_000, 1.959_964_148_145_002_3),
    ] {
        let of: Vec<f64> = (1..=n).map(f64::from).collect();
        let of = summary::Summary::of(&of).unwrap();
        let n = f64::from(n);
        let ours = welch::mean_difference(&of, &of, 0.95).unwrap();
        let expected = t * ((n + 1.0) / 6.0).sqrt();
        assert!(
            (ours.high / expected - 1.0).abs() < 1e-11,
            "{ours:?} {expected}"
        );
        assert_eq!(ours.low, -ours.high);
    }
}

#[test]
fn empirical_distribution_functions() {
    let ours = summary::Ecdf::of(&latencies(5, 300)).unwrap();
    let at = [5000.0, 5500.0, 5525.0, 5800.0, 7000.0, 1e6];
    for (x, theirs) in at.iter().zip(scipy()["ecdf"].as_array().unwrap()) {
        close(ours.at(*x), theirs, 1e-12);
    }
}

/// A hundred whole numbers.
fn count_from(first: u32) -> Vec<f64> {
    (first..first + 100).map(f64::from).collect()
}

#[test]
fn kolmogorov_smirnov_tests() {
    let expected = &scipy()["ks"];
    // A normal is a lognormal's logarithm: the same test, seen through a monotone map.
    let standard = Distribution::LogNormal {
        shape: 1.0,
        location: 0.0,
        scale: 1.0,
    };
    let shifted = Distribution::LogNormal {
        shape: 1.1,
        location: 0.0,
        scale: 0.2f64.exp(),
    };
    let skewed = Distribution::LogNormal {
        shape: 0.62,
        location: 5000.0,
        scale: 800.0,
    };
    let exp = |s: Vec<f64>| s.into_iter().map(f64::exp).collect::<Vec<_>>();
    for (name, samples, distribution, tolerance) in [
        ("one_small", exp(normal(9, 20)), shifted, 1e-9),
        (
            "one_large",
            lognormal(9, 5000, 0.6, 5000.0, 800.0),
            skewed,
            1e-3,
        ),
        ("one_at_limit", exp(normal(19, 140)), standard, 1e-9),
        ("one_above_limit", exp(normal(19, 141)), standard, 5e-3),
    ] {
        let ours = ks::one_sample(&samples, &distribution).unwrap();
        close(ours.d, &expected[name]["d"], 1e-9);
        close(ours.p, &expected[name]["p"], tolerance);
    }
    for (name, a, b, tolerance) in [
        ("two_far", count_from(0), count_from(100), 1e-9),
        ("two_small", normal(5, 30), plus(normal(6, 41), 0.5), 1e-9),
        ("two_ties", latencies(5, 300), latencies(6, 250), 1e-9),
        (
            "two_large",
            latencies(7, 20_000),
            latencies(8, 30_000),
            1e-3,
        ),
    ] {
        let ours = ks::two_sample(&a, &b).unwrap();
        close(ours.d, &expected[name]["d"], 1e-9);
        close(ours.p, &expected[name]["p"], tolerance);
    }
}

#[test]
fn lilliefors_tests() {
    let expected = &scipy()["lilliefors"];
    let square = |s: Vec<f64>| s.into_iter().map(|x| x * x).collect::<Vec<_>>();
    let mild = normal(26, 80)
        .into_iter()
        .map(|x| (0.4 * x).exp())
        .collect();
    for (name, samples) in [
        ("skewed_60", square(normal(21, 60))),
        ("latencies_500", lognormal(22, 500, 0.6, 5000.0, 800.0)),
        ("mild_80", mild),
    ] {
        let ours = ks::lilliefors(&samples).unwrap();
        close(ours.d, &expected[name]["d"], 1e-9);
        // Both are Dallal and Wilkinson's approximation.
        close(ours.p, &expected[name]["p"], 1e-6);
        let plain = ks::plain_normality(&samples).unwrap();
        assert!(
            plain.d == ours.d && plain.p >= ours.p,
            "the plain test is conservative"
        );
    }
}

#[test]
fn correlations() {
    let expected = &scipy()["pearson"];
    let x = normal(1, 40);
    let y: Vec<f64> = x.iter().zip(normal(2, 40)).map(|(x, e)| x + e).collect();
    let ours = correlation::pearson(&x, &y, 0.95).unwrap();
    close(ours.r.estimate, &expected["r"], 1e-12);
    close(ours.p, &expected["p"], 1e-9);
    close(ours.r.low, &expected["low"], 1e-9);
    close(ours.r.high, &expected["high"], 1e-9);
}

/// The paper's Table 4 prints r to two digits and p to three, and not n. One n (960 is
/// one) puts the p of every row between those of the extreme r that round to the printed ones.
#[test]
fn the_papers_comparison_of_correlations() {
    for (r_mean, r_std, p) in [
        (0.70, 0.89, 7.89e-33),
        (0.73, 0.91, 4.94e-39),
        (0.76, 0.93, 8.89e-50),
        (0.73, 0.95, 1.31e-93),
        (0.76, 0.97, 5.24e-148),
    ] {
        let apart = |by: f64| correlation::fisher_z(r_mean - by, r_std + by, 960).unwrap();
        assert!(apart(0.0).z < 0.0);
        let (least, most) = (apart(0.005).p, apart(-0.005).p);
        assert!((least..most).contains(&p), "{least} {p} {most}");
    }
}

/// By hand from Steiger's formula: r12 = .5, r13 = .4, r23 = .3, n = 103.
/// mean r = .45; psi = .3 (1 − .405) − .5 · .2025 (1 − .405 − .09) = .12736875;
/// covariance = .12736875 / .7975² = .20026335; Z = (.54930614 − .42364893) √(100 / 1.5994733).
#[test]
fn steigers_test() {
    let ours = correlation::steiger(0.5, 0.4, 0.3, 103).unwrap();
    assert!(
        (ours.z - 0.125_657_21 * (100.0f64 / 1.599_473_3).sqrt()).abs() < 1e-6,
        "{ours:?}"
    );
    assert!((ours.p - 0.320_43).abs() < 1e-4, "{ours:?}");
}

#[test]
fn holm_and_wasserstein() {
    let expected = scipy();
    let adjusted = holm::adjust(&numbers(&expected["holm"]["p"]));
    for (ours, theirs) in adjusted
        .iter()
        .zip(expected["holm"]["adjusted"].as_array().unwrap())
    {
        close(*ours, theirs, 1e-12);
    }
    let expected = &expected["wasserstein"];
    let small = wasserstein::distance(&normal(5, 30), &plus(normal(6, 41), 0.5)).unwrap();
    close(small, &expected["small"], 1e-9);
    let ties = wasserstein::distance(&latencies(5, 300), &latencies(6, 250)).unwrap();
    close(ties, &expected["ties"], 1e-9);
}

#[test]
fn the_lognormal() {
    let expected = &scipy()["lognormal"];
    let d = Distribution::LogNormal {
        shape: 0.6,
        location: 5000.0,
        scale: 800.0,
    };
    close(d.mean(), &expected["mean"], 1e-9);
    close(d.std(), &expected["std"], 1e-9);
    let check = |name: &str, at: &[f64], f: &dyn Fn(f64) -> f64, tolerance| {
        for (&x, theirs) in at.iter().zip(expected[name].as_array().unwrap()) {
            close(f(x), theirs, tolerance);
        }
    };
    check(
        "cdf",
        &[5000.001, 5300.0, 5800.0, 9000.0, 50000.0],
        &|x| d.cdf(x),
        1e-6,
    );
    check(
        "quantiles",
        &[1e-9, 0.001, 0.5, 0.99, 1.0 - 1e-9],
        &|p| d.quantile(p),
        1e-7,
    );
    check(
        "density",
        &[5300.0, 5800.0, 9000.0],
        &|x| d.density(x),
        1e-12,
    );
    let cells = [(0.1, 0.2), (0.49, 0.51), (0.99, 0.999)];
    for ((low, high), theirs) in cells
        .iter()
        .zip(expected["mean_between"].as_array().unwrap())
    {
        close(d.mean_between(*low, *high), theirs, 1e-6);
    }
    let moments = Distribution::lognormal_with_moments(d.mean(), d.std(), 5000.0).unwrap();
    assert!((moments.mean() - d.mean()).abs() < 1e-6 && (moments.std() - d.std()).abs() < 1e-6);
    assert_eq!(d.to_string().parse(), Ok(d));
}

/// At least as likely as SciPy's best of five starts, and the same place.
#[track_caller]
fn fits_as_scipy_does(samples: &[f64], theirs: &Value) -> Distribution {
    let ours = fit::lognormal(samples).unwrap();
    let gain = ours.log_likelihood - number(&theirs["log_likelihood"]);
    assert!(
        gain > -1e-9 * ours.log_likelihood.abs(),
        "less likely by {gain}"
    );
    let Distribution::LogNormal {
        shape,
        location,
        scale,
    } = ours.distribution
    else {
        panic!("{ours:?}")
    };
    close(shape, &theirs["shape"], 1e-3);
    close(location, &theirs["location"], 1e-2);
    close(scale, &theirs["scale"], 1e-3);
    ours.distribution
}

#[test]
fn lognormal_fits() {
    let expected = &scipy()["fit"];
    let first = lognormal(31, 2000, 0.6, 5000.0, 800.0);
    fits_as_scipy_does(&first, &expected["lognormal_2000"]);
    let second = lognormal(32, 20_000, 1.27, 100.0, 4472.0);
    fits_as_scipy_does(&second, &expected["lognormal_20000"]);
    let closest = imitation::candidates(&second).unwrap()[0];
    assert!(
        matches!(closest.distribution, Distribution::LogNormal { location, .. } if location > 0.0),
        "{closest:?}"
    );
}

#[test]
fn uniform_and_constant_fits() {
    let expected = &scipy()["fit"];
    let samples = latencies(5, 300);
    let ours = fit::uniform(&samples).unwrap();
    let Distribution::Uniform { low, high } = ours.distribution else {
        panic!("{ours:?}")
    };
    close(low, &expected["uniform"][0], 1e-12);
    close(high - low, &expected["uniform"][1], 1e-12);
    // Every sample has the density 1 / (high - low), and there are two parameters.
    assert!((ours.aic - (4.0 + 600.0 * (high - low).ln())).abs() < 1e-6);
    let ours = fit::constant(&samples).unwrap();
    let Distribution::Constant { value } = ours.distribution else {
        panic!("{ours:?}")
    };
    close(value, &expected["constant"], 1e-12);
    assert_eq!(ours.aic, f64::INFINITY);
    assert_eq!(fit::constant(&[5.0; 9]).unwrap().aic, 2.0);
}

/// A million samples: the estimate is as near to the truth as SciPy's on the same samples, on
/// whatever scale the location shows.
#[test]
fn a_million_samples_are_fitted_as_well_as_by_scipy() {
    for theirs in reference("million.json")["fits"].as_array().unwrap() {
        let truth = ["shape", "location", "scale"].map(|name| number(&theirs[name]));
        let seed = theirs["seed"].as_u64().unwrap();
        let samples = lognormal(seed, 1_000_000, truth[0], truth[1], truth[2]);
        let Distribution::LogNormal {
            shape,
            location,
            scale,
        } = fits_as_scipy_does(&samples, &theirs["fit"])
        else {
            panic!()
        };
        for ((name, truth), ours) in ["shape", "location", "scale"]
            .into_iter()
            .zip(truth)
            .zip([shape, location, scale])
        {
            let our_error = (ours - truth).abs();
            let their_error = (number(&theirs["fit"][name]) - truth).abs();
            // Two optimisers stop at slightly different places: a hundredth of the error is theirs.
            assert!(
                our_error <= their_error * 1.01 + 1e-3,
                "{seed} {name}: {our_error} {their_error}"
            );
        }
    }
}

#[test]
fn bootstrap_intervals() {
    let expected = &scipy()["bootstrap"];
    let bootstrap = Bootstrap {
        resamples: 50_000,
        ..Bootstrap::default()
    };
    // Two sets of 50,000 resamples agree to about 1 % of the interval's width.
    let agree = |ours: [f64; 2], theirs: Vec<f64>| {
        let width = theirs[1] - theirs[0];
        for (o, t) in ours.iter().zip(&theirs) {
            assert!((o - t).abs() < 0.03 * width, "{ours:?} {theirs:?}");
        }
    };
    let mean = |x: &[f64]| summary::mean(x).unwrap();
    let std = |x: &[f64]| summary::std(x).unwrap();
    let ours = bootstrap.bca(&normal(3, 40), mean).unwrap();
    agree([ours.low, ours.high], numbers(&expected["mean"]));
    let ours = bootstrap
        .bca(&lognormal(4, 40, 0.6, 5000.0, 800.0), std)
        .unwrap();
    agree([ours.low, ours.high], numbers(&expected["std"]));
    let fourth = lognormal(4, 40, 0.6, 5000.0, 800.0);
    let ours = bootstrap.percentile(&fourth, std).unwrap();
    agree([ours.low, ours.high], numbers(&expected["percentile"]));
    let ours = bootstrap
        .percentile_of_two(&fourth, &lognormal(5, 30, 0.6, 5000.0, 800.0), |a, b| {
            mean(a) - mean(b)
        })
        .unwrap();
    agree(
        [ours.low, ours.high],
        numbers(&expected["percentile_of_two"]),
    );
    let again = bootstrap.percentile(&normal(3, 40), mean).unwrap();
    assert_eq!(again, bootstrap.percentile(&normal(3, 40), mean).unwrap());
}
