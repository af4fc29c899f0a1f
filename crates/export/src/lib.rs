//! A time range of a store as a file that other programs read: CSV, MCAP, JSON, Arrow, Parquet; and
//! Parquet back as samples.
//!
//! A crate of its own, so that what these formats bring along reaches neither the recorder nor
//! those who only read a store. Records go straight from the store's time-ordered reading to the
//! output: memory is that of the reading and of one chunk, whatever the range.
//!
//! Invariant: what cannot be put into a format is counted in [`Exported`], never dropped silently;
//! reading is paced where a [`Request`] says so. Held by `tests/export.rs`.

mod arrow;
pub mod csv;
mod error;
mod json;
mod labels;
mod long;
mod mcap;
pub mod parquet;
pub mod rows;

pub use crate::arrow::Arrow;
pub use crate::csv::{Csv, export as to_csv};
pub use crate::json::Json;
pub use crate::long::SERIES_KEY;
pub use crate::mcap::export as to_mcap;
pub use crate::parquet::Parquet;
pub use error::{Error, Result};

use baro_ondisk::{Gap, Kind};
use baro_store::{Interval, Notes, Reading, RecordRef, Selection, Store};
use baro_sys::storage::Storage;
use std::ops::ControlFlow;

/// What is exported.
#[derive(Clone, Debug)]
pub struct Request {
    /// Times of records.
    pub interval: Interval,
    /// Series, channels and fields.
    pub selection: Selection,
    /// Bounds of the reading, and its pace.
    pub reading: Reading,
}

/// What an export has done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exported {
    /// Rows of CSV, or messages of MCAP.
    pub rows: u64,
    /// Whole frames left out, since CSV has no place for them.
    pub frames_left_out: u64,
    /// Fields that a frame was too short for.
    pub fields_missing: u64,
    /// Records with a time before 1970 left out, since MCAP has none.
    pub before_1970: u64,
    /// Records lost when they were recorded, as the log's gaps in the interval tell.
    pub lost: u64,
    /// What the reading met.
    pub notes: Notes,
}

/// Where records go.
trait Sink {
    fn data(&mut self, record: &RecordRef<'_>, exported: &mut Exported) -> Result<()>;
    /// A gap or a step of the clock.
    fn note(&mut self, record: &RecordRef<'_>, gap: Option<Gap>) -> Result<()>;
}

/// Reads in time order and hands each record to `sink`.
fn run<S: Storage>(store: &Store<S>, request: &Request, sink: &mut impl Sink) -> Result<Exported> {
    let mut exported = Exported::default();
    let mut failed = None;
    let filter = request.selection.filter();
    let notes = store.records(request.interval, &filter, &request.reading, |record| {
        let done = match record.kind {
            Kind::Frame | Kind::Samples | Kind::Text => sink.data(record, &mut exported),
            Kind::Gap => {
                let gap = Gap::decode(record.payload).unwrap_or_default();
                exported.lost = exported.lost.saturating_add(gap.lost());
                sink.note(record, Some(gap))
            }
            Kind::Clock => sink.note(record, None),
            Kind::Declare | Kind::Moved => Ok(()),
        };
        match done {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                failed = Some(error);
                ControlFlow::Break(())
            }
        }
    })?;
    exported.notes = notes;
    failed.map_or(Ok(exported), Err)
}
