//! Who looks at what is recorded now, and what he has not fetched yet.
//!
//! Of each viewer the columns are kept that changed since he last asked, with the samples that came since then;
//! he puts them together with those that he has. They are bounded: where a viewer is slow, the oldest go, and
//! are counted. Who has not asked for some seconds is gone.
//!
//! Invariant: memory is bounded by the number of viewers, however slow each is. Held by
//! `a_slow_viewer_has_the_newest_and_is_told_what_he_missed`.

use super::column::Column;
use super::status::Status;
use super::window::STEP_NS;
use crate::api::{Parameters, Refusal};
use baro_sys::clock;
use baro_sys::identity::random_u64;
use serde_json::json;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Columns of a viewer that wait at most, of all his series together: a window of 20 series.
const WAITING_MAX: usize = 32 << 10;
/// Of one series.
const WAITING_OF_ONE_MAX: usize = 4_096;
/// Who has not asked for so long is gone.
const GONE_NS: u64 = 30_000_000_000;
/// Who has not asked for so long gives his place to a new one, if all are taken: pages ask every second.
const IDLE_NS: u64 = 5_000_000_000;
/// A viewer is answered after so long, also if nothing came.
const ANSWER_NS: u64 = 1_000_000_000;
/// The log is followed for a new viewer within this.
const BEGIN_NS: u64 = 5_000_000_000;

/// Columns of one viewer.
#[derive(Debug)]
pub(super) struct Viewer {
    pub(super) names: Vec<String>,
    step_ns: i64,
    /// Of each series, by number.
    waiting: Vec<BTreeMap<i64, Column>>,
    /// Columns that went before he asked.
    skipped: u64,
    asked_ns: u64,
    /// What is recorded goes to him.
    has_begun: bool,
    /// Looks at the log when he was answered last.
    looks: u64,
}

impl Viewer {
    fn new(names: Vec<String>, step_ns: i64) -> Self {
        let (waiting, asked_ns) = (vec![BTreeMap::new(); names.len()], clock::monotonic_ns());
        Viewer { names, step_ns, waiting, skipped: 0, asked_ns, has_begun: false, looks: 0 }
    }

    /// A sample of a series, by its place among the names.
    pub(super) fn take(&mut self, place: usize, time_ns: i64, value: f64) {
        let room = (WAITING_MAX / self.waiting.len().max(1)).min(WAITING_OF_ONE_MAX);
        let Some(columns) = self.waiting.get_mut(place) else { return };
        let number = time_ns.div_euclid(self.step_ns);
        columns.entry(number).or_insert(Column::EMPTY).add(value);
        if columns.len() > room {
            columns.pop_first();
            self.skipped += 1;
        }
    }

    fn has_news(&self) -> bool {
        self.waiting.iter().any(|columns| !columns.is_empty())
    }

    /// What has changed, which is handed out by this.
    fn fetch(&mut self, status: &Status) -> String {
        let mut text = String::from("{\"series\":[");
        for (at, columns) in self.waiting.iter_mut().enumerate() {
            text.push_str(if at > 0 { ",[" } else { "[" });
            for (at, (number, column)) in std::mem::take(columns).into_iter().enumerate() {
                text.push_str(&format!("{}[{number},", if at > 0 { "," } else { "" }));
                column.write(&mut text);
                text.push(']');
            }
            text.push(']');
        }
        let skipped = std::mem::take(&mut self.skipped);
        text.push_str(&format!("],\"skipped\":{skipped},\"now_us\":{},", now_us()));
        text.push_str(&format!("\"status\":{}}}", status.json()));
        text
    }
}

/// The clock by which a live window ends.
fn now_us() -> i64 {
    clock::realtime_ns().div_euclid(1_000)
}

/// What the follower and the viewers share.
#[derive(Debug, Default)]
pub(super) struct Shared {
    pub(super) viewers: HashMap<u64, Viewer>,
    /// Rises whenever somebody comes or goes.
    pub(super) changes: u64,
    /// Looks at the log so far.
    looks: u64,
    pub(super) status: Status,
}

impl Shared {
    /// Whether who has not asked for longest was sent away.
    fn has_made_room(&mut self) -> bool {
        let now_ns = clock::monotonic_ns();
        let longest = self.viewers.iter().min_by_key(|(_, viewer)| viewer.asked_ns);
        let longest = longest.filter(|(_, one)| now_ns.saturating_sub(one.asked_ns) > IDLE_NS);
        let Some(id) = longest.map(|(id, _)| *id) else { return false };
        self.viewers.remove(&id);
        true
    }
}

/// Who looks.
#[derive(Debug)]
pub(super) struct Viewers {
    shared: Mutex<Shared>,
    looked: Condvar,
    max: usize,
}

impl Viewers {
    pub(super) fn new(max: usize) -> Self {
        Viewers { shared: Mutex::default(), looked: Condvar::new(), max }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the follower has looked, or somebody came; at most for so long.
    pub(super) fn wait<'a>(
        &self,
        shared: MutexGuard<'a, Shared>,
        wait_ns: u64,
    ) -> MutexGuard<'a, Shared> {
        let waited = self.looked.wait_timeout(shared, Duration::from_nanos(wait_ns));
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// The log was looked at for those who were there at change `changes`, or could not be: `fault`.
    pub(super) fn have_looked(&self, changes: u64, status: Status) {
        let mut shared = self.lock();
        shared.looks += 1;
        let begins = shared.changes == changes && status.fault.is_none();
        shared.status = status;
        let now_ns = clock::monotonic_ns();
        let before = shared.viewers.len();
        shared.viewers.retain(|_, viewer| now_ns.saturating_sub(viewer.asked_ns) < GONE_NS);
        if shared.viewers.len() != before {
            shared.changes += 1;
        }
        for viewer in shared.viewers.values_mut() {
            viewer.has_begun |= begins;
        }
        drop(shared);
        self.looked.notify_all();
    }

    /// `{"viewer":"ID","now_us","status"}` for `series` and `step`, once what is recorded goes to him: a
    /// window that is asked for behind this has all that came before.
    pub(super) fn open(
        &self,
        names: Vec<String>,
        parameters: &Parameters,
    ) -> Result<String, Refusal> {
        let step_ns = parameters.length_ns("step")?.unwrap_or(1_000_000_000);
        if step_ns < STEP_NS || step_ns % STEP_NS != 0 {
            return Err(Refusal::bad(
                "invalid parameter \"step\": expected whole microseconds, found less or a part of one",
            ));
        }
        let mut shared = self.lock();
        if let Some(before) = parameters.get("viewer").and_then(|text| text.parse::<u64>().ok()) {
            shared.viewers.remove(&before);
        }
        if shared.viewers.len() >= self.max && !shared.has_made_room() {
            let max = self.max;
            return Err(Refusal::timeout(&format!(
                "expected at most {max} viewers at once, found one more: close another page, or start the \
                 server with --viewers"
            )));
        }
        shared.changes += 1;
        // Nobody guesses another's, and no page has one of a server that was there before.
        let id = random_u64().map_err(|error| Refusal::internal(&error))?;
        shared.viewers.insert(id, Viewer::new(names, step_ns));
        self.looked.notify_all();
        let until_ns = clock::monotonic_ns().saturating_add(BEGIN_NS);
        while clock::monotonic_ns() < until_ns {
            match shared.viewers.get(&id).map(|viewer| viewer.has_begun) {
                Some(false) => shared = self.wait(shared, ANSWER_NS),
                Some(true) => {
                    let (now_us, status) = (now_us(), shared.status.json());
                    let told =
                        json!({ "viewer": id.to_string(), "now_us": now_us, "status": status });
                    return Ok(told.to_string());
                }
                None => break,
            }
        }
        shared.viewers.remove(&id);
        let why = shared.status.fault.clone();
        let why = why.unwrap_or_else(|| "the log could not be looked at in time".to_owned());
        Err(Refusal::timeout(&why))
    }

    /// What has changed since `viewer` last asked, as soon as there is something.
    pub(super) fn next(&self, parameters: &Parameters) -> Result<String, Refusal> {
        let text = parameters.needed("viewer")?;
        let gone = || {
            Refusal::not_found(&format!(
                "invalid parameter \"viewer\": expected one of the last {} s, found {text:?}",
                GONE_NS / 1_000_000_000
            ))
        };
        let id: u64 = text.parse().map_err(|_| gone())?;
        let until_ns = clock::monotonic_ns().saturating_add(ANSWER_NS);
        let mut shared = self.lock();
        loop {
            let now_ns = clock::monotonic_ns();
            let Shared { viewers, status, looks, .. } = &mut *shared;
            let viewer = viewers.get_mut(&id).ok_or_else(gone)?;
            viewer.asked_ns = now_ns;
            // Not twice for one look: what comes while it goes on is handed out with its rest.
            if (viewer.has_news() && viewer.looks != *looks) || now_ns >= until_ns {
                viewer.looks = *looks;
                return Ok(viewer.fetch(status));
            }
            shared = self.wait(shared, until_ns - now_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_viewer_has_the_newest_and_is_told_what_he_missed() {
        let mut viewer = Viewer::new(vec!["a".to_owned(), "b".to_owned()], 1_000);
        for n in 0..10_000 {
            viewer.take(0, n * 1_000, n as f64);
        }
        viewer.take(1, 5_500, 1.0);
        viewer.take(1, 5_600, 3.0);
        let told: serde_json::Value =
            serde_json::from_str(&viewer.fetch(&Status::default())).unwrap();
        assert_eq!(told["skipped"], 10_000 - 4_096);
        let first = told["series"][0].as_array().unwrap();
        assert_eq!((first.len(), &first[4_095]), (4_096, &json!([9_999, 9_999])));
        assert_eq!(told["series"][1], json!([[5, [1, 3, 1, 3]]]));
        assert!(!viewer.has_news());
        // Many series share the room.
        let mut viewer = Viewer::new(vec![String::new(); 64], 1_000);
        (0..5_000).for_each(|n| viewer.take(63, n * 1_000, 0.0));
        assert_eq!(viewer.waiting[63].len(), WAITING_MAX / 64);
    }
}
