//! What `jitterlab` writes of its own command line.

use std::process::Command;

fn jitterlab(arguments: &[&str]) -> std::process::Output {
    Command::new(env!("CARGO_BIN_EXE_jitterlab"))
        .args(arguments)
        .output()
        .unwrap()
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
