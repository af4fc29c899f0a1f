//! A push through C costs what a push costs: no system call, no allocation, taken or refused; and
//! a panic ends in a code.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]
#![allow(unsafe_code)]

mod place;

use baro::*;
use baro_sys::counters::{CountingAllocator, SyscallCounter, allocations, counting};
use place::{Place, last_error, opened};
use std::ptr::null_mut;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// (system calls, allocations)
fn cost(counter: Option<&SyscallCounter>, work: impl FnOnce()) -> (u64, u64) {
    let before = allocations();
    if let Some(counter) = counter {
        counter.arm();
    }
    work();
    let calls = counter.map_or(0, SyscallCounter::disarm);
    (calls, allocations() - before)
}

#[test]
fn a_push_through_c_enters_the_kernel_never() {
    assert!(counting());
    let counter = SyscallCounter::new();
    if let Err(reason) = &counter {
        println!("skipped: system calls are not counted: {reason}");
    }
    let counter = counter.as_ref().ok();
    let place = Place::new("push");
    let (recorder, producer) = opened(&place);
    let frame = vec![7_u8; 70 << 10];
    let (series, values, integers) = ([1, 2, 3], [0.5, 1.5, 2.5], [1, 2, 3]);
    let (times_ns, text) = ([7, 6, 5], "a text");
    let mut sequence = 0;
    let mut found = Vec::new();
    let mixed = [baro_value { value: 0.5 }, baro_value { integer: 1 }, baro_value { integer: 7 }];
    // SAFETY: valid pointers.
    let mut push = |bytes: usize| unsafe {
        let (frame, sequence) = (frame.as_ptr().cast(), &raw mut sequence);
        let (series, doubles) = (series.as_ptr(), values.as_ptr());
        [
            baro_push_frame(producer, 1, 5, frame, bytes, sequence),
            baro_push_samples(producer, 5, series, doubles, 3, sequence),
            baro_push_integers(producer, 5, series, integers.as_ptr(), 3, sequence),
            baro_push_sample(producer, 1, 5, 0.5, sequence),
            baro_push_integer(producer, 1, 5, 9, null_mut()),
            baro_push_batch(producer, times_ns.as_ptr(), series, doubles, 3, sequence),
            baro_push_integer_batch(
                producer,
                times_ns.as_ptr(),
                series,
                integers.as_ptr(),
                3,
                null_mut(),
            ),
            baro_push_mixed(producer, 5, series, mixed.as_ptr(), 3, sequence),
            baro_push_mixed_batch(
                producer,
                times_ns.as_ptr(),
                series,
                mixed.as_ptr(),
                3,
                null_mut(),
            ),
            baro_push_text(producer, 4, 5, text.as_ptr().cast(), text.len(), null_mut()),
            baro_producer_durable(producer, sequence),
        ]
    };
    push(100);
    let mut codes = Vec::with_capacity(500);
    // More than the ring of 1 MiB takes at once: some are taken, some may be refused.
    found.push(cost(counter, || codes.extend((0..200).map(|_| push(8192)))));
    found.push(cost(counter, || codes.push(push(70 << 10))));
    assert_eq!(found, [(0, 0), (0, 0)]);
    assert_eq!(codes[200][0], BARO_EMSGSIZE);
    assert!(codes.iter().flatten().all(|code| [0, BARO_EAGAIN, BARO_EMSGSIZE].contains(code)));
    assert_eq!(last_error(), "", "a refusal sets no text");
    // SAFETY: structures of the interface take any bits; pointers are valid.
    unsafe {
        let mut report: baro_ring_report = std::mem::zeroed();
        report.type_size = size_of::<baro_ring_report>() as u32;
        assert_eq!(baro_producer_report(producer, &mut report), 0);
        let refused = codes.iter().flatten().filter(|code| **code == BARO_EAGAIN).count() as u64;
        assert_eq!((report.offered, report.refused_large), (202 * 10, 1));
        assert_eq!(report.refused_full, refused);
        assert_eq!(baro_producer_close(producer), 0);
        let mut status: baro_status = std::mem::zeroed();
        status.type_size = size_of::<baro_status>() as u32;
        assert_eq!(baro_close(recorder, &mut status), 0);
        assert_eq!((status.lost, status.left), (refused + 1, 0));
    }
}
