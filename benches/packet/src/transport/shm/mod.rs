//! Shared memory: a ring for each direction. A message is copied into the ring of its sender, and its receiver takes it where
//! it lies. The ends are processes of one user on one machine; they find each other over TCP, which then stays open and silent.

mod flow;
mod limits;
mod meet;

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use jitterlab_base::ring::Put;
use jitterlab_verbs::exchange::look;

use super::end::{Connection, Listener, Unwaited};
use super::plan::{Plan, Role};
use super::slots::Slots;
use super::socket::{next_client, notice_dead_peers};
use super::waiting::{Limit, now_ns, repeat};
use crate::{Error, service};
use flow::{Expects, Flow};
use limits::{ATTEMPTS, damaged};
use meet::Joined;

/// The time that a message may find no room.
const PATIENCE: Duration = Duration::from_secs(2);

/// One end of a ping-pong.
pub(super) struct Shm {
    joined: Joined,
    out: Slots,
    timeout: Duration,
    received: u64,
}

/// Connects to a server.
pub(super) fn connect(address: SocketAddr, plan: &Plan, timeout: Duration) -> Result<Shm, Error> {
    Ok(Shm::new(
        meet::meet(address, plan)?,
        plan,
        plan.size,
        timeout,
    ))
}

/// The same for a stream.
pub(super) fn stream(address: SocketAddr, plan: &Plan) -> Result<Flow, Error> {
    let expects = match plan.role {
        Role::Both { .. } => Expects::Both,
        _ => Expects::Notes,
    };
    let joined = meet::meet(address, plan)?;
    Ok(Flow::new(joined, plan, [plan.size, plan.answer], expects))
}

impl Shm {
    fn new(joined: Joined, plan: &Plan, out: u64, timeout: Duration) -> Self {
        Shm {
            joined,
            out: Slots::new(out, plan.buffers),
            timeout,
            received: 0,
        }
    }

    /// Takes the next message, if it is there.
    #[inline]
    fn take(&mut self) -> io::Result<Option<u64>> {
        let incoming = &mut self.joined.incoming;
        if incoming.front().map_err(damaged)?.is_none() {
            return Ok(None);
        }
        incoming.pop().map_err(damaged)?;
        self.received += 1;
        Ok(Some(self.received))
    }

    #[inline]
    fn put(&mut self, number: u64) -> io::Result<bool> {
        match self.joined.out.put(self.out.of(number), &[]) {
            Put::Done => Ok(true),
            Put::Full => Ok(false),
            Put::Closed => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

impl Connection for Shm {
    #[inline]
    fn send(&mut self, number: u64) -> io::Result<()> {
        if self.put(number)? {
            return Ok(());
        }
        let sent = repeat(ATTEMPTS, Limit::new(PATIENCE), now_ns, || {
            Ok(self.put(number)?.then_some(()))
        })?;
        sent.ok_or(io::ErrorKind::TimedOut.into())
    }

    #[inline]
    fn receive(&mut self) -> io::Result<Option<u64>> {
        let limit = Limit::new(self.timeout);
        let arrived = repeat(ATTEMPTS, limit, now_ns, || self.take())?;
        if arrived.is_none() {
            look(&self.joined.line)?;
        }
        Ok(arrived)
    }
}

impl Unwaited for Shm {
    #[inline]
    fn send(&mut self, number: u64) -> io::Result<bool> {
        self.put(number)
    }

    #[inline]
    fn receive(&mut self) -> io::Result<Option<u64>> {
        self.take()
    }

    fn look(&mut self) -> io::Result<()> {
        look(&self.joined.line)
    }
}

pub(super) struct Server {
    listener: TcpListener,
}

pub(super) fn listen(address: SocketAddr) -> io::Result<Server> {
    Ok(Server {
        listener: TcpListener::bind(address)?,
    })
}

impl Listener for Server {
    fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    fn serve(&mut self) -> io::Result<()> {
        loop {
            // One client at a time, and whatever becomes of it, the next one is served.
            let met = meet::attend(next_client(&self.listener)?);
            if let Ok(Some((plan, joined))) = met {
                drop(serve_client(joined, &plan));
            }
        }
    }
}

fn serve_client(joined: Joined, plan: &Plan) -> io::Result<()> {
    notice_dead_peers(&joined.line)?;
    match plan.role {
        Role::Answer { every, rest } => {
            let mut end = Shm::new(joined, plan, plan.answer, service::LOOK);
            service::answer(&mut end, every, rest, now_ns)
        }
        Role::Exchange => {
            let mut end = Shm::new(joined, plan, plan.answer, service::LOOK);
            service::exchange(&mut end, now_ns)
        }
        Role::Sink { .. } | Role::Both { .. } => {
            let expects = match plan.window_back() {
                None => Expects::Messages,
                Some(_) => Expects::Both,
            };
            let mut flow = Flow::new(joined, plan, [plan.answer, plan.size], expects);
            service::stream(&mut flow, plan.window_back(), plan.wait, now_ns)
        }
    }
}
