//! Reading back: records in the order in which they were written, and the catalog.

use crate::arguments::{check, fill, object, object_mut, path, put_text, text};
use crate::error::{BARO_ENOENT, Failure, guard};
use crate::log::{Entry, LogReader};
use crate::structs::{baro_pin_info, baro_read_report, baro_record, baro_series};
use baro_log::Declared;
use baro_ondisk::{FieldValue, Kind};
use std::ffi::{c_char, c_void};

/// A store opened for reading. For one thread at a time.
#[derive(Debug)]
pub struct baro_reader {
    log: LogReader,
    /// Keeps the place of the payload last handed out.
    last: Option<Entry>,
}

/// Opens the store in the folder `store` for reading what is in the log now, record by record in the
/// order of writing; also beside its recorder, which does not notice. Samples that were settled leave
/// the log when it goes round, and then this reader does not have them: those of one series, settled or
/// not, are read by baro_samples_open, frames by time by baro_frames_open. Takes 1 to 8 MiB of memory.
/// Blocks for reading the headers of all blocks.
///
/// Returns 0, BARO_EINVAL, BARO_ENOENT, BARO_ENOTDIR, BARO_EBADMSG, BARO_EIO, or errno.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baro_reader_open(
    store: *const c_char,
    reader: *mut *mut baro_reader,
) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        let (place, store) = unsafe { (object_mut(reader, "reader")?, path(store, "store")?) };
        *place = std::ptr::null_mut();
        let log = LogReader::open(store)?;
        *place = Box::into_raw(Box::new(baro_reader { log, last: None }));
        Ok(0)
    })
}

/// The next record of the log: returns 1 and fills `record` and `payload`, or 0 at the end. The payload has
/// record->payload_bytes bytes, may have any alignment, and is valid until the next call on this
/// reader. Blocks for the device. Damage is no error but counted: see baro_reader_report.
///
/// Returns 1, 0, BARO_EINVAL, BARO_EIO, or errno.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baro_reader_next(
    reader: *mut baro_reader,
    record: *mut baro_record,
    payload: *mut *const c_void,
) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        let (reader, payload) = unsafe {
            check(record)?;
            (object_mut(reader, "reader")?, object_mut(payload, "payload")?)
        };
        *payload = std::ptr::null();
        reader.last = None;
        reader.last = reader.log.next()?;
        let Some(entry) = &reader.last else { return Ok(0) };
        let bytes = reader.log.payload(entry);
        let found = baro_record {
            type_size: 0,
            kind: entry.kind as u32,
            session: entry.session,
            producer: entry.producer,
            sequence: entry.sequence,
            time_ns: entry.time_ns,
            payload_bytes: bytes.len() as u64,
            channel: entry.stream,
            reserved: 0,
        };
        *payload = bytes.as_ptr().cast();
        // SAFETY: as the header says.
        unsafe { fill(record, found)? };
        Ok(1)
    })
}

/// What the reader has met so far.
///
/// Returns 0, BARO_EINVAL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baro_reader_report(
    reader: *const baro_reader,
    report: *mut baro_read_report,
) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        let log = unsafe { &object(reader, "reader")?.log };
        let found = baro_read_report {
            type_size: 0,
            series: log.catalog.len() as u32,
            records: log.counts.records,
            blocks: log.counts.blocks,
            blocks_damaged: log.counts.damaged,
            blocks_recycled: log.counts.recycled,
        };
        // SAFETY: as the header says.
        unsafe { fill(report, found)? };
        Ok(0)
    })
}

fn shown(found: &Declared) -> baro_series {
    baro_series { type_size: 0, id: found.id, value_type: found.kind as u32, reserved: 0 }
}

/// Series or channel number `index` of the catalog, in the order of declaration: returns 1 and
/// fills `series`, or 0 if there are no more. Its name goes to `name` of `room` bytes (1025 hold
/// every name); null if it is not wanted.
///
/// Returns 1, 0, BARO_EINVAL, BARO_ERANGE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baro_reader_series(
    reader: *const baro_reader,
    index: usize,
    series: *mut baro_series,
    name: *mut c_char,
    room: usize,
) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        let log = unsafe { &object(reader, "reader")?.log };
        let Some(found) = log.catalog.entry(index) else { return Ok(0) };
        // SAFETY: likewise.
        unsafe {
            fill(series, shown(&found))?;
            if !name.is_null() {
                put_text(found.name.as_bytes(), name, room)?;
            }
        }
        Ok(1)
    })
}

fn undeclared(name: &str) -> Failure {
    Failure::new(BARO_ENOENT, format!("{name}: not declared in this store"))
}

/// The series or channel of this name.
///
/// Returns 0, BARO_EINVAL, BARO_ENOENT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baro_reader_find(
    reader: *const baro_reader,
    name: *const c_char,
    series: *mut baro_series,
) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        let (log, name) = unsafe { (&object(reader, "reader")?.log, text(name, "name")?) };
        let found = log.catalog.get(name).ok_or_else(|| undeclared(name))?;
        // SAFETY: likewise.
        unsafe { fill(series, shown(&found))? };
        Ok(0)
    })
}

/// Puts the field layout of the channel `name` into `buffer` of `room` bytes, in the text form that
/// baro_declare takes. Returns 1, or 0 and an empty text if it has none.
///
/// Returns 1, 0, BARO_EINVAL, BARO_ENOENT, BARO_ERANGE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baro_reader_layout(
    reader: *const baro_reader,
    name: *const c_char,
    buffer: *mut c_char,
    room: usize,
) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        let (log, name) = unsafe { (&object(reader, "reader")?.log, text(name, "name")?) };
        let (_, layout) = log.catalog.layout(name).ok_or_else(|| undeclared(name))?;
        let shown = layout.map(|layout| layout.to_string()).unwrap_or_default();
        // SAFETY: likewise.
        unsafe { put_text(shown.as_bytes(), buffer, room)? };
        Ok(i32::from(layout.is_some()))
    })
}

/// The value of the field `name`, as in "channel.speed" or "channel.cell[2]", in the record that
/// baro_reader_next handed out last: returns 1 and fills `value`, or 0 if that record is no frame
/// of this channel, or one that ends before the field. Scaled as the layout says; integers beyond
/// 2^53 are rounded, a bool is 0 or 1.
///
/// Returns 1, 0, BARO_EINVAL, BARO_ENOENT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baro_field_get(
    reader: *const baro_reader,
    name: *const c_char,
    value: *mut f64,
) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        let (reader, name, value) = unsafe {
            (object(reader, "reader")?, text(name, "name")?, object_mut(value, "value")?)
        };
        let found = name.rsplit_once('.').and_then(|(channel, field)| {
            let (channel, layout) = reader.log.catalog.layout(channel)?;
            let layout = layout?;
            let (at, element) = layout.find(field)?;
            Some((channel, layout.fields().get(at)?, element))
        });
        let (channel, field, element) = found.ok_or_else(|| {
            let why = "expected CHANNEL.FIELD of a channel with a layout, or CHANNEL.FIELD[INDEX]";
            Failure::new(BARO_ENOENT, format!("{name}: {why}"))
        })?;
        let frame = reader.last.as_ref();
        let frame = frame.filter(|last| last.kind == Kind::Frame && last.stream == channel);
        let read = frame.and_then(|last| field.read(reader.log.payload(last), element));
        let Some(read) = read else { return Ok(0) };
        *value = match read {
            FieldValue::Float(value) => value,
            FieldValue::Integer(value) => value as f64,
            FieldValue::Unsigned(value) => value as f64,
            FieldValue::Boolean(value) => f64::from(u8::from(value)),
        };
        Ok(1)
    })
}

/// Pin number `index` of the store, by rising id, as it stood when the reader was opened: returns
/// 1 and fills `info`, or 0 if there are no more. What it holds are the records with
/// from_ns <= time_ns < to_ns.
///
/// Returns 1, 0, BARO_EINVAL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baro_reader_pin(
    reader: *const baro_reader,
    index: usize,
    info: *mut baro_pin_info,
) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        let log = unsafe { &object(reader, "reader")?.log };
        let Some(pin) = log.pins.get(index) else { return Ok(0) };
        // SAFETY: likewise.
        unsafe { fill(info, crate::pins::shown(pin))? };
        Ok(1)
    })
}

/// Frees the reader.
///
/// Returns 0, BARO_EINVAL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baro_reader_close(reader: *mut baro_reader) -> i32 {
    guard(|| {
        // SAFETY: as the header says; the handle came from a Box.
        unsafe {
            let _ = object(reader, "reader")?;
            drop(Box::from_raw(reader));
        }
        Ok(0)
    })
}
