#![allow(unsafe_code)]

//! The memory of a log: pages of a file, or of this process alone.
//!
//! The one `unsafe` call of this crate is here: a mapped file may be changed by others while it is mapped.

use std::fs::File;
use std::io;
use std::ops::{Deref, DerefMut};

use memmap2::{MmapMut, MmapOptions};

/// Bytes that start at a page, are zero in a new file, and stay where they are.
pub(super) struct Map(MmapMut);

impl Map {
    /// Memory of this process alone, zeroed.
    pub(super) fn anonymous(bytes: usize) -> io::Result<Map> {
        MmapOptions::new().len(bytes).populate().map_anon().map(Map)
    }

    /// The first `bytes` of `file`, whose blocks are reserved and which the caller has locked.
    pub(super) fn of(file: &File, bytes: usize) -> io::Result<Map> {
        // SAFETY: no other process changes these bytes: the file is open to its user alone (mode 0600, checked), and
        // whoever opens it as a log holds its lock (flock) for as long as the mapping lives. Its user could truncate it
        // by hand, which ends the process with SIGBUS and gives no wrong bytes. All bit patterns are valid bytes.
        unsafe { MmapOptions::new().len(bytes).populate().map_mut(file) }.map(Map)
    }

    /// Writes the pages of these bytes to the disk, and waits for that.
    pub(super) fn sync(&self, from: usize, bytes: usize) -> io::Result<()> {
        self.0.flush_range(from, bytes)
    }
}

impl Deref for Map {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl DerefMut for Map {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}
