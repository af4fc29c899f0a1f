//! Frames of one channel over an interval, in the order of their times.
//!
//! Stands on the store's records in time order, a portion at a time, since C asks for one after the
//! other. A portion begins at the time of the frame handed out last and passes over what was handed out
//! of that time. A program that does not call this does not get it linked in.
//!
//! Invariant: each frame of the interval is handed out once, whatever the portions. Held by
//! `tests/frames.rs`.

use crate::arguments::{check, fill, object, object_mut, path, text};
use crate::error::{BARO_ENOENT, Failure, guard};
use crate::samples::{check_interval, failure};
use crate::structs::{BARO_KIND_FRAME, baro_read_report, baro_record};
use baro_ondisk::Type;
use baro_store::{Damage, Filter, Interval, Loss, Reading, RecordRef, Store};
use std::ffi::{c_char, c_void};
use std::ops::{ControlFlow, Range};

/// Bytes of frames held at once, or one frame.
const PORTION_BYTES: usize = 4 << 20;
/// Frames held at once.
const PORTION_FRAMES: usize = 8192;
/// Memory for blocks that overlap in time.
const BLOCKS_BYTES: usize = 16 << 20;

/// Frames of a channel over an interval. For one thread at a time.
#[derive(Debug)]
pub struct baro_frames {
    store: Store,
    channel: u32,
    interval: Interval,
    /// Where the frames behind those held begin; none at the end.
    from_ns: Option<i64>,
    held: Vec<Held>,
    bytes: Vec<u8>,
    next: usize,
    /// The frame taken last.
    last: Option<Key>,
    records: u64,
    blocks: u64,
    recycled: u64,
    damage: Vec<Damage>,
}

/// Time, session, sequence, producer: the order of records.
type Key = (i64, u64, u64, u64);

#[derive(Debug)]
struct Held {
    key: Key,
    place: Range<usize>,
}

impl baro_frames {
    fn seek(&mut self, time_ns: i64) {
        let from_ns = time_ns.max(self.interval.from_ns);
        let inside = Interval { from_ns, ..self.interval };
        self.from_ns = inside.holds(from_ns).then_some(from_ns);
        self.last = None;
        self.forget();
    }

    fn forget(&mut self) {
        self.held.clear();
        self.bytes.clear();
        self.next = 0;
    }

    /// Reads the next portion.
    fn load(&mut self) -> Result<(), Failure> {
        self.forget();
        let Some(from_ns) = self.from_ns else { return Ok(()) };
        let interval = Interval { from_ns, ..self.interval };
        let filter = Filter::ids(&[self.channel]).data_only().without_samples();
        let reading = Reading { memory_bytes: BLOCKS_BYTES, ..Reading::default() };
        let (held, bytes, last) = (&mut self.held, &mut self.bytes, self.last);
        let mut more = false;
        let take = |record: &RecordRef<'_>| {
            let key = (record.time_ns, record.session, record.sequence, record.producer);
            if last.is_some_and(|last| key <= last) {
                return ControlFlow::Continue(());
            }
            let full = bytes.len() + record.payload.len() > PORTION_BYTES;
            if held.len() >= PORTION_FRAMES || (full && !held.is_empty()) {
                more = true;
                return ControlFlow::Break(());
            }
            let start = bytes.len();
            bytes.extend_from_slice(record.payload);
            held.push(Held { key, place: start..bytes.len() });
            ControlFlow::Continue(())
        };
        let notes = match self.store.records(interval, &filter, &reading, take) {
            Ok(notes) => notes,
            Err(error) => {
                // What came before the error is read again with the next call.
                self.forget();
                return Err(failure(error));
            }
        };
        self.last = self.held.last().map_or(self.last, |held| Some(held.key));
        self.from_ns = self.last.filter(|_| more).map(|last| last.0);
        self.blocks += notes.blocks;
        self.recycled += notes.blocks_recycled;
        self.note(notes.damage);
        Ok(())
    }

    /// Portions meet the same damage again.
    fn note(&mut self, damage: Vec<Damage>) {
        for damage in damage {
            if !self.damage.contains(&damage) {
                self.damage.push(damage);
            }
        }
    }
}

/// Blocks that damage took.
fn blocks_of(damage: &Damage) -> u64 {
    match damage.loss {
        Loss::Blocks(blocks) => blocks,
        Loss::Records(_) | Loss::Segment => 1,
        _ => 0,
    }
}

/// Opens the frames of the channel `name` with from_ns <= time_ns < to_ns (INT64_MIN and INT64_MAX for
/// no bound), by rising time; of one time in the order of their sessions and sequences. Frames are in
/// the log alone, pinned ones too. What is recorded after this call is not seen. Works beside the
/// store's recorder, which does not notice. Blocks for the device, here for reading the headers of all
/// blocks; takes about 20 MiB of memory.
///
/// Returns 0, BARO_EINVAL, BARO_ENOENT, BARO_ENOTDIR, BARO_EBADMSG, BARO_EIO, or errno.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baro_frames_open(
    store: *const c_char,
    name: *const c_char,
    from_ns: i64,
    to_ns: i64,
    frames: *mut *mut baro_frames,
) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        let (place, store, name) =
            unsafe { (object_mut(frames, "frames")?, path(store, "store")?, text(name, "name")?) };
        *place = std::ptr::null_mut();
        let interval = check_interval(from_ns, to_ns)?;
        let store = Store::open(store).map_err(failure)?;
        let catalog = store.catalog();
        let Some(found) = catalog.lookup(name).map_err(failure)? else {
            let text = format!("{name}: not declared in this store");
            return Err(Failure::new(BARO_ENOENT, text));
        };
        let channel = found.id;
        if found.kind != Type::Channel {
            let kind = found.kind.name();
            let text = format!(
                "{name}: expected a channel, found a series of type {kind}; its samples: \
                 baro_samples_open"
            );
            return Err(Failure::invalid(text));
        }
        let mut found = baro_frames {
            store,
            channel,
            interval,
            from_ns: None,
            held: Vec::new(),
            bytes: Vec::new(),
            next: 0,
            last: None,
            records: 0,
            blocks: 0,
            recycled: 0,
            damage: Vec::new(),
        };
        found.seek(from_ns);
        *place = Box::into_raw(Box::new(found));
        Ok(0)
    })
}

/// The next frame: returns 1 and fills `record` and `frame`, or 0 at the end. The frame has
/// record->payload_bytes bytes, may have any alignment, and is valid until the next call on these
/// frames. Blocks for the device from time to time. Damage is no error but counted: see
/// baro_frames_report. After an error of the device the call may be made again.
///
/// Returns 1, 0, BARO_EINVAL, BARO_EIO, or errno.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baro_frames_next(
    frames: *mut baro_frames,
    record: *mut baro_record,
    frame: *mut *const c_void,
) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        let (frames, place) = unsafe {
            check(record)?;
            (object_mut(frames, "frames")?, object_mut(frame, "frame")?)
        };
        *place = std::ptr::null();
        if frames.next >= frames.held.len() {
            frames.load()?;
        }
        let Some(Held { key, place: at }) = frames.held.get(frames.next) else { return Ok(0) };
        let bytes = frames.bytes.get(at.clone()).unwrap_or(&[]);
        let (time_ns, session, sequence, producer) = *key;
        let found = baro_record {
            type_size: 0,
            kind: BARO_KIND_FRAME,
            session,
            producer,
            sequence,
            time_ns,
            payload_bytes: bytes.len() as u64,
            channel: frames.channel,
            reserved: 0,
        };
        *place = bytes.as_ptr().cast();
        frames.next += 1;
        frames.records += 1;
        // SAFETY: as the header says.
        unsafe { fill(record, found)? };
        Ok(1)
    })
}

/// Goes to the first frame of the interval whose time is not before `time_ns`: baro_frames_next
/// continues there. Does not block.
///
/// Returns 0, BARO_EINVAL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baro_frames_seek(frames: *mut baro_frames, time_ns: i64) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        unsafe { object_mut(frames, "frames")? }.seek(time_ns);
        Ok(0)
    })
}

/// What has been met so far: blocks that are read for several portions count each time.
///
/// Returns 0, BARO_EINVAL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baro_frames_report(
    frames: *const baro_frames,
    report: *mut baro_read_report,
) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        let frames = unsafe { object(frames, "frames")? };
        let opening = frames.store.damage_so_far();
        let new = opening.iter().filter(|damage| !frames.damage.contains(damage));
        let found = baro_read_report {
            type_size: 0,
            series: frames.store.catalog().len() as u32,
            records: frames.records,
            blocks: frames.blocks,
            blocks_damaged: frames.damage.iter().chain(new).map(blocks_of).sum(),
            blocks_recycled: frames.recycled,
        };
        // SAFETY: as the header says.
        unsafe { fill(report, found)? };
        Ok(0)
    })
}

/// Frees the frames.
///
/// Returns 0, BARO_EINVAL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baro_frames_close(frames: *mut baro_frames) -> i32 {
    guard(|| {
        // SAFETY: as the header says; the handle came from a Box.
        unsafe {
            let _ = object(frames, "frames")?;
            drop(Box::from_raw(frames));
        }
        Ok(0)
    })
}
