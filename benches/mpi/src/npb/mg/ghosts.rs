//! The exchange of ghosts between ranks.

use mpi::Tag;

use super::field::Field;
use super::torus::{Links, Torus};
use crate::comm::Comm;

const X: usize = 0;

/// The tags of planes that travel down an axis, and up.
const DOWN: Tag = 1;
const UP: Tag = 2;

/// Fills ghosts; the planes under way have their place here.
pub struct Ghosts<'a> {
    comm: &'a Comm,
    torus: Torus,
    /// This rank's lowest plane and its highest.
    given: [Vec<f64>; 2],
    /// The ghosts below and above.
    taken: [Vec<f64>; 2],
}

impl<'a> Ghosts<'a> {
    /// The buffers for fields no larger than `largest`.
    pub fn new(comm: &'a Comm, torus: Torus, largest: &Field) -> Ghosts<'a> {
        let split = (0..3).filter(|&axis| !torus.is_whole(axis));
        let length = split.map(|axis| largest.plane_length(axis)).max();
        let planes = || [0, 1].map(|_| vec![0.0; length.unwrap_or(0)]);
        Ghosts {
            comm,
            torus,
            given: planes(),
            taken: planes(),
        }
    }

    /// Fills the ghosts of a field, axis by axis. An axis that is not cut has them at its own other end. The
    /// operators close the rows, which are x.
    pub fn exchange(&mut self, field: &mut Field, links: &[Links; 3]) {
        for (axis, links) in links.iter().enumerate() {
            let Some(steps) = links.takes else {
                return;
            };
            if !self.torus.is_whole(axis) {
                self.exchange_along(axis, field, steps, &links.gives);
            } else if axis != X {
                let last = field.points()[axis];
                field.copy_plane(axis, last, 0);
                field.copy_plane(axis, 1, last + 1);
            }
        }
    }

    fn exchange_along(&mut self, axis: usize, field: &mut Field, steps: usize, gives: &[usize]) {
        let (comm, torus) = (self.comm, self.torus);
        let (length, last) = (field.plane_length(axis), field.points()[axis]);
        if length == 0 {
            return;
        }
        let [lowest, highest] = self.given.each_mut().map(|plane| &mut plane[..length]);
        let [below, above] = self.taken.each_mut().map(|plane| &mut plane[..length]);
        if !gives.is_empty() {
            field.take_plane(axis, 1, lowest);
            field.take_plane(axis, last, highest);
        }
        comm.post(|posts| {
            let [down, up] = torus.neighbours(axis, steps);
            let takes = [
                posts.receive(down, UP, &mut *below),
                posts.receive(up, DOWN, &mut *above),
            ];
            for &steps in gives {
                let [down, up] = torus.neighbours(axis, steps);
                comm.send(down, DOWN, lowest);
                comm.send(up, UP, highest);
            }
            takes.into_iter().for_each(|take| take.wait());
        });
        field.put_plane(axis, 0, below);
        field.put_plane(axis, last + 1, above);
    }
}
