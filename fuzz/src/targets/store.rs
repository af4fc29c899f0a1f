//! All files of a store at once, where each may be right by itself and none fits another: manifest and
//! runs, catalog and dictionary, log and settled end. The store is opened, verified, asked for
//! everything and for the newest rows, settled and merged on top of what is there, and asked again. At
//! last a recorder recovers it, as far as its files let it.
//!
//! An input has for each file the length of its name, its name, its length and its bytes. The seed is a
//! store of the fixtures without the zeros behind what was written.

use super::{dictionary, manifest, runs, segment};
use crate::Target;
use baro_ondisk::limits::UNIT_BYTES;
use baro_ondisk::{BlockHeader, Identity, SegmentHeader, Summary, Wear, WhenFull};
use baro_store::{Extent, Interval, Query, SettleOptions, Settler, Store, verify};
use baro_sys::sim::SimDisk;
use baro_sys::storage::{Access, Storage, StorageFile};
use std::ops::{ControlFlow, Range};
use std::path::Path;

pub(crate) const STORE: Target =
    Target { name: "store", fuzz_one: store, seeds: || vec![of_two_segments()], fix_up };

/// Files at most, and steps of settling.
const FILES_MAX: usize = 16;
const STEPS_MAX: usize = 8;

/// Names and places of the files, as far as the bytes go.
fn files(bytes: &[u8]) -> Vec<(String, Range<usize>)> {
    let mut files = Vec::new();
    let mut at = 0;
    while files.len() < FILES_MAX {
        let Some(name_bytes) = bytes.get(at) else { break };
        let name = at + 1..at + 1 + usize::from(*name_bytes);
        let Some(text) = bytes.get(name.clone()) else { break };
        let Some(length) = bytes.get(name.end..).and_then(|rest| rest.first_chunk()) else { break };
        let begin = name.end + 4;
        let end = begin.saturating_add(u32::from_le_bytes(*length) as usize).min(bytes.len());
        files.push((String::from_utf8_lossy(text).into_owned(), begin..end));
        at = end;
    }
    files
}

fn store(bytes: &[u8]) {
    let disk = SimDisk::new(1);
    for folder in ["log", "runs"] {
        if disk.create_folder(folder).is_err() {
            return;
        }
    }
    for (name, place) in files(bytes) {
        let Ok(file) = disk.create(&name) else { continue };
        let _ = file.write_at(0, bytes.get(place).unwrap_or(&[]));
    }
    let open = || Store::salvage_in(disk.clone(), Path::new("fuzz"), Access::Read);
    let Ok(store) = open() else { return };
    ask(&store);
    let options = SettleOptions { fan_in: 2, ..SettleOptions::default() };
    if let Ok(mut settler) = Settler::over(store, options) {
        for _ in 0..STEPS_MAX {
            if !settler.step_with(Extent::All, false).is_ok_and(|step| step.more) {
                break;
            }
        }
    }
    if let Ok(store) = open() {
        ask(&store);
    }
    if baro_log::recover(&disk, Path::new("fuzz")).is_ok() {
        let again = baro_log::recover(&disk, Path::new("fuzz"));
        assert!(again.is_ok(), "recovered once, and then: {again:?}");
    }
}

/// A store whose second segment tells what the first one holds; with a catalog and without a run.
fn of_two_segments() -> Vec<u8> {
    let first = segment::told();
    let Ok((header, _)) = SegmentHeader::decode(&first) else { return first };
    let identity = Identity {
        store: header.store,
        created_ns: 5,
        segment_bytes: header.segment_bytes,
        segments: 2,
        when_full: WhenFull::Recycle,
        init_segments: 2,
    };
    let mut summary = Summary::new(header.epoch, header.first_block);
    let mut offset = UNIT_BYTES;
    while let Ok(block) = BlockHeader::decode(first.get(offset..).unwrap_or(&[])) {
        summary.add(offset as u64, &block);
        offset += block.block_bytes();
    }
    let (epoch, index, first_block) = (header.epoch + 1, 1, summary.end);
    let next = SegmentHeader { epoch, index, first_block, ..header };
    let (next, _) = next.encode_with(&[], &Wear::default(), Some(&summary));
    let catalog = (segment::SEGMENT.seeds)().swap_remove(1);
    let mut bytes = Vec::new();
    let files: [(&str, &[u8]); 4] = [
        ("store", &identity.encode()),
        ("catalog", &catalog),
        ("log/00000000.seg", &first),
        ("log/00000001.seg", &next),
    ];
    for (name, file) in files {
        bytes.push(name.len() as u8);
        bytes.extend(name.as_bytes());
        bytes.extend((file.len() as u32).to_le_bytes());
        bytes.extend(file);
    }
    bytes
}

fn ask(store: &Store) {
    let _ = verify(store, Access::Read, |_, _| {});
    let ids: Vec<u32> = (0..20).chain([u32::MAX]).collect();
    let _ = store.query_ids(&ids, &Query::raw(Interval::ALL), |batch| {
        assert!(!batch.times_ns.is_empty(), "a batch of nothing");
        ControlFlow::Continue(())
    });
    let newest = Query { last: Some(2), ..Query::raw(Interval::ALL) };
    let _ = store.query_ids(&[1, 5], &newest, |_| ControlFlow::Continue(()));
}

/// Each file by what it is.
fn fix_up(bytes: &mut [u8]) {
    for (name, place) in files(bytes) {
        let Some(bytes) = bytes.get_mut(place) else { continue };
        let fix_up = match name.as_str() {
            "store" => segment::IDENTITY.fix_up,
            "dictionary" => dictionary::DICTIONARY.fix_up,
            "runs/manifest" => manifest::MANIFEST.fix_up,
            name if name.ends_with(".run") => runs::RUN.fix_up,
            _ => segment::SEGMENT.fix_up,
        };
        fix_up(bytes);
    }
}
