//! The options that say what is measured over.

use std::fmt::Display;

use jitterlab_packet::transport::{Inline, Link, Operation, Transport, Verbs};
use jitterlab_verbs::{Adapter, Mtu, Service};

use crate::outcome::Failure;

/// The options of an end of verbs.
#[derive(clap::Args, Clone)]
pub struct AdapterOptions {
    /// Verbs: RDMA device [default: the device that has the address of the connection; if none has it, the first active device]
    #[arg(long)]
    device: Option<String>,
    /// Verbs: index in the port's GID table [default: the RoCE v2 entry of the address]
    #[arg(long)]
    gid_index: Option<u8>,
    /// Verbs: path MTU: 256, 512, 1024, 2048 or 4096 [default: the MTU of the ports]
    #[arg(long)]
    mtu: Option<Mtu>,
}

/// The options of verbs.
#[derive(clap::Args, Clone)]
pub struct VerbsOptions {
    /// Verbs: write, write-imm or send [default: write]
    #[arg(long)]
    operation: Option<Operation>,
    /// Verbs: rc, or ud (only for the operation send) [default: rc]
    #[arg(long)]
    service: Option<Service>,
    /// Verbs: inline sends: auto, on or off [default: auto]
    #[arg(long)]
    inline: Option<Inline>,
    #[command(flatten)]
    adapter: AdapterOptions,
}

impl VerbsOptions {
    /// The link that is measured over.
    pub fn link(&self, transport: Transport) -> Result<Link, Failure> {
        let adapter = self.adapter.of(transport)?;
        let given = [
            ("--operation", self.operation.is_some()),
            ("--service", self.service.is_some()),
            ("--inline", self.inline.is_some()),
        ];
        if let Some((name, _)) = given.into_iter().find(|(_, is_given)| *is_given)
            && transport != Transport::Verbs
        {
            return Err(for_verbs(name, transport));
        }
        Ok(match Link::of(transport) {
            Link::Verbs(..) => {
                let verbs = Verbs {
                    operation: self.operation.unwrap_or_default(),
                    service: self.service.unwrap_or_default(),
                    inline: self.inline.unwrap_or_default(),
                };
                Link::Verbs(verbs, adapter)
            }
            sockets => sockets,
        })
    }

    /// The arguments of a server that is started at the same place.
    pub fn of_server(&self) -> Vec<String> {
        self.adapter.of_server()
    }
}

impl AdapterOptions {
    /// The adapter of a transport.
    pub fn of(&self, transport: Transport) -> Result<Adapter, Failure> {
        match self.given() {
            Some(name) if transport != Transport::Verbs => Err(for_verbs(name, transport)),
            _ => Ok(self.adapter()),
        }
    }

    /// The adapter.
    pub fn adapter(&self) -> Adapter {
        Adapter {
            device: self.device.clone(),
            gid_index: self.gid_index,
            mtu: self.mtu,
        }
    }

    /// The first option that is given, if one is.
    pub fn given(&self) -> Option<&'static str> {
        let given = [
            ("--device", self.device.is_some()),
            ("--gid-index", self.gid_index.is_some()),
            ("--mtu", self.mtu.is_some()),
        ];
        given
            .into_iter()
            .find_map(|(name, is_given)| is_given.then_some(name))
    }

    /// The arguments of a server that is started at the same place.
    pub fn of_server(&self) -> Vec<String> {
        let words = [
            ("--device", self.device.clone()),
            ("--gid-index", self.gid_index.map(|index| index.to_string())),
            ("--mtu", self.mtu.map(|mtu| mtu.bytes().to_string())),
        ];
        let given = words
            .into_iter()
            .filter_map(|(name, value)| Some([name.into(), value?]));
        given.flatten().collect()
    }
}

/// The error for an option of verbs over another transport.
pub fn for_verbs(name: &str, transport: impl Display) -> Failure {
    Failure::input(format!(
        "{name} is for --transport verbs, not for {transport}"
    ))
}
