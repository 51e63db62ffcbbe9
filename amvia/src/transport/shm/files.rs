//! The files of endpoints in shared memory, and who may remove them.
//!
//! An endpoint has a *door*, `door:NAME`, a page on which peers knock when they have made a ring to it, `ring:FROM:TO`. Doors
//! and rings belong to one life of their endpoints, and appear whole. Every name in the directory is given to a new file by
//! `link`, which takes no name that there is; a file is removed only by who has locked it and sees that it still has its
//! name. So two that clear the same leftover at once cannot remove what a third has put in its place.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use jitterlab_base::page::{
    Attached, Content, Head, Namespaces, Owner, PageError, Standing, attach, directory, make,
    make_directory,
};
use jitterlab_base::{ring, shared};

use super::super::{ShmName, TransportError};

/// The lines of a ring: 128 KiB.
pub const LINES: usize = 2048;
/// A ring of that size.
pub type Ring = ring::Ring<LINES>;

shared! {
    /// A page on which peers knock.
    pub struct Door {
        head: Head,
        incarnation: AtomicU64,
        closed: AtomicU64,
        knocks: AtomicU64,
    }
}

impl Content for Door {
    const MAGIC: u64 = u64::from_be_bytes(*b"jlabdor\x01");
    const NAME: &'static str = "door";

    fn head(&self) -> &Head {
        &self.head
    }
}

impl Door {
    /// The life of the endpoint behind it.
    pub fn incarnation(&self) -> u64 {
        self.incarnation.load(Ordering::Relaxed)
    }

    /// Says that its life is over.
    pub fn close(&self) {
        self.closed.store(1, Ordering::SeqCst);
    }

    /// True if its life is over.
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst) != 0
    }

    /// Says that there is a ring to be found.
    pub fn knock(&self) {
        self.knocks.fetch_add(1, Ordering::Release);
    }

    /// The number of knocks.
    #[inline]
    pub fn knocks(&self) -> u64 {
        self.knocks.load(Ordering::Acquire)
    }
}

/// A page that the dead may leave.
pub trait Leftover: Content {
    /// Tells those who have it attached that it is of no use any more.
    fn end(&self);
}

impl Leftover for Door {
    fn end(&self) {
        self.close();
    }
}

impl Leftover for Ring {
    fn end(&self) {
        self.close();
    }
}

/// The directory of one user, as an endpoint sees it.
#[derive(Debug)]
pub struct Files {
    directory: PathBuf,
    here: Namespaces,
}

impl Files {
    /// The directory, which is made if there is none.
    ///
    /// # Errors
    /// It is not this user's own, or cannot be made.
    pub fn new() -> Result<Self, PageError> {
        let directory = directory(nix::unistd::geteuid().as_raw());
        make_directory::<Door>(&directory)?;
        Ok(Files {
            directory,
            here: Namespaces::own(),
        })
    }

    fn door(&self, name: &str) -> PathBuf {
        self.directory.join(format!("door:{name}"))
    }

    /// The path of the ring from one endpoint to another.
    pub fn ring(&self, from: &ShmName, to: &ShmName) -> PathBuf {
        self.directory.join(format!("ring:{from}:{to}"))
    }

    /// Makes the door of `name`, unless a living endpoint has it.
    ///
    /// # Errors
    /// One has, or the file is something else, or the system refuses it.
    pub fn make_door(
        &self,
        name: &ShmName,
        incarnation: u64,
    ) -> Result<Attached<Door>, TransportError> {
        let path = self.door(name.as_str());
        loop {
            let made = make(&path, |door: &Door| {
                door.head.set_owner(&Owner::own());
                door.incarnation.store(incarnation, Ordering::Relaxed);
            });
            match made {
                Err(error) if is(&error, io::ErrorKind::AlreadyExists) => {}
                made => return Ok(made?),
            }
            let old: Attached<Door> = match attach(&path) {
                // It was removed meanwhile.
                Err(error) if is(&error, io::ErrorKind::NotFound) => continue,
                old => old?,
            };
            match old.standing(self.here) {
                Standing::Runs(process) => {
                    return Err(TransportError::Taken {
                        name: name.clone(),
                        process: process.map_or("?".into(), |number| number.to_string()),
                    });
                }
                Standing::Ended | Standing::BecameAnother => clear(&old)?,
            }
        }
    }

    /// The door of a living endpoint; none if there is none now.
    ///
    /// # Errors
    /// The file is something else, or the system refuses it.
    pub fn find_door(&self, name: &ShmName) -> Result<Option<Attached<Door>>, PageError> {
        let door: Attached<Door> = match attach(&self.door(name.as_str())) {
            Err(error) if is(&error, io::ErrorKind::NotFound) => return Ok(None),
            door => door?,
        };
        let lives = !door.is_closed() && matches!(door.standing(self.here), Standing::Runs(_));
        Ok(lives.then_some(door))
    }

    /// Makes the ring `ring:FROM:TO` of this life of FROM, in the place of one of an earlier time.
    ///
    /// # Errors
    /// The file is something else, or the system refuses it.
    pub fn make_ring(
        &self,
        (from, to): (&ShmName, &ShmName),
        incarnation: u64,
        door: &Door,
    ) -> Result<ring::Producer<LINES>, PageError> {
        let path = self.ring(from, to);
        loop {
            match ring::Producer::make(&path, incarnation, door.incarnation()) {
                Err(error) if is(&error, io::ErrorKind::AlreadyExists) => clear_ring(&path)?,
                made => return made,
            }
        }
    }

    /// The rings to `name`: who has made them, and where they are.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn rings_to(&self, name: &ShmName) -> Result<Vec<(ShmName, PathBuf)>, PageError> {
        let rings = self.entries()?.filter_map(|entry| match entry {
            Entry::Ring { from, to, path } if to == *name => Some((from, path)),
            _ => None,
        });
        Ok(rings.collect())
    }

    /// Clears what earlier lives of `name` have left, and what others have left that are all dead: files of the living stay.
    /// The caller has the door of `name`, and this incarnation.
    ///
    /// # Errors
    /// The directory cannot be read, or a file is kept locked.
    pub fn sweep(&self, name: &ShmName, incarnation: u64) -> Result<(), PageError> {
        for entry in self.entries()? {
            if let Entry::Door { path } = entry
                && let Ok(door) = attach::<Door>(&path)
                && self.is_over(&door)
            {
                clear(&door)?;
            }
        }
        for entry in self.entries()? {
            let Entry::Ring { from, to, path } = entry else {
                continue;
            };
            let Ok(ring) = attach::<Ring>(&path) else {
                continue;
            };
            // A peer may have made one for this life already.
            let is_ours = from == *name || to == *name && ring.meant_for() != incarnation;
            let is_orphan = || self.is_over(&ring) && !self.door(to.as_str()).exists();
            if is_ours || is_orphan() {
                clear(&ring)?;
            }
        }
        Ok(())
    }

    /// True if the process that made a page is no more.
    pub fn is_over<C: Content>(&self, page: &Attached<C>) -> bool {
        !matches!(page.standing(self.here), Standing::Runs(_))
    }

    fn entries(&self) -> Result<impl Iterator<Item = Entry>, PageError> {
        let entries = std::fs::read_dir(&self.directory).map_err(|source| PageError::System {
            what: Door::NAME,
            action: "look for the files of a",
            path: self.directory.clone(),
            source,
        })?;
        Ok(entries.filter_map(|entry| Entry::of(entry.ok()?.path())))
    }
}

/// A file of an endpoint.
enum Entry {
    Door {
        path: PathBuf,
    },
    Ring {
        from: ShmName,
        to: ShmName,
        path: PathBuf,
    },
}

impl Entry {
    fn of(path: PathBuf) -> Option<Self> {
        let mut words = path.file_name()?.to_str()?.split(':');
        let kind = words.next()?;
        let mut name = || words.next()?.parse::<ShmName>().ok();
        Some(match kind {
            "door" => {
                name()?;
                Entry::Door { path }
            }
            "ring" => Entry::Ring {
                from: name()?,
                to: name()?,
                path,
            },
            _ => return None,
        })
    }
}

/// Closes the ring at `path`, and removes it.
fn clear_ring(path: &Path) -> Result<(), PageError> {
    match attach::<Ring>(path) {
        Ok(ring) => clear(&ring),
        Err(error) if is(&error, io::ErrorKind::NotFound) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Tells those who have it attached, and removes the file, unless another has taken its place.
///
/// # Errors
/// Somebody keeps it locked.
pub fn clear<C: Leftover>(page: &Attached<C>) -> Result<(), PageError> {
    let locked = page.lock()?;
    locked.end();
    page.remove();
    Ok(())
}

/// True if the system refuses a file that is there: it has no memory now, say, or the process no free descriptor.
pub fn is_for_now(error: &PageError) -> bool {
    matches!(error, PageError::System { .. }) && !is(error, io::ErrorKind::NotFound)
}

fn is(error: &PageError, kind: io::ErrorKind) -> bool {
    matches!(error, PageError::System { source, .. } if source.kind() == kind)
}
