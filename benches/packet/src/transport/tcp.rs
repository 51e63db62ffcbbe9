//! TCP.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use super::{Connection, Listener, Transport, Wait, hello, is_nothing_yet, poll, size_in_hello};

/// How long a connection may take to come up.
const PATIENCE: Duration = Duration::from_secs(2);

pub(super) struct Tcp {
    stream: TcpStream,
    wait: Wait,
    timeout: Duration,
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
    stream.read_exact(&mut answer)?;
    if answer != hello(size) {
        return Err(io::ErrorKind::InvalidData.into());
    }
    Tcp::new(stream, wait, timeout)
}

impl Tcp {
    fn new(stream: TcpStream, wait: Wait, timeout: Duration) -> io::Result<Self> {
        stream.set_read_timeout(Some(timeout))?;
        stream.set_nonblocking(wait == Wait::Poll)?;
        Ok(Tcp {
            stream,
            wait,
            timeout,
        })
    }

    /// Reads what there is; `None` if nothing came in time.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        let read = match self.wait {
            Wait::Block => match self.stream.read(buffer) {
                Err(error) if is_nothing_yet(&error) => None,
                outcome => Some(outcome?),
            },
            Wait::Poll => poll(self.timeout, || self.stream.read(buffer))?,
        };
        match read {
            Some(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            read => Ok(read),
        }
    }
}

impl Connection for Tcp {
    fn send(&mut self, mut message: &[u8]) -> io::Result<()> {
        while !message.is_empty() {
            match self.stream.write(message) {
                Ok(written) => message = &message[written..],
                Err(error) if is_nothing_yet(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<bool> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.read(&mut buffer[filled..])? {
                Some(read) => filled += read,
                // The rest of a message that has begun to arrive will come: it is a stream.
                None if filled > 0 => {}
                None => return Ok(false),
            }
        }
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
            let (stream, _) = self.listener.accept()?;
            // One client at a time, and whatever becomes of it, the next one is served.
            let _ = serve_client(stream, self.wait);
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
    let mut connection = Tcp::new(stream, wait, PATIENCE)?;
    let mut message = vec![0; size];
    loop {
        if connection.receive(&mut message)? {
            connection.send(&message)?;
        }
    }
}
