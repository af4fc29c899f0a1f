//! The bytes of a Barograph store: records, blocks, segments, the catalog.
//!
//! Pure: no I/O, no clock, no in-house dependency; `no_std` + `alloc` without the default feature.
//! `docs/format.md` is the specification; this crate follows it and nothing else knows an offset.
//! Decoders take any bytes: they return an [`Error`] that names offset, expected and found, never
//! panic, and check every count against [`limits`] before anything is sized by it
//! (`fuzz/`, and the property tests beside each module).
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod beside;
mod block;
mod build;
mod bytes;
mod catalog;
mod crc;
mod deletion;
mod dictionary;
mod difference;
mod error;
mod identity;
mod layout;
pub mod limits;
mod manifest;
mod name;
mod pin;
mod record;
mod recycled;
mod request;
mod samples;
mod scan;
mod section;
mod segment;
mod summary;
mod varint;

pub use beside::{Beside, CatalogEnd, Lives};
pub use block::{BLOCK_HEADER_BYTES, Block, BlockHeader, Chunk, Chunks};
pub use build::{BlockBuilder, end_mark};
pub use catalog::{Declaration, DeclarationBatch, Joint, Type};
pub use crc::crc32c;
pub use deletion::{
    Deletion, IdRange, LogPlace, deletions_of_block, deletions_of_run, is_deleted, without_deleted,
};
pub use dictionary::{
    DictionaryBuilder, DictionaryEntry, DictionaryHeader, DictionaryIndex, IdEntry, NewEntry,
    Watermark, id_page, layout_at, name_page,
};
pub use error::{Error, What};
pub use identity::{Identity, StoreId, WhenFull};
pub use layout::{Field, FieldType, FieldValue, Layout, LayoutError};
pub use manifest::{Manifest, RunEntry, Settled};
pub use name::{
    NameParser, has_bare_labels, is_called_id, is_plain_name, name_end, write_name, write_quoted,
    written_name,
};
pub use pin::{Copies, Pin, PinState};
pub use record::{Gap, Kind, Record, Records, text};
pub use recycled::{Held, Recycled, Waiting};
pub use request::{Answered, DeclareAnswer, DeclareRequest, RequestBuilder};
pub use samples::Samples;
pub use scan::{End, Scan, Step};
pub use section::{
    Encoded, SampleColumns, SampleStage, Section, StripEntry, UnfoldedSamples, section_bytes_max,
};
pub use segment::{DeadTail, SegmentHeader, SegmentKind, Wear};
pub use summary::{Link, Summary};
