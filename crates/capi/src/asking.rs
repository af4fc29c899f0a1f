//! Declaring through a producer that is attached to another process's recorder: that is asked, since only
//! it writes the catalog.
//!
//! Invariant: what is returned is durable. Held by `tests/attached.rs` and the recorder's
//! `tests/declaring.rs`.

use crate::arguments::{object_mut, slice, structure_or_defaults, text, text_or_empty};
use crate::error::{Failure, Result, guard};
use crate::producer::{baro_producer, pushing};
use crate::recorder::{check_names, kind, layout_of};
use crate::structs::baro_declare_options;
use baro_ondisk::Declaration;
use std::borrow::Cow;
use std::ffi::c_char;

/// The id of the series or channel `name` of an attached producer: baro_declare, asked of the recorder
/// in the other process and durable when this returns. Blocks for at most `timeout_ns`: declare before
/// recording, not in the thread that must not wait. BARO_ETIMEDOUT: not answered; it may be declared.
/// BARO_ESHUTDOWN: nobody records. BARO_EACCES: refused, with the recorder's reason.
///
/// Returns 0, BARO_EINVAL, BARO_E2BIG, BARO_EACCES, BARO_ESHUTDOWN, BARO_ETIMEDOUT, or errno.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baro_producer_declare(
    producer: *mut baro_producer,
    name: *const c_char,
    unit: *const c_char,
    layout: *const c_char,
    options: *const baro_declare_options,
    timeout_ns: u64,
    id: *mut u32,
) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        let (producer, id, name, unit, layout, options) = unsafe {
            (
                pushing(producer)?,
                object_mut(id, "id")?,
                text(name, "name")?,
                text_or_empty(unit, "unit")?,
                if layout.is_null() { None } else { Some(text(layout, "layout")?) },
                structure_or_defaults(options)?,
            )
        };
        check_names(name, unit)?;
        let kind = kind(options.value_type)?;
        let layout = layout.map(|layout| layout_of(kind, unit, layout)).transpose()?;
        let wanted =
            Declaration { id: 1, kind, name, unit, joint: None, layout: layout.map(Cow::Owned) };
        for found in producer.declare_each(None, &[wanted], |waited_ns| waited_ns < timeout_ns)? {
            *id = found?;
        }
        Ok(0)
    })
}

/// Ids of `count` series or channels of an attached producer: baro_declare_many, asked of the recorder
/// in the other process, which waits for its device once. Otherwise as baro_producer_declare. On an
/// error that is the first one's; others may be declared, and have their ids the next time.
///
/// Returns 0, BARO_EINVAL, BARO_EACCES, BARO_ESHUTDOWN, BARO_ETIMEDOUT, or errno.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baro_producer_declare_many(
    producer: *mut baro_producer,
    names: *const *const c_char,
    units: *const *const c_char,
    types: *const u32,
    count: usize,
    timeout_ns: u64,
    ids: *mut u32,
) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        let (producer, wanted) =
            unsafe { (pushing(producer)?, wanted(names, units, types, count)?) };
        if ids.is_null() && count > 0 {
            return Err(Failure::invalid("ids is null"));
        }
        let plain =
            |(name, kind, unit)| Declaration { id: 1, kind, name, unit, joint: None, layout: None };
        let wanted: Vec<Declaration<'_>> = wanted.into_iter().map(plain).collect();
        let asked = producer.declare_each(None, &wanted, |waited_ns| waited_ns < timeout_ns)?;
        let found = asked.into_iter().collect::<std::result::Result<Vec<u32>, _>>()?;
        for (at, id) in found.into_iter().enumerate() {
            // SAFETY: there are as many ids as names, and the caller has room for them.
            unsafe { ids.add(at).write(id) };
        }
        Ok(0)
    })
}

/// Names, types and units as C hands them over.
///
/// # Safety
/// As the header says of baro_declare_many.
pub(crate) unsafe fn wanted<'a>(
    names: *const *const c_char,
    units: *const *const c_char,
    types: *const u32,
    count: usize,
) -> Result<Vec<(&'a str, baro_ondisk::Type, &'a str)>> {
    // SAFETY: the caller's promise.
    let names = unsafe { slice(names, count, "names")? };
    // SAFETY: likewise.
    let units = unsafe { if units.is_null() { &[] } else { slice(units, count, "units")? } };
    // SAFETY: likewise.
    let types = unsafe { if types.is_null() { &[] } else { slice(types, count, "types")? } };
    let mut wanted = Vec::with_capacity(names.len());
    for (at, name) in names.iter().enumerate() {
        // SAFETY: likewise.
        let (name, unit) = unsafe {
            let unit = units.get(at).copied().unwrap_or(std::ptr::null());
            (text(*name, "a name")?, text_or_empty(unit, "a unit")?)
        };
        check_names(name, unit)?;
        wanted.push((name, kind(types.get(at).copied().unwrap_or(0))?, unit));
    }
    Ok(wanted)
}
