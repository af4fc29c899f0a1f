//! The header of a dictionary: what is in it, and how much of the catalog it covers.

use crate::bytes::{array_at, put, u16_at, u32_at, u64_at};
use crate::identity::expect;
use crate::limits::{DICTIONARY_PAGES_MAX, NAME_BYTES_MAX, UNIT_BYTES};
use crate::{Error, StoreId, What, crc32c};

const MAGIC: u64 = u64::from_le_bytes(*b"BARODICT");
const VERSION: u16 = 1;

/// How much of a catalog a dictionary covers: all blocks before a place, which were durable when it
/// was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Watermark {
    /// Offset of the first block that is not covered.
    pub offset: u64,
    /// Sequence of that block.
    pub sequence: u64,
    /// Session of the last block covered; of the segment, if there is none.
    pub session: u64,
    /// Offset of the last block covered; 0 if there is none.
    pub last_offset: u64,
    /// CRC field of that block; of the segment header, if there is none.
    pub last_crc: u32,
    /// CRC field of the catalog's segment header: another one is that of another catalog.
    pub segment_crc: u32,
}

/// The first unit of a dictionary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DictionaryHeader {
    /// The store.
    pub store: StoreId,
    /// Bytes of the file.
    pub file_bytes: u64,
    /// Series and channels.
    pub names: u32,
    /// Channels among them.
    pub channels: u32,
    /// Pages of names.
    pub name_pages: u32,
    /// Pages of ids, behind those of names.
    pub id_pages: u32,
    /// Bytes of the index, behind the pages.
    pub index_bytes: u32,
    /// CRC of the index.
    pub index_crc: u32,
    /// Bytes of the layouts, from the next unit behind the index.
    pub layout_bytes: u64,
    /// Highest id; 0 without names.
    pub highest_id: u32,
    /// What is covered.
    pub watermark: Watermark,
}

impl DictionaryHeader {
    /// The unit.
    #[must_use]
    pub fn encode(&self) -> [u8; UNIT_BYTES] {
        let mut unit = [0; UNIT_BYTES];
        put(&mut unit, 0, &MAGIC.to_le_bytes());
        put(&mut unit, 8, &VERSION.to_le_bytes());
        put(&mut unit, 16, &self.store.0);
        put(&mut unit, 32, &self.file_bytes.to_le_bytes());
        put(&mut unit, 40, &self.names.to_le_bytes());
        put(&mut unit, 44, &self.channels.to_le_bytes());
        put(&mut unit, 48, &self.name_pages.to_le_bytes());
        put(&mut unit, 52, &self.id_pages.to_le_bytes());
        put(&mut unit, 56, &self.index_bytes.to_le_bytes());
        put(&mut unit, 60, &self.index_crc.to_le_bytes());
        put(&mut unit, 64, &self.layout_bytes.to_le_bytes());
        put(&mut unit, 72, &self.highest_id.to_le_bytes());
        put(&mut unit, 80, &self.watermark.offset.to_le_bytes());
        put(&mut unit, 88, &self.watermark.sequence.to_le_bytes());
        put(&mut unit, 96, &self.watermark.session.to_le_bytes());
        put(&mut unit, 104, &self.watermark.last_offset.to_le_bytes());
        put(&mut unit, 112, &self.watermark.last_crc.to_le_bytes());
        put(&mut unit, 116, &self.watermark.segment_crc.to_le_bytes());
        let crc = crc32c(0, &unit);
        put(&mut unit, 12, &crc.to_le_bytes());
        unit
    }

    /// Reads the unit.
    ///
    /// # Errors
    /// Truncated, no dictionary, of another version, damaged, or with counts outside the limits.
    pub fn decode(bytes: &[u8]) -> Result<Self, Error> {
        let what = What::Dictionary;
        let found = bytes.len() as u64;
        let (offset, expected) = (found, UNIT_BYTES as u64);
        let mut unit: [u8; UNIT_BYTES] =
            array_at(bytes, 0).ok_or(Error::Truncated { what, offset, expected, found })?;
        expect(what, "magic", 0, MAGIC, u64_at(&unit, 0))?;
        expect(what, "version", 8, u64::from(VERSION), u64::from(u16_at(&unit, 8)))?;
        let stored = u32_at(&unit, 12);
        put(&mut unit, 12, &[0; 4]);
        expect(what, "CRC", 12, u64::from(crc32c(0, &unit)), u64::from(stored))?;
        let header = DictionaryHeader {
            store: StoreId(array_at(&unit, 16).unwrap_or_default()),
            file_bytes: u64_at(&unit, 32),
            names: u32_at(&unit, 40),
            channels: u32_at(&unit, 44),
            name_pages: u32_at(&unit, 48),
            id_pages: u32_at(&unit, 52),
            index_bytes: u32_at(&unit, 56),
            index_crc: u32_at(&unit, 60),
            layout_bytes: u64_at(&unit, 64),
            highest_id: u32_at(&unit, 72),
            watermark: Watermark {
                offset: u64_at(&unit, 80),
                sequence: u64_at(&unit, 88),
                session: u64_at(&unit, 96),
                last_offset: u64_at(&unit, 104),
                last_crc: u32_at(&unit, 112),
                segment_crc: u32_at(&unit, 116),
            },
        };
        header.check()?;
        Ok(header)
    }

    fn check(&self) -> Result<(), Error> {
        let what = What::Dictionary;
        let range = |field, offset, limit, found| {
            if found <= limit {
                return Ok(());
            }
            Err(Error::OutOfRange { what, field, offset, limit, found })
        };
        let (pages, ids) = (u64::from(self.name_pages), u64::from(self.id_pages));
        range("pages of names", 48, u64::from(DICTIONARY_PAGES_MAX), pages)?;
        range("pages of ids", 52, u64::from(DICTIONARY_PAGES_MAX), ids)?;
        range("names", 40, pages * UNIT_BYTES as u64 / 2, u64::from(self.names))?;
        range("channels", 44, u64::from(self.names), u64::from(self.channels))?;
        let index = ids * 4 + pages * (NAME_BYTES_MAX as u64 + 16);
        range("index bytes", 56, index, u64::from(self.index_bytes))?;
        range("layout bytes", 64, u64::from(u32::MAX), self.layout_bytes)?;
        expect(what, "file bytes", 32, self.layouts_offset() + self.layout_bytes, self.file_bytes)
    }

    /// Offset of the page of names `page`.
    #[must_use]
    pub fn name_page_offset(&self, page: u32) -> u64 {
        (u64::from(page) + 1) * UNIT_BYTES as u64
    }

    /// Offset of the page of ids `page`.
    #[must_use]
    pub fn id_page_offset(&self, page: u32) -> u64 {
        (u64::from(self.name_pages) + u64::from(page) + 1) * UNIT_BYTES as u64
    }

    /// Offset of the index.
    #[must_use]
    pub fn index_offset(&self) -> u64 {
        self.id_page_offset(self.id_pages)
    }

    /// Offset of the layouts.
    #[must_use]
    pub fn layouts_offset(&self) -> u64 {
        self.index_offset() + u64::from(self.index_bytes).next_multiple_of(UNIT_BYTES as u64)
    }
}
