//! An intake takes what other threads have made ready. Where nothing is new, the columns of a batch go into
//! the ring as they are.

use super::{Held, HeldSample, Intake};
use crate::batch::{Batch, Reach, TextRow, Untimed};
use crate::error::Result;
use crate::names::Series;

impl Intake<'_> {
    /// Takes a batch, which is made of what [`Intake::share`] knows. A point with anything new is handed to
    /// `whole`, with its line, and that takes its samples. Blocks for room as the target says.
    ///
    /// # Errors
    /// Nothing more can be declared or pushed; of the batch some is pushed then.
    pub fn take_batch(
        &mut self,
        batch: &mut Batch,
        mut whole: impl FnMut(&mut Self, u64, &str) -> Result<()>,
    ) -> Result<()> {
        if batch.wholes.is_empty() && self.held.is_empty() {
            return self.push_batch(batch);
        }
        let mut at = Reach::default();
        for index in 0..batch.wholes.len() {
            let Some(one) = batch.wholes.get(index).copied() else { break };
            self.hold(batch, at, one.before);
            at = one.before;
            let text = batch.whole.get(one.start..one.end).unwrap_or_default();
            whole(self, one.line, text)?;
        }
        self.hold(batch, at, batch.reach());
        Ok(())
    }

    /// Times of lines without one.
    fn set_times(&mut self, batch: &mut Batch, from: usize, to: usize) {
        for place in batch.untimed.get(from..to).unwrap_or_default() {
            match *place {
                Untimed::Row(row) => {
                    if let Some((_, _, _, line)) = batch.columns.row(row as usize) {
                        let time_ns = self.line_time_ns(line);
                        batch.columns.set_time_ns(row as usize, time_ns);
                    }
                }
                Untimed::Text(row) => {
                    if let Some(text) = batch.texts.get_mut(row as usize) {
                        text.time_ns = self.line_time_ns(text.line);
                    }
                }
            }
        }
    }

    fn push_batch(&mut self, batch: &mut Batch) -> Result<()> {
        self.set_times(batch, 0, batch.untimed.len());
        for row in &batch.texts {
            let TextRow { line, time_ns, series, start, end } = *row;
            let text = batch.text.get(start..end).unwrap_or_default();
            self.target.push_text(&mut self.fed, (time_ns, line), series, text)?;
        }
        self.target.push_timed(&mut self.fed, &batch.columns)
    }

    /// Holds what is between two places, until it is pushed with what is new.
    fn hold(&mut self, batch: &mut Batch, from: Reach, to: Reach) {
        self.set_times(batch, from.untimed, to.untimed);
        for row in from.rows..to.rows {
            if let Some((time_ns, id, word, line)) = batch.columns.row(row) {
                let (held, series) = (Held::Word(word), Series::Declared(id));
                self.held.push(HeldSample { time_ns, held, series, line });
            }
        }
        for row in batch.texts.get(from.texts..to.texts).unwrap_or_default() {
            let start = self.texts.len();
            self.texts.push_str(batch.text.get(row.start..row.end).unwrap_or_default());
            let held = Held::Text { start, end: self.texts.len() };
            let (series, line) = (Series::Declared(row.series), row.line);
            self.held.push(HeldSample { time_ns: row.time_ns, held, series, line });
        }
    }
}
