//! Pins: windows of time kept from recycling, asked for, listed and released.
//!
//! Held by `tests/pins.rs` and `examples/c/pin.c`.

use crate::arguments::{
    char_array, fill, fixed_text, known_flags, object, object_mut, path, structure, text,
};
use crate::error::{BARO_ENOENT, Failure, Result, guard};
use crate::recorder::baro_recorder;
use crate::structs::{
    BARO_ABOVE, BARO_AT_LEAST, BARO_AT_MOST, BARO_BELOW, BARO_PIN_ASKED, BARO_PIN_OPEN,
    BARO_PIN_REFUSED, BARO_PIN_SHORT, BARO_PIN_WHOLE, baro_pin_info, baro_pin_options,
};
use ::baro_recorder::inspect::{pin_in_store, release_in_store};
use ::baro_recorder::{PinRequest, Trigger};
use baro_ondisk::limits::{PIN_NAME_BYTES_MAX, PIN_SPAN_NS_MAX};
use baro_ondisk::{Pin, PinState, Type};
use std::ffi::c_char;
use std::ops::Bound;

/// Checked here for all three ways to ask, because a watched series asks later, when nobody
/// listens.
fn request(given: &baro_pin_options) -> Result<PinRequest> {
    known_flags("baro_pin_options", given.flags, 0)?;
    let name = fixed_text(&given.name, "baro_pin_options.name")?;
    if name.len() > PIN_NAME_BYTES_MAX {
        let found = name.len();
        let why = format!(
            "baro_pin_options.name: expected at most {PIN_NAME_BYTES_MAX} bytes, found {found}"
        );
        return Err(Failure::invalid(why));
    }
    for (field, span_ns) in [("before_ns", given.before_ns), ("after_ns", given.after_ns)] {
        if span_ns > PIN_SPAN_NS_MAX {
            let why = format!(
                "baro_pin_options.{field}: expected at most {PIN_SPAN_NS_MAX} (ten years), found \
                 {span_ns}"
            );
            return Err(Failure::invalid(why));
        }
    }
    let (before_ns, after_ns) = (given.before_ns, given.after_ns);
    Ok(PinRequest { name: name.to_owned(), before_ns, after_ns })
}

pub(crate) fn state_of(state: PinState) -> u32 {
    match state {
        PinState::Asked => BARO_PIN_ASKED,
        PinState::Open => BARO_PIN_OPEN,
        PinState::Whole => BARO_PIN_WHOLE,
        PinState::Short => BARO_PIN_SHORT,
        PinState::Refused => BARO_PIN_REFUSED,
    }
}

pub(crate) fn shown(pin: &Pin) -> baro_pin_info {
    let (from_ns, to_ns) = pin.window_ns();
    baro_pin_info {
        type_size: 0,
        state: state_of(pin.state),
        id: pin.id,
        from_ns,
        to_ns,
        moment_ns: pin.realtime_ns,
        name: char_array(&pin.name),
        reason: char_array(&pin.reason),
    }
}

/// Keeps a window of time, from before_ns before now to after_ns after it, from being recycled;
/// its id goes to `id`. Blocks until the pin is durable: not for the thread that must not wait.
/// BARO_EACCES: it is refused, and baro_last_error says why; recording goes on.
///
/// Returns 0, BARO_EINVAL, BARO_E2BIG, BARO_EACCES, BARO_ESHUTDOWN, BARO_EIO, or errno.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baro_pin(
    recorder: *const baro_recorder,
    options: *const baro_pin_options,
    id: *mut u64,
) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        let (recorder, options, id) =
            unsafe { (object(recorder, "recorder")?, structure(options)?, object_mut(id, "id")?) };
        *id = recorder.recorder.pin(&request(&options)?)?.id;
        Ok(0)
    })
}

/// The same for the store in the folder `store`, into which another process records, or none: then
/// the window ends with what was recorded, and after_ns counts for nothing. Needs no handle; may
/// be called beside this process's own recorder too. Blocks until the pin is durable, or for 20 s
/// if the recorder does not answer.
///
/// Returns 0, BARO_EINVAL, BARO_E2BIG, BARO_EACCES, BARO_ENOENT, BARO_ENOTDIR, BARO_EBUSY,
/// BARO_EBADMSG, BARO_ETIMEDOUT, BARO_EIO, or errno.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baro_pin_store(
    store: *const c_char,
    options: *const baro_pin_options,
    id: *mut u64,
) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        let (store, options, id) =
            unsafe { (path(store, "store")?, structure(options)?, object_mut(id, "id")?) };
        *id = pin_in_store(store, &request(&options)?)?.id;
        Ok(0)
    })
}

/// The values on the side of the limit that is asked for.
fn beyond(comparison: u32, limit: f64) -> Result<(Bound<f64>, Bound<f64>)> {
    Ok(match comparison {
        BARO_ABOVE => (Bound::Excluded(limit), Bound::Unbounded),
        BARO_AT_LEAST => (Bound::Included(limit), Bound::Unbounded),
        BARO_BELOW => (Bound::Unbounded, Bound::Excluded(limit)),
        BARO_AT_MOST => (Bound::Unbounded, Bound::Included(limit)),
        _ => {
            let why = format!("comparison: {comparison} is not one of BARO_ABOVE ...");
            return Err(Failure::invalid(why));
        }
    })
}

/// From now on, until the recorder is closed, pins a window whenever a value of the series of the
/// name `series`, declared before, goes beyond `limit`: once for each crossing, and not again while
/// the window of the last is open, which grows instead. The window is about the sample's time. The
/// writer looks at the values (from a moment after this returns on, so watch before recording); a
/// push costs what it did. A pin that is refused later is told by baro_complaints.
///
/// Returns 0, BARO_EINVAL, BARO_E2BIG, BARO_ENOENT, BARO_ESHUTDOWN.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baro_pin_when(
    recorder: *const baro_recorder,
    series: *const c_char,
    comparison: u32,
    limit: f64,
    options: *const baro_pin_options,
) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        let (recorder, series, options) = unsafe {
            (&object(recorder, "recorder")?.recorder, text(series, "series")?, structure(options)?)
        };
        let values = beyond(comparison, limit)?;
        let PinRequest { name, before_ns, after_ns } = request(&options)?;
        if limit.is_nan() {
            return Err(Failure::invalid("limit: expected a number, found NaN"));
        }
        let found = recorder.declared(series).ok_or_else(|| {
            let why = format!("{series}: not declared in this store; declare it first");
            Failure::new(BARO_ENOENT, why)
        })?;
        let (series, kind) = (found.id, found.kind);
        if !matches!(kind, Type::F64 | Type::I64 | Type::Bool) {
            let (name, kind) = (found.name, kind.name());
            let why = format!("{name}: expected a series of numbers, found type {kind}");
            return Err(Failure::invalid(why));
        }
        recorder.watch(Trigger { series, kind, values, name, before_ns, after_ns })?;
        Ok(0)
    })
}

/// The number of pins of the recorder's store.
///
/// Returns the number of pins, BARO_EINVAL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baro_pin_count(recorder: *const baro_recorder) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        let recorder = unsafe { object(recorder, "recorder")? };
        Ok(recorder.recorder.pins().len() as i32)
    })
}

/// Pin number `index` by rising id, as it stands: returns 1 and fills `info`, or 0 if there are no
/// more. What another process has pinned or released shows a moment later. Of a store without a
/// recorder of this process see baro_reader_pin.
///
/// Returns 1, 0, BARO_EINVAL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baro_pin_get(
    recorder: *const baro_recorder,
    index: usize,
    info: *mut baro_pin_info,
) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        let pins = unsafe { object(recorder, "recorder")? }.recorder.pins();
        let Some(pin) = pins.get(index) else { return Ok(0) };
        // SAFETY: likewise.
        unsafe { fill(info, shown(pin))? };
        Ok(1)
    })
}

/// Gives what a pin holds back to recycling; BARO_ENOENT if there is none of this id. Blocks until
/// that is durable.
///
/// Returns 0, BARO_EINVAL, BARO_ENOENT, BARO_ESHUTDOWN, BARO_EIO, or errno.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baro_pin_release(recorder: *const baro_recorder, id: u64) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        unsafe { object(recorder, "recorder")? }.recorder.release_pin(id)?;
        Ok(0)
    })
}

/// The same for the store in the folder `store`, as baro_pin_store.
///
/// Returns 0, BARO_EINVAL, BARO_ENOENT, BARO_ENOTDIR, BARO_EBUSY, BARO_EBADMSG, BARO_EACCES,
/// BARO_ETIMEDOUT, BARO_EIO, or errno.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baro_pin_release_store(store: *const c_char, id: u64) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        release_in_store(unsafe { path(store, "store")? }, id)?;
        Ok(0)
    })
}
