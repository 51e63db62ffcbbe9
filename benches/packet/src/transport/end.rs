//! The ends of connections, as every transport has them for whoever measures over it.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use super::path::Path;

/// One end of a connection on which few messages are under way at a time.
///
/// Messages are numbered from 1, each direction for itself.
pub trait Connection {
    /// Sends the message with this number.
    ///
    /// # Errors
    /// As the system says.
    fn send(&mut self, number: u64) -> io::Result<()>;

    /// Receives a message: its number, or `None` if none came in time. The next call then goes on waiting.
    /// Over a reliable link the number is how many have come.
    ///
    /// # Errors
    /// As the system says; `UnexpectedEof` where the other end has gone.
    fn receive(&mut self) -> io::Result<Option<u64>>;

    /// The path, where the transport knows it.
    fn path(&self) -> Option<&Path> {
        None
    }
}

/// One end of a connection on which many messages are under way at a time, and each is answered. No call waits but `idle`.
///
/// Messages are numbered from 1.
pub trait Unwaited {
    /// Sends the message with this number, if there is room for it; whether there was.
    ///
    /// # Errors
    /// As the system says.
    fn send(&mut self, number: u64) -> io::Result<bool>;

    /// Takes an answer that has come: the number of its message. Over a reliable link the number is how many have come.
    ///
    /// # Errors
    /// As the system says; `UnexpectedEof` where the other end has gone.
    fn receive(&mut self) -> io::Result<Option<u64>>;

    /// Waits until there is something to take, or, where something could not be sent, room for it; not longer than this
    /// time. Who polls does not wait.
    ///
    /// # Errors
    /// As the system says.
    fn idle(&mut self, _at_most: Duration) -> io::Result<()> {
        Ok(())
    }

    /// Looks whether the other end is still there, where what comes does not say so.
    ///
    /// # Errors
    /// It has gone.
    fn look(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// The path, where the transport knows it.
    fn path(&self) -> Option<&Path> {
        None
    }
}

/// One end of a stream with many messages under way at a time. No call waits but `idle`.
pub trait Stream {
    /// Sends the next message, if there is room for it; whether there was.
    ///
    /// # Errors
    /// As the system says.
    fn send(&mut self) -> io::Result<bool>;

    /// Takes what has come, says so where the other end is to know, and tells how far things are.
    ///
    /// # Errors
    /// As the system says; `UnexpectedEof` where the other end has gone.
    fn progress(&mut self) -> io::Result<Progress>;

    /// Waits until there is something to take, or, where something could not be sent, room for it; not
    /// longer than this time, nor than 100 ms.
    ///
    /// # Errors
    /// As the system says.
    fn idle(&mut self, at_most: Duration) -> io::Result<()>;

    /// Whether what comes may not be seen here, so that only a look at the other end says whether that is there.
    fn is_blind(&self) -> bool {
        false
    }

    /// Asks the other end how far it is, if messages may be lost; what it has not got by then is missing.
    ///
    /// # Errors
    /// As the system says.
    fn ask(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// The path, where the transport knows it.
    fn path(&self) -> Option<&Path> {
        None
    }
}

/// The progress of a stream, at one end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// Messages of this end that are no longer under way: the other end has them, or they are missing.
    pub finished: u64,
    /// Those of them that are missing.
    pub missing: u64,
    /// Messages that came from the other end.
    pub arrived: u64,
}

/// The serving end.
pub trait Listener {
    /// The address that is listened on.
    ///
    /// # Errors
    /// As the system says.
    fn address(&self) -> io::Result<SocketAddr>;

    /// Does for clients what they ask for, until the process ends.
    ///
    /// # Errors
    /// As the system says, where no client is to blame.
    fn serve(&mut self) -> io::Result<()>;
}
