//! RDMA verbs.
//!
//! `ibv_post_send` is an inline call of `context->ops.post_send`, so there is no symbol to stand
//! before. Instead the pointer is replaced in every context that is opened. The extended calls
//! (`ibv_wr_start` and so on) go through pointers in the queue pair, which a program can only
//! reach through `ibv_qp_to_qp_ex`: they are replaced there.
//!
//! The few offsets that this takes are in [`crate::abi`].

#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

use jitterlab_injector::control::{Hook, HookFamily};
use jitterlab_injector::delay::{Delay, Passage};

use super::slots::replace;
use crate::abi::{POST_SEND_AT, QP_STATE, STATE_RTS, SendRequest, WR_START_AT};
use crate::defer;
use crate::defer::build::Start as WrStart;
use crate::defer::post::PostSend;
use crate::interpose::interposed;
use crate::state::{self, Look};

type Open = unsafe extern "C" fn(*mut c_void) -> *mut c_void;
type Destroy = unsafe extern "C" fn(*mut c_void) -> c_int;
type Modify = unsafe extern "C" fn(*mut c_void, *mut u32, c_int) -> c_int;
type Import = unsafe extern "C" fn(c_int) -> *mut c_void;
type OpenMlx5 = unsafe extern "C" fn(*mut c_void, *mut c_void) -> *mut c_void;

/// Distinct originals that can be hooked: one for each provider that is loaded.
const SLOTS: usize = 8;
static POST_SENDS: [AtomicPtr<c_void>; SLOTS] =
    [const { AtomicPtr::new(std::ptr::null_mut()) }; SLOTS];
static WR_STARTS: [AtomicPtr<c_void>; SLOTS] =
    [const { AtomicPtr::new(std::ptr::null_mut()) }; SLOTS];

on_cache_lines!(".text.jitterlab.post_send");

/// The hook of the `SLOT`-th `post_send`: one function for each original, so that nothing has to
/// be looked up. Where nothing is injected it is four loads and a jump.
#[unsafe(link_section = ".text.jitterlab.post_send")]
unsafe extern "C" fn post_send<const SLOT: usize>(
    qp: *mut c_void,
    wr: *mut SendRequest,
    bad_wr: *mut *mut SendRequest,
) -> c_int {
    // SAFETY: this function is in a context only after `replace` stored the original there, which
    // has this type.
    let real = unsafe {
        let real = POST_SENDS[SLOT].load(Ordering::Relaxed);
        std::mem::transmute::<*mut c_void, PostSend>(real)
    };
    match state::look(HookFamily::Verbs) {
        // SAFETY: the arguments are the caller's own.
        look if look.is_off() => unsafe { real(qp, wr, bad_wr) },
        look => post_on(qp, wr, bad_wr, real, look),
    }
}

/// It has C's calling convention and the arguments in their places, so that it is jumped to, and jumps on:
/// a send without a delay calls nothing, and has nothing to save on the stack.
#[inline(never)]
extern "C" fn post_on(
    qp: *mut c_void,
    wr: *mut SendRequest,
    bad_wr: *mut *mut SendRequest,
    real: PostSend,
    look: Look,
) -> c_int {
    if look.goes_at_once(Hook::PostSend, || true) {
        // SAFETY: the arguments are those of the caller of the hook.
        unsafe { real(qp, wr, bad_wr) }
    } else {
        post_delayed(qp, wr, bad_wr, real)
    }
}

#[cold]
#[inline(never)]
extern "C" fn post_delayed(
    qp: *mut c_void,
    wr: *mut SendRequest,
    bad_wr: *mut *mut SendRequest,
    real: PostSend,
) -> c_int {
    state::enter();
    let passage = state::pass_if_installed(Hook::PostSend);
    if passage != Passage::Now || defer::busy() {
        return post_deferred(qp, wr, bad_wr, passage, real);
    }
    // SAFETY: the arguments are those of the caller of the hook.
    unsafe { real(qp, wr, bad_wr) }
}

/// The delay of a send; `None` if it has none, and only waits for those before it.
fn delay_of(passage: Passage) -> Option<Delay> {
    match passage {
        Passage::Defer(delay) => Some(delay),
        Passage::Now => None,
    }
}

#[cold]
#[inline(never)]
fn post_deferred(
    qp: *mut c_void,
    wr: *mut SendRequest,
    bad_wr: *mut *mut SendRequest,
    passage: Passage,
    real: PostSend,
) -> c_int {
    // SAFETY: the arguments are those of the caller of the hook.
    unsafe {
        match defer::post::post(real, qp, wr, bad_wr, delay_of(passage)) {
            Some(outcome) => outcome,
            None => real(qp, wr, bad_wr),
        }
    }
}

/// The hook of the `SLOT`-th `wr_start`. The delay comes first: the real one takes the provider's
/// lock and keeps it until `wr_complete`.
unsafe extern "C" fn wr_start<const SLOT: usize>(qp: *mut c_void) {
    // SAFETY: as for `post_send`.
    let real = unsafe {
        let real = WR_STARTS[SLOT].load(Ordering::Relaxed);
        std::mem::transmute::<*mut c_void, WrStart>(real)
    };
    match state::look(HookFamily::Verbs) {
        // SAFETY: the argument is the caller's own.
        look if look.is_off() => unsafe { real(qp) },
        look => start_on(qp, real, look),
    }
}

/// Does as [`post_on`].
#[inline(never)]
extern "C" fn start_on(qp: *mut c_void, real: WrStart, look: Look) {
    if look.goes_at_once(Hook::WorkRequest, || true) {
        // SAFETY: the argument is that of the caller of the hook.
        unsafe { real(qp) }
    } else {
        start_delayed(qp, real);
    }
}

#[cold]
#[inline(never)]
extern "C" fn start_delayed(qp: *mut c_void, real: WrStart) {
    state::enter();
    let passage = state::pass_if_installed(Hook::WorkRequest);
    if passage != Passage::Now || defer::busy() {
        return start_deferred(qp, passage, real);
    }
    // SAFETY: the argument is that of the caller of the hook.
    unsafe { real(qp) }
}

#[cold]
#[inline(never)]
fn start_deferred(qp: *mut c_void, passage: Passage, real: WrStart) {
    // SAFETY: the argument is that of the caller of the hook.
    unsafe {
        if !defer::build::start(real, qp, delay_of(passage)) {
            real(qp);
        }
    }
}

macro_rules! each_slot {
    ($function:ident as $type:ty) => {
        [
            $function::<0> as $type as *mut c_void,
            $function::<1> as $type as *mut c_void,
            $function::<2> as $type as *mut c_void,
            $function::<3> as $type as *mut c_void,
            $function::<4> as $type as *mut c_void,
            $function::<5> as $type as *mut c_void,
            $function::<6> as $type as *mut c_void,
            $function::<7> as $type as *mut c_void,
        ]
    };
}

/// Hooks a context that a provider has just made; gives it back.
fn hooked_context(context: *mut c_void) -> *mut c_void {
    if !context.is_null() && state::injection().is_some() {
        // SAFETY: a provider gave this `struct ibv_context`; providers write its operations only
        // while they make it.
        unsafe {
            let place = context.byte_add(POST_SEND_AT).cast::<*mut c_void>();
            replace(place, &POST_SENDS, each_slot!(post_send as PostSend));
        }
    }
    context
}

/// True if hooks of verbs were asked for.
fn is_asked() -> bool {
    state::installed(HookFamily::Verbs).is_some()
}

/// A function of libibverbs or libmlx5, whose prototype is `$type` in words, and what is done instead of `$real`.
macro_rules! verbs {
    ($($name:literal: $hook:ident in $slots:ident as $type:ty, ($($argument:ident: $of:ty),*) -> $result:ty;
        |$real:ident| $body:block)*) => {$(
        unsafe extern "C" fn $hook<const SLOT: usize>($($argument: $of),*) -> $result {
            // SAFETY: this function is called in the place of one that has its name, which was stored before; the prototype is
            // that of the library.
            let $real = unsafe { std::mem::transmute::<*mut c_void, $type>($slots[SLOT].original()) };
            $body
        }
        interposed!($name, $hook, $slots; asked is_asked; known |_| true);
    )*};
}

verbs! {
    c"ibv_open_device": open_device in OPEN_DEVICE as Open, (device: *mut c_void) -> *mut c_void;
    |real| {
        // SAFETY: called with the caller's own argument.
        hooked_context(unsafe { real(device) })
    }

    c"ibv_import_device": import_device in IMPORT_DEVICE as Import, (fd: c_int) -> *mut c_void;
    |real| {
        // SAFETY: called with the caller's own argument.
        hooked_context(unsafe { real(fd) })
    }

    c"mlx5dv_open_device": open_mlx5 in OPEN_MLX5 as OpenMlx5, (device: *mut c_void, attr: *mut c_void) -> *mut c_void;
    |real| {
        // SAFETY: called with the caller's own arguments.
        hooked_context(unsafe { real(device, attr) })
    }

    c"ibv_qp_to_qp_ex": qp_to_qp_ex in QP_TO_QP_EX as Open, (qp: *mut c_void) -> *mut c_void;
    |real| {
        // SAFETY: called with the caller's own argument; what it gives is a `struct ibv_qp_ex`, or
        // null where the queue pair was not made for the extended calls.
        unsafe {
            let extended = real(qp);
            if !extended.is_null() && state::injection().is_some() {
                let place = extended.byte_add(WR_START_AT).cast::<*mut c_void>();
                replace(place, &WR_STARTS, each_slot!(wr_start as WrStart));
                defer::build::introduce(extended);
                if defer::build::builds_otherwise(extended) {
                    defer::build::exempt(extended, true);
                }
            }
            extended
        }
    }

    // Its result leads to functions that build on the same queue pair, by pointers that are not replaced.
    c"mlx5dv_qp_ex_from_ibv_qp_ex": mlx5_qp_ex in MLX5_QP_EX as Open, (qp: *mut c_void) -> *mut c_void;
    |real| {
        defer::build::exempt(qp, true);
        // SAFETY: called with the caller's own argument.
        unsafe { real(qp) }
    }

    c"ibv_destroy_qp": destroy_qp in DESTROY_QP as Destroy, (qp: *mut c_void) -> c_int;
    |real| {
        defer::post::before_destroy(qp);
        defer::build::exempt(qp, false);
        // SAFETY: called with the caller's own argument.
        unsafe { real(qp) }
    }

    c"ibv_modify_qp": modify_qp in MODIFY_QP as Modify, (qp: *mut c_void, attr: *mut u32, mask: c_int) -> c_int;
    |real| {
        // SAFETY: the caller's own argument, in which the state comes first.
        if defer::busy() && mask & QP_STATE != 0 && unsafe { *attr } != STATE_RTS {
            defer::post::before_stop(qp);
        }
        // SAFETY: called with the caller's own arguments.
        unsafe { real(qp, attr, mask) }
    }
}
