//! The serving end over UDP: a socket to which everybody's messages come, and a second one that is connected to one
//! client: the first that came, until it goes, or another one comes while everybody is silent, or is served alone.

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

use super::super::{Buffers, Link, Listener, NAP, Plan, Role, Wait, is_nothing_yet, wait_for};
use super::{HELLO, Known, LAST, Line, Udp, UdpStream, first, first_word, heard, word_for};
use crate::server;

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

/// Whose messages are answered as they come, beside those of others.
struct Client {
    plan: Plan,
    every: u64,
    rest: u64,
    answer: Vec<u8>,
}

/// A second socket at the server's address, connected to a client, whose messages come here: the kernel neither looks
/// up a route nor copies an address for each.
struct Own {
    socket: UdpSocket,
    client: SocketAddr,
    /// How often it was looked at, and at which of these times the server's socket is looked at instead.
    looks: u32,
    every: u32,
    /// How long both sockets are slept on, where one of them cannot be slept on alone.
    sleep: Option<PollTimeout>,
}

impl Own {
    fn new(server: &UdpSocket, client: SocketAddr) -> io::Result<Self> {
        let address = SockaddrStorage::from(server.local_addr()?);
        let family = address.family().unwrap_or(AddressFamily::Inet);
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        let own = socket(family, SockType::Datagram, flags, None)?;
        // For this moment only: a second server finds the address in use.
        setsockopt(&own, sockopt::ReusePort, &true)?;
        setsockopt(server, sockopt::ReusePort, &true)?;
        let bound = bind(own.as_raw_fd(), &address);
        setsockopt(server, sockopt::ReusePort, &false)?;
        bound?;
        let socket = UdpSocket::from(own);
        socket.connect(client)?;
        Ok(Own {
            socket,
            client,
            looks: 0,
            every: 1,
            sleep: None,
        })
    }

    /// The next datagram: the client's, or one that came to the server's socket, which is looked at now and then, and
    /// by who sleeps after each nap.
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
            match self.socket.recv(buffer) {
                Ok(length) => return Ok((length, self.client)),
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
    Ok(UdpServer {
        socket: UdpSocket::bind(address)?,
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
        // As the last client wants it; none while nobody is there.
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
        /// So many looks at the one socket while the other has its turn, where nobody but the one's client is there.
        const LOOKS: u32 = 64;
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
            let came = wait_for(way, 0, REST, || match &mut self.own {
                Some(own) => own.receive(&self.socket, way, buffer),
                None => self.socket.recv_from(buffer),
            });
            match came {
                Ok(Some((length, from))) => match self.answer(&buffer[..length], from) {
                    Some(wanted) if Some(wanted) == wait => {}
                    Some(wanted) => return Ok(Some(wanted)),
                    None => {
                        if &buffer[..length] == LAST {
                            self.forget(from);
                            return Ok(wait);
                        }
                        if let Some(wanted) = self.attend(length, from, wait, buffer) {
                            return Ok(Some(wanted));
                        }
                    }
                },
                Ok(None) => return Ok(None),
                // What an earlier datagram met on its way: the client's port is closed.
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                    if let Some(own) = &self.own {
                        self.forget(own.client);
                        return Ok(wait);
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Somebody is no client any more.
    fn forget(&mut self, client: SocketAddr) {
        self.clients.remove(&client);
        self.own.take_if(|own| own.client == client);
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

    /// First words, perhaps, at the beginning of the buffer: how to wait from now on, if there is a new client.
    #[cold]
    fn attend(
        &mut self,
        length: usize,
        from: SocketAddr,
        wait: Option<Wait>,
        buffer: &mut [u8],
    ) -> Option<Wait> {
        let (plan, proof) = heard(&buffer[..length])?;
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
                self.own = None;
            }
            let client = Client {
                plan,
                every: every.max(1).into(),
                rest: rest.into(),
                answer: vec![0x6a; plan.answer as usize],
            };
            self.clients.insert(from, client);
            // Whose own it was has been silent, if the server rests.
            if wait.is_none() {
                self.own = None;
            }
            if self.own.is_none() {
                self.own = self.own_for(from, buffer);
            }
            let _ = self.socket.send_to(&first(&plan, !word), from);
            return Some(plan.wait);
        }
        self.own = None;
        // Whatever becomes of it, the next one is served.
        drop(self.serve_alone(&plan, from, word));
        // The socket is as that client had it.
        Some(Wait::Block)
    }

    /// A socket of its own for a client that has not been welcomed yet, so that no message of it can be anywhere.
    /// Without one, the client is served as others are.
    fn own_for(&mut self, client: SocketAddr, buffer: &mut [u8]) -> Option<Own> {
        let own = Own::new(&self.socket, client).ok()?;
        // Before it was connected anybody's messages could come here.
        while let Ok((length, from)) = own.socket.recv_from(buffer) {
            self.answer(&buffer[..length], from);
        }
        Some(own)
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
            Role::Answer { every, rest } => {
                server::answer(&mut Udp::new(line, plan, sizes, server::LOOK)?, every, rest)
            }
            Role::Exchange => server::exchange(&mut Udp::new(line, plan, sizes, server::LOOK)?),
            Role::Sink { .. } | Role::Both { .. } => {
                let mut end = UdpStream::new(line, plan, sizes)?;
                server::stream(&mut end, plan.window_back(), plan.wait)
            }
        }
    }
}
