//! The serving end: one client after the other.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};

use jitterlab_base::show;
use jitterlab_verbs::exchange::{Answer, Ask, Place, hear_ready, prepare};
use jitterlab_verbs::{Adapter, Mtu, choose, ports};

use super::{End, Flow, Half, Joined, Wanted, check_size, wish};
use crate::transport::end::Listener;
use crate::transport::link::Link;
use crate::transport::path::Verbs;
use crate::transport::plan::{Plan, Role};
use crate::transport::socket::{next_client, notice_dead_peers};
use crate::transport::waiting::now_ns;
use crate::{Error, service};

pub struct Server {
    listener: TcpListener,
    adapter: Adapter,
}

/// Listens, if there is a port that the server can use.
pub(in crate::transport) fn listen(
    address: SocketAddr,
    adapter: &Adapter,
) -> Result<Server, Error> {
    choose(&ports(adapter.device.as_deref())?, adapter, address.ip())?;
    let failed = |source| Error::Listen { address, source };
    Ok(Server {
        listener: TcpListener::bind(address).map_err(failed)?,
        adapter: adapter.clone(),
    })
}

impl Listener for Server {
    fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    fn serve(&mut self) -> io::Result<()> {
        loop {
            // Whatever becomes of a client, the next one is served.
            drop(self.attend(next_client(&self.listener)?));
        }
    }
}

impl Server {
    fn attend(&self, line: TcpStream) -> io::Result<()> {
        prepare(&line)?;
        let ask = Ask::read(&line)?;
        let (plan, how) = wish::heard(&ask.wish).ok_or(io::ErrorKind::InvalidData)?;
        let own = line.local_addr()?.ip();
        let joined = match self.meet(&plan, &how, (ask.mtu, &ask.place), own, line.try_clone()?) {
            Ok((joined, answer)) => {
                answer.write(&line)?;
                hear_ready(&line)?;
                joined
            }
            Err(error) => return Answer::Refused(show::causes(&error)).write(&line),
        };
        notice_dead_peers(&line)?;
        let served = match plan.role {
            Role::Answer { every, rest } => {
                service::answer(&mut End::new(joined), every, rest, now_ns)
            }
            Role::Exchange => service::exchange(&mut End::new(joined), now_ns),
            Role::Sink { .. } | Role::Both { .. } => service::stream(
                &mut Flow::new(joined),
                plan.window_back(),
                plan.wait,
                now_ns,
            ),
        };
        // When a wire breaks, often only one end hears of it, and the client is the one that somebody reads.
        served.or_else(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => Ok(()),
            _ => Answer::Refused(show::causes(&error)).write(&line),
        })
    }

    /// An end for a client, and what to answer it.
    fn meet(
        &self,
        plan: &Plan,
        how: &Verbs,
        (most, place): (Mtu, &Place),
        own: IpAddr,
        line: TcpStream,
    ) -> Result<(Joined, Answer), Error> {
        Link::Verbs(*how, Adapter::default()).check_plan(plan)?;
        let wanted = Wanted::new(*how, plan, [plan.answer, plan.size], service::LOOK);
        let ports = ports(self.adapter.device.as_deref())?;
        let chosen = choose(&ports, &self.adapter, own)?;
        let mtu = most.min(chosen.mtu);
        check_size(&wanted, &chosen, mtu)?;
        let half = Half::new(wanted, chosen)?;
        let answer = Answer::Ready {
            mtu,
            place: half.place(),
        };
        Ok((half.join(mtu, place, line)?, answer))
    }
}
