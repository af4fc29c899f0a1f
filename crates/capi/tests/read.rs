//! The small reader of libbaro hands out what the store's reader hands out: after several lives,
//! after recycling, and around damage, which it counts.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]
#![allow(unsafe_code)]

mod checked;
mod place;

use baro_store::Store;
use checked::*;
use place::{Place, last_error, opened};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::ptr::{null, null_mut};

/// (session, producer, sequence, time, kind, channel, payload)
type Read = (u64, u64, u64, i64, u32, u32, Vec<u8>);

fn by_libbaro(place: &Place) -> (Vec<Read>, baro_read_report) {
    let mut reader = null_mut();
    // SAFETY: structures of the interface take any bits.
    let (mut record, mut report): (baro_record, baro_read_report) = unsafe { std::mem::zeroed() };
    record.type_size = size_of::<baro_record>() as u32;
    report.type_size = size_of::<baro_read_report>() as u32;
    let mut found = Vec::new();
    // SAFETY: valid pointers; the payload has as many bytes as the record says.
    unsafe {
        assert_eq!(baro_reader_open(place.c().as_ptr(), &mut reader), 0, "{}", last_error());
        let mut payload = null();
        loop {
            let code = baro_reader_next(reader, &mut record, &mut payload);
            assert!(code >= 0, "{}", last_error());
            if code == 0 {
                break;
            }
            let bytes = record.payload_bytes as usize;
            let payload = std::slice::from_raw_parts(payload.cast::<u8>(), bytes).to_vec();
            let baro_record { session, producer, sequence, time_ns, kind, channel, .. } = record;
            found.push((session, producer, sequence, time_ns, kind, channel, payload));
        }
        assert_eq!(baro_reader_report(reader, &mut report), 0);
        assert_eq!(baro_reader_close(reader), 0);
    }
    assert_eq!(report.records, found.len() as u64);
    (found, report)
}

fn by_store(place: &Place) -> Vec<Read> {
    let store = Store::open(place.path()).unwrap();
    let mut found = Vec::new();
    store
        .records_as_written(|r| {
            let (kind, payload) = (r.kind as u32, r.payload.to_vec());
            found.push((r.session, r.producer, r.sequence, r.time_ns, kind, r.stream, payload));
            ControlFlow::Continue(())
        })
        .unwrap();
    found
}

/// One life of a recorder: `records` frames of 8 KiB and as many batches of two samples.
fn record(place: &Place, records: u64, durable_each: bool) {
    let (recorder, producer) = opened(place);
    let frame: Vec<u8> = (0..8192_u32).map(|n| n as u8).collect();
    let mut sequence = 0;
    // SAFETY: valid pointers.
    unsafe {
        for number in 0..records {
            let time_ns = number as i64 * 1000;
            let code = loop {
                let bytes = frame.as_ptr().cast();
                match baro_push_frame(producer, 3, time_ns, bytes, frame.len(), &mut sequence) {
                    BARO_EAGAIN => baro_sys::clock::sleep_ns(1_000_000),
                    code => break code,
                }
            };
            assert_eq!(code, 0);
            let (series, values) = ([1, 2], [number as f64, -0.5]);
            let (series, values) = (series.as_ptr(), values.as_ptr());
            let code = baro_push_samples(producer, time_ns + 1, series, values, 2, &mut sequence);
            assert!(code == 0 || code == BARO_EAGAIN);
            if durable_each {
                assert_eq!(baro_producer_wait_durable(producer, sequence, 60_000_000_000), 0);
            }
        }
        assert_eq!(baro_producer_close(producer), 0);
        assert_eq!(baro_close(recorder, null_mut()), 0);
    }
}

#[test]
fn reads_what_the_store_reads() {
    let place = Place::new("read");
    for (records, durable_each) in [(50, true), (0, false), (100, false), (3, true)] {
        record(&place, records, durable_each);
    }
    let (found, report) = by_libbaro(&place);
    let frames = found.iter().filter(|r| r.4 == BARO_KIND_FRAME).count();
    assert_eq!((frames, report.blocks_damaged, report.blocks_recycled), (153, 0, 0));
    assert_eq!(found, by_store(&place));
    let batch = found.iter().find(|r| r.4 == BARO_KIND_SAMPLES && r.3 == 42_001).unwrap();
    // SAFETY: structures of the interface take any bits.
    let mut sample: baro_sample = unsafe { std::mem::zeroed() };
    sample.type_size = size_of::<baro_sample>() as u32;
    let mut values = Vec::new();
    for index in 0.. {
        let (bytes, length) = (batch.6.as_ptr().cast(), batch.6.len());
        // SAFETY: valid pointers.
        if unsafe { baro_sample_get(bytes, length, batch.3, index, &mut sample) } != 1 {
            break;
        }
        values.push((sample.series, sample.time_ns, sample.value));
    }
    assert_eq!(values, [(1, 42_001, 42.0), (2, 42_001, -0.5)]);
}

#[test]
fn a_recycled_log_is_read_from_its_oldest_segment() {
    let place = Place::recycling("recycled");
    for _ in 0..3 {
        record(&place, 500, false);
    }
    let (found, report) = by_libbaro(&place);
    assert_eq!((report.blocks_damaged, report.blocks_recycled), (0, 0));
    assert!(found.len() > 300 && found.len() < 2000, "{}", found.len());
    assert_eq!(found, by_store(&place));
}

#[test]
fn damage_is_counted_and_the_rest_is_read() {
    let place = Place::new("damaged");
    record(&place, 40, true);
    let (whole, report) = by_libbaro(&place);
    assert_eq!(report.blocks_damaged, 0);
    // A payload and, further on, a header.
    let segment = place.path().join("log/00000000.seg");
    let mut bytes = std::fs::read(&segment).unwrap();
    let blocks: Vec<usize> = (1..bytes.len() / 4096)
        .map(|n| n * 4096)
        .filter(|at| bytes[*at..].starts_with(b"BBLK"))
        .collect();
    // One with a frame: a block of samples alone ends in zeros, which are nobody's.
    let framed = (5..).find(|n| blocks[n + 1] - blocks[*n] > 4096).unwrap();
    assert!(framed < 18);
    bytes[blocks[framed] + 300] ^= 1;
    bytes[blocks[20] + 50] ^= 1;
    std::fs::write(&segment, &bytes).unwrap();
    let (found, report) = by_libbaro(&place);
    assert_eq!(report.blocks_damaged, 2);
    assert_eq!(found, by_store(&place));
    // Samples of a section are records of nobody, with the block's sequence.
    let key = |r: &Read| (r.1, r.2, r.3);
    let mut left: BTreeMap<_, &Read> = whole.iter().map(|r| (key(r), r)).collect();
    assert_eq!(left.len(), whole.len());
    for read in &found {
        assert!(left.remove(&key(read)) == Some(read));
    }
    assert!(!left.is_empty() && left.len() < 20, "{} records lost", left.len());
}

/// Frames and samples of a series of an interval, in blocks that have others too; and what comes later.
#[test]
fn the_reader_of_libbaro_leaves_out_what_is_deleted() {
    let place = Place::new("deleted");
    record(&place, 60, false);
    let interval = baro_store::Interval { from_ns: 10_000, to_ns: 30_000 };
    let deleted = Store::open(place.path()).unwrap().delete(&[1, 3], interval).unwrap();
    assert_eq!(deleted.rows.into_iter().collect::<Vec<_>>(), [(1, 20), (3, 20)]);
    record(&place, 15, true);
    let (found, report) = by_libbaro(&place);
    assert_eq!(report.blocks_damaged, 0);
    assert_eq!(found, by_store(&place));
    let mut samples = std::collections::BTreeMap::<(u32, i64), u32>::new();
    let mut frames = std::collections::BTreeMap::<i64, u32>::new();
    for (.., time_ns, kind, _, payload) in &found {
        *frames.entry(*time_ns).or_default() += u32::from(*kind == BARO_KIND_FRAME);
        if *kind == BARO_KIND_SAMPLES {
            let read = baro_ondisk::Samples::decode(payload, *time_ns).unwrap();
            read.iter().for_each(|row| *samples.entry((row.0, row.1)).or_default() += 1);
        }
    }
    for number in 0..60 {
        let (goes, twice) = (u32::from((10..30).contains(&number)), u32::from(number < 15));
        let expected = 1 - goes + twice;
        assert_eq!(frames.get(&(number * 1000)).copied().unwrap_or(0), expected, "{number}");
        let time_ns = number * 1000 + 1;
        let of = |id| samples.get(&(id, time_ns)).copied().unwrap_or(0);
        assert_eq!((of(1), of(2)), (expected, 1 + twice), "{number}");
    }
    // Nobody knows what was deleted if that cannot be read: it is counted.
    let manifest = place.path().join("runs/manifest");
    let mut bytes = std::fs::read(&manifest).unwrap();
    bytes[100] ^= 1;
    std::fs::write(&manifest, bytes).unwrap();
    assert_eq!(by_libbaro(&place).1.blocks_damaged, 1);
}
