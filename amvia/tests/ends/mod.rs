//! Two endpoints that one thread polls, each when a frame has arrived there. Every time-out is far away, so that no time enters what
//! is counted of their transactions.

use std::path::Path;

use jitterlab_amvia::endpoint::{Bundle, Credit, Endpoint, Options, PeerId, Standing};
use jitterlab_amvia::log::Durability;
use jitterlab_amvia::protocol::{Config, Protocol};
use jitterlab_amvia::transport::{Shm, Udp};
use tempfile::TempDir;

const ECHO: u16 = 1;
/// A short message.
const BYTES: usize = 32;
/// No time-out in nanoseconds comes before.
const HOUR: u64 = 3_600_000_000_000;

/// A client and a server, each in a bundle of its own.
pub struct Ends {
    protocol: Protocol,
    bundles: [Bundle; 2],
    client: Endpoint,
    peer: PeerId,
    _server: Endpoint,
    folder: TempDir,
}

impl Ends {
    /// Ends of a protocol, a durability and a transport, as in `amvia process shm`.
    pub fn new(what: &str) -> Ends {
        let [protocol, durability, over] = what.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{what}");
        };
        let folder = tempfile::tempdir_in("/dev/shm").unwrap();
        let protocol = protocol.parse().unwrap();
        let durability: Durability = durability.parse().unwrap();
        let bundles = [(); 2].map(|()| Bundle::new().unwrap());
        let end = |bundle: &Bundle, name: &str| {
            let options = Options {
                config: Config {
                    protocol,
                    min_rto: HOUR,
                    max_rto: HOUR,
                    initial_rto: HOUR,
                    lease: HOUR,
                    ..Config::default()
                },
                peers: 2,
                durability,
                log: (durability != Durability::None).then(|| folder.path().join(name)),
            };
            let endpoint = match over {
                "udp" => {
                    let udp = Udp::bind("127.0.0.1:0".parse().unwrap(), Udp::MTU).unwrap();
                    bundle.endpoint(name, udp, &options)
                }
                _ => {
                    let own = format!("ends-{}-{name}", std::process::id());
                    let shm = Shm::open(own.parse().unwrap(), Shm::MTU).unwrap();
                    bundle.endpoint(name, shm, &options)
                }
            };
            endpoint.unwrap()
        };
        let server = end(&bundles[1], "server");
        server
            .on(ECHO, |call| call.reply(call.bytes()).unwrap())
            .unwrap();
        let client = end(&bundles[0], "client");
        let address = server.address().unwrap();
        let peer = client.begin_connect("server", &address).unwrap();
        while !matches!(client.standing(peer), Ok(Standing::Connected(_))) {
            bundles.iter().for_each(|bundle| _ = bundle.poll().unwrap());
        }
        // The calls by which they connect.
        while bundles.iter().any(|bundle| bundle.poll().unwrap()) {}
        Ends {
            protocol,
            bundles,
            client,
            peer,
            _server: server,
            folder,
        }
    }

    /// Where the logs are, if there are any.
    #[allow(dead_code, reason = "not every test program looks at the logs")]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Makes so many transactions, one after the other.
    pub fn make(&self, count: u64) {
        let [own, others] = &self.bundles;
        for _ in 0..count {
            let request = self
                .client
                .request(self.peer, ECHO, &[0; BYTES], Credit::Refuse);
            take_frame(others);
            if self.protocol == Protocol::Amvia {
                take_frame(own);
            }
            take_frame(own);
            let request = request.unwrap();
            assert!(self.client.state(request).unwrap().is_final());
            self.client.release(request).unwrap();
            if self.protocol == Protocol::Amudp {
                take_frame(others);
            }
        }
    }
}

/// Takes a frame that is there. Of two sockets one may be empty: that is as many looks each time.
fn take_frame(bundle: &Bundle) {
    let looks = (0..10).take_while(|_| !bundle.poll().unwrap()).count();
    assert!(looks < 10, "a frame is missing");
}
