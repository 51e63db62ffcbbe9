//! The atomics that the order of stores is built on: a model checker puts its own in their place.

pub(super) use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
