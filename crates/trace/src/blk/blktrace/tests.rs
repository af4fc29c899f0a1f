//! Tests of reading on records made here; those of whole files are in `tests/blk.rs`.

use super::*;
use crate::blk::{Class, Kind};
use crate::record::{Device, Name};

/// A record of version 7 of the given byte order.
fn record(big: bool, sequence: u32, time_ns: u64, action: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut number = |value: u64, length: usize| {
        let all = if big { value.to_be_bytes() } else { value.to_le_bytes() };
        bytes.extend(if big { &all[8 - length..] } else { &all[..length] });
    };
    for (value, length) in [
        (u64::from(MAGIC) | 7, 4),
        (sequence.into(), 4),
        (time_ns, 8),
        (2_048, 8),
        (4_096, 4),
        (action.into(), 4),
        (42, 4),
        (Device::new(8, 16).0.into(), 4),
        (3, 4),
        (0, 2),
        (payload.len() as u64, 2),
    ] {
        number(value, length);
    }
    bytes.extend(payload);
    bytes
}

/// An issued write with sync and FUA.
const ISSUE: u32 = 7 | 1 << 17 | 1 << 19 | 1 << 31;
const NOTE: u32 = 1 << 26;

fn all(bytes: &[u8]) -> (Vec<Record>, Option<BlktraceError>) {
    let (mut reader, mut records) = (Reader::new(bytes), Vec::new());
    while let Some(found) = reader.next() {
        match found {
            Ok(record) => records.push(record),
            Err(error) => {
                assert!(reader.next().is_none());
                return (records, Some(error));
            }
        }
    }
    (records, None)
}

#[test]
fn both_byte_orders_and_versions_say_the_same() {
    let little = all(&record(false, 5, 77, ISSUE, b"")).0;
    let big = all(&record(true, 5, 77, ISSUE, b"")).0;
    assert_eq!(little, big);
    let [Record { sequence: 5, cpu: 3, pid: 42, what: What::Request(event), .. }] = little[..]
    else {
        panic!("{little:?}")
    };
    assert_eq!((event.time_ns, event.sector, event.bytes), (77, 2_048, 4_096));
    assert_eq!((event.device, event.kind), (Device::new(8, 16), Kind::Issue));
    assert_eq!(event.class, Class::parse(b"WFS"));
    // Version 8 has the same fields at other places.
    let mut wide = Vec::new();
    wide.extend((MAGIC | 8).to_le_bytes());
    wide.extend(5_u32.to_le_bytes());
    wide.extend(77_u64.to_le_bytes());
    wide.extend(2_048_u64.to_le_bytes());
    wide.extend([4_096_u32, 42].map(u32::to_le_bytes).concat());
    wide.extend(u64::from(ISSUE).to_le_bytes());
    wide.extend([Device::new(8, 16).0, 3].map(u32::to_le_bytes).concat());
    wide.extend([0; 16]);
    assert_eq!(wide.len(), 64);
    assert_eq!(all(&wide).0, little);
}

#[test]
fn cut_anywhere_what_is_before_is_read() {
    let first = record(false, 1, 1, NOTE, b"task\0");
    let bytes = [first.clone(), record(false, 2, 2, ISSUE, b"12345678")].concat();
    for length in 0..bytes.len() {
        let (records, error) = all(&bytes[..length]);
        assert_eq!(records.len(), usize::from(length >= first.len()), "{length}");
        let whole = length == 0 || length == first.len();
        assert_eq!(error.is_none(), whole, "{length}");
        if let Some(error) = error {
            let at = if length < first.len() { 0 } else { first.len() as u64 };
            assert!(matches!(error, BlktraceError::Cut { offset_bytes, .. } if offset_bytes == at));
        }
    }
    assert_eq!(all(&bytes).0.len(), 2);
}

#[test]
fn what_is_no_record_is_named_with_its_place() {
    let good = record(false, 1, 1, ISSUE, b"");
    let message = |bytes: &[u8]| all(bytes).1.unwrap().to_string();
    assert!(message(b"8,0 1 1 0.0 D").contains("--blkparse"));
    let text = message(&[good.clone(), b"garbage".to_vec()].concat());
    assert!(text.contains("offset 48") && text.contains("magic"), "{text}");
    let mut other = good.clone();
    other[0] = 6;
    assert!(message(&other).contains("found 6"));
}

#[test]
fn processors_are_merged_and_tasks_have_names() {
    let first = [
        record(false, 1, 10, ISSUE, b""),
        record(false, 2, 30, ISSUE, b""),
        record(
            false,
            6,
            31,
            15 | 1 << 16,
            &[[0, 128, 0, 17], [0; 4], [0; 4], [0, 0, 1, 0]].concat(),
        ),
    ];
    // A note with the number of a control group before the name.
    let second = [
        record(false, 0, 20, NOTE | 1 << 8, b"12345678name\0\0\0\0"),
        record(true, 1, 5, ISSUE, b""),
        b"garbage".to_vec(),
    ];
    let files = [first.concat(), second.concat()];
    let mut merged = Merged::new(files.iter().map(Vec::as_slice));
    let found: Vec<_> = merged.by_ref().map(|event| (event.time_ns, event.process.comm)).collect();
    // The second file goes back in time, which only delays its own.
    let name = Name::new(b"name");
    assert_eq!(found, [(10, Name::default()), (5, name), (30, name)]);
    let expected = TraceCounts { records: 5, lost_records: 3, remaps: 1, notes: 1 };
    assert_eq!(merged.counts(), expected);
    assert!(matches!(merged.damage(), [(1, BlktraceError::Magic { offset_bytes: 112, .. })]));
    let remap = all(&first[2]).0[0].what;
    assert_eq!(remap, What::Remap { from: Device::new(8, 17), from_sector: 256 });
}
