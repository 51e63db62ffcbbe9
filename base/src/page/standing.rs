//! Finds out if the process that made a page is still there.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::namespaces::number_here;
use super::{Attached, Content, Namespaces, start_time};

/// The state of the process of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It runs, with this number here. `None`: it has no number known here, since its namespace is another one, as a container's.
    Runs(Option<u32>),
    /// The process runs another program, by `exec`.
    BecameAnother,
    /// It has ended.
    Ended,
}

impl<C: Content> Attached<C> {
    /// A page is a running program's if the process has it in its memory. A forked child has its parent's page in its memory,
    /// too; so where a number can be asked, it is. `here` are the caller's namespaces.
    pub fn standing(&self, here: Namespaces) -> Standing {
        let owner = self.head().owner();
        let pid = match owner.namespaces.pid {
            0 => None,
            namespace if namespace == here.pid => Some(owner.pid),
            namespace => number_here(owner.pid, namespace),
        };
        let Some(number) = pid else {
            return Standing::Runs(None);
        };
        let same_process = || start_time(number) == Some(owner.start_time);
        let maps = match std::fs::read_to_string(format!("/proc/{number}/maps")) {
            // Nobody may look.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied && same_process() => {
                return Standing::Runs(pid);
            }
            maps => maps.unwrap_or_default(),
        };
        match self.is_among(&maps) {
            true => Standing::Runs(pid),
            // One that has ended, and is not waited for yet, has no memory.
            false if !maps.is_empty() && same_process() => Standing::BecameAnother,
            false => Standing::Ended,
        }
    }

    /// True if the page is in a list of what a process has in its memory.
    fn is_among(&self, maps: &str) -> bool {
        let inode = self.file.metadata().map(|file| file.ino().to_string());
        // The fifth field of a line is the inode of what is mapped.
        inode.is_ok_and(|inode| {
            maps.lines()
                .any(|line| line.split_ascii_whitespace().nth(4) == Some(inode.as_str()))
        })
    }
}

/// The files in `directory` that are named as pages of processes are ([`Namespaces::file_name`]), by their numbers; none if
/// there is no directory.
///
/// # Errors
/// It cannot be read.
pub fn list(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match std::fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut pages: Vec<(u32, PathBuf)> = entries
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let name = path.file_name()?.to_str()?;
            let pid = name.split('@').next()?.parse().ok()?;
            Some((pid, path))
        })
        .collect();
    pages.sort();
    Ok(pages.into_iter().map(|(_, path)| path).collect())
}
