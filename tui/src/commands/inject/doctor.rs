//! `inject doctor`: which hooks a program's sends pass through, and what bypasses them.

use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Command, Stdio};

use jitterlab_base::show::printable;
use jitterlab_doctor::{Finding, Report, elf, examine, stop_for_watcher};
use jitterlab_injector::control::HookFamily;

use super::{run, undelayed};
use crate::outcome::{Exit, Failure};
use crate::output::{self, Format};

/// Options of `inject doctor`.
#[derive(clap::Args)]
pub struct Doctor {
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// The program and its arguments. It is run once, without delays
    #[arg(last = true, required = true)]
    program: Vec<OsString>,
}

impl Doctor {
    pub fn run(self) -> Result<Exit, Failure> {
        let name = Path::new(&self.program[0]);
        let program = elf::find(name).ok_or_else(|| {
            Failure::input(format!(
                "{} is not a program that can be run",
                name.display()
            ))
        })?;
        // The missing parts are told before anything runs.
        run::library()?;
        let folder = tempfile::tempdir().map_err(Failure::run)?;
        let command = self.starter(folder.path()).map_err(Failure::run)?;
        let report = examine(program, command, folder.path()).map_err(Failure::run)?;
        output::print(self.format, &report, || text(&report))?;
        Ok(match report.verdict.sound {
            true => Exit::Done,
            false => Exit::Finding,
        })
    }

    /// Starts the program, by `inject watched`. What it prints goes to stderr, since stdout is for the report.
    fn starter(&self, folder: &Path) -> io::Result<Command> {
        let mut command = Command::new(std::env::current_exe()?);
        command
            .args(["inject", "watched"])
            .args(undelayed::options(folder, &HookFamily::ALL)?)
            .arg("--")
            .args(&self.program)
            .stdout(Stdio::from(io::stderr().as_fd().try_clone_to_owned()?));
        Ok(command)
    }
}

/// `inject watched`: stops for its watcher before it becomes the program.
pub fn watched(options: run::Run) -> Result<Exit, Failure> {
    stop_for_watcher().map_err(Failure::run)?;
    options.start_watched()
}

fn text(report: &Report) -> String {
    let mut text = format!(
        "{} ran once, without delays, and ended with {}\n\n",
        printable(&report.program.to_string_lossy()),
        report.ended
    );
    let verdict = &report.verdict;
    if !verdict.rows.is_empty() {
        text.push_str("                   hooks    kernel  bypassed\n");
    }
    for row in &verdict.rows {
        let kernel = row.kernel.map_or("-".into(), |calls| calls.to_string());
        text.push_str(&format!(
            "{:14} {:9} {kernel:>9} {:9}\n",
            row.call, row.hooked, row.bypassed
        ));
    }
    list("bypasses the hooks", &verdict.bypasses, &mut text);
    list(
        "may bypass them in another run",
        &verdict.may_bypass,
        &mut text,
    );
    list("worth knowing", &verdict.notes, &mut text);
    text.push_str(&format!("\n{}\n", verdict.conclusion));
    text
}

fn list(title: &str, findings: &[Finding], text: &mut String) {
    if findings.is_empty() {
        return;
    }
    text.push_str(&format!("\n{title}:\n"));
    for finding in findings {
        let program = printable(&finding.program.to_string_lossy());
        text.push_str(&format!("- {program}: {}\n", printable(&finding.text)));
    }
}
