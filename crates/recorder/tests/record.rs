//! A recorder on a real file system: what is pushed is found, whole and in order, after close,
//! after reopening, and by two recorders one after the other.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]
use baro_log::segment_name;
use baro_log::{
    Blocks, Catalog, Found, Geometry, Pins, Segments, init, init_growing, read_identity, write_pin,
};
use baro_ondisk::{Pin, PinState, StoreId, Type, WhenFull};
use baro_recorder::{Error, Options, PinRequest, Recorder, Refused, Retention, Rings};
use baro_sys::disk::Disk;
use baro_sys::identity::FileSystem;
use baro_sys::storage::{Access, Storage};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("baro-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Folder(path)
    }

    fn init(&self, segments: u32, when_full: WhenFull) {
        let disk = Disk::create(&self.0).unwrap();
        let id = baro_ondisk::StoreId(*b"store id of test");
        let (segment_bytes, catalog_bytes) = (1 << 20, 1 << 20);
        let geometry = Geometry { segment_bytes, segments, catalog_bytes, when_full };
        init(&disk, &self.0, id, 1, &geometry, |_| {}).unwrap();
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn options() -> Options {
    Options { rings: Rings::Private, durable_within_ns: 4_000_000, ..Options::default() }
}

/// All records of the log, oldest segment first: (producer, sequence, payload).
fn read_all(path: &Path) -> Vec<(u64, u64, Vec<u8>)> {
    let disk = Disk::open(path).unwrap();
    let identity = read_identity(&disk, path).unwrap();
    let segments = Segments::read(&disk, &identity).unwrap();
    assert!(segments.damaged.is_empty());
    let mut blocks = Blocks::new().unwrap();
    let mut records = Vec::new();
    for (header, crc) in segments.started {
        let file = disk.open(&segment_name(header.index), Access::ReadDirect).unwrap();
        let mut walk = blocks.walk(&file, header, crc);
        while let Found::Block(block) = walk.next_block().unwrap() {
            for chunk in block.chunks() {
                let chunk = chunk.unwrap();
                for record in chunk.records() {
                    let record = record.unwrap();
                    records.push((chunk.producer, record.sequence, record.payload.to_vec()));
                }
            }
        }
    }
    records
}

/// Who settles passes over what a recorder says is settled.
#[test]
fn who_keeps_no_unsettled_segments_says_nothing_of_them() {
    let folder = Folder::new("unsettled");
    folder.init(4, WhenFull::Recycle);
    for keep_unsettled in [false, true] {
        let retention = Retention { keep_unsettled, ..Retention::default() };
        let recorder = Recorder::open(&folder.0, Options { retention, ..options() }).unwrap();
        recorder.declare(&[("t", Type::F64, "K")]).unwrap();
        let mut producer = recorder.producer().unwrap();
        let end = producer.push_sample(1, 1, 0.5).unwrap();
        assert!(recorder.wait_durable(&producer, end, 10_000_000_000));
        assert_eq!(recorder.close().status.unsettled_from_epoch > 0, keep_unsettled);
    }
}

#[test]
fn what_is_pushed_is_found_in_order() {
    let folder = Folder::new("order");
    folder.init(16, WhenFull::Stop);
    let mut expected = Vec::new();
    for session in 0..3_u8 {
        let recorder = Recorder::open(&folder.0, options()).unwrap();
        let ids = recorder.declare(&[("a", Type::Channel, ""), ("t", Type::F64, "K")]).unwrap();
        assert_eq!(ids, [1, 2]);
        let mut producer = recorder.producer().unwrap();
        let id = producer.report().producer;
        for n in 0..2000_u64 {
            let payload = vec![session; (n as usize * 7) % 1000];
            assert_eq!(producer.push_frame(ids[0], n as i64, &payload), Ok(n));
            expected.push((id, n, payload));
        }
        assert!(recorder.wait_durable(&producer, 2000, 60_000_000_000));
        let closed = recorder.close();
        assert_eq!((closed.left, closed.status.lost), (0, 0));
        assert_eq!(producer.push_frame(1, 0, b"late"), Err(Refused::Closed));
    }
    assert_eq!(read_all(&folder.0), expected);
    let catalog = Catalog::read(&Disk::open(&folder.0).unwrap()).unwrap();
    assert_eq!(catalog.get("t").unwrap().unit, "K");
}

#[test]
fn a_full_log_refuses_and_counts_and_a_recycled_one_keeps_the_newest() {
    for when_full in [WhenFull::Stop, WhenFull::Recycle] {
        let folder = Folder::new(&format!("full-{when_full:?}"));
        folder.init(3, when_full);
        let small = Options { ring_bytes: 256 << 10, ..options() };
        let recorder = Recorder::open(&folder.0, small).unwrap();
        let mut producer = recorder.producer().unwrap();
        let mut taken = Vec::new();
        for n in 0..800_u64 {
            while producer.report().used_bytes > 100_000 {
                if recorder.status().trouble != baro_recorder::Trouble::None {
                    break;
                }
                std::thread::yield_now();
            }
            if let Ok(sequence) = producer.push_frame(1, 0, &[n as u8; 10_000]) {
                taken.push(sequence);
            }
        }
        let closed = recorder.close();
        let found: Vec<u64> = read_all(&folder.0).iter().map(|record| record.1).collect();
        if when_full == WhenFull::Stop {
            assert!(taken.len() < 800 && closed.left > 0);
            assert!(found.len() > 200 && taken.starts_with(&found));
        } else {
            assert_eq!((taken.len(), closed.left), (800, 0));
            // Two segments are whole. On a slow machine each record has a block of its own, of three units.
            let alone = 2 * ((1 << 20) / (3 * 4096) - 1);
            assert!(found.len() >= alone && taken.ends_with(&found), "{} of {alone}", found.len());
        }
    }
}

#[test]
fn a_flush_makes_durable_what_was_pushed_before_it() {
    let folder = Folder::new("flush");
    folder.init(6, WhenFull::Stop);
    // Of itself the writer would let an hour pass.
    let patient = Options { durable_within_ns: 3_600_000_000_000, ..options() };
    let recorder = Recorder::open(&folder.0, patient).unwrap();
    assert_eq!(recorder.flush(60_000_000_000).unwrap(), 0);
    let mut producers = [recorder.producer().unwrap(), recorder.producer().unwrap()];
    for round in 0..20_u64 {
        for producer in &mut producers {
            for _ in 0..5 {
                producer.push_frame(1, 0, &[round as u8; 3000]).unwrap();
            }
        }
        // A refused record is waited for as its gap.
        let large = vec![0; 1 << 20];
        assert!(matches!(producers[1].push_frame(1, 0, &large), Err(Refused::TooLarge { .. })));
        assert_eq!(recorder.flush(60_000_000_000).unwrap(), 0);
        let durable = producers.each_ref().map(|producer| producer.durable());
        assert_eq!(durable, [5 * (round + 1), 6 * (round + 1)]);
        // Gaps are the writer's records, and so is the first one of all that tells the clock.
        let frames = read_all(&folder.0).iter().filter(|record| record.2.len() == 3000).count();
        assert_eq!(frames as u64, 10 * (round + 1));
    }
    // From several threads at once, each for what it knows of.
    std::thread::scope(|scope| {
        for producer in &mut producers {
            scope.spawn(|| {
                for _ in 0..10 {
                    let sequence = producer.push_frame(1, 0, b"one").unwrap();
                    assert_eq!(recorder.flush(60_000_000_000).unwrap(), 0);
                    assert!(producer.durable() > sequence);
                }
            });
        }
    });
    assert_eq!(recorder.close().left, 0);
}

#[test]
fn a_flush_that_cannot_be_says_how_much_is_not_durable() {
    let folder = Folder::new("flush-full");
    folder.init(2, WhenFull::Stop);
    let recorder = Recorder::open(&folder.0, options()).unwrap();
    let mut producer = recorder.producer().unwrap();
    for _ in 0..60 {
        producer.push_frame(1, 0, &[1; 100_000]).unwrap();
    }
    let left = recorder.flush(200_000_000).unwrap();
    let report = producer.report();
    assert!(left > 0);
    assert_eq!(left, report.offered - report.durable);
    // Nothing waits for it any more, and closing says the same.
    assert_eq!(recorder.close().left, left);
}

#[test]
fn threads_of_the_recorder_leave_signals_to_others() {
    let folder = Folder::new("signals");
    folder.init(2, WhenFull::Stop);
    let own = || {
        let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        status.lines().find(|line| line.starts_with("SigBlk:")).unwrap().to_owned()
    };
    let before = own();
    let recorder = Recorder::open(&folder.0, options()).unwrap();
    assert_eq!(own(), before);
    // A thread gives itself its name, a moment after it has begun.
    let named = || baro_sys::schedule::own_threads("baro-");
    let begun = |_: i32| {
        baro_sys::clock::sleep_ns(1_000_000);
        Some(named()).filter(|threads| threads.len() >= 4)
    };
    let threads = (0..60_000).find_map(begun).unwrap();
    let blocked = |task: u32| {
        let status = std::fs::read_to_string(format!("/proc/self/task/{task}/status")).ok()?;
        let mask = status.lines().find_map(|line| line.strip_prefix("SigBlk:"))?;
        let mask = u64::from_str_radix(mask.trim(), 16).unwrap();
        // SIGINT, SIGUSR1, SIGALRM, SIGTERM; SIGBUS, SIGSEGV.
        Some([2, 10, 14, 15, 7, 11].map(|signal| mask >> (signal - 1) & 1 == 1))
    };
    // Those of other tests come and go.
    let found: Vec<_> = threads.into_iter().filter_map(blocked).collect();
    assert!(!found.is_empty());
    assert!(found.iter().all(|mask| *mask == [true, true, true, true, false, false]), "{found:?}");
    assert_eq!(recorder.close().left, 0);
}

#[test]
fn the_second_recorder_is_refused_by_name() {
    let folder = Folder::new("two");
    folder.init(2, WhenFull::Stop);
    let first = Recorder::open(&folder.0, options()).unwrap();
    let error = Recorder::open(&folder.0, options()).unwrap_err();
    assert!(matches!(error, Error::Busy { pid: Some(pid), .. } if pid == std::process::id()));
    drop(first);
    assert!(Recorder::open(&folder.0, options()).is_ok());
    let error = Recorder::open(&folder.0.join("none"), options()).unwrap_err();
    assert!(matches!(error, Error::Log(baro_log::Error::NotAStore { .. })), "{error}");
}

#[test]
fn a_removed_lock_lets_nobody_else_in() {
    let folder = Folder::new("unlocked");
    folder.init(4, WhenFull::Recycle);
    let recorder = Recorder::open(&folder.0, options()).unwrap();
    let lock = folder.0.join("lock");
    // Whatever is done to it: the file `store` is locked too.
    for put in [None, Some("1\n")] {
        std::fs::remove_file(&lock).unwrap();
        if let Some(text) = put {
            std::fs::write(&lock, text).unwrap();
        }
        let error = Recorder::open(&folder.0, options()).unwrap_err();
        assert!(matches!(error, Error::Busy { .. }), "{error}");
        let told = |what: &str| recorder.complaints().iter().any(|said| said.contains(what));
        let told = || told(if put.is_some() { "lock was replaced" } else { "lock was removed" });
        assert!((0..1_000).any(|_| told() || {
            baro_sys::clock::sleep_ns(5_000_000);
            false
        }));
        // Versions that know the named lock only are kept out again.
        if put.is_none() {
            let held = || baro_sys::lock::LockFile::holder(&lock).unwrap().is_some();
            assert!((0..1_000).any(|_| held() || {
                baro_sys::clock::sleep_ns(5_000_000);
                false
            }));
        }
    }
    let closed = recorder.close();
    assert_eq!((closed.left, closed.lost_durable, closed.damage.len()), (0, 0, 2), "{closed:?}");
    drop(Recorder::open(&folder.0, options()).unwrap());
}

#[test]
fn a_log_that_another_writes_is_written_no_more() {
    let folder = Folder::new("foreign");
    folder.init(4, WhenFull::Recycle);
    let recorder = Recorder::open(&folder.0, options()).unwrap();
    let mut producer = recorder.producer().unwrap();
    producer.push_frame(1, 1, &[1; 1000]).unwrap();
    assert!(recorder.wait_durable(&producer, 1, 5_000_000_000));
    // As a second recorder starts the next segment, however it got past the locks.
    let path = folder.0.join(segment_name(1));
    let mut unit = std::fs::read(&path).unwrap();
    let (header, _) = baro_ondisk::SegmentHeader::decode(&unit[..4096]).unwrap();
    let session = 77 << 32;
    let theirs = baro_ondisk::SegmentHeader { session, epoch: 2, ..header };
    unit[..4096].copy_from_slice(&theirs.encode_with(&[], &baro_ondisk::Wear::default(), None).0);
    std::fs::write(&path, &unit).unwrap();
    for _ in 0..2_000 {
        let _ = producer.push_frame(1, 2, &[2; 1000]);
    }
    let stopped = || {
        recorder.status().stopped || {
            baro_sys::clock::sleep_ns(5_000_000);
            false
        }
    };
    assert!((0..1_000).any(|_| stopped()), "{:?}", recorder.status());
    let said = recorder.status().trouble.to_string();
    assert!(said.contains("another recorder has written meanwhile"), "{said}");
    assert!(said.contains("expected an epoch of at most 0, found 2 of session 0000004d"), "{said}");
    drop(producer);
    let closed = recorder.close();
    assert!(closed.left > 0 && closed.status.stopped, "{closed:?}");
    // Not a byte of theirs was written over, and nothing more was written anywhere.
    assert!(std::fs::read(&path).unwrap() == unit, "it was written over");
    assert!(read_all(&folder.0).len() < 2_000);
}

/// Frames of more than the log holds, faster than they are written; a pin of all that at the end if asked for.
fn fill(path: &Path, pinned: bool) {
    let recorder = Recorder::open(path, options()).unwrap();
    let mut producer = recorder.producer().unwrap();
    for n in 0..1_000 {
        while producer.push_frame(1, n, &[7; 14_000]).is_err() {
            baro_sys::clock::sleep_ns(1_000_000);
        }
    }
    if pinned {
        let request = PinRequest { before_ns: 600_000_000_000, ..PinRequest::default() };
        recorder.pin(&request).unwrap();
    }
    drop(producer);
    let closed = recorder.close();
    assert_eq!((closed.left, closed.status.lost), (0, 0), "{:?}", closed.status.trouble);
}

fn pins(path: &Path) -> Vec<Pin> {
    let disk = Disk::open(path).unwrap();
    let pins = Pins::read(&disk, StoreId(*b"store id of test")).unwrap();
    pins.pins.into_values().collect()
}

/// A pin that ends while its recorder writes the last has its end when the store is closed.
#[test]
fn a_pin_has_an_end_when_its_recorder_is_closed() {
    let folder = Folder::new("pin-close");
    folder.init(64, WhenFull::Recycle);
    fill(&folder.0, true);
    let pins = pins(&folder.0);
    assert!(pins.len() == 1 && pins[0].state != PinState::Open, "{pins:?}");
}

/// What is still in the ring when the store is closed waits for the log to grow.
#[test]
fn a_log_that_grows_does_so_for_the_last_records_too() {
    let folder = Folder::new("grow-close");
    let disk = Disk::create(&folder.0).unwrap();
    let when_full = WhenFull::Stop;
    let geometry =
        Geometry { segment_bytes: 1 << 20, segments: 12, catalog_bytes: 1 << 20, when_full };
    init_growing(&disk, &folder.0, StoreId([3; 16]), 1, &geometry, 2, |_| {}).unwrap();
    let recorder = Recorder::open(&folder.0, options()).unwrap();
    let id = recorder.declare(&[("frames", Type::Channel, "")]).unwrap()[0];
    let mut producer = recorder.producer().unwrap();
    for n in 0..100 {
        producer.push_frame(id, n, &[7; 60_000]).unwrap();
    }
    let closed = recorder.close();
    assert_eq!((closed.left, closed.status.lost, closed.status.records), (0, 0, 100));
}

/// One that was left open, as by a kill, covers all that was recorded since: it does not stop the next recorder.
#[test]
fn a_pin_that_was_left_open_does_not_stop_recording() {
    let folder = Folder::new("pin-open");
    folder.init(10, WhenFull::Recycle);
    fill(&folder.0, false);
    fill(&folder.0, false);
    let recorder = Recorder::open(&folder.0, options()).unwrap();
    // Of the newest segments alone, so that it is granted.
    recorder.pin(&PinRequest::default()).unwrap();
    drop(recorder);
    let mut left = pins(&folder.0).remove(0);
    let newest = left.first_epoch;
    (left.first_epoch, left.last_epoch, left.state) = (newest - 8, u64::MAX, PinState::Open);
    write_pin(&Disk::open(&folder.0).unwrap(), &left, "pin").unwrap();
    fill(&folder.0, false);
    let pins = pins(&folder.0);
    assert_eq!((pins[0].state, pins[0].first_epoch), (PinState::Short, newest - 8));
    assert!(pins[0].last_epoch <= newest - 8 + 4, "{pins:?}");
    assert!(pins[0].reason.contains("half the log"), "{pins:?}");
}

/// A ring that was refused, since the disk had come back as another device, is taken over by a later session:
/// what it had given to the log, and could not give back any more, is there once.
#[test]
fn a_ring_that_is_taken_over_after_another_session_gives_nothing_twice() {
    let shared = Path::new("/dev/shm");
    if !FileSystem::of(shared).is_ok_and(|found| found.name() == "tmpfs") {
        println!("skipped: no tmpfs at /dev/shm");
        return;
    }
    let folder = Folder::new("later-ring");
    let rings = Folder(shared.join(format!("baro-later-ring-{}", std::process::id())));
    folder.init(8, WhenFull::Recycle);
    std::fs::create_dir_all(&rings.0).unwrap();
    let found = || {
        let folders = std::fs::read_dir(&rings.0).unwrap().map(|entry| entry.unwrap().path());
        let files = folders.flat_map(|folder| std::fs::read_dir(folder).unwrap());
        let files = files.map(|entry| entry.unwrap().path());
        files.filter(|path| path.extension().is_some_and(|end| end == "ring")).collect::<Vec<_>>()
    };
    let options = |durable_within_ns| {
        let rings = Rings::In(rings.0.clone());
        Options { rings, durable_within_ns, ring_bytes: 1 << 16, ..options() }
    };
    let recorder = Recorder::open(&folder.0, options(1_000_000_000)).unwrap();
    let id = recorder.declare(&[("c", Type::Channel, "")]).unwrap()[0];
    let mut producer = recorder.producer().unwrap();
    let own = found();
    for time_ns in 0..5 {
        producer.push_frame(id, time_ns, b"given").unwrap();
    }
    // As a kill leaves it when all of it is in the log, and the ring does not know yet.
    let copies: Vec<_> = own.iter().map(|path| (path, std::fs::read(path).unwrap())).collect();
    assert!(!copies.is_empty());
    let number = producer.report().producer;
    drop(producer);
    assert_eq!(recorder.close().left, 0);
    // The session after it does not see the ring.
    let recorder = Recorder::open(&folder.0, options(4_000_000)).unwrap();
    let mut producer = recorder.producer().unwrap();
    producer.push_frame(id, 9, b"later").unwrap();
    drop(producer);
    assert_eq!(recorder.close().left, 0);
    for (path, bytes) in copies {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
    }
    let recorder = Recorder::open(&folder.0, options(4_000_000)).unwrap();
    assert_eq!(recorder.opening().rings_refused, [""; 0]);
    assert_eq!(recorder.close().left, 0);
    let records = read_all(&folder.0);
    let of_ring: Vec<u64> = records.iter().filter(|r| r.0 == number).map(|r| r.1).collect();
    assert_eq!(of_ring, [0, 1, 2, 3, 4]);
    assert_eq!(found(), [""; 0].map(PathBuf::from), "it was given back");
}
