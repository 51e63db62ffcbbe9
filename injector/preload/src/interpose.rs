//! Functions of libraries that a program may have or not, once, or more than once: verbs, MPI, UCX.
//!
//! The C library is there in every program, so its functions are caught by their names: this library has functions of the same
//! names and stands before it. With any other library that would be a lie to programs that look, and do not have it, or have it
//! with fewer functions. So nothing else is exported here. Each reference to such a function is found where it is, in the program
//! or a library of its, and redirected to a hook. There is one hook for each function of that name. A hook whose family was not
//! asked for is nowhere.
//!
//! What is loaded later is looked at when `dlopen` returns, and `dlsym` gives hooks. Both are found in the same way.

#![allow(unsafe_code)]

use std::cell::Cell;
use std::collections::HashMap;
use std::ffi::{CStr, c_void};
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock};

use linkme::distributed_slice;

use crate::objects::{self, Object};

/// Distinct functions of one name that can be caught: of two libraries at once, with a tool that stands before each.
pub(crate) const SLOTS: usize = 4;

/// One of the functions of a name, and the hook that stands before it.
pub(crate) struct Slot {
    hook: *const (),
    original: AtomicPtr<c_void>,
}

// SAFETY: the hook is the address of a function, which is the same for every thread.
unsafe impl Sync for Slot {}

impl Slot {
    /// The slot of a hook.
    pub(crate) const fn new(hook: *const ()) -> Self {
        Slot {
            hook,
            original: AtomicPtr::new(std::ptr::null_mut()),
        }
    }

    /// The function that the hook stands before. It is not null where the hook is called.
    #[inline(always)]
    pub(crate) fn original(&self) -> *mut c_void {
        self.original.load(Ordering::Relaxed)
    }
}

/// A name that is caught.
pub(crate) struct Interposed {
    pub(crate) name: &'static CStr,
    /// True if the hook was asked for. Known when the library has come up, and the same from then on.
    pub(crate) is_asked: fn() -> bool,
    /// True if the function of that name is one that the hook knows how to stand before, in the view of an object
    /// that refers to it or has it.
    pub(crate) is_known: fn(&Object) -> bool,
    pub(crate) slots: [&'static Slot; SLOTS],
}

/// All names that are caught; a hook adds its own.
#[distributed_slice]
pub(crate) static INTERPOSED: [Interposed];

/// Catches the functions called `$name` by `$hook`, a function with a number of its slot. There are `$slots` of them.
macro_rules! interposed {
    ($name:expr, $hook:ident, $slots:ident; asked $is_asked:expr; known $is_known:expr) => {
        static $slots: [$crate::interpose::Slot; $crate::interpose::SLOTS] = [
            $crate::interpose::Slot::new($hook::<0> as *const ()),
            $crate::interpose::Slot::new($hook::<1> as *const ()),
            $crate::interpose::Slot::new($hook::<2> as *const ()),
            $crate::interpose::Slot::new($hook::<3> as *const ()),
        ];
        const _: () = {
            #[linkme::distributed_slice($crate::interpose::INTERPOSED)]
            static NAME: $crate::interpose::Interposed = $crate::interpose::Interposed {
                name: $name,
                is_asked: $is_asked,
                is_known: $is_known,
                slots: [&$slots[0], &$slots[1], &$slots[2], &$slots[3]],
            };
        };
    };
}
pub(crate) use interposed;

/// Those that were asked for.
static ASKED: OnceLock<HashMap<&'static CStr, &'static Interposed>> = OnceLock::new();

/// Objects that have been looked at, by what tells them apart.
type LookedAt = Vec<(usize, usize)>;
static LOOKED_AT: Mutex<LookedAt> = Mutex::new(Vec::new());

fn asked() -> &'static HashMap<&'static CStr, &'static Interposed> {
    ASKED.get_or_init(|| {
        let asked = INTERPOSED
            .iter()
            .filter(|interposed| (interposed.is_asked)());
        asked
            .map(|interposed| (interposed.name, interposed))
            .collect()
    })
}

impl Interposed {
    /// The hook that stands before `original`; `None` where it is one already, or one function more than there are slots.
    fn hook_of(&self, original: *mut c_void) -> Option<*mut c_void> {
        if self
            .slots
            .iter()
            .any(|slot| std::ptr::eq(slot.hook, original.cast()))
        {
            return None;
        }
        self.slots.iter().find_map(|slot| {
            let free = std::ptr::null_mut();
            let order = (Ordering::AcqRel, Ordering::Acquire);
            match slot
                .original
                .compare_exchange(free, original, order.0, order.1)
            {
                // Whoever calls the hook from now on calls it.
                Ok(_) => objects::keep(original),
                Err(taken) if taken == original => {}
                Err(_) => return None,
            }
            Some(slot.hook.cast_mut().cast())
        })
    }
}

/// Redirects what has come since the last time.
pub(crate) fn look_around() {
    let asked = asked();
    let mut firsts = [false; 256];
    for name in asked.keys() {
        firsts[usize::from(name.to_bytes()[0])] = true;
    }
    let mut looked_at = looked_at();
    let objects = objects::all();
    // Another one may come where one has gone.
    looked_at.retain(|&one| objects.iter().any(|object| object.identity() == one));
    for object in objects {
        let identity = object.identity();
        if looked_at.contains(&identity) {
            continue;
        }
        let Some(object) = object.pinned() else {
            continue;
        };
        let mut all_are_there = true;
        object.references(|reference| {
            let first = reference.name.to_bytes().first();
            if !first.is_some_and(|&first| firsts[usize::from(first)]) {
                return;
            }
            let Some(interposed) = asked.get(reference.name) else {
                return;
            };
            let target = object.target(&reference);
            if target.is_null() {
                // A function that is not there may come, and the reference then lead to it.
                all_are_there = false;
            } else if (interposed.is_known)(&object)
                && let Some(hook) = interposed.hook_of(target)
            {
                object.redirect(&reference, hook);
            }
        });
        if all_are_there {
            looked_at.push(identity);
        }
    }
}

/// The address for a program that has looked up `name` and found `address`: our hook of that, or the same.
pub(crate) fn found(name: &CStr, address: *mut c_void) -> *mut c_void {
    let hook = asked().get(name).and_then(|interposed| {
        let object = objects::holding(address)?;
        (interposed.is_known)(&object)
            .then(|| interposed.hook_of(address))
            .flatten()
    });
    hook.unwrap_or(address)
}

fn looked_at() -> MutexGuard<'static, LookedAt> {
    LOOKED_AT
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

thread_local! {
    // The forking thread's, from before the fork until after it: no other thread is in the middle of it in the child.
    static HELD: Cell<Option<ManuallyDrop<MutexGuard<'static, LookedAt>>>> =
        const { Cell::new(None) };
}

/// The process is about to fork.
pub(crate) fn before_fork() {
    HELD.set(Some(ManuallyDrop::new(looked_at())));
}

/// It has forked; in the parent and in the child.
pub(crate) fn after_fork() {
    drop(HELD.take().map(ManuallyDrop::into_inner));
}
