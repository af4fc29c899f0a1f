//! Pieces of work on the processors there are, handed out in their order.
//!
//! The caller's thread works too and hands out what is ready between two pieces, so that in the
//! usual case nobody sleeps and nobody is woken: on a machine of two processors that costs more than
//! a piece. Nobody runs ahead by more than a window, which bounds memory.
//!
//! Invariant: each piece is handed out once, in order, whoever did it; a break or a panic ends all.
//! Held by the tests below.

use baro_sys::schedule;
use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Pieces for each worker that may be done and not handed out.
const WINDOW: usize = 4;

/// Most threads of a query.
const WORKERS_MAX: usize = 16;

/// Threads that a query may use: the processors that its process may.
pub(super) fn workers() -> usize {
    schedule::allowed_cpus().len().clamp(1, WORKERS_MAX)
}

struct Shared<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
    pieces: usize,
    window: usize,
}

struct State<T> {
    /// The next piece that nobody has begun.
    next: usize,
    /// The next piece to be handed out.
    due: usize,
    /// From `due` on: what is done.
    done: VecDeque<Option<T>>,
    /// Handed out; their memory may be used again.
    spare: Vec<T>,
    /// Threads that wait for a change.
    waiting: usize,
    ended: bool,
}

impl<T> Shared<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, mut state: MutexGuard<'a, State<T>>) -> MutexGuard<'a, State<T>> {
        state.waiting += 1;
        let mut state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        state.waiting -= 1;
        state
    }

    /// Lets go, and wakes those who wait.
    fn release(&self, state: MutexGuard<'_, State<T>>) {
        let wakes = state.waiting > 0;
        drop(state);
        if wakes {
            self.changed.notify_all();
        }
    }

    /// Begins a piece, if there is one that may be begun.
    fn begin(&self, state: &mut State<T>) -> Option<(usize, Option<T>)> {
        let at = state.next;
        if state.ended || at >= self.pieces || at >= state.due + self.window {
            return None;
        }
        state.next += 1;
        Some((at, state.spare.pop()))
    }

    fn finish(&self, at: usize, done: T) {
        let mut state = self.lock();
        let place = at - state.due;
        while state.done.len() <= place {
            state.done.push_back(None);
        }
        if let Some(slot) = state.done.get_mut(place) {
            *slot = Some(done);
        }
        self.release(state);
    }
}

/// Ends all when its thread goes, also by a panic.
struct Ending<'a, T>(&'a Shared<T>, bool);

impl<T> Drop for Ending<'_, T> {
    fn drop(&mut self) {
        if self.1 || std::thread::panicking() {
            let mut state = self.0.lock();
            state.ended = true;
            self.0.release(state);
        }
    }
}

/// Does `pieces` pieces of work with `workers` threads, the caller's among them, and calls `each`
/// with each result in order until it breaks. A worker has memory of its own from `memory`, and gets
/// a result that has been handed out, to use its memory again; the first of them come from `spare`,
/// and there they are in the end. Returns whether all was done: not if a worker panicked.
pub(super) fn in_order<M, T: Send>(
    pieces: usize,
    workers: usize,
    memory: impl Fn() -> M + Sync,
    work: impl Fn(&mut M, usize, Option<T>) -> T + Sync,
    spare: &mut Vec<T>,
    mut each: impl FnMut(&mut T) -> ControlFlow<()>,
) -> bool {
    let workers = workers.clamp(1, pieces.max(1));
    let state = State {
        next: 0,
        due: 0,
        done: VecDeque::new(),
        spare: std::mem::take(spare),
        waiting: 0,
        ended: false,
    };
    let (state, changed) = (Mutex::new(state), Condvar::new());
    let shared = Shared { state, changed, pieces, window: WINDOW * workers };
    let all = std::thread::scope(|scope| {
        let (shared, memory, work) = (&shared, &memory, &work);
        for _ in 1..workers {
            scope.spawn(move || {
                let _ending = Ending(shared, false);
                let mut own = memory();
                let mut state = shared.lock();
                while !state.ended && state.next < shared.pieces {
                    let Some((at, spare)) = shared.begin(&mut state) else {
                        state = shared.wait(state);
                        continue;
                    };
                    drop(state);
                    shared.finish(at, work(&mut own, at, spare));
                    state = shared.lock();
                }
            });
        }
        let _ending = Ending(shared, true);
        let mut own = memory();
        let mut state = shared.lock();
        loop {
            if let Some(Some(_)) = state.done.front() {
                let Some(Some(mut done)) = state.done.pop_front() else { continue };
                // Its place is free as soon as it is out of the way.
                state.due += 1;
                shared.release(state);
                let flow = each(&mut done);
                state = shared.lock();
                state.spare.push(done);
                if flow.is_break() {
                    return true;
                }
            } else if state.due == pieces {
                return true;
            } else if state.ended {
                return false;
            } else if let Some((at, spare)) = shared.begin(&mut state) {
                drop(state);
                shared.finish(at, work(&mut own, at, spare));
                state = shared.lock();
            } else {
                state = shared.wait(state);
            }
        }
    });
    std::mem::swap(spare, &mut shared.lock().spare);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn pieces_come_in_order_whoever_does_them() {
        for (pieces, workers) in [(0, 3), (1, 1), (1, 4), (100, 1), (1000, 2), (1000, 7)] {
            let (mut seen, begun) = (0, AtomicUsize::new(0));
            let square = |begun: &mut usize, at: usize, spare: Option<Vec<usize>>| {
                *begun += 1;
                let mut piece = spare.unwrap_or_default();
                piece.clear();
                // Some take longer than others.
                piece.extend((0..at % 97).map(|n| n * at));
                piece
            };
            let all = in_order(
                pieces,
                workers,
                || begun.fetch_add(1, Ordering::Relaxed),
                square,
                &mut Vec::new(),
                |piece| {
                    assert_eq!(piece.len(), seen % 97);
                    assert!(piece.iter().enumerate().all(|(n, value)| *value == n * seen));
                    seen += 1;
                    ControlFlow::Continue(())
                },
            );
            assert!(all && seen == pieces);
        }
    }

    #[test]
    fn a_break_ends_all_and_the_window_bounds_what_is_done() {
        let done = AtomicUsize::new(0);
        let work = |(): &mut (), at: usize, _| {
            done.fetch_add(1, Ordering::Relaxed);
            at
        };
        let mut seen = 0;
        let all = in_order(
            1 << 30,
            3,
            || (),
            work,
            &mut Vec::new(),
            |at: &mut usize| {
                seen = *at;
                if *at == 50 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            },
        );
        assert!(all && seen == 50);
        assert!(done.load(Ordering::Relaxed) <= 51 + 3 * WINDOW + 3);
    }

    #[test]
    fn a_worker_that_panics_ends_all() {
        let caller = std::thread::current().id();
        let work = |(): &mut (), at: usize, _| {
            assert!(at < 20 || std::thread::current().id() == caller, "on purpose");
            baro_sys::clock::sleep_ns(1_000_000);
            at
        };
        let go_on = |_: &mut usize| ControlFlow::Continue(());
        let run = || in_order(1000, 4, || (), work, &mut Vec::new(), go_on);
        // The scope passes the panic on, after all have ended.
        assert!(std::panic::catch_unwind(run).is_err());
    }
}
