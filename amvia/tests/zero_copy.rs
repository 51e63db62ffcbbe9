//! A handler sees a message of one frame where it landed: over shared memory in the ring.

use std::sync::mpsc;
use std::time::Duration;

use jitterlab_amvia::endpoint::{Bundle, Credit, Options};
use jitterlab_amvia::protocol::{Config, Protocol};
use jitterlab_amvia::transport::Shm;
use jitterlab_amvia::wire::{HEAD, SHORT_HEAD};
use jitterlab_base::ring::ONE_LINE;

const ECHO: u16 = 1;
const LONG: Duration = Duration::from_secs(60);

/// The file that these bytes are mapped from: empty for memory of this process alone.
fn file_of(bytes: &[u8]) -> String {
    let at = bytes.as_ptr().addr();
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    // FROM-TO MODE OFFSET DEVICE INODE FILE
    let mapping = maps.lines().find(|line| {
        let (range, _) = line.split_once(' ').unwrap();
        let (from, to) = range.split_once('-').unwrap();
        let [from, to] = [from, to].map(|end| usize::from_str_radix(end, 16).unwrap());
        (from..to).contains(&at) && at + bytes.len() <= to
    });
    let file = mapping.expect("a mapping that holds them all");
    file.split_whitespace().nth(5).unwrap_or_default().into()
}

#[test]
fn medium_and_bulk_messages_are_read_in_the_ring() {
    for protocol in Protocol::ALL {
        let bundle = Bundle::new().unwrap();
        let options = Options {
            config: Config {
                protocol,
                message: 100_000,
                mtu: Shm::MTU as u32,
                ..Config::default()
            },
            peers: 2,
            ..Options::default()
        };
        let names = ["server", "client"].map(|end| format!("zero.{}.{end}", std::process::id()));
        let [server, client] = names.each_ref().map(|name| {
            let shm = Shm::open(name.parse().unwrap(), Shm::MTU).unwrap();
            let (_, end) = name.rsplit_once('.').unwrap();
            bundle.endpoint(end, shm, &options).unwrap()
        });
        let (tells, told) = mpsc::channel();
        server
            .on(ECHO, move |call| {
                tells.send(file_of(call.bytes())).unwrap();
                call.reply(call.bytes()).unwrap();
            })
            .unwrap();
        let address = server.address().unwrap();
        let peer = client.connect("server", &address, LONG).unwrap();
        let ring = |from: usize, to: usize| format!("/ring:{}:{}", names[from], names[to]);
        // More than the ring holds in all: each place is used again after its handler.
        let lengths = [ONE_LINE - SHORT_HEAD + 1, 128, 129, 4_096, Shm::MTU - HEAD];
        for length in lengths.into_iter().cycle().take(20 * lengths.len()) {
            let sent = client
                .request(peer, ECHO, &vec![7; length], Credit::Refuse)
                .unwrap();
            client.finish(sent, LONG).unwrap();
            let requested = told.recv().unwrap();
            assert!(requested.ends_with(&ring(1, 0)), "{length}: {requested}");
            let replied = client.reply(sent, file_of).unwrap();
            assert!(replied.ends_with(&ring(0, 1)), "{length}: {replied}");
            client.release(sent).unwrap();
        }
        // A short one is copied, since it takes a single line.
        let sent = client
            .request(peer, ECHO, &[7; 32], Credit::Refuse)
            .unwrap();
        client.finish(sent, LONG).unwrap();
        let requested = told.recv().unwrap();
        assert!(!requested.contains("/ring:"), "{requested}");
        client.release(sent).unwrap();
        // One in segments is put together first.
        let sent = client
            .request(peer, ECHO, &[7; 10_000], Credit::Refuse)
            .unwrap();
        client.finish(sent, LONG).unwrap();
        let requested = told.recv().unwrap();
        assert!(!requested.contains("/ring:"), "{requested}");
        client.release(sent).unwrap();
    }
}
