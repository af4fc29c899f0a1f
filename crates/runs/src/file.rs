//! Header and footer of a run: who it is, and where its index lies.

use crate::cursor::Cursor;
use crate::limits::{INDEX_BYTES_MAX, NOTE_BYTES_MAX};
use crate::{Error, What};
use baro_ondisk::limits::UNIT_BYTES;
use baro_ondisk::{StoreId, crc32c};

const HEADER_MAGIC: [u8; 8] = *b"BARORUN1";
const FOOTER_MAGIC: [u8; 8] = *b"BARORUNF";
const VERSION: u16 = 1;
/// Bytes of the footer, the last of the file.
pub(crate) const FOOTER_BYTES: usize = 64;

/// Who a run is.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct RunInfo {
    /// The store it belongs to.
    pub store: StoreId,
    /// Its number in the store.
    pub run: u64,
    /// How often its samples have been merged.
    pub level: u8,
    /// What the store wants to know of it before it reads more; at most
    /// `NOTE_BYTES_MAX` bytes.
    pub note: Vec<u8>,
}

/// Where the index of a run lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FooterAt {
    /// Offset of the index in the file.
    pub offset: u64,
    /// Bytes of the index.
    pub bytes: usize,
}

impl RunInfo {
    pub(crate) fn encode(&self) -> Result<Vec<u8>, Error> {
        if self.note.len() > NOTE_BYTES_MAX {
            let (what, field, offset) = (What::Header, "note", 36);
            let (limit, found) = (NOTE_BYTES_MAX as u64, self.note.len() as u64);
            return Err(Error::OutOfRange { what, field, offset, limit, found });
        }
        let mut unit = Vec::with_capacity(UNIT_BYTES);
        unit.extend_from_slice(&HEADER_MAGIC);
        unit.extend_from_slice(&VERSION.to_le_bytes());
        unit.extend_from_slice(&[self.level, 0]);
        unit.extend_from_slice(&[0; 4]);
        unit.extend_from_slice(&self.store.0);
        unit.extend_from_slice(&self.run.to_le_bytes());
        unit.extend_from_slice(&(self.note.len() as u32).to_le_bytes());
        unit.extend_from_slice(&self.note);
        unit.resize(UNIT_BYTES, 0);
        let crc = crc_of(&unit);
        if let Some(place) = unit.get_mut(12..16) {
            place.copy_from_slice(&crc.to_le_bytes());
        }
        Ok(unit)
    }

    /// Reads a header: the first [`UNIT_BYTES`] of a run.
    ///
    /// # Errors
    /// Too short, not a run, of another version, with a wrong CRC, or with a note that is too long.
    pub fn decode(header: &[u8]) -> Result<Self, Error> {
        let mut cursor = Cursor::new(What::Header, 0, header, 0);
        let unit = cursor.clone().take("header", UNIT_BYTES)?;
        let magic = cursor.array::<8>("magic")?;
        cursor.expect("magic", u64::from_le_bytes(HEADER_MAGIC), u64::from_le_bytes(magic))?;
        let version = u16::from_le_bytes(cursor.array("version")?);
        cursor.expect("version", u64::from(VERSION), u64::from(version))?;
        let [level, zero] = cursor.array("level")?;
        let crc = cursor.u32("CRC")?;
        cursor.expect("CRC", u64::from(crc_of(unit)), u64::from(crc))?;
        cursor.expect("zero", 0, u64::from(zero))?;
        let store = StoreId(cursor.array("store id")?);
        let run = cursor.u64("run")?;
        let note_bytes = cursor.u32("note")?;
        if note_bytes as usize > NOTE_BYTES_MAX {
            return Err(cursor.out_of_range("note", NOTE_BYTES_MAX as u64, u64::from(note_bytes)));
        }
        let note = cursor.take("note", note_bytes as usize)?.to_vec();
        Ok(RunInfo { store, run, level, note })
    }

    /// What the CRC of the page at `offset` starts from: a page of another run, or one that was
    /// written elsewhere, is not taken.
    pub(crate) fn seed(&self, offset: u64) -> u32 {
        let seed = crc32c(0, &self.store.0);
        crc32c(crc32c(seed, &self.run.to_le_bytes()), &offset.to_le_bytes())
    }
}

/// CRC of a header with its CRC field 0.
fn crc_of(unit: &[u8]) -> u32 {
    let crc = crc32c(0, unit.get(..12).unwrap_or(&[]));
    crc32c(crc32c(crc, &[0; 4]), unit.get(16..).unwrap_or(&[]))
}

/// Contents of a footer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Footer {
    pub(crate) at: FooterAt,
    pub(crate) index_crc: u32,
    pub(crate) run: u64,
    pub(crate) samples: u64,
    pub(crate) series: u64,
    pub(crate) pages: u32,
    pub(crate) header_crc: u32,
}

/// What ties a footer to its header.
pub(crate) fn header_crc(header: &[u8]) -> u32 {
    crc32c(0, header.get(..UNIT_BYTES).unwrap_or(&[]))
}

impl Footer {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(FOOTER_BYTES);
        bytes.extend_from_slice(&FOOTER_MAGIC);
        bytes.extend_from_slice(&self.at.offset.to_le_bytes());
        bytes.extend_from_slice(&(self.at.bytes as u32).to_le_bytes());
        bytes.extend_from_slice(&self.index_crc.to_le_bytes());
        bytes.extend_from_slice(&self.run.to_le_bytes());
        bytes.extend_from_slice(&self.samples.to_le_bytes());
        bytes.extend_from_slice(&self.series.to_le_bytes());
        bytes.extend_from_slice(&self.pages.to_le_bytes());
        bytes.extend_from_slice(&self.header_crc.to_le_bytes());
        bytes.extend_from_slice(&[0; 4]);
        let crc = crc32c(0, &bytes);
        bytes.extend_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// `tail` ends where the file does; its last bytes are the footer.
    pub(crate) fn decode(file_bytes: u64, tail: &[u8]) -> Result<Self, Error> {
        let at = tail.len().saturating_sub(FOOTER_BYTES);
        let base = file_bytes.saturating_sub(tail.len() as u64);
        let mut cursor = Cursor::new(What::Footer, base, tail, at);
        let bytes = cursor.clone().take("footer", FOOTER_BYTES)?;
        let magic = cursor.array::<8>("magic")?;
        cursor.expect("magic", u64::from_le_bytes(FOOTER_MAGIC), u64::from_le_bytes(magic))?;
        let crc = crc32c(0, bytes.get(..FOOTER_BYTES - 4).unwrap_or(&[]));
        let found = cursor.clone().take("footer", FOOTER_BYTES - 12).and_then(|_| {
            let mut last = Cursor::new(What::Footer, base, tail, at + FOOTER_BYTES - 4);
            last.u32("CRC")
        })?;
        cursor.expect("CRC", u64::from(crc), u64::from(found))?;
        let offset = cursor.u64("index offset")?;
        let index_bytes = cursor.u32("index bytes")?;
        if index_bytes as usize > INDEX_BYTES_MAX {
            let (limit, found) = (INDEX_BYTES_MAX as u64, u64::from(index_bytes));
            return Err(cursor.out_of_range("index bytes", limit, found));
        }
        let end = offset.saturating_add(u64::from(index_bytes));
        cursor.expect("file bytes", end.saturating_add(FOOTER_BYTES as u64), file_bytes)?;
        Ok(Footer {
            at: FooterAt { offset, bytes: index_bytes as usize },
            index_crc: cursor.u32("index CRC")?,
            run: cursor.u64("run")?,
            samples: cursor.u64("samples")?,
            series: cursor.u64("series")?,
            pages: cursor.u32("pages")?,
            header_crc: cursor.u32("header CRC")?,
        })
    }
}
