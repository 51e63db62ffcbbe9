"""Reference values for the families of `stats/src/positive.rs`, computed with SciPy, scikit-learn and mpmath.

Run `python3 families.py > families.json` in this folder. The samples are drawn by inversion from SplitMix64 (`make.py`), so that the
tests draw the very same ones.
"""

import json
import sys
import warnings

import mpmath
import numpy
import scipy
import sklearn
from make import uniforms
from scipy import stats
from sklearn.mixture import GaussianMixture

N = 100_000
POINTS = [1e-6, 0.001, 0.1, 0.5, 0.9, 0.999, 1 - 1e-9]
LAWS = [
    ("lognormal", stats.lognorm, [0.3, 5000.0]),
    ("lognormal", stats.lognorm, [1.2, 4472.0]),
    ("gamma", stats.gamma, [0.4, 9000.0]),
    ("gamma", stats.gamma, [7.5, 800.0]),
    ("weibull", stats.weibull_min, [0.6, 3000.0]),
    ("weibull", stats.weibull_min, [3.0, 12000.0]),
    ("generalised-pareto", stats.genpareto, [0.4, 2000.0]),
    ("generalised-pareto", stats.genpareto, [-0.3, 5000.0]),
]


def mean_above(frozen, x):
    """x P(X > x) + the integral of P(X > y) over all y above x, piece by piece in the quantiles."""
    tail = [float(frozen.isf(frozen.sf(x) * 10.0**-k)) for k in numpy.arange(0.125, 40, 0.125)]
    ends = [*numpy.geomspace(x, tail[0], 60), *tail[1:]]
    nodes, weights = numpy.polynomial.legendre.leggauss(20)
    total = x * frozen.sf(x)
    for low, high in zip(ends, ends[1:]):
        points = (high + low) / 2 + (high - low) / 2 * nodes
        total += (high - low) / 2 * float(numpy.dot(weights, frozen.sf(points)))
    return total


def law(family, of, parameters, seed):
    shape, scale = parameters
    frozen = of(shape, loc=0, scale=scale)
    samples = frozen.ppf(uniforms(seed, N))
    fitted = of.fit(samples, floc=0)
    rows = []
    for p in POINTS:
        x = frozen.ppf(p)
        rows.append([p, x, frozen.cdf(x), frozen.sf(x), frozen.logpdf(x), mean_above(frozen, x)])
    return {
        "family": family,
        "shape": shape,
        "scale": scale,
        "seed": seed,
        "mean": frozen.mean(),
        "std": frozen.std(),
        "points": rows,
        "fitted": {
            "shape": fitted[0],
            "scale": fitted[2],
            "log_likelihood": float(of.logpdf(samples, *fitted).sum()),
        },
    }


def mixture(components, seed):
    """Values are drawn component by component, in shares of the weights."""
    parts = []
    for i, (weight, shape, scale) in enumerate(components):
        n = round(weight * N)
        parts.append(stats.lognorm(shape, 0, scale).ppf(uniforms(seed + 1000 * i, n)))
    logs = numpy.log(numpy.concatenate(parts)).reshape(-1, 1)
    means = numpy.log([scale for _, _, scale in components]).reshape(-1, 1)
    fitted = GaussianMixture(
        len(components), tol=1e-10, max_iter=5000, reg_covar=1e-12, means_init=means
    ).fit(logs)
    order = numpy.argsort(fitted.means_.ravel())
    return {
        "components": components,
        "seed": seed,
        "fitted": [
            [fitted.weights_[i], float(numpy.sqrt(fitted.covariances_[i, 0, 0])), float(numpy.exp(fitted.means_[i, 0]))]
            for i in order
        ],
    }


def special():
    mpmath.mp.dps = 40
    rows = []
    for a in [0.001, 0.5, 1, 3.7, 40, 1e3, 1e6]:
        for factor in [1e-3, 0.2, 0.9, 0.999, 1, 1.001, 1.1, 2, 30]:
            x = a * factor
            upper = mpmath.gammainc(a, x, regularized=True) if a < 1e5 else None
            if upper is None:
                lower, upper = scipy.special.gammainc(a, x), scipy.special.gammaincc(a, x)
            else:
                lower = mpmath.gammainc(a, 0, x, regularized=True)
            rows.append([a, x, float(lower), float(upper)])
    psi = [[x, float(mpmath.psi(0, x)), float(mpmath.psi(1, x))] for x in [0.01, 0.3, 1, 1.5, 7, 12, 300, 1e6]]
    return {"gamma": rows, "psi": psi}


def main():
    warnings.simplefilter("ignore")
    out = {
        "made_with": {
            "python": sys.version.split()[0],
            "scipy": scipy.__version__,
            "scikit-learn": sklearn.__version__,
            "mpmath": mpmath.__version__,
        },
        "special": special(),
        "laws": [law(*row, seed) for seed, row in enumerate(LAWS, start=11)],
        "mixtures": [
            mixture([[0.7, 0.3, 2000.0], [0.3, 0.5, 30000.0]], 31),
            mixture([[0.5, 0.25, 1000.0], [0.3, 0.3, 9000.0], [0.2, 0.4, 80000.0]], 32),
        ],
    }
    json.dump(out, sys.stdout, indent=1)
    print()


main()
