//! The program, run in a folder of its own.

// Each test program uses its own part of this.
#![allow(dead_code)]

pub mod amvia;
pub mod experiments;
pub mod mpi;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use jitterlab_stats::distribution::Distribution;
use serde_json::Value;
use tempfile::TempDir;

/// A folder, and the program run in it.
pub struct Lab(TempDir);

impl Lab {
    pub fn new() -> Self {
        Lab(tempfile::tempdir().unwrap())
    }

    /// With the tables and samples that the tests of `dist` ask for.
    pub fn with_tables() -> Self {
        let lab = Lab::new();
        lab.done("dist make --shape lognormal --mean 10us --std 20us --seed 7 -o t.dist");
        lab.write("plain", "1 2 3 4 5 6 7 8\n".repeat(512));
        lab.write(
            "samples.csv",
            format!("rtt_ns\n{}", lognormal(2_000, 0.5, 9e3, 2.5e3)),
        );
        lab
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The PATH with the folder `bin` of the lab before the others.
    pub fn path_with_bin(&self) -> String {
        let others = std::env::var("PATH").unwrap();
        format!("{}:{others}", self.path("bin").display())
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), content).unwrap();
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// `jitterlab` with these arguments, not started yet.
    pub fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_jitterlab"));
        command
            .args(arguments.split_whitespace())
            .current_dir(self.0.path());
        command
    }

    /// The same for what is to be ended by a signal. Tests in the background of a shell, or under nohup, have some
    /// ignored, and so would what they start.
    pub fn mortal(&self, arguments: &str) -> Command {
        let mut command = Command::new("env");
        command
            .args(["--default-signal", env!("CARGO_BIN_EXE_jitterlab")])
            .args(arguments.split_whitespace())
            .current_dir(self.0.path());
        command
    }

    pub fn run(&self, arguments: &str) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Expects exit status 0 and an empty stderr; gives stdout.
    pub fn done(&self, arguments: &str) -> String {
        let output = self.run(arguments);
        assert_eq!(text(&output.stderr), "", "{arguments}");
        assert_eq!(output.status.code(), Some(0), "{arguments}");
        text(&output.stdout)
    }

    pub fn json(&self, arguments: &str) -> Value {
        serde_json::from_str(&self.done(arguments)).unwrap()
    }

    /// Expects exit status 2, nothing on stdout, no file made or changed, and on stderr the one
    /// line `jitterlab: MESSAGE`; or, of what is wrong with the arguments, the first line.
    pub fn refuses(&self, arguments: &str, message: &str) {
        let before = files(self.0.path());
        let output = self.run(arguments);
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments}: {stderr}");
        assert_eq!(text(&output.stdout), "", "{arguments}");
        match message.strip_prefix("error: ") {
            Some(_) => assert_eq!(stderr.lines().next(), Some(message), "{arguments}"),
            None => assert_eq!(stderr, format!("jitterlab: {message}\n"), "{arguments}"),
        }
        assert!(files(self.0.path()) == before, "{arguments} left something");
    }
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Every file below a folder, with what it holds; nothing for a folder.
fn files(folder: &Path) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
            found.insert(path, None);
        } else {
            let content = std::fs::read(&path).unwrap();
            found.insert(path, Some(content));
        }
    }
    found
}

/// `n` samples that are as a lognormal's samples should be, one a line, in whole nanoseconds.
pub fn lognormal(n: u32, shape: f64, location: f64, scale: f64) -> String {
    let distribution = Distribution::LogNormal {
        shape,
        location,
        scale,
    };
    (0..n)
        .map(|i| {
            let share = (f64::from(i) + 0.5) / f64::from(n);
            format!("{:.0}\n", distribution.quantile(share))
        })
        .collect()
}

/// With long fractions cut to three digits: what is beyond depends on the machine's mathematics.
pub fn rounded(text: &str) -> String {
    let long = regex::Regex::new(r"[0-9]+\.[0-9]{4,}").unwrap();
    long.replace_all(text, |number: &regex::Captures| {
        format!("{:.3}", number[0].parse::<f64>().unwrap())
    })
    .into_owned()
}
