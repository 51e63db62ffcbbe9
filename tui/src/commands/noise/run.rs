//! `jitterlab noise run`.

use std::fmt::Write as _;
use std::io::{IsTerminal, Write as _};
use std::path::{Path, PathBuf};

use jitterlab_base::show;
use jitterlab_base::units::Nanos;
use jitterlab_node_tuning::cpus::CpuSet;
use jitterlab_node_tuning::noise::counters::{Count, Kind};
use jitterlab_node_tuning::noise::report::{Core, NoiseReport};
use jitterlab_node_tuning::noise::tracers::{self, Answer, Hwlat, Osnoise, Timerlat, Tracers};
use jitterlab_node_tuning::noise::{Error, Noise};
use jitterlab_stats::histogram::Bins;

use crate::cpus::{enter, kept_for_measuring};
use crate::files;
use crate::outcome::{Exit, Failure};
use crate::output::{self, Format};
use crate::status::{Planned, Shown};

/// Options of `noise run`.
#[derive(clap::Args)]
pub struct Run {
    /// CPUs to measure, as in 1-3,8 [default: those that a tuned node keeps for measuring; else all]
    #[arg(long)]
    cpus: Option<CpuSet>,
    /// How long to measure
    #[arg(long, default_value = "10s")]
    duration: Nanos,
    /// Shortest interruption that counts [default: 300ns, or four iterations of the measuring loop if
    /// that is longer]
    #[arg(long)]
    threshold: Option<Nanos>,
    /// Write the result to this file as JSON, for `noise compare`
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

impl Run {
    pub fn run(self) -> Result<Exit, Failure> {
        if let Some(path) = &self.output {
            files::check_place("", path)?;
        }
        let root = Path::new("/");
        let cpus = self.cpus.or_else(kept_for_measuring);
        if let Some(cpus) = &cpus {
            enter(cpus)?;
        }
        let noise = Noise {
            cpus,
            duration: self.duration,
            threshold: self.threshold,
            root: root.into(),
        };
        progress(&format!("spinning for {}", self.duration));
        let measuring = noise.chosen().map_err(failure)?;
        let measuring: Vec<usize> = measuring.iter().map(|cpu| cpu as usize).collect();
        let planned = Planned::Parts {
            counts: [1, 1],
            each: self.duration.as_duration(),
        };
        let shown = Shown::begin(&measuring, planned);
        let report = noise.run();
        drop(shown);
        let mut report = report.map_err(failure)?;
        let cpus = report.cores.iter().map(|core| core.cpu).collect();
        progress("asking the kernel's tracers");
        report.tracers = Some(tracers::run(root, &cpus));
        // First: what was measured is not lost where the file cannot be written.
        output::print(self.format, &report, || text(&report))?;
        if let Some(path) = &self.output {
            files::write(path, &serde_json::to_vec(&report).map_err(Failure::run)?)?;
        }
        Ok(Exit::Done)
    }
}

/// The words that were typed are wrong, or the system is.
fn failure(error: Error) -> Failure {
    match error {
        Error::NotAvailable { .. }
        | Error::NoCpu { .. }
        | Error::Threshold { .. }
        | Error::Duration => Failure::input(error),
        _ => Failure::run(error),
    }
}

/// Somebody who waits is told for what.
fn progress(what: &str) {
    let mut stderr = std::io::stderr();
    if stderr.is_terminal() {
        let _ = writeln!(stderr, "{what} …");
    }
}

fn text(report: &NoiseReport) -> String {
    let mut out = String::new();
    out_line(
        &mut out,
        &format!(
            "noise on {}, Linux {}: gaps above {} between two readings of the {}; an iteration takes {}",
            report.host,
            report.kernel,
            Nanos(report.threshold_ns),
            report.clock,
            show::time(report.iteration_ns)
        ),
    );
    out.push('\n');
    out.push_str(&table(&report.cores));
    out.push('\n');
    out.push_str(&histogram(&report.cores));
    for core in &report.cores {
        out.push('\n');
        out.push_str(&who(core));
    }
    if !report.not_counted.is_empty() {
        out.push('\n');
    }
    for reason in &report.not_counted {
        out_line(&mut out, &format!("not counted: {reason}"));
    }
    if let Some(tracers) = &report.tracers {
        out.push('\n');
        out.push_str(&traced(tracers));
    }
    out
}

fn out_line(out: &mut String, line: &str) {
    out.push_str(line.trim_end());
    out.push('\n');
}

fn table(cores: &[Core]) -> String {
    let mut out = format!(
        "{:>4} {:>9} {:>10} {:>10} {:>11} {:>10} {:>10} {:>12} {:>9}\n",
        "CPU", "gaps", "gaps/s", "lost %", "median", "99 %", "99.9 %", "longest", "loop"
    );
    for core in cores {
        let quantiles = match &core.lengths_ns {
            Some(lengths) => [lengths.median, lengths.p99, lengths.p999].map(show::time),
            None => ["-"; 3].map(String::from),
        };
        let [median, p99, p999] = quantiles;
        let _ = writeln!(
            out,
            "{:>4} {:>9} {:>10.1} {:>10.4} {median:>11} {p99:>10} {p999:>10} {:>12} {:>9}",
            core.cpu,
            core.gaps,
            core.gaps_per_s,
            core.lost_share * 100.0,
            show::time(core.longest_ns as f64),
            show::time(core.iteration_ns),
        );
    }
    for core in cores.iter().filter(|core| !core.recorded.complete) {
        let _ = writeln!(
            out,
            "CPU {}: the record was full after {} gaps: median and percentiles are those of these, all else is of all",
            core.cpu,
            core.recorded.lengths_ns.len()
        );
    }
    out
}

/// A column a CPU.
fn histogram(cores: &[Core]) -> String {
    /// Rows: powers of two, as many as a histogram has.
    const OCTAVES: usize = 42;
    let octaves = Bins::logarithmic(1.0, 2f64.powi(OCTAVES as i32), OCTAVES);
    let counts = cores
        .iter()
        .map(|core| octaves.of_histogram(&core.histogram));
    let counts: Vec<Vec<u64>> = counts.collect();
    let mut out = format!("{:>16}", "gaps from");
    for core in cores {
        let _ = write!(out, " {:>9}", format!("CPU {}", core.cpu));
    }
    out.push('\n');
    for (octave, &from_ns) in octaves.edges()[..OCTAVES].iter().enumerate() {
        if counts.iter().all(|of_cpu| of_cpu[octave] == 0) {
            continue;
        }
        let _ = write!(out, "{:>16}", show::time(from_ns));
        for of_cpu in &counts {
            let _ = write!(out, " {:>9}", of_cpu[octave]);
        }
        out.push('\n');
    }
    out
}

/// Rows of counts of a kind that are printed; JSON has all.
const MOST_ROWS: usize = 8;

fn who(core: &Core) -> String {
    let who = &core.who;
    let mut out = format!(
        "CPU {}: {:.1} gaps a second, and who it was (<= of the gaps at most)\n",
        core.cpu, core.gaps_per_s
    );
    let seconds = core.observed_ns as f64 / 1e9;
    for kind in [
        Kind::Interrupt,
        Kind::Softirq,
        Kind::Schedule,
        Kind::Throttle,
    ] {
        let counts: Vec<&Count> = who.counts.iter().filter(|c| c.kind == kind).collect();
        for count in counts.iter().take(MOST_ROWS) {
            let line = format!(
                "  {:9} {:>10.1}/s {:>11}  {} {}",
                kind.name(),
                count.count as f64 / seconds,
                share_of_gaps(core, count),
                count.name,
                count.description
            );
            out_line(&mut out, &line);
        }
        if counts.len() > MOST_ROWS {
            let _ = writeln!(
                out,
                "  {:9} and {} more",
                kind.name(),
                counts.len() - MOST_ROWS
            );
        }
    }
    let _ = writeln!(
        out,
        "  {} gaps, {} interrupts, {} page faults: at most {} gaps were one of these, {}",
        core.gaps,
        who.interrupts,
        who.thread.page_faults,
        who.explained_at_most,
        match who.unexplained_at_least {
            0 => "and all may have been".to_string(),
            n => format!("at least {n} were none: hypervisor, firmware or processor"),
        }
    );
    let thread = &who.thread;
    let _ = writeln!(
        out,
        "  the thread was switched away {} times{}",
        thread.involuntary_switches + thread.voluntary_switches,
        match who.switched_at_most_ns {
            Some(ns) if ns > 0 => format!(
                ", which took at most {} of the {} lost",
                show::time(ns as f64),
                show::time(core.lost_ns as f64)
            ),
            _ => String::new(),
        },
    );
    for steal in who.counts.iter().filter(|c| c.kind == Kind::StealNs) {
        let time = show::time(steal.count as f64);
        let _ = writeln!(out, "  the hypervisor gave {time} to others (steal)");
    }
    out
}

/// The share of the gaps that an interrupt can have to do with: each opens one gap at most. Nothing is known of other counts.
fn share_of_gaps(core: &Core, count: &Count) -> String {
    if count.kind != Kind::Interrupt || core.gaps == 0 {
        return String::new();
    }
    let share = count.count.min(core.gaps) as f64 / core.gaps as f64;
    format!("<= {}", show::rounded_percent(share))
}

fn traced(tracers: &Tracers) -> String {
    let us = |us: u64| show::time(us as f64 * 1e3);
    let osnoise = |it: &Osnoise| {
        format!(
            "CPU {}: {} of {} lost, longest {}; hardware {}, NMI {}, interrupts {}, softirqs {}, threads {}",
            it.cpu,
            us(it.noise_us),
            us(it.runtime_us),
            us(it.longest_us),
            it.hardware,
            it.nmis,
            it.irqs,
            it.softirqs,
            it.threads
        )
    };
    let late = |name: &str, summary: &Option<jitterlab_stats::summary::Summary>| match summary {
        Some(s) => format!(
            "{name} late by {}, 99 % {}, at most {} (n {})",
            show::time(s.median),
            show::time(s.p99),
            show::time(s.max),
            s.n
        ),
        None => format!("no {name}"),
    };
    let timerlat = |it: &Timerlat| {
        format!(
            "CPU {}: {}; {}",
            it.cpu,
            late("interrupt", &it.irq_ns),
            late("thread", &it.thread_ns)
        )
    };
    let hwlat = |it: &Hwlat| {
        format!(
            "CPU {}: {} latencies in {} windows of a second, longest {}",
            it.cpu,
            it.latencies,
            it.windows,
            us(it.longest_us)
        )
    };
    [
        answer("osnoise", &tracers.osnoise, osnoise),
        answer("timerlat", &tracers.timerlat, timerlat),
        answer("hwlat", &tracers.hwlat, hwlat),
    ]
    .concat()
}

fn answer<T>(name: &str, answer: &Answer<T>, line: impl Fn(&T) -> String) -> String {
    match answer {
        Answer::NotAvailable(reason) => format!("{name}: not available: {reason}\n"),
        Answer::Measured(cpus) if cpus.is_empty() => format!("{name}: nothing found\n"),
        Answer::Measured(cpus) => cpus
            .iter()
            .map(|cpu| format!("{name}: {}\n", line(cpu)))
            .collect(),
    }
}
