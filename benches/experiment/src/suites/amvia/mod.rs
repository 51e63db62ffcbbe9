//! The active-message suite: transactions between two hosts.

mod perform;
mod result;
mod spec;
mod work;

pub use result::AmviaResult;
pub use spec::AmviaCase;
pub use work::Work;
