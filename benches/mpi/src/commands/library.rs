use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use jitterlab_base::durable;
use jitterlab_base::units::{Bytes, Count, Nanos};
use jitterlab_mpi::comm::Comm;
use jitterlab_mpi::library::{
    self, Case, Choice, Length, Plan, RankClock, Timeline, most_operations, point,
};
use jitterlab_mpi_results::library::{DIMENSIONS, Report, SIZE, Sample, Suite};
use mpi::collective::SystemOperation;

use super::{Failure, Format, Wrong, print};

#[derive(Args)]
pub struct Arguments {
    /// Operation to measure
    #[arg(value_parser = case())]
    case: &'static Case,
    /// Size, or a list such as 8,1KiB,64KiB [default: 8]
    #[arg(long, value_name = "BYTES", value_delimiter = ',')]
    size: Vec<Bytes>,
    /// Number of operations per size, as in 10k or 1M
    #[arg(long, value_name = "N", conflicts_with = "duration")]
    iterations: Option<Count>,
    /// Approximate time to measure per size
    #[arg(long, default_value = "1s")]
    duration: Nanos,
    /// Warm-up time per size; its measurements are discarded
    #[arg(long, value_name = "DURATION", default_value = "100ms")]
    warmup: Nanos,
    /// ping-pong: by MPI_Isend and MPI_Irecv
    #[arg(long)]
    non_blocking: bool,
    /// halo-exchange: lay the ranks out in 2 or in 3 dimensions [default: 2]
    #[arg(long, value_name = "2|3", value_parser = dimensions)]
    dimensions: Option<usize>,
    /// Write every sample to this file, on rank 0: one number of nanoseconds per line
    #[arg(long, value_name = "FILE")]
    samples: Option<PathBuf>,
    /// Write the times at which each rank entered and left each operation to this file, on rank 0, as CSV
    #[arg(long, value_name = "FILE")]
    arrivals: Option<PathBuf>,
    /// How the result is printed
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
}

pub fn run(comm: &Comm, arguments: &Arguments) -> Result<bool, Failure> {
    let case = arguments.case;
    let sizes = arguments.check(comm)?;
    let mut points = Vec::new();
    let mut written = Ok(());
    for size in sizes {
        if let Some(timeline) = case.measure(comm, &arguments.plan(size)) {
            written = written.and(arguments.write(&timeline, size));
            points.push(point(case, size, &timeline));
        }
    }
    if comm.rank() == 0 {
        let clock = RankClock::new();
        let report = Report {
            suite: Suite::Library,
            case: case.name.into(),
            ranks: comm.size(),
            non_blocking: arguments.non_blocking,
            sample: case.sample,
            clock: clock.source(),
            clock_read_ns: clock.read_cost_ns(),
            points,
        };
        print(arguments.format, &report)?;
    }
    // Last: what was measured is not lost where a file cannot be written.
    written.map(|()| true)
}

impl Arguments {
    /// The sizes, if all fits together.
    fn check(&self, comm: &Comm) -> Result<Vec<usize>, Wrong> {
        let name = self.case.name;
        let no_use = |option| Err(Wrong(format!("{name} has no use for {option}")));
        let takes = |choice| self.case.options.contains(&choice);
        if self.non_blocking && !takes(Choice::NonBlocking) {
            return no_use("--non-blocking");
        }
        if self.dimensions.is_some() && !takes(Choice::Dimensions) {
            return no_use("--dimensions");
        }
        if self.case.unit == 0 && !self.size.is_empty() {
            return no_use("--size");
        }
        let sizes: Vec<usize> = match &self.size[..] {
            [] if self.case.unit == 0 => vec![0],
            [] => vec![SIZE.0 as usize],
            sizes => sizes.iter().map(|size| size.0 as usize).collect(),
        };
        for &size in &sizes {
            self.case.check(comm.size(), size).map_err(Wrong)?;
        }
        let most = most_operations(comm.size());
        if self
            .iterations
            .is_some_and(|Count(count)| !(1..=most as u64).contains(&count))
        {
            let ranks = comm.size();
            return Err(Wrong(format!(
                "--iterations takes a number from 1 to {most} on {ranks} ranks: rank 0 keeps every sample of every rank"
            )));
        }
        for file in [&self.samples, &self.arrivals].into_iter().flatten() {
            if sizes.len() > 1 {
                return Err(Wrong("a file takes the times of one size".to_owned()));
            }
            check_place(comm, file)?;
        }
        Ok(sizes)
    }

    fn plan(&self, size: usize) -> Plan {
        Plan {
            size,
            non_blocking: self.non_blocking,
            dimensions: self.dimensions.unwrap_or(DIMENSIONS.into()),
            length: match self.iterations {
                Some(Count(operations)) => Length::Operations(operations as usize),
                None => Length::Time(self.duration),
            },
            warmup: self.warmup,
        }
    }

    fn write(&self, timeline: &Timeline, size: usize) -> Result<(), Failure> {
        if let Some(path) = &self.samples {
            let what = match self.case.sample {
                Sample::RoundTrip => "round trips",
                Sample::Call => "times in the call",
            };
            let what = format!("{}, {size} B: {what} in nanoseconds", self.case.name);
            let ranks = self.case.counted(timeline.lanes().len());
            write(path, &timeline.samples_text(ranks, &what))?;
        }
        if let Some(path) = &self.arrivals {
            write(path, &timeline.arrivals_text())?;
        }
        Ok(())
    }
}

/// A file that cannot be written is found before something is measured for it, by rank 0, which writes.
fn check_place(comm: &Comm, path: &Path) -> Result<(), Wrong> {
    let tried = match comm.rank() {
        0 => durable::try_place(path),
        _ => Ok(()),
    };
    // No broadcast tells this: measurements would begin with one more message gone one way than the other, and Open
    // MPI puts two small ones into a cache line. Barriers are then short and long by turns, with a longer tail.
    let mut failed = [u8::from(tried.is_err())];
    comm.all_reduce_in_place(&mut failed, SystemOperation::max());
    match (failed, tried) {
        ([0], _) => Ok(()),
        (_, Err(error)) => Err(Wrong(cannot_write(path, &error))),
        // It is rank 0 that says why.
        (_, Ok(())) => Err(Wrong(String::new())),
    }
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let written = durable::write_atomically(path, text.as_bytes());
    written.map_err(|error| Failure::Failed(cannot_write(path, &error)))
}

fn cannot_write(path: &Path, error: &io::Error) -> String {
    format!("cannot write {}: {error}", path.display())
}

/// The cases, for the command line.
pub fn case() -> impl TypedValueParser<Value = &'static Case> {
    let values = library::CASES
        .iter()
        .map(|case| PossibleValue::new(case.name).help(case.title));
    PossibleValuesParser::new(values)
        .try_map(|name| library::case(&name).ok_or("there is no such case"))
}

fn dimensions(text: &str) -> Result<usize, &'static str> {
    match text {
        "2" => Ok(2),
        "3" => Ok(3),
        _ => Err("2 or 3"),
    }
}
