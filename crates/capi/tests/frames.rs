//! Frames of a channel over an interval through C: those that the store's reader has, by time, each
//! once, whatever the portions, after recycling, and around damage, which is counted.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]
#![allow(unsafe_code)]

mod checked;
mod place;

use baro_store::{Interval, Store};
use checked::*;
use place::{Place, last_error, opened};
use std::ffi::CStr;
use std::ops::ControlFlow;
use std::ptr::{null, null_mut};

/// (time, session, sequence, producer, frame)
type Frame = (i64, u64, u64, u64, Vec<u8>);

fn zeroed<T: Copy>() -> T {
    // SAFETY: structures of the interface take any bits.
    unsafe { std::mem::zeroed() }
}

fn open(
    place: &Place,
    name: &CStr,
    from_ns: i64,
    to_ns: i64,
) -> Result<*mut baro_frames, (i32, String)> {
    let mut frames = null_mut();
    let (store, name) = (place.c(), name.as_ptr());
    // SAFETY: valid pointers.
    match unsafe { baro_frames_open(store.as_ptr(), name, from_ns, to_ns, &mut frames) } {
        0 => Ok(frames),
        code => {
            assert!(frames.is_null());
            Err((code, last_error()))
        }
    }
}

fn next(frames: *mut baro_frames) -> Option<Frame> {
    let mut record: baro_record = zeroed();
    record.type_size = size_of::<baro_record>() as u32;
    let mut frame = null();
    // SAFETY: valid pointers; the frame has as many bytes as the record says.
    unsafe {
        let code = baro_frames_next(frames, &mut record, &mut frame);
        assert!(code >= 0, "{}", last_error());
        let bytes = (code == 1).then(|| {
            std::slice::from_raw_parts(frame.cast::<u8>(), record.payload_bytes as usize).to_vec()
        })?;
        assert_eq!(record.kind, BARO_KIND_FRAME);
        let baro_record { time_ns, session, sequence, producer, .. } = record;
        Some((time_ns, session, sequence, producer, bytes))
    }
}

fn read(place: &Place, name: &CStr, from_ns: i64, to_ns: i64) -> (Vec<Frame>, baro_read_report) {
    let frames = open(place, name, from_ns, to_ns).unwrap();
    let found: Vec<Frame> = std::iter::from_fn(|| next(frames)).collect();
    assert_eq!(next(frames), None, "the end stays the end");
    let mut report: baro_read_report = zeroed();
    report.type_size = size_of::<baro_read_report>() as u32;
    // SAFETY: valid pointers.
    unsafe {
        assert_eq!(baro_frames_report(frames, &mut report), 0);
        assert_eq!(baro_frames_close(frames), 0);
    }
    assert_eq!(report.records, found.len() as u64);
    (found, report)
}

fn by_store(place: &Place, channel: u32, from_ns: i64, to_ns: i64) -> Vec<Frame> {
    let store = Store::open(place.path()).unwrap();
    let mut found = Vec::new();
    store
        .records_as_written(|record| {
            let inside = Interval { from_ns, to_ns }.holds(record.time_ns);
            if record.kind as u32 == BARO_KIND_FRAME && record.stream == channel && inside {
                let (time_ns, session) = (record.time_ns, record.session);
                let (sequence, producer) = (record.sequence, record.producer);
                found.push((time_ns, session, sequence, producer, record.payload.to_vec()));
            }
            ControlFlow::Continue(())
        })
        .unwrap();
    found.sort();
    found
}

/// Two channels in turn, with a text between them; times go up and down, and many are the same.
fn push(place: &Place, count: u32) {
    let (recorder, producer) = opened(place);
    let type_size = size_of::<baro_declare_options>() as u32;
    let channel = baro_declare_options { type_size, value_type: BARO_CHANNEL };
    let text = baro_declare_options { type_size, value_type: BARO_TEXT };
    let bytes = vec![3_u8; 40_000];
    // SAFETY: valid pointers.
    unsafe {
        for (name, options, expected) in
            [(c"a", &channel, 1), (c"b", &channel, 2), (c"t", &text, 3)]
        {
            let mut id = 0;
            let code = baro_declare(recorder, name.as_ptr(), null(), null(), options, &mut id);
            assert_eq!((code, id), (0, expected));
        }
        for at in 0..count {
            let time_ns = i64::from(at / 8) * 100 - i64::from(at % 3);
            let length = if at % 10 == 0 { 40_000 } else { (at as usize * 37) % 500 };
            let frame = bytes.as_ptr().cast();
            let id = 1 + at % 2;
            while baro_push_frame(producer, id, time_ns, frame, length, null_mut()) != 0 {
                baro_sys::clock::sleep_ns(1_000_000);
            }
            if at % 5 == 0 {
                let text = c"text".as_ptr();
                while baro_push_text(producer, 3, time_ns, text, 4, null_mut()) != 0 {
                    baro_sys::clock::sleep_ns(1_000_000);
                }
            }
        }
        assert_eq!(baro_producer_close(producer), 0);
        assert_eq!(baro_close(recorder, null_mut()), 0);
    }
}

#[test]
fn frames_of_an_interval_are_those_that_the_store_has() {
    let place = Place::new("frames").sized(16 << 20, 0);
    push(&place, 900);
    push(&place, 300);
    for (from_ns, to_ns) in
        [(i64::MIN, i64::MAX), (0, 5000), (150, 151), (-2, 1), (99_999, 200_000)]
    {
        for (name, channel) in [(c"a", 1), (c"b", 2)] {
            let (found, report) = read(&place, name, from_ns, to_ns);
            assert_eq!(found, by_store(&place, channel, from_ns, to_ns));
            assert_eq!((report.blocks_damaged, report.blocks_recycled), (0, 0));
        }
    }
    let (all, _) = read(&place, c"a", i64::MIN, i64::MAX);
    assert_eq!(all.len(), 600);
    // Anywhere, forwards and backwards, after some were read and none.
    let frames = open(&place, c"a", 200, 9_000).unwrap();
    let inside: Vec<Frame> = all.into_iter().filter(|f| (200..9_000).contains(&f.0)).collect();
    for time_ns in [500, 201, i64::MIN, 8_999, 300, 9_000, 0, i64::MAX, 4_998] {
        // SAFETY: a valid handle.
        assert_eq!(unsafe { baro_frames_seek(frames, time_ns) }, 0);
        let expected: Vec<_> = inside.iter().filter(|f| f.0 >= time_ns).take(7).collect();
        for frame in &expected {
            assert_eq!(next(frames).as_ref(), Some(*frame), "from {time_ns}");
        }
        if expected.len() < 7 {
            assert_eq!(next(frames), None, "from {time_ns}");
        }
    }
    // SAFETY: a valid handle.
    assert_eq!(unsafe { baro_frames_close(frames) }, 0);
}

#[test]
fn a_log_that_went_round_has_the_newest() {
    let place = Place::recycling("frames-round");
    push(&place, 2_000);
    let (found, _) = read(&place, c"b", i64::MIN, i64::MAX);
    assert_eq!(found, by_store(&place, 2, i64::MIN, i64::MAX));
    assert!(!found.is_empty() && found.len() < 1_000, "{}", found.len());
}

#[test]
fn damage_is_counted_and_what_is_intact_is_read() {
    let place = Place::new("frames-damage").sized(16 << 20, 0);
    push(&place, 900);
    let of = |channel| by_store(&place, channel, i64::MIN, i64::MAX);
    let (whole, others) = (of(1), of(2));
    // A byte of a large frame in the first segment, which is of the first channel.
    let segment = place.path().join("log/00000000.seg");
    let mut bytes = std::fs::read(&segment).unwrap();
    let large = |at: &usize| bytes[*at..].iter().take(1000).all(|byte| *byte == 3);
    let places: Vec<usize> = (0..bytes.len() - 1000).step_by(1000).filter(large).collect();
    bytes[places[places.len() / 2]] ^= 1;
    std::fs::write(&segment, &bytes).unwrap();
    let (found, report) = read(&place, c"a", i64::MIN, i64::MAX);
    assert!(report.blocks_damaged > 0, "{report:?}");
    // How much else the block held is the writer's choice.
    let counts = [found.len(), whole.len(), of(2).len(), others.len()];
    assert!(counts[0] > 0 && counts[0] < counts[1] && counts[2] <= counts[3], "{counts:?}");
    assert!(found.iter().all(|frame| whole.contains(frame)));
}

#[test]
fn what_has_no_frames_is_refused() {
    let place = Place::new("frames-none");
    push(&place, 4);
    assert_eq!(open(&place, c"none", 0, 1).unwrap_err().0, BARO_ENOENT);
    let (code, said) = open(&place, c"t", 0, 1).unwrap_err();
    assert_eq!(code, BARO_EINVAL);
    assert_eq!(
        said,
        "t: expected a channel, found a series of type text; its samples: baro_samples_open"
    );
    assert_eq!(open(&place, c"a", 1, 1).unwrap_err().0, BARO_EINVAL);
    let nowhere = Place::new("frames-nowhere");
    assert_eq!(open(&nowhere, c"a", 0, 1).unwrap_err().0, BARO_ENOENT);
    std::fs::write(nowhere.path(), b"a file").unwrap();
    assert_eq!(open(&nowhere, c"a", 0, 1).unwrap_err().0, BARO_ENOTDIR);
    std::fs::remove_file(nowhere.path()).unwrap();
}
