//! `jitterlab amvia serve`: an endpoint that answers.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use jitterlab_amvia::endpoint::{Bundle, Call};
use jitterlab_amvia::names::{Keeper, Name, Registration};
use jitterlab_amvia::protocol::Counters;
use jitterlab_amvia::transaction::Incarnation;
use jitterlab_amvia::transport::Address;
use jitterlab_amvia_suite::handlers::{ECHO, TAKE, echo, take};
use jitterlab_base::units::Nanos;
use jitterlab_live::Count;
use jitterlab_packet::transport::Wait;
use serde::Serialize;
use signal_hook::consts::{SIGINT, SIGTERM};

use super::end::{End, Harmed, TURN, WAIT, failed};
use super::names::Known;
use crate::cpus::{beside, choose, pin};
use crate::outcome::{Exit, Failure};
use crate::output::{self, Format};
use crate::peer::end_with_stdin;
use crate::status::{Planned, Shown};
use jitterlab_base::print::aligned;
use jitterlab_base::show;

/// Options of `amvia serve`.
#[derive(clap::Args)]
pub struct Serve {
    /// Address of the endpoint, as in udp://127.0.0.1:7421 or shm://server; port 0 chooses a free one
    #[arg(long)]
    listen: Address,
    /// Its name
    #[arg(long, default_value = "server")]
    name: Name,
    #[command(flatten)]
    end: End,
    #[command(flatten)]
    known: Option<Known>,
    /// How requests are waited for. block: sleep until one comes. poll: ask again and again, without sleep
    #[arg(long, default_value_t = Wait::Block)]
    wait: Wait,
    /// Run on this CPU [default: any CPU; on a tuned node, the first free CPU that is reserved for measurements]
    #[arg(long)]
    cpu: Option<usize>,
    /// Exit when stdin is closed
    #[arg(long)]
    until_stdin_closes: bool,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// The counts of an endpoint.
#[derive(Serialize)]
struct Served {
    name: String,
    incarnation: u32,
    handlers_run: u64,
    /// The faults that were made; none where none were asked for.
    faults: Option<Harmed>,
    peers: Vec<ServedPeer>,
}

#[derive(Serialize)]
struct ServedPeer {
    endpoint: String,
    started: u64,
    duplicates: u64,
    acknowledgements_alone: u64,
    acknowledgements_riding: u64,
    no_room: u64,
}

/// The time that a registration holds if it is not renewed.
const LEASE: Duration = Duration::from_secs(30);

impl Serve {
    /// Answers until it is stopped.
    pub fn run(self) -> Result<Exit, Failure> {
        let cpu = choose(self.cpu);
        let serving: Vec<usize> = cpu.into_iter().collect();
        // A server that another command has started has no line of its own.
        let shown = match self.until_stdin_closes {
            true => None,
            false => Some(Shown::begin(&serving, Planned::Endless)),
        };
        pin(cpu)?;
        if self.until_stdin_closes {
            end_with_stdin();
        }
        let stop = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            signal_hook::flag::register_conditional_default(signal, Arc::clone(&stop))
                .map_err(Failure::run)?;
            signal_hook::flag::register(signal, Arc::clone(&stop)).map_err(Failure::run)?;
        }
        let bundle = Bundle::new().map_err(failed)?;
        let opened = self.end.open(&bundle, &self.name, &self.listen)?;
        let endpoint = &opened.endpoint;
        let runs = Arc::new(AtomicU64::new(0));
        let live = jitterlab_live::publisher();
        live.begin("requests");
        let count = |handler: fn(&mut Call<'_>)| {
            let runs = Arc::clone(&runs);
            move |call: &mut Call<'_>| {
                runs.fetch_add(1, Ordering::Relaxed);
                live.count(Count::Messages, 1);
                live.count(Count::Bytes, call.bytes().len() as u64);
                handler(call);
            }
        };
        endpoint.on(ECHO, count(echo)).map_err(failed)?;
        endpoint.on(WAIT, count(wait)).map_err(failed)?;
        endpoint.on(TAKE, count(take)).map_err(failed)?;
        let address = endpoint.address().map_err(failed)?;
        let incarnation = endpoint.incarnation().map_err(failed)?;
        let keeper = match &self.known {
            Some(known) => Some(self.register(known, &address, incarnation)?),
            None => None,
        };
        // A starter that does not read on still is served.
        let mut out = std::io::stdout();
        let _ = writeln!(out, "{{\"listening\":\"{address}\"}}").and_then(|()| out.flush());
        while !stop.load(Ordering::Relaxed) {
            match self.wait {
                Wait::Block => bundle.wait(TURN),
                Wait::Poll => bundle.poll(),
            }
            .map_err(failed)?;
            if let Some(trouble) = keeper.as_ref().and_then(Keeper::trouble) {
                let line = format!("jitterlab: {} is not kept registered: {trouble}", self.name);
                match &shown {
                    Some(shown) => shown.say(&line),
                    None => eprintln!("{line}"),
                }
            }
        }
        drop(shown);
        let peers = endpoint.peers().map_err(failed)?;
        let peers = peers.into_iter().map(|peer| {
            let counters = endpoint.counters(peer)?;
            Ok(ServedPeer::of(&peer.endpoint().to_string(), &counters))
        });
        let served = Served {
            name: self.name.to_string(),
            incarnation,
            handlers_run: runs.load(Ordering::Relaxed),
            faults: opened.harmed()?,
            peers: peers.collect::<Result<_, _>>().map_err(failed)?,
        };
        output::print(self.format, &served, || served.text())?;
        Ok(Exit::Done)
    }

    fn register(
        &self,
        known: &Known,
        address: &Address,
        incarnation: u32,
    ) -> Result<Keeper, Failure> {
        let registration = Registration {
            name: self.name.clone(),
            address: address.clone(),
            incarnation: Incarnation(incarnation),
            lease: LEASE,
        };
        let client = known.client()?;
        beside(|| Keeper::start(client, registration)).map_err(Failure::run)
    }
}

fn wait(call: &mut Call<'_>) {
    let text = String::from_utf8_lossy(call.bytes());
    let time: Option<Nanos> = text.trim().parse().ok();
    let answer = match time {
        Some(Nanos(time)) => {
            std::thread::sleep(Duration::from_nanos(time));
            format!("waited {}", show::time(time as f64))
        }
        None => "a time was expected, as in 250ms".into(),
    };
    let _ = call.reply(answer.as_bytes());
}

impl ServedPeer {
    fn of(endpoint: &str, counters: &Counters) -> ServedPeer {
        ServedPeer {
            endpoint: endpoint.into(),
            started: counters.started,
            duplicates: counters.duplicates,
            acknowledgements_alone: counters.acks_alone,
            acknowledgements_riding: counters.acks_riding,
            no_room: counters.no_room,
        }
    }
}

impl Served {
    fn text(&self) -> String {
        let head = [
            "peer",
            "handlers run",
            "duplicates",
            "acknowledgements alone",
            "riding",
        ];
        let rows = self.peers.iter().map(|peer| {
            [
                peer.endpoint.clone(),
                show::count(peer.started),
                show::count(peer.duplicates),
                show::count(peer.acknowledgements_alone),
                show::count(peer.acknowledgements_riding),
            ]
        });
        let rows: Vec<_> = std::iter::once(head.map(String::from))
            .chain(rows)
            .collect();
        format!(
            "{}, incarnation {}: {} handlers run\n{}{}",
            self.name,
            self.incarnation,
            show::count(self.handlers_run),
            self.faults.as_ref().map_or_else(String::new, Harmed::text),
            aligned(&rows),
        )
    }
}
