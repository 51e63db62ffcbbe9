//! TCP.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use super::{
    Connection, Listener, Message, Transport, Wait, hello, is_nothing_yet, next_client,
    notice_dead_peers, size_in_hello, wait_for,
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
    message: Message,
    /// How much of it has arrived.
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
    Tcp::new(stream, size, wait, timeout)
}

impl Tcp {
    fn new(stream: TcpStream, size: usize, wait: Wait, timeout: Duration) -> io::Result<Self> {
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.set_nonblocking(wait == Wait::Poll)?;
        Ok(Tcp {
            stream,
            wait,
            timeout,
            message: Message::new(size),
            filled: 0,
        })
    }

    /// The rest of a message that did not fit into the system's memory at once.
    #[cold]
    fn send_rest(&mut self, mut sent: usize) -> io::Result<()> {
        while sent < self.message.0.len() {
            let rest = &self.message.0[sent..];
            match wait_for(self.wait, PAUSES, PATIENCE, || self.stream.write(rest))? {
                Some(written) => sent += written,
                None => return Err(io::ErrorKind::TimedOut.into()),
            }
        }
        Ok(())
    }
}

impl Connection for Tcp {
    #[inline]
    fn send(&mut self, number: u64) -> io::Result<()> {
        self.message.set_number(number);
        match self.stream.write(&self.message.0) {
            Ok(written) if written == self.message.0.len() => Ok(()),
            Ok(written) => self.send_rest(written),
            Err(error) if is_nothing_yet(&error) => self.send_rest(0),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => self.send_rest(0),
            Err(error) => Err(error),
        }
    }

    fn receive(&mut self) -> io::Result<Option<u64>> {
        while self.filled < self.message.0.len() {
            let rest = &mut self.message.0[self.filled..];
            match wait_for(self.wait, PAUSES, self.timeout, || self.stream.read(rest))? {
                Some(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Some(read) => self.filled += read,
                None => return Ok(None),
            }
        }
        self.filled = 0;
        Ok(Some(self.message.number()))
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
            // One client at a time, and whatever becomes of it, the next one is served.
            drop(serve_client(next_client(&self.listener)?, self.wait));
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
    stream.set_read_timeout(None)?;
    notice_dead_peers(&stream)?;
    let mut connection = Tcp::new(stream, size, wait, PATIENCE)?;
    loop {
        if let Some(number) = connection.receive()? {
            connection.send(number)?;
        }
    }
}
