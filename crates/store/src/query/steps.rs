//! Where steps of time begin and end: at multiples of a length, or where the caller says, such as at the
//! midnights of a place, between which there may be 23 hours or 25.
//!
//! Invariant: a time lies in one step, and aggregates of a run are taken for a step only as far as it goes.
//! Held by `tests/settle.rs`, `tests/newest.rs` and `tests/model`.

use super::Query;
use crate::interval::Interval;
use std::fmt;
use std::sync::Arc;

type StepOf = dyn Fn(i64) -> (i64, i64) + Send + Sync;

/// Steps of any lengths.
#[derive(Clone)]
pub struct Steps(Arc<StepOf>);

impl Steps {
    /// `step_of` says of a time when its step begins and when the next one does. It must say the same
    /// of all times of a step.
    #[must_use]
    pub fn new(step_of: impl Fn(i64) -> (i64, i64) + Send + Sync + 'static) -> Self {
        Steps(Arc::new(step_of))
    }
}

impl fmt::Debug for Steps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Steps").finish_non_exhaustive()
    }
}

/// The very same ones.
impl PartialEq for Steps {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// The steps of a query.
#[derive(Clone, Debug)]
pub(super) struct Grid {
    steps: Option<Steps>,
    /// 0: the interval is one step.
    step_ns: i64,
    interval: Interval,
    /// The step that was asked for last, if they have any lengths.
    last: (i64, i64),
}

impl Grid {
    pub(super) fn of(query: &Query) -> Self {
        let step_ns = query.every.and_then(|every| i64::try_from(every.step_ns).ok()).unwrap_or(0);
        let steps = query.steps.clone().filter(|_| step_ns > 0);
        Grid { steps, step_ns, interval: query.interval, last: (i64::MAX, i64::MIN) }
    }

    /// Start of the step that a time of the interval lies in.
    #[inline]
    pub(super) fn start_ns(&mut self, time_ns: i64) -> i64 {
        match (self.step_ns, &self.steps) {
            (0, _) => self.interval.from_ns,
            (step_ns, None) => time_ns.saturating_sub(time_ns.rem_euclid(step_ns)),
            (_, Some(_)) => self.step(time_ns).0,
        }
    }

    /// Start of the next step; the greatest time if none comes.
    pub(super) fn end_ns(&mut self, time_ns: i64) -> i64 {
        match (self.step_ns, &self.steps) {
            (0, _) => i64::MAX,
            // Not from the start: of the first step that may lie before all times.
            (step_ns, None) => time_ns.saturating_add(step_ns - time_ns.rem_euclid(step_ns)),
            (_, Some(_)) => self.step(time_ns).1,
        }
    }

    fn step(&mut self, time_ns: i64) -> (i64, i64) {
        let (start_ns, end_ns) = self.last;
        if let Some(Steps(step_of)) = &self.steps
            && !(start_ns <= time_ns && time_ns < end_ns)
        {
            let (start_ns, end_ns) = step_of(time_ns);
            // Whatever it says, the time is in it.
            self.last = (start_ns.min(time_ns), end_ns.max(time_ns.saturating_add(1)));
        }
        self.last
    }
}
