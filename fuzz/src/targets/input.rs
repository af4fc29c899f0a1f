//! What comes from outside while recording: rings that other processes write to, and CSV lines.

use crate::Target;
use baro_ondisk::crc32c;
use baro_recorder::inspect_ring;
use baro_sources::csv::CsvParser;
use baro_sys::memory::SharedMemory;

/// The smallest ring: one header unit and 64 KiB.
const RING_BYTES: usize = 4096 + (64 << 10);

pub(crate) const RING: Target = Target {
    name: "ring",
    fuzz_one: ring,
    seeds: || vec![ring_seed(0), ring_seed(60_000)],
    fix_up: ring_fix_up,
};

pub(crate) const CSV: Target = Target {
    name: "csv",
    fuzz_one: csv,
    seeds: || vec![CSV_SEED.as_bytes().to_vec()],
    fix_up: |_| {},
};

const CSV_SEED: &str = "time,series,value\n1700000000000000000,temp,21.5\n1700000000.5,\"a{b=\"\"c\
                        \"\"}\",-3\n2026-11-21T21:03:49.123Z,on,true\r\n,now,nan\n# note\n\n";

fn ring(bytes: &[u8]) {
    let Ok(memory) = SharedMemory::private(RING_BYTES) else { return };
    memory.write(0, bytes.get(..RING_BYTES).unwrap_or(bytes));
    if let Ok(contents) = inspect_ring(memory, None) {
        assert!(contents.records <= 64 << 10, "more records than a ring can hold");
        assert!(contents.payload_bytes <= 64 << 10, "more bytes than a ring can hold");
    }
}

/// A valid ring with three records (the format's offsets, from `docs/format.md`), whose first
/// starts at `tail`, so that one of the two seeds goes around the end.
fn ring_seed(tail: u64) -> Vec<u8> {
    let mut bytes = vec![0; RING_BYTES];
    bytes[..8].copy_from_slice(b"BARORNG1");
    bytes[8..12].copy_from_slice(&1_u32.to_le_bytes());
    bytes[32..40].copy_from_slice(&77_u64.to_le_bytes());
    bytes[40..48].copy_from_slice(&(64_u64 << 10).to_le_bytes());
    bytes[48..52].copy_from_slice(&10_000_u32.to_le_bytes());
    let mut head = tail;
    for (sequence, length) in [(5_u64, 100_u32), (6, 3_000), (9, 4_000)] {
        let mut record = (length | 1 << 28).to_le_bytes().to_vec();
        record.extend(3_u32.to_le_bytes());
        record.extend(sequence.to_le_bytes());
        record.extend(1_700_000_000_000_000_000_i64.to_le_bytes());
        record.resize((24 + length as usize).next_multiple_of(8), 0xab);
        for byte in record {
            bytes[4096 + (head % (64 << 10)) as usize] = byte;
            head += 1;
        }
    }
    for (offset, value) in [(128, head), (136, 11), (144, 2), (256, tail), (264, 5), (272, 5)] {
        bytes[offset..offset + 8].copy_from_slice(&u64::to_le_bytes(value));
    }
    ring_fix_up(&mut bytes);
    bytes
}

fn ring_fix_up(bytes: &mut [u8]) {
    if bytes.len() >= 64 {
        bytes[12..16].fill(0);
        let crc = crc32c(0, &bytes[..64]);
        bytes[12..16].copy_from_slice(&crc.to_le_bytes());
    }
}

fn csv(bytes: &[u8]) {
    let collect = |pieces: &[&[u8]]| {
        let mut parser = CsvParser::new();
        let mut items = Vec::new();
        for piece in pieces {
            parser.feed(piece, |item| items.push(format!("{item:?}")));
        }
        parser.finish(|item| items.push(format!("{item:?}")));
        items
    };
    let (a, b) = bytes.split_at(bytes.len() / 2);
    assert_eq!(collect(&[bytes]), collect(&[a, b]), "the cut changes the result");
}
