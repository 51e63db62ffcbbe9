//! Ends that pass the C library's own clean-up by.

#![allow(unsafe_code)]

use std::ffi::c_int;

use crate::lifecycle::clean_up;
use crate::real::{Real, c_name, system_call};

type End = unsafe extern "C" fn(c_int) -> !;

macro_rules! ends {
    ($($name:ident),*) => {$(
        #[unsafe(no_mangle)]
        pub(super) unsafe extern "C" fn $name(status: c_int) -> ! {
            // SAFETY: the prototype is that of the C library.
            static REAL: Real<End> = unsafe { Real::new(c_name!($name)) };
            clean_up();
            if let Some(real) = REAL.get() {
                // SAFETY: called with the caller's own argument.
                unsafe { real(status) }
            }
            loop {
                // SAFETY: the system call that the function stands for; it does not come back.
                unsafe { system_call()(libc::SYS_exit_group, status) };
            }
        }
    )*};
}

ends!(_exit, _Exit, quick_exit);
