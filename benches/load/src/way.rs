//! The way that the messages go.

use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::thread;
use std::time::Duration;

use jitterlab_verbs::Adapter;
use nix::errno::Errno;

use crate::Error;
use crate::transport::Network;
use crate::verbs::Source;

/// The time that a stream may be blocked before its sink counts as gone.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// The way to a sink, and the message that goes it.
pub(crate) struct Way {
    kind: Kind,
    message: Vec<u8>,
}

enum Kind {
    Udp(UdpSocket),
    Tcp(TcpStream),
    Verbs(Source),
}

impl Way {
    /// The way to the sink at `address`, which waits at `port` for messages of so many bytes.
    ///
    /// # Errors
    /// It has gone, or one of the ends has no device that is needed.
    pub(crate) fn open(
        address: SocketAddr,
        port: u16,
        (transport, message): (Network, u64),
        adapter: &Adapter,
    ) -> Result<Self, Error> {
        let gone = |source| Error::SinkGone { address, source };
        let place = SocketAddr::new(address.ip(), port);
        let kind = match transport {
            Network::Udp => Kind::Udp(datagrams(place).map_err(gone)?),
            Network::Tcp => Kind::Tcp(stream(place).map_err(gone)?),
            Network::Verbs => Kind::Verbs(Source::connect(address, port, adapter, message)?),
        };
        Ok(Way {
            kind,
            message: vec![0x6c; message as usize],
        })
    }

    /// Sends a message; `false` if the system refused it.
    ///
    /// # Errors
    /// The sink has gone.
    pub(crate) fn send(&mut self) -> io::Result<bool> {
        let outcome = match &mut self.kind {
            Kind::Udp(socket) => socket.send(&self.message).map(drop),
            Kind::Tcp(stream) => stream.write_all(&self.message),
            Kind::Verbs(source) => {
                // The device completes what is under way, or says that the connection is broken.
                while !source.send().map_err(io::Error::other)? {
                    thread::yield_now();
                }
                Ok(())
            }
        };
        match outcome {
            Ok(()) => Ok(true),
            // A full queue on the way out is the load that was asked for.
            Err(error) if error.raw_os_error() == Some(Errno::ENOBUFS as i32) => Ok(false),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(false),
            Err(error) => Err(error),
        }
    }
}

fn datagrams(place: SocketAddr) -> io::Result<UdpSocket> {
    let any: SocketAddr = match place {
        SocketAddr::V4(_) => ([0; 4], 0).into(),
        SocketAddr::V6(_) => ([0; 16], 0).into(),
    };
    let socket = UdpSocket::bind(any)?;
    socket.connect(place)?;
    Ok(socket)
}

fn stream(place: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&place, PATIENCE)?;
    stream.set_nodelay(true)?;
    stream.set_write_timeout(Some(PATIENCE))?;
    Ok(stream)
}
