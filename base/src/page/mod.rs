//! Pages of memory that processes share: one makes a page and writes to it, others attach it and look, and none waits for
//! another. What a page carries is its [`Content`]; this is the mechanism, which knows nothing of it.
//!
//! A page is a file under `/dev/shm/jitterlab-<uid>` ([`directory`]), readable by its user alone. It outlives a process that
//! is killed: [`Attached::standing`] tells. What belongs together is published in a double buffer ([`published`]), and
//! counters are a slot a thread ([`slots`]).

#![allow(unsafe_code)]

mod atomic;
mod files;
mod namespaces;
pub mod published;
pub mod slots;
mod standing;

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

pub use files::{
    Attached, Created, Locked, PageError, attach, create, directory, is_deserted, make,
    make_directory, private,
};
pub use namespaces::{Namespaces, file_name, start_time};
pub use standing::{Standing, list};

use published::{Generation, Published};
use slots::Taken;

/// A type that may lie in memory that any number of processes read and write at once.
///
/// # Safety
/// It consists of atomics only, and every pattern of bits is one of its values. [`shared!`](crate::shared) makes such
/// structures, and checks them field by field.
pub unsafe trait Shared: Sync + 'static {}

// SAFETY: it is an atomic, and every bit pattern is a value of it.
unsafe impl Shared for AtomicU32 {}
// SAFETY: as above.
unsafe impl Shared for AtomicU64 {}
// SAFETY: one atomic.
unsafe impl Shared for Taken {}
// SAFETY: one atomic.
unsafe impl Shared for Generation {}
// SAFETY: a generation, and words that are atomics.
unsafe impl<const WORDS: usize> Shared for Published<WORDS> {}
// SAFETY: an array adds nothing to its elements.
unsafe impl<T: Shared, const N: usize> Shared for [T; N] {}

/// The content of a page. Zeroed memory is a content that nobody has filled.
pub trait Content: Shared {
    /// Marks a file as such a page of this layout: a word of 7 letters and a version.
    const MAGIC: u64;
    /// Its name for people.
    const NAME: &'static str;

    /// Its head, wherever in it that lies.
    fn head(&self) -> &Head;
}

/// Makes a structure that may lie in shared memory: laid out as C would, its fields all [`Shared`](crate::page::Shared).
#[macro_export]
macro_rules! shared {
    (
        $(#[$attribute:meta])*
        $visible:vis struct $name:ident {
            $($(#[$field_attribute:meta])* $field_visible:vis $field:ident: $type:ty,)+
        }
    ) => {
        $(#[$attribute])*
        #[repr(C)]
        $visible struct $name {
            $($(#[$field_attribute])* $field_visible $field: $type,)+
        }

        const _: () = {
            const fn is_shared<T: $crate::page::Shared>() {}
            $(is_shared::<$type>();)+
            // SAFETY: its fields are all shared, as the lines above prove; padding is never looked at.
            #[allow(unsafe_code)]
            unsafe impl $crate::page::Shared for $name {}
        };
    };
}

shared! {
    /// The head of every page.
    pub struct Head {
        pub(self) magic: AtomicU64,
        owner: Whose,
    }
}

shared! {
    /// A process, in shared memory. Zeroed, it is none.
    pub struct Whose {
        pid: AtomicU64,
        start_time: AtomicU64,
        pid_namespace: AtomicU64,
        mount_namespace: AtomicU64,
    }
}

/// The process that a page belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner {
    /// Its number, in its own namespace.
    pub pid: u32,
    /// When it started, in the kernel's ticks since boot (field 22 of `/proc/<pid>/stat`): tells
    /// it from a later process of the same number.
    pub start_time: u64,
    /// The namespaces in which its number and its paths mean something.
    pub namespaces: Namespaces,
}

impl Owner {
    /// The calling process.
    pub fn own() -> Self {
        Owner {
            pid: std::process::id(),
            // /proc may be of another pid namespace: not by number.
            start_time: start_time("self").unwrap_or(0),
            namespaces: Namespaces::own(),
        }
    }
}

impl Head {
    /// The owner of the page.
    pub fn owner(&self) -> Owner {
        self.owner.get()
    }

    /// Says whose it is.
    pub fn set_owner(&self, owner: &Owner) {
        self.owner.set(owner);
    }
}

impl Whose {
    /// The process.
    pub fn get(&self) -> Owner {
        let load = |word: &AtomicU64| word.load(Ordering::Relaxed);
        Owner {
            pid: load(&self.pid) as u32,
            start_time: load(&self.start_time),
            namespaces: Namespaces {
                pid: load(&self.pid_namespace),
                mount: load(&self.mount_namespace),
            },
        }
    }

    /// Puts a process there.
    pub fn set(&self, owner: &Owner) {
        for (word, value) in [
            (&self.pid, owner.pid.into()),
            (&self.start_time, owner.start_time),
            (&self.pid_namespace, owner.namespaces.pid),
            (&self.mount_namespace, owner.namespaces.mount),
        ] {
            word.store(value, Ordering::Relaxed);
        }
    }
}

/// The bytes in `words`, up to the first zero.
pub fn text(words: &[AtomicU64]) -> Vec<u8> {
    words
        .iter()
        .flat_map(|word| word.load(Ordering::Relaxed).to_ne_bytes())
        .take_while(|&byte| byte != 0)
        .collect()
}

/// Puts as many of the bytes into `words` as there is room for.
pub fn set_text(words: &[AtomicU64], bytes: &[u8]) {
    for (word, bytes) in words.iter().zip(bytes.chunks(8)) {
        let mut padded = [0; 8];
        padded[..bytes.len()].copy_from_slice(bytes);
        word.store(u64::from_ne_bytes(padded), Ordering::Relaxed);
    }
}
