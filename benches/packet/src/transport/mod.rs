//! Transports: a file each, chosen from one list.

mod connect;
pub(crate) mod end;
pub(crate) mod kind;
mod ledger;
mod link;
mod path;
mod plan;
mod shm;
mod slots;
mod socket;
mod tcp;
mod udp;
mod verbs;
mod waiting;

use std::net::SocketAddr;

use jitterlab_base::clock::Clock;
use jitterlab_verbs::Adapter;

use crate::Error;

pub use end::{Connection, Listener, Progress, Stream, Unwaited};
pub use kind::{Transport, Wait};
pub use link::Link;
pub use path::{Inline, Operation, Path, Verbs};
pub use plan::{Buffers, MOST_WINDOW, Plan, Role};

impl Transport {
    /// Listens on `address`.
    ///
    /// # Errors
    /// The address cannot be listened on, or there is no such adapter.
    pub fn listen(
        self,
        address: SocketAddr,
        adapter: &Adapter,
    ) -> Result<Box<dyn Listener>, Error> {
        let failed = |source| Error::Listen { address, source };
        // It is calibrated now, and not when a client waits.
        Clock::global();
        Ok(match self {
            Transport::Udp => Box::new(udp::listen(address).map_err(failed)?),
            Transport::Tcp => Box::new(tcp::listen(address).map_err(failed)?),
            Transport::Verbs => Box::new(verbs::listen(address, adapter)?),
            Transport::Shm => Box::new(shm::listen(address).map_err(failed)?),
        })
    }
}
