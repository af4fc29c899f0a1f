//! Files of the table in the making: runs go in, row groups and files of bounded size come out.
//!
//! Compression is Snappy, as in `baro_export`: every reader has it, and Zstandard is C. In a row group rows
//! are sorted by name and time, and its statistics let a reader of one series pass over the rest.

use crate::delta::{Added, Stats};
use crate::error::{Error, Result};
use crate::names::Names;
use crate::place::{Output, Place};
use crate::rows::{GROUP_ROWS, Rows};
use baro_store::{Damage, Store, Waiting};
use baro_sys::{identity, termination};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::{Compression, Encoding};
use parquet::file::metadata::SortingColumn;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;

/// A file ends at the first row group behind this: readers like files of a few hundred megabytes.
const FILE_BYTES: usize = 256 << 20;
/// Places of `series` and `time` among the leaves of the schema.
const SORTED_BY: [i32; 2] = [0, 4];

/// Columns without statistics, which no reader would pass over anything by: comparing each row's texts took
/// half of the time. That of a store is in the table's log.
const NOT_COMPARED: [&[&str]; 4] =
    [&["labels", "key_value", "key"], &["labels", "key_value", "value"], &["unit"], &["store"]];

type Writer = ArrowWriter<Box<dyn Output>>;

/// Files of one hand-over. One that is not finished is gone when it is dropped.
#[derive(Debug)]
pub(crate) struct Files<'a> {
    place: &'a dyn Place,
    store: &'a Store,
    names: Names,
    rows: Rows,
    open: Option<(String, Writer, Stats)>,
    /// Names of all that were begun.
    begun: Vec<String>,
    pub(crate) added: Vec<Added>,
    pub(crate) rows_written: u64,
    /// What could not be read of the runs.
    pub(crate) damage: Vec<Damage>,
}

impl<'a> Files<'a> {
    pub(crate) fn new(place: &'a dyn Place, store: &'a Store) -> Self {
        let rows = Rows::new(store.identity().store.to_string());
        Files {
            place,
            store,
            names: Names::default(),
            rows,
            open: None,
            begun: Vec::new(),
            added: Vec::new(),
            rows_written: 0,
            damage: Vec::new(),
        }
    }

    /// Writes what a run holds. What cannot be read of it is left out if that may be; else it is returned.
    pub(crate) fn run(
        &mut self,
        run: &Waiting,
        may_skip: impl Fn(&Damage) -> bool,
    ) -> Result<Option<Damage>> {
        let store = self.store;
        let damage = store.read_run(run.run, |rows| {
            if termination::requested().is_some() {
                return Err(Error::Ended);
            }
            let mut from = 0;
            while from < rows.times_ns.len() {
                let Files { names, rows: gathered, .. } = self;
                let name = || names.get(store, rows.series);
                from += gathered.push(rows, from, (run.run, run.order), name)?;
                if self.rows.is_full() {
                    self.row_group()?;
                }
            }
            Ok(())
        })??;
        if let Some(damage) = damage.iter().find(|damage| !may_skip(damage)) {
            return Ok(Some(damage.clone()));
        }
        self.damage.extend(damage);
        // A series of the next run may begin before this one's end: row groups are sorted each.
        self.row_group().map(|()| None)
    }

    /// Writes what has been gathered.
    fn row_group(&mut self) -> Result<()> {
        if self.rows.is_empty() {
            return Ok(());
        }
        if self.open.is_none() {
            let (store, random) = (self.store.identity().store, identity::random_u64());
            let random =
                random.map_err(|error| baro_sys::Error::new("random", "", error.into()))?;
            // A name of its own for each try: two processes may write the same runs.
            let name = format!("part-{:05}-{store}-{random:016x}.parquet", self.added.len());
            let options = ArrowWriterOptions::new()
                .with_properties(properties())
                .with_skip_arrow_metadata(true);
            let output = self.place.begin(&name)?;
            self.begun.push(name.clone());
            let writer = ArrowWriter::try_new_with_options(output, self.rows.schema(), options)?;
            self.open = Some((name, writer, Stats::default()));
        }
        let Some((_, writer, stats)) = &mut self.open else { return Ok(()) };
        let before = stats.rows;
        let told =
            |series: &str, rows, first_us, last_us| stats.take(series, rows, first_us, last_us);
        self.rows.take(told, |batch| Ok(writer.write(&batch)?))?;
        self.rows_written += stats.rows - before;
        writer.flush()?;
        if writer.bytes_written() >= FILE_BYTES {
            self.end_file()?;
        }
        Ok(())
    }

    fn end_file(&mut self) -> Result<()> {
        if let Some((name, writer, stats)) = self.open.take() {
            let bytes = writer.into_inner()?.finish()?;
            self.added.push(Added { name, bytes, stats });
        }
        Ok(())
    }

    /// Ends the last file.
    pub(crate) fn finish(&mut self) -> Result<()> {
        self.row_group()?;
        self.end_file()
    }

    /// Removes what has been written, as far as that goes: no commit names it.
    pub(crate) fn give_up(&mut self) {
        self.open = None;
        self.added.clear();
        // One of which not all steps were done may have its name all the same.
        for name in self.begun.drain(..) {
            let _ = self.place.remove(&name);
        }
    }
}

fn properties() -> WriterProperties {
    let sorted = SORTED_BY.map(|column_idx| SortingColumn {
        column_idx,
        descending: false,
        nulls_first: false,
    });
    let time = ColumnPath::from("time");
    let mut properties = WriterProperties::builder();
    for column in NOT_COMPARED {
        let column = ColumnPath::new(column.iter().map(|part| (*part).to_owned()).collect());
        properties = properties.set_column_statistics_enabled(column, EnabledStatistics::None);
    }
    properties
        .set_created_by(concat!("barograph ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_compression(Compression::SNAPPY)
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .set_column_dictionary_enabled(time.clone(), false)
        .set_column_encoding(time, Encoding::DELTA_BINARY_PACKED)
        .set_sorting_columns(Some(sorted.to_vec()))
        .build()
}
