//! The grid, divided among ranks, and its transform in three dimensions.
//!
//! Ranks form a rectangle. In space a rank holds whole lines along x: z is divided among its column of ranks, and y
//! among its row, in which it is alone as long as there is a plane for every rank. Among waves it holds whole lines
//! along z: y is divided among its column, and x among its row.
//!
//! In space the array runs over z, blocks of four y, and x: the four y are lanes. On the way, and among waves, four x
//! are lanes. A plane passes memory once for x and y together, and a line once for z.

use std::ops::Range;

use super::fft::Fft;
use super::lanes::{Array, LANES, Lanes, turned};
use crate::comm::Comm;

/// Lines that are brought to the cache together, because their elements lie side by side in memory.
const TOGETHER: usize = 8;

/// The part of the grid that a rank has.
pub struct Grid<'a> {
    comm: &'a Comm,
    row: Comm,
    column: Comm,
    /// The transforms of x, y and z.
    ffts: [Fft; 3],
    space: Array,
    /// The place of `space` when it is exchanged; none if the column is one rank.
    space_exchanged: Option<Array>,
    /// One plane between x and y, and where it is when it is exchanged, likewise.
    plane: Array,
    plane_exchanged: Option<Array>,
    waves: Array,
    lines: Array,
    spare: Array,
}

impl<'a> Grid<'a> {
    /// True if a grid of these sizes, powers of two, can be divided among so many ranks.
    pub fn divides([nx, ny, nz]: [usize; 3], ranks: usize) -> bool {
        ranks.is_power_of_two() && LANES * (ranks / nz) <= nx.min(ny)
    }

    /// Zero everywhere.
    pub fn new(comm: &'a Comm, sizes: [usize; 3]) -> Grid<'a> {
        let [nx, ny, nz] = sizes;
        let width = comm.size().div_ceil(nz);
        let row = comm.split(comm.rank() / width);
        let column = comm.split(comm.rank() % width);
        let points = nx * ny * nz / comm.size() / LANES;
        let plane = nx * ny / row.size() / LANES;
        let together = TOGETHER * nx.max(ny).max(nz);
        let exchanged = |comm: &Comm, length| (comm.size() > 1).then(|| Array::new(length));
        Grid {
            comm,
            ffts: sizes.map(Fft::new),
            space: Array::new(points),
            space_exchanged: exchanged(&column, points),
            plane: Array::new(plane),
            plane_exchanged: exchanged(&row, plane),
            waves: Array::new(points),
            lines: Array::new(together),
            spare: Array::new(together),
            row,
            column,
        }
    }

    /// Computes the tables of the transforms again, which are there from the beginning: the original has it measured.
    pub fn renew_tables(&mut self) {
        self.ffts = self.ffts.each_ref().map(|fft| Fft::new(fft.length()));
    }

    /// The z of this rank, in space.
    pub fn planes(&self) -> Range<usize> {
        part(self.ffts[2].length(), &self.column)
    }

    /// The y of this rank, in space.
    pub fn rows(&self) -> Range<usize> {
        part(self.ffts[1].length(), &self.row)
    }

    /// The content of space: for each plane, and each block of four rows in it, a line along x.
    pub fn space(&self) -> &[Lanes] {
        &self.space
    }

    /// [`Grid::space`], to be written.
    pub fn space_mut(&mut self) -> &mut [Lanes] {
        &mut self.space
    }

    /// The y of this rank, among waves.
    fn wave_rows(&self) -> Range<usize> {
        part(self.ffts[1].length(), &self.column)
    }

    /// The blocks of four x of this rank, among waves.
    fn wave_blocks(&self) -> Range<usize> {
        part(self.ffts[0].length() / LANES, &self.row)
    }

    /// Transforms space to waves. The content of space is lost.
    pub fn forward(&mut self) {
        for plane in 0..self.planes().len() {
            self.comm.phase("fft x");
            self.x_to_plane(plane);
            self.exchange_plane();
            self.comm.phase("fft y");
            self.plane_to_y(plane);
        }
        if let Some(exchanged) = &self.space_exchanged {
            self.comm.phase("transpose");
            all_to_all(&self.column, exchanged, &mut self.space);
        }
        self.comm.phase("fft z");
        self.z_to_waves();
    }

    /// Transforms waves to space, each wave times its factor: the product of one for its x, y and z each. The waves
    /// stay as they are.
    ///
    /// The inverse transform, without its division by the number of points, is the transform itself with real and
    /// imaginary parts exchanged before and after. They are left exchanged: in space, imaginary parts come first.
    pub fn inverse(&mut self, factors: &[Vec<f64>; 3]) {
        self.comm.phase("evolve, fft z");
        self.waves_to_z(factors);
        if let Some(exchanged) = &mut self.space_exchanged {
            self.comm.phase("transpose");
            all_to_all(&self.column, &self.space, exchanged);
        }
        for plane in 0..self.planes().len() {
            self.comm.phase("fft y");
            self.y_to_plane(plane);
            self.exchange_plane();
            self.comm.phase("fft x");
            self.plane_to_x(plane);
        }
    }

    fn exchange_plane(&mut self) {
        if let Some(exchanged) = &mut self.plane_exchanged {
            self.comm.phase("transpose");
            all_to_all(&self.row, &self.plane, exchanged);
        }
    }

    fn x_to_plane(&mut self, plane: usize) {
        let (rows, fft) = (self.rows().len(), &self.ffts[0]);
        let lines = self.space.chunks_exact(fft.length());
        let (line, spare) = (
            &mut self.lines[..fft.length()],
            &mut self.spare[..fft.length()],
        );
        let blocks = rows / LANES;
        for (y, given) in lines.skip(plane * blocks).take(blocks).enumerate() {
            fft.lines(line, spare, |line| line.copy_from_slice(given));
            let columns = self.plane.chunks_exact_mut(rows);
            for (column, square) in columns.zip(line.as_chunks().0) {
                column[LANES * y..][..LANES].copy_from_slice(&turned(square));
            }
        }
    }

    fn plane_to_x(&mut self, plane: usize) {
        let (rows, fft) = (self.rows().len(), &self.ffts[0]);
        let lines = self.space.chunks_exact_mut(fft.length());
        let source = self.plane_exchanged.as_ref().unwrap_or(&self.plane);
        let spare = &mut self.spare[..fft.length()];
        let blocks = rows / LANES;
        for (y, line) in lines.skip(plane * blocks).take(blocks).enumerate() {
            fft.lines(line, spare, |line| {
                let columns = source.chunks_exact(rows);
                for (column, square) in columns.zip(line.as_chunks_mut().0) {
                    *square = turned(&column.as_chunks().0[y]);
                }
            });
        }
    }

    fn plane_to_y(&mut self, plane: usize) {
        let (side, at) = (self.wave_blocks().len(), self.y_places(plane));
        let (rows, fft) = (self.rows().len(), &self.ffts[1]);
        let source = self.plane_exchanged.as_ref().unwrap_or(&self.plane);
        let target = self.space_exchanged.as_mut().unwrap_or(&mut self.space);
        let together = TOGETHER.min(side);
        let lines = &mut self.lines[..together * fft.length()];
        let spare = &mut self.spare[..together * fft.length()];
        for first in (0..side).step_by(together) {
            fft.lines(lines, spare, |lines| {
                for (line, block) in lines.chunks_exact_mut(fft.length()).zip(first..) {
                    let parts = source.chunks_exact(rows).skip(block).step_by(side);
                    for (line, part) in line.chunks_exact_mut(rows).zip(parts) {
                        line.copy_from_slice(part);
                    }
                }
            });
            scatter(lines, fft.length(), target, |y| at(y) + first);
        }
    }

    fn y_to_plane(&mut self, plane: usize) {
        let (side, at) = (self.wave_blocks().len(), self.y_places(plane));
        let (rows, fft) = (self.rows().len(), &self.ffts[1]);
        let source = self.space_exchanged.as_ref().unwrap_or(&self.space);
        let together = TOGETHER.min(side);
        let lines = &mut self.lines[..together * fft.length()];
        let spare = &mut self.spare[..together * fft.length()];
        for first in (0..side).step_by(together) {
            fft.lines(lines, spare, |lines| {
                gather(lines, fft.length(), source, |y| at(y) + first);
            });
            for (line, block) in lines.chunks_exact(fft.length()).zip(first..) {
                let parts = self.plane.chunks_exact_mut(rows).skip(block).step_by(side);
                for (line, part) in line.chunks_exact(rows).zip(parts) {
                    part.copy_from_slice(line);
                }
            }
        }
    }

    fn z_to_waves(&mut self) {
        let side = self.wave_rows().len() * self.wave_blocks().len();
        let (together, fft) = (TOGETHER.min(side), &self.ffts[2]);
        let spare = &mut self.spare[..together * fft.length()];
        let waves = self.waves.chunks_exact_mut(together * fft.length());
        for (lines, first) in waves.zip((0..side).step_by(together)) {
            fft.lines(lines, spare, |lines| {
                gather(lines, fft.length(), &self.space, |z| z * side + first);
            });
        }
    }

    fn waves_to_z(&mut self, factors: &[Vec<f64>; 3]) {
        let (blocks, rows) = (self.wave_blocks(), self.wave_rows());
        let [x, y, z] = factors;
        let (x, y) = (&x.as_chunks::<LANES>().0[blocks.clone()], &y[rows.clone()]);
        let side = blocks.len() * rows.len();
        let (together, fft) = (TOGETHER.min(side), &self.ffts[2]);
        let lines = &mut self.lines[..together * fft.length()];
        let spare = &mut self.spare[..together * fft.length()];
        let waves = self.waves.chunks_exact(together * fft.length());
        for (waves, first) in waves.zip((0..side).step_by(together)) {
            fft.lines(lines, spare, |lines| {
                let waves = waves.chunks_exact(z.len());
                for ((line, waves), n) in lines.chunks_exact_mut(z.len()).zip(waves).zip(first..) {
                    let xy = x[n % blocks.len()].map(|x| x * y[n / blocks.len()]);
                    for ((to, [re, im]), &z) in line.iter_mut().zip(waves).zip(z) {
                        let factor = xy.map(|xy| xy * z);
                        *to = [product(*im, factor), product(*re, factor)];
                    }
                }
            });
            scatter(lines, fft.length(), &mut self.space, |z| z * side + first);
        }
    }

    /// The place at which each y of a plane has its first block of x, between y and z: first by the rank of the
    /// column that has it among waves, then by plane.
    fn y_places(&self, plane: usize) -> impl Fn(usize) -> usize + use<> {
        let (planes, rows) = (self.planes().len(), self.wave_rows().len());
        let blocks = self.wave_blocks().len();
        move |y| ((y / rows * planes + plane) * rows + y % rows) * blocks
    }
}

fn part(length: usize, comm: &Comm) -> Range<usize> {
    let each = length / comm.size();
    comm.rank() * each..(comm.rank() + 1) * each
}

fn all_to_all(comm: &Comm, from: &[Lanes], to: &mut [Lanes]) {
    let to = to.as_flattened_mut().as_flattened_mut();
    comm.all_to_all(from.as_flattened().as_flattened(), to);
}

#[inline(always)]
fn product(a: [f64; LANES], b: [f64; LANES]) -> [f64; LANES] {
    std::array::from_fn(|lane| a[lane] * b[lane])
}

/// Brings lines together whose `k`th elements lie side by side from `at(k)` on.
#[inline(always)]
fn gather(lines: &mut [Lanes], length: usize, from: &[Lanes], at: impl Fn(usize) -> usize) {
    let side = lines.len() / length;
    for k in 0..length {
        for (line, element) in from[at(k)..][..side].iter().enumerate() {
            lines[line * length + k] = *element;
        }
    }
}

/// The reverse of [`gather`].
#[inline(always)]
fn scatter(lines: &[Lanes], length: usize, to: &mut [Lanes], at: impl Fn(usize) -> usize) {
    let side = lines.len() / length;
    for k in 0..length {
        for (line, element) in to[at(k)..][..side].iter_mut().enumerate() {
            *element = lines[line * length + k];
        }
    }
}
