//! A flush through C: what was pushed before it is durable, or how much is not is said; and batches of
//! several types, which it makes readable here.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]
#![allow(unsafe_code)]

mod checked;
mod place;

use checked::*;
use place::{Place, last_error};
use std::ffi::CStr;
use std::ptr::{null, null_mut};

fn zeroed<T: Copy>() -> T {
    // SAFETY: structures of the interface take any bits.
    unsafe { std::mem::zeroed() }
}

/// A recorder that of itself would let an hour pass.
fn patient(place: &Place) -> *mut baro_recorder {
    place.init();
    let mut options: baro_open_options = zeroed();
    options.type_size = size_of::<baro_open_options>() as u32;
    (options.flags, options.durable_within_ns) = (BARO_OPEN_RINGS_PRIVATE, 3_600_000_000_000);
    options.ring_bytes = 8 << 20;
    let mut recorder = null_mut();
    // SAFETY: valid pointers.
    let code = unsafe { baro_open(place.c().as_ptr(), &options, &mut recorder) };
    assert_eq!(code, 0, "{}", last_error());
    recorder
}

#[test]
fn what_all_producers_pushed_before_a_flush_is_durable() {
    let place = Place::new("flush");
    let recorder = patient(&place);
    let mut producers = [null_mut(); 3];
    // SAFETY: valid pointers.
    unsafe {
        for producer in &mut producers {
            assert_eq!(baro_producer_open(recorder, producer), 0);
        }
        let mut left = 99;
        assert_eq!(
            (baro_flush(recorder, 60_000_000_000, &mut left), left),
            (0, 0),
            "nothing was pushed"
        );
        for round in 1..=20_u64 {
            for (at, producer) in producers.iter().enumerate() {
                for _ in 0..=at {
                    assert_eq!(baro_push_sample(*producer, 1, 5, 0.5, null_mut()), 0);
                }
            }
            left = 99;
            assert_eq!((baro_flush(recorder, 60_000_000_000, &mut left), left), (0, 0));
            for (at, producer) in producers.iter().enumerate() {
                let mut durable = 0;
                assert_eq!(baro_producer_durable(*producer, &mut durable), 0);
                assert_eq!(durable, round * (at as u64 + 1));
            }
        }
        for producer in producers {
            assert_eq!(baro_producer_close(producer), 0);
        }
        assert_eq!(baro_flush(recorder, 60_000_000_000, null_mut()), 0);
        assert_eq!(baro_close(recorder, null_mut()), 0);
    }
}

#[test]
fn a_flush_into_a_full_log_says_how_much_is_left_and_why() {
    let place = Place::new("flush-full");
    let recorder = patient(&place);
    let (mut producer, mut left, frame) = (null_mut(), 0, vec![7_u8; 100_000]);
    // SAFETY: valid pointers.
    unsafe {
        assert_eq!(baro_producer_open(recorder, &mut producer), 0);
        for _ in 0..60 {
            let frame = frame.as_ptr().cast();
            assert_eq!(baro_push_frame(producer, 1, 0, frame, 100_000, null_mut()), 0);
        }
        assert_eq!(baro_flush(recorder, 500_000_000, &mut left), BARO_ETIMEDOUT);
        let mut report: baro_ring_report = zeroed();
        report.type_size = size_of::<baro_ring_report>() as u32;
        assert_eq!(baro_producer_report(producer, &mut report), 0);
        assert_eq!((report.offered, left), (60, 60 - report.durable));
        let said = format!("{left} records are not durable after 500000000 ns: the log is full");
        assert!(left > 0 && last_error().starts_with(&said), "{}", last_error());
        let mut status: baro_status = zeroed();
        status.type_size = size_of::<baro_status>() as u32;
        assert_eq!(baro_close(recorder, &mut status), 0);
        assert_eq!(status.left, left);
        assert_eq!(baro_producer_close(producer), 0);
    }
}

fn read(place: &Place, name: &CStr) -> (u32, Vec<(i64, f64, i64)>) {
    let (mut samples, mut kind, mut found) = (null_mut(), 0, Vec::new());
    let mut sample: baro_sample = zeroed();
    sample.type_size = size_of::<baro_sample>() as u32;
    // SAFETY: valid pointers.
    unsafe {
        let (store, all) = (place.c(), (i64::MIN, i64::MAX));
        let (store, name) = (store.as_ptr(), name.as_ptr());
        let code = baro_samples_open(store, name, all.0, all.1, &mut samples, &mut kind);
        assert_eq!(code, 0, "{}", last_error());
        while baro_samples_next(samples, &mut sample) == 1 {
            found.push((sample.time_ns, sample.value, sample.integer));
        }
        assert_eq!(baro_samples_close(samples), 0);
    }
    (kind, found)
}

#[test]
fn a_batch_of_several_types_is_read_back_in_each() {
    let place = Place::new("mixed");
    let recorder = patient(&place);
    let (mut ids, mut producer) = ([0; 4], null_mut());
    let names = [c"f".as_ptr(), c"i".as_ptr(), c"b".as_ptr(), c"t".as_ptr()];
    let types = [BARO_F64, BARO_I64, BARO_BOOL, BARO_TEXT];
    let values = [
        baro_value { value: 1.5 },
        baro_value { integer: -7 },
        baro_value { integer: 1 },
        baro_value { integer: 0 },
    ];
    // SAFETY: valid pointers.
    unsafe {
        let (names, types) = (names.as_ptr(), types.as_ptr());
        assert_eq!(baro_declare_many(recorder, names, null(), types, 4, ids.as_mut_ptr()), 0);
        assert_eq!(baro_producer_open(recorder, &mut producer), 0);
        let (series, values, none) = (ids.as_ptr(), values.as_ptr(), null_mut());
        assert_eq!(baro_push_mixed(producer, 10, series, values, 3, none), 0);
        let times_ns = [20, 21, 22, 23];
        let times_ns = times_ns.as_ptr();
        assert_eq!(baro_push_mixed_batch(producer, times_ns, series, values, 3, none), 0);
        assert_eq!(baro_push_mixed_batch(producer, times_ns, series, values, 0, none), BARO_EINVAL);
        // A text is no number: the whole record is a gap, and told.
        assert_eq!(baro_push_mixed(producer, 30, series, values, 4, none), 0);
        assert_eq!(baro_flush(recorder, 60_000_000_000, null_mut()), 0);
        let mut said = [0; 1024];
        assert_eq!(baro_complaints(recorder, said.as_mut_ptr(), said.len()), 1);
        let said = CStr::from_ptr(said.as_ptr()).to_str().unwrap();
        assert!(said.contains("declared with another type"), "{said}");
        assert_eq!(baro_producer_close(producer), 0);
        let mut status: baro_status = zeroed();
        status.type_size = size_of::<baro_status>() as u32;
        assert_eq!(baro_close(recorder, &mut status), 0);
        assert_eq!((status.left, status.lost), (0, 1));
    }
    let bits = 1.5_f64.to_bits().cast_signed();
    assert_eq!(read(&place, c"f"), (BARO_F64, vec![(10, 1.5, bits), (20, 1.5, bits)]));
    let integers = read(&place, c"i");
    let integers: Vec<_> = integers.1.iter().map(|row| (row.0, row.2)).collect();
    assert_eq!(integers, [(10, -7), (21, -7)]);
    let (kind, truths) = read(&place, c"b");
    let truths: Vec<_> = truths.iter().map(|row| (row.0, row.2)).collect();
    assert_eq!((kind, truths), (BARO_BOOL, vec![(10, 1), (22, 1)]));
}
