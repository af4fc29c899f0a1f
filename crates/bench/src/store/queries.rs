//! The four queries, warm and in process, and whether their answers are what was pushed.
//!
//! Sensors are chosen and selections prepared before the clock starts: what is timed is
//! [`Store::query_ids`], of q4 [`Store::totals`], until its last row has been handed out and looked
//! at. Each run asks for other sensors and another part of the range. Answers are checked in a pass of their own, all of them
//! to the bit; only means may differ by 1e-9 of themselves, since sums may be taken in any order.
//!
//! Invariant: a wrong, missing or surplus row is an error. Held by `tests.rs`, which tampers with
//! what is expected.

mod cost;

pub use cost::Cost;

use super::generate::Data;
use crate::BenchError;
use baro_store::{Aggregate, Batch, Every, Interval, Query, Store, Target, Values};
use baro_sys::clock;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

/// Sensors that are asked for, at most: as many as the yardstick can have files of.
const POOL: u32 = 10_000;
const MEAN_TOLERANCE: f64 = 1e-9;

/// A question, asked many times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One sensor, the whole range.
    Q1,
    /// One sensor, 1 % of the range.
    Q2,
    /// 100 random sensors, 10 % of the range.
    Q3,
    /// The mean of every sensor over the 10 % of the range that start at 45 %.
    Q4,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 4] = [Kind::Q1, Kind::Q2, Kind::Q3, Kind::Q4];

    /// Most runs, and how many are checked.
    fn runs(self) -> (usize, usize) {
        match self {
            Kind::Q1 => (201, 20),
            Kind::Q2 => (1001, 100),
            Kind::Q3 => (101, 10),
            Kind::Q4 => (21, 1),
        }
    }
}

/// One question.
#[derive(Clone, Debug)]
struct Question {
    /// Empty: all.
    sensors: Vec<u32>,
    query: Query,
}

/// Where questions are drawn from.
#[derive(Debug)]
pub struct Questions<'a> {
    data: &'a dyn Data,
    first_id: u32,
    seed: u64,
    pool: Vec<u32>,
}

impl std::fmt::Debug for dyn Data + '_ {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} series", self.series())
    }
}

/// What came of checking a kind of question.
#[derive(Clone, Copy, Debug)]
pub struct Checked {
    /// Rows compared.
    pub rows: u64,
    /// What a question read, in the mean.
    pub cost: Cost,
}

/// Median and 99th percentile of some runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timing {
    /// Number of runs.
    pub runs: usize,
    /// Milliseconds that half of the runs do not exceed.
    pub median_ms: f64,
    /// Milliseconds that 99 % of the runs do not exceed.
    pub p99_ms: f64,
}

impl Timing {
    /// Of so many nanoseconds each; `None` of none.
    #[must_use]
    pub fn of(mut times_ns: Vec<u64>) -> Option<Self> {
        times_ns.sort_unstable();
        let at = |share: usize| {
            let place = (times_ns.len() * share).div_ceil(100).max(1) - 1;
            times_ns.get(place).map(|ns| *ns as f64 / 1e6)
        };
        Some(Timing { runs: times_ns.len(), median_ms: at(50)?, p99_ms: at(99)? })
    }
}

/// Times `run` with growing numbers until `most` runs or `budget_ns` are spent, but three times at
/// least; a first run is not counted.
pub(super) fn timed(
    most: usize,
    budget_ns: u64,
    stop: &AtomicBool,
    mut run: impl FnMut(u64) -> Result<u64, BenchError>,
) -> Result<Option<Timing>, BenchError> {
    run(0)?;
    let (mut times_ns, mut spent_ns) = (Vec::new(), 0);
    while times_ns.len() < most && (times_ns.len() < 3 || spent_ns < budget_ns) {
        if stop.load(Ordering::Relaxed) {
            return Err(BenchError::Lost("stopped while queries were timed".to_owned()));
        }
        let took_ns = run(times_ns.len() as u64 + 1)?;
        spent_ns += took_ns;
        times_ns.push(took_ns);
    }
    Ok(Timing::of(times_ns))
}

/// A generator of numbers that only has to be the same each time (splitmix64).
struct Draw(u64);

impl Draw {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((u128::from(x ^ (x >> 31)) * u128::from(limit)) >> 64) as u64
    }
}

impl<'a> Questions<'a> {
    /// About `data`, whose first series has the id `first_id`.
    #[must_use]
    pub fn new(data: &'a dyn Data, first_id: u32, seed: u64) -> Self {
        let pool = if data.series() <= POOL {
            (0..data.series()).collect()
        } else {
            distinct(&mut Draw(seed), POOL as usize, |draw| {
                draw.below(u64::from(data.series())) as u32
            })
        };
        Questions { data, first_id, seed, pool }
    }

    /// The sensors that are asked for.
    #[must_use]
    pub fn sensors(&self) -> &[u32] {
        &self.pool
    }

    fn question(&self, kind: Kind, number: u64) -> Question {
        let mut draw = Draw(self.seed ^ (number + 1).wrapping_mul(0x2545_f491_4f6c_dd1d));
        let range = self.data.range();
        let length = range.to_ns.saturating_sub(range.from_ns).max(1) as u64;
        let part = |draw: &mut Draw, percent: u64| {
            let part = (length / 100 * percent).max(1);
            let from_ns = range.from_ns + draw.below(length - part + 1) as i64;
            Interval { from_ns, to_ns: from_ns + part as i64 }
        };
        let pick = |draw: &mut Draw| self.pool[draw.below(self.pool.len() as u64) as usize];
        let sensors = match kind {
            Kind::Q1 | Kind::Q2 => vec![pick(&mut draw)],
            Kind::Q3 => distinct(&mut draw, self.pool.len().min(100), pick),
            Kind::Q4 => Vec::new(),
        };
        let query = match kind {
            Kind::Q1 => Query::raw(range),
            Kind::Q2 => Query::raw(part(&mut draw, 1)),
            Kind::Q3 => Query::raw(part(&mut draw, 10)),
            Kind::Q4 => {
                let from_ns = range.from_ns + (length / 100 * 45) as i64;
                let to_ns = from_ns + (length / 100 * 10).max(1) as i64;
                let every = Every { step_ns: 0, aggregate: Aggregate::Mean };
                Query::every(Interval { from_ns, to_ns }, every)
            }
        };
        Question { sensors, query }
    }

    /// Ids of sensors, sorted; of none those of all.
    fn select(&self, sensors: &[u32]) -> Vec<u32> {
        match sensors {
            [] => (0..self.data.series()).map(|at| self.first_id + at).collect(),
            some => some.iter().map(|at| self.first_id + at).collect(),
        }
    }

    /// Times one kind of question.
    ///
    /// # Errors
    /// The store cannot be read, or is damaged.
    pub fn time(
        &self,
        store: &Store,
        kind: Kind,
        budget_ns: u64,
        stop: &AtomicBool,
    ) -> Result<Option<Timing>, BenchError> {
        let everything = self.select(&[]);
        timed(kind.runs().0, budget_ns, stop, |number| {
            let question = self.question(kind, number);
            let selected =
                if kind == Kind::Q4 { None } else { Some(self.select(&question.sensors)) };
            let ids = selected.as_ref().unwrap_or(&everything);
            let started_ns = clock::monotonic_ns();
            let mut seen = 0.0;
            let notes = if kind == Kind::Q4 {
                store.totals(ids, question.query.interval, Aggregate::Mean, |rows| {
                    let ids = rows.ids.iter().fold(0, |sum, id| sum ^ id);
                    seen += rows.values.iter().sum::<f64>() + f64::from(ids);
                    ControlFlow::Continue(())
                })
            } else {
                store.query_ids(ids, &question.query, |batch| {
                    seen += look(batch);
                    ControlFlow::Continue(())
                })
            };
            let notes = notes.map_err(BenchError::Store)?;
            let took_ns = clock::monotonic_ns() - started_ns;
            std::hint::black_box(seen);
            match notes.read.damage.first() {
                Some(damage) => Err(BenchError::WrongAnswer(format!("{damage:?}"))),
                None => Ok(took_ns),
            }
        })
    }

    /// Times one kind of question put to one file per sensor; `None` of q4, which would read all.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn time_files(
        &self,
        files: &super::yardsticks::SensorFiles,
        kind: Kind,
        budget_ns: u64,
        stop: &AtomicBool,
    ) -> Result<Option<Timing>, BenchError> {
        if kind == Kind::Q4 {
            return Ok(None);
        }
        let mut buffer = Vec::new();
        timed(kind.runs().0, budget_ns, stop, |number| {
            let question = self.question(kind, number);
            let started_ns = clock::monotonic_ns();
            let mut seen = 0.0;
            for sensor in &question.sensors {
                files.read(*sensor, question.query.interval, &mut buffer)?;
                for sample in buffer.chunks_exact(16) {
                    seen += sample[8..].try_into().map_or(0.0, f64::from_le_bytes);
                }
            }
            let took_ns = clock::monotonic_ns() - started_ns;
            std::hint::black_box(seen);
            Ok(took_ns)
        })
    }

    /// Opens the store and looks up one sample, as a program that is started for one question.
    ///
    /// # Errors
    /// The store cannot be read, or the sample is not there.
    pub fn open_and_ask(&self, path: &std::path::Path, number: u64) -> Result<u64, BenchError> {
        let Question { sensors, .. } = self.question(Kind::Q2, number);
        let mut wanted = None;
        for sensor in &sensors {
            self.data.expected(*sensor, self.data.range(), &mut |time_ns, bits| {
                wanted = wanted.or(Some((time_ns, bits)));
            });
        }
        let Some((time_ns, bits)) = wanted else { return Ok(0) };
        let started_ns = clock::monotonic_ns();
        let store = Store::open(path).map_err(BenchError::Store)?;
        let ids = self.select(&sensors);
        let query = Query::raw(Interval { from_ns: time_ns, to_ns: time_ns + 1 });
        let mut found = None;
        store
            .query_ids(&ids, &query, |batch| {
                found = bits_at(batch.values, 0);
                ControlFlow::Continue(())
            })
            .map_err(BenchError::Store)?;
        let took_ns = clock::monotonic_ns() - started_ns;
        if found == Some(bits) {
            return Ok(took_ns);
        }
        let text = format!("series {sensors:?} at {time_ns}: expected {bits:x}, found {found:x?}");
        Err(BenchError::WrongAnswer(text))
    }

    /// Asks again and compares every row; returns how many there were, and what a question took.
    ///
    /// # Errors
    /// An answer is not what was pushed, or the store cannot be read.
    pub fn check(&self, store: &Store, kind: Kind) -> Result<Checked, BenchError> {
        let (mut rows, mut meter) = (0, cost::Meter::new(store));
        for number in 0..kind.runs().1 as u64 {
            let question = self.question(kind, number);
            let ids = self.select(&question.sensors);
            let mut answer = Answer::new(self, &question);
            let mut take = |batch: &Batch<'_>| match answer.take(batch) {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            };
            let query = &question.query;
            let asked = if kind == Kind::Q4 {
                store.totals(&ids, query.interval, Aggregate::Mean, |rows| {
                    for (id, value) in rows.ids.iter().zip(rows.values) {
                        let target = Target { id: *id, place: 0 };
                        let values = Values::F64(std::slice::from_ref(value));
                        take(&Batch { target, times_ns: &[query.interval.from_ns], values })?;
                    }
                    ControlFlow::Continue(())
                })
            } else {
                store.query_ids(&ids, query, take)
            };
            asked.map_err(BenchError::Store)?;
            meter.question(store);
            rows += answer.finish(kind, number)?;
        }
        Ok(Checked { rows, cost: meter.mean() })
    }
}

fn distinct(draw: &mut Draw, count: usize, pick: impl Fn(&mut Draw) -> u32) -> Vec<u32> {
    let mut found = BTreeSet::new();
    while found.len() < count {
        found.insert(pick(draw));
    }
    found.into_iter().collect()
}

/// Touches every row, as who asked would.
fn look(batch: &Batch<'_>) -> f64 {
    let times: i64 = batch.times_ns.iter().fold(0, |sum, time_ns| sum ^ time_ns);
    let values = match batch.values {
        Values::F64(values) => values.iter().sum(),
        Values::I64(values) => values.iter().fold(0, |sum: i64, v| sum ^ v) as f64,
        other => other.len() as f64,
    };
    values + times as f64
}

fn bits_at(values: Values<'_>, at: usize) -> Option<u64> {
    match values {
        Values::F64(values) => values.get(at).map(|value| value.to_bits()),
        Values::I64(values) => values.get(at).map(|value| *value as u64),
        Values::U64(values) => values.get(at).copied(),
        Values::Bool(values) => values.get(at).map(|value| u64::from(*value)),
        Values::Text(_) => None,
    }
}

/// An answer under comparison.
struct Answer<'a> {
    questions: &'a Questions<'a>,
    question: &'a Question,
    /// Series that must come, by id.
    left: std::iter::Peekable<Box<dyn Iterator<Item = u32> + 'a>>,
    current: Option<u32>,
    expected: Vec<(i64, u64)>,
    at: usize,
    rows: u64,
    wrong: Option<String>,
}

impl<'a> Answer<'a> {
    fn new(questions: &'a Questions<'a>, question: &'a Question) -> Self {
        let sensors: Box<dyn Iterator<Item = u32> + 'a> = match question.sensors.as_slice() {
            [] => Box::new(0..questions.data.series()),
            sensors => Box::new(sensors.iter().copied()),
        };
        let (left, expected) = (sensors.peekable(), Vec::new());
        Answer { questions, question, left, current: None, expected, at: 0, rows: 0, wrong: None }
    }

    /// What the series must answer.
    fn load(&mut self, series: u32) {
        let data = self.questions.data;
        let query = &self.question.query;
        let float = data.declaration(series).1 == baro_ondisk::Type::F64;
        (self.current, self.at) = (Some(series), 0);
        self.expected.clear();
        let (mut sum, mut count) = (0.0, 0_u64);
        data.expected(series, query.interval, &mut |time_ns, bits| {
            if query.every.is_some() {
                sum += if float { f64::from_bits(bits) } else { bits as i64 as f64 };
                count += 1;
            } else {
                self.expected.push((time_ns, bits));
            }
        });
        if count > 0 {
            let mean: f64 = sum / count as f64;
            self.expected.push((query.interval.from_ns, mean.to_bits()));
        }
    }

    /// Goes on to `series`: those before it must be complete.
    fn go_to(&mut self, series: u32) {
        loop {
            self.complete();
            if self.wrong.is_some() {
                return;
            }
            match self.left.next() {
                Some(next) => self.load(next),
                None => {
                    let text = format!("series {series} was not asked for, or comes twice");
                    self.wrong = Some(text);
                    return;
                }
            }
            if self.current == Some(series) {
                return;
            }
        }
    }

    fn complete(&mut self) {
        if let (Some(series), Some((time_ns, _))) = (self.current, self.expected.get(self.at)) {
            let text = format!("series {series}: the row of time {time_ns} is missing");
            self.wrong = self.wrong.take().or(Some(text));
        }
    }

    fn take(&mut self, batch: &Batch<'_>) -> bool {
        let series = batch.target.id.wrapping_sub(self.questions.first_id);
        if self.current != Some(series) {
            self.go_to(series);
        }
        for (at, time_ns) in batch.times_ns.iter().enumerate() {
            if self.wrong.is_some() {
                return false;
            }
            let found = bits_at(batch.values, at).map(|bits| (*time_ns, bits));
            let expected = self.expected.get(self.at).copied();
            if !self.same(expected, found) {
                let text = format!("series {series}: expected {expected:x?}, found {found:x?}");
                self.wrong = Some(text);
            }
            self.at += 1;
            self.rows += 1;
        }
        self.wrong.is_none()
    }

    fn same(&self, expected: Option<(i64, u64)>, found: Option<(i64, u64)>) -> bool {
        let (Some(expected), Some(found)) = (expected, found) else { return false };
        if self.question.query.every.is_none() {
            return expected == found;
        }
        let [mean, other] = [expected.1, found.1].map(f64::from_bits);
        let close = (mean - other).abs() <= MEAN_TOLERANCE * mean.abs().max(1.0);
        expected.0 == found.0 && (close || mean.to_bits() == other.to_bits())
    }

    fn finish(mut self, kind: Kind, number: u64) -> Result<u64, BenchError> {
        self.complete();
        while self.wrong.is_none() {
            let Some(next) = self.left.next() else { break };
            self.load(next);
            self.complete();
        }
        match self.wrong {
            None => Ok(self.rows),
            Some(wrong) => {
                Err(BenchError::WrongAnswer(format!("{kind:?} number {number}: {wrong}")))
            }
        }
    }
}
