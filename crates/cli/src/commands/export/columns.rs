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
    let times = super::times(arguments);
    let mut written = Written::default();
    if arguments.partition_by.is_some() {
        let days = days(store, request, &mut written.notes)?;
        let recycled = std::mem::take(&mut written.notes.read.blocks_recycled);
        let mut all = NewFolder::create(&arguments.file)?;
        for day in days {
            let interval = cut(request.interval, day);
            let file = all.below(&format!("date={}", date(day)))?.join("0.parquet");
            all.made(&file);
            let output = Output::choose(Some(format), Some(&file), false)?.with_times(times);
            one(store, request, interval, &output, &mut written)?;
        }
        all.finish()?;
        // The files of the days have met them again, but for days that have nothing else.
        let all = &mut written.notes.read.blocks_recycled;
        *all = recycled.max(*all);
    } else {
        let output = Output::choose(Some(format), Some(&arguments.file), arguments.force)?;
        let output = output.with_times(times);
        one(store, request, request.interval, &output, &mut written)?;
    }
    if arguments.file != Path::new("-") {
        print(store, arguments, &written, frames)?;
    }
    if frames > 0 {
        let channels = baro_show::plural(frames as u64, "channel");
        say!(
            "note: frames of {channels} left out: these columns have no place for them (use MCAP)"
        );
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
    // The first day there is begins before all times: not from its start.
    let (start_ns, end_ns) = (day.saturating_mul(DAY_NS), (day + 1).saturating_mul(DAY_NS));
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
    notes.read = found.read;
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
    let (rows, bytes) = (baro_show::plural(notes.rows, "row"), show_bytes(*bytes));
    match files {
        1 => out!("{}: {rows}, {bytes}", path.display()),
        files => out!("{}: {rows} in {files} files, {bytes}", path.display()),
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]
mod tests {
    use super::*;
    use baro_log::{Geometry, init};
    use baro_ondisk::{Layout, StoreId, WhenFull};
    use baro_recorder::{Options, Recorder, Rings};
    use baro_store::{Reading, Selection};
    use baro_sys::disk::Disk;

    #[test]
    fn each_time_is_in_the_file_of_one_day() {
        let first = i64::MIN.div_euclid(DAY_NS);
        let [a, b] = [first, first + 1].map(|day| cut(Interval::ALL, day));
        assert_eq!((a.from_ns, a.to_ns, b.from_ns), (i64::MIN, (first + 1) * DAY_NS, a.to_ns));
        assert_eq!(b.to_ns, (first + 2) * DAY_NS);
        let last = i64::MAX.div_euclid(DAY_NS);
        assert_eq!(cut(Interval::ALL, last).to_ns, i64::MAX);
        assert_eq!((date(first).as_str(), date(last).as_str()), ("1677-09-21", "2262-04-11"));
    }

    /// A day of which nothing is left has no file, so that alone says that it is missing.
    #[test]
    fn what_was_recycled_before_days_were_counted_is_told() {
        let path = std::env::temp_dir().join(format!("baro-cli-days-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        let disk = Disk::create(&path).unwrap();
        let (segment_bytes, catalog_bytes, when_full) = (1 << 20, 1 << 20, WhenFull::Recycle);
        let geometry = Geometry { segment_bytes, segments: 4, catalog_bytes, when_full };
        init(&disk, &path, StoreId([5; 16]), 1, &geometry, |_| {}).unwrap();
        let options = Options { rings: Rings::Private, ..Options::default() };
        let recorder = Recorder::open(&path, options).unwrap();
        let layout: Layout = "n:u8@0".parse().unwrap();
        let channel = recorder.declare_channel_with_layout("c", &layout).unwrap();
        let mut producer = recorder.producer().unwrap();
        let mut push = |time_ns, bytes: usize| {
            producer.push_frame(channel, time_ns, &vec![1; bytes]).unwrap();
            assert!(recorder.wait_durable(&producer, producer.next_sequence(), 60_000_000_000));
        };
        push(0, 1);
        let store = Store::open(&path).unwrap();
        let selection = Selection::all(store.catalog(), true).unwrap();
        let (reading, pin) = (Reading::default(), None);
        let request = Request { interval: Interval::ALL, selection, reading, pin };
        let counted = || {
            let mut notes = QueryNotes::default();
            let days = days(&store, &request, &mut notes).unwrap();
            (days.len(), notes.read.blocks_recycled > 0)
        };
        assert_eq!(counted(), (1, false));
        (0..100).for_each(|at| push(at, 60_000));
        assert_eq!(counted(), (0, true));
        std::fs::remove_dir_all(&path).unwrap();
    }
}
