//! `inject trace`: what the ranks of an MPI program send to each other.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use jitterlab_base::show::printable;
use jitterlab_injector::control::HookFamily;
use jitterlab_injector::environment;
use jitterlab_injector::record::{Traffic, read};
use serde::Serialize;

use super::{run, undelayed};
use crate::outcome::{Exit, Failure};
use crate::output::{self, Format};
use jitterlab_doctor::elf;
use jitterlab_doctor::ending::{Alive, Ending};

/// Options of `inject trace`.
#[derive(clap::Args)]
pub struct Trace {
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// The command that starts the program, such as mpirun. It is run once, without delays
    #[arg(last = true, required = true)]
    program: Vec<OsString>,
}

/// What `inject trace` prints.
#[derive(Serialize)]
struct Report {
    program: String,
    ended: Ending,
    #[serde(flatten)]
    traffic: Traffic,
}

impl Trace {
    pub fn run(self) -> Result<Exit, Failure> {
        let name = Path::new(&self.program[0]);
        if elf::find(name).is_none() {
            return Err(Failure::input(format!(
                "{} is not a program that can be run",
                name.display()
            )));
        }
        run::library()?;
        let folder = tempfile::tempdir().map_err(Failure::run)?;
        let records = folder.path().join("records");
        fs::create_dir(&records).map_err(Failure::run)?;
        let status = self.watch(folder.path(), &records).map_err(Failure::run)?;
        let (records, cut_off) = read(&records).map_err(Failure::run)?;
        if cut_off > 0 {
            eprintln!("jitterlab: {cut_off} of the ranks' records are cut off, and left out");
        }
        let words: Vec<_> = self
            .program
            .iter()
            .map(|word| word.to_string_lossy())
            .collect();
        let traffic = Traffic::of(records);
        let all_there = traffic.ranks > 0 && traffic.silent.is_empty() && cut_off == 0;
        let report = Report {
            program: words.join(" "),
            ended: status.into(),
            traffic,
        };
        output::print(self.format, &report, || report.text())?;
        Ok(match status.success() && all_there {
            true => Exit::Done,
            false => Exit::Finding,
        })
    }

    /// Runs the program to its end. What it prints goes to stderr, since stdout is for the report.
    fn watch(&self, folder: &Path, records: &Path) -> io::Result<ExitStatus> {
        let hooks = [HookFamily::Mpi, HookFamily::MpiCollectives];
        let mut child = Command::new(std::env::current_exe()?)
            .args(["inject", "run"])
            .args(undelayed::options(folder, &hooks)?)
            .arg("--")
            .args(&self.program)
            .env(environment::RECORDS, records)
            .env_remove(environment::REPORT)
            .stdout(Stdio::from(io::stderr().as_fd().try_clone_to_owned()?))
            .spawn()?;
        // From now on what ends this ends the program alone: there will be a report to give.
        let alive = Alive::default();
        alive.lock().insert(child.id() as i32);
        alive.end_by_signals()?;
        let status = child.wait();
        alive.lock().clear();
        status
    }
}

impl Report {
    fn text(&self) -> String {
        let traffic = &self.traffic;
        let mut text = format!(
            "{} ran once, without delays, and ended with {}\n\n",
            printable(&self.program),
            self.ended
        );
        if traffic.ranks == 0 {
            text.push_str(
                "no call of MPI was seen: the program makes none, or jitterlab cannot see them; `jitterlab inject doctor` \
                 says which\n",
            );
            return text;
        }
        text.push_str("                              calls    messages           bytes\n");
        for calls in &traffic.calls {
            text.push_str(&format!(
                "{:24} {:>10} {:>11} {:>15}\n",
                calls.call, calls.calls, calls.messages, calls.bytes
            ));
        }
        text.push_str("\nrank    messages           bytes  collectives  bytes given to them\n");
        for rank in &traffic.by_rank {
            text.push_str(&format!(
                "{:>4} {:>11} {:>15} {:>12} {:>20}\n",
                rank.rank, rank.messages, rank.bytes, rank.collectives, rank.collective_bytes
            ));
        }
        if traffic.messages > 0 && traffic.ranks <= MATRIX_RANKS {
            self.table("messages", &traffic.matrix.messages, &mut text);
            self.table("bytes", &traffic.matrix.bytes, &mut text);
        }
        let others: u64 = traffic
            .by_rank
            .iter()
            .map(|rank| rank.others.messages)
            .sum();
        if others > 0 {
            text.push_str(&format!(
                "\n{others} messages went to processes that are none of these ranks, or it is not known to whom\n"
            ));
        }
        if traffic.spawned > 0 {
            text.push_str(&format!(
                "\n{} processes that ranks have spawned are left out\n",
                traffic.spawned
            ));
        }
        if !traffic.silent.is_empty() {
            let ranks: Vec<String> = traffic.silent.iter().map(usize::to_string).collect();
            text.push_str(&format!(
                "\nnothing is known of rank {}: it made none of these calls, was killed, or ran on another host\n",
                ranks.join(", ")
            ));
        }
        text
    }

    fn table(&self, what: &str, lines: &[Vec<u64>], text: &mut String) {
        text.push_str(&format!(
            "\n{what} from a rank (line) to a rank (column):\n    "
        ));
        for rank in 0..self.traffic.ranks {
            text.push_str(&format!(" {rank:>11}"));
        }
        for (rank, line) in lines.iter().enumerate() {
            text.push_str(&format!("\n{rank:>4}"));
            for number in line {
                text.push_str(&format!(" {number:>11}"));
            }
        }
        text.push('\n');
    }
}

/// More ranks make lines that nobody reads; the JSON has them all.
const MATRIX_RANKS: usize = 16;
