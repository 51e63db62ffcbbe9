//! The way of two endpoints to a reliable connection: over TCP, at the address of the one that is asked. Both make their
//! queue pairs, tell each other where they are, and close the line. Threads do that, so that an endpoint never waits for it.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError};
use std::time::Duration;

use jitterlab_verbs::exchange::{Answer, Ask, PATIENCE, hear_ready, prepare, say_ready};
use jitterlab_verbs::{Adapter, Draft, Error, Mailbox, choose, ports};

/// A port, and the bytes of a frame.
const WISH: usize = 2 + 4;

/// The result of an attempt to meet.
pub struct Met {
    /// The address that the other end is asked at.
    pub address: SocketAddr,
    /// The connection; none where there is none.
    pub mailbox: Option<Mailbox>,
}

/// An end: where it is asked, and what its frames may have.
#[derive(Clone)]
pub struct Own {
    pub address: SocketAddr,
    pub mtu: usize,
    pub adapter: Adapter,
}

/// Where threads leave the connections that they have made. The endpoint that they are for looks at a flag alone, poll after poll: to
/// look into the channel takes a memory fence.
#[derive(Clone)]
pub struct Notice {
    to: SyncSender<Met>,
    is_given: Arc<AtomicBool>,
}

impl Notice {
    /// One that ends in a channel.
    pub fn new(to: SyncSender<Met>) -> Self {
        Notice {
            to,
            is_given: Arc::default(),
        }
    }

    /// Leaves a connection. Waits where there is no room.
    pub fn give(&self, met: Met) {
        if self.to.send(met).is_ok() {
            self.is_given.store(true, Ordering::Release);
        }
    }

    /// Leaves a connection, where there is room; whether the endpoint is still there.
    fn try_give(&self, met: Met) -> bool {
        let given = self.to.try_send(met);
        if given.is_ok() {
            self.is_given.store(true, Ordering::Release);
        }
        !matches!(given, Err(TrySendError::Disconnected(_)))
    }

    /// True if something was left since the last time.
    #[inline]
    pub fn is_given(&self) -> bool {
        // Acquire: what was left before is found in the channel.
        self.is_given.load(Ordering::Relaxed) && self.is_given.swap(false, Ordering::Acquire)
    }
}

/// Answers those who ask, until the listener is shut down. A connection that nobody has room for breaks, and its other end asks
/// again.
pub fn answer(listener: &TcpListener, own: &Own, notice: &Notice) {
    loop {
        let line = match listener.accept() {
            Ok((line, _)) => line,
            // The error that `shutdown` gives to the thread that accepts.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => return,
            Err(_) => {
                std::thread::sleep(Duration::from_millis(1));
                continue;
            }
        };
        // Whatever becomes of one, the next is answered.
        if let Ok(met) = attend(&line, own)
            && !notice.try_give(met)
        {
            return;
        }
    }
}

/// Asks the endpoint at an address.
pub fn ask(address: SocketAddr, own: &Own) -> Met {
    Met {
        address,
        mailbox: join(address, own).ok(),
    }
}

fn join(address: SocketAddr, own: &Own) -> io::Result<Mailbox> {
    let line = TcpStream::connect_timeout(&address, PATIENCE)?;
    prepare(&line)?;
    let draft = draft(&line, own).map_err(io::Error::other)?;
    let mut wish = [0; WISH];
    wish[..2].copy_from_slice(&own.address.port().to_le_bytes());
    wish[2..].copy_from_slice(&(own.mtu as u32).to_le_bytes());
    let ask = Ask {
        wish,
        mtu: draft.mtu(),
        place: draft.place(),
    };
    ask.write(&line)?;
    match Answer::read(&line)? {
        Answer::Ready { mtu, place } if mtu <= draft.mtu() => {
            let mailbox = draft.connect(mtu, &place).map_err(io::Error::other)?;
            say_ready(&line)?;
            Ok(mailbox)
        }
        Answer::Ready { .. } => Err(io::ErrorKind::InvalidData.into()),
        Answer::Refused(reason) => Err(io::Error::other(reason)),
    }
}

fn attend(line: &TcpStream, own: &Own) -> io::Result<Met> {
    prepare(line)?;
    let ask = Ask::<WISH>::read(line)?;
    let (port, mtu) = ask.wish.split_at(2);
    let port = port
        .first_chunk()
        .map_or(0, |&port| u16::from_le_bytes(port));
    let mtu = mtu.first_chunk().map_or(0, |&mtu| u32::from_le_bytes(mtu)) as usize;
    if mtu != own.mtu {
        let reason = format!("frames have up to {} bytes here, not {mtu}", own.mtu);
        Answer::Refused(reason).write(line)?;
        return Err(io::ErrorKind::InvalidData.into());
    }
    let joined = draft(line, own).and_then(|draft| {
        let (mtu, place) = (ask.mtu.min(draft.mtu()), draft.place());
        Ok((
            draft.connect(mtu, &ask.place)?,
            Answer::Ready { mtu, place },
        ))
    });
    let (mailbox, answer) = match joined {
        Ok(joined) => joined,
        Err(error) => {
            Answer::Refused(error.to_string()).write(line)?;
            return Err(io::Error::other(error));
        }
    };
    answer.write(line)?;
    hear_ready(line)?;
    Ok(Met {
        address: (line.peer_addr()?.ip(), port).into(),
        mailbox: Some(mailbox),
    })
}

fn draft(line: &TcpStream, own: &Own) -> Result<Draft, Error> {
    let here = line.local_addr().map_or(own.address.ip(), |own| own.ip());
    let ports = ports(own.adapter.device.as_deref())?;
    Draft::new(choose(&ports, &own.adapter, here)?, own.mtu)
}
