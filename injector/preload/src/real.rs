//! The functions that stand behind the hooks.

#![allow(unsafe_code)]

use std::ffi::{CStr, c_int, c_long, c_void};
use std::marker::PhantomData;
use std::sync::atomic::{AtomicPtr, Ordering};

/// The function of the C library of this name, or of whoever else stands before it. `F` is its type.
pub(crate) struct Real<F> {
    name: &'static CStr,
    address: AtomicPtr<c_void>,
    function: PhantomData<F>,
}

impl<F: Copy> Real<F> {
    /// A function of the C library.
    ///
    /// # Safety
    /// `F` is the type of the C function `name`.
    pub(crate) const unsafe fn new(name: &'static CStr) -> Self {
        Real {
            name,
            address: AtomicPtr::new(std::ptr::null_mut()),
            function: PhantomData,
        }
    }

    /// The function; `None` where there is none.
    #[inline(always)]
    pub(crate) fn get(&self) -> Option<F> {
        self.found().or_else(|| {
            self.find();
            self.found()
        })
    }

    /// The function, if it was looked for before.
    #[inline(always)]
    pub(crate) fn found(&self) -> Option<F> {
        let address = self.address.load(Ordering::Relaxed);
        // SAFETY: the address is that of the C function `name`, whose type is F by the contract
        // of the constructors; F is a function pointer, as large as an address.
        (!address.is_null()).then(|| unsafe { std::mem::transmute_copy(&address) })
    }

    #[cold]
    fn find(&self) {
        // Looking up may set errno and leaves it set for a program that does not expect that.
        let errno = crate::real::errno();
        // SAFETY: the next function of this name after ours, asked by this library.
        let address = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
        self.address.store(address, Ordering::Relaxed);
        set_errno(errno);
    }
}

/// The calling thread's `errno`.
pub(crate) fn errno() -> c_int {
    // SAFETY: the C library gives the address of the calling thread's own variable.
    unsafe { *libc::__errno_location() }
}

/// Sets the calling thread's `errno`.
pub(crate) fn set_errno(value: c_int) {
    // SAFETY: as for reading it.
    unsafe { *libc::__errno_location() = value }
}

/// A function's name as C spells it.
macro_rules! c_name {
    ($name:ident) => {
        c_name!(stringify!($name))
    };
    ($name:expr) => {
        match std::ffi::CStr::from_bytes_with_nul(concat!($name, "\0").as_bytes()) {
            Ok(name) => name,
            Err(_) => c"",
        }
    };
}
pub(crate) use c_name;

/// The C library's `syscall`: a system call past our own hooks.
pub(crate) fn system_call() -> unsafe extern "C" fn(c_long, ...) -> c_long {
    // SAFETY: the prototype is that of the C library.
    static REAL: Real<unsafe extern "C" fn(c_long, ...) -> c_long> =
        unsafe { Real::new(c"syscall") };
    // Ours only hands on what it is not there for.
    REAL.get().unwrap_or(libc::syscall)
}
