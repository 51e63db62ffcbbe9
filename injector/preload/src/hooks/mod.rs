//! The hooks, a file for each family, and those that keep the books.
//!
//! A new family is a file here, a [`jitterlab_injector::control::HookFamily`] and its
//! [`jitterlab_injector::control::Hook`]s.

/// Lets the section that holds a hook begin with a cache line. How many lines a hook's way is
/// spread over is else left to chance, and up to three nanoseconds a send.
macro_rules! on_cache_lines {
    ($section:expr) => {
        core::arch::global_asm!(
            concat!(".pushsection ", $section, ",\"ax\",@progbits"),
            ".p2align 6",
            ".popsection"
        );
    };
}

mod arriving;
mod children;
mod confining;
mod descriptors;
mod ending;
mod lineage;
mod loading;
mod mpi;
mod slots;
mod socket;
mod system_calls;
mod threads;
mod uct;
mod variadic;
mod verbs;

pub(crate) use descriptors::ask_for_all;
pub(crate) use mpi::Call;
pub(crate) use threads::prepare_keys;
