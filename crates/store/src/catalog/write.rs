//! Writes a dictionary: the old one merged with what was declared since, page by page. What was
//! declared since is taken in portions, so that memory is bounded whatever the number of names.
//!
//! Invariant: after a crash there is the old dictionary or the new one, whole; and what it covers
//! was durable. Held by `a_crash_while_a_dictionary_is_written_leaves_the_old_or_the_new`
//! (`tests/crash.rs`).

use super::blocks::{self, Extent, Read};
use super::dictionary::Dictionary;
use crate::{Error, Result, Store};
use baro_log::{CATALOG, DICTIONARY, DICTIONARY_NEW};
use baro_ondisk::limits::UNIT_BYTES;
use baro_ondisk::{Declaration, DictionaryBuilder, NewEntry, StoreId};
use baro_sys::storage::{Access, AnyFile, AnyStorage, Storage, StorageFile};
use std::ops::ControlFlow;

/// Names taken from the catalog at once: about 35 MB.
const PORTION_NAMES: usize = 400_000;
/// Bytes written at once.
const PIECE_BYTES: usize = 256 << 10;

/// A dictionary that has been written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DictionaryWritten {
    /// Series and channels in it.
    pub names: u32,
    /// Its bytes.
    pub bytes: u64,
    /// Bytes handed to the device, all portions together.
    pub written_bytes: u64,
}

impl Store {
    /// Writes the dictionary anew if anything was declared since the last one; `None` if not. For
    /// whoever holds the store's lock, from time to time, above all when
    /// [`Catalog::uncovered`](crate::Catalog::uncovered) has grown. `pace` gets the bytes of each
    /// piece after it was written, and may sleep. What this store has open goes on being used:
    /// [`Store::refresh`] takes the new one.
    ///
    /// # Errors
    /// The catalog is damaged (then rebuild it first), or the device is full or fails; the old
    /// dictionary stays.
    pub fn write_dictionary(&self, mut pace: impl FnMut(u64)) -> Result<Option<DictionaryWritten>> {
        write_dictionary(&self.storage, self.identity.store, &mut pace)
    }
}

/// As [`Store::write_dictionary`], without an open store.
///
/// # Errors
/// As [`Store::write_dictionary`].
pub fn write_dictionary(
    storage: &(impl Storage + Clone),
    store: StoreId,
    pace: &mut dyn FnMut(u64),
) -> Result<Option<DictionaryWritten>> {
    let storage = AnyStorage::new(storage.clone());
    write_dictionary_in_portions(&storage, store, PORTION_NAMES, pace)
}

/// As [`write_dictionary`], taking `names_max` declarations from the catalog at once, about 85 bytes
/// of memory each while they are merged. The dictionary is written once for each portion: fewer of
/// them write less, and take more memory.
///
/// # Errors
/// As [`Store::write_dictionary`].
pub(crate) fn write_dictionary_in_portions(
    storage: &AnyStorage,
    store: StoreId,
    names_max: usize,
    pace: &mut dyn FnMut(u64),
) -> Result<Option<DictionaryWritten>> {
    let file = storage.open(CATALOG, Access::ReadDirect)?;
    let (header, damage) = blocks::header(&file, store)?;
    let (Some((header, crc)), None) = (header, &damage) else { return Err(refused(damage)) };
    let mut written: Option<DictionaryWritten> = None;
    let mut anew = false;
    loop {
        let mut old = Dictionary::open(storage, store).unwrap_or(None).filter(|_| !anew);
        let mut start = blocks::beginning(&header, crc);
        if let Some(dictionary) = &old {
            let mark = dictionary.header.watermark;
            if mark.segment_crc != crc {
                old = None;
            } else if let Err(error) = blocks::check(&file, &header, &mark)? {
                return Err(refused(Some(blocks::damaged(error))));
            } else {
                start = mark;
            }
        }
        // In one go: what little the damaged one knows may be needed if the catalog is too.
        let names_max = if anew { usize::MAX } else { names_max };
        let extent = Extent { names_max, ..Extent::WHOLE };
        let mut read = Read::new(start);
        // At least ten bytes a name: a table that grows late grows seldom.
        let names = (file.size_bytes()?.saturating_sub(start.last_offset) / 10).min(1 << 20);
        read.table.expect((names as usize).min(names_max));
        let all = blocks::read(&file, &header, &start, extent, &mut read)?;
        if !read.damage.is_empty() {
            return Err(refused(read.damage.pop()));
        }
        if old.is_some() && read.end.last_offset == start.last_offset {
            return Ok(written);
        }
        // After it was read: what a dictionary covers is durable, so that it proves damage where the
        // catalog lacks it, and a recorder may have appended meanwhile.
        storage.open(CATALOG, Access::Write)?.sync_data()?;
        let Some(new) = write(storage, store, old.as_ref(), &read, pace)? else {
            anew = true;
            continue;
        };
        let before = written.map_or(0, |written| written.written_bytes);
        written = Some(DictionaryWritten { written_bytes: before + new.written_bytes, ..new });
        if all {
            return Ok(written);
        }
    }
}

fn refused(damage: Option<crate::Damage>) -> Error {
    let reason = damage.map_or_else(|| "no header".to_owned(), |damage| damage.to_string());
    Error::CatalogDamaged { reason }
}

/// A file that is written piece by piece.
struct Output<'a> {
    file: AnyFile,
    offset: u64,
    pace: &'a mut dyn FnMut(u64),
}

impl Output<'_> {
    /// Writes what the builder has finished, if it is a piece, or `all` of it.
    fn take(&mut self, builder: &mut DictionaryBuilder, all: bool) -> Result<()> {
        if builder.pending().len() < PIECE_BYTES && !all {
            return Ok(());
        }
        for piece in builder.pending().chunks(PIECE_BYTES) {
            self.file.write_at(self.offset, piece)?;
            self.offset += piece.len() as u64;
            (self.pace)(piece.len() as u64);
        }
        builder.taken();
        Ok(())
    }
}

/// Merges `old` and what was read behind it; `None` if the old one turns out to be damaged.
fn write(
    storage: &AnyStorage,
    store: StoreId,
    old: Option<&Dictionary>,
    read: &Read,
    pace: &mut dyn FnMut(u64),
) -> Result<Option<DictionaryWritten>> {
    match storage.remove(DICTIONARY_NEW) {
        Err(error) if !error.is_missing() => return Err(error.into()),
        _ => {}
    }
    let file = storage.create(DICTIONARY_NEW)?;
    let mut output = Output { file, offset: UNIT_BYTES as u64, pace };
    let mut builder = DictionaryBuilder::new(store);
    let table = &read.table;
    let mut fresh = table.sorted().into_iter().peekable();
    let mut failed: Option<Error> = None;
    let push = |builder: &mut DictionaryBuilder, found: &Declaration<'_>| {
        let Declaration { id, kind, name, unit, layout, .. } = found;
        let layout = layout.as_deref();
        builder.push(&NewEntry { id: *id, kind: *kind, name, unit, layout }).map_err(Error::Format)
    };
    let mut push_fresh = |builder: &mut DictionaryBuilder, before: Option<&str>| -> Result<bool> {
        while let Some(number) = fresh.peek().map(|number| *number as usize) {
            let name = table.name_bytes(number);
            if before.is_some_and(|before| name >= before.as_bytes()) {
                // The same name again is no news; what was first stays.
                if before.is_some_and(|before| name == before.as_bytes()) {
                    fresh.next();
                }
                break;
            }
            fresh.next();
            let Some(found) = table.get(number) else { continue };
            // So is the same id.
            let known = old.filter(|old| found.id <= old.header.highest_id);
            match known.map(|old| old.id(found.id)) {
                Some(Ok(Some(_))) => continue,
                Some(Err(_)) => return Ok(false),
                _ => push(builder, &found)?,
            }
        }
        Ok(true)
    };
    if let Some(old) = old {
        let mut sound = true;
        let scanned = old.scan(0..old.header.name_pages, true, |found| {
            let done = push_fresh(&mut builder, Some(found.name))
                .and_then(|whole| {
                    sound = whole;
                    push(&mut builder, &found)
                })
                .and_then(|()| output.take(&mut builder, false));
            failed = done.err();
            if failed.is_some() || !sound {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        if let Some(error) = failed {
            return Err(error);
        }
        if scanned.is_err() || !sound {
            return Ok(None);
        }
    }
    if !push_fresh(&mut builder, None)? {
        return Ok(None);
    }
    let header = builder.finish(read.end);
    output.take(&mut builder, true)?;
    output.file.write_at(0, &header.encode())?;
    (output.pace)(UNIT_BYTES as u64);
    output.file.sync_data()?;
    storage.rename(DICTIONARY_NEW, DICTIONARY)?;
    storage.sync_folder("")?;
    let (names, bytes) = (header.names, header.file_bytes);
    Ok(Some(DictionaryWritten { names, bytes, written_bytes: bytes }))
}
