//! Reading what waits to be handed over, run by run and page by page: memory is that of one page.

use crate::damage::{Damage, Loss, Source};
use crate::runs::PageAt;
use crate::{Handover, Hold, Result, Store};
use baro_ondisk::Type;

/// A run that no table has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Its number.
    pub run: u64,
    /// Bytes of its file.
    pub bytes: u64,
    /// Of two samples of one series and time in several runs that of the higher order counts. It is the
    /// number of a run; where runs had been merged before the first one was handed over it is another's.
    pub order: u64,
}

/// Samples of one series in a run, by time.
#[derive(Clone, Copy, Debug)]
pub struct RunRows<'a> {
    /// The series.
    pub series: u32,
    /// Its type.
    pub kind: Type,
    /// Times.
    pub times_ns: &'a [i64],
    /// As many values.
    pub values: RunValues<'a>,
}

/// Values of one series.
#[derive(Clone, Copy, Debug)]
pub enum RunValues<'a> {
    /// Bits of f64 or i64, 0 and 1 of bool.
    Bits(&'a [u64]),
    /// A text.
    Text(&'a str),
}

impl Store {
    /// The runs that no table has, the oldest data first, as far as this store has been seen.
    #[must_use]
    pub fn waiting(&self, handover: &Handover) -> Vec<Waiting> {
        let hold = Hold::Known(*handover);
        let note = |id| {
            let file = self.runs.files.iter().find(|file| file.entry.id == id);
            file.map_or(&[][..], |file| file.index.info().note.as_slice())
        };
        let runs = self.runs.manifest.runs.iter();
        let waits = runs.filter(|run| !hold.has(self.identity.store, run, note(run.id)));
        let mut found: Vec<Waiting> =
            waits.map(|run| Waiting { run: run.id, bytes: run.bytes, order: run.id }).collect();
        // A run that was merged has a higher number than younger ones that were not.
        let mut orders: Vec<u64> = found.iter().map(|run| run.run).collect();
        orders.sort_unstable();
        for (run, order) in found.iter_mut().zip(orders) {
            run.order = order;
        }
        found
    }

    /// The number that the next run gets.
    #[must_use]
    pub fn next_run(&self) -> u64 {
        self.runs.manifest.next_run
    }

    /// Hands out what a run holds, without what has been deleted: by series, and by time in a series.
    /// What cannot be read is left out and returned.
    ///
    /// # Errors
    /// That of `each`.
    pub fn read_run<E>(
        &self,
        run: u64,
        mut each: impl FnMut(&RunRows<'_>) -> std::result::Result<(), E>,
    ) -> Result<std::result::Result<Vec<Damage>, E>> {
        let Some(file) = self.runs.files.iter().find(|file| file.entry.id == run) else {
            let file = baro_log::run_name(run);
            let told = self.runs.damage.iter().find(|damage| damage.file == file).cloned();
            let source = Source::Unreadable("expected an open run, found none".to_owned());
            let unknown = Damage { file, offset: 0, source, loss: Loss::Samples(0) };
            return Ok(Ok(vec![told.unwrap_or(unknown)]));
        };
        let (mut damage, mut page) = (Vec::new(), PageAt::new());
        for entry in file.index.pages() {
            let mut failed = None;
            let mut hand = |rows: &RunRows<'_>| {
                if failed.is_none() {
                    failed = each(rows).err();
                }
            };
            let done = page.with(file, entry, |page| {
                let kind = page.kind();
                if kind == Type::Text {
                    return page.read_all_text(i64::MIN, i64::MAX, |series, time_ns, text| {
                        let (times_ns, values) = (&[time_ns][..], RunValues::Text(text));
                        hand(&RunRows { series, kind, times_ns, values });
                    });
                }
                page.read_all(i64::MIN, i64::MAX, |series, times_ns, bits| {
                    hand(&RunRows { series, kind, times_ns, values: RunValues::Bits(bits) });
                })
            })?;
            damage.extend(done.err());
            if let Some(error) = failed {
                return Ok(Err(error));
            }
        }
        Ok(Ok(damage))
    }
}
