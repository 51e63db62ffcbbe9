//! `jitterlab dist fit` and `dist family`: distributions of samples.

use std::path::{Path, PathBuf};

use jitterlab_base::seed;
use jitterlab_base::show;
use jitterlab_experiment::samples;
use jitterlab_injector::family::{Family, Member};
use jitterlab_injector::generator::TABLE_ENTRIES;
use jitterlab_injector::shape::Shape;
use jitterlab_injector::table::DistributionTable;
use jitterlab_stats::distribution::Distribution;
use jitterlab_stats::fit::{self, Fit};
use jitterlab_stats::imitation::{self, Candidate, Closeness};
use jitterlab_stats::ks::{self, KolmogorovSmirnov};
use jitterlab_stats::positive;
use jitterlab_stats::summary::{self, Summary};
use serde::Serialize;

use super::make::whole;
use crate::files;
use crate::outcome::{Exit, Failure};
use crate::output::{self, Format, time_of};

/// Options of `dist fit`.
#[derive(clap::Args)]
pub struct FitOptions {
    /// Samples: CSV or Parquet file with times in nanoseconds. Write FILE:COLUMN if it has several columns
    samples: PathBuf,
    /// The family to fit. constant, uniform and lognormal (with three parameters) describe all samples. gamma, weibull,
    /// generalised-pareto, two-lognormals and three-lognormals describe the samples above 0; the share of the samples that are 0 is
    /// a number of its own. With `best`, every family is fitted, and the closest is listed first
    #[arg(long, default_value = "best")]
    shape: Choice,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// The distribution that is fitted.
#[derive(Clone)]
enum Choice {
    Best,
    One(Shape),
    /// A family for what is above 0, beside an atom at 0.
    Positive(positive::Family),
}

/// The names of what can be fitted, each once.
fn shapes() -> String {
    let shapes = Shape::ALL.map(Shape::name).into_iter();
    let families = positive::Family::ALL.map(positive::Family::name);
    let families = families.into_iter();
    let others = families.filter(|name| name.parse::<Shape>().is_err());
    let all: Vec<&str> = shapes.chain(others).collect();
    all.join(", ")
}

impl std::str::FromStr for Choice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "best" => Ok(Choice::Best),
            other => match other.parse() {
                Ok(shape) => Ok(Choice::One(shape)),
                Err(_) => positive::Family::ALL
                    .into_iter()
                    .find(|family| family.name() == other)
                    .map(Choice::Positive)
                    .ok_or_else(|| format!("`{other}` is not {} or best", shapes())),
            },
        }
    }
}

/// The output of `dist fit`.
#[derive(Serialize)]
struct Fitted {
    samples: Summary,
    fits: Vec<FittedShape>,
    /// Families that cannot be fitted to the samples.
    left_out: Vec<LeftOut>,
}

/// A family, and why it cannot be fitted.
#[derive(Serialize)]
struct LeftOut {
    family: &'static str,
    reason: String,
}

/// One fit, the chosen one first.
#[derive(Serialize)]
struct FittedShape {
    #[serde(flatten)]
    fit: Fit,
    mean_ns: f64,
    std_ns: f64,
    /// Its closeness to the samples. Samples below 0 count as 0.
    closeness: Closeness,
    /// The distance over that of a constant with the samples' mean.
    distance_ratio: f64,
    /// Plain Kolmogorov-Smirnov test. It takes the samples as independent and the parameters as given: p is no more than a
    /// number, the distance is what to look at.
    kolmogorov_smirnov: KolmogorovSmirnov,
}

impl FittedShape {
    fn of(fit: Fit, samples: &[f64]) -> Result<Self, jitterlab_stats::Error> {
        let closeness = Closeness::between(samples, &fit.distribution.slices(TABLE_ENTRIES))?;
        Ok(FittedShape {
            fit,
            mean_ns: fit.distribution.mean(),
            std_ns: fit.distribution.std(),
            distance_ratio: closeness.distance_ratio(),
            closeness,
            kolmogorov_smirnov: ks::one_sample(samples, &fit.distribution)?,
        })
    }
}

impl FitOptions {
    pub(super) fn run(self) -> Result<Exit, Failure> {
        let samples = samples::read(&self.samples).map_err(Failure::input)?;
        let mut left_out = Vec::new();
        let fits = match self.shape {
            Choice::Best => imitation::every(&samples).map(|(candidates, refused)| {
                left_out.extend(refused.into_iter().map(|(family, reason)| LeftOut {
                    family: family.name(),
                    reason: reason.to_string(),
                }));
                let fit = |candidate: &Candidate| Fit::new(candidate.distribution, &samples);
                candidates.iter().map(fit).collect()
            }),
            Choice::Positive(family) => imitation::candidate(family, &samples)
                .map(|candidate| vec![Fit::new(candidate.distribution, &samples)]),
            Choice::One(Shape::Constant) => fit::constant(&samples).map(|fit| vec![fit]),
            Choice::One(Shape::Uniform) => fit::uniform(&samples).map(|fit| vec![fit]),
            Choice::One(Shape::LogNormal) => fit::lognormal(&samples).map(|fit| vec![fit]),
        }
        .map_err(Failure::input)?;
        // One sample can be called constant, but says nothing of how far others are from it.
        summary::std(&samples).map_err(Failure::input)?;
        let fits = fits
            .into_iter()
            .map(|fit| FittedShape::of(fit, &samples))
            .collect::<Result<_, jitterlab_stats::Error>>()
            .map_err(Failure::input)?;
        let fitted = Fitted {
            samples: Summary::of(&samples).map_err(Failure::input)?,
            fits,
            left_out,
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
                "{}\n  in ns; mean {}, standard deviation {}; distance from the samples {}, {:.3} times the distance of their mean; greatest \
                 difference of the distribution functions {:.4}; AIC {:.1}\n",
                shape.fit.distribution,
                show::time(shape.mean_ns),
                match shape.std_ns.is_finite() {
                    true => show::time(shape.std_ns),
                    false => "infinite".into(),
                },
                show::time(shape.closeness.distance),
                shape.distance_ratio,
                shape.kolmogorov_smirnov.d,
                shape.fit.aic,
            ));
        }
        for LeftOut { family, reason } in &self.left_out {
            text.push_str(&format!("not fitted: {family}: {reason}\n"));
        }
        if self.fits.len() > 1 {
            text.push_str(
                "The first comes closest, with the fewest parameters of those that are as close. ",
            );
        }
        text.push_str(
            "AIC and the Kolmogorov-Smirnov test (of the greatest difference) are for independent samples: where samples are many and dependent, they reject every family.\n",
        );
        text
    }
}

/// Options of `dist family`.
#[derive(clap::Args)]
pub struct FamilyOptions {
    /// Samples: CSV or Parquet file with times in nanoseconds. Write FILE:COLUMN if it has several columns
    samples: PathBuf,
    /// Seed of the random order of the delays in the table
    #[arg(long, default_value_t = seed::DEFAULT)]
    seed: u64,
    /// The folder to write the tables into; made if it is not there
    #[arg(short, long)]
    output: PathBuf,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// A member of the family. One that these samples cannot have says why in `refused`, and has no table.
#[derive(Serialize)]
struct FamilyMember {
    name: &'static str,
    description: String,
    distribution: Option<Distribution>,
    mean_ns: Option<f64>,
    std_ns: Option<f64>,
    table: Option<PathBuf>,
    refused: Option<String>,
    #[serde(skip)]
    content: Option<DistributionTable>,
}

impl FamilyMember {
    fn of(member: Member, family: &Family, seed: u64, folder: &Path) -> Self {
        let fitted = family
            .fitted(member, seed)
            .map_err(|error| error.to_string());
        let description = match &fitted {
            Ok(fitted) => fitted.description(),
            Err(_) => member.description().into(),
        };
        let made = fitted.and_then(|fitted| match whole(fitted.made, member) {
            Ok(table) => Ok((fitted.distribution, table)),
            Err(failure) => Err(failure.to_string()),
        });
        let (made, refused) = match made {
            Ok(made) => (Some(made), None),
            Err(reason) => (None, Some(reason)),
        };
        let table = made.as_ref().map(|(_, table)| table);
        FamilyMember {
            name: member.name(),
            description,
            mean_ns: table.map(DistributionTable::mean),
            std_ns: table.map(DistributionTable::std),
            table: table.map(|_| folder.join(format!("{member}.dist"))),
            refused,
            distribution: made.as_ref().and_then(|(distribution, _)| *distribution),
            content: made.map(|(_, table)| table),
        }
    }

    fn text(&self) -> String {
        let what = match (self.mean_ns, self.std_ns, &self.refused) {
            (Some(mean), Some(std), _) => format!(
                "mean {}, standard deviation {}",
                show::time(mean),
                show::time(std)
            ),
            (.., refused) => format!("not written: {}", refused.as_deref().unwrap_or_default()),
        };
        format!("{:10} {what}: {}\n", self.name, self.description)
    }
}

impl FamilyOptions {
    pub(super) fn run(self) -> Result<Exit, Failure> {
        let samples = samples::read(&self.samples).map_err(Failure::input)?;
        let family = Family::from_samples(&samples).map_err(Failure::input)?;
        let members: Vec<FamilyMember> = Member::tables()
            .map(|member| FamilyMember::of(member, &family, self.seed, &self.output))
            .collect();
        std::fs::create_dir_all(&self.output).map_err(|error| {
            Failure::input(format!(
                "cannot make folder {}: {error}",
                self.output.display()
            ))
        })?;
        for member in &members {
            if let (Some(path), Some(table)) = (&member.table, &member.content) {
                files::write(path, table.to_text().as_bytes())?;
            }
        }
        output::print(self.format, &members, || {
            members.iter().map(FamilyMember::text).collect()
        })?;
        let all = members.iter().all(|member| member.refused.is_none());
        Ok(if all { Exit::Done } else { Exit::Finding })
    }
}
