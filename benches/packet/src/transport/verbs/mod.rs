//! RDMA through the verbs. The ends find each other over TCP, which then stays open and silent: an end that
//! goes takes it along, and the other one sees that.

mod choose;
mod end;
mod exchange;
mod server;

use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::Error;
use crate::transport::link::no_connection;
use crate::transport::{
    Adapter, Link, Mtu, Port, PortGid, Service, Transport, Verbs, Wait, is_nothing_yet,
};
use crate::verbs::{Gid, GidKind};

use choose::{Candidate, Chosen, candidates, choose};
use end::{End, Half};
use exchange::{Answer, Ask};
pub(super) use server::listen;

/// How long a connection may take to come up, and a send to be completed.
const PATIENCE: Duration = Duration::from_secs(2);

/// What an end is made for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted {
    /// How messages go.
    pub how: Verbs,
    /// The length of one, in bytes.
    pub length: usize,
    /// How they are waited for.
    pub wait: Wait,
    /// For how long.
    pub timeout: Duration,
}

/// The ports that are there.
pub(super) fn ports() -> Result<Vec<Port>, Error> {
    let gid = |gid: Gid| PortGid {
        index: gid.index,
        gid: gid.address(),
        is_roce_v2: gid.kind == GidKind::RoceV2,
    };
    let port = |found: Candidate| Port {
        device: found.device,
        port: found.port.number,
        is_active: found.port.is_active,
        is_ethernet: found.port.is_ethernet,
        mtu: found.port.mtu.bytes(),
        gids: found.gids.into_iter().map(gid).collect(),
    };
    Ok(candidates(None)?.into_iter().map(port).collect())
}

/// Connects to a server.
pub(super) fn connect(
    address: SocketAddr,
    wanted: &Wanted,
    adapter: &Adapter,
) -> Result<End, Error> {
    let candidates = candidates(adapter.device.as_deref())?;
    let failed = |source| no_connection(Transport::Verbs, address, source);
    let line = TcpStream::connect_timeout(&address, PATIENCE).map_err(failed)?;
    prepare(&line).map_err(failed)?;
    let own = line.local_addr().map_err(failed)?.ip();
    let chosen = choose(&candidates, adapter, own)?;
    check_size(wanted, &chosen, chosen.mtu)?;
    let half = Half::new(*wanted, chosen)?;
    let ask = Ask {
        size: wanted.length as u64,
        how: wanted.how,
        mtu: half.mtu(),
        place: half.place(),
    };
    ask.write(&line).map_err(failed)?;
    match Answer::read(&line) {
        Ok(Answer::Ready { mtu, place }) if mtu <= half.mtu() => Ok(half.join(mtu, &place, line)?),
        Ok(Answer::Refused(reason)) => Err(Error::Refused { address, reason }),
        Err(error) if is_nothing_yet(&error) => Err(Error::BusyPeer { address }),
        // Connected, and then sent away, or told something else.
        Ok(Answer::Ready { .. }) | Err(_) => Err(Error::StrangePeer { address }),
    }
}

/// Makes a connection fit for the exchange.
fn prepare(line: &TcpStream) -> std::io::Result<()> {
    line.set_nodelay(true)?;
    line.set_read_timeout(Some(PATIENCE))?;
    line.set_write_timeout(Some(PATIENCE))
}

/// Whether a message fits the port.
fn check_size(wanted: &Wanted, chosen: &Chosen, mtu: Mtu) -> Result<(), Error> {
    let sizes = Link::Verbs(wanted.how, Adapter::default()).sizes();
    let port = match wanted.how.service {
        Service::Rc => chosen.port.longest.into(),
        Service::Ud => u64::from(mtu.bytes()),
    };
    let most = port.min(*sizes.end());
    if wanted.length as u64 > most {
        return Err(Error::Size {
            transport: Transport::Verbs,
            size: wanted.length as u64,
            least: *sizes.start(),
            most,
        });
    }
    Ok(())
}
