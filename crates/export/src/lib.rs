//! A time range of a store as a file that other programs read: CSV, MCAP, JSON, Arrow, Parquet; and
//! Parquet back as samples.
//!
//! A crate of its own, so that what these formats bring along reaches neither the recorder nor
//! those who only read a store. Points go straight from the store's timeline, which is over log and
//! runs, to the output: memory is that of the reading and of one chunk, whatever the range.
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
mod units;

pub use crate::arrow::Arrow;
pub use crate::csv::{Csv, export as to_csv};
pub use crate::json::Json;
pub use crate::long::{SERIES_KEY, Times};
pub use crate::mcap::export as to_mcap;
pub use crate::parquet::Parquet;
pub use crate::units::{UNITS_KEY, unit_of};
pub use error::{Error, Result};

use baro_ondisk::Gap;
use baro_store::{Interval, Moment, Notes, Point, Reading, Selection, Store};
use std::ops::ControlFlow;

/// What is exported.
#[derive(Clone, Debug)]
pub struct Request {
    /// Times of samples and frames.
    pub interval: Interval,
    /// Series, channels and fields.
    pub selection: Selection,
    /// Bounds of the reading, and its pace.
    pub reading: Reading,
    /// The name or id of the pin whose window it is, if it is one.
    pub pin: Option<String>,
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
    /// Infinite values that are null in JSON, which has none.
    pub infinite_as_null: u64,
    /// Records with a time before 1970 left out, since MCAP has none.
    pub before_1970: u64,
    /// Records lost when they were recorded, as the log's gaps in the interval tell.
    pub lost: u64,
    /// What the reading met.
    pub notes: Notes,
}

/// Where what is read goes, in the order of time.
trait Sink {
    /// A sample, a frame, or a field: those of one channel and time follow one another.
    fn point(&mut self, point: &Point<'_>, exported: &mut Exported) -> Result<()>;
    /// A gap or a step of the clock.
    fn note(&mut self, time_ns: i64, gap: Option<Gap>) -> Result<()>;
}

/// Reads in time order and hands each point to `sink`.
fn run(store: &Store, request: &Request, sink: &mut impl Sink) -> Result<Exported> {
    let Request { interval, selection, reading, .. } = request;
    let (mut exported, mut failed) = (Exported::default(), None);
    let (notes, missing) = store.timeline(*interval, selection, reading, |moment| {
        let done = match moment {
            Moment::Point(point) => sink.point(point, &mut exported),
            Moment::Lost { time_ns, gap } => {
                exported.lost = exported.lost.saturating_add(gap.lost());
                sink.note(*time_ns, Some(*gap))
            }
            Moment::Stepped { time_ns } => sink.note(*time_ns, None),
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
    exported.fields_missing = missing;
    failed.map_or(Ok(exported), Err)
}
