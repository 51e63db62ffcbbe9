//! The limits of injection into a command that its files tell before it starts.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use jitterlab_base::show::printable;

use super::elf::{self, Linkage};

/// A limit of injection, for people.
#[derive(Debug, PartialEq, Eq)]
pub enum Limit {
    /// The program does not start with the library in its environment.
    DoesNotStart(String),
    /// It runs, and not all of its sends can be delayed.
    Injects(String),
}

/// Programs that become others, or start them, which their arguments name.
const WRAPPERS: [&str; 16] = [
    "chrt", "env", "ionice", "mpiexec", "mpirun", "nice", "nohup", "numactl", "setarch", "setsid",
    "srun", "stdbuf", "strace", "taskset", "time", "timeout",
];

/// The limit of injection into the programs that a command runs, as far as these can be told: the
/// first thing found.
pub fn limit(command: &[OsString]) -> Option<Limit> {
    let programs = programs(command);
    let refused = programs.iter().chain(&in_line(command)).find_map(|program| {
        (elf::linkage_of(program) == Linkage::OtherLibc).then(|| {
            Limit::DoesNotStart(format!(
                "nothing can be injected into {}: it is linked against another C library than glibc, whose dynamic linker cannot \
                 load the library; link it against glibc, or inject with netem (jitterlab dist export)",
                shown(program)
            ))
        })
    });
    refused.or_else(|| {
        programs.iter().find_map(|program| {
            let (path, nothing) = (shown(program), elf::obstacle(program));
            let text = match nothing {
                Some(why) => format!("nothing is injected into {path}: {why}"),
                None => format!(
                    "some messages of {path} cannot be delayed: {}; `jitterlab inject doctor` says more",
                    elf::bypass(program)?
                ),
            };
            Some(Limit::Injects(text))
        })
    })
}

fn shown(path: &Path) -> String {
    printable(&path.to_string_lossy())
}

/// The executable files that a command runs: itself, the interpreters of scripts, and what wrappers start.
fn programs(command: &[OsString]) -> Vec<PathBuf> {
    /// The kernel looks for as many interpreters of interpreters, and there is one more for each wrapper that anybody writes.
    const DEPTH: usize = 8;
    let mut words = command.to_vec();
    let mut programs = Vec::new();
    while programs.len() < DEPTH
        && let Some(program) = words.first().and_then(|name| elf::find(Path::new(name)))
    {
        let name = program.file_name().unwrap_or_default().to_owned();
        match interpreter(&program) {
            Some(interpreter) => words = interpreter,
            None if WRAPPERS.iter().any(|wrapper| name == *wrapper) => {
                let is_program = |word: &OsString| elf::find(Path::new(word)).is_some();
                let at = words.iter().skip(1).position(is_program);
                words = at.map_or(Vec::new(), |at| words.split_off(at + 1));
            }
            None => words.clear(),
        }
        programs.push(program);
    }
    programs
}

/// The executable files that a line for a shell names (`sh -c LINE`).
fn in_line(command: &[OsString]) -> Vec<PathBuf> {
    let line = command.iter().skip_while(|word| *word != "-c").nth(1);
    let line = line.map(|line| line.to_string_lossy()).unwrap_or_default();
    let words = line.split(|c: char| c.is_whitespace() || ";&|()".contains(c));
    words
        .filter(|word| !word.is_empty())
        .filter_map(|word| elf::find(Path::new(word)))
        .collect()
}

/// The first line of a script, as words: its interpreter, and an argument.
fn interpreter(path: &Path) -> Option<Vec<OsString>> {
    /// `BINPRM_BUF_SIZE`: the kernel looks no further.
    const LINE: u64 = 256;
    let mut line = Vec::new();
    BufReader::new(File::open(path).ok()?.take(LINE))
        .read_until(b'\n', &mut line)
        .ok()?;
    let words = line.strip_prefix(b"#!")?.split(u8::is_ascii_whitespace);
    let words = words.filter(|word| !word.is_empty());
    Some(
        words
            .map(|word| OsStr::from_bytes(word).to_owned())
            .collect(),
    )
}
