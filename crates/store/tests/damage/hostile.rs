//! Damaged and hostile files: whatever is in them, readers hand out only what was recorded, and
//! verify names file and offset, or calls it the tail of a crash.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]
use crate::common::{Folder, Pushed, Random, init_at, record};
use baro_log::segment_name;
use baro_ondisk::WhenFull;
use baro_ondisk::limits::UNIT_BYTES;
use baro_store::{Loss, Store, VerifyReport, recover, verify};
use baro_sys::storage::Access;
use std::collections::HashSet;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

fn read(path: &Path) -> (Vec<Pushed>, VerifyReport) {
    let store = Store::salvage(path).unwrap();
    let mut found = Vec::new();
    store
        .records_as_written(|record| {
            if record.kind == baro_ondisk::Kind::Frame {
                found.push(Pushed::of(record));
            }
            ControlFlow::Continue(())
        })
        .unwrap();
    let report = verify(&store, Access::Read, |_, _| {}).unwrap();
    (found, report)
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to.join("log")).unwrap();
    for name in ["store", "catalog"] {
        std::fs::copy(from.join(name), to.join(name)).unwrap();
    }
    for entry in std::fs::read_dir(from.join("log")).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), to.join("log").join(entry.file_name())).unwrap();
    }
}

fn segment(path: &Path, index: u32) -> PathBuf {
    path.join(segment_name(index))
}

/// Where blocks with records are, without the marks of ends: (file, offset, bytes used).
fn places(path: &Path) -> Vec<(u32, u64, usize)> {
    let mut places = Vec::new();
    let each = |live: &baro_store::LiveBlock<'_>| {
        if live.block.header.is_end_mark() {
            return ControlFlow::Continue(());
        }
        let used = baro_ondisk::BLOCK_HEADER_BYTES + live.block.header.payload_bytes();
        let baro_store::SegmentFile::Log(file) = live.file else { panic!("nothing is pinned") };
        places.push((file, live.offset, used));
        ControlFlow::Continue(())
    };
    Store::open(path).unwrap().blocks(each).unwrap();
    places
}

/// A byte of a file with some bits flipped until this is dropped.
struct Flip {
    path: PathBuf,
    at: u64,
    was: u8,
}

impl Flip {
    fn new(path: PathBuf, at: u64, bits: u8) -> Self {
        let mut bytes = std::fs::read(&path).unwrap();
        let was = bytes[at as usize];
        bytes[at as usize] ^= bits;
        std::fs::write(&path, &bytes).unwrap();
        Flip { path, at, was }
    }
}

impl Drop for Flip {
    fn drop(&mut self) {
        let mut bytes = std::fs::read(&self.path).unwrap();
        bytes[self.at as usize] = self.was;
        std::fs::write(&self.path, &bytes).unwrap();
    }
}

#[test]
fn every_flipped_bit_of_a_block_is_named_and_nothing_wrong_is_read() {
    let folder = Folder::init("flips", 6, WhenFull::Stop);
    let expected = record(&folder.0, 2, 2, 900, 100);
    let all: HashSet<&Pushed> = expected.iter().collect();
    let places = places(&folder.0);
    let mut random = Random(42);
    let mut damaged = 0;
    for round in 0..200 {
        let (file, offset, used) = places[random.below(places.len() as u64) as usize];
        let at = offset + random.below(used as u64);
        let _flip = Flip::new(segment(&folder.0, file), at, 1 << random.below(8));
        let (found, report) = read(&folder.0);
        assert!(found.iter().all(|p| all.contains(p)), "round {round}");
        assert!(found.len() < expected.len());
        let name = segment_name(file);
        // Damage to a header is found at its field, damage to a payload at its CRC.
        let near = |o: u64| (offset..offset + used as u64).contains(&o);
        let damage = report.damage.iter().any(|d| d.file == name && near(d.offset));
        // The sessions were closed in order, so none is taken for a tear.
        assert!(damage && report.tails.is_empty(), "round {round}: {at} in {name}: {report:?}");
        assert!(!report.is_whole(), "round {round}: {report:?}");
        damaged += 1;
    }
    assert_eq!(damaged, 200);
    let (found, report) = read(&folder.0);
    assert!(report.is_whole() && found.len() == expected.len());
}

/// Who reads has the damage in the notes, whichever way he takes: nobody has to ask for it elsewhere.
#[test]
fn every_way_out_of_records_tells_of_a_block_whose_header_is_damaged() {
    let folder = Folder::init("ways", 6, WhenFull::Stop);
    record(&folder.0, 1, 1, 400, 100);
    let places = places(&folder.0);
    let (file, offset, _) = places[places.len() / 2];
    let _flip = Flip::new(segment(&folder.0, file), offset + 100, 1);
    let (all, reading) = (baro_store::Interval::ALL, baro_store::Reading::default());
    let each = |_: &baro_store::RecordRef<'_>| ControlFlow::Continue(());
    type Way<'a> = &'a dyn Fn(&Store) -> baro_store::Notes;
    let ways: [(&str, Way<'_>); 8] = [
        ("records", &|store| {
            store.records(all, &baro_store::Filter::all(), &reading, each).unwrap()
        }),
        ("as written", &|store| store.records_as_written(each).unwrap()),
        ("blocks", &|store| store.blocks(|_| ControlFlow::Continue(())).unwrap()),
        ("timeline", &|store| {
            let selection = baro_store::Selection::all(store.catalog(), false).unwrap();
            store.timeline(all, &selection, &reading, |_| ControlFlow::Continue(())).unwrap().0
        }),
        ("points", &|store| {
            let selection = baro_store::Selection::all(store.catalog(), false).unwrap();
            store.points(all, &selection, &reading, |_| ControlFlow::Continue(())).unwrap().0
        }),
        ("tail", &|store| store.tail(&[1], 100_000).unwrap().1),
        ("usage", &|store| store.usage(None, |_| {}).unwrap()),
        ("counts", &|store| store.counts().unwrap().1),
    ];
    for (way, read) in ways {
        let notes = read(&Store::open(&folder.0).unwrap());
        let told: Vec<_> = notes.damage.iter().filter(|one| one.is_loss()).collect();
        assert!(told.len() == 1 && told[0].file == segment_name(file), "{way}: {notes:?}");
    }
}

#[test]
fn flips_of_headers_catalog_and_identity_are_named() {
    let folder = Folder::init("heads", 4, WhenFull::Stop);
    let expected = record(&folder.0, 2, 2, 900, 100);
    let mut random = Random(7);
    for file in [segment_name(0), segment_name(1), "catalog".to_owned(), "store".to_owned()] {
        for _ in 0..10 {
            let at = random.below(UNIT_BYTES as u64);
            let _flip = Flip::new(folder.0.join(&file), at, 1 << random.below(8));
            let (found, report) = read(&folder.0);
            assert!(found.len() == expected.len(), "{file}: {at}: {report:?}");
            assert!(report.damage.iter().any(|d| d.file == file && d.is_loss()), "{report:?}");
            assert!(report.damage.iter().all(|d| d.to_string().contains(&d.file)));
            assert_eq!(Store::open(&folder.0).is_err(), file == "store");
        }
    }
}

#[test]
fn files_that_are_not_what_they_should_be() {
    let folder = Folder::init("foreign", 8, WhenFull::Stop);
    let expected = record(&folder.0, 2, 2, 1500, 100);
    let all: HashSet<&Pushed> = expected.iter().collect();
    let other = Folder::new("foreign-other");
    init_at(&other.0, *b"another store id", 8, WhenFull::Stop);
    record(&other.0, 1, 2, 900, 100);
    let work = Folder::new("foreign-work");
    let truncate = |index, bytes| {
        let file = std::fs::OpenOptions::new().write(true).open(segment(&work.0, index)).unwrap();
        file.set_len(bytes).unwrap();
    };
    let cases: [(&str, &dyn Fn()); 8] = [
        ("empty", &|| truncate(1, 0)),
        ("short header", &|| truncate(1, 100)),
        ("odd length", &|| truncate(1, 300_001)),
        ("missing", &|| std::fs::remove_file(segment(&work.0, 1)).unwrap()),
        ("noise", &|| std::fs::write(segment(&work.0, 1), vec![0xa5; 1 << 20]).unwrap()),
        ("of another store", &|| {
            std::fs::copy(segment(&other.0, 0), segment(&work.0, 1)).unwrap();
        }),
        ("swapped", &|| {
            std::fs::rename(segment(&work.0, 1), work.0.join("x")).unwrap();
            std::fs::rename(segment(&work.0, 0), segment(&work.0, 1)).unwrap();
            std::fs::rename(work.0.join("x"), segment(&work.0, 0)).unwrap();
        }),
        ("twice", &|| {
            std::fs::copy(segment(&work.0, 0), segment(&work.0, 1)).unwrap();
        }),
    ];
    for (name, damage) in cases {
        let _ = std::fs::remove_dir_all(&work.0);
        copy(&folder.0, &work.0);
        damage();
        let (found, report) = read(&work.0);
        assert!(found.iter().all(|p| all.contains(p)), "{name}");
        assert!(report.damage.iter().any(|d| d.file == segment_name(1)), "{name}: {report:?}");
        assert!(!report.is_whole(), "{name}: {report:?}");
        // Of swapped files everything is found, of others what is left.
        assert_eq!(found.len() == expected.len(), name == "swapped", "{name}");
        assert!(found.len() > expected.len() / 3, "{name}: {}", found.len());
    }
}

#[test]
fn recovery_copies_what_is_left_and_says_what_is_not() {
    let folder = Folder::init("recover", 8, WhenFull::Stop);
    let mut expected = record(&folder.0, 2, 2, 1500, 100);
    expected.sort();
    let work = Folder::new("recover-work");
    let to = Folder::new("recover-to");
    let cases: [(&str, &dyn Fn(), bool, bool); 5] = [
        ("whole", &|| {}, true, false),
        ("identity", &|| std::fs::write(work.0.join("store"), b"BARO").unwrap(), true, true),
        ("no identity", &|| std::fs::remove_file(work.0.join("store")).unwrap(), true, true),
        ("catalog", &|| std::fs::write(work.0.join("catalog"), b"").unwrap(), true, true),
        ("segment", &|| std::fs::remove_file(segment(&work.0, 1)).unwrap(), false, true),
    ];
    for (name, damage, complete, lost) in cases {
        for path in [&work.0, &to.0] {
            let _ = std::fs::remove_dir_all(path);
        }
        copy(&folder.0, &work.0);
        damage();
        let recovered = recover(&work.0, &to.0, |_, _| {}).unwrap();
        assert_eq!(recovered.lost(), lost, "{name}: {:?}", recovered.damage);
        assert!(recovered.copy.damage.is_empty(), "{name}: {:?}", recovered.copy.damage);
        let (mut found, _) = read(&to.0);
        found.sort();
        let all: HashSet<&Pushed> = expected.iter().collect();
        assert!(found.iter().all(|p| all.contains(p)), "{name}");
        assert_eq!(found == expected, complete, "{name}: {}", found.len());
        let store = Store::open(&to.0).unwrap();
        let mut names = Vec::new();
        let each = |found: &baro_ondisk::Declaration<'_>| {
            names.push(found.name.to_owned());
            ControlFlow::Continue(())
        };
        store.catalog().scan(each).unwrap();
        if name == "catalog" {
            assert_eq!((recovered.placeholders, names), (vec![1], vec!["unknown-1".to_owned()]));
        } else {
            assert_eq!(names, ["frames", "t", "u"]);
        }
        // A recorder goes on in the copy, and nothing is copied over anything.
        let recorder = baro_recorder::Recorder::open(&to.0, crate::common::options()).unwrap();
        let next = recorder.declare(&[("new", baro_ondisk::Type::F64, "")]).unwrap()[0];
        assert_eq!(next, if name == "catalog" { 2 } else { 4 });
        drop(recorder);
        assert!(recover(&work.0, &to.0, |_, _| {}).is_err());
        assert!(recover(&work.0, &work.0, |_, _| {}).is_err());
    }
}

#[test]
fn a_lost_declaration_is_damage_of_the_catalog() {
    let folder = Folder::init("lost", 4, WhenFull::Stop);
    record(&folder.0, 1, 1, 50, 0);
    // The only block of the catalog: nothing in the catalog proves that it was durable.
    let _flip = Flip::new(folder.0.join("catalog"), UNIT_BYTES as u64 + 130, 4);
    let (_, report) = read(&folder.0);
    assert!(
        report.damage.iter().any(|d| d.file == "catalog" && d.loss == Loss::Declarations),
        "{report:?}"
    );
}

#[test]
fn any_bytes_with_right_crcs_are_taken_without_panic_or_large_memory() {
    let folder = Folder::init("fixed", 4, WhenFull::Stop);
    record(&folder.0, 1, 2, 300, 100);
    let places = places(&folder.0);
    let mut random = Random(99);
    for round in 0..300 {
        let (file, offset, used) = places[random.below(places.len() as u64) as usize];
        let path = segment(&folder.0, file);
        let original = std::fs::read(&path).unwrap();
        let mut bytes = original.clone();
        let block = &mut bytes[offset as usize..offset as usize + used];
        for _ in 0..=random.below(3) {
            match random.below(3) {
                // Counts and times of the header.
                0 => block[56 + random.below(44) as usize] = random.below(256) as u8,
                // The chunk table.
                1 => block[used - 1 - random.below(32) as usize] = 0xff,
                _ => block[128 + random.below(used as u64 - 128) as usize] ^= 0x80,
            }
        }
        let crc = baro_ondisk::crc32c(0, &block[128..]);
        block[100..104].copy_from_slice(&crc.to_le_bytes());
        let crc = baro_ondisk::crc32c(0, &block[..124]);
        block[124..128].copy_from_slice(&crc.to_le_bytes());
        let changed = block != &original[offset as usize..offset as usize + used];
        std::fs::write(&path, &bytes).unwrap();
        let store = Store::open(&folder.0).unwrap();
        let report = verify(&store, Access::Read, |_, _| {}).unwrap();
        let reading = baro_store::Reading::default();
        let all = baro_store::Interval::ALL;
        let each = |_: &baro_store::RecordRef<'_>| ControlFlow::Continue(());
        store.records(all, &baro_store::Filter::all(), &reading, each).unwrap();
        store.tail(&[1, 2], 3).unwrap();
        // The last two blocks: what cannot be proven durable reads as a torn tail.
        let tail = !report.tails.is_empty() || report.blocks == places.len() as u64;
        assert!(!changed || tail || !report.is_whole(), "round {round}: {report:?}");
        std::fs::write(&path, &original).unwrap();
    }
}
