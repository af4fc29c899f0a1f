//! The pages of a column, by their headers: what each takes when it is read, before it is.
//!
//! A page says itself how large it is unpacked and how many values it has, and who reads it
//! makes room for both. Headers are read here alone, for the bound and for reading (`chunk.rs`). Only where
//! lengths of texts are differences (`delta.rs`) a header does not tell; there the page is unpacked and
//! its lengths are counted.

use super::bound::{PAGE_BYTES_MAX, check};
use super::compact::{Place, Seen, Walk};
use super::delta::{self, Lengths};
use super::footer::damaged;
use crate::{Error, Result};
use parquet::basic::Compression;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::{ChunkReader, Length};
use parquet::schema::types::ColumnDescriptor;
use std::fs::File;

/// Bytes read for a header at first; and at most, for statistics with long texts.
const HEADER_BYTES: usize = 512;
const HEADER_BYTES_MAX: usize = 4 << 20;

/// Numbers of the format.
pub(super) const DATA_PAGE: i32 = 0;
const INDEX_PAGE: i32 = 1;
pub(super) const DICTIONARY_PAGE: i32 = 2;
const DATA_PAGE_2: i32 = 3;
/// Of levels: the only one that this reads.
const RLE: i32 = 3;
const BIT_PACKED: i32 = 4;
const DELTA_LENGTH_BYTE_ARRAY: i32 = 6;
const DELTA_BYTE_ARRAY: i32 = 7;

/// A page, as its readers will hold it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Page {
    /// Rows; 0 of a dictionary.
    pub(super) rows: u64,
    /// Bytes that it takes from being read to being left.
    pub(super) memory_bytes: u64,
    /// Texts that are made anew of it: their sum, and the longest.
    pub(super) made_bytes: u64,
    pub(super) made_max_bytes: u64,
}

/// A page's header, as far as it is needed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Header {
    pub(super) kind: i32,
    pub(super) unpacked: i32,
    pub(super) packed: i32,
    pub(super) values: i32,
    pub(super) encoding: i32,
    /// Of the first version: how levels are encoded.
    pub(super) definition_encoding: i32,
    pub(super) repetition_encoding: i32,
    /// Of the second version: nulls, rows, and bytes of levels before the values.
    pub(super) nulls: i32,
    pub(super) rows: i32,
    pub(super) levels: Option<(i32, i32)>,
    pub(super) is_packed: bool,
    /// CRC32 of its bytes as they are in the file, if its writer has put one there.
    pub(super) crc: Option<u32>,
    /// Which of its column's chunk it is, from 1 on.
    pub(super) number: u32,
}

impl Header {
    fn see(&mut self, place: Place, id: i16, seen: Seen) {
        // As the format has it: of 32 bits.
        let Seen::Number(number) = seen else { return };
        let number = number as i32;
        match (place, id) {
            (Place::PageHeader, 1) => self.kind = number,
            (Place::PageHeader, 2) => self.unpacked = number,
            (Place::PageHeader, 3) => self.packed = number,
            (Place::PageHeader, 4) => self.crc = Some(number.cast_unsigned()),
            (Place::DataPage | Place::DictionaryPage | Place::DataPageV2, 1) => {
                self.values = self.values.max(number);
            }
            (Place::DataPage | Place::DictionaryPage, 2) | (Place::DataPageV2, 4) => {
                self.encoding = number;
            }
            (Place::DataPage, 3) => self.definition_encoding = number,
            (Place::DataPage, 4) => self.repetition_encoding = number,
            (Place::DataPageV2, 2) => self.nulls = number,
            (Place::DataPageV2, 3) => self.rows = number,
            (Place::DataPageV2, 5) => self.levels.get_or_insert_default().0 = number,
            (Place::DataPageV2, 6) => self.levels.get_or_insert_default().1 = number,
            (Place::DataPageV2, 7) => self.is_packed = number != 0,
            _ => {}
        }
    }

    /// Bytes before the values that are never packed.
    pub(super) fn level_bytes(&self) -> Option<usize> {
        let (definition, repetition) = self.levels.unwrap_or_default();
        usize::try_from(definition).ok()?.checked_add(usize::try_from(repetition).ok()?)
    }
}

/// The headers of a column's chunk, one after the other.
#[derive(Debug)]
pub(super) struct Headers {
    at: u64,
    end: u64,
    /// Values still to come.
    left: u64,
    /// Pages that have come.
    pages: u32,
}

impl Headers {
    pub(super) fn new(file: &File, chunk: &ColumnChunkMetaData) -> Result<Self> {
        let start = chunk.dictionary_page_offset().unwrap_or(chunk.data_page_offset());
        let (Ok(at), Ok(bytes)) = (u64::try_from(start), u64::try_from(chunk.compressed_size()))
        else {
            return Err(damaged("a column at a place below 0"));
        };
        let end = at.checked_add(bytes).filter(|end| *end <= file.len());
        let end = end.ok_or_else(|| damaged("a column that ends behind the file"))?;
        Ok(Headers { at, end, left: u64::try_from(chunk.num_values()).unwrap_or(0), pages: 0 })
    }

    /// The next page with values or a dictionary: its header, and where its bytes are.
    pub(super) fn next(&mut self, file: &File) -> Result<Option<(Header, u64)>> {
        // Behind the last value some writers count bytes that are no page.
        while self.at < self.end && self.left > 0 {
            let (mut header, header_bytes) = header(file, self.at, self.end)?;
            let at = self.at + header_bytes as u64;
            let (Ok(packed), Ok(_), Ok(values)) = (
                u64::try_from(header.packed),
                u64::try_from(header.unpacked),
                u64::try_from(header.values),
            ) else {
                return Err(damaged("a page of less than no bytes"));
            };
            if packed > self.end - at {
                return Err(damaged("a page that ends behind its column"));
            }
            self.at = at + packed;
            match header.kind {
                INDEX_PAGE => continue,
                DICTIONARY_PAGE => {}
                DATA_PAGE | DATA_PAGE_2 => self.left = self.left.saturating_sub(values),
                _ => return Err(damaged("a page of no kind that there is")),
            }
            // Levels of a page of another kind: what is counted and what is read would differ.
            if header.levels.is_some() && header.kind != DATA_PAGE_2 {
                return Err(damaged("a page of two kinds"));
            }
            self.pages += 1;
            header.number = self.pages;
            return Ok(Some((header, at)));
        }
        Ok(None)
    }
}

/// Hands each page of a column's chunk to `each`. `room_bytes` is what one may take, `group` the number
/// of its row group, from 1 on.
pub(super) fn pages(
    file: &File,
    chunk: &ColumnChunkMetaData,
    group: usize,
    room_bytes: u64,
    mut each: impl FnMut(Page) -> Result<()>,
) -> Result<()> {
    let mut headers = Headers::new(file, chunk)?;
    while let Some((header, at)) = headers.next(file)? {
        check_levels(&header, chunk.column_descr(), group)?;
        each(page(file, chunk, group, &header, at, room_bytes)?)?;
    }
    Ok(())
}

/// Error of a page that is not what it has to be.
pub(super) fn refused(
    column: &ColumnDescriptor,
    group: usize,
    header: &Header,
    expected: &str,
    found: &'static str,
) -> Error {
    let expected = format!("page {} of row group {group} {expected}", header.number);
    Error::Column { column: column.name().chars().take(60).collect(), expected, found }
}

/// Where values begin is behind the levels, and of no other encoding is that known here. Old writers name
/// one where there are no levels.
fn check_levels(header: &Header, column: &ColumnDescriptor, group: usize) -> Result<()> {
    let definition = (column.max_def_level() > 0).then_some(header.definition_encoding);
    let repetition = (column.max_rep_level() > 0).then_some(header.repetition_encoding);
    let mut used = definition.into_iter().chain(repetition);
    let Some(other) = used.find(|one| header.kind == DATA_PAGE && *one != RLE) else {
        return Ok(());
    };
    let found = match other {
        BIT_PACKED => "levels encoded as BIT_PACKED",
        0 => "levels encoded as PLAIN",
        _ => "levels of another encoding",
    };
    Err(refused(column, group, header, "with levels encoded as RLE (write the file anew)", found))
}

/// Whether these are the bytes whose CRC the header has, if it has one.
pub(super) fn check_crc(
    header: &Header,
    bytes: &[u8],
    column: &ColumnDescriptor,
    group: usize,
) -> Result<()> {
    let Some(crc) = header.crc else { return Ok(()) };
    let mut found = flate2::Crc::new();
    found.update(bytes);
    if found.sum() == crc {
        return Ok(());
    }
    let expected = format!("to have the CRC {crc:#010x} of its header");
    Err(refused(column, group, header, &expected, "bytes of another CRC (damaged)"))
}

fn header(file: &File, at: u64, end: u64) -> Result<(Header, usize)> {
    let mut most = HEADER_BYTES;
    loop {
        let length = most.min(usize::try_from(end - at).unwrap_or(most));
        let bytes = file.get_bytes(at, length)?;
        let mut header = Header { is_packed: true, ..Header::default() };
        let mut walk = Walk::new(&bytes);
        let whole = walk.walk(Place::PageHeader, &mut |place, id, seen| {
            header.see(place, id, seen);
            Some(())
        });
        match whole {
            Some(()) => return Ok((header, walk.at())),
            None if length < most || most >= HEADER_BYTES_MAX => {
                return Err(damaged("something that is no page"));
            }
            None => most *= 16,
        }
    }
}

fn page(
    file: &File,
    chunk: &ColumnChunkMetaData,
    group: usize,
    header: &Header,
    at: u64,
    room_bytes: u64,
) -> Result<Page> {
    let (packed, values) = (header.packed.max(0) as u64, header.values.max(0) as u64);
    let unpacked = header.unpacked.max(0) as u64;
    let is_packed = header.is_packed && chunk.compression() != Compression::UNCOMPRESSED;
    let size = if is_packed { unpacked } else { packed };
    // Both are there while it is unpacked.
    let mut page = Page { memory_bytes: size.saturating_add(packed), ..Page::default() };
    if is_packed {
        page.memory_bytes += super::unpack::room_bytes(chunk.compression(), size);
    }
    check(size, PAGE_BYTES_MAX.max(room_bytes), "a page")?;
    check(page.memory_bytes, room_bytes, "a page")?;
    let is_text = chunk.column_type() == parquet::basic::Type::BYTE_ARRAY;
    if header.kind == DICTIONARY_PAGE {
        // No value without a bit; a text has its length besides.
        let least = if is_text { size / 4 } else { size.saturating_mul(8) };
        if values > least {
            return Err(damaged("a dictionary of more values than bytes"));
        }
        page.memory_bytes += values * 16;
        return Ok(page);
    }
    page.rows = values;
    if !is_text || !matches!(header.encoding, DELTA_LENGTH_BYTE_ARRAY | DELTA_BYTE_ARRAY) {
        return Ok(page);
    }
    page.memory_bytes = page.memory_bytes.saturating_add(values * 8);
    check(page.memory_bytes, room_bytes, "a page")?;
    let bytes = file.get_bytes(at, packed as usize)?;
    check_crc(header, &bytes, chunk.column_descr(), group)?;
    let lengths =
        lengths(&bytes, header, is_packed, chunk).ok_or_else(|| damaged("a page of texts"))?;
    if header.encoding == DELTA_BYTE_ARRAY {
        (page.made_bytes, page.made_max_bytes) = (lengths.sum_bytes, lengths.max_bytes);
        check(page.made_bytes, PAGE_BYTES_MAX, "the texts of a page")?;
    }
    Ok(page)
}

/// The lengths in a page whose texts' lengths are differences.
fn lengths(
    bytes: &[u8],
    header: &Header,
    is_packed: bool,
    chunk: &ColumnChunkMetaData,
) -> Option<Lengths> {
    let levels = header.level_bytes()?;
    let unpacked;
    let mut values = bytes.get(levels..)?;
    if is_packed {
        let size = usize::try_from(header.unpacked).ok()?.checked_sub(levels)?;
        let mut buffer = vec![0; size];
        super::unpack::unpack(chunk.compression(), values, &mut buffer)?;
        unpacked = buffer;
        values = &unpacked;
    }
    if header.kind == DATA_PAGE && chunk.column_descr().max_def_level() > 0 {
        let (length, rest) = values.split_first_chunk()?;
        values = rest.get(u32::from_le_bytes(*length) as usize..)?;
    }
    let most = u64::try_from(header.values).ok()?;
    match header.encoding {
        DELTA_BYTE_ARRAY => delta::of_shared(values, most),
        _ => delta::of_lengths(values, most),
    }
}
