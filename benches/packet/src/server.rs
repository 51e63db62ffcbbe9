//! The other end of a case.

use std::net::SocketAddr;

use crate::Error;
use crate::transport::Transport;
use jitterlab_verbs::Adapter;

/// Serves until the process ends. `ready` is told the address that is listened on. The adapter is for
/// transports that have one.
///
/// # Errors
/// The address cannot be listened on, there is no such adapter, or the system fails.
pub fn serve(
    transport: Transport,
    address: SocketAddr,
    adapter: &Adapter,
    ready: impl FnOnce(SocketAddr),
) -> Result<(), Error> {
    let failed = |source| Error::Listen { address, source };
    let mut listener = transport.listen(address, adapter)?;
    ready(listener.address().map_err(failed)?);
    listener.serve().map_err(failed)
}
