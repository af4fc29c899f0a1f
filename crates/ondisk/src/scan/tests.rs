//! Walks over hand-made segments: whole, torn, stale, damaged.

use super::*;
use crate::limits::CHUNKS_MAX;
use crate::{BlockBuilder, Kind, StoreId};
use std::vec;
use std::vec::Vec;

const SEGMENT_BYTES: usize = 1 << 20;

fn header(session: u64, epoch: u64) -> SegmentHeader {
    SegmentHeader {
        kind: SegmentKind::Log,
        store: StoreId([1; 16]),
        session,
        epoch,
        index: 0,
        previous_crc: 0,
        segment_bytes: SEGMENT_BYTES as u64,
        first_block: 0,
        realtime_ns: 0,
        boottime_ns: 0,
        boot_id: [0; 16],
    }
}

/// Writes blocks of one unit each; block `n` says that `durable(n)` blocks were durable.
fn write(segment: &mut [u8], h: SegmentHeader, blocks: u64, durable: impl Fn(u64) -> u64) {
    let (unit, mut previous_crc) = h.encode();
    segment[..UNIT_BYTES].copy_from_slice(&unit);
    let mut builder = BlockBuilder::new(CHUNKS_MAX);
    for n in 0..blocks {
        let at = UNIT_BYTES * (n as usize + 1);
        let block = &mut segment[at..at + UNIT_BYTES];
        let fill = |p: &mut [u8]| p.fill(h.session as u8);
        assert!(builder.push(block, 5, Kind::Frame, 1, n, n as i64, 100, fill));
        let start = BlockHeader {
            store: h.store,
            session: h.session,
            epoch: h.epoch,
            sequence: n,
            durable: durable(n),
            previous_crc,
            ..BlockHeader::default()
        };
        previous_crc = builder.finish(block, start).crc;
    }
}

fn walk(segment: &[u8]) -> (Vec<u64>, End, Scan) {
    let (h, crc) = SegmentHeader::decode(segment).unwrap();
    let mut scan = Scan::new(h, crc);
    let mut sequences = Vec::new();
    loop {
        let at = scan.offset() as usize;
        match scan.step(&segment[at..]) {
            Step::Block(block) => sequences.push(block.header.sequence),
            Step::End(end) => return (sequences, end, scan),
            Step::Need(_) => panic!("all bytes are there"),
        }
    }
}

#[test]
fn walks_a_whole_segment_to_full_or_blank() {
    let mut segment = vec![0; SEGMENT_BYTES];
    write(&mut segment, header(1, 1), 10, |_| 0);
    let (sequences, end, _) = walk(&segment);
    assert_eq!(sequences, (0..10).collect::<Vec<_>>());
    assert!(matches!(end, End::Tail(Error::Mismatch { field: "magic", found: 0, .. })));
    write(&mut segment, header(1, 1), 255, |_| 0);
    assert_eq!(walk(&segment).1, End::Full);
}

/// Blocks 0-2 and 4-9 survive a crash; the next writer of this file writes a new block 3.
#[test]
fn a_stale_tail_stays_dead() {
    let mut old = vec![0; SEGMENT_BYTES];
    write(&mut old, header(1, 1), 10, |_| 0);
    old[UNIT_BYTES * 4..UNIT_BYTES * 5].fill(0);
    let (sequences, _, scan) = walk(&old);
    assert_eq!(sequences, [0, 1, 2]);
    assert!((5..11).all(|unit| scan.proves_damage(&old[unit * UNIT_BYTES..]).is_none()));
    for (session, epoch) in [(2, 2), (2, 1), (1, 2)] {
        let mut segment = old.clone();
        write(&mut segment, header(session, epoch), 4, |_| 0);
        assert_eq!(walk(&segment).0, [0, 1, 2, 3]);
    }
}

#[test]
fn damage_in_durable_data_is_told_from_a_torn_tail() {
    let mut segment = vec![0; SEGMENT_BYTES];
    write(&mut segment, header(1, 1), 10, |n| n.saturating_sub(2));
    segment[UNIT_BYTES * 4 + 200] ^= 1;
    let (sequences, end, mut scan) = walk(&segment);
    assert_eq!(sequences, [0, 1, 2]);
    let End::Tail(error) = end else { panic!("{end:?}") };
    assert!(matches!(error, Error::Mismatch { field: "payload CRC", .. }));
    assert_eq!(scan.offset(), UNIT_BYTES as u64 * 4);
    let proof = |unit: usize| scan.proves_damage(&segment[unit * UNIT_BYTES..]);
    assert_eq!(proof(6), None, "block 5 knows only blocks below 3 to be durable");
    let found = proof(7).unwrap();
    assert_eq!((found.sequence, found.durable), (6, 4));
    scan.resume(7 * UNIT_BYTES as u64, &found);
    assert!(matches!(scan.step(&segment[7 * UNIT_BYTES..]), Step::Block(_)));
}

/// Of the last block before a mark, and of the mark itself.
#[test]
fn a_mark_tells_an_end_from_a_tear() {
    let mut segment = vec![0; SEGMENT_BYTES];
    write(&mut segment, header(1, 1), 1, |_| 0);
    let (_, _, scan) = walk(&segment);
    let (mark, before) = (2 * UNIT_BYTES, UNIT_BYTES + 200);
    let start = BlockHeader {
        store: header(1, 1).store,
        session: 1,
        epoch: 1,
        sequence: 1,
        previous_crc: scan.previous_crc(),
        padding_bytes: 7,
        ..BlockHeader::default()
    };
    let made = crate::end_mark(&mut segment[mark..], start);
    assert!(made.is_end_mark() && made.padding_bytes == 7 + 4096 - 128);
    assert_eq!(made.block_bytes(), UNIT_BYTES);
    assert_eq!(walk(&segment).0, [0, 1]);
    segment[before] ^= 1;
    let (sequences, _, scan) = walk(&segment);
    assert!(sequences.is_empty());
    assert_eq!(scan.proves_damage(&segment[mark..]), Some(made));
    segment[before] ^= 1;
    segment[mark + 60] ^= 1;
    let (sequences, _, mut scan) = walk(&segment);
    // Nothing is missing but the mark, unless something else tells of it.
    assert_eq!((sequences.as_slice(), scan.expects_more()), ([0].as_slice(), false));
    scan.set_durable(2);
    assert!(scan.expects_more());
}

#[test]
fn asks_for_the_bytes_it_needs() {
    let mut segment = vec![0; SEGMENT_BYTES];
    write(&mut segment, header(1, 1), 1, |_| 0);
    let (h, crc) = SegmentHeader::decode(&segment).unwrap();
    let mut scan = Scan::new(h, crc);
    assert!(matches!(scan.step(&[]), Step::Need(UNIT_BYTES)));
    assert!(matches!(scan.step(&segment[UNIT_BYTES..UNIT_BYTES + 200]), Step::Need(UNIT_BYTES)));
    assert!(matches!(scan.step(&segment[UNIT_BYTES..]), Step::Block(_)));
}
