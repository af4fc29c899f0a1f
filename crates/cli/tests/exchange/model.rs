//! Random samples of all types under names of any characters, and what a store shows.

use baro_ondisk::{write_name, written_name};
use baro_store::{Interval, Query, Selection, Store, Values};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// xorshift.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    pub(crate) fn one_of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }

    /// Letters that have a meaning somewhere, and some that have none.
    pub(crate) fn text(&mut self, most: usize) -> String {
        const LETTERS: [&str; 35] = [
            "a", "b", "1", "7", ".", "-", "+", "=", "@", "'", "\"", ",", ";", "\t", " ", "\n",
            "\r", "{", "}", "\\", "#", "~", "!", ":", "_", "é", "＝", "😀", "\u{feff}", "\u{202e}",
            "\u{1}", "nan", "true", "time", "\u{a0}",
        ];
        (0..self.below(most + 1)).map(|_| LETTERS[self.below(LETTERS.len())]).collect()
    }

    fn name(&mut self) -> String {
        let name = self.text(5);
        if name.is_empty() { "temp".to_owned() } else { name }
    }

    fn float(&mut self) -> f64 {
        let special = [0.0, -0.0, 5.0, -7.0, 1e20, 1e300, 5e-324, f64::MAX, 1e15, 9.3e18, 0.1];
        let strange = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
        match self.below(8) {
            0 | 1 => special[self.below(special.len())],
            2 => strange[self.below(strange.len())],
            3 => self.next() as f64,
            _ => f64::from_bits(self.next()),
        }
    }
}

/// A value, floats by their bits.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Float(u64),
    Integer(i64),
    /// No series takes it.
    TooLarge(u64),
    Boolean(bool),
    Text(String),
}

/// All that are no number are one.
pub(crate) fn float(value: f64) -> Value {
    Value::Float(if value.is_nan() { f64::NAN } else { value }.to_bits())
}

/// Of a series and time the value.
pub(crate) type Shown = BTreeMap<(String, i64), Value>;

pub(crate) struct Series {
    pub(crate) measurement: String,
    pub(crate) field: String,
    pub(crate) labels: BTreeMap<String, String>,
}

impl Series {
    pub(crate) fn metric(&self) -> String {
        format!("{}_{}", self.measurement, self.field)
    }

    pub(crate) fn name(&self) -> String {
        let mut name = String::new();
        write_name(&mut name, &self.metric(), self.labels.iter());
        name
    }

    /// Series of one name are of one type.
    pub(crate) fn kind(&self) -> usize {
        self.name().bytes().fold(7_usize, |sum, byte| sum.wrapping_mul(31) + usize::from(byte)) % 4
    }
}

pub(crate) struct Sample {
    /// Which series.
    pub(crate) at: usize,
    pub(crate) time_ns: i64,
    pub(crate) value: Value,
}

pub(crate) struct Model {
    pub(crate) series: Vec<Series>,
    pub(crate) samples: Vec<Sample>,
}

impl Model {
    pub(crate) fn new(random: &mut Random, count: u64) -> Self {
        let keys: Vec<String> = (0..4).map(|_| random.name()).collect();
        let mut series: Vec<Series> = Vec::new();
        for _ in 0..60 {
            let mut labels = BTreeMap::new();
            for _ in 0..random.below(3) {
                labels.insert(random.one_of(&keys).clone(), random.name());
            }
            let one = Series { measurement: random.name(), field: random.name(), labels };
            // Two names that are joined to the same are refused, which `tests/text_forms.rs` looks at.
            let other =
                |other: &Series| other.name() == one.name() && other.measurement != one.measurement;
            if !series.iter().any(other) {
                series.push(one);
            }
        }
        let sample = |_| {
            let at = random.below(series.len());
            let value = match series[at].kind() {
                0 => float(random.float()),
                1 if random.below(40) == 0 => Value::TooLarge(random.next() | 1 << 63),
                1 => Value::Integer(random.next() as i64 >> random.below(64)),
                2 => Value::Boolean(random.below(2) == 0),
                _ => Value::Text(random.text(20)),
            };
            Sample { at, time_ns: random.next() as i64 >> random.below(64), value }
        };
        let samples = (0..count).map(sample).collect();
        Model { series, samples }
    }
}

/// What a store shows.
pub(crate) fn shown(path: &str) -> Shown {
    let store = Store::open(path.as_ref()).unwrap();
    let selection = Selection::all(store.catalog(), true).unwrap();
    let mut shown = Shown::new();
    let each = |batch: &baro_store::Batch<'_>| {
        for (at, time_ns) in batch.times_ns.iter().enumerate() {
            let value = match batch.values {
                Values::F64(values) => float(values[at]),
                Values::I64(values) => Value::Integer(values[at]),
                Values::U64(values) => Value::TooLarge(values[at]),
                Values::Bool(values) => Value::Boolean(values[at]),
                Values::Text(texts) => Value::Text(texts.get(at).unwrap().to_owned()),
            };
            let name = &selection.columns()[batch.target.place].name;
            let name = written_name(name).into_owned();
            assert!(shown.insert((name, *time_ns), value).is_none());
        }
        ControlFlow::Continue(())
    };
    let notes = store.query(&selection, &Query::raw(Interval::ALL), each).unwrap();
    assert_eq!(notes.read.damage, []);
    shown
}
