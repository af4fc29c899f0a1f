//! Samples that a thread makes by itself, for an intake that others use too: those of series that have been
//! met are columns, ready to be pushed; a point with anything new is text, which the intake reads.
//!
//! Invariant: what is in a batch comes into the ring in its order, as if each line had been given to the
//! intake. Held by `tests/batches.rs`.

use crate::known::Met;
use crate::target::Columns;
use crate::types::{Fit, fit};
use crate::value::Value;

/// How far a batch goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reach {
    pub(crate) rows: usize,
    pub(crate) untimed: usize,
    pub(crate) texts: usize,
    pub(crate) text_bytes: usize,
}

/// A sample of a series of texts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TextRow {
    pub(crate) line: u64,
    pub(crate) time_ns: i64,
    pub(crate) series: u32,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// Where a sample without a time lies.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Untimed {
    Row(u32),
    Text(u32),
}

/// A point of which something is new.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Whole {
    pub(crate) line: u64,
    /// What comes before it.
    pub(crate) before: Reach,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// Samples on their way to an intake, see [`Intake::take_batch`](crate::Intake::take_batch).
#[derive(Debug, Default)]
pub struct Batch {
    pub(crate) columns: Columns,
    /// Samples without a time, in the order of their lines.
    pub(crate) untimed: Vec<Untimed>,
    pub(crate) texts: Vec<TextRow>,
    pub(crate) text: String,
    pub(crate) wholes: Vec<Whole>,
    pub(crate) whole: String,
    line: u64,
    time_ns: Option<i64>,
    begun: Reach,
    /// Bytes of the longest text that the intake takes; `None`: of any.
    text_bytes_max: Option<usize>,
}

impl Batch {
    /// From now on no text is taken that is longer than this ([`Intake::record_bytes_max`](crate::Intake::record_bytes_max)).
    pub fn limit_texts(&mut self, text_bytes_max: usize) {
        self.text_bytes_max = Some(text_bytes_max);
    }

    /// A point begins, whose series have been met.
    pub fn begin(&mut self, line: u64, time_ns: Option<i64>) {
        (self.line, self.time_ns, self.begun) = (line, time_ns, self.reach());
    }

    /// A value of it. False: its series does not take that, and nothing is added.
    pub fn add(&mut self, met: Met, value: Value<'_>) -> bool {
        let Ok(fit) = fit(met.kind, value) else { return false };
        let time_ns = self.time_ns.unwrap_or(0);
        let place = match fit {
            Fit::Word(word) => {
                let row = self.columns.len() as u32;
                self.columns.push(time_ns, met.id, word, self.line);
                Untimed::Row(row)
            }
            // The intake says why.
            Fit::Text(text) if self.text_bytes_max.is_some_and(|most| text.len() > most) => {
                return false;
            }
            Fit::Text(text) => {
                let (line, start, row) = (self.line, self.text.len(), self.texts.len() as u32);
                self.text.push_str(text);
                let end = self.text.len();
                self.texts.push(TextRow { line, time_ns, series: met.id, start, end });
                Untimed::Text(row)
            }
        };
        if self.time_ns.is_none() {
            self.untimed.push(place);
        }
        true
    }

    /// Forgets the point that was begun last.
    pub fn leave(&mut self) {
        let Reach { rows, untimed, texts, text_bytes } = self.begun;
        self.columns.truncate(rows);
        self.untimed.truncate(untimed);
        self.texts.truncate(texts);
        self.text.truncate(text_bytes);
    }

    /// A point that the intake is to read.
    pub fn add_whole(&mut self, line: u64, text: &str) {
        let (before, start) = (self.reach(), self.whole.len());
        self.whole.push_str(text);
        self.wholes.push(Whole { line, before, start, end: self.whole.len() });
    }

    /// Whether there is nothing in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.reach() == Reach::default() && self.wholes.is_empty()
    }

    /// How many new series there can be in those points at most: a field of line protocol has four bytes.
    #[must_use]
    pub fn new_max(&self) -> u64 {
        (self.wholes.len() + self.whole.len() / 4) as u64
    }

    /// Forgets all, and keeps its memory.
    pub fn clear(&mut self) {
        self.columns.clear();
        self.untimed.clear();
        self.texts.clear();
        self.text.clear();
        self.wholes.clear();
        self.whole.clear();
        self.begun = Reach::default();
    }

    /// What it has allocated.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        let texts = self.texts.capacity() * size_of::<TextRow>() + self.text.capacity();
        let wholes = self.wholes.capacity() * size_of::<Whole>() + self.whole.capacity();
        self.columns.memory_bytes()
            + self.untimed.capacity() * size_of::<Untimed>()
            + texts
            + wholes
    }

    /// What of that is in use.
    #[must_use]
    pub fn used_bytes(&self) -> usize {
        let texts = self.texts.len() * size_of::<TextRow>() + self.text.len();
        let wholes = self.wholes.len() * size_of::<Whole>() + self.whole.len();
        self.columns.len() * 28 + self.untimed.len() * size_of::<Untimed>() + texts + wholes
    }

    pub(crate) fn reach(&self) -> Reach {
        Reach {
            rows: self.columns.len(),
            untimed: self.untimed.len(),
            texts: self.texts.len(),
            text_bytes: self.text.len(),
        }
    }
}
