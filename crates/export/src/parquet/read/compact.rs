//! Thrift's compact protocol, as far as a footer and the headers of pages have it: walked, not built.
//!
//! The reader of the `parquet` crate makes room by the numbers that it reads, and calls itself for
//! each level. So what it is to read is walked first, by the same table of fields: a field of another
//! type than the format gives it is refused, since the two would go on at different bytes.
//!
//! Invariant: a walk allocates nothing and takes as long as there are bytes. Held by
//! `a_small_parquet_file_takes_little_memory` (`tests/bounds.rs`).

/// Structs within structs at most; the format has 5.
const DEPTH_MAX: u32 = 16;

const TRUE: u8 = 1;
const FALSE: u8 = 2;
const BYTE: u8 = 3;
const I16: u8 = 4;
const I32: u8 = 5;
const I64: u8 = 6;
const DOUBLE: u8 = 7;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// A struct of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    File,
    SchemaElement,
    LogicalType,
    Decimal,
    Time,
    TimeUnit,
    Integer,
    Variant,
    Geography,
    RowGroup,
    ColumnChunk,
    ColumnData,
    KeyValue,
    SortingColumn,
    Statistics,
    EncodingStats,
    SizeStatistics,
    GeoStatistics,
    Box,
    ColumnOrder,
    PageHeader,
    DataPage,
    DictionaryPage,
    DataPageV2,
    /// One that the format does not know, or has no fields in.
    Other,
}

/// What a field is.
#[derive(Clone, Copy)]
enum Is {
    /// A value of this type.
    A(u8),
    /// Of either truth value: the type is the value.
    Bool,
    Struct(Place),
    /// A list of structs, or of values of this type.
    Structs(Place),
    List(u8),
    /// Not known: passed over as its own type says.
    Unknown,
}

/// Parquet's fields, from its `parquet.thrift`.
fn field(place: Place, id: i16) -> Is {
    use Is::{A, Bool, List, Struct, Structs};
    use Place as P;
    match (place, id) {
        (P::File, 1) => A(I32),
        (P::File, 2) => Structs(P::SchemaElement),
        (P::File, 3) => A(I64),
        (P::File, 4) => Structs(P::RowGroup),
        (P::File, 5) => Structs(P::KeyValue),
        (P::File, 6) => A(BINARY),
        (P::File, 7) => Structs(P::ColumnOrder),
        (P::SchemaElement, 1..=3 | 5..=9) => A(I32),
        (P::SchemaElement, 4) => A(BINARY),
        (P::SchemaElement, 10) => Struct(P::LogicalType),
        (P::LogicalType, 5) => Struct(P::Decimal),
        (P::LogicalType, 7 | 8) => Struct(P::Time),
        (P::LogicalType, 10) => Struct(P::Integer),
        (P::LogicalType, 16) => Struct(P::Variant),
        (P::LogicalType, 17 | 18) => Struct(P::Geography),
        (P::LogicalType | P::TimeUnit | P::ColumnOrder, _) => Struct(P::Other),
        (P::Decimal, 1 | 2) => A(I32),
        (P::Time, 1) => Bool,
        (P::Time, 2) => Struct(P::TimeUnit),
        (P::Integer, 1) | (P::Variant, 1) => A(BYTE),
        (P::Integer, 2) => Bool,
        (P::Geography, 1) => A(BINARY),
        (P::Geography, 2) => A(I32),
        (P::RowGroup, 1) => Structs(P::ColumnChunk),
        (P::RowGroup, 2 | 3 | 5 | 6) => A(I64),
        (P::RowGroup, 4) => Structs(P::SortingColumn),
        (P::RowGroup, 7) => A(I16),
        (P::ColumnChunk, 1) => A(BINARY),
        (P::ColumnChunk, 2 | 4 | 6) => A(I64),
        (P::ColumnChunk, 3) => Struct(P::ColumnData),
        (P::ColumnChunk, 5 | 7) => A(I32),
        (P::ColumnData, 1 | 4 | 15) => A(I32),
        (P::ColumnData, 2) => List(I32),
        (P::ColumnData, 3) => List(BINARY),
        (P::ColumnData, 5..=7 | 9..=11 | 14) => A(I64),
        (P::ColumnData, 8) => Structs(P::KeyValue),
        (P::ColumnData, 12) => Struct(P::Statistics),
        (P::ColumnData, 13) => Structs(P::EncodingStats),
        (P::ColumnData, 16) => Struct(P::SizeStatistics),
        (P::ColumnData, 17) => Struct(P::GeoStatistics),
        (P::KeyValue, 1 | 2) => A(BINARY),
        (P::SortingColumn, 1) | (P::EncodingStats, 1..=3) => A(I32),
        (P::SortingColumn, 2 | 3) | (P::Statistics, 7 | 8) => Bool,
        (P::Statistics, 1 | 2 | 5 | 6) => A(BINARY),
        (P::Statistics, 3 | 4) | (P::SizeStatistics, 1) => A(I64),
        (P::SizeStatistics, 2 | 3) => List(I64),
        (P::GeoStatistics, 1) => Struct(P::Box),
        (P::GeoStatistics, 2) => List(I32),
        (P::Box, 1..=8) => A(DOUBLE),
        (P::PageHeader, 1..=4) => A(I32),
        (P::PageHeader, 5) => Struct(P::DataPage),
        (P::PageHeader, 6) => Struct(P::Other),
        (P::PageHeader, 7) => Struct(P::DictionaryPage),
        (P::PageHeader, 8) => Struct(P::DataPageV2),
        (P::DataPage, 1..=4) | (P::DictionaryPage, 1 | 2) | (P::DataPageV2, 1..=6) => A(I32),
        (P::DataPage, 5) | (P::DataPageV2, 8) => Struct(P::Statistics),
        (P::DictionaryPage, 3) | (P::DataPageV2, 7) => Bool,
        _ => Is::Unknown,
    }
}

/// What is seen on a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// A number; of a truth value 0 or 1.
    Number(i64),
    /// Bytes of a text.
    Bytes(usize),
    /// Elements of a list of structs, before they come.
    List(usize),
    /// Elements of a list of values, before they come.
    Values(usize),
    /// The struct is over.
    End,
}

/// A walk through bytes.
#[derive(Debug)]
pub(super) struct Walk<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Walk<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Walk { bytes, at: 0 }
    }

    /// Bytes walked.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// Bytes still to come.
    pub(super) fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// The next bytes, so many.
    pub(super) fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let from = self.at;
        self.pass(bytes)?;
        self.bytes.get(from..self.at)
    }

    fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn pass(&mut self, bytes: usize) -> Option<()> {
        self.at = self.at.checked_add(bytes).filter(|at| *at <= self.bytes.len())?;
        Some(())
    }

    /// A number of seven bits a byte, as everywhere in Parquet.
    pub(super) fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    pub(super) fn zigzag(&mut self) -> Option<i64> {
        let value = self.varint()?;
        Some((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }

    fn binary(&mut self) -> Option<usize> {
        let bytes = usize::try_from(self.varint()?).ok()?;
        self.pass(bytes)?;
        Some(bytes)
    }

    /// Type and number of a list's elements: no more than there are bytes left.
    fn list(&mut self) -> Option<(u8, usize)> {
        let head = self.byte()?;
        let count = match head >> 4 {
            15 => usize::try_from(self.varint()?).ok()?,
            count => usize::from(count),
        };
        (count <= self.bytes.len() - self.at).then_some((head & 15, count))
    }

    /// Walks a struct and tells what is in it, by place and field; None if it is damaged.
    pub(super) fn walk(
        &mut self,
        place: Place,
        see: &mut impl FnMut(Place, i16, Seen) -> Option<()>,
    ) -> Option<()> {
        self.within(place, DEPTH_MAX, see)
    }

    fn within(
        &mut self,
        place: Place,
        depth: u32,
        see: &mut impl FnMut(Place, i16, Seen) -> Option<()>,
    ) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        let mut id = 0_i16;
        loop {
            let head = self.byte()?;
            let kind = head & 15;
            if kind == 0 {
                return see(place, 0, Seen::End);
            }
            id = match head >> 4 {
                0 => i16::try_from(self.zigzag()?).ok()?,
                step => id.checked_add(i16::from(step))?,
            };
            match field(place, id) {
                Is::A(wanted) if wanted == kind => {
                    let seen = self.value(kind)?;
                    see(place, id, seen)?;
                }
                Is::Bool if kind == TRUE || kind == FALSE => {
                    see(place, id, Seen::Number(i64::from(kind == TRUE)))?;
                }
                Is::Struct(inner) if kind == STRUCT => self.within(inner, depth, see)?,
                Is::Structs(inner) if kind == LIST => {
                    let (kind, count) = self.list()?;
                    see(place, id, Seen::List(count))?;
                    for _ in 0..count {
                        (kind == STRUCT).then_some(())?;
                        self.within(inner, depth, see)?;
                    }
                }
                Is::List(wanted) if kind == LIST => {
                    let (kind, count) = self.list()?;
                    (kind == wanted || count == 0).then_some(())?;
                    see(place, id, Seen::Values(count))?;
                    for _ in 0..count {
                        self.value(kind)?;
                    }
                }
                Is::Unknown => self.skip(kind, depth)?,
                _ => return None,
            }
        }
    }

    fn value(&mut self, kind: u8) -> Option<Seen> {
        Some(match kind {
            BYTE => Seen::Number(i64::from(self.byte()?)),
            I16 | I32 | I64 => Seen::Number(self.zigzag()?),
            DOUBLE => {
                self.pass(8)?;
                Seen::Number(0)
            }
            BINARY => Seen::Bytes(self.binary()?),
            _ => return None,
        })
    }

    /// Passes over a field that is not known. Lists of truth values, sets and maps are refused: of
    /// their bytes there are two opinions, and no version of the format has one here.
    fn skip(&mut self, kind: u8, depth: u32) -> Option<()> {
        match kind {
            TRUE | FALSE => Some(()),
            STRUCT => self.within(Place::Other, depth, &mut |_, _, _| Some(())),
            LIST => {
                let (kind, count) = self.list()?;
                let depth = depth.checked_sub(1)?;
                for _ in 0..count {
                    (!matches!(kind, 0 | TRUE | FALSE)).then_some(())?;
                    self.skip(kind, depth)?;
                }
                Some(())
            }
            _ => self.value(kind).map(drop),
        }
    }
}
