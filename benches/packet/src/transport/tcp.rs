//! TCP.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use nix::sys::socket::{setsockopt, sockopt};

use super::{
    Connection, Listener, Transport, Wait, hello, is_nothing_yet, size_in_hello, wait_for,
};

/// How long a connection may take to come up, and a message to be taken by the other end.
const PATIENCE: Duration = Duration::from_secs(2);

/// Looking whether something has arrived takes the lock that the arriving segment needs: looking
/// less often, here about once in a microsecond, shortens round trips by 3 to 6 %.
const PAUSES: u32 = 32;

pub(super) struct Tcp {
    stream: TcpStream,
    wait: Wait,
    timeout: Duration,
    /// How much of a message has arrived.
    filled: usize,
}

pub(super) fn connect(
    address: SocketAddr,
    size: usize,
    wait: Wait,
    timeout: Duration,
) -> io::Result<Tcp> {
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(&hello(size))?;
    let mut answer = [0; 16];
    match stream.read_exact(&mut answer) {
        Err(error) if is_nothing_yet(&error) => return Err(io::ErrorKind::ResourceBusy.into()),
        // Connected, and then sent away: it did not understand.
        Err(_) => return Err(io::ErrorKind::InvalidData.into()),
        Ok(()) if answer != hello(size) => return Err(io::ErrorKind::InvalidData.into()),
        Ok(()) => {}
    }
    stream.set_read_timeout(Some(timeout))?;
    Tcp::new(stream, wait, timeout)
}

impl Tcp {
    fn new(stream: TcpStream, wait: Wait, timeout: Duration) -> io::Result<Self> {
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.set_nonblocking(wait == Wait::Poll)?;
        Ok(Tcp {
            stream,
            wait,
            timeout,
            filled: 0,
        })
    }

    /// The rest of a message that did not fit into the system's memory at once.
    #[cold]
    fn send_rest(&mut self, mut message: &[u8]) -> io::Result<()> {
        while !message.is_empty() {
            match wait_for(self.wait, PAUSES, PATIENCE, || self.stream.write(message))? {
                Some(written) => message = &message[written..],
                None => return Err(io::ErrorKind::TimedOut.into()),
            }
        }
        Ok(())
    }
}

impl Connection for Tcp {
    #[inline]
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        match self.stream.write(message) {
            Ok(written) if written == message.len() => Ok(()),
            Ok(written) => self.send_rest(&message[written..]),
            Err(error) if is_nothing_yet(&error) => self.send_rest(message),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => self.send_rest(message),
            Err(error) => Err(error),
        }
    }

    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<bool> {
        while self.filled < buffer.len() {
            let rest = &mut buffer[self.filled..];
            match wait_for(self.wait, PAUSES, self.timeout, || self.stream.read(rest))? {
                Some(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Some(read) => self.filled += read,
                None => return Ok(false),
            }
        }
        self.filled = 0;
        Ok(true)
    }
}

pub(super) struct TcpServer {
    listener: TcpListener,
    wait: Wait,
}

pub(super) fn listen(address: SocketAddr, wait: Wait) -> io::Result<TcpServer> {
    Ok(TcpServer {
        listener: TcpListener::bind(address)?,
        wait,
    })
}

impl Listener for TcpServer {
    fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    fn serve(&mut self) -> io::Result<()> {
        loop {
            match self.listener.accept() {
                // One client at a time, and whatever becomes of it, the next one is served.
                Ok((stream, _)) => drop(serve_client(stream, self.wait)),
                // A signal, or a client that went before it was served.
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::Interrupted | io::ErrorKind::ConnectionAborted
                    ) => {}
                Err(error) => return Err(error),
            }
        }
    }
}

fn serve_client(mut stream: TcpStream, wait: Wait) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut words = [0; 16];
    stream.read_exact(&mut words)?;
    let size = size_in_hello(&words)
        .filter(|&size| Transport::Tcp.sizes().contains(&(size as u64)))
        .ok_or(io::ErrorKind::InvalidData)?;
    stream.write_all(&words)?;
    // A client may be silent for as long as it likes; one whose machine is gone does not answer
    // the system's own questions.
    stream.set_read_timeout(None)?;
    setsockopt(&stream, sockopt::KeepAlive, &true)?;
    setsockopt(&stream, sockopt::TcpKeepIdle, &10)?;
    setsockopt(&stream, sockopt::TcpKeepInterval, &5)?;
    let mut connection = Tcp::new(stream, wait, PATIENCE)?;
    let mut message = vec![0; size];
    loop {
        if connection.receive(&mut message)? {
            connection.send(&message)?;
        }
    }
}
