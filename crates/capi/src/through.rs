//! What the C interface hands out, for tests in Rust that may not hold pointers: every record of the log
//! by `baro_reader_next`, every sample of a series by `baro_samples_next`. With the feature `through`.
//!
//! Held by `every_way_out_shows_the_same_at_every_moment` of the command line, which reads by it.

use crate::error::baro_last_error;
use crate::reader::{baro_reader_close, baro_reader_next, baro_reader_open, baro_reader_report};
use crate::samples::{baro_samples_close, baro_samples_next, baro_samples_open, baro_samples_text};
use crate::structs::{BARO_F64, BARO_TEXT, baro_read_report, baro_record, baro_sample};
use std::ffi::{CStr, CString, NulError};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::{null, null_mut};

/// A value as the interface hands it out.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Of an f64 series.
    Float(f64),
    /// Of an i64 or bool series.
    Integer(i64),
    /// Of a text series.
    Text(String),
}

/// A sample: its time and value.
pub type Sample = (i64, Value);

/// Calls `each` with kind, channel, time and payload of each record of the log; returns how many blocks
/// were damaged.
///
/// # Errors
/// The text of the interface.
pub fn records(
    store: &Path,
    mut each: impl FnMut(u32, u32, i64, &[u8]),
) -> std::result::Result<u64, String> {
    let store = text_of(store)?;
    let mut reader = null_mut();
    // SAFETY: valid pointers to structures that take any bits and begin with their size; a payload has as
    // many bytes as its record says, and the reader is closed once.
    unsafe {
        let (mut record, mut report): (baro_record, baro_read_report) = std::mem::zeroed();
        record.type_size = size_of::<baro_record>() as u32;
        report.type_size = size_of::<baro_read_report>() as u32;
        told(baro_reader_open(store.as_ptr(), &mut reader))?;
        let mut payload = null();
        let mut done = told(baro_reader_next(reader, &mut record, &mut payload));
        while done == Ok(1) {
            let bytes = record.payload_bytes as usize;
            let payload_bytes = std::slice::from_raw_parts(payload.cast::<u8>(), bytes);
            each(record.kind, record.channel, record.time_ns, payload_bytes);
            done = told(baro_reader_next(reader, &mut record, &mut payload));
        }
        let reported = told(baro_reader_report(reader, &mut report));
        baro_reader_close(reader);
        done.and(reported).map(|_| report.blocks_damaged)
    }
}

/// All samples of a series.
///
/// # Errors
/// The text of the interface.
pub fn samples(store: &Path, series: &str) -> std::result::Result<Vec<Sample>, String> {
    let name = CString::new(series).map_err(|error: NulError| error.to_string())?;
    let store = text_of(store)?;
    let (mut found, mut samples, mut kind) = (Vec::new(), null_mut(), 0);
    // SAFETY: as above; a text has as many bytes as is said.
    unsafe {
        let mut sample: baro_sample = std::mem::zeroed();
        sample.type_size = size_of::<baro_sample>() as u32;
        let (store, name) = (store.as_ptr(), name.as_ptr());
        told(baro_samples_open(store, name, i64::MIN, i64::MAX, &mut samples, &mut kind))?;
        let mut done = told(baro_samples_next(samples, &mut sample));
        while done == Ok(1) {
            let value = match kind {
                BARO_TEXT => {
                    let (mut text, mut bytes) = (null(), 0);
                    told(baro_samples_text(samples, &mut text, &mut bytes))?;
                    let bytes = std::slice::from_raw_parts(text.cast::<u8>(), bytes);
                    Value::Text(String::from_utf8_lossy(bytes).into_owned())
                }
                BARO_F64 => Value::Float(sample.value),
                _ => Value::Integer(sample.integer),
            };
            found.push((sample.time_ns, value));
            done = told(baro_samples_next(samples, &mut sample));
        }
        baro_samples_close(samples);
        done.map(|_| found)
    }
}

fn text_of(path: &Path) -> std::result::Result<CString, String> {
    CString::new(path.as_os_str().as_bytes()).map_err(|error| error.to_string())
}

/// The code, or what is wrong.
fn told(code: i32) -> std::result::Result<i32, String> {
    if code >= 0 {
        return Ok(code);
    }
    // SAFETY: the library's own text, of this thread.
    Err(unsafe { CStr::from_ptr(baro_last_error()) }.to_string_lossy().into_owned())
}
