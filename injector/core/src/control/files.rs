//! Control pages as files: where they are, who may make them, how they are mapped.

use std::io;
use std::ops::Deref;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg, posix_fallocate};
use nix::sys::mman::{MapFlags, ProtFlags};
use nix::sys::resource::{Resource, getrlimit};
use nix::sys::stat::{major, minor};
use thiserror::Error;

use super::{Identity, MAGIC, Page, Settings, TableSource};

/// A control page that cannot be made or used.
#[derive(Debug, Error)]
pub enum ControlError {
    /// The directory belongs to someone else, or others may write to it.
    #[error("{path} is not a directory that only user {uid} can use; remove it", path = path.display())]
    UnsafeDirectory {
        /// The directory.
        path: PathBuf,
        /// Whose it should be.
        uid: u32,
    },
    /// The system refused.
    #[error("cannot {action} control page {path}", path = path.display())]
    System {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The file is something else.
    #[error("{path} is not a control page of this version of jitterlab", path = path.display())]
    NotAPage {
        /// The file.
        path: PathBuf,
    },
    /// Somebody else has locked it.
    #[error(
        "control page {path} cannot be changed: {holder} keeps it locked; end that or wait for it",
        path = path.display()
    )]
    Busy {
        /// The file.
        path: PathBuf,
        /// Who has, as far as the system tells.
        holder: String,
    },
}

/// How long a page's lock is waited for. A change takes microseconds.
const PATIENCE: Duration = Duration::from_secs(1);

/// Where the pages of user `uid` are.
pub fn directory(uid: u32) -> PathBuf {
    PathBuf::from(format!("/dev/shm/jitterlab-{uid}"))
}

/// A page that this process made for itself.
pub struct Created {
    /// The page. It stays mapped for the life of the process: hooks may run until the very end.
    pub page: &'static Page,
    /// Its file, to be removed when the process ends.
    pub path: PathBuf,
}

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
    ) -> Result<Created, ControlError> {
        make_directory(directory)?;
        let path = directory.join(identity.namespaces.file_name(identity.pid));
        let system = |action| {
            let path = path.clone();
            move |source: io::Error| ControlError::System {
                action,
                path,
                source,
            }
        };
        if identity.namespaces.pid != 0 {
            if let Ok(left) = attach(&path) {
                left.replace();
            }
            match std::fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(system("replace")(error));
                }
                _ => {}
            }
        }
        let file = std::fs::OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
            .map_err(system("create"))?;
        let mapping = reserve(&file)
            .map_err(system("reserve room for"))
            .and_then(|()| map(Some(&file)).map_err(system("map")))
            .inspect_err(|_| _ = std::fs::remove_file(&path))?;
        let page = initialise(mapping, identity, settings, table);
        Ok(Created { page, path })
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
        Ok(initialise(map(None)?, identity, settings, table))
    }
}

fn initialise(
    mapping: NonNull<Page>,
    identity: &Identity,
    settings: &Settings,
    table: &TableSource,
) -> &'static Page {
    // SAFETY: `map` gives a mapping of the size of a page, aligned to a memory page, readable and
    // writable, zeroed; a page consists of atomics only, for which every bit pattern is valid. It
    // is never unmapped, and its file is never truncated: only this user can open it.
    let page: &'static Page = unsafe { mapping.as_ref() };
    page.set_identity(identity);
    page.change(|s, t| (*s, *t) = (*settings, table.clone()));
    page.magic.store(MAGIC, Ordering::Release);
    page
}

/// A page of any process, attached to look at it and, once it is locked, to change it.
pub struct Attached {
    mapping: NonNull<Page>,
    pub(super) file: std::fs::File,
    pub(super) path: PathBuf,
}

/// A page that nobody else changes: two writers would fill the same copy of the settings.
pub struct Locked<'a> {
    page: &'a Page,
    /// Held for as long as this lives.
    _lock: Flock<std::fs::File>,
}

/// Attaches the page in the file at `path`. To look at it needs no lock.
///
/// # Errors
/// The file cannot be opened, is not a control page, or cannot be mapped.
pub fn attach(path: &Path) -> Result<Attached, ControlError> {
    let system = |action| {
        move |source: io::Error| ControlError::System {
            action,
            path: path.into(),
            source,
        }
    };
    let file = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(nix::libc::O_NOFOLLOW)
        .open(path)
        .map_err(system("open"))?;
    let metadata = file.metadata().map_err(system("look at"))?;
    if !metadata.is_file() || metadata.len() != size_of::<Page>() as u64 {
        return Err(ControlError::NotAPage { path: path.into() });
    }
    let mapping = map(Some(&file)).map_err(system("map"))?;
    let attached = Attached {
        mapping,
        file,
        path: path.into(),
    };
    if attached.magic.load(Ordering::Acquire) == MAGIC {
        Ok(attached)
    } else {
        Err(ControlError::NotAPage { path: path.into() })
    }
}

impl Attached {
    /// Locks the page, to change it.
    ///
    /// # Errors
    /// Somebody else holds the lock and keeps it: a change takes far less than the second that it is waited for.
    pub fn lock(&self) -> Result<Locked<'_>, ControlError> {
        let system = |source| ControlError::System {
            action: "lock",
            path: self.path.clone(),
            source,
        };
        let mut file = self.file.try_clone().map_err(system)?;
        let given_up = Instant::now() + PATIENCE;
        loop {
            file = match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
                Ok(lock) => {
                    return Ok(Locked {
                        page: self,
                        _lock: lock,
                    });
                }
                Err((file, Errno::EWOULDBLOCK)) if Instant::now() < given_up => file,
                Err((_, Errno::EWOULDBLOCK)) => {
                    return Err(ControlError::Busy {
                        path: self.path.clone(),
                        holder: self.holder().unwrap_or("another process".into()),
                    });
                }
                Err((_, errno)) => return Err(system(errno.into())),
            };
            std::thread::sleep(PATIENCE / 100);
        }
    }

    /// Who holds the lock, as far as the system tells.
    fn holder(&self) -> Option<String> {
        let metadata = self.file.metadata().ok()?;
        let (device, inode) = (metadata.dev(), metadata.ino());
        let file = format!("{:02x}:{:02x}:{inode}", major(device), minor(device));
        // 1: FLOCK  ADVISORY  WRITE 1234 00:19:5678 0 EOF
        let locks = std::fs::read_to_string("/proc/locks").ok()?;
        locks.lines().find_map(|line| {
            let mut words = line.split_ascii_whitespace().skip(4);
            let pid = words.next()?;
            (words.next()? == file).then(|| format!("process {pid}"))
        })
    }
}

impl Locked<'_> {
    /// Changes settings and table of the running program, all at once.
    pub fn change(&self, change: impl FnOnce(&mut Settings, &mut TableSource)) {
        self.page.change(change);
    }
}

impl Deref for Attached {
    type Target = Page;

    fn deref(&self) -> &Page {
        // SAFETY: the mapping is as large as a page, which `attach` checked the file to be, and
        // lives as long as `self`; a page is atomics only. Only the owner of the file, who is the
        // owner of the program, could truncate it and so end us with SIGBUS.
        unsafe { self.mapping.as_ref() }
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        // SAFETY: this is the mapping made by `attach`, of this size, and no reference into it
        // outlives `self`. A failure would leave it mapped, which is harmless.
        let _ = unsafe { nix::sys::mman::munmap(self.mapping.cast(), size_of::<Page>()) };
    }
}

/// Whether no process, of whatever namespace, has the file at `path` open for writing or in its memory: the kernel gives
/// a read lease on such a file alone. False where that cannot be told. Who attaches a page has it in its memory, too.
pub(super) fn is_deserted(path: &Path) -> bool {
    // Of <linux/fcntl.h>, the same on every processor.
    const F_SETSIG: libc::c_int = 10;
    const F_SETLEASE: libc::c_int = 1024;
    let Ok(file) = std::fs::OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(path)
    else {
        return false;
    };
    // SAFETY: both calls take numbers alone. The lease goes with the descriptor; who opens the file for writing in the
    // meantime waits for that, and the holder gets a signal that nobody notices, in the place of one that kills.
    unsafe {
        libc::fcntl(file.as_raw_fd(), F_SETSIG, libc::SIGURG) == 0
            && libc::fcntl(file.as_raw_fd(), F_SETLEASE, libc::F_RDLCK) == 0
    }
}

/// Gives `file` the size of a page, and the memory for it: memory that is not there, as on a full
/// /dev/shm, would otherwise be missed when the page is first written to, which is SIGBUS.
fn reserve(file: &std::fs::File) -> io::Result<()> {
    const SIZE: nix::libc::off_t = size_of::<Page>() as nix::libc::off_t;
    // A file larger than that is not an error but a signal, SIGXFSZ, which ends the program.
    let (largest, _) = getrlimit(Resource::RLIMIT_FSIZE)?;
    if largest < size_of::<Page>() as u64 {
        return Err(Errno::EFBIG.into());
    }
    loop {
        match posix_fallocate(file, 0, SIZE) {
            Err(Errno::EINTR) => {}
            reserved => return Ok(reserved?),
        }
    }
}

/// Maps a page: of `file`, or private to this process.
fn map(file: Option<&std::fs::File>) -> io::Result<NonNull<Page>> {
    let length = std::num::NonZeroUsize::new(size_of::<Page>())
        .ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
    let access = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
    // SAFETY: a new mapping at an address of the kernel's choice disturbs nothing that exists.
    let mapping = unsafe {
        match file {
            Some(file) => nix::sys::mman::mmap(None, length, access, MapFlags::MAP_SHARED, file, 0),
            None => nix::sys::mman::mmap_anonymous(None, length, access, MapFlags::MAP_PRIVATE),
        }
    }?;
    Ok(mapping.cast())
}

/// Makes the directory, or checks that it is this user's own: in /dev/shm everybody can make
/// names, and what is in the page decides what the program does.
fn make_directory(directory: &Path) -> Result<(), ControlError> {
    let system = |source| ControlError::System {
        action: "make the directory of",
        path: directory.into(),
        source,
    };
    match std::fs::DirBuilder::new().mode(0o700).create(directory) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(system(error)),
        _ => {}
    }
    let metadata = std::fs::symlink_metadata(directory).map_err(system)?;
    let uid = nix::unistd::geteuid().as_raw();
    let own =
        metadata.is_dir() && metadata.uid() == uid && metadata.permissions().mode() & 0o022 == 0;
    own.then_some(())
        .ok_or_else(|| ControlError::UnsafeDirectory {
            path: directory.into(),
            uid,
        })
}
