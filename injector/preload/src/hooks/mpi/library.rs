//! What the hooks ask of the MPI that the program uses, and how its values are read, without its header.

use std::ffi::{CStr, c_int};
use std::sync::OnceLock;

use crate::objects;
use crate::real::next;

/// How a call's arguments are to be read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    /// Values; counts are `int`.
    C,
    /// Values; counts are `MPI_Count`.
    LargeC,
    /// Addresses of `INTEGER`s.
    Fortran,
    /// The same, or of what has an `INTEGER` in it, by the module `mpi_f08`.
    Fortran2008,
}

/// The functions of an MPI that the hooks call, and what its handles are. All handles are words here.
pub(super) struct Library {
    type_size: unsafe extern "C" fn(usize, *mut i64) -> c_int,
    comm_test_inter: Ask<c_int>,
    comm_rank: Ask<c_int>,
    comm_size: Ask<c_int>,
    comm_remote_size: Ask<c_int>,
    comm_group: Ask<usize>,
    comm_remote_group: Ask<usize>,
    window_group: Ask<usize>,
    group_free: unsafe extern "C" fn(*mut usize) -> c_int,
    group_translate: unsafe extern "C" fn(usize, c_int, *const c_int, usize, *mut c_int) -> c_int,
    /// Where handles are pointers: what makes one of the integer that it is in Fortran.
    pointers: Option<Pointers>,
    world: Option<usize>,
}

/// A question about a handle, and where the answer goes.
type Ask<T> = unsafe extern "C" fn(usize, *mut T) -> c_int;
type FromFortran = unsafe extern "C" fn(c_int) -> usize;

struct Pointers {
    comm: FromFortran,
    datatype: FromFortran,
    window: FromFortran,
    request: FromFortran,
}

/// A function of the MPI, which has this type.
///
/// # Safety
/// `F` is the type of the function `name`, with words for handles.
unsafe fn function<F: Copy>(name: &CStr) -> Option<F> {
    let address = match next(name) {
        address if address.is_null() => objects::function_of_any(name),
        address => address,
    };
    // SAFETY: by the contract of this function; F is a function pointer, as large as an address.
    (!address.is_null()).then(|| unsafe { std::mem::transmute_copy(&address) })
}

/// The program's MPI; `None` if there is none.
pub(super) fn library() -> Option<&'static Library> {
    static LIBRARY: OnceLock<Option<Library>> = OnceLock::new();
    LIBRARY.get_or_init(Library::find).as_ref()
}

impl Library {
    fn find() -> Option<Self> {
        // SAFETY: the types are those of the MPI standard (version 3.1), in words.
        unsafe {
            let pointers = Pointers::find();
            Some(Library {
                type_size: function(c"PMPI_Type_size_x")?,
                comm_test_inter: function(c"PMPI_Comm_test_inter")?,
                comm_rank: function(c"PMPI_Comm_rank")?,
                comm_size: function(c"PMPI_Comm_size")?,
                comm_remote_size: function(c"PMPI_Comm_remote_size")?,
                comm_group: function(c"PMPI_Comm_group")?,
                comm_remote_group: function(c"PMPI_Comm_remote_group")?,
                window_group: function(c"PMPI_Win_get_group")?,
                group_free: function(c"PMPI_Group_free")?,
                group_translate: function(c"PMPI_Group_translate_ranks")?,
                world: world(pointers.is_some()),
                pointers,
            })
        }
    }

    /// The communicator of all ranks, where it is known.
    pub(super) fn world(&self) -> Option<usize> {
        self.world
    }

    /// The bytes of an element of a type; 0 for a type that is none.
    pub(super) fn size_of(&self, datatype: usize) -> u64 {
        let mut size = 0;
        // SAFETY: the program's own type, and a place for the answer.
        unsafe { (self.type_size)(datatype, &raw mut size) };
        u64::try_from(size).unwrap_or(0)
    }

    /// The calling rank in a communicator.
    pub(super) fn rank_in(&self, comm: usize) -> Option<usize> {
        self.answer(self.comm_rank, comm)
    }

    /// How many ranks a collective's parts go to: those of the other group, where there are two.
    pub(super) fn ranks_of(&self, comm: usize) -> usize {
        let ask = match self.is_inter(comm) {
            true => self.comm_remote_size,
            false => self.comm_size,
        };
        self.answer(ask, comm).unwrap_or(0)
    }

    /// The rank among all ranks of the one that a communicator calls `peer`; `None` if it is not one
    /// of them, or nothing is known of these.
    pub(super) fn peer_by_comm(&self, comm: usize, peer: usize) -> Option<usize> {
        if self.world == Some(comm) {
            return Some(peer);
        }
        let group = match self.is_inter(comm) {
            true => self.comm_remote_group,
            false => self.comm_group,
        };
        self.peer_by(group, comm, peer)
    }

    /// The same of a window.
    pub(super) fn peer_by_window(&self, window: usize, peer: usize) -> Option<usize> {
        self.peer_by(self.window_group, window, peer)
    }

    fn peer_by(&self, group_of: Ask<usize>, handle: usize, peer: usize) -> Option<usize> {
        let (mut group, mut world) = (0, 0);
        let from = c_int::try_from(peer).ok()?;
        let mut to = -1;
        // SAFETY: the program's own handle, and places for the answers: a handle is a word or half
        // of one, and the other half is 0. The groups are ours to give back.
        unsafe {
            if group_of(handle, &raw mut group) != 0
                || (self.comm_group)(self.world?, &raw mut world) != 0
            {
                return None;
            }
            (self.group_translate)(group, 1, &raw const from, world, &raw mut to);
            (self.group_free)(&raw mut group);
            (self.group_free)(&raw mut world);
        }
        // MPI_UNDEFINED is negative.
        usize::try_from(to).ok()
    }

    fn is_inter(&self, comm: usize) -> bool {
        self.answer(self.comm_test_inter, comm) == Some(1)
    }

    fn answer(&self, ask: Ask<c_int>, handle: usize) -> Option<usize> {
        let mut answer = -1;
        // SAFETY: the program's own handle, and a place for the answer.
        (unsafe { ask(handle, &raw mut answer) } == 0)
            .then(|| usize::try_from(answer).ok())
            .flatten()
    }
}

impl Pointers {
    /// Where handles are integers the conversions change nothing and are no functions.
    ///
    /// # Safety
    /// The types are those of the functions.
    unsafe fn find() -> Option<Self> {
        // SAFETY: by the contract of this function.
        unsafe {
            Some(Pointers {
                comm: function(c"PMPI_Comm_f2c")?,
                datatype: function(c"PMPI_Type_f2c")?,
                window: function(c"PMPI_Win_f2c")?,
                request: function(c"PMPI_Request_f2c")?,
            })
        }
    }
}

/// `MPI_COMM_WORLD`, which a header defines: in Open MPI the address of a variable, in the common
/// binary interface of MPICH and its kin a number.
fn world(pointers: bool) -> Option<usize> {
    if !pointers {
        return Some(0x4400_0000);
    }
    // Where a program refers to it, the variable lies in the program and not in the library.
    match objects::variable(c"ompi_mpi_comm_world") {
        0 => Some(objects::function_of_any(c"ompi_mpi_comm_world") as usize)
            .filter(|&place| place != 0),
        place => Some(place),
    }
}

impl Language {
    /// An `int`, such as a rank.
    ///
    /// # Safety
    /// `word` is such an argument of a call in this language.
    #[inline(always)]
    pub(super) unsafe fn integer(self, word: usize) -> i32 {
        match self {
            // SAFETY: by the contract of this function.
            Language::Fortran | Language::Fortran2008 => unsafe { *(word as *const i32) },
            Language::C | Language::LargeC => word as i32,
        }
    }

    /// A count.
    ///
    /// # Safety
    /// As [`Language::integer`].
    pub(super) unsafe fn count(self, word: usize) -> u64 {
        let count = match self {
            Language::LargeC => word as i64,
            // SAFETY: by the contract of this function.
            _ => i64::from(unsafe { self.integer(word) }),
        };
        u64::try_from(count).unwrap_or(0)
    }

    /// The `n` counts of an array.
    ///
    /// # Safety
    /// As [`Language::integer`]; the array has so many.
    pub(super) unsafe fn counts(self, array: usize, n: usize) -> impl Iterator<Item = u64> {
        (0..n).map(move |index| {
            // SAFETY: by the contract of this function.
            let count = unsafe {
                match self {
                    Language::LargeC => *(array as *const i64).add(index),
                    _ => i64::from(*(array as *const i32).add(index)),
                }
            };
            u64::try_from(count).unwrap_or(0)
        })
    }

    /// A communicator.
    ///
    /// # Safety
    /// As [`Language::integer`].
    pub(super) unsafe fn comm(self, library: &Library, word: usize) -> usize {
        // SAFETY: by the contract of this function.
        unsafe { self.handle(library, |pointers| pointers.comm, word) }
    }

    /// A type.
    ///
    /// # Safety
    /// As [`Language::integer`].
    pub(super) unsafe fn datatype(self, library: &Library, word: usize) -> usize {
        // SAFETY: by the contract of this function.
        unsafe { self.handle(library, |pointers| pointers.datatype, word) }
    }

    /// The type at `index` of an array.
    ///
    /// # Safety
    /// As [`Language::integer`]; the array has more.
    pub(super) unsafe fn datatype_at(self, library: &Library, array: usize, index: usize) -> usize {
        // SAFETY: by the contract of this function.
        unsafe { self.handle_at(library, |pointers| pointers.datatype, array, index) }
    }

    /// A window.
    ///
    /// # Safety
    /// As [`Language::integer`].
    pub(super) unsafe fn window(self, library: &Library, word: usize) -> usize {
        // SAFETY: by the contract of this function.
        unsafe { self.handle(library, |pointers| pointers.window, word) }
    }

    /// The request at `index` of an array.
    ///
    /// # Safety
    /// As [`Language::integer`]; the array has more.
    pub(super) unsafe fn request_at(self, library: &Library, array: usize, index: usize) -> usize {
        // SAFETY: by the contract of this function.
        unsafe { self.handle_at(library, |pointers| pointers.request, array, index) }
    }

    /// Whether the buffer at this address stands for another (`MPI_IN_PLACE`, which a header defines).
    pub(super) fn is_in_place(self, buffer: usize) -> bool {
        static FORTRAN: OnceLock<Vec<usize>> = OnceLock::new();
        match self {
            // No buffer is there: the one is Open MPI's, the other MPICH's.
            Language::C | Language::LargeC => buffer == 1 || buffer == usize::MAX,
            // The variable that Open MPI's mpif.h names, as compilers write it. MPICH's Fortran
            // functions call those in C.
            Language::Fortran | Language::Fortran2008 => FORTRAN
                .get_or_init(|| {
                    [
                        c"mpi_fortran_in_place_",
                        c"mpi_fortran_in_place",
                        c"mpi_fortran_in_place__",
                        c"MPI_FORTRAN_IN_PLACE",
                    ]
                    .into_iter()
                    .map(objects::variable)
                    .filter(|&place| place != 0)
                    .collect()
                })
                .contains(&buffer),
        }
    }

    unsafe fn handle(
        self,
        library: &Library,
        convert: fn(&Pointers) -> FromFortran,
        word: usize,
    ) -> usize {
        match (self, &library.pointers) {
            // SAFETY: by the contracts of those who call this.
            (Language::Fortran | Language::Fortran2008, _) => unsafe {
                self.handle_at(library, convert, word, 0)
            },
            (Language::C | Language::LargeC, Some(_)) => word,
            (Language::C | Language::LargeC, None) => word as u32 as usize,
        }
    }

    unsafe fn handle_at(
        self,
        library: &Library,
        convert: fn(&Pointers) -> FromFortran,
        array: usize,
        index: usize,
    ) -> usize {
        // SAFETY: by the contracts of those who call this; conversions take any integer.
        unsafe {
            match (self, &library.pointers) {
                (Language::C | Language::LargeC, Some(_)) => *(array as *const usize).add(index),
                (Language::Fortran | Language::Fortran2008, Some(pointers)) => {
                    convert(pointers)(*(array as *const c_int).add(index))
                }
                (_, None) => *(array as *const u32).add(index) as usize,
            }
        }
    }
}
