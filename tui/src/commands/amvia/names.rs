//! `jitterlab amvia names`: the name server, and what it knows.

use std::io::Write;
use std::net::{SocketAddr, ToSocketAddrs, UdpSocket};
use std::path::PathBuf;
use std::time::Duration;

use jitterlab_amvia::names::{self, Client, Counts, Entry, Key, MOST_NAMES, Name, Server};
use jitterlab_base::print::aligned;
use jitterlab_base::show;
use serde::Serialize;
use thiserror::Error;

use crate::commands::packet::count;
use crate::outcome::{Exit, Failure};
use crate::output::{self, Format};
use crate::peer::listening;

/// The verbs of `jitterlab amvia names`.
#[derive(clap::Subcommand)]
pub enum Command {
    /// Keep the names of endpoints, and tell where they are
    Serve(Serve),
    /// Show all registered endpoints
    List(List),
    /// Show where an endpoint is; exit status 1 if it is not registered
    Lookup(Lookup),
    /// Make a key: a new file that only you can read. Copy it to every node of the cluster
    Key(MakeKey),
}

/// Does it.
pub fn run(command: Command) -> Result<Exit, Failure> {
    match command {
        Command::Serve(options) => options.run(),
        Command::List(options) => options.run(),
        Command::Lookup(options) => options.run(),
        Command::Key(options) => {
            Key::make(&options.file).map_err(Failure::input)?;
            Ok(Exit::Done)
        }
    }
}

/// Options of `names serve`.
#[derive(clap::Args)]
pub struct Serve {
    /// Address to listen on, as in 10.0.0.1:7420; port 0 chooses a free one
    #[arg(long, value_parser = listening)]
    listen: SocketAddr,
    /// File with the key of the cluster; `names key` makes one
    #[arg(long)]
    key: PathBuf,
    /// How many names it keeps at most
    #[arg(long, default_value_t = 4096, value_parser = count::<u32>(1..=MOST_NAMES as u64))]
    max: u32,
}

#[derive(Debug, Error)]
#[error("cannot listen on {0}")]
struct CannotListen(SocketAddr, #[source] std::io::Error);

impl Serve {
    fn run(self) -> Result<Exit, Failure> {
        let key = Key::read(&self.key).map_err(Failure::input)?;
        let secret = names::random().map_err(Failure::run)?;
        let cannot_listen = |error| Failure::run(CannotListen(self.listen, error));
        let socket = UdpSocket::bind(self.listen).map_err(cannot_listen)?;
        let address = socket.local_addr().map_err(cannot_listen)?;
        // A starter that does not read on still is served.
        let _ = output::announce(address);
        let server = Server::new(key, &secret, self.max as usize);
        match names::serve(&socket, server, say_refused) {
            Err(error) => Err(Failure::run(error)),
        }
    }
}

fn say_refused(counts: Counts) {
    // Nobody is left to tell when stderr is closed.
    let _ = writeln!(
        std::io::stderr(),
        "so far {} requests served; {} sent again, and refused; {} messages not made with this key, and dropped",
        show::count(counts.served),
        show::count(counts.replayed),
        show::count(counts.dropped),
    );
}

/// A name server, and what it takes to ask it.
#[derive(clap::Args)]
struct Asked {
    /// HOST:PORT of a running `names serve`
    #[arg(long)]
    server: String,
    /// File with the key of the cluster
    #[arg(long)]
    key: PathBuf,
}

#[derive(Debug, Error)]
#[error("`{0}` is not the HOST:PORT of a name server")]
struct NoServer(String, #[source] std::io::Error);

impl Asked {
    /// The time that a server is asked. It answers at once if it answers.
    const PATIENCE: Duration = Duration::from_secs(5);

    fn client(&self) -> Result<Client, Failure> {
        let key = Key::read(&self.key).map_err(Failure::input)?;
        let none = |error| Failure::input(NoServer(self.server.clone(), error));
        let mut found = self.server.to_socket_addrs().map_err(none)?;
        let server = found
            .next()
            .ok_or_else(|| none(std::io::ErrorKind::NotFound.into()))?;
        Ok(Client::new(server, key, Self::PATIENCE))
    }
}

/// The name server of an endpoint.
#[derive(clap::Args)]
pub struct Known {
    /// HOST:PORT of a running `names serve`
    #[arg(long, required = false, requires = "key")]
    names: String,
    /// File with the key of the cluster
    #[arg(long, required = false, requires = "names")]
    key: PathBuf,
}

impl Known {
    /// The client that asks it.
    pub fn client(&self) -> Result<Client, Failure> {
        let Known { names, key } = self;
        let (server, key) = (names.clone(), key.clone());
        Asked { server, key }.client()
    }
}

/// An entry as it is printed.
#[derive(Serialize)]
struct Shown {
    name: String,
    address: String,
    incarnation: u32,
    lease_left_ms: u64,
}

impl Shown {
    fn of(entry: Entry) -> Shown {
        Shown {
            name: entry.name.to_string(),
            address: entry.address.to_string(),
            incarnation: entry.incarnation.0,
            lease_left_ms: entry.left.as_millis() as u64,
        }
    }

    fn row(&self) -> [String; 4] {
        [
            self.name.clone(),
            self.address.clone(),
            self.incarnation.to_string(),
            show::time(self.lease_left_ms as f64 * 1e6),
        ]
    }
}

fn table<'a>(entries: impl IntoIterator<Item = &'a Shown>) -> String {
    let head = ["name", "address", "incarnation", "lease left"].map(String::from);
    let rows = entries.into_iter().map(Shown::row);
    aligned(&std::iter::once(head).chain(rows).collect::<Vec<_>>())
}

/// Options of `names list`.
#[derive(clap::Args)]
pub struct List {
    #[command(flatten)]
    asked: Asked,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

impl List {
    fn run(self) -> Result<Exit, Failure> {
        let entries = self.asked.client()?.list().map_err(Failure::run)?;
        let entries: Vec<Shown> = entries.into_iter().map(Shown::of).collect();
        output::print(self.format, &entries, || match entries.is_empty() {
            true => "no endpoint is registered\n".into(),
            false => table(&entries),
        })?;
        Ok(Exit::Done)
    }
}

/// Options of `names lookup`.
#[derive(clap::Args)]
pub struct Lookup {
    /// The endpoint's name
    name: Name,
    #[command(flatten)]
    asked: Asked,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

impl Lookup {
    fn run(self) -> Result<Exit, Failure> {
        let client = self.asked.client()?;
        let entry = client.look_up(&self.name).map_err(Failure::run)?;
        let entry = entry.map(Shown::of);
        output::print(self.format, &entry, || match &entry {
            Some(entry) => table([entry]),
            None => format!("{} is not registered\n", self.name),
        })?;
        Ok(match entry {
            Some(_) => Exit::Done,
            None => Exit::Finding,
        })
    }
}

/// Options of `names key`.
#[derive(clap::Args)]
pub struct MakeKey {
    /// The file to be made
    file: PathBuf,
}
