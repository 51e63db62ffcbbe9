//! Programs that become others, or start them: what is deferred goes first, and the other program
//! is told its lineage.

#![allow(unsafe_code)]

use std::ffi::{CStr, c_char};

use jitterlab_injector::environment::{LINEAGE, NO_LINEAGE};

use crate::{defer, state};

/// An environment: pointers to `NAME=VALUE`, the last one null.
pub(super) type Environment = *const *const c_char;

unsafe extern "C" {
    static environ: Environment;
}

/// The process becomes another program. True, as the next one is: nothing is refused.
pub(super) fn becomes(environment: Environment) -> bool {
    defer::settle_all();
    if state::injection().is_some() {
        tell(environment, state::successor());
    }
    true
}

/// The process starts another program in a child that is not forked.
pub(super) fn starts(environment: Environment) -> bool {
    defer::settle_for_child();
    if state::injection().is_some() {
        tell(environment, state::next_program());
    }
    true
}

/// The environment of the process itself.
pub(super) fn own() -> Environment {
    // SAFETY: the C library's variable, read as it reads it.
    unsafe { environ }
}

/// Writes the lineage into the variable that `jitterlab inject run` has made room for. Shells
/// keep their environment themselves, so only the one that is handed over will do.
fn tell(environment: Environment, lineage: u64) {
    let digits: [u8; NO_LINEAGE.len()] =
        std::array::from_fn(|at| b"0123456789abcdef"[(lineage >> (60 - 4 * at) & 15) as usize]);
    let Some(place) = place(environment) else {
        return;
    };
    // SAFETY: as many digits lie there, in the environment that the program hands over. That is what `jitterlab inject run` put into
    // it, on the stack of a new program, or a copy that the program made. Nothing in this process reads it after the library is up.
    unsafe {
        std::ptr::copy_nonoverlapping(digits.as_ptr(), place.cast_mut().cast(), digits.len())
    };
}

/// The place of the digits.
fn place(mut variable: Environment) -> Option<*const c_char> {
    if variable.is_null() {
        return None;
    }
    // SAFETY: the caller has handed an environment to the C library: strings, and a null.
    unsafe {
        while !(*variable).is_null() {
            let text = CStr::from_ptr(*variable).to_bytes();
            let digits = text.strip_prefix(LINEAGE.as_bytes());
            let digits = digits.and_then(|rest| rest.strip_prefix(b"="));
            if digits.is_some_and(|digits| digits.len() == NO_LINEAGE.len()) {
                return Some((*variable).add(LINEAGE.len() + 1));
            }
            variable = variable.add(1);
        }
    }
    None
}
