//! What C hands over, checked: pointers, texts, sizes of structures.
//!
//! Every reference made here lives no longer than the call. Held by `tests/bad_input.rs`.

use crate::error::{BARO_E2BIG, BARO_ERANGE, Failure, Result};
use std::ffi::{CStr, OsStr, c_char};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A structure of the interface that grows from version to version.
///
/// # Safety
/// `repr(C)`, without padding, valid for any bits, and its first field is `type_size: u32`.
pub(crate) unsafe trait Versioned: Copy {
    /// Its name in C.
    const NAME: &'static str;
}

/// More than any structure will ever have: a larger size is a mistake.
const STRUCT_BYTES_MAX: usize = 4096;

pub(crate) fn null(name: &str) -> Failure {
    Failure::invalid(format!("{name} is null"))
}

/// The size that the caller gave its structure.
unsafe fn type_size<T: Versioned>(place: *const T) -> Result<usize> {
    if place.is_null() {
        return Err(null(T::NAME));
    }
    // SAFETY: not null; the structure begins with it, and the caller has at least that.
    let found = unsafe { place.cast::<u32>().read_unaligned() } as usize;
    let least = size_of::<T>();
    if !(least..=STRUCT_BYTES_MAX).contains(&found) {
        return Err(Failure::invalid(format!(
            "{}.type_size: expected {least} or more, found {found}; set it to sizeof({})",
            T::NAME,
            T::NAME
        )));
    }
    Ok(found)
}

/// Reads a structure that the caller filled.
///
/// # Safety
/// `place` is null or has as many bytes as its type_size says.
pub(crate) unsafe fn structure<T: Versioned>(place: *const T) -> Result<T> {
    // SAFETY: as the caller's.
    let found = unsafe { type_size(place)? };
    let known = size_of::<T>();
    // SAFETY: the caller's structure has `found` bytes.
    let rest = unsafe { std::slice::from_raw_parts(place.cast::<u8>().add(known), found - known) };
    if let Some(at) = rest.iter().position(|byte| *byte != 0) {
        return Err(Failure::new(
            BARO_E2BIG,
            format!(
                "{}: the byte at {} is set, but this library knows only {known}; use a newer one, \
                 or leave what is new zero",
                T::NAME,
                known + at
            ),
        ));
    }
    // SAFETY: checked to have the size; any bits are valid.
    Ok(unsafe { place.read_unaligned() })
}

/// The same, where null means `T` all zero: the defaults.
///
/// # Safety
/// As [`structure`].
pub(crate) unsafe fn structure_or_defaults<T: Versioned>(place: *const T) -> Result<T> {
    if place.is_null() {
        // SAFETY: any bits are valid.
        return Ok(unsafe { std::mem::zeroed() });
    }
    // SAFETY: as the caller's.
    unsafe { structure(place) }
}

/// Fills a structure of the caller's; what this version does not know becomes zero.
///
/// # Safety
/// As [`structure`]; the bytes are writable.
pub(crate) unsafe fn fill<T: Versioned>(place: *mut T, value: T) -> Result<()> {
    // SAFETY: as the caller's.
    let found = unsafe { type_size(place)? };
    // SAFETY: the caller's structure has `found` bytes, at least as many as `T`.
    unsafe {
        place.write_unaligned(value);
        let rest = place.cast::<u8>().add(size_of::<T>());
        rest.write_bytes(0, found - size_of::<T>());
        place.cast::<u32>().write_unaligned(found as u32);
    }
    Ok(())
}

/// Whether [`fill`] would succeed: asked before anything is consumed.
///
/// # Safety
/// As [`structure`].
pub(crate) unsafe fn check<T: Versioned>(place: *const T) -> Result<()> {
    // SAFETY: as the caller's.
    unsafe { type_size(place).map(|_| ()) }
}

/// A handle or another object that must be there.
///
/// # Safety
/// `place` is null or points to a live object that nobody else changes during the call.
pub(crate) unsafe fn object<'a, T>(place: *const T, name: &str) -> Result<&'a T> {
    // SAFETY: as the caller's.
    unsafe { place.as_ref() }.ok_or_else(|| null(name))
}

/// The same, to be changed.
///
/// # Safety
/// As [`object`], and nobody else looks at it either.
pub(crate) unsafe fn object_mut<'a, T>(place: *mut T, name: &str) -> Result<&'a mut T> {
    // SAFETY: as the caller's.
    unsafe { place.as_mut() }.ok_or_else(|| null(name))
}

/// `count` elements; of none the pointer does not matter.
///
/// # Safety
/// `place` is null or has that many elements.
pub(crate) unsafe fn slice<'a, T>(place: *const T, count: usize, name: &str) -> Result<&'a [T]> {
    if count == 0 {
        return Ok(&[]);
    }
    if place.is_null() {
        return Err(null(name));
    }
    if !place.is_aligned()
        || count.checked_mul(size_of::<T>()).is_none_or(|n| n > isize::MAX as usize)
    {
        return Err(Failure::invalid(format!("{name}: misaligned, or {count} is no count")));
    }
    // SAFETY: not null, aligned, of a possible size, and as the caller says.
    Ok(unsafe { std::slice::from_raw_parts(place, count) })
}

/// A text that must be there.
///
/// # Safety
/// `place` is null or ends with a zero byte.
pub(crate) unsafe fn text<'a>(place: *const c_char, name: &str) -> Result<&'a str> {
    if place.is_null() {
        return Err(null(name));
    }
    // SAFETY: as the caller's.
    let found = unsafe { CStr::from_ptr(place) };
    found.to_str().map_err(|error| Failure::invalid(format!("{name}: not UTF-8: {error}")))
}

/// A text; null means an empty one.
///
/// # Safety
/// As [`text`].
pub(crate) unsafe fn text_or_empty<'a>(place: *const c_char, name: &str) -> Result<&'a str> {
    // SAFETY: as the caller's.
    if place.is_null() { Ok("") } else { unsafe { text(place, name) } }
}

/// The path of a file or folder.
///
/// # Safety
/// As [`text`].
pub(crate) unsafe fn path<'a>(place: *const c_char, name: &str) -> Result<&'a Path> {
    if place.is_null() {
        return Err(null(name));
    }
    // SAFETY: as the caller's.
    let bytes = unsafe { CStr::from_ptr(place) }.to_bytes();
    if bytes.is_empty() {
        return Err(Failure::invalid(format!("{name} is empty")));
    }
    Ok(Path::new(OsStr::from_bytes(bytes)))
}

/// Puts a text with its zero byte into a buffer of the caller's.
///
/// # Safety
/// `place` is null or has `room` bytes.
pub(crate) unsafe fn put_text(text: &[u8], place: *mut c_char, room: usize) -> Result<()> {
    if place.is_null() {
        return Err(null("buffer"));
    }
    if text.len() >= room {
        return Err(Failure::new(
            BARO_ERANGE,
            format!("buffer: {} bytes needed, {room} given", text.len() + 1),
        ));
    }
    // SAFETY: the buffer has room for the text and the zero byte.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr(), place.cast(), text.len());
        place.add(text.len()).write(0);
    }
    Ok(())
}

/// A text in an array of a structure.
pub(crate) fn fixed_text<'a>(array: &'a [c_char], name: &str) -> Result<&'a str> {
    // SAFETY: c_char is a byte, signed or not.
    let bytes = unsafe { std::slice::from_raw_parts(array.as_ptr().cast::<u8>(), array.len()) };
    let found = CStr::from_bytes_until_nul(bytes)
        .map_err(|_| Failure::invalid(format!("{name}: no zero byte at its end")))?;
    found.to_str().map_err(|error| Failure::invalid(format!("{name}: not UTF-8: {error}")))
}

/// A text as an array with a zero byte at its end; what has no room is cut off, at a character.
pub(crate) fn char_array<const N: usize>(text: &str) -> [c_char; N] {
    let mut end = text.len().min(N - 1);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let mut array = [0; N];
    // A zero byte inside would hide the rest.
    let bytes = text.bytes().take(end).map(|byte| if byte == 0 { b'?' } else { byte });
    array.iter_mut().zip(bytes).for_each(|(to, from)| *to = from as c_char);
    array
}

/// Refuses flags that this version does not know.
pub(crate) fn known_flags(name: &str, found: u32, known: u32) -> Result<()> {
    if found & !known == 0 {
        return Ok(());
    }
    Err(Failure::invalid(format!("{name}.flags: {:#x} is unknown to this library", found & !known)))
}
