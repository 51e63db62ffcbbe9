//! The way that a test says what this machine lacks, so that it is not counted as passed; and the files that cargo builds for no
//! test by itself.
//!
//! libtest knows no test that skips itself at run time: whoever returns early has passed. A test therefore says so in a
//! line on stderr, past libtest, which keeps only what is printed with `print!` and `eprint!`. Everybody who runs
//! `cargo test` sees the line, and `bootstrap/count.awk` moves the test from those that passed to those that were skipped.

#![forbid(unsafe_code)]

mod build;

use std::fmt::Display;
use std::io::Write as _;

pub use build::built;

/// Says that the test of this thread, or an indispensable part of it, cannot be tried here, and why: `there is no mpirun`.
/// The test is counted as skipped, whatever else it tries.
pub fn skip(reason: impl Display) {
    say("skipped", "", &reason);
}

/// Says that one of the many things that the test of this thread tries cannot be tried here, and why. It is counted as
/// skipped beside the test.
pub fn skip_part(part: &str, reason: impl Display) {
    say("skipped part", &format!("::{part}"), &reason);
}

/// True if root runs this test. If not, the test is skipped; `to` is what only root may do, as in `make network namespaces`.
pub fn is_root(to: &str) -> bool {
    let is_root = nix::unistd::geteuid().is_root();
    if !is_root {
        skip(format_args!("only root may {to}"));
    }
    is_root
}

/// `skipped: BINARY::TEST: REASON`, in one write, so that lines of several tests do not mix.
fn say(what: &str, part: &str, reason: &dyn Display) {
    // libtest gives each test a thread of its name.
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a thread without a name");
    let line = format!("{what}: {}::{test}{part}: {reason}\n", binary());
    // Whoever has closed stderr does not want to know.
    let _ = std::io::stderr().write_all(line.as_bytes());
}

/// The name of the test program, without the hash that cargo gives it.
fn binary() -> String {
    let path = std::env::current_exe().unwrap_or_default();
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    match name.rsplit_once('-') {
        Some((name, _hash)) => name.into(),
        None => name.into(),
    }
}
