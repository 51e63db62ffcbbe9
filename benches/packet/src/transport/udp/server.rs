//! The serving end over UDP: one socket to which everybody's messages come, and while there is one client only,
//! a second one that is connected to it.

use std::collections::HashMap;
use std::hash::RandomState;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::time::Duration;

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
/// A port from which nothing comes.
const DISCARD: u16 = 9;
/// The largest datagram.
const LARGEST: usize = 65_536;

pub(in crate::transport) struct UdpServer {
    socket: UdpSocket,
    clients: HashMap<SocketAddr, Client>,
    /// Of the client, while there is but one.
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

/// A second socket at the server's address, connected to one client, whose messages come here: the kernel neither
/// looks up a route nor copies an address for each.
struct Own {
    socket: UdpSocket,
    client: SocketAddr,
    /// How often it was looked at.
    looks: u32,
}

impl Own {
    fn new(server: &UdpSocket, client: SocketAddr) -> io::Result<Self> {
        let address = SockaddrStorage::from(server.local_addr()?);
        let family = address.family().unwrap_or(AddressFamily::Inet);
        let flags = SockFlag::SOCK_CLOEXEC;
        let socket = socket(family, SockType::Datagram, flags, None)?;
        setsockopt(&socket, sockopt::ReusePort, &true)?;
        bind(socket.as_raw_fd(), &address)?;
        let socket = UdpSocket::from(socket);
        socket.connect(client)?;
        Ok(Own {
            socket,
            client,
            looks: 0,
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
        /// So many looks at its own socket go by until the other one has its turn.
        const LOOKS: u32 = 64;
        self.looks = self.looks.wrapping_add(1);
        if !self.looks.is_multiple_of(LOOKS) {
            match self.socket.recv(buffer) {
                Err(error) if wait == Wait::Block && is_nothing_yet(&error) => {}
                outcome => return Ok((outcome?, self.client)),
            }
        }
        server.recv_from(buffer)
    }
}

pub(in crate::transport) fn listen(address: SocketAddr) -> io::Result<UdpServer> {
    let socket = UdpSocket::bind(address)?;
    // Set after it was bound: a second server still finds the address in use, and its own sockets do not.
    setsockopt(&socket, sockopt::ReusePort, &true)?;
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
        // As the last client wants it; none while nobody is there.
        let mut wait = None;
        loop {
            self.prepare(wait)?;
            wait = self.serve_waiting(wait, &mut buffer)?;
            if wait.is_none() {
                self.share(&mut buffer)?;
            }
        }
    }
}

impl UdpServer {
    /// Makes the sockets wait in this way.
    fn prepare(&self, wait: Option<Wait>) -> io::Result<()> {
        if let Some(own) = &self.own {
            own.socket.set_nonblocking(wait == Some(Wait::Poll))?;
            own.socket.set_read_timeout(Some(NAP))?;
        }
        let is_polled = wait == Some(Wait::Poll) || self.own.is_some();
        self.socket.set_nonblocking(is_polled)?;
        self.socket.set_read_timeout(wait.map(|_| NAP))
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
                        if let Some(wanted) = self.attend(length, from, buffer)? {
                            return Ok(Some(wanted));
                        }
                    }
                },
                Ok(None) => return Ok(None),
                // What an earlier datagram met on its way.
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// From now on all messages come to the server's socket. None is lost on the way: nothing comes to the client's
    /// own any more when the last are taken from there.
    fn share(&mut self, buffer: &mut [u8]) -> io::Result<()> {
        let Some(own) = self.own.take() else {
            return Ok(());
        };
        let mut nobody = own.socket.local_addr()?;
        nobody.set_port(DISCARD);
        own.socket.connect(nobody)?;
        own.socket.set_nonblocking(true)?;
        while let Ok(length) = own.socket.recv(buffer) {
            self.answer(&buffer[..length], own.client);
        }
        Ok(())
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
                    Some(own) => own.socket.send(&client.answer),
                    None => self.socket.send_to(&client.answer, from),
                };
            }
        }
        Some(client.plan.wait)
    }

    /// First or last words, perhaps, at the beginning of the buffer: how to wait from now on, if there is a new client.
    #[cold]
    fn attend(
        &mut self,
        length: usize,
        from: SocketAddr,
        buffer: &mut [u8],
    ) -> io::Result<Option<Wait>> {
        let words = &buffer[..length];
        if words == LAST {
            self.clients.remove(&from);
        }
        let Some((plan, proof)) =
            heard(words).filter(|(plan, _)| Link::Udp.check_plan(plan).is_ok())
        else {
            return Ok(None);
        };
        let word = word_for(&self.secret, from);
        if proof != word {
            let _ = self.socket.send_to(&first(&plan, word), from);
            return Ok(None);
        }
        self.share(buffer)?;
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
            if self.clients.len() == 1 {
                // Without one it is served as others are.
                self.own = Own::new(&self.socket, from).ok();
            }
            let _ = self.socket.send_to(&first(&plan, !word), from);
            return Ok(Some(plan.wait));
        }
        // Whatever becomes of it, the next one is served.
        drop(self.serve_alone(&plan, from, word));
        // The socket is as that client had it.
        Ok(Some(Wait::Block))
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
