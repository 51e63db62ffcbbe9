//! A request goes to another node once it is known that the first has not run it (Kaur, section 3.2.3).
//!
//! Two servers are processes of their own. The first is killed with `kill -9` while one request runs, and another is made
//! after that. Nobody can know then what became of either. When the server is back, with its log, the client asks: the first
//! request is indeterminate for good, since the server was killed within its handler. The second has not run and never will,
//! so that it may go to the other server.
//!
//! `cargo run -p jitterlab-amvia --example failover`

use std::env;
use std::error::Error;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use jitterlab_amvia::endpoint::{Bundle, Credit, Endpoint, Options, Transaction};
use jitterlab_amvia::log::Durability;
use jitterlab_amvia::protocol::Config;
use jitterlab_amvia::transaction::InitiatorState;
use jitterlab_amvia::transport::{Address, Udp};

const GREET: u16 = 1;
/// A handler that does not end.
const HOLD: u16 = 2;
const MINUTE: Duration = Duration::from_secs(60);

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = env::args().collect();
    match &arguments[1..] {
        [] => fail_over(),
        [name, address, log] => serve(name, address, log.into()),
        _ => Err("no arguments, or those that it starts its servers with".into()),
    }
}

/// A server, until it is killed.
fn serve(name: &str, address: &str, log: PathBuf) -> Outcome<()> {
    let options = Options {
        durability: Durability::Process,
        log: Some(log),
        ..Options::default()
    };
    let bundle = Bundle::new()?;
    let server = bundle.endpoint(name, Udp::bind(address.parse()?, Udp::MTU)?, &options)?;
    let own = name.to_string();
    server.on(GREET, move |call| {
        let whom = String::from_utf8_lossy(call.bytes());
        let greeting = format!("{own} greets {whom}");
        if let Err(error) = call.reply(greeting.as_bytes()) {
            eprintln!("{error}");
        }
    })?;
    server.on(HOLD, |_| {
        println!("holding");
        loop {
            std::thread::park();
        }
    })?;
    println!("{}", server.address()?);
    loop {
        bundle.wait(MINUTE)?;
    }
}

/// A server in a process of its own. It is killed when it is dropped.
struct Server {
    process: Child,
    says: BufReader<ChildStdout>,
    address: Address,
}

impl Server {
    fn start(name: &str, address: &str, log: &Path) -> Outcome<Server> {
        let mut process = Command::new(env::current_exe()?)
            .args([name, address])
            .arg(log)
            .stdout(Stdio::piped())
            .spawn()?;
        let says = process.stdout.take().ok_or("no pipe")?;
        let mut server = Server {
            process,
            says: BufReader::new(says),
            address: "udp://0.0.0.0:0".parse()?,
        };
        server.address = server.line()?.parse()?;
        Ok(server)
    }

    fn line(&mut self) -> Outcome<String> {
        let mut line = String::new();
        self.says.read_line(&mut line)?;
        Ok(line.trim_end().into())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // SIGKILL.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn fail_over() -> Outcome<()> {
    let folder = tempfile::tempdir()?;
    let log = folder.path().join("first.log");
    let mut first = Server::start("first", "127.0.0.1:0", &log)?;
    let second = Server::start("second", "127.0.0.1:0", &folder.path().join("second.log"))?;

    // The timeout hardly grows here, so that a dead server is given up soon.
    let options = Options {
        config: Config {
            max_rto: 200_000_000,
            ..Config::default()
        },
        ..Options::default()
    };
    let bundle = Bundle::new()?;
    let transport = Udp::bind("127.0.0.1:0".parse()?, Udp::MTU)?;
    let client = bundle.endpoint("client", transport, &options)?;
    let to_first = client.connect("first", &first.address, MINUTE)?;
    let to_second = client.connect("second", &second.address, MINUTE)?;

    let held = client.request(to_first, HOLD, b"", Credit::Block)?;
    while first.line()? != "holding" {}
    let address = first.address.clone();
    drop(first);
    let greet = client.request(to_first, GREET, b"Kaur", Credit::Block)?;
    println!("killed: {}", client.finish(greet, MINUTE)?);

    let socket = match &address {
        Address::Udp(socket) => socket.to_string(),
        _ => return Err("it was bound to a socket".into()),
    };
    let _first = Server::start("first", &socket, &log)?;
    println!("held: {}", truth(&client, held)?);
    let state = truth(&client, greet)?;
    println!("greet: {state}");
    if state != InitiatorState::NotRun {
        return Err("a server that was dead has run a request".into());
    }
    client.release(greet)?;
    let mut moved = client.request(to_second, GREET, b"Kaur", Credit::Block)?;
    let mut state = truth(&client, moved)?;
    // It was too slow to begin: as before, the request may go anywhere, also there again.
    while state == InitiatorState::NotRun {
        client.release(moved)?;
        moved = client.request(to_second, GREET, b"Kaur", Credit::Block)?;
        state = truth(&client, moved)?;
    }
    let reply = client.reply(moved, |reply| String::from_utf8_lossy(reply).into_owned())?;
    println!("greet, moved: {state}: {reply}");
    Ok(())
}

/// Asks until the target has answered.
fn truth(client: &Endpoint, transaction: Transaction) -> Outcome<InitiatorState> {
    loop {
        client.finish(transaction, MINUTE)?;
        let state = client.state(transaction)?;
        if !state.is_unknown() {
            return Ok(state);
        }
        client.ask(transaction)?;
    }
}
