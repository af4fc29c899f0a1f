//! What the dictionary knows of a catalog that is not the one it was made of: a catalog of an earlier time was
//! put back, or lost its end. The recorder takes those names over before it declares others.
//!
//! Invariant: a name that either file has is declared after this, under the id that it had. Held by
//! `names_that_only_the_dictionary_has_are_declared_again` (the store's `tests/damage/changed.rs`).

use super::{Catalog, DICTIONARY, Inserted};
use crate::Result;
use baro_ondisk::limits::{LAYOUT_BYTES_MAX, UNIT_BYTES};
use baro_ondisk::{Declaration, DictionaryEntry, DictionaryHeader, Layout, layout_at, name_page};
use baro_sys::storage::{Access, Storage, StorageFile};
use std::borrow::Cow;
use std::ops::ControlFlow;

/// The header of the dictionary, if there is one.
pub(super) fn dictionary_header<S: Storage>(storage: &S) -> Option<DictionaryHeader> {
    let mut unit = [0; UNIT_BYTES];
    let file = storage.open(DICTIONARY, Access::Read).ok()?;
    let read = file.read_at(0, &mut unit).ok()?;
    DictionaryHeader::decode(unit.get(..read).unwrap_or(&[])).ok()
}

impl Catalog {
    /// Declares what a dictionary knows that was made of another catalog, and this one does not, durably, under the ids that it has
    /// there, and takes the dictionary away: it is made anew of what is declared. Returns how many were
    /// declared, and how many have an id or a name there that is another's here: those tell of another history of the
    /// store. Where there are some and `is_right`, which says that this catalog is the one that the log tells of, nothing
    /// is declared. Pages that are damaged are passed over; where the dictionary cannot be read it stays.
    /// `session` as for [`Catalog::declare`]. Blocks for the device.
    ///
    /// # Errors
    /// The catalog is full, or the device fails; then nothing of it is declared.
    pub fn take_from_dictionary<S: Storage>(
        &mut self,
        storage: &S,
        session: u64,
        is_right: bool,
    ) -> Result<(usize, usize)> {
        let Some(header) = self.strange.take() else { return Ok((0, 0)) };
        let (before, mut others) = (self.table.len(), 0);
        let read = self.insert_from(storage, &header, &mut others);
        if others > 0 && is_right {
            self.table.truncate(before);
        }
        let appended = self.append_from(storage, session, before);
        if appended.is_err() {
            self.table.truncate(before);
        }
        appended?;
        if read.is_ok() {
            storage.remove(DICTIONARY)?;
            storage.sync_folder("")?;
        }
        Ok((self.table.len() - before, others))
    }

    /// Puts what the dictionary knows into memory, and counts what contradicts the catalog; an error if it
    /// cannot be read.
    fn insert_from<S: Storage>(
        &mut self,
        storage: &S,
        header: &DictionaryHeader,
        others: &mut usize,
    ) -> baro_sys::Result<()> {
        let file = storage.open(DICTIONARY, Access::Read)?;
        // All of it was written once: what its header counts is there, or it is damaged.
        if file.size_bytes()? != header.file_bytes || !file.is_written(0, header.file_bytes)? {
            return Ok(());
        }
        let mut unit = [0; UNIT_BYTES];
        let mut layout_bytes = vec![0; if header.layout_bytes > 0 { LAYOUT_BYTES_MAX } else { 0 }];
        for page in 0..header.name_pages {
            let read = file.read_at(header.name_page_offset(page), &mut unit)?;
            let mut failed = Ok(());
            let mut layout = |(place, bytes): (u32, u32)| -> baro_sys::Result<Option<Layout>> {
                let offset = header.layouts_offset() + u64::from(place);
                let room = layout_bytes.get_mut(..bytes as usize).unwrap_or(&mut []);
                let read = file.read_at(offset, room)?;
                Ok(layout_at(room.get(..read).unwrap_or(&[])).ok())
            };
            // A page that is damaged tells nothing more.
            let _ = name_page(unit.get(..read).unwrap_or(&[]), |entry| {
                let DictionaryEntry { id, kind, name, unit, layout: place } = entry;
                let found = match place.map(&mut layout).transpose() {
                    Ok(found) => found.flatten(),
                    Err(error) => {
                        failed = Err(error);
                        return ControlFlow::Break(());
                    }
                };
                if place.is_none() || found.is_some() {
                    let layout = found.map(Cow::Owned);
                    let new = Declaration { id, kind, name, unit, joint: None, layout };
                    // What the catalog has of this name or id stays.
                    let found = match self.table.insert(&new) {
                        Ok(Inserted::Name(at)) => self.table.id_and_kind(at) == Some((id, kind)),
                        Ok(Inserted::Id(_)) => false,
                        Ok(Inserted::New(_)) | Err(_) => true,
                    };
                    *others += usize::from(!found);
                }
                ControlFlow::Continue(())
            });
            failed?;
        }
        Ok(())
    }
}
