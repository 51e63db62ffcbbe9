//! The problems, and what is published for them: the sizes and values of NPB 3.4.

use crate::npb::flow::State;
use crate::npb::{Check, Class};

const TOLERANCE: f64 = 1e-8;

/// A problem, and what is published for it.
pub struct Problem {
    /// Points of the cube in each direction.
    pub n: usize,
    /// The step in time.
    pub dt: f64,
    pub iterations: usize,
    expected: Found,
}

/// The results that are verified.
pub struct Found {
    /// The norms of the right-hand side in the end, and of the difference from the exact solution.
    pub residual: State,
    pub error: State,
    /// The surface integral of pressure.
    pub surface_integral: f64,
}

impl Problem {
    /// The problem of a class.
    pub fn of(class: Class) -> Problem {
        class.of([
            Problem {
                n: 12,
                dt: 0.5,
                iterations: 50,
                expected: Found {
                    residual: [
                        1.6196343210976702e-2,
                        2.1976745164821318e-3,
                        1.5179927653399185e-3,
                        1.5029584435994323e-3,
                        3.4264073155896461e-2,
                    ],
                    error: [
                        6.4223319957960924e-4,
                        8.4144342047347926e-5,
                        5.8588269616485186e-5,
                        5.8474222595157350e-5,
                        1.3103347914111294e-3,
                    ],
                    surface_integral: 7.8418928865937083,
                },
            },
            Problem {
                n: 33,
                dt: 1.5e-3,
                iterations: 300,
                expected: Found {
                    residual: [
                        0.1236511638192e2,
                        0.1317228477799e1,
                        0.2550120713095e1,
                        0.2326187750252e1,
                        0.2826799444189e2,
                    ],
                    error: [
                        0.4867877144216,
                        0.5064652880982e-1,
                        0.9281818101960e-1,
                        0.8570126542733e-1,
                        0.1084277417792e1,
                    ],
                    surface_integral: 0.1161399311023e2,
                },
            },
            Problem {
                n: 64,
                dt: 2.0,
                iterations: 250,
                expected: Found {
                    residual: [
                        7.7902107606689367e2,
                        6.3402765259692870e1,
                        1.9499249727292479e2,
                        1.7845301160418537e2,
                        1.8384760349464247e3,
                    ],
                    error: [
                        2.9964085685471943e1,
                        2.8194576365003349,
                        7.3473412698774742,
                        6.7139225687777051,
                        7.0715315688392578e1,
                    ],
                    surface_integral: 2.6030925604886277e1,
                },
            },
            Problem {
                n: 102,
                dt: 2.0,
                iterations: 250,
                expected: Found {
                    residual: [
                        3.5532672969982736e3,
                        2.6214750795310692e2,
                        8.8333721850952190e2,
                        7.7812774739425265e2,
                        7.3087969592545314e3,
                    ],
                    error: [
                        1.1401176380212709e2,
                        8.1098963655421574,
                        2.8480597317698308e1,
                        2.5905394567832939e1,
                        2.6054907504857413e2,
                    ],
                    surface_integral: 4.7887162703308227e1,
                },
            },
            Problem {
                n: 162,
                dt: 2.0,
                iterations: 250,
                expected: Found {
                    residual: [
                        1.03766980323537846e4,
                        8.92212458801008552e2,
                        2.56238814582660871e3,
                        2.19194343857831427e3,
                        1.78078057261061185e4,
                    ],
                    error: [
                        2.15986399716949279e2,
                        1.55789559239863600e1,
                        5.41318863077207766e1,
                        4.82262643154045421e1,
                        4.55902910043250358e2,
                    ],
                    surface_integral: 6.66404553572181300e1,
                },
            },
        ])
    }

    /// Millions of operations, as NPB 3.4 counts them.
    pub fn mop(&self) -> f64 {
        let n = self.n as f64;
        let per_iteration = 1984.77 * n * n * n - 10923.3 * n * n + 27770.9 * n - 144010.0;
        self.iterations as f64 * per_iteration * 1e-6
    }

    /// The findings beside what is published.
    pub fn checks(&self, found: &Found) -> Vec<Check> {
        let check = |what: String, value: f64, expected: f64| Check {
            what,
            value,
            expected,
            tolerance: TOLERANCE,
        };
        let norms = |what: &str, values: State, expected: State| {
            let norm = |m: usize| check(format!("{what} norm {}", m + 1), values[m], expected[m]);
            [norm(0), norm(1), norm(2), norm(3), norm(4)]
        };
        let expected = &self.expected;
        let mut checks = Vec::new();
        checks.extend(norms("residual", found.residual, expected.residual));
        checks.extend(norms("error", found.error, expected.error));
        checks.push(check(
            "surface integral".to_owned(),
            found.surface_integral,
            expected.surface_integral,
        ));
        checks
    }
}
