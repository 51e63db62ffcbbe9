//! The counters of a process that has ended, as one line of JSON in a file.
//!
//! The report is an extra: a program is not disturbed because it cannot be written. A process may
//! end in a signal handler, so nothing is allocated here.

use std::ffi::CStr;
use std::fmt::{self, Write};
use std::sync::atomic::Ordering;

use super::{Hook, Page};
use crate::table::DelayUnit;
use crate::text::Text;
use jitterlab_base::named;

/// The end of a process, as far as its line tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The library was there.
    Exit,
    /// Past the library: by a signal, a system call of the program's own, or an `exec`. The counters are those of the
    /// page that was left.
    Unseen,
}

named!(Ended, Exit => "exit", Unseen => "unseen");

impl Page {
    /// Appends the counters to the file at `path`, once: whoever comes second does nothing. Whether they are there: a process may not be
    /// allowed to write them, and then whoever finds the page does.
    pub fn report(&self, path: &CStr, ended: Ended) -> bool {
        if self.reported.swap(1, Ordering::Relaxed) != 0 {
            return true;
        }
        let line = self.line(ended);
        let is_there = line.is_ok_and(|line| append(path, line.bytes()));
        if !is_there {
            self.reported.store(0, Ordering::Relaxed);
        }
        is_there
    }

    fn line(&self, ended: Ended) -> Result<Text, fmt::Error> {
        let totals = self.totals();
        let (pid, rank) = (self.head.owner().pid, &self.rank);
        let compensation_ns = f64::from_bits(self.compensation_ns.load(Ordering::Relaxed));
        let mut line = Text::new();
        write!(
            line,
            "{{\"pid\":{},\"rank\":{},\"ended\":\"{}\",\"calls\":{{",
            pid,
            rank.load(Ordering::Relaxed),
            ended.name()
        )?;
        for (index, hook) in Hook::ALL.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            let calls = totals.calls[*hook as usize];
            write!(line, "{comma}\"{}\":{calls}", hook.name())?;
        }
        write!(line, "}},\"delays\":{},", totals.delays)?;
        match self.head().1.unit {
            DelayUnit::Nanoseconds => write!(
                line,
                "\"asked_ns\":{},\"achieved_ns\":{},\"late_max_ns\":{}",
                totals.asked_ns, totals.achieved_ns, totals.late_max_ns
            ),
            // The paper's loop has no clock in it, so there is no time to tell.
            DelayUnit::Spins => write!(line, "\"asked_spins\":{}", totals.asked_ns),
        }?;
        writeln!(
            line,
            ",\"send_errors\":{},\"compensation_ns\":{compensation_ns:.1}}}",
            totals.send_errors
        )?;
        Ok(line)
    }
}

/// True if the line could be written. Straight to the kernel: the functions of the C library may be hooks.
fn append(path: &CStr, line: &[u8]) -> bool {
    let how = libc::O_WRONLY | libc::O_APPEND | libc::O_CREAT | libc::O_CLOEXEC;
    // SAFETY: a C string, and bytes that the caller lends.
    unsafe {
        let fd = libc::syscall(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), how, 0o666);
        if fd < 0 {
            return false;
        }
        let written = libc::syscall(libc::SYS_write, fd, line.as_ptr(), line.len());
        libc::syscall(libc::SYS_close, fd);
        usize::try_from(written) == Ok(line.len())
    }
}
