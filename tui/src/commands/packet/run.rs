//! `jitterlab packet run`: measures a case.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use jitterlab_base::print::Text;
use jitterlab_base::units::{Bytes, Nanos};
use jitterlab_experiment::samples;
use jitterlab_packet::Error;
use jitterlab_packet::cases::bandwidth::{self, Bandwidth};
use jitterlab_packet::cases::buffer_reuse::{self, MOST_BUFFERS, PATTERN};
use jitterlab_packet::cases::hot_spot::{self, MOST_SLAVES};
use jitterlab_packet::cases::open_loop::{self, Timetable};
use jitterlab_packet::cases::rtt::{self, Detailed, Length, Report, Rtt};
use jitterlab_packet::cases::{
    self, Case, Told, bidirectional, completion, latency, overhead, usual_window,
};
use jitterlab_packet::transport::{Buffers, Link, MOST_WINDOW, Plan, Transport, Wait};
use jitterlab_stats::histogram::Compact;
use serde::Serialize;

use super::link::VerbsOptions;
use super::open::OpenLoop;
use super::{PORT, at_most_a_day, check_server_cpu, count, pin, span};
use crate::cpus::choose;
use crate::files;
use crate::outcome::{Exit, Failure};
use crate::output::{self, Format};
use crate::peer::Peer;
use crate::status::{Planned, Shown};

/// Options of `packet run`.
#[derive(clap::Args)]
#[command(group(clap::ArgGroup::new("length").args(["iterations", "duration"])))]
#[command(group(clap::ArgGroup::new("warm").args(["warmup", "warmup_iterations"])))]
pub struct Run {
    /// What to measure: rtt, latency, bandwidth, bidirectional, overhead, completion, buffer-reuse or
    /// hot-spot. `packet list` explains them
    #[arg(long)]
    case: Case,
    /// udp, tcp, verbs or shm
    #[arg(long)]
    transport: Transport,
    #[command(flatten)]
    verbs: VerbsOptions,
    /// Message size, or a list such as 1,64,4KiB. buffer-reuse takes two: the first for latency, the second for bandwidth
    /// [default: 64B, or a list; it depends on the case]
    #[arg(long, value_delimiter = ',')]
    size: Vec<Bytes>,
    /// Number of messages per size, as in 10k or 1M [default: 100k for rtt; the other cases take a duration]
    #[arg(long, value_parser = count::<u64>(1..=1 << 27))]
    iterations: Option<u64>,
    /// Time to measure per size [default: 500ms; rtt takes a number of messages]
    #[arg(long, value_parser = span)]
    duration: Option<Nanos>,
    /// Warm-up time; its measurements are discarded [default: 50ms; for rtt 200ms]
    #[arg(long, value_parser = at_most_a_day)]
    warmup: Option<Nanos>,
    /// Warm up with this number of messages instead
    #[arg(long, value_parser = count::<u64>(0..=u64::MAX))]
    warmup_iterations: Option<u64>,
    /// A message counts as lost if no answer comes in this time. Over TCP and the verbs service rc no message is lost: the command waits
    /// on. The run ends after 20 timeouts in a row
    #[arg(long, default_value_t = rtt::TIMEOUT, value_parser = span)]
    timeout: Nanos,
    /// block: sleep until an answer comes. poll: ask again and again, without sleep [default: block; verbs and shm: poll]
    #[arg(long)]
    wait: Option<Wait>,
    #[command(flatten)]
    open: OpenLoop,
    /// Maximum number of messages in flight. Used by bandwidth, bidirectional, overhead, buffer-reuse, and rtt with --rate [default: 100;
    /// rtt with --rate: 1024]
    #[arg(long, value_parser = count::<u32>(1..=MOST_WINDOW.into()))]
    window: Option<u32>,
    /// buffer-reuse: how many buffers to cycle through; one measurement for each number [default: 1,10,100,1000]
    #[arg(long, value_delimiter = ',', value_parser = count::<u32>(1..=MOST_BUFFERS.into()))]
    buffers: Vec<u32>,
    /// buffer-reuse: shares of messages that use one single buffer, in percent [default: 0,25,50,75,100]
    #[arg(long, value_delimiter = ',', value_parser = count::<u8>(0..=100))]
    reuse: Vec<u8>,
    /// hot-spot: number of servers to start on this machine [default: 4]
    #[arg(long, conflicts_with = "to", value_parser = count::<u8>(1..=MOST_SLAVES as u64))]
    slaves: Option<u8>,
    /// HOST or HOST:PORT of a running `packet serve`; hot-spot takes a list. If HOST is a loopback address without a PORT,
    /// the command starts a server there [default: start a server on this machine]
    #[arg(long, value_delimiter = ',')]
    to: Vec<String>,
    /// Run on this CPU [default: any CPU; on a tuned node, the first free CPU that is reserved for measurements]
    #[arg(long)]
    cpu: Option<usize>,
    /// The CPU of the `packet serve` that this command starts
    #[arg(long)]
    server_cpu: Option<usize>,
    /// rtt: write every round trip to this file, as Parquet, or as text if its name ends in .csv
    #[arg(long)]
    samples: Option<PathBuf>,
    /// rtt: also print a histogram of the round-trip times
    #[arg(long)]
    histogram: bool,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

impl Run {
    pub fn run(self) -> Result<Exit, Failure> {
        self.check()?;
        if let Some(path) = &self.samples {
            files::check_place("samples ", path)?;
        }
        let link = self.verbs.link(self.transport)?;
        let sizes = self.sizes(&link);
        let job = Job {
            latency: self.latency(&link, sizes[0]),
            bandwidth: self.bandwidth(&link, sizes[sizes.len() - 1]),
            sizes,
            patterns: self.patterns(),
            timetable: self.open.timetable(self.window)?,
        };
        self.check_job(&job)?;
        // Before servers are started, which look for one of their own.
        let cpu = choose(self.cpu);
        let peers = self.peers()?;
        let slaves: Vec<SocketAddr> = peers.iter().map(Peer::address).collect();
        let cpus: Vec<usize> = cpu.into_iter().collect();
        let shown = Shown::begin(&cpus, self.planned(&job, peers.len()));
        pin(cpu)?;
        self.measure(&job, &slaves, shown)
    }

    /// Refuses options that the case has no use for.
    fn check(&self) -> Result<(), Failure> {
        let given = [
            ("--rate", self.open.is_given(), Told::Rate),
            ("--samples", self.samples.is_some(), Told::Samples),
            ("--histogram", self.histogram, Told::Samples),
            ("--window", self.window.is_some(), Told::Window),
            ("--buffers", !self.buffers.is_empty(), Told::Buffers),
            ("--reuse", !self.reuse.is_empty(), Told::Reuse),
            ("--slaves", self.slaves.is_some(), Told::Slaves),
            ("more than one --to", self.to.len() > 1, Told::Slaves),
            ("more than one --size", self.size.len() > 1, Told::Sizes),
        ];
        for (option, is_given, told) in given {
            let cases = told.cases(self.open.is_given());
            if is_given && !cases.contains(&self.case) {
                let names: Vec<&str> = cases.iter().map(|case| case.name()).collect();
                return Err(Failure::input(format!(
                    "{option} is for --case {}, not for {}",
                    names.join(", "),
                    self.case
                )));
            }
        }
        if self.wait.is_some() && !Told::Wait.cases(false).contains(&self.case) {
            return Err(Failure::input(format!(
                "--case {} measures all ways to wait; leave out --wait",
                self.case
            )));
        }
        let sizes = self.case.check_sizes(self.size.len());
        sizes.map_err(|problem| Failure::input(format!("--case {problem}")))?;
        if self.to.len() > MOST_SLAVES {
            return Err(Failure::input(format!("at most {MOST_SLAVES} slaves")));
        }
        Ok(())
    }

    /// Refuses what cannot be measured before anything is started.
    fn check_job(&self, job: &Job) -> Result<(), Failure> {
        let link = &job.latency.link;
        for &size in &job.sizes {
            if self.case != Case::Bandwidth && self.case != Case::Completion {
                link.check(size.0, job.latency.wait).map_err(Failure::of)?;
            }
            if matches!(
                self.case,
                Case::Bandwidth | Case::Bidirectional | Case::Overhead
            ) {
                let both = self.case == Case::Bidirectional;
                let options = Bandwidth {
                    size,
                    both,
                    ..job.bandwidth.clone()
                };
                link.check_plan(&options.plan()).map_err(Failure::of)?;
            }
        }
        if let Some(open) = job.open_loop() {
            link.check_plan(&open.plan()).map_err(Failure::of)?;
        }
        for &buffers in &job.patterns {
            let plan = Plan {
                buffers,
                ..job.bandwidth.plan()
            };
            link.check_plan(&plan).map_err(Failure::of)?;
        }
        Ok(())
    }

    fn wait(&self) -> Wait {
        self.wait.unwrap_or(self.transport.usual_wait())
    }

    /// The sizes that were asked for, or those that the case has where nothing is said, of these the ones that
    /// can be sent.
    fn sizes(&self, link: &Link) -> Vec<Bytes> {
        if !self.size.is_empty() {
            return self.size.clone();
        }
        self.case.usual_sizes_over(link)
    }

    fn warmup(&self) -> Length {
        let usual = match self.case {
            Case::Rtt => rtt::WARMUP,
            _ => cases::WARMUP,
        };
        match self.warmup_iterations {
            Some(count) => Length::Messages(count),
            None => Length::Time(self.warmup.unwrap_or(usual)),
        }
    }

    fn length(&self) -> Length {
        match (self.duration, self.iterations) {
            (Some(time), _) => Length::Time(time),
            (None, Some(count)) => Length::Messages(count),
            (None, None) if self.case == Case::Rtt => Length::Messages(100_000),
            (None, None) => Length::Time(cases::DURATION),
        }
    }

    /// The amount that is going to be measured, against so many servers.
    fn planned(&self, job: &Job, servers: usize) -> Planned {
        let warmup = match self.warmup() {
            Length::Time(time) => time.0,
            Length::Messages(_) => 0,
        };
        let counts = self
            .case
            .measurements(job.sizes.len(), job.patterns.len(), servers as u8);
        match self.length() {
            Length::Time(time) => Planned::Parts {
                counts,
                each: Duration::from_nanos(warmup + time.0),
            },
            // A sample a message.
            Length::Messages(count) if self.case == Case::Rtt => Planned::Samples(count),
            Length::Messages(_) => Planned::Counted(counts),
        }
    }

    fn latency(&self, link: &Link, size: Bytes) -> Rtt {
        Rtt {
            link: link.clone(),
            size,
            wait: self.wait(),
            warmup: self.warmup(),
            length: self.length(),
            timeout: self.timeout,
        }
    }

    fn bandwidth(&self, link: &Link, size: Bytes) -> Bandwidth {
        Bandwidth {
            link: link.clone(),
            size,
            wait: self.wait(),
            window: self.window.unwrap_or(usual_window(false)),
            buffers: Buffers::Fifo(1),
            both: false,
            computing: Nanos(0),
            warmup: self.warmup(),
            length: self.length(),
            timeout: self.timeout,
        }
    }

    fn patterns(&self) -> Vec<Buffers> {
        if self.case != Case::BufferReuse {
            return Vec::new();
        }
        let (mut buffers, mut reuse) = (self.buffers.clone(), self.reuse.clone());
        if buffers.is_empty() && reuse.is_empty() {
            (buffers, reuse) = (buffer_reuse::BUFFERS.into(), buffer_reuse::REUSE.into());
        }
        let reused = |percent| Buffers::Reuse {
            percent,
            of: PATTERN,
        };
        let fifo = buffers.into_iter().map(Buffers::Fifo);
        fifo.chain(reuse.into_iter().map(reused)).collect()
    }

    /// The other ends.
    fn peers(&self) -> Result<Vec<Peer>, Failure> {
        let serve = self.serve();
        let start = |to: Option<&str>| {
            let peer = Peer::new(to, PORT, &serve)?;
            check_server_cpu(self.server_cpu, &peer)?;
            Ok(peer)
        };
        if !self.to.is_empty() {
            return self.to.iter().map(|to| start(Some(to))).collect();
        }
        (0..self.case.servers(self.slaves))
            .map(|_| start(None))
            .collect()
    }

    /// The arguments of a server that is started.
    fn serve(&self) -> Vec<String> {
        let mut arguments: Vec<String> = ["packet", "serve", "--transport", self.transport.name()]
            .map(String::from)
            .to_vec();
        arguments.extend(self.verbs.of_server());
        if let Some(cpu) = self.server_cpu {
            arguments.extend(["--cpu".into(), cpu.to_string()]);
        }
        arguments
    }

    fn measure(&self, job: &Job, slaves: &[SocketAddr], shown: Shown) -> Result<Exit, Failure> {
        let Job {
            latency,
            bandwidth,
            sizes,
            patterns,
            ..
        } = job;
        let peer = slaves[0];
        match self.case {
            Case::Rtt => {
                let outcome = match job.open_loop() {
                    Some(open) => open.run(peer),
                    None => latency.run(peer),
                };
                let outcome = outcome.map_err(Failure::of)?;
                // First: what was measured is not lost where the file cannot be written.
                let report = Report::of(latency, &outcome);
                let report = match self.histogram {
                    true => {
                        let histogram_ns = Compact::of(outcome.samples.iter().copied());
                        let detailed = report.map(|report| Detailed {
                            report,
                            histogram_ns,
                        });
                        self.print(shown, detailed)?.report
                    }
                    false => self.print(shown, report)?,
                };
                self.keep(&report, &outcome.samples)?;
            }
            Case::Latency => {
                self.print(shown, latency::by_size(latency, sizes, peer))?;
            }
            Case::Bandwidth => {
                self.print(shown, bandwidth::by_size(bandwidth, sizes, peer))?;
            }
            Case::Bidirectional => {
                self.print(
                    shown,
                    bidirectional::by_size(latency, bandwidth, sizes, peer),
                )?;
            }
            Case::Overhead => {
                self.print(shown, overhead::by_size(latency, bandwidth, sizes, peer))?;
            }
            Case::Completion => {
                self.print(shown, completion::by_way(latency, sizes, peer))?;
            }
            Case::BufferReuse => {
                self.print(
                    shown,
                    buffer_reuse::by_pattern(latency, bandwidth, patterns, peer),
                )?;
            }
            Case::HotSpot => {
                self.print(shown, hot_spot::by_slaves(latency, slaves))?;
            }
        }
        Ok(Exit::Done)
    }

    /// Prints what was measured, for people or for programs.
    fn print<R: Text + Serialize>(
        &self,
        shown: Shown,
        measured: Result<R, Error>,
    ) -> Result<R, Failure> {
        drop(shown);
        let report = measured.map_err(Failure::of)?;
        output::print(self.format, &report, || report.text())?;
        Ok(report)
    }

    /// Writes the samples where they are wanted.
    fn keep(&self, report: &Report, taken: &[u64]) -> Result<(), Failure> {
        let Some(path) = &self.samples else {
            return Ok(());
        };
        let mut notes = vec![
            (
                "meaning",
                "RTT, ns, in the order of measurement".to_string(),
            ),
            ("case", report.case.to_string()),
            ("transport", report.setting.transport.to_string()),
            ("size", report.point.size.to_string()),
            (samples::LOOP, report.pacing.name().into()),
        ];
        let way = report.setting.path.as_ref();
        notes.extend(way.map(|path| ("path", path.to_string())));
        files::write_samples(path, taken, &notes)
    }
}

/// The measurement that is made.
struct Job {
    latency: Rtt,
    bandwidth: Bandwidth,
    sizes: Vec<Bytes>,
    patterns: Vec<Buffers>,
    timetable: Option<Timetable>,
}

impl Job {
    /// The open loop that is measured, if it is one.
    fn open_loop(&self) -> Option<open_loop::OpenLoop> {
        Some(open_loop::OpenLoop {
            rtt: self.latency.clone(),
            timetable: self.timetable?,
        })
    }
}
