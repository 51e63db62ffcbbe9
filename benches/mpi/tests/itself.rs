//! What `jitterlab-mpi` writes of its own command line. Nothing of MPI starts for that.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn jitterlab_mpi(arguments: &[&str]) -> Output {
    // A launcher's variables that mean nothing: whoever starts MPI under them fails.
    Command::new(env!("CARGO_BIN_EXE_jitterlab-mpi"))
        .env("OMPI_MCA_ess", "nothing")
        .args(arguments)
        .output()
        .unwrap()
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
