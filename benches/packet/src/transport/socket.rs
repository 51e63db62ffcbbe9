//! Sockets: how something is waited for there, and what clients of a server are told by.

use std::io;
use std::net::{TcpListener, TcpStream};
use std::os::fd::BorrowedFd;
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, poll, ppoll};
use nix::sys::socket::{setsockopt, sockopt};

use super::kind::Wait;
use super::waiting::{Limit, repeat};

/// The next client that is there to be served.
pub(super) fn next_client(listener: &TcpListener) -> io::Result<TcpStream> {
    loop {
        match listener.accept() {
            Ok((stream, _)) => return Ok(stream),
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

/// A client may be silent for as long as it likes; one whose machine is gone does not answer the system's
/// own questions, which end the connection.
pub(super) fn notice_dead_peers(stream: &TcpStream) -> io::Result<()> {
    setsockopt(stream, sockopt::KeepAlive, &true)?;
    setsockopt(stream, sockopt::TcpKeepIdle, &10)?;
    setsockopt(stream, sockopt::TcpKeepInterval, &5)?;
    // The same holds if it does not acknowledge what it was sent.
    setsockopt(stream, sockopt::TcpUserTimeout, &20_000)?;
    Ok(())
}

/// The time that a thread sleeps at once when it waits by sleeping. The system rounds it up to a tick, the shortest time
/// that it knows here. The sleep is that short so that a timer is always due by the next tick. A processor that goes idle
/// without such a timer stops its tick, and has to start it again when it is woken. A virtual machine takes up to three
/// exits to the hypervisor a round trip for that: docs/packet.md says how long they take.
pub(super) const NAP: Duration = Duration::from_micros(1);

/// Calls `attempt` until it finds something, or fails; `None` after `timeout`, by the clock `now_ns`. It is called again
/// after a signal, and after a message that is not ours. An attempt that blocks gives up after a [`NAP`]. Between
/// two attempts that do not block the processor pauses `pauses` times.
pub(super) fn wait_for<T>(
    wait: Wait,
    pauses: u32,
    timeout: Duration,
    now_ns: impl Fn() -> u64,
    mut attempt: impl FnMut() -> io::Result<T>,
) -> io::Result<Option<T>> {
    let mut limit = Limit::new(timeout);
    let attempts = match wait {
        Wait::Block => {
            limit.renew(now_ns());
            1
        }
        Wait::Poll => 16,
    };
    repeat(attempts, limit, now_ns, || match attempt() {
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(None),
        Err(error) if is_nothing_yet(&error) => {
            (0..pauses).for_each(|_| std::hint::spin_loop());
            Ok(None)
        }
        outcome => outcome.map(Some),
    })
}

/// Waits until something is there, or room for something; not longer than this time, nor than 100 ms. Who
/// polls does not wait.
pub(super) fn wait_a_moment(
    wait: Wait,
    socket: BorrowedFd,
    for_room: bool,
    at_most: Duration,
) -> io::Result<()> {
    if wait == Wait::Poll {
        std::hint::spin_loop();
        return Ok(());
    }
    let mut events = PollFlags::POLLIN;
    events.set(PollFlags::POLLOUT, for_room);
    let milliseconds = at_most.as_millis().clamp(1, 100) as u8;
    match poll(&mut [PollFd::new(socket, events)], milliseconds) {
        Ok(_) | Err(Errno::EINTR) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

/// Does the same for a caller that has to be there again in time: to the microsecond, and no longer.
pub(super) fn wait_briefly(
    wait: Wait,
    socket: BorrowedFd,
    for_room: bool,
    at_most: Duration,
) -> io::Result<()> {
    if wait == Wait::Poll {
        return Ok(());
    }
    let mut events = PollFlags::POLLIN;
    events.set(PollFlags::POLLOUT, for_room);
    match ppoll(
        &mut [PollFd::new(socket, events)],
        Some(at_most.into()),
        None,
    ) {
        Ok(_) | Err(Errno::EINTR) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

/// True if nothing is there, whether it was asked for at once or waited for.
pub(super) fn is_nothing_yet(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
    )
}
