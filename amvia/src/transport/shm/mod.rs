//! Frames in shared memory: one ring for each pair of endpoints and direction. No call of the system moves a frame.
//!
//! A frame goes into the ring to its peer, and its reader sees it where it lies; one of a single line is copied, which costs less
//! than to keep account of who reads it. The ring is made at the first frame, and anew after either end has begun another
//! life. A ring that nobody empties takes no more frames.
//!
//! Who waits, looks again and again, and sleeps in between: 20 us at first, then twice as long each time, up to 1 ms. A sender
//! therefore need not know whether anybody sleeps, which would take a memory fence and a look at every frame.

mod files;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jitterlab_base::fork;
use jitterlab_base::page::Attached;
use jitterlab_base::ring::{self, Consumer, Next, Producer, Put};

use files::{Door, Files, LINES, Ring, clear, is_for_now};

use super::waiting::nap_until;
use super::{
    Address, Arrived, Known, Landed, Memory, Peer, Sent, ShmName, Transport, TransportError,
};

/// A frame where it lies.
pub(super) type Frame = ring::Frame<LINES>;

/// The bits of a peer's number that are its place. Those above count the peers that have had this place.
const PLACE: u32 = 0xffff;
/// Rings that are looked at when a peer knocks: whether those who fill them still live.
const LOOKS: usize = 2;
/// Buffers for frames that are copied, made in advance: as many as a connection may have requests under way.
const COPIES: usize = 64;

/// An endpoint in shared memory.
pub struct Shm {
    name: ShmName,
    incarnation: u64,
    mtu: usize,
    files: Files,
    door: Attached<Door>,
    /// Knocks that have been answered.
    heard: u64,
    peers: Vec<Outgoing>,
    incoming: Vec<Incoming>,
    /// The ring that is looked at first.
    turn: usize,
    /// The ring whose producer was looked at last.
    looked: usize,
    /// Buffers that nobody keeps.
    free: Vec<Box<[u8]>>,
    process: fork::Parent,
}

/// A peer, and the ring to it.
struct Outgoing {
    /// None: the place is free.
    name: Option<ShmName>,
    /// The number that others know the peer by. A peer that gets the place later has another one.
    number: u32,
    /// Somebody here has asked for it by its name, so it keeps its place.
    is_asked_for: bool,
    ring: Option<Producer<LINES>>,
}

/// A ring from a peer.
struct Incoming {
    place: usize,
    ring: Consumer<LINES>,
}

impl Shm {
    /// The MTU where nothing else is said, in bytes.
    pub const MTU: usize = 8192;
    /// The greatest MTU: the longest frame of a ring.
    pub const MOST: usize = Ring::LONGEST;
    /// The least MTU.
    pub const LEAST: usize = 548;

    /// Takes the name, for frames of up to `mtu` bytes. What earlier lives under this name have left is cleared.
    ///
    /// # Errors
    /// The MTU is outside [`Shm::LEAST`] to [`Shm::MOST`]; a living process has the name; or the system refuses the memory.
    pub fn open(name: ShmName, mtu: usize) -> Result<Self, TransportError> {
        if !(Shm::LEAST..=Shm::MOST).contains(&mtu) {
            return Err(TransportError::Mtu {
                transport: "shared memory",
                mtu,
                least: Shm::LEAST,
                most: Shm::MOST,
            });
        }
        let process = fork::Parent::mark().map_err(|source| TransportError::System {
            action: "mark this process as the owner of",
            address: Address::Shm(name.clone()),
            source,
        })?;
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let incarnation = since.map_or(0, |time| time.as_nanos() as u64);
        let files = Files::new()?;
        let door = files.make_door(&name, incarnation)?;
        let shm = Shm {
            name,
            incarnation,
            mtu,
            files,
            door,
            heard: 0,
            peers: Vec::new(),
            incoming: Vec::new(),
            turn: 0,
            looked: 0,
            free: (0..COPIES).map(|_| copy()).collect(),
            process,
        };
        shm.files.sweep(&shm.name, incarnation)?;
        Ok(shm)
    }

    fn find(&self, name: &ShmName) -> Option<usize> {
        let is_it = |peer: &Outgoing| peer.name.as_ref() == Some(name);
        self.peers.iter().position(is_it)
    }

    /// The place of a peer, which is made where it has none. None: there is no room for another.
    fn place_of(&mut self, name: &ShmName) -> Option<usize> {
        let free = || self.peers.iter().position(|peer| peer.name.is_none());
        let place = self.find(name).or_else(free).unwrap_or(self.peers.len());
        if place > PLACE as usize {
            return None;
        }
        if place == self.peers.len() {
            self.peers.push(Outgoing {
                name: None,
                number: place as u32,
                is_asked_for: false,
                ring: None,
            });
        }
        self.peers[place].name = Some(name.clone());
        Some(place)
    }

    /// The ring to a peer that is gone is cleared. One that nobody here has asked for gives its place back.
    #[cold]
    fn let_go(&mut self, place: usize) {
        let peer = &mut self.peers[place];
        let Some(name) = &peer.name else {
            return;
        };
        let has_ring = self.incoming.iter().any(|from| from.place == place);
        if has_ring || !matches!(self.files.find_door(name), Ok(None)) {
            return;
        }
        if let Some(ring) = peer.ring.take() {
            // A ring that cannot be removed now is cleared by the next one who comes.
            let _ = clear(ring.ring());
        }
        if !peer.is_asked_for {
            peer.name = None;
            peer.number = peer.number.wrapping_add(PLACE + 1);
        }
    }

    /// The rings to all peers that are gone are cleared; whether there was one.
    #[cold]
    fn let_all_go(&mut self) -> bool {
        let rings = |shm: &Shm| shm.peers.iter().filter(|peer| peer.ring.is_some()).count();
        let before = rings(self);
        (0..self.peers.len()).for_each(|place| self.let_go(place));
        rings(self) < before
    }

    /// Clears rings whose producers have died without a word. It looks at some of them each time: more than come.
    fn look_for_the_dead(&mut self) {
        for _ in 0..LOOKS.min(self.incoming.len()) {
            self.looked = (self.looked + 1) % self.incoming.len();
            let ring = self.incoming[self.looked].ring.ring();
            if self.files.is_over(ring) {
                let _ = clear(ring);
            }
        }
    }

    /// Makes the ring to a peer; whether somebody is there to read it.
    #[cold]
    fn reach(&mut self, place: usize) -> Result<bool, TransportError> {
        let peer = &mut self.peers[place];
        if let Some(ring) = peer.ring.take() {
            clear(ring.ring())?;
        }
        let Some(name) = &peer.name else {
            return Ok(false);
        };
        let Some(door) = self.files.find_door(name)? else {
            return Ok(false);
        };
        let ends = (&self.name, name);
        let ring = self.files.make_ring(ends, self.incarnation, &door)?;
        door.knock();
        // An endpoint that takes the name over closes this door, and then looks for rings. Either it has seen this one, or we see that.
        if door.is_closed() {
            clear(ring.ring())?;
            return Ok(false);
        }
        peer.ring = Some(ring);
        Ok(true)
    }

    /// Attaches the rings that peers have made since the last time. Where the system refuses one, the next look tries again.
    #[cold]
    fn answer_knocks(&mut self, knocks: u64) -> Result<(), TransportError> {
        let mut heard = knocks;
        self.look_for_the_dead();
        for (name, path) in self.files.rings_to(&self.name)? {
            let place = self.find(&name);
            let is_known =
                |known: &Incoming| Some(known.place) == place && known.ring.ring().is_named();
            if self.incoming.iter().any(is_known) {
                continue;
            }
            let ring = match Consumer::attach(&path) {
                Ok(ring) => ring,
                Err(error) => {
                    // A peer that makes it anew meanwhile knocks again, and what is no ring is never one.
                    if is_for_now(&error) {
                        heard = self.heard;
                    }
                    continue;
                }
            };
            let place = match ring.ring().meant_for() == self.incarnation {
                true => self.place_of(&name),
                false => None,
            };
            match place {
                Some(place) => self.incoming.push(Incoming { place, ring }),
                // A ring that cannot be removed now is cleared by the next one who comes.
                None => _ = clear(ring.ring()),
            }
        }
        self.heard = heard;
        Ok(())
    }

    #[inline]
    fn has_arrived(&mut self) -> bool {
        self.door.knocks() != self.heard
            || (self.incoming.iter_mut()).any(|from| !matches!(from.ring.front(), Ok(None)))
    }
}

/// A buffer for a frame of one line.
fn copy() -> Box<[u8]> {
    Box::new([0; ring::ONE_LINE])
}

/// The next frame of a ring: a copy of it, or where it lies.
#[inline]
fn take(
    ring: &mut Consumer<LINES>,
    free: &mut Vec<Box<[u8]>>,
) -> Result<Option<Memory>, ring::Damaged> {
    ring.free()?;
    let line = ring.pop_line(|line, length| {
        let mut to = free.pop().unwrap_or_else(copy);
        to.copy_from_slice(line);
        Memory::Buffer(to, length)
    })?;
    match line {
        Next::None => Ok(None),
        Next::Line(copied) => Ok(Some(copied)),
        Next::Long => Ok(ring.take()?.map(Memory::Ring)),
    }
}

impl Transport for Shm {
    fn address(&self) -> Address {
        Address::Shm(self.name.clone())
    }

    fn mtu(&self) -> usize {
        self.mtu
    }

    fn is_sound(&self) -> bool {
        true
    }

    fn peer(&mut self, address: &Address) -> Result<Peer, TransportError> {
        match address {
            Address::Shm(name) => {
                let place = self.place_of(name);
                let place = place.ok_or_else(|| TransportError::Crowded {
                    address: self.address(),
                    most: PLACE as usize + 1,
                })?;
                let peer = &mut self.peers[place];
                peer.is_asked_for = true;
                Ok(Peer(Known::Listed(peer.number)))
            }
            _ => Err(TransportError::Foreign {
                address: address.clone(),
                own: self.address(),
            }),
        }
    }

    /// Its rings go when it closes them, or when somebody finds that it has ended.
    fn know(&mut self, _: Peer, _: bool) {}

    #[inline]
    fn send(&mut self, to: Peer, head: &[u8], payload: &[u8]) -> Result<Sent, TransportError> {
        let length = head.len() + payload.len();
        if length > self.mtu {
            return Err(TransportError::TooLong {
                length,
                mtu: self.mtu,
            });
        }
        let Peer(Known::Listed(number)) = to else {
            return Ok(Sent::Away);
        };
        let place = (number & PLACE) as usize;
        loop {
            let peer = match self.peers.get_mut(place) {
                Some(peer) if peer.number == number => peer,
                _ => return Ok(Sent::Away),
            };
            let put = peer.ring.as_mut().map(|ring| ring.put(head, payload));
            match put {
                Some(Put::Done) => return Ok(Sent::Sent),
                Some(Put::Full) => return Ok(Sent::Full),
                Some(Put::Closed) | None => match self.reach(place) {
                    Ok(true) => {}
                    Ok(false) => return Ok(Sent::Away),
                    // No ring to this peer can be made now: /dev/shm is full, say. Other peers have theirs, and those of peers that
                    // are gone make room.
                    Err(_) if self.let_all_go() => {}
                    Err(_) => return Ok(Sent::Full),
                },
            }
        }
    }

    #[inline]
    fn receive(&mut self) -> Result<Option<Arrived>, TransportError> {
        let knocks = self.door.knocks();
        if knocks != self.heard {
            self.answer_knocks(knocks)?;
        }
        for _ in 0..self.incoming.len() {
            if self.turn >= self.incoming.len() {
                self.turn = 0;
            }
            let Incoming { place, ring } = &mut self.incoming[self.turn];
            // Looked at before the frames: what was published before it was closed is seen.
            let is_closed = ring.ring().is_closed();
            match take(ring, &mut self.free) {
                Ok(Some(memory)) => {
                    let from = Peer(Known::Listed(self.peers[*place].number));
                    self.turn += 1;
                    return Ok(Some(Arrived {
                        from,
                        frame: Landed(memory),
                    }));
                }
                Ok(None) if !is_closed => self.turn += 1,
                // Its producer makes another one, if it lives.
                Ok(None) | Err(ring::Damaged) => {
                    ring.ring().close();
                    let gone = self.incoming.swap_remove(self.turn);
                    self.let_go(gone.place);
                }
            }
        }
        Ok(None)
    }

    #[inline]
    fn recycle(&mut self, frame: Landed) {
        if let Landed(Memory::Buffer(copy, _)) = frame {
            self.free.push(copy);
        }
    }

    fn wait(&mut self, at_most: Duration) -> Result<(), TransportError> {
        nap_until(at_most, || Ok(self.has_arrived()))
    }
}

impl Drop for Shm {
    fn drop(&mut self) {
        // The files are the parent's, where this is a child of fork.
        if !self.process.is_caller() {
            return;
        }
        // First, so that nobody makes a ring to it any more; then those that nobody has looked for yet.
        self.door.close();
        let _ = self.answer_knocks(self.door.knocks());
        let incoming = self.incoming.iter().map(|from| from.ring.ring());
        let outgoing = self.peers.iter().filter_map(|to| to.ring.as_ref());
        for ring in incoming.chain(outgoing.map(Producer::ring)) {
            // A ring that cannot be removed now is cleared by the next one who comes.
            let _ = clear(ring);
        }
        self.door.remove();
    }
}
