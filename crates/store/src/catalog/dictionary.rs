//! The dictionary's file: one page is read for one name, all in order for many.
//!
//! Invariant: what is handed out has passed its CRC; a page that has not is an error that names
//! file and offset, and the caller goes on without the dictionary. Held by `tests/catalog.rs`.

use crate::damage::{Damage, Loss};
use baro_log::{DICTIONARY, Declared};
use baro_ondisk::limits::{LAYOUT_BYTES_MAX, UNIT_BYTES};
use baro_ondisk::{
    Declaration, DictionaryEntry, DictionaryHeader, DictionaryIndex, Error as Format, IdEntry,
    StoreId, Type, What, id_page, layout_at, name_page,
};
use baro_sys::storage::{Access, AnyFile, AnyStorage, Storage, StorageFile};
use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::{ControlFlow, Range};
use std::sync::{Arc, OnceLock};

/// Pages read at once where many are.
const PAGES_AT_ONCE: u32 = 64;
/// More ids than this for each name are kept in a map and not in a list.
const SPARSE: usize = 8;

/// Why something of a dictionary was not to be had.
#[derive(Debug)]
pub(super) enum Fault {
    /// Its bytes are not what they should be.
    Damaged(Format),
    /// The operating system refuses.
    System(baro_sys::Error),
}

impl From<baro_sys::Error> for Fault {
    fn from(error: baro_sys::Error) -> Self {
        Fault::System(error)
    }
}

impl From<Format> for Fault {
    fn from(error: Format) -> Self {
        Fault::Damaged(error)
    }
}

type Read<T> = std::result::Result<T, Fault>;

/// See the module.
#[derive(Debug)]
pub(super) struct Dictionary {
    file: AnyFile,
    pub(super) header: DictionaryHeader,
    index: OnceLock<DictionaryIndex>,
    kinds: OnceLock<Kinds>,
}

/// The type of every id, as a code; dense ids in a list.
#[derive(Debug)]
enum Kinds {
    Dense(Vec<u8>),
    Sparse(HashMap<u32, u8>),
}

/// What is wrong with the dictionary costs nothing as long as the catalog is there.
pub(super) fn damaged(error: Format) -> Damage {
    Damage::format(DICTIONARY, error, Loss::Nothing)
}

impl Dictionary {
    /// Opens the dictionary of a store; `None` if there is none.
    pub(super) fn open(storage: &AnyStorage, store: StoreId) -> Read<Option<Self>> {
        // Through the page cache: it is never written again, and pages are asked for repeatedly.
        let file = match storage.open(DICTIONARY, Access::Read) {
            Err(error) if error.is_missing() => return Ok(None),
            other => other?,
        };
        let mut unit = [0; UNIT_BYTES];
        let read = file.read_at(0, &mut unit)?;
        let header = DictionaryHeader::decode(unit.get(..read).unwrap_or(&[]))?;
        let what = What::Dictionary;
        if header.store != store {
            let half = |id: StoreId| u128::from_le_bytes(id.0) as u64;
            let (expected, found) = (half(store), half(header.store));
            let (field, offset) = ("store id", 16);
            return Err(Format::Mismatch { what, field, offset, expected, found }.into());
        }
        let (expected, found) = (header.file_bytes, file.size_bytes()?);
        if expected != found {
            return Err(Format::Truncated { what, offset: found, expected, found }.into());
        }
        // All of it was written once: where it has holes, what its header counts is not there.
        if !file.is_written(0, header.file_bytes)? {
            let found = 0;
            return Err(Format::Truncated { what, offset: 0, expected, found }.into());
        }
        Ok(Some(Dictionary { file, header, index: OnceLock::new(), kinds: OnceLock::new() }))
    }

    pub(super) fn index(&self) -> Read<&DictionaryIndex> {
        if let Some(index) = self.index.get() {
            return Ok(index);
        }
        // The header has been checked against the size of the file.
        let offset = self.header.index_offset();
        let mut bytes = vec![0; self.header.index_bytes as usize];
        let read = self.file.read_at(offset, &mut bytes)?;
        let index = DictionaryIndex::decode(bytes.get(..read).unwrap_or(&[]), &self.header);
        let index = index.map_err(|error| error.at(offset))?;
        Ok(self.index.get_or_init(|| index))
    }

    /// Bytes of memory that index and types take, as far as they have been read.
    pub(super) fn memory_bytes(&self) -> usize {
        let kinds = self.kinds.get().map_or(0, |kinds| match kinds {
            Kinds::Dense(list) => list.capacity(),
            Kinds::Sparse(map) => map.capacity() * 6,
        });
        self.index.get().map_or(0, DictionaryIndex::memory_bytes) + kinds
    }

    fn page(&self, offset: u64) -> Read<[u8; UNIT_BYTES]> {
        let mut unit = [0; UNIT_BYTES];
        let read = self.file.read_at(offset, &mut unit)?;
        if read == UNIT_BYTES {
            return Ok(unit);
        }
        let (what, expected, found) = (What::NamePage, UNIT_BYTES as u64, read as u64);
        Err(Format::Truncated { what, offset, expected, found }.into())
    }

    /// The entry of a page for which `wanted` holds.
    fn find(
        &self,
        page: u32,
        mut wanted: impl FnMut(&DictionaryEntry<'_>) -> Option<bool>,
    ) -> Read<Option<Declared>> {
        let offset = self.header.name_page_offset(page);
        let bytes = self.page(offset)?;
        let mut found = None;
        name_page(&bytes, |entry| {
            let Some(here) = wanted(&entry) else { return ControlFlow::Break(()) };
            if !here {
                return ControlFlow::Continue(());
            }
            let DictionaryEntry { id, kind, name, unit, layout } = entry;
            let (name, unit) = (name.to_owned(), unit.to_owned());
            found = Some((Declared { id, kind, name, unit, joint: None, layout: None }, layout));
            ControlFlow::Break(())
        })
        .map_err(|error| error.at(offset))?;
        let Some((mut declared, layout)) = found else { return Ok(None) };
        if let Some(place) = layout {
            declared.layout = Some(Arc::new(self.layout(place)?));
        }
        Ok(Some(declared))
    }

    fn layout(&self, (place, bytes): (u32, u32)) -> Read<baro_ondisk::Layout> {
        let offset = self.header.layouts_offset() + u64::from(place);
        let mut buffer = vec![0; (bytes as usize).min(LAYOUT_BYTES_MAX + UNIT_BYTES)];
        let read = self.file.read_at(offset, &mut buffer)?;
        let layout = layout_at(buffer.get(..read).unwrap_or(&[]));
        Ok(layout.map_err(|error| error.at(offset))?)
    }

    /// The declaration of a name: one page is read.
    pub(super) fn name(&self, name: &str) -> Read<Option<Declared>> {
        let Some(page) = self.index()?.page_of_name(name) else { return Ok(None) };
        self.find(page, |entry| (entry.name <= name).then_some(entry.name == name))
    }

    fn id_entry(&self, id: u32) -> Read<Option<IdEntry>> {
        let Some(page) = self.index()?.page_of_id(id) else { return Ok(None) };
        let offset = self.header.id_page_offset(page);
        let bytes = self.page(offset)?;
        let mut found = None;
        id_page(&bytes, |entry| {
            found = (entry.id == id).then_some(entry);
            if entry.id < id { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })
        .map_err(|error| error.at(offset))?;
        Ok(found)
    }

    /// The declaration of an id: two pages are read.
    pub(super) fn id(&self, id: u32) -> Read<Option<Declared>> {
        let Some(entry) = self.id_entry(id)? else { return Ok(None) };
        if entry.page >= self.header.name_pages {
            let (what, field, limit) = (What::IdPage, "page", u64::from(self.header.name_pages));
            let offset = self.header.id_page_offset(0);
            let found = u64::from(entry.page);
            return Err(Format::OutOfRange { what, field, offset, limit, found }.into());
        }
        self.find(entry.page, |entry| Some(entry.id == id))
    }

    /// The type of an id. All are read the first time.
    pub(super) fn kind(&self, id: u32) -> Read<Option<Type>> {
        let kinds = match self.kinds.get() {
            Some(kinds) => kinds,
            None => {
                let kinds = self.read_kinds()?;
                self.kinds.get_or_init(|| kinds)
            }
        };
        let code = match kinds {
            Kinds::Dense(list) => list.get(id as usize),
            Kinds::Sparse(map) => map.get(&id),
        };
        Ok(code.and_then(|code| Type::from_number(*code)))
    }

    fn read_kinds(&self) -> Read<Kinds> {
        let (names, highest) = (self.header.names as usize, self.header.highest_id as usize);
        let mut kinds = if highest / SPARSE <= names {
            Kinds::Dense(vec![0; highest + 1])
        } else {
            Kinds::Sparse(HashMap::new())
        };
        self.ids(|entry| match &mut kinds {
            Kinds::Dense(list) => {
                if let Some(place) = list.get_mut(entry.id as usize) {
                    *place = entry.kind as u8;
                }
            }
            Kinds::Sparse(map) => {
                map.insert(entry.id, entry.kind as u8);
            }
        })?;
        Ok(kinds)
    }

    /// Calls `each` with every entry of the pages of ids.
    pub(super) fn ids(&self, mut each: impl FnMut(IdEntry)) -> Read<()> {
        self.pages(self.header.id_page_offset(0), 0..self.header.id_pages, |_, offset, bytes| {
            let read = id_page(bytes, |entry| {
                each(entry);
                ControlFlow::Continue(())
            });
            Ok(read.map(|()| ControlFlow::Continue(())).map_err(|error| error.at(offset))?)
        })
    }

    /// Calls `each` with number, offset and bytes of consecutive pages, the first of which is at
    /// `first`.
    fn pages(
        &self,
        first: u64,
        pages: Range<u32>,
        mut each: impl FnMut(u32, u64, &[u8]) -> Read<ControlFlow<()>>,
    ) -> Read<()> {
        let mut buffer = vec![0; pages.len().min(PAGES_AT_ONCE as usize) * UNIT_BYTES];
        let mut page = pages.start;
        while page < pages.end {
            let count = (pages.end - page).min(PAGES_AT_ONCE) as usize;
            let offset = first + u64::from(page) * UNIT_BYTES as u64;
            let bytes = buffer.get_mut(..count * UNIT_BYTES).unwrap_or(&mut []);
            let read = self.file.read_at(offset, bytes)?;
            for (at, bytes) in bytes.get(..read).unwrap_or(&[]).chunks(UNIT_BYTES).enumerate() {
                let offset = offset + (at * UNIT_BYTES) as u64;
                if each(page + at as u32, offset, bytes)?.is_break() {
                    return Ok(());
                }
            }
            if read < count * UNIT_BYTES {
                let (what, offset) = (What::NamePage, offset + read as u64);
                let (expected, found) = ((count * UNIT_BYTES) as u64, read as u64);
                return Err(Format::Truncated { what, offset, expected, found }.into());
            }
            page += count as u32;
        }
        Ok(())
    }

    /// Calls `each` with the declarations of a range of pages, by rising name, until it breaks;
    /// layouts only if they are wanted.
    pub(super) fn scan(
        &self,
        pages: Range<u32>,
        with_layouts: bool,
        mut each: impl FnMut(Declaration<'_>) -> ControlFlow<()>,
    ) -> std::result::Result<ControlFlow<()>, Broken> {
        let (mut page, mut last) = (pages.start, None);
        let mut flow = ControlFlow::Continue(());
        let first = self.header.name_page_offset(0);
        let read = self.pages(first, pages, |number, offset, bytes| {
            (page, last) = (number, None);
            let (mut failed, mut handed_out) = (None, 0);
            let read = name_page(bytes, |entry| {
                let layout = entry.layout.filter(|_| with_layouts).map(|place| self.layout(place));
                let layout = match layout.transpose() {
                    Ok(layout) => layout.map(Cow::Owned),
                    Err(fault) => {
                        failed = Some(fault);
                        return ControlFlow::Break(());
                    }
                };
                handed_out += 1;
                let DictionaryEntry { id, kind, name, unit, .. } = entry;
                flow = each(Declaration { id, kind, name, unit, joint: None, layout });
                flow
            });
            let read = read.map_err(|error| error.at(offset).into());
            let read = read.and_then(|()| failed.map_or(Ok(flow), Err));
            if read.is_err() && handed_out > 0 {
                let _ = name_page(bytes, |entry| {
                    handed_out -= 1;
                    if handed_out > 0 {
                        return ControlFlow::Continue(());
                    }
                    last = Some(entry.name.to_owned());
                    ControlFlow::Break(())
                });
            }
            read
        });
        read.map(|()| flow).map_err(|fault| Broken { page, last, fault })
    }
}

/// Where a scan met a fault.
#[derive(Debug)]
pub(super) struct Broken {
    /// The page of names.
    pub(super) page: u32,
    /// The last name of that page that was handed out.
    pub(super) last: Option<String>,
    /// What is wrong.
    pub(super) fault: Fault,
}
