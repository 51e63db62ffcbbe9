//! The charges (RNR-94-007, section 2.2.2): of random numbers, one for each point, the ten greatest become +1 and the
//! ten least -1; everything else is 0.

use std::ops::Range;

use super::field::Field;
use crate::comm::Comm;
use crate::npb::random::Random;

const SEED: u64 = 314_159_265;
/// Charges of each sign.
const COUNT: usize = 10;

/// Puts the charges of a cube with so many points on an edge into the field of a rank's own part of it.
pub fn place(comm: &Comm, edge: usize, own: &[Range<usize>; 3], field: &mut Field) {
    let mut extremes = Extremes::default();
    let [xs, ys, zs] = own;
    for (z, y) in zs.clone().flat_map(|z| ys.clone().map(move |y| (z, y))) {
        let first = (z * edge + y) * edge + xs.start;
        let mut random = Random::new(SEED);
        random.skip(first as u64);
        for point in first..first + xs.len() {
            extremes.offer(random.next(), point as f64);
        }
        // Memory that was never written is one page of zeros, many times: it would be read from the cache.
        field.row_mut(y - ys.start + 1, z - zs.start + 1).fill(0.0);
    }
    for (point, charge) in extremes.of_all(comm).charges() {
        let [x, y, z] = [point % edge, point / edge % edge, point / edge / edge];
        if xs.contains(&x) && ys.contains(&y) && zs.contains(&z) {
            field.row_mut(y - ys.start + 1, z - zs.start + 1)[x - xs.start + 1] = charge;
        }
    }
}

/// The ten greatest and the ten least of what was offered.
#[derive(Default)]
struct Extremes {
    greatest: Greatest,
    /// The least, with the sign changed.
    least: Greatest,
}

impl Extremes {
    fn offer(&mut self, value: f64, point: f64) {
        self.greatest.offer(value, point);
        self.least.offer(-value, point);
    }

    /// Those of all ranks together.
    fn of_all(&self, comm: &Comm) -> Extremes {
        let mine = [self.greatest.0, self.least.0].concat().concat();
        let mut theirs = vec![0.0; comm.size() * mine.len()];
        comm.all_gather(&mine, &mut theirs);
        let mut all = Extremes::default();
        for list in theirs.chunks_exact(mine.len()) {
            let (greatest, least) = list.as_chunks::<2>().0.split_at(COUNT);
            for &[value, point] in greatest {
                all.greatest.offer(value, point);
            }
            for &[value, point] in least {
                all.least.offer(value, point);
            }
        }
        all
    }

    /// Points and what becomes of them.
    fn charges(&self) -> impl Iterator<Item = (usize, f64)> {
        let signed = [(self.greatest.0, 1.0), (self.least.0, -1.0)];
        signed
            .into_iter()
            .flat_map(|(list, sign)| list.map(|[_, point]| (point as usize, sign)))
    }
}

/// The ten greatest values and their points, the least of them first.
struct Greatest([[f64; 2]; COUNT]);

impl Default for Greatest {
    fn default() -> Greatest {
        Greatest([[f64::NEG_INFINITY, 0.0]; COUNT])
    }
}

impl Greatest {
    #[inline]
    fn offer(&mut self, value: f64, point: f64) {
        if value > self.0[0][0] {
            self.0[0] = [value, point];
            self.0.sort_unstable_by(|a, b| a[0].total_cmp(&b[0]));
        }
    }
}
