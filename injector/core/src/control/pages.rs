//! Control pages as shared pages: how one is made, attached and changed.

use std::io;
use std::ops::Deref;
use std::path::{Path, PathBuf};

use jitterlab_base::page::{self, PageError, make_directory};

use super::{Identity, Page, Settings};
use crate::table::TableSource;

/// A control page that this process made for itself.
pub type Created = page::Created<Page>;

impl Page {
    /// Makes the page of this process in `directory`, with its first settings and table.
    ///
    /// A page that an earlier program of this process, or an earlier process of its number, has left is replaced. Where the
    /// number means nothing outside (there is no /proc), it may be somebody else's, and stays.
    ///
    /// # Errors
    /// The directory is not this user's own, or the system refuses the file or the mapping.
    pub fn create(
        directory: &Path,
        identity: &Identity,
        settings: &Settings,
        table: &TableSource,
    ) -> Result<Created, PageError> {
        make_directory::<Page>(directory)?;
        let path = directory.join(identity.namespaces.file_name(identity.pid));
        if identity.namespaces.pid != 0 {
            replace(&path).map_err(|source| PageError::System {
                what: "control page",
                action: "replace",
                path: path.clone(),
                source,
            })?;
        }
        page::create(&path, |page: &Page| page.fill(identity, settings, table))
    }

    /// A page in memory of this process alone, for when no file can be had: injection works,
    /// but nobody can observe or change it.
    ///
    /// # Errors
    /// There is no memory.
    pub fn private(
        identity: &Identity,
        settings: &Settings,
        table: &TableSource,
    ) -> io::Result<&'static Page> {
        page::private(|page: &Page| page.fill(identity, settings, table))
    }

    fn fill(&self, identity: &Identity, settings: &Settings, table: &TableSource) {
        self.set_identity(identity);
        self.change(|s, t| (*s, *t) = (*settings, table.clone()));
    }
}

fn replace(path: &PathBuf) -> io::Result<()> {
    if let Ok(left) = attach(path) {
        left.replace();
    }
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// A page of any process, attached to look at it and, once it is locked, to change it.
pub struct Attached(pub(super) page::Attached<Page>);

/// A page that nobody else changes: two writers would fill the same copy of the settings.
pub struct Locked<'a>(page::Locked<'a, Page>);

/// Attaches the page in the file at `path`. To look at it needs no lock.
///
/// # Errors
/// The file cannot be opened, is not a control page, or cannot be mapped.
pub fn attach(path: &Path) -> Result<Attached, PageError> {
    page::attach(path).map(Attached)
}

impl Attached {
    /// Locks the page, to change it.
    ///
    /// # Errors
    /// Somebody else holds the lock and keeps it: a change takes far less than the second that it is waited for.
    pub fn lock(&self) -> Result<Locked<'_>, PageError> {
        self.0.lock().map(Locked)
    }
}

impl Deref for Attached {
    type Target = Page;

    fn deref(&self) -> &Page {
        &self.0
    }
}

impl Locked<'_> {
    /// Changes settings and table of the running program, all at once.
    pub fn change(&self, change: impl FnOnce(&mut Settings, &mut TableSource)) {
        self.0.change(change);
    }
}
