//! Data that somebody recorded, from lines of `time,series,value`, kept in memory and pushed in
//! the order of the lines; as often as it takes to reach the number of samples asked for, each
//! time later by the length of the recording.
//!
//! A series of whole numbers only is i64, any other f64.

use super::{BATCH, Batch, Data, Feed};
use crate::BenchError;
use baro_ondisk::Type;
use baro_sources::csv::CsvParser;
use baro_sources::{Scalar, number};
use baro_store::Interval;
use std::collections::HashMap;
use std::path::Path;

/// Lines are read in pieces of this size.
const PIECE_BYTES: usize = 256 << 10;

/// A recording; see the module.
#[derive(Debug, Default)]
pub struct Recorded {
    names: Vec<String>,
    kinds: Vec<Type>,
    times_ns: Vec<i64>,
    series: Vec<u32>,
    bits: Vec<u64>,
    /// Positions of samples by (series, time), of one time the last, and where each series starts.
    sorted: Vec<u32>,
    starts: Vec<usize>,
    repeats: u32,
    range: Option<(i64, i64)>,
}

impl Recorded {
    /// Reads a file of lines; `samples` is how many are wanted at least, 0: each once.
    ///
    /// # Errors
    /// It cannot be read, a line is not understood or has no time, or there is none.
    pub fn read(path: &Path, samples: u64) -> Result<Self, BenchError> {
        use baro_sys::storage::{Access, Storage, StorageFile};
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let disk = baro_sys::disk::Disk::open(folder).map_err(BenchError::System)?;
        let file = disk.open(&name, Access::Read).map_err(BenchError::System)?;
        let mut recorded = Recording::default();
        let (mut parser, mut buffer, mut offset) = (CsvParser::new(), vec![0; PIECE_BYTES], 0);
        loop {
            let read = file.read_at(offset, &mut buffer).map_err(BenchError::System)?;
            if read == 0 {
                break;
            }
            offset += read as u64;
            parser.feed(&buffer[..read], |item| recorded.take(item.map_err(|e| e.to_string())));
        }
        parser.finish(|item| recorded.take(item.map_err(|e| e.to_string())));
        recorded.finish(path, samples)
    }

    /// How often the recording is pushed.
    #[must_use]
    pub fn repeats(&self) -> u32 {
        self.repeats
    }

    /// Length of the recording: what a repeat is later by.
    fn length_ns(&self) -> i64 {
        self.range.map_or(0, |(first, last)| last.saturating_sub(first).saturating_add(1))
    }
}

/// A recording under way.
#[derive(Debug, Default)]
pub(super) struct Recording {
    recorded: Recorded,
    ids: HashMap<String, u32>,
    /// Line and reason of the first one that is not understood.
    wrong: Option<String>,
    /// Whether a value is a float, and its bits if so.
    floats: Vec<bool>,
}

impl Recording {
    pub(super) fn push(&mut self, name: &str, time_ns: i64, value: Scalar<'_>) {
        let id = match self.ids.get(name) {
            Some(id) => *id,
            None => {
                let id = self.recorded.names.len() as u32;
                self.ids.insert(name.to_owned(), id);
                self.recorded.names.push(name.to_owned());
                self.recorded.kinds.push(Type::I64);
                id
            }
        };
        let (bits, float) = match value {
            Scalar::Float(value) => (value.to_bits(), true),
            Scalar::Integer(value) => (value as u64, false),
            Scalar::Unsigned(value) => (value, false),
            Scalar::Boolean(value) => (u64::from(value), false),
            // Nobody pushes these.
            Scalar::Text(_)
            | Scalar::Quoted(_)
            | Scalar::QuotedComma(_)
            | Scalar::Nothing
            | Scalar::QuotedNothing(_) => return,
        };
        if let Some(kind) = self.recorded.kinds.get_mut(id as usize).filter(|_| float) {
            *kind = Type::F64;
        }
        self.recorded.times_ns.push(time_ns);
        self.recorded.series.push(id);
        self.recorded.bits.push(bits);
        self.floats.push(float);
    }

    fn take(&mut self, item: Result<baro_sources::Sample<'_>, String>) {
        match item {
            Ok(sample) => match sample.time_ns {
                Some(time_ns) => match sample.value {
                    Scalar::Quoted(text) => match number::scalar(&text) {
                        Ok(value) => self.push(&sample.series, time_ns, value),
                        Err(_) => self.no_number(sample.line),
                    },
                    Scalar::Text(_) => self.no_number(sample.line),
                    value => self.push(&sample.series, time_ns, value),
                },
                None => {
                    self.wrong = self
                        .wrong
                        .take()
                        .or(Some(format!("line {}: expected a time, found none", sample.line)))
                }
            },
            Err(error) => self.wrong = self.wrong.take().or(Some(error)),
        }
    }

    fn no_number(&mut self, line: u64) {
        let said = || format!("line {line}: expected a number, found text");
        self.wrong = self.wrong.take().or_else(|| Some(said()));
    }

    pub(super) fn finish(self, path: &Path, samples: u64) -> Result<Recorded, BenchError> {
        let data = |reason: String| BenchError::Data { path: path.to_owned(), reason };
        if let Some(wrong) = self.wrong {
            return Err(data(wrong));
        }
        let mut made = self.recorded;
        let count = made.series.len();
        if count == 0 || count > u32::MAX as usize {
            return Err(data(format!("expected 1 to 2^32 samples, found {count}")));
        }
        for at in 0..count {
            // Of a series that has floats, whole numbers are floats too.
            if made.kinds[made.series[at] as usize] == Type::F64 && !self.floats[at] {
                made.bits[at] = (made.bits[at] as i64 as f64).to_bits();
            }
        }
        made.one_kind_behind_the_other();
        let min = made.times_ns.iter().copied().min().unwrap_or(0);
        let max = made.times_ns.iter().copied().max().unwrap_or(0);
        made.range = Some((min, max));
        let repeats = samples.div_ceil(count as u64).max(1);
        made.repeats = u32::try_from(repeats).unwrap_or(u32::MAX);
        made.index();
        Ok(made)
    }
}

impl Recorded {
    /// Batches have one type: within a time, which is what was measured together, samples of the
    /// same type come behind each other.
    fn one_kind_behind_the_other(&mut self) {
        let mut order: Vec<usize> = (0..self.series.len()).collect();
        let mut from = 0;
        while from < order.len() {
            let time_ns = self.times_ns[from];
            let same = self.times_ns[from..].iter().take_while(|time| **time == time_ns).count();
            let kind = |at: &usize| self.kinds[self.series[*at] as usize] == Type::I64;
            order[from..from + same].sort_by_key(kind);
            from += same;
        }
        self.series = order.iter().map(|at| self.series[*at]).collect();
        self.bits = order.iter().map(|at| self.bits[*at]).collect();
    }

    fn index(&mut self) {
        let mut sorted: Vec<u32> = (0..self.series.len() as u32).collect();
        let key = |at: &u32| (self.series[*at as usize], self.times_ns[*at as usize]);
        sorted.sort_by_key(key);
        // Of samples of one series and time the last counts; the sort kept their order.
        let mut kept: Vec<u32> = Vec::with_capacity(sorted.len());
        for at in sorted {
            match kept.last_mut() {
                Some(last) if key(last) == key(&at) => *last = at,
                _ => kept.push(at),
            }
        }
        self.starts = vec![0; self.names.len() + 1];
        for at in &kept {
            self.starts[self.series[*at as usize] as usize + 1] += 1;
        }
        for series in 0..self.names.len() {
            self.starts[series + 1] += self.starts[series];
        }
        self.sorted = kept;
    }
}

impl Data for Recorded {
    fn series(&self) -> u32 {
        self.names.len() as u32
    }

    fn samples(&self) -> u64 {
        self.series.len() as u64 * u64::from(self.repeats)
    }

    fn declaration(&self, series: u32) -> (String, Type) {
        (self.names[series as usize].clone(), self.kinds[series as usize])
    }

    fn range(&self) -> Interval {
        let (from_ns, _) = self.range.unwrap_or((0, 0));
        let whole_ns = self.length_ns().saturating_mul(i64::from(self.repeats));
        Interval { from_ns, to_ns: from_ns.saturating_add(whole_ns) }
    }

    fn feed(&self, first_id: u32) -> Box<dyn Feed + '_> {
        Box::new(Replay { recorded: self, first_id, repeat: 0, at: 0 })
    }

    fn in_order(&self) -> Box<dyn Feed + '_> {
        self.feed(1)
    }

    fn expected(&self, series: u32, interval: Interval, each: &mut dyn FnMut(i64, u64)) {
        let series = series as usize;
        for repeat in 0..i64::from(self.repeats) {
            for at in &self.sorted[self.starts[series]..self.starts[series + 1]] {
                let time_ns = self.times_ns[*at as usize] + repeat * self.length_ns();
                if interval.holds(time_ns) {
                    each(time_ns, self.bits[*at as usize]);
                }
            }
        }
    }
}

#[derive(Debug)]
struct Replay<'a> {
    recorded: &'a Recorded,
    first_id: u32,
    repeat: u32,
    at: usize,
}

impl Feed for Replay<'_> {
    fn next(&mut self, batch: &mut Batch) -> bool {
        batch.clear();
        let made = self.recorded;
        if self.at == made.series.len() {
            (self.at, self.repeat) = (0, self.repeat + 1);
        }
        if self.repeat == made.repeats {
            return false;
        }
        let later_ns = i64::from(self.repeat) * made.length_ns();
        let kind = |at: usize| made.kinds[made.series[at] as usize];
        let (from, first) = (self.at, kind(self.at));
        while self.at < made.series.len() && self.at - from < BATCH && kind(self.at) == first {
            batch.series.push(self.first_id + made.series[self.at]);
            batch.times_ns.push(made.times_ns[self.at] + later_ns);
            match first {
                Type::F64 => batch.values.push(f64::from_bits(made.bits[self.at])),
                _ => batch.integers.push(made.bits[self.at] as i64),
            }
            self.at += 1;
        }
        let first_ns = batch.times_ns.first().copied();
        if batch.times_ns.iter().all(|time_ns| Some(*time_ns) == first_ns) {
            batch.time_ns = first_ns;
            batch.times_ns.clear();
        }
        true
    }
}
