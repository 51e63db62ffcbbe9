//! Messages over verbs. A sender writes all of them to one place in the sink's memory, over a reliable connection: the sink's
//! CPU has no part in it. The number of a message is what comes last in it, and so the sink reads there how many have come.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};

use jitterlab_base::clock::Clock;
use jitterlab_verbs::exchange::{Answer, Ask, PATIENCE, Place, hear_ready, prepare, say_ready};
use jitterlab_verbs::{
    Adapter, Chosen, Device, Error, Limits, MemoryRegion, Mtu, Prepared, ProtectionDomain,
    QueuePair, Remote, SendKind, Service, Work, choose, ports,
};

use crate::control::Arrived;
use crate::transport::{NUMBER, Transport};

/// Messages that may be under way.
const WINDOW: u64 = 64;
/// One send in so many asks for its completion, which stands for those before it.
const SIGNALLED: u64 = WINDOW / 4;

/// The messages that are under way.
#[derive(Debug, Default)]
struct Window {
    posted: u64,
    completed: u64,
}

impl Window {
    /// The number of the next message, from 1, if there is room for it.
    fn next(&self) -> Option<u64> {
        (self.posted - self.completed < WINDOW).then_some(self.posted + 1)
    }

    /// The place of a message among those that may be under way.
    fn slot(number: u64) -> usize {
        (number % WINDOW) as usize
    }

    /// True if a message asks for its completion.
    fn is_signalled(number: u64) -> bool {
        number.is_multiple_of(SIGNALLED)
    }
}

/// An end that has not met the other one.
struct Half {
    prepared: Prepared,
    chosen: Chosen,
    first_packet: u32,
}

impl Half {
    /// One at the address of a line, with memory of so many bytes.
    fn new(line: &TcpStream, adapter: &Adapter, length: usize, sends: u32) -> Result<Self, Error> {
        let own = line.local_addr().map_or([0; 4].into(), |own| own.ip());
        let chosen = choose(&ports(adapter.device.as_deref())?, adapter, own)?;
        let domain = ProtectionDomain::new(&Device::open(&chosen.port.device)?)?;
        let memory = match sends {
            0 => MemoryRegion::new(&domain, length)?,
            _ => MemoryRegion::private(&domain, length)?,
        };
        let limits = Limits {
            sends: sends.max(1),
            receives: 1,
            inline: 0,
            has_events: false,
        };
        Ok(Half {
            prepared: Prepared::new(Service::Rc, memory, &limits, chosen.port.number)?,
            chosen,
            first_packet: Clock::global().now() as u32 & 0xff_ffff,
        })
    }

    fn place(&self) -> Place {
        let memory = self.prepared.memory();
        Place {
            end: self.chosen.end(self.prepared.number(), self.first_packet),
            memory: Remote {
                address: memory.address(),
                key: memory.remote_key(),
            },
        }
    }

    fn join(self, mtu: Mtu, other: &Place) -> Result<QueuePair, Error> {
        let route = self.chosen.route(self.first_packet, mtu, other.end);
        self.prepared.connect(&route)
    }
}

/// The end that sends.
pub(crate) struct Source {
    pair: QueuePair,
    to: Remote,
    message: usize,
    window: Window,
    /// The sink keeps its end as long as this is open.
    _line: TcpStream,
}

impl Source {
    /// Meets the sink at `address`, which waits at `port` for messages of so many bytes.
    pub(crate) fn connect(
        address: SocketAddr,
        port: u16,
        adapter: &Adapter,
        message: u64,
    ) -> Result<Self, crate::Error> {
        let gone = |source| crate::Error::SinkGone { address, source };
        let place = SocketAddr::new(address.ip(), port);
        let line = TcpStream::connect_timeout(&place, PATIENCE).map_err(gone)?;
        prepare(&line).map_err(gone)?;
        let length = WINDOW as usize * message as usize;
        let half = Half::new(&line, adapter, length, WINDOW as u32)?;
        let ask = Ask {
            wish: message.to_le_bytes(),
            mtu: half.chosen.mtu,
            place: half.place(),
        };
        ask.write(&line).map_err(gone)?;
        match Answer::read(&line).map_err(gone)? {
            Answer::Refused(reason) => Err(crate::Error::Refused { address, reason }),
            Answer::Ready { mtu, .. } if mtu > half.chosen.mtu => {
                Err(gone(io::ErrorKind::InvalidData.into()))
            }
            Answer::Ready { mtu, place } => {
                let pair = half.join(mtu, &place)?;
                say_ready(&line).map_err(gone)?;
                Ok(Source {
                    pair,
                    to: place.memory,
                    message: message as usize,
                    window: Window::default(),
                    _line: line,
                })
            }
        }
    }

    /// Sends a message; `false` if as many are under way as may be.
    ///
    /// # Errors
    /// The connection is broken.
    pub(crate) fn send(&mut self) -> Result<bool, Error> {
        if self.window.next().is_none() {
            while let Some(done) = self.pair.sends().poll()? {
                self.window.completed = done.id;
            }
        }
        let Some(number) = self.window.next() else {
            return Ok(false);
        };
        let at = Window::slot(number) * self.message;
        let last = at + self.message - NUMBER;
        self.pair.memory().write(last, &number.to_le_bytes());
        let work = Work {
            id: number,
            at,
            length: self.message,
            is_inline: false,
            is_signalled: Window::is_signalled(number),
        };
        self.pair.post_send(SendKind::Write(self.to), &work)?;
        self.window.posted = number;
        Ok(true)
    }
}

/// The end that messages are written to.
pub(crate) struct Target {
    pair: QueuePair,
    message: usize,
    _line: TcpStream,
}

impl Target {
    /// Meets the sender that comes to a listener.
    ///
    /// # Errors
    /// None comes, or it is something else; or this end cannot, which the sender is told.
    pub(crate) fn accept(listener: &TcpListener, adapter: &Adapter) -> io::Result<Self> {
        let (line, _) = listener.accept()?;
        prepare(&line)?;
        let ask = Ask::<NUMBER>::read(&line)?;
        let message = u64::from_le_bytes(ask.wish);
        if !Transport::Verbs.sizes().contains(&message) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let message = message as usize;
        let joined = Half::new(&line, adapter, message, 0).and_then(|half| {
            let (mtu, place) = (ask.mtu.min(half.chosen.mtu), half.place());
            Ok((half.join(mtu, &ask.place)?, Answer::Ready { mtu, place }))
        });
        let (pair, answer) = match joined {
            Ok(joined) => joined,
            Err(error) => {
                Answer::Refused(error.to_string()).write(&line)?;
                return Err(io::Error::other(error));
            }
        };
        answer.write(&line)?;
        hear_ready(&line)?;
        Ok(Target {
            pair,
            message,
            _line: line,
        })
    }

    /// The messages that have come.
    pub(crate) fn arrived(&self) -> Arrived {
        let messages = self.last_number();
        Arrived {
            messages,
            bytes: messages.saturating_mul(self.message as u64),
        }
    }

    /// The number of the message that was written last, 0 before the first.
    fn last_number(&self) -> u64 {
        let read = || {
            let mut number = [0; NUMBER];
            let at = self.message - NUMBER;
            self.pair.memory().read(at, &mut number);
            u64::from_le_bytes(number)
        };
        // One that is written at this moment may be read half.
        let mut last = read();
        loop {
            let next = read();
            if next == last {
                return next;
            }
            last = next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// However late completions are seen, no message lies where another one is under way, and whoever has no room is told
        /// of some.
        #[test]
        fn messages_under_way_lie_apart_and_come_to_an_end(looks in proptest::collection::vec(any::<bool>(), 1..2_000)) {
            let mut window = Window::default();
            for looks in looks {
                match window.next() {
                    Some(number) => {
                        let under_way = window.completed + 1..=number;
                        let mut slots: Vec<usize> = under_way.clone().map(Window::slot).collect();
                        slots.sort_unstable();
                        slots.dedup();
                        prop_assert_eq!(slots.len() as u64, number - window.completed);
                        window.posted = number;
                    }
                    None => {
                        let under_way = window.completed + 1..=window.posted;
                        prop_assert!(under_way.clone().any(Window::is_signalled));
                    }
                }
                if looks {
                    let done = (window.completed + 1..=window.posted).filter(|&n| Window::is_signalled(n));
                    window.completed = done.max().unwrap_or(window.completed);
                }
            }
        }
    }
}
