//! The functions that stand behind the hooks.

#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::marker::PhantomData;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::objects;

type Dlsym = unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void;

unsafe extern "C" {
    fn dlvsym(handle: *mut c_void, name: *const c_char, version: *const c_char) -> *mut c_void;
}

/// The function of this name that the program would have called without us. `F` is its type.
pub(crate) struct Real<F> {
    name: &'static CStr,
    elsewhere: Elsewhere,
    address: AtomicPtr<c_void>,
    function: PhantomData<F>,
}

/// Where a function is looked for that is not among those that come after ours. What provides it may
/// have been loaded where symbols are not looked up (`RTLD_LOCAL`).
enum Elsewhere {
    Nowhere,
    /// In this shared object.
    Object(&'static CStr),
    /// Under the name that it has for those who stand before it, and then in every shared object.
    Profiled(&'static CStr),
}

impl<F: Copy> Real<F> {
    /// A function of the C library.
    ///
    /// # Safety
    /// `F` is the type of the C function `name`.
    pub(crate) const unsafe fn new(name: &'static CStr) -> Self {
        // SAFETY: by the contract of this function.
        unsafe { Real::with(name, Elsewhere::Nowhere) }
    }

    /// A function of `object`.
    ///
    /// # Safety
    /// As [`Real::new`].
    pub(crate) const unsafe fn of(object: &'static CStr, name: &'static CStr) -> Self {
        // SAFETY: by the contract of this function.
        unsafe { Real::with(name, Elsewhere::Object(object)) }
    }

    /// A function of an MPI, which has a second name, `profiling`, for those who stand before it.
    ///
    /// # Safety
    /// As [`Real::new`], of both names.
    pub(crate) const unsafe fn profiled(name: &'static CStr, profiling: &'static CStr) -> Self {
        // SAFETY: by the contract of this function.
        unsafe { Real::with(name, Elsewhere::Profiled(profiling)) }
    }

    const unsafe fn with(name: &'static CStr, elsewhere: Elsewhere) -> Self {
        Real {
            name,
            elsewhere,
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
        let mut address = next(self.name);
        if address.is_null() {
            address = match self.elsewhere {
                Elsewhere::Nowhere => address,
                Elsewhere::Object(object) => objects::function_of(object, self.name),
                Elsewhere::Profiled(profiling) => match next(profiling) {
                    address if address.is_null() => objects::function_of_any(self.name),
                    address => address,
                },
            };
        }
        self.address.store(address, Ordering::Relaxed);
        set_errno(errno);
    }
}

/// The function of this name that comes after ours, where symbols are looked up.
pub(crate) fn next(name: &CStr) -> *mut c_void {
    // SAFETY: RTLD_NEXT with a proper name, from code of this library.
    unsafe { real_dlsym()(libc::RTLD_NEXT, name.as_ptr()) }
}

/// The C library's own `dlsym`; ours, which programs see, must not be called by us.
pub(crate) fn real_dlsym() -> Dlsym {
    static DLSYM: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
    let mut address = DLSYM.load(Ordering::Relaxed);
    if address.is_null() {
        // Since 2.34 it is in libc, before that in libdl under the version of each machine's
        // first release.
        for version in [c"GLIBC_2.34", c"GLIBC_2.2.5", c"GLIBC_2.17"] {
            // SAFETY: RTLD_NEXT with proper names.
            address = unsafe { dlvsym(libc::RTLD_NEXT, c"dlsym".as_ptr(), version.as_ptr()) };
            if !address.is_null() {
                break;
            }
        }
        DLSYM.store(address, Ordering::Relaxed);
    }
    if address.is_null() {
        return no_symbol;
    }
    // SAFETY: the address is that of `dlsym`, which has this type.
    unsafe { std::mem::transmute::<*mut c_void, Dlsym>(address) }
}

/// Where there is no `dlsym`, nothing is found.
unsafe extern "C" fn no_symbol(_handle: *mut c_void, _name: *const c_char) -> *mut c_void {
    std::ptr::null_mut()
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
