//! What a catalog costs: `cargo run --release --example catalog_costs -- FOLDER SERIES [cold]`.
//! Makes a store in FOLDER (which must not be there), declares SERIES names such as
//! `temp{line="17",sensor="s123456",site="a"}`, in one call and in calls of 10,000, writes the
//! dictionary, and prints times, bytes and memory. With `cold` (root) the page cache is dropped
//! before an open.

#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "a measurement")]

use baro_log::{Geometry, init};
use baro_ondisk::{StoreId, Type, WhenFull};
use baro_recorder::{Options, Recorder, Rings};
use baro_store::{Selector, Store};
use baro_sys::clock::monotonic_ns;
use baro_sys::disk::Disk;
use baro_sys::files::size_bytes;
use std::path::Path;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn timed<T>(work: impl FnOnce() -> Result<T>) -> Result<(T, f64)> {
    let start = monotonic_ns();
    let done = work()?;
    Ok((done, (monotonic_ns() - start) as f64 / 1e6))
}

fn rss_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}

fn name(n: usize) -> String {
    let site = char::from(b'a' + (n % 8) as u8);
    format!("temp{{line=\"{}\",sensor=\"s{n:06}\",site=\"{site}\"}}", n % 100)
}

fn open(path: &Path) -> Result<Recorder> {
    let options = Options { rings: Rings::Private, ring_bytes: 1 << 20, ..Options::default() };
    Ok(Recorder::open(path, options)?)
}

fn make(path: &Path) -> Result<()> {
    let (segment_bytes, catalog_bytes) = (16 << 20, 4 << 20);
    let when_full = WhenFull::Stop;
    let geometry = Geometry { segment_bytes, segments: 4, catalog_bytes, when_full };
    init(&Disk::create(path)?, path, StoreId([7; 16]), 1, &geometry, |_| {})?;
    Ok(())
}

fn wanted(names: &[String]) -> Vec<(&str, Type, &str)> {
    names.iter().map(|name| (name.as_str(), Type::F64, "°C")).collect()
}

fn declare(path: &Path, names: &[String], at_once: usize) -> Result<()> {
    make(path)?;
    let recorder = open(path)?;
    let before = rss_kib();
    let (_, ms) = timed(|| {
        for part in names.chunks(at_once) {
            recorder.declare(&wanted(part))?;
        }
        Ok(())
    })?;
    println!("declare, {at_once} a call: {ms:.0} ms, durable; RSS + {} KiB", rss_kib() - before);
    let (count, bytes) = recorder.catalog_size();
    let of_names: usize = names.iter().map(String::len).sum();
    println!(
        "  memory {:.1} B a series, of which its name {:.1}",
        bytes as f64 / count as f64,
        of_names as f64 / count as f64
    );
    let (_, ms) = timed(|| Ok(recorder.declare(&wanted(names))?))?;
    println!("  declared again: {:.2} M/s", names.len() as f64 / ms / 1e3);
    drop(recorder);
    let (_, ms) = timed(|| open(path))?;
    println!("  recorder's next open: {ms:.0} ms");
    Ok(())
}

fn opened(path: &Path, cold: bool, what: &str) -> Result<Store> {
    if cold {
        std::fs::write("/proc/sys/vm/drop_caches", "3")?;
        let (_, ms) = timed(|| Ok(Store::open(path)?))?;
        println!("open cold, {what}: {ms:.2} ms");
    }
    Store::open(path)?;
    let (store, ms) = timed(|| Ok(Store::open(path)?))?;
    println!("open warm, {what}: {ms:.2} ms");
    Ok(store)
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, series, rest @ ..] = &arguments[..] else {
        return Err("usage: catalog_costs FOLDER SERIES [cold]".into());
    };
    let (folder, series) = (Path::new(folder), series.parse::<usize>()?);
    let cold = rest.iter().any(|word| word == "cold");
    let names: Vec<String> = (0..series).map(name).collect();
    declare(&folder.join("parts"), &names, 10_000)?;
    let path = folder.join("store");
    declare(&path, &names, series)?;
    let store = opened(&path, cold, "no dictionary")?;
    let used = store.info().unwrap().catalog_used_bytes as f64 / series as f64;
    let catalog = size_bytes(&path.join("catalog"))? as f64 / series as f64;
    println!("catalog: {used:.2} B a series used, {catalog:.2} with its free room");
    let before = rss_kib();
    let (_, ms) = timed(|| Ok(store.catalog().lookup(&names[0])?))?;
    println!("first lookup without a dictionary: {ms:.1} ms");
    let (written, ms) = timed(|| Ok(store.write_dictionary(|_| {})?))?;
    let written = written.ok_or("nothing written")?;
    println!(
        "dictionary: {ms:.0} ms, {:.2} B a series, {:.2} written, RSS + {} KiB",
        written.bytes as f64 / series as f64,
        written.written_bytes as f64 / series as f64,
        rss_kib().saturating_sub(before)
    );
    drop(store);
    let store = opened(&path, cold, "dictionary")?;
    let catalog = store.catalog();
    let (_, ms) = timed(|| Ok(catalog.lookup(&names[series / 2])?))?;
    println!("first lookup: {ms:.3} ms");
    let step = (series / 2000).max(1);
    let ids: Vec<u32> = names
        .iter()
        .step_by(step)
        .map(|name| Ok(catalog.lookup(name)?.ok_or("lost")?.id))
        .collect::<Result<_>>()?;
    let (_, ms) = timed(|| {
        for name in names.iter().step_by(step) {
            catalog.lookup(name)?.ok_or("lost")?;
        }
        Ok(())
    })?;
    println!("lookup by name: {:.1} us", ms * 1e3 / ids.len() as f64);
    let (_, ms) = timed(|| {
        for id in &ids {
            catalog.get(*id)?.ok_or("lost")?;
        }
        Ok(())
    })?;
    println!("lookup by id: {:.1} us", ms * 1e3 / ids.len() as f64);
    let (_, ms) = timed(|| Ok(catalog.kind(1)))?;
    println!("first type: {ms:.2} ms");
    let (_, ms) =
        timed(|| Ok((1..=series as u32).filter(|id| catalog.kind(*id).is_some()).count()))?;
    println!("type of each: {:.1} ns", ms * 1e6 / series as f64);
    for text in [
        "{}",
        "temp",
        "temp{line=\"17\"}",
        "temp{line=\"17\",site=\"b\",sensor=~\"s00.*\"}",
        "{site!~\"[abc]\",line=~\"1.\"}",
        "none{site=\"a\"}",
    ] {
        let selector = Selector::parse(text)?;
        let (ids, ms) = timed(|| Ok(catalog.select(std::slice::from_ref(&selector))?))?;
        println!("select {text}: {ms:.2} ms, {} series", ids.len());
    }
    println!("catalog's memory: {} KiB", catalog.memory_bytes() >> 10);
    Ok(())
}
