//! A catalog made anew, in place, from what can be read of it and from the dictionary: same ids,
//! same names. For a store whose catalog is lost or damaged while the log is whole; a store that
//! is damaged elsewhere too is copied by [`crate::recover()`].
//!
//! Invariant: an id that has been recorded is never given to another series: where no declaration
//! of it is left it gets a name like `unknown-17`. After a crash there is the old catalog or the
//! new one. Held by `tests/catalog.rs` and `tests/crash.rs`.

use crate::{Result, Store};
use baro_log::{CATALOG, CATALOG_NEW, CatalogWriter};
use baro_ondisk::limits::{SEGMENT_BYTES_MAX, SEGMENT_BYTES_MIN, UNIT_BYTES};
use baro_ondisk::{Beside, Declaration, Kind, Scan, SegmentHeader, SegmentKind, Type};
use baro_sys::memory::AlignedBuffer;
use baro_sys::storage::{Access, AnyFile, Storage, StorageFile};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// Room for each name in a new catalog beside what it needs, so that more can be declared.
const ROOM_BYTES: u64 = 16;

/// A catalog that has been rebuilt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rebuilt {
    /// Series and channels in it.
    pub names: usize,
    /// Ids of which only the log knows; they have got a placeholder for a name.
    pub placeholders: Vec<u32>,
}

impl Store {
    /// Writes catalog and dictionary anew from all that is left of either, and from the ids that
    /// the log holds. For whoever holds the store's lock; reads the whole log. Blocks until all is
    /// durable; call [`Store::refresh`] then.
    ///
    /// # Errors
    /// The device is full or fails; the old catalog stays.
    pub fn rebuild_catalog(&self) -> Result<Rebuilt> {
        let mut strange: BTreeMap<u32, Type> = BTreeMap::new();
        self.records_as_written(|record| {
            let mut see = |id: u32, kind: Type| {
                if id != 0 && self.catalog.kind(id).is_none() {
                    strange.entry(id).or_insert(kind);
                }
            };
            if record.kind == Kind::Frame {
                see(record.stream, Type::Channel);
            }
            for (id, _, _) in record.samples().iter().flat_map(|samples| samples.iter()) {
                see(id, Type::F64);
            }
            ControlFlow::Continue(())
        })?;
        let storage = &self.storage;
        match storage.remove(CATALOG_NEW) {
            Err(error) if !error.is_missing() => return Err(error.into()),
            _ => {}
        }
        let (header, crc, file) = self.blank_catalog()?;
        let mut scan = Scan::new(header, crc);
        scan.set_segment_bytes(header.segment_bytes);
        let session = self.catalog.last_session().max(1);
        let mut writer = CatalogWriter::of(file, session, scan, 0)?;
        let (mut names, mut failed) = (0, None);
        self.catalog.scan_by_id(|found| {
            names += 1;
            failed = writer.add(found).err();
            if failed.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        if let Some(error) = failed {
            return Err(error.into());
        }
        for (id, kind) in &strange {
            let name = format!("unknown-{id}");
            let (id, kind, unit) = (*id, *kind, "");
            writer.add(&Declaration { id, kind, name: &name, unit, joint: None, layout: None })?;
        }
        writer.finish()?;
        storage.rename(CATALOG_NEW, CATALOG)?;
        storage.sync_folder("")?;
        super::write_dictionary(storage, self.identity.store, &mut |_| {})?;
        let placeholders: Vec<u32> = strange.into_keys().collect();
        Ok(Rebuilt { names: names + placeholders.len(), placeholders })
    }

    /// A new catalog file without declarations, written once in full.
    fn blank_catalog(&self) -> Result<(SegmentHeader, u32, AnyFile)> {
        let needed = self.catalog.len() as u64 * ROOM_BYTES;
        let bytes = self.catalog.bytes.max(needed).div_ceil(SEGMENT_BYTES_MIN).max(1);
        let segment_bytes = (bytes * SEGMENT_BYTES_MIN).min(SEGMENT_BYTES_MAX);
        let header = SegmentHeader {
            kind: SegmentKind::Catalog,
            store: self.identity.store,
            session: 0,
            epoch: 0,
            index: 0,
            previous_crc: 0,
            segment_bytes,
            first_block: 0,
            // Tells it from the one before: a dictionary knows to which it belongs.
            realtime_ns: baro_sys::clock::realtime_ns(),
            boottime_ns: baro_sys::clock::boottime_ns(),
            boot_id: [0; 16],
        };
        let buffered = self.storage.create(CATALOG_NEW)?;
        buffered.reserve(segment_bytes)?;
        let file = self.storage.open(CATALOG_NEW, Access::WriteDirect).unwrap_or(buffered);
        let mut piece = AlignedBuffer::unlocked(SEGMENT_BYTES_MIN as usize)?;
        piece.fill(0);
        let mut unit = header.encode().0;
        // Segments up to this one tell of the catalog before it. Of one that was not theirs that stays told.
        let generation = if self.catalog.is_other() { 0 } else { self.segments.newest_epoch };
        let crc = Beside { generation, ..Beside::default() }.put(&mut unit);
        for offset in (0..segment_bytes).step_by(SEGMENT_BYTES_MIN as usize) {
            let start = piece.get_mut(..UNIT_BYTES).unwrap_or(&mut []);
            if offset == 0 {
                start.copy_from_slice(&unit);
            } else {
                start.fill(0);
            }
            file.write_at(offset, &piece)?;
        }
        file.sync_data()?;
        Ok((header, crc, file))
    }
}
