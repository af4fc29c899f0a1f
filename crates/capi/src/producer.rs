//! A producer: push. What stands between C and the recorder's push is a test of pointers.
//!
//! Invariant: a push makes no system call, allocates nothing and takes no lock; a refused one
//! neither, so it sets no text (`tests/push.rs`).

use crate::arguments::{fill, null, object, object_mut, path, put_text, slice};
#[cfg(debug_assertions)]
use crate::error::BARO_EBUSY;
use crate::error::{BARO_EINVAL, BARO_ENOTSUP, Failure, Result, guard, refused};
use crate::recorder::baro_recorder;
use crate::structs::{baro_ring_report, baro_value};
use ::baro_recorder::{Producer, Refused, RingReport};
use std::ffi::{c_char, c_void};
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
struct Pushing<'a> {
    producer: &'a mut Producer,
    #[cfg(debug_assertions)]
    busy: &'a AtomicBool,
}

/// The handle's producer, for this thread alone.
///
/// # Safety
/// `handle` is null or alive.
#[inline]
unsafe fn pushing<'a>(handle: *mut baro_producer) -> Result<Pushing<'a>> {
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
/// baro_ring_for_attach. Goes on with the sequence of the producer before.
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

/// The end of each push. `sequence` may be null.
#[inline]
unsafe fn pushed(result: std::result::Result<u64, Refused>, sequence: *mut u64) -> i32 {
    match result {
        Ok(found) => {
            if !sequence.is_null() {
                // SAFETY: not null, and the caller's.
                unsafe { sequence.write(found) };
            }
            0
        }
        Err(reason) => refused(reason),
    }
}

/// Pushes a frame of `channel`, taken at `time_ns`. `sequence` may be null. Never blocks, never
/// enters the kernel. BARO_EAGAIN: the ring is full; the record is counted and will be a gap.
///
/// Of a record a push checks its size and its pointers, and of text that it is UTF-8, but looks no id
/// up. The recorder does, before it writes: a record in which an id is declared with another type than
/// it is pushed with, here and in all pushes below, is not recorded. It is counted in `lost` of
/// baro_status, told by baro_complaints and to the callback of baro_on_event, and will be a gap. An id
/// that nobody declared is recorded and belongs to nothing: baro verify tells of it.
///
/// Returns 0, BARO_EAGAIN, BARO_EMSGSIZE, BARO_ESHUTDOWN, BARO_EPERM, BARO_EINVAL, and BARO_EBUSY
/// in builds of the library with checks, if two threads push at once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baro_push_frame(
    producer: *mut baro_producer,
    channel: u32,
    time_ns: i64,
    frame: *const c_void,
    frame_bytes: usize,
    sequence: *mut u64,
) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        unsafe {
            let producer = &mut *pushing(producer)?;
            let frame = slice(frame.cast::<u8>(), frame_bytes, "frame")?;
            Ok(pushed(producer.push_frame(channel, time_ns, frame), sequence))
        }
    })
}

/// Pushes a batch of `count` samples as columns, all taken at `time_ns`: values of series of type
/// BARO_F64. Otherwise as baro_push_frame.
///
/// Returns what baro_push_frame does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baro_push_samples(
    producer: *mut baro_producer,
    time_ns: i64,
    series: *const u32,
    values: *const f64,
    count: usize,
    sequence: *mut u64,
) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        unsafe {
            let producer = &mut *pushing(producer)?;
            let (series, values) =
                (slice(series, count, "series")?, slice(values, count, "values")?);
            Ok(pushed(producer.push_samples(time_ns, series, values), sequence))
        }
    })
}

/// The same for series of any other type than BARO_F64.
///
/// Returns what baro_push_frame does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baro_push_integers(
    producer: *mut baro_producer,
    time_ns: i64,
    series: *const u32,
    values: *const i64,
    count: usize,
    sequence: *mut u64,
) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        unsafe {
            let producer = &mut *pushing(producer)?;
            let (series, values) =
                (slice(series, count, "series")?, slice(values, count, "values")?);
            Ok(pushed(producer.push_samples(time_ns, series, values), sequence))
        }
    })
}

/// Pushes a batch of `count` samples as columns, each with a time of its own, in any order: values
/// of series of type BARO_F64. Otherwise as baro_push_frame; BARO_EINVAL if there is none.
///
/// Returns what baro_push_frame does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baro_push_batch(
    producer: *mut baro_producer,
    times_ns: *const i64,
    series: *const u32,
    values: *const f64,
    count: usize,
    sequence: *mut u64,
) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        unsafe {
            let producer = &mut *pushing(producer)?;
            let times_ns = slice(times_ns, count, "times_ns")?;
            let (series, values) =
                (slice(series, count, "series")?, slice(values, count, "values")?);
            Ok(pushed(producer.push_batch(times_ns, series, values), sequence))
        }
    })
}

/// The same for series of any other type than BARO_F64 and BARO_TEXT.
///
/// Returns what baro_push_frame does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baro_push_integer_batch(
    producer: *mut baro_producer,
    times_ns: *const i64,
    series: *const u32,
    values: *const i64,
    count: usize,
    sequence: *mut u64,
) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        unsafe {
            let producer = &mut *pushing(producer)?;
            let times_ns = slice(times_ns, count, "times_ns")?;
            let (series, values) =
                (slice(series, count, "series")?, slice(values, count, "values")?);
            Ok(pushed(producer.push_batch(times_ns, series, values), sequence))
        }
    })
}

/// Pushes a batch of `count` samples of series of several types as columns, all taken at `time_ns`.
/// The caller puts each value into the field of its series' type: the recorder looks whether the ids
/// are of series of numbers, but cannot see which field was meant. Otherwise as baro_push_frame.
///
/// Returns what baro_push_frame does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baro_push_mixed(
    producer: *mut baro_producer,
    time_ns: i64,
    series: *const u32,
    values: *const baro_value,
    count: usize,
    sequence: *mut u64,
) -> i32 {
    guard(|| {
        // SAFETY: as the header says; a value is 64 bits, of which every pattern is an integer.
        unsafe {
            let producer = &mut *pushing(producer)?;
            let (series, words) =
                (slice(series, count, "series")?, slice(values.cast::<i64>(), count, "values")?);
            Ok(pushed(producer.push_words_at(time_ns, series, words), sequence))
        }
    })
}

/// The same with a time for each sample, in any order; BARO_EINVAL if there is none.
///
/// Returns what baro_push_frame does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baro_push_mixed_batch(
    producer: *mut baro_producer,
    times_ns: *const i64,
    series: *const u32,
    values: *const baro_value,
    count: usize,
    sequence: *mut u64,
) -> i32 {
    guard(|| {
        // SAFETY: as the header says; a value is 64 bits, of which every pattern is an integer.
        unsafe {
            let producer = &mut *pushing(producer)?;
            let times_ns = slice(times_ns, count, "times_ns")?;
            let (series, words) =
                (slice(series, count, "series")?, slice(values.cast::<i64>(), count, "values")?);
            Ok(pushed(producer.push_words(times_ns, series, words), sequence))
        }
    })
}

/// Pushes one sample of a series of type BARO_TEXT: `text_bytes` of UTF-8, at most 65536, without a
/// zero byte at the end. Otherwise as baro_push_frame; BARO_EINVAL if it is not UTF-8.
///
/// Returns what baro_push_frame does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baro_push_text(
    producer: *mut baro_producer,
    series: u32,
    time_ns: i64,
    text: *const c_char,
    text_bytes: usize,
    sequence: *mut u64,
) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        unsafe {
            let producer = &mut *pushing(producer)?;
            let text = slice(text.cast::<u8>(), text_bytes, "text")?;
            let Ok(text) = std::str::from_utf8(text) else { return Ok(BARO_EINVAL) };
            Ok(pushed(producer.push_text(series, time_ns, text), sequence))
        }
    })
}

/// Pushes one sample of a series of type BARO_F64. A batch costs less for each sample.
///
/// Returns what baro_push_frame does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baro_push_sample(
    producer: *mut baro_producer,
    series: u32,
    time_ns: i64,
    value: f64,
    sequence: *mut u64,
) -> i32 {
    // SAFETY: one element each, and as the header says.
    unsafe {
        baro_push_samples(producer, time_ns, &raw const series, &raw const value, 1, sequence)
    }
}

/// Pushes one sample of a series of any other type.
///
/// Returns what baro_push_frame does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baro_push_integer(
    producer: *mut baro_producer,
    series: u32,
    time_ns: i64,
    value: i64,
    sequence: *mut u64,
) -> i32 {
    // SAFETY: one element each, and as the header says.
    unsafe {
        baro_push_integers(producer, time_ns, &raw const series, &raw const value, 1, sequence)
    }
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

fn shown(found: &RingReport, closed: bool, record_bytes_max: usize) -> baro_ring_report {
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
        record_bytes_max: record_bytes_max as u64,
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
            let (closed, record_bytes_max) = (producer.closed(), producer.record_bytes_max());
            fill(report, shown(&producer.report(), closed, record_bytes_max))?;
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
            let push = || baro_push_sample(handle, 1, 0, 0.5, std::ptr::null_mut());
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
