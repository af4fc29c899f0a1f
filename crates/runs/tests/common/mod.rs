//! Runs in memory, and the check that everything in one reads back.
#![allow(dead_code, reason = "each test uses its part")]
#![allow(clippy::unwrap_used, reason = "only tests use this, and stop at the first error")]

use baro_ondisk::limits::UNIT_BYTES;
use baro_ondisk::{StoreId, Type};
use baro_runs::{Aggregate, Error, PageReader, RunIndex, RunInfo, RunSummary, RunWriter};

pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        (self.next() >> 11) % limit
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Series {
    pub(crate) id: u32,
    pub(crate) kind: Type,
    pub(crate) times: Vec<i64>,
    pub(crate) bits: Vec<u64>,
}

pub(crate) fn series_of(id: u32, kind: Type, times: Vec<i64>, bits: Vec<u64>) -> Series {
    Series { id, kind, times, bits }
}

#[derive(Clone, Debug)]
pub(crate) struct Run(pub(crate) Vec<Series>);

pub(crate) type TextSeries = (u32, Vec<i64>, Vec<String>);
pub(crate) struct TextRun(pub(crate) Vec<TextSeries>);

pub(crate) struct File {
    pub(crate) bytes: Vec<u8>,
    pub(crate) summary: RunSummary,
}

pub(crate) fn info() -> RunInfo {
    RunInfo { store: StoreId([9; 16]), run: 77, level: 2, note: b"watermark".to_vec() }
}

impl Run {
    pub(crate) fn write(&self) -> File {
        let mut bytes = Vec::new();
        let out = |part: &[u8]| -> Result<(), Error> {
            bytes.extend_from_slice(part);
            Ok(())
        };
        let mut writer = RunWriter::new(&info(), out).unwrap();
        for series in &self.0 {
            // In pieces, as a merge would.
            for (times, bits) in series.times.chunks(40_000).zip(series.bits.chunks(40_000)) {
                writer.push(series.id, series.kind, times, bits).unwrap();
            }
        }
        let summary = writer.finish().unwrap();
        assert_eq!(summary.bytes, bytes.len() as u64);
        File { bytes, summary }
    }
}

pub(crate) fn open(bytes: &[u8]) -> Result<RunIndex, Error> {
    let at = RunIndex::footer(bytes.len() as u64, bytes)?;
    let index = &bytes[at.offset as usize..][..at.bytes];
    RunIndex::decode(&bytes[..UNIT_BYTES.min(bytes.len())], index, bytes)
}

impl File {
    pub(crate) fn index(&self) -> RunIndex {
        open(&self.bytes).unwrap()
    }

    pub(crate) fn page(&self, index: &RunIndex, number: usize) -> &[u8] {
        let entry = &index.pages()[number];
        &self.bytes[entry.offset as usize..][..entry.bytes as usize]
    }

    pub(crate) fn aggregate(&self, series: u32, from: i64, to: i64) -> Option<Aggregate> {
        let index = self.index();
        let mut reader = PageReader::new();
        let mut all: Option<Aggregate> = None;
        for number in index.find(series) {
            let entry = &index.pages()[number];
            let mut page = reader.open(entry, self.page(&index, number)).unwrap();
            match (&mut all, page.aggregate(series, from, to).unwrap()) {
                (Some(all), Some(more)) => all.append(&more),
                (None, more) => all = more,
                _ => {}
            }
        }
        all
    }
}

/// Reads everything in every way and compares.
pub(crate) fn check_run(run: &Run, seed: u64) {
    let file = run.write();
    let index = file.index();
    assert_eq!(index.info(), &info());
    let samples: usize = run.0.iter().map(|series| series.times.len()).sum();
    assert_eq!((index.samples(), index.series()), (samples as u64, run.0.len() as u64));
    let ends = |series: &Series| [series.times[0], *series.times.last().unwrap()];
    let all_ends: Vec<i64> = run.0.iter().flat_map(ends).collect();
    let range = all_ends.iter().min().copied().zip(all_ends.iter().max().copied());
    assert_eq!((index.time_range(), file.summary.times_ns), (range, range));

    check_whole(run, &file, &index);
    let mut rng = Numbers(seed | 1);
    for _ in 0..6 {
        let Some(series) = pick(&run.0, &mut rng) else { break };
        let a = *pick(&series.times, &mut rng).unwrap();
        let b = *pick(&series.times, &mut rng).unwrap();
        let off = rng.below(3) as i64 - 1;
        check_interval(run, &file, &index, a.min(b).saturating_add(off), a.max(b));
    }
    check_interval(run, &file, &index, i64::MIN, i64::MAX);
    for absent in [0, run.0.last().map_or(5, |series| series.id + 1)] {
        assert_eq!(file.aggregate(absent, i64::MIN, i64::MAX), None);
    }
}

fn pick<'a, T>(of: &'a [T], rng: &mut Numbers) -> Option<&'a T> {
    of.get(rng.below(of.len().max(1) as u64) as usize)
}

/// Every page once, in order: the samples are those of the run, in its order.
fn check_whole(run: &Run, file: &File, index: &RunIndex) {
    let mut reader = PageReader::new();
    let mut read: Vec<Series> = Vec::new();
    for (number, entry) in index.pages().iter().enumerate() {
        let mut page = reader.open(entry, file.page(index, number)).unwrap();
        assert_eq!(page.series().next(), Some(entry.first_series));
        assert_eq!(page.series().last(), Some(entry.last_series));
        let kind = page.kind();
        let (mut series, mut samples) = (Vec::new(), 0);
        let (mut min, mut max) = (i64::MAX, i64::MIN);
        let all = |id: u32, times: &[i64], bits: &[u64]| {
            series.push(id);
            samples += times.len();
            min = min.min(times[0]);
            max = max.max(times[times.len() - 1]);
            match read.last_mut().filter(|series| series.id == id) {
                Some(series) => {
                    series.times.extend_from_slice(times);
                    series.bits.extend_from_slice(bits);
                }
                None => read.push(series_of(id, kind, times.to_vec(), bits.to_vec())),
            }
        };
        // The end is not in the interval, and a sample can lie at the end of time.
        page.read_all(i64::MIN, i64::MAX, all).unwrap();
        assert_eq!(series, page.series().collect::<Vec<_>>());
        assert_eq!(samples, entry.samples as usize);
        assert_eq!((min, max), (entry.time_min_ns, entry.time_max_ns));
        if let Some(known) = &entry.aggregate {
            let found = page.aggregate(entry.first_series, i64::MIN, i64::MAX).unwrap().unwrap();
            same(known, &found);
        }
    }
    assert_eq!(read, run.0);
}

fn check_interval(run: &Run, file: &File, index: &RunIndex, from: i64, to: i64) {
    let mut reader = PageReader::new();
    let within = |series: &Series| {
        let start = series.times.partition_point(|time| *time < from);
        let end = series.times.partition_point(|time| *time < to || to == i64::MAX).max(start);
        (series.times[start..end].to_vec(), series.bits[start..end].to_vec())
    };
    for series in &run.0 {
        let (mut times, mut bits) = (Vec::new(), Vec::new());
        for number in index.find(series.id) {
            let entry = &index.pages()[number];
            let mut page = reader.open(entry, file.page(index, number)).unwrap();
            page.read(series.id, from, to, &mut times, &mut bits).unwrap();
        }
        assert_eq!((times, bits), within(series), "series {} in {from}..{to}", series.id);
        let (times, bits) = within(series);
        let expected = Aggregate::of(series.kind, &times, &bits);
        let found = file.aggregate(series.id, from, to);
        assert_eq!(expected.is_some(), found.is_some());
        if let (Some(expected), Some(found)) = (expected, found) {
            same(&expected, &found);
        }
    }
    let mut all: Vec<(u32, Aggregate)> = Vec::new();
    let mut read: Vec<Series> = Vec::new();
    for (number, entry) in index.pages().iter().enumerate() {
        let mut page = reader.open(entry, file.page(index, number)).unwrap();
        page.aggregate_all(from, to, |id, more| match all.last_mut().filter(|all| all.0 == id) {
            Some(all) => all.1.append(&more.aggregate()),
            None => all.push((id, more.aggregate())),
        })
        .unwrap();
        let kind = page.kind();
        page.read_all(from, to, |id, times, bits| {
            match read.last_mut().filter(|all| all.id == id) {
                Some(all) => {
                    all.times.extend_from_slice(times);
                    all.bits.extend_from_slice(bits);
                }
                None => read.push(series_of(id, kind, times.to_vec(), bits.to_vec())),
            }
        })
        .unwrap();
    }
    let expected: Vec<Series> = run
        .0
        .iter()
        .map(|series| {
            let (times, bits) = within(series);
            series_of(series.id, series.kind, times, bits)
        })
        .filter(|series| !series.times.is_empty())
        .collect();
    assert_eq!(read, expected);
    assert_eq!(all.len(), expected.len());
    for ((id, found), series) in all.iter().zip(&expected) {
        assert_eq!(*id, series.id);
        same(&Aggregate::of(series.kind, &series.times, &series.bits).unwrap(), found);
    }
}

/// Sums of floats may be added up in another order; all else is the same, NaN too.
fn same(a: &Aggregate, b: &Aggregate) {
    let close = |a: f64, b: f64| {
        a.to_bits() == b.to_bits()
            || (a.is_nan() && b.is_nan())
            || (a - b).abs() <= a.abs().max(b.abs()) * 1e-9 + 1e-6
            || (a.is_infinite() || b.is_infinite())
    };
    assert!(close(a.sum, b.sum), "{a:?} {b:?}");
    let rest = |x: &Aggregate| {
        let float = |value: f64| if value.is_nan() { 1 } else { (value + 0.0).to_bits() };
        let (first, last) = ((x.first.0, x.first.1.to_bits()), (x.last.0, x.last.1.to_bits()));
        (x.count, float(x.min), float(x.max), first, last, x.integers)
    };
    assert_eq!(rest(a), rest(b));
}

pub(crate) fn check_text_run(run: &TextRun) {
    let mut bytes = Vec::new();
    let out = |part: &[u8]| -> Result<(), Error> {
        bytes.extend_from_slice(part);
        Ok(())
    };
    let mut writer = RunWriter::new(&info(), out).unwrap();
    for (id, times, texts) in &run.0 {
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        writer.push_text(*id, times, &texts).unwrap();
    }
    let summary = writer.finish().unwrap();
    assert!(summary.pages > 1, "the texts must not fit one page");
    let index = open(&bytes).unwrap();
    let mut reader = PageReader::new();
    let (mut read, mut all): (Vec<TextSeries>, Vec<TextSeries>) = (Vec::new(), Vec::new());
    fn add(to: &mut Vec<TextSeries>, id: u32, time: i64, text: &str) {
        if to.last().is_none_or(|last| last.0 != id) {
            to.push((id, Vec::new(), Vec::new()));
        }
        let last = to.last_mut().unwrap();
        last.1.push(time);
        last.2.push(text.to_owned());
    }
    for entry in index.pages() {
        let bytes = &bytes[entry.offset as usize..][..entry.bytes as usize];
        let mut page = reader.open(entry, bytes).unwrap();
        page.read_all_text(i64::MIN, i64::MAX, |id, time, text| add(&mut all, id, time, text))
            .unwrap();
        for (id, times, _) in &run.0 {
            let to = times[times.len() / 2];
            page.read_text(*id, i64::MIN, to, |time, text| add(&mut read, *id, time, text))
                .unwrap();
        }
    }
    assert_eq!(all, run.0);
    read.sort();
    let mut merged: Vec<TextSeries> = Vec::new();
    for (id, times, texts) in read {
        for (time, text) in times.into_iter().zip(texts) {
            add(&mut merged, id, time, &text);
        }
    }
    let halves = run.0.iter().filter(|series| series.1.len() > 1).map(|(id, times, texts)| {
        let half = times.len() / 2;
        (*id, times[..half].to_vec(), texts[..half].to_vec())
    });
    assert_eq!(merged, halves.collect::<Vec<_>>());
}
