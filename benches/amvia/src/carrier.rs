//! The carriers of frames.

use jitterlab_amvia::transport::Transport;

/// A transport of any kind.
pub type Carrier = Box<dyn Transport>;
