//! Frames as datagrams. One socket serves all peers; a frame is sent by one call and received by one.
//!
//! A peer that is sent to again and again, and nobody else between, gets a socket of its own at the same port, connected to it:
//! the kernel then looks no route up for a frame, and finds the socket sooner. There is one such socket at most, so that a
//! flood of strangers makes none.

use std::io::{self, IoSlice};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockType, SockaddrStorage, bind, connect, recv, send,
    sendmsg, sendto, setsockopt, socket, sockopt,
};

use super::{Address, Arrived, Known, Landed, Memory, Peer, Sent, Transport, TransportError};

/// Buffers that are made in advance: as many as a connection may have requests under way.
const BUFFERS: usize = 64;

/// Frames to one peer in a row that get it a socket of its own.
const ROW: u32 = 64;
/// Looks at that socket for one at the other, and as how many of them one counts that brings a frame.
const TURNS: u32 = 32;
const TURNS_OF_A_FRAME: u32 = 4;
/// Bytes of a frame at most that is copied into one piece: the kernel takes one piece sooner than two.
const PIECE: usize = 512;

/// A UDP socket and its receive buffers.
#[derive(Debug)]
pub struct Udp {
    socket: UdpSocket,
    /// The peer that is sent to now, and how many frames it was sent in a row.
    near: SocketAddr,
    row: u32,
    /// The socket that one peer has of its own.
    own: Option<(UdpSocket, SocketAddr)>,
    /// Looks at that since the last one at `socket`.
    turns: u32,
    address: SocketAddr,
    mtu: usize,
    /// A short frame that is sent.
    piece: Box<[u8; PIECE]>,
    /// Buffers that nobody keeps.
    free: Vec<Box<[u8]>>,
}

impl Udp {
    /// The MTU that fits an Ethernet packet: 1500 bytes without the heads of IPv4 and UDP.
    pub const MTU: usize = 1472;
    /// The greatest MTU: the longest datagram of IPv4.
    pub const MOST: usize = 65_507;
    /// The least MTU: what every IPv4 host takes in one piece (576 bytes, RFC 1122 section 3.3.2, without the heads).
    pub const LEAST: usize = 548;

    /// A socket at `address`, where port 0 is any free one, for frames of up to `mtu` bytes.
    ///
    /// # Errors
    /// The MTU is outside [`Udp::LEAST`] to [`Udp::MOST`], or the system refuses the socket.
    pub fn bind(address: SocketAddr, mtu: usize) -> Result<Self, TransportError> {
        if !(Udp::LEAST..=Udp::MOST).contains(&mtu) {
            return Err(TransportError::Mtu {
                transport: "UDP",
                mtu,
                least: Udp::LEAST,
                most: Udp::MOST,
            });
        }
        let failed = |source| failed("listen on", address, source);
        let socket = UdpSocket::bind(address).map_err(failed)?;
        socket.set_nonblocking(true).map_err(failed)?;
        let address = socket.local_addr().map_err(failed)?;
        Ok(Udp {
            socket,
            // No peer has the address of this end.
            near: address,
            row: 0,
            own: None,
            turns: 0,
            address,
            mtu,
            piece: Box::new([0; PIECE]),
            free: (0..BUFFERS).map(|_| buffer(mtu)).collect(),
        })
    }
}

impl Udp {
    /// The socket that frames to `to` are sent from, and the address that it needs: none where it is the peer's own.
    #[inline]
    fn socket_for(&mut self, to: SocketAddr) -> (&UdpSocket, Option<SockaddrStorage>) {
        if to != self.near {
            (self.near, self.row) = (to, 0);
        }
        if self.row < ROW {
            self.row += 1;
            if self.row == ROW {
                // Frames that came over the one before it are sent again by their protocol.
                self.own = self.connect(to).ok().map(|own| (own, to));
            }
        }
        match &self.own {
            Some((own, _)) if self.row == ROW => (own, None),
            _ => (&self.socket, Some(to.into())),
        }
    }

    /// A socket at the address of this end, for one peer. Others may use the port only while it is made.
    #[cold]
    fn connect(&self, to: SocketAddr) -> io::Result<UdpSocket> {
        let family = match to {
            SocketAddr::V4(_) => AddressFamily::Inet,
            SocketAddr::V6(_) => AddressFamily::Inet6,
        };
        let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
        let socket = socket(family, SockType::Datagram, flags, None)?;
        setsockopt(&socket, sockopt::ReuseAddr, &true)?;
        setsockopt(&self.socket, sockopt::ReuseAddr, &true)?;
        let bound = bind(socket.as_raw_fd(), &SockaddrStorage::from(self.address));
        setsockopt(&self.socket, sockopt::ReuseAddr, &false)?;
        bound?;
        connect(socket.as_raw_fd(), &SockaddrStorage::from(to))?;
        setsockopt(&socket, sockopt::ReuseAddr, &false)?;
        // A datagram from before it was connected may be anybody's. It is lost, and sent again by its protocol.
        while recv(socket.as_raw_fd(), &mut [0], MsgFlags::MSG_DONTWAIT).is_ok() {}
        Ok(socket.into())
    }

    /// The socket whose turn it is, and whose frames it brings, where that is one peer.
    #[inline]
    fn turn(&mut self) -> (&UdpSocket, Option<SocketAddr>) {
        match &self.own {
            Some((own, peer)) if self.turns < TURNS => {
                self.turns += 1;
                (own, Some(*peer))
            }
            _ => {
                self.turns = 0;
                (&self.socket, None)
            }
        }
    }
}

/// A buffer for a datagram. One byte more than a frame may have tells a datagram that is too long.
fn buffer(mtu: usize) -> Box<[u8]> {
    vec![0; mtu + 1].into()
}

/// True if an error says something of one peer, or of the way to it: what ICMP can bring (`icmp_err_convert` in Linux, and ICMPv6
/// alike), and that an address is no address to send to from here. A firewall says EPERM.
#[cold]
fn is_of_one_peer(errno: Errno) -> bool {
    matches!(
        errno,
        Errno::ECONNREFUSED
            | Errno::EHOSTUNREACH
            | Errno::EHOSTDOWN
            | Errno::ENETUNREACH
            | Errno::ENETDOWN
            | Errno::ENOPROTOOPT
            | Errno::EOPNOTSUPP
            | Errno::ENONET
            | Errno::EPROTO
            | Errno::EMSGSIZE
            | Errno::EACCES
            | Errno::EPERM
            | Errno::EINVAL
            | Errno::EADDRNOTAVAIL
    )
}

#[cold]
fn failed(action: &'static str, address: SocketAddr, source: io::Error) -> TransportError {
    TransportError::System {
        action,
        address: Address::Udp(address),
        source,
    }
}

impl Transport for Udp {
    fn address(&self) -> Address {
        Address::Udp(self.address)
    }

    fn mtu(&self) -> usize {
        self.mtu
    }

    /// The checksum of UDP has 16 bits, and may be left out.
    fn is_sound(&self) -> bool {
        false
    }

    fn peer(&mut self, address: &Address) -> Result<Peer, TransportError> {
        match address {
            // A socket of one version of IP reaches no other.
            Address::Udp(to) if to.is_ipv4() == self.address.is_ipv4() => {
                Ok(Peer(Known::Socket(*to)))
            }
            _ => Err(TransportError::Foreign {
                address: address.clone(),
                own: self.address(),
            }),
        }
    }

    /// A peer takes no memory here.
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
        let Peer(Known::Socket(to)) = to else {
            return Ok(Sent::Away);
        };
        let (socket, to) = self.socket_for(to);
        let (socket, flags) = (socket.as_raw_fd(), MsgFlags::MSG_DONTWAIT);
        let piece = match payload.is_empty() {
            true => Some(head),
            false => self.piece.get_mut(..length).map(|piece| {
                piece[..head.len()].copy_from_slice(head);
                piece[head.len()..].copy_from_slice(payload);
                &*piece
            }),
        };
        let sent = match piece {
            Some(piece) => match &to {
                Some(to) => sendto(socket, piece, to, flags),
                None => send(socket, piece, flags),
            },
            None => {
                let parts = [IoSlice::new(head), IoSlice::new(payload)];
                sendmsg(socket, &parts, &[], flags, to.as_ref())
            }
        };
        match sent {
            Ok(_) => Ok(Sent::Sent),
            Err(Errno::EAGAIN | Errno::ENOBUFS | Errno::ENOMEM | Errno::EINTR) => Ok(Sent::Full),
            Err(errno) if is_of_one_peer(errno) => Ok(Sent::Away),
            Err(errno) => Err(failed("send from", self.address, errno.into())),
        }
    }

    #[inline]
    fn receive(&mut self) -> Result<Option<Arrived>, TransportError> {
        let mut bytes = self.free.pop().unwrap_or_else(|| buffer(self.mtu));
        loop {
            let (socket, peer) = self.turn();
            let received = match peer {
                Some(peer) => socket.recv(&mut bytes).map(|length| (length, peer)),
                None => socket.recv_from(&mut bytes),
            };
            match received {
                // Nobody can be answered at port 0.
                Ok((length, from)) if length <= self.mtu && from.port() != 0 => {
                    self.turns += TURNS_OF_A_FRAME - 1;
                    return Ok(Some(Arrived {
                        from: Peer(Known::Socket(from)),
                        frame: Landed(Memory::Buffer(bytes, length)),
                    }));
                }
                // A datagram that is too long is no frame of ours.
                Ok(_) => {}
                Err(error) => {
                    self.free.push(bytes);
                    return match error.raw_os_error().map(Errno::from_raw) {
                        Some(Errno::EAGAIN | Errno::EINTR) => Ok(None),
                        // The error of an earlier datagram says nothing about those that come.
                        Some(errno) if is_of_one_peer(errno) => Ok(None),
                        _ => Err(failed("receive at", self.address, error)),
                    };
                }
            }
        }
    }

    #[inline]
    fn recycle(&mut self, frame: Landed) {
        if let Landed(Memory::Buffer(bytes, _)) = frame {
            self.free.push(bytes);
        }
    }

    fn wait(&mut self, at_most: Duration) -> Result<(), TransportError> {
        let own = self.own.as_ref().map_or(&self.socket, |(own, _)| own);
        let mut wanted = [&self.socket, own].map(|at| PollFd::new(at.as_fd(), PollFlags::POLLIN));
        // `poll` counts whole milliseconds: rounded up, so that a short wait is none of spinning.
        let milliseconds = at_most.as_nanos().div_ceil(1_000_000);
        let timeout = PollTimeout::try_from(milliseconds).unwrap_or(PollTimeout::MAX);
        match poll(&mut wanted, timeout) {
            Ok(_) | Err(Errno::EINTR) => {
                // Whatever woke it is looked at next.
                if wanted[0].any() == Some(true) {
                    self.turns = TURNS;
                }
                Ok(())
            }
            Err(errno) => Err(failed("wait at", self.address, errno.into())),
        }
    }
}
