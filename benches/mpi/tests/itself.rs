//! What `jitterlab-mpi` writes of its own command line. Nothing of MPI starts for that.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_jitterlab-mpi"));
    // A launcher's variables that mean nothing: whoever starts MPI under them fails.
    command.env("OMPI_MCA_ess", "nothing").args(arguments);
    command
}

fn jitterlab_mpi(arguments: &[&str]) -> Output {
    command(arguments).output().unwrap()
}

#[test]
fn completions_know_every_command() {
    for shell in ["bash", "zsh", "fish"] {
        let output = jitterlab_mpi(&["completions", shell]);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        for word in ["library", "load", "npb"] {
            assert!(text.contains(word), "{shell}: {word}");
        }
    }
}

/// A reader that goes away before all was written is no error, and a full disk is one: said in a line.
#[test]
fn completions_end_well_where_nobody_reads_them_and_say_where_they_cannot_be_written() {
    for shell in ["bash", "zsh", "fish"] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let gone = command(&["completions", shell]).stdout(writer).output();
        let gone = gone.unwrap();
        assert_eq!(gone.status.code(), Some(0), "{shell}: {gone:?}");
        assert!(gone.stderr.is_empty(), "{shell}: {gone:?}");

        let full = fs::OpenOptions::new().write(true).open("/dev/full");
        let full = command(&["completions", shell])
            .stdout(full.unwrap())
            .output();
        let full = full.unwrap();
        assert_eq!(full.status.code(), Some(3), "{shell}: {full:?}");
        let said = String::from_utf8(full.stderr).unwrap();
        assert!(
            said.starts_with("jitterlab-mpi: ") && said.contains("No space left"),
            "{shell}: {said}"
        );
        assert_eq!(said.lines().count(), 1, "{shell}: {said}");
    }
}

/// `packages/test` compares the package with this list.
#[test]
fn manual_pages_are_written_and_the_package_holds_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("man");
    let output = jitterlab_mpi(&["man", path.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let page = fs::read_to_string(path.join("jitterlab-mpi-library.1")).unwrap();
    assert!(page.contains("\\-\\-duration"), "{page}");

    let pages = fs::read_dir(&path).unwrap();
    let pages = pages.map(|page| page.unwrap().file_name().into_string().unwrap());
    let list = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packages/contents/jitterlab-mpi");
    let list = fs::read_to_string(list).unwrap();
    let listed = list.lines().filter_map(|line| {
        let (_, page) = line.split_once(" /usr/share/man/man1/")?;
        page.strip_suffix(".gz").map(String::from)
    });
    assert_eq!(listed.collect::<BTreeSet<_>>(), pages.collect());

    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let wrong = jitterlab_mpi(&["man", file.to_str().unwrap()]);
    assert_eq!(wrong.status.code(), Some(3), "{wrong:?}");
}
