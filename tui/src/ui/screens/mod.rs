//! The screens, each in a folder of its own; this is their list.

mod injector;
mod live;
mod log;
mod messages;
mod node;
mod noise;
mod results;
mod suites;
mod validate;

use crate::ui::screen::{Base, Screen};

/// The screens in the order of their numbers.
pub fn all(base: &Base) -> Vec<Box<dyn Screen>> {
    vec![
        node::screen(base),
        noise::screen(),
        suites::screen(base),
        live::screen(base),
        injector::screen(base),
        messages::screen(),
        results::screen(base),
        validate::screen(base),
        log::screen(base),
    ]
}
