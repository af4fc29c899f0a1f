//! How fast rows of a query become each form, and in how much memory: rows are made in memory and
//! what comes out is counted and thrown away, so that only the form is measured.
//! `form_speed FOLDER FORM SERIES ROWS_PER_SERIES`; FORM is csv, ndjson, arrow or parquet; FOLDER
//! is removed. One form for each run, since the peak of memory is that of the process.

#![allow(clippy::disallowed_methods, reason = "removes its folder")]
use baro_export::rows::Rows;
use baro_export::{Arrow, Csv, Json, Parquet};
use baro_log::{Geometry, init};
use baro_ondisk::{StoreId, Type, WhenFull};
use baro_recorder::{Options, Recorder, Rings};
use baro_store::{Batch, Selection, Store, Target, Values};
use baro_sys::clock::monotonic_ns;
use baro_sys::disk::Disk;
use std::error::Error;
use std::io::Write;
use std::path::Path;

/// Counts bytes.
struct Count<'a>(&'a mut u64);

impl Write for Count<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        *self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, form, series, rows] = arguments.as_slice() else {
        return Err("form_speed FOLDER FORM SERIES ROWS_PER_SERIES".into());
    };
    let (series, rows): (usize, usize) = (series.parse()?, rows.parse()?);
    let path = Path::new(folder);
    let store = store(path, series)?;
    let selection = Selection::all(store.catalog(), true)?;
    let mut bytes = 0;
    let out = std::io::BufWriter::with_capacity(1 << 20, Count(&mut bytes));
    let before_bytes = peak_bytes();
    let start = monotonic_ns();
    let mut writer: Box<dyn Rows + '_> = match form.as_str() {
        "csv" => Box::new(Csv::new(out)),
        "ndjson" => Box::new(Json::lines(out)),
        "arrow" => Box::new(Arrow::new(&selection, None, out)?),
        "parquet" => Box::new(Parquet::new(&selection, None, out)?),
        other => return Err(format!("no form {other}").into()),
    };
    // A walk of thousandths, as sensors make it.
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let (mut times, mut values) = (Vec::new(), Vec::new());
    let mut made_ns = 0;
    for (place, column) in selection.columns().iter().enumerate() {
        let mut level = 20_000_i64;
        for first in (0..rows).step_by(65_536) {
            let making = monotonic_ns();
            times.clear();
            values.clear();
            for at in first..rows.min(first + 65_536) {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                level += (random % 11) as i64 - 5;
                times.push(1_700_000_000_000_000_000 + at as i64 * 1_000_000_000);
                values.push(level as f64 / 1000.0);
            }
            made_ns += monotonic_ns() - making;
            let target = Target { id: column.id, place };
            let values = Values::F64(&values);
            writer.batch(column, &Batch { target, times_ns: &times, values })?;
        }
    }
    writer.finish()?;
    drop(writer);
    let took_ns = monotonic_ns() - start - made_ns;
    let all = (series * rows) as f64;
    println!(
        "{form}: {series} series of {rows} rows: {:.1} M rows/s, {:.2} B a row, peak {} MB more \
         than the {} MB before",
        all * 1000.0 / took_ns as f64,
        bytes as f64 / all,
        (peak_bytes() - before_bytes) >> 20,
        before_bytes >> 20,
    );
    drop(store);
    std::fs::remove_dir_all(path)?;
    Ok(())
}

fn store(path: &Path, series: usize) -> Result<Store, Box<dyn Error>> {
    let _ = std::fs::remove_dir_all(path);
    let disk = Disk::create(path)?;
    let (segment_bytes, catalog_bytes, when_full) = (1 << 20, 256 << 20, WhenFull::Stop);
    let geometry = Geometry { segment_bytes, segments: 2, catalog_bytes, when_full };
    init(&disk, path, StoreId(*b"store id of test"), 1, &geometry, |_| {})?;
    let recorder = Recorder::open(path, Options { rings: Rings::Private, ..Options::default() })?;
    let names: Vec<String> = (0..series).map(|n| format!("temp{{sensor=\"{n:07}\"}}")).collect();
    let wanted: Vec<_> = names.iter().map(|name| (name.as_str(), Type::F64, "°C")).collect();
    recorder.declare(&wanted)?;
    drop(recorder);
    Ok(Store::open(path)?)
}

fn peak_bytes() -> u64 {
    let text = baro_sys::files::read_text(Path::new("/proc/self/status"), 64 << 10);
    let text = text.unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kb = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    kb.unwrap_or(0) << 10
}
