//! A store with its recorder and producers, and a model of what it has accepted.

use super::checked::*;
use super::place::{Place, last_error};
use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char};
use std::ptr::{null, null_mut};

/// What calls are drawn from: bytes that somebody gave, or xorshift.
pub(crate) enum Random {
    #[allow(dead_code, reason = "a test draws from seeds alone")]
    Bytes(std::vec::IntoIter<u8>),
    Seed(u64),
}

impl Random {
    #[allow(dead_code, reason = "the fuzzer draws from bytes alone")]
    pub(crate) fn of_seed(seed: u64) -> Self {
        Random::Seed(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// Whether no more can be drawn; then all that is drawn is 0.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self, Random::Bytes(left) if left.len() == 0)
    }

    pub(crate) fn next(&mut self) -> u64 {
        match self {
            // Most that is drawn is small.
            Random::Bytes(left) => {
                let low = left.next().unwrap_or(0);
                let wide = low >= 0xf8;
                let more = left.take(if wide { 7 } else { 0 });
                more.fold(u64::from(low), |value, byte| value << 8 | u64::from(byte)) << 11
            }
            Random::Seed(state) => {
                *state ^= *state << 13;
                *state ^= *state >> 7;
                *state ^= *state << 17;
                *state
            }
        }
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        (self.next() >> 11) % limit
    }
}

pub(crate) fn zeroed<T: Copy>() -> T {
    // SAFETY: structures of the interface take any bits.
    unsafe { std::mem::zeroed() }
}

/// A structure of the interface, all zero but its size.
pub(crate) fn sized<T: Copy>() -> T {
    let mut made: T = zeroed();
    // SAFETY: each of them begins with its size.
    unsafe { (&raw mut made).cast::<u32>().write(size_of::<T>() as u32) };
    made
}

/// What is accepted of a series or channel: bits or bytes by time.
#[derive(Default)]
struct Series {
    id: u32,
    kind: u32,
    rows: BTreeMap<i64, Vec<u8>>,
}

/// Sessions that the log has room for: each begins a segment.
const SESSIONS_MAX: u32 = 6;
/// Opens while it is open, of which each waits a third of a second for whoever has the store.
const REFUSED_MAX: u32 = 1;
/// Largest record of a ring.
const RECORD_BYTES_MAX: usize = 64 << 10;
/// Nobody declares so many.
const UNDECLARED: u32 = 1 << 20;
const KINDS: [u32; 5] = [BARO_F64, BARO_I64, BARO_BOOL, BARO_TEXT, BARO_CHANNEL];

pub(crate) struct World {
    pub(crate) place: Place,
    pub(crate) recorder: *mut baro_recorder,
    /// With the session in which they were opened.
    pub(crate) producers: Vec<(*mut baro_producer, u32)>,
    series: BTreeMap<CString, Series>,
    sessions: u32,
    refused: u32,
    time_ns: i64,
    /// Records that were taken and are not to be recorded, or refused for want of room or size.
    lost: u64,
}

impl World {
    pub(crate) fn new(name: &str) -> Self {
        let place = Place::new(name).sized(32 << 20, BARO_INIT_GROW);
        place.init();
        World {
            place,
            recorder: null_mut(),
            producers: Vec::new(),
            series: BTreeMap::new(),
            sessions: 0,
            refused: 0,
            time_ns: 0,
            lost: 0,
        }
    }

    pub(crate) fn names(&self) -> Vec<CString> {
        self.series.keys().cloned().collect()
    }

    pub(crate) fn open(&mut self) {
        let is_refused = !self.recorder.is_null();
        if self.sessions == SESSIONS_MAX || is_refused && self.refused == REFUSED_MAX {
            return;
        }
        self.refused += u32::from(is_refused);
        let mut options: baro_open_options = sized();
        options.flags = BARO_OPEN_RINGS_PRIVATE;
        (options.ring_bytes, options.record_bytes_max) = (1 << 20, RECORD_BYTES_MAX as u64);
        options.durable_within_ns = 4_000_000;
        let mut recorder = null_mut();
        // SAFETY: valid pointers.
        let code = unsafe { baro_open(self.place.c().as_ptr(), &options, &mut recorder) };
        if self.recorder.is_null() {
            assert_eq!(code, 0, "{}", last_error());
            (self.recorder, self.sessions) = (recorder, self.sessions + 1);
        } else {
            assert!(code == BARO_EBUSY && recorder.is_null(), "{code}");
        }
    }

    pub(crate) fn close(&mut self) {
        let mut status: baro_status = sized();
        // SAFETY: the recorder is open or null, and used no more.
        let code = unsafe { baro_close(self.recorder, &mut status) };
        if self.recorder.is_null() {
            assert_eq!(code, BARO_EINVAL);
            return;
        }
        assert_eq!((code, status.left), (0, 0));
        assert_eq!(status.lost, std::mem::take(&mut self.lost));
        self.recorder = null_mut();
    }

    pub(crate) fn open_producer(&mut self) {
        if self.producers.len() >= 6 {
            return;
        }
        let mut producer = null_mut();
        // SAFETY: the recorder is open or null.
        let code = unsafe { baro_producer_open(self.recorder, &mut producer) };
        if self.recorder.is_null() {
            assert!(code == BARO_EINVAL && producer.is_null());
            return;
        }
        assert_eq!(code, 0, "{}", last_error());
        self.producers.push((producer, self.sessions));
    }

    pub(crate) fn close_producer(&mut self, random: &mut Random) {
        if self.producers.is_empty() {
            return;
        }
        let at = random.below(self.producers.len() as u64) as usize;
        let (producer, _) = self.producers.swap_remove(at);
        // SAFETY: it is open, and used no more.
        assert_eq!(unsafe { baro_producer_close(producer) }, 0);
    }

    /// A new name or one that is declared, with its type or another.
    pub(crate) fn declare(&mut self, random: &mut Random) {
        let kind = KINDS[random.below(5) as usize];
        let number = random.below(12);
        let name = CString::new(format!("s{number}{{at=\"{number}\"}}")).unwrap();
        let options = baro_declare_options { value_type: kind, ..sized() };
        let mut id = 0;
        let (none, unit) = (null(), c"mm".as_ptr());
        // SAFETY: the recorder is open or null; the rest is valid.
        let code =
            unsafe { baro_declare(self.recorder, name.as_ptr(), unit, none, &options, &mut id) };
        let known = self.series.get(&name);
        if self.recorder.is_null() {
            assert_eq!(code, BARO_EINVAL);
        } else if let Some(known) = known {
            assert_eq!(code == 0, known.kind == kind, "{}", last_error());
            assert!(code == BARO_EINVAL || id == known.id);
        } else {
            assert_eq!(code, 0, "{}", last_error());
            self.series.insert(name, Series { id, kind, rows: BTreeMap::new() });
        }
    }

    pub(crate) fn flush(&mut self, random: &mut Random) {
        let patient = random.below(2) == 0;
        let (timeout_ns, mut left) = (if patient { 60_000_000_000 } else { 0 }, 99);
        // SAFETY: the recorder is open or null; the rest is valid.
        let code = unsafe { baro_flush(self.recorder, timeout_ns, &mut left) };
        match code {
            0 => assert_eq!(left, 0),
            BARO_ETIMEDOUT => assert!(left > 0 && !patient, "{}", last_error()),
            _ => assert!(self.recorder.is_null(), "{}", last_error()),
        }
        if code != 0 || !patient {
            return;
        }
        for (producer, session) in &self.producers {
            let mut report: baro_ring_report = sized();
            // SAFETY: it is open.
            assert_eq!(unsafe { baro_producer_report(*producer, &mut report) }, 0);
            assert!(*session != self.sessions || report.durable == report.offered);
        }
    }

    /// Any push with any id: what fits is to be read back.
    pub(crate) fn push(&mut self, random: &mut Random) {
        if self.producers.is_empty() {
            return;
        }
        let at = random.below(self.producers.len() as u64) as usize;
        let (producer, session) = self.producers[at];
        let way = random.below(9);
        let fitting = match way {
            0 => [BARO_CHANNEL].as_slice(),
            1 => [BARO_TEXT].as_slice(),
            2 | 4 | 8 => [BARO_F64].as_slice(),
            3 | 5 => [BARO_I64, BARO_BOOL].as_slice(),
            _ => [BARO_F64, BARO_I64, BARO_BOOL].as_slice(),
        };
        // Mostly what fits; else anything, or what nobody has declared.
        let any = random.below(6) == 0;
        let names = self.series.iter().filter(|(_, s)| any || fitting.contains(&s.kind));
        let names: Vec<CString> = names.map(|(name, _)| name.clone()).collect();
        let pick = |random: &mut Random| {
            let at = random.below(names.len() as u64 + u64::from(any)) as usize;
            names.get(at).map(CString::as_c_str)
        };
        if names.is_empty() && !any {
            return;
        }
        let count = 1 + random.below(5) as usize;
        let picked: Vec<Option<&CStr>> = (0..count).map(|_| pick(random)).collect();
        let of = |name: &Option<&CStr>| name.and_then(|name| self.series.get(name));
        let ids: Vec<u32> = picked.iter().map(|n| of(n).map_or(UNDECLARED, |s| s.id)).collect();
        let kinds: Vec<u32> = picked.iter().map(|n| of(n).map_or(0, |s| s.kind)).collect();
        let times_ns: Vec<i64> = (0..count as i64).map(|at| self.time_ns + at).collect();
        self.time_ns += 1_000;
        let bits: Vec<i64> = kinds
            .iter()
            .map(|kind| match *kind {
                BARO_BOOL => random.below(2) as i64,
                _ => random.next().cast_signed(),
            })
            .collect();
        let floats: Vec<f64> = bits.iter().map(|b| f64::from_bits(b.cast_unsigned())).collect();
        let values: Vec<baro_value> = bits.iter().map(|b| baro_value { integer: *b }).collect();
        let long = random.below(30) == 0;
        let bytes = vec![b'a' + random.below(20) as u8; random.below(3_000) as usize];
        let bytes = if long { vec![b'z'; RECORD_BYTES_MAX + 1] } else { bytes };
        let (series, times, time_ns) = (ids.as_ptr(), times_ns.as_ptr(), times_ns[0]);
        let (letters, none) = (bytes.as_ptr().cast::<c_char>(), null_mut());
        // SAFETY: the producer is open; columns have `count` elements, texts as many bytes as is said.
        let code = unsafe {
            let (reals, words, values) = (floats.as_ptr(), bits.as_ptr(), values.as_ptr());
            let frame = letters.cast();
            match way {
                0 => baro_push_frame(producer, ids[0], time_ns, frame, bytes.len(), none),
                1 => baro_push_text(producer, ids[0], time_ns, letters, bytes.len(), none),
                2 => baro_push_samples(producer, time_ns, series, reals, count, none),
                3 => baro_push_integers(producer, time_ns, series, words, count, none),
                4 => baro_push_batch(producer, times, series, reals, count, none),
                5 => baro_push_integer_batch(producer, times, series, words, count, none),
                6 => baro_push_mixed(producer, time_ns, series, values, count, none),
                7 => baro_push_mixed_batch(producer, times, series, values, count, none),
                _ => baro_push_sample(producer, ids[0], time_ns, floats[0], none),
            }
        };
        let one_time = !matches!(way, 4 | 5 | 7);
        if session != self.sessions || self.recorder.is_null() {
            assert_eq!(code, BARO_ESHUTDOWN);
            return;
        }
        let pushed = if matches!(way, 0 | 1 | 8) { 1 } else { count };
        let fits = kinds[..pushed].iter().all(|kind| *kind == 0 || fitting.contains(kind));
        match code {
            0 if fits => {}
            0 | BARO_EAGAIN | BARO_EMSGSIZE => {
                assert_eq!(code == BARO_EMSGSIZE, long && way < 2 && code != BARO_EAGAIN);
                self.lost += 1;
                return;
            }
            _ => panic!("{code}: {}", last_error()),
        }
        assert!(!(long && way < 2), "it is too large");
        for at in 0..pushed {
            let time_ns = if one_time { time_ns } else { times_ns[at] };
            let row = if way < 2 { bytes.clone() } else { bits[at].to_le_bytes().to_vec() };
            if let Some(name) = picked[at] {
                let series = self.series.get_mut(name).unwrap();
                // Of several of one series and time the last counts.
                series.rows.insert(time_ns, row);
            }
        }
    }

    /// All that was accepted is there, and nothing else; how many rows.
    pub(crate) fn check(&self) -> usize {
        for (name, series) in &self.series {
            let found = if series.kind == BARO_CHANNEL {
                self.frames(name)
            } else {
                self.samples(name, series.kind)
            };
            let found: BTreeMap<i64, Vec<u8>> = found.into_iter().collect();
            assert!(found == series.rows, "{name:?}, type {}", series.kind);
        }
        self.series.values().map(|series| series.rows.len()).sum()
    }

    fn frames(&self, name: &CStr) -> Vec<(i64, Vec<u8>)> {
        let (mut frames, mut frame, mut found) = (null_mut(), null(), Vec::new());
        let mut record: baro_record = sized();
        let (store, all) = (self.place.c(), (i64::MIN, i64::MAX));
        // SAFETY: valid pointers; the frame has as many bytes as the record says.
        unsafe {
            let code = baro_frames_open(store.as_ptr(), name.as_ptr(), all.0, all.1, &mut frames);
            assert_eq!(code, 0, "{}", last_error());
            while baro_frames_next(frames, &mut record, &mut frame) == 1 {
                let bytes = record.payload_bytes as usize;
                let bytes = std::slice::from_raw_parts(frame.cast::<u8>(), bytes);
                found.push((record.time_ns, bytes.to_vec()));
            }
            assert_eq!(baro_frames_close(frames), 0);
        }
        found
    }

    fn samples(&self, name: &CStr, kind: u32) -> Vec<(i64, Vec<u8>)> {
        let (mut samples, mut found_kind, mut found) = (null_mut(), 0, Vec::new());
        let mut sample: baro_sample = sized();
        let (store, all) = (self.place.c(), (i64::MIN, i64::MAX));
        let (store, name) = (store.as_ptr(), name.as_ptr());
        // SAFETY: valid pointers; a text has as many bytes as is said.
        unsafe {
            let code = baro_samples_open(store, name, all.0, all.1, &mut samples, &mut found_kind);
            assert_eq!((code, found_kind), (0, kind), "{}", last_error());
            while baro_samples_next(samples, &mut sample) == 1 {
                let mut row = sample.integer.to_le_bytes().to_vec();
                if kind == BARO_TEXT {
                    let (mut text, mut bytes) = (null(), 0);
                    assert_eq!(baro_samples_text(samples, &mut text, &mut bytes), 0);
                    row = std::slice::from_raw_parts(text.cast::<u8>(), bytes).to_vec();
                }
                found.push((sample.time_ns, row));
            }
            assert_eq!(baro_samples_close(samples), 0);
        }
        found
    }
}

impl Drop for World {
    fn drop(&mut self) {
        // SAFETY: what is open is closed, and used no more.
        unsafe {
            for (producer, _) in self.producers.drain(..) {
                baro_producer_close(producer);
            }
            if !self.recorder.is_null() {
                baro_close(self.recorder, null_mut());
            }
        }
    }
}
