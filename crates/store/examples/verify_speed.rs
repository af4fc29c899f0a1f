//! How fast a store is verified from the page cache: records frames of a given size through a
//! recorder, then verifies twice. `verify_speed FOLDER FRAME_BYTES TOTAL_MIB`; FOLDER is removed.

#![allow(clippy::disallowed_methods, reason = "removes its folder")]
use baro_log::{Geometry, init};
use baro_ondisk::{StoreId, Type, WhenFull};
use baro_recorder::{Options, Recorder, Rings};
use baro_store::{Filter, Interval, Reading, Store, verify};
use baro_sys::clock::{monotonic_ns, sleep_ns};
use baro_sys::disk::Disk;
use baro_sys::storage::Access;
use std::error::Error;
use std::ops::ControlFlow;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, frame, mib] = arguments.as_slice() else {
        return Err("verify_speed FOLDER FRAME_BYTES TOTAL_MIB".into());
    };
    let path = Path::new(folder);
    let bytes = mib.parse::<u64>()? << 20;
    record(path, frame.parse()?, bytes)?;
    for _ in 0..3 {
        let disk = Disk::open(path)?;
        let before = monotonic_ns();
        let store = Store::open_in(disk, path, Access::Read)?;
        let opened = monotonic_ns();
        let report = verify(&store, Access::Read, |_, _| {})?;
        let ns = monotonic_ns() - opened;
        assert!(report.is_whole());
        println!(
            "open {} ms; verify {} MB, {} records in {} ms: {:.2} GB/s, {:.1} M records/s",
            (opened - before) / 1_000_000,
            report.block_bytes / 1_000_000,
            report.records,
            ns / 1_000_000,
            report.block_bytes as f64 / ns as f64,
            report.records as f64 * 1000.0 / ns as f64,
        );
        let before = monotonic_ns();
        let mut sum = 0;
        let notes =
            store.records(Interval::ALL, &Filter::all(), &Reading::default(), |record| {
                sum += record.payload.len();
                ControlFlow::Continue(())
            })?;
        let ns = monotonic_ns() - before;
        println!(
            "in time order: {} records, {:.2} GB/s, {:.1} M records/s",
            notes.records,
            sum as f64 / ns as f64,
            notes.records as f64 * 1000.0 / ns as f64
        );
    }
    std::fs::remove_dir_all(path)?;
    Ok(())
}

fn record(path: &Path, frame: usize, bytes: u64) -> Result<(), Box<dyn Error>> {
    let disk = Disk::create(path)?;
    let geometry = Geometry::for_log(bytes + bytes / 2 + (64 << 20), WhenFull::Stop)?;
    init(&disk, path, StoreId(*b"speed of verify."), 1, &geometry, |_| {})?;
    let options = Options { rings: Rings::Private, ring_bytes: 64 << 20, ..Options::default() };
    let recorder = Recorder::open(path, options)?;
    let id = recorder.declare(&[("frames", Type::Channel, "")])?[0];
    let mut producers = [recorder.producer()?, recorder.producer()?];
    let payload = vec![0x5a; frame];
    let count = bytes / frame as u64;
    for n in 0..count {
        let producer = &mut producers[(n % 2) as usize];
        while producer.report().used_bytes as usize > (32 << 20) {
            sleep_ns(1_000_000);
        }
        producer.push_frame(id, n as i64 * 1000, &payload).map_err(|e| format!("{e:?}"))?;
    }
    let closed = recorder.close();
    assert_eq!(closed.left, 0);
    Ok(())
}
