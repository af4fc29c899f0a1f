//! Pages of a column, handed to the reader of the `parquet` crate, which takes values out of them.
//!
//! Read and unpacked here and not there, for two reasons: the headers by which memory was bounded are
//! those by which pages are read, and the decoders of all compressions are ours to choose
//! (`unpack.rs`). Held by `files_of_every_encoding_are_read_as_they_were_written`.

use super::counts;
use super::footer::damaged;
use super::pages::{DATA_PAGE, DICTIONARY_PAGE, Header, Headers, check_crc, refused};
use super::unpack::unpack;
use bytes::Bytes;
use parquet::arrow::arrow_reader::RowGroups;
use parquet::basic::{Compression, Encoding};
use parquet::column::page::{Page, PageIterator, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use parquet::file::reader::ChunkReader;
use parquet::schema::types::ColumnDescPtr;
use std::fs::File;
use std::sync::{Arc, Mutex};

/// The row groups of a file.
#[derive(Debug)]
pub(super) struct Groups {
    pub(super) file: Arc<File>,
    pub(super) metadata: Arc<ParquetMetaData>,
    /// Why a page was refused: between here and who asked for rows an error becomes a text.
    pub(super) reason: Arc<Mutex<Option<crate::Error>>>,
}

impl Groups {
    /// The error of a page, if that is why the reader has failed.
    pub(super) fn told(&self, error: impl Into<crate::Error>) -> crate::Error {
        let reason = self.reason.lock().ok().and_then(|mut reason| reason.take());
        reason.unwrap_or_else(|| error.into())
    }
}

impl RowGroups for Groups {
    fn num_rows(&self) -> usize {
        let rows = |group: &RowGroupMetaData| usize::try_from(group.num_rows()).unwrap_or(0);
        self.metadata.row_groups().iter().map(rows).fold(0, usize::saturating_add)
    }

    fn column_chunks(&self, column: usize) -> Result<Box<dyn PageIterator>> {
        let (file, metadata) = (self.file.clone(), self.metadata.clone());
        let reason = self.reason.clone();
        Ok(Box::new(Chunks { file, metadata, reason, column, group: 0 }))
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
    reason: Arc<Mutex<Option<crate::Error>>>,
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
            let (column, group, reason) =
                (chunk.column_descr_ptr(), self.group, self.reason.clone());
            Box::new(Chunk { file, headers, compression, column, group, reason, peeked: None })
                as Box<dyn PageReader>
        }))
    }
}

impl PageIterator for Chunks {}

/// The pages of a chunk.
struct Chunk {
    file: Arc<File>,
    headers: Headers,
    compression: Compression,
    column: ColumnDescPtr,
    /// Number of its row group, from 1 on.
    group: usize,
    reason: Arc<Mutex<Option<crate::Error>>>,
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
        check_crc(header, &packed, &self.column, self.group).map_err(|error| self.tell(error))?;
        let broken = |expected| {
            self.tell(refused(
                &self.column,
                self.group,
                header,
                expected,
                "more or fewer (damaged)",
            ))
        };
        let buf = self
            .unpacked(header, packed)
            .ok_or_else(|| broken("to come to as many bytes as its header says"))?;
        let is_data = header.kind != DICTIONARY_PAGE && self.column.max_rep_level() == 0;
        if is_data && counts::matching(header, &buf, &self.column).is_none() {
            return Err(broken("to have as many levels and values as its header says"));
        }
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

    /// Keeps why this page cannot be read.
    fn tell(&self, error: crate::Error) -> ParquetError {
        if let Ok(mut reason) = self.reason.lock() {
            *reason = Some(error);
        }
        told(damaged("a page"))
    }

    fn unpacked(&self, header: &Header, packed: Bytes) -> Option<Bytes> {
        let levels = header.level_bytes().filter(|levels| *levels <= packed.len())?;
        if !header.is_packed || self.compression == Compression::UNCOMPRESSED {
            return Some(packed);
        }
        let bytes = usize::try_from(header.unpacked).ok()?;
        let mut out = vec![0; bytes];
        let (before, values) = out.split_at_mut_checked(levels)?;
        let (packed_before, packed) = packed.split_at_checked(levels)?;
        before.copy_from_slice(packed_before);
        unpack(self.compression, packed, values)?;
        Some(out.into())
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
