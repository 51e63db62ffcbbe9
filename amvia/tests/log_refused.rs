//! A log whose disk refuses writes now and then: nothing goes out before its record holds.

use std::cell::Cell;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use jitterlab_amvia::endpoint::{Bundle, Credit, Options, Standing};
use jitterlab_amvia::log::Durability;
use jitterlab_amvia::protocol::Config;
use jitterlab_amvia::transport::Udp;
use jitterlab_skip::skip;

const TEST: &str = "each_request_goes_out_as_it_was_made";
/// Set in the process whose disk refuses.
const INSIDE: &str = "AMVIA_TEST_REFUSED";
/// Long enough for any machine; nothing waits for its end.
const LONG: Duration = Duration::from_secs(60);
const ECHO: u16 = 1;
const REQUESTS: u32 = 50;

/// In a process of its own, which strace refuses some waits for the disk, once it is connected: those for requests, replies and
/// releases at the client; at the server those for requests, starts of handlers and replies; each for the payload and for the
/// record.
#[test]
fn each_request_goes_out_as_it_was_made() {
    if let Ok(who) = std::env::var(INSIDE) {
        return on_a_disk_that_refuses(&who);
    }
    let strace = || {
        let mut strace = Command::new("strace");
        strace.args(["-f", "-qq", "-o", "/dev/null", "-e", "trace=msync"]);
        strace
    };
    if !strace()
        .arg("true")
        .status()
        .is_ok_and(|ended| ended.success())
    {
        return skip("strace is not there, or may not trace");
    }
    for (who, step) in [("client", 4), ("client", 7), ("server", 4), ("server", 7)] {
        let output = strace()
            .args(["-e", &format!("inject=msync:error=EIO:when=20+{step}")])
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", TEST, "--nocapture"])
            .env(INSIDE, who)
            .output()
            .unwrap();
        assert!(output.status.success(), "{who}, {step}: {output:?}");
    }
}

/// One of two ends has a log on it.
fn on_a_disk_that_refuses(who: &str) {
    let udp = || Udp::bind("127.0.0.1:0".parse().unwrap(), Udp::MTU).unwrap();
    let config = Config {
        message: 100,
        ..Config::default()
    };
    let folder = tempfile::tempdir_in("/dev/shm").unwrap();
    let bundles = [(); 2].map(|()| Bundle::new().unwrap());
    let end = |bundle: &Bundle, name: &str| {
        let unkept = Options {
            config: config.clone(),
            ..Options::default()
        };
        let options = match name == who {
            true => Options {
                durability: Durability::Power,
                log: Some(folder.path().join(name)),
                ..unkept
            },
            false => unkept,
        };
        bundle.endpoint(name, udp(), &options).unwrap()
    };
    let client = end(&bundles[0], "client");
    let server = end(&bundles[1], "server");
    let ran = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&ran);
    let echo = server.on(ECHO, move |call| {
        seen.lock().unwrap().push(call.bytes().to_vec());
        call.reply(call.bytes()).unwrap();
    });
    echo.unwrap();
    let address = server.address().unwrap();
    let peer = client.begin_connect("server", &address).unwrap();
    let (begun, refused) = (Instant::now(), Cell::new(0));
    let count = |is_refused: bool| refused.set(refused.get() + u32::from(is_refused));
    let poll = || {
        assert!(begun.elapsed() < LONG, "it does not come to this");
        bundles.iter().for_each(|one| count(one.poll().is_err()));
    };
    while !matches!(client.standing(peer), Ok(Standing::Connected(_))) {
        poll();
    }
    let texts: Vec<Vec<u8>> = (0..REQUESTS)
        .map(|number| number.to_le_bytes().to_vec())
        .collect();
    for text in &texts {
        // One that the log refuses is under way all the same, or was not made.
        let (transaction, _) = loop {
            count(client.request(peer, ECHO, text, Credit::Refuse).is_err());
            if let Some(&made) = client.transactions().unwrap().first() {
                break made;
            }
        };
        while !client.state(transaction).unwrap().is_final() {
            poll();
        }
        let reply = client.reply(transaction, <[u8]>::to_vec).unwrap();
        assert_eq!(reply, *text);
        count(client.release(transaction).is_err());
    }
    assert_eq!(*ran.lock().unwrap(), texts);
    assert!(refused.get() > 0);
}
