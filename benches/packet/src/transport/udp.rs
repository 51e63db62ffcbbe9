//! UDP.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use super::{Connection, Listener, Message, Wait, hello, is_nothing_yet, wait_for};

/// The largest datagram.
const LARGEST: usize = 65_536;

pub(super) struct Udp {
    socket: UdpSocket,
    wait: Wait,
    timeout: Duration,
    message: Message,
}

/// Asks the server for a sign of life before anything is measured: a datagram to nobody is no
/// error by itself.
pub(super) fn connect(
    address: SocketAddr,
    size: usize,
    wait: Wait,
    timeout: Duration,
) -> io::Result<Udp> {
    const TRIES: usize = 5;
    let any: SocketAddr = match address {
        SocketAddr::V4(_) => ([0; 4], 0).into(),
        SocketAddr::V6(_) => ([0; 16], 0).into(),
    };
    let socket = UdpSocket::bind(any)?;
    // Connected: the kernel looks the route up once, and drops what others send.
    socket.connect(address)?;
    socket.set_read_timeout(Some(Duration::from_millis(200)))?;
    let mut answer = [0; 64];
    for _ in 0..TRIES {
        socket.send(&hello(size))?;
        match socket.recv(&mut answer) {
            Ok(length) if answer[..length] == hello(size) => {
                socket.set_read_timeout(Some(timeout))?;
                socket.set_nonblocking(wait == Wait::Poll)?;
                return Ok(Udp {
                    socket,
                    wait,
                    timeout,
                    message: Message::new(size),
                });
            }
            Ok(_) => return Err(io::ErrorKind::InvalidData.into()),
            Err(error) if is_nothing_yet(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::TimedOut.into())
}

impl Connection for Udp {
    fn send(&mut self, number: u64) -> io::Result<()> {
        self.message.set_number(number);
        self.socket.send(&self.message.0).map(drop)
    }

    fn receive(&mut self) -> io::Result<Option<u64>> {
        let size = self.message.0.len();
        loop {
            let buffer = &mut self.message.0;
            match wait_for(self.wait, 0, self.timeout, || self.socket.recv(buffer))? {
                Some(length) if length == size => return Ok(Some(self.message.number())),
                // A late answer to the first words, or nothing of ours.
                Some(_) => {}
                None => return Ok(None),
            }
        }
    }
}

pub(super) struct UdpListener {
    socket: UdpSocket,
}

pub(super) fn listen(address: SocketAddr, wait: Wait) -> io::Result<UdpListener> {
    let socket = UdpSocket::bind(address)?;
    socket.set_nonblocking(wait == Wait::Poll)?;
    Ok(UdpListener { socket })
}

impl Listener for UdpListener {
    fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    fn serve(&mut self) -> io::Result<()> {
        let mut buffer = vec![0; LARGEST];
        loop {
            match self.socket.recv_from(&mut buffer) {
                Ok((length, client)) => {
                    // A client that has gone is its own affair.
                    let _ = self.socket.send_to(&buffer[..length], client);
                }
                Err(error) if is_nothing_yet(&error) => {}
                // A signal, or what an earlier datagram met on its way.
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::Interrupted | io::ErrorKind::ConnectionRefused
                    ) => {}
                Err(error) => return Err(error),
            }
        }
    }
}
