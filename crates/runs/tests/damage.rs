//! A changed byte anywhere in a run is found and named; nothing of it is handed out.

#![allow(clippy::unwrap_used, reason = "a test stops at the first error")]

mod common;

use baro_ondisk::limits::UNIT_BYTES;
use baro_ondisk::{StoreId, Type};
use baro_runs::{Error, PageReader, RunIndex, RunInfo, RunWriter, What};
use common::{Numbers, Run, open, series_of};

/// Pages of every shape and domain: grids, long, ragged, of bits, with patches, of texts.
fn small_run(info: &RunInfo) -> Vec<u8> {
    let mut bytes = Vec::new();
    let out = |part: &[u8]| -> Result<(), Error> {
        bytes.extend_from_slice(part);
        Ok(())
    };
    let mut writer = RunWriter::new(info, out).unwrap();
    let mut rng = Numbers(3);
    let decimal = |n: u64| (n as f64 / 10.0).to_bits();
    let even: Vec<i64> = (0..70).map(|tick| tick * 1000).collect();
    for id in 1..80 {
        let bits: Vec<u64> = even.iter().map(|_| decimal(rng.below(50))).collect();
        writer.push(id, Type::F64, &even, &bits).unwrap();
    }
    for id in 100..110 {
        let mut time = 5;
        let times: Vec<i64> = (0..40)
            .map(|_| {
                time += 1 + rng.below(90) as i64;
                time
            })
            .collect();
        let mut bits: Vec<u64> = times.iter().map(|_| decimal(rng.below(50))).collect();
        bits[7] = f64::NAN.to_bits();
        writer.push(id, Type::F64, &times, &bits).unwrap();
        if id == 109 {
            writer.push(110, Type::I64, &times, &bits).unwrap();
            let texts: Vec<&str> =
                times.iter().map(|time| ["on", "off"][*time as usize % 2]).collect();
            writer.push_text(111, &times, &texts).unwrap();
        }
    }
    let long: Vec<i64> = (0..9000).map(|n| n * 7 + i64::from(n % 3 == 0)).collect();
    let bits: Vec<u64> = long.iter().map(|_| decimal(rng.below(3))).collect();
    writer.push(200, Type::F64, &long, &bits).unwrap();
    writer.finish().unwrap();
    bytes
}

/// Everything a reader does; the number of samples, or the first error.
fn read(bytes: &[u8]) -> Result<usize, Error> {
    let index = open(bytes)?;
    let mut reader = PageReader::new();
    let mut samples = 0;
    for entry in index.pages() {
        let page = bytes.get(entry.offset as usize..).and_then(|b| b.get(..entry.bytes as usize));
        let mut page = reader.open(entry, page.unwrap_or(&[]))?;
        page.read_all(i64::MIN, i64::MAX, |_, times, _| samples += times.len())?;
        page.aggregate_all(100, 20_000, |_, _| {})?;
    }
    Ok(samples)
}

#[test]
fn every_flipped_byte_is_found_and_named() {
    let info = RunInfo { note: vec![1, 2, 3], run: 5, ..RunInfo::default() };
    let good = small_run(&info);
    let samples = read(&good).unwrap();
    let index = open(&good).unwrap();
    assert_eq!(samples as u64, index.samples());
    let shapes: Vec<u8> = index.pages().iter().map(|page| good[page.offset as usize + 4]).collect();
    assert!(shapes.contains(&1) && shapes.contains(&2) && shapes.len() >= 5, "{shapes:?}");
    let at = RunIndex::footer(good.len() as u64, &good).unwrap();
    let mut bad = good.clone();
    for offset in 0..good.len() {
        for bit in [0x01, 0x80] {
            bad[offset] ^= bit;
            let error = read(&bad).expect_err("a flip was not found");
            let what = match error {
                Error::Truncated { what, .. }
                | Error::Mismatch { what, .. }
                | Error::OutOfRange { what, .. } => what,
                ref other => panic!("{other} is found behind the CRC"),
            };
            let place = match offset {
                offset if offset < UNIT_BYTES => What::Header,
                offset if offset < at.offset as usize => What::Page,
                offset if offset < at.offset as usize + at.bytes => What::Index,
                _ => What::Footer,
            };
            assert_eq!(what, place, "flip at {offset}: {error}");
            bad[offset] = good[offset];
        }
    }
}

#[test]
fn a_run_cut_short_is_refused() {
    let good = small_run(&RunInfo::default());
    for end in (0..good.len()).step_by(7).chain(good.len() - 70..good.len()) {
        assert!(read(&good[..end]).is_err(), "cut at {end}");
    }
    let mut longer = good;
    longer.push(0);
    assert!(read(&longer).is_err());
}

#[test]
fn a_page_of_another_run_or_place_is_refused() {
    let a = small_run(&RunInfo { run: 1, ..RunInfo::default() });
    for other in [
        RunInfo { run: 2, ..RunInfo::default() },
        RunInfo { run: 1, store: StoreId([1; 16]), ..RunInfo::default() },
    ] {
        let b = small_run(&other);
        let index = open(&b).unwrap();
        let entry = &index.pages()[0];
        let page = &a[entry.offset as usize..][..entry.bytes as usize];
        let error = PageReader::new().open(entry, page).unwrap_err();
        assert!(matches!(error, Error::Mismatch { field: "CRC", .. }), "{error}");
    }
    let run = Run((1..3)
        .map(|id| series_of(id * 9, Type::F64, (0..9000).collect(), vec![7; 9000]))
        .collect());
    let file = run.write();
    let index = file.index();
    let (one, two) = (&index.pages()[0], file.page(&index, 1));
    assert_eq!(one.bytes as usize, two.len());
    assert!(PageReader::new().open(one, two).is_err());
}

#[test]
fn samples_out_of_order_are_refused_by_name() {
    let out = |_: &[u8]| -> Result<(), Error> { Ok(()) };
    let mut writer = RunWriter::new(&RunInfo::default(), out).unwrap();
    writer.push(5, Type::F64, &[10, 20], &[0, 0]).unwrap();
    let field = |error: Error| match error {
        Error::OutOfRange { field, .. } => field,
        other => panic!("{other}"),
    };
    assert_eq!(field(writer.push(4, Type::F64, &[1], &[0]).unwrap_err()), "series");
    assert_eq!(field(writer.push(5, Type::I64, &[30], &[0]).unwrap_err()), "type");
    assert_eq!(field(writer.push(5, Type::Text, &[30], &[0]).unwrap_err()), "type");
    assert_eq!(field(writer.push(5, Type::F64, &[30], &[]).unwrap_err()), "values");
    let time = "time after the one before";
    assert_eq!(field(writer.push(5, Type::F64, &[20], &[0]).unwrap_err()), time);
    assert_eq!(field(writer.push(5, Type::F64, &[30, 30], &[0, 0]).unwrap_err()), time);
    assert_eq!(writer.finish().unwrap().samples, 2);
    let note = RunInfo { note: vec![0; 257], ..RunInfo::default() };
    assert_eq!(field(RunWriter::new(&note, out).map(|_| ()).unwrap_err()), "note");
}
