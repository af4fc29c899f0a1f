//! The end of a recording: which sources have ended, and the wait for the room that the last of them needs.
//!
//! Invariant: what a source pushed before it ended is durable, if settling can make room for it. Held by
//! `the_last_records_of_a_source_wait_for_settling` (`tests/record_lost.rs`).

use baro_ingest::Fed;
use baro_recorder::{Recorder, Status, Trouble};
use baro_sys::{clock, termination};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::Thread;

/// Settling that makes no progress for this long is not waited for.
const SETTLING_PATIENCE_NS: u64 = 20_000_000_000;
/// The same of another process that settling waits for, once a signal has asked to end; and of a log in
/// which nothing is to be settled.
const SHORT_PATIENCE_NS: u64 = 2_000_000_000;
/// The records of the rings are made durable in turns of this length.
const TURN_NS: u64 = 10_000_000;

/// Counts the sources that have ended, and wakes the thread that waits for them.
#[derive(Debug)]
pub(super) struct Ends {
    ended: AtomicUsize,
    waiting: Thread,
}

/// One source: it has ended when this is dropped, by a panic too.
pub(super) struct One<'a>(&'a Ends);

impl Ends {
    /// The calling thread waits, by parking.
    pub(super) fn here() -> Self {
        Ends { ended: AtomicUsize::new(0), waiting: std::thread::current() }
    }

    pub(super) fn one(&self) -> One<'_> {
        One(self)
    }

    pub(super) fn count(&self) -> usize {
        self.ended.load(Ordering::Acquire)
    }
}

impl Drop for One<'_> {
    fn drop(&mut self) {
        self.0.ended.fetch_add(1, Ordering::Release);
        self.0.waiting.unpark();
    }
}

/// What the rings hold may need segments that settling is still to give free: it hears nothing of the
/// recorder once that closes. For another process it is waited until a signal comes; `tick` says whether
/// that is so. Nothing that is durable makes room: what finds none stays in the rings, is told, and is taken
/// over by the next recorder.
pub(super) fn await_settling(recorder: &Recorder, fed: &[Fed], mut tick: impl FnMut() -> bool) {
    let mut targets: BTreeMap<u64, u64> =
        fed.iter().map(|fed| (fed.producer, fed.records)).collect();
    let mut seen = (0, clock::monotonic_ns());
    let mut asked_ns = None;
    while matches!(recorder.flush(TURN_NS), Ok(1..)) {
        let status = recorder.status();
        if !is_left(&mut targets, &status) || status.stopped || !may_go_on(&status.trouble) {
            return;
        }
        let now_ns = clock::monotonic_ns();
        if status.durable_blocks != seen.0 {
            seen = (status.durable_blocks, now_ns);
        }
        let for_another = tick() && status.segments_unsettled > 0;
        let still_ns = now_ns - seen.1;
        if termination::requested().is_some() {
            asked_ns.get_or_insert(now_ns);
        }
        let asked = asked_ns.map(|asked_ns| still_ns.min(now_ns - asked_ns));
        let over = match (for_another, asked) {
            (true, Some(still_ns)) => still_ns > SHORT_PATIENCE_NS,
            (true, None) => false,
            (false, _) if status.segments_unsettled > 0 => still_ns > SETTLING_PATIENCE_NS,
            (false, _) => still_ns > SHORT_PATIENCE_NS,
        };
        if over {
            return;
        }
    }
}

/// Whether a ring holds what is not durable yet: of a source that has ended all, of others what they had
/// pushed when this was first seen, as they may go on. The writer may not have looked at the rings since
/// the source ended, or not at all yet; so its records count, whatever `status` says.
fn is_left(targets: &mut BTreeMap<u64, u64>, status: &Status) -> bool {
    for ring in &status.rings {
        targets.entry(ring.producer).or_insert(ring.offered);
    }
    targets.iter().any(|(producer, target)| {
        let ring = status.rings.iter().find(|ring| ring.producer == *producer);
        ring.is_none_or(|ring| ring.durable < *target)
    })
}

/// Whether the writer goes on once settling does, or by itself.
fn may_go_on(trouble: &Trouble) -> bool {
    match trouble {
        Trouble::None | Trouble::Growing => true,
        Trouble::Held { unsettled, .. } => *unsettled > 0,
        Trouble::LogFull | Trouble::Device { .. } => false,
    }
}
