//! The functions of the interface, each call of which is compared with what its comment in the header
//! says that it returns: a code that is not listed there fails the test that met it.
#![allow(dead_code, unused_imports, reason = "not every test needs every function")]

pub(crate) use baro::*;
use std::collections::BTreeMap;
use std::ffi::{c_char, c_void};
use std::sync::OnceLock;

const HEADER: &str = include_str!("../../barograph.h");

/// What a function may return.
#[derive(Clone, Debug, Default)]
pub(crate) struct Returns {
    codes: Vec<i32>,
    /// Any count.
    counts: bool,
    /// What the operating system says.
    errno: bool,
}

impl Returns {
    /// Whether the code is listed.
    pub(crate) fn takes(&self, code: i32) -> bool {
        self.codes.contains(&code) || (self.counts && code >= 0)
    }
}

/// Of the codes that have a name, those that "errno" stands for, too.
const OF_THE_SYSTEM: [i32; 5] = [BARO_ENOENT, BARO_EACCES, BARO_ENOMEM, BARO_ENOSPC, BARO_EIO];

fn named() -> BTreeMap<&'static str, i32> {
    let macros = HEADER.lines().filter_map(|line| line.strip_prefix("#define BARO_E"));
    let codes = macros.filter_map(|line| line.split_once(" (-"));
    codes
        .filter_map(|(name, rest)| {
            let code: i32 = rest.strip_suffix(')')?.parse().ok()?;
            Some((name, -code))
        })
        .collect()
}

/// Each function that returns a code, with the last paragraph of its comment.
pub(crate) fn documented() -> &'static BTreeMap<&'static str, Returns> {
    static FOUND: OnceLock<BTreeMap<&'static str, Returns>> = OnceLock::new();
    FOUND.get_or_init(|| {
        let named = named();
        let mut found: BTreeMap<&'static str, Returns> = BTreeMap::new();
        for (comment, declared) in HEADER.split("/*").filter_map(|text| text.split_once("*/\n")) {
            let Some(name) = declared.strip_prefix("int32_t ") else { continue };
            let (name, _) = name.split_once('(').unwrap();
            let mut returns = Returns::default();
            let (_, said) = comment.rsplit_once("\n * Returns ").unwrap_or_default();
            for word in said.split([' ', ',', '.', '\n', '*']).filter(|word| !word.is_empty()) {
                let code = word.strip_prefix("BARO_E").map(|code| named[code]);
                returns.codes.extend(code.or_else(|| word.parse().ok()));
                returns.counts |= word == "number";
                returns.errno |= word == "errno";
                // What another function does.
                if let Some(other) = found.get(word) {
                    returns = Returns::clone(other);
                }
            }
            found.insert(name, returns);
        }
        found
    })
}

/// The code, if the function's comment lists it.
fn listed(name: &str, code: i32) -> i32 {
    let returns = documented().get(name).unwrap_or_else(|| panic!("{name}: not in the header"));
    let unnamed = !named().values().any(|named| *named == code) || OF_THE_SYSTEM.contains(&code);
    let expected = returns.takes(code) || (returns.errno && code < 0 && unnamed);
    assert!(expected, "{name} returned {code}, and its comment says {returns:?}");
    code
}

macro_rules! checked {
    ($(fn $name:ident($($argument:ident: $kind:ty),*);)*) => {
        $(pub(crate) unsafe fn $name($($argument: $kind),*) -> i32 {
            // SAFETY: as the caller's.
            listed(stringify!($name), unsafe { baro::$name($($argument),*) })
        })*

        /// The functions above.
        pub(crate) const NAMES: &[&str] = &[$(stringify!($name)),*];
    };
}

checked! {
    fn baro_flush(recorder: *const baro_recorder, timeout_ns: u64, left: *mut u64);
    fn baro_wait_durable(recorder: *const baro_recorder, producer: u64, sequence: u64, timeout_ns: u64);
    fn baro_producer_wait_durable(producer: *const baro_producer, sequence: u64, timeout_ns: u64);
    fn baro_on_event(recorder: *const baro_recorder, callback: baro_event_callback, user: *mut c_void);
    fn baro_frames_open(store: *const c_char, name: *const c_char, from_ns: i64, to_ns: i64, frames: *mut *mut baro_frames);
    fn baro_frames_next(frames: *mut baro_frames, record: *mut baro_record, frame: *mut *const c_void);
    fn baro_frames_seek(frames: *mut baro_frames, time_ns: i64);
    fn baro_frames_report(frames: *const baro_frames, report: *mut baro_read_report);
    fn baro_frames_close(frames: *mut baro_frames);
    fn baro_init(store: *const c_char, options: *const baro_init_options);
    fn baro_pin(recorder: *const baro_recorder, options: *const baro_pin_options, id: *mut u64);
    fn baro_pin_store(store: *const c_char, options: *const baro_pin_options, id: *mut u64);
    fn baro_pin_when(recorder: *const baro_recorder, series: *const c_char, comparison: u32, limit: f64, options: *const baro_pin_options);
    fn baro_pin_count(recorder: *const baro_recorder);
    fn baro_pin_get(recorder: *const baro_recorder, index: usize, info: *mut baro_pin_info);
    fn baro_pin_release(recorder: *const baro_recorder, id: u64);
    fn baro_pin_release_store(store: *const c_char, id: u64);
    fn baro_producer_declare(producer: *mut baro_producer, name: *const c_char, unit: *const c_char, layout: *const c_char, options: *const baro_declare_options, timeout_ns: u64, id: *mut u32);
    fn baro_producer_declare_many(producer: *mut baro_producer, names: *const *const c_char, units: *const *const c_char, types: *const u32, count: usize, timeout_ns: u64, ids: *mut u32);
    fn baro_producer_open(recorder: *const baro_recorder, producer: *mut *mut baro_producer);
    fn baro_attach(ring: *const c_char, producer: *mut *mut baro_producer);
    fn baro_producer_close(producer: *mut baro_producer);
    fn baro_push_frame(producer: *mut baro_producer, channel: u32, time_ns: i64, frame: *const c_void, frame_bytes: usize, sequence: *mut u64);
    fn baro_push_samples(producer: *mut baro_producer, time_ns: i64, series: *const u32, values: *const f64, count: usize, sequence: *mut u64);
    fn baro_push_integers(producer: *mut baro_producer, time_ns: i64, series: *const u32, values: *const i64, count: usize, sequence: *mut u64);
    fn baro_push_batch(producer: *mut baro_producer, times_ns: *const i64, series: *const u32, values: *const f64, count: usize, sequence: *mut u64);
    fn baro_push_integer_batch(producer: *mut baro_producer, times_ns: *const i64, series: *const u32, values: *const i64, count: usize, sequence: *mut u64);
    fn baro_push_mixed(producer: *mut baro_producer, time_ns: i64, series: *const u32, values: *const baro_value, count: usize, sequence: *mut u64);
    fn baro_push_mixed_batch(producer: *mut baro_producer, times_ns: *const i64, series: *const u32, values: *const baro_value, count: usize, sequence: *mut u64);
    fn baro_push_text(producer: *mut baro_producer, series: u32, time_ns: i64, text: *const c_char, text_bytes: usize, sequence: *mut u64);
    fn baro_push_sample(producer: *mut baro_producer, series: u32, time_ns: i64, value: f64, sequence: *mut u64);
    fn baro_push_integer(producer: *mut baro_producer, series: u32, time_ns: i64, value: i64, sequence: *mut u64);
    fn baro_producer_durable(producer: *const baro_producer, durable: *mut u64);
    fn baro_producer_report(producer: *const baro_producer, report: *mut baro_ring_report);
    fn baro_producer_path(producer: *const baro_producer, buffer: *mut c_char, room: usize);
    fn baro_reader_open(store: *const c_char, reader: *mut *mut baro_reader);
    fn baro_reader_next(reader: *mut baro_reader, record: *mut baro_record, payload: *mut *const c_void);
    fn baro_reader_report(reader: *const baro_reader, report: *mut baro_read_report);
    fn baro_reader_series(reader: *const baro_reader, index: usize, series: *mut baro_series, name: *mut c_char, room: usize);
    fn baro_reader_find(reader: *const baro_reader, name: *const c_char, series: *mut baro_series);
    fn baro_reader_layout(reader: *const baro_reader, name: *const c_char, buffer: *mut c_char, room: usize);
    fn baro_field_get(reader: *const baro_reader, name: *const c_char, value: *mut f64);
    fn baro_reader_pin(reader: *const baro_reader, index: usize, info: *mut baro_pin_info);
    fn baro_reader_close(reader: *mut baro_reader);
    fn baro_open(store: *const c_char, options: *const baro_open_options, recorder: *mut *mut baro_recorder);
    fn baro_close(recorder: *mut baro_recorder, status: *mut baro_status);
    fn baro_declare(recorder: *const baro_recorder, name: *const c_char, unit: *const c_char, layout: *const c_char, options: *const baro_declare_options, id: *mut u32);
    fn baro_declare_many(recorder: *const baro_recorder, names: *const *const c_char, units: *const *const c_char, types: *const u32, count: usize, ids: *mut u32);
    fn baro_status_get(recorder: *const baro_recorder, status: *mut baro_status);
    fn baro_reservations(recorder: *const baro_recorder, buffer: *mut c_char, room: usize);
    fn baro_complaints(recorder: *const baro_recorder, buffer: *mut c_char, room: usize);
    fn baro_ring_for_attach(recorder: *const baro_recorder, buffer: *mut c_char, room: usize);
    fn baro_sample_get(payload: *const c_void, payload_bytes: usize, time_ns: i64, index: usize, sample: *mut baro_sample);
    fn baro_gap_get(payload: *const c_void, payload_bytes: usize, gap: *mut baro_gap);
    fn baro_samples_open(store: *const c_char, name: *const c_char, from_ns: i64, to_ns: i64, samples: *mut *mut baro_samples, value_type: *mut u32);
    fn baro_samples_next(samples: *mut baro_samples, sample: *mut baro_sample);
    fn baro_samples_newest(samples: *mut baro_samples, count: usize);
    fn baro_samples_seek(samples: *mut baro_samples, time_ns: i64);
    fn baro_samples_text(samples: *mut baro_samples, text: *mut *const c_char, bytes: *mut usize);
    fn baro_samples_close(samples: *mut baro_samples);
    fn baro_plain_open(folder: *const c_char, options: *const baro_plain_options, pool: *mut *mut baro_plain_pool);
    fn baro_plain_take(pool: *mut baro_plain_pool, name: *const c_char, file: *mut *mut baro_plain_file);
    fn baro_plain_waits(pool: *const baro_plain_pool, waits: *mut u64);
    fn baro_plain_write(file: *mut baro_plain_file, bytes: *const c_void, count: usize);
    fn baro_plain_room(file: *const baro_plain_file, bytes: *mut u64);
    fn baro_plain_finish(file: *mut baro_plain_file, bytes: *mut u64);
    fn baro_plain_close(pool: *mut baro_plain_pool);
}
