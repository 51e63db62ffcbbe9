//! `inject doctor`: which hooks a program's sends pass through, and what bypasses them.

mod calls;
mod conclusion;
pub(super) mod elf;
mod finding;
mod notes;
mod trace;
mod verdict;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use nix::sys::ptrace;
use nix::sys::signal::{Signal, raise};
use serde::Serialize;

use super::ending::{Ending, ending_signals};
use super::run;
use crate::outcome::{Exit, Failure};
use crate::output::{self, Format, printable};
use elf::Executable;
use finding::{Finding, Verdict};

/// Options of `inject doctor`.
#[derive(clap::Args)]
pub struct Doctor {
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// The program and its arguments; it is run once, without delays
    #[arg(last = true, required = true)]
    program: Vec<OsString>,
}

/// What `inject doctor` prints.
#[derive(Serialize)]
struct Report {
    program: PathBuf,
    file: Executable,
    /// How the program ended.
    ended: Ending,
    #[serde(flatten)]
    verdict: Verdict,
}

impl Doctor {
    pub fn run(self) -> Result<Exit, Failure> {
        if !cfg!(target_arch = "x86_64") {
            return Err(Failure::run(
                "the doctor reads the registers of x86-64; on this processor it cannot tell what \
                 a program asks of the kernel",
            ));
        }
        let name = Path::new(&self.program[0]);
        let program = elf::find(name).ok_or_else(|| {
            Failure::input(format!(
                "{} is not a program that can be run",
                name.display()
            ))
        })?;
        // What is missing is said before anything runs.
        run::library()?;
        let run = trace::run(&self.program).map_err(Failure::run)?;
        let report = Report {
            file: Executable::look(&program),
            program,
            ended: run.ending,
            verdict: verdict::judge(run.seen, Executable::look),
        };
        output::print(self.format, &report, || report.text())?;
        Ok(match report.verdict.sound {
            true => Exit::Done,
            false => Exit::Finding,
        })
    }
}

/// `inject traced`: stops for its tracer before it becomes the program.
pub fn traced(options: run::Run) -> Result<Exit, Failure> {
    ptrace::traceme().map_err(|errno| {
        Failure::run(format!(
            "cannot be traced: {errno}; the doctor needs ptrace, which this system or container \
             forbids"
        ))
    })?;
    ending_signals().thread_unblock().map_err(Failure::run)?;
    raise(Signal::SIGSTOP).map_err(Failure::run)?;
    options.start_watched()
}

impl Report {
    fn text(&self) -> String {
        let mut text = format!(
            "{} ran once, without delays, and ended with {}\n\n",
            printable(&self.program.to_string_lossy()),
            self.ended
        );
        if !self.verdict.rows.is_empty() {
            text.push_str("                   hooks    kernel  bypassed\n");
        }
        for row in &self.verdict.rows {
            let kernel = row.kernel.map_or("-".into(), |calls| calls.to_string());
            text.push_str(&format!(
                "{:14} {:9} {kernel:>9} {:9}\n",
                row.call, row.hooked, row.bypassed
            ));
        }
        self.list("bypasses the hooks", &self.verdict.bypasses, &mut text);
        self.list(
            "may bypass them in another run",
            &self.verdict.may_bypass,
            &mut text,
        );
        self.list("worth knowing", &self.verdict.notes, &mut text);
        text.push_str(&format!("\n{}\n", self.verdict.conclusion));
        text
    }

    fn list(&self, title: &str, findings: &[Finding], text: &mut String) {
        if findings.is_empty() {
            return;
        }
        text.push_str(&format!("\n{title}:\n"));
        for finding in findings {
            let program = printable(&finding.program.to_string_lossy());
            text.push_str(&format!("- {program}: {}\n", printable(&finding.text)));
        }
    }
}
