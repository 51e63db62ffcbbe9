//! The sink: takes messages and counts them.

use std::io::{self, Read};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::Builder;
use std::time::Duration;

use jitterlab_verbs::Adapter;
use nix::sys::socket::{setsockopt, sockopt};
use nix::sys::time::{TimeVal, TimeValLike};

use crate::Error;
use crate::control::{Arrived, Ask, Line, Opened};
use crate::transport::Network;
use crate::verbs::Target;
use crate::way::PATIENCE;

/// The time between two looks of an idle receiver whether its sender is still there.
const LOOK: Duration = Duration::from_millis(50);
/// Memory that a datagram, or a piece of a stream, is received into.
const BUFFER: usize = 1 << 18;

/// Senders at a time. Whoever else connects is sent away, so that strangers cannot take all threads.
const MOST: usize = 64;

/// Serves senders, each with a thread of its own, until the process ends. Those over verbs write to memory of the device that
/// `adapter` says. `ready` is told the address that is listened on.
///
/// # Errors
/// The address cannot be listened on.
pub fn serve(
    address: SocketAddr,
    adapter: &Adapter,
    ready: impl FnOnce(SocketAddr),
) -> Result<(), Error> {
    let failed = |source| Error::Listen { address, source };
    let listener = TcpListener::bind(address).map_err(failed)?;
    let own = listener.local_addr().map_err(failed)?;
    ready(own);
    let places = Arc::new(());
    loop {
        // A sender can end its own thread and nothing else, and a lack of room for one more may pass.
        let Ok((control, _)) = listener.accept() else {
            std::thread::sleep(LOOK);
            continue;
        };
        if Arc::strong_count(&places) > MOST {
            continue;
        }
        let place = Arc::clone(&places);
        let adapter = adapter.clone();
        let _ = Builder::new().spawn(move || {
            let _ = attend(control, own.ip(), &adapter);
            drop(place);
        });
    }
}

/// The two counters that a receiver writes and a control connection reads.
#[derive(Default)]
struct Counters {
    messages: AtomicU64,
    bytes: AtomicU64,
    ended: AtomicBool,
}

/// The receiver of the messages of a sender.
enum Receiver {
    /// A thread, which ends with this value, counts them; they are so long.
    Counted(Arc<Counters>, u64),
    /// They are written to memory.
    Written(Target),
}

impl Drop for Receiver {
    fn drop(&mut self) {
        if let Receiver::Counted(counters, _) = self {
            counters.ended.store(true, Ordering::Relaxed);
        }
    }
}

impl Receiver {
    fn arrived(&self) -> Arrived {
        match self {
            Receiver::Counted(counters, message) => {
                let bytes = counters.bytes.load(Ordering::Relaxed);
                let messages = match counters.messages.load(Ordering::Relaxed) {
                    // A stream knows no messages.
                    0 => bytes / message,
                    messages => messages,
                };
                Arrived { messages, bytes }
            }
            Receiver::Written(target) => target.arrived(),
        }
    }
}

/// Serves a sender until it hangs up.
fn attend(control: TcpStream, ip: IpAddr, adapter: &Adapter) -> io::Result<()> {
    let mut line = Line::new(control)?.impatient()?;
    let mut receiver: Option<Receiver> = None;
    loop {
        match line.hear()? {
            Ask::Open { transport, message } => {
                receiver = Some(match transport {
                    Network::Udp => counted(&mut line, message, |to| datagrams(ip, to))?,
                    Network::Tcp => counted(&mut line, message, |to| stream(ip, to))?,
                    Network::Verbs => written(&mut line, ip, adapter)?,
                });
            }
            Ask::Count => {
                let arrived = receiver.as_ref().map(Receiver::arrived);
                line.say(&arrived.unwrap_or_default())?;
            }
        }
    }
}

/// Listens on a free port; whoever accepts there gives up after a time.
fn listen(ip: IpAddr, patience: Duration) -> io::Result<TcpListener> {
    let listener = TcpListener::bind((ip, 0))?;
    // It holds for `accept`, too.
    let patience = TimeVal::milliseconds(patience.as_millis() as i64);
    setsockopt(&listener, sockopt::ReceiveTimeout, &patience)?;
    Ok(listener)
}

/// Lets a thread count messages, and tells the sender at which port.
fn counted(
    line: &mut Line,
    message: u64,
    start: impl FnOnce(Arc<Counters>) -> io::Result<u16>,
) -> io::Result<Receiver> {
    let counters = Arc::new(Counters::default());
    let receiver = Receiver::Counted(Arc::clone(&counters), message.max(1));
    let port = start(counters)?;
    line.be_patient()?;
    line.say(&Opened { port })?;
    Ok(receiver)
}

/// Lets the sender come to a free port, and opens memory for it.
fn written(line: &mut Line, ip: IpAddr, adapter: &Adapter) -> io::Result<Receiver> {
    let listener = listen(ip, PATIENCE)?;
    let port = listener.local_addr()?.port();
    line.be_patient()?;
    line.say(&Opened { port })?;
    Ok(Receiver::Written(Target::accept(&listener, adapter)?))
}

/// Starts a thread that counts the datagrams which come to a free port.
fn datagrams(ip: IpAddr, counters: Arc<Counters>) -> io::Result<u16> {
    let socket = UdpSocket::bind((ip, 0))?;
    socket.set_read_timeout(Some(LOOK))?;
    let port = socket.local_addr()?.port();
    Builder::new().spawn(move || receive_datagrams(&socket, &counters))?;
    Ok(port)
}

/// Starts a thread that counts the bytes of the stream which comes to a free port.
fn stream(ip: IpAddr, counters: Arc<Counters>) -> io::Result<u16> {
    let listener = listen(ip, LOOK)?;
    let port = listener.local_addr()?.port();
    Builder::new().spawn(move || receive_stream(&listener, &counters))?;
    Ok(port)
}

fn receive_datagrams(socket: &UdpSocket, counters: &Counters) {
    let mut buffer = vec![0; BUFFER];
    while !counters.ended.load(Ordering::Relaxed) {
        if let Ok(length) = socket.recv(&mut buffer) {
            counters.bytes.fetch_add(length as u64, Ordering::Relaxed);
            counters.messages.fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn receive_stream(listener: &TcpListener, counters: &Counters) {
    let Some((mut stream, _)) = until_ended(counters, || listener.accept()) else {
        return;
    };
    if stream.set_read_timeout(Some(LOOK)).is_err() {
        return;
    }
    let mut buffer = vec![0; BUFFER];
    while let Some(length) = until_ended(counters, || stream.read(&mut buffer)) {
        if length == 0 {
            return;
        }
        counters.bytes.fetch_add(length as u64, Ordering::Relaxed);
    }
}

/// The first thing that `take` gives; `None` if that fails, or the sender has gone before.
fn until_ended<T>(counters: &Counters, mut take: impl FnMut() -> io::Result<T>) -> Option<T> {
    while !counters.ended.load(Ordering::Relaxed) {
        match take() {
            Ok(taken) => return Some(taken),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => return None,
        }
    }
    None
}
