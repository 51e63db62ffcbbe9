//! The sender: Algorithm 3, and the measurement of the bandwidth that its level is a share of.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use jitterlab_base::clock::Clock;
use jitterlab_base::units::{Bytes, Nanos, Percent};
use jitterlab_live::Count;
use jitterlab_stats::gaps::Gaps;
use jitterlab_verbs::Adapter;

use crate::arrival::{APART, Arrival};
use crate::control::{Arrived, Ask, Line, Opened};
use crate::pace::{Next, Pace, Sent};
use crate::transport::Network;
use crate::way::Way;
use crate::{Error, Produced};

/// The load that is wanted.
#[derive(Debug, Clone)]
pub struct Load {
    /// The transport.
    pub transport: Network,
    /// Over verbs, the place in the network that it is sent from.
    pub adapter: Adapter,
    /// Size of a message.
    pub message: Bytes,
    /// Share of the bandwidth.
    pub level: Percent,
    /// The duration.
    pub duration: Nanos,
    /// One-way bandwidth in bytes a second; measured first where it is not known.
    pub bandwidth: Option<f64>,
    /// Seed of the gaps.
    pub seed: u64,
}

/// The time that the bandwidth is measured.
const MEASURE: Nanos = Nanos(500_000_000);

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

    /// The way to a new place for messages.
    fn open(&mut self, load: &Load) -> Result<Way, Error> {
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
        let (transport, message) = (load.transport, load.message.0);
        self.line
            .say(&Ask::Open { transport, message })
            .map_err(strange)?;
        let Opened { port } = self.line.hear().map_err(strange)?;
        Way::open(address, port, (transport, message), &load.adapter)
    }

    fn count(&mut self) -> Result<Arrived, Error> {
        let gone = self.gone();
        self.line.say(&Ask::Count).map_err(&gone)?;
        self.line.hear().map_err(gone)
    }

    /// The messages that have arrived, of so many, once nothing is under way any more, and when the last of them was first
    /// seen, in ticks.
    fn count_of_all(&mut self, transport: Network, sent: u64) -> Result<(Arrived, u64), Error> {
        let clock = Clock::global();
        let mut arrival = Arrival::new(transport, sent, self.count()?, clock.now());
        while arrival.is_open() {
            thread::sleep(APART);
            let arrived = self.count()?;
            arrival.take(arrived, clock.now());
        }
        Ok(arrival.end())
    }
}

impl Load {
    /// Produces the load, until its time is over or `stop` is set.
    ///
    /// # Errors
    /// There is no sink at `address`, it goes away, or the bandwidth is wanted and nothing arrives. Over verbs, one of the ends
    /// has no device.
    pub fn run(&self, address: SocketAddr, stop: &AtomicBool) -> Result<Produced, Error> {
        self.run_telling(address, stop, || {})
    }

    /// Does as [`Load::run`]; `begins` is called when all is prepared and the load begins.
    ///
    /// # Errors
    /// As those of [`Load::run`].
    pub fn run_telling(
        &self,
        address: SocketAddr,
        stop: &AtomicBool,
        begins: impl FnOnce(),
    ) -> Result<Produced, Error> {
        let mut sink = Sink::connect(address)?;
        let bandwidth = match self.bandwidth {
            Some(bandwidth) => bandwidth,
            None => self.measure(&mut sink, stop)?,
        };
        let mut way = sink.open(self)?;
        begins();
        let gaps = (self.level.value() > 0.0).then(|| {
            let message_ns = self.message.0 as f64 / bandwidth * 1e9;
            Gaps::new(self.seed, message_ns / self.level.fraction())
        });
        let sent = self
            .send_by(&mut way, Pace::new(gaps, self.duration), stop)
            .map_err(sink.gone())?;
        let (arrived, _) = sink.count_of_all(self.transport, sent.messages)?;
        let seconds = sent.time as f64 / 1e9;
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
            longest_gap_ns: sent.longest_gap,
            sent_bytes_each_100ms: (sent.intervals.iter())
                .map(|messages| messages * self.message.0)
                .collect(),
        })
    }

    /// Algorithm 3.
    fn send_by(&self, way: &mut Way, mut pace: Pace, stop: &AtomicBool) -> io::Result<Sent> {
        let clock = Clock::global();
        // Sleeps end when they should, not within the 50 us that the system takes otherwise. Where
        // that is not allowed, the bucket makes up for what was overslept.
        let _ = nix::sys::prctl::set_timerslack(1);
        let live = jitterlab_live::publisher();
        live.begin(self.transport.name());
        let start = clock.now();
        loop {
            let next = pace.next(clock.ticks_to_ns(clock.now() - start));
            if stop.load(Ordering::Relaxed) {
                return Ok(pace.end());
            }
            match next {
                Next::Send => {
                    let has_gone = way.send()?;
                    if has_gone {
                        live.count(Count::Messages, 1);
                        live.count(Count::Bytes, self.message.0);
                    }
                    pace.sent(has_gone);
                }
                Next::Look => {}
                Next::Sleep(time) => thread::sleep(time),
                Next::End => return Ok(pace.end()),
            }
        }
    }

    /// The one-way bandwidth in bytes a second: flat out for half a second, as it arrives.
    fn measure(&self, sink: &mut Sink, stop: &AtomicBool) -> Result<f64, Error> {
        let mut way = sink.open(self)?;
        let clock = Clock::global();
        let start = clock.now();
        let end = start + clock.ns_to_ticks(MEASURE.0);
        let messages = flood(|| way.send(), end, stop, || clock.now()).map_err(sink.gone())?;
        let (arrived, seen) = sink.count_of_all(self.transport, messages)?;
        let seconds = clock.ticks_to_ns_f64(seen - start) / 1e9;
        if arrived.bytes == 0 {
            return Err(Error::NoBandwidth {
                address: sink.address,
            });
        }
        Ok(arrived.bytes as f64 / seconds)
    }
}

/// Sends flat out until a time, or until `stop` is set; `now` says what time it is. Gives how many messages have gone.
fn flood(
    mut send: impl FnMut() -> io::Result<bool>,
    until: u64,
    stop: &AtomicBool,
    now: impl Fn() -> u64,
) -> io::Result<u64> {
    let mut messages = 0;
    while now() < until && !stop.load(Ordering::Relaxed) {
        messages += u64::from(send()?);
    }
    Ok(messages)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// Each message takes 10 of the time, and every third one is refused.
    fn flooded(until: u64, stops_at: u64) -> (u64, u64) {
        let (time, stop) = (Cell::new(0), AtomicBool::new(false));
        let send = || {
            time.set(time.get() + 10);
            stop.store(time.get() >= stops_at, Ordering::Relaxed);
            Ok(!time.get().is_multiple_of(30))
        };
        let gone = flood(send, until, &stop, || time.get()).unwrap();
        (gone, time.get())
    }

    #[test]
    fn bandwidth_is_measured_until_its_time_or_until_it_is_stopped() {
        assert_eq!(flooded(0, u64::MAX), (0, 0));
        assert_eq!(flooded(295, u64::MAX), (20, 300));
        assert_eq!(flooded(u64::MAX, 60), (4, 60));
    }
}
