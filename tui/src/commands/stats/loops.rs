//! Round trips of an open loop count from when their messages were due, those of a closed one from when they were sent.

use std::path::Path;

use jitterlab_experiment::samples;

use crate::outcome::Failure;

/// Refuses files of samples of which some were measured in the one loop and some in the other.
pub fn check<'a>(files: impl IntoIterator<Item = &'a Path>) -> Result<(), Failure> {
    let loop_of = |file: &'a Path| Some((file, samples::note(file, samples::LOOP)?));
    let mut known = files.into_iter().filter_map(loop_of);
    let Some((first, its_loop)) = known.next() else {
        return Ok(());
    };
    match known.find(|(_, other)| *other != its_loop) {
        None => Ok(()),
        Some((other, other_loop)) => Err(Failure::input(format!(
            "{} was measured in the {its_loop} loop and {} in the {other_loop} loop: in the open loop a round trip \
             counts from when its message was due, in the closed loop from when it was sent; measure both in one of them",
            first.display(),
            other.display()
        ))),
    }
}
