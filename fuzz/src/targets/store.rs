//! All files of a store at once, where each may be right by itself and none fits another: manifest and
//! runs, catalog and dictionary, log and settled end. The store is opened, verified, asked for
//! everything and for the newest rows, settled and merged on top of what is there, and asked again. At
//! last a recorder recovers it, as far as its files let it.
//!
//! An input has for each file the length of its name, its name, its length and its bytes, without the zeros
//! behind what was written.

use super::{dictionary, manifest, runs, segment};
use crate::Target;
use baro_ondisk::limits::UNIT_BYTES;
use baro_ondisk::{
    BlockHeader, Identity, Manifest, RunEntry, SegmentHeader, Settled, Summary, Wear, WhenFull,
};
use baro_runs::{RunIndex, RunInfo};
use baro_store::{Extent, Interval, Query, SettleOptions, Settler, Store, verify};
use baro_sys::sim::SimDisk;
use baro_sys::storage::{Access, Storage, StorageFile};
use std::ops::{ControlFlow, Range};
use std::path::Path;

pub(crate) const STORE: Target =
    Target { name: "store", fuzz_one: store, seeds: || vec![unsettled(), with_runs()], fix_up };

/// Files at most, and steps of settling.
const FILES_MAX: usize = 16;
/// Bytes of a segment, and of a catalog; the disk holds no zeros.
const SEGMENT_BYTES_MAX: u64 = 4 << 20;
const CATALOG_BYTES: u64 = 64 << 10;
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

/// Lays the files of an input onto a disk, as long as a store's are: where nothing was written there are zeros.
fn laid(bytes: &[u8]) -> Option<SimDisk> {
    let disk = SimDisk::new(1);
    for folder in ["log", "runs"] {
        disk.create_folder(folder).ok()?;
    }
    let files = files(bytes);
    let segment_bytes = files.iter().find(|file| file.0 == "store").and_then(|file| {
        let mut unit = bytes.get(file.1.clone())?.to_vec();
        unit.resize(UNIT_BYTES, 0);
        Identity::decode(&unit).ok().map(|identity| identity.segment_bytes)
    });
    let segment_bytes = segment_bytes.unwrap_or(0).min(SEGMENT_BYTES_MAX);
    for (name, place) in files {
        let Ok(file) = disk.create(&name) else { continue };
        let bytes = bytes.get(place).unwrap_or(&[]);
        let least = match name.as_str() {
            "store" => UNIT_BYTES as u64,
            "catalog" => CATALOG_BYTES,
            "dictionary" => bytes.len().next_multiple_of(UNIT_BYTES) as u64,
            name if name.starts_with("log/") => segment_bytes,
            _ => 0,
        };
        let _ = file.write_at(0, bytes);
        if least > bytes.len() as u64 {
            let _ = file.write_at(least - 1, &[0]);
        }
    }
    Some(disk)
}

fn store(bytes: &[u8]) {
    let Some(disk) = laid(bytes) else { return };
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

type Files = Vec<(String, Vec<u8>)>;

/// The input of these files, each without the zeros at its end.
fn input(files: Files) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, mut file) in files {
        // These end where they say.
        let written = file.iter().rposition(|byte| *byte != 0).map_or(0, |at| at + 1);
        file.truncate(if name.starts_with("runs/") { file.len() } else { written });
        bytes.push(name.len() as u8);
        bytes.extend(name.as_bytes());
        bytes.extend((file.len() as u32).to_le_bytes());
        bytes.extend(file);
    }
    bytes
}

/// A store whose second segment tells what the first one holds; with a catalog and without a run.
fn of_two_segments() -> Option<(SegmentHeader, Files)> {
    let first = segment::told();
    let (header, _) = SegmentHeader::decode(&first).ok()?;
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
    let files = [
        ("store", identity.encode().to_vec()),
        ("catalog", segment::catalog()),
        ("log/00000000.seg", first),
        ("log/00000001.seg", next.to_vec()),
    ];
    Some((header, files.map(|(name, file)| (name.to_owned(), file)).to_vec()))
}

fn unsettled() -> Vec<u8> {
    of_two_segments().map_or(Vec::new(), |(_, files)| input(files))
}

/// The same with two runs to be merged, whose samples have series and times in common with each other and with
/// the log, of which nothing is settled.
fn with_runs() -> Vec<u8> {
    let Some((header, mut files)) = of_two_segments() else { return Vec::new() };
    let mut runs = Vec::new();
    for run in 0..2_u64 {
        let file = runs::small(&RunInfo { store: header.store, run, ..RunInfo::default() });
        runs.push(RunEntry {
            id: run,
            level: 0,
            bytes: file.len() as u64,
            samples: runs::SMALL_SAMPLES,
            time_min_ns: runs::SMALL_TIMES_NS.0,
            time_max_ns: runs::SMALL_TIMES_NS.1,
            footer_crc: Some(RunIndex::footer_crc(&file)),
        });
        files.push((format!("runs/{run:016x}.run"), file));
    }
    let settled = Settled { epoch: header.epoch, end: header.first_block };
    let manifest =
        Manifest { store: header.store, settled, next_run: 2, runs, ..Manifest::default() };
    files.push(("runs/manifest".to_owned(), manifest.encode()));
    input(files)
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

/// Each file by what it is; and the manifest knows the runs as they are now, so that what is behind that
/// check is tried too.
fn fix_up(bytes: &mut [u8]) {
    let files = files(bytes);
    for (name, place) in &files {
        let Some(bytes) = bytes.get_mut(place.clone()) else { continue };
        let fix_up = match name.as_str() {
            "store" => segment::IDENTITY.fix_up,
            "dictionary" => dictionary::DICTIONARY.fix_up,
            "runs/manifest" => manifest::MANIFEST.fix_up,
            name if name.ends_with(".run") => runs::RUN.fix_up,
            _ => segment::SEGMENT.fix_up,
        };
        fix_up(bytes);
    }
    let of = |name: &str| files.iter().find(|file| file.0 == name).map(|file| file.1.clone());
    let Some(place) = of("runs/manifest") else { return };
    let Ok(mut manifest) = Manifest::decode(bytes.get(place.clone()).unwrap_or(&[])) else {
        return;
    };
    for entry in &mut manifest.runs {
        let run = of(&format!("runs/{:016x}.run", entry.id)).and_then(|place| bytes.get(place));
        let Some(run) = run else { continue };
        entry.bytes = run.len() as u64;
        entry.footer_crc = entry.footer_crc.map(|_| RunIndex::footer_crc(run));
    }
    let encoded = manifest.encode();
    if let Some(place) = bytes.get_mut(place).filter(|place| place.len() == encoded.len()) {
        place.copy_from_slice(&encoded);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows that a store hands out, and what is wrong with it.
    fn rows(bytes: &[u8]) -> (u64, String) {
        let disk = laid(bytes).unwrap();
        let store = Store::salvage_in(disk, Path::new("fuzz"), Access::Read).unwrap();
        let ids: Vec<u32> = (0..20).collect();
        let all = |_: &baro_store::Batch<'_>| ControlFlow::Continue(());
        let notes = store.query_ids(&ids, &Query::raw(Interval::ALL), all).unwrap();
        let damage = notes.read.damage.iter().map(ToString::to_string);
        (notes.rows, damage.collect::<Vec<_>>().join("; "))
    }

    #[test]
    fn the_seeds_are_whole_stores_and_stay_so_when_they_are_fixed_up() {
        for whole in (STORE.seeds)() {
            let (found, damage) = rows(&whole);
            assert!(found > 0 && damage.is_empty(), "{found} rows, {damage}");
            let mut fixed = whole.clone();
            fix_up(&mut fixed);
            assert!(fixed == whole, "fixing up what is right changes it");
        }
        let whole = with_runs();
        // What is changed in a page and fixed up has its checksum again.
        let run = files(&whole).into_iter().find(|file| file.0.ends_with("0.run")).unwrap().1;
        let mut changed = whole;
        changed[run.start + UNIT_BYTES + 40] ^= 1;
        assert!(rows(&changed).1.contains("CRC"), "{}", rows(&changed).1);
        fix_up(&mut changed);
        assert!(!rows(&changed).1.contains("CRC"), "{}", rows(&changed).1);
    }
}
