//! Samples from a Parquet file that anybody wrote.
//!
//! Two layouts. Long: a text column `series` (or `name`, `metric`, `measurement`), a column `time` (or
//! `timestamp`, `@timestamp`, `ts`, `datetime`, `date`), and `value`, or one column for each type of values; further
//! texts are labels. Wide: a time and one column for each series, named as it; nulls are no samples.
//! What else there is, the caller says (`read/layout.rs`), or the file is refused.
//!
//! Invariant: a file that is none of this is an error that says what it has, and one that would take
//! much memory is refused before it is read (`read/bound.rs`). The reader of the `parquet` crate checks
//! what it reads, but is not ours: it makes room by numbers of the file, so these are looked at first
//! (`read/footer.rs`, `read/pages.rs`), and a panic of it becomes an error (`read/caught.rs`). Held by
//! `tests/forms.rs` and `tests/bounds.rs`.

mod bound;
mod caught;
mod cells;
mod choice;
mod chunk;
mod compact;
mod compose;
mod counts;
mod delta;
mod footer;
mod int96;
mod layout;
mod pages;
mod rows;
mod unpack;

use crate::units::{self, UNITS_KEY};
use crate::{Error, Result};
pub use caught::is_panic_caught;
use caught::{caught, uncaught};
pub use choice::{Choice, Clock, Moment, Reading, Role, Texts, TimeUnit};
use chunk::Groups;
use footer::Footer;
use layout::Layout;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
};
use parquet::arrow::{ProjectionMask, parquet_to_arrow_field_levels};
use parquet::file::reader::Length;
use rows::{Columns, State};
use std::fs::File;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Bytes of a value of fixed length at most: decimals have 16, and a run of equal ones takes its rows
/// times this.
const FIXED_BYTES_MAX: i32 = 32;

/// A value of a file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// Floating point.
    Float(f64),
    /// Integer.
    Integer(i64),
    /// Integer of an unsigned column of 64 bits.
    Unsigned(u64),
    /// Truth value.
    Boolean(bool),
    /// Text.
    Text(&'a str),
}

/// Where the metric of a series was put together from the name in the row and that of a column, in a file
/// that has both: two pairs can come to one name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joint {
    /// No series of the file is put together.
    None,
    /// Others are, this one is not.
    Whole,
    /// Behind so many bytes.
    Behind(usize),
}

/// A row that is no sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Its number, from 1 on.
    pub row: u64,
    /// What was expected and what was found.
    pub reason: String,
}

/// What a row comes to, or what is said of rows.
#[derive(Clone, Debug, PartialEq)]
pub enum Imported<'a> {
    /// A sample.
    Sample {
        /// Row of the file, from 1 on.
        row: u64,
        /// Name of the series.
        series: &'a str,
        /// Where its name was put together.
        joint: Joint,
        /// Nanoseconds since the Unix epoch.
        time_ns: i64,
        /// The value.
        value: Value<'a>,
    },
    /// No sample.
    Refused(Refusal),
    /// The times of this column have no zone, and nobody has said one; before the first row.
    TakenAsUtc {
        /// Its name.
        column: &'a str,
    },
    /// The file says that a series has this unit; before the first row.
    Unit {
        /// Name of the series.
        series: &'a str,
        /// Its unit.
        unit: &'a str,
    },
}

/// Hands each sample of a Parquet file to `each`, until it breaks; returns the rows read. Blocks
/// for reading.
///
/// # Errors
/// It is no Parquet file, one compressed in a way that is not built in, or has columns of which is not
/// known what they are: then nothing of it has been handed out.
pub fn import(
    file: File,
    choice: impl Into<Choice>,
    mut each: impl FnMut(Imported<'_>) -> ControlFlow<()>,
) -> Result<u64> {
    let choice = choice.into();
    let mut each = |item: Imported<'_>| uncaught(|| each(item));
    caught(|| read(file, &choice, &mut each)).unwrap_or_else(|| {
        let found = "one that its reader gave up on (damaged)".to_owned();
        Err(Error::Layout { found, expected: "a Parquet file" })
    })
}

fn read(
    file: File,
    choice: &Choice,
    each: &mut dyn FnMut(Imported<'_>) -> ControlFlow<()>,
) -> Result<u64> {
    let room_bytes = bound::room_bytes(file.len());
    let footer = Footer::read(&file, room_bytes)?;
    // Types are those of the file's own schema: what a writer says of Arrow's beside it is not needed.
    let plain = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    let metadata = ArrowReaderMetadata::load(&file, plain)?;
    let groups = metadata.metadata().row_groups().iter();
    let mut compressions = groups.flat_map(|group| group.columns()).map(|c| c.compression());
    if let Some(other) = compressions.find(|one| !unpack::is_known(*one)) {
        let expected = "compression with Snappy, Zstandard, gzip, LZ4, Brotli or none";
        return Err(Error::Layout { found: format!("{other}"), expected });
    }
    if metadata.metadata().row_groups().iter().all(|group| group.num_rows() == 0) {
        return Ok(0);
    }
    let schema = metadata.metadata().file_metadata().schema_descr_ptr();
    let layout = Layout::of(metadata.schema(), &schema, choice)?;
    let is_wanted = |leaf: &usize| layout.fields.contains(&schema.get_column_root_idx(*leaf));
    let leaves: Vec<usize> = (0..schema.num_columns()).filter(is_wanted).collect();
    for leaf in &leaves {
        let column = schema.column(*leaf);
        let is_decimal = column.converted_type() == parquet::basic::ConvertedType::DECIMAL;
        let is_text = column.physical_type() == parquet::basic::Type::BYTE_ARRAY;
        // Other types have a length of their own, whatever is said: fastparquet says one of numbers.
        let is_fixed = column.physical_type() == parquet::basic::Type::FIXED_LEN_BYTE_ARRAY;
        if is_fixed && column.type_length() > FIXED_BYTES_MAX || (is_decimal && is_text) {
            return Err(Error::Column {
                column: column.name().chars().take(60).collect(),
                expected: "values of a fixed number of at most 32 bytes; leave it out with \
                           --columns NAME=skip"
                    .to_owned(),
                found: "values of another length",
            });
        }
    }
    // Of a column that is read twice there is twice.
    let held: Vec<usize> =
        leaves.iter().copied().chain(int96::leaf_of(&schema, layout.time)).collect();
    let rows_at_once =
        bound::rows_at_once(&file, metadata.metadata(), &held, room_bytes, footer.memory_bytes)?;
    let views = layout.views(metadata.schema());
    let mask = ProjectionMask::leaves(&schema, leaves);
    let levels = parquet_to_arrow_field_levels(&schema, mask, Some(views.fields()))?;
    if let Some(field) = layout.taken_as_utc.and_then(|at| metadata.schema().fields().get(at))
        && each(Imported::TakenAsUtc { column: field.name() }).is_break()
    {
        return Ok(0);
    }
    let told = metadata.metadata().file_metadata().key_value_metadata().into_iter().flatten();
    let told = told.filter(|told| told.key == UNITS_KEY).filter_map(|told| told.value.as_deref());
    for (series, unit) in told.take(1).flat_map(units::read) {
        if each(Imported::Unit { series: &series, unit: &unit }).is_break() {
            return Ok(0);
        }
    }
    let reason = Arc::default();
    let groups = Groups { file: Arc::new(file), metadata: metadata.metadata().clone(), reason };
    let mut seconds =
        int96::Seconds::of(&schema, metadata.schema(), &layout, &groups, rows_at_once)?;
    let mut state = State::default();
    let mut rows = 0;
    for batch in
        ParquetRecordBatchReader::try_new_with_row_groups(&levels, &groups, rows_at_once, None)?
    {
        let batch = batch.map_err(|error| groups.told(error))?;
        let seconds = seconds.as_mut().map(|of| of.next(batch.num_rows())).transpose();
        let seconds = seconds.map_err(|error| groups.told(error))?;
        let columns = Columns::of(&batch, &layout, seconds, choice)?;
        for at in 0..batch.num_rows() {
            let row = rows + at as u64 + 1;
            if columns.row(at, row, &mut state, each).is_break() {
                return Ok(row);
            }
        }
        rows += batch.num_rows() as u64;
    }
    Ok(rows)
}
