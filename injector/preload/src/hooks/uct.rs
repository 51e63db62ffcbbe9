//! UCX's transports, below whatever UCX is used for: MPI's collectives, say, or doorbells that it writes itself.
//!
//! A program sends by the operations of an endpoint, which go through pointers in the interface that the
//! endpoint belongs to. They are replaced in every interface that `uct_iface_open` gives. Where they are
//! depends on the version of UCX ([`crate::abi::uct`]), so one that is not known is left alone.

#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use jitterlab_injector::control::{Hook, HookFamily};

use super::slots::replace;
use crate::abi::uct;
use crate::interpose::interposed;
use crate::lifecycle::say;
use crate::objects::Object;
use crate::state;

type Open = unsafe extern "C" fn(
    *mut c_void,
    *mut c_void,
    *const c_void,
    *const c_void,
    *mut *mut *mut c_void,
) -> c_int;
type Version = unsafe extern "C" fn() -> *const c_char;

/// Distinct originals of an operation that can be hooked: one for each transport, or for several.
const SLOTS: usize = 16;
static ORIGINALS: [[AtomicPtr<c_void>; SLOTS]; uct::OPERATIONS] =
    [const { [const { AtomicPtr::new(std::ptr::null_mut()) }; SLOTS] }; uct::OPERATIONS];

/// The hooks of operations of so many words; what they give is a word, or part of one. A word too many in a
/// register does no harm.
macro_rules! operations_of {
    ($name:ident($($argument:ident),*)) => {
        unsafe extern "C" fn $name<const OPERATION: usize, const SLOT: usize>(
            $($argument: usize),*
        ) -> usize {
            type Function = unsafe extern "C" fn($($argument: usize),*) -> usize;

            #[inline(always)]
            fn real<const OPERATION: usize, const SLOT: usize>() -> Function {
                // SAFETY: the hook is in an interface only after `replace` stored the original here,
                // which takes words.
                unsafe {
                    let real = ORIGINALS[OPERATION][SLOT].load(Ordering::Relaxed);
                    std::mem::transmute::<*mut c_void, Function>(real)
                }
            }

            /// Apart from the hook, so that one that is off is a few loads and a jump. An operation that
            /// finds no room is tried again by its caller, and that is another one.
            #[inline(never)]
            unsafe extern "C" fn on<const OPERATION: usize, const SLOT: usize>(
                $($argument: usize),*
            ) -> usize {
                state::enter();
                if let Some(injection) = state::installed(HookFamily::Uct) {
                    state::pass_undeferred(injection, Hook::UctPost);
                }
                // SAFETY: called with the caller's own arguments.
                unsafe { real::<OPERATION, SLOT>()($($argument),*) }
            }

            if state::is_off(HookFamily::Uct) {
                // SAFETY: called with the caller's own arguments.
                unsafe { real::<OPERATION, SLOT>()($($argument),*) }
            } else {
                // SAFETY: called with the caller's own arguments.
                unsafe { on::<OPERATION, SLOT>($($argument),*) }
            }
        }
    };
}

operations_of!(up_to_six(a, b, c, d, e, f));
operations_of!(of_seven(a, b, c, d, e, f, g));
operations_of!(of_eight(a, b, c, d, e, f, g, h));

/// Replaces operations in the table at `$table` by these hooks.
macro_rules! hook_operations {
    ($table:ident: $($operation:ident by $hook:ident;)*) => {$(
        hook_operations!(@ $table $operation $hook 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
    )*};
    (@ $table:ident $operation:ident $hook:ident $($slot:literal)*) => {
        replace(
            $table.add(uct::$operation),
            &ORIGINALS[uct::$operation],
            [$($hook::<{ uct::$operation }, $slot> as *const () as *mut c_void),*],
        )
    };
}

/// Hooks an interface that a transport has just made.
///
/// # Safety
/// `table` is a `uct_iface_t` of the version that is known, and nobody uses it yet.
unsafe fn hook_interface(table: *mut *mut c_void) {
    // SAFETY: an interface begins with its operations; each has as many words as is said here, or fewer.
    unsafe {
        hook_operations! { table:
            PUT_SHORT by up_to_six;
            PUT_BCOPY by up_to_six;
            PUT_ZCOPY by up_to_six;
            GET_SHORT by up_to_six;
            GET_BCOPY by of_seven;
            GET_ZCOPY by up_to_six;
            AM_SHORT by up_to_six;
            AM_SHORT_IOV by up_to_six;
            AM_BCOPY by up_to_six;
            AM_ZCOPY by of_eight;
            ATOMIC_CSWAP64 by of_seven;
            ATOMIC_CSWAP32 by of_seven;
            ATOMIC32_POST by up_to_six;
            ATOMIC64_POST by up_to_six;
            ATOMIC32_FETCH by of_seven;
            ATOMIC64_FETCH by of_seven;
            TAG_EAGER_SHORT by up_to_six;
            TAG_EAGER_BCOPY by up_to_six;
            TAG_EAGER_ZCOPY by of_eight;
            TAG_RNDV_ZCOPY by of_eight;
            TAG_RNDV_REQUEST by up_to_six;
        }
    }
}

/// True if the UCX that an object calls is one whose interfaces are known; if not, says so once.
fn is_known(caller: &Object) -> bool {
    static SAID: AtomicBool = AtomicBool::new(false);
    let version = caller.look_up(c"ucp_get_version_string");
    let version = (!version.is_null()).then(|| {
        // SAFETY: the prototype is that of libucp; it gives a string that stays.
        unsafe {
            let version = std::mem::transmute::<*mut c_void, Version>(version);
            CStr::from_ptr(version())
        }
        .to_string_lossy()
    });
    let known = version
        .as_ref()
        .is_some_and(|version| version.starts_with(uct::VERSION));
    if !known && !SAID.swap(true, Ordering::Relaxed) {
        let version = version.unwrap_or("of unknown version".into());
        let known = uct::VERSION;
        say(&format!(
            "the uct hook is off: this is UCX {version}, and it knows {known}x"
        ));
    }
    known
}

unsafe extern "C" fn iface_open<const SLOT: usize>(
    domain: *mut c_void,
    worker: *mut c_void,
    parameters: *const c_void,
    config: *const c_void,
    interface: *mut *mut *mut c_void,
) -> c_int {
    // SAFETY: this function is called in the place of one that has its name, which was stored before; the prototype, in words, is that of
    // libuct. It is called with the caller's own arguments; where the status, a byte in a register, is 0, an
    // interface was made, and the caller does not have it yet.
    unsafe {
        let real = std::mem::transmute::<*mut c_void, Open>(IFACE_OPEN[SLOT].original());
        let status = real(domain, worker, parameters, config, interface);
        if status as u8 == 0 {
            hook_interface(*interface);
        }
        status
    }
}

interposed!(c"uct_iface_open", iface_open, IFACE_OPEN;
    asked || state::installed(HookFamily::Uct).is_some(); known is_known);
