//! Plain files that are written so that write(2) seldom waits, for programs that must leave ordinary files.
//!
//! Held by `tests/plain.rs` and `examples/c/plain.c`.

use crate::arguments::{null, object, object_mut, path, slice, structure_or_defaults, text};
use crate::error::{Result, guard};
use crate::structs::baro_plain_options;
use baro_plain::Error::Closed;
use baro_plain::{Pool, PreallocatedFile, Sizes};
use std::ffi::{c_char, c_void};

/// Files that are reserved and ready, in one folder. For one thread at a time.
#[derive(Debug)]
pub struct baro_plain_pool {
    pool: Pool,
}

/// A plain file that is being written. For one thread at a time.
#[derive(Debug)]
pub struct baro_plain_file {
    file: PreallocatedFile,
}

fn sizes(given: &baro_plain_options) -> Sizes {
    let usual = Sizes::default();
    let or = |found: u64, otherwise: u64| if found == 0 { otherwise } else { found };
    Sizes {
        file_bytes: or(given.file_bytes, usual.file_bytes),
        unit_bytes: or(given.unit_bytes, usual.unit_bytes),
        ready: or(given.ready.into(), usual.ready as u64) as usize,
    }
}

/// Makes the first files in `folder`, which must be there, and waits until they are reserved. Removes what a
/// killed pool has left ready there. Two threads belong to it: they make files, hand what was written
/// to the disk, and finish files, so that who writes need not wait for that. `options` may be null.
///
/// Returns 0, BARO_EINVAL, BARO_E2BIG, BARO_ENOTDIR, BARO_ENOTSUP, or errno.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baro_plain_open(
    folder: *const c_char,
    options: *const baro_plain_options,
    pool: *mut *mut baro_plain_pool,
) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        let (place, folder, options) = unsafe {
            (object_mut(pool, "pool")?, path(folder, "folder")?, structure_or_defaults(options)?)
        };
        *place = std::ptr::null_mut();
        let pool = Pool::open(folder, sizes(&options))?;
        *place = Box::into_raw(Box::new(baro_plain_pool { pool }));
        Ok(0)
    })
}

/// A file that is ready, to be named `name` in the pool's folder. Blocks only if none is ready, which
/// baro_plain_waits counts. If somebody makes a file of this name before a thread of the pool gives it, that
/// one stays: the next baro_plain_write and baro_plain_finish return BARO_EEXIST and say where this one is.
/// Also tells a failure of a file that nobody has waited for, once.
///
/// Returns 0, BARO_EINVAL, BARO_EEXIST, BARO_ESHUTDOWN, or errno.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baro_plain_take(
    pool: *mut baro_plain_pool,
    name: *const c_char,
    file: *mut *mut baro_plain_file,
) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        let (place, pool, name) =
            unsafe { (object_mut(file, "file")?, object_mut(pool, "pool")?, text(name, "name")?) };
        *place = std::ptr::null_mut();
        let file = pool.pool.take(name)?;
        *place = Box::into_raw(Box::new(baro_plain_file { file }));
        Ok(0)
    })
}

/// How often baro_plain_take had to wait: if it did, more files should be kept ready.
///
/// Returns 0, BARO_EINVAL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baro_plain_waits(pool: *const baro_plain_pool, waits: *mut u64) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        let (waits, pool) = unsafe { (object_mut(waits, "waits")?, object(pool, "pool")?) };
        *waits = pool.pool.waited();
        Ok(0)
    })
}

/// Writes all of `bytes` behind what is written: one pwrite(2), into memory only. Nothing is durable before
/// baro_plain_finish has been waited for. May block: for a journal that is locked, and for the dirty
/// pages of all programs together. BARO_ENOSPC: it is more than the file has room for, and nothing is written.
/// An earlier failure of the threads behind it is told, and nothing written: of this file by each write,
/// of a file that nobody has waited for once.
///
/// Returns 0, BARO_EINVAL, BARO_ENOSPC, BARO_EEXIST, BARO_ESHUTDOWN, or errno.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baro_plain_write(
    file: *mut baro_plain_file,
    bytes: *const c_void,
    count: usize,
) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        let (file, bytes) =
            unsafe { (object_mut(file, "file")?, slice::<u8>(bytes.cast(), count, "bytes")?) };
        file.file.write(bytes)?;
        Ok(0)
    })
}

/// Bytes that the file still has room for.
///
/// Returns 0, BARO_EINVAL, BARO_ESHUTDOWN.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baro_plain_room(file: *const baro_plain_file, bytes: *mut u64) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        let (bytes, file) = unsafe { (object_mut(bytes, "bytes")?, object(file, "file")?) };
        if let Err(closed @ Closed) = file.file.status() {
            return Err(closed.into());
        }
        *bytes = file.file.free_bytes();
        Ok(0)
    })
}

/// Ends the file: what was not written is cut off, and all is made durable, by a thread of the pool. The
/// handle is gone in any case. If `bytes` is null it does not wait: what has failed so far is told at once,
/// what fails later by the next write or take, or by baro_plain_close. Else it blocks until the file is
/// durable, and says how long it is.
///
/// Returns 0, BARO_EINVAL, BARO_EEXIST, BARO_ESHUTDOWN, or errno.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baro_plain_finish(file: *mut baro_plain_file, bytes: *mut u64) -> i32 {
    guard(|| {
        // SAFETY: the handle was made by `baro_plain_take`, and is given back once.
        let file = unsafe { owned(file, "file")? }.file;
        // SAFETY: as the header says.
        let Some(place) = (unsafe { bytes.as_mut() }) else {
            return Ok(file.leave().map(|()| 0)?);
        };
        *place = 0;
        *place = file.finish().wait()?;
        Ok(0)
    })
}

/// Waits for what is under way, and removes the files that are ready. The handle is gone in any case. Files
/// that were taken and not finished stay as long as they were reserved; what is called on them then
/// is refused. Tells the first failure of what nobody has waited for.
///
/// Returns 0, BARO_EINVAL, BARO_ESHUTDOWN, or errno.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baro_plain_close(pool: *mut baro_plain_pool) -> i32 {
    guard(|| {
        // SAFETY: the handle was made by `baro_plain_open`, and is given back once.
        unsafe { owned(pool, "pool")? }.pool.close()?;
        Ok(0)
    })
}

/// Takes a handle back.
///
/// # Safety
/// `place` is null or was made by `Box::into_raw`, and nobody uses it any more.
unsafe fn owned<T>(place: *mut T, name: &str) -> Result<Box<T>> {
    if place.is_null() {
        return Err(null(name));
    }
    // SAFETY: as the caller's.
    Ok(unsafe { Box::from_raw(place) })
}
