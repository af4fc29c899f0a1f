//! Waiting for what was pushed to be durable: one record, or all of them.
//!
//! Held by `tests/flush.rs`, and `tests/bad_input.rs`.

use crate::arguments::object;
use crate::error::{BARO_ENOENT, BARO_ETIMEDOUT, Failure, Result, guard};
use crate::producer::baro_producer;
use crate::recorder::baro_recorder;
use ::baro_recorder::{Recorder, RingReport, Trouble};
use baro_sys::clock;

fn ring(recorder: &Recorder, producer: u64) -> Option<RingReport> {
    recorder.status().rings.into_iter().find(|ring| ring.producer == producer)
}

/// Asks every millisecond, which a wait for a device does not notice.
fn wait_for(durable: impl Fn() -> bool, timeout_ns: u64, sequence: u64) -> Result<i32> {
    let deadline_ns = clock::monotonic_ns().saturating_add(timeout_ns);
    while !durable() {
        if clock::monotonic_ns() >= deadline_ns {
            let text = format!("record {sequence} is not durable after {timeout_ns} ns");
            return Err(Failure::new(BARO_ETIMEDOUT, text));
        }
        clock::sleep_ns(1_000_000);
    }
    Ok(0)
}

/// Makes durable at once everything that all producers of this recorder, those attached from other
/// processes too, had pushed before the call; for a supply that fails. Returns 0 when it is, or
/// BARO_ETIMEDOUT after `timeout_ns`; `left` becomes the number of records that are not durable, 0
/// if all are, and may be null. A record that was refused counts until its gap is durable.
///
/// Any thread may call it, several at once, but none that must not wait: it waits for the device, for
/// at most `timeout_ns` and 2 ms, and takes memory and locks of the library, so that a signal's handler
/// may not. (Let the handler wake a thread, by a semaphore or a signalfd.) Pushes go on meanwhile and
/// notice nothing. Without it the same is durable after durable_within_ns, if the device keeps up.
///
/// Returns 0, BARO_EINVAL, BARO_ETIMEDOUT, BARO_ESHUTDOWN.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baro_flush(
    recorder: *const baro_recorder,
    timeout_ns: u64,
    left: *mut u64,
) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        let recorder = unsafe { &object(recorder, "recorder")?.recorder };
        let found = recorder.flush(timeout_ns)?;
        // SAFETY: null or the caller's.
        if let Some(left) = unsafe { left.as_mut() } {
            *left = found;
        }
        if found == 0 {
            return Ok(0);
        }
        let trouble = match recorder.status().trouble {
            Trouble::None => "the device is slower than that".to_owned(),
            trouble => trouble.to_string(),
        };
        let text = format!("{found} records are not durable after {timeout_ns} ns: {trouble}");
        Err(Failure::new(BARO_ETIMEDOUT, text))
    })
}

/// Waits until the record of this sequence of a producer (baro_ring_report has its id) is durable,
/// or logged as a gap; BARO_ETIMEDOUT after `timeout_ns`. It does not hurry the writer as baro_flush
/// does. For any thread but the one that must not wait.
///
/// Returns 0, BARO_EINVAL, BARO_ETIMEDOUT, BARO_ENOENT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baro_wait_durable(
    recorder: *const baro_recorder,
    producer: u64,
    sequence: u64,
    timeout_ns: u64,
) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        let recorder = unsafe { &object(recorder, "recorder")?.recorder };
        let durable = || ring(recorder, producer).is_some_and(|ring| ring.durable > sequence);
        wait_for(durable, timeout_ns, sequence).map_err(|failure| {
            if ring(recorder, producer).is_some() {
                return failure;
            }
            let text = format!("no ring of producer {producer:#x} is read by this recorder");
            Failure::new(BARO_ENOENT, text)
        })
    })
}

/// Waits until the record of this sequence is durable, or logged as a gap; BARO_ETIMEDOUT after
/// `timeout_ns`. For producers that may wait, of this process or attached.
///
/// Returns 0, BARO_EINVAL, BARO_ETIMEDOUT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baro_producer_wait_durable(
    producer: *const baro_producer,
    sequence: u64,
    timeout_ns: u64,
) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        let producer = unsafe { &object(producer, "producer")?.producer };
        wait_for(|| producer.durable() > sequence, timeout_ns, sequence)
    })
}
