//! `jitterlab dist`: make, fit and look at distribution tables.

use std::io::IsTerminal;
use std::path::PathBuf;

use jitterlab_base::seed;
use jitterlab_base::show;
use jitterlab_base::units::Nanos;
use jitterlab_experiment::samples;
use jitterlab_injector::check::check;
use jitterlab_injector::family::Member;
use jitterlab_injector::netem;
use jitterlab_injector::picture::{Style, histogram};
use jitterlab_injector::shape::{self, Shape};
use jitterlab_injector::table::DelayUnit;
use jitterlab_injector::table::{DistributionTable, MAX_DELAY_NS};
use jitterlab_stats::distribution::Distribution;
use jitterlab_stats::fit::{self, Fit};
use jitterlab_stats::ks::{self, KolmogorovSmirnov};
use jitterlab_stats::summary::{self, Summary, quantile};
use serde::Serialize;

use crate::files;
use crate::outcome::{Exit, Failure};
use crate::output::{self, Format, time_of};

/// The verbs of `jitterlab dist`.
#[derive(clap::Subcommand)]
pub enum Command {
    /// Make a table from a shape
    Make(Make),
    /// Fit a shape to samples, by maximum likelihood
    Fit(FitOptions),
    /// Make the paper's five tables from samples: same mean, different variation
    Family(FamilyOptions),
    /// Show a table
    Show(Show),
    /// Check a table against the distribution that it came from
    Check(Check),
    /// Make a table from one of tc netem's
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
    /// What the integers of a file without a header count: ns or spins
    #[arg(long, default_value = "ns")]
    unit: DelayUnit,
}

impl TableFile {
    fn load(&self) -> Result<DistributionTable, Failure> {
        DistributionTable::load_from_any(&self.table, self.unit).map_err(Failure::input)
    }

    /// The same for what is done with times.
    fn load_times(&self) -> Result<DistributionTable, Failure> {
        let table = self.load()?;
        if table.unit() == DelayUnit::Spins {
            return Err(Failure::input(format!(
                "{} counts spins, which are no time; this takes a table in nanoseconds",
                self.table.display()
            )));
        }
        Ok(table)
    }
}

/// Options of `dist make`.
#[derive(clap::Args)]
pub struct Make {
    /// constant, uniform or lognormal
    #[arg(long)]
    shape: Shape,
    /// Mean of the delays, as in 50us
    #[arg(long)]
    mean: Nanos,
    /// Standard deviation of the delays
    #[arg(long, default_value = "0ns")]
    std: Nanos,
    /// Least delay of a lognormal
    #[arg(long, default_value = "0ns")]
    location: Nanos,
    /// Seed of the order of the entries
    #[arg(long, default_value_t = seed::DEFAULT)]
    seed: u64,
    /// Where to write the table
    #[arg(short, long)]
    output: PathBuf,
}

impl Make {
    fn run(self) -> Result<Exit, Failure> {
        if self.location != Nanos(0) && self.shape != Shape::LogNormal {
            return Err(Failure::input("--location belongs to --shape lognormal"));
        }
        let [mean, std, location] = [self.mean, self.std, self.location].map(|ns| ns.0 as f64);
        let distribution = self
            .shape
            .with_moments(mean, std, location)
            .map_err(Failure::input)?;
        let table = make_table(&distribution, self.seed)?;
        if (table.std() - std).abs() > NEAR * std {
            eprintln!(
                "jitterlab: the delays of the table have a standard deviation of {}, not of {}: 4096 \
                 whole nanoseconds hold no more of this distribution",
                show::time(table.std()),
                show::time(std)
            );
        }
        files::write(&self.output, table.to_text().as_bytes())?;
        Ok(Exit::Done)
    }
}

/// How far a table's standard deviation may be from what was asked for before it is said.
const NEAR: f64 = 0.05;

/// A table of a distribution, if it can hold all of its delays.
fn make_table(distribution: &Distribution, seed: u64) -> Result<DistributionTable, Failure> {
    let made = shape::table(distribution, seed);
    if made.lowered > 0 {
        return Err(Failure::input(format!(
            "{} of the 4096 delays of {distribution} are beyond 1 s, the longest that a table holds",
            made.lowered
        )));
    }
    if made.raised > 0 {
        eprintln!(
            "jitterlab: {} of the 4096 delays of {distribution} are negative and become 0",
            made.raised
        );
    }
    Ok(made.table)
}

/// Options of `dist fit`.
#[derive(clap::Args)]
pub struct FitOptions {
    /// Samples in nanoseconds: CSV or Parquet; FILE:COLUMN where there are several columns
    samples: PathBuf,
    /// constant, uniform, lognormal, or best: the least AIC of the three
    #[arg(long, default_value = "best")]
    shape: Choice,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// What is fitted.
#[derive(Clone)]
enum Choice {
    Best,
    One(Shape),
}

impl std::str::FromStr for Choice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "best" => Ok(Choice::Best),
            other => other
                .parse()
                .map(Choice::One)
                .map_err(|_| format!("`{other}` is not constant, uniform, lognormal or best")),
        }
    }
}

/// What `dist fit` prints.
#[derive(Serialize)]
struct Fitted {
    samples: Summary,
    fits: Vec<FittedShape>,
}

/// One fit, the best first.
#[derive(Serialize)]
struct FittedShape {
    #[serde(flatten)]
    fit: Fit,
    mean_ns: f64,
    std_ns: f64,
    /// Plain Kolmogorov-Smirnov test. The parameters were estimated from the same samples, so its
    /// p is too large; the distance is what to look at.
    kolmogorov_smirnov: KolmogorovSmirnov,
}

impl FitOptions {
    fn run(self) -> Result<Exit, Failure> {
        let samples = samples::read(&self.samples).map_err(Failure::input)?;
        let fits = match self.shape {
            Choice::Best => fit::ranking(&samples),
            Choice::One(Shape::Constant) => fit::constant(&samples).map(|fit| vec![fit]),
            Choice::One(Shape::Uniform) => fit::uniform(&samples).map(|fit| vec![fit]),
            Choice::One(Shape::LogNormal) => fit::lognormal(&samples).map(|fit| vec![fit]),
        }
        .map_err(Failure::input)?;
        // One sample can be called constant, but says nothing of how far others are from it.
        summary::std(&samples).map_err(Failure::input)?;
        let fits = fits
            .into_iter()
            .map(|fit| {
                Ok(FittedShape {
                    fit,
                    mean_ns: fit.distribution.mean(),
                    std_ns: fit.distribution.std(),
                    kolmogorov_smirnov: ks::one_sample(&samples, &fit.distribution)?,
                })
            })
            .collect::<Result<_, jitterlab_stats::Error>>()
            .map_err(Failure::input)?;
        let fitted = Fitted {
            samples: Summary::of(&samples).map_err(Failure::input)?,
            fits,
        };
        output::print(self.format, &fitted, || fitted.text())?;
        Ok(Exit::Done)
    }
}

impl Fitted {
    fn text(&self) -> String {
        let s = &self.samples;
        let mut text = format!(
            "{} samples: mean {}, standard deviation {}, median {}\n",
            s.n,
            show::time(s.mean),
            time_of(s.std),
            show::time(s.median)
        );
        for shape in &self.fits {
            text.push_str(&format!(
                "{}\n  in ns; mean {}, standard deviation {}; AIC {:.1}; greatest distance of the \
                 distribution functions {:.4}\n",
                shape.fit.distribution,
                show::time(shape.mean_ns),
                show::time(shape.std_ns),
                shape.fit.aic,
                shape.kolmogorov_smirnov.d,
            ));
        }
        text
    }
}

/// Options of `dist family`.
#[derive(clap::Args)]
pub struct FamilyOptions {
    /// Samples in nanoseconds: CSV or Parquet; FILE:COLUMN where there are several columns
    samples: PathBuf,
    /// Seed of the order of the entries
    #[arg(long, default_value_t = seed::DEFAULT)]
    seed: u64,
    /// The folder to write the five tables into; made if it is not there
    #[arg(short, long)]
    output: PathBuf,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// A table of the family.
#[derive(Serialize)]
struct FamilyMember {
    name: &'static str,
    description: &'static str,
    distribution: Distribution,
    mean_ns: f64,
    std_ns: f64,
    table: PathBuf,
}

impl FamilyOptions {
    fn run(self) -> Result<Exit, Failure> {
        let samples = samples::read(&self.samples).map_err(Failure::input)?;
        let family = jitterlab_experiment::fit::tables(&samples, &Member::ALL, self.seed)
            .map_err(Failure::input)?;
        let mut members = Vec::new();
        let mut tables = Vec::new();
        for fitted in family {
            let member = fitted.shape;
            // The same table once more, with what of it did not fit.
            let table = make_table(&fitted.distribution, self.seed)?;
            members.push(FamilyMember {
                name: member.name(),
                description: member.description(),
                distribution: fitted.distribution,
                mean_ns: table.mean(),
                std_ns: table.std(),
                table: self.output.join(format!("{}.dist", member.name())),
            });
            tables.push(table);
        }
        std::fs::create_dir_all(&self.output).map_err(|error| {
            Failure::input(format!(
                "cannot make folder {}: {error}",
                self.output.display()
            ))
        })?;
        for (member, table) in members.iter().zip(&tables) {
            files::write(&member.table, table.to_text().as_bytes())?;
        }
        output::print(self.format, &members, || {
            members
                .iter()
                .map(|m| {
                    format!(
                        "{:10} mean {}, standard deviation {}: {}\n",
                        m.name,
                        show::time(m.mean_ns),
                        show::time(m.std_ns),
                        m.description
                    )
                })
                .collect()
        })?;
        Ok(Exit::Done)
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

/// What `dist show` prints, in the table's unit.
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
            histogram(sorted, self.unit, 20, 48, style()),
        )
    }
}

/// Blocks where they can be shown.
fn style() -> Style {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .filter_map(|name| std::env::var(name).ok())
        .find(|value| !value.is_empty())
        .unwrap_or_default()
        .to_lowercase();
    let utf8 = locale.contains("utf-8") || locale.contains("utf8");
    if utf8 && std::io::stdout().is_terminal() {
        Style::Unicode
    } else {
        Style::Ascii
    }
}

/// Options of `dist check`.
#[derive(clap::Args)]
pub struct Check {
    #[command(flatten)]
    table: TableFile,
    /// The greatest relative difference that passes
    #[arg(long, default_value_t = 0.05)]
    tolerance: f64,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

impl Check {
    fn run(self) -> Result<Exit, Failure> {
        if !(0.0..=1.0).contains(&self.tolerance) {
            return Err(Failure::input("--tolerance lies between 0 and 1"));
        }
        let table = self.table.load_times()?;
        let origin = table.origin();
        let distribution = table.distribution().ok_or_else(|| {
            let table = self.table.table.display();
            Failure::input(match origin {
                "" => format!(
                    "{table} does not say which distribution it came from; its header's origin would"
                ),
                origin => format!(
                    "{table} came from `{}`, which is no distribution to check it against: constant, uniform or lognormal",
                    output::printable(origin)
                ),
            })
        })?;
        let rows = check(&table, &distribution, self.tolerance);
        output::print(self.format, &rows, || {
            let mut text =
                format!("{distribution}, in ns\n        distribution         table  difference\n");
            for row in &rows {
                text.push_str(&format!(
                    "{:6} {:13.1} {:13.1} {:9.3} %{}\n",
                    row.figure,
                    row.expected_ns,
                    row.table_ns,
                    100.0 * row.relative,
                    if row.within { "" } else { "  too far" }
                ));
            }
            text
        })?;
        let all_within = rows.iter().all(|row| row.within);
        Ok(if all_within {
            Exit::Done
        } else {
            Exit::Finding
        })
    }
}

/// Options of `dist import`.
#[derive(clap::Args)]
pub struct Import {
    /// A table of tc netem, or the name of one that iproute2 brings, such as pareto
    netem: PathBuf,
    /// The mean that netem would be given
    #[arg(long)]
    mean: Nanos,
    /// The standard deviation that netem would be given
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
                "jitterlab: {} of the 4096 delays were negative or beyond 1 s and are set to that end",
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
                "jitterlab: {} of the 4096 delays lie beyond four standard deviations, where netem's \
                 16 bits end, and are set to that end",
                exported.clamped
            );
        }
        files::write(&self.output, exported.value.as_bytes())?;
        Ok(Exit::Done)
    }
}
