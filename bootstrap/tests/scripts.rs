//! The scripts of `bootstrap`, `images` and `playbooks`: what is wrong with their arguments is said in one line before anything starts.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    root.unwrap().into()
}

/// A script with these arguments, started in a folder.
fn run(script: &str, arguments: &[&str], folder: &Path) -> Output {
    let mut command = Command::new(root().join(script));
    command
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null());
    command.output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Expects exit status 2, nothing on stdout, no file made, and one line on stderr: the script's name and what it says.
fn refuses(script: &str, arguments: &[&str], folder: &Path, said: &str) {
    let names = || fs::read_dir(folder).unwrap().count();
    let before = names();
    let output = run(script, arguments, folder);
    let stderr = text(&output.stderr);
    let arguments = format!("{script} {}", arguments.join(" "));
    assert_eq!(output.status.code(), Some(2), "{arguments}: {stderr}");
    assert_eq!(text(&output.stdout), "", "{arguments}");
    assert_eq!(stderr.lines().count(), 1, "{arguments}: {stderr}");
    assert!(
        stderr.starts_with(&format!("{script}: ")) && stderr.contains(said),
        "{arguments}: {stderr}, not {said}"
    );
    assert_eq!(names(), before, "{arguments} left something");
}

/// A file that is all but its file system: an ext4 with this label.
fn volume(folder: &Path, name: &str, label: &str) {
    let path = folder.join(name);
    let file = fs::File::create(&path).unwrap();
    file.set_len(8 << 20).unwrap();
    let mut make = Command::new("mke2fs");
    make.env("PATH", "/usr/sbin:/sbin:/usr/bin:/bin")
        .args(["-q", "-t", "ext4", "-L", label])
        .arg(path);
    assert!(make.status().unwrap().success());
}

#[test]
fn help_is_all_that_help_prints() {
    let folder = TempDir::new().unwrap();
    for script in [
        "bootstrap/run",
        "bootstrap/test",
        "bootstrap/bench",
        "images/boot",
        "images/build",
        "images/test",
        "images/guest/boot",
        "images/guest/build",
        "playbooks/test",
    ] {
        for option in ["--help", "-h"] {
            let output = run(script, &[option], folder.path());
            assert_eq!(output.status.code(), Some(0), "{script}");
            assert_eq!(text(&output.stderr), "", "{script}");
            let help = text(&output.stdout);
            assert!(
                help.contains(&format!("  {script}")) && !help.contains("set -"),
                "{script}: {help}"
            );
        }
    }
}

#[test]
fn a_boot_that_cannot_be_is_refused_before_it_starts() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    fs::write(at.join("text"), "hello\n").unwrap();
    fs::write(at.join("empty"), "").unwrap();
    fs::create_dir(at.join("folder")).unwrap();
    fs::write(at.join("folder/vmlinuz"), "no kernel\n").unwrap();
    volume(at, "other", "OTHER");
    volume(at, "volume", "JITTERLAB");
    volume(at, "several.1", "JITTERLAB");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let long = "x".repeat(2000);
    for (arguments, said) in [
        (&["--memory", "abc"][..], "--memory is a number from 1 to"),
        (&["--memory", "0"], "--memory is a number from 1 to"),
        (&["--memory", "-1"], "--memory is a number from 1 to"),
        (&["--memory", "2G"], "--memory is a number from 1 to"),
        (&["--memory", "99999999"], "more than this machine has"),
        (
            &["--memory", "99999999999999999999"],
            "--memory is a number",
        ),
        (&["--memory", "1001"], "do not divide into 2 NUMA nodes"),
        (&["--nodes", "0"], "--nodes is a number from 1 to 4, not 0"),
        (&["--nodes", "1000"], "--nodes is a number from 1 to 4"),
        (&["--cpus", "1000"], "--cpus is a number from 1 to 255"),
        (
            &["--cpus", "3"],
            "3 processors do not divide into 2 NUMA nodes",
        ),
        (
            &["--numa", "8"],
            "4 processors do not divide into 8 NUMA nodes",
        ),
        (&["--timeout", "1.5"], "--timeout is a number"),
        (
            &["--image", "/nonexistent"],
            "there is no folder /nonexistent",
        ),
        (&["--image", "text"], "there is no folder"),
        (&["--image", "folder"], "is no image: it has no initrd"),
        (
            &["--image", "folder", "--firmware", "uefi"],
            "has no jitterlab.iso",
        ),
        (
            &["--volume", "text"],
            "is no volume: it holds no file system",
        ),
        (
            &["--volume", "empty"],
            "is no volume: it holds no file system",
        ),
        (
            &["--volume", "folder"],
            "is no volume: expected a file or a disk",
        ),
        (
            &["--volume", "/dev/null"],
            "is no volume: expected a file or a disk",
        ),
        (
            &["--volume", "other"],
            "its label is not JITTERLAB but OTHER",
        ),
        (
            &["--volume", "none/volume"],
            "cannot be made: there is no folder",
        ),
        (&["--volume", ""], "--volume needs a value"),
        (&["--volume", "--console"], "--volume needs a value"),
        (&["--volume"], "--volume needs a value"),
        (&["--config", "none"], "there is no node.yaml"),
        (&["--config", "folder"], "expected a file"),
        (
            &["--config", "text", "--config", "text"],
            "2 node files for 1 nodes",
        ),
        (&["--run", "text"], "--run needs --volume"),
        (
            &["--run", "none", "--volume", "v"],
            "there is no experiment file",
        ),
        (&["--run", "folder", "--volume", "v"], "expected a file"),
        (&["--ssh", "65536"], "--ssh is a number from 1 to 65535"),
        (
            &["--ssh", "65535", "--nodes", "2"],
            "2 nodes take the ports up to 65536",
        ),
        (&["--ssh", &port], "is taken"),
        (&["--serve", "80"], "--serve needs a port and the path"),
        (&["--serve", "80=echo"], "--serve needs a port and the path"),
        (
            &["--serve", "80=/nonexistent x"],
            "there is no program /nonexistent",
        ),
        (&["--serve", "80=/tmp"], "there is no program /tmp"),
        (
            &["--serve", "99999=/bin/echo"],
            "is a number from 1 to 65535",
        ),
        (
            &["--serve", "80=/bin/echo", "--serve", "80=/bin/cat"],
            "two commands for port 80",
        ),
        (&["--firmware", "coreboot"], "--firmware is bios or uefi"),
        (&["--cd"], "--cd needs --firmware"),
        (&["--firmware", "bios", "--append", "x"], "see its menu"),
        (&["--append", "a\nb"], "--append takes one line"),
        (&["--append", &long], "--append takes one line"),
        (
            &["--nodes", "2", "node.yaml"],
            "unknown: node.yaml; images/boot --help",
        ),
        (&["--verbose"], "unknown: --verbose; images/boot --help"),
    ] {
        refuses("images/boot", arguments, at, said);
    }
    // With somebody else at the volume, even at that of one node of two.
    for (name, arguments) in [
        ("volume", &["--volume", "volume"][..]),
        ("several.1", &["--nodes", "2", "--volume", "several"]),
    ] {
        let file = fs::File::open(at.join(name)).unwrap();
        file.lock().unwrap();
        refuses("images/boot", arguments, at, "is in use");
    }
}

#[test]
fn other_scripts_refuse_what_they_do_not_understand() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    fs::write(at.join("text"), "hello\n").unwrap();
    fs::create_dir(at.join("folder")).unwrap();
    fs::write(at.join("folder/mine"), "").unwrap();
    for (script, arguments, said) in [
        ("images/build", &["--out"][..], "--out needs a value"),
        ("images/build", &["--out", "text"], "is no folder"),
        ("images/build", &["--out", "folder"], "holds something else"),
        (
            "images/build",
            &["--out", "/dev/null/x"],
            "there is no folder /dev/null/x",
        ),
        (
            "images/build",
            &["now"],
            "unknown: now; images/build --help",
        ),
        (
            "images/test",
            &["none"],
            "there is no scenario none; there are ",
        ),
        (
            "images/test",
            &["appliance"],
            "there is no scenario appliance;",
        ),
        (
            "images/test",
            &["appliance/short.yaml"],
            "there is no scenario",
        ),
        ("images/test", &["--all"], "unknown: --all"),
        (
            "images/guest/boot",
            &["--script", "none"],
            "there is no script",
        ),
        ("images/guest/boot", &["--share", "text"], "is no folder"),
        (
            "images/guest/boot",
            &["--cpus", "0"],
            "--cpus is a number from 1 to 255",
        ),
        (
            "images/guest/boot",
            &["--guest", "folder"],
            "is no guest: it has no disk.img",
        ),
        ("images/guest/boot", &["x"], "unknown: x"),
        ("images/guest/build", &["x"], "unknown: x"),
        (
            "bootstrap/run",
            &["none.yaml"],
            "there is no experiment file",
        ),
        ("bootstrap/run", &["folder"], "expected a file"),
        (
            "bootstrap/run",
            &["a", "b"],
            "takes one experiment file, not 2",
        ),
        (
            "bootstrap/run",
            &["--fast"],
            "unknown: --fast; bootstrap/run --help",
        ),
        (
            "bootstrap/test",
            &["--fast"],
            "unexpected argument '--fast'",
        ),
        ("bootstrap/bench", &["--fast"], "unknown: --fast"),
        ("playbooks/test", &["--fast"], "unknown: --fast"),
        (
            "images/scenarios/appliance/nodes",
            &["1000"],
            "is a number from 1 to 4",
        ),
    ] {
        refuses(script, arguments, at, said);
    }
}
