//! Samples of a series over an interval through the C interface: the same before and after settling, and
//! when the log has gone round and no record of them is left in it.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]
#![allow(unsafe_code)]

mod checked;
mod place;

use ::baro_recorder::{Options, Recorder, Rings};
use baro_store::{Extent, SettleOptions, Settler};
use baro_sys::counters::{MeasuringAllocator, measured};
use checked::*;
use place::{Place, last_error, opened};
use std::ffi::CString;
use std::ptr::{null, null_mut};

#[global_allocator]
static ALLOCATOR: MeasuringAllocator = MeasuringAllocator;

/// Time, value, integer, text.
type Read = (i64, f64, i64, String);

fn open(place: &Place, name: &str, from_ns: i64, to_ns: i64) -> (*mut baro_samples, u32) {
    let (name, mut samples, mut kind) = (CString::new(name).unwrap(), null_mut(), 0);
    let (store, name) = (place.c(), name.as_ptr());
    // SAFETY: valid pointers.
    let code =
        unsafe { baro_samples_open(store.as_ptr(), name, from_ns, to_ns, &mut samples, &mut kind) };
    assert_eq!(code, 0, "{}", last_error());
    (samples, kind)
}

/// What is still to be handed out.
fn rest(samples: *mut baro_samples, kind: u32) -> Vec<Read> {
    let mut found = Vec::new();
    // SAFETY: structures of the interface take any bits; valid pointers; a text has as many bytes as
    // is said.
    unsafe {
        let mut sample: baro_sample = std::mem::zeroed();
        sample.type_size = size_of::<baro_sample>() as u32;
        loop {
            let code = baro_samples_next(samples, &mut sample);
            assert!(code >= 0, "{}", last_error());
            if code == 0 {
                break;
            }
            let (mut text, mut bytes, mut shown) = (null(), 0, String::new());
            if kind == BARO_TEXT {
                assert_eq!(baro_samples_text(samples, &mut text, &mut bytes), 0);
                let bytes = std::slice::from_raw_parts(text.cast::<u8>(), bytes);
                shown = String::from_utf8(bytes.to_vec()).unwrap();
            }
            found.push((sample.time_ns, sample.value, sample.integer, shown));
        }
        assert_eq!(baro_samples_next(samples, &mut sample), 0, "the end stays the end");
    }
    found
}

fn read(place: &Place, name: &str, from_ns: i64, to_ns: i64) -> (u32, Vec<Read>) {
    let (samples, kind) = open(place, name, from_ns, to_ns);
    let found = rest(samples, kind);
    // SAFETY: a valid handle.
    assert_eq!(unsafe { baro_samples_close(samples) }, 0);
    (kind, found)
}

fn refused(place: &Place, name: &str, from_ns: i64, to_ns: i64) -> (i32, String) {
    let (name, mut samples, mut kind) = (CString::new(name).unwrap(), null_mut(), 0);
    // SAFETY: valid pointers.
    let code = unsafe {
        let (store, name) = (place.c(), name.as_ptr());
        baro_samples_open(store.as_ptr(), name, from_ns, to_ns, &mut samples, &mut kind)
    };
    assert!(samples.is_null());
    (code, last_error())
}

fn push(place: &Place, rounds: u32, frames: u32) {
    let (recorder, producer) = opened(place);
    let (channel, mut id, mut sequence) = (3, 0, 0);
    let frame = vec![7_u8; 60_000];
    let (name, text) = (CString::new("said").unwrap(), CString::new("").unwrap());
    // SAFETY: valid pointers.
    unsafe {
        let type_size = size_of::<baro_declare_options>() as u32;
        let options = baro_declare_options { type_size, value_type: BARO_TEXT };
        let channel_options = baro_declare_options { type_size, value_type: BARO_CHANNEL };
        let float = baro_declare_options { type_size, value_type: BARO_F64 };
        for (name, options) in [(c"a", &float), (c"b", &float), (c"raw", &channel_options)] {
            let (text, mut id) = (null(), 0);
            let code = baro_declare(recorder, name.as_ptr(), text, null(), options, &mut id);
            assert_eq!(code, 0, "{}", last_error());
        }
        let code = baro_declare(recorder, name.as_ptr(), text.as_ptr(), null(), &options, &mut id);
        assert_eq!(code, 0, "{}", last_error());
        for at in 0..rounds {
            let (time_ns, ids, values) = (i64::from(at) * 10, [1, 2], [f64::from(at) / 8.0, -0.5]);
            let (ids, values) = (ids.as_ptr(), values.as_ptr());
            while baro_push_samples(producer, time_ns, ids, values, 2, &mut sequence) != 0 {
                baro_sys::clock::sleep_ns(1_000_000);
            }
            let text = format!("at {at}");
            let (bytes, length) = (text.as_ptr().cast(), text.len());
            while baro_push_text(producer, id, time_ns, bytes, length, &mut sequence) != 0 {
                baro_sys::clock::sleep_ns(1_000_000);
            }
        }
        for at in 0..frames {
            let (bytes, length) = (frame.as_ptr().cast(), frame.len());
            let time_ns = i64::from(at);
            while baro_push_frame(producer, channel, time_ns, bytes, length, &mut sequence) != 0 {
                baro_sys::clock::sleep_ns(1_000_000);
            }
        }
        assert_eq!(baro_producer_close(producer), 0);
        assert_eq!(baro_close(recorder, null_mut()), 0);
    }
}

#[test]
fn samples_are_read_after_settling_and_when_the_log_has_gone_round() {
    let place = Place::recycling("samples");
    push(&place, 500, 0);
    let names = ["said", "a", "b"];
    let ask = || {
        let all = names.map(|name| read(&place, name, i64::MIN, i64::MAX));
        (all, read(&place, "said", 1_000, 1_031))
    };
    let before = ask();
    let (kind, texts) = &before.0[0];
    assert_eq!((*kind, texts.len()), (BARO_TEXT, 500));
    assert_eq!((texts[7].0, texts[7].3.as_str()), (70, "at 7"));
    let (kind, floats) = &before.0[1];
    assert_eq!((*kind, floats.len(), floats[9].1), (BARO_F64, 500, 1.125));
    let window: Vec<_> = before.1.1.iter().map(|row| row.3.as_str()).collect();
    assert_eq!(window, ["at 100", "at 101", "at 102", "at 103"]);
    let mut settler = Settler::open(place.path(), SettleOptions::default()).unwrap();
    while settler.step(Extent::All).unwrap().more {}
    drop(settler);
    assert!(ask() == before);
    push(&place, 0, 120);
    assert!(ask() == before);
    let (code, said) = refused(&place, "none", 0, 1);
    assert_eq!((code, said.contains("no such series")), (BARO_ENOENT, true), "{said}");
    let (code, said) = refused(&place, "said", 5, 5);
    assert_eq!((code, said.contains("expected below to_ns")), (BARO_EINVAL, true), "{said}");
}

/// Frames of a number each, and behind them long ones of the same channel, in large blocks.
fn push_numbers(place: &Place, numbers: i64, long: i64) {
    place.init();
    let durable_within_ns = 1_000_000_000;
    let options = Options { rings: Rings::Private, durable_within_ns, ..Options::default() };
    let recorder = Recorder::open(place.path(), options).unwrap();
    let layout = "n:u64@0".parse().unwrap();
    let channel = recorder.declare_channel_with_layout("raw", &layout).unwrap();
    let mut producer = recorder.producer().unwrap();
    for at in 0..numbers + long {
        let mut frame = at.to_le_bytes().to_vec();
        frame.resize(if at < numbers { 8 } else { 60_000 }, 0);
        while producer.push_frame(channel, at, &frame).is_err() {
            baro_sys::clock::sleep_ns(1_000_000);
        }
    }
    drop(producer);
    assert_eq!(recorder.close().left, 0);
}

#[test]
fn what_the_log_has_lost_of_a_field_since_it_was_opened_is_told() {
    let place = Place::recycling("samples-slow");
    let numbers = 1000;
    push_numbers(&place, numbers, 0);
    let (samples, kind) = open(&place, "raw.n", 0, numbers);
    assert_eq!(rest(samples, kind).len(), 1000);
    push_numbers(&place, 0, 120);
    // SAFETY: structures of the interface take any bits; valid pointers.
    unsafe {
        let mut sample: baro_sample = std::mem::zeroed();
        sample.type_size = size_of::<baro_sample>() as u32;
        assert_eq!(baro_samples_seek(samples, 0), 0);
        let code = baro_samples_next(samples, &mut sample);
        let said = last_error();
        assert!(code == BARO_EIO && said.contains("recycled before they were read"), "{said}");
        assert_eq!(baro_samples_next(samples, &mut sample), 0, "what is left follows");
        assert_eq!(baro_samples_close(samples), 0);
    }
}

#[test]
fn long_texts_come_in_portions_from_the_first_and_the_newest() {
    let place = Place::new("samples-long").sized(24 << 20, 0);
    let (recorder, producer) = opened(&place);
    let type_size = size_of::<baro_declare_options>() as u32;
    let options = baro_declare_options { type_size, value_type: BARO_TEXT };
    let text = |at: i64| format!("{at:0>50000}");
    let mut id = 0;
    // SAFETY: valid pointers.
    unsafe {
        let name = c"said".as_ptr();
        assert_eq!(baro_declare(recorder, name, null(), null(), &options, &mut id), 0);
        for at in 0..200 {
            let text = text(at);
            let (bytes, length) = (text.as_ptr().cast(), text.len());
            while baro_push_text(producer, id, at, bytes, length, null_mut()) != 0 {
                baro_sys::clock::sleep_ns(1_000_000);
            }
        }
        assert_eq!(baro_producer_close(producer), 0);
        assert_eq!(baro_close(recorder, null_mut()), 0);
    }
    let rows = |from: i64| (from..200).map(|at| (at, text(at))).collect::<Vec<_>>();
    let texts = |found: Vec<Read>| found.into_iter().map(|row| (row.0, row.3)).collect::<Vec<_>>();
    for settled in [false, true] {
        if settled {
            let mut settler = Settler::open(place.path(), SettleOptions::default()).unwrap();
            while settler.step(Extent::All).unwrap().more {}
        }
        let (samples, kind) = open(&place, "said", i64::MIN, i64::MAX);
        assert!(texts(rest(samples, kind)) == rows(0), "settled {settled}");
        for count in [1, 130, 1000] {
            // SAFETY: a valid handle.
            assert_eq!(unsafe { baro_samples_newest(samples, count) }, 0);
            let from = 200_i64.saturating_sub_unsigned(count as u64).max(0);
            assert!(texts(rest(samples, kind)) == rows(from), "settled {settled}, {count}");
        }
        // SAFETY: a valid handle.
        assert_eq!(unsafe { baro_samples_close(samples) }, 0);
    }
    // As the header says.
    let (samples, _) = open(&place, "said", i64::MIN, i64::MAX);
    let (count, memory) = measured(|| {
        let mut count = 0;
        // SAFETY: structures of the interface take any bits; valid pointers.
        unsafe {
            let mut sample: baro_sample = std::mem::zeroed();
            sample.type_size = size_of::<baro_sample>() as u32;
            while baro_samples_next(samples, &mut sample) == 1 {
                count += 1;
            }
            assert_eq!(baro_samples_close(samples), 0);
        }
        count
    });
    assert!(count == 200 && memory.peak_bytes < 12 << 20, "{count} texts, {memory:?}");
}

/// A series of each type with labels, and a channel with fields.
fn push_types(place: &Place) {
    let (recorder, producer) = opened(place);
    let type_size = size_of::<baro_declare_options>() as u32;
    let series = [
        (c"f{a=\"1\",b=\"2\"}", BARO_F64),
        (c"i{a=\"1\"}", BARO_I64),
        (c"b", BARO_BOOL),
        (c"t", BARO_TEXT),
        (c"raw", BARO_CHANNEL),
    ];
    // SAFETY: valid pointers.
    unsafe {
        for (at, (name, value_type)) in series.iter().enumerate() {
            let options = baro_declare_options { type_size, value_type: *value_type };
            let channel = *value_type == BARO_CHANNEL;
            let layout = if channel { c"n:u64@0,on:bool@8,x:f32@9".as_ptr() } else { null() };
            let mut id = 0;
            let name = name.as_ptr();
            let code = baro_declare(recorder, name, null(), layout, &options, &mut id);
            assert_eq!((code, id), (0, at as u32 + 1), "{}", last_error());
        }
        for at in 0..200_i64 {
            let (time_ns, text) = (at * 10, format!("text {at}"));
            let mut frame = (u64::MAX - at.cast_unsigned()).to_le_bytes().to_vec();
            frame.push((at % 2) as u8);
            frame.extend((at as f32 / 2.0).to_le_bytes());
            let none = null_mut();
            assert_eq!(baro_push_sample(producer, 1, time_ns, at as f64 / 4.0, none), 0);
            assert_eq!(baro_push_integer(producer, 2, time_ns, i64::MIN + at, none), 0);
            assert_eq!(baro_push_integer(producer, 3, time_ns, at % 2, none), 0);
            let (letters, bytes) = (text.as_ptr().cast(), text.len());
            assert_eq!(baro_push_text(producer, 4, time_ns, letters, bytes, none), 0);
            let (bytes, length) = (frame.as_ptr().cast(), frame.len());
            assert_eq!(baro_push_frame(producer, 5, time_ns, bytes, length, none), 0);
        }
        assert_eq!(baro_producer_close(producer), 0);
        assert_eq!(baro_close(recorder, null_mut()), 0);
    }
}

/// All of a type: its name as asked, its type, and the bits or text of number `at`.
type Expected = (&'static str, u32, fn(i64) -> (i64, String));

const TYPES: [Expected; 7] = [
    ("f{b=\"2\", a=\"1\"}", BARO_F64, |at| {
        ((at as f64 / 4.0).to_bits().cast_signed(), String::new())
    }),
    ("i{a=\"1\"}", BARO_I64, |at| (i64::MIN + at, String::new())),
    ("b", BARO_BOOL, |at| (at % 2, String::new())),
    ("t", BARO_TEXT, |at| (0, format!("text {at}"))),
    ("raw.n", BARO_I64, |at| ((u64::MAX - at.cast_unsigned()).cast_signed(), String::new())),
    ("raw.on", BARO_BOOL, |at| (at % 2, String::new())),
    ("raw.x", BARO_F64, |at| ((at as f64 / 2.0).to_bits().cast_signed(), String::new())),
];

#[test]
fn every_type_is_read_with_its_labels_from_a_time_and_the_newest() {
    let place = Place::recycling("samples-types");
    push_types(&place);
    for settled in [false, true] {
        if settled {
            let mut settler = Settler::open(place.path(), SettleOptions::default()).unwrap();
            while settler.step(Extent::All).unwrap().more {}
        }
        for (name, expected_kind, value) in TYPES {
            let expected = |range: std::ops::Range<i64>| -> Vec<(i64, i64, String)> {
                range.map(|at| (at * 10, value(at).0, value(at).1)).collect()
            };
            let rows = |found: Vec<Read>| -> Vec<(i64, i64, String)> {
                let bits = |row: &Read| if expected_kind == BARO_TEXT { 0 } else { row.2 };
                found.iter().map(|row| (row.0, bits(row), row.3.clone())).collect()
            };
            let (kind, all) = read(&place, name, i64::MIN, i64::MAX);
            assert_eq!((kind, rows(all)), (expected_kind, expected(0..200)), "{name}");
            let (_, some) = read(&place, name, 95, 150);
            assert_eq!(rows(some), expected(10..15), "{name}");
            assert_eq!(read(&place, name, 5, 10).1, [], "{name}");
            // From a time on, the newest, and all again.
            let (samples, kind) = open(&place, name, 100, 1_500);
            let rest = |samples| rows(rest(samples, kind));
            // SAFETY: a valid handle.
            unsafe {
                assert_eq!(baro_samples_newest(samples, 3), 0);
                assert_eq!(rest(samples), expected(147..150), "{name}");
                assert_eq!(baro_samples_seek(samples, 1_471), 0);
                assert_eq!(rest(samples), expected(148..150), "{name}");
                assert_eq!(baro_samples_seek(samples, i64::MIN), 0);
                assert_eq!(rest(samples), expected(10..150), "{name}");
                assert_eq!(baro_samples_seek(samples, 1_500), 0);
                assert_eq!(rest(samples), [], "{name}");
                assert_eq!(baro_samples_newest(samples, 1 << 20), 0);
                assert_eq!(rest(samples), expected(10..150), "{name}");
                for count in [0, (1 << 20) + 1, usize::MAX] {
                    assert_eq!(baro_samples_newest(samples, count), BARO_EINVAL);
                }
                assert_eq!(baro_samples_close(samples), 0);
            }
        }
    }
    let (code, said) = refused(&place, "raw", 0, 1);
    assert_eq!((code, said.contains("raw")), (BARO_EINVAL, true), "{said}");
}
