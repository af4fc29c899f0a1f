//! Hands rows out in batches of one series, in the type of the series, and stops at the limits.

use super::fold::Step;
use super::{Aggregate, Batch, Query, QueryNotes, Target, Texts, Values};
use crate::ValueType;
use baro_ondisk::Type;
use baro_sys::memory;
use std::ops::ControlFlow;

/// Most rows of a batch.
pub(super) const BATCH_ROWS: usize = 65_536;
/// Bytes of texts, but for the last, from which on a batch goes out.
const BATCH_LETTERS: usize = 1 << 20;

/// How bits are to be understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    F64,
    I64,
    U64,
    Bool,
}

impl From<Type> for Form {
    fn from(kind: Type) -> Self {
        match kind {
            Type::F64 => Form::F64,
            Type::Bool => Form::Bool,
            Type::I64 | Type::Text | Type::Channel => Form::I64,
        }
    }
}

/// Who takes what is handed out.
pub(super) enum Taker<'a> {
    /// Rows.
    Batches(&'a mut dyn FnMut(&Batch<'_>) -> ControlFlow<()>),
    /// Steps with all that is known of them, each with its start; no rows.
    Steps(&'a mut dyn FnMut(Target, i64, &Step) -> ControlFlow<()>),
}

impl Taker<'_> {
    pub(super) fn again(&mut self) -> Taker<'_> {
        match self {
            Taker::Batches(each) => Taker::Batches(each),
            Taker::Steps(each) => Taker::Steps(each),
        }
    }
}

/// Counts what goes out.
pub(super) struct Outlet<'a> {
    to: Taker<'a>,
    pub(super) notes: QueryNotes,
    /// Whether the taker wants no more.
    pub(super) broken: bool,
}

impl Outlet<'_> {
    fn give(&mut self, batch: &Batch<'_>) -> ControlFlow<()> {
        let Taker::Batches(each) = &mut self.to else { return ControlFlow::Continue(()) };
        self.notes.rows += batch.times_ns.len() as u64;
        self.notes.batches += 1;
        let flow = each(batch);
        self.broken |= flow.is_break();
        flow
    }
}

/// See the module.
pub(super) struct Emitter<'a> {
    pub(super) outlet: Outlet<'a>,
    /// Added to the places of targets.
    pub(super) first_place: usize,
    /// Rows that may still go out.
    left: u64,
    last: Option<usize>,
    aggregate: Option<Aggregate>,
    /// All that is folded goes out as floats, and of texts nothing.
    pub(super) floats: bool,
    target: Target,
    form: Form,
    times_ns: Vec<i64>,
    bits: Vec<u64>,
    /// Texts instead of bits.
    ends: Vec<u32>,
    letters: String,
    truths: Vec<bool>,
}

impl std::fmt::Debug for Emitter<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Emitter").field("notes", &self.outlet.notes).finish_non_exhaustive()
    }
}

impl<'a> Emitter<'a> {
    pub(super) fn new(query: &Query, to: Taker<'a>) -> Self {
        Emitter {
            outlet: Outlet { to, notes: QueryNotes::default(), broken: false },
            first_place: 0,
            left: query.limit.unwrap_or(u64::MAX),
            last: query.last,
            aggregate: query.every.map(|every| every.aggregate),
            floats: false,
            target: Target { id: 0, place: 0 },
            form: Form::F64,
            times_ns: Vec::new(),
            bits: Vec::new(),
            ends: Vec::new(),
            letters: String::new(),
            truths: Vec::new(),
        }
    }

    fn placed(&self, target: Target) -> Target {
        Target { place: target.place + self.first_place, ..target }
    }

    /// A step with all that is known of it, if that is what is wanted instead of rows.
    #[inline]
    pub(super) fn whole_step(&mut self, start_ns: i64, step: &Step) -> Option<ControlFlow<()>> {
        let Taker::Steps(each) = &mut self.outlet.to else { return None };
        self.outlet.notes.rows += 1;
        let flow = each(self.target, start_ns, step);
        self.outlet.broken |= flow.is_break();
        Some(flow)
    }

    /// What follows is of this series.
    pub(super) fn series(&mut self, target: Target, form: Form) {
        (self.target, self.form) = (self.placed(target), form);
    }

    /// Rows by rising time. With `last` they are held until [`Emitter::end`].
    pub(super) fn rows(&mut self, times_ns: &[i64], bits: &[u64]) -> ControlFlow<()> {
        if self.last.is_none() && self.times_ns.is_empty() {
            // Straight through, without a copy.
            for (times_ns, bits) in times_ns.chunks(BATCH_ROWS).zip(bits.chunks(BATCH_ROWS)) {
                self.hand_out(times_ns, bits)?;
            }
            return ControlFlow::Continue(());
        }
        self.times_ns.extend_from_slice(times_ns);
        self.bits.extend_from_slice(bits);
        self.bound()
    }

    /// A step, in the form of [`Form::folded`]; none if it is too large for that.
    pub(super) fn step(&mut self, start_ns: i64, bits: Option<u64>) -> ControlFlow<()> {
        let Some(bits) = bits else {
            self.outlet.notes.sums_left_out += 1;
            return ControlFlow::Continue(());
        };
        self.times_ns.push(start_ns);
        self.bits.push(bits);
        if self.times_ns.len() >= 2 * BATCH_ROWS {
            return self.bound();
        }
        ControlFlow::Continue(())
    }

    /// The only step of a series, straight through.
    pub(super) fn one(
        &mut self,
        target: Target,
        form: Form,
        start_ns: i64,
        bits: u64,
    ) -> ControlFlow<()> {
        if self.left == 0 || self.last == Some(0) {
            return ControlFlow::Continue(());
        }
        let bits = [bits];
        let values = match form {
            Form::I64 => Values::I64(memory::as_integers(&bits)),
            Form::U64 => Values::U64(&bits),
            Form::F64 | Form::Bool => Values::F64(memory::as_floats(&bits)),
        };
        self.left -= 1;
        let target = self.placed(target);
        self.outlet.give(&Batch { target, times_ns: &[start_ns], values })?;
        if self.left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// A text; of the last ones only they are handed in.
    pub(super) fn text(&mut self, time_ns: i64, text: &str) -> ControlFlow<()> {
        self.times_ns.push(time_ns);
        self.letters.push_str(text);
        self.ends.push(u32::try_from(self.letters.len()).unwrap_or(u32::MAX));
        let rows = self.ends.len();
        let full = rows >= BATCH_ROWS || self.letters.len() > BATCH_LETTERS;
        if full || rows as u64 >= self.left {
            return self.texts();
        }
        ControlFlow::Continue(())
    }

    /// Keeps what is held within bounds.
    fn bound(&mut self) -> ControlFlow<()> {
        if let Some(last) = self.last {
            let more = self.times_ns.len().saturating_sub(last);
            if more > BATCH_ROWS {
                self.times_ns.drain(..more);
                self.bits.drain(..more);
            }
            return ControlFlow::Continue(());
        }
        self.release()
    }

    /// The series is over.
    pub(super) fn end(&mut self) -> ControlFlow<()> {
        if !self.ends.is_empty() {
            return self.texts();
        }
        if let Some(last) = self.last {
            let more = self.times_ns.len().saturating_sub(last);
            self.times_ns.drain(..more);
            self.bits.drain(..more);
        }
        self.release()
    }

    fn release(&mut self) -> ControlFlow<()> {
        if self.times_ns.is_empty() {
            return ControlFlow::Continue(());
        }
        let (times_ns, bits) = (std::mem::take(&mut self.times_ns), std::mem::take(&mut self.bits));
        let mut flow = ControlFlow::Continue(());
        for (times_ns, bits) in times_ns.chunks(BATCH_ROWS).zip(bits.chunks(BATCH_ROWS)) {
            flow = self.hand_out(times_ns, bits);
            if flow.is_break() {
                break;
            }
        }
        (self.times_ns, self.bits) = (times_ns, bits);
        self.times_ns.clear();
        self.bits.clear();
        flow
    }

    fn texts(&mut self) -> ControlFlow<()> {
        let left = usize::try_from(self.left).unwrap_or(usize::MAX);
        let rows = self.ends.len().min(left);
        let ends = self.ends.get(..rows).unwrap_or(&[]);
        let last = ends.last().copied().unwrap_or(0) as usize;
        let texts = Texts { ends, bytes: self.letters.get(..last).unwrap_or("") };
        let times_ns = self.times_ns.get(..rows).unwrap_or(&[]);
        let mut flow = ControlFlow::Continue(());
        if rows > 0 {
            self.left -= rows as u64;
            let batch = Batch { target: self.target, times_ns, values: Values::Text(texts) };
            flow = self.outlet.give(&batch);
        }
        self.ends.clear();
        self.letters.clear();
        self.times_ns.clear();
        if self.left == 0 { ControlFlow::Break(()) } else { flow }
    }

    fn hand_out(&mut self, times_ns: &[i64], bits: &[u64]) -> ControlFlow<()> {
        let rows = times_ns.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let (times_ns, bits) =
            (times_ns.get(..rows).unwrap_or(&[]), bits.get(..rows).unwrap_or(&[]));
        if rows == 0 {
            return ControlFlow::Continue(());
        }
        let form = match self.aggregate {
            Some(_) if self.floats => Form::F64,
            Some(aggregate) => self.form.folded(aggregate),
            None => self.form,
        };
        let values = match form {
            Form::U64 => Values::U64(bits),
            Form::I64 => Values::I64(memory::as_integers(bits)),
            Form::Bool => {
                self.truths.clear();
                self.truths.extend(bits.iter().map(|bits| *bits != 0));
                Values::Bool(&self.truths)
            }
            Form::F64 => Values::F64(memory::as_floats(bits)),
        };
        self.left -= rows as u64;
        self.outlet.give(&Batch { target: self.target, times_ns, values })?;
        if self.left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

impl Form {
    /// Of what its values are folded into.
    pub(super) fn folded(self, aggregate: Aggregate) -> Self {
        let kind = match self {
            Form::F64 => ValueType::F64,
            Form::I64 => ValueType::I64,
            Form::U64 => ValueType::U64,
            Form::Bool => ValueType::Bool,
        };
        match aggregate.result(kind) {
            Some(ValueType::I64) => Form::I64,
            Some(ValueType::U64) => Form::U64,
            _ => Form::F64,
        }
    }

    /// The integer that bits stand for.
    #[inline]
    pub(super) fn integer(self, bits: u64) -> i128 {
        match self {
            Form::U64 => i128::from(bits),
            Form::Bool => i128::from(bits != 0),
            Form::I64 | Form::F64 => i128::from(bits.cast_signed()),
        }
    }

    /// The bits that stand for an integer; none if it is outside.
    pub(super) fn bits(self, integer: i128) -> Option<u64> {
        match self {
            Form::U64 => u64::try_from(integer).ok(),
            Form::I64 | Form::F64 | Form::Bool => {
                i64::try_from(integer).ok().map(i64::cast_unsigned)
            }
        }
    }
}

/// The value of a sample as a number, by the type of its series.
pub(super) fn number(form: Form, bits: u64) -> f64 {
    match form {
        Form::F64 => f64::from_bits(bits),
        Form::Bool => f64::from(u8::from(bits != 0)),
        Form::I64 => bits.cast_signed() as f64,
        Form::U64 => bits as f64,
    }
}
