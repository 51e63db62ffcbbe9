//! The hooks, a file for each family, and those that keep the books.
//!
//! A new family (MPI, UCT) is a file here, a [`jitterlab_injector::control::HookFamily`] and its
//! [`jitterlab_injector::control::Hook`]s.

mod descriptors;
mod dlsym;
mod ending;
mod exec;
mod socket;
mod threads;
mod verbs;

pub(crate) use threads::prepare_keys;
