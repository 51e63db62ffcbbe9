//! `inject status`.

use std::collections::BTreeMap;
use std::fmt;

use jitterlab_base::show;
use jitterlab_base::show::printable;
use jitterlab_injector::control::{self, Hook, HookFamily, Settings};
use jitterlab_injector::replay::{Order, Stretch};
use jitterlab_injector::table::DelayUnit;
use jitterlab_stats::summary;
use serde::Serialize;

use super::pages::{self, Address};
use crate::outcome::{Exit, Failure};
use crate::output::{self, Format};

/// Options of `inject status`.
#[derive(clap::Args)]
pub struct Status {
    /// Only this program
    #[arg(long)]
    pid: Option<Address>,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// The mean of what was drawn of the table, and of what came of it.
#[derive(Serialize)]
#[serde(untagged)]
enum Means {
    Nanoseconds {
        asked_mean_ns: f64,
        achieved_mean_ns: f64,
        late_max_ns: u64,
    },
    /// The paper's loop has no clock in it, so there is no time to tell.
    Spins { asked_mean_spins: f64 },
}

/// One program; times in nanoseconds.
#[derive(Serialize)]
struct Program {
    #[serde(skip)]
    address: Address,
    /// Its number here, or, if it has none here, in its own pid namespace.
    pid: u32,
    /// The inode of its pid namespace, where that is another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pid_namespace: Option<u64>,
    program: String,
    rank: u64,
    hooks: Vec<&'static str>,
    #[serde(flatten)]
    settings: Settings,
    table: String,
    /// The factor that its delays are multiplied by.
    times: f64,
    table_mean: f64,
    calls: BTreeMap<&'static str, u64>,
    delays: u64,
    #[serde(flatten)]
    means: Means,
    send_errors: u64,
}

impl Status {
    pub fn run(self) -> Result<Exit, Failure> {
        let running = match self.pid {
            Some(address) => vec![pages::of(address)?],
            None => pages::running()?,
        };
        let programs: Vec<Program> = running.iter().map(Program::of).collect();
        drop(running);
        output::print(self.format, &programs, || {
            if programs.is_empty() {
                return "no program is under injection\n".into();
            }
            programs.iter().map(Program::text).collect()
        })?;
        Ok(Exit::Done)
    }
}

impl Program {
    fn of(running: &control::Program) -> Self {
        let control::Program { page, pid } = running;
        let identity = page.identity();
        let (settings, table) = page.settings();
        let totals = page.totals();
        let entries: Vec<f64> = table
            .entries
            .iter()
            .map(|&entry| f64::from(entry))
            .collect();
        let mean = |sum: u64| sum as f64 / totals.delays.max(1) as f64;
        Program {
            address: Address::of(running),
            pid: pid.unwrap_or(identity.pid),
            pid_namespace: pid.is_none().then_some(identity.namespaces.pid),
            program: identity.program,
            rank: identity.rank,
            hooks: HookFamily::ALL
                .iter()
                .filter(|family| identity.hooks & family.bit() != 0)
                .map(|family| family.name())
                .collect(),
            settings,
            table: table.to_string(),
            times: table.times,
            table_mean: summary::mean(&entries).unwrap_or(0.0),
            calls: Hook::ALL
                .iter()
                .map(|hook| (hook.name(), totals.calls[*hook as usize]))
                .filter(|&(_, calls)| calls > 0)
                .collect(),
            delays: totals.delays,
            means: match settings.unit {
                DelayUnit::Nanoseconds => Means::Nanoseconds {
                    asked_mean_ns: mean(totals.asked_ns),
                    achieved_mean_ns: mean(totals.achieved_ns),
                    late_max_ns: totals.late_max_ns,
                },
                DelayUnit::Spins => Means::Spins {
                    asked_mean_spins: mean(totals.asked_ns),
                },
            },
            send_errors: totals.send_errors,
        }
    }

    /// The source of the delays.
    fn source(&self) -> String {
        let by = match self.settings.order {
            Order::Drawn => return "table".into(),
            Order::ByMessage => "message",
            Order::ByTime => "time",
        };
        let stretch = match self.settings.stretch {
            Stretch::All => "one stretch for all ranks",
            Stretch::Each => "a stretch for each rank",
        };
        format!("replay by {by}, {stretch}, of")
    }

    fn text(&self) -> String {
        let calls: Vec<String> = self
            .calls
            .iter()
            .map(|(hook, calls)| format!("{hook} {calls}"))
            .collect();
        let of_mpi = [HookFamily::Mpi, HookFamily::MpiCollectives].map(HookFamily::name);
        let rank = match of_mpi.iter().any(|family| self.hooks.contains(family)) {
            true => format!(", rank {}", self.rank),
            false => String::new(),
        };
        format!(
            "{} {}{}: {}, {} on {}, seed {}, {} {}\n  calls: {}\n  {} delays, mean asked {}\n",
            self.address,
            printable(&self.program),
            rank,
            if self.settings.enabled { "on" } else { "off" },
            self.settings.mode.name(),
            self.hooks.join(", "),
            self.settings.seed,
            self.source(),
            printable(&self.table),
            if calls.is_empty() {
                "none yet".into()
            } else {
                calls.join(", ")
            },
            self.delays,
            self.means,
        )
    }
}

impl fmt::Display for Means {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Means::Nanoseconds {
                asked_mean_ns,
                achieved_mean_ns,
                late_max_ns,
            } => write!(
                f,
                "{}, achieved {}, worst late by {}",
                show::time(*asked_mean_ns),
                show::time(*achieved_mean_ns),
                show::time(*late_max_ns as f64)
            ),
            Means::Spins { asked_mean_spins } => write!(f, "{asked_mean_spins:.1} spins"),
        }
    }
}
