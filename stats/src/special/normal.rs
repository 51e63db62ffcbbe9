//! The normal distribution.

use std::f64::consts::SQRT_2;

use libm::erfc;

/// Φ(z), accurate in the lower tail.
pub fn phi(z: f64) -> f64 {
    0.5 * erfc(-z / SQRT_2)
}

/// The chance of a normal deviate at least as far from 0 as `z`.
pub fn two_sided(z: f64) -> f64 {
    erfc(z.abs() / SQRT_2)
}

/// The distance of a normal deviate from 0 with the chance `p`: the inverse of [`two_sided`], ∞ at 0.
pub fn two_sided_inverse(p: f64) -> f64 {
    -phi_inverse(0.5 * p.min(1.0)) + 0.0
}

/// Φ⁻¹(p); −∞ at 0 and ∞ at 1.
///
/// Wichura 1988, "Algorithm AS 241: The percentage points of the normal distribution", PPND16: three
/// rational functions, good to 1e-16 down to p = 1e-316.
pub fn phi_inverse(p: f64) -> f64 {
    if p <= 0.0 {
        return f64::NEG_INFINITY;
    }
    if p >= 1.0 {
        return f64::INFINITY;
    }
    let q = p - 0.5;
    if q.abs() <= 0.425 {
        return q * CENTRE.at(0.180625 - q * q);
    }
    let r = (-p.min(1.0 - p).ln()).sqrt();
    let z = if r <= 5.0 {
        TAIL.at(r - 1.6)
    } else {
        FAR_TAIL.at(r - 5.0)
    };
    z.copysign(q)
}

/// A quotient of two polynomials of degree 7, coefficients in ascending order.
struct Rational {
    numerator: [f64; 8],
    denominator: [f64; 8],
}

impl Rational {
    fn at(&self, x: f64) -> f64 {
        let polynomial = |c: &[f64; 8]| c.iter().rev().fold(0.0, |sum, c| sum * x + c);
        polynomial(&self.numerator) / polynomial(&self.denominator)
    }
}

const CENTRE: Rational = Rational {
    numerator: [
        3.387_132_872_796_366_5,
        1.331_416_678_917_843_8e2,
        1.971_590_950_306_551_3e3,
        1.373_169_376_550_946e4,
        4.592_195_393_154_987e4,
        6.726_577_092_700_87e4,
        3.343_057_558_358_813e4,
        2.509_080_928_730_122_7e3,
    ],
    denominator: [
        1.0,
        4.231_333_070_160_091e1,
        6.871_870_074_920_579e2,
        5.394_196_021_424_751e3,
        2.121_379_430_158_659_7e4,
        3.930_789_580_009_271e4,
        2.872_908_573_572_194_3e4,
        5.226_495_278_852_854e3,
    ],
};

const TAIL: Rational = Rational {
    numerator: [
        1.423_437_110_749_683_5,
        4.630_337_846_156_546,
        5.769_497_221_460_691,
        3.647_848_324_763_204_5,
        1.270_458_252_452_368_4,
        2.417_807_251_774_506e-1,
        2.272_384_498_926_918_4e-2,
        7.745_450_142_783_414e-4,
    ],
    denominator: [
        1.0,
        2.053_191_626_637_759,
        1.676_384_830_183_803_8,
        6.897_673_349_851e-1,
        1.481_039_764_274_800_8e-1,
        1.519_866_656_361_645_7e-2,
        5.475_938_084_995_345e-4,
        1.050_750_071_644_416_9e-9,
    ],
};

const FAR_TAIL: Rational = Rational {
    numerator: [
        6.657_904_643_501_103,
        5.463_784_911_164_114,
        1.784_826_539_917_291_3,
        2.965_605_718_285_048_7e-1,
        2.653_218_952_657_612_4e-2,
        1.242_660_947_388_078_4e-3,
        2.711_555_568_743_487_6e-5,
        2.010_334_399_292_288_1e-7,
    ],
    denominator: [
        1.0,
        5.998_322_065_558_88e-1,
        1.369_298_809_227_358e-1,
        1.487_536_129_085_061_5e-2,
        7.868_691_311_456_133e-4,
        1.846_318_317_510_054_8e-5,
        1.421_511_758_316_446e-7,
        2.044_263_103_389_939_8e-15,
    ],
};
