//! What a watch has seen: of each series how many samples came, the last of them, and how its values went.

use super::By;
use baro_store::{Datum, Point, Selection};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};

/// Steps that a line of values shows.
pub(super) const STEPS: usize = 60;
/// Characters of a text that are kept.
const TEXT_MAX: usize = 60;

/// A value as it is shown.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Number(f64),
    Integer(i64),
    Unsigned(u64),
    Boolean(bool),
    Text(String),
    /// Bytes of a frame.
    Frame(usize),
}

impl Value {
    fn of(datum: &Datum<'_>) -> Self {
        match datum {
            Datum::Float(value) => Value::Number(*value),
            Datum::Integer(value) => Value::Integer(*value),
            Datum::Unsigned(value) => Value::Unsigned(*value),
            Datum::Boolean(value) => Value::Boolean(*value),
            Datum::Text(text) => Value::Text(text.chars().take(TEXT_MAX).collect()),
            Datum::Frame(bytes) => Value::Frame(bytes.len()),
        }
    }

    /// Where it is in a line of values.
    fn height(&self) -> Option<f64> {
        match self {
            Value::Number(value) => Some(*value).filter(|value| value.is_finite()),
            Value::Integer(value) => Some(*value as f64),
            Value::Unsigned(value) => Some(*value as f64),
            Value::Boolean(value) => Some(f64::from(u8::from(*value))),
            Value::Text(_) | Value::Frame(_) => None,
        }
    }
}

/// One series.
#[derive(Clone, Debug, Default)]
pub(super) struct Row {
    came: u64,
    pub(super) rate: f64,
    /// The sample that came last: its time and value.
    pub(super) last: Option<(i64, Value)>,
}

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Seen {
    rows: HashMap<usize, Row>,
    history: HashMap<usize, VecDeque<Option<f64>>>,
    /// Samples and frames a second.
    pub(super) rate: f64,
    /// Records that were lost since the beginning.
    pub(super) lost: u64,
    /// Blocks that were gone before they were read.
    pub(super) skipped: u64,
    /// The latest time of all samples.
    pub(super) newest_ns: Option<i64>,
}

impl Seen {
    pub(super) fn take(&mut self, point: &Point<'_>) {
        let row = self.rows.entry(point.place).or_default();
        row.came += 1;
        row.last = Some((point.time_ns, Value::of(&point.value)));
        self.newest_ns = self.newest_ns.max(Some(point.time_ns));
    }

    pub(super) fn row(&self, place: usize) -> Option<&Row> {
        self.rows.get(&place)
    }

    /// How the values of a series went, the oldest first; nothing where none came.
    pub(super) fn history(&self, place: usize) -> impl Iterator<Item = Option<f64>> {
        self.history.get(&place).into_iter().flatten().copied()
    }

    /// A step has ended: rates, and the places of the series that come first.
    pub(super) fn step(
        &mut self,
        by: By,
        selection: &Selection,
        most: usize,
        took_ns: u64,
    ) -> Vec<usize> {
        let seconds = took_ns.max(1) as f64 / 1e9;
        let all: u64 = self.rows.values().map(|row| row.came).sum();
        self.rate = all as f64 / seconds;
        for row in self.rows.values_mut() {
            row.rate = std::mem::take(&mut row.came) as f64 / seconds;
        }
        let shown: Vec<usize> = match by {
            By::Age => (0..selection.columns().len()).take(most).collect(),
            By::Rate => self.fastest(most),
        };
        self.history.retain(|place, _| shown.contains(place));
        for place in &shown {
            let row = self.rows.get(place);
            let came = row.filter(|row| row.rate > 0.0).and_then(|row| row.last.as_ref());
            let history = self.history.entry(*place).or_default();
            history.push_back(came.and_then(|(_, value)| value.height()));
            if history.len() > STEPS {
                history.pop_front();
            }
        }
        shown
    }

    /// Those of which most came, in their order; of equal ones the first declared.
    fn fastest(&self, most: usize) -> Vec<usize> {
        let mut heap = BinaryHeap::new();
        for (place, row) in &self.rows {
            // Bits of floats that are not negative are in the order of their values.
            heap.push(Reverse((row.rate.to_bits(), Reverse(*place))));
            if heap.len() > most {
                heap.pop();
            }
        }
        heap.into_sorted_vec().into_iter().map(|Reverse((_, Reverse(place)))| place).collect()
    }
}
