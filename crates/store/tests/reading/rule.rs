//! The reading rule on logs written by hand: restarts, torn tails, holes with and without proof,
//! recycled beginnings; and who is told what.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]
use crate::common::Folder;
use baro_log::segment_name;
use baro_ondisk::limits::UNIT_BYTES;
use baro_ondisk::{
    BlockBuilder, BlockHeader, DeadTail, Kind, SegmentHeader, SegmentKind, StoreId, WhenFull,
};
use baro_store::{Damage, Filter, Interval, Loss, Reading, Store, verify};
use baro_sys::storage::Access;
use std::os::unix::fs::FileExt;

use std::collections::BTreeMap;
use std::ops::ControlFlow;

const STORE: StoreId = StoreId(*b"store id of test");

/// Writes segments of one session. Block n holds record n, whose time is n; `version` tells two
/// attempts at the same block apart.
struct Hand<'a> {
    folder: &'a Folder,
    session: u64,
    epoch: u64,
    /// CRC of the block after which a segment may start.
    crcs: BTreeMap<u64, u32>,
    dead: Vec<DeadTail>,
}

/// (offset, bytes) of each block.
type Places = Vec<(u64, usize)>;

impl Hand<'_> {
    fn segment(
        &mut self,
        index: u32,
        blocks: std::ops::Range<u64>,
        lag: u64,
        version: u8,
    ) -> Places {
        self.epoch += 1;
        let header = SegmentHeader {
            kind: SegmentKind::Log,
            store: STORE,
            session: self.session,
            epoch: self.epoch,
            index,
            previous_crc: self.crcs.get(&blocks.start).copied().unwrap_or(0),
            segment_bytes: 1 << 20,
            first_block: blocks.start,
            realtime_ns: 0,
            boottime_ns: 0,
            boot_id: [0; 16],
        };
        let path = self.folder.0.join(segment_name(index));
        let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
        let (bytes, mut crc) = header.encode_with(&self.dead, &baro_ondisk::Wear::default(), None);
        file.write_all_at(&bytes, 0).unwrap();
        let mut offset = UNIT_BYTES as u64;
        let mut places = Vec::new();
        let mut builder = BlockBuilder::new(1);
        for sequence in blocks {
            let mut buffer = vec![0; UNIT_BYTES];
            let fill = |to: &mut [u8]| to.fill(version);
            assert!(builder.push(
                &mut buffer,
                7,
                Kind::Frame,
                1,
                sequence,
                sequence as i64,
                9,
                fill
            ));
            let start = BlockHeader {
                store: STORE,
                session: self.session,
                epoch: self.epoch,
                sequence,
                durable: sequence.saturating_sub(lag),
                previous_crc: crc,
                ..BlockHeader::default()
            };
            let header = builder.finish(&mut buffer, start);
            crc = header.crc;
            self.crcs.insert(sequence + 1, crc);
            file.write_all_at(&buffer, offset).unwrap();
            places.push((offset, header.block_bytes()));
            offset += header.block_bytes() as u64;
        }
        places
    }

    fn tear(&self, index: u32, (offset, _): (u64, usize), at: u64) {
        let path = self.folder.0.join(segment_name(index));
        let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
        file.write_all_at(&[0xee; 4], offset + at).unwrap();
    }
}

fn hand(name: &str, when_full: WhenFull) -> (Folder, u64) {
    (Folder::init(name, 5, when_full), 0)
}

/// (block, version) of all that is live, in both orders; all damage.
fn live(folder: &Folder) -> (Vec<(u64, u8)>, Vec<Damage>, u64) {
    let store = Store::open(&folder.0).unwrap();
    let mut written = Vec::new();
    store
        .records_as_written(|record| {
            written.push((record.sequence, record.payload[0]));
            ControlFlow::Continue(())
        })
        .unwrap();
    let mut timed = Vec::new();
    let each = |record: &baro_store::RecordRef<'_>| {
        timed.push((record.sequence, record.payload[0]));
        ControlFlow::Continue(())
    };
    store.records(Interval::ALL, &Filter::all(), &Reading::default(), each).unwrap();
    assert_eq!(written, timed);
    let report = verify(&store, Access::Read, |_, _| {}).unwrap();
    assert_eq!(report.records, written.len() as u64);
    // The catalog of these stores is blank; that is not what is looked at.
    let damage = report.damage.into_iter().filter(|d| d.file != "catalog").collect();
    (written, damage, report.dead_blocks)
}

fn blocks(range: std::ops::Range<u64>, version: u8) -> Vec<(u64, u8)> {
    range.map(|n| (n, version)).collect()
}

#[test]
fn a_restart_supersedes_what_it_repeats() {
    let (folder, epoch) = hand("restart", WhenFull::Stop);
    let mut hand =
        Hand { session: 1 << 32, folder: &folder, epoch, crcs: BTreeMap::new(), dead: Vec::new() };
    hand.segment(0, 0..10, 3, 1);
    hand.segment(1, 6..8, 3, 2);
    hand.segment(2, 6..9, 3, 3);
    let expected = [blocks(0..6, 1), blocks(6..9, 3)].concat();
    assert_eq!(live(&folder), (expected, vec![], 6));
}

#[test]
fn a_dead_tail_stays_dead_without_the_header_that_superseded_it() {
    let (folder, epoch) = hand("dead", WhenFull::Recycle);
    let mut hand =
        Hand { session: 1 << 32, folder: &folder, epoch, crcs: BTreeMap::new(), dead: Vec::new() };
    hand.segment(0, 0..10, 3, 1);
    // What started again at block 6 has been recycled, by a segment whose header repeats it.
    hand.epoch += 1;
    hand.crcs.insert(9, 0);
    hand.dead.push(DeadTail { epoch: epoch + 1, end: 6, index: 0, end_only: false });
    hand.segment(2, 9..12, 0, 2);
    hand.segment(1, 12..14, 0, 2);
    let expected = [blocks(0..6, 1), blocks(9..14, 2)].concat();
    assert_eq!(live(&folder), (expected, vec![], 4));
}

#[test]
fn a_torn_tail_is_normal_and_what_follows_it_is_dead() {
    // In a header and in a payload; the block behind it is whole but never was durable.
    for at in [10, 130] {
        let (folder, epoch) = hand("torn", WhenFull::Stop);
        let mut hand = Hand {
            session: 1 << 32,
            folder: &folder,
            epoch,
            crcs: BTreeMap::new(),
            dead: Vec::new(),
        };
        let places = hand.segment(0, 0..10, 4, 1);
        hand.tear(0, places[8], at);
        let (found, damage, _) = live(&folder);
        assert_eq!((found, damage), (blocks(0..8, 1), vec![]));
        // A later segment of the session whose blocks prove nothing does not change that.
        hand.segment(1, 10..11, 4, 1);
        let (found, damage, _) = live(&folder);
        assert_eq!((found, damage), (blocks(0..8, 1), vec![]));
    }
}

#[test]
fn a_hole_that_was_durable_is_damage_and_reading_goes_on() {
    for at in [10, 130] {
        let (folder, epoch) = hand("hole", WhenFull::Stop);
        let mut hand = Hand {
            session: 1 << 32,
            folder: &folder,
            epoch,
            crcs: BTreeMap::new(),
            dead: Vec::new(),
        };
        let places = hand.segment(0, 0..20, 4, 1);
        hand.tear(0, places[8], at);
        let (found, damage, _) = live(&folder);
        assert_eq!(found, [blocks(0..8, 1), blocks(9..20, 1)].concat());
        assert_eq!(damage.len(), 1, "{damage:?}");
        assert_eq!(
            (damage[0].file.as_str(), damage[0].loss),
            ("log/00000000.seg", Loss::Blocks(1))
        );
        let (offset, bytes) = places[8];
        assert!((offset..offset + bytes as u64).contains(&damage[0].offset));
    }
}

#[test]
fn a_tail_that_a_later_segment_proves_durable_is_damage() {
    let (folder, epoch) = hand("proof", WhenFull::Stop);
    let mut hand =
        Hand { session: 1 << 32, folder: &folder, epoch, crcs: BTreeMap::new(), dead: Vec::new() };
    let places = hand.segment(0, 0..10, 4, 1);
    hand.segment(1, 10..14, 1, 1);
    hand.tear(0, places[9], 10);
    let (found, damage, _) = live(&folder);
    assert_eq!(found, [blocks(0..9, 1), blocks(10..14, 1)].concat());
    assert_eq!(damage.iter().map(|d| d.loss).collect::<Vec<_>>(), [Loss::Blocks(1)]);
}

#[test]
fn missing_beginnings_are_normal_only_where_segments_are_recycled() {
    for when_full in [WhenFull::Stop, WhenFull::Recycle] {
        let (folder, epoch) = hand("begin", when_full);
        let mut hand = Hand {
            session: 1 << 32,
            folder: &folder,
            epoch,
            crcs: BTreeMap::new(),
            dead: Vec::new(),
        };
        hand.segment(0, 0..4, 1, 1);
        hand.segment(1, 4..8, 1, 1);
        hand.segment(2, 8..12, 1, 1);
        // Started anew, by a session that wrote nothing: as recycling does, oldest first.
        let blank = std::fs::read(folder.0.join(segment_name(4))).unwrap();
        let mut header = SegmentHeader::decode(&blank).unwrap().0;
        header.index = 0;
        let path = folder.0.join(segment_name(0));
        let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
        file.write_all_at(&header.encode().0, 0).unwrap();
        let (found, damage, _) = live(&folder);
        assert_eq!(found, blocks(4..12, 1));
        let losses: Vec<_> = damage.iter().map(|d| d.loss).collect();
        let expected: &[Loss] = if when_full == WhenFull::Stop { &[Loss::Blocks(4)] } else { &[] };
        assert_eq!(losses, expected);
    }
}

#[test]
fn wear_is_what_the_newest_header_counts_and_what_came_behind_it() {
    let (folder, epoch) = hand("wear", WhenFull::Stop);
    let mut hand =
        Hand { session: 1 << 32, folder: &folder, epoch, crcs: BTreeMap::new(), dead: Vec::new() };
    // As a reader counts it, and as the next recorder does.
    let log_bytes = || {
        let read = Store::open(&folder.0).unwrap().info().unwrap().wear.log_bytes;
        let disk = baro_sys::disk::Disk::open(&folder.0).unwrap();
        (read, baro_log::recover(&disk, &folder.0).unwrap().wear.log_bytes)
    };
    let unit = UNIT_BYTES as u64;
    assert_eq!(log_bytes(), (0, 0));
    hand.segment(0, 0..3, 1, 1);
    assert_eq!(log_bytes(), (4 * unit, 4 * unit));
    // Of the next there is only the header, which would count what came before; by hand it has 0.
    hand.segment(1, 3..3, 1, 1);
    assert_eq!(log_bytes(), (unit, unit));
}

#[test]
fn a_log_that_two_have_written_is_not_whole() {
    let (folder, epoch) = hand("rule-mixed", WhenFull::Recycle);
    let mut hand =
        Hand { session: 1 << 32, folder: &folder, epoch, crcs: BTreeMap::new(), dead: Vec::new() };
    // One after the other is as it should be.
    hand.segment(0, 0..3, 1, 1);
    hand.session = 2 << 32;
    let first = std::mem::take(&mut hand.crcs);
    hand.segment(1, 0..3, 1, 2);
    let damage = || -> Vec<Damage> {
        let report = verify(&Store::open(&folder.0).unwrap(), Access::Read, |_, _| {}).unwrap();
        // The catalog of these stores is blank; that is not what is looked at.
        report.damage.into_iter().filter(|damage| damage.file != "catalog").collect()
    };
    assert_eq!(damage(), []);
    // The first goes on as if the second were not there, in a segment of its own: both chains are
    // whole, and what either has recycled of the other leaves no hole.
    hand.session = 1 << 32;
    hand.crcs = first;
    hand.segment(2, 3..5, 1, 1);
    hand.segment(3, 5..6, 1, 1);
    let damage = damage();
    let said: Vec<String> = damage.iter().map(ToString::to_string).collect();
    assert_eq!(damage.len(), 1, "{said:?}");
    assert!(said[0].contains("two recorders have written at the same time"), "{said:?}");
    assert!(damage[0].is_loss() && damage[0].file == segment_name(2), "{said:?}");
}
