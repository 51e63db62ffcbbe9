//! Memory of the program in C: read and written here alone.

use std::ffi::{CStr, c_char, c_void};
use std::mem::MaybeUninit;
use std::ptr;

use crate::error::{AM_Error, Failure};

fn null(what: &str) -> Failure {
    Failure::new(AM_Error::AM_ERR_NULL, format!("{what} is a null pointer"))
}

/// A text of the program.
///
/// # Safety
/// The pointer is null, or points to a text that ends with a zero byte and stays as it is for `'a`.
pub(crate) unsafe fn text<'a>(what: &str, text: *const c_char) -> Result<&'a str, Failure> {
    if text.is_null() {
        return Err(null(what));
    }
    // SAFETY: the caller's promise, and it is not null.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str()
        .map_err(|_| Failure::new(AM_Error::AM_ERR_TEXT, format!("{what} is not UTF-8")))
}

/// Bytes of the program; none may be null.
///
/// # Safety
/// The pointer is null, or `length` bytes can be read there and stay as they are for `'a`.
pub(crate) unsafe fn bytes<'a>(data: *const c_void, length: usize) -> Result<&'a [u8], Failure> {
    if length == 0 {
        return Ok(&[]);
    }
    if data.is_null() {
        return Err(null("data"));
    }
    if length > isize::MAX as usize {
        let text = format!("no message has {length} bytes");
        return Err(Failure::new(AM_Error::AM_ERR_TOO_LONG, text));
    }
    // SAFETY: the caller's promise; it is not null, and no object is longer than `isize::MAX`.
    Ok(unsafe { std::slice::from_raw_parts(data.cast(), length) })
}

/// A place of the program where a value goes.
pub(crate) struct Out<T>(*mut T);

impl<T> Out<T> {
    /// The place at a pointer.
    ///
    /// # Safety
    /// The pointer is null, or a `T` can be written there until the function that was called returns.
    pub(crate) unsafe fn new(what: &str, place: *mut T) -> Result<Self, Failure> {
        match place.is_null() {
            true => Err(null(what)),
            false => Ok(Out(place)),
        }
    }

    pub(crate) fn put(&self, value: T) {
        // SAFETY: `new` was promised it; nothing is asked of the alignment.
        unsafe { self.0.write_unaligned(value) }
    }
}

/// Writes the first `size` bytes of a value, which has as many: a program that was made for an earlier version has no room
/// for more.
///
/// # Safety
/// The pointer is null, or `size` bytes can be written there.
pub(crate) unsafe fn put_first<T: Copy>(
    what: &str,
    place: *mut T,
    size: usize,
    value: &T,
) -> Result<(), Failure> {
    if place.is_null() {
        return Err(null(what));
    }
    let size = size.min(size_of::<T>());
    // SAFETY: the caller's promise, and the value has as many bytes; nothing is asked of the alignment.
    unsafe {
        let from = ptr::from_ref(value).cast::<MaybeUninit<u8>>();
        ptr::copy_nonoverlapping(from, place.cast(), size);
    }
    Ok(())
}

/// Refuses the size of a structure that is none of this library's versions, which have from `first` to `ours` bytes.
pub(crate) fn check_size(
    what: &str,
    size: usize,
    first: usize,
    ours: usize,
) -> Result<(), Failure> {
    match (first..=ours).contains(&size) {
        true => Ok(()),
        false => Err(Failure::new(
            AM_Error::AM_ERR_SIZE,
            format!("{what} of {size} bytes is of another library: this one has {ours}"),
        )),
    }
}

/// A list of the program that is to be filled.
pub(crate) struct Room<T> {
    first: *mut T,
    most: usize,
}

impl<T: Copy> Room<T> {
    /// Room for `most` values.
    ///
    /// # Safety
    /// The pointer is null, or `most` values can be written there until the function that was called returns.
    pub(crate) unsafe fn new(what: &str, first: *mut T, most: usize) -> Result<Self, Failure> {
        match first.is_null() && most > 0 {
            true => Err(null(what)),
            false => Ok(Room { first, most }),
        }
    }

    pub(crate) fn most(&self) -> usize {
        self.most
    }

    /// Writes what there is room for.
    pub(crate) fn fill(&self, values: &[T]) {
        for (place, value) in values.iter().take(self.most).enumerate() {
            // SAFETY: `place` is less than `most`, for which `new` was promised room; nothing is asked of the alignment.
            unsafe { self.first.add(place).write_unaligned(*value) }
        }
    }
}

impl Room<c_char> {
    /// Refuses a text that has more bytes than there is room for, the zero byte at its end among them.
    pub(crate) fn holds(&self, needed: usize) -> Result<(), Failure> {
        if needed <= self.most {
            return Ok(());
        }
        let text = format!(
            "the text takes {needed} bytes, there is room for {}",
            self.most
        );
        Err(Failure::new(AM_Error::AM_ERR_SPACE, text))
    }

    /// Writes a text and the zero byte that ends it.
    ///
    /// # Errors
    /// There is no room: nothing is written.
    pub(crate) fn text(&self, text: &str) -> Result<(), Failure> {
        self.holds(text.len() + 1)?;
        let bytes: Vec<c_char> = text.bytes().chain([0]).map(|byte| byte as c_char).collect();
        self.fill(&bytes);
        Ok(())
    }
}
