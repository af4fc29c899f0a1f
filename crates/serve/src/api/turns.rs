//! Whose turn it is to have the store: one query at a time, so that many at once take the memory of one.
//!
//! The next turn goes to the address that has had none for longest, and of one address to the query that has
//! waited longest. So whoever asks a hundred things at once waits for himself, and others wait for one of them.
//!
//! Invariant: each waiting address has a turn before any other has two. Held by
//! `an_address_that_asks_much_waits_for_itself`.

use baro_sys::clock;
use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Addresses that are remembered; more of them count as new.
const REMEMBERED_MAX: usize = 4_096;

type Who = Option<IpAddr>;

#[derive(Debug, Default)]
struct Queue {
    is_taken: bool,
    /// Those who wait, the first one first.
    waiting: VecDeque<(u64, Who)>,
    next_ticket: u64,
    /// When each address had its last turn, counted in turns.
    last: HashMap<Who, u64>,
    turns: u64,
}

/// Turns, one at a time.
#[derive(Debug, Default)]
pub(super) struct Turns {
    queue: Mutex<Queue>,
    changed: Condvar,
}

/// A turn, until it is dropped.
#[derive(Debug)]
pub(super) struct Turn<'a> {
    turns: &'a Turns,
}

impl Queue {
    /// The ticket of whose turn is next.
    fn next(&self) -> Option<u64> {
        let had = |who: &Who| self.last.get(who).copied().unwrap_or(0);
        let next = self.waiting.iter().min_by_key(|(ticket, who)| (had(who), *ticket));
        next.map(|(ticket, _)| *ticket)
    }
}

impl Turns {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a turn of this address; `None` if there was none until `until_ns`.
    pub(super) fn wait(&self, who: Who, until_ns: u64) -> Option<Turn<'_>> {
        let mut queue = self.queue();
        let ticket = queue.next_ticket;
        queue.next_ticket += 1;
        queue.waiting.push_back((ticket, who));
        loop {
            let is_next = !queue.is_taken && queue.next() == Some(ticket);
            let left_ns = until_ns.saturating_sub(clock::monotonic_ns());
            if is_next || left_ns == 0 {
                queue.waiting.retain(|(waiting, _)| *waiting != ticket);
                if !is_next {
                    // Whoever is next now may have waited for this one.
                    self.changed.notify_all();
                    return None;
                }
                queue.is_taken = true;
                queue.turns += 1;
                if queue.last.len() >= REMEMBERED_MAX {
                    queue.last.clear();
                }
                let turns = queue.turns;
                queue.last.insert(who, turns);
                return Some(Turn { turns: self });
            }
            let wait = self.changed.wait_timeout(queue, Duration::from_nanos(left_ns));
            queue = wait.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.turns.queue().is_taken = false;
        self.turns.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    #[test]
    fn an_address_that_asks_much_waits_for_itself() {
        let turns = Turns::default();
        let who = |last| Some(IpAddr::V4(Ipv4Addr::new(192, 0, 2, last)));
        let first = turns.wait(who(1), u64::MAX);
        let order = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for (count, last) in [1, 1, 1, 2, 2, 3].into_iter().enumerate() {
                let (turns, order) = (&turns, &order);
                scope.spawn(move || {
                    let _turn = turns.wait(who(last), u64::MAX).unwrap();
                    order.lock().unwrap().push(last);
                });
                // They come one after the other.
                while turns.queue().waiting.len() <= count {
                    std::thread::yield_now();
                }
            }
            drop(first);
        });
        assert_eq!(order.into_inner().unwrap(), [2, 3, 1, 2, 1, 1]);
        assert!(turns.queue().waiting.is_empty());
    }

    #[test]
    fn who_waits_too_long_is_told_and_holds_up_nobody() {
        let turns = Turns::default();
        let first = turns.wait(None, u64::MAX);
        assert!(first.is_some() && turns.wait(None, 0).is_none());
        drop(first);
        assert!(turns.queue().waiting.is_empty());
        assert!(turns.wait(None, u64::MAX).is_some());
    }
}
