//! Logs that no endpoint has open.

use std::ffi::c_char;
use std::path::Path;

use jitterlab_amvia::log::set_aside;

use crate::error::{AM_Error, guard};
use crate::memory::{self, Room};

/// Bytes of a name that is longer than that of the log: `.aside-`, a number, and the zero byte.
const MORE: usize = ".aside-4294967295".len() + 1;

/// Gives the log at `log` another name beside it, so that an endpoint can begin a new one: `log` with ".aside-1" behind it, or
/// with the first number that is free. No endpoint may have it open. What became of the transactions in it is then unknown to
/// its endpoint for good. The new name goes to `room` bytes at `name`, the zero byte at the end among them: 18 bytes more than
/// `log` has are asked for. With a null pointer and 0 it goes nowhere.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AMVIA_SetAside(
    log: *const c_char,
    name: *mut c_char,
    room: usize,
) -> AM_Error {
    guard(|| {
        // SAFETY: the program's promise, see the head of amvia.h.
        let (log, name) = unsafe { (memory::text("log", log)?, Room::new("name", name, room)?) };
        if name.most() > 0 {
            name.holds(log.len() + MORE)?;
        }
        let aside = set_aside(Path::new(log))?;
        match name.most() {
            0 => Ok(()),
            _ => name.text(&aside.to_string_lossy()),
        }
    })
}
