//! `jitterlab amvia rtt`, `bandwidth` and `loggp`: cases of the active-message suite.

use std::path::PathBuf;

use jitterlab_amvia::transport::{Address, Faults};
use jitterlab_amvia::wire::MAX_WINDOW;
use jitterlab_amvia_suite::cases::Case;
use jitterlab_amvia_suite::cases::bandwidth;
use jitterlab_amvia_suite::cases::rtt::{self, Length};
use jitterlab_amvia_suite::loggp::LogGp;
use jitterlab_amvia_suite::{Client, Error, Options, Protocol, WINDOW, message_for};
use jitterlab_base::print::Text;
use jitterlab_base::units::{Bytes, Nanos};
use jitterlab_packet::cases::{DURATION, WARMUP};
use jitterlab_packet::transport::Transport;

use crate::commands::packet::link::AdapterOptions;
use crate::commands::packet::{at_most_a_day, count, span};
use crate::cpus::{choose, pin};
use crate::files;
use crate::outcome::{Exit, Failure};
use crate::output::{self, Format};
use crate::peer::Server;
use crate::priority::is_real_time;
use crate::status::{Planned, Shown};

/// The two ends that a case is measured between.
#[derive(clap::Args)]
struct Ends {
    /// udp, shm or verbs
    #[arg(long)]
    transport: Transport,
    #[command(flatten)]
    adapter: AdapterOptions,
    /// amvia (request, acknowledgement, reply), amvia-riding (the acknowledgement rides on the reply), amudp (request, reply,
    /// acknowledgement) or two-way (request, reply)
    #[arg(long, default_value_t = Protocol::Amvia)]
    protocol: Protocol,
    /// Maximum number of transactions under way
    #[arg(long, default_value_t = WINDOW, value_parser = count::<u8>(1..=MAX_WINDOW.into()))]
    window: u8,
    /// Shortest wait before a message is sent again [default: 1ms, for loggp 1s]
    #[arg(long, value_parser = span)]
    min_rto: Option<Nanos>,
    /// Longest wait before a message is sent again; if --min-rto has the same value, all waits are equal [default: 1s]
    #[arg(long, value_parser = span)]
    max_rto: Option<Nanos>,
    /// Faults for the messages that this end sends, as in ber=1e-6,loss=1%,duplicate=1%,reorder=1%,delay=2ms,seed=7. Without --to,
    /// the command starts a server, which makes the same faults
    #[arg(long, value_name = "FAULT=…,…")]
    faults: Option<Faults>,
    /// Address of a running `amvia serve --wait poll`. Its --protocol, --window, --min-rto and --max-rto must be the same as here,
    /// and its --message at least as long as the longest message of this command [default: start a server on this machine]
    #[arg(long)]
    to: Option<Address>,
    /// Run on this CPU [default: any CPU; on a tuned node, the first free CPU that is reserved for measurements]
    #[arg(long)]
    cpu: Option<usize>,
    /// The CPU of the `amvia serve` that this command starts
    #[arg(long, conflicts_with = "to")]
    server_cpu: Option<usize>,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Options of `amvia rtt`.
#[derive(clap::Args)]
#[command(group(clap::ArgGroup::new("length").args(["count", "duration"])))]
pub struct Rtt {
    #[command(flatten)]
    ends: Ends,
    /// Size of a request and of its reply
    #[arg(long, default_value_t = rtt::SIZE)]
    size: Bytes,
    /// Number of transactions, as in 10k or 1M [default: 100k]
    #[arg(long, value_parser = count::<u64>(1..=1 << 27))]
    count: Option<u64>,
    /// Measure for this time, in place of --count
    #[arg(long, value_parser = span)]
    duration: Option<Nanos>,
    /// Warm-up time; its measurements are discarded
    #[arg(long, default_value_t = WARMUP, value_parser = at_most_a_day)]
    warmup: Nanos,
    /// Write every round trip to this file, as Parquet, or as text if its name ends in .csv
    #[arg(long)]
    samples: Option<PathBuf>,
}

/// Options of `amvia bandwidth`.
#[derive(clap::Args)]
pub struct Bandwidth {
    #[command(flatten)]
    ends: Ends,
    /// Sizes of requests, as in 32,128,4KiB [default: 32B,128B,512B,2KiB,8KiB]
    #[arg(long, value_delimiter = ',')]
    size: Vec<Bytes>,
    /// Time to measure each size
    #[arg(long, default_value_t = DURATION, value_parser = span)]
    duration: Nanos,
    /// Warm-up time of each; its measurements are discarded
    #[arg(long, default_value_t = WARMUP, value_parser = at_most_a_day)]
    warmup: Nanos,
}

/// Options of `amvia loggp`.
#[derive(clap::Args)]
pub struct Loggp {
    #[command(flatten)]
    ends: Ends,
    /// Size of a request and of its reply
    #[arg(long, default_value_t = rtt::SIZE)]
    size: Bytes,
    /// Number of repetitions; the confidence intervals come from their spread
    #[arg(long, default_value_t = 20, value_parser = count::<u32>(2..=10_000))]
    blocks: u32,
}

impl Rtt {
    /// Measures.
    pub fn run(self) -> Result<Exit, Failure> {
        if let Some(path) = &self.samples {
            files::check_place("samples ", path)?;
        }
        let length = match (self.duration, self.count) {
            (Some(time), _) => Length::Time(time),
            (None, count) => Length::Messages(count.unwrap_or(100_000)),
        };
        let case = rtt::Rtt {
            size: self.size,
            warmup: Length::Time(self.warmup),
            length,
        };
        let planned = match length {
            Length::Time(time) => timed(1, self.warmup, time),
            Length::Messages(count) => Planned::Samples(count),
        };
        let connected = self
            .ends
            .connect(Case::Rtt, self.size, planned, Client::connect)?;
        let client = &connected.client;
        let outcome = case.run(client).map_err(Failure::of)?;
        drop(connected.shown);
        let report = rtt::Report::of(&case, client, &outcome).map_err(Failure::of)?;
        output::print(self.ends.format, &report, || report.text())?;
        let Some(path) = &self.samples else {
            return Ok(Exit::Done);
        };
        let meaning = "RTT, ns, in the order of measurement".to_string();
        let notes = [
            ("meaning", meaning),
            ("case", report.case.to_string()),
            ("transport", self.ends.transport.to_string()),
            ("protocol", self.ends.protocol.to_string()),
            ("size", report.size.to_string()),
        ];
        files::write_samples(path, &outcome.samples, &notes)?;
        Ok(Exit::Done)
    }
}

impl Bandwidth {
    /// Measures.
    pub fn run(self) -> Result<Exit, Failure> {
        let sizes = match self.size.as_slice() {
            [] => bandwidth::SIZES.to_vec(),
            sizes => sizes.to_vec(),
        };
        let longest = sizes.iter().copied().max().unwrap_or(rtt::SIZE);
        let case = bandwidth::Bandwidth {
            sizes,
            warmup: self.warmup,
            duration: self.duration,
        };
        let planned = timed(case.sizes.len() as u32, case.warmup, case.duration);
        let connected = self
            .ends
            .connect(Case::Bandwidth, longest, planned, Client::connect)?;
        let report = case.run(&connected.client).map_err(Failure::of)?;
        drop(connected.shown);
        output::print(self.ends.format, &report, || report.text())?;
        Ok(Exit::Done)
    }
}

impl Loggp {
    /// Measures.
    pub fn run(self) -> Result<Exit, Failure> {
        let case = LogGp {
            size: self.size,
            blocks: self.blocks,
            ..LogGp::default()
        };
        let longest = case.longest();
        let connect = |options: &Options, to: &Address| case.connect(options, to);
        let planned = Planned::Samples(case.samples());
        let connected = self.ends.connect(Case::Loggp, longest, planned, connect)?;
        let (client, switch) = &connected.client;
        let report = case.run(client, switch).map_err(Failure::of)?;
        drop(connected.shown);
        let text = || match is_real_time() {
            true => report.text(),
            false => report.text() + WITHOUT_PRIORITY,
        };
        output::print(self.ends.format, &report, text)?;
        Ok(Exit::Done)
    }
}

/// A server that this command starts inherits its priority.
const WITHOUT_PRIORITY: &str = "measured without real-time priority: other work may have added to the times; \
    `chrt -f 20 jitterlab amvia loggp …` keeps it out\n";

/// A plan of so many parts, each with its warm-up.
fn timed(parts: u32, warmup: Nanos, time: Nanos) -> Planned {
    Planned::Parts {
        counts: [parts; 2],
        each: warmup.as_duration() + time.as_duration(),
    }
}

/// An end, what is shown of it while it measures, and the server if that was started for it.
struct Connected<C> {
    client: C,
    shown: Shown,
    _server: Option<Server<Address>>,
}

impl Ends {
    /// Connects this end by `connect` to the other, which is started where none is named, for messages of up to `longest`. What is
    /// measured, which is `planned`, is shown.
    fn connect<C>(
        &self,
        case: Case,
        longest: Bytes,
        planned: Planned,
        connect: impl FnOnce(&Options, &Address) -> Result<C, Error>,
    ) -> Result<Connected<C>, Failure> {
        let options = Options {
            transport: self.transport,
            adapter: self.adapter.of(self.transport)?,
            protocol: self.protocol,
            window: self.window,
            message: message_for(longest),
            min_rto: self.min_rto.unwrap_or(case.min_rto()),
            max_rto: self.max_rto,
            faults: self.faults,
        };
        options
            .of_endpoint()
            .config
            .check()
            .map_err(Failure::input)?;
        // Before a server is started, which looks for one of its own.
        let cpu = choose(self.cpu);
        let server = match &self.to {
            Some(_) => None,
            None => Some(Server::start(&self.serve(&options)?)?),
        };
        let measuring: Vec<usize> = cpu.into_iter().chain(self.server_cpu).collect();
        let shown = Shown::begin(&measuring, planned);
        pin(cpu)?;
        let address = self.to.as_ref();
        let address = address.or(server.as_ref().map(|server| &server.address));
        let address = address.ok_or_else(|| Failure::run("no server was started"))?;
        let client = connect(&options, address).map_err(Failure::of)?;
        Ok(Connected {
            client,
            shown,
            _server: server,
        })
    }

    /// The arguments of a server that is started.
    fn serve(&self, options: &Options) -> Result<Vec<String>, Failure> {
        let listen = match self.transport {
            Transport::Udp => "udp://127.0.0.1:0".into(),
            Transport::Verbs => "verbs://127.0.0.1:0".into(),
            Transport::Shm => format!("shm://serve-{}", std::process::id()),
            Transport::Tcp => return Err(Failure::of(Error::Transport(Transport::Tcp))),
        };
        let words = ["amvia", "serve", "--wait", "poll", "--listen", &listen];
        let told = [
            ("--protocol", options.protocol.to_string()),
            ("--window", options.window.to_string()),
            ("--message", options.message.to_string()),
            ("--min-rto", options.min_rto.to_string()),
        ];
        let mut arguments: Vec<String> = words.map(String::from).to_vec();
        arguments.extend(
            told.into_iter()
                .flat_map(|(name, value)| [name.into(), value]),
        );
        let optional = [
            ("--max-rto", options.max_rto.map(|it| it.to_string())),
            ("--faults", options.faults.map(|it| it.to_string())),
        ];
        for (name, value) in optional {
            arguments.extend(value.into_iter().flat_map(|value| [name.into(), value]));
        }
        arguments.extend(self.adapter.of_server());
        if let Some(cpu) = self.server_cpu {
            arguments.extend(["--cpu".into(), cpu.to_string()]);
        }
        Ok(arguments)
    }
}
