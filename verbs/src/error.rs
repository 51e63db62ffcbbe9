use std::io;

use jitterlab_base::input::OfInput;
use thiserror::Error as ThisError;

/// Why something cannot be done over verbs.
#[derive(Debug, ThisError)]
pub enum Error {
    /// libibverbs is not there.
    #[error(
        "this machine has no libibverbs.so.1, which carries verbs; install libibverbs1 and ibverbs-providers \
         (Debian, Ubuntu) or libibverbs (RHEL)"
    )]
    NoLibrary,
    /// There is no device.
    #[error(
        "this machine has no RDMA device; without such hardware, `rdma link add rxe0 type rxe netdev \
         eth0` makes a software one (Soft-RoCE) on eth0"
    )]
    NoDevice,
    /// There is none of this name.
    #[error("there is no RDMA device {name}; there is {present}")]
    NoSuchDevice {
        /// The name.
        name: String,
        /// Those that are there, in words.
        present: String,
    },
    /// No port can carry anything.
    #[error(
        "no port of {devices} is active; `rdma link` shows the ports. For Soft-RoCE, the network device below \
         has to be up and have an address"
    )]
    NoActivePort {
        /// The devices, in words.
        devices: String,
    },
    /// The port has no address of the kind that is needed.
    #[error("port {port} of {device} has no {wanted}; give its network device an address")]
    NoGid {
        /// The device.
        device: String,
        /// Its port.
        port: u8,
        /// The missing thing.
        wanted: String,
    },
    /// The port carries no packets of this length.
    #[error("port {port} of {device} carries packets of up to {most} bytes now, not {wanted}")]
    Mtu {
        /// The device.
        device: String,
        /// Its port.
        port: u8,
        /// The bytes that were asked for.
        wanted: u16,
        /// Its active MTU, in bytes.
        most: u16,
    },
    /// There is not as much memory.
    #[error("cannot allocate {length} bytes")]
    Memory {
        /// The length, in bytes.
        length: usize,
    },
    /// A call failed.
    #[error("{call} failed on {device}{hint}")]
    Call {
        /// The call.
        call: &'static str,
        /// The device.
        device: String,
        /// The advice, if there is one.
        hint: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// A work request did not complete.
    #[error("{meaning} (status {status}, vendor error {vendor:#x})")]
    Completion {
        /// The words of libibverbs about the status.
        meaning: String,
        /// The status.
        status: u32,
        /// The device's own code.
        vendor: u32,
    },
}

impl Error {
    /// True if it is that of a call.
    pub fn is_of(&self, name: &str) -> bool {
        matches!(self, Error::Call { call, .. } if *call == name)
    }

    /// The error of a call that has left it in errno.
    pub(crate) fn of_errno(call: &'static str, device: &str) -> Self {
        Error::of_call(call, device, io::Error::last_os_error())
    }

    /// The error of a call that has given it back.
    pub(crate) fn of_code(call: &'static str, device: &str, code: i32) -> Self {
        // Providers disagree about the sign.
        Error::of_call(call, device, io::Error::from_raw_os_error(code.abs()))
    }

    /// The error of a call that failed in this way.
    pub(crate) fn of_call(call: &'static str, device: &str, source: io::Error) -> Self {
        Error::Call {
            call,
            device: device.into(),
            hint: hint(call, source.kind()),
            source,
        }
    }
}

impl OfInput for Error {
    fn is_of_input(&self) -> bool {
        matches!(
            self,
            Error::NoSuchDevice { .. } | Error::NoGid { .. } | Error::Mtu { .. }
        )
    }
}

fn hint(call: &str, kind: io::ErrorKind) -> &'static str {
    match (call, kind) {
        ("ibv_reg_mr" | "ibv_create_cq" | "ibv_create_qp", io::ErrorKind::OutOfMemory) => {
            "; raise the limit of locked memory: `ulimit -l unlimited`, or memlock in \
             /etc/security/limits.d"
        }
        ("ibv_open_device", io::ErrorKind::PermissionDenied) => {
            "; this user has to be allowed to read and write /dev/infiniband/uverbs*"
        }
        ("ibv_modify_qp to RTR" | "ibv_create_ah", _) => {
            "; can the two devices reach each other? Name another device or GID index"
        }
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::errno::Errno;

    #[test]
    fn what_to_do_is_said_where_that_is_known() {
        for (call, errno, part) in [
            (
                "ibv_reg_mr",
                Errno::ENOMEM,
                "ibv_reg_mr failed on rxe0; raise the limit of locked memory",
            ),
            ("ibv_open_device", Errno::EACCES, "/dev/infiniband/uverbs*"),
            (
                "ibv_modify_qp to RTR",
                Errno::ETIMEDOUT,
                "can the two devices reach each other?",
            ),
            (
                "ibv_create_qp",
                Errno::EINVAL,
                "ibv_create_qp failed on rxe0",
            ),
        ] {
            // The code has either sign.
            for code in [errno as i32, -(errno as i32)] {
                let error = Error::of_code(call, "rxe0", code);
                assert!(error.to_string().contains(part), "{error}");
                assert!(error.is_of(call) && !error.is_of("ibv_poll_cq"));
            }
        }
    }
}
