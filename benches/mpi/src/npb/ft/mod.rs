//! FT, a partial differential equation by three-dimensional FFT (RNR-94-007, section 2.2.4): du/dt = alpha laplace(u)
//! from random values at first. They are transformed to waves; for each time, waves decay, and are transformed back.
//! All ranks exchange everything with each other in every transform.
//!
//! A wave's decay is the product of one for each of its dimensions, so that three short tables for each time take the
//! place of an array of the grid's size.

mod fft;
mod grid;
mod lanes;
mod published;

use std::f64::consts::PI;

use mpi::collective::SystemOperation;

use self::grid::Grid;
use self::lanes::{LANES, Lanes};
use super::random::Random;
use super::{Check, Class, Kernel, Name, Outcome, Ranks};
use crate::comm::Comm;

pub const KERNEL: Kernel = Kernel {
    name: Name::Ft,
    title: "three-dimensional FFT; large all-to-all exchanges",
    ranks: Ranks {
        rule: "a power of two ranks, up to the grid's z times a quarter of its x or y",
        allows: |ranks, class| Grid::divides(sizes(class), ranks),
    },
    run,
};

const SEED: u64 = 314_159_265;
const ALPHA: f64 = 1e-6;
const TOLERANCE: f64 = 1e-12;
/// Points that make a checksum.
const POINTS: usize = 1024;

/// Points along x, y and z.
fn sizes(class: Class) -> [usize; 3] {
    class.of([
        [64, 64, 64],
        [128, 128, 32],
        [256, 256, 128],
        [512, 256, 256],
        [512, 512, 512],
    ])
}

fn run(comm: &Comm, class: Class) -> Outcome {
    let (sizes, published) = (sizes(class), published::checksums(class));
    let mut grid = Grid::new(comm, sizes);
    let mut checksums = Vec::with_capacity(published.len());

    // Touches code and memory once, as the original does.
    comm.warm_up(|| begin(comm, &mut grid, sizes));
    let time_s = comm.timed(|| {
        begin(comm, &mut grid, sizes);
        for time in comm.iterations(1..published.len() + 1) {
            grid.inverse(&sizes.map(|size| decay(size, time)));
            comm.phase("checksum");
            checksums.push(checksum(comm, &grid, sizes));
        }
    });

    let points = sizes.iter().product::<usize>() as f64;
    let iterations = published.len() as f64;
    let checks = (1..)
        .zip(checksums.iter().zip(published))
        .map(|(time, ([re, im], [published_re, published_im]))| Check {
            what: format!("checksum {time}, distance"),
            value: size(re - published_re, im - published_im) / size(*published_re, *published_im),
            expected: 0.0,
            tolerance: TOLERANCE,
        })
        .collect();
    Outcome {
        time_s,
        mop: 1e-6
            * points
            * (14.8157 + 7.19641 * points.ln() + (5.23518 + 7.21113 * points.ln()) * iterations),
        checks,
    }
}

/// The absolute value of a complex number near 1. (`f64::hypot` would need a newer glibc than RHEL 9 has.)
fn size(re: f64, im: f64) -> f64 {
    (re * re + im * im).sqrt()
}

/// Makes the waves of the first values.
fn begin(comm: &Comm, grid: &mut Grid<'_>, sizes: [usize; 3]) {
    comm.phase("tables");
    grid.renew_tables();
    comm.phase("first values");
    first_values(grid, sizes);
    grid.forward();
}

/// Pseudo-random numbers, two for a point, in the order of x, then y, then z.
fn first_values(grid: &mut Grid<'_>, [nx, ny, _]: [usize; 3]) {
    let (planes, rows) = (grid.planes(), grid.rows());
    let blocks = planes.flat_map(|z| rows.clone().step_by(LANES).map(move |y| z * ny + y));
    for (row, line) in blocks.zip(grid.space_mut().chunks_exact_mut(nx)) {
        let mut random: [Random; LANES] = std::array::from_fn(|lane| {
            let mut random = Random::new(SEED);
            random.skip((2 * nx * (row + lane)) as u64);
            random
        });
        for point in line {
            for part in point {
                for (number, random) in part.iter_mut().zip(&mut random) {
                    *number = random.next();
                }
            }
        }
    }
}

/// The rest at a time of a wave of each number along a dimension: exp(-4 alpha pi^2 k^2 t). The numbers in the upper
/// half are the negative ones.
fn decay(size: usize, time: usize) -> Vec<f64> {
    (0..size)
        .map(|k| {
            let k = k.min(size - k) as f64;
            (-4.0 * ALPHA * PI * PI * k * k * time as f64).exp()
        })
        .collect()
}

/// The sum over points (j, 3j, 5j), each modulo its size, divided by the number of all points.
fn checksum(comm: &Comm, grid: &Grid<'_>, [nx, ny, nz]: [usize; 3]) -> [f64; 2] {
    let (planes, rows) = (grid.planes(), grid.rows());
    let mut mine = [0.0; 2];
    for j in 1..=POINTS {
        let [x, y, z] = [j % nx, 3 * j % ny, 5 * j % nz];
        if planes.contains(&z) && rows.contains(&y) {
            let (plane, row) = (z - planes.start, y - rows.start);
            let line = plane * (rows.len() / LANES) + row / LANES;
            let [im, re]: Lanes = grid.space()[line * nx + x];
            mine[0] += re[row % LANES];
            mine[1] += im[row % LANES];
        }
    }
    let mut sum = [0.0; 2];
    comm.all_reduce(&mine, &mut sum, SystemOperation::sum());
    sum.map(|part| part / (nx * ny * nz) as f64)
}
