//! The file of a log: made whole, locked, checked, set aside.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg, posix_fallocate};
use nix::libc::{O_NOFOLLOW, O_NONBLOCK};
use nix::sys::resource::{Resource, getrlimit};
use tempfile::NamedTempFile;

use super::head::{self, Head, NoHead};
use super::map::Map;
use super::peers::{self, Known};
use super::record::{self, Slot};
use super::shape::HEAD;
use super::{Durability, LogError, Place, Record, Shape, incarnation_by_clock};
use crate::transaction::EndpointId;

/// The beginning of the names of files that have not become logs yet.
const UNFINISHED: &str = ".jitterlab-log-";
/// The time that a maker may take until it has locked its file.
const BEGINNING: Duration = Duration::from_secs(60);

/// Opens the log at `path`, or makes it. The file is locked for as long as it is open.
pub(super) fn open(
    path: &Path,
    endpoint: u64,
    shape: Shape,
    durability: Durability,
) -> Result<Opened, LogError> {
    let system = |action| move |source| system(action, path, source);
    if !shape.fits() {
        return Err(LogError::Shape { shape });
    }
    let file = match existing(path)? {
        Some(file) => file,
        None => match make(path, endpoint, shape, durability)? {
            Some(file) => file,
            // Another process was quicker, and has it.
            None => return Err(LogError::Busy { path: path.into() }),
        },
    };
    let head = check(&file, path, endpoint, shape)?;
    // A copy may have holes, and room for them has to be there before they are written.
    reserve(&file, path, shape)?;
    let map = Map::of(&file, shape.bytes()).map_err(system("map"))?;
    Ok(Opened {
        map,
        file,
        incarnation: head.incarnation,
        since: head.since,
    })
}

/// A log's file and its bytes.
pub(super) struct Opened {
    pub(super) map: Map,
    pub(super) file: Flock<File>,
    /// The last life of the endpoint.
    pub(super) incarnation: u32,
    /// The life since which the log has no gap.
    pub(super) since: u32,
}

fn system(action: &'static str, path: &Path, source: io::Error) -> LogError {
    LogError::System {
        action,
        path: path.into(),
        source,
    }
}

/// The file that is there, locked.
fn existing(path: &Path) -> Result<Option<Flock<File>>, LogError> {
    let opened = OpenOptions::new()
        .read(true)
        .write(true)
        // A FIFO would wait.
        .custom_flags(O_NOFOLLOW | O_NONBLOCK)
        .open(path);
    match opened {
        Ok(file) => lock(file, path).map(Some),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(system("open", path, error)),
    }
}

fn lock(file: File, path: &Path) -> Result<Flock<File>, LogError> {
    Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(|(_, errno)| match errno {
        Errno::EWOULDBLOCK => LogError::Busy { path: path.into() },
        errno => system("lock", path, errno.into()),
    })
}

/// A new log, whole before it has its name; none if there is one of that name by now.
fn make(
    path: &Path,
    endpoint: u64,
    shape: Shape,
    durability: Durability,
) -> Result<Option<Flock<File>>, LogError> {
    let system = |action| move |source| system(action, path, source);
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let sync = |file: &File| match durability {
        Durability::Power => file.sync_all(),
        Durability::Process | Durability::None => Ok(()),
    };
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .map_err(system("make the folder of"))?;
    sweep(folder).map_err(system("look at the folder of"))?;
    let mut unfinished = tempfile::Builder::new()
        .prefix(UNFINISHED)
        .permissions(Permissions::from_mode(0o600))
        .tempfile_in(folder)
        .map_err(system("make"))?;
    // A handle of the same open file: the lock stays when the name is given.
    let handle = unfinished.as_file().try_clone().map_err(system("make"))?;
    let file = lock(handle, path)?;
    reserve(&file, path, shape)?;
    // A log that takes the place of one that was lost has to begin above it: peers remember the last life.
    let before = incarnation_by_clock();
    let head = Head {
        endpoint,
        shape,
        incarnation: before,
        since: before + 1,
    };
    unfinished
        .write_all(&head.encode())
        .and_then(|()| sync(&file))
        .map_err(system("write"))?;
    if !name(unfinished, path)? {
        return Ok(None);
    }
    File::open(folder)
        .and_then(|folder| sync(&folder))
        .map_err(system("write the folder of"))?;
    Ok(Some(file))
}

/// Whether it got its name.
fn name(unfinished: NamedTempFile, path: &Path) -> Result<bool, LogError> {
    match unfinished.persist_noclobber(path) {
        Ok(_) => Ok(true),
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(system("name", path, error.error)),
    }
}

/// Removes what makers of logs have left that were killed. Those that run hold their locks, or have just begun.
fn sweep(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if !name.as_encoded_bytes().starts_with(UNFINISHED.as_bytes()) {
            continue;
        }
        // A file that has gone meanwhile, or is another user's, is none of ours.
        let Ok(file) = File::open(entry.path()) else {
            continue;
        };
        let age = file.metadata()?.modified()?.elapsed().unwrap_or_default();
        if age > BEGINNING && Flock::lock(file, FlockArg::LockExclusiveNonblock).is_ok() {
            let _ = fs::remove_file(entry.path());
        }
    }
    Ok(())
}

/// Gives the file its size, and the blocks for it: blocks that are not there would be missed at the first store to
/// them, which is SIGBUS.
fn reserve(file: &File, path: &Path, shape: Shape) -> Result<(), LogError> {
    let bytes = shape.bytes() as u64;
    let no_room = || LogError::NoRoom {
        path: path.into(),
        bytes,
    };
    let refused = |errno: Errno| system("reserve room for", path, errno.into());
    // A file beyond the limit is not an error but a signal, SIGXFSZ, which ends the program.
    if getrlimit(Resource::RLIMIT_FSIZE).map_err(refused)?.0 < bytes {
        return Err(no_room());
    }
    loop {
        match posix_fallocate(file, 0, bytes as i64) {
            Err(Errno::EINTR) => {}
            Err(Errno::ENOSPC | Errno::EDQUOT | Errno::EFBIG) => return Err(no_room()),
            reserved => return reserved.map_err(refused),
        }
    }
}

/// Whether the file is this endpoint's log, of this shape, and only its user's.
fn check(file: &File, path: &Path, endpoint: u64, shape: Shape) -> Result<Head, LogError> {
    let system = |action| move |source| system(action, path, source);
    let found = file.metadata().map_err(system("look at"))?;
    let foreign = || LogError::Foreign { path: path.into() };
    if !found.is_file() {
        return Err(foreign());
    }
    let mode = found.mode() & 0o777;
    if mode & 0o077 != 0 || found.uid() != nix::unistd::geteuid().as_raw() {
        return Err(LogError::Exposed {
            path: path.into(),
            mode,
            owner: found.uid(),
        });
    }
    let mut bytes = vec![0; HEAD.min(found.len() as usize)];
    std::os::unix::fs::FileExt::read_exact_at(file, &mut bytes, 0).map_err(system("read"))?;
    let head = decode(&bytes, path)?;
    if head.endpoint != endpoint {
        return Err(LogError::OtherEndpoint {
            path: path.into(),
            is: head.endpoint,
            asked: endpoint,
        });
    }
    if found.len() != head.shape.bytes() as u64 {
        return Err(LogError::Length {
            path: path.into(),
            is: found.len(),
            should: head.shape.bytes() as u64,
        });
    }
    if head.shape != shape {
        return Err(LogError::OtherShape {
            path: path.into(),
            is: head.shape,
            asked: shape,
        });
    }
    Ok(head)
}

/// The content of a log, as a look at its file finds it.
#[derive(Debug)]
pub struct Snapshot {
    /// The endpoint that the log belongs to.
    pub endpoint: EndpointId,
    /// The endpoint's last life.
    pub incarnation: u32,
    /// The life since which the log has no gap.
    pub since: u32,
    /// Its sizes.
    pub shape: Shape,
    /// The places that hold a record, and the bytes of its payload; none where the slot is damaged.
    pub records: Vec<(Place, Option<(Record, usize)>)>,
    /// The peers by their numbers; none where the entry is damaged.
    pub peers: Vec<(u32, Option<Known>)>,
}

impl Snapshot {
    fn is_whole(&self) -> bool {
        self.records.iter().all(|(_, found)| found.is_some())
            && self.peers.iter().all(|(_, known)| known.is_some())
    }
}

/// Looks at the log at `path`, which may be in use: it is neither changed nor locked. A record that changes while the file is read
/// looks damaged; the file is then read again, a limited number of times.
///
/// # Errors
/// The file cannot be read, is no log, or is one of another format.
pub fn look(path: &Path) -> Result<Snapshot, LogError> {
    let mut snapshot = look_once(path)?;
    for _ in 0..LOOKS {
        if snapshot.is_whole() {
            break;
        }
        snapshot = look_once(path)?;
    }
    Ok(snapshot)
}

/// Readings of a file at most that follow one with damage.
const LOOKS: usize = 4;

fn look_once(path: &Path) -> Result<Snapshot, LogError> {
    let bytes = fs::read(path).map_err(|source| system("read", path, source))?;
    let head = decode(&bytes, path)?;
    let length = head.shape.bytes();
    if bytes.len() != length {
        return Err(LogError::Length {
            path: path.into(),
            is: bytes.len() as u64,
            should: length as u64,
        });
    }
    let size = head.shape.slot_bytes();
    let slots = bytes[HEAD..].chunks_exact(size);
    let records = head.shape.places().zip(slots).filter_map(|(place, slot)| {
        match record::read(slot, head.shape.payload as usize) {
            Slot::New => None,
            Slot::Torn => Some((place, None)),
            Slot::Holds(committed) => {
                let length = committed.payload.length as usize;
                Some((place, Some((committed.record?, length))))
            }
        }
    });
    let known = (0..head.shape.peers).filter_map(|number| {
        let entry = &bytes[head.shape.entry(number)..][..peers::ENTRY];
        match Known::read(entry) {
            Some(None) => None,
            Some(known) => Some((number, known)),
            None => Some((number, None)),
        }
    });
    Ok(Snapshot {
        endpoint: EndpointId(head.endpoint),
        incarnation: head.incarnation,
        since: head.since,
        shape: head.shape,
        records: records.collect(),
        peers: known.collect(),
    })
}

fn decode(bytes: &[u8], path: &Path) -> Result<Head, LogError> {
    Head::decode(bytes).map_err(|no_head| match no_head {
        NoHead::Foreign => LogError::Foreign { path: path.into() },
        NoHead::Version(version) => LogError::Format {
            path: path.into(),
            version,
            ours: head::VERSION,
        },
        NoHead::Damaged => LogError::Damaged { path: path.into() },
    })
}

/// Gives the file at `path` another name beside it, `NAME.aside-1` or the first number that is free, so that a new log can
/// be begun. Gives the new name.
///
/// # Errors
/// There is no such file, a process has it open as its log, or the system refuses.
pub fn set_aside(path: &Path) -> Result<PathBuf, LogError> {
    let _lock =
        existing(path)?.ok_or_else(|| system("set aside", path, io::ErrorKind::NotFound.into()))?;
    for number in 1..=u32::MAX {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".aside-{number}"));
        // A link, which unlike a new name takes none that is there.
        match fs::hard_link(path, &name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(system("set aside", path, error)),
            Ok(()) => {
                fs::remove_file(path).map_err(|source| system("set aside", path, source))?;
                return Ok(name.into());
            }
        }
    }
    Err(system(
        "set aside",
        path,
        io::ErrorKind::AlreadyExists.into(),
    ))
}
