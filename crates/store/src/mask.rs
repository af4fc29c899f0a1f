//! What has been deleted of one block or run: the one thing that everything which hands out samples or
//! frames asks. A block carries its mask from where it is read, a run from where it is opened, and both
//! have none unless a deletion concerns them: without deletions nothing is asked of any sample.
//!
//! Invariant: nothing that is deleted is handed out, whichever way; what was recorded later is. Held by
//! `tests/delete`.

use crate::columns::Columns;
use baro_ondisk::{
    BlockHeader, Deletion, IdRange, LogPlace, deletions_of_block, deletions_of_run, is_deleted,
};
use std::sync::Arc;

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mask {
    all: Arc<[Deletion]>,
    /// The first of them that concerns it; the later ones do too.
    first: usize,
}

impl Mask {
    fn new(all: &Arc<[Deletion]>, concerned: &[Deletion]) -> Option<Mask> {
        let first = all.len() - concerned.len();
        (!concerned.is_empty()).then(|| Mask { all: Arc::clone(all), first })
    }

    /// Of a block; none if nothing of its times is deleted.
    pub(crate) fn of_block(all: &Arc<[Deletion]>, header: &BlockHeader) -> Option<Mask> {
        if all.is_empty() {
            return None;
        }
        let at = LogPlace { session: header.session, sequence: header.sequence };
        // A record that was not moved to the section may have samples of any time.
        let times_ns = (i64::MIN, i64::MAX);
        Mask::new(all, deletions_of_block(all, at, times_ns))
    }

    /// Of a run; none if none of its `pages`, given by ids and times, may have something deleted.
    pub(crate) fn of_run(
        all: &Arc<[Deletion]>,
        run: u64,
        mut pages: impl Iterator<Item = (IdRange, (i64, i64))>,
    ) -> Option<Mask> {
        if all.is_empty() {
            return None;
        }
        let mask = Mask::new(all, deletions_of_run(all, run))?;
        pages.any(|(ids, times_ns)| mask.meets(ids, times_ns)).then_some(mask)
    }

    /// The deletions.
    pub(crate) fn by(&self) -> &[Deletion] {
        self.all.get(self.first..).unwrap_or(&[])
    }

    /// Whether something of these ids and times may be deleted.
    pub(crate) fn meets(&self, ids: IdRange, times_ns: (i64, i64)) -> bool {
        self.by().iter().any(|deletion| deletion.meets(ids, times_ns))
    }

    /// Whether this sample or frame is deleted.
    pub(crate) fn hides(&self, id: u32, time_ns: i64) -> bool {
        is_deleted(self.by(), id, time_ns)
    }

    /// Drops what is deleted of what was appended behind `from`.
    pub(crate) fn retain(&self, columns: &mut Columns, from: usize) {
        let mut to = from;
        for at in from..columns.len() {
            if !self.hides(columns.series[at], columns.times_ns[at]) {
                columns.series[to] = columns.series[at];
                columns.times_ns[to] = columns.times_ns[at];
                columns.bits[to] = columns.bits[at];
                to += 1;
            }
        }
        columns.truncate(to);
    }

    /// The same of the samples of one series.
    pub(crate) fn retain_of(
        &self,
        series: u32,
        times_ns: &mut Vec<i64>,
        bits: &mut Vec<u64>,
        from: usize,
    ) {
        let mut to = from;
        for at in from..times_ns.len() {
            if !self.hides(series, times_ns[at]) {
                times_ns[to] = times_ns[at];
                bits[to] = bits[at];
                to += 1;
            }
        }
        times_ns.truncate(to);
        bits.truncate(to);
    }
}
