//! Frames over reliable connections of an RDMA device, one for each pair of endpoints. A frame is sent by one work request,
//! and read where the device has put it.
//!
//! A connection is made when the first frame is sent, by a thread; until then nobody is reached. One that breaks, as it does
//! when the other end is gone, is made anew in the same way. Two endpoints that ask each other at once have two.

mod meet;

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::AsRawFd;
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use jitterlab_base::fork;
use jitterlab_verbs::{Adapter, Mailbox, Message, choose, ports};
use nix::sys::socket::{Shutdown, shutdown};

use super::waiting::nap_until;
use super::{Address, Arrived, Known, Landed, Memory, Peer, Sent, Transport, TransportError};
use meet::{Met, Notice, Own};

/// Empty calls between two looks at what became of sends.
const LOOKS: u32 = 1024;
/// Looks for a frame in a call, at least, if there is a peer. The rest of a poll takes longer than a look, and a frame that comes meanwhile waits for it.
const AT_ONCE: usize = 4;
/// Connections of one peer, at most: the newest, and one that frames may still come over.
const MOST: usize = 2;
/// Bytes of a frame that is copied, at most: one of a short message. To keep account of who reads it costs more.
const COPIED: usize = 56;
/// Buffers for frames that are copied, made in advance: as many as a connection may have requests under way.
const COPIES: usize = 64;
/// Connections that wait until the endpoint is polled, at most. A further one that another endpoint asked for is dropped.
const WAITING: usize = 16;

/// An endpoint's access to an RDMA device.
pub struct Verbs {
    own: Own,
    peers: Vec<Linked>,
    /// The peer that is looked at first.
    turn: usize,
    looks: u32,
    /// A frame that came while somebody waited.
    next: Option<Arrived>,
    /// Connections that threads have made.
    met: Receiver<Met>,
    notice: Notice,
    /// Buffers that nobody keeps.
    free: Vec<Box<[u8]>>,
    /// Counts them.
    came: u64,
    /// A thread gives connections that are over back to the device, which may take its time.
    over: Sender<Mailbox>,
    listener: TcpListener,
    answers: Option<JoinHandle<()>>,
    process: fork::Parent,
}

/// A peer, and the connections to it, the newest last.
struct Linked {
    address: SocketAddr,
    mailboxes: Vec<Mailbox>,
    is_asked: bool,
    /// A peer of the endpoint is there.
    is_known: bool,
    /// When the newest connection came, by [`Verbs::came`].
    came: u64,
}

impl Linked {
    /// Nothing of it is kept but its place.
    fn is_free(&self) -> bool {
        !self.is_known && !self.is_asked && self.mailboxes.is_empty()
    }
}

impl Verbs {
    /// The MTU where nothing else is said, in bytes. All endpoints that meet have the same.
    pub const MTU: usize = 4096;
    /// The greatest MTU.
    pub const MOST: usize = 65_536;
    /// The least MTU.
    pub const LEAST: usize = 548;
    /// Connections that are kept of those who have asked for one and are no peers of the endpoint: the last ones.
    pub const STRANGERS: usize = 16;

    /// Listens at a TCP address, where port 0 is any free one, for endpoints that want a connection over `adapter`, with
    /// frames of up to `mtu` bytes.
    ///
    /// # Errors
    /// The MTU is outside [`Verbs::LEAST`] to [`Verbs::MOST`]; no port of an RDMA device can be used; or the system refuses
    /// the address.
    pub fn bind(address: SocketAddr, adapter: Adapter, mtu: usize) -> Result<Self, TransportError> {
        if !(Verbs::LEAST..=Verbs::MOST).contains(&mtu) {
            return Err(TransportError::Mtu {
                transport: "verbs",
                mtu,
                least: Verbs::LEAST,
                most: Verbs::MOST,
            });
        }
        choose(&ports(adapter.device.as_deref())?, &adapter, address.ip())?;
        let failed = |source: io::Error| TransportError::System {
            action: "listen on",
            address: Address::Verbs(address),
            source,
        };
        let listener = TcpListener::bind(address).map_err(failed)?;
        let own = Own {
            address: listener.local_addr().map_err(failed)?,
            mtu,
            adapter,
        };
        let (to, met) = sync_channel(WAITING);
        let notice = Notice::new(to);
        let (over, ended) = channel();
        let thread = std::thread::Builder::new().name("verbs".into());
        thread
            .spawn(move || ended.into_iter().for_each(drop))
            .map_err(failed)?;
        let process = fork::Parent::mark().map_err(failed)?;
        let answers = {
            let (listener, own, notice) = (
                listener.try_clone().map_err(failed)?,
                own.clone(),
                notice.clone(),
            );
            let thread = std::thread::Builder::new().name("verbs".into());
            thread
                .spawn(move || meet::answer(&listener, &own, &notice))
                .map_err(failed)?
        };
        Ok(Verbs {
            own,
            peers: Vec::new(),
            turn: 0,
            looks: 0,
            next: None,
            met,
            notice,
            free: (0..COPIES).map(|_| copy()).collect(),
            came: 0,
            over,
            listener,
            answers: Some(answers),
            process,
        })
    }

    fn place_of(&mut self, address: SocketAddr) -> usize {
        let mut peers = self.peers.iter();
        if let Some(place) = peers.position(|peer| peer.address == address) {
            return place;
        }
        let peer = Linked {
            address,
            mailboxes: Vec::new(),
            is_asked: false,
            is_known: false,
            came: 0,
        };
        match self.peers.iter().position(Linked::is_free) {
            Some(free) => {
                self.peers[free] = peer;
                free
            }
            None => {
                self.peers.push(peer);
                self.peers.len() - 1
            }
        }
    }

    /// Takes the connections that threads have made.
    #[inline]
    fn take_met(&mut self) {
        if self.notice.is_given() {
            self.take_all_met();
        }
    }

    #[cold]
    fn take_all_met(&mut self) {
        while let Ok(met) = self.met.try_recv() {
            let place = self.place_of(met.address);
            self.came += 1;
            let peer = &mut self.peers[place];
            (peer.is_asked, peer.came) = (false, self.came);
            peer.mailboxes.extend(met.mailbox);
            if peer.mailboxes.len() > MOST {
                end(&self.over, peer.mailboxes.remove(0));
            }
            self.drop_strangers();
        }
    }

    /// Drops the connections of the oldest strangers until no more than [`Verbs::STRANGERS`] are left. Anybody who reaches the port is
    /// a stranger at first.
    fn drop_strangers(&mut self) {
        let is_stranger = |peer: &&mut Linked| !peer.is_known && !peer.mailboxes.is_empty();
        loop {
            let strangers = self.peers.iter_mut().filter(is_stranger);
            let kept: usize = strangers.map(|peer| peer.mailboxes.len()).sum();
            let strangers = self.peers.iter_mut().filter(is_stranger);
            let oldest = strangers.min_by_key(|peer| peer.came);
            match oldest.filter(|_| kept > Verbs::STRANGERS) {
                Some(oldest) => oldest
                    .mailboxes
                    .drain(..)
                    .for_each(|it| end(&self.over, it)),
                None => return,
            }
        }
    }

    /// Lets a thread ask a peer for a connection.
    #[cold]
    fn ask(&mut self, place: usize) -> Result<(), TransportError> {
        let peer = &mut self.peers[place];
        if peer.is_asked {
            return Ok(());
        }
        let (address, own, notice) = (peer.address, self.own.clone(), self.notice.clone());
        let thread = std::thread::Builder::new().name("verbs".into());
        let spawned = thread.spawn(move || notice.give(meet::ask(address, &own)));
        spawned.map_err(|source| TransportError::System {
            action: "start a thread to connect",
            address: self.address(),
            source,
        })?;
        self.peers[place].is_asked = true;
        Ok(())
    }
}

/// A buffer for a frame that is copied.
fn copy() -> Box<[u8]> {
    Box::new([0; COPIED])
}

/// The next frame of a connection: a copy of it, or where it lies.
#[inline]
fn take(
    mailbox: &mut Mailbox,
    free: &mut Vec<Box<[u8]>>,
) -> Result<Option<Memory>, jitterlab_verbs::Error> {
    let copied = |frame: &[u8]| {
        let mut to = free.pop().unwrap_or_else(copy);
        to[..frame.len()].copy_from_slice(frame);
        Memory::Buffer(to, frame.len())
    };
    let message = mailbox.receive(COPIED, copied)?;
    Ok(message.map(|message| match message {
        Message::Short(copy) => copy,
        Message::Long(frame) => Memory::Registered(frame),
    }))
}

/// Has a connection given back to its device by a thread: whoever polls does not wait for that.
#[cold]
fn end(over: &Sender<Mailbox>, mailbox: Mailbox) {
    let _ = over.send(mailbox);
}

/// Ends those connections that are not whole.
#[inline]
fn end_broken(
    mailboxes: &mut Vec<Mailbox>,
    over: &Sender<Mailbox>,
    mut is_whole: impl FnMut(&mut Mailbox) -> bool,
) {
    let mut at = 0;
    while let Some(mailbox) = mailboxes.get_mut(at) {
        match is_whole(mailbox) {
            true => at += 1,
            false => end(over, mailboxes.remove(at)),
        }
    }
}

impl Transport for Verbs {
    fn address(&self) -> Address {
        Address::Verbs(self.own.address)
    }

    fn mtu(&self) -> usize {
        self.own.mtu
    }

    /// A reliable connection checks each packet (InfiniBand Architecture Specification, 7.8: ICRC).
    fn is_sound(&self) -> bool {
        true
    }

    fn peer(&mut self, address: &Address) -> Result<Peer, TransportError> {
        match address {
            Address::Verbs(to) => Ok(Peer(Known::Listed(self.place_of(*to) as u32))),
            _ => Err(TransportError::Foreign {
                address: address.clone(),
                own: self.address(),
            }),
        }
    }

    fn know(&mut self, place: Peer, is_known: bool) {
        if let Peer(Known::Listed(place)) = place
            && let Some(peer) = self.peers.get_mut(place as usize)
        {
            peer.is_known = is_known;
            self.drop_strangers();
        }
    }

    fn send(&mut self, to: Peer, head: &[u8], payload: &[u8]) -> Result<Sent, TransportError> {
        let length = head.len() + payload.len();
        if length > self.own.mtu {
            return Err(TransportError::TooLong {
                length,
                mtu: self.own.mtu,
            });
        }
        self.take_met();
        let Peer(Known::Listed(place)) = to else {
            return Ok(Sent::Away);
        };
        let place = place as usize;
        let Some(peer) = self.peers.get_mut(place) else {
            return Ok(Sent::Away);
        };
        while let Some(mailbox) = peer.mailboxes.last_mut() {
            match mailbox.send(head, payload) {
                Ok(true) => return Ok(Sent::Sent),
                Ok(false) => return Ok(Sent::Full),
                Err(_) => {
                    let broken = peer.mailboxes.pop();
                    broken.into_iter().for_each(|it| end(&self.over, it));
                }
            }
        }
        self.ask(place)?;
        Ok(Sent::Away)
    }

    fn receive(&mut self) -> Result<Option<Arrived>, TransportError> {
        if self.next.is_some() {
            return Ok(self.next.take());
        }
        self.take_met();
        let looks = match self.peers.len() {
            0 => 0,
            peers => peers.max(AT_ONCE),
        };
        for _ in 0..looks {
            // No division: it takes as long as all else here.
            self.turn = match self.turn + 1 {
                next if next < self.peers.len() => next,
                _ => 0,
            };
            let mailboxes = &mut self.peers[self.turn].mailboxes;
            let mut arrived = None;
            end_broken(mailboxes, &self.over, |mailbox| match arrived {
                Some(_) => true,
                None => take(mailbox, &mut self.free).map(|it| arrived = it).is_ok(),
            });
            if let Some(memory) = arrived {
                return Ok(Some(Arrived {
                    from: Peer(Known::Listed(self.turn as u32)),
                    frame: Landed(memory),
                }));
            }
        }
        self.looks += 1;
        if self.looks >= LOOKS {
            self.looks = 0;
            for peer in &mut self.peers {
                end_broken(&mut peer.mailboxes, &self.over, |it| it.look().is_ok());
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
        nap_until(at_most, || {
            self.next = self.receive()?;
            Ok(self.next.is_some())
        })
    }
}

impl Drop for Verbs {
    fn drop(&mut self) {
        // A child of fork has none of the threads.
        if !self.process.is_caller() {
            return;
        }
        // This tells the thread that accepts there.
        let _ = shutdown(self.listener.as_raw_fd(), Shutdown::Both);
        if let Some(answers) = self.answers.take() {
            let _ = answers.join();
        }
    }
}
