//! Making a checkpoint: the one before, row by row, without what has been replaced, and what is new.

use super::columns::{ACTIONS, Columns};
use super::fresh::Fresh;
use super::{BYTES_MAX, found, name_of, read};
use crate::delta::log::{COMMIT_BYTES_MAX, commit_name};
use crate::error::{Error, Result};
use crate::place::{LOG, Output, Place};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::Compression;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use serde_json::{Value, json};

/// The file that names the newest checkpoint. Readers list the log where it is not there, or is late.
const LAST: &str = "_last_checkpoint";
/// Rows that are made columns of at once.
const BATCH_ROWS: usize = 4_096;
/// Rows of a row group: who writes and who reads holds one of them.
const GROUP_ROWS: usize = 16_384;

/// Rows on their way into a file.
struct Rows {
    columns: Columns,
    /// Made with the first batch, which has the schema.
    writer: Option<ArrowWriter<Box<dyn Output>>>,
    output: Option<Box<dyn Output>>,
    rows: u64,
    added: u64,
}

impl Rows {
    fn push(&mut self, row: &Value) -> Result<()> {
        self.columns.push(Some(row))?;
        self.rows += 1;
        self.added += u64::from(row.get("add").is_some());
        if self.columns.rows() >= BATCH_ROWS { self.batch() } else { Ok(()) }
    }

    fn batch(&mut self) -> Result<()> {
        let batch = self.columns.take()?;
        if let Some(output) = self.output.take() {
            let options = ArrowWriterOptions::new()
                .with_properties(properties())
                .with_skip_arrow_metadata(true);
            self.writer = Some(ArrowWriter::try_new_with_options(output, batch.schema(), options)?);
        }
        if let Some(writer) = &mut self.writer {
            writer.write(&batch)?;
        }
        Ok(())
    }

    /// Bytes of the file, durable under its name.
    fn finish(mut self) -> Result<u64> {
        self.batch()?;
        match self.writer {
            Some(writer) => writer.into_inner()?.finish(),
            None => Ok(0),
        }
    }
}

fn properties() -> WriterProperties {
    WriterProperties::builder()
        .set_created_by(concat!("barograph ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_compression(Compression::SNAPPY)
        .set_statistics_enabled(EnabledStatistics::None)
        .set_dictionary_enabled(false)
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .build()
}

/// Makes a checkpoint of all versions up to this one, if there is none. Reads the one before and the versions
/// since; blocks for as long as that takes.
///
/// # Errors
/// The place refuses, what is there cannot be read, or it is too much. The table is as it was.
pub(crate) fn make(place: &dyn Place, version: u64, now_ms: i64) -> Result<()> {
    let names = place.names(LOG)?;
    let before = found(&names).into_iter().find(|one| one.version <= version);
    if before.as_ref().is_some_and(|one| one.version == version) {
        return Ok(());
    }
    let mut fresh = Fresh::at(now_ms);
    let first = before.as_ref().map_or(0, |one| one.version.saturating_add(1));
    for at in first..=version {
        let file = commit_name(at);
        let bytes = place.read(&file, COMMIT_BYTES_MAX)?.ok_or_else(|| {
            let (expected, found) = ("it, for a checkpoint".to_owned(), "it gone".to_owned());
            Error::Table { file: file.clone(), what: "version", expected, found }
        })?;
        fresh.version(&file, &bytes)?;
    }
    let file = name_of(version);
    let output = Some(place.begin(&file)?);
    let mut rows = Rows { columns: Columns::new(ACTIONS), writer: None, output, rows: 0, added: 0 };
    if let Some(before) = &before {
        read::all(place, before, &mut |row| {
            if fresh.keeps(&row) { rows.push(&row) } else { Ok(()) }
        })?;
    }
    fresh.rows().iter().try_for_each(|row| rows.push(row))?;
    let (count, added) = (rows.rows, rows.added);
    let bytes = rows.finish()?;
    if bytes > BYTES_MAX {
        // Nobody reads one of that size here, and what it stands for could be removed by others.
        place.remove(&file)?;
        let expected =
            format!("a checkpoint of at most {BYTES_MAX} bytes, or several small tables");
        return Err(Error::Table { file, what: "size", expected, found: bytes.to_string() });
    }
    point(place, version, count, bytes, added)
}

/// Names the newest checkpoint. Where it dies in between, no name is there, and readers list the log.
fn point(place: &dyn Place, version: u64, rows: u64, bytes: u64, added: u64) -> Result<()> {
    let file = format!("{LOG}/{LAST}");
    let told = json!({
        "version": version, "size": rows, "sizeInBytes": bytes, "numOfAddFiles": added,
    });
    if place.size(&file)?.is_some() {
        place.remove(&file)?;
    }
    // Another writer's is as good.
    place.put_new(&file, told.to_string().as_bytes())?;
    Ok(())
}
