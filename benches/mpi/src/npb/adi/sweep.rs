//! The implicit part: lines of one direction are solved, slab after slab.
//!
//! Elimination goes up the slabs, substitution down. A rank has one cell in every slab. The results at the end of
//! the cell's lines go to the rank with the cell beyond, in one message for all lines. A bundle of [`WIDTH`] lines
//! is solved at a time: lines of y and z lie side by side in the field, and those of x are transposed.

use super::cell::Cell;
use super::field::{Block, Field, Lanes, WIDTH, pick, put};
use super::partition::{Partition, Side};
use super::scheme::{Equation, Scheme};
use crate::comm::Comm;

/// Solves lines, and has the memory for it, which grows at first use.
pub struct Sweeps<const ROW: usize, const REACH: usize> {
    partition: Partition,
    /// Eliminated equations, bundle by bundle: of all cells that are not the last of their lines, and of one bundle
    /// of the last. The equations that a bundle was handed stand before its own.
    rows: Vec<[Lanes; ROW]>,
    /// Eliminated equations at the upper ends of cells.
    up: Ends<ROW, REACH>,
    /// Solutions at the lower ends of cells.
    down: Ends<5, REACH>,
    transposed: Transposed,
}

impl<const ROW: usize, const REACH: usize> Sweeps<ROW, REACH> {
    /// The sweeps for the cells of a partition.
    pub fn new(partition: Partition) -> Self {
        Sweeps {
            partition,
            rows: Vec::new(),
            up: Ends::default(),
            down: Ends::default(),
            transposed: Transposed::default(),
        }
    }

    /// Solves all lines of direction `D`, whose right-hand side is the change of the cells.
    pub fn sweep<const D: usize, const LOCAL: usize>(
        &mut self,
        comm: &Comm,
        scheme: &impl Scheme<LOCAL, ROW, REACH>,
        cells: &mut [Cell],
    ) {
        let partition = self.partition;
        let last = partition.slabs() - 1;
        let [above, below] = [Side::Above, Side::Below].map(|side| partition.neighbour(D, side));
        let at = |slab| partition.cell_in(D, slab);

        let mut kept = 0;
        for slab in 0..last {
            kept += self.eliminate::<D, LOCAL>(scheme, &cells[at(slab)], slab > 0, kept);
            let next = bundles(&cells[at(slab + 1)], D).count();
            self.up.pass(comm, above, below, next);
        }
        self.solve::<D, LOCAL>(scheme, &mut cells[at(last)], last > 0, kept);
        for slab in (0..last).rev() {
            let cell = &mut cells[at(slab)];
            let count = bundles(cell, D).count();
            self.down.pass(comm, below, above, count);
            kept -= count * (REACH + cell.inside[D].len());
            self.substitute::<D, LOCAL>(scheme, cell, kept);
        }
    }

    /// Eliminates a cell that is not the last of its lines; its rows are kept from `start` on. Says how many.
    fn eliminate<const D: usize, const LOCAL: usize>(
        &mut self,
        scheme: &impl Scheme<LOCAL, ROW, REACH>,
        cell: &Cell,
        handed: bool,
        start: usize,
    ) -> usize {
        let length = REACH + cell.inside[D].len();
        self.up.departing.clear();
        let mut end = start;
        for (i, place) in bundles(cell, D).enumerate() {
            let rows = rows_of(&mut self.rows, end, length);
            hand(rows, handed.then(|| &self.up.arriving[i]));
            eliminate::<D, LOCAL, ROW, REACH>(scheme, cell, place, &mut self.transposed, rows);
            self.up.departing.extend(rows.last_chunk());
            end += length;
        }
        end - start
    }

    /// Eliminates the last cell of lines and substitutes, while a bundle is in the cache.
    fn solve<const D: usize, const LOCAL: usize>(
        &mut self,
        scheme: &impl Scheme<LOCAL, ROW, REACH>,
        cell: &mut Cell,
        handed: bool,
        start: usize,
    ) {
        let rows = rows_of(&mut self.rows, start, REACH + cell.inside[D].len());
        self.down.departing.clear();
        for (i, place) in bundles(cell, D).enumerate() {
            hand(rows, handed.then(|| &self.up.arriving[i]));
            eliminate::<D, LOCAL, ROW, REACH>(scheme, cell, place, &mut self.transposed, rows);
            let mut ends = [[[0.0; WIDTH]; 5]; REACH];
            let rows = &rows[REACH..];
            substitute::<D, LOCAL, ROW, REACH>(
                scheme,
                cell,
                place,
                &mut self.transposed,
                rows,
                &mut ends,
            );
            self.down.departing.push(ends);
        }
    }

    /// Substitutes a cell whose rows were kept from `start` on.
    fn substitute<const D: usize, const LOCAL: usize>(
        &mut self,
        scheme: &impl Scheme<LOCAL, ROW, REACH>,
        cell: &mut Cell,
        start: usize,
    ) {
        let length = REACH + cell.inside[D].len();
        self.down.departing.clear();
        let kept = self.rows[start..].chunks_exact(length);
        for ((place, rows), arrived) in bundles(cell, D).zip(kept).zip(&self.down.arriving) {
            let mut ends = *arrived;
            let rows = &rows[REACH..];
            substitute::<D, LOCAL, ROW, REACH>(
                scheme,
                cell,
                place,
                &mut self.transposed,
                rows,
                &mut ends,
            );
            self.down.departing.push(ends);
        }
    }
}

/// The values that pass from cell to cell: for each bundle, `REACH` points of `N` values.
#[derive(Default)]
struct Ends<const N: usize, const REACH: usize> {
    departing: Vec<[[Lanes; N]; REACH]>,
    arriving: Vec<[[Lanes; N]; REACH]>,
}

impl<const N: usize, const REACH: usize> Ends<N, REACH> {
    /// Sends those that depart, and gets those of `count` bundles.
    fn pass(&mut self, comm: &Comm, to: usize, from: usize, count: usize) {
        let Ends {
            departing,
            arriving,
        } = self;
        arriving.resize(count, [[[0.0; WIDTH]; N]; REACH]);
        let departing = departing.as_flattened().as_flattened().as_flattened();
        let arriving = arriving
            .as_flattened_mut()
            .as_flattened_mut()
            .as_flattened_mut();
        comm.exchange(to, departing, from, arriving, 0);
    }
}

/// The places where the lines of direction `D` enter a cell, one for each bundle.
fn bundles(cell: &Cell, axis: usize) -> impl Iterator<Item = [usize; 3]> + use<> {
    let [mut x, mut y, mut z] = cell.inside.clone();
    match axis {
        0 => x.end = x.start + 1,
        1 => y.end = y.start + 1,
        _ => z.end = z.start + 1,
    }
    let mut steps = [1, WIDTH];
    if axis > 0 {
        // Whole blocks: what is not inside is zero, and remains so.
        x = cell.own[0].clone();
        steps = [WIDTH, 1];
    }
    z.flat_map(move |z| {
        let x = x.clone();
        let rows = y.clone().step_by(steps[1]);
        rows.flat_map(move |y| x.clone().step_by(steps[0]).map(move |x| [x, y, z]))
    })
}

/// The memory of a bundle's rows.
fn rows_of<const ROW: usize>(
    rows: &mut Vec<[Lanes; ROW]>,
    start: usize,
    length: usize,
) -> &mut [[Lanes; ROW]] {
    let end = start + length;
    if rows.len() < end {
        rows.resize(end, [[0.0; WIDTH]; ROW]);
    }
    &mut rows[start..end]
}

/// The values that the cell below hands to a bundle; zeros at the face of the cube.
fn hand<const ROW: usize, const REACH: usize>(
    rows: &mut [[Lanes; ROW]],
    arrived: Option<&[[Lanes; ROW]; REACH]>,
) {
    match arrived {
        Some(arrived) => rows[..REACH].copy_from_slice(arrived),
        None => rows[..REACH].fill([[0.0; WIDTH]; ROW]),
    }
}

/// Eliminates the part of a bundle that is in a cell.
fn eliminate<const D: usize, const LOCAL: usize, const ROW: usize, const REACH: usize>(
    scheme: &impl Scheme<LOCAL, ROW, REACH>,
    cell: &Cell,
    place: [usize; 3],
    transposed: &mut Transposed,
    rows: &mut [[Lanes; ROW]],
) {
    let (first, stride, states, changes);
    if D == 0 {
        transposed.load(cell, place);
        (first, stride) = (place[0], 1);
        (states, changes) = (&transposed.state[..], &transposed.change[..]);
    } else {
        (first, stride) = (cell.state.index(place), cell.state.stride(D));
        (states, changes) = (cell.state.blocks(), cell.change.blocks());
    }
    let mut local = [[[0.0; WIDTH]; LOCAL]; 3];
    let [mut before, mut here, mut behind] = local.each_mut();
    local_lanes::<D, LOCAL, ROW, REACH>(scheme, &states[first - stride], before);
    local_lanes::<D, LOCAL, ROW, REACH>(scheme, &states[first], here);
    for (p, fourth) in cell.fourth[D][cell.inside[D].clone()].iter().enumerate() {
        let at = first + p * stride;
        local_lanes::<D, LOCAL, ROW, REACH>(scheme, &states[at + stride], behind);
        let Some((earlier, [row, ..])) = rows[p..].split_first_chunk_mut::<REACH>() else {
            unreachable!("a row for each point, behind those that were handed")
        };
        eliminate_lanes::<D, LOCAL, ROW, REACH>(
            scheme,
            [before, here, behind],
            fourth,
            [&states[at], &changes[at]],
            earlier,
            row,
        );
        (before, here, behind) = (here, behind, before);
    }
}

/// Substitutes the part of a bundle that is in a cell. `ends` are the solutions behind it, and become those at its beginning.
fn substitute<const D: usize, const LOCAL: usize, const ROW: usize, const REACH: usize>(
    scheme: &impl Scheme<LOCAL, ROW, REACH>,
    cell: &mut Cell,
    place: [usize; 3],
    transposed: &mut Transposed,
    rows: &[[Lanes; ROW]],
    ends: &mut [[Lanes; 5]; REACH],
) {
    let (first, stride, changes);
    if D == 0 {
        (first, stride) = (place[0], 1);
        changes = transposed.clear(cell);
    } else {
        (first, stride) = (cell.change.index(place), cell.change.stride(D));
        changes = cell.change.blocks_mut();
    }
    for (p, row) in rows.iter().enumerate().rev() {
        let mut solution = Block::ZERO;
        for lane in 0..WIDTH {
            let mut later = [[0.0; 5]; REACH];
            for i in 0..REACH {
                later[i] = pick(&ends[i], lane);
            }
            solution.set(lane, scheme.substitute(&pick(row, lane), &later));
        }
        changes[first + p * stride] = solution;
        ends.rotate_right(1);
        ends[0] = solution.0;
    }
    if D == 0 {
        transposed.store(cell, place);
    }
}

/// [`Scheme::local`] of a bundle.
#[inline(always)]
fn local_lanes<const D: usize, const LOCAL: usize, const ROW: usize, const REACH: usize>(
    scheme: &impl Scheme<LOCAL, ROW, REACH>,
    state: &Block,
    local: &mut [Lanes; LOCAL],
) {
    for lane in 0..WIDTH {
        put(local, lane, scheme.local::<D>(state.get(lane)));
    }
}

/// [`Scheme::eliminate`] of a bundle.
// It is not inlined, so that the compiler knows that its arguments do not overlap, and computes all lanes at once.
#[inline(never)]
fn eliminate_lanes<const D: usize, const LOCAL: usize, const ROW: usize, const REACH: usize>(
    scheme: &impl Scheme<LOCAL, ROW, REACH>,
    [before, here, behind]: [&[Lanes; LOCAL]; 3],
    fourth: &[f64; 5],
    [state, change]: [&Block; 2],
    earlier: &[[Lanes; ROW]; REACH],
    row: &mut [Lanes; ROW],
) {
    for lane in 0..WIDTH {
        let equation = Equation {
            before: pick(before, lane),
            here: pick(here, lane),
            behind: pick(behind, lane),
            fourth: *fourth,
            change: scheme.enter::<D>(state.get(lane), change.get(lane)),
        };
        let mut values = [[0.0; ROW]; REACH];
        for i in 0..REACH {
            values[i] = pick(&earlier[i], lane);
        }
        put(row, lane, scheme.eliminate(&equation, &values));
    }
}

/// Lines of x, side by side: a block for each place.
#[derive(Default)]
struct Transposed {
    state: Vec<Block>,
    change: Vec<Block>,
}

impl Transposed {
    /// Takes the rows from a place on; beyond the last there is the last again.
    fn load(&mut self, cell: &Cell, [_, y, z]: [usize; 3]) {
        let last = cell.inside[1].end - 1;
        let load = |field: &Field, into: &mut Vec<Block>| {
            let rows: [&[Block]; WIDTH] =
                std::array::from_fn(|lane| field.whole_row((y + lane).min(last), z));
            into.resize(WIDTH * rows[0].len(), Block::ZERO);
            for (i, blocks) in into.as_chunks_mut::<WIDTH>().0.iter_mut().enumerate() {
                transpose(rows.map(|row| &row[i]), blocks);
            }
        };
        load(&cell.state, &mut self.state);
        load(&cell.change, &mut self.change);
    }

    /// Sets the changes to zero.
    fn clear(&mut self, cell: &Cell) -> &mut [Block] {
        self.change.clear();
        self.change
            .resize(WIDTH * cell.change.stride(1), Block::ZERO);
        &mut self.change
    }

    /// Puts the changes back.
    fn store(&self, cell: &mut Cell, [_, y, z]: [usize; 3]) {
        let (blocks, _) = self.change.as_chunks::<WIDTH>();
        for (lane, y) in (y..cell.inside[1].end).take(WIDTH).enumerate() {
            let row = cell.change.row_mut(y, z);
            for (block, four) in row.iter_mut().zip(&blocks[1..]) {
                for m in 0..5 {
                    block.0[m] = std::array::from_fn(|i| four[i].0[m][lane]);
                }
            }
        }
    }
}

/// Turns blocks of rows into blocks of columns.
#[inline(always)]
fn transpose(rows: [&Block; WIDTH], columns: &mut [Block; WIDTH]) {
    for m in 0..5 {
        for (i, column) in columns.iter_mut().enumerate() {
            column.0[m] = rows.map(|row| row.0[m][i]);
        }
    }
}
