//! The shared objects of the process, as the dynamic linker has them: what each refers to by name, and what
//! such a name means there.

#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_char, c_int, c_void};

/// An object that is loaded and stays loaded while this lives: the program itself, or a library.
pub(crate) struct Object {
    base: usize,
    headers: &'static [libc::Elf64_Phdr],
    /// Our own count of it.
    handle: *mut c_void,
}

/// A reference from an object to a function, by name.
pub(crate) struct Reference<'a> {
    pub(crate) name: &'a CStr,
    /// The place of the function's address, now or later.
    place: *mut *mut c_void,
    /// True if the dynamic linker may leave it to the first call.
    may_be_lazy: bool,
}

/// The relocations that hold a function's address, and nothing else (System V ABI supplements).
#[cfg(target_arch = "x86_64")]
mod relocation {
    /// `R_X86_64_JUMP_SLOT`
    pub(super) const CALL: usize = 7;
    /// `R_X86_64_GLOB_DAT`, `R_X86_64_64`
    pub(super) const ADDRESSES: [usize; 2] = [6, 1];
}
#[cfg(not(target_arch = "x86_64"))]
mod relocation {
    /// `R_AARCH64_JUMP_SLOT`
    pub(super) const CALL: usize = 1026;
    /// `R_AARCH64_GLOB_DAT`, `R_AARCH64_ABS64`
    pub(super) const ADDRESSES: [usize; 2] = [1025, 257];
}

/// All objects but this library, in the order in which they came.
pub(crate) fn all() -> Vec<Description> {
    described(|object| !object.holds(own_address()))
}

/// The object that holds this address, unless that is this library.
pub(crate) fn holding(address: *const c_void) -> Option<Object> {
    described(|object| object.holds(address as usize))
        .pop()
        .filter(|object| !object.holds(own_address()))
        .and_then(Description::pinned)
}

/// Lets the object that holds this address stay loaded for good.
pub(crate) fn keep(address: *const c_void) {
    if let Some(object) = holding(address) {
        std::mem::forget(object);
    }
}

fn own_address() -> usize {
    own_address as fn() -> usize as usize
}

/// An object as the dynamic linker describes it. Another thread may unload it.
pub(crate) struct Description {
    base: usize,
    headers: *const libc::Elf64_Phdr,
    count: usize,
    /// Empty for the program itself.
    name: CString,
}

/// Descriptions of those that `wanted` wants, which is asked while nothing is unloaded.
fn described(wanted: impl Fn(&Description) -> bool) -> Vec<Description> {
    struct Search<'a> {
        wanted: &'a dyn Fn(&Description) -> bool,
        found: Vec<Description>,
    }
    unsafe extern "C" fn add(
        object: *mut libc::dl_phdr_info,
        _size: usize,
        search: *mut c_void,
    ) -> c_int {
        // SAFETY: the dynamic linker's description of an object, and the search of `described`.
        let (object, search) = unsafe { (&*object, &mut *search.cast::<Search>()) };
        let description = Description {
            base: object.dlpi_addr as usize,
            headers: object.dlpi_phdr,
            count: object.dlpi_phnum.into(),
            // SAFETY: the object's name.
            name: unsafe { CStr::from_ptr(object.dlpi_name) }.to_owned(),
        };
        if (search.wanted)(&description) {
            search.found.push(description);
        }
        0
    }
    let mut search = Search {
        wanted: &wanted,
        found: Vec::new(),
    };
    // SAFETY: `add` takes what it is given here.
    unsafe { libc::dl_iterate_phdr(Some(add), (&raw mut search).cast()) };
    search.found
}

impl Description {
    /// The identity that tells it from the others that are loaded.
    pub(crate) fn identity(&self) -> (usize, usize) {
        (self.base, self.headers as usize)
    }

    fn holds(&self, address: usize) -> bool {
        // SAFETY: the program headers of an object that is loaded.
        let headers = unsafe { std::slice::from_raw_parts(self.headers, self.count) };
        holds(self.base, headers, address)
    }

    /// The object, if it is still there. The kernel's own (the vDSO) is none.
    pub(crate) fn pinned(self) -> Option<Object> {
        // SAFETY: asks the kernel's auxiliary vector.
        let kernels = unsafe { libc::getauxval(libc::AT_SYSINFO_EHDR) } as usize;
        if kernels != 0 && self.holds(kernels) {
            return None;
        }
        let name = match self.name.is_empty() {
            true => std::ptr::null(),
            false => self.name.as_ptr(),
        };
        // SAFETY: asks for an object that is loaded already, and only then counts it once more. Past our hook:
        // this library's own references are left alone.
        let handle = unsafe { libc::dlopen(name, libc::RTLD_NOLOAD | libc::RTLD_LAZY) };
        if handle.is_null() {
            forget_error();
            return None;
        }
        let Description {
            base,
            headers,
            count,
            ..
        } = self;
        // SAFETY: the object's program headers, which lie in the object, and that is counted now.
        let headers = unsafe { std::slice::from_raw_parts(headers, count) };
        Some(Object {
            base,
            headers,
            handle,
        })
    }
}

fn holds(base: usize, headers: &[libc::Elf64_Phdr], address: usize) -> bool {
    headers.iter().any(|header| {
        let start = base.wrapping_add(header.p_vaddr as usize);
        header.p_type == libc::PT_LOAD
            && (start..start + header.p_memsz as usize).contains(&address)
    })
}

impl Drop for Object {
    fn drop(&mut self) {
        // SAFETY: `pinned` has counted it.
        unsafe { libc::dlclose(self.handle) };
    }
}

impl Object {
    fn header(&self, kind: u32) -> Option<&libc::Elf64_Phdr> {
        self.headers.iter().find(|header| header.p_type == kind)
    }

    fn start_of(&self, header: &libc::Elf64_Phdr) -> usize {
        self.base.wrapping_add(header.p_vaddr as usize)
    }

    fn dynamic(&self) -> Option<Dynamic> {
        let place = self.start_of(self.header(libc::PT_DYNAMIC)?);
        // SAFETY: the dynamic section of an object that is loaded.
        Some(unsafe { Dynamic::of(place as *const [usize; 2]) })
    }

    /// Calls `each` with every reference to a symbol.
    pub(crate) fn references(&self, mut each: impl FnMut(Reference)) {
        let Some(dynamic) = self.dynamic() else {
            return;
        };
        for [place, information, _] in dynamic.relocations() {
            let kind = information & 0xffff_ffff;
            let may_be_lazy = kind == relocation::CALL;
            if may_be_lazy || relocation::ADDRESSES.contains(&kind) {
                // SAFETY: an index of the object's own, which stays loaded.
                let name = unsafe { dynamic.symbol(information >> 32) };
                each(Reference {
                    name,
                    place: self.base.wrapping_add(*place) as *mut *mut c_void,
                    may_be_lazy,
                });
            }
        }
    }

    /// The function that a reference leads to; null if there is none, or none yet.
    pub(crate) fn target(&self, reference: &Reference) -> *mut c_void {
        // SAFETY: a place in the object, where the dynamic linker keeps the address.
        let address = unsafe { reference.place.read_volatile() };
        // Before the first call it leads back to what looks the function up, which lies in the object.
        let is_open = reference.may_be_lazy && holds(self.base, self.headers, address as usize);
        match is_open {
            true => self.look_up(reference.name),
            false => address,
        }
    }

    /// The meaning of `name` to code of this object, as the dynamic linker would find it; null if there is none.
    pub(crate) fn look_up(&self, name: &CStr) -> *mut c_void {
        let address = scope::look_up(self, name);
        if address.is_null() {
            forget_error();
        }
        address
    }

    /// Lets a reference lead to `function`. What the object may not write any more it may not write afterwards.
    pub(crate) fn redirect(&self, reference: &Reference, function: *mut c_void) {
        let page = page_size();
        let place = reference.place as usize;
        let sealed = self.header(libc::PT_GNU_RELRO).is_some_and(|header| {
            let start = self.start_of(header);
            let end = start + header.p_memsz as usize;
            (start / page * page..end / page * page).contains(&place)
        });
        let protect = |how| {
            let first = (place / page * page) as *mut c_void;
            // SAFETY: the page of the object in which the place is; nothing but how it may be used is changed.
            !sealed || unsafe { libc::mprotect(first, page, how) } == 0
        };
        if protect(libc::PROT_READ | libc::PROT_WRITE) {
            // SAFETY: the place holds a function's address and may be written now; the dynamic linker and other
            // threads read and write it as a whole, as this does.
            unsafe { reference.place.write_volatile(function) };
            protect(libc::PROT_READ);
        }
    }

    /// True if it refers to others by the name `name`.
    pub(crate) fn refers_to(&self, name: &CStr) -> bool {
        let mut found = false;
        self.references(|reference| found |= reference.name == name);
        found
    }
}

fn page_size() -> usize {
    // SAFETY: asks the C library.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) }.max(1) as usize
}

/// A look-up of ours that failed is none of the program's: `dlerror` says nothing of it.
fn forget_error() {
    // SAFETY: takes what there is to be said, and drops it.
    unsafe { libc::dlerror() };
}

/// The meaning of a name to an object. The dynamic linker looks among what is loaded for everybody, and then among
/// what was loaded with the object, but does not tell what that was. Yet `dlsym` does the same for whoever calls
/// it.
#[cfg(target_arch = "x86_64")]
pub(crate) mod scope {
    use std::arch::asm;
    use std::ffi::{CStr, c_void};

    use super::{Object, described, holds};

    pub(super) fn look_up(object: &Object, name: &CStr) -> *mut c_void {
        let Some(bounce) = bounce_in(object.base, object.headers) else {
            return std::ptr::null_mut();
        };
        let address: *mut c_void;
        // SAFETY: a call of `dlsym` (System V ABI) with proper arguments, that returns to a `ret` in the object,
        // which returns to here: `dlsym` takes the object for its caller. The stack is a multiple of 16 where it
        // would be at a call, and what lies below it is not in use, for the red zone is stepped over.
        unsafe {
            asm!(
                "mov r12, rsp",
                "sub rsp, 256",
                "and rsp, -16",
                "sub rsp, 8",
                "lea rax, [rip + 2f]",
                "push rax",
                "push {bounce}",
                "jmp {dlsym}",
                "2:",
                "mov rsp, r12",
                bounce = in(reg) bounce,
                dlsym = in(reg) libc::dlsym as *const c_void,
                inout("rdi") libc::RTLD_DEFAULT => _,
                inout("rsi") name.as_ptr() => _,
                out("rax") address,
                out("r12") _,
                clobber_abi("C"),
            );
        }
        address
    }

    /// The address of a `ret` in the object that holds `address`, for a function that wants to be called from there.
    pub(crate) fn bounce_beside(address: usize) -> Option<*const c_void> {
        let object = described(|object| object.holds(address)).pop()?;
        // SAFETY: the object of a function that is running.
        let headers = unsafe { std::slice::from_raw_parts(object.headers, object.count) };
        bounce_in(object.base, headers)
    }

    fn bounce_in(base: usize, headers: &[libc::Elf64_Phdr]) -> Option<*const c_void> {
        const RET: u8 = 0xc3;
        let code = headers.iter().filter(|header| {
            header.p_type == libc::PT_LOAD
                && header.p_flags & (libc::PF_X | libc::PF_R) == libc::PF_X | libc::PF_R
        });
        code.into_iter().find_map(|header| {
            let start = base.wrapping_add(header.p_vaddr as usize);
            debug_assert!(holds(base, headers, start));
            // SAFETY: a part of the object that may be read.
            let bytes =
                unsafe { std::slice::from_raw_parts(start as *const u8, header.p_filesz as usize) };
            let place = bytes.iter().position(|&byte| byte == RET)?;
            Some((start + place) as *const c_void)
        })
    }
}

/// Elsewhere: among what is loaded for everybody, and what the object itself asks for.
#[cfg(not(target_arch = "x86_64"))]
mod scope {
    use std::ffi::{CStr, c_void};

    use super::Object;

    pub(super) fn look_up(object: &Object, name: &CStr) -> *mut c_void {
        [libc::RTLD_DEFAULT, object.handle]
            .into_iter()
            // SAFETY: a handle of an object that is loaded, and a proper name.
            .map(|handle| unsafe { libc::dlsym(handle, name.as_ptr()) })
            .find(|address| !address.is_null())
            .unwrap_or(std::ptr::null_mut())
    }
}

/// Parts of an object's dynamic section (ELF-64, chapter 5): pairs of a tag and a value. The dynamic
/// linker has made its addresses those of this process.
#[derive(Default)]
struct Dynamic {
    names: usize,
    symbols: usize,
    /// Address and length of the tables of relocations with an addend.
    tables: [(usize, usize); 2],
}

impl Dynamic {
    /// # Safety
    /// `entry` leads to the dynamic section of an object that is loaded.
    unsafe fn of(mut entry: *const [usize; 2]) -> Self {
        let mut found = Dynamic::default();
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

    /// Entries of three words: place, symbol and kind, addend.
    fn relocations(&self) -> impl Iterator<Item = &'static [usize; 3]> + use<> {
        let there = self.tables.into_iter().filter(|(address, _)| *address != 0);
        there.flat_map(|(address, length)| {
            // SAFETY: a table of an object that is loaded, which is not written any more.
            unsafe {
                std::slice::from_raw_parts(
                    address as *const [usize; 3],
                    length / size_of::<[usize; 3]>(),
                )
            }
        })
    }

    /// The name of a symbol.
    ///
    /// # Safety
    /// The object is loaded while the name is used, and has a symbol of this index.
    unsafe fn symbol<'a>(&self, index: usize) -> &'a CStr {
        // SAFETY: an entry of the symbol table, which begins with the place of its name among the names.
        unsafe {
            let entry = (self.symbols as *const libc::Elf64_Sym).add(index);
            CStr::from_ptr((self.names as *const c_char).add((*entry).st_name as usize))
        }
    }
}
