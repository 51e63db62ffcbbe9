//! What `jitterlab` writes of its own command line.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_jitterlab"));
    command.args(arguments);
    command
}

fn jitterlab(arguments: &[&str]) -> Output {
    command(arguments).output().unwrap()
}

#[test]
fn completions_know_every_command() {
    for shell in ["bash", "zsh", "fish"] {
        let output = jitterlab(&["completions", shell]);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        for word in ["inject", "validate", "amvia"] {
            assert!(text.contains(word), "{shell}: {word}");
        }
    }
    let wrong = jitterlab(&["completions", "tcsh"]);
    assert_eq!(wrong.status.code(), Some(2), "{wrong:?}");
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
            said.starts_with("jitterlab: ") && said.contains("No space left"),
            "{shell}: {said}"
        );
        assert_eq!(said.lines().count(), 1, "{shell}: {said}");
    }
}

/// One page for each command, which says what its options are.
#[test]
fn manual_pages_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("man");
    let output = jitterlab(&["man", path.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let page = std::fs::read_to_string(path.join("jitterlab-inject-run.1")).unwrap();
    assert!(page.contains("\\-\\-delay"), "{page}");
    assert!(path.join("jitterlab.1").is_file());

    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let wrong = jitterlab(&["man", file.to_str().unwrap()]);
    assert_eq!(wrong.status.code(), Some(3), "{wrong:?}");
}

/// What Debian's packages say of themselves is what the manifest says.
#[test]
fn packages_name_the_version_and_the_licence() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let packages = |file: &str| fs::read_to_string(root.join("packages").join(file)).unwrap();
    let version = format!("jitterlab ({}-1) ", env!("CARGO_PKG_VERSION"));
    assert!(packages("changelog").starts_with(&version), "{version}");
    let licence = env!("CARGO_PKG_LICENSE").replace(" OR ", " or ");
    let copyright = packages("copyright");
    assert!(copyright.contains(&format!("License: {licence}\n")));
    for each in licence.split(" or ") {
        assert!(
            copyright.contains(&format!("\nLicense: {each}\n ")),
            "{each}"
        );
    }
}

/// The names of the files of a folder that end like this.
fn names(folder: PathBuf, endings: &[&str]) -> BTreeSet<String> {
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let is_one = |name: &String| endings.iter().any(|ending| name.ends_with(ending));
    names.filter(is_one).collect()
}

/// `packages/test` compares a package with this list; who adds a page, a chapter or an experiment adds it there.
#[test]
fn the_list_of_what_the_package_holds_is_whole() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let list = fs::read_to_string(root.join("packages/contents/jitterlab")).unwrap();
    let listed = |folder: &str, suffix: &str| -> BTreeSet<String> {
        let paths = list.lines().filter_map(|line| line.split_once(" /"));
        let names = paths.filter_map(|(_, path)| path.strip_prefix(folder)?.strip_prefix('/'));
        names
            .filter(|name| !name.is_empty() && !name.contains('/'))
            .filter_map(|name| name.strip_suffix(suffix).map(String::from))
            .collect()
    };
    let pages = tempfile::tempdir().unwrap();
    let output = jitterlab(&["man", pages.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(
        listed("usr/share/man/man1", ".gz"),
        names(pages.path().into(), &[".1"])
    );
    for (place, source, endings) in [
        ("usr/share/doc/jitterlab/docs", "docs", &[".md", ".svg"][..]),
        (
            "usr/share/jitterlab/experiments",
            "experiments",
            &[".yaml"][..],
        ),
        (
            "usr/lib/systemd/system",
            "packages/systemd",
            &[".service"][..],
        ),
    ] {
        assert_eq!(
            listed(place, ""),
            names(root.join(source), endings),
            "{source}"
        );
    }
}
