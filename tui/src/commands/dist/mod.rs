//! `jitterlab dist`: make, fit and look at distribution tables.

mod check;
mod fit;
mod make;
mod record;

use std::io::IsTerminal;
use std::path::PathBuf;

use jitterlab_base::show;
use jitterlab_base::units::Nanos;
use jitterlab_injector::netem;
use jitterlab_injector::table::{DelayUnit, DistributionTable, MAX_DELAY_NS};
use jitterlab_stats::summary::quantile;
use serde::Serialize;

use crate::files;
use crate::outcome::{Exit, Failure};
use crate::output::{self, Format};
use crate::picture::{self, Style};

/// The verbs of `jitterlab dist`.
#[derive(clap::Subcommand)]
pub enum Command {
    /// Make a table from a shape, or from samples
    Make(make::Make),
    /// Find the distribution that comes closest to samples
    Fit(fit::FitOptions),
    /// Make tables from samples: tables that imitate the samples, and five tables with the same mean but different variation
    Family(fit::FamilyOptions),
    /// Turn samples into a recording of delays. `inject run --replay` injects them in the order of the samples
    Record(record::Record),
    /// Show a table
    Show(Show),
    /// Check a table against the distribution that it came from, or against samples
    Check(check::Check),
    /// Make a table from a distribution of tc netem
    Import(Import),
    /// Write a table for tc netem
    Export(Export),
}

/// Does it.
pub fn run(command: Command) -> Result<Exit, Failure> {
    match command {
        Command::Make(options) => options.run(),
        Command::Fit(options) => options.run(),
        Command::Family(options) => options.run(),
        Command::Record(options) => options.run(),
        Command::Show(options) => options.run(),
        Command::Check(options) => options.run(),
        Command::Import(options) => options.run(),
        Command::Export(options) => options.run(),
    }
}

/// A table that a person names.
#[derive(clap::Args)]
struct TableFile {
    /// The distribution table
    table: PathBuf,
    /// Unit of a table file that has no header line: ns (nanoseconds) or spins (turns of a waiting loop)
    #[arg(long, default_value = "ns")]
    unit: DelayUnit,
}

impl TableFile {
    fn load(&self) -> Result<DistributionTable, Failure> {
        DistributionTable::load_from_any(&self.table, self.unit).map_err(Failure::input)
    }

    /// Loads the table for a command that takes times: a table of spins is an error.
    fn load_times(&self) -> Result<DistributionTable, Failure> {
        let table = self.load()?;
        if table.unit() == DelayUnit::Spins {
            return Err(Failure::input(format!(
                "{} is a table of spins; this command needs a table in nanoseconds",
                self.table.display()
            )));
        }
        Ok(table)
    }
}

/// Options of `dist show`.
#[derive(clap::Args)]
pub struct Show {
    #[command(flatten)]
    table: TableFile,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// The output of `dist show`, in the table's unit.
#[derive(Serialize)]
struct Shown {
    unit: DelayUnit,
    origin: String,
    mean: f64,
    std: f64,
    min: f64,
    median: f64,
    p90: f64,
    p99: f64,
    p999: f64,
    max: f64,
}

impl Show {
    fn run(self) -> Result<Exit, Failure> {
        let table = self.table.load()?;
        let sorted = table.sorted();
        let shown = Shown {
            unit: table.unit(),
            origin: table.origin().into(),
            mean: table.mean(),
            std: table.std(),
            min: sorted[0],
            median: quantile(&sorted, 0.5),
            p90: quantile(&sorted, 0.9),
            p99: quantile(&sorted, 0.99),
            p999: quantile(&sorted, 0.999),
            max: sorted[sorted.len() - 1],
        };
        output::print(self.format, &shown, || shown.text(&sorted))?;
        Ok(Exit::Done)
    }
}

impl Shown {
    fn text(&self, sorted: &[f64]) -> String {
        let value = |x: f64| match self.unit {
            DelayUnit::Nanoseconds => show::time(x),
            DelayUnit::Spins => format!("{x:.0} spins"),
        };
        let label = |x: u64| match self.unit {
            DelayUnit::Nanoseconds => Nanos(x).to_string(),
            DelayUnit::Spins => x.to_string(),
        };
        let origin = if self.origin.is_empty() {
            "not stated"
        } else {
            &self.origin
        };
        format!(
            "4096 delays; origin: {origin}\nmean {}, standard deviation {}\nleast {}, median {}, \
             90 % {}, 99 % {}, 99.9 % {}, greatest {}\n\n{}",
            value(self.mean),
            value(self.std),
            value(self.min),
            value(self.median),
            value(self.p90),
            value(self.p99),
            value(self.p999),
            value(self.max),
            picture::rows(sorted, label, 20, 48, style()),
        )
    }
}

/// Blocks where they can be shown.
fn style() -> Style {
    let is_utf8 = picture::is_utf8(|name| std::env::var(name).ok());
    if is_utf8 && std::io::stdout().is_terminal() {
        Style::Unicode
    } else {
        Style::Ascii
    }
}

/// Options of `dist import`.
#[derive(clap::Args)]
pub struct Import {
    /// A distribution file of tc netem, or the name of one in iproute2, such as pareto
    netem: PathBuf,
    /// Mean of the delays; netem calls it TIME
    #[arg(long)]
    mean: Nanos,
    /// Standard deviation of the delays; netem calls it JITTER
    #[arg(long)]
    std: Nanos,
    /// Where to write the table
    #[arg(short, long)]
    output: PathBuf,
}

impl Import {
    fn run(self) -> Result<Exit, Failure> {
        if self.mean > Nanos(u64::from(MAX_DELAY_NS)) {
            return Err(Failure::input(format!(
                "--mean {} is beyond 1 s, the longest delay that a table holds",
                self.mean
            )));
        }
        let imported = netem::import(
            &netem::find(&self.netem),
            self.mean.0 as f64,
            self.std.0 as f64,
        )
        .map_err(Failure::input)?;
        if imported.clamped > 0 {
            eprintln!(
                "jitterlab: {} of the 4096 delays would be below 0 or above 1 s; they were set to that limit",
                imported.clamped
            );
        }
        files::write(&self.output, imported.value.to_text().as_bytes())?;
        Ok(Exit::Done)
    }
}

/// Options of `dist export`.
#[derive(clap::Args)]
pub struct Export {
    #[command(flatten)]
    table: TableFile,
    /// Where to write netem's table
    #[arg(short, long)]
    output: PathBuf,
}

impl Export {
    fn run(self) -> Result<Exit, Failure> {
        let table = self.table.load_times()?;
        let exported = netem::export(&table);
        if exported.clamped > 0 {
            eprintln!(
                "jitterlab: {} of the 4096 delays are more than four standard deviations from the mean; a netem table ends there, so they are set to that limit",
                exported.clamped
            );
        }
        files::write(&self.output, exported.value.as_bytes())?;
        Ok(Exit::Done)
    }
}
