//! Bytes that a released version wrote stay readable: `testdata/format/` holds a segment of each
//! form, and here stands what is in it.

use baro_ondisk::limits::UNIT_BYTES;
use baro_ondisk::{Gap, Kind, Samples, Scan, SegmentHeader, Step};

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

#[test]
fn blocks_of_encoding_0_stay_readable() {
    let bytes = include_bytes!("../../../testdata/format/encoding-0.seg");
    let (header, crc) = SegmentHeader::decode(&bytes[..UNIT_BYTES]).unwrap();
    let mut scan = Scan::new(header, crc);
    let mut found: Vec<Owned> = Vec::new();
    let mut at = UNIT_BYTES;
    while let Step::Block(block) = scan.step(&bytes[at.min(bytes.len())..]) {
        at = scan.offset() as usize;
        for chunk in block.chunks() {
            let chunk = chunk.unwrap();
            for record in chunk.records() {
                let r = record.unwrap();
                let payload = r.payload.to_vec();
                found.push((chunk.producer, r.kind, r.stream, r.sequence, r.time_ns, payload));
            }
        }
    }
    assert_eq!(found, records());
    assert_eq!(at, bytes.len());
}
