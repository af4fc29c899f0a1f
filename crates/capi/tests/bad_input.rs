//! Null pointers, wrong sizes, unknown flags, texts that are none: each an error with its reason,
//! and the recorder goes on.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]
#![allow(unsafe_code)]

mod checked;
mod place;

use checked::*;
use place::{Place, last_error, opened};
use std::ffi::{CStr, CString};
use std::ptr::{null, null_mut};

fn zeroed<T: Copy>() -> T {
    // SAFETY: structures of the interface take any bits.
    unsafe { std::mem::zeroed() }
}

#[test]
fn null_is_told_by_name() {
    let place = Place::new("null");
    let (recorder, producer) = opened(&place);
    let mut id = 0;
    let x = c"x".as_ptr();
    // SAFETY: null is what is tested; everything else is valid.
    unsafe {
        let told = |code: i32, text: &str| {
            assert_eq!((code, last_error().as_str()), (BARO_EINVAL, text));
        };
        told(baro_init(null(), null()), "store is null");
        told(baro_open(null(), null(), null_mut()), "recorder is null");
        told(baro_open(x, null(), null_mut()), "recorder is null");
        told(baro_close(null_mut(), null_mut()), "recorder is null");
        told(baro_declare(null(), x, x, null(), null(), &mut id), "recorder is null");
        told(baro_declare(recorder, null(), x, null(), null(), &mut id), "name is null");
        told(baro_declare(recorder, x, x, null(), null(), null_mut()), "id is null");
        told(baro_declare_many(recorder, null(), null(), null(), 1, &mut id), "names is null");
        told(baro_status_get(recorder, null_mut()), "baro_status is null");
        told(baro_status_get(null(), null_mut()), "recorder is null");
        told(baro_reservations(recorder, null_mut(), 10), "buffer is null");
        told(baro_wait_durable(null(), 0, 0, 0), "recorder is null");
        told(baro_producer_open(recorder, null_mut()), "producer is null");
        told(baro_attach(null(), null_mut()), "producer is null");
        told(baro_producer_close(null_mut()), "producer is null");
        told(baro_push_frame(null_mut(), 1, 0, null(), 0, null_mut()), "producer is null");
        told(baro_push_frame(producer, 1, 0, null(), 5, null_mut()), "frame is null");
        told(baro_push_sample(null_mut(), 1, 0, 0.0, null_mut()), "producer is null");
        told(baro_push_samples(producer, 0, &id, null(), 1, null_mut()), "values is null");
        told(baro_push_integers(producer, 0, null(), null(), 1, null_mut()), "series is null");
        told(baro_producer_durable(producer, null_mut()), "durable is null");
        told(baro_producer_report(producer, null_mut()), "baro_ring_report is null");
        told(baro_producer_wait_durable(null(), 0, 0), "producer is null");
        told(baro_reader_open(x, null_mut()), "reader is null");
        told(baro_reader_next(null_mut(), null_mut(), null_mut()), "baro_record is null");
        told(baro_reader_report(null(), null_mut()), "reader is null");
        told(baro_reader_close(null_mut()), "reader is null");
        told(baro_flush(null(), 0, null_mut()), "recorder is null");
        told(baro_on_event(null(), None, null_mut()), "recorder is null");
        told(baro_complaints(null(), null_mut(), 0), "recorder is null");
        told(baro_ring_for_attach(null(), null_mut(), 0), "recorder is null");
        told(baro_push_integer(null_mut(), 1, 0, 0, null_mut()), "producer is null");
        told(baro_push_text(producer, 1, 0, null(), 1, null_mut()), "text is null");
        told(baro_push_mixed(producer, 0, &id, null(), 1, null_mut()), "values is null");
        let (one_time, none) = ([0], null_mut());
        told(baro_push_batch(producer, null(), &id, null(), 1, none), "times_ns is null");
        let times_ns = one_time.as_ptr();
        told(
            baro_push_integer_batch(producer, times_ns, null(), null(), 1, none),
            "series is null",
        );
        told(baro_push_mixed_batch(producer, times_ns, &id, null(), 1, none), "values is null");
        told(baro_producer_path(null(), null_mut(), 0), "producer is null");
        told(baro_reader_series(null(), 0, null_mut(), null_mut(), 0), "reader is null");
        told(baro_reader_find(null(), x, null_mut()), "reader is null");
        told(baro_reader_layout(null(), x, null_mut(), 0), "reader is null");
        told(baro_reader_pin(null(), 0, null_mut()), "reader is null");
        told(baro_field_get(null(), x, null_mut()), "reader is null");
        let mut kind = 0;
        told(baro_samples_open(x, x, 0, 1, null_mut(), &mut kind), "samples is null");
        told(baro_samples_next(null_mut(), null_mut()), "baro_sample is null");
        told(baro_samples_newest(null_mut(), 1), "samples is null");
        told(baro_samples_seek(null_mut(), 1), "samples is null");
        told(baro_samples_text(null_mut(), null_mut(), null_mut()), "samples is null");
        told(baro_samples_close(null_mut()), "samples is null");
        told(baro_frames_open(x, x, 0, 1, null_mut()), "frames is null");
        told(baro_frames_next(null_mut(), null_mut(), null_mut()), "baro_record is null");
        told(baro_frames_seek(null_mut(), 1), "frames is null");
        told(baro_frames_report(null(), null_mut()), "frames is null");
        told(baro_frames_close(null_mut()), "frames is null");
        told(baro_pin(null(), null(), null_mut()), "recorder is null");
        told(baro_pin_store(null(), null(), null_mut()), "store is null");
        told(baro_pin_when(null(), x, 0, 0.0, null()), "recorder is null");
        told(baro_pin_count(null()), "recorder is null");
        told(baro_pin_get(null(), 0, null_mut()), "recorder is null");
        told(baro_pin_release(null(), 0), "recorder is null");
        told(baro_pin_release_store(null(), 0), "store is null");
        told(baro_sample_get(null(), 8, 0, 0, null_mut()), "payload is null");
        told(baro_gap_get(null(), 32, null_mut()), "payload is null");
        told(baro_plain_open(x, null(), null_mut()), "pool is null");
        told(baro_plain_open(null(), null(), &mut null_mut()), "folder is null");
        told(baro_plain_take(null_mut(), x, null_mut()), "file is null");
        told(baro_plain_waits(null(), null_mut()), "waits is null");
        told(baro_plain_write(null_mut(), null(), 1), "file is null");
        told(baro_plain_room(null(), null_mut()), "bytes is null");
        told(baro_plain_finish(null_mut(), null_mut()), "file is null");
        told(baro_plain_close(null_mut()), "pool is null");
        // It has gone on.
        assert_eq!(baro_push_frame(producer, 1, 0, null(), 0, null_mut()), 0);
        assert_eq!(baro_producer_close(producer), 0);
        assert_eq!(baro_close(recorder, null_mut()), 0);
    }
}

#[test]
fn sizes_are_checked_both_ways() {
    #[repr(C)]
    #[derive(Clone, Copy)]
    struct Newer<T> {
        known: T,
        more: [u8; 24],
    }
    let place = Place::new("sizes");
    let mut options: baro_init_options = zeroed();
    options.log_bytes = 4 << 20;
    // SAFETY: the structures have the sizes that they say, or less.
    unsafe {
        for size in [0, 1, 15, 5000, u32::MAX] {
            options.type_size = size;
            assert_eq!(baro_init(place.c().as_ptr(), &options), BARO_EINVAL);
            let expected = format!(
                "baro_init_options.type_size: expected 16 or more, found {size}; set it to \
                 sizeof(baro_init_options)"
            );
            assert_eq!(last_error(), expected);
        }
        options.type_size = size_of::<Newer<baro_init_options>>() as u32;
        let mut newer = Newer { known: options, more: [0; 24] };
        newer.more[7] = 1;
        assert_eq!(baro_init(place.c().as_ptr(), (&raw const newer).cast()), BARO_E2BIG);
        assert!(last_error().contains("the byte at 23 is set"), "{}", last_error());
        newer.more[7] = 0;
        assert_eq!(baro_init(place.c().as_ptr(), (&raw const newer).cast()), 0);
        let (recorder, producer) = opened(&place);
        let mut report = Newer { known: zeroed::<baro_ring_report>(), more: [9; 24] };
        let size = size_of::<Newer<baro_ring_report>>() as u32;
        report.known.type_size = size;
        assert_eq!(baro_producer_report(producer, (&raw mut report).cast()), 0);
        assert_eq!((report.known.type_size, report.more), (size, [0; 24]));
        assert_eq!(report.known.capacity_bytes, 1 << 20);
        // Nothing is consumed if the answer has no place.
        let mut status: baro_status = zeroed();
        assert_eq!(baro_close(recorder, &mut status), BARO_EINVAL);
        status.type_size = size_of::<baro_status>() as u32;
        assert_eq!(baro_producer_close(producer), 0);
        assert_eq!(baro_close(recorder, &mut status), 0);
        assert_eq!(status.left, 0);
    }
}

#[test]
fn settings_outside_their_limits_are_named() {
    let place = Place::new("settings");
    place.init();
    type Change = fn(&mut baro_open_options);
    let cases: [(Change, &str); 7] = [
        (|o| o.flags = 64, "baro_open_options.flags: 0x40 is unknown"),
        (|o| o.durable_within_ns = 1, "durable_within in ns: expected 1000000 to"),
        (|o| o.ring_bytes = 1, "ring in bytes: expected 65536 to"),
        (|o| o.block_bytes = 1, "largest block in bytes: expected 65536 to"),
        (|o| o.fifo = 100, "priority: expected 1 to 99, found 100"),
        (|o| o.fifo = 300, "baro_open_options.fifo: 300 is above 99"),
        (|o| o.ring_folder = [b'a' as _; 256], "no zero byte"),
    ];
    for (change, text) in cases {
        let mut options: baro_open_options = zeroed();
        options.type_size = size_of::<baro_open_options>() as u32;
        change(&mut options);
        let mut recorder = null_mut();
        // SAFETY: valid pointers.
        let code = unsafe { baro_open(place.c().as_ptr(), &options, &mut recorder) };
        assert_eq!(code, BARO_EINVAL, "{text}");
        assert!(recorder.is_null() && last_error().contains(text), "{}", last_error());
    }
}

#[test]
fn names_that_are_none_and_stores_that_are_none() {
    let place = Place::new("names");
    let (recorder, producer) = opened(&place);
    let mut id = 77;
    let long = CString::new("x".repeat(2000)).unwrap();
    // SAFETY: valid pointers.
    unsafe {
        let declare = |name: &CStr, layout: &CStr, id: &mut u32| {
            let layout = if layout.is_empty() { null() } else { layout.as_ptr() };
            baro_declare(recorder, name.as_ptr(), null(), layout, null(), id)
        };
        assert_eq!(declare(c"\xff\xfe", c"", &mut id), BARO_EINVAL);
        assert!(last_error().starts_with("name: not UTF-8"));
        assert_eq!(declare(&long, c"", &mut id), BARO_EINVAL);
        assert_eq!(last_error(), "name: expected 1 to 1024 bytes, found 2000");
        assert_eq!(declare(c"", c"", &mut id), BARO_EINVAL);
        assert_eq!(declare(c"a", c"flags:u8", &mut id), BARO_EINVAL);
        assert!(last_error().starts_with("layout: expected null, or options with value_type"));
        assert_eq!(id, 77);
        assert_eq!(declare(c"a", c"", &mut id), 0);
        let mut options: baro_declare_options = zeroed();
        options.type_size = 8;
        options.value_type = 99;
        let code = baro_declare(recorder, c"b".as_ptr(), null(), null(), &options, &mut id);
        assert_eq!(
            (code, last_error().as_str()),
            (BARO_EINVAL, "type: 99 is not one of BARO_F64 ...")
        );
        // Another process's store, none, and a ring that is none.
        let (mut second, mut reader, mut stranger) = (null_mut(), null_mut(), null_mut());
        assert_eq!(baro_open(place.c().as_ptr(), null(), &mut second), BARO_EBUSY);
        assert!(last_error().contains("records into this store"));
        assert_eq!(baro_reader_open(c"/nonexistent/store".as_ptr(), &mut reader), BARO_ENOENT);
        assert!(last_error().contains("make one with"), "{}", last_error());
        assert_eq!(baro_attach(c"/nonexistent/ring".as_ptr(), &mut stranger), BARO_ENOENT);
        assert!(second.is_null() && reader.is_null() && stranger.is_null());
        // A ring is private here; a buffer is too small.
        let mut buffer = [0; 8];
        assert_eq!(baro_ring_for_attach(recorder, buffer.as_mut_ptr(), 8), BARO_EINVAL);
        assert_eq!(baro_producer_path(producer, buffer.as_mut_ptr(), 8), BARO_ENOTSUP);
        assert_eq!(baro_wait_durable(recorder, 12345, 0, 0), BARO_ENOENT);
        assert_eq!(baro_producer_wait_durable(producer, 0, 0), BARO_ETIMEDOUT);
        assert_eq!(baro_producer_close(producer), 0);
        assert_eq!(baro_close(recorder, null_mut()), 0);
    }
}

#[test]
fn a_push_with_an_argument_of_no_use_says_which() {
    let place = Place::new("push-argument");
    let (recorder, producer) = opened(&place);
    // SAFETY: valid pointers; of none the pointer does not matter.
    unsafe {
        let told = |code: i32, text: &str| {
            assert_eq!(
                (code, last_error().contains(text)),
                (BARO_EINVAL, true),
                "{}",
                last_error()
            );
            // An error before this one is not taken for it.
            assert_eq!(baro_producer_close(null_mut()), BARO_EINVAL);
        };
        let none = null_mut();
        told(baro_push_text(producer, 1, 5, c"\xff".as_ptr(), 1, none), "text: not UTF-8");
        let uneven = "count: expected at least one sample";
        told(baro_push_batch(producer, null(), null(), null(), 0, none), uneven);
        told(baro_push_integer_batch(producer, null(), null(), null(), 0, none), uneven);
        told(baro_push_mixed_batch(producer, null(), null(), null(), 0, none), uneven);
        assert_eq!(baro_producer_close(producer), 0);
        assert_eq!(baro_close(recorder, null_mut()), 0);
    }
}

#[test]
fn every_function_says_which_codes_it_returns() {
    let header: Vec<&str> = documented().keys().copied().collect();
    let mut called = NAMES.to_vec();
    called.sort_unstable();
    assert_eq!(header, called);
    for (name, returns) in documented() {
        // Whatever it is, it can be called with null.
        assert!(returns.takes(BARO_EINVAL), "{name}: {returns:?}");
        assert!(returns.takes(0), "{name}: {returns:?}");
    }
}

#[test]
fn every_code_has_a_text() {
    for code in -200..=1 {
        // SAFETY: the library's own text.
        let text = unsafe { CStr::from_ptr(baro_strerror(code)) };
        assert!(!text.is_empty());
    }
}
