//! Connecting over a link.

use std::net::SocketAddr;
use std::time::Duration;

use super::end::{Connection, Stream, Unwaited};
use super::link::{Link, no_connection};
use super::plan::Plan;
use super::{shm, tcp, udp, verbs};
use crate::Error;

impl Link {
    /// Connects to a server of this transport, which will do its part of the plan.
    ///
    /// # Errors
    /// As those of [`Link::check_plan`]; nobody answers at `address`, somebody else does, or this end or
    /// the other one cannot do it.
    pub fn connect(
        &self,
        address: SocketAddr,
        plan: &Plan,
        timeout: Duration,
    ) -> Result<Box<dyn Connection>, Error> {
        self.check_plan(plan)?;
        let failed = |source| no_connection(self.transport(), address, source);
        Ok(match self {
            Link::Udp => Box::new(udp::connect(address, plan, timeout).map_err(failed)?),
            Link::Tcp => Box::new(tcp::connect(address, plan, timeout).map_err(failed)?),
            Link::Verbs(how, adapter) => {
                Box::new(verbs::connect(address, how, plan, timeout, adapter)?)
            }
            Link::Shm => Box::new(shm::connect(address, plan, timeout)?),
        })
    }

    /// The same for a client with many messages under way. Each of them is answered.
    ///
    /// # Errors
    /// As those of [`Link::connect`].
    pub fn unwaited(&self, address: SocketAddr, plan: &Plan) -> Result<Box<dyn Unwaited>, Error> {
        self.check_plan(plan)?;
        let failed = |source| no_connection(self.transport(), address, source);
        Ok(match self {
            Link::Udp => Box::new(udp::unwaited(address, plan).map_err(failed)?),
            Link::Tcp => Box::new(tcp::unwaited(address, plan).map_err(failed)?),
            Link::Verbs(how, adapter) => {
                Box::new(verbs::connect(address, how, plan, Duration::ZERO, adapter)?)
            }
            Link::Shm => Box::new(shm::connect(address, plan, Duration::ZERO)?),
        })
    }

    /// The same for a plan of a stream.
    ///
    /// # Errors
    /// As those of [`Link::connect`].
    pub fn stream(&self, address: SocketAddr, plan: &Plan) -> Result<Box<dyn Stream>, Error> {
        self.check_plan(plan)?;
        let failed = |source| no_connection(self.transport(), address, source);
        Ok(match self {
            Link::Udp => Box::new(udp::stream(address, plan).map_err(failed)?),
            Link::Tcp => Box::new(tcp::stream(address, plan).map_err(failed)?),
            Link::Verbs(how, adapter) => Box::new(verbs::stream(address, how, plan, adapter)?),
            Link::Shm => Box::new(shm::stream(address, plan)?),
        })
    }
}
