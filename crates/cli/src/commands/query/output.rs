//! Where the rows of a query go: a form of output, on stdout or in a file.

use super::RowsFormat;
use super::table::Table;
use super::text::Text;
use crate::commands::making::{NewFile, ordinary};
use crate::failure::{Mistake, Result};
use baro_export::rows::{Rows, Told};
use baro_export::{Arrow, Csv, Json, Parquet, Times, csv};
use baro_store::{Aggregate, Every, Selection, ValueType};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

const BUFFER_BYTES: usize = 1 << 20;

/// See the module.
#[derive(Debug)]
pub(crate) struct Output {
    format: RowsFormat,
    file: Option<PathBuf>,
    /// A file that is there is replaced.
    force: bool,
    times: Times,
}

/// The form that a file's name asks for.
fn by_name(file: &Path) -> Option<RowsFormat> {
    Some(match file.extension()?.to_str()? {
        "csv" => RowsFormat::Csv,
        "json" => RowsFormat::Json,
        "ndjson" | "jsonl" => RowsFormat::Ndjson,
        "arrow" | "arrows" => RowsFormat::Arrow,
        "parquet" => RowsFormat::Parquet,
        "txt" => RowsFormat::Text,
        _ => return None,
    })
}

impl Output {
    /// Of the options given.
    pub(crate) fn choose(
        format: Option<RowsFormat>,
        file: Option<&Path>,
        force: bool,
    ) -> Result<Self> {
        let file = file.filter(|file| *file != Path::new("-"));
        file.map_or(Ok(()), ordinary)?;
        let named = match file {
            Some(file) => by_name(file),
            None => Some(RowsFormat::Table),
        };
        let Some(format) = format.or(named) else {
            let file = file.unwrap_or(Path::new("")).display();
            let text = "expected a name in .csv, .json, .ndjson, .arrow, .parquet or .txt, or \
                        --format";
            return Err(Mistake::new(format!("{file}: {text}")).into());
        };
        let binary = matches!(format, RowsFormat::Arrow | RowsFormat::Parquet);
        if binary && file.is_none() && baro_command::on_terminal() {
            let text = "stdout is a terminal, and Arrow and Parquet are not for reading: use -o \
                        FILE, or a pipe";
            return Err(text.into());
        }
        Ok(Output { format, file: file.map(Path::to_owned), force, times: Times::default() })
    }

    /// With times in columns as said.
    pub(crate) fn with_times(self, times: Times) -> Self {
        Output { times, ..self }
    }

    /// Hands the form to `fill`, and makes a file durable at its end. Returns its name and bytes too.
    pub(crate) fn write<T>(
        &self,
        selection: &Selection,
        every: Option<Every>,
        fill: impl FnOnce(&mut dyn Rows) -> Result<T>,
    ) -> Result<(T, Option<(&Path, u64)>)> {
        let Some(path) = &self.file else {
            let is_looked_at = self.format == RowsFormat::Csv && baro_command::on_terminal();
            let out = baro_command::Seen::new(baro_command::exact(), is_looked_at);
            let mut rows = rows_of(self.format, selection, every, self.times, out)?;
            return Ok((fill(&mut *rows)?, None));
        };
        let mut file = NewFile::create(path, self.force)?;
        let out = BufWriter::with_capacity(BUFFER_BYTES, &mut file);
        let filled = fill(&mut *rows_of(self.format, selection, every, self.times, out)?)?;
        Ok((filled, Some((path, file.finish()?))))
    }
}

/// The writer of a form.
pub(super) fn rows_of<'a, W: Write + Send + 'a>(
    format: RowsFormat,
    selection: &Selection,
    every: Option<Every>,
    times: Times,
    out: W,
) -> Result<Box<dyn Rows + 'a>> {
    // Counts are integers whatever is counted, and small: nobody takes them for another type.
    let counts = every.is_some_and(|every| every.aggregate == Aggregate::Count);
    let typed = match every {
        None => csv::needs_types(selection),
        Some(every) => {
            let results = selection.columns().iter().filter_map(|column| column.kind);
            let mut results = results.filter_map(|kind| every.aggregate.result(kind));
            use ValueType::{I64, Text, U64};
            !counts && results.any(|kind| matches!(kind, I64 | U64 | Text))
        }
    };
    Ok(match format {
        RowsFormat::Table => Box::new(Table::of(every, out)),
        RowsFormat::Text => Box::new(Text::of(every, out)),
        RowsFormat::Csv => Box::new(Csv::typed(out, typed)),
        RowsFormat::Json => Box::new(Json::array(out).typed(!counts)),
        RowsFormat::Ndjson => Box::new(Json::lines(out).typed(!counts)),
        RowsFormat::Arrow => Box::new(Arrow::with_times(selection, every, times, out)?),
        RowsFormat::Parquet => Box::new(Parquet::with_times(selection, every, times, out)?),
    })
}

/// Says what a form could not say in full.
pub(crate) fn tell(told: &Told) {
    for (count, what) in [
        (told.infinite_as_null, "infinite values are null: JSON has none"),
        (told.series_without_metadata, "series have no unit and labels in the file's metadata"),
    ] {
        if count > 0 {
            say!("note: {count} {what}");
        }
    }
}
