//! Samples of one series, or of a field of a channel's frames, over an interval: from runs and log
//! together, as every other way out of a store has them.
//!
//! The log's reader (`reader`) has what is in the log, in the order of writing; settled samples leave
//! the log when it goes round. This one stands on the store's queries. A program that does not call it
//! does not get it linked in.
//!
//! Invariant: what is handed out is what a query hands out, before and after settling and when the log
//! has gone round. Held by `tests/samples.rs`.

use crate::arguments::{fill, object_mut, path, text};
use crate::error::{
    BARO_EBADMSG, BARO_EINVAL, BARO_EIO, BARO_ENOENT, BARO_ERANGE, Failure, guard, log_code,
    system_code,
};
use crate::structs::{BARO_BOOL, BARO_F64, BARO_I64, BARO_TEXT, baro_sample};
use baro_store::{Batch, Error, Interval, Query, QueryNotes, Selection, Store, ValueType, Values};
use std::ffi::c_char;
use std::ops::ControlFlow;

/// Samples read at once: 16 bytes each.
const ROWS: u64 = 128 << 10;
/// Bytes of texts from which on no more are read at once.
const LETTERS: usize = 2 << 20;
/// How often a log that goes round is looked at anew before a call gives up.
const TRIES: u32 = 16;
/// Most of [`baro_samples_newest`]: they are held at once, but for texts.
const NEWEST_MAX: usize = 1 << 20;

/// Samples of a series over an interval. For one thread at a time.
#[derive(Debug)]
pub struct baro_samples {
    store: Store,
    selection: Selection,
    id: u32,
    interval: Interval,
    /// Where the rows behind those held begin; none at the end.
    from_ns: Option<i64>,
    /// Only so many of the newest.
    newest: Option<usize>,
    /// And so many of them are not read yet, where they are read in portions.
    left: Option<u64>,
    rows: Vec<(i64, u64)>,
    /// Where the text of each row ends.
    letters: String,
    next: usize,
}

impl baro_samples {
    /// What is handed out next begins at `from_ns` of the interval.
    fn begin(&mut self, from_ns: i64, newest: Option<usize>) {
        let from_ns = from_ns.max(self.interval.from_ns);
        let inside = Interval { from_ns, ..self.interval };
        self.from_ns = inside.holds(from_ns).then_some(from_ns);
        (self.newest, self.left) = (newest, None);
        self.forget();
    }

    fn forget(&mut self) {
        self.rows.clear();
        self.letters.clear();
        self.next = 0;
    }

    fn is_text(&self) -> bool {
        self.selection.columns().iter().any(|column| column.kind == Some(ValueType::Text))
    }

    fn load(&mut self) -> Result<(), Failure> {
        self.forget();
        if self.is_text() {
            self.find_newest()?;
        }
        let Some(from_ns) = self.from_ns else { return Ok(()) };
        let interval = Interval { from_ns, ..self.interval };
        let limit = self.newest.is_none().then(|| self.left.unwrap_or(ROWS).min(ROWS));
        let query = Query { limit, last: self.newest, ..Query::raw(interval) };
        let notes = self.rows_of(&query).inspect_err(|_| {
            // What came before the error is read again with the next call.
            self.rows.clear();
            self.letters.clear();
        })?;
        let rows = self.rows.len() as u64;
        let full = self.letters.len() >= LETTERS;
        let more = full || limit.is_some_and(|limit| rows >= limit);
        self.left = self.left.map(|left| left.saturating_sub(rows));
        let more = more && self.left != Some(0);
        let last = self.rows.last().filter(|_| more);
        self.from_ns = last.and_then(|row| row.0.checked_add(1)).filter(|ns| interval.holds(*ns));
        self.whole(&notes)
    }

    /// Whether nothing is missing of what was read.
    fn whole(&self, notes: &QueryNotes) -> Result<(), Failure> {
        if let Some(damage) = notes.read.damage.first() {
            return Err(Failure::new(
                BARO_EIO,
                format!("damage: {damage}; {}", damage.next_step()),
            ));
        }
        // Frames are in the log alone: what is recycled of it between two portions is gone.
        let recycled = notes.read.blocks_recycled;
        if recycled > 0 {
            let text = format!(
                "{}: expected the log as it was at the open, found {recycled} blocks recycled \
                 before they were read; what is left follows, and a later look needs \
                 baro_samples_open again",
                self.store.path().display()
            );
            return Err(Failure::new(BARO_EIO, text));
        }
        Ok(())
    }

    /// Texts may be long: of the newest ones only the place where they begin is looked for, and they
    /// are read from there in portions, as all others.
    fn find_newest(&mut self) -> Result<(), Failure> {
        let (Some(last), Some(from_ns)) = (self.newest, self.from_ns) else { return Ok(()) };
        let interval = Interval { from_ns, ..self.interval };
        let query = Query { last: Some(last), ..Query::raw(interval) };
        let (mut first_ns, mut rows, mut tries) = (None, 0, TRIES);
        let notes = loop {
            let take = |batch: &Batch<'_>| {
                first_ns = first_ns.or(batch.times_ns.first().copied());
                rows += batch.times_ns.len() as u64;
                ControlFlow::Continue(())
            };
            match self.store.query(&self.selection, &query, take) {
                Err(Error::Recycled { .. }) if tries > 0 => {
                    tries -= 1;
                    (first_ns, rows) = (None, 0);
                    self.store.refresh().map_err(failure)?;
                }
                other => break other.map_err(failure)?,
            };
        };
        (self.from_ns, self.newest, self.left) = (first_ns, None, Some(rows));
        // What is missing among them is met again.
        if first_ns.is_none() { self.whole(&notes) } else { Ok(()) }
    }

    fn rows_of(&mut self, query: &Query) -> Result<QueryNotes, Failure> {
        let mut tries = TRIES;
        loop {
            let (rows, letters) = (&mut self.rows, &mut self.letters);
            let take = |batch: &Batch<'_>| {
                add(batch, rows, letters);
                let full = letters.len() >= LETTERS;
                if full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            };
            match self.store.query(&self.selection, query, take) {
                Err(Error::Recycled { .. }) if tries > 0 => {
                    tries -= 1;
                    self.rows.clear();
                    self.letters.clear();
                    self.store.refresh().map_err(failure)?;
                }
                other => return other.map_err(failure),
            }
        }
    }
}

fn add(batch: &Batch<'_>, rows: &mut Vec<(i64, u64)>, letters: &mut String) {
    for (at, time_ns) in batch.times_ns.iter().enumerate() {
        let bits = match batch.values {
            Values::Text(texts) => texts.get(at).map(|text| {
                letters.push_str(text);
                letters.len() as u64
            }),
            values => values.bits(at),
        };
        rows.extend(bits.map(|bits| (*time_ns, bits)));
    }
}

pub(crate) fn failure(error: Error) -> Failure {
    let code = match &error {
        Error::System(error) => system_code(error),
        Error::Store(error) => log_code(error),
        Error::UnknownName(_) => BARO_ENOENT,
        Error::Selector(_) => BARO_EINVAL,
        Error::CatalogDamaged { .. } | Error::Format(_) | Error::Manifest { .. } => BARO_EBADMSG,
        Error::Unsettled { .. } => BARO_ERANGE,
        _ => BARO_EIO,
    };
    Failure::new(code, error.to_string())
}

/// One of both ends.
pub(crate) fn check_interval(from_ns: i64, to_ns: i64) -> Result<Interval, Failure> {
    if from_ns < to_ns {
        return Ok(Interval { from_ns, to_ns });
    }
    let why = format!("from_ns: expected below to_ns, {to_ns}, found {from_ns}");
    Err(Failure::invalid(why))
}

/// Opens the samples of `name`, a series with its labels, in any order, as in
/// "temp{room=\"a\",floor=\"2\"}", or a field of a channel as in "channel.speed", with from_ns <= time < to_ns (INT64_MIN and INT64_MAX for no bound): settled ones and those in the log,
/// by rising time; of several of one time the one recorded last. `value_type` becomes BARO_F64,
/// BARO_I64 (u64 fields too: the same bits), BARO_BOOL or BARO_TEXT. Works beside the store's recorder,
/// which does not notice. Blocks for the device. Needs up to 512 MiB of memory where so much of the log
/// waits to be settled, and about 6 MiB else, 12 MiB for long texts.
///
/// Returns 0, BARO_EINVAL, BARO_ENOENT, BARO_ENOTDIR, BARO_EBADMSG, BARO_EIO, or errno.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baro_samples_open(
    store: *const c_char,
    name: *const c_char,
    from_ns: i64,
    to_ns: i64,
    samples: *mut *mut baro_samples,
    value_type: *mut u32,
) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        let (place, value_type, store, name) = unsafe {
            (
                object_mut(samples, "samples")?,
                object_mut(value_type, "value_type")?,
                path(store, "store")?,
                text(name, "name")?,
            )
        };
        *place = std::ptr::null_mut();
        let interval = check_interval(from_ns, to_ns)?;
        let store = Store::open(store).map_err(failure)?;
        let selection = Selection::named(store.catalog(), &[name]).map_err(failure)?;
        let [column] = selection.columns() else {
            let found = selection.columns().len();
            let why = format!("{name}: expected the name of one series or field, found {found}");
            return Err(Failure::new(BARO_EINVAL, why));
        };
        *value_type = match column.kind {
            Some(ValueType::F64) => BARO_F64,
            Some(ValueType::I64 | ValueType::U64) => BARO_I64,
            Some(ValueType::Bool) => BARO_BOOL,
            Some(ValueType::Text) => BARO_TEXT,
            None => {
                let why = "expected a series or a field, found a channel; its frames are read with \
                           baro_frames_open";
                return Err(Failure::new(BARO_EINVAL, format!("{name}: {why}")));
            }
        };
        let (id, rows, letters) = (column.id, Vec::new(), String::new());
        let (newest, left, next) = (None, None, 0);
        let from_ns = Some(from_ns);
        *place = Box::into_raw(Box::new(baro_samples {
            store,
            selection,
            id,
            interval,
            from_ns,
            newest,
            left,
            rows,
            letters,
            next,
        }));
        Ok(0)
    })
}

/// The next sample: returns 1 and fills `sample`, or 0 at the end. Of a text only the time is in it:
/// see baro_samples_text. Blocks for the device from time to time. Damage that was met is BARO_EIO, and
/// so are blocks with values of a field that the recorder recycled before they were read; what follows
/// can still be read.
///
/// Returns 1, 0, BARO_EINVAL, BARO_EIO, BARO_ERANGE, BARO_EBADMSG, or errno.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baro_samples_next(
    samples: *mut baro_samples,
    sample: *mut baro_sample,
) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        let samples = unsafe {
            crate::arguments::check(sample)?;
            object_mut(samples, "samples")?
        };
        if samples.next >= samples.rows.len() {
            samples.load()?;
        }
        let Some((time_ns, bits)) = samples.rows.get(samples.next).copied() else { return Ok(0) };
        samples.next += 1;
        let (value, integer) = (f64::from_bits(bits), bits.cast_signed());
        let found = baro_sample { type_size: 0, series: samples.id, time_ns, value, integer };
        // SAFETY: likewise.
        unsafe { fill(sample, found)? };
        Ok(1)
    })
}

/// Begins anew with the newest `count` samples of the interval, 1 to 1,048,576, which are handed out by
/// rising time. Before or between calls of baro_samples_next; baro_samples_seek takes it back. Reads
/// little where they were recorded lately. Does not block.
///
/// Returns 0, BARO_EINVAL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baro_samples_newest(samples: *mut baro_samples, count: usize) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        let samples = unsafe { object_mut(samples, "samples")? };
        if !(1..=NEWEST_MAX).contains(&count) {
            let why = format!("count: expected 1 to {NEWEST_MAX}, found {count}");
            return Err(Failure::invalid(why));
        }
        samples.begin(samples.interval.from_ns, Some(count));
        Ok(0)
    })
}

/// Goes to the first sample of the interval whose time is not before `time_ns`: baro_samples_next
/// continues there. Does not block.
///
/// Returns 0, BARO_EINVAL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baro_samples_seek(samples: *mut baro_samples, time_ns: i64) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        unsafe { object_mut(samples, "samples")? }.begin(time_ns, None);
        Ok(0)
    })
}

/// The text of the sample that baro_samples_next handed out last: `text` has `bytes` bytes of UTF-8,
/// no zero byte at their end, and is valid until the next call on these samples. Does not block.
///
/// Returns 0, BARO_EINVAL, BARO_ENOENT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baro_samples_text(
    samples: *mut baro_samples,
    text: *mut *const c_char,
    bytes: *mut usize,
) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        let (samples, text, bytes) = unsafe {
            (
                object_mut(samples, "samples")?,
                object_mut(text, "text")?,
                object_mut(bytes, "bytes")?,
            )
        };
        let end = |at: usize| samples.rows.get(at).map(|row| row.1 as usize);
        let at = samples.next.checked_sub(1);
        let start = at.and_then(|at| at.checked_sub(1)).and_then(end).unwrap_or(0);
        let found = at.and_then(end).and_then(|end| samples.letters.get(start..end));
        let is_text = samples.is_text();
        let found = found.filter(|_| is_text).ok_or_else(|| {
            let why = "expected a sample of a text, found none; call baro_samples_next before";
            Failure::new(BARO_ENOENT, why)
        })?;
        (*text, *bytes) = (found.as_ptr().cast(), found.len());
        Ok(0)
    })
}

/// Frees the samples.
///
/// Returns 0, BARO_EINVAL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baro_samples_close(samples: *mut baro_samples) -> i32 {
    guard(|| {
        // SAFETY: as the header says; the handle came from a Box.
        unsafe {
            let _ = object_mut(samples, "samples")?;
            drop(Box::from_raw(samples));
        }
        Ok(0)
    })
}
