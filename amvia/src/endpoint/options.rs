//! The options of an endpoint.

use std::path::PathBuf;
use std::time::Duration;

use crate::log::Durability;
use crate::protocol::Config;

/// The options of an endpoint.
#[derive(Debug, Clone)]
pub struct Options {
    /// Protocol, window, sizes and times of its connections. The transport's MTU is taken where it is larger.
    pub config: Config,
    /// Peers at most, each with a window of slots in either pool: their memory is taken when the endpoint is made.
    pub peers: u32,
    /// The durability of its log.
    pub durability: Durability,
    /// The file of its log; none with [`Durability::None`].
    pub log: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            config: Config::default(),
            peers: 32,
            durability: Durability::None,
            log: None,
        }
    }
}

/// The choice of a request that finds the window of its peer full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Credit {
    /// It polls until one is released.
    Block,
    /// It is refused.
    Refuse,
    /// It polls so long at most, and is then refused.
    Within(Duration),
}
