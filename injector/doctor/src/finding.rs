//! What the doctor has to say of a run.

use std::path::PathBuf;

use serde::Serialize;

/// The sends of one kind, of everything that ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Row {
    /// The system call, or where the kernel has no part in it the hook.
    pub call: &'static str,
    /// How many passed a hook.
    pub hooked: u64,
    /// How many reached the kernel; verbs do not, and what is above sockets is not the kernel's.
    pub kernel: Option<u64>,
    /// How many reached the kernel past the hooks.
    pub bypassed: u64,
}

/// Why sends bypass the hooks, or may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// No dynamic linker.
    Static,
    /// For another processor, or of 32 bits.
    Foreign,
    /// For another C library.
    OtherLibc,
    /// More rights than its user: set-user-ID, set-group-ID, file capabilities.
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
    /// Why.
    pub kind: Kind,
    /// The same as a sentence.
    pub text: String,
}

/// What there is to say of a run.
#[derive(Debug, Serialize)]
pub struct Verdict {
    /// The sends, by system call or hook.
    pub rows: Vec<Row>,
    /// What bypassed the hooks in this run.
    pub bypasses: Vec<Finding>,
    /// What did not, and could.
    pub may_bypass: Vec<Finding>,
    /// What bypasses nothing, and matters under injection.
    pub notes: Vec<Finding>,
    /// The sentence at the end.
    pub conclusion: String,
    /// Whether every send passed a hook, and there was one.
    pub sound: bool,
}
