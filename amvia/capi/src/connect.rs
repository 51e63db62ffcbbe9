//! Peers.

use std::ffi::c_char;
use std::mem::offset_of;
use std::time::Duration;

use jitterlab_amvia::endpoint::{PeerId, Standing};
use jitterlab_amvia::protocol::Counters;
use jitterlab_amvia::transaction::EndpointId;
use jitterlab_amvia::transport::Address;
use jitterlab_amvia::wire::Refusal;

use crate::error::{AM_Error, guard};
use crate::memory::{self, Out, Room};
use crate::table::AM_Endpoint;

/// A peer of an endpoint. It is a value: it may be copied and kept.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct AM_Peer {
    /// The hash of the peer's name.
    pub endpoint: u64,
    /// Its number at this endpoint.
    pub number: u32,
}

impl From<PeerId> for AM_Peer {
    fn from(peer: PeerId) -> Self {
        AM_Peer {
            endpoint: peer.endpoint().0,
            number: peer.number(),
        }
    }
}

impl From<AM_Peer> for PeerId {
    fn from(peer: AM_Peer) -> Self {
        PeerId::of(peer.number, EndpointId(peer.endpoint))
    }
}

/// How far a connection is.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub enum AM_Reach {
    /// The peer has not answered yet.
    AM_CONNECTING = 0,
    /// The peer has answered.
    AM_CONNECTED = 1,
    /// The peer does not answer, or refuses.
    AM_UNREACHABLE = 2,
}

/// Why a peer refuses to be connected.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub enum AM_Refusal {
    /// It does not refuse.
    AM_NOT_REFUSED = 0,
    /// There is no such endpoint at the address.
    AM_REFUSED_NO_ENDPOINT = 1,
    /// The peer speaks another protocol.
    AM_REFUSED_PROTOCOL = 2,
    /// The peer has another window.
    AM_REFUSED_WINDOW = 3,
    /// The peer knows a later incarnation of this endpoint.
    AM_REFUSED_OLD_INCARNATION = 4,
    /// The peer has no room for another connection.
    AM_REFUSED_FULL = 5,
    /// The peer is connected to another endpoint of this name.
    AM_REFUSED_NAME_IN_USE = 6,
}

/// How far the connection to a peer is.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct AM_Standing {
    /// How far.
    pub reach: AM_Reach,
    /// Why the peer refuses, if it does.
    pub refusal: AM_Refusal,
    /// The incarnation in which the peer has answered; 0 if it has not.
    pub incarnation: u32,
}

impl From<Standing> for AM_Standing {
    fn from(standing: Standing) -> Self {
        let (reach, refusal, incarnation) = match standing {
            Standing::Connecting => (AM_Reach::AM_CONNECTING, None, 0),
            Standing::Connected(incarnation) => (AM_Reach::AM_CONNECTED, None, incarnation.0),
            Standing::Unreachable(refusal) => (AM_Reach::AM_UNREACHABLE, refusal, 0),
        };
        let refusal = match refusal {
            None => AM_Refusal::AM_NOT_REFUSED,
            Some(Refusal::NoEndpoint) => AM_Refusal::AM_REFUSED_NO_ENDPOINT,
            Some(Refusal::Protocol) => AM_Refusal::AM_REFUSED_PROTOCOL,
            Some(Refusal::Window) => AM_Refusal::AM_REFUSED_WINDOW,
            Some(Refusal::OldIncarnation) => AM_Refusal::AM_REFUSED_OLD_INCARNATION,
            Some(Refusal::Full) => AM_Refusal::AM_REFUSED_FULL,
            Some(Refusal::NameInUse) => AM_Refusal::AM_REFUSED_NAME_IN_USE,
        };
        AM_Standing {
            reach,
            refusal,
            incarnation,
        }
    }
}

/// Connects to the endpoint called `name` at `address`, and polls until it has answered, at most so long. With a timeout of 0
/// it begins to connect, and AMVIA_Standing() says how far it is. A peer that was there before is looked for at the new
/// address.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AMVIA_Connect(
    endpoint: AM_Endpoint,
    name: *const c_char,
    address: *const c_char,
    at_most: u64,
    peer: *mut AM_Peer,
) -> AM_Error {
    guard(|| {
        // SAFETY: the program's promise, see the head of amvia.h.
        let (name, address, out) = unsafe {
            let name = memory::text("name", name)?;
            let address = memory::text("address", address)?;
            (name, address, Out::new("peer", peer)?)
        };
        let endpoint = endpoint.get()?;
        let address: Address = address.parse()?;
        let peer = match at_most {
            0 => endpoint.begin_connect(name, &address)?,
            _ => endpoint.connect(name, &address, Duration::from_nanos(at_most))?,
        };
        out.put(peer.into());
        Ok(())
    })
}

/// How far the connection to a peer is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AMVIA_Standing(
    endpoint: AM_Endpoint,
    peer: AM_Peer,
    standing: *mut AM_Standing,
) -> AM_Error {
    guard(|| {
        // SAFETY: the program's promise, see the head of amvia.h.
        let out = unsafe { Out::new("standing", standing) }?;
        out.put(endpoint.get()?.standing(peer.into())?.into());
        Ok(())
    })
}

/// The peers of an endpoint, those that have connected by themselves among them: as many as there is room for, and in `count`
/// how many there are.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AMVIA_Peers(
    endpoint: AM_Endpoint,
    peers: *mut AM_Peer,
    room: usize,
    count: *mut usize,
) -> AM_Error {
    guard(|| {
        // SAFETY: the program's promise, see the head of amvia.h.
        let (room, count) = unsafe {
            let room = Room::new("peers", peers, room)?;
            (room, Out::new("count", count)?)
        };
        let peers = endpoint.get()?.peers()?;
        let peers: Vec<AM_Peer> = peers.into_iter().map(AM_Peer::from).collect();
        room.fill(&peers);
        count.put(peers.len());
        Ok(())
    })
}

/// Requests that can be made of a peer before one is released.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AMVIA_Credits(
    endpoint: AM_Endpoint,
    peer: AM_Peer,
    credits: *mut u64,
) -> AM_Error {
    guard(|| {
        // SAFETY: the program's promise, see the head of amvia.h.
        let out = unsafe { Out::new("credits", credits) }?;
        out.put(endpoint.get()?.credits(peer.into())?);
        Ok(())
    })
}

/// What has happened on the connection to a peer. Later versions may add members at the end.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct AM_Counters {
    /// Requests made.
    pub requests: u64,
    /// Requests sent again because no answer came.
    pub retransmissions: u64,
    /// Those of them that were needless: the answer to an earlier attempt came after them.
    pub needless: u64,
    /// Questions for the reply after the acknowledgement.
    pub pulls: u64,
    /// Connects sent beside retransmissions.
    pub renewals: u64,
    /// Acknowledgements sent in frames of their own.
    pub acks_alone: u64,
    /// Acknowledgements that rode on their reply.
    pub acks_riding: u64,
    /// Handlers started.
    pub started: u64,
    /// Requests that came again.
    pub duplicates: u64,
    /// Frames with a wrong tag.
    pub wrong_tag: u64,
    /// Frames from a peer that has not been connected yet.
    pub unconnected: u64,
    /// Frames that no honest peer sends.
    pub malformed: u64,
    /// Requests that found no free slot in the receive pool.
    pub no_room: u64,
    /// Transactions given up, since no answer came to any attempt.
    pub abandoned: u64,
}

/// Bytes of the first version.
const FIRST_COUNTERS: usize = offset_of!(AM_Counters, no_room) + size_of::<u64>();

impl From<Counters> for AM_Counters {
    fn from(counted: Counters) -> Self {
        let Counters {
            requests,
            retransmissions,
            needless,
            pulls,
            renewals,
            acks_alone,
            acks_riding,
            started,
            duplicates,
            wrong_tag,
            unconnected,
            malformed,
            no_room,
            abandoned,
        } = counted;
        AM_Counters {
            requests,
            retransmissions,
            needless,
            pulls,
            renewals,
            acks_alone,
            acks_riding,
            started,
            duplicates,
            wrong_tag,
            unconnected,
            malformed,
            no_room,
            abandoned,
        }
    }
}

/// What has happened on the connection to a peer: AMVIA_Counters(endpoint, peer, &counters, sizeof counters).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AMVIA_Counters(
    endpoint: AM_Endpoint,
    peer: AM_Peer,
    counters: *mut AM_Counters,
    size: usize,
) -> AM_Error {
    guard(|| {
        memory::check_size(
            "AM_Counters",
            size,
            FIRST_COUNTERS,
            size_of::<AM_Counters>(),
        )?;
        let counted = endpoint.get()?.counters(peer.into())?.into();
        // SAFETY: the program promises `size` bytes.
        unsafe { memory::put_first("counters", counters, size, &counted) }
    })
}
