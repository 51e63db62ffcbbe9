//! The questions of the hooks to the MPI that the program uses, and how its values are read, without its header.

use std::ffi::{CStr, c_int, c_void};
use std::sync::Mutex;

use crate::objects::{self, Object};

/// The language that a call's arguments are read in.
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
    comm_get_parent: unsafe extern "C" fn(*mut usize) -> c_int,
    initialized: unsafe extern "C" fn(*mut c_int) -> c_int,
    finalized: unsafe extern "C" fn(*mut c_int) -> c_int,
    topo_test: Ask<c_int>,
    cartdim_get: Ask<c_int>,
    cart_shift: unsafe extern "C" fn(usize, c_int, c_int, *mut c_int, *mut c_int) -> c_int,
    graph_neighbors_count: unsafe extern "C" fn(usize, c_int, *mut c_int) -> c_int,
    dist_graph_neighbors_count:
        unsafe extern "C" fn(usize, *mut c_int, *mut c_int, *mut c_int) -> c_int,
    /// The functions that make a handle of the integer that it is in Fortran, where handles are pointers.
    pointers: Option<Pointers>,
    known: Option<Known>,
    /// The addresses of the variables that stand for `MPI_IN_PLACE` in Fortran.
    in_place: Vec<usize>,
}

/// The variable that Open MPI's mpif.h names, as compilers write it.
const IN_PLACE: [&CStr; 4] = [
    c"mpi_fortran_in_place_",
    c"mpi_fortran_in_place",
    c"mpi_fortran_in_place__",
    c"MPI_FORTRAN_IN_PLACE",
];

/// The values that headers define, for the MPIs that are known.
struct Known {
    /// `MPI_COMM_WORLD`
    world: usize,
    /// `MPI_COMM_NULL`
    no_comm: usize,
    /// `MPI_CART`, `MPI_GRAPH` and `MPI_DIST_GRAPH`
    topologies: [c_int; 3],
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

/// Looks names up as the MPI itself would.
#[derive(Clone, Copy)]
struct Names<'a>(&'a Object);

impl Names<'_> {
    /// A function of the MPI, which has this type.
    ///
    /// # Safety
    /// `F` is the type of the function `name`, with words for handles.
    unsafe fn function<F: Copy>(self, name: &CStr) -> Option<F> {
        let address = self.0.look_up(name);
        // SAFETY: by the contract of this function; F is a function pointer, as large as an address.
        (!address.is_null()).then(|| unsafe { std::mem::transmute_copy(&address) })
    }

    /// The address of a variable. If the program refers to it, it lies in the program and not in the library.
    fn variable(self, name: &CStr) -> Option<usize> {
        let place = self.0.look_up(name);
        (!place.is_null()).then_some(place as usize)
    }
}

impl Library {
    /// The MPI that `function` belongs to; `None` if that has not all that is asked of one.
    pub(super) fn of(function: *mut c_void) -> Option<&'static Self> {
        static KNOWN: Mutex<Vec<&'static Library>> = Mutex::new(Vec::new());
        let library = Library::seen_by(&objects::holding(function)?)?;
        let mut known = KNOWN
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let is_same = |other: &&&Library| std::ptr::fn_addr_eq(other.type_size, library.type_size);
        if let Some(same) = known.iter().find(is_same) {
            return Some(*same);
        }
        let library = &*Box::leak(Box::new(library));
        known.push(library);
        Some(library)
    }

    /// The MPI that code of an object reaches by the names that the standard has for tools.
    fn seen_by(object: &Object) -> Option<Self> {
        let names = Names(object);
        // SAFETY: the types are those of the MPI standard (version 3.1), in words.
        unsafe {
            let pointers = Pointers::find(names);
            Some(Library {
                type_size: names.function(c"PMPI_Type_size_x")?,
                comm_test_inter: names.function(c"PMPI_Comm_test_inter")?,
                comm_rank: names.function(c"PMPI_Comm_rank")?,
                comm_size: names.function(c"PMPI_Comm_size")?,
                comm_remote_size: names.function(c"PMPI_Comm_remote_size")?,
                comm_group: names.function(c"PMPI_Comm_group")?,
                comm_remote_group: names.function(c"PMPI_Comm_remote_group")?,
                window_group: names.function(c"PMPI_Win_get_group")?,
                group_free: names.function(c"PMPI_Group_free")?,
                group_translate: names.function(c"PMPI_Group_translate_ranks")?,
                comm_get_parent: names.function(c"PMPI_Comm_get_parent")?,
                initialized: names.function(c"PMPI_Initialized")?,
                finalized: names.function(c"PMPI_Finalized")?,
                topo_test: names.function(c"PMPI_Topo_test")?,
                cartdim_get: names.function(c"PMPI_Cartdim_get")?,
                cart_shift: names.function(c"PMPI_Cart_shift")?,
                graph_neighbors_count: names.function(c"PMPI_Graph_neighbors_count")?,
                dist_graph_neighbors_count: names.function(c"PMPI_Dist_graph_neighbors_count")?,
                known: Known::find(names, pointers.is_some()),
                in_place: IN_PLACE
                    .iter()
                    .filter_map(|name| names.variable(name))
                    .collect(),
                pointers,
            })
        }
    }

    /// The communicator of all ranks, where it is known, and while it is there: a program that begins by
    /// `MPI_Session_init` has none, and is ended by an MPI that is asked of it.
    pub(super) fn world(&self) -> Option<usize> {
        let says = |ask: unsafe extern "C" fn(*mut c_int) -> c_int| {
            let mut answer = 0;
            // SAFETY: may be asked at any time, by any thread; a place for the answer.
            unsafe { ask(&raw mut answer) == 0 && answer != 0 }
        };
        let there = || says(self.initialized) && !says(self.finalized);
        self.known
            .as_ref()
            .map(|known| known.world)
            .filter(|_| there())
    }

    /// True if the ranks of this world were started by those of another (`MPI_Comm_spawn`).
    pub(super) fn is_spawned(&self) -> bool {
        let mut parent = 0;
        // SAFETY: a place for the answer. A handle takes half of this word, or all of it.
        let known = unsafe { (self.comm_get_parent)(&raw mut parent) } == 0;
        known
            && self
                .known
                .as_ref()
                .is_some_and(|known| known.no_comm != parent)
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

    /// The number of ranks that a collective's parts go to: those of the other group, where there are two.
    pub(super) fn ranks_of(&self, comm: usize) -> usize {
        match self.is_inter(comm) {
            true => self.answer(self.comm_remote_size, comm).unwrap_or(0),
            false => self.own_ranks_of(comm),
        }
    }

    /// The number of ranks in the caller's group.
    pub(super) fn own_ranks_of(&self, comm: usize) -> usize {
        self.answer(self.comm_size, comm).unwrap_or(0)
    }

    /// The places that the caller's neighbours have in the buffers and arrays that it sends from. Beyond
    /// the edge of a grid there is nobody, who has a place, too.
    pub(super) fn neighbours(&self, comm: usize) -> impl Iterator<Item = usize> {
        self.targets(comm)
            .into_iter()
            .enumerate()
            .filter_map(|(place, is_there)| is_there.then_some(place))
    }

    fn targets(&self, comm: usize) -> Vec<bool> {
        let (Some(known), Some(topology)) = (&self.known, self.answer(self.topo_test, comm)) else {
            return Vec::new();
        };
        let (mut sources, mut number, mut weighted) = (0, 0, 0);
        // SAFETY: the program's own communicator, which has this topology, and places for the answers.
        unsafe {
            match known.topologies.map(|one| one as usize == topology) {
                [true, _, _] => {
                    let dimensions = self.answer(self.cartdim_get, comm).unwrap_or(0);
                    let shifted = |dimension| self.both_ways(comm, dimension as c_int);
                    return (0..dimensions).flat_map(shifted).collect();
                }
                [_, true, _] => {
                    let rank = self.rank_in(comm).unwrap_or(0) as c_int;
                    (self.graph_neighbors_count)(comm, rank, &raw mut number);
                }
                [_, _, true] => {
                    let places = (&raw mut sources, &raw mut number, &raw mut weighted);
                    (self.dist_graph_neighbors_count)(comm, places.0, places.1, places.2);
                }
                _ => {}
            }
        }
        vec![true; usize::try_from(number).unwrap_or(0)]
    }

    /// Whether there is somebody before the caller in this dimension of a grid, and behind it.
    fn both_ways(&self, comm: usize, dimension: c_int) -> [bool; 2] {
        let (mut before, mut behind) = (-1, -1);
        // SAFETY: a dimension of the program's own communicator, and places for the answers.
        unsafe { (self.cart_shift)(comm, dimension, 1, &raw mut before, &raw mut behind) };
        [before >= 0, behind >= 0]
    }

    /// The rank among all ranks of the one that a communicator calls `peer`. `None` if it is not one
    /// of them, or if nothing is known of them.
    pub(super) fn peer_by_comm(&self, comm: usize, peer: c_int) -> Option<usize> {
        if self.known.as_ref().is_some_and(|known| known.world == comm) {
            return usize::try_from(peer).ok();
        }
        let group = match self.is_inter(comm) {
            true => self.comm_remote_group,
            false => self.comm_group,
        };
        self.peer_by(group, comm, peer)
    }

    /// The same rank for a peer of a window.
    pub(super) fn peer_by_window(&self, window: usize, peer: c_int) -> Option<usize> {
        self.peer_by(self.window_group, window, peer)
    }

    fn peer_by(&self, group_of: Ask<usize>, handle: usize, peer: c_int) -> Option<usize> {
        let mut world = self.group(self.comm_group, self.world()?)?;
        let group = self.group(group_of, handle);
        let mut to = -1;
        // SAFETY: groups that are ours, and places for a rank and the answer.
        unsafe {
            if let Some(mut group) = group {
                (self.group_translate)(group, 1, &raw const peer, world, &raw mut to);
                (self.group_free)(&raw mut group);
            }
            (self.group_free)(&raw mut world);
        }
        // MPI_UNDEFINED is negative.
        usize::try_from(to).ok()
    }

    /// A group, which is the caller's to give back.
    fn group(&self, group_of: Ask<usize>, handle: usize) -> Option<usize> {
        let mut group = 0;
        // SAFETY: the program's own handle, and a place for the answer: a handle is a word or half of
        // one, and the other half is 0.
        (unsafe { group_of(handle, &raw mut group) } == 0).then_some(group)
    }

    /// True if the buffer at this address stands for another (`MPI_IN_PLACE`, which a header defines).
    pub(super) fn is_in_place(&self, language: Language, buffer: usize) -> bool {
        match language {
            // No buffer is there: the one is Open MPI's, the other MPICH's.
            Language::C | Language::LargeC => buffer == 1 || buffer == usize::MAX,
            // MPICH's Fortran functions call those in C.
            Language::Fortran | Language::Fortran2008 => self.in_place.contains(&buffer),
        }
    }

    /// True if a communicator is one between two groups.
    pub(super) fn is_inter(&self, comm: usize) -> bool {
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
    /// The functions of Open MPI, which is known by its variables. With MPICH's binary interface, handles are
    /// integers, and the conversions do not change them, be they functions (MPICH 5) or not.
    ///
    /// # Safety
    /// The types are those of the functions.
    unsafe fn find(names: Names) -> Option<Self> {
        names.variable(OMPI_WORLD)?;
        // SAFETY: by the contract of this function.
        unsafe {
            Some(Pointers {
                comm: names.function(c"PMPI_Comm_f2c")?,
                datatype: names.function(c"PMPI_Type_f2c")?,
                window: names.function(c"PMPI_Win_f2c")?,
                request: names.function(c"PMPI_Request_f2c")?,
            })
        }
    }
}

/// The variable whose address `MPI_COMM_WORLD` is in Open MPI.
const OMPI_WORLD: &CStr = c"ompi_mpi_comm_world";

impl Known {
    /// Communicators are addresses of variables in Open MPI, and numbers in the common binary interface of
    /// MPICH and its kin.
    fn find(names: Names, pointers: bool) -> Option<Self> {
        if !pointers {
            return Some(Known {
                world: 0x4400_0000,
                no_comm: 0x0400_0000,
                topologies: [2, 1, 3],
            });
        }
        Some(Known {
            world: names.variable(OMPI_WORLD)?,
            no_comm: names.variable(c"ompi_mpi_comm_null")?,
            topologies: [1, 2, 3],
        })
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

    /// A count that is an `MPI_Count` in every language.
    ///
    /// # Safety
    /// As [`Language::integer`].
    pub(super) unsafe fn large_count(self, word: usize) -> u64 {
        let count = match self {
            Language::C | Language::LargeC => word as i64,
            // SAFETY: by the contract of this function.
            Language::Fortran | Language::Fortran2008 => unsafe { *(word as *const i64) },
        };
        u64::try_from(count).unwrap_or(0)
    }

    /// A count of 1, as a call in this language gives it.
    pub(super) fn one(self) -> usize {
        static ONE: i32 = 1;
        match self {
            Language::C | Language::LargeC => 1,
            Language::Fortran | Language::Fortran2008 => &raw const ONE as usize,
        }
    }

    /// The count at `place` of an array.
    ///
    /// # Safety
    /// As [`Language::integer`]; the array has more.
    pub(super) unsafe fn count_at(self, array: usize, place: usize) -> u64 {
        // SAFETY: by the contract of this function.
        let count = unsafe {
            match self {
                Language::LargeC => *(array as *const i64).add(place),
                _ => i64::from(*(array as *const i32).add(place)),
            }
        };
        u64::try_from(count).unwrap_or(0)
    }

    /// True if a call has succeeded that gave `outcome`, and was given these arguments.
    ///
    /// # Safety
    /// They are those of a call in this language; in Fortran the last takes the error, where the program
    /// has not left it out.
    pub(super) unsafe fn has_succeeded(self, outcome: c_int, arguments: &[usize]) -> bool {
        match self {
            Language::C | Language::LargeC => outcome == 0,
            Language::Fortran | Language::Fortran2008 => {
                let place = arguments.last().map(|&word| word as *const c_int);
                // SAFETY: by the contract of this function.
                let error = place.and_then(|place| unsafe { place.as_ref() });
                error.is_none_or(|&error| error == 0)
            }
        }
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

    /// A request.
    ///
    /// # Safety
    /// As [`Language::integer`].
    pub(super) unsafe fn request(self, library: &Library, word: usize) -> usize {
        // SAFETY: by the contract of this function.
        unsafe { self.handle(library, |pointers| pointers.request, word) }
    }

    /// The request at `index` of an array.
    ///
    /// # Safety
    /// As [`Language::integer`]; the array has more.
    pub(super) unsafe fn request_at(self, library: &Library, array: usize, index: usize) -> usize {
        // SAFETY: by the contract of this function.
        unsafe { self.handle_at(library, |pointers| pointers.request, array, index) }
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
