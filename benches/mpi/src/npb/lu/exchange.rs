//! The messages of neighbours: two layers of the solution in the whole; and in a sweep, plane by plane, the
//! row and the column that the next rank goes on from.

use std::ops::Range;

use mpi::Tag;

use super::field::{Field, Shape};
use super::pencil::{GHOST, Pencil};
use crate::comm::Comm;
use crate::npb::flow::State;

const LAYERS: Tag = 1;
const ROW: Tag = 2;
const COLUMN: Tag = 3;

/// Points of all planes, by their local places.
#[derive(Clone)]
struct Block {
    x: Range<usize>,
    y: Range<usize>,
}

/// A neighbour, the points it gets and the points it gives.
struct Side {
    neighbour: usize,
    give: Block,
    take: Block,
    outgoing: Vec<f64>,
    incoming: Vec<f64>,
}

/// The exchange of ghosts with up to four neighbours.
pub struct Layers {
    shape: Shape,
    planes: usize,
    sides: [Option<Side>; 4],
}

impl Layers {
    /// The layers of a rank.
    pub fn new(pencil: &Pencil) -> Layers {
        let own = |points: &Range<usize>| GHOST..GHOST + points.len();
        let (x, y) = (own(&pencil.x), own(&pencil.y));
        // The ghosts before and behind own points, and the own points beside them.
        let before =
            |own: &Range<usize>| (own.start..own.start + GHOST, own.start - GHOST..own.start);
        let behind = |own: &Range<usize>| (own.end - GHOST..own.end, own.end..own.end + GHOST);
        let in_x = |neighbour, (give, take)| {
            let block = |x| Block { x, y: y.clone() };
            side(pencil.n, neighbour, block(give), block(take))
        };
        let in_y = |neighbour, (give, take)| {
            let block = |y| Block { x: x.clone(), y };
            side(pencil.n, neighbour, block(give), block(take))
        };
        Layers {
            shape: Shape::of(pencil),
            planes: pencil.n,
            sides: [
                in_x(pencil.west, before(&x)),
                in_x(pencil.east, behind(&x)),
                in_y(pencil.south, before(&y)),
                in_y(pencil.north, behind(&y)),
            ],
        }
    }

    /// Makes the ghosts of a field what its neighbours have there.
    pub fn exchange(&mut self, comm: &Comm, field: &mut Field) {
        let (shape, planes) = (self.shape, self.planes);
        for side in self.sides.iter_mut().flatten() {
            let mut to = &mut side.outgoing[..];
            for k in 0..planes {
                for points in parts(shape, &side.give) {
                    let from = &field.plane(k)[points];
                    let (now, later) = to.split_at_mut(from.len());
                    now.copy_from_slice(from);
                    to = later;
                }
            }
        }
        comm.post(|posts| {
            let under_way = self.sides.each_mut().map(|side| {
                side.as_mut().map(|side| {
                    let posted = posts.receive(side.neighbour, LAYERS, &mut side.incoming);
                    (posted, side.neighbour, &side.outgoing)
                })
            });
            for (_, neighbour, outgoing) in under_way.iter().flatten() {
                comm.send(*neighbour, LAYERS, outgoing);
            }
            for (posted, ..) in under_way.into_iter().flatten() {
                posted.wait();
            }
        });
        for side in self.sides.iter().flatten() {
            let mut from = &side.incoming[..];
            for k in 0..planes {
                for points in parts(shape, &side.take) {
                    let (now, later) = from.split_at(points.len());
                    field.plane_mut(k)[points].copy_from_slice(now);
                    from = later;
                }
            }
        }
    }
}

fn side(planes: usize, neighbour: Option<usize>, give: Block, take: Block) -> Option<Side> {
    let length = 5 * give.x.len() * give.y.len() * planes;
    neighbour.map(|neighbour| Side {
        neighbour,
        give,
        take,
        outgoing: vec![0.0; length],
        incoming: vec![0.0; length],
    })
}

/// The pieces of a plane in which a block lies.
fn parts(shape: Shape, block: &Block) -> impl Iterator<Item = Range<usize>> {
    block.y.clone().flat_map(move |j| {
        let row = shape.row(j).start;
        (0..5).map(move |m| {
            let part = shape.part(m, block.x.clone());
            row + part.start..row + part.end
        })
    })
}

/// The data that comes into a plane and leaves it in a sweep.
pub struct Front {
    shape: Shape,
    /// The ranks that rows and columns come from and go to.
    row_from: Option<usize>,
    row_to: Option<usize>,
    column_from: Option<usize>,
    column_to: Option<usize>,
    x: Range<usize>,
    /// The row that comes in, and the last own one, by their local places.
    row_in: usize,
    row_out: usize,
    row: Vec<f64>,
    /// The changes before the first own point of each row: zero at a face of the cube.
    pub inflow: Vec<State>,
    /// Those at the last own point of each row.
    pub outflow: Vec<State>,
}

impl Front {
    /// The front of a rank, for a sweep from the first plane up or from the last one down.
    pub fn new<const DOWN: bool>(pencil: &Pencil) -> Front {
        let (x, y) = (pencil.inner_x(), pencil.inner_y());
        let (before, first, last, behind) = (y.start - 1, y.start, y.end - 1, y.end);
        let (row_in, row_out) = if DOWN {
            (behind, first)
        } else {
            (before, last)
        };
        let [row_from, row_to] = ordered::<DOWN>([pencil.south, pencil.north]);
        let [column_from, column_to] = ordered::<DOWN>([pencil.west, pencil.east]);
        Front {
            shape: Shape::of(pencil),
            row_from,
            row_to,
            column_from,
            column_to,
            row_in,
            row_out,
            row: vec![0.0; 5 * x.len()],
            x,
            inflow: vec![[0.0; 5]; y.len()],
            outflow: vec![[0.0; 5]; y.len()],
        }
    }

    /// Waits for what neighbours have found in this plane.
    pub fn receive(&mut self, comm: &Comm, plane: &mut [f64]) {
        if let Some(from) = self.row_from {
            comm.receive(from, ROW, &mut self.row);
            let row = &mut plane[self.shape.row(self.row_in)];
            for (m, part) in self.row.chunks_exact(self.x.len()).enumerate() {
                row[self.shape.part(m, self.x.clone())].copy_from_slice(part);
            }
        }
        if let Some(from) = self.column_from {
            comm.receive(from, COLUMN, self.inflow.as_flattened_mut());
        }
    }

    /// Tells neighbours what they go on from.
    pub fn send(&mut self, comm: &Comm, plane: &[f64]) {
        if let Some(to) = self.row_to {
            let row = &plane[self.shape.row(self.row_out)];
            for (m, part) in self.row.chunks_exact_mut(self.x.len()).enumerate() {
                part.copy_from_slice(&row[self.shape.part(m, self.x.clone())]);
            }
            comm.send(to, ROW, &self.row);
        }
        if let Some(to) = self.column_to {
            comm.send(to, COLUMN, self.outflow.as_flattened());
        }
    }
}

/// The two, the other way round when the sweep goes down.
fn ordered<const DOWN: bool>([first, last]: [Option<usize>; 2]) -> [Option<usize>; 2] {
    if DOWN { [last, first] } else { [first, last] }
}
