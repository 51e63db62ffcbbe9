"""Reference values for the special functions (`stats/src/special`), computed with mpmath.

Run `python3 special.py > special.csv` in this folder; it takes a minute or two. Every argument is a number that a
`f64` holds, every value is right to all digits that are printed. SciPy's values are held against them, too: how many of them are
off by more than 1e-9 is in the file (quantiles of few degrees of freedom, far out and next to 0).
"""

import sys

import mpmath
import scipy
from mpmath import mp, mpf
from scipy import stats

# A tail of 1e-300 is what is left of 1 in some places.
mp.dps = 400

FREEDOM = [1, 1.5, 2, 3, 4.7, 10, 28, 29.5, 30, 31, 100, 1e3, 12345.6, 1e5, 2525900, 7249999, 1e8, 1e9, 2e9]
CHANCES = [1e-300, 1e-250, 1e-150, 1e-80, 1e-40, 1e-20, 1e-16, 1e-10, 1e-6, 1e-3, 0.01, 0.05, 0.1, 0.32, 0.5, 0.7]
CHANCES += [0.9, 0.99, 1 - 1e-6, 1 - 1e-10, 1 - 2**-53]


def series(ratio):
    """1 + r(0) + r(0) r(1) + …, all positive."""
    total = term = mpf(1)
    n = 0
    while term > total * mpf(10) ** -(mp.dps + 2):
        term *= ratio(n)
        total += term
        n += 1
    return total


def inside_and_outside(t, freedom):
    """P(|T| < t) and its complement, by DLMF 8.17.7 and 8.17.8."""
    a, half = mpf(freedom) / 2, mpf(1) / 2
    x = 1 / (1 + t * t / mpf(freedom))
    y = 1 - x if x < half else (t * t / mpf(freedom)) * x
    beta = mp.exp(mp.loggamma(a) + mp.loggamma(half) - mp.loggamma(a + half))
    if x < half:
        out = x**a / (a * beta) * series(lambda n: (half + n) / (n + 1) * (a + n) / (a + n + 1) * x)
        return 1 - out, out
    inside = 2 * mp.sqrt(y) * x**a / beta * series(lambda n: (a + half + n) / (n + 3 * half) * y)
    return inside, 1 - inside


def density(t, freedom):
    a = mpf(freedom) / 2
    log = mp.loggamma(a + mpf(1) / 2) - mp.loggamma(a) - mp.log(2 * a * mp.pi) / 2
    return mp.exp(log - (a + mpf(1) / 2) * mp.log1p(t * t / (2 * a)))


def reach(p, freedom):
    """The t that |T| exceeds with the chance p, by Newton's method on logarithms."""
    p = mpf(p)
    t = mpf(stats.norm.isf(float(p) / 2)) or mpf(10) ** -16
    with mp.workdps(360):
        for _ in range(200):
            inside, outside = inside_and_outside(t, freedom)
            slope = 2 * t * density(t, freedom)
            if p < 0.5:
                step = mp.log(outside / p) * outside / slope
            else:
                step = mp.log((1 - p) / inside) * inside / slope
            t *= mp.exp(step)
            if abs(step) < mpf(10) ** -30:
                return t
    raise ArithmeticError(f"no root for {p}, {freedom}")


def relative(theirs, value):
    return abs(float(theirs) / float(value) - 1) if value else 0.0


def main():
    beyond = {"t.sf": 0, "t.isf": 0, "norm.sf": 0, "norm.isf": 0, "binom.pmf": 0}

    def scipys(name, theirs, value):
        beyond[name] += not relative(theirs, value) < 1e-9

    student = []
    for freedom in FREEDOM:
        for p in CHANCES:
            t = reach(p, freedom)
            at = float(t)
            chance = inside_and_outside(mpf(at), freedom)[1]
            scipys("t.isf", stats.t.isf(p / 2, freedom), t)
            scipys("t.sf", 2 * stats.t.sf(at, freedom), chance)
            student.append([freedom, p, at, float(chance)])
    normal = []
    for p in CHANCES:
        z = mp.findroot(lambda z: mp.log(mp.erfc(z / mp.sqrt(2)) / mpf(p)), mpf(stats.norm.isf(p / 2)) or mpf(10) ** -16)
        at = float(z)
        chance = mp.erfc(mpf(at) / mp.sqrt(2))
        scipys("norm.isf", stats.norm.isf(p / 2), z)
        scipys("norm.sf", 2 * stats.norm.sf(at), chance)
        normal.append([p, at, float(chance)])
    binomial = []
    for n in [1, 2, 15, 140, 1000, 10**6, 10**9]:
        for share in [0, 0.001, 0.3, 0.5, 0.99, 1]:
            for expected in [0.01, 0.3, 0.55, 0.97]:
                k, mean = round(share * n), expected * n
                odds = mpf(mean) / n
                log = mp.loggamma(n + 1) - mp.loggamma(k + 1) - mp.loggamma(n - k + 1)
                chance = mp.exp(log + k * mp.log(odds) + (n - k) * mp.log(1 - odds))
                if chance > mpf(10) ** -300:
                    scipys("binom.pmf", stats.binom.pmf(k, n, expected), chance)
                    binomial.append([k, n, mean, float(chance)])
    print(f"# special.py with Python {sys.version.split()[0]}, mpmath {mpmath.__version__}")
    print(f"# SciPy {scipy.__version__} differs by more than 1e-9 in {beyond}")
    print("# student, degrees of freedom, chance outside of the quantile, quantile, chance outside of the printed quantile")
    print("# normal, chance outside of the quantile, quantile, chance outside of the printed quantile")
    print("# binomial, successes, trials, expected successes, chance")
    for name, rows in [("student", student), ("normal", normal), ("binomial", binomial)]:
        for row in rows:
            print(name, *row, sep=",")


main()
