//! The serving end over UDP. One socket takes everybody's messages. A second one is connected to one client: the
//! first that came, until it goes, or another one comes while everybody is silent. Then it is connected to another
//! one, but not closed: the messages that are on their way to it are read from it, and answered.

use std::collections::HashMap;
use std::hash::RandomState;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, SockaddrLike, SockaddrStorage, bind, setsockopt, socket,
    sockopt,
};
use rustix::net::connect_unspec;

use super::super::end::Listener;
use super::super::kind::Wait;
use super::super::link::Link;
use super::super::plan::{Buffers, Plan, Role};
use super::super::socket::{NAP, is_nothing_yet, wait_for};
use super::super::waiting::now_ns;
use super::{
    HELLO, Known, LAST, Line, Udp, UdpStream, first, first_word, heard, make_room, word_for,
};
use crate::service;

/// After as long without anything a server takes it that nobody is there.
const REST: Duration = Duration::from_secs(1);
/// The most clients that are answered at once; the next one displaces them all.
const CLIENTS: usize = 1024;
/// The largest datagram.
const LARGEST: usize = 65_536;

pub(in crate::transport) struct UdpServer {
    socket: UdpSocket,
    clients: HashMap<SocketAddr, Client>,
    own: Option<Own>,
    secret: RandomState,
}

/// A client whose messages are answered as they come, beside those of others.
struct Client {
    plan: Plan,
    every: u64,
    rest: u64,
    answer: Vec<u8>,
}

/// A second socket at the server's address, connected to a client, whose messages come here: the kernel looks up no
/// route for each answer. Others' come here too while it is made, and those that were under way to it when it was
/// connected to another client.
struct Own {
    socket: UdpSocket,
    client: SocketAddr,
    /// The number of looks; at some of them the server's socket is looked at instead.
    looks: u32,
    every: u32,
    /// The time to sleep on both sockets, where one of them cannot be slept on alone.
    sleep: Option<PollTimeout>,
}

impl Own {
    fn new(server: &UdpSocket, client: SocketAddr) -> io::Result<Self> {
        let address = SockaddrStorage::from(server.local_addr()?);
        let family = address.family().unwrap_or(AddressFamily::Inet);
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        let own = socket(family, SockType::Datagram, flags, None)?;
        // This holds for this moment only: a second server finds the address in use.
        setsockopt(&own, sockopt::ReusePort, &true)?;
        setsockopt(server, sockopt::ReusePort, &true)?;
        let bound = bind(own.as_raw_fd(), &address);
        setsockopt(server, sockopt::ReusePort, &false)?;
        bound?;
        let socket = UdpSocket::from(own);
        make_room(&socket);
        let mut own = Own {
            socket,
            client,
            looks: 0,
            every: 1,
            sleep: None,
        };
        own.connect(client)?;
        Ok(own)
    }

    fn connect(&mut self, client: SocketAddr) -> io::Result<()> {
        // The one before may have come to another address of a server that listens on all.
        connect_unspec(&self.socket)?;
        self.socket.connect(client)?;
        self.client = client;
        // The error of a datagram to the client before is not this one's.
        self.socket.take_error().map(drop)
    }

    /// The next datagram of this socket or of the server's, which is looked at now and then, and by who sleeps after
    /// each nap.
    #[inline]
    fn receive(
        &mut self,
        server: &UdpSocket,
        wait: Wait,
        buffer: &mut [u8],
    ) -> io::Result<(usize, SocketAddr)> {
        if let Some(sleep) = self.sleep {
            let both = [&self.socket, server].map(|s| PollFd::new(s.as_fd(), PollFlags::POLLIN));
            poll(&mut { both }, sleep)?;
        }
        self.looks = self.looks.wrapping_add(1);
        if !self.looks.is_multiple_of(self.every) {
            match self.socket.recv_from(buffer) {
                Ok(came) => return Ok(came),
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                    return Err(error);
                }
                Err(error) if is_nothing_yet(&error) && wait == Wait::Poll => return Err(error),
                // Nothing, or what an earlier datagram met on its way.
                Err(_) => {}
            }
        }
        server.recv_from(buffer)
    }

    /// Sends to the client. What an earlier datagram met on its way is said instead of sending.
    #[inline]
    fn send(&self, message: &[u8]) -> io::Result<usize> {
        self.socket
            .send(message)
            .or_else(|_| self.socket.send(message))
    }
}

pub(in crate::transport) fn listen(address: SocketAddr) -> io::Result<UdpServer> {
    let socket = UdpSocket::bind(address)?;
    make_room(&socket);
    Ok(UdpServer {
        socket,
        clients: HashMap::new(),
        own: None,
        secret: RandomState::new(),
    })
}

impl Listener for UdpServer {
    fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    fn serve(&mut self) -> io::Result<()> {
        let mut buffer = vec![0; LARGEST];
        // The last client's way to wait; none while nobody is there.
        let mut wait = None;
        loop {
            self.prepare(wait)?;
            wait = self.serve_waiting(wait, &mut buffer)?;
        }
    }
}

impl UdpServer {
    /// Makes the sockets wait in this way.
    fn prepare(&mut self, wait: Option<Wait>) -> io::Result<()> {
        /// Looks at one socket while the other has its turn, if nobody is there but the one's client.
        const LOOKS: u32 = 64;
        if let Some(own) = &self.own
            && !self.clients.contains_key(&own.client)
            && let Some(&next) = self.clients.keys().next()
        {
            self.give_own(next);
        }
        let is_polled = wait == Some(Wait::Poll);
        self.socket
            .set_nonblocking(is_polled || self.own.is_some())?;
        self.socket.set_read_timeout(wait.map(|_| NAP))?;
        if let Some(own) = &mut self.own {
            let is_alone = self.clients.len() == 1;
            own.every = if is_alone { LOOKS } else { 2 };
            own.sleep = match wait {
                None => Some(PollTimeout::NONE),
                Some(Wait::Block) if !is_alone => Some(PollTimeout::from(100u8)),
                Some(_) => None,
            };
            own.socket
                .set_nonblocking(is_polled || own.sleep.is_some())?;
            own.socket.set_read_timeout(Some(NAP))?;
        }
        Ok(())
    }

    /// Serves until its sockets have to wait in another way: that way.
    fn serve_waiting(&mut self, wait: Option<Wait>, buffer: &mut [u8]) -> io::Result<Option<Wait>> {
        let way = wait.unwrap_or(Wait::Block);
        loop {
            let came = wait_for(way, 0, REST, now_ns, || match &mut self.own {
                Some(own) => own.receive(&self.socket, way, buffer),
                None => self.socket.recv_from(buffer),
            });
            match came {
                Ok(Some((length, from))) => match self.answer(&buffer[..length], from) {
                    Some(wanted) if Some(wanted) == wait => {}
                    Some(wanted) => return Ok(Some(wanted)),
                    None => {
                        if &buffer[..length] == LAST {
                            self.clients.remove(&from);
                            return Ok(wait);
                        }
                        if let Some(wanted) = self.attend(&buffer[..length], from, wait) {
                            return Ok(Some(wanted));
                        }
                    }
                },
                Ok(None) => return Ok(None),
                // An earlier datagram met this error on its way: the client's port is closed.
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                    if let Some(own) = &self.own {
                        self.clients.remove(&own.client);
                        return Ok(wait);
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Answers a message, if it is one of a client: how that wants to be waited for.
    #[inline]
    fn answer(&mut self, message: &[u8], from: SocketAddr) -> Option<Wait> {
        let client = self.clients.get_mut(&from)?;
        if message.starts_with(HELLO) {
            return None;
        }
        if message.len() as u64 == client.plan.size {
            let number = first_word(message);
            if number % client.every == client.rest {
                client.answer[..8].copy_from_slice(&number.to_le_bytes());
                // A client that has gone is its own affair.
                let _ = match &self.own {
                    Some(own) if own.client == from => own.send(&client.answer),
                    _ => self.socket.send_to(&client.answer, from),
                };
            }
        }
        Some(client.plan.wait)
    }

    /// First words, perhaps: how to wait from now on, if there is a new client.
    #[cold]
    fn attend(&mut self, words: &[u8], from: SocketAddr, wait: Option<Wait>) -> Option<Wait> {
        let (plan, proof) = heard(words)?;
        Link::Udp.check_plan(&plan).ok()?;
        let word = word_for(&self.secret, from);
        if proof != word {
            let _ = self.socket.send_to(&first(&plan, word), from);
            return None;
        }
        if let Role::Answer { every, rest } = plan.role
            && plan.buffers == Buffers::Fifo(1)
        {
            if self.clients.len() >= CLIENTS {
                self.clients.clear();
            }
            let client = Client {
                plan,
                every: every.max(1).into(),
                rest: rest.into(),
                answer: vec![0x6a; plan.answer as usize],
            };
            self.clients.insert(from, client);
            // The client that had the server before has been silent, if the server rests.
            if self.own.is_none() || wait.is_none() {
                self.give_own(from);
            }
            let _ = self.socket.send_to(&first(&plan, !word), from);
            return Some(plan.wait);
        }
        // The own client's socket might get these messages: the new client may have the address of one that has gone.
        self.own = None;
        // Whatever becomes of it, the next one is served.
        drop(self.serve_alone(&plan, from, word));
        // The socket is as that client had it.
        Some(Wait::Block)
    }

    /// Connects the second socket to a client. Without one, it is served as others are.
    fn give_own(&mut self, client: SocketAddr) {
        self.own = match self.own.take() {
            Some(mut own) => own.connect(client).is_ok().then_some(own),
            None => Own::new(&self.socket, client).ok(),
        };
    }

    /// Serves one client until it has gone.
    fn serve_alone(&self, plan: &Plan, address: SocketAddr, proof: u64) -> io::Result<()> {
        let welcome = first(plan, !proof);
        self.socket.send_to(&welcome, address)?;
        let line = Line {
            socket: self.socket.try_clone()?,
            client: Some(Known {
                address,
                welcome,
                secret: self.secret.clone(),
            }),
        };
        let sizes = [plan.answer, plan.size];
        match plan.role {
            Role::Answer { every, rest } => service::answer(
                &mut Udp::new(line, plan, sizes, service::LOOK)?,
                every,
                rest,
                now_ns,
            ),
            Role::Exchange => {
                service::exchange(&mut Udp::new(line, plan, sizes, service::LOOK)?, now_ns)
            }
            Role::Sink { .. } | Role::Both { .. } => {
                let mut end = UdpStream::new(line, plan, sizes)?;
                service::stream(&mut end, plan.window_back(), plan.wait, now_ns)
            }
        }
    }
}
