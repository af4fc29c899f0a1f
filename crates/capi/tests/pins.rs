//! Pins, retention and growth through C: granted, listed, read back after the log was recycled,
//! released; and refused with a reason while recording goes on.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]
#![allow(unsafe_code)]

mod checked;
mod place;

use baro_store::Store;
use checked::*;
use place::{Place, last_error, opened};
use std::ffi::{CStr, c_char};
use std::ops::ControlFlow;
use std::ptr::{null, null_mut};

const FRAME_BYTES: usize = 8192;

fn zeroed<T: Copy>() -> T {
    // SAFETY: structures of the interface take any bits.
    unsafe { std::mem::zeroed() }
}

fn window(before_ns: u64, after_ns: u64, name: &str) -> baro_pin_options {
    let mut options: baro_pin_options = zeroed();
    options.type_size = size_of::<baro_pin_options>() as u32;
    (options.before_ns, options.after_ns) = (before_ns, after_ns);
    options.name.iter_mut().zip(name.bytes()).for_each(|(to, from)| *to = from as c_char);
    options
}

fn text(array: &[c_char]) -> String {
    let bytes: Vec<u8> = array.iter().map(|c| *c as u8).collect();
    CStr::from_bytes_until_nul(&bytes).unwrap().to_str().unwrap().to_owned()
}

fn pin(recorder: *mut baro_recorder, options: &baro_pin_options) -> Result<u64, (i32, String)> {
    let mut id = 0;
    // SAFETY: valid pointers.
    match unsafe { baro_pin(recorder, options, &mut id) } {
        0 => Ok(id),
        code => Err((code, last_error())),
    }
}

/// The recorder's list, read between two equal counts: pins of other processes come and go meanwhile.
fn pins(recorder: *mut baro_recorder) -> Vec<baro_pin_info> {
    let mut info: baro_pin_info = zeroed();
    info.type_size = size_of::<baro_pin_info>() as u32;
    // SAFETY: valid pointers.
    let mut get =
        |index| (unsafe { baro_pin_get(recorder, index, &mut info) } == 1).then_some(info);
    // SAFETY: likewise.
    let count = || unsafe { baro_pin_count(recorder) };
    for _ in 0..100 {
        let before = count();
        let found: Vec<_> = (0..).map_while(&mut get).collect();
        if before == count() {
            assert_eq!(before, found.len() as i32);
            return found;
        }
    }
    panic!("the recorder's list of pins did not stand still for a moment in 100 readings");
}

fn wait(what: impl Fn() -> bool) {
    let give_up_ns = baro_sys::clock::monotonic_ns() + 60_000_000_000;
    while !what() {
        assert!(baro_sys::clock::monotonic_ns() < give_up_ns, "waited in vain");
        baro_sys::clock::sleep_ns(1_000_000);
    }
}

fn pins_of_reader(place: &Place) -> Vec<baro_pin_info> {
    let mut info: baro_pin_info = zeroed();
    info.type_size = size_of::<baro_pin_info>() as u32;
    let mut reader = null_mut();
    // SAFETY: valid pointers.
    unsafe {
        assert_eq!(baro_reader_open(place.c().as_ptr(), &mut reader), 0, "{}", last_error());
        let get = |index| (baro_reader_pin(reader, index, &mut info) == 1).then_some(info);
        let found = (0..).map_while(get).collect();
        assert_eq!(baro_reader_close(reader), 0);
        found
    }
}

/// Pushes numbered frames; each is durable before the next eight.
fn push(producer: *mut baro_producer, numbers: std::ops::Range<u64>) {
    let mut frame = vec![0; FRAME_BYTES];
    let mut sequence = 0;
    for number in numbers {
        frame[..8].copy_from_slice(&number.to_le_bytes());
        // SAFETY: valid pointers.
        unsafe {
            let (bytes, now_ns) = (frame.as_ptr().cast(), baro_now_ns());
            let code = baro_push_frame(producer, 1, now_ns, bytes, FRAME_BYTES, &mut sequence);
            assert_eq!(code, 0);
            if number % 8 == 7 {
                let code = baro_producer_wait_durable(producer, sequence, 60_000_000_000);
                assert_eq!(code, 0, "{}", last_error());
            }
        }
    }
}

fn status(recorder: *mut baro_recorder) -> baro_status {
    let mut status: baro_status = zeroed();
    status.type_size = size_of::<baro_status>() as u32;
    // SAFETY: valid pointers.
    assert_eq!(unsafe { baro_status_get(recorder, &mut status) }, 0);
    status
}

fn close(recorder: *mut baro_recorder, producer: *mut baro_producer) -> baro_status {
    let mut status: baro_status = zeroed();
    status.type_size = size_of::<baro_status>() as u32;
    // SAFETY: valid pointers.
    unsafe {
        assert_eq!(baro_producer_close(producer), 0);
        assert_eq!(baro_close(recorder, &mut status), 0, "{}", last_error());
    }
    status
}

/// Frames (time, number) by the small reader; damage and what was recycled are none.
fn frames(place: &Place) -> Vec<(i64, u64)> {
    let (mut reader, mut payload) = (null_mut(), null());
    let (mut record, mut report): (baro_record, baro_read_report) = zeroed();
    record.type_size = size_of::<baro_record>() as u32;
    report.type_size = size_of::<baro_read_report>() as u32;
    let mut found = Vec::new();
    // SAFETY: valid pointers; a frame has at least eight bytes.
    unsafe {
        assert_eq!(baro_reader_open(place.c().as_ptr(), &mut reader), 0, "{}", last_error());
        while baro_reader_next(reader, &mut record, &mut payload) == 1 {
            if record.kind == BARO_KIND_FRAME {
                found.push((record.time_ns, payload.cast::<u64>().read_unaligned().to_le()));
            }
        }
        assert_eq!(baro_reader_report(reader, &mut report), 0);
        assert_eq!(baro_reader_close(reader), 0);
    }
    assert_eq!((report.blocks_damaged, report.blocks_recycled), (0, 0));
    found
}

fn frames_by_store(place: &Place) -> Vec<(i64, u64)> {
    let store = Store::open(place.path()).unwrap();
    let mut found = Vec::new();
    store
        .records_as_written(|r| {
            if r.kind as u32 == BARO_KIND_FRAME {
                found.push((r.time_ns, u64::from_le_bytes(r.payload[..8].try_into().unwrap())));
            }
            ControlFlow::Continue(())
        })
        .unwrap();
    found
}

#[test]
fn a_pin_survives_recycling_and_is_read_back_until_it_is_released() {
    let place = Place::recycling("pin").sized(16 << 20, 0);
    let (recorder, producer) = opened(&place);
    push(producer, 0..600);
    let id = pin(recorder, &window(60_000_000_000, 0, "the fault")).unwrap();
    // The log three times over: what the pin holds is copied out of it.
    push(producer, 600..6744);
    let listed = pins(recorder);
    assert_eq!((listed.len(), listed[0].id, listed[0].state), (1, id, BARO_PIN_WHOLE));
    assert_eq!((text(&listed[0].name).as_str(), text(&listed[0].reason)), ("the fault", "".into()));
    assert_eq!(listed[0].to_ns - listed[0].from_ns, 60_000_000_000);
    close(recorder, producer);
    let found = frames(&place);
    assert_eq!(found, frames_by_store(&place));
    let held: Vec<u64> = found
        .iter()
        .filter(|(time_ns, _)| (listed[0].from_ns..listed[0].to_ns).contains(time_ns))
        .map(|(_, number)| *number)
        .collect();
    assert!(held.iter().copied().eq(0..600), "{} of 600 frames are held", held.len());
    let copies = || std::fs::read_dir(place.path().join("kept")).map_or(0, Iterator::count);
    assert!(copies() > 0);
    // Nobody records: the pin is listed and released all the same.
    let rest = pins_of_reader(&place);
    assert_eq!((rest.len(), rest[0].id, text(&rest[0].name)), (1, id, "the fault".into()));
    let path = place.c();
    // SAFETY: valid pointers.
    unsafe {
        assert_eq!(baro_pin_release_store(path.as_ptr(), id), 0, "{}", last_error());
        assert_eq!(baro_pin_release_store(path.as_ptr(), id), BARO_ENOENT);
    }
    assert!(last_error().contains("no pin"), "{}", last_error());
    assert!(pins_of_reader(&place).is_empty());
    // What lay in the log may still lie there; copies go.
    assert!(frames(&place).len() < found.len());
    assert_eq!(copies(), 0);
}

#[test]
fn a_store_is_pinned_beside_its_recorder_and_without_one() {
    let place = Place::recycling("pin-store").sized(16 << 20, 0);
    let (recorder, producer) = opened(&place);
    push(producer, 0..80);
    let path = place.c();
    let (mut asked, mut rest) = (0, 0);
    // SAFETY: valid pointers.
    unsafe {
        let options = window(1_000_000_000, 0, "from outside");
        assert_eq!(baro_pin_store(path.as_ptr(), &options, &mut asked), 0, "{}", last_error());
        // The recorder's list follows a moment later.
        wait(|| pins(recorder).iter().map(|pin| pin.id).eq([asked]));
        assert_eq!(baro_pin_release_store(path.as_ptr(), asked), 0, "{}", last_error());
        wait(|| pins(recorder).is_empty());
        push(producer, 80..160);
        close(recorder, producer);
        let options = window(60_000_000_000, u64::from(u32::MAX), "the end");
        assert_eq!(baro_pin_store(path.as_ptr(), &options, &mut rest), 0, "{}", last_error());
    }
    let found = pins_of_reader(&place);
    assert_eq!((found.len(), found[0].id, found[0].state), (1, rest, BARO_PIN_WHOLE));
    let inside = |time_ns: &i64| (found[0].from_ns..found[0].to_ns).contains(time_ns);
    assert_eq!(frames(&place).iter().filter(|(time_ns, _)| inside(time_ns)).count(), 160);
}

#[test]
fn what_cannot_be_pinned_is_refused_and_recording_goes_on() {
    let place = Place::recycling("pin-bad");
    let (recorder, producer) = opened(&place);
    push(producer, 0..8);
    let expect = |options: &baro_pin_options, code: i32, why: &str| {
        let (found, said) = pin(recorder, options).unwrap_err();
        assert!((found, said.contains(why)) == (code, true), "{found}: {said}");
    };
    for (before_ns, after_ns, field) in
        [(u64::MAX, 0, "before_ns"), (0, u64::MAX, "after_ns"), (u64::MAX, u64::MAX, "before_ns")]
    {
        expect(
            &window(before_ns, after_ns, ""),
            BARO_EINVAL,
            &format!("{field}: expected at most"),
        );
    }
    let long = "x".repeat(257);
    expect(&window(1, 1, &long), BARO_EINVAL, "name: expected at most 256 bytes, found 257");
    expect(&window(1, 1, &"x".repeat(264)), BARO_EINVAL, "name: no zero byte at its end");
    let mut options = window(1, 1, "");
    options.name[0] = -1_i8 as c_char;
    expect(&options, BARO_EINVAL, "name: not UTF-8");
    let mut options = window(1, 1, "");
    options.flags = 4;
    expect(&options, BARO_EINVAL, "flags: 0x4 is unknown");
    for size in [0, 8, 287, 5000] {
        options.type_size = size;
        expect(&options, BARO_EINVAL, "type_size: expected 288 or more");
    }
    let (x, some) = (c"ramp".as_ptr(), window(1, 1, ""));
    let mut id = 7;
    let mut info: baro_pin_info = zeroed();
    // SAFETY: null is what is tested; everything else is valid.
    unsafe {
        let told = |code: i32, expected: i32, text: &str| {
            assert!(code == expected && last_error().contains(text), "{code}: {}", last_error());
        };
        let invalid = |code: i32, text: &str| told(code, BARO_EINVAL, text);
        invalid(baro_pin(null(), &some, &mut id), "recorder is null");
        invalid(baro_pin(recorder, null(), &mut id), "baro_pin_options is null");
        invalid(baro_pin(recorder, &some, null_mut()), "id is null");
        invalid(baro_pin_store(null(), &some, &mut id), "store is null");
        invalid(baro_pin_store(x, null(), &mut id), "baro_pin_options is null");
        let none = c"/nonexistent/store".as_ptr();
        told(baro_pin_store(none, &some, &mut id), BARO_ENOENT, "no store here");
        told(baro_pin_release_store(none, 1), BARO_ENOENT, "no store here");
        invalid(baro_pin_release_store(null(), 1), "store is null");
        invalid(baro_pin_count(null()), "recorder is null");
        invalid(baro_pin_get(null(), 0, &mut info), "recorder is null");
        assert_eq!(baro_pin_get(recorder, usize::MAX, &mut info), 0);
        invalid(baro_pin_release(null(), 1), "recorder is null");
        for unknown in [0, 1, u64::MAX] {
            told(baro_pin_release(recorder, unknown), BARO_ENOENT, "no pin");
        }
        told(baro_pin_when(recorder, x, BARO_ABOVE, 1.0, &some), BARO_ENOENT, "not declared");
        let mut series = 0;
        let mut options: baro_declare_options = zeroed();
        (options.type_size, options.value_type) = (8, BARO_CHANNEL);
        let channel = c"control".as_ptr();
        assert_eq!(baro_declare(recorder, channel, null(), null(), &options, &mut series), 0);
        // Frames are pushed to it.
        assert_eq!(series, 1);
        assert_eq!(baro_declare(recorder, x, null(), null(), null(), &mut series), 0);
        invalid(baro_pin_when(recorder, x, 0, 1.0, &some), "comparison: 0");
        invalid(baro_pin_when(recorder, x, BARO_ABOVE, f64::NAN, &some), "found NaN");
        invalid(baro_pin_when(recorder, null(), BARO_ABOVE, 1.0, &some), "series is null");
        invalid(baro_pin_when(null(), x, BARO_ABOVE, 1.0, &some), "recorder is null");
        invalid(baro_pin_when(recorder, x, BARO_ABOVE, 1.0, null()), "baro_pin_options is null");
        let endless = window(u64::MAX, 0, "");
        invalid(baro_pin_when(recorder, x, BARO_ABOVE, 1.0, &endless), "before_ns");
        invalid(baro_pin_when(recorder, channel, BARO_ABOVE, 1.0, &some), "a series of numbers");
        invalid(baro_complaints(recorder, null_mut(), 10), "buffer is null");
    }
    assert_eq!((id, pins(recorder).len()), (7, 0));
    push(producer, 8..1000);
    // More than half of a log of four segments.
    let (code, said) = pin(recorder, &window(3_600_000_000_000, 0, "all")).unwrap_err();
    assert!(code == BARO_EACCES && said.contains("at most half of the log"), "{code}: {said}");
    push(producer, 1000..1800);
    let closed = close(recorder, producer);
    assert_eq!((closed.lost, closed.left), (0, 0));
    assert_eq!(frames(&place).last().map(|(_, number)| *number), Some(1799));
}

#[test]
fn a_full_log_refuses_a_pin_of_what_it_will_not_record() {
    let place = Place::new("pin-full");
    let (recorder, producer) = opened(&place);
    let frame = vec![1_u8; FRAME_BYTES];
    let give_up_ns = baro_sys::clock::monotonic_ns() + 60_000_000_000;
    let mut codes = Vec::new();
    while status(recorder).trouble != BARO_TROUBLE_LOG_FULL {
        assert!(baro_sys::clock::monotonic_ns() < give_up_ns, "{:?}", status(recorder));
        let (bytes, now_ns) = (frame.as_ptr().cast(), baro_now_ns());
        // SAFETY: valid pointers.
        codes.push(unsafe { baro_push_frame(producer, 1, now_ns, bytes, FRAME_BYTES, null_mut()) });
    }
    let (code, said) = pin(recorder, &window(1_000_000_000, 1, "late")).unwrap_err();
    assert!(code == BARO_EACCES && said.contains("the log is full"), "{code}: {said}");
    // What is there may be pinned.
    let id = pin(recorder, &window(1_000_000_000, 0, "there")).unwrap();
    assert_eq!(pins(recorder)[0].id, id);
    // SAFETY: valid pointers.
    unsafe {
        let mut info: baro_pin_info = zeroed();
        for (place, why) in [(null_mut(), "is null"), (&raw mut info, "found 0")] {
            assert_eq!(baro_pin_get(recorder, 0, place), BARO_EINVAL);
            assert!(last_error().starts_with("baro_pin_info") && last_error().contains(why));
        }
        assert_eq!(baro_pin_release(recorder, id), 0);
        // Taken into the ring, or refused and counted, as on any full log.
        let bytes = frame.as_ptr().cast();
        codes.push(baro_push_frame(producer, 1, 0, bytes, FRAME_BYTES, null_mut()));
        let mut report: baro_ring_report = zeroed();
        report.type_size = size_of::<baro_ring_report>() as u32;
        assert_eq!(baro_producer_report(producer, &mut report), 0);
        let refused = codes.iter().filter(|code| **code == BARO_EAGAIN).count() as u64;
        assert_eq!((report.offered, report.refused_full), (codes.len() as u64, refused));
    }
    assert!(codes.iter().all(|code| [0, BARO_EAGAIN].contains(code)));
    close(recorder, producer);
}

#[test]
fn a_value_beyond_its_limit_pins_and_a_refused_pin_is_told() {
    let place = Place::recycling("pin-when").sized(16 << 20, 0);
    let (recorder, producer) = opened(&place);
    let mut series = 0;
    // SAFETY: valid pointers.
    unsafe {
        let name = c"temp".as_ptr();
        assert_eq!(baro_declare(recorder, name, null(), null(), null(), &mut series), 0);
        let options = window(1_000_000_000, 0, "hot");
        assert_eq!(baro_pin_when(recorder, name, BARO_AT_LEAST, 90.0, &options), 0);
    }
    // The writer begins to watch a moment after the call: so several crossings.
    let crossing = |value: f64| {
        // SAFETY: valid pointers.
        unsafe {
            baro_push_sample(producer, series, baro_now_ns(), 89.5, null_mut());
            baro_push_sample(producer, series, baro_now_ns(), value, null_mut());
        }
    };
    crossing(89.9);
    wait(|| {
        crossing(90.0);
        !pins(recorder).is_empty()
    });
    assert_eq!(text(&pins(recorder)[0].name), "hot");
    close(recorder, producer);
}

#[test]
fn a_log_grows_and_keeps_no_more_than_it_is_told() {
    let place = Place::recycling("grow").sized(16 << 20, BARO_INIT_GROW);
    place.init();
    let mut options: baro_open_options = zeroed();
    options.type_size = size_of::<baro_open_options>() as u32;
    options.flags = BARO_OPEN_RINGS_PRIVATE;
    options.keep_bytes = 5 << 20;
    options.durable_within_ns = 4_000_000;
    let (mut recorder, mut producer) = (null_mut(), null_mut());
    // SAFETY: valid pointers.
    unsafe {
        assert_eq!(baro_open(place.c().as_ptr(), &options, &mut recorder), 0, "{}", last_error());
        assert_eq!(baro_producer_open(recorder, &mut producer), 0);
    }
    wait(|| status(recorder).segments_grown == 5);
    assert_eq!(status(recorder).segments_target, 5);
    push(producer, 0..800);
    let closed = close(recorder, producer);
    assert_eq!((closed.segments_grown, closed.segments_target, closed.lost), (5, 5, 0));
    let found = frames(&place);
    assert!(found.len() < 640 && found.last().unwrap().1 == 799, "{} frames kept", found.len());
    // Room that there is not: said, and what there is serves.
    options.keep_bytes = 0;
    options.min_free_bytes = 1 << 60;
    let mut said = [0; 4096];
    // SAFETY: valid pointers.
    unsafe {
        assert_eq!(baro_open(place.c().as_ptr(), &options, &mut recorder), 0, "{}", last_error());
        assert_eq!(baro_producer_open(recorder, &mut producer), 0);
        let said = said.as_mut_ptr();
        wait(|| baro_complaints(recorder, said, 4096) == 1);
    }
    assert!(text(&said).contains("the log has 5 of 16 segments"), "{}", text(&said));
    push(producer, 800..1600);
    assert_eq!(close(recorder, producer).lost, 0);
    // Retention is of stores that recycle.
    let place = Place::new("keep");
    place.init();
    options.min_free_bytes = 0;
    options.keep_ns = 1;
    // SAFETY: valid pointers.
    let code = unsafe { baro_open(place.c().as_ptr(), &options, &mut recorder) };
    assert_eq!(code, BARO_EINVAL);
    assert!(last_error().starts_with("retention: expected a store that recycles"));
}
