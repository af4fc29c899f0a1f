//! Bytes that a released version wrote stay readable: `testdata/format/` holds a segment of each
//! form, and here stands what is in it.
#![allow(clippy::unwrap_used, reason = "a test")]

use baro_ondisk::limits::UNIT_BYTES;
use baro_ondisk::{Gap, Kind, SampleColumns, Samples, Scan, SegmentHeader, Step};

type Owned = (u64, Kind, u32, u64, i64, Vec<u8>);

fn samples(times: bool) -> Vec<u8> {
    let mut payload = Samples::head(3, times).to_vec();
    payload.extend([9_u32, 7, 9].iter().flat_map(|series| series.to_le_bytes()));
    if times {
        payload.extend([5_000_i64, -1, i64::MAX].iter().flat_map(|time| time.to_le_bytes()));
    }
    payload.extend([1.5_f64, -0.0, f64::NAN].iter().flat_map(|value| value.to_le_bytes()));
    payload
}

/// What the first released form holds: records in order of arrival, samples among them.
fn records() -> Vec<Owned> {
    let gap = Gap { ring_full: 2, too_large: 1, ..Gap::default() };
    let clock = [7_i64.to_le_bytes(), (-9_i64).to_le_bytes()].concat();
    vec![
        (11, Kind::Frame, 4, 0, 1_000, vec![0xa5; 100]),
        (11, Kind::Samples, 0, 1, 2_000, samples(false)),
        (11, Kind::Gap, 0, 2, 2_500, gap.encode().to_vec()),
        (11, Kind::Samples, 0, 5, 1_500, samples(true)),
        (0, Kind::Clock, 0, 0, 3_000, clock),
        (12, Kind::Samples, 0, 8, 4_000, vec![1, 2, 3]),
    ]
}

type Sample = (u32, i64, u64);

/// Records and samples of a file, in order.
fn read(bytes: &[u8]) -> (Vec<Owned>, Vec<Sample>) {
    let (header, crc) = SegmentHeader::decode(&bytes[..UNIT_BYTES]).unwrap();
    let mut scan = Scan::new(header, crc);
    let (mut records, mut samples) = (Vec::new(), Vec::new());
    let mut columns = SampleColumns::default();
    let mut at = UNIT_BYTES;
    while let Step::Block(block) = scan.step(&bytes[at.min(bytes.len())..]) {
        at = scan.offset() as usize;
        for chunk in block.chunks() {
            let chunk = chunk.unwrap();
            for record in chunk.records() {
                let r = record.unwrap();
                let payload = r.payload.to_vec();
                records.push((chunk.producer, r.kind, r.stream, r.sequence, r.time_ns, payload));
            }
        }
        if let Some(section) = block.section().unwrap() {
            for strip in 0..section.strips() {
                section.decode_strip(strip, &mut columns).unwrap();
                samples.extend(columns.iter());
            }
        }
    }
    assert_eq!(at, bytes.len());
    (records, samples)
}

#[test]
fn blocks_of_encoding_0_stay_readable() {
    let bytes = include_bytes!("../../../testdata/format/encoding-0.seg");
    assert_eq!(read(bytes), (records(), Vec::new()));
}

/// Samples that use every form of column, each scale, duplicates, and two strips.
fn sectioned() -> Vec<Sample> {
    let mut samples: Vec<Sample> = Vec::new();
    for n in 0..5_000_u64 {
        let at = n as i64;
        let wild = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let (tick, decimal) = (1_700_000_000_000_000_000 + at / 10 * 1_000_000, n / 10 * 7 % 90);
        samples.push(match n % 10 {
            0 => (1, tick, (decimal as f64 / 10_f64.powi(3)).to_bits()),
            1 => (2, tick, n),
            2 => (9, tick, 20.5_f64.to_bits()),
            3 => (700, tick + (wild >> 50) as i64, (decimal as f64).sqrt().to_bits()),
            4 => (u32::MAX, [i64::MIN, i64::MAX, 0][n as usize / 10 % 3], wild),
            5 => (1, tick, [f64::NAN.to_bits(), 1 << 63, 0][n as usize / 10 % 3]),
            _ => (1_000 + n as u32 % 600, tick, (at as f64 / 8.0).to_bits()),
        });
    }
    samples
}

#[test]
fn blocks_of_encoding_1_stay_readable() {
    let bytes = include_bytes!("../../../testdata/format/encoding-1.seg");
    let mut expected = sectioned();
    expected.sort_by_key(|(series, time_ns, _)| (*series, *time_ns));
    let (records, samples) = read(bytes);
    assert!(samples == expected);
    let kinds: Vec<_> = records.iter().map(|r| (r.0, r.1, r.2, r.3, r.4)).collect();
    let expected = [
        (11, Kind::Frame, 4, 0, 1_000),
        (11, Kind::Moved, 0, 1, 2_000),
        (11, Kind::Text, 5, 2, 3_000),
        (12, Kind::Moved, 0, 7, 4_000),
    ];
    assert_eq!(kinds, expected);
    assert_eq!(records[2].5, "text with an ä".as_bytes());
}
