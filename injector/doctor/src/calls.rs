//! The system calls that can carry data from a program to the network, and the sockets that it
//! leaves through.

use jitterlab_base::named;
use jitterlab_injector::control::Hook;
use rustix::io::Errno;

/// A system call that sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Call {
    SendTo,
    SendMsg,
    SendMMsg,
    Write,
    WriteV,
    PWriteV2,
    SendFile,
    Splice,
    /// Submits whatever is in a ring, sends perhaps.
    IoUringEnter,
}

named!(
    Call,
    SendTo => "sendto",
    SendMsg => "sendmsg",
    SendMMsg => "sendmmsg",
    Write => "write",
    WriteV => "writev",
    PWriteV2 => "pwritev2",
    SendFile => "sendfile",
    Splice => "splice",
    IoUringEnter => "io_uring_enter",
);

impl Call {
    /// Its number, the argument that is the descriptor it sends on, and the hooks through
    /// which it is reached.
    fn facts(self) -> (libc::c_long, usize, &'static [Hook]) {
        match self {
            Call::SendTo => (libc::SYS_sendto, 0, &[Hook::Send, Hook::SendTo]),
            Call::SendMsg => (libc::SYS_sendmsg, 0, &[Hook::SendMsg]),
            Call::SendMMsg => (libc::SYS_sendmmsg, 0, &[Hook::SendMMsg]),
            Call::Write => (libc::SYS_write, 0, &[Hook::Write]),
            Call::WriteV => (libc::SYS_writev, 0, &[Hook::WriteV]),
            Call::PWriteV2 => (libc::SYS_pwritev2, 0, &[]),
            Call::SendFile => (libc::SYS_sendfile, 0, &[]),
            Call::Splice => (libc::SYS_splice, 2, &[]),
            Call::IoUringEnter => (libc::SYS_io_uring_enter, 0, &[]),
        }
    }

    /// The call of that number.
    pub fn of(number: libc::c_long) -> Option<Self> {
        Call::ALL.into_iter().find(|call| call.facts().0 == number)
    }

    /// The argument that is the descriptor which it sends on.
    pub fn descriptor(self) -> usize {
        self.facts().1
    }

    /// The hooks through which it is reached.
    pub fn hooks(self) -> &'static [Hook] {
        self.facts().2
    }
}

/// The target that a descriptor sends to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Socket {
    /// UDP or TCP and the like: what the socket hooks delay.
    Hooked,
    /// A network that they leave alone: raw and packet sockets, SCTP.
    OtherNetwork,
    /// No network: files, pipes, sockets within the machine.
    Local,
    /// The system does not let this user know it.
    Hidden,
}

/// The socket at the descriptor `fd` of a process. The kernel gives the name of a socket's protocol
/// as an extended attribute, whatever network namespace it is in.
pub fn socket(pid: i32, fd: u64) -> Socket {
    let mut name = [0u8; 32];
    let path = format!("/proc/{pid}/fd/{}", fd as u32);
    let length = match rustix::fs::getxattr(path, "system.sockprotoname", &mut name) {
        Ok(length) => length,
        Err(Errno::ACCESS | Errno::PERM) => return Socket::Hidden,
        Err(_) => return Socket::Local,
    };
    let name = name[..length].split(|&byte| byte == 0).next();
    match name.unwrap_or_default() {
        b"TCP" | b"TCPv6" | b"UDP" | b"UDPv6" | b"UDP-Lite" | b"UDPLITEv6" | b"MPTCP"
        | b"MPTCPv6" | b"PING" | b"PINGv6" => Socket::Hooked,
        b"RAW" | b"RAWv6" | b"PACKET" | b"SCTP" | b"SCTPv6" | b"XDP" | b"TIPC" | b"RDS" => {
            Socket::OtherNetwork
        }
        _ => Socket::Local,
    }
}

/// True if a process has a socket open that the socket hooks would delay.
pub fn has_hooked_socket(pid: i32) -> bool {
    let descriptors = std::fs::read_dir(format!("/proc/{pid}/fd"));
    descriptors.into_iter().flatten().any(|entry| {
        let fd = entry
            .ok()
            .and_then(|e| e.file_name().to_str()?.parse().ok());
        fd.is_some_and(|fd| socket(pid, fd) == Socket::Hooked)
    })
}
