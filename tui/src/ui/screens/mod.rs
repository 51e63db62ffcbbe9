//! The screens, each in a folder of its own; this is their list.

mod log;
mod node;
mod noise;
mod suites;

use crate::ui::screen::{Base, Screen};

/// In the order of their numbers.
pub fn all(base: &Base) -> Vec<Box<dyn Screen>> {
    vec![
        node::screen(),
        noise::screen(),
        suites::screen(base),
        log::screen(base),
    ]
}
