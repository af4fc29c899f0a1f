//! Samples by name on their way into a ring: ids are looked up or declared, values become what the
//! table of types says, and samples go together into records.
//!
//! There are two manners. As they come: what one read has brought is pushed before the next, since
//! nobody knows when that comes. Many samples of one time are a record; what has times of its own goes
//! together, since the head of a record costs as many bytes of the log as a sample. Together: many are
//! held back, and a record has samples of many times. In both all new series that are held are declared at
//! once, since each declaration waits for the device; who sends names pays for the bytes, not for a
//! sync of each. A value that does not fit its series is refused, never guessed, and with it all of its
//! line, whose values were taken together.
//!
//! Invariant: what is taken is pushed or counted as refused, and costs no other sample; what is known
//! waits for no declaration. Held by `tests/sources.rs` and `tests/import.rs` of the command line, and
//! by `tests/names.rs`.

mod batches;
mod declaring;
mod first;
mod shared;
mod times;

use crate::error::Result;
use crate::fed::Fed;
use crate::known::Met;
use crate::ledger::{Ledger, Unkept};
use crate::manner::{Gather, Manner, Row};
use crate::names::{Names, Series};
use crate::recount::Recount;
use crate::refusal::{Reason, Refusal, Tell};
use crate::replaced::{Replaced, Taken, text_bits};
use crate::target::{Columns, Target};
use crate::types::{Fit, Word, fit};
use crate::value::Value;
use baro_ondisk::Type;
use baro_ondisk::limits::NAME_BYTES_MAX;

/// Samples of one time that go into one record.
const ONE_TIME_MAX: usize = 4096;
/// So many samples of one time are a record of their own: then its head costs less than their times.
const ONE_TIME_MIN: usize = 32;
/// Samples of several times that go into one record: few, since a full ring refuses them together.
const TIMED_MAX: usize = 1024;
/// Bytes of a name that is looked up at most: longer than any can be that is declared, whatever spaces
/// and escapes it is written with.
const NAME_LOOKED_UP_BYTES_MAX: usize = 4 * NAME_BYTES_MAX;
/// Samples held back at most: enough that declarations and times come together.
const HELD_MAX: usize = 65_536;
/// Bytes of texts held back at most.
const TEXT_HELD_BYTES_MAX: usize = 4 << 20;

/// What is held of a sample.
#[derive(Clone, Copy, Debug)]
enum Held {
    Word(Word),
    /// Where its text lies among those held.
    Text {
        start: usize,
        end: usize,
    },
}

/// Where the samples of a line begin, among what is held.
#[derive(Clone, Copy, Debug, Default)]
struct LineBegin {
    /// 0: there was none yet.
    line: u64,
    held: usize,
    texts: usize,
    /// Names that were to be declared before it.
    new: usize,
    /// It is refused, and so is what comes of it.
    refused: bool,
}

#[derive(Clone, Copy, Debug)]
struct HeldSample {
    time_ns: i64,
    held: Held,
    series: Series,
    line: u64,
}

/// Takes samples by name, and frames, into the ring of a [`Target`]: ids are looked up or declared,
/// values become what the [table of types](crate::types) says, and samples go together into records
/// as the [`Manner`] says.
#[derive(Debug)]
pub struct Intake<'a> {
    /// What was done so far; a source adds what it counts itself.
    pub fed: Fed,
    target: Target<'a>,
    manner: Manner,
    names: Names,
    /// Series that may still be declared.
    new_left: usize,
    /// It was looked what others have declared, since the last push.
    has_learned: bool,
    held: Vec<HeldSample>,
    texts: String,
    columns: Columns,
    replaced: Replaced,
    recount: Option<Recount>,
    /// The line that samples come from.
    begin: LineBegin,
    /// Whether a line may be taken in part.
    in_parts: bool,
    /// A line of samples without a time (0: none of this point), and the time that these last had.
    line: (u64, i64),
    /// The point that samples come from, where a line may have several; 0: none yet.
    point: u64,
    /// Time of the next line without one, from that at which it came on; `None`: now.
    came_ns: Option<i64>,
    /// Inputs begun.
    inputs: u32,
}

/// What became of an intake.
#[derive(Debug)]
pub struct Ended {
    /// What was done.
    pub fed: Fed,
    /// What of it is kept.
    pub ledger: Ledger,
    /// What was durable and was recycled before it was in runs.
    pub gone: Unkept,
    /// Why not all is durable, if that is known already.
    pub result: Result<()>,
    /// What [`Intake::recount`] was given.
    pub recount: Option<Recount>,
}

impl<'a> Intake<'a> {
    /// Of the source `name`, into `target`.
    ///
    /// # Errors
    /// There is no memory.
    pub fn new(name: &str, target: Target<'a>, manner: Manner) -> Result<Self> {
        Ok(Intake {
            fed: Fed::new(name, target.producer_id())?,
            target,
            manner,
            names: Names::new()?,
            new_left: manner.new_max,
            has_learned: false,
            held: Vec::new(),
            texts: String::new(),
            columns: Columns::default(),
            replaced: match manner.gather {
                Gather::Together => Replaced::noting(),
                // A pipe may go on for months.
                Gather::AsTheyCome => Replaced::default(),
            },
            recount: None,
            begin: LineBegin::default(),
            in_parts: false,
            line: (0, 0),
            point: 0,
            came_ns: None,
            inputs: 0,
        })
    }

    /// Another input begins: its lines are counted from 1. Of the one before nothing may be held
    /// ([`Intake::flush`]). A line with a value that its series does not take is refused whole.
    pub fn begin(&mut self) {
        self.fed.begin();
        self.target.ledger().begin(self.inputs);
        self.inputs = self.inputs.saturating_add(1);
        self.in_parts = false;
        (self.point, self.came_ns, self.has_learned) = (0, None, false);
        self.names.forget_units();
        self.part();
    }

    /// What comes now belongs to this point of the input, from 1: several may stand in a line, as elements of
    /// a JSON array do. Each is taken or refused by itself, and has a time of its own.
    pub fn point(&mut self, number: u64) {
        if self.point != number {
            self.point = number;
            self.part();
        }
    }

    /// What comes now has nothing to do with what came before.
    fn part(&mut self) {
        self.begin = LineBegin::default();
        // The time of the one before stays known, so that this one has another.
        self.line.0 = 0;
    }

    /// The same of an input whose lines have nothing to do with each other's values, such as rows of a
    /// table: each value is taken or refused by itself.
    pub fn begin_in_parts(&mut self) {
        self.begin();
        self.in_parts = true;
    }

    /// Whether it takes nothing more, since it is strict and something was refused.
    #[must_use]
    pub fn stopped(&self) -> bool {
        self.manner.strict && self.fed.bad > 0
    }

    /// Whether a sample of this series was taken, and not only held.
    #[must_use]
    pub fn has_taken(&self, id: u32) -> bool {
        self.replaced.has(id)
    }

    /// From now on declares at most `new_max` series, whatever the manner said.
    pub fn limit_new(&mut self, new_max: usize) {
        self.new_left = new_max;
    }

    /// The largest frame that the ring takes.
    #[must_use]
    pub fn record_bytes_max(&self) -> usize {
        self.target.record_bytes_max()
    }

    /// Takes a sample, or refuses it, which `tell` hears. Blocks for the device where it declares,
    /// and for room as the target says.
    ///
    /// # Errors
    /// Nothing more can be declared or pushed.
    pub fn take(&mut self, row: &Row<'_>, tell: &mut Tell<'_>) -> Result<()> {
        if self.stopped() {
            return Ok(());
        }
        if self.begin.line != row.line {
            // Not within a line: what is pushed cannot be refused any more.
            if self.manner.gather == Gather::AsTheyCome {
                self.push_if_much(tell)?;
            }
            let (held, texts, new) = (self.held.len(), self.texts.len(), self.names.new_len());
            self.begin = LineBegin { line: row.line, held, texts, new, refused: false };
            self.names.end_line(true);
        }
        if self.begin.refused {
            return Ok(());
        }
        if row.value == Value::Nothing {
            self.fed.no_values += 1;
            return Ok(());
        }
        if row.time_ns < self.manner.kept_from_ns {
            let (kept_from_ns, time_ns) = (self.manner.kept_from_ns, row.time_ns);
            let reason = Reason::TooOld { kept_from_ns, time_ns };
            self.refuse(&Refusal { line: row.line, series: row.series, reason }, tell);
            return Ok(());
        }
        if row.series.len() > NAME_LOOKED_UP_BYTES_MAX {
            let reason = Reason::NameTooLong { bytes: row.series.len() };
            self.refuse(&Refusal { line: row.line, series: row.series, reason }, tell);
            return Ok(());
        }
        if let Some((series, kind)) = self.names.lately(row) {
            return self.fit(row, series, kind, tell).map(drop);
        }
        let key = self.names.key(row);
        match self.names.known(row, key) {
            Some(Met { id, kind }) => self.fit(row, Series::Declared(id), kind, tell).map(drop),
            None => self.take_first(row, key, tell),
        }
    }

    /// Holds a sample of a series of the type `kind`, if it fits, and says whether.
    fn fit(
        &mut self,
        row: &Row<'_>,
        series: Series,
        kind: Type,
        tell: &mut Tell<'_>,
    ) -> Result<bool> {
        if self.is_nothing(row.value, Some(kind)) {
            return Ok(false);
        }
        let fit = match fit(kind, row.value) {
            Ok(fit) => fit,
            Err(misfit) => {
                let reason = Reason::Misfit(misfit);
                self.refuse(&Refusal { line: row.line, series: row.series, reason }, tell);
                return Ok(false);
            }
        };
        if let Some(joint) = row.joint
            && let Err(first) = self.names.join(series, joint)
        {
            let [first, found] = [first, joint].map(|joint| self.names.parts(row.series, joint));
            let reason = Reason::OtherNames { first, found };
            self.refuse(&Refusal { line: row.line, series: row.series, reason }, tell);
            return Ok(false);
        }
        let limit_bytes = self.target.record_bytes_max();
        if let Fit::Text(text) = fit
            && text.len() > limit_bytes
        {
            let reason = Reason::TextTooLong { bytes: text.len(), limit_bytes };
            self.refuse(&Refusal { line: row.line, series: row.series, reason }, tell);
            return Ok(false);
        }
        let (time_ns, line) = (row.time_ns, row.line);
        let held = match fit {
            Fit::Word(word) => Held::Word(word),
            Fit::Text(text) => {
                let start = self.texts.len();
                self.texts.push_str(text);
                Held::Text { start, end: self.texts.len() }
            }
        };
        self.held.push(HeldSample { time_ns, held, series, line });
        Ok(true)
    }

    /// Whether this is no value in a series of this type, which is counted where a word says it.
    fn is_nothing(&mut self, value: Value<'_>, kind: Option<Type>) -> bool {
        let is_nothing = value.is_nothing(kind);
        let is_word = is_nothing && value != Value::QuotedNothing("");
        self.fed.no_values += u64::from(is_word);
        is_nothing
    }

    fn refuse(&mut self, refusal: &Refusal<'_>, tell: &mut Tell<'_>) {
        if !self.stopped() {
            self.fed.refuse(refusal);
            tell(refusal);
            // What may not be declared or is too old costs itself; a fault of the line costs the line.
            let of_line = matches!(
                refusal.reason,
                Reason::Misfit(_)
                    | Reason::TextTooLong { .. }
                    | Reason::NameTooLong { .. }
                    | Reason::NoName
                    | Reason::BareLabels
                    | Reason::OtherNames { .. }
            );
            if of_line && !self.in_parts && refusal.line == self.begin.line {
                self.give_up_line();
            }
        }
    }

    /// Forgets what is held of the line.
    fn give_up_line(&mut self) {
        self.begin.refused = true;
        self.held.truncate(self.begin.held);
        self.texts.truncate(self.begin.texts);
        self.names.end_line(false);
        self.new_left = self.new_left.saturating_add(self.names.forget_new(self.begin.new));
    }

    /// Pushes a frame of the channel `channel`, which is declared.
    ///
    /// # Errors
    /// Nothing more can be pushed.
    pub fn take_frame(&mut self, channel: u32, time_ns: i64, frame: &[u8]) -> Result<()> {
        self.target.push_frame(&mut self.fed, time_ns, channel, frame)
    }

    /// Pushes what is held if that is much, and says whether.
    ///
    /// # Errors
    /// As [`Intake::flush`].
    pub fn push_if_much(&mut self, tell: &mut Tell<'_>) -> Result<bool> {
        let much = self.held.len() >= HELD_MAX || self.texts.len() >= TEXT_HELD_BYTES_MAX;
        if much {
            self.flush(tell)?;
        }
        Ok(much)
    }

    /// The series of this name is to have this unit, if this input brings it. Returns the unit that it has, if
    /// it is there and that is another. Does not block.
    pub fn set_unit(&mut self, series: &str, unit: &str) -> Option<String> {
        match self.target.declared(series) {
            Some(known) => (known.unit != unit).then_some(known.unit),
            None => {
                self.names.set_unit(series, unit);
                None
            }
        }
    }

    /// Declares what is new and pushes what is held.
    ///
    /// # Errors
    /// Nothing more can be declared or pushed.
    pub fn flush(&mut self, tell: &mut Tell<'_>) -> Result<()> {
        if self.manner.gather == Gather::AsTheyCome && self.names.has_new() {
            // What is known does not wait for the device; of each series the order stays.
            let held = std::mem::take(&mut self.held);
            let is_known = |one: &HeldSample| matches!(one.series, Series::Declared(_));
            let (known, new): (Vec<HeldSample>, _) = held.into_iter().partition(is_known);
            self.count_replaced(&known);
            self.push(&known)?;
            self.held = new;
        }
        self.declare(tell)?;
        self.has_learned = false;
        let mut held = std::mem::take(&mut self.held);
        self.count_replaced(&held);
        self.push(&held)?;
        self.texts.clear();
        held.clear();
        self.held = held;
        self.begin = LineBegin { held: 0, texts: 0, new: 0, ..self.begin };
        Ok(())
    }

    /// What comes was taken before, and is only counted: see [`Recount`]. For a target that takes nothing.
    pub fn recount(&mut self, recount: Recount) {
        self.recount = Some(recount);
    }

    fn count_replaced(&mut self, held: &[HeldSample]) {
        if !self.manner.counts_replaced {
            return;
        }
        let texts = &self.texts;
        let taken = held.iter().filter_map(|one| {
            let Series::Declared(id) = one.series else { return None };
            let bits = match one.held {
                Held::Word(word) => word.bits() as u64,
                Held::Text { start, end } => text_bits(texts.get(start..end).unwrap_or_default()),
            };
            Some(Taken { id, time_ns: one.time_ns, bits, line: one.line })
        });
        let input = self.inputs.saturating_sub(1);
        if let Some(recount) = &mut self.recount {
            recount.take(input, taken);
            return;
        }
        self.replaced.take(input, taken);
        (self.fed.replaced, self.fed.replaced_first) = (self.replaced.count, self.replaced.first());
    }

    /// Pushes samples in their order: of several of one series and time the last counts. What cannot
    /// be pushed is noted.
    fn push(&mut self, held: &[HeldSample]) -> Result<()> {
        let before = self.fed.samples;
        let mut texts = 0;
        let pushed = self.push_all(held, &mut texts);
        if pushed.is_err() {
            // Texts go first, then numbers, each in their order.
            let numbers = self.fed.samples - before - texts;
            let is_text = |one: &&HeldSample| matches!(one.held, Held::Text { .. });
            let texts_left = held.iter().filter(is_text).skip(texts as usize);
            let numbers_left = held.iter().filter(|one| !is_text(one)).skip(numbers as usize);
            let left: Vec<u64> = texts_left.chain(numbers_left).map(|one| one.line).collect();
            let first = left.iter().min().copied().unwrap_or(0);
            self.target.ledger().given_up(left.len() as u64, first);
        }
        pushed
    }

    fn push_all(&mut self, held: &[HeldSample], texts: &mut u64) -> Result<()> {
        self.columns.clear();
        for of_one_time in held.chunk_by(|one, next| one.time_ns == next.time_ns) {
            let alone =
                self.manner.gather == Gather::AsTheyCome && of_one_time.len() >= ONE_TIME_MIN;
            if alone {
                self.push_columns()?;
            }
            for one in of_one_time {
                let Series::Declared(id) = one.series else { continue };
                match one.held {
                    Held::Word(word) => self.columns.push(one.time_ns, id, word, one.line),
                    Held::Text { start, end } => {
                        let text = self.texts.get(start..end).unwrap_or_default();
                        self.target.push_text(&mut self.fed, (one.time_ns, one.line), id, text)?;
                        *texts += 1;
                    }
                }
                let most = match self.manner.gather {
                    Gather::AsTheyCome if alone => ONE_TIME_MAX,
                    Gather::AsTheyCome => TIMED_MAX,
                    Gather::Together => usize::MAX,
                };
                if self.columns.len() >= most {
                    self.push_columns()?;
                }
            }
            if alone {
                self.push_columns()?;
            }
        }
        self.push_columns()
    }

    /// Pushes what is in the columns, and empties them.
    fn push_columns(&mut self) -> Result<()> {
        if self.manner.gather == Gather::AsTheyCome && self.columns.is_of_one_time() {
            self.target.push_at_once(&mut self.fed, &self.columns)?;
        } else {
            self.target.push_timed(&mut self.fed, &self.columns)?;
        }
        self.columns.clear();
        Ok(())
    }

    /// Pushes the rest. Where another process records, waits until all is durable; a recorder of
    /// this process makes it so when it is closed.
    ///
    /// # Errors
    /// Nothing more can be declared or pushed, or becomes durable.
    pub fn finish(self, tell: &mut Tell<'_>) -> Result<Fed> {
        let Ended { fed, result, .. } = self.end(Ok(()), tell);
        result.map(|()| fed)
    }

    /// The same, and says what is kept whatever happens; after `before`: if that is an error nothing more
    /// is pushed.
    pub fn end(mut self, before: Result<()>, tell: &mut Tell<'_>) -> Ended {
        let pushed = before.and_then(|()| self.flush(tell));
        // What is held still is in the order of its lines.
        let line = self.held.first().map_or(0, |one| one.line);
        self.target.ledger().given_up(self.held.len() as u64, line);
        let durable = self.target.finish();
        let (mut fed, (ledger, gone)) = (self.fed, self.target.into_ledger());
        fed.unseen = self.replaced.unseen();
        let mut recount = self.recount;
        recount.iter_mut().for_each(Recount::end);
        Ended { fed, ledger, gone, result: pushed.and(durable), recount }
    }
}
