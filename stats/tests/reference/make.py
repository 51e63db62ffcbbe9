"""Reference values for the statistics, computed with SciPy, NumPy and statsmodels.

Run `python3 make.py > scipy.json` and `python3 make.py --million > million.json` in this folder. The samples are drawn by inversion from
SplitMix64, so that the tests draw the very same ones; only the results are stored.
"""

import json
import sys

import numpy
import scipy
import statsmodels
from scipy import stats
from scipy.stats import bootstrap
from statsmodels.stats.diagnostic import lilliefors
from statsmodels.stats.multitest import multipletests

MASK = (1 << 64) - 1


def uniforms(seed, n):
    out = []
    for _ in range(n):
        seed = (seed + 0x9E3779B97F4A7C15) & MASK
        z = seed
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        z ^= z >> 31
        out.append(((z >> 11) + 0.5) / 2**53)
    return numpy.array(out)


def normal(seed, n):
    return stats.norm.ppf(uniforms(seed, n))


def lognormal(seed, n, shape=0.6, location=5000.0, scale=800.0):
    return location + scale * numpy.exp(shape * normal(seed, n))


def latencies(seed, n):
    """Whole nanoseconds, with ties."""
    return numpy.floor(lognormal(seed, n) / 50.0) * 50.0


def walk(seed, n):
    """Latencies that change slowly: each is the mean of 40 neighbours, in steps of 10, so that there are ties."""
    return numpy.floor(numpy.convolve(latencies(seed, n + 39), numpy.ones(40) / 40, "valid") / 10) * 10


def autocorrelations(x, lags):
    r = stats.rankdata(x)
    r = r - r.mean()
    return [float(numpy.sum(r[:-k] * r[k:]) / numpy.sum(r * r)) for k in lags]


def mann_whitney(a, b):
    r = stats.mannwhitneyu(a, b, alternative="two-sided", method="auto")
    return {"u": r.statistic, "p": r.pvalue}


def shift_ends(a, b, method):
    """The shifts that the Mann-Whitney test does not reject at 5 %, by trying one between any two
    neighbouring differences."""
    differences = numpy.sort(numpy.subtract.outer(a, b).ravel())
    accepted = [
        stats.mannwhitneyu(a - shift, b, alternative="two-sided", method=method).pvalue >= 0.05
        for shift in (differences[:-1] + differences[1:]) / 2
    ]
    kept = numpy.flatnonzero(accepted)
    return [differences[kept[0]], differences[kept[-1] + 1]]


def welch(a, b):
    interval = stats.ttest_ind(a, b, equal_var=False).confidence_interval(0.95)
    return {"low": interval.low, "high": interval.high}


def summary(x):
    return {
        "mean": numpy.mean(x),
        "std": numpy.std(x, ddof=1),
        "skew": stats.skew(x, bias=False),
        "quantiles": [numpy.quantile(x, q) for q in (0, 0.1, 0.25, 0.5, 0.9, 0.99, 0.999, 1)],
    }


def ks(r):
    return {"d": r.statistic, "p": r.pvalue}


def simulated_lilliefors(n, distances):
    """How often the distance of n normal deviates from their own normal is at least that."""
    x = numpy.sort(numpy.random.default_rng(1).standard_normal((200_000, n)), axis=1)
    x = (x - x.mean(axis=1, keepdims=True)) / x.std(axis=1, ddof=1, keepdims=True)
    cdf = stats.norm.cdf(x)
    steps = numpy.arange(n) / n
    d = numpy.maximum(steps + 1 / n - cdf, cdf - steps).max(axis=1)
    return [{"n": n, "d": limit, "p": (d >= limit).mean()} for limit in distances]


def lognormal_fit(x):
    """SciPy's fit, started from several places because it stops at the first local optimum."""
    tries = [stats.lognorm.fit(x)]
    gap = x.std()
    for g in (0.1, 0.5, 1.0, 3.0):
        start = x.min() - g * gap
        log = numpy.log(x - start)
        tries.append(
            stats.lognorm.fit(x, log.std(), loc=start, scale=numpy.exp(log.mean()))
        )
    finite = [t for t in tries if numpy.isfinite(stats.lognorm.logpdf(x, *t).sum())]
    best = max(finite, key=lambda t: stats.lognorm.logpdf(x, *t).sum())
    return {
        "shape": best[0],
        "location": best[1],
        "scale": best[2],
        "log_likelihood": stats.lognorm.logpdf(x, *best).sum(),
        "default_log_likelihood": stats.lognorm.logpdf(x, *tries[0]).sum(),
    }


def main():
    d = stats.lognorm(0.6, 5000, 800)
    pearson = stats.pearsonr(normal(1, 40), normal(1, 40) + normal(2, 40))
    interval = pearson.confidence_interval(0.95)
    hl = lambda a, b: float(numpy.median(numpy.subtract.outer(a, b)))
    out = {
        "made_with": {
            "python": sys.version.split()[0],
            "numpy": numpy.__version__,
            "scipy": scipy.__version__,
            "statsmodels": statsmodels.__version__,
        },
        "summary": {"latencies": summary(latencies(11, 5000)), "normal": summary(normal(3, 17))},
        "mann_whitney": {
            "small_exact": mann_whitney(normal(5, 7), normal(6, 9) + 0.8),
            "one_against_many": mann_whitney(normal(5, 1), normal(6, 40)),
            "ties": mann_whitney(latencies(5, 300), latencies(6, 250) + 50),
            "large": mann_whitney(latencies(7, 20000), latencies(8, 30000)),
        },
        "hodges_lehmann": {
            "odd": hl(normal(5, 7), normal(6, 9) + 0.8),
            "even": hl(latencies(5, 300), latencies(6, 250) + 50),
            "ends_exact": shift_ends(normal(5, 7), normal(6, 9) + 0.8, "exact"),
            "ends_normal": shift_ends(normal(5, 30), normal(6, 41) + 0.5, "asymptotic"),
        },
        "welch": welch(lognormal(5, 30), lognormal(6, 41) + 50),
        "ecdf": list(
            stats.ecdf(latencies(5, 300)).cdf.evaluate([5000, 5500, 5525, 5800, 7000, 1e6])
        ),
        "ks": {
            "one_small": ks(stats.kstest(normal(9, 20), "norm", args=(0.2, 1.1))),
            "one_large": ks(stats.kstest(lognormal(9, 5000), stats.lognorm(0.62, 5000, 800).cdf)),
            "one_at_limit": ks(stats.kstest(normal(19, 140), "norm")),
            "one_above_limit": ks(stats.kstest(normal(19, 141), "norm")),
            "two_far": ks(stats.ks_2samp(numpy.arange(100), numpy.arange(100, 200), method="exact")),
            "two_small": ks(stats.ks_2samp(normal(5, 30), normal(6, 41) + 0.5)),
            "two_ties": ks(stats.ks_2samp(latencies(5, 300), latencies(6, 250))),
            "two_large": ks(stats.ks_2samp(latencies(7, 20000), latencies(8, 30000), method="asymp")),
        },
        "lilliefors": {
            name: dict(zip("dp", lilliefors(x, "norm", "approx")))
            for name, x in [
                ("skewed_60", normal(21, 60) ** 2),
                ("latencies_500", lognormal(22, 500)),
                ("mild_80", numpy.exp(0.4 * normal(26, 80))),
            ]
        },
        "lilliefors_simulated": simulated_lilliefors(80, [0.06, 0.07, 0.08, 0.09]),
        "pearson": {
            "r": pearson.statistic,
            "p": pearson.pvalue,
            "low": interval.low,
            "high": interval.high,
        },
        "holm": {
            "p": [0.01, 0.04, 0.03, 0.005, 0.2],
            "adjusted": list(multipletests([0.01, 0.04, 0.03, 0.005, 0.2], method="holm")[1]),
        },
        "wasserstein": {
            "small": stats.wasserstein_distance(normal(5, 30), normal(6, 41) + 0.5),
            "ties": stats.wasserstein_distance(latencies(5, 300), latencies(6, 250)),
        },
        "lognormal": {
            "mean": d.mean(),
            "std": d.std(),
            "cdf": [d.cdf(x) for x in (5000.001, 5300, 5800, 9000, 50000)],
            "quantiles": [d.ppf(p) for p in (1e-9, 0.001, 0.5, 0.99, 1 - 1e-9)],
            "density": [d.pdf(x) for x in (5300, 5800, 9000)],
            "mean_between": [
                d.expect(lambda x: x, lb=d.ppf(a), ub=d.ppf(b), conditional=True, epsabs=1e-10)
                for a, b in ((0.1, 0.2), (0.49, 0.51), (0.99, 0.999))
            ],
        },
        "fit": {
            "lognormal_2000": lognormal_fit(lognormal(31, 2000)),
            "lognormal_20000": lognormal_fit(lognormal(32, 20000, 1.27, 100.0, 4472.0)),
            "uniform": list(stats.uniform.fit(latencies(5, 300))),
            "constant": stats.norm.fit(latencies(5, 300))[0],
        },
        "autocorrelation": autocorrelations(walk(9, 3000), (1, 10, 100)),
        "bootstrap": {
            "percentile": list(
                bootstrap(
                    (lognormal(4, 40),),
                    lambda x, axis: numpy.std(x, ddof=1, axis=axis),
                    n_resamples=50000,
                    method="percentile",
                    rng=1,
                ).confidence_interval
            ),
            "percentile_of_two": list(
                bootstrap(
                    (lognormal(4, 40), lognormal(5, 30)),
                    lambda a, b, axis: numpy.mean(a, axis=axis) - numpy.mean(b, axis=axis),
                    n_resamples=50000,
                    method="percentile",
                    rng=1,
                ).confidence_interval
            ),
            "mean": list(
                bootstrap(
                    (normal(3, 40),), numpy.mean, n_resamples=50000, method="BCa", rng=1
                ).confidence_interval
            ),
            "std": list(
                bootstrap(
                    (lognormal(4, 40),),
                    lambda x, axis: numpy.std(x, ddof=1, axis=axis),
                    n_resamples=50000,
                    method="BCa",
                    rng=1,
                ).confidence_interval
            ),
        },
    }
    if "--million" in sys.argv:
        laws = [(33, 0.5, 9000.0, 2500.0), (34, 1.27, 100.0, 4472.0), (35, 1.85, 1000.0, 2000.0)]
        out = {
            "made_with": out["made_with"],
            "fits": [
                dict(zip(("seed", "shape", "location", "scale"), law))
                | {"fit": lognormal_fit(lognormal(law[0], 1_000_000, *law[1:]))}
                for law in laws
            ],
        }
    json.dump(out, sys.stdout, indent=1, default=float)
    print()


if __name__ == "__main__":
    main()
