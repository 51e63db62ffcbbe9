//! Seeds: one integer in a file gives the same delays, per thread and per rank, from run to run.

use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::input::{InputError, Source, read_text};

/// The seed where nobody gives one.
pub const DEFAULT: u64 = 1;

/// A seed file that cannot be used.
#[derive(Debug, Error)]
pub enum SeedError {
    /// The file cannot be read.
    #[error("cannot read seed file {path}; make one with `echo 1 > {path}`", path = path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The file does not hold one integer.
    #[error(
        "{path}: a seed file holds one integer from 0 to 18446744073709551615 and nothing else",
        path = path.display()
    )]
    NotOneInteger {
        /// The file.
        path: PathBuf,
    },
    /// The file is in another encoding than UTF-8.
    #[error("{path}:{line}: {problem}", path = path.display())]
    Encoding {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// The problem, and what to do.
        problem: String,
    },
}

/// Reads a seed file: a single non-negative integer, white space around it allowed (the paper,
/// section 3.1: "a single integer").
///
/// # Errors
/// The file cannot be read, or holds anything else.
pub fn load(path: &Path) -> Result<u64, SeedError> {
    /// Room for an integer and much white space.
    const MAX_FILE_BYTES: u64 = 4096;
    let text = read_text(path, Source::File, MAX_FILE_BYTES).map_err(|error| match error {
        InputError::Read(source) => SeedError::Read {
            path: path.into(),
            source,
        },
        InputError::TooLong { .. } => SeedError::NotOneInteger { path: path.into() },
        InputError::Encoding { line, problem } => SeedError::Encoding {
            path: path.into(),
            line,
            problem,
        },
    })?;
    let number = text.trim().parse();
    number.map_err(|_| SeedError::NotOneInteger { path: path.into() })
}

/// The seed of one stream of random numbers.
///
/// `rank` tells MPI processes apart, `lineage` the threads and forked children of a process (see
/// [`child`]). Streams of different arguments are independent for every practical purpose: each
/// argument passes through SplitMix64's finaliser (Steele, Lea and Flood 2014, "Fast splittable
/// pseudorandom number generators", section 4), a bijection with full avalanche.
pub fn stream(seed: u64, rank: u64, lineage: u64) -> u64 {
    combine(combine(mix(seed), rank), lineage)
}

/// The lineage of the `index`-th thread or child process started by one whose lineage is `parent`.
///
/// The main thread of the first program has lineage 0. What a thread is called then depends only
/// on who started it and in which order, not on which thread was first to send.
pub fn child(parent: u64, index: u64) -> u64 {
    combine(parent, index.wrapping_add(1))
}

/// The lineage of the program that a process of this lineage becomes by `exec`: another, for else
/// it would draw the same delays once more.
pub fn successor(lineage: u64) -> u64 {
    // No child has this number.
    child(lineage, u64::MAX)
}

/// It is not symmetric, so that what was mixed in at one place cannot cancel what was at another.
fn combine(left: u64, right: u64) -> u64 {
    mix(left.rotate_left(32) ^ mix(right))
}

fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_file_holds_one_integer() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("s.seed");
        let read = |text: &[u8]| {
            std::fs::write(&path, text).unwrap();
            load(&path)
        };
        assert_eq!(read(b"42\n").unwrap(), 42);
        assert_eq!(read(b" 0 ").unwrap(), 0);
        assert_eq!(read(b"\xef\xbb\xbf7\r\n").unwrap(), 7);
        for wrong in [
            &b""[..],
            b"-1",
            b"1 2",
            b"1.5",
            b"seed",
            b"18446744073709551616",
            &[b' '; 5_000],
        ] {
            assert!(
                matches!(read(wrong), Err(SeedError::NotOneInteger { .. })),
                "{wrong:?}"
            );
        }
        for (wrong, said) in [
            (&b"\xff"[..], ":1: not text: byte 1 is not UTF-8"),
            (b"\xff\xfe4\x002\0", ":1: this is UTF-16, little-endian;"),
            (b"4\x002\0", ":1: this is UTF-16, little-endian;"),
        ] {
            let error = read(wrong).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
        // A pipe without a writer is not waited for.
        let pipe = directory.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        for not_there in [&pipe, &directory.path().join("none"), directory.path()] {
            assert!(matches!(load(not_there), Err(SeedError::Read { .. })));
        }
    }

    #[test]
    fn streams_differ_in_every_argument() {
        let mut seen = std::collections::HashSet::new();
        for seed in 0..20 {
            for rank in 0..20 {
                for index in 0..20 {
                    assert!(seen.insert(stream(seed, rank, child(0, index))));
                }
                assert!(seen.insert(stream(seed, rank, 0)));
                assert!(seen.insert(stream(seed, rank, successor(0))));
            }
        }
    }
}
