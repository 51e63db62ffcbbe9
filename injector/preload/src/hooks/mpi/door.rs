//! The doors by which calls enter the MPI.

use std::ffi::CStr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};

use super::library::{Language, Library};
use crate::interpose::Slot;
use crate::objects;

/// The way that a call enters the MPI: the language, and the function of which MPI.
pub(super) struct Door {
    pub(super) language: Language,
    slot: &'static Slot,
    way: AtomicU8,
    library: OnceLock<Option<&'static Library>>,
}

impl Door {
    const UNKNOWN: u8 = 0;
    const DIRECT: u8 = 1;
    const BY_C: u8 = 2;

    /// The door of a C function, or of a function that reaches the MPI in a way that is not known yet. The functions of `mpi_f08` by
    /// these names call no C function by a name that is caught, in any MPI; MPICH's others, whose names are not caught
    /// (`mpi_send_f08ts_`), do.
    pub(super) const fn new(language: Language, slot: &'static Slot) -> Self {
        Door {
            language,
            slot,
            way: AtomicU8::new(match language {
                Language::Fortran => Door::UNKNOWN,
                Language::C | Language::LargeC | Language::Fortran2008 => Door::DIRECT,
            }),
            library: OnceLock::new(),
        }
    }

    #[inline(always)]
    pub(super) fn is_direct(&self) -> bool {
        self.way.load(Ordering::Relaxed) == Door::DIRECT
    }

    /// The same, found out if it is not known: whether the object that has the function does not refer to the C function.
    pub(super) fn is_found_direct(&self, c_function: &CStr) -> bool {
        if self.way.load(Ordering::Relaxed) == Door::UNKNOWN {
            let object = objects::holding(self.slot.original());
            let way = match object.is_some_and(|object| object.refers_to(c_function)) {
                true => Door::BY_C,
                false => Door::DIRECT,
            };
            self.way.store(way, Ordering::Relaxed);
        }
        self.is_direct()
    }

    /// The MPI that the function belongs to; `None` if that cannot be asked anything.
    pub(super) fn library(&self) -> Option<&'static Library> {
        *self
            .library
            .get_or_init(|| Library::of(self.slot.original()))
    }
}
