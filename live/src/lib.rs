//! Live data: what measures publishes counters and a histogram on shared pages ([`jitterlab_base::page`]), and others follow.
//!
//! A thread that measures takes its page with [`publisher`] and publishes each sample with a load and a store. Pages are made
//! only where somebody asks: whoever starts the program names a [`Place`] by the environment, or the program follows itself
//! ([`follow_own`]). A [`Reader`] adds up the pages of a place; it gives [`Update`]s, the differences to what it gave before,
//! and a [`Total`] adds those up at their other end.

#![deny(unsafe_code)]

mod own;
mod page;
mod place;
mod reader;
mod total;

pub use own::{Followed, PLACE, follow_own, publisher};
pub use page::{Count, Live, Publisher, Timing};
pub use place::Place;
pub use reader::{Reader, own_reader};
pub use total::{Rank, Total, Update};
