use std::io;
use std::path::PathBuf;

use jitterlab_base::show;
use jitterlab_base::units::Nanos;
use nix::errno::Errno;
use thiserror::Error as ThisError;

use crate::cpus::{Cpu, CpuSet};

/// An error that keeps noise from being measured or compared.
#[derive(Debug, ThisError)]
pub enum Error {
    /// A CPU was asked for on which this process cannot run.
    #[error("CPU {missing} cannot be measured: this process can run on {available}")]
    NotAvailable {
        /// Those of the CPUs asked for that are not available.
        missing: CpuSet,
        /// Those that are.
        available: CpuSet,
    },
    /// No CPU was asked for.
    #[error("there is no CPU to measure: name at least one of {available}")]
    NoCpu {
        /// Those that could be measured.
        available: CpuSet,
    },
    /// A thread could not be kept on its CPU.
    #[error(
        "the measuring thread cannot stay on CPU {cpu}: was the CPU taken offline, or removed from the cpuset?"
    )]
    Pin {
        /// The CPU.
        cpu: Cpu,
        /// The system's error.
        source: Errno,
    },
    /// A thread could not be started.
    #[error("cannot start a thread for CPU {cpu}")]
    Thread {
        /// The CPU that it was for.
        cpu: Cpu,
        /// The system's error.
        source: io::Error,
    },
    /// The threshold is within what the loop itself takes.
    #[error(
        "a threshold of {} is too low: it has to be at least {}, because an iteration of the loop takes {} here",
        Nanos(*threshold_ns), Nanos(*least_ns), show::time(*iteration_ns)
    )]
    Threshold {
        /// The threshold that was asked for.
        threshold_ns: u64,
        /// The time of an iteration.
        iteration_ns: f64,
        /// The least that is accepted.
        least_ns: u64,
    },
    /// The time to measure for is too short or too long.
    #[error("noise is measured for at least 10ms and at most one day")]
    Duration,
    /// A file of the kernel cannot be read.
    #[error("cannot read {path}", path = path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A file of the kernel is not what it should be.
    #[error("{path}:{line}: {expected} expected", path = path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// The content that should be there.
        expected: &'static str,
    },
    /// Two reports that cannot be compared.
    #[error("{0}")]
    Incomparable(String),
    /// A statistic could not be computed.
    #[error("cannot compare")]
    Statistics(#[from] jitterlab_stats::Error),
}
