//! A server that replies with what it gets, in one thread, and a client that asks it, in another.
//!
//! `cargo run -p jitterlab-amvia --example echo`

use std::error::Error;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use jitterlab_amvia::endpoint::{Bundle, Credit, Options};
use jitterlab_amvia::transport::{Address, Udp};

/// Both sides know the handler by its number.
const ECHO: u16 = 1;
const SECOND: Duration = Duration::from_secs(1);

fn main() -> Result<(), Box<dyn Error>> {
    let bundle = Bundle::new()?;
    let transport = Udp::bind("127.0.0.1:0".parse()?, Udp::MTU)?;
    let server = bundle.endpoint("server", transport, &Options::default())?;
    server.on(ECHO, |call| {
        let message = call.bytes().to_vec();
        if let Err(error) = call.reply(&message) {
            eprintln!("{error}");
        }
    })?;
    let address = server.address()?;
    let ends = AtomicBool::new(false);
    thread::scope(|scope| {
        // Handlers run on the thread that polls.
        let serves = scope.spawn(|| {
            while !ends.load(Ordering::Relaxed) {
                bundle.wait(SECOND)?;
            }
            Ok::<(), jitterlab_amvia::endpoint::EndpointError>(())
        });
        let asked = ask(&address);
        ends.store(true, Ordering::Relaxed);
        let served = serves.join().map_err(|_| "the server has panicked")?;
        asked.and(served.map_err(Into::into))
    })
}

fn ask(address: &Address) -> Result<(), Box<dyn Error>> {
    let bundle = Bundle::new()?;
    let transport = Udp::bind("127.0.0.1:0".parse()?, Udp::MTU)?;
    let client = bundle.endpoint("client", transport, &Options::default())?;
    let server = client.connect("server", address, 10 * SECOND)?;
    // Short, medium and bulk, which takes more than one frame here.
    for length in [5, 100, 8_000] {
        let message = vec![b'x'; length];
        let transaction = client.request(server, ECHO, &message, Credit::Block)?;
        let status = client.finish(transaction, 10 * SECOND)?;
        let is_same = client.reply(transaction, |reply| reply == message)?;
        client.release(transaction)?;
        println!("{length} bytes: {status}, the same came back: {is_same}");
    }
    Ok(())
}
