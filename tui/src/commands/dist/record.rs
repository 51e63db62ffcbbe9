//! `jitterlab dist record`: a recording of delays from samples.

use std::path::PathBuf;

use jitterlab_base::show;
use jitterlab_base::units::Nanos;
use jitterlab_experiment::samples;
use jitterlab_injector::recording::Recording;
use jitterlab_stats::{autocorrelation, sorted, summary};
use serde::Serialize;

use crate::files;
use crate::loops;
use crate::outcome::{Exit, Failure};
use crate::output::{self, Format};

/// The note of an open loop in its samples.
const OPEN: &str = "open";

/// Options of `dist record`.
#[derive(clap::Args)]
pub struct Record {
    /// Round trips in the order in which they were measured: CSV or Parquet file with times in nanoseconds. Write FILE:COLUMN
    /// if it has several columns
    samples: PathBuf,
    /// Column of send times in nanoseconds (FILE:COLUMN). FILE may be the file of the samples [default: each message was sent
    /// when the previous answer came]
    #[arg(long)]
    times: Option<PathBuf>,
    /// Round trips without load. A delay is a sample minus the median of these round trips
    #[arg(long, value_name = "SAMPLES", conflicts_with = "less")]
    baseline: Option<PathBuf>,
    /// The delay is a sample minus this time
    #[arg(long, default_value = "0ns")]
    less: Nanos,
    /// Where to write the recording
    #[arg(short, long)]
    output: PathBuf,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// The output of `dist record`; times in nanoseconds.
#[derive(Serialize)]
struct Recorded {
    n: usize,
    span_ns: u64,
    less_ns: f64,
    mean_ns: f64,
    std_ns: Option<f64>,
    zeros: f64,
    /// The correlations of ranks, at [`autocorrelation::LAGS`]; none if the delays are too few or all equal.
    autocorrelation: Option<Vec<f64>>,
}

impl Record {
    pub(super) fn run(self) -> Result<Exit, Failure> {
        let read = |path: &PathBuf| samples::read(path).map_err(Failure::input);
        if self.times.is_none()
            && samples::note(&self.samples, samples::LOOP).as_deref() == Some(OPEN)
        {
            return Err(Failure::input(format!(
                "{}: an open loop starts each round trip at a time of its own: give those times with --times FILE",
                self.samples.display()
            )));
        }
        let baseline = self.baseline.as_deref();
        loops::check([self.samples.as_path()].into_iter().chain(baseline))?;
        let round_trips = read(&self.samples)?;
        let times = self.times.as_ref().map(read).transpose()?;
        let less = match &self.baseline {
            None => self.less.0 as f64,
            Some(baseline) => {
                let sorted = sorted(&read(baseline)?).map_err(Failure::input)?;
                summary::quantile(&sorted, 0.5)
            }
        };
        let origin = format!("{} less {}", self.samples.display(), show::time(less));
        let recording = Recording::of_samples(&round_trips, times.as_deref(), less, &origin)
            .map_err(|problem| Failure::input(format!("{}: {problem}", self.samples.display())))?;
        let recorded = Recorded::of(&recording, less)?;
        if recorded.mean_ns == 0.0 {
            return Err(Failure::input(format!(
                "no sample of {} exceeds {}: every delay would be 0",
                self.samples.display(),
                show::time(less)
            )));
        }
        files::write(&self.output, &recording.to_bytes())?;
        output::print(self.format, &recorded, || recorded.text())?;
        Ok(Exit::Done)
    }
}

impl Recorded {
    fn of(recording: &Recording, less_ns: f64) -> Result<Self, Failure> {
        let delays: Vec<f64> = recording.delays().iter().map(|&ns| f64::from(ns)).collect();
        let zeros = delays.iter().filter(|&&ns| ns == 0.0).count();
        Ok(Recorded {
            n: delays.len(),
            span_ns: recording.span_ns(),
            less_ns,
            mean_ns: summary::mean(&delays).map_err(Failure::input)?,
            std_ns: summary::std(&delays).ok(),
            zeros: zeros as f64 / delays.len() as f64,
            autocorrelation: autocorrelation::of_ranks(&delays, &autocorrelation::LAGS).ok(),
        })
    }

    fn text(&self) -> String {
        let order = match &self.autocorrelation {
            None => String::new(),
            Some(r) => format!(
                "autocorrelation of ranks at lags {}: {}\n",
                autocorrelation::LAGS.map(|lag| lag.to_string()).join(", "),
                r.iter()
                    .map(|r| format!("{r:.2}"))
                    .collect::<Vec<_>>()
                    .join(", ")
            ),
        };
        format!(
            "{} delays over {}, each what its sample exceeds {} by; mean {}, standard deviation {}, {} zeros\n{order}",
            self.n,
            show::time(self.span_ns as f64),
            show::time(self.less_ns),
            show::time(self.mean_ns),
            self.std_ns.map_or("-".into(), show::time),
            show::rounded_percent(self.zeros),
        )
    }
}
