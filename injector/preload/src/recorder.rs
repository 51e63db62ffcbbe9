//! The sends of a rank by MPI, counted to the message, and left in a file when it ends.
//!
//! `jitterlab inject trace` reads the files; [`jitterlab_injector::record`] says what is in them.

#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_int};
use std::fmt::{self, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::hooks::Call;
use crate::real::system_call;
use crate::state;
use jitterlab_injector::text::Text;

static ON: AtomicBool = AtomicBool::new(false);
/// The folder of the files.
static FOLDER: OnceLock<CString> = OnceLock::new();
static ACCOUNT: OnceLock<Account> = OnceLock::new();

/// The ranks that there are, and which of them this process is.
pub(crate) struct Peers {
    pub(crate) ranks: usize,
    pub(crate) own: usize,
    /// True if others have spawned them.
    pub(crate) are_spawned: bool,
}

#[derive(Default)]
struct Sum {
    calls: AtomicU64,
    messages: AtomicU64,
    bytes: AtomicU64,
}

impl Sum {
    fn add(&self, calls: u64, messages: u64, bytes: u64) {
        self.calls.fetch_add(calls, Ordering::Relaxed);
        self.messages.fetch_add(messages, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    fn get(&self) -> [u64; 3] {
        [&self.calls, &self.messages, &self.bytes].map(|sum| sum.load(Ordering::Relaxed))
    }
}

struct Account {
    /// A child that is forked has its parent's account, and leaves it to it.
    pid: u32,
    /// True if the file was begun: a process may come to its end twice, as by `_exit` in a function
    /// that `exit` calls.
    left: AtomicBool,
    rank: usize,
    is_spawned: bool,
    calls: [Sum; Call::NAMES.len()],
    /// The messages to each rank.
    peers: Box<[Sum]>,
    /// The messages to other processes than these ranks, or to unknown ones.
    others: Sum,
}

impl Account {
    fn of(peers: Option<Peers>) -> Self {
        // A process that has no rank among all has the one that the launcher told.
        let told = state::injection().map_or(0, |injection| injection.rank() as usize);
        let peers = peers.unwrap_or(Peers {
            ranks: 0,
            own: told,
            are_spawned: false,
        });
        Account {
            pid: std::process::id(),
            left: AtomicBool::new(false),
            rank: peers.own,
            is_spawned: peers.are_spawned,
            calls: std::array::from_fn(|_| Sum::default()),
            peers: (0..peers.ranks).map(|_| Sum::default()).collect(),
            others: Sum::default(),
        }
    }
}

/// Counts from now on; the file will be in `folder`.
pub(crate) fn start(folder: CString) {
    ON.store(FOLDER.set(folder).is_ok(), Ordering::Relaxed);
}

/// True if calls are recorded.
#[inline(always)]
pub(crate) fn is_on() -> bool {
    ON.load(Ordering::Relaxed)
}

/// Counts a call that sends `messages`, each to a rank and of so many bytes.
pub(crate) fn messages(
    call: Call,
    peers: impl FnOnce() -> Option<Peers>,
    messages: impl Iterator<Item = (Option<usize>, u64)>,
) {
    let account = ACCOUNT.get_or_init(|| Account::of(peers()));
    let sum = &account.calls[call.index()];
    sum.add(1, 0, 0);
    for (peer, bytes) in messages {
        sum.add(0, 1, bytes);
        peer.and_then(|peer| account.peers.get(peer))
            .unwrap_or(&account.others)
            .add(0, 1, bytes);
    }
}

/// Counts a collective call. The caller gives it `bytes`.
pub(crate) fn collective(call: Call, peers: impl FnOnce() -> Option<Peers>, bytes: u64) {
    let account = ACCOUNT.get_or_init(|| Account::of(peers()));
    account.calls[call.index()].add(1, 0, bytes);
}

/// Leaves the file of a process that ends, if it has made a call of MPI. A process may end in a signal
/// handler, so nothing is allocated here; and nobody is disturbed because a file cannot be written.
pub(crate) fn leave() {
    let (Some(folder), Some(account)) = (FOLDER.get(), ACCOUNT.get()) else {
        return;
    };
    if account.pid == std::process::id() && !account.left.swap(true, Ordering::Relaxed) {
        write_file(folder, account);
    }
}

/// Apart, because it takes a piece of a stack that may be small.
#[inline(never)]
fn write_file(folder: &CStr, account: &Account) {
    let folder = folder.to_str().ok();
    if let Some(mut file) = folder.and_then(|folder| create(folder, account)) {
        // A file that is cut off is no JSON, and is told of.
        let _ = write_account(account, &mut file);
        file.flush();
    }
}

/// A file of its own: processes of other hosts, and later ones of this, may have the same rank and number.
#[inline(never)]
fn create(folder: &str, account: &Account) -> Option<File> {
    let (rank, pid) = (account.rank, account.pid);
    for number in 0_u32.. {
        let mut path = Text::new();
        write!(path, "{folder}/{rank}-{pid}-{number}.json\0").ok()?;
        let file = File::create(path.bytes());
        if file.is_some() || crate::real::errno() != libc::EEXIST {
            return file;
        }
    }
    None
}

fn write_account(account: &Account, file: &mut File) -> fmt::Result {
    let (rank, ranks, spawned) = (account.rank, account.peers.len(), account.is_spawned);
    write!(
        file,
        "{{\"rank\":{rank},\"ranks\":{ranks},\"spawned\":{spawned},\"calls\":["
    )?;
    let calls = Call::NAMES.iter().zip(&account.calls);
    let mut comma = "";
    for (name, sum) in calls {
        let [calls, messages, bytes] = sum.get();
        if calls > 0 {
            write!(
                file,
                "{comma}{{\"call\":\"{name}\",\"calls\":{calls},\"messages\":{messages},\"bytes\":{bytes}}}"
            )?;
            comma = ",";
        }
    }
    write!(file, "],\"peers\":[")?;
    comma = "";
    for (peer, sum) in account.peers.iter().enumerate() {
        let [_, messages, bytes] = sum.get();
        if messages > 0 {
            write!(
                file,
                "{comma}{{\"rank\":{peer},\"messages\":{messages},\"bytes\":{bytes}}}"
            )?;
            comma = ",";
        }
    }
    let [_, messages, bytes] = account.others.get();
    writeln!(
        file,
        "],\"others\":{{\"messages\":{messages},\"bytes\":{bytes}}}}}"
    )
}

/// A file that is written straight to the kernel, past our own hooks.
struct File {
    fd: c_int,
    text: Text,
}

impl File {
    /// Creates the file at a path that ends with a zero, if there is none yet.
    fn create(path: &[u8]) -> Option<Self> {
        let how = libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL | libc::O_CLOEXEC;
        // SAFETY: a C string.
        let fd =
            unsafe { system_call()(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), how, 0o666) };
        let fd = c_int::try_from(fd).ok().filter(|&fd| fd >= 0)?;
        Some(File {
            fd,
            text: Text::new(),
        })
    }

    fn flush(&mut self) {
        let mut rest = self.text.bytes();
        while !rest.is_empty() {
            // SAFETY: the bytes are ours.
            let written =
                unsafe { system_call()(libc::SYS_write, self.fd, rest.as_ptr(), rest.len()) };
            match usize::try_from(written) {
                Ok(written) if written > 0 => rest = rest.get(written..).unwrap_or_default(),
                _ if crate::real::errno() == libc::EINTR => {}
                _ => break,
            }
        }
        self.text.clear();
    }
}

impl Write for File {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.text.write_str(text).or_else(|_| {
            self.flush();
            self.text.write_str(text)
        })
    }
}

impl Drop for File {
    fn drop(&mut self) {
        // SAFETY: the descriptor is ours.
        unsafe { system_call()(libc::SYS_close, self.fd) };
    }
}
