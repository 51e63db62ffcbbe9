//! The first screen: what this node is, how it came up, and how its settings stand.

use std::path::Path;

use jitterlab_appliance::report::BootReport;
use jitterlab_node_tuning::system::System;
use jitterlab_node_tuning::topology::Topology;
use jitterlab_node_tuning::tune::Survey;
use nix::ifaddrs::getifaddrs;
use nix::net::if_::InterfaceFlags;

use crate::commands::tune::looked::{Looked, look};
use crate::commands::ui::action::{Action, Key};
use crate::outcome::Failure;
use crate::shown::processors;

/// What is known of the node.
#[derive(Debug)]
pub struct Facts {
    /// Its name.
    pub host: String,
    /// Its kernel's release.
    pub kernel: String,
    /// What its processors are, and how many.
    pub processors: Vec<String>,
    /// Interfaces that are up, with their addresses.
    pub addresses: Vec<String>,
    /// How it came up, if it is an appliance.
    pub boot: Option<BootReport>,
    /// Whether something was applied on it; otherwise the settings are what would be.
    pub tuned: bool,
    /// Its settings, or why no CPU could measure.
    pub settings: Result<Survey, String>,
}

impl Facts {
    /// Reads this node. Nothing is changed.
    ///
    /// # Errors
    /// Its processors or its settings cannot be read.
    pub fn read() -> Result<Self, Failure> {
        // Nothing is started, since nothing is changed.
        let system = System::at("/", "");
        let topology = Topology::read(Path::new("/")).map_err(Failure::run)?;
        let Looked { tuned, survey } = look(&system)?;
        let host = nix::unistd::gethostname().unwrap_or_default();
        Ok(Facts {
            host: host.to_string_lossy().into_owned(),
            kernel: system
                .text("/proc/sys/kernel/osrelease")
                .unwrap_or_default(),
            processors: processors(&topology).lines().map(String::from).collect(),
            addresses: addresses(),
            boot: BootReport::load().ok(),
            tuned,
            settings: survey,
        })
    }
}

/// A line an address, of interfaces that lead somewhere.
fn addresses() -> Vec<String> {
    let all = getifaddrs().into_iter().flatten();
    let outside = all.filter(|at| !at.flags.contains(InterfaceFlags::IFF_LOOPBACK));
    let shown = outside.filter_map(|at| {
        let address = at.address?;
        let ip = match (address.as_sockaddr_in(), address.as_sockaddr_in6()) {
            (Some(four), _) => four.ip().to_string(),
            (_, Some(six)) => six.ip().to_string(),
            _ => return None,
        };
        Some(format!("{} {ip}", at.interface_name))
    });
    shown.collect()
}

/// The screen.
#[derive(Debug)]
pub struct NodeScreen {
    /// What is known, or why nothing is; not read yet.
    pub facts: Option<Result<Facts, String>>,
    /// Whether it is being read.
    pub reading: bool,
    /// Lines above the screen; whoever draws sees to it that there are so many.
    pub scroll: usize,
}

impl NodeScreen {
    /// While it is read for the first time.
    pub fn new() -> Self {
        NodeScreen {
            facts: None,
            reading: true,
            scroll: 0,
        }
    }

    /// Takes in what was read.
    pub fn take(&mut self, facts: Result<Facts, String>) {
        self.reading = false;
        self.facts = Some(facts);
    }

    /// Takes in a key.
    pub fn key(&mut self, key: Key) -> Option<Action> {
        const PAGE: usize = 15;
        self.scroll = match key {
            Key::Up => self.scroll.saturating_sub(1),
            Key::Down => self.scroll.saturating_add(1),
            Key::PageUp => self.scroll.saturating_sub(PAGE),
            Key::PageDown => self.scroll.saturating_add(PAGE),
            Key::Home => 0,
            Key::End => usize::MAX,
            _ => self.scroll,
        };
        if key == Key::Char('r') && !self.reading {
            self.reading = true;
            return Some(Action::ReadNode);
        }
        None
    }
}
