//! Pages as files: where they are, who may make them, how they are mapped.

use std::fs::Metadata;
use std::io;
use std::ops::Deref;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, AtFlags, Flock, FlockArg, posix_fallocate};
use nix::sys::mman::{MapFlags, ProtFlags};
use nix::sys::resource::{Resource, getrlimit};
use nix::sys::stat::{major, minor};
use nix::unistd::linkat;
use thiserror::Error;

use super::{Content, Shared};

/// A page that cannot be made or used.
#[derive(Debug, Error)]
pub enum PageError {
    /// The directory belongs to someone else, or others may write to it.
    #[error("{path} is not a directory that only user {uid} can use; remove it", path = path.display())]
    UnsafeDirectory {
        /// The directory.
        path: PathBuf,
        /// The user that it should belong to.
        uid: u32,
    },
    /// The system refused.
    #[error("cannot {action} {what} {path}", path = path.display())]
    System {
        /// The name of the page ([`Content::NAME`]).
        what: &'static str,
        /// The action that failed.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The file is something else.
    #[error("{path} is not a {what} of this version of jitterlab", path = path.display())]
    NotAPage {
        /// The name that the page would have.
        what: &'static str,
        /// The file.
        path: PathBuf,
    },
    /// Somebody else has locked it.
    #[error(
        "{what} {path} cannot be changed: {holder} keeps it locked; end that or wait for it",
        path = path.display()
    )]
    Busy {
        /// The name of the page.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The holder, as far as the system tells.
        holder: String,
    },
}

/// The time that a page's lock is waited for. A change takes microseconds.
const PATIENCE: Duration = Duration::from_secs(1);

/// The directory of the pages of user `uid`.
pub fn directory(uid: u32) -> PathBuf {
    PathBuf::from(format!("/dev/shm/jitterlab-{uid}"))
}

/// A page that this process made for itself.
pub struct Created<C: 'static> {
    /// The page. It stays mapped for the life of the process: who writes to it may run until the very end.
    pub page: &'static C,
    /// Its file, to be removed when the process ends.
    pub path: PathBuf,
}

/// Makes a page in a new file at `path`, readable by its user alone; `fill` gives it its first content.
///
/// # Errors
/// There is such a file, or the system refuses the file or the mapping.
pub fn create<C: Content>(path: &Path, fill: impl FnOnce(&C)) -> Result<Created<C>, PageError> {
    let system = |action| move |source| system::<C>(action, path, source);
    let file = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .map_err(system("create"))?;
    let mapping = reserve::<C>(&file)
        .map_err(system("reserve room for"))
        .and_then(|()| map(Some(&file)).map_err(system("map")))
        .inspect_err(|_| _ = std::fs::remove_file(path))?;
    Ok(Created {
        page: initialise(mapping, fill),
        path: path.into(),
    })
}

/// Makes a page in a file that has no name until it is whole, and then gets `path`: who is killed meanwhile leaves nothing.
/// The page is unmapped when it is dropped; its file stays.
///
/// # Errors
/// There is such a file, or the system refuses the file or the mapping.
pub fn make<C: Content>(path: &Path, fill: impl FnOnce(&C)) -> Result<Attached<C>, PageError> {
    let system = |action| move |source| system::<C>(action, path, source);
    let directory = path.parent().unwrap_or(Path::new("."));
    let file = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .mode(0o600)
        .custom_flags(libc::O_TMPFILE)
        .open(directory)
        .map_err(system("create"))?;
    reserve::<C>(&file).map_err(system("reserve room for"))?;
    let mapping: NonNull<C> = map(Some(&file)).map_err(system("map"))?;
    let page = Attached {
        mapping,
        file,
        path: path.into(),
    };
    fill(&page);
    page.head().magic.store(C::MAGIC, Ordering::Release);
    let nameless = format!("/proc/self/fd/{}", page.file.as_raw_fd());
    linkat(
        AT_FDCWD,
        nameless.as_str(),
        AT_FDCWD,
        path,
        AtFlags::AT_SYMLINK_FOLLOW,
    )
    .map_err(|errno| system("name")(errno.into()))?;
    Ok(page)
}

/// A page in memory of this process alone, for when no file can be had: nobody else can see it.
///
/// # Errors
/// There is no memory.
pub fn private<C: Content>(fill: impl FnOnce(&C)) -> io::Result<&'static C> {
    Ok(initialise(map(None)?, fill))
}

fn initialise<C: Content>(mapping: NonNull<C>, fill: impl FnOnce(&C)) -> &'static C {
    // SAFETY: `map` gives a mapping of the size of a page, aligned to a memory page, readable and
    // writable, zeroed; a page consists of atomics only, for which every bit pattern is valid. It
    // is never unmapped, and its file is never truncated: only this user can open it.
    let page: &'static C = unsafe { mapping.as_ref() };
    fill(page);
    page.head().magic.store(C::MAGIC, Ordering::Release);
    page
}

fn system<C: Content>(action: &'static str, path: &Path, source: io::Error) -> PageError {
    PageError::System {
        what: C::NAME,
        action,
        path: path.into(),
        source,
    }
}

/// A page of any process, attached to look at it and, once it is locked, to change it.
pub struct Attached<C: Content> {
    mapping: NonNull<C>,
    pub(super) file: std::fs::File,
    path: PathBuf,
}

// SAFETY: the mapping is this value's own, and what lies in it is shared between processes, so between threads.
unsafe impl<C: Content> Send for Attached<C> {}
// SAFETY: as above; a page is atomics only.
unsafe impl<C: Content> Sync for Attached<C> {}

/// A page that nobody else changes.
pub struct Locked<'a, C> {
    page: &'a C,
    /// Held for as long as this lives.
    _lock: Flock<std::fs::File>,
}

impl<C> Deref for Locked<'_, C> {
    type Target = C;

    fn deref(&self) -> &C {
        self.page
    }
}

/// Attaches the page in the file at `path`. A look at it needs no lock.
///
/// # Errors
/// The file cannot be opened, is not such a page, or cannot be mapped.
pub fn attach<C: Content>(path: &Path) -> Result<Attached<C>, PageError> {
    let system = |action| move |source| system::<C>(action, path, source);
    let not_a_page = || PageError::NotAPage {
        what: C::NAME,
        path: path.into(),
    };
    let file = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(nix::libc::O_NOFOLLOW)
        .open(path)
        .map_err(system("open"))?;
    let metadata = file.metadata().map_err(system("look at"))?;
    if !metadata.is_file() || metadata.len() != size_of::<C>() as u64 {
        return Err(not_a_page());
    }
    let mapping: NonNull<C> = map(Some(&file)).map_err(system("map"))?;
    let attached = Attached {
        mapping,
        file,
        path: path.into(),
    };
    match attached.head().magic.load(Ordering::Acquire) == C::MAGIC {
        true => Ok(attached),
        false => Err(not_a_page()),
    }
}

impl<C: Content> Attached<C> {
    /// Its file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The user whose file it is.
    ///
    /// # Errors
    /// The system does not say.
    pub fn uid(&self) -> io::Result<u32> {
        Ok(self.file.metadata()?.uid())
    }

    /// True if the file is still there under its name, and no other has taken its place.
    pub fn is_named(&self) -> bool {
        let inode = |file: io::Result<Metadata>| file.ok().map(|file| file.ino());
        let there = inode(std::fs::symlink_metadata(&self.path));
        there.is_some() && there == inode(self.file.metadata())
    }

    /// Removes the file, unless another has taken its place.
    pub fn remove(&self) {
        if self.is_named() {
            let _ = std::fs::remove_file(&self.path);
        }
    }

    /// Locks the page, to change it.
    ///
    /// # Errors
    /// Somebody else holds the lock and keeps it: a change takes far less than the second that it is waited for.
    pub fn lock(&self) -> Result<Locked<'_, C>, PageError> {
        let system = |source| system::<C>("lock", &self.path, source);
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
                    return Err(PageError::Busy {
                        what: C::NAME,
                        path: self.path.clone(),
                        holder: self.holder().unwrap_or("another process".into()),
                    });
                }
                Err((_, errno)) => return Err(system(errno.into())),
            };
            std::thread::sleep(PATIENCE / 100);
        }
    }

    /// The holder of the lock, as far as the system tells.
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

impl<C: Content> Deref for Attached<C> {
    type Target = C;

    fn deref(&self) -> &C {
        // SAFETY: the mapping is as large as a page, which `attach` checked the file to be, and
        // lives as long as `self`; a page is atomics only. Only the owner of the file, who is the
        // owner of the program, could truncate it and so end us with SIGBUS.
        unsafe { self.mapping.as_ref() }
    }
}

impl<C: Content> Drop for Attached<C> {
    fn drop(&mut self) {
        // SAFETY: this is the mapping made by `attach`, of this size, and no reference into it
        // outlives `self`. A failure would leave it mapped, which is harmless.
        let _ = unsafe { nix::sys::mman::munmap(self.mapping.cast(), size_of::<C>()) };
    }
}

/// True if no process, of whatever namespace, has the file at `path` open for writing or in its memory: the kernel gives
/// a read lease on such a file alone. False where that cannot be told. Who attaches a page has it in its memory, too.
pub fn is_deserted(path: &Path) -> bool {
    // Both are from <linux/fcntl.h>, the same on every processor.
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
fn reserve<C>(file: &std::fs::File) -> io::Result<()> {
    let size = size_of::<C>() as nix::libc::off_t;
    // A file larger than that is not an error but a signal, SIGXFSZ, which ends the program.
    let (largest, _) = getrlimit(Resource::RLIMIT_FSIZE)?;
    if largest < size_of::<C>() as u64 {
        return Err(Errno::EFBIG.into());
    }
    loop {
        match posix_fallocate(file, 0, size) {
            Err(Errno::EINTR) => {}
            reserved => return Ok(reserved?),
        }
    }
}

/// Maps a page: of `file`, or private to this process.
fn map<C: Shared>(file: Option<&std::fs::File>) -> io::Result<NonNull<C>> {
    let length = std::num::NonZeroUsize::new(size_of::<C>())
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
/// names, and what is in a page may decide what a program does.
///
/// # Errors
/// It belongs to someone else or others may write to it, or the system refuses it.
pub fn make_directory<C: Content>(directory: &Path) -> Result<(), PageError> {
    let system = |source| system::<C>("make the directory of", directory, source);
    match std::fs::DirBuilder::new().mode(0o700).create(directory) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(system(error)),
        _ => {}
    }
    let metadata = std::fs::symlink_metadata(directory).map_err(system)?;
    let uid = nix::unistd::geteuid().as_raw();
    let own =
        metadata.is_dir() && metadata.uid() == uid && metadata.permissions().mode() & 0o022 == 0;
    own.then_some(()).ok_or_else(|| PageError::UnsafeDirectory {
        path: directory.into(),
        uid,
    })
}
