//! Lanes: rings of the recorder, each with the names that were met on it. One request at a time has a lane;
//! who waits for one waits for so long at most.
//!
//! When the recorder ends, a lane gives its ring back and looks for another: the next recorder takes over
//! what the ring holds, and offers rings of its own. Until then there is none, and requests are told so.
//!
//! Invariant: a request is pushed into one ring, or none of it is acknowledged. Held by `tests/http/kept.rs`.

use crate::quota::Quota;
use baro_ingest::{Intake, KeyMaker, Manner, Room, SharedKnown, Target};
use baro_recorder::{RingView, Trouble};
use baro_sys::clock;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Between two looks for a ring while there is none.
const AGAIN_NS: u64 = 300_000_000;

/// Why there is no lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NoLane {
    /// Nobody records, or no ring is free: why.
    NoRing(String),
    /// Others have had it for too long.
    Busy,
}

#[derive(Debug, Default)]
struct State {
    /// `None` while a request has it, and without a ring.
    intake: Option<Intake<'static>>,
    view: Option<RingView>,
    names: Option<Names>,
    /// Counts rings.
    generation: u64,
    /// A request has it.
    taken: bool,
    /// Why there is no ring.
    why: String,
    again_ns: u64,
}

/// Names that were met on a ring: what a request's own thread needs to make samples.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    pub(crate) known: SharedKnown,
    pub(crate) maker: KeyMaker,
    /// Of which ring.
    pub(crate) generation: u64,
    /// The longest text that the ring takes.
    pub(crate) text_bytes_max: usize,
}

/// One ring with its names.
#[derive(Debug, Default)]
struct Lane {
    state: Mutex<State>,
    free: Condvar,
}

/// All of them.
#[derive(Debug)]
pub(crate) struct Lanes {
    store: PathBuf,
    rings: Option<PathBuf>,
    pub(crate) quota: Quota,
    lanes: Vec<Lane>,
}

/// A lane that one request has now.
#[derive(Debug)]
pub(crate) struct Held<'a> {
    lane: &'a Lane,
    intake: Option<Intake<'static>>,
    pub(crate) generation: u64,
    pub(crate) view: RingView,
}

impl Lane {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held<'_> {
    /// What takes samples.
    pub(crate) fn intake(&mut self) -> Option<&mut Intake<'static>> {
        self.intake.as_mut()
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        if let Some(intake) = &mut self.intake {
            // Of what was not pushed nothing is left for the next request.
            intake.give_up();
        }
        let mut state = self.lane.lock();
        state.intake = self.intake.take();
        state.taken = false;
        drop(state);
        self.lane.free.notify_one();
    }
}

impl Lanes {
    pub(crate) fn new(store: &Path, rings: Option<&Path>, count: usize, quota: Quota) -> Self {
        let lanes = (0..count.max(1)).map(|_| Lane::default()).collect();
        Lanes { store: store.to_owned(), rings: rings.map(Path::to_owned), quota, lanes }
    }

    /// How many have a ring.
    pub(crate) fn attached(&self) -> usize {
        self.lanes.iter().filter(|lane| lane.lock().view.is_some()).count()
    }

    /// Why one has none.
    pub(crate) fn why(&self) -> Option<String> {
        let without = |lane: &Lane| {
            let state = lane.lock();
            state.view.is_none().then(|| state.why.clone())
        };
        self.lanes.iter().find_map(without)
    }

    /// Why what comes is not recorded, although there is a ring, and whether what is recorded is reused before
    /// it is settled, since nobody settles any more.
    pub(crate) fn trouble(&self) -> (Option<String>, bool) {
        let told: Vec<_> = self.views().iter().map(RingView::report).collect();
        let is_stuck =
            |trouble: &&Trouble| matches!(trouble, Trouble::LogFull | Trouble::Device { .. });
        let stuck = told.iter().map(|ring| &ring.trouble).find(is_stuck);
        (stuck.map(crate::sink::stuck), told.iter().any(|ring| ring.settling_stopped))
    }

    /// The rings, as others see them.
    pub(crate) fn views(&self) -> Vec<RingView> {
        self.lanes.iter().filter_map(|lane| lane.lock().view.clone()).collect()
    }

    /// A lane that has a ring: `wanted` if it has one.
    pub(crate) fn choose(&self, wanted: usize) -> usize {
        let count = self.lanes.len();
        let mut order = (0..count).map(|step| (wanted + step) % count);
        let has_ring =
            |index: &usize| self.lanes.get(*index).is_some_and(|lane| lane.lock().view.is_some());
        order.find(has_ring).unwrap_or(wanted % count)
    }

    /// The names of the lane `index`, whoever has it.
    pub(crate) fn names(&self, index: usize) -> Result<Names, NoLane> {
        let Some(lane) = self.lanes.get(index) else { return Err(NoLane::Busy) };
        let state = lane.lock();
        state.names.clone().ok_or_else(|| NoLane::NoRing(state.why.clone()))
    }

    /// The lane `index`, at most `timeout_ns` from now.
    pub(crate) fn hold(&self, index: usize, timeout_ns: u64) -> Result<Held<'_>, NoLane> {
        let Some(lane) = self.lanes.get(index) else { return Err(NoLane::Busy) };
        let state = lane.lock();
        let timeout = Duration::from_nanos(timeout_ns);
        let waited = lane.free.wait_timeout_while(state, timeout, |state| state.taken);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if state.taken {
            return Err(NoLane::Busy);
        }
        let (Some(intake), Some(view)) = (state.intake.take(), state.view.clone()) else {
            return Err(NoLane::NoRing(state.why.clone()));
        };
        state.taken = true;
        let generation = state.generation;
        Ok(Held { lane, intake: Some(intake), generation, view })
    }

    /// Gives back rings that nobody records, and looks for others. Some times a second; may block for the
    /// catalog of the store. Returns what is to be told.
    pub(crate) fn keep(&self) -> Vec<String> {
        self.lanes.iter().filter_map(|lane| self.keep_one(lane)).collect()
    }

    fn keep_one(&self, lane: &Lane) -> Option<String> {
        let mut state = lane.lock();
        if let Some(view) = &state.view {
            if view.is_recorded() || state.taken {
                return None;
            }
            (state.intake, state.view, state.names) = (None, None, None);
            state.why =
                "the recorder has ended: what was not acknowledged is to be sent again when \
                         another one runs"
                    .to_owned();
            state.again_ns = clock::monotonic_ns().saturating_add(AGAIN_NS);
            return Some(state.why.clone());
        }
        let now_ns = clock::monotonic_ns();
        if now_ns < state.again_ns {
            return None;
        }
        state.again_ns = now_ns.saturating_add(AGAIN_NS);
        // Nobody else attaches this lane: its state may be looked at meanwhile.
        drop(state);
        let attached = self.attach();
        let mut state = lane.lock();
        match attached {
            Ok((mut intake, view)) => {
                state.generation += 1;
                let (known, maker, generation) = (intake.share(), intake.maker(), state.generation);
                let text_bytes_max = intake.record_bytes_max();
                state.names = Some(Names { known, maker, generation, text_bytes_max });
                (state.intake, state.view) = (Some(intake), Some(view));
                state.why.clear();
                Some("attached to a ring of the recorder".to_owned())
            }
            Err(why) if why == state.why => None,
            Err(why) => {
                state.why.clone_from(&why);
                Some(why)
            }
        }
    }

    fn attach(&self) -> Result<(Intake<'static>, RingView), String> {
        let rings = self.rings.as_deref();
        let target = Target::attach_in(&self.store, rings, Room::AtMost(0));
        let target = target.map_err(|error| error.to_string())?;
        let manner = Manner { counts_replaced: false, ..Manner::together() };
        let intake = Intake::new("http", target, manner).map_err(|error| error.to_string())?;
        match intake.view().filter(RingView::is_recorded) {
            Some(view) => Ok((intake, view)),
            None => Err("nobody records into the store: baro record STORE --attach 1".to_owned()),
        }
    }
}
