//! Fields of any value under right CRCs: whoever opens, verifies, asks, settles, recovers or begins to
//! record says what is wrong, or takes it; nobody panics.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]
use crate::common::{Folder, options};
use baro_log::{IDENTITY, MANIFEST, pin_name, segment_name};
use baro_ondisk::{Pin, PinState, StoreId, Type, WhenFull, crc32c};
use baro_recorder::Recorder;
use baro_store::{Extent, Interval, Query, SettleOptions, Settler, Store, verify};
use baro_sys::disk::Disk;
use baro_sys::sim::SimDisk;
use baro_sys::storage::{Access, Storage, StorageFile};
use std::ops::ControlFlow;
use std::panic::AssertUnwindSafe;
use std::path::Path;

/// Two with each push; the others where nothing is said of a tier.
const VALUES: [u64; 6] = [u64::MAX, 1 << 62, u64::MAX - 1, 1 << 63, (1 << 62) + 1, 0];

/// A file, the unit in it (0 bytes: all), where its CRC is, and fields: offset and bytes.
type Place<'a> = (&'a str, (u64, usize), usize, Vec<(usize, usize)>);

/// Three sessions, of which the first is settled, and a pin.
fn store() -> SimDisk {
    let folder = Folder::init("extremes", 4, WhenFull::Stop);
    let path = folder.0.as_path();
    for time_ns in 1..=3 {
        let recorder = Recorder::open(path, options()).unwrap();
        let wanted = [("s", Type::F64, ""), ("c", Type::Channel, "")];
        let ids = recorder.declare(&wanted).unwrap();
        let mut producer = recorder.producer().unwrap();
        producer.push_sample(ids[0], time_ns, 0.5).unwrap();
        producer.push_frame(ids[1], time_ns, &[7; 100]).unwrap();
        assert_eq!(recorder.close().left, 0);
        if time_ns == 1 {
            let mut settler = Settler::open(path, SettleOptions::default()).unwrap();
            settler.step(Extent::All).unwrap();
        }
    }
    let pin = Pin {
        store: StoreId(*b"store id of test"),
        id: 7,
        state: PinState::Whole,
        first_epoch: 2,
        last_epoch: 3,
        ..Pin::default()
    };
    std::fs::create_dir_all(path.join("pins")).unwrap();
    std::fs::write(path.join(pin_name(7, "pin")), pin.encode()).unwrap();
    let (disk, real) = (SimDisk::new(1), Disk::open(path).unwrap());
    for above in ["", "log", "runs", "pins"] {
        if !above.is_empty() {
            disk.create_folder(above).unwrap();
        }
        for name in real.list(above).unwrap() {
            let name = if above.is_empty() { name } else { format!("{above}/{name}") };
            if path.join(&name).is_file() {
                let bytes = std::fs::read(path.join(&name)).unwrap();
                disk.create(&name).unwrap().write_at(0, &bytes).unwrap();
            }
        }
    }
    disk
}

/// Puts the field there, and the CRC at `crc_at` of the `bytes` from `start` on.
fn put(
    disk: &SimDisk,
    name: &str,
    (start, bytes): (u64, usize),
    crc_at: usize,
    field: (usize, &[u8]),
) {
    let file = disk.open(name, Access::Write).unwrap();
    let bytes = if bytes == 0 { file.size_bytes().unwrap() as usize } else { bytes };
    let mut unit = vec![0; bytes];
    file.read_at(start, &mut unit).unwrap();
    unit[field.0..field.0 + field.1.len()].copy_from_slice(field.1);
    unit[crc_at..crc_at + 4].fill(0);
    // That of a block's header is its end, and not in itself.
    let covered = if crc_at + 4 == bytes { crc_at } else { bytes };
    let crc = crc32c(0, &unit[..covered]);
    unit[crc_at..crc_at + 4].copy_from_slice(&crc.to_le_bytes());
    file.write_at(start, &unit).unwrap();
}

/// All that reads, and what settles and recovers.
fn use_it(disk: &SimDisk) {
    let path = Path::new("sim");
    let _ = baro_log::recover(&disk.fork(), path);
    let Ok(store) = Store::open_in(disk.clone(), path, Access::Read) else { return };
    let last = Query { last: Some(1), ..Query::raw(Interval::ALL) };
    for query in [Query::raw(Interval::ALL), last] {
        let _ = store.query_ids(&[1], &query, |_| ControlFlow::Continue(()));
    }
    let _ = store.info();
    let report = verify(&store, Access::Read, |_, _| {}).unwrap();
    report.damage.iter().for_each(|found| assert!(!found.to_string().is_empty()));
    if let Ok(mut settler) = Settler::over(store, SettleOptions::default()) {
        let _ = settler.step_with(Extent::All, false);
    }
}

#[test]
fn extreme_fields_under_right_crcs_make_nobody_panic() {
    let disk = store();
    use_it(&disk.fork());
    let newest = segment_name(2);
    let wide = |fields: &[usize]| fields.iter().map(|at| (*at, 8)).collect::<Vec<_>>();
    let narrow = |fields: &[usize]| fields.iter().map(|at| (*at, 4)).collect::<Vec<_>>();
    let header = wide(&[
        32, 40, 56, 64, 72, 80, 112, 120, 3976, 3984, 3992, 4000, 4008, 4016, 4048, 4056, 4064,
        4072, 4088,
    ]);
    let header =
        [header, narrow(&[10, 48, 52, 104, 108, 128, 132, 4024, 4028, 4080, 4084])].concat();
    let block = wide(&[24, 32, 40, 48, 56, 64, 72, 80, 112]);
    let block = [block, narrow(&[6, 88, 92, 96, 108, 120])].concat();
    let manifest = wide(&[32, 40, 48, 56, 72, 80, 88, 96, 104, 112]);
    let manifest = [manifest, narrow(&[64, 68, 120, 124])].concat();
    let pin = [wide(&[40, 48, 72, 80, 88, 96, 1392, 1400, 1408]), narrow(&[104])].concat();
    let identity = [wide(&[32, 40]), narrow(&[48, 52, 56])].concat();
    let pin_file = pin_name(7, "pin");
    let places: [Place<'_>; 5] = [
        (&newest, (0, 4096), 12, header),
        (&newest, (4096, 128), 124, block),
        (MANIFEST, (0, 0), 12, manifest),
        (&pin_file, (0, 4096), 12, pin),
        (IDENTITY, (0, 4096), 12, identity),
    ];
    let push = std::env::var("BARO_TEST_TIER").is_ok_and(|tier| tier == "push");
    let values = if push { &VALUES[..2] } else { &VALUES[..] };
    let mut panicked = Vec::new();
    for (name, unit, crc_at, fields) in places {
        for (at, bytes) in fields {
            for value in values {
                let changed = disk.fork();
                put(&changed, name, unit, crc_at, (at, &value.to_le_bytes()[..bytes]));
                if std::panic::catch_unwind(AssertUnwindSafe(|| use_it(&changed))).is_err() {
                    panicked.push((name.to_owned(), unit.0, at, *value));
                }
            }
        }
    }
    assert_eq!(panicked, [], "file, offset of the unit, offset in it, value");
}
