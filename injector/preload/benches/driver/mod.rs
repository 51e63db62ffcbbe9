//! The C program that is measured, kept running, and its control page.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use jitterlab_base::page;
use jitterlab_injector::control::{self, Settings};
use jitterlab_injector::environment;
use jitterlab_injector::generator::TABLE_ENTRIES;
use jitterlab_injector::table::DelayUnit;
use tempfile::TempDir;

/// The running driver.
pub struct Driver {
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
    folder: TempDir,
}

impl Driver {
    /// Builds everything and starts the driver on one core, its delays zero.
    pub fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let library = library();
        let device = path("libnull.so");
        compile("null_device.c", &device, &["-shared", "-fPIC"]);
        let program = path("driver");
        // Loops begin with a cache line, and functions are called without a detour through a table of the program's.
        let options = [
            "-falign-loops=64",
            "-fPIE",
            "-pie",
            device.to_str().unwrap(),
            "-ldl",
        ];
        compile("driver.c", &program, &options);
        let line = format!("{}\n", ["0"; 8].join(" "));
        std::fs::write(path("t.dist"), line.repeat(TABLE_ENTRIES / 8)).unwrap();
        std::fs::write(path("s.seed"), "1\n").unwrap();
        let mut child = Command::new(&program)
            .env("LD_PRELOAD", format!("{library}:{}", device.display()))
            .env(environment::HOOKS, "verbs,socket,mpi")
            .env(environment::TABLE, path("t.dist"))
            .env(environment::SEED, path("s.seed"))
            .env(environment::CONTROL_DIR, path("control"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut answers = BufReader::new(child.stdout.take().unwrap());
        let mut ready = String::new();
        answers.read_line(&mut ready).unwrap();
        Driver {
            requests: child.stdin.take().unwrap(),
            answers,
            child,
            folder,
        }
    }

    /// Has something measured; the numbers of the answer.
    pub fn ask(&mut self, request: &str) -> Vec<f64> {
        writeln!(self.requests, "{request}").unwrap();
        let mut answer = String::new();
        self.answers.read_line(&mut answer).unwrap();
        answer
            .split_whitespace()
            .map(|number| number.parse().unwrap())
            .collect()
    }

    /// Switches injection on with a constant delay, or off.
    pub fn inject(&self, delay: Option<(u32, DelayUnit)>) {
        let page = self
            .folder
            .path()
            .join("control")
            .join(page::file_name(self.child.id()).unwrap());
        let page = control::attach(&page).unwrap();
        page.lock()
            .unwrap()
            .change(|settings: &mut Settings, table| {
                settings.enabled = delay.is_some();
                if let Some((delay, unit)) = delay {
                    settings.unit = unit;
                    table.entries.fill(delay);
                }
            });
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn compile(source: &str, target: &Path, options: &[&str]) {
    let status = Command::new("cc")
        .args(["-O2", "-Wall", "-D_GNU_SOURCE", "-o"])
        .arg(target)
        .arg(
            Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("benches")
                .join(source),
        )
        .args(options)
        .status()
        .expect("a C compiler is needed: install gcc, libc6-dev and libibverbs-dev");
    assert!(status.success());
}

/// The optimised library.
fn library() -> String {
    let path = jitterlab_skip::built().join("libjitterlab_preload.so");
    path.display().to_string()
}

/// The middle one.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
