//! A server in a thread of this process.
#![allow(dead_code, reason = "each test program uses its own part")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use jitterlab_amvia::endpoint::{Bundle, Endpoint};
use jitterlab_amvia::transport::{Address, Shm, Udp};
use jitterlab_amvia_suite::{Options, Protocol, handlers};
use jitterlab_base::units::{Bytes, Nanos};
use jitterlab_packet::transport::Transport;
use jitterlab_verbs::Adapter;

/// Both transports that every machine has.
pub const TRANSPORTS: [Transport; 2] = [Transport::Udp, Transport::Shm];

/// What the tests measure with.
pub fn options(transport: Transport, protocol: Protocol) -> Options {
    Options {
        transport,
        adapter: Adapter::default(),
        protocol,
        window: 8,
        message: Bytes(8 << 10),
        // Nothing is sent again because the machine is slow.
        min_rto: Nanos(1_000_000_000),
        max_rto: None,
        faults: None,
    }
}

/// It answers until it is dropped.
pub struct Server {
    pub address: Address,
    endpoint: Endpoint,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    pub fn start(options: &Options, name: &str) -> Server {
        let bundle = Bundle::new().unwrap();
        let made = options.of_endpoint();
        let endpoint = match options.transport {
            Transport::Udp => {
                let udp = Udp::bind("127.0.0.1:0".parse().unwrap(), Udp::MTU).unwrap();
                bundle.endpoint("server", udp, &made)
            }
            Transport::Shm => {
                let name = format!("{name}-{}-{}", options.protocol, std::process::id());
                let shm = Shm::open(name.parse().unwrap(), Shm::MTU).unwrap();
                bundle.endpoint("server", shm, &made)
            }
            other => panic!("no server over {other}"),
        };
        let endpoint = endpoint.unwrap();
        handlers::install(&endpoint).unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let stops = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            while !stops.load(Ordering::Relaxed) {
                bundle.poll().unwrap();
            }
        });
        Server {
            address: endpoint.address().unwrap(),
            endpoint,
            stop,
            thread: Some(thread),
        }
    }

    /// Acknowledgements that it has sent alone, and on replies.
    pub fn acknowledgements(&self) -> [u64; 2] {
        let peers = self.endpoint.peers().unwrap();
        let counters = peers
            .into_iter()
            .map(|peer| self.endpoint.counters(peer).unwrap());
        counters.fold([0, 0], |[alone, riding], counters| {
            [alone + counters.acks_alone, riding + counters.acks_riding]
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().map(JoinHandle::join);
    }
}
