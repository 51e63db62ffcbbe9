//! Shared memory: what the ends leave, and how they see each other go.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::mpsc;
use std::thread;

use jitterlab_base::units::{Bytes, Nanos};
use jitterlab_packet::cases::rtt::{Length, Rtt};
use jitterlab_packet::transport::{Link, Transport, Wait};
use jitterlab_packet::{Error, server};
use jitterlab_verbs::Adapter;

fn serve() -> SocketAddr {
    let (ready, served) = mpsc::channel();
    thread::spawn(move || {
        let address = (Ipv4Addr::LOCALHOST, 0).into();
        let ready = |a| ready.send(a).unwrap();
        server::serve(Transport::Shm, address, &Adapter::default(), ready)
    });
    served.recv().unwrap()
}

fn pings(messages: u64) -> Rtt {
    Rtt {
        link: Link::Shm,
        size: Bytes(64),
        wait: Wait::Poll,
        warmup: Length::Messages(2),
        length: Length::Messages(messages),
        timeout: Nanos(2_000_000_000),
    }
}

/// The words of a client that asks for a ping-pong of 64 bytes, and says that its ring has this number.
fn ask(ring: u64) -> Vec<u8> {
    let mut plan = [0; 40];
    plan[..8].copy_from_slice(b"jlplan 1");
    for (place, value) in [(9, 1), (10, 255), (12, 1), (20, 1), (24, 64), (32, 64)] {
        plan[place] = value;
    }
    [&b"jlshm  1"[..], &plan, &ring.to_le_bytes()].concat()
}

fn rings() -> Vec<PathBuf> {
    let directory = format!("/dev/shm/jitterlab-{}", nix::unistd::geteuid());
    let entries = std::fs::read_dir(directory).unwrap();
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    paths
        .filter(|path| path.to_string_lossy().contains("/packet:"))
        .collect()
}

#[test]
fn a_ring_that_is_not_there_is_said() {
    let mut line = TcpStream::connect(serve()).unwrap();
    line.write_all(&ask(0xabc)).unwrap();
    let mut answer = Vec::new();
    line.read_to_end(&mut answer).unwrap();
    let reason = String::from_utf8_lossy(&answer[10..]);
    assert!(
        answer.starts_with(b"jlshm  1\x01")
            && reason.contains("cannot open ring")
            && reason.ends_with("both ends have to run on one machine, as one user"),
        "{reason}"
    );
}

#[test]
fn a_server_outlives_its_clients_and_leaves_no_file() {
    let address = serve();
    for words in [&b"GET / HTTP/1.1\r\n"[..], b"jlshm", &ask(1)[..50]] {
        let mut stream = TcpStream::connect(address).unwrap();
        // A server that has heard enough has hung up by now.
        let _ = stream.write_all(words);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let _ = stream.read_to_end(&mut Vec::new());
    }
    for _ in 0..20 {
        assert_eq!(pings(200).run(address).unwrap().samples.len(), 200);
    }
    // Other tests may be between two words.
    let ours = |path: &PathBuf| {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        maps.contains(&*path.to_string_lossy())
    };
    let left: Vec<PathBuf> = rings().into_iter().filter(ours).collect();
    assert!(left.is_empty(), "{left:?}");
}

/// Stands between a client and a server, until the test says that the server is to go.
#[test]
fn a_server_that_goes_ends_the_run() {
    let far = serve();
    let near = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = near.local_addr().unwrap();
    thread::spawn(move || {
        let (mut client, _) = near.accept().unwrap();
        let mut server = TcpStream::connect(far).unwrap();
        let mut words = [0; 56];
        client.read_exact(&mut words).unwrap();
        server.write_all(&words).unwrap();
        let mut answer = [0; 17];
        server.read_exact(&mut answer).unwrap();
        client.write_all(&answer).unwrap();
        client.read_exact(&mut [0]).unwrap();
        // The server never hears that the client is ready, and serves nothing; the client sees it go.
    });
    let mut pings = pings(100);
    pings.timeout = Nanos(20_000_000);
    let error = pings.run(address).unwrap_err();
    assert!(
        matches!(error, Error::PeerGone { answered: 0, .. }),
        "{error:?}"
    );
}
