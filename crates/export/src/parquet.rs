//! Rows as Parquet, in the long layout (`long.rs`).
//!
//! Series after series, each by time, so that the statistics of row groups and pages let a reader
//! of one series or one hour skip the rest. A row group has at most 1,048,576 rows: what is held in
//! memory is one of them, encoded. Times are stored as differences, which costs next to nothing
//! for steady ones. Compression is Snappy, the one that every reader has and that needs no C here.

mod read;

pub use read::{
    Choice, Clock, Imported, Joint, Moment, Reading, Refusal, Role, Texts, TimeUnit, Value, import,
    is_panic_caught,
};

use crate::Result;
use crate::long::{Long, Times};
use crate::rows::{Rows, Told};
use crate::units::{self, UNITS_KEY};
use baro_store::{Batch, Column, Every, Selection};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding};
use parquet::file::metadata::{KeyValue, SortingColumn};
use parquet::file::properties::WriterProperties;
use parquet::schema::types::ColumnPath;
use std::io::Write;

/// Rows of a row group at most.
pub const ROW_GROUP_ROWS: usize = 1 << 20;
/// And bytes, as estimated before the last compression: texts may be long.
const ROW_GROUP_BYTES: usize = 64 << 20;

/// Writes rows as Parquet in the long layout: series, time, value. A row group is held in memory.
#[derive(Debug)]
pub struct Parquet<W: Write + Send> {
    long: Long,
    writer: ArrowWriter<W>,
}

impl<W: Write + Send> Parquet<W> {
    /// For what a query of `selection` hands out. Buffer `out`.
    ///
    /// # Errors
    /// `out` refuses.
    pub fn new(selection: &Selection, every: Option<Every>, out: W) -> Result<Self> {
        Self::with_times(selection, every, Times::default(), out)
    }

    /// The same, with times as said.
    ///
    /// # Errors
    /// `out` refuses.
    pub fn with_times(
        selection: &Selection,
        every: Option<Every>,
        times: Times,
        out: W,
    ) -> Result<Self> {
        let long = Long::new(selection, every, times);
        let time = ColumnPath::from("time");
        let sorted =
            |column_idx| SortingColumn { column_idx, descending: false, nulls_first: false };
        let units = units::told(selection.columns(), every);
        let units = units.map(|told| vec![KeyValue::new(UNITS_KEY.to_owned(), told)]);
        let properties = WriterProperties::builder()
            .set_created_by(concat!("barograph ", env!("CARGO_PKG_VERSION")).to_owned())
            .set_key_value_metadata(units)
            .set_compression(Compression::SNAPPY)
            .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
            .set_max_row_group_bytes(Some(ROW_GROUP_BYTES))
            .set_column_dictionary_enabled(time.clone(), false)
            .set_column_encoding(time, Encoding::DELTA_BINARY_PACKED)
            // Series come by id: said to be sorted only where that is also by name.
            .set_sorting_columns(long.by_name.then(|| match times {
                Times::Nanoseconds => vec![sorted(0), sorted(1)],
                Times::Microseconds => vec![sorted(0), sorted(1), sorted(2)],
            }))
            .build();
        let writer = ArrowWriter::try_new(out, long.schema(), Some(properties))?;
        Ok(Parquet { long, writer })
    }
}

impl<W: Write + Send> Rows for Parquet<W> {
    fn batch(&mut self, column: &Column, batch: &Batch<'_>) -> Result<()> {
        let Parquet { long, writer } = self;
        long.take(column, batch, |batch| Ok(writer.write(&batch)?))
    }

    fn finish(&mut self) -> Result<Told> {
        if let Some(batch) = self.long.rest()? {
            self.writer.write(&batch)?;
        }
        self.writer.finish()?;
        self.writer.inner_mut().flush()?;
        Ok(Told { series_without_metadata: self.long.untold, ..Told::default() })
    }
}
