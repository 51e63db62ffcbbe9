//! `inject trace`: what the ranks of an MPI program send to each other.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use jitterlab_injector::control::HookFamily;
use jitterlab_injector::environment;
use jitterlab_injector::record::{Calls, Others, Record, Sent};
use serde::Serialize;

use super::doctor::elf;
use super::ending::{Alive, Ending};
use super::{run, undelayed};
use crate::outcome::{Exit, Failure};
use crate::output::{self, Format, printable};

/// Options of `inject trace`.
#[derive(clap::Args)]
pub struct Trace {
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// The command that starts the program, such as mpirun; it is run once, without delays
    #[arg(last = true, required = true)]
    program: Vec<OsString>,
}

/// What `inject trace` prints.
#[derive(Serialize)]
struct Report {
    program: String,
    ended: Ending,
    /// How many ranks there were; 0 where no call of MPI was seen.
    ranks: usize,
    /// Messages and one-sided calls from one rank to another, and bytes in them, of all ranks.
    messages: u64,
    bytes: u64,
    /// Collective calls, and bytes given to them, likewise.
    collectives: u64,
    collective_bytes: u64,
    /// Each function, over all ranks; those that send to single ranks come first.
    calls: Vec<Calls>,
    /// From a rank (the line) to a rank (the column).
    matrix: Matrix,
    by_rank: Vec<Rank>,
    /// Ranks that have left nothing: they made none of these calls, or were killed.
    silent: Vec<usize>,
    /// Processes that ranks have spawned. They are ranks of another world, and left out.
    spawned: usize,
}

#[derive(Serialize)]
struct Matrix {
    messages: Vec<Vec<u64>>,
    bytes: Vec<Vec<u64>>,
}

#[derive(Serialize)]
struct Rank {
    rank: usize,
    messages: u64,
    bytes: u64,
    collectives: u64,
    collective_bytes: u64,
    calls: Vec<Calls>,
    /// To processes that are none of these ranks.
    others: Others,
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
        let report = Report::of(words.join(" "), status, records);
        output::print(self.format, &report, || report.text())?;
        Ok(
            match status.success() && report.ranks > 0 && report.silent.is_empty() && cut_off == 0 {
                true => Exit::Done,
                false => Exit::Finding,
            },
        )
    }

    /// Runs the program to its end. What it prints goes to stderr, since stdout is for the report.
    fn watch(&self, folder: &Path, records: &Path) -> io::Result<ExitStatus> {
        let hooks = [HookFamily::Mpi, HookFamily::MpiCollectives];
        let mut child = Command::new(std::env::current_exe()?)
            .args(["inject", "run"])
            .args(undelayed::options(folder, &hooks)?)
            .arg("--")
            .args(&self.program)
            .env(environment::TRACE, records)
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

/// What the ranks have left, and how many of the files are not whole.
fn read(folder: &Path) -> io::Result<(Vec<Record>, usize)> {
    let (mut records, mut cut_off) = (Vec::new(), 0);
    for entry in fs::read_dir(folder)? {
        match serde_json::from_slice(&fs::read(entry?.path())?) {
            Ok(record) => records.push(record),
            Err(_) => cut_off += 1,
        }
    }
    Ok((records, cut_off))
}

/// Adds what there is to say of some function to what was said of it before.
fn add(sums: &mut Vec<Calls>, calls: &Calls) {
    match sums.iter_mut().find(|sum| sum.call == calls.call) {
        Some(sum) => {
            sum.calls += calls.calls;
            sum.messages += calls.messages;
            sum.bytes += calls.bytes;
        }
        None => sums.push(calls.clone()),
    }
}

impl Report {
    /// Programs that ran one after the other are added up, rank by rank.
    fn of(program: String, status: ExitStatus, mut records: Vec<Record>) -> Self {
        let all = records.len();
        records.retain(|record| !record.spawned);
        let ranks = records
            .iter()
            .map(|record| record.ranks.max(record.rank + 1))
            .max()
            .unwrap_or(0);
        let mut matrix = Matrix {
            messages: vec![vec![0; ranks]; ranks],
            bytes: vec![vec![0; ranks]; ranks],
        };
        let mut by_rank: BTreeMap<usize, Rank> = BTreeMap::new();
        let mut calls: Vec<Calls> = Vec::new();
        for record in &records {
            let rank = by_rank
                .entry(record.rank)
                .or_insert_with(|| Rank::new(record.rank));
            for of_call in &record.calls {
                rank.add(of_call);
                add(&mut calls, of_call);
            }
            rank.others.messages += record.others.messages;
            rank.others.bytes += record.others.bytes;
            for &Sent {
                rank: peer,
                messages,
                bytes,
            } in &record.peers
            {
                matrix.messages[record.rank][peer] += messages;
                matrix.bytes[record.rank][peer] += bytes;
            }
        }
        calls.sort_by(|a, b| (a.messages == 0, &a.call).cmp(&(b.messages == 0, &b.call)));
        let silent = (0..ranks)
            .filter(|rank| !by_rank.contains_key(rank))
            .collect();
        let by_rank: Vec<Rank> = by_rank.into_values().collect();
        let sum = |figure: fn(&Rank) -> u64| by_rank.iter().map(figure).sum();
        Report {
            program,
            ended: status.into(),
            ranks,
            messages: sum(|rank| rank.messages),
            bytes: sum(|rank| rank.bytes),
            collectives: sum(|rank| rank.collectives),
            collective_bytes: sum(|rank| rank.collective_bytes),
            calls,
            matrix,
            by_rank,
            silent,
            spawned: all - records.len(),
        }
    }

    fn text(&self) -> String {
        let mut text = format!(
            "{} ran once, without delays, and ended with {}\n\n",
            printable(&self.program),
            self.ended
        );
        if self.ranks == 0 {
            text.push_str(
                "no call of MPI was seen: none was made, or none that passes a hook (jitterlab inject doctor \
                 tells)\n",
            );
            return text;
        }
        text.push_str("                              calls    messages           bytes\n");
        for calls in &self.calls {
            text.push_str(&format!(
                "{:24} {:>10} {:>11} {:>15}\n",
                calls.call, calls.calls, calls.messages, calls.bytes
            ));
        }
        text.push_str("\nrank    messages           bytes  collectives  bytes given to them\n");
        for rank in &self.by_rank {
            text.push_str(&format!(
                "{:>4} {:>11} {:>15} {:>12} {:>20}\n",
                rank.rank, rank.messages, rank.bytes, rank.collectives, rank.collective_bytes
            ));
        }
        if self.messages > 0 && self.ranks <= MATRIX_RANKS {
            self.table("messages", &self.matrix.messages, &mut text);
            self.table("bytes", &self.matrix.bytes, &mut text);
        }
        let others: u64 = self.by_rank.iter().map(|rank| rank.others.messages).sum();
        if others > 0 {
            text.push_str(&format!(
                "\n{others} messages went to processes that are none of these ranks, or it is not known to whom\n"
            ));
        }
        if self.spawned > 0 {
            text.push_str(&format!(
                "\n{} processes that ranks have spawned are left out\n",
                self.spawned
            ));
        }
        if !self.silent.is_empty() {
            let ranks: Vec<String> = self.silent.iter().map(usize::to_string).collect();
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
        for rank in 0..self.ranks {
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

impl Rank {
    fn new(rank: usize) -> Self {
        Rank {
            rank,
            messages: 0,
            bytes: 0,
            collectives: 0,
            collective_bytes: 0,
            calls: Vec::new(),
            others: Others::default(),
        }
    }

    fn add(&mut self, calls: &Calls) {
        if calls.messages > 0 {
            self.messages += calls.messages;
            self.bytes += calls.bytes;
        } else {
            self.collectives += calls.calls;
            self.collective_bytes += calls.bytes;
        }
        add(&mut self.calls, calls);
    }
}
