//! MPI: the calls that send from one rank to another, one-sided calls, and collectives.
//!
//! A hook hands on the words that it was given, whatever they are, so one library serves every
//! MPI: handles are pointers in one and integers in another, and all are words. C programs enter by
//! `MPI_Send` or, for large counts, `MPI_Send_c`; Fortran programs by one of the spellings of
//! `mpi_send`, or by that of the module `mpi_f08`. Where an MPI's Fortran functions call the C ones
//! by their names (MPICH), what enters by the former comes past the latter, and is delayed there.
//!
//! [`calls!`] is the list of what is caught.

#![allow(unsafe_code)]

mod content;
mod library;
mod requests;

use std::ffi::{CStr, c_int, c_void};
use std::sync::atomic::{AtomicU8, Ordering};

use jitterlab_injector::control::{Hook, HookFamily};

use crate::objects;
use crate::real::{Real, c_name, real_dlsym};
use crate::{state, trace};
use content::{
    Element, ForAll, ForEach, ForEachTyped, Message, Nothing, OneSided, Part, Parts, Scattered,
    ScatteredParts, Sends, Start, StartAll, Sum, Times, Whole,
};
use library::Language;

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

/// Whether a call has no delay and is not recorded; it is counted then. Calls nothing.
#[inline(always)]
fn goes_at_once(hook: Hook, language: Language, content: &impl Sends) -> bool {
    !trace::is_on()
        && content.sends(language)
        && state::installed(hook.family())
            .is_some_and(|injection| state::is_undelayed(injection, hook))
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
/// Switched off, it is a few loads and a jump to the real function; switched on without a delay it
/// calls nothing either. Whatever else there is to do is done by `with_care`.
macro_rules! hook {
    (
        $language:ident $name:expr, $profiling:expr, $call:ident;
        $hook:ident ($($argument:ident)*) $content:expr
    ) => {
        on_cache_lines!(
            concat!(".text.jitterlab.", $name),
            concat!(".text.jitterlab.on.", $name)
        );

        const _: () = {
            type Function = unsafe extern "C" fn($($argument: usize),*) -> c_int;
            static REAL: Real<Function> =
                // SAFETY: an MPI's functions take words, integers among them whose upper half does
                // not matter, and give an error, or in Fortran nothing.
                unsafe { Real::profiled(c_name!($name), c_name!($profiling)) };
            static WAY: Way = Way::new(Language::$language);

            #[cold]
            #[inline(never)]
            #[allow(unused_variables)]
            unsafe extern "C" fn with_care($($argument: usize),*) -> c_int {
                let Some(real) = REAL.get() else {
                    return missing();
                };
                let c_function = c_name!(concat!("MPI_", stringify!($call)));
                if WAY.found_direct(real as *mut c_void, c_function) {
                    pass(Hook::$hook, Language::$language, Call::$call, &$content);
                }
                // SAFETY: called with the caller's own arguments.
                unsafe { real($($argument),*) }
            }

            #[inline(never)]
            #[allow(unused_variables)]
            #[unsafe(link_section = concat!(".text.jitterlab.on.", $name))]
            unsafe extern "C" fn on($($argument: usize),*) -> c_int {
                match REAL.found() {
                    Some(real)
                        if WAY.is_direct()
                            && goes_at_once(Hook::$hook, Language::$language, &$content) =>
                    {
                        // SAFETY: called with the caller's own arguments.
                        unsafe { real($($argument),*) }
                    }
                    // SAFETY: called with the caller's own arguments.
                    _ => unsafe { with_care($($argument),*) },
                }
            }

            #[unsafe(export_name = $name)]
            #[unsafe(link_section = concat!(".text.jitterlab.", $name))]
            unsafe extern "C" fn hook($($argument: usize),*) -> c_int {
                match (REAL.found(), state::active(const { Hook::$hook.family() })) {
                    // SAFETY: called with the caller's own arguments.
                    (Some(real), None) => unsafe { real($($argument),*) },
                    // SAFETY: called with the caller's own arguments.
                    _ => unsafe { on($($argument),*) },
                }
            }
        };
    };
}

/// A hook of a function that makes a request or takes one away, with what is done before it and after.
macro_rules! bookkeeping {
    (
        $language:ident $name:expr, $profiling:expr, $call:ident;
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
                let c_function = c_name!(concat!("MPI_", stringify!($call)));
                let keeps = state::installed(HookFamily::Mpi).is_some()
                    && WAY.found_direct(real as *mut c_void, c_function);
                let language = Language::$language;
                if keeps {
                    $before(language);
                }
                // SAFETY: called with the caller's own arguments.
                let outcome = unsafe { real($($argument),*) };
                if keeps {
                    $after(language);
                }
                outcome
            }
        };
    };
}

/// Makes a hook for each spelling of a function: in C, in C with large counts, in Fortran as
/// compilers write names, and in the module `mpi_f08`. In Fortran, an argument more takes the error.
macro_rules! spellings {
    ($make:ident $call:ident $lower:ident $upper:ident; $($hook:ident)? ($($argument:ident)*) $($rest:tt)*) => {
        $make! { C concat!("MPI_", stringify!($call)), concat!("PMPI_", stringify!($call)), $call;
            $($hook)? ($($argument)*) $($rest)* }
        $make! { LargeC concat!("MPI_", stringify!($call), "_c"),
            concat!("PMPI_", stringify!($call), "_c"), $call;
            $($hook)? ($($argument)*) $($rest)* }
        $make! { Fortran concat!("mpi_", stringify!($lower), "_"),
            concat!("pmpi_", stringify!($lower), "_"), $call;
            $($hook)? ($($argument)* error) $($rest)* }
        $make! { Fortran concat!("mpi_", stringify!($lower)),
            concat!("pmpi_", stringify!($lower)), $call;
            $($hook)? ($($argument)* error) $($rest)* }
        $make! { Fortran concat!("mpi_", stringify!($lower), "__"),
            concat!("pmpi_", stringify!($lower), "__"), $call;
            $($hook)? ($($argument)* error) $($rest)* }
        $make! { Fortran concat!("MPI_", stringify!($upper)),
            concat!("PMPI_", stringify!($upper)), $call;
            $($hook)? ($($argument)* error) $($rest)* }
        $make! { Fortran2008 concat!("mpi_", stringify!($lower), "_f08_"),
            concat!("pmpi_", stringify!($lower), "_f08_"), $call;
            $($hook)? ($($argument)* error) $($rest)* }
    };
}

/// The calls that are caught: name, hook, arguments, and which of these say what is sent.
macro_rules! calls {
    ($($call:ident $lower:ident $upper:ident:
       $hook:ident($($argument:ident),*) $content:ident { $($part:ident),* };)*) => {
        /// A call that is caught, by the name that MPI gives it.
        #[allow(non_camel_case_types)]
        #[derive(Clone, Copy)]
        pub(crate) enum Call {
            $($call),*
        }

        impl Call {
            /// Their names in C.
            pub(crate) const NAMES: [&str; [$(Call::$call),*].len()] =
                [$(concat!("MPI_", stringify!($call))),*];
        }

        $(spellings! { hook $call $lower $upper;
            $hook ($($argument)*) $content { $($part),* } })*
    };
}

/// The calls that make a request by which something is sent each time that it is started.
macro_rules! inits {
    ($($call:ident $lower:ident $upper:ident
       ($($argument:ident),*) $content:ident { $($part:ident),* } $request:ident;)*) => {
        $(spellings! { bookkeeping $call $lower $upper; ($($argument)*)
            |_| (); |language| requests::keep(language, &$content { $($part),* }, $request) })*
    };
}

calls! {
    Send send SEND: MpiSend(buffer, count, datatype, peer, tag, comm)
        Message { count, datatype, peer, comm };
    Bsend bsend BSEND: MpiSend(buffer, count, datatype, peer, tag, comm)
        Message { count, datatype, peer, comm };
    Ssend ssend SSEND: MpiSend(buffer, count, datatype, peer, tag, comm)
        Message { count, datatype, peer, comm };
    Rsend rsend RSEND: MpiSend(buffer, count, datatype, peer, tag, comm)
        Message { count, datatype, peer, comm };
    Isend isend ISEND: MpiSend(buffer, count, datatype, peer, tag, comm, request)
        Message { count, datatype, peer, comm };
    Ibsend ibsend IBSEND: MpiSend(buffer, count, datatype, peer, tag, comm, request)
        Message { count, datatype, peer, comm };
    Issend issend ISSEND: MpiSend(buffer, count, datatype, peer, tag, comm, request)
        Message { count, datatype, peer, comm };
    Irsend irsend IRSEND: MpiSend(buffer, count, datatype, peer, tag, comm, request)
        Message { count, datatype, peer, comm };
    Sendrecv sendrecv SENDRECV:
        MpiSend(buffer, count, datatype, peer, tag, into, length, of, from, its_tag, comm, status)
        Message { count, datatype, peer, comm };
    Sendrecv_replace sendrecv_replace SENDRECV_REPLACE:
        MpiSend(buffer, count, datatype, peer, tag, from, its_tag, comm, status)
        Message { count, datatype, peer, comm };
    Isendrecv isendrecv ISENDRECV:
        MpiSend(buffer, count, datatype, peer, tag, into, length, of, from, its_tag, comm, request)
        Message { count, datatype, peer, comm };
    Isendrecv_replace isendrecv_replace ISENDRECV_REPLACE:
        MpiSend(buffer, count, datatype, peer, tag, from, its_tag, comm, request)
        Message { count, datatype, peer, comm };
    Start start START: MpiSend(request) Start { request };
    Startall startall STARTALL: MpiSend(count, requests) StartAll { count, requests };

    Put put PUT: MpiRma(buffer, length, of, peer, place, count, datatype, window)
        OneSided { count, datatype, peer, window };
    Get get GET: MpiRma(buffer, length, of, peer, place, count, datatype, window)
        OneSided { count, datatype, peer, window };
    Accumulate accumulate ACCUMULATE:
        MpiRma(buffer, length, of, peer, place, count, datatype, operation, window)
        OneSided { count, datatype, peer, window };
    Get_accumulate get_accumulate GET_ACCUMULATE:
        MpiRma(buffer, length, of, into, its_length, its, peer, place, count, datatype, operation, window)
        OneSided { count, datatype, peer, window };
    Fetch_and_op fetch_and_op FETCH_AND_OP:
        MpiRma(buffer, into, datatype, peer, place, operation, window)
        Element { datatype, peer, window };
    Compare_and_swap compare_and_swap COMPARE_AND_SWAP:
        MpiRma(buffer, compared, into, datatype, peer, place, window)
        Element { datatype, peer, window };
    Rput rput RPUT: MpiRma(buffer, length, of, peer, place, count, datatype, window, request)
        OneSided { count, datatype, peer, window };
    Rget rget RGET: MpiRma(buffer, length, of, peer, place, count, datatype, window, request)
        OneSided { count, datatype, peer, window };
    Raccumulate raccumulate RACCUMULATE:
        MpiRma(buffer, length, of, peer, place, count, datatype, operation, window, request)
        OneSided { count, datatype, peer, window };
    Rget_accumulate rget_accumulate RGET_ACCUMULATE:
        MpiRma(buffer, length, of, into, its_length, its, peer, place, count, datatype, operation, window, request)
        OneSided { count, datatype, peer, window };

    Barrier barrier BARRIER: MpiCollective(comm) Nothing {};
    Bcast bcast BCAST: MpiCollective(buffer, count, datatype, root, comm) Whole { count, datatype };
    Gather gather GATHER:
        MpiCollective(buffer, count, datatype, into, its_count, its_datatype, root, comm)
        Part { buffer, count, datatype, its_count, its_datatype };
    Gatherv gatherv GATHERV:
        MpiCollective(buffer, count, datatype, into, its_counts, places, its_datatype, root, comm)
        Parts { buffer, count, datatype, its_counts, its_datatype, comm };
    Scatter scatter SCATTER:
        MpiCollective(buffer, count, datatype, into, its_count, its_datatype, root, comm)
        Scattered { count, datatype, root, comm };
    Scatterv scatterv SCATTERV:
        MpiCollective(buffer, counts, places, datatype, into, its_count, its_datatype, root, comm)
        ScatteredParts { counts, datatype, root, comm };
    Allgather allgather ALLGATHER:
        MpiCollective(buffer, count, datatype, into, its_count, its_datatype, comm)
        Part { buffer, count, datatype, its_count, its_datatype };
    Allgatherv allgatherv ALLGATHERV:
        MpiCollective(buffer, count, datatype, into, its_counts, places, its_datatype, comm)
        Parts { buffer, count, datatype, its_counts, its_datatype, comm };
    Alltoall alltoall ALLTOALL:
        MpiCollective(buffer, count, datatype, into, its_count, its_datatype, comm)
        ForAll { buffer, count, datatype, its_count, its_datatype, comm };
    Alltoallv alltoallv ALLTOALLV:
        MpiCollective(buffer, counts, places, datatype, into, its_counts, its_places, its_datatype, comm)
        ForEach { buffer, counts, datatype, its_counts, its_datatype, comm };
    Alltoallw alltoallw ALLTOALLW:
        MpiCollective(buffer, counts, places, datatypes, into, its_counts, its_places, its_datatypes, comm)
        ForEachTyped { buffer, counts, datatypes, its_counts, its_datatypes, comm };
    Reduce reduce REDUCE: MpiCollective(buffer, into, count, datatype, operation, root, comm)
        Whole { count, datatype };
    Allreduce allreduce ALLREDUCE: MpiCollective(buffer, into, count, datatype, operation, comm)
        Whole { count, datatype };
    Reduce_scatter reduce_scatter REDUCE_SCATTER:
        MpiCollective(buffer, into, counts, datatype, operation, comm)
        Sum { counts, datatype, comm };
    Reduce_scatter_block reduce_scatter_block REDUCE_SCATTER_BLOCK:
        MpiCollective(buffer, into, count, datatype, operation, comm)
        Times { count, datatype, comm };
    Scan scan SCAN: MpiCollective(buffer, into, count, datatype, operation, comm)
        Whole { count, datatype };
    Exscan exscan EXSCAN: MpiCollective(buffer, into, count, datatype, operation, comm)
        Whole { count, datatype };

    Ibarrier ibarrier IBARRIER: MpiCollective(comm, request) Nothing {};
    Ibcast ibcast IBCAST: MpiCollective(buffer, count, datatype, root, comm, request)
        Whole { count, datatype };
    Igather igather IGATHER:
        MpiCollective(buffer, count, datatype, into, its_count, its_datatype, root, comm, request)
        Part { buffer, count, datatype, its_count, its_datatype };
    Igatherv igatherv IGATHERV:
        MpiCollective(buffer, count, datatype, into, its_counts, places, its_datatype, root, comm, request)
        Parts { buffer, count, datatype, its_counts, its_datatype, comm };
    Iscatter iscatter ISCATTER:
        MpiCollective(buffer, count, datatype, into, its_count, its_datatype, root, comm, request)
        Scattered { count, datatype, root, comm };
    Iscatterv iscatterv ISCATTERV:
        MpiCollective(buffer, counts, places, datatype, into, its_count, its_datatype, root, comm, request)
        ScatteredParts { counts, datatype, root, comm };
    Iallgather iallgather IALLGATHER:
        MpiCollective(buffer, count, datatype, into, its_count, its_datatype, comm, request)
        Part { buffer, count, datatype, its_count, its_datatype };
    Iallgatherv iallgatherv IALLGATHERV:
        MpiCollective(buffer, count, datatype, into, its_counts, places, its_datatype, comm, request)
        Parts { buffer, count, datatype, its_counts, its_datatype, comm };
    Ialltoall ialltoall IALLTOALL:
        MpiCollective(buffer, count, datatype, into, its_count, its_datatype, comm, request)
        ForAll { buffer, count, datatype, its_count, its_datatype, comm };
    Ialltoallv ialltoallv IALLTOALLV:
        MpiCollective(buffer, counts, places, datatype, into, its_counts, its_places, its_datatype, comm, request)
        ForEach { buffer, counts, datatype, its_counts, its_datatype, comm };
    Ialltoallw ialltoallw IALLTOALLW:
        MpiCollective(buffer, counts, places, datatypes, into, its_counts, its_places, its_datatypes, comm, request)
        ForEachTyped { buffer, counts, datatypes, its_counts, its_datatypes, comm };
    Ireduce ireduce IREDUCE:
        MpiCollective(buffer, into, count, datatype, operation, root, comm, request)
        Whole { count, datatype };
    Iallreduce iallreduce IALLREDUCE:
        MpiCollective(buffer, into, count, datatype, operation, comm, request)
        Whole { count, datatype };
    Ireduce_scatter ireduce_scatter IREDUCE_SCATTER:
        MpiCollective(buffer, into, counts, datatype, operation, comm, request)
        Sum { counts, datatype, comm };
    Ireduce_scatter_block ireduce_scatter_block IREDUCE_SCATTER_BLOCK:
        MpiCollective(buffer, into, count, datatype, operation, comm, request)
        Times { count, datatype, comm };
    Iscan iscan ISCAN: MpiCollective(buffer, into, count, datatype, operation, comm, request)
        Whole { count, datatype };
    Iexscan iexscan IEXSCAN: MpiCollective(buffer, into, count, datatype, operation, comm, request)
        Whole { count, datatype };
}

inits! {
    Send_init send_init SEND_INIT (buffer, count, datatype, peer, tag, comm, request)
        Message { count, datatype, peer, comm } request;
    Bsend_init bsend_init BSEND_INIT (buffer, count, datatype, peer, tag, comm, request)
        Message { count, datatype, peer, comm } request;
    Ssend_init ssend_init SSEND_INIT (buffer, count, datatype, peer, tag, comm, request)
        Message { count, datatype, peer, comm } request;
    Rsend_init rsend_init RSEND_INIT (buffer, count, datatype, peer, tag, comm, request)
        Message { count, datatype, peer, comm } request;
}

spellings! { bookkeeping Request_free request_free REQUEST_FREE; (request)
|language| requests::forget(language, request); |_| () }

/// Our hook of the function `name`, for programs that look it up in the object `handle`.
pub(super) fn hook_of(handle: *mut c_void, name: &CStr) -> Option<*const c_void> {
    let bytes = name.to_bytes();
    if !bytes.starts_with(b"MPI_") && !bytes.starts_with(b"mpi_") {
        return None;
    }
    let hook = objects::own_function(name);
    // SAFETY: the caller's own look-up. Who looks whether there is such a function is told the truth.
    let there = !hook.is_null() && !unsafe { real_dlsym()(handle, name.as_ptr()) }.is_null();
    there.then_some(hook.cast_const())
}
