//! Pages of a column, handed to the reader of the `parquet` crate, which takes values out of them.
//!
//! Read and unpacked here and not there, for two reasons: the headers by which memory was bounded are
//! those by which pages are read, and the decoders of all compressions are ours to choose
//! (`unpack.rs`). Held by `files_of_every_encoding_are_read_as_they_were_written`.

use super::footer::damaged;
use super::pages::{DATA_PAGE, DICTIONARY_PAGE, Header, Headers};
use super::unpack::unpack;
use bytes::Bytes;
use parquet::arrow::arrow_reader::RowGroups;
use parquet::basic::{Compression, Encoding};
use parquet::column::page::{Page, PageIterator, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use parquet::file::reader::ChunkReader;
use std::fs::File;
use std::sync::Arc;

/// The row groups of a file.
#[derive(Debug)]
pub(super) struct Groups {
    pub(super) file: Arc<File>,
    pub(super) metadata: Arc<ParquetMetaData>,
}

impl RowGroups for Groups {
    fn num_rows(&self) -> usize {
        let rows = |group: &RowGroupMetaData| usize::try_from(group.num_rows()).unwrap_or(0);
        self.metadata.row_groups().iter().map(rows).fold(0, usize::saturating_add)
    }

    fn column_chunks(&self, column: usize) -> Result<Box<dyn PageIterator>> {
        let (file, metadata) = (self.file.clone(), self.metadata.clone());
        Ok(Box::new(Chunks { file, metadata, column, group: 0 }))
    }

    fn row_groups(&self) -> Box<dyn Iterator<Item = &RowGroupMetaData> + '_> {
        Box::new(self.metadata.row_groups().iter())
    }

    fn metadata(&self) -> &ParquetMetaData {
        &self.metadata
    }
}

/// The chunks of a column, of one row group after the other.
struct Chunks {
    file: Arc<File>,
    metadata: Arc<ParquetMetaData>,
    column: usize,
    group: usize,
}

impl Iterator for Chunks {
    type Item = Result<Box<dyn PageReader>>;

    fn next(&mut self) -> Option<Self::Item> {
        let chunk = self.metadata.row_groups().get(self.group)?.columns().get(self.column)?;
        self.group += 1;
        let headers = Headers::new(&self.file, chunk).map_err(told);
        Some(headers.map(|headers| {
            let (file, compression) = (self.file.clone(), chunk.compression());
            Box::new(Chunk { file, headers, compression, peeked: None }) as Box<dyn PageReader>
        }))
    }
}

impl PageIterator for Chunks {}

/// The pages of a chunk.
struct Chunk {
    file: Arc<File>,
    headers: Headers,
    compression: Compression,
    /// The header of the next page, if it has been looked at.
    peeked: Option<(Header, u64)>,
}

impl Chunk {
    fn header(&mut self) -> Result<Option<(Header, u64)>> {
        match self.peeked.take() {
            Some(peeked) => Ok(Some(peeked)),
            None => self.headers.next(&self.file).map_err(told),
        }
    }

    fn page(&self, header: &Header, at: u64) -> Result<Page> {
        let number = |number: i32| u32::try_from(number).map_err(ParquetError::from);
        let packed = self.file.get_bytes(at, number(header.packed)? as usize)?;
        let buf = self.unpacked(header, packed)?;
        let (num_values, encoding) = (number(header.values)?, encoding(header.encoding)?);
        Ok(match header.kind {
            DICTIONARY_PAGE => Page::DictionaryPage { buf, num_values, encoding, is_sorted: false },
            DATA_PAGE => Page::DataPage {
                buf,
                num_values,
                encoding,
                def_level_encoding: self::encoding(header.definition_encoding)?,
                rep_level_encoding: self::encoding(header.repetition_encoding)?,
                statistics: None,
            },
            _ => {
                let (definition, repetition) = header.levels.unwrap_or_default();
                Page::DataPageV2 {
                    buf,
                    num_values,
                    encoding,
                    num_nulls: number(header.nulls)?,
                    num_rows: number(header.rows)?,
                    def_levels_byte_len: number(definition)?,
                    rep_levels_byte_len: number(repetition)?,
                    is_compressed: false,
                    statistics: None,
                }
            }
        })
    }

    fn unpacked(&self, header: &Header, packed: Bytes) -> Result<Bytes> {
        let broken = || told(damaged("a page that does not come to what it says"));
        let levels = header.level_bytes().filter(|levels| *levels <= packed.len());
        let levels = levels.ok_or_else(broken)?;
        if !header.is_packed || self.compression == Compression::UNCOMPRESSED {
            return Ok(packed);
        }
        let bytes = usize::try_from(header.unpacked)?;
        let mut out = vec![0; bytes];
        let (before, values) = out.split_at_mut_checked(levels).ok_or_else(broken)?;
        let (packed_before, packed) = packed.split_at_checked(levels).ok_or_else(broken)?;
        before.copy_from_slice(packed_before);
        unpack(self.compression, packed, values).ok_or_else(broken)?;
        Ok(out.into())
    }
}

impl PageReader for Chunk {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let header = self.header()?;
        header.map(|(header, at)| self.page(&header, at)).transpose()
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.peeked = self.header()?;
        Ok(self.peeked.map(|(header, _)| {
            let is_dict = header.kind == DICTIONARY_PAGE;
            let is_second = !is_dict && header.kind != DATA_PAGE;
            PageMetadata {
                num_rows: is_second.then(|| usize::try_from(header.rows).unwrap_or(0)),
                num_levels: (!is_dict).then(|| usize::try_from(header.values).unwrap_or(0)),
                is_dict,
            }
        }))
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.header().map(drop)
    }
}

impl Iterator for Chunk {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

fn told(error: crate::Error) -> ParquetError {
    ParquetError::External(Box::new(error))
}

/// By its number in the format.
fn encoding(number: i32) -> Result<Encoding> {
    Ok(match number {
        0 => Encoding::PLAIN,
        2 => Encoding::PLAIN_DICTIONARY,
        3 => Encoding::RLE,
        #[allow(deprecated, reason = "old files have it")]
        4 => Encoding::BIT_PACKED,
        5 => Encoding::DELTA_BINARY_PACKED,
        6 => Encoding::DELTA_LENGTH_BYTE_ARRAY,
        7 => Encoding::DELTA_BYTE_ARRAY,
        8 => Encoding::RLE_DICTIONARY,
        9 => Encoding::BYTE_STREAM_SPLIT,
        _ => return Err(told(damaged("an encoding that there is not"))),
    })
}
