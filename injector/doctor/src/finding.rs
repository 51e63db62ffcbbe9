//! The doctor's findings on a run.

use std::path::PathBuf;

use serde::Serialize;

/// The sends of one kind, of everything that ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Row {
    /// The system call, or where the kernel has no part in it the hook.
    pub call: &'static str,
    /// The number of sends that passed a hook.
    pub hooked: u64,
    /// The number that reached the kernel; verbs do not, and what is above sockets is not the kernel's.
    pub kernel: Option<u64>,
    /// The number that reached the kernel past the hooks.
    pub bypassed: u64,
}

/// Why sends bypass the hooks, or may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// No dynamic linker.
    Static,
    /// It is for another processor, or of 32 bits.
    Foreign,
    /// It is for another C library.
    OtherLibc,
    /// It has more rights than its user: set-user-ID, set-group-ID, file capabilities.
    Privileged,
    /// The library was not preloaded into it.
    NotPreloaded,
    /// Sends submitted through a ring.
    IoUring,
    /// System calls made by other code than the C library.
    OwnSystemCalls,
    /// Sends from within the C library, or through its `syscall`.
    CLibrary,
    /// A system call that no hook is for.
    NoHook,
    /// Raw and packet sockets and the like.
    OtherSockets,
    /// A device that is written to directly.
    Doorbells,
    /// A program whose descriptors cannot be looked at.
    Hidden,
    /// MPI is linked into the program.
    StaticMpi,
    /// It gives up system calls.
    Sandbox,
    /// Its memory or threads are watched.
    Sanitizer,
    /// A library that sends was opened while it ran.
    OpenedLater,
}

/// Something that bypasses the hooks, or may.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The executable.
    pub program: PathBuf,
    /// The reason.
    pub kind: Kind,
    /// The same as a sentence.
    pub text: String,
}

/// The verdict on a run.
#[derive(Debug, Serialize)]
pub struct Verdict {
    /// The sends, by system call or hook.
    pub rows: Vec<Row>,
    /// The things that bypassed the hooks in this run.
    pub bypasses: Vec<Finding>,
    /// The things that did not, and could.
    pub may_bypass: Vec<Finding>,
    /// The things that bypass nothing, and matter under injection.
    pub notes: Vec<Finding>,
    /// The sentence at the end.
    pub conclusion: String,
    /// True if every send passed a hook, and there was one.
    pub sound: bool,
}
