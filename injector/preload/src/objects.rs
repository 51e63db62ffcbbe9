//! The shared objects of the process, as the dynamic linker has them.

#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_int, c_void};
use std::sync::OnceLock;

use crate::real::real_dlsym;

/// The function `name` of the shared object `object`, or of one that it depends on; null if it is not
/// loaded or has none. What is found stays loaded.
pub(crate) fn function_of(object: &CStr, name: &CStr) -> *mut c_void {
    // SAFETY: asks for an object that is loaded already, and only then counts it once more, which
    // keeps the function in place for good.
    unsafe {
        let handle = libc::dlopen(object.as_ptr(), libc::RTLD_NOLOAD | libc::RTLD_LAZY);
        if handle.is_null() {
            return handle;
        }
        let address = real_dlsym()(handle, name.as_ptr());
        if address.is_null() {
            libc::dlclose(handle);
        }
        address
    }
}

/// The function `name` of any shared object that is loaded but this library; null if there is none.
pub(crate) fn function_of_any(name: &CStr) -> *mut c_void {
    loaded()
        .iter()
        .map(|object| function_of(object, name))
        .find(|&address| !address.is_null() && base_of(address) != base_of(own_address()))
        .unwrap_or(std::ptr::null_mut())
}

/// The function that this library exports as `name`; null if it exports none.
pub(crate) fn own_function(name: &CStr) -> *mut c_void {
    static OWN: OnceLock<Option<CString>> = OnceLock::new();
    let own = OWN.get_or_init(|| {
        let name = information(own_address())?.dli_fname;
        // SAFETY: the dynamic linker's name of this library, which stays loaded.
        Some(unsafe { CStr::from_ptr(name) }.to_owned())
    });
    own.as_ref()
        .map_or(std::ptr::null_mut(), |own| function_of(own, name))
}

/// The address of the variable `name`: where symbols are looked up, for if a program refers to one, it lies in the
/// program and not in the library; or else in any shared object that is loaded.
pub(crate) fn variable_of_any(name: &CStr) -> Option<usize> {
    // SAFETY: a proper name.
    let place = unsafe { real_dlsym()(libc::RTLD_DEFAULT, name.as_ptr()) };
    let place = match place.is_null() {
        true => function_of_any(name),
        false => place,
    };
    (!place.is_null()).then_some(place as usize)
}

/// The names of the shared objects that are loaded, without the program itself, whose name is empty.
fn loaded() -> Vec<CString> {
    unsafe extern "C" fn add(
        object: *mut libc::dl_phdr_info,
        _size: usize,
        names: *mut c_void,
    ) -> c_int {
        // SAFETY: the dynamic linker's description of an object, and the vector of `loaded`.
        unsafe {
            let name = CStr::from_ptr((*object).dlpi_name);
            if !name.is_empty() {
                (*names.cast::<Vec<CString>>()).push(name.to_owned());
            }
        }
        0
    }
    let mut names = Vec::<CString>::new();
    // SAFETY: `add` takes what it is given here.
    unsafe { libc::dl_iterate_phdr(Some(add), (&raw mut names).cast()) };
    names
}

fn own_address() -> *mut c_void {
    own_address as fn() -> *mut c_void as *mut c_void
}

/// What the dynamic linker knows of the object that holds an address.
fn information(address: *mut c_void) -> Option<libc::Dl_info> {
    let mut information = std::mem::MaybeUninit::<libc::Dl_info>::uninit();
    // SAFETY: it is filled in where the outcome is not 0.
    unsafe {
        (libc::dladdr(address, information.as_mut_ptr()) != 0).then(|| information.assume_init())
    }
}

fn base_of(address: *mut c_void) -> *mut c_void {
    information(address).map_or(std::ptr::null_mut(), |information| information.dli_fbase)
}

/// Whether the object that holds the function at `address` calls others by the name `name`: whether
/// one of its relocations is for that symbol.
pub(crate) fn refers_to(address: *mut c_void, name: &CStr) -> bool {
    /// What is looked for, and whether it was found.
    struct Search<'a> {
        address: usize,
        name: &'a CStr,
        found: bool,
    }
    unsafe extern "C" fn look(
        object: *mut libc::dl_phdr_info,
        _size: usize,
        search: *mut c_void,
    ) -> c_int {
        // SAFETY: the dynamic linker's description of an object, and the search of `refers_to`.
        unsafe {
            let (object, search) = (&*object, &mut *search.cast::<Search>());
            let headers = std::slice::from_raw_parts(object.dlpi_phdr, object.dlpi_phnum.into());
            let place = |header: &libc::Elf64_Phdr| (object.dlpi_addr + header.p_vaddr) as usize;
            let holds_it = |header: &libc::Elf64_Phdr| {
                let start = place(header);
                header.p_type == libc::PT_LOAD
                    && (start..start + header.p_memsz as usize).contains(&search.address)
            };
            if !headers.iter().any(holds_it) {
                return 0;
            }
            let dynamic = headers
                .iter()
                .find(|header| header.p_type == libc::PT_DYNAMIC);
            search.found = dynamic.is_some_and(|header| {
                Relocations::of(place(header) as *const [usize; 2]).name(search.name)
            });
            1
        }
    }
    let mut search = Search {
        address: address as usize,
        name,
        found: false,
    };
    // SAFETY: `look` takes what it is given here.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut search).cast()) };
    search.found
}

/// Parts of an object's dynamic section (ELF-64, chapter 5): pairs of a tag and a value. The dynamic
/// linker has made its addresses those of this process.
#[derive(Default)]
struct Relocations {
    names: usize,
    symbols: usize,
    /// Address and length of the tables of relocations with an addend.
    tables: [(usize, usize); 2],
}

impl Relocations {
    /// # Safety
    /// `entry` leads to the dynamic section of an object that is loaded.
    unsafe fn of(mut entry: *const [usize; 2]) -> Self {
        let mut found = Relocations::default();
        loop {
            // SAFETY: by the contract of this function; a tag of 0 is the last.
            let [tag, value] = unsafe { *entry };
            match tag {
                0 => return found,
                // DT_STRTAB, DT_SYMTAB
                5 => found.names = value,
                6 => found.symbols = value,
                // DT_RELA and DT_RELASZ, DT_JMPREL and DT_PLTRELSZ
                7 => found.tables[0].0 = value,
                8 => found.tables[0].1 = value,
                23 => found.tables[1].0 = value,
                2 => found.tables[1].1 = value,
                _ => {}
            }
            // SAFETY: it was not the last.
            entry = unsafe { entry.add(1) };
        }
    }

    /// Whether one of them names the symbol `name`.
    ///
    /// # Safety
    /// The object is still loaded.
    unsafe fn name(&self, name: &CStr) -> bool {
        let names = |relocation: &[usize; 3]| {
            let symbol = relocation[1] >> 32;
            // SAFETY: an entry of the symbol table, which begins with the place of its name among
            // the names.
            let other = unsafe {
                let entry = (self.symbols as *const libc::Elf64_Sym).add(symbol);
                CStr::from_ptr(
                    (self.names as *const std::ffi::c_char).add((*entry).st_name as usize),
                )
            };
            other == name
        };
        let there = self.tables.iter().filter(|(address, _)| *address != 0);
        there.into_iter().any(|&(address, length)| {
            // SAFETY: a table of entries of three words: place, symbol and type, addend.
            let table = unsafe {
                std::slice::from_raw_parts(
                    address as *const [usize; 3],
                    length / size_of::<[usize; 3]>(),
                )
            };
            table.iter().any(names)
        })
    }
}
