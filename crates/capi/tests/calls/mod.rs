//! Sequences of calls, valid ones and misuse in turn, against a model: each call returns what the header says
//! (`checked`), and what was accepted is read back bit for bit, all of it and nothing else.

use super::checked::*;
use super::world::{self, Random, World};
use std::ffi::{c_char, c_void};
use std::ptr::{null, null_mut};

unsafe extern "C-unwind" fn count(user: *mut c_void, _: *const baro_event, text: *const c_char) {
    // SAFETY: the counter lives as long as the callback is set; the text is the library's.
    unsafe {
        let text = std::ffi::CStr::from_ptr(text);
        assert!(text.to_str().is_ok());
        (*user.cast::<std::sync::atomic::AtomicU64>())
            .fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }
}

/// A call that is wrong by itself, whatever the state: refused, and nothing changes.
fn misuse(world: &World, random: &mut Random) {
    let (recorder, store) = (world.recorder, world.place.c());
    let (store, x, nowhere) = (store.as_ptr(), c"x".as_ptr(), c"/nonexistent/store".as_ptr());
    let producer = world.producers.first().map_or(null_mut(), |(handle, _)| *handle);
    let (ids, mut id, mut number, mut kind) = ([1_u32, 2], 0_u32, 0_u64, 0_u32);
    let (mut reader, mut samples, mut frames) = (null_mut(), null_mut(), null_mut());
    let mut buffer = [0 as c_char; 4];
    let wrong = baro_status { type_size: 3, ..world::zeroed() };
    let mut status = wrong;
    let not_utf8 = c"\xff\xfe".as_ptr();
    // SAFETY: null, wrong sizes and bad texts are what is tested; everything else is valid.
    let code = unsafe {
        match random.below(34) {
            0 => baro_open(null(), null(), &mut reader_of_none()),
            1 => baro_open(nowhere, null(), &mut reader_of_none()),
            2 => baro_init(store, null()),
            3 => baro_init(store, &baro_init_options { type_size: 1, flags: 0, log_bytes: 0 }),
            4 => baro_declare(recorder, null(), null(), null(), null(), &mut id),
            5 => baro_declare(recorder, not_utf8, null(), null(), null(), &mut id),
            6 => baro_declare(recorder, x, null(), c"a:u8".as_ptr(), null(), &mut id),
            7 => baro_declare_many(recorder, null(), null(), null(), 3, &mut id),
            8 => baro_declare_many(recorder, &x, null(), &99, 1, &mut id),
            9 => baro_status_get(recorder, &mut status),
            10 => baro_close(recorder, &mut status),
            11 => baro_producer_open(null(), &mut null_mut()),
            12 => baro_attach(nowhere, &mut null_mut()),
            13 => baro_push_frame(producer, 1, 0, null(), 9, null_mut()),
            14 => baro_push_samples(producer, 0, ids.as_ptr(), null(), 2, null_mut()),
            15 => {
                baro_push_samples(producer, 0, ids.as_ptr(), [0.0].as_ptr(), usize::MAX, null_mut())
            }
            16 => baro_push_integers(producer, 0, null(), null(), 1, null_mut()),
            17 => baro_push_batch(producer, null(), null(), null(), 0, null_mut()),
            18 => baro_push_mixed_batch(producer, null(), ids.as_ptr(), null(), 2, null_mut()),
            19 => baro_push_text(producer, 1, 0, not_utf8, 2, null_mut()),
            20 => baro_flush(null(), 0, &mut number),
            21 => baro_wait_durable(recorder, 12345, 0, 0),
            22 => baro_ring_for_attach(recorder, buffer.as_mut_ptr(), buffer.len()),
            23 => baro_producer_path(producer, buffer.as_mut_ptr(), buffer.len()),
            24 => baro_pin(recorder, null(), &mut number),
            25 => baro_pin_when(recorder, x, 77, f64::NAN, null()),
            26 => baro_pin_release(recorder, 1),
            27 => baro_pin_release_store(store, 1),
            28 => baro_reader_open(nowhere, &mut reader),
            29 => baro_samples_open(store, c"no such name".as_ptr(), 0, 1, &mut samples, &mut kind),
            30 => baro_samples_open(store, x, 5, 5, &mut samples, &mut kind),
            31 => baro_frames_open(store, c"no such name".as_ptr(), 0, 1, &mut frames),
            32 => baro_sample_get(buffer.as_ptr().cast(), 4, 0, 0, null_mut()),
            _ => baro_gap_get(buffer.as_ptr().cast(), 4, null_mut()),
        }
    };
    assert!(code < 0, "misuse was taken: {code}");
    assert!(reader.is_null() && samples.is_null() && frames.is_null());
}

fn reader_of_none() -> *mut baro_recorder {
    null_mut()
}

/// Readers are opened, used a little and closed, beside the recorder.
fn look(world: &World, random: &mut Random) {
    let store = world.place.c();
    let names = world.names();
    let (from_ns, to_ns) = (random.below(1_000) as i64 * 1_000, i64::MAX);
    let name = names.get(random.below(names.len().max(1) as u64) as usize);
    let name = name.map_or_else(|| c"none".to_owned(), Clone::clone);
    let (mut samples, mut frames, mut reader, mut kind) = (null_mut(), null_mut(), null_mut(), 0);
    // SAFETY: valid pointers; handles are used as long as they are open.
    unsafe {
        let store = store.as_ptr();
        if baro_samples_open(store, name.as_ptr(), from_ns, to_ns, &mut samples, &mut kind) == 0 {
            let mut sample: baro_sample = world::sized();
            for _ in 0..random.below(6) {
                let (mut text, mut bytes) = (null(), 0);
                match random.below(5) {
                    0 => baro_samples_seek(samples, random.below(2_000_000) as i64),
                    1 => baro_samples_newest(samples, random.below(9) as usize),
                    2 => baro_samples_text(samples, &mut text, &mut bytes),
                    _ => baro_samples_next(samples, &mut sample),
                };
            }
            assert_eq!(baro_samples_close(samples), 0);
        }
        if baro_frames_open(store, name.as_ptr(), from_ns, to_ns, &mut frames) == 0 {
            let (mut record, mut frame): (baro_record, _) = (world::sized(), null());
            let mut report: baro_read_report = world::sized();
            for _ in 0..random.below(6) {
                match random.below(4) {
                    0 => baro_frames_seek(frames, random.below(2_000_000) as i64),
                    1 => baro_frames_report(frames, &mut report),
                    _ => baro_frames_next(frames, &mut record, &mut frame),
                };
            }
            assert_eq!(baro_frames_close(frames), 0);
        }
        if random.below(4) == 0 && baro_reader_open(store, &mut reader) == 0 {
            let (mut record, mut payload): (baro_record, _) = (world::sized(), null());
            let (mut series, mut value, mut room): (baro_series, _, _) =
                (world::sized(), 0.0, [0; 8]);
            let mut pin: baro_pin_info = world::sized();
            for _ in 0..random.below(30) {
                match random.below(8) {
                    0 => baro_reader_find(reader, name.as_ptr(), &mut series),
                    1 => baro_reader_layout(reader, name.as_ptr(), room.as_mut_ptr(), 8),
                    2 => baro_field_get(reader, c"c.n".as_ptr(), &mut value),
                    3 => baro_reader_pin(reader, random.below(3) as usize, &mut pin),
                    4 => baro_reader_series(reader, 0, &mut series, room.as_mut_ptr(), 8),
                    _ => baro_reader_next(reader, &mut record, &mut payload),
                };
            }
            assert_eq!(baro_reader_close(reader), 0);
        }
    }
}

/// What reads and asks, and what changes nothing of what was accepted.
fn ask(world: &World, random: &mut Random, told: &std::sync::atomic::AtomicU64) {
    let recorder = world.recorder;
    let mut status: baro_status = world::sized();
    let mut text = vec![0 as c_char; random.below(2) as usize * 8_000];
    let mut pin: baro_pin_info = world::sized();
    let mut options: baro_pin_options = world::sized();
    options.before_ns = random.below(1_000_000);
    let user = std::ptr::from_ref(told).cast_mut().cast();
    let callback: baro_event_callback = (random.below(2) == 0).then_some(count);
    let mut id = 0;
    // SAFETY: valid pointers, but for a recorder that may be null.
    unsafe {
        match random.below(7) {
            0 => baro_status_get(recorder, &mut status),
            1 => baro_complaints(recorder, text.as_mut_ptr(), text.len()),
            2 => baro_reservations(recorder, text.as_mut_ptr(), text.len()),
            3 => baro_on_event(recorder, callback, user),
            4 => baro_pin(recorder, &options, &mut id),
            5 => baro_pin_get(recorder, 0, &mut pin),
            _ => baro_pin_release(recorder, pin.id),
        };
    }
}

/// Makes calls until there are so many, or there is nothing left to draw them from; returns the rows that were
/// accepted and read back.
pub(crate) fn sequence(name: &str, random: &mut Random, calls: u64) -> usize {
    let told = std::sync::atomic::AtomicU64::new(0);
    let mut world = World::new(name);
    if random.below(4) > 0 {
        world.open();
        world.open_producer();
    }
    for _ in 0..calls {
        if random.is_over() {
            break;
        }
        match random.below(40) {
            0 => world.open(),
            1 if random.below(5) == 0 => world.close(),
            2 | 3 => world.declare(random),
            4 => world.open_producer(),
            5 if random.below(4) == 0 => world.close_producer(random),
            6 => world.flush(random),
            7 if random.below(4) == 0 => look(&world, random),
            8 | 9 => ask(&world, random, &told),
            10..15 => misuse(&world, random),
            _ => world.push(random),
        }
    }
    world.close();
    world.check()
}
