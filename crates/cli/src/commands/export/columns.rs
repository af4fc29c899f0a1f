//! Exports by columns, sorted by series and time: Parquet and Arrow, over the queries of the store.
//!
//! Partitioned by date it is one query for each day that has samples, found by counting them, so
//! that a century with two days in it costs two files. The folder has its name once all of
//! them are whole.

use super::{Arguments, Output as Form};
use crate::commands::damaged;
use crate::commands::making::NewFolder;
use crate::commands::query::{Output, RowsFormat, met, tell};
use crate::commands::{Format, print_json};
use crate::failure::{Outcome, Result};
use crate::size::show_bytes;
use crate::time;
use baro_export::Request;
use baro_export::rows::{self, Pace, Told};
use baro_store::{Aggregate, Every, Interval, Query, QueryNotes, Store};
use serde_json::json;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

const DAY_NS: i64 = 86_400_000_000_000;

/// What was written.
#[derive(Default)]
struct Written {
    files: u64,
    bytes: u64,
    notes: QueryNotes,
    told: Told,
}

pub(super) fn export(
    arguments: &Arguments,
    form: Form,
    store: &Store,
    request: &Request,
) -> Result<Outcome> {
    let format = if form == Form::Arrow { RowsFormat::Arrow } else { RowsFormat::Parquet };
    let frames = request.selection.columns().iter().filter(|column| column.is_frames()).count();
    let mut written = Written::default();
    if arguments.partition_by.is_some() {
        let days = days(store, request, &mut written.notes)?;
        let mut all = NewFolder::create(&arguments.file)?;
        for day in days {
            let interval = cut(request.interval, day);
            let file = all.below(&format!("date={}", date(day)))?.join("0.parquet");
            all.made(&file);
            let output = Output::choose(Some(format), Some(&file), false)?;
            one(store, request, interval, &output, &mut written)?;
        }
        all.finish()?;
    } else {
        let output = Output::choose(Some(format), Some(&arguments.file), arguments.force)?;
        one(store, request, request.interval, &output, &mut written)?;
    }
    if arguments.file != Path::new("-") {
        print(store, arguments, &written, frames)?;
    }
    if frames > 0 {
        say!("note: frames of {frames} channels left out: these columns have no place for them");
    }
    super::tell_pin(arguments, request.interval, written.notes.rows);
    tell(&written.told);
    Ok(met(store, &written.notes))
}

/// `YYYY-MM-DD` of a day since 1970.
fn date(day: i64) -> String {
    let text = time::show(day.saturating_mul(DAY_NS));
    text.split_once('T').map_or(text.clone(), |(date, _)| date.to_owned())
}

/// The part of an interval that lies in a day.
fn cut(interval: Interval, day: i64) -> Interval {
    let start_ns = day.saturating_mul(DAY_NS);
    let end_ns = start_ns.saturating_add(DAY_NS);
    Interval { from_ns: interval.from_ns.max(start_ns), to_ns: interval.to_ns.min(end_ns) }
}

/// Days that have samples.
fn days(store: &Store, request: &Request, notes: &mut QueryNotes) -> Result<BTreeSet<i64>> {
    let every = Every { step_ns: DAY_NS.cast_unsigned(), aggregate: Aggregate::Count };
    let query = Query::every(request.interval, every);
    let mut days = BTreeSet::new();
    let found = store.query(&request.selection, &query, |batch| {
        days.extend(batch.times_ns.iter().map(|time_ns| time_ns.div_euclid(DAY_NS)));
        ControlFlow::Continue(())
    })?;
    notes.read.damage.extend(found.read.damage);
    Ok(days)
}

fn one(
    store: &Store,
    request: &Request,
    interval: Interval,
    output: &Output,
    written: &mut Written,
) -> Result<()> {
    let query = Query::raw(interval);
    let pace = request.reading.bytes_per_s.map(Pace::new);
    let ((notes, told), file) = output.write(&request.selection, None, |rows| {
        Ok(rows::query(store, &request.selection, &query, pace, rows)?)
    })?;
    written.files += 1;
    written.bytes += file.map_or(0, |(_, bytes)| bytes);
    let sum = &mut written.notes;
    sum.rows += notes.rows;
    sum.fields_missing += notes.fields_missing;
    sum.read.blocks_recycled += notes.read.blocks_recycled;
    // Each day meets the same damaged places.
    let new = notes.read.damage.into_iter().filter(|d| !sum.read.damage.contains(d));
    let new: Vec<_> = new.collect();
    sum.read.damage.extend(new);
    written.told.series_without_metadata = told.series_without_metadata;
    Ok(())
}

fn print(store: &Store, arguments: &Arguments, written: &Written, frames: usize) -> Result<()> {
    let Written { files, bytes, notes, .. } = written;
    let path: &PathBuf = &arguments.file;
    if arguments.format == Format::Json {
        return print_json(&json!({
            "path": path.to_string_lossy(),
            "files": files,
            "file_bytes": bytes,
            "rows": notes.rows,
            "channels_left_out": frames,
            "fields_missing": notes.fields_missing,
            "blocks_recycled": notes.read.blocks_recycled,
            "damage": damaged::told(store, &notes.read.damage),
        }));
    }
    let (rows, bytes) = (notes.rows, show_bytes(*bytes));
    match files {
        1 => out!("{}: {rows} rows, {bytes}", path.display()),
        files => out!("{}: {rows} rows in {files} files, {bytes}", path.display()),
    }
    Ok(())
}
