//! Halo exchange: the ranks are blocks of a periodic grid in two or three dimensions, and each exchanges its faces with
//! its neighbours, all at once. As in a program that does so, nobody waits for anybody but neighbours.

use mpi::point_to_point::{Destination as _, Source as _};
use mpi::topology::{Communicator as _, Process, SimpleCommunicator};

use super::{Bench, Case, Choice, Sample};

pub const CASE: Case = Case {
    name: "halo-exchange",
    title: "neighbours in a periodic grid of ranks exchange faces; --size is the size of a face",
    unit: 1,
    least: 0,
    parts: false,
    sample: Sample::Call,
    options: &[Choice::Dimensions],
    run,
};

/// The messages of a rank in one direction of the grid.
struct Face<'a> {
    to: Process<'a>,
    from: Process<'a>,
    tag: mpi::Tag,
    data: Vec<u8>,
    into: Vec<u8>,
}

fn run(bench: &mut Bench<'_>) {
    match bench.plan().dimensions {
        2 => exchange::<2, 4>(bench),
        _ => exchange::<3, 6>(bench),
    }
}

fn exchange<const DIMENSIONS: usize, const FACES: usize>(bench: &mut Bench<'_>) {
    let extents = extents::<DIMENSIONS>(bench.ranks());
    let mut faces: [Face<'_>; FACES] = std::array::from_fn(|direction| {
        face(bench.world(), &extents, direction, bench.plan().size)
    });
    bench.back_to_back(|| {
        mpi::request::scope(|scope| {
            let under_way = faces.each_mut().map(|face| {
                let (into, tag) = (&mut face.into[..], face.tag);
                let receive = face.from.immediate_receive_into_with_tag(scope, into, tag);
                let send = face.to.immediate_send_with_tag(scope, &face.data[..], tag);
                (receive, send)
            });
            for (receive, send) in under_way {
                receive.wait_without_status();
                send.wait_without_status();
            }
        });
    });
}

/// The data that goes in a direction: dimension by dimension, first up and then down.
fn face<'a>(
    world: &'a SimpleCommunicator,
    extents: &[usize],
    direction: usize,
    size: usize,
) -> Face<'a> {
    let (dimension, goes_down) = (direction / 2, direction % 2 == 1);
    let (up, down) = neighbours(extents, dimension, world.rank() as usize);
    let (to, from) = if goes_down { (down, up) } else { (up, down) };
    Face {
        to: world.process_at_rank(to as i32),
        from: world.process_at_rank(from as i32),
        tag: direction as mpi::Tag,
        data: vec![0x5a; size],
        into: vec![0; size],
    }
}

/// The ranks above and below a rank; the first dimension is the one in which ranks follow each other.
fn neighbours(extents: &[usize], dimension: usize, rank: usize) -> (usize, usize) {
    let stride: usize = extents[..dimension].iter().product();
    let extent = extents[dimension];
    let place = rank / stride % extent;
    let first = rank - place * stride;
    let at = |place: usize| first + place % extent * stride;
    (at(place + 1), at(place + extent - 1))
}

/// The numbers of ranks in each dimension that make the blocks most like cubes. Prime factors go, the greatest first,
/// to the dimension that has the fewest ranks so far.
fn extents<const DIMENSIONS: usize>(ranks: usize) -> [usize; DIMENSIONS] {
    let mut factors = Vec::new();
    let (mut rest, mut factor) = (ranks, 2);
    while rest > 1 {
        if rest.is_multiple_of(factor) {
            factors.push(factor);
            rest /= factor;
        } else {
            factor += 1;
        }
    }
    let mut extents = [1; DIMENSIONS];
    for factor in factors.into_iter().rev() {
        if let Some(fewest) = extents.iter_mut().min() {
            *fewest *= factor;
        }
    }
    extents.sort_unstable_by(|a, b| b.cmp(a));
    extents
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_like_cubes() {
        assert_eq!(extents::<2>(1), [1, 1]);
        assert_eq!(extents::<2>(12), [4, 3]);
        assert_eq!(extents::<3>(64), [4, 4, 4]);
        assert_eq!(extents::<3>(14), [7, 2, 1]);
    }

    #[test]
    fn who_is_above_has_one_below() {
        for ranks in 1..=24 {
            let extents = extents::<3>(ranks);
            for (dimension, rank) in (0..3).flat_map(|d| (0..ranks).map(move |rank| (d, rank))) {
                let (up, down) = neighbours(&extents, dimension, rank);
                assert_eq!(neighbours(&extents, dimension, up).1, rank);
                assert_eq!(neighbours(&extents, dimension, down).0, rank);
                assert_eq!(up == rank, extents[dimension] == 1);
            }
        }
    }
}
