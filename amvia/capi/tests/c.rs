//! Programs in C use the library: each in `tests/c` is compiled and run.

use std::fs;
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::thread;

use jitterlab_amvia::names::{self, Key};
use jitterlab_skip::{built, skip, skip_part};
use tempfile::TempDir;

const TRANSPORTS: [&str; 2] = ["udp", "shm"];

/// The library.
fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| built().join("libamvia.so"))
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
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c");
        self.compile_file(&sources.join(format!("{name}.c")), &folder.join(name))
    }

    fn compile_file(&self, source: &Path, program: &Path) -> Option<PathBuf> {
        if !is_there(self.program) {
            skip(format!("there is no {}", self.program));
            return None;
        }
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let library = library().parent().unwrap();
        let output = Command::new(self.program)
            .args(self.options)
            .args(["-Wall", "-Wextra", "-Werror", "-pedantic", "-g", "-pthread"])
            .arg(source)
            .args(["-x", "none", "-I"])
            .arg(here.join("include"))
            .arg("-L")
            .arg(library)
            .arg(format!("-Wl,-rpath,{}", library.display()))
            .args(["-lamvia", "-o"])
            .arg(program)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        Some(program.into())
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
        .args(["--quiet", "--error-exitcode=9", "--fair-sched=yes"])
        .args(["--leak-check=full", "--show-leak-kinds=definite"])
        .arg("--errors-for-leak-kinds=definite")
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

#[test]
fn the_program_in_the_chapter_says_what_the_chapter_says() {
    let folder = TempDir::new().unwrap();
    let chapter = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/amvia.md");
    let chapter = fs::read_to_string(chapter).unwrap();
    let (_, rest) = chapter.split_once("```c\n").unwrap();
    let (source, _) = rest.split_once("```").unwrap();
    let file = folder.path().join("program.c");
    fs::write(&file, source).unwrap();
    let Some(program) = C.compile_file(&file, &folder.path().join("program")) else {
        return;
    };
    let output = Command::new(program).output().unwrap();
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "<ACKED, PROCESSED>: 2 4 6\n"
    );
}

#[test]
fn who_frees_an_endpoint_waits_for_its_handler() {
    let folder = TempDir::new().unwrap();
    if let Some(program) = C.compile("free", folder.path()) {
        run_and_check(&program, &[]);
    }
}

#[test]
fn an_endpoint_is_found_by_its_name() {
    let folder = TempDir::new().unwrap();
    let Some(program) = C.compile("names", folder.path()) else {
        return;
    };
    let [key, other_key] = ["key", "other-key"].map(|name| folder.path().join(name));
    for key in [&key, &other_key] {
        Key::make(key).unwrap();
    }
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap().to_string();
    let server = names::Server::new(Key::read(&key).unwrap(), &names::random().unwrap(), 16);
    // It serves as long as the test runs.
    thread::spawn(move || names::serve(&socket, server, |_| ()));
    let files = [&key, &other_key].map(|file| file.to_str().unwrap());
    run_and_check(&program, &[&address, files[0], files[1]]);
}

#[test]
fn every_error_is_a_code_and_a_sentence() {
    let folder = TempDir::new().unwrap();
    let Some(errors) = C.compile("errors", folder.path()) else {
        return;
    };
    run_and_check(&errors, &[]);
}

#[test]
fn a_log_is_set_aside_and_a_new_one_begins() {
    let folder = TempDir::new().unwrap();
    if let Some(aside) = C.compile("aside", folder.path()) {
        run_and_check(&aside, &[folder.path().to_str().unwrap()]);
    }
}

#[test]
fn a_request_goes_to_another_node_once_it_is_known_not_to_have_run() {
    let folder = TempDir::new().unwrap();
    let Some(failover) = C.compile("failover", folder.path()) else {
        return;
    };
    let server = C.compile("server", folder.path()).unwrap();
    for transport in TRANSPORTS {
        let logs = TempDir::new().unwrap();
        run(Command::new(&failover)
            .arg(&server)
            .arg(place(transport, "first"))
            .arg(place(transport, "second"))
            .arg(place(transport, "client"))
            .arg(logs.path()));
    }
}

#[test]
fn a_client_that_was_killed_learns_from_its_log_what_became_of_its_requests() {
    let folder = TempDir::new().unwrap();
    let Some(recovery) = C.compile("recovery", folder.path()) else {
        return;
    };
    let server = C.compile("server", folder.path()).unwrap();
    for transport in TRANSPORTS {
        let logs = TempDir::new().unwrap();
        run(Command::new(&recovery)
            .arg(&server)
            .arg(place(transport, "counts"))
            .arg(place(transport, "killed"))
            .arg(logs.path()));
    }
}
