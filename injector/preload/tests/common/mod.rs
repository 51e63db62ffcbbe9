//! Small C programs, built here and run under the library.

// Each test program uses its own part of this.
#![allow(dead_code)]

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use jitterlab_injector::control::Hook;
use jitterlab_injector::environment;
use jitterlab_injector::generator::TABLE_ENTRIES;
use jitterlab_skip::built;
use serde_json::Value;
use tempfile::TempDir;

/// A folder with a table and a seed, in which programs are built and run.
pub struct Lab {
    folder: TempDir,
    environment: Vec<(String, String)>,
}

/// What became of a program.
pub struct Ended {
    pub output: Output,
    /// The report's lines: one for each process that ended in order.
    pub reports: Vec<Value>,
}

impl Lab {
    /// Every delay is `delay_ns`.
    pub fn constant(delay_ns: u32) -> Self {
        Lab::with_table(|_| delay_ns)
    }

    /// The delay at an index of the table.
    pub fn with_table(delay_ns: impl Fn(u32) -> u32) -> Self {
        let lab = Lab {
            folder: tempfile::tempdir().unwrap(),
            environment: Vec::new(),
        };
        let entries: Vec<u32> = (0..TABLE_ENTRIES as u32).map(delay_ns).collect();
        let lines: Vec<String> = entries
            .chunks(8)
            .map(|line| {
                line.iter()
                    .map(u32::to_string)
                    .collect::<Vec<_>>()
                    .join(" ")
                    + "\n"
            })
            .collect();
        std::fs::write(lab.path("t.dist"), lines.concat()).unwrap();
        std::fs::write(lab.path("s.seed"), "1\n").unwrap();
        let control = lab.path("control");
        let (table, seed) = (lab.path("t.dist"), lab.path("s.seed"));
        lab.set(environment::TABLE, table.to_str().unwrap())
            .set(environment::SEED, seed.to_str().unwrap())
            .set(environment::CONTROL_DIR, control.to_str().unwrap())
    }

    /// Sets a variable of the environment of every program that is run.
    pub fn set(mut self, name: &str, value: &str) -> Self {
        self.environment.retain(|(other, _)| other != name);
        self.environment.push((name.into(), value.into()));
        self
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Builds `tests/fixtures/NAME.c`.
    pub fn build(&self, name: &str, options: &[&str]) -> PathBuf {
        let program = self.path(name);
        compile(&fixture(name), &program, options);
        program
    }

    /// A program, to be run under the library.
    pub fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = self.command_without(program);
        command.env("LD_PRELOAD", library());
        command
    }

    /// A program, to be run in the same environment but without the library.
    pub fn command_without(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        command
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .env(environment::REPORT, self.path("report"))
            .current_dir(self.folder.path());
        command
    }

    /// Runs a program to its end.
    pub fn end(&self, mut command: Command) -> Ended {
        let report = self.path("report");
        let _ = std::fs::remove_file(&report);
        let output = command.output().unwrap();
        let reports = std::fs::read_to_string(&report)
            .unwrap_or_default()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        Ended { output, reports }
    }

    /// Builds a fixture, runs it with these arguments, and expects it to be content.
    pub fn run(&self, name: &str, arguments: &[&str]) -> Ended {
        let program = self.build(name, &[]);
        let mut command = self.command(program);
        command.args(arguments);
        let ended = self.end(command);
        ended.expect_done(name);
        ended
    }

    /// The control pages that are left.
    pub fn pages_left(&self) -> Vec<PathBuf> {
        std::fs::read_dir(self.path("control")).map_or(Vec::new(), |entries| {
            entries.map(|entry| entry.unwrap().path()).collect()
        })
    }
}

impl Ended {
    pub fn expect_done(&self, name: &str) {
        assert!(
            self.output.status.success(),
            "{name}: {}\n{}{}",
            self.output.status,
            self.stdout(),
            self.stderr()
        );
        assert_eq!(self.stderr(), "", "{name}");
    }

    pub fn stdout(&self) -> String {
        String::from_utf8_lossy(&self.output.stdout).into_owned()
    }

    pub fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.output.stderr).into_owned()
    }

    /// The one process's report.
    pub fn report(&self) -> &Value {
        assert_eq!(self.reports.len(), 1, "{:?}", self.reports);
        &self.reports[0]
    }

    /// A number, summed over all processes.
    pub fn sum(&self, name: &str) -> u64 {
        self.reports.iter().map(|r| r[name].as_u64().unwrap()).sum()
    }

    /// Calls that were caught at `hook`, over all processes.
    pub fn calls(&self, hook: Hook) -> u64 {
        let calls = |report: &Value| report["calls"][hook.name()].as_u64().unwrap();
        self.reports.iter().map(calls).sum()
    }
}

pub fn fixture(name: &str) -> PathBuf {
    fixture_file(&format!("{name}.c"))
}

pub fn fixture_file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(name)
}

/// Compiles a C file with every warning an error.
pub fn compile(source: &Path, target: &Path, options: &[&str]) {
    let strict = ["-g", "-pthread", "-Wall", "-Werror", "-D_GNU_SOURCE"];
    compile_by("cc", source, target, &[&strict[..], options].concat());
}

/// Compiles a file with a compiler that there may be for its language.
pub fn compile_by(compiler: &str, source: &Path, target: &Path, options: &[&str]) {
    let status = Command::new(compiler)
        .arg("-O1")
        .arg("-o")
        .arg(target)
        .arg(source)
        .args(options)
        .status()
        .expect("a C compiler is needed for these tests: install gcc and libc6-dev");
    assert!(status.success(), "{compiler} {}", source.display());
}

/// A port that nobody listens on.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

pub fn is_listening(port: u16) -> bool {
    let entry = format!(":{port:04X} ");
    ["tcp", "tcp6"].iter().any(|family| {
        let table = std::fs::read_to_string(format!("/proc/net/{family}")).unwrap_or_default();
        table
            .lines()
            .any(|line| line.contains(&entry) && line.contains(" 0A "))
    })
}

/// The library.
pub fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| built().join("libjitterlab_preload.so"))
}
