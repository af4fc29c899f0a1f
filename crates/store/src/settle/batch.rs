//! What one step takes from the log.

use super::pace::Pace;
use super::passed::passed_over;
use super::{Extent, SettleOptions};
use crate::damage::{Damage, Loss};
use crate::read::Notes;
use crate::segments::SegmentRef;
use crate::unsettled::{LogPart, TextSample, samples_of, texts_of};
use crate::{Result, Store};
use baro_log::Held;
use baro_ondisk::Settled;
use baro_sys::clock;
use std::ops::ControlFlow;

/// Blocks of the log, the oldest first, and how far the log is settled once they are in a run.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub(super) parts: Vec<LogPart>,
    pub(super) texts: Vec<TextSample>,
    pub(super) settled: Settled,
    pub(super) bytes: u64,
    /// It was cut off by the memory given.
    pub(super) full: bool,
    /// It ends before a segment that was reused meanwhile and has a copy, which the next look finds.
    pub(super) again: bool,
    pub(super) notes: Notes,
    /// Blocks of segments that are settled whole now which were damaged or missing.
    pub(super) lost_blocks: u64,
}

/// Bytes of blocks read from rest to rest.
const PIECE_BYTES: u64 = 8 << 20;

/// Bytes that a text takes beside its letters.
const TEXT_BYTES: u64 = 48;

/// Takes what may be settled.
pub(super) fn take(
    store: &Store,
    options: &SettleOptions,
    pace: &Pace,
    recording: bool,
) -> Result<Batch> {
    pace.taken().begin(store.settled());
    // The newest session may still supersede what it cannot prove durable.
    let segments = &store.recent()?.segments;
    let mut batch = Batch { settled: store.settled(), ..Batch::default() };
    let newest = segments.iter().map(|s| s.segment.header.session).max();
    let of_newest = segments.iter().filter(|s| Some(s.segment.header.session) == newest);
    let proven = of_newest.map(|s| s.durable).max().unwrap_or(0);
    let limit = options.memory_bytes as u64;
    // From there on only the next look sees all.
    let outdated = store.missed_copy()?.unwrap_or(u64::MAX);
    let mut ended = outdated != u64::MAX;
    batch.again = ended;
    // Where no series is declared and no block has samples, no block has to be read. Samples are
    // recorded without a declaration too.
    let catalog = &store.catalog;
    let sections = segments.iter().any(|entry| entry.section_bytes > 0);
    if !sections && catalog.channels() == catalog.len() && catalog.damage().is_empty() {
        let last_epoch = segments.last().map(|entry| entry.segment.header.epoch);
        for entry in segments.iter().filter(|entry| entry.segment.header.epoch < outdated) {
            let header = &entry.segment.header;
            let newest = recording && Some(header.session) == newest;
            let (end, whole) = match newest {
                true => (entry.live.end.min(proven), entry.live.end <= proven),
                false => (entry.live.end, true),
            };
            let settled = Settled { epoch: header.epoch, end };
            batch.settled = batch.settled.max(settled);
            // In the last one samples may follow.
            if Some(header.epoch) != last_epoch {
                pace.taken().empty(header.epoch);
            }
            if !whole {
                return Ok(batch);
            }
        }
        if let Some(last) = segments.last().filter(|_| !recording && !ended) {
            batch.settled = Settled { epoch: last.segment.header.epoch + 1, end: 0 };
        }
        return Ok(batch);
    }
    let (mut since_ns, mut read) = (clock::monotonic_ns(), 0);
    let (notes, seen) = store.unsettled_blocks(
        |segment| segment.segment.header.epoch < outdated,
        |segment, live, notes| {
            let header = &segment.segment.header;
            let sequence = live.block.header.sequence;
            if recording && Some(header.session) == newest && sequence >= proven {
                // All before this segment was taken. Where no block of it is certain yet, that is said: its
                // session may wait for the room of what an earlier one has left. Not of its own epoch: after
                // a failure one may be missing before it, and the header of this one be lost with the power.
                let before = segments.iter().map(|s| s.segment.header.epoch);
                let before = before.filter(|epoch| *epoch < header.epoch).max();
                let all =
                    before.map_or(batch.settled, |epoch| Settled { epoch: epoch + 1, end: 0 });
                batch.settled = batch.settled.max(all);
                ended = true;
                return Ok(ControlFlow::Break(()));
            }
            // Asked to end, it takes no more than it has.
            if batch.bytes >= limit || pace.ended() {
                batch.full = true;
                return Ok(ControlFlow::Break(()));
            }
            read += live.block.header.block_bytes() as u64;
            if read >= PIECE_BYTES {
                (since_ns, read) = (pace.rest(since_ns)?, 0);
            }
            let held = (u64::from(live.block.header.records), live.block.samples().unwrap_or(0));
            pace.taken().read(header.epoch, Held { records: held.0, samples: held.1 });
            if let Some(part) = samples_of(live, notes) {
                batch.bytes += part.bytes() as u64;
                batch.parts.push(part);
            }
            let (texts, bytes) = (&mut batch.texts, &mut batch.bytes);
            texts_of(live, notes, |text| {
                *bytes += text.text.len() as u64 + TEXT_BYTES;
                texts.push(text);
            });
            batch.settled = Settled { epoch: header.epoch, end: sequence + 1 };
            Ok(ControlFlow::Continue(()))
        },
    )?;
    batch.notes = notes;
    batch.again |= !seen;
    if !ended
        && seen
        && !batch.full
        && !recording
        && let Some(last) = segments.last()
    {
        // The next open starts a segment of its own: this one is settled whole.
        batch.settled = Settled { epoch: last.segment.header.epoch + 1, end: 0 };
    }
    let index = store.recent()?.damage.iter();
    let met = index.chain(&batch.notes.damage);
    batch.lost_blocks = met.map(|damage| lost(store, damage, batch.settled.epoch)).sum();
    batch.lost_blocks += u64::from(store.short.get().is_some());
    let passed = passed_over(store, batch.settled)?;
    batch.lost_blocks += passed.lost_blocks;
    batch.notes.damage.extend(passed.damage);
    Ok(batch)
}

/// Blocks that this damage takes from what is settled once that has come to `epoch`: told when the
/// segment is settled whole, since until then it is looked at again.
fn lost(store: &Store, damage: &Damage, epoch: u64) -> u64 {
    let before = store.settled().epoch;
    let of = |segment: &&SegmentRef| segment.file.name() == damage.file;
    let found = store.segments.started.iter().find(of).map(|segment| segment.header.epoch);
    match damage.loss {
        _ if !found.is_some_and(|found| (before..epoch).contains(&found)) => 0,
        Loss::Blocks(blocks) => blocks,
        Loss::Records(_) | Loss::Samples(_) | Loss::Segment => 1,
        _ => 0,
    }
}

impl Batch {
    /// Whether a run is worth being written.
    pub(super) fn enough(&self, extent: Extent, options: &SettleOptions) -> bool {
        match extent {
            Extent::All => true,
            Extent::Enough => self.full || self.bytes >= options.least_bytes,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]
mod tests {
    use super::*;
    use crate::settle::Settler;
    use baro_log::{Geometry, KEPT, init, kept_name, segment_name};
    use baro_ondisk::{SegmentHeader, StoreId, Type, WhenFull};
    use baro_recorder::{Options, Recorder, Rings};
    use baro_sys::disk::Disk;
    use baro_sys::storage::{Access, Storage, StorageFile};

    /// A segment is copied out for a pin and reused after a settler has looked at the headers, or after
    /// it has looked which blocks are live: the next step finds the copy.
    #[test]
    fn what_is_reused_while_it_is_settled_is_settled_from_its_copy() {
        let path = std::env::temp_dir().join(format!("baro-settle-again-{}", std::process::id()));
        for indexed in [false, true] {
            let _ = std::fs::remove_dir_all(&path);
            let disk = Disk::create(&path).unwrap();
            let (segment_bytes, when_full) = (1 << 20, WhenFull::Recycle);
            let geometry =
                Geometry { segment_bytes, segments: 4, catalog_bytes: 1 << 20, when_full };
            init(&disk, &path, StoreId([7; 16]), 1, &geometry, |_| {}).unwrap();
            for session in 0..2 {
                let options = Options { rings: Rings::Private, ..Options::default() };
                let recorder = Recorder::open(&path, options).unwrap();
                let id = recorder.declare(&[("s", Type::I64, "")]).unwrap()[0];
                let mut producer = recorder.producer().unwrap();
                producer.push_words(&[session], &[id], &[session]).unwrap();
                assert_eq!(recorder.close().left, 0);
            }
            let mut settler = Settler::open(&path, SettleOptions::default()).unwrap();
            if indexed {
                settler.store().recent().unwrap();
            }
            // Both sessions have a segment of one block: the first one's is the first of the log.
            let file = disk.open(&segment_name(0), Access::Write).unwrap();
            let mut bytes = vec![0; 1 << 20];
            file.read_at(0, &mut bytes).unwrap();
            let (header, _) = SegmentHeader::decode(&bytes[..4096]).unwrap();
            disk.create_folder(KEPT).unwrap();
            let copy = disk.create(&kept_name(header.epoch)).unwrap();
            let blocks = &settler.store().index().unwrap().segments[0];
            copy.write_at(0, &bytes[..4096 + blocks.bytes as usize]).unwrap();
            let reused = SegmentHeader { epoch: 9, session: header.session + 9, ..header };
            file.write_at(0, &reused.encode().0).unwrap();
            file.write_at(4096, &[0; 8192]).unwrap();
            let mut report = crate::Settled::default();
            settler.settle_log(Extent::All, false, &mut report).unwrap();
            assert!(report.more && report.samples == 0, "{indexed}: {report:?}");
            while settler.step(Extent::All).unwrap().more {}
            let runs = &settler.store().runs.manifest.runs;
            assert_eq!(runs.iter().map(|run| run.samples).sum::<u64>(), 2, "{indexed}");
        }
        std::fs::remove_dir_all(&path).unwrap();
    }

    /// A session has only blocks that nothing proves durable yet: what an older one left is settled whole
    /// all the same. The recorder may wait for its room, and then nothing proves more.
    #[test]
    fn an_older_session_is_settled_whole_beside_one_that_proves_nothing() {
        let path = std::env::temp_dir().join(format!("baro-settle-older-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        let disk = Disk::create(&path).unwrap();
        let (segment_bytes, when_full) = (1 << 20, WhenFull::Recycle);
        let geometry = Geometry { segment_bytes, segments: 2, catalog_bytes: 1 << 20, when_full };
        init(&disk, &path, StoreId([7; 16]), 1, &geometry, |_| {}).unwrap();
        let open = || {
            let options = Options { rings: Rings::Private, ..Options::default() };
            let recorder = Recorder::open(&path, options).unwrap();
            let id = recorder.declare(&[("s", Type::I64, "")]).unwrap()[0];
            let mut producer = recorder.producer().unwrap();
            producer.push_words(&[1], &[id], &[1]).unwrap();
            recorder.flush(u64::MAX).unwrap();
            (recorder, producer)
        };
        assert_eq!(open().0.close().left, 0);
        let recorder = open().0;
        let mut settler = Settler::open(&path, SettleOptions::default()).unwrap();
        while settler.step(Extent::All).unwrap().more {}
        assert_eq!(settler.store().settled(), Settled { epoch: 2, end: 0 });
        assert_eq!(recorder.close().left, 0);
        std::fs::remove_dir_all(&path).unwrap();
    }
}
