//! What is promised by now, shared by the threads of the load: each notes what it was promised, and
//! one writes it down.

use crate::statement::{Slot, Statement};
use baro_sys::clock;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// When which sequence was pushed, boottime: before the push, and after it.
pub(super) type History = Arc<Mutex<VecDeque<(i64, i64, u64)>>>;

/// Complaints that are kept.
const COMPLAINTS_MAX: usize = 20;

/// What is promised by now, shared by the threads of the load.
#[derive(Debug)]
pub struct Told {
    statement: Mutex<Statement>,
    /// Number of the last statement whose write has returned, plus one.
    written: AtomicU64,
    /// Statements cannot be written any more.
    ended: AtomicBool,
    complaints: Mutex<Vec<String>>,
    histories: [History; 2],
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Told {
    pub(super) fn new(statement: Statement) -> Self {
        Told {
            statement: Mutex::new(statement),
            written: AtomicU64::new(0),
            ended: AtomicBool::new(false),
            complaints: Mutex::new(Vec::new()),
            histories: Default::default(),
        }
    }

    /// What is promised now.
    #[must_use]
    pub fn statement(&self) -> Statement {
        lock(&self.statement).clone()
    }

    pub(super) fn change<T>(&self, change: impl FnOnce(&mut Statement) -> T) -> T {
        change(&mut lock(&self.statement))
    }

    pub(super) fn change_slot(&self, slot: usize, change: impl FnOnce(&mut Slot)) {
        self.change(|statement| statement.slots.get_mut(slot).map(change));
    }

    /// The next statement, with a number of its own.
    pub(super) fn next(&self) -> Statement {
        self.change(|statement| {
            statement.count();
            statement.clone()
        })
    }

    /// This statement has been written.
    pub(super) fn wrote(&self, statement: &Statement) {
        self.written.store(statement.number() + 1, Ordering::Release);
    }

    /// No further statement is going to be written.
    pub(super) fn end(&self) {
        self.ended.store(true, Ordering::Release);
    }

    /// Takes something back that statements say, and waits until one has been written that does not
    /// say it; false if none will be.
    pub(super) fn take_back(&self, change: impl FnOnce(&mut Statement)) -> bool {
        let number = self.change(|statement| {
            change(statement);
            statement.number()
        });
        // The statement of this number may have been taken before the change.
        while self.written.load(Ordering::Acquire) <= number + 1 {
            if self.ended.load(Ordering::Acquire) {
                return false;
            }
            clock::sleep_ns(1_000_000);
        }
        true
    }

    /// What a producer has pushed lately, if somebody pins.
    pub(super) fn history(&self, slot: usize) -> History {
        self.histories.get(slot).map(Arc::clone).unwrap_or_default()
    }

    pub(super) fn complain(&self, what: String) {
        let mut complaints = lock(&self.complaints);
        if complaints.len() < COMPLAINTS_MAX && !complaints.contains(&what) {
            complaints.push(what);
        }
    }

    /// What did not go as it should.
    #[must_use]
    pub fn complaints(&self) -> Vec<String> {
        lock(&self.complaints).clone()
    }
}
