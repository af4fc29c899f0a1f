//! A producer: made, attached, asked for its counters, freed. Its pushes are in `push`.
//!
//! Invariant: one thread at a time uses it; builds with checks tell the second one. Held by the test
//! below.

use crate::arguments::{fill, null, object, object_mut, path, put_text};
#[cfg(debug_assertions)]
use crate::error::BARO_EBUSY;
use crate::error::{BARO_ENOTSUP, Failure, Result, guard};
use crate::recorder::baro_recorder;
use crate::structs::baro_ring_report;
use ::baro_recorder::{Producer, RingReport};
use std::ffi::c_char;
use std::ops::{Deref, DerefMut};
use std::os::unix::ffi::OsStrExt;
#[cfg(debug_assertions)]
use std::sync::atomic::{AtomicBool, Ordering};

/// Pushes records into one ring. For one thread at a time.
#[derive(Debug)]
pub struct baro_producer {
    pub(crate) producer: Producer,
    /// A thread pushes. Two at once are against the header's word, and would be undefined: in builds
    /// with checks the second is told.
    #[cfg(debug_assertions)]
    busy: AtomicBool,
}

/// A producer for the length of one push.
pub(crate) struct Pushing<'a> {
    producer: &'a mut Producer,
    #[cfg(debug_assertions)]
    busy: &'a AtomicBool,
}

/// The handle's producer, for this thread alone.
///
/// # Safety
/// `handle` is null or alive.
#[inline]
pub(crate) unsafe fn pushing<'a>(handle: *mut baro_producer) -> Result<Pushing<'a>> {
    if handle.is_null() {
        return Err(null("producer"));
    }
    #[cfg(debug_assertions)]
    let busy = {
        // SAFETY: the handle is alive; this field is only used as an atomic.
        let busy = unsafe { &(*handle).busy };
        if busy.swap(true, Ordering::Acquire) {
            let text = "two threads push to one producer at once: give each one of its own";
            return Err(Failure::new(BARO_EBUSY, text));
        }
        busy
    };
    // SAFETY: the handle is alive, and no other thread uses it: the caller's promise, checked above
    // where checks are on. No reference to the whole handle is made.
    let producer = unsafe { &mut (*handle).producer };
    Ok(Pushing {
        producer,
        #[cfg(debug_assertions)]
        busy,
    })
}

impl Deref for Pushing<'_> {
    type Target = Producer;
    fn deref(&self) -> &Producer {
        self.producer
    }
}

impl DerefMut for Pushing<'_> {
    fn deref_mut(&mut self) -> &mut Producer {
        self.producer
    }
}

#[cfg(debug_assertions)]
impl Drop for Pushing<'_> {
    fn drop(&mut self) {
        self.busy.store(false, Ordering::Release);
    }
}

unsafe fn hand_over(place: *mut *mut baro_producer, made: Result<Producer>) -> Result<i32> {
    // SAFETY: as the header says.
    let place = unsafe { object_mut(place, "producer")? };
    *place = std::ptr::null_mut();
    *place = Box::into_raw(Box::new(baro_producer {
        producer: made?,
        #[cfg(debug_assertions)]
        busy: AtomicBool::new(false),
    }));
    Ok(0)
}

/// Makes a ring with its producer, for this process. A recorder has at most 64 rings.
///
/// Returns 0, BARO_EINVAL, BARO_ESHUTDOWN, or errno.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baro_producer_open(
    recorder: *const baro_recorder,
    producer: *mut *mut baro_producer,
) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        unsafe {
            let _ = object(producer, "producer")?;
            let recorder = object(recorder, "recorder");
            hand_over(producer, recorder.and_then(|r| Ok(r.recorder.producer()?)))
        }
    })
}

/// Becomes the producer of a ring that a recorder in another process made: see
/// baro_ring_for_attach. Goes on with the sequence of the producer before. What it pushes to is
/// declared by baro_producer_declare.
///
/// Returns 0, BARO_EINVAL, BARO_ENOENT, BARO_EBUSY, BARO_EBADMSG, or errno.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baro_attach(
    ring: *const c_char,
    producer: *mut *mut baro_producer,
) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        unsafe {
            let _ = object(producer, "producer")?;
            let attached = path(ring, "ring").and_then(|ring| Ok(Producer::attach(ring)?));
            hand_over(producer, attached)
        }
    })
}

/// Frees the producer. What it pushed stays in the ring until it is durable. After baro_close this
/// removes the ring's file if nothing is in it.
///
/// Returns 0, BARO_EINVAL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baro_producer_close(producer: *mut baro_producer) -> i32 {
    guard(|| {
        // SAFETY: as the header says; the handle came from a Box.
        unsafe {
            let _ = object(producer, "producer")?;
            drop(Box::from_raw(producer));
        }
        Ok(0)
    })
}

/// Every sequence below *durable survives a power cut, or is a logged gap. Never blocks.
///
/// Returns 0, BARO_EINVAL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baro_producer_durable(
    producer: *const baro_producer,
    durable: *mut u64,
) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        unsafe {
            *object_mut(durable, "durable")? = object(producer, "producer")?.producer.durable();
        }
        Ok(0)
    })
}

fn shown(found: &RingReport, closed: bool) -> baro_ring_report {
    baro_ring_report {
        type_size: 0,
        closed: u32::from(closed),
        producer: found.producer,
        offered: found.offered,
        refused_full: found.refused_full,
        refused_large: found.refused_large,
        written: found.written,
        durable: found.durable,
        used_bytes: found.used_bytes,
        capacity_bytes: found.capacity_bytes,
        record_bytes_max: found.record_bytes_max as u64,
    }
}

/// The ring's counters: what was refused, lost, written, durable. Never blocks.
///
/// Returns 0, BARO_EINVAL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baro_producer_report(
    producer: *const baro_producer,
    report: *mut baro_ring_report,
) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        unsafe {
            let producer = &object(producer, "producer")?.producer;
            fill(report, shown(&producer.report(), producer.closed()))?;
        }
        Ok(0)
    })
}

/// Puts the path of the ring's file into `buffer` of `room` bytes: another process can attach to
/// it once this producer is closed. BARO_ENOTSUP if the ring is private memory.
///
/// Returns 0, BARO_EINVAL, BARO_ENOTSUP, BARO_ERANGE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baro_producer_path(
    producer: *const baro_producer,
    buffer: *mut c_char,
    room: usize,
) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        unsafe {
            let path = object(producer, "producer")?.producer.path();
            if path.as_os_str().is_empty() {
                let why = "the ring is private memory: no other process can attach to it";
                return Err(Failure::new(BARO_ENOTSUP, why));
            }
            put_text(path.as_os_str().as_bytes(), buffer, room)?;
        }
        Ok(0)
    })
}

#[cfg(all(test, debug_assertions))]
mod tests {
    use super::*;

    #[test]
    fn a_second_thread_in_a_push_is_told() {
        let folder = std::env::temp_dir().join(format!("baro-capi-busy-{}", std::process::id()));
        let path = std::ffi::CString::new(folder.as_os_str().as_bytes()).unwrap();
        let size = size_of::<crate::structs::baro_init_options>() as u32;
        let options =
            crate::structs::baro_init_options { type_size: size, flags: 0, log_bytes: 4 << 20 };
        let (mut recorder, mut handle) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: all pointers are to what is alive; null is allowed where it is given.
        unsafe {
            assert_eq!(crate::baro_init(path.as_ptr(), &raw const options), 0);
            assert_eq!(crate::baro_open(path.as_ptr(), std::ptr::null(), &raw mut recorder), 0);
            assert_eq!(baro_producer_open(recorder, &raw mut handle), 0);
            let push = || crate::baro_push_sample(handle, 1, 0, 0.5, std::ptr::null_mut());
            (*handle).busy.store(true, Ordering::Release);
            assert_eq!(push(), BARO_EBUSY);
            (*handle).busy.store(false, Ordering::Release);
            assert_eq!((push(), push()), (0, 0));
            assert_eq!(baro_producer_close(handle), 0);
            assert_eq!(crate::baro_close(recorder, std::ptr::null_mut()), 0);
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
