//! Programs in C use the library: each in `tests/c` is compiled and run.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use jitterlab_skip::{skip, skip_part};
use tempfile::TempDir;

const TRANSPORTS: [&str; 2] = ["udp", "shm"];

/// The library, built if it has to be: cargo builds no shared library for a test by itself.
fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        // target/PROFILE/deps/this-test
        let test = std::env::current_exe().unwrap();
        let folder = test.parent().unwrap().parent().unwrap();
        let mut build = Command::new(env!("CARGO"));
        build
            .args(["build", "--quiet", "--lib", "--package"])
            .arg("jitterlab-amvia-capi")
            .arg("--target-dir")
            .arg(folder.parent().unwrap())
            .current_dir(env!("CARGO_MANIFEST_DIR"));
        if folder.ends_with("release") {
            build.arg("--release");
        }
        assert!(build.status().unwrap().success());
        folder.join("libamvia.so")
    })
}

fn is_there(program: &str) -> bool {
    Command::new(program)
        .arg("--version")
        .output()
        .is_ok_and(|output| output.status.success())
}

/// A compiler and what it takes its sources for.
struct Compiler {
    program: &'static str,
    options: &'static [&'static str],
}

const C: Compiler = Compiler {
    program: "cc",
    options: &["-std=c11", "-D_GNU_SOURCE"],
};
const CPP: Compiler = Compiler {
    program: "c++",
    options: &["-std=c++17", "-x", "c++"],
};

impl Compiler {
    /// Compiles a program of `tests/c`; none where there is no compiler.
    fn compile(&self, name: &str, folder: &Path) -> Option<PathBuf> {
        if !is_there(self.program) {
            skip(format!("there is no {}", self.program));
            return None;
        }
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let library = library().parent().unwrap();
        let program = folder.join(name);
        let output = Command::new(self.program)
            .args(self.options)
            .args(["-Wall", "-Wextra", "-Werror", "-pedantic", "-g", "-pthread"])
            .arg(here.join("tests/c").join(format!("{name}.c")))
            .args(["-x", "none", "-I"])
            .arg(here.join("include"))
            .arg("-L")
            .arg(library)
            .arg(format!("-Wl,-rpath,{}", library.display()))
            .args(["-lamvia", "-o"])
            .arg(&program)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        Some(program)
    }
}

fn run(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Runs a program alone and, where there is valgrind, under its memcheck.
fn run_and_check(program: &Path, arguments: &[&str]) {
    run(Command::new(program).args(arguments));
    if !is_there("valgrind") {
        return skip_part("memcheck", "there is no valgrind");
    }
    run(Command::new("valgrind")
        .args(["--quiet", "--error-exitcode=9", "--leak-check=full"])
        .args(["--errors-for-leak-kinds=definite", "--fair-sched=yes"])
        .arg(program)
        .args(arguments)
        .arg("checked"));
}

/// Names in shared memory are those of the machine.
fn place(transport: &str, name: &str) -> String {
    match transport {
        "udp" => "udp://127.0.0.1:0".into(),
        _ => format!("shm://{name}-{}", std::process::id()),
    }
}

#[test]
fn messages_of_every_size_come_back() {
    let folder = TempDir::new().unwrap();
    let Some(echo) = C.compile("echo", folder.path()) else {
        return;
    };
    for transport in TRANSPORTS {
        let (server, client) = (place(transport, "echo"), place(transport, "asks"));
        run_and_check(&echo, &[&server, &client]);
    }
}

#[test]
fn a_program_in_cpp_uses_the_header() {
    let folder = TempDir::new().unwrap();
    let Some(echo) = CPP.compile("echo", folder.path()) else {
        return;
    };
    run(Command::new(echo).args(["udp://127.0.0.1:0", "udp://127.0.0.1:0"]));
}
