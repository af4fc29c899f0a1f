//! One thread follows the log while somebody looks, and puts what comes into each viewer's columns.
//!
//! It rests as long as a look takes, and a tenth of a second at least: it never takes more than half of a
//! processor. While nobody looks it does nothing and holds nothing.

use super::Live;
use super::chosen::Chosen;
use super::status::Status;
use super::viewers::{Shared, Viewers};
use baro_log::{Role, StoreLock};
use baro_ondisk::{Gap, Kind};
use baro_recorder::inspect::{disk_pressure, waiting_at};
use baro_store::{Datum, Follow, RecordRef, Selection, Store};
use baro_sys::clock;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Between two looks.
const LOOK_NS: u64 = 100_000_000;
/// Rates and the state of the recorder are taken so often.
const STATUS_NS: u64 = 1_000_000_000;

/// Where a column of the common selection goes: which viewer, and the place among his names.
type To = Vec<(u64, usize)>;

/// The log while it is followed.
struct Following {
    store: Store,
    place: Follow,
    /// All that any viewer looks at.
    selection: Selection,
    to: Vec<To>,
    /// The change of viewers for which that was made.
    changes: u64,
    status: Status,
    counted: u64,
    since_ns: u64,
    has_looked_around: bool,
}

impl Live {
    /// Follows the log for viewers until `stop`.
    pub(crate) fn follow(&self, stop: &AtomicBool) {
        let mut following: Option<Following> = None;
        while !stop.load(Relaxed) {
            let shared = self.viewers.lock();
            if shared.viewers.is_empty() {
                following = None;
                drop(self.viewers.wait(shared, LOOK_NS));
                continue;
            }
            let changes = shared.changes;
            drop(shared);
            let begun_ns = clock::monotonic_ns();
            let looked = look(&mut following, &self.path, &self.viewers, changes);
            let status = match looked {
                Ok(status) => status,
                Err(fault) => {
                    following = None;
                    Status { fault: Some(fault), ..Status::default() }
                }
            };
            self.viewers.have_looked(changes, status);
            let took_ns = clock::monotonic_ns().saturating_sub(begun_ns);
            clock::sleep_ns(LOOK_NS.saturating_sub(took_ns).max(took_ns.min(STATUS_NS)));
        }
    }
}

fn look(
    following: &mut Option<Following>,
    path: &Path,
    viewers: &Viewers,
    changes: u64,
) -> Result<Status, String> {
    let one = match following {
        Some(one) => one,
        None => following.insert(Following::begin(path).map_err(|error| error.to_string())?),
    };
    one.step(viewers, changes).map_err(|error| error.to_string())?;
    Ok(one.status.clone())
}

impl Following {
    fn begin(path: &Path) -> baro_store::Result<Self> {
        let store = Store::open(path)?;
        let (place, none) = (store.end()?, Selection::named::<&str>(store.catalog(), &[])?);
        Ok(Following {
            store,
            place,
            selection: none,
            to: Vec::new(),
            changes: 0,
            status: Status::default(),
            counted: 0,
            since_ns: clock::monotonic_ns(),
            has_looked_around: false,
        })
    }

    fn step(&mut self, viewers: &Viewers, changes: u64) -> baro_store::Result<()> {
        self.store.refresh()?;
        if self.changes != changes {
            self.choose(&viewers.lock())?;
            self.changes = changes;
        }
        let (selection, to) = (&self.selection, &self.to);
        let (status, counted) = (&mut self.status, &mut self.counted);
        let mut newest_ns = None;
        let notes = self.store.follow(&mut self.place, |record| {
            count(record, status, counted, &mut newest_ns);
            let mut points = Vec::new();
            selection.unfold(record, |point| {
                if let Some(value) = number(&point.value) {
                    points.push((point.place, point.time_ns, value));
                }
            });
            if !points.is_empty() {
                let mut shared = viewers.lock();
                for (place, time_ns, value) in points {
                    for (viewer, at) in to.get(place).into_iter().flatten() {
                        if let Some(viewer) = shared.viewers.get_mut(viewer) {
                            viewer.take(*at, time_ns, value);
                        }
                    }
                }
            }
            ControlFlow::Continue(())
        })?;
        self.status.recycled += notes.blocks_recycled;
        self.status.damaged += notes.damage.len() as u64;
        let now_ns = clock::realtime_ns();
        if let Some(newest_ns) = newest_ns {
            self.status.delay_ns = Some(now_ns.saturating_sub(newest_ns));
        }
        self.look_around();
        Ok(())
    }

    /// What any viewer looks at, and where it goes.
    fn choose(&mut self, shared: &Shared) -> baro_store::Result<()> {
        let mut names: Vec<&str> =
            shared.viewers.values().flat_map(|viewer| &viewer.names).map(String::as_str).collect();
        names.sort_unstable();
        names.dedup();
        self.selection = Selection::named(self.store.catalog(), &names)?;
        self.to = vec![To::new(); self.selection.columns().len()];
        for (id, viewer) in &shared.viewers {
            let Ok(chosen) = Chosen::of(&self.store, &viewer.names) else { continue };
            let parts = [&chosen.series, &chosen.fields].into_iter().zip(&chosen.places);
            let columns = parts.flat_map(|(part, places)| part.columns().iter().zip(places));
            for (column, at) in columns {
                let place = self.selection.columns().iter().position(|one| one == column);
                if let Some(to) = place.and_then(|place| self.to.get_mut(place)) {
                    to.push((*id, *at));
                }
            }
        }
        Ok(())
    }

    /// Once a second: rates, and what is told of the recorder.
    fn look_around(&mut self) {
        let now_ns = clock::monotonic_ns();
        let took_ns = now_ns.saturating_sub(self.since_ns);
        if took_ns >= STATUS_NS {
            self.status.rate = self.counted as f64 / (took_ns as f64 / 1e9);
            (self.counted, self.since_ns) = (0, now_ns);
        } else if self.has_looked_around {
            return;
        }
        self.has_looked_around = true;
        let path = self.store.path();
        let holder = StoreLock::holder_at(path, Role::Recording).ok().flatten();
        self.status.recorder = holder.map(|holder| holder.pid.unwrap_or(0));
        (self.status.waiting_bytes, self.status.ring_bytes) =
            waiting_at(path, self.store.identity().store);
        self.status.disk_pressure = disk_pressure();
    }
}

fn count(
    record: &RecordRef<'_>,
    status: &mut Status,
    counted: &mut u64,
    newest_ns: &mut Option<i64>,
) {
    match record.kind {
        Kind::Gap => status.lost += Gap::decode(record.payload).map_or(0, |gap| gap.lost()),
        Kind::Samples => {
            *counted += record.samples().map_or(0, |samples| samples.len() as u64);
            *newest_ns = (*newest_ns).max(Some(record.time_ns));
        }
        Kind::Frame | Kind::Text => {
            *counted += 1;
            *newest_ns = (*newest_ns).max(Some(record.time_ns));
        }
        Kind::Clock | Kind::Declare | Kind::Moved => {}
    }
}

fn number(value: &Datum<'_>) -> Option<f64> {
    match value {
        Datum::Float(value) => Some(*value),
        Datum::Integer(value) => Some(*value as f64),
        Datum::Unsigned(value) => Some(*value as f64),
        Datum::Boolean(value) => Some(f64::from(u8::from(*value))),
        Datum::Text(_) | Datum::Frame(_) => None,
    }
}
