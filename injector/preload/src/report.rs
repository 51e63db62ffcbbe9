//! The counters of a process that ends, as one line of JSON in a file.
//!
//! The report is an extra: a program is not disturbed because it cannot be written. A process may
//! end in a signal handler, so nothing is allocated here.

#![allow(unsafe_code)]

use std::ffi::CString;
use std::fmt::{self, Write};

use jitterlab_injector::control::Hook;
use jitterlab_injector::delay::Injection;

use crate::text::Text;

fn line(injection: &Injection) -> Result<Text, fmt::Error> {
    let totals = injection.page().totals();
    let mut line = Text::new();
    let (pid, rank) = (std::process::id(), injection.rank());
    write!(line, "{{\"pid\":{pid},\"rank\":{rank},\"calls\":{{")?;
    for (index, hook) in Hook::ALL.iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        let calls = totals.calls[*hook as usize];
        write!(line, "{comma}\"{}\":{calls}", hook.name())?;
    }
    writeln!(
        line,
        "}},\"delays\":{},\"asked_ns\":{},\"achieved_ns\":{},\"late_max_ns\":{},\
         \"send_errors\":{},\"compensation_ns\":{:.1}}}",
        totals.delays,
        totals.asked_ns,
        totals.achieved_ns,
        totals.late_max_ns,
        totals.send_errors,
        injection.compensation_ns(),
    )?;
    Ok(line)
}

/// Appends the counters of `injection` to the file at `path`. Takes the path for good, because to
/// free it is not for a signal handler.
pub(crate) fn append(path: CString, injection: &Injection) {
    let Ok(line) = line(injection) else {
        return;
    };
    let how = libc::O_WRONLY | libc::O_APPEND | libc::O_CREAT | libc::O_CLOEXEC;
    // SAFETY: a C string, and bytes that are ours; straight to the kernel, past our own hooks.
    unsafe {
        let fd = libc::syscall(
            libc::SYS_openat,
            libc::AT_FDCWD,
            path.into_raw(),
            how,
            0o666,
        );
        if fd >= 0 {
            libc::syscall(
                libc::SYS_write,
                fd,
                line.bytes().as_ptr(),
                line.bytes().len(),
            );
            libc::syscall(libc::SYS_close, fd);
        }
    }
}
