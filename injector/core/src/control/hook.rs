//! The functions through which sends are caught, and their families.

use jitterlab_base::named;

/// The functions through which a program's sends are caught.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(usize)]
pub enum Hook {
    /// `send`
    Send,
    /// `sendto`
    SendTo,
    /// `sendmsg`
    SendMsg,
    /// `sendmmsg`
    SendMMsg,
    /// `write` on a socket
    Write,
    /// `writev` on a socket
    WriteV,
    /// `ibv_post_send`
    PostSend,
    /// `ibv_wr_start` … `ibv_wr_complete`
    WorkRequest,
    /// `MPI_Send` and the other calls that send from one rank to another
    MpiSend,
    /// `MPI_Put` and the other one-sided calls
    MpiRma,
    /// `MPI_Allreduce` and the other collective calls
    MpiCollective,
    /// An operation of an endpoint of UCT
    UctPost,
}

/// A choice of `--hook`: hooks that belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HookFamily {
    /// RDMA verbs.
    Verbs,
    /// Sockets of UDP and TCP.
    Socket,
    /// MPI's sends: from one rank to another, and one-sided.
    Mpi,
    /// MPI's collectives.
    MpiCollectives,
    /// UCX's transports.
    Uct,
}

impl HookFamily {
    /// Those that are on where nobody chooses: the lowest layer that there is. The others lie above
    /// it, and with them a message would be delayed twice.
    pub const DEFAULT: [HookFamily; 2] = [HookFamily::Verbs, HookFamily::Socket];

    /// True if its sends can be deferred: what they send is known well enough to be copied.
    pub fn defers(self) -> bool {
        matches!(self, HookFamily::Verbs | HookFamily::Socket)
    }

    /// Its bit in a set of families.
    pub fn bit(self) -> u32 {
        1 << self as u32
    }
}

named!(
    HookFamily, "a hook",
    Verbs => "verbs",
    Socket => "socket",
    Mpi => "mpi",
    MpiCollectives => "mpi-collectives",
    Uct => "uct",
);

// The function's name, or that of the group of functions.
named!(
    Hook,
    Send => "send",
    SendTo => "sendto",
    SendMsg => "sendmsg",
    SendMMsg => "sendmmsg",
    Write => "write",
    WriteV => "writev",
    PostSend => "ibv_post_send",
    WorkRequest => "ibv_wr_start",
    MpiSend => "mpi_send",
    MpiRma => "mpi_rma",
    MpiCollective => "mpi_collective",
    UctPost => "uct_ep",
);

impl Hook {
    /// The family it belongs to.
    pub const fn family(self) -> HookFamily {
        match self {
            Hook::Send
            | Hook::SendTo
            | Hook::SendMsg
            | Hook::SendMMsg
            | Hook::Write
            | Hook::WriteV => HookFamily::Socket,
            Hook::PostSend | Hook::WorkRequest => HookFamily::Verbs,
            Hook::MpiSend | Hook::MpiRma => HookFamily::Mpi,
            Hook::MpiCollective => HookFamily::MpiCollectives,
            Hook::UctPost => HookFamily::Uct,
        }
    }
}
