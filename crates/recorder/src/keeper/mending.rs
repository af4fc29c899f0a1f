//! Copies of pinned segments are read again, as long as the log has their segments: one that has rotted,
//! or was cut or removed, is made again while that can be done.
//!
//! A copy is replaced only by one of a segment that was read in full before and is whole. The engine
//! holds that segment meanwhile; if the copy cannot be made, it lets go of it, so that recording goes on.
//! Cost: each such copy is read once in [`LOOK_NS`] times their number, in pieces, paced as all that the
//! keeper does. Held by `a_copy_that_rots_is_made_again_while_the_log_has_its_segment` (`tests/crash`).

use super::{Keeper, Log, RETRY_NS, Tell};
use baro_log::{Blocks, Found, PIECE_BYTES, Recovery, dead_from, kept_name, segment_name};
use baro_ondisk::limits::UNIT_BYTES;
use baro_ondisk::{End, Scan, SegmentHeader, StoreId};
use baro_sys::memory::AlignedBuffer;
use baro_sys::storage::{Access, Storage, StorageFile};
use std::collections::{BTreeMap, BTreeSet};

/// Between two copies that are looked at: of an ordinary segment this is less than 1 % of what a slow card
/// reads.
const LOOK_NS: u64 = 60_000_000_000;
/// Sentences that wait to be told.
const SAID_MAX: usize = 64;

/// See the module.
#[derive(Debug)]
pub(super) struct Mending<F> {
    /// Where the log has the segment of each copy, as long as it may.
    places: BTreeMap<u64, Place>,
    /// To be looked at before all others.
    doubted: BTreeSet<u64>,
    /// The one that was looked at last.
    last: u64,
    due_ns: u64,
    /// After one that could not be made again the device is left in peace until then.
    retry_ns: u64,
    reading: Option<Reading<F>>,
    /// The engine is asked for this segment, because its copy is so.
    again: Option<(u64, String)>,
    said: Vec<String>,
    remade: Vec<u64>,
}

/// A segment of the log.
#[derive(Clone, Copy, Debug)]
struct Place {
    index: u32,
    dead_from: u64,
}

/// A file that is being read, a piece at a time.
#[derive(Debug)]
struct Reading<F> {
    epoch: u64,
    file: F,
    scan: Scan,
    crc: u32,
    /// Blocks of this sequence and later ones do not count.
    dead_from: u64,
    what: What,
}

#[derive(Debug)]
enum What {
    /// The copy.
    Copy,
    /// The segment of the log, because the copy is so from this sequence on.
    Segment(String, u64),
}

/// How a piece of reading went.
enum Piece {
    More,
    Whole,
    Bad(String),
}

impl<F> Mending<F> {
    pub(super) fn new(recovery: &Recovery, kept: &BTreeSet<u64>) -> Self {
        let started = recovery.segments.started.iter();
        let place = |(header, _): &(SegmentHeader, u32)| {
            let (epoch, index) = (header.epoch, header.index);
            (epoch, Place { index, dead_from: dead_from(&recovery.dead, epoch) })
        };
        let mut places = BTreeMap::new();
        places.extend(started.map(place).filter(|(epoch, _)| kept.contains(epoch)));
        Mending {
            places,
            doubted: BTreeSet::new(),
            last: 0,
            due_ns: 0,
            retry_ns: 0,
            reading: None,
            again: None,
            said: Vec::new(),
            remade: Vec::new(),
        }
    }

    /// The copy that is being made anew, or is about to be.
    pub(super) fn remaking(&self) -> Option<u64> {
        self.again.as_ref().map(|(epoch, _)| *epoch)
    }

    /// There is no copy of this epoch any more, and none is needed.
    pub(super) fn forget(&mut self, epoch: u64) {
        self.places.remove(&epoch);
        self.doubted.remove(&epoch);
        self.reading.take_if(|reading| reading.epoch == epoch);
        self.again.take_if(|again| again.0 == epoch);
    }

    fn say(&mut self, what: String) {
        if self.said.len() < SAID_MAX {
            self.said.push(what);
        }
    }
}

impl<S: Storage> Keeper<S> {
    /// Somebody has done something to the copy of this epoch.
    pub(crate) fn doubt_copy(&mut self, epoch: u64) {
        if self.mending.places.contains_key(&epoch) {
            self.mending.doubted.insert(epoch);
        }
    }

    /// What was found and done, in sentences; empty afterwards.
    pub fn take_said(&mut self) -> Vec<String> {
        std::mem::take(&mut self.mending.said)
    }

    /// Copies that are another file now than before; empty afterwards.
    pub(crate) fn take_remade(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.mending.remade)
    }

    /// A copy of this segment was made.
    pub(super) fn note_copy(&mut self, epoch: u64, index: u32, dead_from: u64) {
        self.mending.places.insert(epoch, Place { index, dead_from });
        if let Some((_, why)) = self.mending.again.take_if(|again| again.0 == epoch) {
            let name = kept_name(epoch);
            self.mending.remade.push(epoch);
            self.mending.say(format!(
                "{name} {why}, as was found while recording: made again from the log, which had the whole segment; look at the device \
                 (smartctl, dmesg)"
            ));
        }
    }

    /// The copy that was to be made again cannot be made now.
    pub(super) fn not_again(&mut self, epoch: u64, now_ns: u64) {
        if self.mending.again.take_if(|again| again.0 == epoch).is_some() {
            self.mending.doubted.insert(epoch);
            self.mending.retry_ns = now_ns + RETRY_NS;
        }
    }

    /// The log has this segment no more.
    pub(super) fn segment_gone(&mut self, epoch: u64) {
        if let Some((_, why)) = self.mending.again.take_if(|again| again.0 == epoch) {
            self.cannot_mend(epoch, &why, "the log has that segment no more");
        }
    }

    fn cannot_mend(&mut self, epoch: u64, why: &str, because: &str) {
        self.mending.forget(epoch);
        let name = kept_name(epoch);
        self.mending.say(format!(
            "{name} {why}, as was found while recording, and {because}: look with: baro verify"
        ));
    }

    /// One small step of looking at copies; false if nothing was done.
    pub(super) fn mend(&mut self, now_ns: u64, log: &mut impl Log) -> bool {
        if self.mending.again.is_some() {
            return false;
        }
        let Some(mut reading) = self.mending.reading.take() else {
            return self.look_at_next(now_ns);
        };
        let epoch = reading.epoch;
        let piece = read_piece(&mut reading);
        match (piece, reading.what) {
            (Piece::More, what) => {
                self.mending.reading = Some(Reading { what, ..reading });
            }
            (Piece::Whole, What::Copy) => {
                if let Some(why) = self.cut_before(&reading.scan, reading.crc, epoch) {
                    self.read_segment(epoch, why, reading.scan.sequence());
                }
            }
            (Piece::Bad(why), What::Copy) => {
                self.read_segment(epoch, why, reading.scan.sequence());
            }
            // The log has no more of it: what follows in the copy never counted.
            (Piece::Whole, What::Segment(_, from)) if reading.scan.sequence() <= from => {
                self.mending.forget(epoch);
            }
            (Piece::Whole, What::Segment(why, _)) => {
                self.mending.again = Some((epoch, why));
                log.tell(Tell::CopyAgain(epoch));
            }
            (Piece::Bad(_), What::Segment(why, _)) => {
                self.cannot_mend(epoch, &why, "the log's own segment is not whole either");
            }
        }
        true
    }

    /// Begins to read the next copy, if it is time.
    fn look_at_next(&mut self, now_ns: u64) -> bool {
        if self.mending.due_ns == 0 {
            self.mending.due_ns = now_ns + LOOK_NS;
        }
        let places = &self.mending.places;
        let doubted = self.mending.doubted.first().filter(|_| now_ns >= self.mending.retry_ns);
        let next = || places.range(self.mending.last + 1..).chain(places.iter()).next();
        let due = || next().filter(|_| now_ns >= self.mending.due_ns).map(|(epoch, _)| epoch);
        let Some(epoch) = doubted.or_else(due).copied() else { return false };
        self.mending.doubted.remove(&epoch);
        self.mending.last = epoch;
        self.mending.due_ns = now_ns + LOOK_NS;
        if self.in_log(epoch).is_none() {
            self.mending.forget(epoch);
            return true;
        }
        match self.open_copy(epoch) {
            Ok(reading) => self.mending.reading = Some(reading),
            Err(why) => self.read_segment(epoch, why, 0),
        }
        true
    }

    /// The segment of this epoch as the log has it: its file, its header and where it is dead.
    fn in_log(&self, epoch: u64) -> Option<(S::File, SegmentHeader, u32, u64)> {
        let place = self.mending.places.get(&epoch)?;
        let file = self.storage.open(&segment_name(place.index), Access::ReadDirect).ok()?;
        let (header, crc) = header_of(&file, epoch, self.identity.store).ok()?;
        Some((file, header, crc, place.dead_from))
    }

    fn open_copy(&self, epoch: u64) -> Result<Reading<S::File>, String> {
        let file = match self.storage.open(&kept_name(epoch), Access::ReadDirect) {
            Err(error) if error.is_missing() => return Err("was removed".to_owned()),
            Err(error) => return Err(format!("cannot be read ({error})")),
            Ok(file) => file,
        };
        let size = file.size_bytes().map_err(|error| format!("cannot be read ({error})"))?;
        if let Some(made) = self.copied.get(&epoch).filter(|made| size < **made) {
            return Err(format!("was cut from {made} to {size} bytes"));
        }
        let (header, crc) = header_of(&file, epoch, self.identity.store)?;
        let scan = Scan::new(header, crc);
        Ok(Reading { epoch, file, scan, crc, dead_from: u64::MAX, what: What::Copy })
    }

    /// Begins to read the log's segment, whose copy is so from a sequence on.
    fn read_segment(&mut self, epoch: u64, why: String, from: u64) {
        let Some((file, header, crc, dead_from)) = self.in_log(epoch) else {
            return self.cannot_mend(epoch, &why, "the log has that segment no more");
        };
        let mut scan = Scan::new(header, crc);
        if dead_from < u64::MAX {
            scan.set_durable(dead_from);
        }
        let what = What::Segment(why, from);
        self.mending.reading = Some(Reading { epoch, file, scan, crc, dead_from, what });
    }

    /// Of a copy that an earlier session made, how long it was is not known here: whether the log has
    /// a block behind the last of the copy.
    fn cut_before(&self, scan: &Scan, crc: u32, epoch: u64) -> Option<String> {
        if self.copied.contains_key(&epoch) {
            return None;
        }
        let (file, _, of_log, dead_from) = self.in_log(epoch)?;
        if of_log != crc {
            return Some("is of another segment".to_owned());
        }
        let mut blocks = Blocks::new().ok()?;
        let mut walk = blocks.go_on(&file, scan.clone(), crc);
        match walk.next_block() {
            Ok(Found::Block(block)) if block.header.sequence < dead_from => {
                Some(format!("was cut to {} bytes", scan.offset()))
            }
            _ => None,
        }
    }
}

fn header_of<F: StorageFile>(
    file: &F,
    epoch: u64,
    store: StoreId,
) -> Result<(SegmentHeader, u32), String> {
    let bad = |why: String| format!("is damaged ({why})");
    let mut unit = AlignedBuffer::unlocked(UNIT_BYTES).map_err(|e| bad(e.to_string()))?;
    let read = file.read_at(0, &mut unit).map_err(|e| bad(e.to_string()))?;
    let (header, crc) = SegmentHeader::decode(unit.get(..read).unwrap_or(&[]))
        .map_err(|error| bad(error.to_string()))?;
    if header.epoch == epoch && header.store == store {
        Ok((header, crc))
    } else {
        Err("is of another segment".to_owned())
    }
}

/// Reads the next piece and checks its blocks.
fn read_piece<F: StorageFile>(reading: &mut Reading<F>) -> Piece {
    let bad = |why: String| Piece::Bad(format!("is damaged ({why})"));
    let Ok(mut blocks) = Blocks::new() else { return Piece::More };
    let mut walk = blocks.go_on(&reading.file, reading.scan.clone(), reading.crc);
    walk.read_at_once(PIECE_BYTES);
    let begun = walk.scan().offset();
    let of_copy = matches!(reading.what, What::Copy);
    loop {
        if walk.scan().sequence() >= reading.dead_from {
            reading.scan = walk.scan().clone();
            return Piece::Whole;
        }
        let offset = walk.scan().offset();
        if offset - begun >= PIECE_BYTES as u64 {
            reading.scan = walk.scan().clone();
            return Piece::More;
        }
        let source = match walk.next_block() {
            Ok(Found::Block(_)) => continue,
            Ok(Found::End(End::Full)) => {
                reading.scan = walk.scan().clone();
                return Piece::Whole;
            }
            Ok(Found::End(End::Tail(source))) => source,
            Err(error) => return bad(error.to_string()),
        };
        reading.scan = walk.scan().clone();
        if of_copy {
            // A copy ends behind its last block.
            return match reading.file.size_bytes() {
                Ok(size) if size == offset => Piece::Whole,
                _ => bad(source.to_string()),
            };
        }
        return match walk.find_proof() {
            Ok(None) if !reading.scan.expects_more() => Piece::Whole,
            _ => bad(source.to_string()),
        };
    }
}
