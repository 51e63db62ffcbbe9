//! The exchange of faces: before a right-hand side is computed, every cell gets the two layers of points next to
//! it from the cells beside it.

use super::cell::{Cell, places, rows};
use super::field::{GHOSTS, Lanes};
use super::partition::{Partition, Side};
use crate::comm::Comm;

/// The values that pass a side of all cells of a rank: one message out, one in.
struct Face {
    axis: usize,
    /// The side that the message goes to, seen from here.
    side: Side,
    to: usize,
    from: usize,
    departing: Vec<f64>,
    arriving: Vec<f64>,
}

/// The six faces of a rank's cells.
pub struct Faces {
    partition: Partition,
    faces: [Face; 6],
}

impl Faces {
    /// The faces for the cells of a partition.
    pub fn new(partition: Partition, cells: &[Cell]) -> Faces {
        let faces = std::array::from_fn(|i| {
            let (axis, side) = (i / 2, [Side::Above, Side::Below][i % 2]);
            let back = side.other();
            let mut face = Face {
                axis,
                side,
                to: partition.neighbour(axis, side),
                from: partition.neighbour(axis, back),
                departing: Vec::new(),
                arriving: Vec::new(),
            };
            for slab in 0..partition.slabs() {
                let cell = &cells[partition.cell_in(axis, slab)];
                if beside(cell, axis, side, partition.slabs()) {
                    pack(cell, axis, layers(cell, axis, side), &mut face.departing);
                }
                if beside(cell, axis, back, partition.slabs()) {
                    pack(cell, axis, layers(cell, axis, back), &mut face.arriving);
                }
            }
            face
        });
        Faces { partition, faces }
    }

    /// Gives the layers at the sides of cells to their neighbours, and gets theirs for the ghosts.
    pub fn exchange(&mut self, comm: &Comm, cells: &mut [Cell]) {
        let Faces { partition, faces } = self;
        if partition.slabs() == 1 {
            return;
        }
        for face in faces.iter_mut() {
            face.departing.clear();
            for slab in 0..partition.slabs() {
                let cell = &cells[partition.cell_in(face.axis, slab)];
                if beside(cell, face.axis, face.side, partition.slabs()) {
                    let layers = layers(cell, face.axis, face.side);
                    pack(cell, face.axis, layers, &mut face.departing);
                }
            }
        }
        let sides = &mut *faces;
        comm.post(|posts| {
            let posted = sides.each_mut().map(|face| {
                let tag = 2 * face.axis as i32 + i32::from(face.side == Side::Above);
                (
                    posts.receive(face.from, tag, &mut face.arriving[..]),
                    posts.send(face.to, tag, &face.departing[..]),
                )
            });
            for (arriving, departing) in posted {
                arriving.wait();
                departing.wait();
            }
        });
        for face in faces.iter() {
            let back = face.side.other();
            let mut arrived = &face.arriving[..];
            for slab in 0..partition.slabs() {
                let cell = &mut cells[partition.cell_in(face.axis, slab)];
                if beside(cell, face.axis, back, partition.slabs()) {
                    arrived = unpack(cell, face.axis, ghosts(cell, face.axis, back), arrived);
                }
            }
        }
    }
}

/// True if a cell has another on a side.
fn beside(cell: &Cell, axis: usize, side: Side, slabs: usize) -> bool {
    match side {
        Side::Above => cell.slab[axis] + 1 < slabs,
        Side::Below => cell.slab[axis] > 0,
    }
}

type Box = [std::ops::Range<usize>; 3];

/// The outermost points of a cell on a side.
fn layers(cell: &Cell, axis: usize, side: Side) -> Box {
    let mut layers = cell.own.clone();
    layers[axis] = match side {
        Side::Above => layers[axis].end - GHOSTS..layers[axis].end,
        Side::Below => layers[axis].start..layers[axis].start + GHOSTS,
    };
    layers
}

/// The ghosts on a side.
fn ghosts(cell: &Cell, axis: usize, side: Side) -> Box {
    let mut ghosts = cell.own.clone();
    ghosts[axis] = match side {
        Side::Above => ghosts[axis].end..ghosts[axis].end + GHOSTS,
        Side::Below => ghosts[axis].start - GHOSTS..ghosts[axis].start,
    };
    ghosts
}

/// Appends the state of a box: points if it is narrow in x, and else whole blocks.
fn pack(cell: &Cell, axis: usize, places_of: Box, message: &mut Vec<f64>) {
    if axis == 0 {
        for place in places(places_of) {
            message.extend(cell.state.get(place));
        }
    } else {
        let [_, y, z] = places_of;
        for [y, z] in rows(y, z) {
            for block in cell.state.row(y, z) {
                message.extend_from_slice(block.0.as_flattened());
            }
        }
    }
}

/// Takes the state of a box from a message, and leaves the rest of it.
fn unpack<'a>(cell: &mut Cell, axis: usize, places_of: Box, message: &'a [f64]) -> &'a [f64] {
    if axis == 0 {
        let (points, _) = message.as_chunks::<5>();
        let mut count = 0;
        for (place, &point) in places(places_of).zip(points) {
            cell.state.set(place, point);
            count += 1;
        }
        &message[5 * count..]
    } else {
        let (lanes, _): (&[Lanes], _) = message.as_chunks();
        let (blocks, _) = lanes.as_chunks::<5>();
        let mut blocks = blocks.iter();
        let [_, y, z] = places_of;
        for [y, z] in rows(y, z) {
            for (block, arrived) in cell.state.row_mut(y, z).iter_mut().zip(&mut blocks) {
                block.0 = *arrived;
            }
        }
        blocks.as_slice().as_flattened().as_flattened()
    }
}
