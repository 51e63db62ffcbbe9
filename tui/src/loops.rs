//! Round trips of an open loop count from when their messages were due, those of a closed one from when they were sent.

use std::path::Path;

use jitterlab_experiment::samples;
use jitterlab_packet::cases::open_loop::TwoLoops;

use crate::outcome::Failure;

/// Refuses files of samples if some were measured in the one loop and some in the other.
pub fn check<'a>(files: impl IntoIterator<Item = &'a Path>) -> Result<(), Failure> {
    let loop_of = |file: &'a Path| Some((file, samples::note(file, samples::LOOP)?));
    let mut known = files.into_iter().filter_map(loop_of);
    let Some((first, loop_of_a)) = known.next() else {
        return Ok(());
    };
    match known.find(|(_, other)| *other != loop_of_a) {
        None => Ok(()),
        Some((other, loop_of_b)) => Err(Failure::input(TwoLoops {
            a: first.display().to_string(),
            loop_of_a,
            b: other.display().to_string(),
            loop_of_b,
        })),
    }
}
