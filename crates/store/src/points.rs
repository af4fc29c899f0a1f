//! What was recorded as points of named series: samples, whole frames, and the fields of frames
//! whose channel was declared with a layout.
//!
//! Invariant: points of a series come in the order of the records. Held by `tests/points.rs`.

use crate::interval::{Interval, Reading};
use crate::read::Notes;
use crate::selection::{Point, Selection};
use crate::{Result, Store};
use baro_ondisk::Kind;
use baro_sys::storage::Storage;
use std::ops::ControlFlow;

impl<S: Storage> Store<S> {
    /// Calls `each` with every selected point of `interval` in time order, until it breaks.
    /// Returns also how many fields a frame was too short for. Where the log has been settled, of
    /// several samples of one series and time the last recorded counts.
    ///
    /// # Errors
    /// As [`Store::records`] and [`Store::query_ids`].
    pub fn points(
        &self,
        interval: Interval,
        selection: &Selection,
        reading: &Reading,
        each: impl FnMut(&Point<'_>) -> ControlFlow<()>,
    ) -> Result<(Notes, u64)> {
        if self.runs.manifest.runs.is_empty() {
            return self.log_points(interval, selection, reading, |_| true, each);
        }
        self.points_of_all(interval, selection, reading, each)
    }

    /// The points of frames alone.
    pub(crate) fn frame_points(
        &self,
        interval: Interval,
        selection: &Selection,
        reading: &Reading,
        each: impl FnMut(&Point<'_>) -> ControlFlow<()>,
    ) -> Result<(Notes, u64)> {
        self.log_points(interval, selection, reading, |kind| kind == Kind::Frame, each)
    }

    /// The points of records of some kinds in the log.
    pub(crate) fn log_points(
        &self,
        interval: Interval,
        selection: &Selection,
        reading: &Reading,
        wanted: impl Fn(Kind) -> bool,
        mut each: impl FnMut(&Point<'_>) -> ControlFlow<()>,
    ) -> Result<(Notes, u64)> {
        let mut short = 0;
        let filter = selection.filter().data_only();
        let notes = self.records(interval, &filter, reading, |record| {
            let mut flow = ControlFlow::Continue(());
            if !wanted(record.kind) {
                return flow;
            }
            short += selection.unfold(record, |point| {
                if flow.is_continue() {
                    flow = each(point);
                }
            });
            flow
        })?;
        Ok((notes, short))
    }
}
