//! A transport that makes faults on purpose: it stands between an endpoint and its transport, and does to frames on their way out
//! what a bad network does. An endpoint without faults has no such transport, and pays nothing.
//!
//! Bits are flipped in the bytes that go out, checksum included, so that the receiver detects or misses them as it would those of a
//! wire. What has been done is counted.

mod plan;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use jitterlab_base::seed;
use rand::{Rng, RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{Address, Arrived, Landed, Peer, Sent, Transport, TransportError};

pub use plan::{Faults, FaultsError};

/// The time that a frame waits for another to go out before it, if it is to be reordered.
const OVERTAKE: Duration = Duration::from_millis(1);

/// Counts of what has been done to frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FaultCounts {
    /// Frames that were to be sent.
    pub frames: u64,
    /// Frames with flipped bits.
    pub damaged: u64,
    /// Bits that were flipped.
    pub flipped: u64,
    /// Frames that were lost.
    pub lost: u64,
    /// Frames that were sent twice.
    pub duplicated: u64,
    /// Frames that were put behind another, or held back for it in vain.
    pub reordered: u64,
    /// Frames that were held back for the delay.
    pub delayed: u64,
}

#[derive(Debug, Default)]
struct Counters {
    frames: AtomicU64,
    damaged: AtomicU64,
    flipped: AtomicU64,
    lost: AtomicU64,
    duplicated: AtomicU64,
    reordered: AtomicU64,
    delayed: AtomicU64,
}

/// Reads what a [`Faulty`] transport has done, also while an endpoint has it.
#[derive(Debug, Clone, Default)]
pub struct FaultReader(Arc<Counters>);

impl FaultReader {
    /// The counts until now.
    pub fn read(&self) -> FaultCounts {
        let Counters {
            frames,
            damaged,
            flipped,
            lost,
            duplicated,
            reordered,
            delayed,
        } = &*self.0;
        FaultCounts {
            frames: frames.load(Relaxed),
            damaged: damaged.load(Relaxed),
            flipped: flipped.load(Relaxed),
            lost: lost.load(Relaxed),
            duplicated: duplicated.load(Relaxed),
            reordered: reordered.load(Relaxed),
            delayed: delayed.load(Relaxed),
        }
    }
}

/// The clock, asked only where the time decides. Most frames pass without it.
type Clock<'a> = &'a dyn Fn() -> Instant;

/// A frame that is held back.
struct Held {
    due: Instant,
    to: Peer,
    bytes: Vec<u8>,
}

/// A transport that does [`Faults`] to the frames that go out over another.
pub struct Faulty<T> {
    under: T,
    faults: Faults,
    random: Xoshiro256PlusPlus,
    counters: Arc<Counters>,
    /// Bits that go out whole before the next error.
    whole: u64,
    /// Frames that wait for the delay, in the order in which they are due.
    held: VecDeque<Held>,
    /// The frame that the next one is to overtake.
    late: Option<Held>,
    /// Memory of frames that have gone.
    spare: Vec<Vec<u8>>,
}

impl<T: Transport> Faulty<T> {
    /// Does `faults` to what goes out over `under`. `stream` tells the endpoints of one seed apart, so that each draws faults
    /// of its own.
    pub fn new(under: T, faults: Faults, stream: u64) -> Faulty<T> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed::stream(faults.seed, stream, 0));
        Faulty {
            under,
            whole: whole_bits(&mut random, faults.bit_error_rate),
            faults,
            random,
            counters: Arc::default(),
            held: VecDeque::new(),
            late: None,
            spare: Vec::new(),
        }
    }

    /// Reads what has been done.
    pub fn reader(&self) -> FaultReader {
        FaultReader(Arc::clone(&self.counters))
    }

    fn befalls(&mut self, chance: f64) -> bool {
        chance > 0.0 && self.random.random_bool(chance)
    }

    /// The frame in memory of its own.
    fn copy(&mut self, head: &[u8], payload: &[u8]) -> Vec<u8> {
        let mut bytes = self.spare.pop().unwrap_or_default();
        bytes.clear();
        bytes.extend_from_slice(head);
        bytes.extend_from_slice(payload);
        bytes
    }

    /// Flips the bits of a frame whose turn has come.
    fn damage(&mut self, bytes: &mut [u8]) {
        let bits = 8 * bytes.len() as u64;
        let mut at = self.whole;
        while at < bits {
            bytes[(at / 8) as usize] ^= 1 << (at % 8);
            self.counters.flipped.fetch_add(1, Relaxed);
            let gap = whole_bits(&mut self.random, self.faults.bit_error_rate);
            at = at.saturating_add(1).saturating_add(gap);
        }
        self.whole = at - bits;
    }

    /// Sends a frame, or holds it back for the delay.
    fn pass(&mut self, to: Peer, bytes: Vec<u8>, now: Clock) -> Result<Sent, TransportError> {
        if self.faults.delay.0 > 0 {
            self.counters.delayed.fetch_add(1, Relaxed);
            let due = now() + self.faults.delay.as_duration();
            self.held.push_back(Held { due, to, bytes });
            return Ok(Sent::Sent);
        }
        let sent = self.under.send(to, &bytes, &[]);
        self.spare.push(bytes);
        sent
    }

    /// The frame that was to be overtaken goes out. One that is not taken is lost, as any late frame may be.
    fn pass_late(&mut self, now: Clock) -> Result<(), TransportError> {
        if let Some(late) = self.late.take() {
            self.pass(late.to, late.bytes, now)?;
        }
        Ok(())
    }

    /// Sends what is due.
    fn release(&mut self, clock: Clock) -> Result<(), TransportError> {
        if self.held.is_empty() && self.late.is_none() {
            return Ok(());
        }
        let now = clock();
        if self.late.as_ref().is_some_and(|late| late.due <= now) {
            self.pass_late(clock)?;
        }
        while self.held.front().is_some_and(|held| held.due <= now) {
            if let Some(held) = self.held.pop_front() {
                self.under.send(held.to, &held.bytes, &[])?;
                self.spare.push(held.bytes);
            }
        }
        Ok(())
    }

    /// Does to a frame what its lot is.
    fn send_at(
        &mut self,
        to: Peer,
        head: &[u8],
        payload: &[u8],
        now: Clock,
    ) -> Result<Sent, TransportError> {
        let length = head.len() + payload.len();
        self.release(now)?;
        self.counters.frames.fetch_add(1, Relaxed);
        if self.befalls(self.faults.loss) {
            self.counters.lost.fetch_add(1, Relaxed);
            return Ok(Sent::Sent);
        }
        let mut bytes = self.copy(head, payload);
        if self.whole < 8 * length as u64 {
            self.counters.damaged.fetch_add(1, Relaxed);
            self.damage(&mut bytes);
        } else if self.faults.bit_error_rate > 0.0 {
            self.whole -= 8 * length as u64;
        }
        let twin = if self.befalls(self.faults.duplicate) {
            self.counters.duplicated.fetch_add(1, Relaxed);
            Some(self.copy(&bytes, &[]))
        } else {
            None
        };
        if self.late.is_none() && self.befalls(self.faults.reorder) {
            self.counters.reordered.fetch_add(1, Relaxed);
            let due = now() + OVERTAKE;
            self.late = Some(Held { due, to, bytes });
            return match twin {
                Some(twin) => self.pass(to, twin, now),
                None => Ok(Sent::Sent),
            };
        }
        let sent = self.pass(to, bytes, now)?;
        if let Some(twin) = twin {
            self.pass(to, twin, now)?;
        }
        self.pass_late(now)?;
        Ok(sent)
    }

    /// When the next held frame is due.
    fn next_due(&self) -> Option<Instant> {
        let held = self.held.front().map(|held| held.due);
        let late = self.late.as_ref().map(|late| late.due);
        held.into_iter().chain(late).min()
    }
}

/// The number of bits that go out whole before one that is flipped: a geometric number.
fn whole_bits(random: &mut impl Rng, rate: f64) -> u64 {
    if rate == 0.0 {
        return u64::MAX;
    }
    let chance = 1.0 - random.random::<f64>();
    // A rate of 1: ln(0) is infinite, and every gap is 0.
    (chance.ln() / (-rate).ln_1p()) as u64
}

impl<T: Transport> Transport for Faulty<T> {
    fn address(&self) -> Address {
        self.under.address()
    }

    fn mtu(&self) -> usize {
        self.under.mtu()
    }

    fn is_sound(&self) -> bool {
        self.under.is_sound()
    }

    /// Bits may be flipped in what goes out.
    fn needs_checksum(&self) -> bool {
        true
    }

    fn peer(&mut self, address: &Address) -> Result<Peer, TransportError> {
        self.under.peer(address)
    }

    fn know(&mut self, place: Peer, is_known: bool) {
        self.under.know(place, is_known);
    }

    fn send(&mut self, to: Peer, head: &[u8], payload: &[u8]) -> Result<Sent, TransportError> {
        let length = head.len() + payload.len();
        if length > self.mtu() {
            return self.under.send(to, head, payload);
        }
        self.send_at(to, head, payload, &Instant::now)
    }

    fn receive(&mut self) -> Result<Option<Arrived>, TransportError> {
        self.release(&Instant::now)?;
        self.under.receive()
    }

    fn recycle(&mut self, frame: Landed) {
        self.under.recycle(frame);
    }

    fn wait(&mut self, at_most: Duration) -> Result<(), TransportError> {
        self.release(&Instant::now)?;
        let at_most = match self.next_due() {
            Some(due) => at_most.min(due.saturating_duration_since(Instant::now())),
            None => at_most,
        };
        self.under.wait(at_most)?;
        self.release(&Instant::now)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Udp;
    use super::*;

    #[test]
    fn a_frame_goes_when_the_time_that_is_given_says_so() {
        let udp = Udp::bind("127.0.0.1:0".parse().unwrap(), Udp::MTU).unwrap();
        let mut faulty = Faulty::new(udp, "delay=10ms".parse().unwrap(), 0);
        let own = faulty.address();
        let peer = faulty.peer(&own).unwrap();
        let begun = Instant::now();
        let after = |ms| begun + Duration::from_millis(ms);
        faulty.send_at(peer, b"one", &[], &|| begun).unwrap();
        faulty.send_at(peer, b"two", &[], &|| after(5)).unwrap();
        assert_eq!(faulty.next_due(), Some(after(10)));
        for (ms, held, due) in [
            (9, 2, Some(10)),
            (10, 1, Some(15)),
            (14, 1, Some(15)),
            (15, 0, None),
        ] {
            faulty.release(&|| after(ms)).unwrap();
            assert_eq!(faulty.held.len(), held, "after {ms} ms");
            assert_eq!(faulty.next_due(), due.map(after), "after {ms} ms");
        }
    }
}
