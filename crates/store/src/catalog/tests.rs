//! Dictionaries written in many portions, on the simulated disk.

#![allow(clippy::unwrap_used, reason = "a test")]

use super::write::write_dictionary_in_portions as write_portions;
use super::*;
use baro_log::{Catalog as Declaring, Geometry, init};
use baro_ondisk::WhenFull;
use baro_sys::sim::SimDisk;
use std::path::Path;

const STORE: StoreId = StoreId([5; 16]);

fn make() -> SimDisk {
    let disk = SimDisk::new(1);
    let geometry = Geometry {
        segment_bytes: 1 << 20,
        segments: 2,
        catalog_bytes: 1 << 20,
        when_full: WhenFull::Stop,
    };
    init(&disk, Path::new("sim"), STORE, 1, &geometry, |_| {}).unwrap();
    disk
}

fn names(catalog: &Catalog) -> Vec<(String, u32)> {
    let mut names = Vec::new();
    catalog
        .scan(|found| {
            names.push((found.name.to_owned(), found.id));
            ControlFlow::Continue(())
        })
        .unwrap();
    names
}

#[test]
fn portions_give_the_dictionary_that_one_go_gives() {
    let disk = make();
    let any = AnyStorage::new(disk.clone());
    let mut declaring = Declaring::read(&disk).unwrap();
    let mut expected = Vec::new();
    for round in 0..12_usize {
        let batch: Vec<String> = (0..700)
            .map(|n| format!("m{}{{s=\"{}\"}}", n % 3, n * 13 % 700 + round * 700))
            .collect();
        let wanted: Vec<_> = batch.iter().map(|name| (name.as_str(), Type::F64, "K")).collect();
        let ids = declaring.declare(&disk, (1 << 32) + round as u64 + 1, &wanted).unwrap();
        expected.extend(batch.into_iter().zip(ids));
    }
    expected.sort();
    for names_max in [1, 1500, usize::MAX] {
        let _ = disk.remove(DICTIONARY);
        let mut paced = 0;
        let done = write_portions(&any, STORE, names_max, &mut |bytes| paced += bytes).unwrap();
        let done = done.unwrap();
        assert_eq!((done.names as usize, done.written_bytes), (expected.len(), paced));
        assert_eq!(done.written_bytes > done.bytes, names_max < usize::MAX);
        let catalog =
            Catalog::open(&any, STORE, Access::ReadDirect, Declarations::default()).unwrap();
        assert_eq!((catalog.uncovered(), catalog.len()), (0, expected.len()));
        assert!(names(&catalog) == expected && catalog.damage().is_empty());
        assert!(catalog.check(|_| {}).is_empty());
        // Nothing new: nothing is written.
        assert_eq!(write_portions(&any, STORE, names_max, &mut |_| {}).unwrap(), None);
    }
}

#[test]
fn a_scan_that_meets_damage_goes_on_where_it_was() {
    let disk = make();
    let any = AnyStorage::new(disk.clone());
    let mut declaring = Declaring::read(&disk).unwrap();
    let batch: Vec<String> = (0..5000).map(|n| format!("series number {n:05}")).collect();
    let wanted: Vec<_> = batch.iter().map(|name| (name.as_str(), Type::F64, "")).collect();
    declaring.declare(&disk, 1 << 32 | 1, &wanted).unwrap();
    write_portions(&any, STORE, usize::MAX, &mut |_| {}).unwrap().unwrap();
    declaring.declare(&disk, 1 << 32 | 1, &[("a first", Type::F64, "")]).unwrap();
    let sound = Catalog::open(&any, STORE, Access::ReadDirect, Declarations::default()).unwrap();
    let pages = sound.dictionary.as_ref().unwrap().header.name_pages;
    let mut expected = names(&sound);
    expected.sort();
    assert!(pages > 5 && expected.len() == 5001);
    for page in 0..pages {
        disk.flip(DICTIONARY, u64::from(page + 1) * 4096 + 1000, 4);
        let catalog =
            Catalog::open(&any, STORE, Access::ReadDirect, Declarations::default()).unwrap();
        assert!(catalog.damage().is_empty());
        let mut found = names(&catalog);
        found.sort();
        assert!(found == expected, "page {page}: {}", found.len());
        let damage = catalog.damage();
        assert!(matches!(&damage[..], [one] if one.file == DICTIONARY && !one.is_loss()));
        assert_eq!(catalog.lookup("series number 02500").unwrap().unwrap().id, 2501);
        disk.flip(DICTIONARY, u64::from(page + 1) * 4096 + 1000, 4);
    }
}
