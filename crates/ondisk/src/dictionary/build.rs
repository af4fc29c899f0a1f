//! Makes a dictionary from sorted names, page by page: what is finished can be written and
//! forgotten. Memory: eight bytes a name for the table of ids, and the layouts.

use super::{
    DictionaryHeader, ID_PAGE_HEAD_BYTES, NAME_PAGE_HEAD_BYTES, WITH_LAYOUT, Watermark, code_of,
};
use crate::bytes::put;
use crate::difference::{push_varint, put_difference};
use crate::limits::{
    DICTIONARY_PAGES_MAX, LAYOUT_BYTES_MAX, NAME_BYTES_MAX, UNIT_BYTES, UNIT_NAME_BYTES_MAX,
    round_up_to_unit,
};
use crate::varint::zigzag;
use crate::{Error, Layout, StoreId, Type, What, crc32c};
use alloc::string::String;
use alloc::vec::Vec;

/// A series or channel to be added.
#[derive(Clone, Copy, Debug)]
pub struct NewEntry<'a> {
    /// Id inside the store.
    pub id: u32,
    /// Type of the values.
    pub kind: Type,
    /// Name with labels.
    pub name: &'a str,
    /// Unit of the values.
    pub unit: &'a str,
    /// Fields of a channel's frames.
    pub layout: Option<&'a Layout>,
}

/// Makes a dictionary from sorted names, page by page.
#[derive(Debug)]
pub struct DictionaryBuilder {
    header: DictionaryHeader,
    /// Finished and not yet taken.
    pending: Vec<u8>,
    page: Vec<u8>,
    entries: u16,
    previous: String,
    id: u32,
    /// Type and layout flag of the entry before, and its unit.
    head: u8,
    unit: String,
    /// Id, page and type of each name.
    ids: Vec<u64>,
    first_names: Vec<u8>,
    first_name: String,
    layouts: Vec<u8>,
}

impl DictionaryBuilder {
    /// A dictionary of a store.
    #[must_use]
    pub fn new(store: StoreId) -> Self {
        DictionaryBuilder {
            header: DictionaryHeader { store, ..DictionaryHeader::default() },
            pending: Vec::new(),
            page: Vec::new(),
            entries: 0,
            previous: String::new(),
            id: 0,
            head: 0,
            unit: String::new(),
            ids: Vec::new(),
            first_names: Vec::new(),
            first_name: String::new(),
            layouts: Vec::new(),
        }
    }

    /// Adds a name, which must be above the one before, with an id that no other has.
    ///
    /// # Errors
    /// It is not above the one before, a text is longer than the format allows, or the dictionary
    /// is full.
    pub fn push(&mut self, entry: &NewEntry<'_>) -> Result<(), Error> {
        self.check(entry)?;
        let at = self.page.len();
        self.put(entry)?;
        if self.page.len() > UNIT_BYTES {
            self.page.truncate(at);
            self.end_page();
            if self.header.name_pages >= DICTIONARY_PAGES_MAX {
                let (limit, found) = (u64::from(DICTIONARY_PAGES_MAX), u64::from(u32::MAX));
                return Err(wrong("pages of names", limit, found));
            }
            self.put(entry)?;
        }
        let page = u64::from(self.header.name_pages);
        self.ids.push(u64::from(entry.id) << 32 | page << 3 | u64::from(code_of(entry.kind)));
        self.entries += 1;
        self.previous.clear();
        self.previous.push_str(entry.name);
        self.id = entry.id;
        self.head = head_of(entry);
        if self.unit != entry.unit {
            self.unit.clear();
            self.unit.push_str(entry.unit);
        }
        if let Some(layout) = entry.layout {
            let bytes = layout.encode();
            self.layouts.extend_from_slice(&crc32c(0, &bytes).to_le_bytes());
            self.layouts.extend(bytes);
        }
        let header = &mut self.header;
        header.names += 1;
        header.channels += u32::from(entry.kind == Type::Channel);
        header.highest_id = header.highest_id.max(entry.id);
        Ok(())
    }

    fn check(&self, entry: &NewEntry<'_>) -> Result<(), Error> {
        let what = What::Dictionary;
        if entry.name.len() > NAME_BYTES_MAX || entry.name.is_empty() {
            return Err(wrong("name", NAME_BYTES_MAX as u64, entry.name.len() as u64));
        }
        if entry.unit.len() > UNIT_NAME_BYTES_MAX {
            return Err(wrong("unit", UNIT_NAME_BYTES_MAX as u64, entry.unit.len() as u64));
        }
        if entry.name <= self.previous.as_str() || entry.id == 0 {
            let (field, offset) = ("order of names", u64::from(self.header.names));
            let (expected, found) = (u64::from(self.id), u64::from(entry.id));
            return Err(Error::Mismatch { what, field, offset, expected, found });
        }
        if self.layouts.len() > u32::MAX as usize - LAYOUT_BYTES_MAX {
            return Err(wrong("layout bytes", u64::from(u32::MAX), self.layouts.len() as u64));
        }
        Ok(())
    }

    /// Puts an entry behind the others of the page, which may then be too long.
    fn put(&mut self, entry: &NewEntry<'_>) -> Result<(), Error> {
        let first = self.page.is_empty();
        if first {
            self.page.resize(NAME_PAGE_HEAD_BYTES, 0);
            put_difference(
                &mut self.first_names,
                self.first_name.as_bytes(),
                entry.name.as_bytes(),
            );
            self.first_name.clear();
            self.first_name.push_str(entry.name);
        }
        let previous = if first { "" } else { &self.previous };
        put_difference(&mut self.page, previous.as_bytes(), entry.name.as_bytes());
        let id = if first { 0 } else { self.id };
        let change = zigzag(i64::from(entry.id) - i64::from(id)) << 1;
        let head = head_of(entry);
        let changed =
            first || head & WITH_LAYOUT != 0 || head != self.head || entry.unit != self.unit;
        push_varint(&mut self.page, change | u64::from(changed));
        if changed {
            self.page.extend([head, entry.unit.len() as u8]);
            self.page.extend_from_slice(entry.unit.as_bytes());
        }
        if let Some(layout) = entry.layout {
            let bytes = layout.encode().len() + 4;
            if bytes > LAYOUT_BYTES_MAX {
                return Err(wrong("layout bytes", LAYOUT_BYTES_MAX as u64, bytes as u64));
            }
            push_varint(&mut self.page, self.layouts.len() as u64);
            push_varint(&mut self.page, bytes as u64);
        }
        Ok(())
    }

    fn end_page(&mut self) {
        if self.entries == 0 {
            return;
        }
        seal(&mut self.page, self.entries);
        self.pending.append(&mut self.page);
        self.entries = 0;
        self.header.name_pages += 1;
    }

    /// Bytes that are finished, from where the last ones taken ended (the first ones stand behind
    /// the header).
    #[must_use]
    pub fn pending(&self) -> &[u8] {
        &self.pending
    }

    /// Forgets what is finished: it has been written.
    pub fn taken(&mut self) {
        self.pending.clear();
    }

    /// Finishes the pages, the index and the layouts; they are pending then. Returns the header,
    /// which is to be written last.
    pub fn finish(&mut self, watermark: Watermark) -> DictionaryHeader {
        self.end_page();
        self.ids.sort_unstable();
        self.ids.dedup_by_key(|id| *id >> 32);
        let mut index = Vec::new();
        let mut left = core::mem::take(&mut self.ids).into_iter().peekable();
        while let Some(first) = left.peek().map(|id| (*id >> 32) as u32) {
            index.extend_from_slice(&first.to_le_bytes());
            self.page.resize(ID_PAGE_HEAD_BYTES, 0);
            put(&mut self.page, 8, &first.to_le_bytes());
            let (mut id, mut page, mut count) = (first, 0_i64, 0);
            while let Some(next) = left.peek() {
                let (next_id, code) = ((next >> 32) as u32, next & 7);
                let next_page = i64::from(*next as u32 >> 3);
                let at = self.page.len();
                push_varint(&mut self.page, u64::from(next_id - id) << 3 | code);
                push_varint(&mut self.page, zigzag(next_page - page));
                if self.page.len() > UNIT_BYTES {
                    self.page.truncate(at);
                    break;
                }
                (id, page, count) = (next_id, next_page, count + 1);
                left.next();
            }
            seal(&mut self.page, count);
            self.pending.append(&mut self.page);
            self.header.id_pages += 1;
        }
        index.append(&mut self.first_names);
        self.header.index_bytes = index.len() as u32;
        self.header.index_crc = crc32c(0, &index);
        index.resize(round_up_to_unit(index.len()), 0);
        self.pending.append(&mut index);
        self.header.layout_bytes = self.layouts.len() as u64;
        self.pending.append(&mut self.layouts);
        self.header.file_bytes = self.header.layouts_offset() + self.header.layout_bytes;
        self.header.watermark = watermark;
        self.header
    }
}

fn head_of(entry: &NewEntry<'_>) -> u8 {
    code_of(entry.kind) | if entry.layout.is_some() { WITH_LAYOUT } else { 0 }
}

/// Fills in count, used bytes and CRC of a page and makes it a whole unit.
fn seal(page: &mut Vec<u8>, entries: u16) {
    let used = page.len() as u16;
    page.resize(UNIT_BYTES, 0);
    put(page, 4, &entries.to_le_bytes());
    put(page, 6, &used.to_le_bytes());
    let crc = crc32c(0, page.get(4..).unwrap_or(&[]));
    put(page, 0, &crc.to_le_bytes());
}

fn wrong(field: &'static str, limit: u64, found: u64) -> Error {
    Error::OutOfRange { what: What::Dictionary, field, offset: 0, limit, found }
}
