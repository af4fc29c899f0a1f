//! The index of a dictionary's pages: the first name, or the first id, of each. Small enough to be
//! kept in memory: about one name for every 400.

use super::DictionaryHeader;
use crate::bytes::u32_at;
use crate::difference::NameList;
use crate::identity::expect;
use crate::{Error, What, crc32c};
use alloc::vec::Vec;
use core::ops::Range;

/// The first name, or the first id, of each page of a dictionary.
#[derive(Clone, Debug, Default)]
pub struct DictionaryIndex {
    first_ids: Vec<u32>,
    names: Vec<u8>,
    /// Where the first name of each page ends in `names`.
    ends: Vec<u32>,
}

impl DictionaryIndex {
    /// Reads the index, whose bytes are those that the header tells of.
    ///
    /// # Errors
    /// Truncated, damaged, or out of order.
    pub fn decode(bytes: &[u8], header: &DictionaryHeader) -> Result<Self, Error> {
        let what = What::DictionaryIndex;
        let (expected, found) = (u64::from(header.index_bytes), bytes.len() as u64);
        let short = Error::Truncated { what, offset: found, expected, found };
        let bytes = bytes.get(..header.index_bytes as usize).ok_or(short)?;
        let crc = crc32c(0, bytes);
        expect(what, "CRC", 0, u64::from(crc), u64::from(header.index_crc))?;
        let ids = header.id_pages as usize * 4;
        let (id_bytes, names) = bytes.split_at_checked(ids).ok_or(short)?;
        // A name takes a byte at least, so the counts cannot size more than the bytes do.
        if names.len() < header.name_pages as usize {
            return Err(short);
        }
        let first_ids: Vec<u32> = id_bytes.chunks_exact(4).map(|id| u32_at(id, 0)).collect();
        let (mut list, mut at) = (NameList::default(), 0);
        let mut index = DictionaryIndex { first_ids, ..DictionaryIndex::default() };
        index.ends.reserve_exact(header.name_pages as usize);
        for _ in 0..header.name_pages {
            let (name, next) = list.next(names, at, what).map_err(|e| e.at(ids as u64))?;
            index.names.extend_from_slice(name.as_bytes());
            index.ends.push(index.names.len() as u32);
            at = next;
        }
        expect(what, "bytes", ids as u64, at as u64, names.len() as u64)?;
        Ok(index)
    }

    /// Bytes in memory.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.first_ids.capacity() * 4 + self.names.capacity() + self.ends.capacity() * 4
    }

    /// The first name of a page, as bytes.
    #[must_use]
    pub fn first_name(&self, page: usize) -> &[u8] {
        let end = |page: usize| self.ends.get(page).map_or(0, |end| *end as usize);
        let start = page.checked_sub(1).map_or(0, end);
        self.names.get(start..end(page)).unwrap_or(&[])
    }

    /// Pages whose first name is one that `before` holds for; it must hold for the lower ones.
    fn partition(&self, before: impl Fn(&[u8]) -> bool) -> usize {
        let (mut low, mut high) = (0, self.ends.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if before(self.first_name(middle)) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// The page of names that holds `name` if any does.
    #[must_use]
    pub fn page_of_name(&self, name: &str) -> Option<u32> {
        let page = self.partition(|first| first <= name.as_bytes()).checked_sub(1)?;
        u32::try_from(page).ok()
    }

    /// The page of ids that holds `id` if any does.
    #[must_use]
    pub fn page_of_id(&self, id: u32) -> Option<u32> {
        let page = self.first_ids.partition_point(|first| *first <= id).checked_sub(1)?;
        u32::try_from(page).ok()
    }

    /// The pages that hold all names which begin with `prefix`.
    #[must_use]
    pub fn pages_with_prefix(&self, prefix: &str) -> Range<u32> {
        let prefix = prefix.as_bytes();
        let start = self.partition(|first| first < prefix).saturating_sub(1);
        let end = self.partition(|first| first < prefix || first.starts_with(prefix));
        start as u32..end as u32
    }
}
