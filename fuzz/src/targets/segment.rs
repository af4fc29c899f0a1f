//! A segment from its header over the blocks down to each record, and the identity file: what
//! recovery, verification and readers do with bytes they did not write.

use crate::Target;
use crate::targets::payloads;
use baro_ondisk::limits::UNIT_BYTES;
use baro_ondisk::{
    BLOCK_HEADER_BYTES, Block, BlockBuilder, BlockHeader, Copies, DeadTail, Encoded, Gap, Identity,
    Kind, Pin, PinState, Scan, SegmentHeader, SegmentKind, Step, StoreId, Summary, Type, Wear,
    WhenFull, crc32c, text,
};
use std::hint::black_box;

pub(crate) const SEGMENT: Target = Target {
    name: "segment",
    fuzz_one: segment,
    seeds: || vec![image(SegmentKind::Log), image(SegmentKind::Catalog), told()],
    fix_up,
};

pub(crate) const IDENTITY: Target = Target {
    name: "identity",
    fuzz_one: |bytes| {
        if let Ok(identity) = Identity::decode(bytes) {
            assert_eq!(Identity::decode(&identity.encode()), Ok(identity));
        }
    },
    seeds: || {
        let (store, segment_bytes) = (StoreId([7; 16]), 1 << 20);
        let when_full = WhenFull::Recycle;
        let identity = Identity {
            store,
            created_ns: 5,
            segment_bytes,
            segments: 3,
            when_full,
            init_segments: 2,
        };
        vec![identity.encode().to_vec()]
    },
    fix_up: seal_unit,
};

pub(crate) const PIN: Target = Target {
    name: "pin",
    fuzz_one: |bytes| {
        if let Ok(pin) = Pin::decode(bytes) {
            let (from_ns, to_ns) = pin.window_ns();
            assert!(from_ns <= to_ns);
            assert_eq!(Pin::decode(&pin.encode()), Ok(pin));
        }
    },
    seeds: || {
        let pin = Pin {
            id: 7,
            state: PinState::Short,
            before_ns: 60_000_000_000,
            after_ns: 10_000_000_000,
            first_epoch: 3,
            last_epoch: 5,
            name: "fault".to_owned(),
            reason: "the log goes back 5 s only".to_owned(),
            copies: Copies { last_epoch: 4, count: 2, bytes: 65_536 },
            ..Pin::default()
        };
        let open = Pin { state: PinState::Open, last_epoch: u64::MAX, ..pin.clone() };
        vec![pin.encode().to_vec(), open.encode().to_vec()]
    },
    fix_up: seal_unit,
};

/// Walks as a reader does: block by block, and past damage where a later block proves it.
fn segment(bytes: &[u8]) {
    let Ok((header, crc)) = SegmentHeader::decode(bytes) else { return };
    assert_eq!(SegmentHeader::decode(&header.encode().0).map(|(h, _)| h), Ok(header));
    assert!(SegmentHeader::dead_tails(bytes).count() <= DeadTail::MAX);
    let dead: Vec<DeadTail> = SegmentHeader::dead_tails(bytes).collect();
    let (wear, told) = (Wear::of(bytes), SegmentHeader::summary(bytes));
    let (unit, _) = header.encode_with(&dead, &wear, told.as_ref());
    assert_eq!(SegmentHeader::summary(&unit), told);
    assert_eq!(Wear::of(&unit), wear);
    let mut summary = told.unwrap_or(Summary::new(header.epoch, header.first_block));
    let mut scan = Scan::new(header, crc);
    loop {
        let offset = scan.offset();
        let rest = bytes.get(offset as usize..).unwrap_or(&[]);
        match scan.step(rest) {
            Step::Block(block) => {
                assert!(scan.offset() > offset, "a block must move the scan on");
                if block.header.sequence < u64::MAX {
                    summary.add(offset, &block.header);
                }
                black_box((block.header.is_end_mark(), block.header.link));
                black_box(summary.link(scan.offset(), block.header.time_min_ns));
                records(&block);
            }
            Step::Need(needed) => {
                assert!(needed > rest.len(), "{needed} bytes asked for, {} given", rest.len());
                return;
            }
            Step::End(_) => {
                let Some((at, found)) = damage(&scan, bytes, offset as usize) else { return };
                scan.resume(at as u64, &found);
            }
        }
    }
}

/// The next unit after `from` whose block proves that what ended the scan is damage.
fn damage(scan: &Scan, bytes: &[u8], from: usize) -> Option<(usize, BlockHeader)> {
    let later = (from + UNIT_BYTES..bytes.len()).step_by(UNIT_BYTES);
    later.into_iter().find_map(|at| Some((at, scan.proves_damage(bytes.get(at..)?)?)))
}

fn records(block: &Block<'_>) {
    for chunk in block.chunks().flatten() {
        for record in chunk.records().flatten() {
            match record.kind {
                Kind::Samples => payloads::samples(record.payload),
                Kind::Declare => payloads::declaration(record.payload),
                Kind::Gap => payloads::gap(record.payload),
                Kind::Moved => assert_ne!(record.moved(), Ok(0)),
                Kind::Text => {
                    assert!(text(record.payload).is_err() || record.payload.len() <= 65_536)
                }
                _ => {}
            }
        }
    }
    if block.section().is_ok_and(|section| section.is_some()) {
        payloads::section(block.section_bytes());
    }
}

/// A segment's header and three blocks: two producers, every kind of record, a section in two.
fn image(kind: SegmentKind) -> Vec<u8> {
    let header = SegmentHeader {
        kind,
        store: StoreId([1; 16]),
        session: 9,
        epoch: 4,
        index: 0,
        previous_crc: 0,
        segment_bytes: 1 << 20,
        first_block: 100,
        realtime_ns: 1_000,
        boottime_ns: 10,
        boot_id: [3; 16],
    };
    let (unit, mut previous_crc) = header.encode();
    let mut bytes = unit.to_vec();
    let mut builder = BlockBuilder::new(8);
    let gap = Gap { ring_full: 3, ..Gap::default() }.encode();
    let contents: [(u64, Kind, Vec<u8>); 7] = [
        (5, Kind::Frame, vec![0xab; 300]),
        (5, Kind::Frame, vec![0xac; 300]),
        (6, Kind::Samples, payloads::samples_seed(true)),
        (6, Kind::Gap, gap.to_vec()),
        (0, Kind::Declare, payloads::declaration_seed()),
        (0, Kind::Clock, vec![0; 16]),
        (0, Kind::Text, "a text with an ä".into()),
    ];
    for n in 0..3 {
        let mut block = vec![0; 2 * UNIT_BYTES];
        for (at, (producer, kind, payload)) in contents.iter().enumerate() {
            let (sequence, time_ns) = (n * 100 + at as u64, 1_000 - at as i64);
            let (len, fill) = (payload.len(), |place: &mut [u8]| place.copy_from_slice(payload));
            let fits = builder.push(&mut block, *producer, *kind, 2, sequence, time_ns, len, fill);
            assert!(fits, "the seed's records fit into its block");
        }
        if n < 2 {
            let section = payloads::section_seed(n);
            let count = number(&section, 0);
            assert!(builder.push_moved(&mut block, 6, n * 100 + 8, 1_000, count, section.len()));
            let made = builder.put_section(&mut block, |room| {
                room.get_mut(..section.len())?.copy_from_slice(&section);
                Some(Encoded { bytes: section.len(), time_min_ns: 0, time_max_ns: 200_000_000 })
            });
            assert!(made, "the seed's section fits into its block");
        }
        let start = BlockHeader {
            store: header.store,
            session: header.session,
            epoch: header.epoch,
            sequence: header.first_block + n,
            durable: header.first_block + n,
            previous_crc,
            ..BlockHeader::default()
        };
        let finished = builder.finish(&mut block, start);
        previous_crc = finished.crc;
        block.truncate(finished.block_bytes());
        bytes.extend(block);
    }
    bytes
}

/// A catalog of series 1 to 4, of which the last one has texts.
pub(crate) fn catalog() -> Vec<u8> {
    let bytes = image(SegmentKind::Catalog);
    let Ok((header, _)) = SegmentHeader::decode(&bytes) else { return bytes };
    let (unit, _) = SegmentHeader { first_block: 0, ..header }.encode();
    let mut block = vec![0; UNIT_BYTES];
    let mut builder = BlockBuilder::new(8);
    for id in 1..5_u32 {
        let kind = if id == 4 { Type::Text } else { Type::I64 };
        let payload = payloads::declared(id, kind, &format!("s{id}"));
        let fill = |place: &mut [u8]| place.copy_from_slice(&payload);
        let sequence = u64::from(id) - 1;
        builder.push(&mut block, 0, Kind::Declare, 0, sequence, 1_000, payload.len(), fill);
    }
    let start = BlockHeader {
        store: header.store,
        session: header.session,
        epoch: header.epoch,
        ..BlockHeader::default()
    };
    let finished = builder.finish(&mut block, start);
    block.truncate(finished.block_bytes());
    let mut bytes = [&unit[..], &block].concat();
    fix_up(&mut bytes);
    bytes
}

/// A segment whose header tells what another one holds.
pub(crate) fn told() -> Vec<u8> {
    let mut bytes = image(SegmentKind::Log);
    let Ok((header, _)) = SegmentHeader::decode(&bytes) else { return bytes };
    let summary = Summary {
        epoch: 3,
        end: 100,
        times_ns: (5, 900),
        sample_times_ns: (7, 800),
        last_samples: 2,
        end_unit: 7,
    };
    let dead = [DeadTail { epoch: 3, end: 100, index: 1, end_only: true }];
    let wear = Wear { log_bytes: 1 << 20, padding_bytes: 9, payload_bytes: 700, other_bytes: 5 };
    let (unit, _) = header.encode_with(&dead, &wear, Some(&summary));
    if let Some(room) = bytes.get_mut(..UNIT_BYTES) {
        room.copy_from_slice(&unit);
    }
    fix_up(&mut bytes);
    bytes
}

/// The CRC of a header unit is at offset 12, taken with zeros there (`docs/format.md`).
fn seal_unit(bytes: &mut [u8]) {
    if let Some(unit) = bytes.get_mut(..UNIT_BYTES) {
        unit[12..16].fill(0);
        let crc = crc32c(0, unit);
        unit[12..16].copy_from_slice(&crc.to_le_bytes());
    }
}

/// Seals the segment's header, then each block, and chains them; stops where lengths lead out of
/// the input. Offsets are those of `docs/format.md`, "Block".
fn fix_up(bytes: &mut [u8]) {
    seal_unit(bytes);
    let Some((head, mut rest)) = bytes.split_at_mut_checked(UNIT_BYTES) else { return };
    let mut previous_crc = number(head, 12);
    while rest.len() >= BLOCK_HEADER_BYTES {
        let (body_bytes, chunks) = (number(rest, 92) as usize, number(rest, 96) as usize);
        let section_bytes = if rest[6] == 1 { number(rest, 108) as usize } else { 0 };
        let payload_end = BLOCK_HEADER_BYTES + body_bytes + section_bytes + chunks * 32;
        if let Some(payload) = rest.get(BLOCK_HEADER_BYTES..payload_end) {
            let crc = crc32c(0, payload);
            rest[100..104].copy_from_slice(&crc.to_le_bytes());
        }
        rest[104..108].copy_from_slice(&previous_crc.to_le_bytes());
        previous_crc = crc32c(0, &rest[..124]);
        rest[124..128].copy_from_slice(&previous_crc.to_le_bytes());
        let block_bytes = payload_end.next_multiple_of(UNIT_BYTES);
        let Some((_, next)) = rest.split_at_mut_checked(block_bytes) else { return };
        rest = next;
    }
}

fn number(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|b| b.try_into().ok()).map_or(0, u32::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(bytes: &[u8]) -> (usize, usize) {
        let (header, crc) = SegmentHeader::decode(bytes).unwrap();
        let mut scan = Scan::new(header, crc);
        let (mut blocks, mut records) = (0, 0);
        while let Step::Block(block) = scan.step(&bytes[scan.offset() as usize..]) {
            blocks += 1;
            records += block.chunks().flatten().flat_map(|c| c.records()).flatten().count();
        }
        (blocks, records)
    }

    #[test]
    fn the_seeds_are_valid_and_the_fix_up_keeps_them_so() {
        for seed in (SEGMENT.seeds)() {
            assert_eq!(blocks(&seed), (3, 23));
            let mut fixed = seed.clone();
            fix_up(&mut fixed);
            assert!(fixed == seed, "fix-up changed a valid segment");
        }
    }

    #[test]
    fn the_fix_up_makes_a_changed_segment_whole_again() {
        let mut bytes = image(SegmentKind::Log);
        bytes[72] ^= 1;
        bytes[UNIT_BYTES + BLOCK_HEADER_BYTES + 50] ^= 1;
        assert!(SegmentHeader::decode(&bytes).is_err());
        fix_up(&mut bytes);
        assert_eq!(blocks(&bytes), (3, 23));
    }
}
