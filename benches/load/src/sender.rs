//! The sender: Algorithm 3, and the measurement of the bandwidth that its level is a share of.

use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::transport::{Network, Transport};
use jitterlab_base::clock::Clock;
use jitterlab_base::units::{Bytes, Nanos, Percent};
use jitterlab_live::Count;
use jitterlab_stats::gaps::Gaps;
use nix::errno::Errno;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::bucket::Bucket;
use crate::control::{Arrived, Ask, Line, Opened};

/// The load that is wanted.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    /// Over what.
    pub transport: Network,
    /// Size of a message.
    pub message: Bytes,
    /// Share of the bandwidth.
    pub level: Percent,
    /// For how long.
    pub duration: Nanos,
    /// One-way bandwidth in bytes a second; measured first where it is not known.
    pub bandwidth: Option<f64>,
    /// Seed of the gaps.
    pub seed: u64,
}

/// The load that was produced.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Produced {
    /// Over what.
    pub transport: Transport,
    /// Size of a message in bytes.
    pub message: u64,
    /// The level asked for, in percent.
    pub level: f64,
    /// The level produced: what arrived, in percent of the bandwidth.
    pub produced_level: f64,
    /// One-way bandwidth in bytes a second.
    pub bandwidth: f64,
    /// Whether the bandwidth was measured, or given.
    pub bandwidth_measured: bool,
    /// For how long, in seconds.
    pub seconds: f64,
    /// Messages sent.
    pub sent_messages: u64,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Messages that arrived.
    pub received_messages: u64,
    /// Bytes that arrived.
    pub received_bytes: u64,
    /// Messages that did not.
    pub lost_messages: u64,
    /// Messages that the sender's system refused.
    pub refused_messages: u64,
    /// The longest time without a message, to the end of the load, in nanoseconds; 0 of a level of 0.
    pub longest_gap_ns: u64,
    /// Bytes sent in each tenth of a second; the last one may be shorter. None over MPI, which does not say.
    pub sent_bytes_each_100ms: Vec<u64>,
}

impl Produced {
    /// Several loads at one time as one, of which each was asked for a share of a level: what was counted is added, and the
    /// level produced is what a host sent on the mean. `None` without any.
    pub fn together(loads: &[Produced], level: f64, share: f64) -> Option<Produced> {
        let first = loads.first()?;
        let sum = |of: fn(&Produced) -> u64| loads.iter().map(of).sum();
        let tenths = loads.iter().map(|load| load.sent_bytes_each_100ms.len());
        let hosts = loads.len() as f64 * share;
        let levels: f64 = loads.iter().map(|load| load.produced_level).sum();
        let seconds = loads.iter().map(|load| load.seconds);
        Some(Produced {
            level,
            produced_level: levels / hosts,
            bandwidth_measured: loads.iter().all(|load| load.bandwidth_measured),
            seconds: seconds.fold(f64::INFINITY, f64::min),
            sent_messages: sum(|load| load.sent_messages),
            sent_bytes: sum(|load| load.sent_bytes),
            received_messages: sum(|load| load.received_messages),
            received_bytes: sum(|load| load.received_bytes),
            lost_messages: sum(|load| load.lost_messages),
            refused_messages: sum(|load| load.refused_messages),
            longest_gap_ns: loads.iter().map(|load| load.longest_gap_ns).max()?,
            sent_bytes_each_100ms: (0..tenths.max()?)
                .map(|i| {
                    let of = |load: &Produced| load.sent_bytes_each_100ms.get(i).copied();
                    loads.iter().filter_map(of).sum()
                })
                .collect(),
            ..first.clone()
        })
    }
}

/// Over how long a time sent bytes are added up.
const INTERVAL: Nanos = Nanos(100_000_000);
/// How long a stream may be blocked before its sink counts as gone.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long the bandwidth is measured.
const MEASURE: Nanos = Nanos(500_000_000);
/// Algorithm 3 holds the CPU between messages. A gap longer than this is slept through instead, but
/// for its end: where there are few CPUs, the level should be felt, not the waiting for it.
const LONG_GAP_NS: f64 = 20_000.0;
const AWAKE_NS: f64 = 8_000.0;

/// Where the messages go.
enum Way {
    Udp(UdpSocket),
    Tcp(TcpStream),
}

impl Way {
    /// Sends a message; `false` if the system refused it.
    fn send(&mut self, message: &[u8]) -> io::Result<bool> {
        let outcome = match self {
            Way::Udp(socket) => socket.send(message).map(drop),
            Way::Tcp(stream) => stream.write_all(message),
        };
        match outcome {
            Ok(()) => Ok(true),
            // A full queue on the way out is the load that was asked for.
            Err(error) if error.raw_os_error() == Some(Errno::ENOBUFS as i32) => Ok(false),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// A sink, and what it has counted.
struct Sink {
    address: SocketAddr,
    line: Line,
}

impl Sink {
    fn connect(address: SocketAddr) -> Result<Self, Error> {
        let no_sink = |source| Error::NoSink { address, source };
        let stream =
            TcpStream::connect_timeout(&address, Duration::from_secs(2)).map_err(no_sink)?;
        let line = Line::new(stream)
            .and_then(Line::impatient)
            .map_err(no_sink)?;
        Ok(Sink { address, line })
    }

    fn gone(&self) -> impl Fn(io::Error) -> Error + use<> {
        let address = self.address;
        move |source| Error::SinkGone { address, source }
    }

    fn open(&mut self, transport: Network, message: u64) -> Result<Way, Error> {
        let gone = self.gone();
        // Until it has answered, nothing tells it from something else that listens.
        let address = self.address;
        let strange = |error: io::Error| match error.kind() {
            io::ErrorKind::InvalidData => Error::StrangeSink {
                address,
                said: error.to_string(),
            },
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Error::StrangeSink {
                address,
                said: "it says nothing".into(),
            },
            kind => Error::SinkGone {
                address,
                source: io::Error::new(
                    kind,
                    "it hung up before it said anything; it may not be `jitterlab load serve`",
                ),
            },
        };
        self.line
            .say(&Ask::Open { transport, message })
            .map_err(strange)?;
        let Opened { port } = self.line.hear().map_err(strange)?;
        let place = SocketAddr::new(self.address.ip(), port);
        match transport {
            Network::Udp => {
                let any: SocketAddr = match place {
                    SocketAddr::V4(_) => ([0; 4], 0).into(),
                    SocketAddr::V6(_) => ([0; 16], 0).into(),
                };
                let socket = UdpSocket::bind(any).map_err(&gone)?;
                socket.connect(place).map_err(&gone)?;
                Ok(Way::Udp(socket))
            }
            Network::Tcp => {
                let stream = TcpStream::connect_timeout(&place, PATIENCE).map_err(&gone)?;
                stream.set_nodelay(true).map_err(&gone)?;
                stream.set_write_timeout(Some(PATIENCE)).map_err(&gone)?;
                Ok(Way::Tcp(stream))
            }
        }
    }

    fn count(&mut self) -> Result<Arrived, Error> {
        let gone = self.gone();
        self.line.say(&Ask::Count).map_err(&gone)?;
        self.line.hear().map_err(gone)
    }

    /// What has arrived once everything that is under way has, and when the last of it was first seen,
    /// in ticks. A datagram is lost where none has come through some counts that agree; a stream loses
    /// nothing, so that more is waited for as long as for any word of its sink.
    fn count_of_all(&mut self, way: &Way, sent: u64) -> Result<(Arrived, u64), Error> {
        const APART: Duration = Duration::from_millis(5);
        let most = match way {
            Way::Udp(_) => 20,
            Way::Tcp(_) => PATIENCE.as_millis() / APART.as_millis(),
        };
        let mut last = self.count()?;
        let mut seen = Clock::global().now();
        let mut agreeing = 0;
        while last.messages < sent && agreeing < most {
            std::thread::sleep(APART);
            let next = self.count()?;
            if next.bytes == last.bytes {
                agreeing += 1;
            } else {
                agreeing = 0;
                seen = Clock::global().now();
            }
            last = next;
        }
        Ok((last, seen))
    }
}

#[derive(Default)]
struct Sent {
    messages: u64,
    refused: u64,
    longest_gap: u64,
    ticks: u64,
    /// Messages in each interval.
    intervals: Vec<u64>,
}

impl Load {
    /// Produces the load, until its time is over or `stop` is set.
    ///
    /// # Errors
    /// There is no sink at `address`, it goes away, or the bandwidth is wanted and nothing arrives.
    pub fn run(&self, address: SocketAddr, stop: &AtomicBool) -> Result<Produced, Error> {
        self.run_telling(address, stop, || {})
    }

    /// As [`Load::run`]; `begins` is called when all is prepared and the load begins.
    ///
    /// # Errors
    /// As those of [`Load::run`].
    pub fn run_telling(
        &self,
        address: SocketAddr,
        stop: &AtomicBool,
        begins: impl FnOnce(),
    ) -> Result<Produced, Error> {
        let clock = Clock::global();
        let mut sink = Sink::connect(address)?;
        let bandwidth = match self.bandwidth {
            Some(bandwidth) => bandwidth,
            None => self.measure(&mut sink, stop)?,
        };
        let mut way = sink.open(self.transport, self.message.0)?;
        begins();
        let sent = if self.level.value() == 0.0 {
            wait(self.duration, stop)
        } else {
            let message_ns = self.message.0 as f64 / bandwidth * 1e9;
            let gaps = Gaps::new(self.seed, message_ns / self.level.fraction());
            self.send_by(&mut way, Bucket::new(gaps), stop)
                .map_err(sink.gone())?
        };
        let (arrived, _) = sink.count_of_all(&way, sent.messages)?;
        let seconds = clock.ticks_to_ns_f64(sent.ticks) / 1e9;
        Ok(Produced {
            transport: self.transport.into(),
            message: self.message.0,
            level: self.level.value(),
            produced_level: 100.0 * arrived.bytes as f64 / seconds / bandwidth,
            bandwidth,
            bandwidth_measured: self.bandwidth.is_none(),
            seconds,
            sent_messages: sent.messages,
            sent_bytes: sent.messages * self.message.0,
            received_messages: arrived.messages,
            received_bytes: arrived.bytes,
            lost_messages: sent.messages.saturating_sub(arrived.messages),
            refused_messages: sent.refused,
            longest_gap_ns: clock.ticks_to_ns(sent.longest_gap),
            sent_bytes_each_100ms: (sent.intervals.iter())
                .map(|messages| messages * self.message.0)
                .collect(),
        })
    }

    /// Algorithm 3.
    fn send_by(&self, way: &mut Way, mut bucket: Bucket, stop: &AtomicBool) -> io::Result<Sent> {
        let clock = Clock::global();
        // Sleeps end when they should, not within the 50 us that the system takes otherwise. Where
        // that is not allowed, the bucket makes up for what was overslept.
        let _ = nix::sys::prctl::set_timerslack(1);
        let message = vec![0x6c; self.message.0 as usize];
        let duration = clock.ns_to_ticks(self.duration.0);
        let interval_ticks = clock.ns_to_ticks(INTERVAL.0);
        let live = jitterlab_live::publisher();
        live.begin(self.transport.name());
        let start = clock.now();
        let (mut last, mut last_sent) = (start, start);
        let mut sent = Sent::default();
        while last - start < duration && !stop.load(Ordering::Relaxed) {
            if bucket.take() {
                if way.send(&message)? {
                    sent.messages += 1;
                    live.count(Count::Messages, 1);
                    live.count(Count::Bytes, self.message.0);
                    let interval = ((last - start) / interval_ticks) as usize;
                    sent.intervals.resize(interval + 1, 0);
                    sent.intervals[interval] += 1;
                } else {
                    sent.refused += 1;
                }
                sent.longest_gap = sent.longest_gap.max(last - last_sent);
                last_sent = last;
            } else if bucket.wait_ns() > LONG_GAP_NS {
                let left = clock.ticks_to_ns_f64(duration - (last - start));
                // Whoever stops the load does not wait for a gap that takes seconds.
                let nap = (bucket.wait_ns() - AWAKE_NS).min(left).min(50e6);
                std::thread::sleep(Duration::from_nanos(nap as u64));
            }
            let now = clock.now();
            bucket.fill(clock.ticks_to_ns_f64(now - last));
            last = now;
        }
        sent.longest_gap = sent.longest_gap.max(last - last_sent);
        sent.ticks = last - start;
        Ok(sent)
    }

    /// The one-way bandwidth in bytes a second: flat out for half a second, as it arrives.
    fn measure(&self, sink: &mut Sink, stop: &AtomicBool) -> Result<f64, Error> {
        let mut way = sink.open(self.transport, self.message.0)?;
        let clock = Clock::global();
        let message = vec![0x6c; self.message.0 as usize];
        let start = clock.now();
        let end = start + clock.ns_to_ticks(MEASURE.0);
        let mut messages = 0;
        while clock.now() < end && !stop.load(Ordering::Relaxed) {
            messages += u64::from(way.send(&message).map_err(sink.gone())?);
        }
        let (arrived, seen) = sink.count_of_all(&way, messages)?;
        let seconds = clock.ticks_to_ns_f64(seen - start) / 1e9;
        if arrived.bytes == 0 {
            return Err(Error::NoBandwidth {
                address: sink.address,
            });
        }
        Ok(arrived.bytes as f64 / seconds)
    }
}

/// Level 0: nothing is sent for the time.
fn wait(duration: Nanos, stop: &AtomicBool) -> Sent {
    let clock = Clock::global();
    let start = clock.now();
    let end = start + clock.ns_to_ticks(duration.0);
    while clock.now() < end && !stop.load(Ordering::Relaxed) {
        let left = clock.ticks_to_ns(end.saturating_sub(clock.now()));
        std::thread::sleep(Duration::from_nanos(left.min(50_000_000)));
    }
    Sent {
        ticks: clock.now() - start,
        ..Sent::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_loads_are_added_and_their_level_is_what_a_host_sent() {
        let one = |produced_level: f64, seconds: f64| Produced {
            transport: Transport::Udp,
            message: 1_400,
            level: 30.0,
            produced_level,
            bandwidth: 1e9,
            bandwidth_measured: false,
            seconds,
            sent_messages: 10,
            sent_bytes: 14_000,
            received_messages: 9,
            received_bytes: 12_600,
            lost_messages: 1,
            refused_messages: 2,
            longest_gap_ns: seconds as u64,
            sent_bytes_each_100ms: vec![100; seconds as usize],
        };
        // Three hosts that send 60 % each, half of it to either other one.
        let six = [30.0, 20.0, 30.0, 20.0, 30.0, 20.0].map(|level| one(level, level / 10.0));
        let all = Produced::together(&six, 60.0, 0.5).unwrap();
        assert_eq!((all.level, all.produced_level), (60.0, 50.0));
        assert_eq!(
            (all.sent_messages, all.lost_messages, all.refused_messages),
            (60, 6, 12)
        );
        assert_eq!((all.seconds, all.longest_gap_ns), (2.0, 3));
        assert_eq!(all.sent_bytes_each_100ms, [600, 600, 300]);
        let alone = one(25.0, 2.0);
        assert_eq!(
            Produced::together(std::slice::from_ref(&alone), 30.0, 1.0),
            Some(alone)
        );
        assert_eq!(Produced::together(&[], 30.0, 1.0), None);
    }
}
