//! RDMA through the verbs. The ends find each other over TCP, which then stays open and silent: an end that
//! goes takes it along, and the other one sees that.

mod end;
mod flow;
mod half;
mod layout;
mod server;
mod wanted;
mod wish;

use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::Error;
use crate::transport::kind::Transport;
use crate::transport::link::{Link, no_connection};
use crate::transport::path::Verbs;
use crate::transport::plan::Plan;
use crate::transport::socket::is_nothing_yet;
use jitterlab_verbs::exchange::{Answer, Ask, prepare, say_ready};
use jitterlab_verbs::{Adapter, Chosen, Mtu, Service, choose, ports};

use end::End;
use flow::Flow;
use half::{Half, Joined};
pub(super) use server::listen;
use wanted::{PATIENCE, Wanted};

/// Connects to a server.
pub(super) fn connect(
    address: SocketAddr,
    how: &Verbs,
    plan: &Plan,
    timeout: Duration,
    adapter: &Adapter,
) -> Result<End, Error> {
    Ok(End::new(join(address, how, plan, timeout, adapter)?))
}

/// The same for a stream.
pub(super) fn stream(
    address: SocketAddr,
    how: &Verbs,
    plan: &Plan,
    adapter: &Adapter,
) -> Result<Flow, Error> {
    Ok(Flow::new(join(address, how, plan, PATIENCE, adapter)?))
}

fn join(
    address: SocketAddr,
    how: &Verbs,
    plan: &Plan,
    timeout: Duration,
    adapter: &Adapter,
) -> Result<Joined, Error> {
    let ports = ports(adapter.device.as_deref())?;
    let failed = |source| no_connection(Transport::Verbs, address, source);
    let line = TcpStream::connect_timeout(&address, PATIENCE).map_err(failed)?;
    prepare(&line).map_err(failed)?;
    let own = line.local_addr().map_err(failed)?.ip();
    let chosen = choose(&ports, adapter, own)?;
    let wanted = Wanted::new(*how, plan, [plan.size, plan.answer], timeout);
    check_size(&wanted, &chosen, chosen.mtu)?;
    let half = Half::new(wanted, chosen)?;
    let ask = Ask {
        wish: wish::words(plan, how),
        mtu: half.mtu(),
        place: half.place(),
    };
    ask.write(&line).map_err(failed)?;
    match Answer::read(&line) {
        Ok(Answer::Ready { mtu, place }) if mtu <= half.mtu() => {
            let joined = half.join(mtu, &place, line)?;
            say_ready(joined.line()).map_err(failed)?;
            Ok(joined)
        }
        Ok(Answer::Refused(reason)) => Err(Error::Refused { address, reason }),
        Err(error) if is_nothing_yet(&error) => Err(Error::BusyPeer { address }),
        // Connected, and then sent away, or told something else.
        Ok(Answer::Ready { .. }) | Err(_) => Err(Error::StrangePeer { address }),
    }
}

/// Whether messages fit the port.
fn check_size(wanted: &Wanted, chosen: &Chosen, mtu: Mtu) -> Result<(), Error> {
    let sizes = Link::Verbs(wanted.how, Adapter::default()).sizes();
    let port = match wanted.how.service {
        Service::Rc => chosen.port.longest.into(),
        Service::Ud => u64::from(mtu.bytes()),
    };
    let most = port.min(*sizes.end());
    let size = wanted.out.max(wanted.incoming) as u64;
    if size > most {
        return Err(Error::Size {
            transport: Transport::Verbs,
            size,
            least: *sizes.start(),
            most,
        });
    }
    Ok(())
}
