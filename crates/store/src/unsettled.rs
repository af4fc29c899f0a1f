//! What of the log is in no run yet: the blocks behind the point that the manifest gives, and
//! their sample sections as parts that can be merged.

use crate::columns::Columns;
use crate::damage::{Damage, Loss};
use crate::facts::{SampleBlock, Wanted};
use crate::index::{Patience, SegmentIndex};
use crate::latest::Latest;
use crate::mask::Mask;
use crate::merge::{Part, Piece, Portion};
use crate::read::{LiveBlock, Notes, read_segment};
use crate::segments::SegmentRef;
use crate::{Error, Result, SegmentFile, Store};
use baro_log::{Blocks, kept_epochs};
use baro_ondisk::{Kind, SampleColumns, Samples, Section};
use std::collections::HashMap;
use std::ops::{ControlFlow, Range};
use std::sync::{Arc, PoisonError};

mod reader;

use self::reader::BlockReader;

/// A text sample of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TextSample {
    pub(crate) series: u32,
    pub(crate) time_ns: i64,
    pub(crate) text: String,
}

impl TextSample {
    pub(crate) fn bytes(&self) -> usize {
        self.text.len() + size_of::<TextSample>()
    }
}

/// Some or all of it, as it was when the store was opened or refreshed last.
#[derive(Debug, Default)]
pub(crate) struct Unsettled {
    /// In the order of recording.
    pub(crate) parts: Vec<LogPart>,
    /// Shared with what is kept, for a query may ask for them again and again.
    pub(crate) texts: Vec<Arc<TextSample>>,
    pub(crate) notes: Notes,
}

/// Most bytes of it that a reader holds: some 30 million samples at least.
const BYTES_MAX: usize = 512 << 20;

/// A block that is in no run, and its segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known<'a> {
    pub(crate) entry: &'a SegmentIndex,
    pub(crate) block: SampleBlock,
}

impl Known<'_> {
    /// Its place in the order of recording.
    pub(crate) fn key(&self) -> (u64, u64) {
        (self.entry.segment.header.epoch, self.block.sequence)
    }
}

/// What one block has.
#[derive(Debug)]
struct OfBlock {
    part: Option<LogPart>,
    texts: Vec<Arc<TextSample>>,
    notes: Notes,
    bytes: usize,
}

/// What was read of blocks, by epoch and sequence.
#[derive(Debug, Default)]
pub(crate) struct KeptBlocks {
    blocks: HashMap<(u64, u64), Arc<OfBlock>>,
    bytes: usize,
}

impl KeptBlocks {
    /// Without what earlier questions asked for, if there is no room.
    fn put(&mut self, key: (u64, u64), block: Arc<OfBlock>) {
        if self.bytes + block.bytes > BYTES_MAX {
            *self = KeptBlocks::default();
        }
        self.bytes += block.bytes;
        self.blocks.insert(key, block);
    }
}

/// The samples of one block.
#[derive(Debug)]
pub(crate) struct LogPart {
    held: Held,
    pieces: Arc<[Piece]>,
    /// File and offset of the block.
    place: (SegmentFile, u64),
    /// Pieces that do not decode though the block's CRC is right: they were written so, and are left
    /// out.
    pub(crate) damage: Vec<Damage>,
    /// What of it has been deleted.
    mask: Option<Mask>,
}

#[derive(Clone, Debug)]
enum Held {
    /// The sample section, as it is in the block.
    Section(Arc<[u8]>),
    /// Of a block that has its samples in order of arrival: sorted.
    Columns(Arc<Columns>),
}

/// Samples of a piece of sorted columns.
const PIECE_SAMPLES: usize = 1024;

impl LogPart {
    /// Of a section that has been decoded, and whose bytes these are.
    pub(crate) fn new(section: &Section<'_>, bytes: Arc<[u8]>, place: (SegmentFile, u64)) -> Self {
        let strips = (0..section.strips()).filter_map(|at| section.strip(at));
        let pieces = strips.map(|strip| Piece {
            first_series: strip.first_series,
            last_series: strip.last_series,
            time_min_ns: strip.time_min_ns,
            time_max_ns: strip.time_max_ns,
            samples: strip.samples,
        });
        let pieces = pieces.collect();
        LogPart { held: Held::Section(bytes), pieces, place, damage: Vec::new(), mask: None }
    }

    /// Of samples in order of arrival.
    fn sorted(arrived: Columns, place: (SegmentFile, u64)) -> Self {
        let sorted = Portion::of(&arrived);
        let pieces = (0..sorted.len()).step_by(PIECE_SAMPLES).filter_map(|start| {
            let end = sorted.len().min(start + PIECE_SAMPLES);
            let times_ns = sorted.times_ns.get(start..end)?;
            Some(Piece {
                first_series: *sorted.series.get(start)?,
                last_series: *sorted.series.get(end - 1)?,
                time_min_ns: *times_ns.iter().min()?,
                time_max_ns: *times_ns.iter().max()?,
                samples: (end - start) as u32,
            })
        });
        let pieces = pieces.collect();
        let held = Held::Columns(Arc::new(sorted));
        LogPart { held, pieces, place, damage: Vec::new(), mask: None }
    }

    /// Another reader of the same section.
    pub(crate) fn share(&self) -> Self {
        let (held, pieces) = (self.held.clone(), Arc::clone(&self.pieces));
        LogPart { held, pieces, place: self.place, damage: Vec::new(), mask: self.mask.clone() }
    }

    /// Earliest and latest time in it.
    pub(crate) fn times_ns(&self) -> (i64, i64) {
        let min = self.pieces.iter().map(|piece| piece.time_min_ns).min();
        let max = self.pieces.iter().map(|piece| piece.time_max_ns).max();
        (min.unwrap_or(i64::MAX), max.unwrap_or(i64::MIN))
    }

    /// Pieces that can hold a series.
    pub(crate) fn find(&self, series: u32) -> Range<usize> {
        let start = self.pieces.partition_point(|piece| piece.last_series < series);
        let end = self.pieces.partition_point(|piece| piece.first_series <= series);
        start..end.max(start)
    }

    pub(crate) fn bytes(&self) -> usize {
        let held = match &self.held {
            Held::Section(bytes) => bytes.len(),
            Held::Columns(columns) => columns.len() * 20,
        };
        held + self.pieces.len() * size_of::<Piece>()
    }

    pub(crate) fn samples(&self) -> u64 {
        self.pieces.iter().map(|piece| u64::from(piece.samples)).sum()
    }
}

impl Part for LogPart {
    fn pieces(&self) -> usize {
        self.pieces.len()
    }

    fn piece(&self, at: usize) -> Piece {
        self.pieces.get(at).copied().unwrap_or(Piece::EMPTY)
    }

    fn decode(&mut self, at: usize, scratch: &mut SampleColumns, to: &mut Columns) -> Result<()> {
        let bytes = match &self.held {
            Held::Section(bytes) => bytes,
            Held::Columns(columns) => {
                let start = at * PIECE_SAMPLES;
                to.extend(columns, start..columns.len().min(start + PIECE_SAMPLES));
                return Ok(());
            }
        };
        let decoded = Section::decode(bytes).and_then(|section| section.decode_strip(at, scratch));
        if let Err(error) = decoded {
            let (file, offset) = self.place;
            let samples = u64::from(self.piece(at).samples);
            let damage = Damage::format(&file.name(), error.at(offset), Loss::Samples(samples));
            self.damage.push(damage);
            return Ok(());
        }
        let before = to.len();
        to.series.extend_from_slice(&scratch.series);
        to.times_ns.extend_from_slice(&scratch.times_ns);
        to.bits.extend_from_slice(&scratch.bits);
        if let Some(mask) = &self.mask {
            mask.retain(to, before);
        }
        Ok(())
    }
}

impl Store {
    /// Segments that may hold blocks which are in no run.
    fn unsettled_segments(&self) -> Result<impl Iterator<Item = &SegmentIndex>> {
        let settled = self.settled();
        let segments = self.recent()?.segments.iter();
        Ok(segments.filter(move |s| s.segment.header.epoch >= settled.epoch))
    }

    /// Blocks that are in no run and may have some of what is wanted, in the order of recording.
    pub(crate) fn unsettled_with(&self, wanted: &Wanted) -> Result<Vec<Known<'_>>> {
        let found = match Latest::new(self, self.lately()?, wanted)?.all()? {
            Some(found) => Some(found),
            None => Latest::new(self, self.recent()?, wanted)?.all()?,
        };
        Ok(found.unwrap_or_default())
    }

    /// What these blocks have, which are in the order of recording. What was read is held until the
    /// next refresh, as far as there is room.
    ///
    /// # Errors
    /// The operating system refuses; a block was recycled; it is more than a reader should hold.
    pub(crate) fn unsettled(&self, blocks: &[Known<'_>]) -> Result<Unsettled> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut found, mut bytes) = (Unsettled::default(), 0);
        let mut reader = BlockReader::new(self)?;
        for (at, known) in blocks.iter().enumerate() {
            let of_block = match held.blocks.get(&known.key()) {
                Some(of_block) => Arc::clone(of_block),
                None => {
                    let read = Arc::new(reader.read(blocks.get(at..).unwrap_or(&[]))?);
                    held.put(known.key(), Arc::clone(&read));
                    read
                }
            };
            bytes += of_block.bytes;
            if bytes > BYTES_MAX {
                return Err(Error::Unsettled { path: self.path.clone(), limit_bytes: BYTES_MAX });
            }
            found.parts.extend(of_block.part.as_ref().map(LogPart::share));
            found.texts.extend_from_slice(&of_block.texts);
            found.notes.add(of_block.notes.clone());
        }
        Ok(found)
    }

    /// The first segment that is in no run, was reused between the look at the headers and now, and has
    /// a copy: only a new look finds that.
    pub(crate) fn missed_copy(&self) -> Result<Option<u64>> {
        let index = self.recent()?;
        if index.recycled == 0 {
            return Ok(None);
        }
        let seen = |epoch: &u64| index.of_epoch(*epoch).is_some();
        let in_log = |epoch: &u64| {
            let is = |s: &&SegmentRef| s.header.epoch == *epoch;
            let found = self.segments.started.iter().find(is);
            found.is_some_and(|s| matches!(s.file, SegmentFile::Log(_)))
        };
        let copies = kept_epochs(&self.storage)?.into_iter();
        let mut copies = copies.filter(|epoch| *epoch >= self.settled().epoch);
        Ok(copies.find(|epoch| in_log(epoch) && !seen(epoch)))
    }

    /// Calls `each` with every live block that is in no run, in the order of writing, until it
    /// breaks. Segments for which `segment` says no are passed over. False, and no further, where one is
    /// reused meanwhile of which there is a copy: its samples may be in no run.
    pub(crate) fn unsettled_blocks(
        &self,
        mut segment: impl FnMut(&SegmentIndex) -> bool,
        mut each: impl FnMut(&SegmentIndex, &LiveBlock<'_>, &mut Notes) -> Result<ControlFlow<()>>,
    ) -> Result<(Notes, bool)> {
        let segments = self.unsettled_segments()?;
        // Known once it is known where the segment ends to which that has come.
        let (settled, mut buffer) = (self.settled(), Blocks::new()?);
        let (mut notes, mut patience) = (Notes::default(), Patience::new(self.identity.when_full));
        for entry in segments {
            if !segment(entry) {
                continue;
            }
            let before = notes.blocks_recycled;
            let flow = read_segment(
                (&self.storage, self.access),
                &mut buffer,
                &mut patience,
                entry,
                &mut notes,
                &self.runs.deletions,
                |block, notes| {
                    if settled.covers(entry.segment.header.epoch, block.block.header.sequence) {
                        return Ok(ControlFlow::Continue(()));
                    }
                    each(entry, block, notes)
                },
            )?;
            if flow.is_break() {
                break;
            }
            let epoch = entry.segment.header.epoch;
            if notes.blocks_recycled > before && kept_epochs(&self.storage)?.contains(&epoch) {
                return Ok((notes, false));
            }
        }
        Ok((notes, true))
    }
}

/// The samples of a block, if it has any; damage goes to the notes.
pub(crate) fn samples_of(live: &LiveBlock<'_>, notes: &mut Notes) -> Option<LogPart> {
    match live.block.section() {
        Ok(Some(section)) => {
            let place = (live.file, live.offset);
            let part = LogPart::new(&section, live.block.section_bytes().into(), place);
            return Some(LogPart { mask: live.mask.cloned(), ..part });
        }
        Ok(None) => {}
        Err(error) => {
            notes.undecoded(live, error, 0);
            return None;
        }
    }
    // What does not decode is told by whoever reads records.
    let mut arrived = Columns::default();
    for chunk in live.block.chunks().map_while(std::result::Result::ok) {
        for record in chunk.records().map_while(std::result::Result::ok) {
            if record.kind != Kind::Samples {
                continue;
            }
            let Ok(samples) = Samples::decode(record.payload, record.time_ns) else { continue };
            for (series, time_ns, bits) in samples.iter() {
                if live.mask.is_none_or(|mask| !mask.hides(series, time_ns)) {
                    arrived.append(series, &[time_ns], &[bits]);
                }
            }
        }
    }
    (!arrived.is_empty()).then(|| LogPart::sorted(arrived, (live.file, live.offset)))
}

/// The text samples of a block, in order of arrival.
pub(crate) fn texts_of(live: &LiveBlock<'_>, notes: &mut Notes, mut each: impl FnMut(TextSample)) {
    for chunk in live.block.chunks() {
        let Ok(chunk) = chunk else { continue };
        // What does not decode is told by whoever reads records.
        for record in chunk.records().map_while(std::result::Result::ok) {
            let deleted = |mask: &Mask| mask.hides(record.stream, record.time_ns);
            if record.kind != Kind::Text || live.mask.is_some_and(deleted) {
                continue;
            }
            match std::str::from_utf8(record.payload) {
                Ok(text) => each(TextSample {
                    series: record.stream,
                    time_ns: record.time_ns,
                    text: text.to_owned(),
                }),
                Err(_) => {
                    let (what, offset) = (baro_ondisk::What::Record, 0);
                    let error = baro_ondisk::Error::NotUtf8 { what, offset };
                    notes.undecoded(live, error, u64::from(live.block.header.records) - 1);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use baro_ondisk::{SampleStage, section_bytes_max};

    /// A block whose CRC is right may have been written wrong: by a bad memory, or by someone.
    #[test]
    fn a_strip_that_does_not_decode_is_named_and_left_out_and_the_others_are_read() {
        const SAMPLES: usize = 3000;
        let mut stage = SampleStage::new(section_bytes_max(SAMPLES));
        let (series, times, bits) = stage.add(SAMPLES).unwrap();
        for at in 0..SAMPLES {
            (series[at], times[at]) = (1 + at as u32 % 50, at as i64 * 1000);
            bits[at] = (at as f64 * 0.37).sin().to_bits();
        }
        let mut bytes = vec![0; section_bytes_max(SAMPLES)];
        let encoded = stage.encode(&mut bytes).unwrap();
        bytes.truncate(encoded.bytes);
        let read = |bytes: &[u8]| {
            let section = Section::decode(bytes).ok()?;
            let mut part = LogPart::new(&section, bytes.into(), (SegmentFile::Log(7), 4096));
            let (mut scratch, mut all) = (SampleColumns::default(), Columns::default());
            for at in 0..part.pieces() {
                let before = all.len();
                part.decode(at, &mut scratch, &mut all).unwrap();
                let samples = all.len() - before;
                assert!(samples == 0 || samples == part.piece(at).samples as usize);
            }
            Some((all.len(), part.damage))
        };
        assert_eq!(read(&bytes), Some((SAMPLES, Vec::new())));
        let mut named = 0;
        for at in 0..bytes.len() {
            let byte = bytes[at];
            bytes[at] = !byte;
            if let Some((samples, damage)) = read(&bytes) {
                let lost: u64 = damage
                    .iter()
                    .map(|damage| match damage.loss {
                        Loss::Samples(samples) => samples,
                        _ => panic!("{damage}"),
                    })
                    .sum();
                assert!(damage.iter().all(|damage| damage.offset >= 4096), "{damage:?}");
                assert_eq!(samples as u64 + lost, SAMPLES as u64, "{at}: {damage:?}");
                named += damage.len();
            }
            bytes[at] = byte;
        }
        assert!(named > 10, "{named}");
    }
}
