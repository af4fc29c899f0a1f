//! What a builder writes, a reader reads; what was damaged on the way is seen.

use super::*;
use crate::{Block, Record};
use std::vec;
use std::vec::Vec;

type Owned = (u64, Kind, u32, u64, i64, Vec<u8>);

fn build(records: &[Owned], block_bytes: usize) -> (Vec<u8>, usize) {
    let mut block = vec![0xAA; block_bytes];
    let mut builder = BlockBuilder::new(CHUNKS_MAX);
    let mut taken = 0;
    for (producer, kind, stream, sequence, time_ns, payload) in records {
        if !builder.push(
            &mut block,
            *producer,
            *kind,
            *stream,
            *sequence,
            *time_ns,
            payload.len(),
            |p| {
                p.copy_from_slice(payload);
            },
        ) {
            break;
        }
        taken += 1;
    }
    let header = builder.finish(&mut block, BlockHeader { sequence: 3, ..Default::default() });
    assert_eq!(header.block_bytes() % 4096, 0);
    block.truncate(header.block_bytes());
    (block, taken)
}

fn read(block: &[u8]) -> Result<Vec<Owned>, crate::Error> {
    let header = BlockHeader::decode(block)?;
    let mut out = Vec::new();
    for chunk in Block::new(header, block)?.chunks() {
        let chunk = chunk?;
        for record in chunk.records() {
            let Record { kind, stream, sequence, time_ns, payload } = record?;
            out.push((chunk.producer, kind, stream, sequence, time_ns, payload.to_vec()));
        }
    }
    Ok(out)
}

fn sample_records() -> Vec<Owned> {
    let gap = Gap { ring_full: 5, ..Gap::default() };
    let mut records = vec![
        (9, Kind::Frame, 1, 10, 1_000, vec![1; 64]),
        (9, Kind::Frame, 1, 11, 1_100, vec![2; 64]),
        (9, Kind::Gap, 0, 12, 1_150, gap.encode().to_vec()),
        (9, Kind::Frame, 2, 17, 900, vec![]),
        (9, Kind::Frame, 2, 30, i64::MIN, vec![4; 30_000]),
        (4, Kind::Frame, 2, 31, i64::MAX, vec![5; 1]),
        (9, Kind::Samples, 0, 31, 0, vec![6; 40]),
    ];
    records.extend((0..500).map(|n| (7, Kind::Frame, 3, n, n as i64 * 100, vec![n as u8; 64])));
    records
}

#[test]
fn reads_back_what_was_pushed() {
    let records = sample_records();
    let (block, taken) = build(&records, 1 << 20);
    assert_eq!(taken, records.len());
    assert_eq!(read(&block).unwrap(), records);
    let head_bytes = block.len() - records.iter().map(|r| r.5.len()).sum::<usize>();
    assert!(head_bytes < 4096 + 128 + 600 * 4, "heads take {head_bytes} bytes");
}

#[test]
fn a_full_block_refuses_and_keeps_what_it_has() {
    let records = sample_records();
    for block_bytes in [4096, 8192, 32_768, 61_440] {
        let (block, taken) = build(&records, block_bytes);
        assert!(taken < records.len());
        assert_eq!(read(&block).unwrap(), records[..taken]);
    }
}

#[test]
fn every_bit_flip_is_seen() {
    let (block, _) = build(&sample_records()[..4], 8192);
    let end = BLOCK_HEADER_BYTES + BlockHeader::decode(&block).unwrap().payload_bytes();
    for bit in 0..end * 8 {
        let mut bad = block.clone();
        bad[bit / 8] ^= 1 << (bit % 8);
        assert!(read(&bad).is_err(), "flip of bit {bit} not seen");
    }
    for length in 0..end {
        assert!(read(&block[..length]).is_err(), "cut at {length} not seen");
    }
}

/// Behind correct CRCs the decoders still take any bytes: counts are checked, nothing panics.
#[test]
fn hostile_payloads_behind_correct_crcs_are_refused_or_read() {
    let (block, _) = build(&sample_records()[..4], 8192);
    let header = BlockHeader::decode(&block).unwrap();
    let end = BLOCK_HEADER_BYTES + header.payload_bytes();
    for at in BLOCK_HEADER_BYTES..end {
        for byte in [0, 1, 0x7f, 0x80, 0xff] {
            let mut bad = block.clone();
            bad[at] = byte;
            let crc = crc32c(0, &bad[BLOCK_HEADER_BYTES..end]);
            BlockHeader { payload_crc: crc, ..header }.encode(&mut bad);
            if let Ok(records) = read(&bad) {
                assert!(records.len() <= 4);
            }
        }
    }
}
