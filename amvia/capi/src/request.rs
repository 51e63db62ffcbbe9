//! Requests, and what became of them.

use std::ffi::c_void;
use std::time::Duration;

use jitterlab_amvia::endpoint::{Credit, Transaction};
use jitterlab_amvia::protocol::Slot;
use jitterlab_amvia::transaction::{EndpointId, Incarnation, TransactionId};

use crate::AM_FOREVER;
use crate::connect::AM_Peer;
use crate::error::{AM_Error, Failure, filling, guard};
use crate::memory::{self, Out, Room};
use crate::status::AM_Status;
use crate::table::AM_Endpoint;

/// The name of a transaction.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct AM_TransactionId {
    /// The hash of the name of the endpoint that made the request.
    pub initiator: u64,
    /// The number of the request.
    pub sequence: u64,
    /// The incarnation of the endpoint when it made the request.
    pub incarnation: u32,
}

impl From<TransactionId> for AM_TransactionId {
    fn from(id: TransactionId) -> Self {
        AM_TransactionId {
            initiator: id.initiator.0,
            sequence: id.sequence,
            incarnation: id.incarnation.0,
        }
    }
}

/// A transaction that an endpoint has begun. It is a value: it may be copied and kept, in a file too. It holds until the
/// transaction is released, in later lives of an endpoint with a log too.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct AM_Transaction {
    /// Its name.
    pub id: AM_TransactionId,
    /// The peer that the request was made of.
    pub peer: AM_Peer,
    /// Its slot in the send pool.
    pub slot: u16,
}

impl From<Transaction> for AM_Transaction {
    fn from(transaction: Transaction) -> Self {
        AM_Transaction {
            id: transaction.id().into(),
            peer: transaction.peer().into(),
            slot: transaction.slot().0,
        }
    }
}

impl From<AM_Transaction> for Transaction {
    fn from(transaction: AM_Transaction) -> Self {
        let id = transaction.id;
        let id = TransactionId {
            initiator: EndpointId(id.initiator),
            incarnation: Incarnation(id.incarnation),
            sequence: id.sequence,
        };
        Transaction::of(transaction.peer.into(), Slot(transaction.slot), id)
    }
}

/// Makes a request of a peer: `handler` is to run there on `length` bytes, which are copied. Where there is no credit it polls
/// until there is, at most so long: 0 refuses at once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AM_Request(
    endpoint: AM_Endpoint,
    peer: AM_Peer,
    handler: u16,
    data: *const c_void,
    length: usize,
    at_most: u64,
    transaction: *mut AM_Transaction,
) -> AM_Error {
    guard(|| {
        // SAFETY: the program's promise, see the head of amvia.h.
        let (bytes, out) = unsafe {
            let bytes = memory::bytes(data, length)?;
            (bytes, Out::new("transaction", transaction)?)
        };
        let endpoint = endpoint.get()?;
        let made = endpoint.request(peer.into(), handler, bytes, credit(at_most))?;
        out.put(made.into());
        Ok(())
    })
}

/// A function that writes the `length` bytes of a request at `data`, where they stay. The library refuses the calls that it makes.
pub type AM_Fill =
    Option<unsafe extern "C-unwind" fn(data: *mut c_void, length: usize, context: *mut c_void)>;

/// Makes a request like AM_Request(), whose bytes are not copied: `fill` writes them where they stay, once there is credit and
/// before this returns. It is given `context`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AMVIA_RequestInPlace(
    endpoint: AM_Endpoint,
    peer: AM_Peer,
    handler: u16,
    length: usize,
    fill: AM_Fill,
    context: *mut c_void,
    at_most: u64,
    transaction: *mut AM_Transaction,
) -> AM_Error {
    guard(|| {
        // SAFETY: the program's promise, see the head of amvia.h.
        let out = unsafe { Out::new("transaction", transaction) }?;
        let fill =
            fill.ok_or_else(|| Failure::new(AM_Error::AM_ERR_NULL, "fill is a null pointer"))?;
        let write = |place: &mut [u8]| {
            let (data, length) = (place.as_mut_ptr().cast(), place.len());
            // SAFETY: the program has promised that this is such a function, which writes `length` bytes: there are as
            // many. What unwinds out of it passes frames of Rust alone, up to `guard`.
            filling(|| unsafe { fill(data, length, context) });
        };
        let (endpoint, peer) = (endpoint.get()?, peer.into());
        let made = endpoint.request_in_place(peer, handler, length, credit(at_most), write)?;
        out.put(made.into());
        Ok(())
    })
}

/// The choice of a request that finds no credit.
fn credit(at_most: u64) -> Credit {
    match at_most {
        0 => Credit::Refuse,
        AM_FOREVER => Credit::Block,
        _ => Credit::Within(Duration::from_nanos(at_most)),
    }
}

/// The state of a transaction.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AMVIA_Status(
    endpoint: AM_Endpoint,
    transaction: AM_Transaction,
    status: *mut AM_Status,
) -> AM_Error {
    guard(|| {
        // SAFETY: the program's promise, see the head of amvia.h.
        let out = unsafe { Out::new("status", status) }?;
        out.put(endpoint.get()?.state(transaction.into())?.into());
        Ok(())
    })
}

/// Polls until a transaction is final, or unknown and no question for it on its way, at most so long, and gives what is known of
/// it then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AMVIA_Finish(
    endpoint: AM_Endpoint,
    transaction: AM_Transaction,
    at_most: u64,
    status: *mut AM_Status,
) -> AM_Error {
    guard(|| {
        // SAFETY: the program's promise, see the head of amvia.h.
        let out = unsafe { Out::new("status", status) }?;
        let (endpoint, transaction) = (endpoint.get()?, transaction.into());
        endpoint.finish(transaction, Duration::from_nanos(at_most))?;
        out.put(endpoint.state(transaction)?.into());
        Ok(())
    })
}

/// Reads the reply of a transaction into `room` bytes at `data`; `length` says how long it is: 0 while there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AMVIA_ReadReply(
    endpoint: AM_Endpoint,
    transaction: AM_Transaction,
    data: *mut c_void,
    room: usize,
    length: *mut usize,
) -> AM_Error {
    guard(|| {
        // SAFETY: the program's promise, see the head of amvia.h.
        let (room, out) = unsafe {
            let room = Room::<u8>::new("data", data.cast(), room)?;
            (room, Out::new("length", length)?)
        };
        endpoint.get()?.reply(transaction.into(), |reply| {
            out.put(reply.len());
            if reply.len() > room.most() {
                let (is, most) = (reply.len(), room.most());
                let text = format!("the reply has {is} bytes, there is room for {most}");
                return Err(Failure::new(AM_Error::AM_ERR_SPACE, text));
            }
            room.fill(reply);
            Ok(())
        })?
    })
}

/// Asks the target what became of a transaction that is unknown. The answer comes with later polls: not run, run once with its
/// reply, indeterminate for good, or unknown as before where the target still does not answer.
#[unsafe(no_mangle)]
pub extern "C" fn AMVIA_Ask(endpoint: AM_Endpoint, transaction: AM_Transaction) -> AM_Error {
    guard(|| Ok(endpoint.get()?.ask(transaction.into())?))
}

/// Releases a transaction: the program needs it no more. Its credit comes back, and its target may forget it.
#[unsafe(no_mangle)]
pub extern "C" fn AMVIA_Release(endpoint: AM_Endpoint, transaction: AM_Transaction) -> AM_Error {
    guard(|| Ok(endpoint.get()?.release(transaction.into())?))
}

/// The transactions that are not released, those of earlier lives that the log held among them: as many as there is room for,
/// and in `count` how many there are.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AMVIA_Transactions(
    endpoint: AM_Endpoint,
    transactions: *mut AM_Transaction,
    room: usize,
    count: *mut usize,
) -> AM_Error {
    guard(|| {
        // SAFETY: the program's promise, see the head of amvia.h.
        let (room, count) = unsafe {
            let room = Room::new("transactions", transactions, room)?;
            (room, Out::new("count", count)?)
        };
        let all = endpoint.get()?.transactions()?;
        let all: Vec<AM_Transaction> = all.into_iter().map(|(one, _)| one.into()).collect();
        room.fill(&all);
        count.put(all.len());
        Ok(())
    })
}
