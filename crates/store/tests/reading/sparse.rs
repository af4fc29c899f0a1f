//! A file of a store that says it is huge is read as far as anything was ever written to it: what is
//! read is counted, whatever is asked of the store. One test, since it counts for the process.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]
use crate::common::{Folder, options};
use baro_log::{CATALOG, DICTIONARY, Geometry, init, segment_name};
use baro_ondisk::{Type, WhenFull};
use baro_recorder::Recorder;
use baro_store::{Extent, SettleOptions, Settler, Store, recover, verify};
use baro_sys::disk::Disk;
use baro_sys::storage::Access;
use std::path::Path;

const MIB: u64 = 1 << 20;
/// As large as ext4 lets a file be with blocks of 4 KiB, nearly; else as large as goes.
const SIZES: [u64; 3] = [8 << 40, 1 << 40, 64 << 30];

/// Bytes that this process has asked files for.
fn read_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/io").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("rchar: ")).unwrap();
    line.parse().unwrap()
}

/// A store of 2,000 samples, half of them settled, with a dictionary.
fn store(folder: &Folder) {
    let disk = Disk::create(&folder.0).unwrap();
    let (segment_bytes, catalog_bytes, when_full) = (MIB, MIB, WhenFull::Stop);
    let geometry = Geometry { segment_bytes, segments: 4, catalog_bytes, when_full };
    let id = baro_ondisk::StoreId(*b"store id of test");
    init(&disk, &folder.0, id, 1, &geometry, |_| {}).unwrap();
    for part in 0..2 {
        let recorder = Recorder::open(&folder.0, options()).unwrap();
        let ids = recorder.declare(&[("a", Type::F64, ""), ("b", Type::F64, "")]).unwrap();
        let mut producer = recorder.producer().unwrap();
        for at in 0..500_i64 {
            producer.push_samples(part * 500 + at, &ids, &[at as f64, 1.0]).unwrap();
        }
        drop(producer);
        assert_eq!(recorder.close().left, 0);
        if part == 0 {
            let mut settler = Settler::open(&folder.0, SettleOptions::default()).unwrap();
            while settler.step(Extent::All).unwrap().more {}
        }
    }
    Store::open(&folder.0).unwrap().write_dictionary(|_| {}).unwrap();
    assert!(folder.0.join(DICTIONARY).exists());
}

fn stretch(path: &Path) -> bool {
    let file = std::fs::File::options().write(true).open(path).unwrap();
    SIZES.iter().any(|size| file.set_len(*size).is_ok())
}

#[test]
fn holes_are_not_read() {
    let run = |folder: &Folder| {
        let mut runs =
            std::fs::read_dir(folder.0.join("runs")).unwrap().map(|one| one.unwrap().path());
        runs.find(|path| path.extension().is_some_and(|kind| kind == "run")).unwrap()
    };
    let whole = Folder::new("sparse-whole");
    store(&whole);
    let run = run(&whole);
    let run = run.strip_prefix(&whole.0).unwrap();
    for name in [
        Path::new(CATALOG),
        Path::new(&segment_name(0)),
        Path::new(&segment_name(1)),
        Path::new(DICTIONARY),
        Path::new("runs/manifest"),
        run,
    ] {
        let folder = Folder::new("sparse");
        std::fs::create_dir_all(&folder.0).unwrap();
        let from = format!("{}/.", whole.0.display());
        let copied = std::process::Command::new("cp").args(["-a", &from]).arg(&folder.0).status();
        assert!(copied.unwrap().success());
        if !stretch(&folder.0.join(name)) {
            println!("skipped: no file may be so large here");
            continue;
        }
        let before = read_bytes();
        let mut samples = 0;
        match Store::open(&folder.0) {
            Ok(store) => {
                let report = verify(&store, Access::Read, |_, _| {}).unwrap();
                samples = report.samples;
            }
            Err(error) => println!("{name:?}: {error}"),
        }
        let target = Folder::new("sparse-recovered");
        let recovered = recover(&folder.0, &target.0, |_, _| {}).unwrap();
        println!("{name:?}: {samples} samples verified, {recovered:?}");
        if let Ok(mut settler) = Settler::open(&folder.0, SettleOptions::default()) {
            while settler.step(Extent::All).is_ok_and(|step| step.more) {}
        }
        let read = read_bytes() - before;
        assert!(read < 128 * MIB, "{name:?}: {read} bytes read");
    }
}
