//! A worker whose program is not at the end of ssh: this one is copied there, into a folder of its own, which goes when the
//! worker has ended, however that comes.

use std::env::consts::ARCH;
use std::fs;
use std::io::{self, Read, Write};
use std::path::Path;

use jitterlab_base::input::shortened;
use sha2::{Digest, Sha256};

/// Files that go together: the program, and the library beside it, if it is there.
const FILES: [&str; 2] = ["jitterlab", "libjitterlab_preload.so"];

/// A shell that says what machine it is on, keeps what it is sent, says that it has it, and starts the worker. It waits for its
/// end to remove the files, with the worker's own directory. Its words are: for each file name, size and sum. It has neither single quotes nor lines, for any
/// login shell to pass it on.
const SCRIPT: &str = "echo \"jitterlab: $(uname -sm)\"; \
    d=$(mktemp -d \"${TMPDIR:-/tmp}/jitterlab-copy-XXXXXX\") || exit 1; \
    trap \"rm -rf \\\"$d\\\"\" EXIT; trap \"exit 1\" HUP INT TERM; \
    while [ $# -gt 0 ]; do \
        head -c \"$2\" > \"$d/$1\" && chmod 700 \"$d/$1\" || exit 1; \
        s=$(sha256sum < \"$d/$1\") || exit 1; \
        if [ \"${s%% *}\" != \"$3\" ]; then echo \"what came of $1 is not what was sent\" >&2; exit 1; fi; \
        shift 3; \
    done; \
    echo \"jitterlab: copied\"; TMPDIR=$d \"$d/jitterlab\" agent";

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
    /// Of a program.
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

    /// What ssh is to start.
    pub fn command(&self) -> String {
        let files = self.files.iter();
        let words = files.map(|(name, content, sum)| format!(" {name} {} {sum}", content.len()));
        format!(
            "exec sh -c '{SCRIPT}' jitterlab{}",
            words.collect::<String>()
        )
    }

    /// Sends the files when the other end has said what machine it is; then the worker is there.
    ///
    /// # Errors
    /// It is a machine that this program is not for, the link ends, or it says something else.
    pub fn send(&self, input: &mut impl Write, output: &mut impl Read) -> io::Result<()> {
        let there = said(output)?;
        let here = format!("Linux {}", machine());
        if there != here {
            return Err(io::Error::other(format!(
                "it is another kind of machine ({}) than this program is for ({here}): install jitterlab there",
                shortened(&there)
            )));
        }
        for (_, content, _) in &self.files {
            input.write_all(content)?;
        }
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
    Err(io::Error::other(
        "it prints much, and nothing that is meant for jitterlab",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    /// A program that says what it is started with and what it reads, in the place of a worker.
    const PROGRAM: &str =
        "#!/bin/sh\necho \"$1 $(cat)\"\ncat \"$(dirname \"$0\")/libjitterlab_preload.so\"\n";

    fn copied(folder: &Path) -> Copied {
        fs::write(folder.join("jitterlab"), PROGRAM).unwrap();
        fs::write(folder.join("libjitterlab_preload.so"), "library\n").unwrap();
        Copied::of(&folder.join("jitterlab")).unwrap()
    }

    #[test]
    fn what_is_sent_is_started_and_nothing_of_it_stays() {
        let [here, there] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let copied = copied(here.path());
        for shell in ["sh", "bash"] {
            let command = format!("echo hello; {}", copied.command());
            let mut child = Command::new(shell)
                .args(["-c", &command])
                .env("TMPDIR", there.path())
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let mut stdin = child.stdin.take().unwrap();
            copied
                .send(&mut stdin, child.stdout.as_mut().unwrap())
                .unwrap();
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
        let command = copied.command();
        copied.files[1].1[0] ^= 1;
        let mut child = Command::new("sh")
            .args(["-c", &command])
            .env("TMPDIR", there.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        copied
            .send(&mut stdin, child.stdout.as_mut().unwrap())
            .unwrap_err();
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
        let mut sent = Vec::new();
        let mut said = "motd\njitterlab: Linux toaster\n".as_bytes();
        let error = copied.send(&mut sent, &mut said).unwrap_err().to_string();
        assert!(
            error.contains("another kind of machine (Linux toaster)"),
            "{error}"
        );
        assert!(sent.is_empty());
    }
}
