//! MPI: the calls that send from one rank to another, one-sided calls, and collectives.
//!
//! A hook hands on the words that it was given, whatever they are, so one library serves every MPI:
//! handles are pointers in one and integers in another, and all are words. C programs call
//! `MPI_Send` or, for large counts, `MPI_Send_c`. Fortran programs call one of the spellings of
//! `mpi_send`, or the one of the module `mpi_f08`. If an MPI's Fortran functions call the C ones by
//! their names (MPICH), a call of the former comes past the latter, and is delayed there.
//!
//! [`calls`] is the list of what is caught, [`content`] and [`collective`] say what is sent, and
//! [`requests`] remembers what was made to be started later.

#![allow(unsafe_code)]

pub(crate) use call::Call;

/// The doors of a name, one for each of its slots.
macro_rules! doors {
    ($language:ident $slots:ident) => {
        [
            Door::new(Language::$language, &$slots[0]),
            Door::new(Language::$language, &$slots[1]),
            Door::new(Language::$language, &$slots[2]),
            Door::new(Language::$language, &$slots[3]),
        ]
    };
}

/// A hook of the function `$name`, whose arguments are so many words.
///
/// Switched off, it is a few loads and a jump to the real function; with a table of zeros it
/// calls nothing either. Whatever else there is to do is done by `with_care`.
macro_rules! hook {
    (
        $language:ident $name:expr, $c_name:expr;
        ($($argument:ident)*) $hook:ident $content:expr
    ) => {
        on_cache_lines!(concat!(".text.jitterlab.", $name));

        const _: () = {
            type Function = unsafe extern "C" fn($($argument: usize),*) -> c_int;
            static DOORS: [Door; SLOTS] = doors!($language SLOT_OF);
            interposed!(c_name!($name), hook, SLOT_OF;
                asked || state::installed(const { Hook::$hook.family() }).is_some();
                known |_| true);

            #[inline(always)]
            fn real<const SLOT: usize>() -> Function {
                // SAFETY: the hook is called in the place of a function that has its name, which was stored before. An MPI's
                // functions take words, integers among them whose upper half does not matter, and give an error, or in
                // Fortran nothing.
                unsafe { std::mem::transmute::<*mut c_void, Function>(SLOT_OF[SLOT].original()) }
            }

            #[cold]
            #[inline(never)]
            #[allow(unused_variables)]
            unsafe extern "C" fn with_care<const SLOT: usize>($($argument: usize),*) -> c_int {
                state::enter();
                if DOORS[SLOT].is_found_direct(c_name!($c_name)) {
                    let call = const { Call::named($c_name) };
                    pass(Hook::$hook, &DOORS[SLOT], call, &$content);
                }
                // SAFETY: called with the caller's own arguments.
                unsafe { real::<SLOT>()($($argument),*) }
            }

            #[allow(unused_variables)]
            #[unsafe(link_section = concat!(".text.jitterlab.", $name))]
            unsafe extern "C" fn hook<const SLOT: usize>($($argument: usize),*) -> c_int {
                let look = state::look(const { Hook::$hook.family() });
                if look.is_off() {
                    // SAFETY: called with the caller's own arguments.
                    return unsafe { real::<SLOT>()($($argument),*) };
                }
                let at_once = look.goes_at_once(Hook::$hook, || {
                    DOORS[SLOT].is_direct()
                        && !recorder::is_on()
                        && $content.sends(&DOORS[SLOT])
                });
                if at_once {
                    // SAFETY: called with the caller's own arguments.
                    unsafe { real::<SLOT>()($($argument),*) }
                } else {
                    // SAFETY: called with the caller's own arguments.
                    unsafe { with_care::<SLOT>($($argument),*) }
                }
            }
        };
    };
}

/// A hook of a function that makes requests, starts them or takes one away, with what is done before it,
/// and after it where it succeeded.
macro_rules! around {
    (
        $language:ident $name:expr, $c_name:expr;
        ($($argument:ident)*) $before:expr; $after:expr
    ) => {
        const _: () = {
            type Function = unsafe extern "C" fn($($argument: usize),*) -> c_int;
            static DOORS: [Door; SLOTS] = doors!($language SLOT_OF);
            interposed!(c_name!($name), hook, SLOT_OF; asked requests::are_minded; known |_| true);

            #[allow(unused_variables)]
            unsafe extern "C" fn hook<const SLOT: usize>($($argument: usize),*) -> c_int {
                let door = &DOORS[SLOT];
                // SAFETY: as for `hook`.
                let real = unsafe { std::mem::transmute::<*mut c_void, Function>(SLOT_OF[SLOT].original()) };
                let minds = door.is_found_direct(c_name!($c_name));
                if minds {
                    $before(door);
                }
                // SAFETY: called with the caller's own arguments.
                let outcome = unsafe { real($($argument),*) };
                // SAFETY: the arguments of a call that has returned; in Fortran the last takes the error.
                if minds && unsafe { door.language.has_succeeded(outcome, &[$($argument),*]) } {
                    $after(door);
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
        $make! { C concat!($mpi, "_", $name), concat!($mpi, "_", $name);
            ($($argument)*) $($rest)* }
        $make! { LargeC concat!($mpi, "_", $name, "_c"),
            concat!($mpi, "_", $name); ($($argument)*) $($rest)* }
        $make! { Fortran concat!($mpi_lower, "_", $lower, "_"),
            concat!($mpi, "_", $name); ($($argument)* error) $($rest)* }
        $make! { Fortran concat!($mpi_lower, "_", $lower),
            concat!($mpi, "_", $name); ($($argument)* error) $($rest)* }
        $make! { Fortran concat!($mpi_lower, "_", $lower, "__"),
            concat!($mpi, "_", $name); ($($argument)* error) $($rest)* }
        $make! { Fortran concat!($mpi, "_", $upper),
            concat!($mpi, "_", $name); ($($argument)* error) $($rest)* }
        $make! { Fortran2008 concat!($mpi_lower, "_", $lower, "_f08_"),
            concat!($mpi, "_", $name); ($($argument)* error) $($rest)* }
    };
}

mod call;
mod calls;
mod collective;
mod content;
mod door;
mod library;
mod requests;
mod sent;
