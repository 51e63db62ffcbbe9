//! The application suite: real, unmodified programs.

mod perform;
mod result;
mod runtime;
mod spec;
mod work;

pub use result::Application;
pub use spec::{ApplicationCase, Client, Npb, Program, Runtime, RuntimeUnit, Server};
pub use work::Work;
