//! Times of the old type INT96: a day and nanoseconds of that day.
//!
//! The reader makes nanoseconds since 1970 of them, and one that 64 bits do not hold becomes another time:
//! 9999-12-31, which databases write for "never", lies in 1816 then. So their seconds, which fit, are read
//! beside them and compared. Nobody writes the type any more, so that it is read twice is no matter.
//!
//! Invariant: a time is the one that was written, or none. Held by
//! `times_of_days_and_nanoseconds_are_utc_or_those_of_a_clock` (`tests/columns.rs`).

use super::chunk::Groups;
use super::layout::Layout;
use crate::{Error, Result};
use arrow_array::cast::AsArray;
use arrow_array::types::TimestampSecondType;
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use parquet::arrow::arrow_reader::ParquetRecordBatchReader;
use parquet::arrow::{ProjectionMask, parquet_to_arrow_field_levels};
use parquet::schema::types::{SchemaDescPtr, SchemaDescriptor};
use std::sync::Arc;

const SECOND_NS: i64 = 1_000_000_000;

/// Where a column's values are, if they are of this type.
pub(super) fn leaf_of(schema: &SchemaDescriptor, field: usize) -> Option<usize> {
    let is_it = |at: &usize| {
        let is_int96 = schema.column(*at).physical_type() == parquet::basic::Type::INT96;
        schema.get_column_root_idx(*at) == field && is_int96
    };
    (0..schema.num_columns()).find(is_it)
}

/// The seconds of a column of times, read in step with the rows.
pub(super) struct Seconds(ParquetRecordBatchReader);

impl Seconds {
    pub(super) fn of(
        schema: &SchemaDescPtr,
        arrow: &Schema,
        layout: &Layout,
        groups: &Groups,
        rows_at_once: usize,
    ) -> Result<Option<Self>> {
        let Some(leaf) = leaf_of(schema, layout.time) else { return Ok(None) };
        let in_seconds = |(at, field): (usize, &Arc<Field>)| match at == layout.time {
            true => {
                let kind = DataType::Timestamp(TimeUnit::Second, None);
                Arc::new(field.as_ref().clone().with_data_type(kind))
            }
            false => field.clone(),
        };
        let fields: Vec<_> = arrow.fields().iter().enumerate().map(in_seconds).collect();
        let mask = ProjectionMask::leaves(schema, [leaf]);
        let levels = parquet_to_arrow_field_levels(schema, mask, Some(&fields.into()))?;
        let reader =
            ParquetRecordBatchReader::try_new_with_row_groups(&levels, groups, rows_at_once, None)?;
        Ok(Some(Seconds(reader)))
    }

    /// Those of the next rows, of which there are so many.
    pub(super) fn next(&mut self, rows: usize) -> Result<ArrayRef> {
        let batch = self.0.next().transpose()?.filter(|batch| batch.num_rows() == rows);
        let column = batch.and_then(|batch| batch.columns().first().cloned());
        column.ok_or_else(|| Error::Layout {
            found: "times of another number of rows".to_owned(),
            expected: "a time for each row",
        })
    }
}

/// Whether these nanoseconds are the time whose seconds are beside them.
pub(super) fn is_whole(seconds: &ArrayRef, at: usize, time_ns: i64) -> bool {
    let seconds = seconds.as_primitive_opt::<TimestampSecondType>();
    seconds.is_some_and(|seconds| {
        !seconds.is_null(at) && seconds.value(at) == time_ns.div_euclid(SECOND_NS)
    })
}
