//! MPI: the calls that send from one rank to another, one-sided calls, and collectives.
//!
//! A hook hands on the words that it was given, whatever they are, so one library serves every
//! MPI: handles are pointers in one and integers in another, and all are words. C programs enter by
//! `MPI_Send` or, for large counts, `MPI_Send_c`; Fortran programs by one of the spellings of
//! `mpi_send`, or by that of the module `mpi_f08`. Where an MPI's Fortran functions call the C ones
//! by their names (MPICH), what enters by the former comes past the latter, and is delayed there.
//!
//! [`calls`] is the list of what is caught, [`content`] and [`collective`] say what is sent, and
//! [`requests`] remembers what was made to be started later.

#![allow(unsafe_code)]

use std::ffi::{CStr, c_int, c_void};
use std::sync::atomic::{AtomicU8, Ordering};

use jitterlab_injector::control::Hook;

use crate::objects;
use crate::real::real_dlsym;
use crate::{state, trace};
use content::Sends;
use library::Language;

pub(crate) use calls::Call;

/// What a call gives when there is no such function: an error, in every MPI.
#[cold]
#[inline(never)]
fn missing() -> c_int {
    -1
}

/// How what a Fortran function does reaches the MPI.
struct Way(AtomicU8);

impl Way {
    const UNKNOWN: u8 = 0;
    const DIRECT: u8 = 1;
    const BY_C: u8 = 2;

    /// Of a C function, or of one of which it is not known yet. Those of `mpi_f08` by these names call
    /// no C function by a name that is caught, in any MPI; MPICH's others, whose names are not caught
    /// (`mpi_send_f08ts_`), do.
    const fn new(language: Language) -> Self {
        Way(AtomicU8::new(match language {
            Language::Fortran => Way::UNKNOWN,
            Language::C | Language::LargeC | Language::Fortran2008 => Way::DIRECT,
        }))
    }

    #[inline(always)]
    fn is_direct(&self) -> bool {
        self.0.load(Ordering::Relaxed) == Way::DIRECT
    }

    /// The same, found out if it is not known: whether the object with the function `real` does
    /// not refer to the C function.
    fn found_direct(&self, real: *mut c_void, c_function: &CStr) -> bool {
        if self.0.load(Ordering::Relaxed) == Way::UNKNOWN {
            let way = match objects::refers_to(real, c_function) {
                true => Way::BY_C,
                false => Way::DIRECT,
            };
            self.0.store(way, Ordering::Relaxed);
        }
        self.is_direct()
    }
}

/// Waits, and records what is sent.
fn pass(hook: Hook, language: Language, call: Call, content: &impl Sends) {
    if !content.sends(language) {
        return;
    }
    if trace::is_on() {
        content.record(language, call);
    }
    if let Some(injection) = state::installed(hook.family()) {
        state::pass_undeferred(injection, hook);
    }
}

/// A hook of the function `$name`, whose arguments are so many words.
///
/// Switched off, it is a few loads and a jump to the real function; with a table of zeros it
/// calls nothing either. Whatever else there is to do is done by `with_care`.
macro_rules! hook {
    (
        $language:ident $name:expr, $profiling:expr, $c_name:expr;
        ($($argument:ident)*) $hook:ident $content:expr
    ) => {
        on_cache_lines!(concat!(".text.jitterlab.", $name));

        const _: () = {
            type Function = unsafe extern "C" fn($($argument: usize),*) -> c_int;
            static REAL: Real<Function> =
                // SAFETY: an MPI's functions take words, integers among them whose upper half does
                // not matter, and give an error, or in Fortran nothing.
                unsafe { Real::profiled(c_name!($name), c_name!($profiling)) };
            static WAY: Way = Way::new(Language::$language);

            // With nothing to wait for, but nobody has looked for the function yet.
            #[cold]
            #[inline(never)]
            unsafe extern "C" fn first($($argument: usize),*) -> c_int {
                match REAL.get() {
                    // SAFETY: called with the caller's own arguments.
                    Some(real) => unsafe { real($($argument),*) },
                    None => missing(),
                }
            }

            #[cold]
            #[inline(never)]
            #[allow(unused_variables)]
            unsafe extern "C" fn with_care($($argument: usize),*) -> c_int {
                let Some(real) = REAL.get() else {
                    return missing();
                };
                state::enter();
                if WAY.found_direct(real as *mut c_void, c_name!($c_name)) {
                    let call = const { Call::named($c_name) };
                    pass(Hook::$hook, Language::$language, call, &$content);
                }
                // SAFETY: called with the caller's own arguments.
                unsafe { real($($argument),*) }
            }

            // With nothing to wait for. Not by a function's address that is first that of `first`: see the hooks of sockets.
            #[inline(always)]
            unsafe extern "C" fn now($($argument: usize),*) -> c_int {
                match REAL.found() {
                    // SAFETY: called with the caller's own arguments.
                    Some(real) => unsafe { real($($argument),*) },
                    // SAFETY: likewise.
                    None => unsafe { first($($argument),*) },
                }
            }

            #[allow(unused_variables)]
            #[unsafe(export_name = $name)]
            #[unsafe(link_section = concat!(".text.jitterlab.", $name))]
            unsafe extern "C" fn hook($($argument: usize),*) -> c_int {
                let look = state::look(const { Hook::$hook.family() });
                if look.is_off() {
                    // SAFETY: called with the caller's own arguments.
                    return unsafe { now($($argument),*) };
                }
                let at_once = look.goes_at_once(Hook::$hook, || {
                    WAY.is_direct()
                        && !trace::is_on()
                        && $content.sends(Language::$language)
                });
                if at_once {
                    // SAFETY: called with the caller's own arguments.
                    unsafe { now($($argument),*) }
                } else {
                    // SAFETY: called with the caller's own arguments.
                    unsafe { with_care($($argument),*) }
                }
            }
        };
    };
}

/// A hook of a function that makes requests, starts them or takes one away, with what is done before it,
/// and after it where it succeeded.
macro_rules! around {
    (
        $language:ident $name:expr, $profiling:expr, $c_name:expr;
        ($($argument:ident)*) $before:expr; $after:expr
    ) => {
        const _: () = {
            type Function = unsafe extern "C" fn($($argument: usize),*) -> c_int;
            static REAL: Real<Function> =
                // SAFETY: as for `hook`.
                unsafe { Real::profiled(c_name!($name), c_name!($profiling)) };
            static WAY: Way = Way::new(Language::$language);

            #[unsafe(export_name = $name)]
            #[allow(unused_variables)]
            unsafe extern "C" fn hook($($argument: usize),*) -> c_int {
                let Some(real) = REAL.get() else {
                    return missing();
                };
                let minds = requests::are_minded()
                    && WAY.found_direct(real as *mut c_void, c_name!($c_name));
                let language = Language::$language;
                if minds {
                    $before(language);
                }
                // SAFETY: called with the caller's own arguments.
                let outcome = unsafe { real($($argument),*) };
                // SAFETY: the arguments of a call that has returned; in Fortran the last takes the error.
                if minds && unsafe { language.has_succeeded(outcome, &[$($argument),*]) } {
                    $after(language);
                }
                outcome
            }
        };
    };
}

/// Makes a hook for each spelling of a function whose name begins with `$mpi`: in C, in C with large
/// counts, in Fortran as compilers write names, and in the module `mpi_f08`. In Fortran, an argument
/// more takes the error.
macro_rules! spellings {
    (
        $make:ident $mpi:literal $mpi_lower:literal $name:expr, $lower:expr, $upper:expr;
        ($($argument:ident)*) $($rest:tt)*
    ) => {
        $make! { C concat!($mpi, "_", $name), concat!("P", $mpi, "_", $name), concat!($mpi, "_", $name);
            ($($argument)*) $($rest)* }
        $make! { LargeC concat!($mpi, "_", $name, "_c"), concat!("P", $mpi, "_", $name, "_c"),
            concat!($mpi, "_", $name); ($($argument)*) $($rest)* }
        $make! { Fortran concat!($mpi_lower, "_", $lower, "_"), concat!("p", $mpi_lower, "_", $lower, "_"),
            concat!($mpi, "_", $name); ($($argument)* error) $($rest)* }
        $make! { Fortran concat!($mpi_lower, "_", $lower), concat!("p", $mpi_lower, "_", $lower),
            concat!($mpi, "_", $name); ($($argument)* error) $($rest)* }
        $make! { Fortran concat!($mpi_lower, "_", $lower, "__"), concat!("p", $mpi_lower, "_", $lower, "__"),
            concat!($mpi, "_", $name); ($($argument)* error) $($rest)* }
        $make! { Fortran concat!($mpi, "_", $upper), concat!("P", $mpi, "_", $upper),
            concat!($mpi, "_", $name); ($($argument)* error) $($rest)* }
        $make! { Fortran2008 concat!($mpi_lower, "_", $lower, "_f08_"),
            concat!("p", $mpi_lower, "_", $lower, "_f08_"),
            concat!($mpi, "_", $name); ($($argument)* error) $($rest)* }
    };
}

mod calls;
mod collective;
mod content;
mod library;
mod requests;

/// Our hook of the function `name`, for programs that look it up in the object `handle`.
pub(super) fn hook_of(handle: *mut c_void, name: &CStr) -> Option<*const c_void> {
    let bytes = name.to_bytes();
    if !bytes.starts_with(b"MPI") && !bytes.starts_with(b"mpi") {
        return None;
    }
    let hook = objects::own_function(name);
    // SAFETY: the caller's own look-up. Who looks whether there is such a function is told the truth.
    let there = !hook.is_null() && !unsafe { real_dlsym()(handle, name.as_ptr()) }.is_null();
    there.then_some(hook.cast_const())
}
