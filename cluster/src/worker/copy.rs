//! A worker whose program is not named: it is found at the end of ssh, or this one is copied there, into a folder of its own, which goes
//! when the worker has ended, however that comes.

use std::env::consts::ARCH;
use std::fs;
use std::io::{self, Read, Write};
use std::path::Path;

use jitterlab_base::input::shortened;
use sha2::{Digest, Sha256};

use crate::folder::{COPY, IN_USE, NOT_YET};

/// Files that go together: the program, and the library beside it, if it is there.
const FILES: [&str; 2] = ["jitterlab", "libjitterlab_preload.so"];

/// A shell that becomes the worker where the program is found, and says so. Elsewhere, and where it is started with a word, it says
/// what machine it is on, keeps what it is sent, says that it has it when it can be started, and starts the worker. It waits for its end
/// to remove the
/// files, with the worker's own directory. The folder is in the first place that takes files and lets programs start: an empty file is a
/// program that ends well. Where that place is the one for temporary files, the worker keeps its own
/// files in the folder, too. A locked file in it says that it is used ([`folder`]).
/// Each file comes after a line with its name, size and sum; an empty line ends them. The text has neither single quotes nor lines, for any
/// login shell to pass it on.
///
/// [`folder`]: crate::folder
const SCRIPT: &str = "if [ $# = 0 ] && command -v jitterlab >/dev/null; then echo \"jitterlab: here\"; exec jitterlab agent; fi; \
    echo \"jitterlab: $(uname -sm)\"; \
    d=; trap \"rm -rf \\\"\\$d\\\"\" EXIT; trap \"exit 1\" HUP INT TERM; \
    t=${TMPDIR:-/tmp}; why=; \
    for place in \"$t\" /var/tmp \"$HOME\"; do \
        if d=$(mktemp -d \"$place/COPYXXXXXX\" 2>&1); then \
            : > \"$d/jitterlab\" && chmod 700 \"$d/jitterlab\" && \"$d/jitterlab\" 2>/dev/null && break; \
            rm -rf \"$d\"; d=\"$place lets no program start (is it mounted noexec?)\"; \
        fi; \
        why=\"$why${why:+; }$d\"; d=; \
    done; \
    if [ ! \"$d\" ]; then echo \"no place for a program: $why\" >&2; exit 1; fi; \
    if exec 9<>\"$d/NOT_YET\" && flock -s 9 2>/dev/null; then mv \"$d/NOT_YET\" \"$d/IN_USE\"; fi; \
    while read -r name size sum || exit 1; [ \"$name\" ]; do \
        head -c \"$size\" > \"$d/$name\" && chmod 700 \"$d/$name\" || exit 1; \
        s=$(sha256sum < \"$d/$name\") || exit 1; \
        if [ \"${s%% *}\" != \"$sum\" ]; then echo \"what came of $name is not what was sent\" >&2; exit 1; fi; \
    done; \
    \"$d/jitterlab\" --version </dev/null >/dev/null || exit 1; \
    echo \"jitterlab: copied\"; if [ \"$place\" = \"$t\" ]; then export TMPDIR=\"$d\"; fi; \"$d/jitterlab\" agent";

/// The command that ssh is to start: the program there, or a copy; always a copy where the program there will not do.
pub fn command(always: bool) -> String {
    let word = if always { " copy" } else { "" };
    let script = SCRIPT
        .replace("COPY", COPY)
        .replace("NOT_YET", NOT_YET)
        .replace("IN_USE", IN_USE);
    format!("exec sh -c '{script}' jitterlab{word}")
}

/// The first words of its output.
///
/// # Errors
/// It says something else, or the link ends.
pub fn found(output: &mut impl Read) -> io::Result<Found> {
    let said = said(output)?;
    Ok(match said.as_str() {
        "here" => Found::Here,
        _ => Found::Nothing { machine: said },
    })
}

/// The program at the end of ssh.
#[derive(Debug, PartialEq)]
pub enum Found {
    /// A program, which is the worker by now.
    Here,
    /// None; the shell waits for a copy.
    Nothing {
        /// The machine, as `uname -sm` says.
        machine: String,
    },
}

/// The beginning of each line that both ends of the copying write.
const MARK: &str = "jitterlab: ";
/// The most bytes of a login shell's greeting that are passed over.
const NOISE: usize = 64 << 10;

/// The files of a copy, and their sums.
#[derive(Debug)]
pub struct Copied {
    files: Vec<(&'static str, Vec<u8>, String)>,
}

impl Copied {
    /// The files of a program.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn of(program: &Path) -> io::Result<Self> {
        let mut files = Vec::new();
        for name in FILES {
            let path = match name {
                "jitterlab" => program.into(),
                beside => program.with_file_name(beside),
            };
            match fs::read(path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound && !files.is_empty() => {}
                content => {
                    let content = content?;
                    let sum = Sha256::digest(&content);
                    let sum = sum.iter().map(|byte| format!("{byte:02x}")).collect();
                    files.push((name, content, sum));
                }
            }
        }
        Ok(Copied { files })
    }

    /// Sends the files to a shell that waits for them on this machine; then the worker is there.
    ///
    /// # Errors
    /// It is a machine that this program is not for, the link ends, or it says something else.
    pub fn send(
        &self,
        there: &str,
        input: &mut impl Write,
        output: &mut impl Read,
    ) -> io::Result<()> {
        let here = format!("Linux {}", machine());
        if there != here {
            return Err(io::Error::other(format!(
                "it is another kind of machine ({}) than this program is for ({here}): install jitterlab there",
                shortened(there)
            )));
        }
        for (name, content, sum) in &self.files {
            writeln!(input, "{name} {} {sum}", content.len())?;
            input.write_all(content)?;
        }
        writeln!(input)?;
        input.flush()?;
        match said(output)?.as_str() {
            "copied" => Ok(()),
            other => Err(io::Error::other(format!("it said `{}`", shortened(other)))),
        }
    }
}

/// The machine that this program is for, by the name that `uname -m` has for it.
fn machine() -> &'static str {
    match (ARCH, cfg!(target_endian = "little")) {
        ("powerpc64", true) => "ppc64le",
        ("powerpc64", false) => "ppc64",
        (arch, _) => arch,
    }
}

/// The next line of ours, without its mark. A byte at a time: what comes after it is the worker's.
fn said(output: &mut impl Read) -> io::Result<String> {
    let mut line = Vec::new();
    let mut byte = [0];
    for _ in 0..NOISE {
        output.read_exact(&mut byte)?;
        if byte != *b"\n" {
            line.extend(byte);
            continue;
        }
        match String::from_utf8_lossy(&line).strip_prefix(MARK) {
            Some(said) => return Ok(said.trim_end().into()),
            None => line.clear(),
        }
    }
    let much = "it prints much, and nothing that is meant for jitterlab";
    Err(io::Error::new(io::ErrorKind::InvalidData, much))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::process::{Command, Stdio};

    /// A program that says what it is started with and what it reads, in the place of a worker.
    const PROGRAM: &str =
        "#!/bin/sh\necho \"$1 $(cat)\"\ncat \"$(dirname \"$0\")/libjitterlab_preload.so\"\n";

    fn copied(folder: &Path) -> Copied {
        fs::write(folder.join("jitterlab"), PROGRAM).unwrap();
        fs::write(folder.join("libjitterlab_preload.so"), "library\n").unwrap();
        Copied::of(&folder.join("jitterlab")).unwrap()
    }

    /// Sends it to a shell that has nothing.
    fn sent(copied: &Copied, input: &mut impl Write, output: &mut impl Read) -> io::Result<()> {
        match found(output)? {
            Found::Here => panic!("there is one already"),
            Found::Nothing { machine } => copied.send(&machine, input, output),
        }
    }

    #[test]
    fn what_is_there_is_started_and_says_so() {
        let there = tempfile::tempdir().unwrap();
        let program = there.path().join("jitterlab");
        fs::write(&program, "#!/bin/sh\necho \"$1\"\n").unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let output = Command::new("sh")
            .args(["-c", &command(false)])
            .env("PATH", format!("{}:/usr/bin:/bin", there.path().display()))
            .output()
            .unwrap();
        let mut said = &output.stdout[..];
        assert_eq!(found(&mut said).unwrap(), Found::Here);
        assert_eq!(said, b"agent\n");
    }

    #[test]
    fn what_is_sent_is_started_and_nothing_of_it_stays() {
        let [here, there] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let copied = copied(here.path());
        for shell in ["sh", "bash"] {
            let command = format!("echo hello; {}", command(true));
            let mut child = Command::new(shell)
                .args(["-c", &command])
                .env("TMPDIR", there.path())
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let mut stdin = child.stdin.take().unwrap();
            sent(&copied, &mut stdin, child.stdout.as_mut().unwrap()).unwrap();
            assert_eq!(fs::read_dir(there.path()).unwrap().count(), 1);
            stdin.write_all(b"frames").unwrap();
            drop(stdin);
            let output = child.wait_with_output().unwrap();
            assert_eq!(
                String::from_utf8_lossy(&output.stdout),
                "agent frames\nlibrary\n"
            );
            assert_eq!(fs::read_dir(there.path()).unwrap().count(), 0);
        }
    }

    #[test]
    fn what_does_not_arrive_as_it_was_sent_is_not_started_and_goes() {
        let [here, there] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let mut copied = copied(here.path());
        copied.files[1].1[0] ^= 1;
        let mut child = Command::new("sh")
            .args(["-c", &command(true)])
            .env("TMPDIR", there.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        sent(&copied, &mut stdin, child.stdout.as_mut().unwrap()).unwrap_err();
        let output = child.wait_with_output().unwrap();
        assert_eq!(
            String::from_utf8_lossy(&output.stderr),
            "what came of libjitterlab_preload.so is not what was sent\n"
        );
        assert_eq!(fs::read_dir(there.path()).unwrap().count(), 0);
    }

    #[test]
    fn another_kind_of_machine_is_said_and_gets_nothing() {
        let here = tempfile::tempdir().unwrap();
        let copied = copied(here.path());
        let mut to = Vec::new();
        let mut said = "motd\njitterlab: Linux toaster\n".as_bytes();
        let error = sent(&copied, &mut to, &mut said).unwrap_err();
        let error = error.to_string();
        assert!(
            error.contains("another kind of machine (Linux toaster)"),
            "{error}"
        );
        assert!(to.is_empty());
    }
}
