//! Every way through a push, taken once before the first real one.
//!
//! The pages of a program are read when they are first run. Most ways through a push are run by the
//! first record, but that around the end of the ring only when it has been filled once, and that of
//! a full ring on the day when the device stalls: there a producer must not wait for a page of the
//! program to be mapped, or even read. Such ways are functions that are never inlined, so that what
//! is rehearsed here is what runs there. A program that may be short of memory locks its pages
//! besides (mlockall).

use super::layout::{CAPACITY_MIN, Ring, STATE_CLOSED};
use super::producer::{Producer, Refused};
use baro_ondisk::StoreId;
use baro_sys::memory::SharedMemory;
use std::sync::Once;
use std::sync::atomic::Ordering;

static DONE: Once = Once::new();

/// Takes every way through a push, once in each process. Takes 128 KiB for less than a millisecond.
pub(super) fn rehearse() {
    DONE.call_once(|| {
        // Without so little memory the real ring fails too, and says so.
        if let Ok(memory) = SharedMemory::private(Ring::memory_bytes(CAPACITY_MIN)) {
            let ring = Ring::format(memory, StoreId::default(), 0, usize::MAX);
            if let Ok(mut producer) = Producer::over(ring) {
                all_ways(&mut producer);
            }
        }
    });
}

/// Returns how many records were taken, refused by a full ring, and refused otherwise.
fn all_ways(producer: &mut Producer) -> [usize; 3] {
    let mut seen = [0; 3];
    let mut note = |result: Result<u64, Refused>| {
        let at = match result {
            Ok(_) => 0,
            Err(Refused::RingFull) => 1,
            Err(_) => 2,
        };
        seen[at] += 1;
        at == 0
    };
    let frame = [0; CAPACITY_MIN / 4 + 1];
    // An odd number of bytes, so that heads and payloads both meet the end of the ring.
    for _ in 0..64 {
        note(producer.push_sample(1, 0, 0.0_f64));
        note(producer.push_sample(1, 0, 0_i64));
        note(producer.push_text(1, 0, "text"));
        note(producer.push_samples(0, &[1; 5], &[0.0_f64; 5]));
        note(producer.push_samples(0, &[1; 5], &[0_i64; 5]));
        note(producer.push_batch(&[0; 5], &[1; 5], &[0.0_f64; 5]));
        note(producer.push_batch(&[0; 5], &[1; 5], &[0_i64; 5]));
        note(producer.push_batch(&[], &[1], &[0.0_f64]));
        for bytes in [0, 1, 40, 300, 1_001, 5_000, producer.ring().record_bytes_max] {
            let full = !note(producer.push_frame(1, 0, frame.get(..bytes).unwrap_or_default()));
            if full {
                producer.release_all();
            }
        }
        note(producer.push_frame(1, 0, &frame));
    }
    std::hint::black_box(producer.report());
    producer.close();
    note(producer.push_sample(1, 0, 0.0_f64));
    seen
}

impl Producer {
    /// What a writer does when it has made everything durable.
    fn release_all(&self) {
        let head = self.ring().head().load(Ordering::Acquire);
        self.ring().tail().store(head, Ordering::Release);
    }

    fn close(&self) {
        self.ring().state().store(STATE_CLOSED, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_through_a_push_is_rehearsed() {
        let memory = SharedMemory::private(Ring::memory_bytes(CAPACITY_MIN)).unwrap();
        let ring = Ring::format(memory, StoreId::default(), 0, usize::MAX);
        let mut producer = Producer::over(ring).unwrap();
        let [taken, full, other] = all_ways(&mut producer);
        assert!(taken > 500 && full > 10, "{taken} taken, {full} refused by a full ring");
        // Each round has one batch of uneven columns and one frame too large; the last is closed.
        assert_eq!(other, 2 * 64 + 1);
        // The ring was gone around several times.
        assert!(producer.ring().head().load(Ordering::Acquire) > 5 * CAPACITY_MIN as u64);
    }
}
