//! A store opened for recording.

use crate::arguments::{
    check, fill, known_flags, object, object_mut, path, put_text, structure_or_defaults, text,
    text_or_empty,
};
use crate::asking::wanted;
use crate::error::{BARO_ENOTRECOVERABLE, Failure, Result, guard};
use crate::events::{self, Listener};
use crate::structs::{
    BARO_BOOL, BARO_CHANNEL, BARO_F64, BARO_I64, BARO_OPEN_BUFFERED, BARO_OPEN_CPU,
    BARO_OPEN_RINGS_PRIVATE, BARO_TEXT, BARO_TROUBLE_DEVICE, BARO_TROUBLE_GROWING,
    BARO_TROUBLE_HELD, BARO_TROUBLE_LOG_FULL, BARO_TROUBLE_NONE, baro_declare_options,
    baro_open_options, baro_status,
};
use ::baro_recorder::{Error, Options, Recorder, Retention, RingReport, Rings, Status, Trouble};
use baro_ondisk::limits::{NAME_BYTES_MAX, UNIT_NAME_BYTES_MAX};
use baro_ondisk::{Layout, Type};
use std::ffi::{OsStr, c_char};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// A store that this process records into. May be used by several threads at once.
#[derive(Debug)]
pub struct baro_recorder {
    /// The listener's thread has it too, as long as there is one.
    pub(crate) recorder: Arc<Recorder>,
    pub(crate) listener: Mutex<Option<Listener>>,
}

/// Smaller than the recorder's default: of a board's megabytes the writer shall take few, and at
/// its rates larger blocks gain nothing.
const BLOCK_BYTES: usize = 256 << 10;

fn checked(given: &baro_open_options) -> Result<Options> {
    let known = BARO_OPEN_BUFFERED | BARO_OPEN_RINGS_PRIVATE | BARO_OPEN_CPU;
    known_flags("baro_open_options", given.flags, known)?;
    let defaults = Options::default();
    let or = |value: u64, default: usize, name: &str| match usize::try_from(value) {
        Ok(0) => Ok(default),
        Ok(value) => Ok(value),
        Err(_) => Err(Failure::invalid(format!(
            "baro_open_options.{name}: {value} is more than this machine can address"
        ))),
    };
    let folder = given.ring_folder.map(|byte| byte as u8);
    let Some(end) = folder.iter().position(|byte| *byte == 0) else {
        return Err(Failure::invalid("baro_open_options.ring_folder: no zero byte at its end"));
    };
    let folder = OsStr::from_bytes(folder.get(..end).unwrap_or(&[]));
    let rings = match (given.flags & BARO_OPEN_RINGS_PRIVATE != 0, folder.is_empty()) {
        (true, true) => Rings::Private,
        (true, false) => {
            return Err(Failure::invalid(
                "baro_open_options: ring_folder and BARO_OPEN_RINGS_PRIVATE exclude each other",
            ));
        }
        (false, true) => Rings::Find,
        (false, false) => Rings::In(PathBuf::from(folder)),
    };
    let fifo = u8::try_from(given.fifo).map_err(|_| {
        Failure::invalid(format!("baro_open_options.fifo: {} is above 99", given.fifo))
    })?;
    Ok(Options {
        durable_within_ns: match given.durable_within_ns {
            0 => defaults.durable_within_ns,
            within_ns => within_ns,
        },
        ring_bytes: or(given.ring_bytes, defaults.ring_bytes, "ring_bytes")?,
        record_bytes_max: or(
            given.record_bytes_max,
            defaults.record_bytes_max,
            "record_bytes_max",
        )?,
        block_bytes: or(given.block_bytes, BLOCK_BYTES, "block_bytes")?,
        buffered: given.flags & BARO_OPEN_BUFFERED != 0,
        rings,
        cpu: (given.flags & BARO_OPEN_CPU != 0).then_some(given.cpu as usize),
        fifo: (fifo != 0).then_some(fifo),
        says: None,
        retention: Retention {
            keep_bytes: (given.keep_bytes != 0).then_some(given.keep_bytes),
            keep_ns: (given.keep_ns != 0).then_some(given.keep_ns),
            min_free_bytes: given.min_free_bytes,
            ..Retention::default()
        },
    })
}

/// Opens the store in the folder `store` for recording: recovers what a crash left, takes over
/// the rings of a killed recorder, starts the writer. Blocks for reading at most two segments.
/// `options` may be null. What does not hold on this machine is told by baro_reservations.
///
/// Returns 0, BARO_EINVAL, BARO_E2BIG, BARO_ENOENT, BARO_ENOTDIR, BARO_EBUSY, BARO_EBADMSG,
/// BARO_EIO, or errno.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baro_open(
    store: *const c_char,
    options: *const baro_open_options,
    recorder: *mut *mut baro_recorder,
) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        let (place, store, given) = unsafe {
            (
                object_mut(recorder, "recorder")?,
                path(store, "store")?,
                structure_or_defaults(options)?,
            )
        };
        *place = std::ptr::null_mut();
        let recorder = Arc::new(Recorder::open(store, checked(&given)?)?);
        *place = Box::into_raw(Box::new(baro_recorder { recorder, listener: Mutex::default() }));
        Ok(0)
    })
}

/// Makes what the rings hold durable, ends the writer and frees the recorder, whatever is
/// returned but BARO_EINVAL. Blocks; a device that fails is given 5 s, one that is silent 2
/// minutes. Pushes are refused from now on; producers are closed on their own, before or after.
/// `status` may be null; its field left counts the records that could not be made durable. The file of
/// an empty ring is removed by baro_close or baro_producer_close, whichever comes last: of a producer
/// that is never closed it stays in the folder of the rings (16 MiB by default) until the store is
/// opened the next time or the machine restarts. A ring that is not empty always waits for that open.
///
/// Returns 0, BARO_EINVAL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baro_close(recorder: *mut baro_recorder, status: *mut baro_status) -> i32 {
    guard(|| {
        // SAFETY: as the header says; the handle came from a Box.
        let closed = unsafe {
            if !status.is_null() {
                check(status)?;
            }
            events::not_from_a_callback("baro_close")?;
            let there = object(recorder, "recorder")?;
            events::end(there);
            Arc::into_inner(Box::from_raw(recorder).recorder)
        };
        // The listener had the only other one.
        let closed = closed.map(Recorder::close).ok_or_else(|| {
            Failure::new(BARO_ENOTRECOVERABLE, "the listener's thread has ended and holds it")
        })?;
        if !status.is_null() {
            // SAFETY: as the header says.
            unsafe { fill(status, shown(&closed.status, closed.left))? };
        }
        Ok(0)
    })
}

/// What the format has room for.
pub(crate) fn check_names(name: &str, unit: &str) -> Result<()> {
    if !(1..=NAME_BYTES_MAX).contains(&name.len()) {
        let found = name.len();
        let text = format!("name: expected 1 to {NAME_BYTES_MAX} bytes, found {found}");
        return Err(Failure::invalid(text));
    }
    if unit.len() > UNIT_NAME_BYTES_MAX {
        let found = unit.len();
        let text = format!("unit: expected at most {UNIT_NAME_BYTES_MAX} bytes, found {found}");
        return Err(Failure::invalid(text));
    }
    Ok(())
}

pub(crate) fn kind(number: u32) -> Result<Type> {
    Ok(match number {
        0 | BARO_F64 => Type::F64,
        BARO_I64 => Type::I64,
        BARO_BOOL => Type::Bool,
        BARO_TEXT => Type::Text,
        BARO_CHANNEL => Type::Channel,
        _ => return Err(Failure::invalid(format!("type: {number} is not one of BARO_F64 ..."))),
    })
}

/// The layout of a channel of this type and unit.
pub(crate) fn layout_of(kind: Type, unit: &str, layout: &str) -> Result<Layout> {
    if kind != Type::Channel {
        let why = format!(
            "layout: expected null, or options with value_type BARO_CHANNEL, found type {}",
            kind.name()
        );
        return Err(Failure::invalid(why));
    }
    if !unit.is_empty() {
        let why =
            "unit: expected null or none for a channel with a layout, whose fields have units";
        return Err(Failure::invalid(why));
    }
    Ok(layout.parse().map_err(Error::Layout)?)
}

/// The id of the series or channel `name`, declared durably if it is new: blocks for the device
/// then, so declare before recording. `unit` may be null; one that is there already keeps its own.
/// `layout` says where values lie inside the frames of a channel, so that they are read back as
/// series NAME.FIELD: null, or fields like
/// "speed:f32@0,temp:i16be@4*0.1-40(degC),cell:u16[4]" (name:type@offset, then an array's elements,
/// scale, bias and unit as wanted; without an offset behind the field before). A declared layout
/// never changes. `options` may be null: a series of type BARO_F64.
///
/// Returns 0, BARO_EINVAL, BARO_E2BIG, BARO_ENOSPC, BARO_EBADMSG, BARO_EIO, or errno.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baro_declare(
    recorder: *const baro_recorder,
    name: *const c_char,
    unit: *const c_char,
    layout: *const c_char,
    options: *const baro_declare_options,
    id: *mut u32,
) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        let (recorder, id, name, unit, layout, options) = unsafe {
            (
                object(recorder, "recorder")?,
                object_mut(id, "id")?,
                text(name, "name")?,
                text_or_empty(unit, "unit")?,
                if layout.is_null() { None } else { Some(text(layout, "layout")?) },
                structure_or_defaults(options)?,
            )
        };
        check_names(name, unit)?;
        let kind = kind(options.value_type)?;
        if let Some(layout) = layout {
            let layout = layout_of(kind, unit, layout)?;
            *id = recorder.recorder.declare_channel_with_layout(name, &layout)?;
            return Ok(0);
        }
        let ids = recorder.recorder.declare(&[(name, kind, unit)])?;
        ids.into_iter().for_each(|found| *id = found);
        Ok(0)
    })
}

/// Ids of `count` series or channels, declared durably together where they are new: one wait for
/// the device instead of one for each. `units` may be null, and so may be each of its texts;
/// `types` may be null: all of type BARO_F64. On an error none is declared.
///
/// Returns 0, BARO_EINVAL, BARO_ENOSPC, BARO_EBADMSG, BARO_EIO, or errno.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baro_declare_many(
    recorder: *const baro_recorder,
    names: *const *const c_char,
    units: *const *const c_char,
    types: *const u32,
    count: usize,
    ids: *mut u32,
) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        let (recorder, wanted) =
            unsafe { (object(recorder, "recorder")?, wanted(names, units, types, count)?) };
        if ids.is_null() && count > 0 {
            return Err(Failure::invalid("ids is null"));
        }
        for (at, id) in recorder.recorder.declare(&wanted)?.into_iter().enumerate() {
            // SAFETY: there are as many ids as names, and the caller has room for them.
            unsafe { ids.add(at).write(id) };
        }
        Ok(0)
    })
}

pub(crate) fn number_of(trouble: &Trouble) -> u32 {
    match trouble {
        Trouble::None => BARO_TROUBLE_NONE,
        Trouble::LogFull => BARO_TROUBLE_LOG_FULL,
        Trouble::Device { .. } => BARO_TROUBLE_DEVICE,
        Trouble::Growing => BARO_TROUBLE_GROWING,
        Trouble::Held { .. } => BARO_TROUBLE_HELD,
    }
}

fn shown(found: &Status, left: u64) -> baro_status {
    baro_status {
        type_size: 0,
        trouble: number_of(&found.trouble),
        session: found.session,
        blocks: found.blocks,
        durable_blocks: found.durable_blocks,
        device_bytes: found.device_bytes,
        padding_bytes: found.padding_bytes,
        payload_bytes: found.payload_bytes,
        records: found.records,
        lost: found.lost,
        syncs: found.syncs,
        failures: found.failures,
        longest_write_ns: found.longest_write_ns,
        longest_sync_ns: found.longest_sync_ns,
        longest_durable_ns: found.longest_durable_ns,
        memory_bytes: found.memory_bytes as u64,
        left,
        segments_started: found.segments_started,
        segments_suspect: found.segments_suspect,
        rings: found.rings.len() as u32,
        rings_broken: found.rings_broken,
        segments_grown: found.growth.grown,
        segments_target: found.growth.target,
    }
}

/// The writer's counters, as it last published them.
///
/// Returns 0, BARO_EINVAL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baro_status_get(
    recorder: *const baro_recorder,
    status: *mut baro_status,
) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        let recorder = unsafe { &object(recorder, "recorder")?.recorder };
        let status_now = recorder.status();
        let open = |ring: &RingReport| ring.offered.saturating_sub(ring.durable);
        let left = status_now.rings.iter().map(open).sum();
        let found = shown(&status_now, left);
        // SAFETY: likewise.
        unsafe { fill(status, found)? };
        Ok(0)
    })
}

/// Puts into `buffer` of `room` bytes which promises do not hold on this machine, a sentence a
/// line with what would grant it; empty if all hold.
///
/// Returns the number of lines, BARO_EINVAL, BARO_ERANGE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baro_reservations(
    recorder: *const baro_recorder,
    buffer: *mut c_char,
    room: usize,
) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        let said = unsafe { object(recorder, "recorder")? }.recorder.opening().reservations();
        // SAFETY: likewise.
        unsafe { put_text(said.join("\n").as_bytes(), buffer, room)? };
        Ok(i32::try_from(said.len()).unwrap_or(i32::MAX))
    })
}

/// Puts into `buffer` of `room` bytes what goes wrong in the background, a sentence a line: the log
/// cannot grow, a pin of baro_pin_when was refused, pinned segments cannot be copied, records were
/// pushed with another type than their series is declared with; empty if nothing does. See
/// baro_on_event for being told.
///
/// Returns the number of lines, BARO_EINVAL, BARO_ERANGE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baro_complaints(
    recorder: *const baro_recorder,
    buffer: *mut c_char,
    room: usize,
) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        let said = unsafe { object(recorder, "recorder")? }.recorder.complaints();
        // SAFETY: likewise.
        unsafe { put_text(said.join("\n").as_bytes(), buffer, room)? };
        Ok(i32::try_from(said.len()).unwrap_or(i32::MAX))
    })
}

/// Makes a ring for a producer in another process and puts its path, for baro_attach there, into
/// `buffer` of `room` bytes.
///
/// Returns 0, BARO_EINVAL, BARO_ERANGE, BARO_ESHUTDOWN, or errno.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baro_ring_for_attach(
    recorder: *const baro_recorder,
    buffer: *mut c_char,
    room: usize,
) -> i32 {
    /// No path of a ring is longer, so that a ring is not made before there is room for its path.
    const PATH_BYTES: usize = 512;
    guard(|| {
        // SAFETY: as the header says.
        let recorder = unsafe { object(recorder, "recorder")? };
        if buffer.is_null() || room < PATH_BYTES {
            let why = format!("buffer: expected {PATH_BYTES} bytes or more, found {room} or null");
            return Err(Failure::invalid(why));
        }
        let made = recorder.recorder.ring_for_attach()?;
        // SAFETY: as the header says.
        unsafe { put_text(made.as_os_str().as_bytes(), buffer, room)? };
        Ok(0)
    })
}
