//! Every interleaving of a small ring: a producer of a few records and a writer that looks a few times,
//! with stores that become visible late and out of order, as far as release and acquire allow.
//!
//! What runs here is not the code but its order of loads and stores, written down once more; so the
//! model is also run with these orders exchanged, which it must find wrong.
//! Invariant: what is taken out is what was pushed, in order and whole; what was refused is a gap, once,
//! and nothing else is one.

use std::collections::HashSet;

/// Slots of the ring, records offered, looks of the writer.
const SLOTS: u8 = 2;
const OFFERED: u8 = 4;
const LOOKS: u8 = 4;

// Places in memory; data lies behind them, one place for each slot.
const HEAD: u8 = 0;
const NEXT: u8 = 1;
const TAIL: u8 = 2;
const DATA: u8 = 3;

/// Which order is exchanged.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    None,
    /// The sequence is stored before the head.
    NextFirst,
    /// The head is looked at before the sequence.
    HeadFirst,
    /// The head is stored without release.
    RelaxedHead,
    /// The room is given back before the record is copied.
    EarlyTail,
}

/// A store on its way: place, value, and whether it waits for those before it.
type Store = (u8, u8, bool);

#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    memory: [u8; (DATA + SLOTS) as usize],
    /// Of the producer, and of the writer.
    stores: [Vec<Store>; 2],
    /// Of the producer: where it is in a push, bytes pushed, sequence, where there is no room.
    step: u8,
    head: u8,
    sequence: u8,
    limit: u8,
    refused: u8,
    /// Of the writer: where it is in a look, how many are left, what it saw and how far it came.
    writer_step: u8,
    looks: u8,
    seen: [u8; 2],
    at: u8,
    expected: u8,
    gaps: u8,
    /// Sequences of what the producer pushed, by position.
    pushed: Vec<u8>,
}

impl State {
    fn load(&self, thread: usize, place: u8) -> u8 {
        let own = self.stores[thread].iter().rev().find(|store| store.0 == place);
        own.map_or(self.memory[usize::from(place)], |store| store.1)
    }

    /// What a push does next; false if it is done.
    fn produce(&mut self, fault: Fault) -> bool {
        if self.sequence == OFFERED {
            return false;
        }
        let out = &mut self.stores[0];
        let head = (HEAD, self.head + 1, fault != Fault::RelaxedHead);
        let next = (NEXT, self.sequence + 1, true);
        let (first, second) = if fault == Fault::NextFirst { (next, head) } else { (head, next) };
        match self.step {
            0 if self.head == self.limit => {
                let tail = self.load(0, TAIL);
                self.limit = tail + SLOTS;
                if self.head == self.limit {
                    self.refused += 1;
                    self.sequence += 1;
                    self.stores[0].push(next);
                }
                return true;
            }
            // A value that says which sequence it is, and is never 0.
            0 => out.push((DATA + self.head % SLOTS, self.sequence + 1, false)),
            1 => out.push(first),
            _ => {
                out.push(second);
                self.pushed.push(self.sequence);
                self.head += 1;
                self.sequence += 1;
            }
        }
        self.step = (self.step + 1) % 3;
        true
    }

    /// What a look does next; false if there are none left.
    fn write(&mut self, fault: Fault) -> Result<bool, String> {
        if self.looks == 0 {
            return Ok(false);
        }
        let order = if fault == Fault::HeadFirst { [HEAD, NEXT] } else { [NEXT, HEAD] };
        match self.writer_step {
            step @ 0..2 => {
                let place = order[usize::from(step)];
                self.seen[usize::from(place)] = self.load(1, place);
                self.writer_step += 1;
                if step == 1 && fault == Fault::EarlyTail {
                    self.stores[1].push((TAIL, self.seen[usize::from(HEAD)], true));
                }
            }
            _ if self.at < self.seen[usize::from(HEAD)] => {
                let found = self.load(1, DATA + self.at % SLOTS);
                // The producer's own list is ahead of its stores.
                let pushed =
                    self.pushed.get(usize::from(self.at)).copied().unwrap_or(self.sequence);
                if found != pushed + 1 {
                    return Err(format!("at {} is {found}, not {}", self.at, pushed + 1));
                }
                let Some(gap) = pushed.checked_sub(self.expected) else {
                    return Err(format!("{pushed} comes again behind {}", self.expected));
                };
                self.gaps += gap;
                (self.expected, self.at) = (pushed + 1, self.at + 1);
            }
            _ => {
                let offered = self.seen[usize::from(NEXT)];
                self.gaps += offered.saturating_sub(self.expected);
                self.expected = self.expected.max(offered);
                if self.gaps > self.refused {
                    return Err(format!("{} gaps of {} refused", self.gaps, self.refused));
                }
                self.stores[1].push((TAIL, self.at, true));
                (self.writer_step, self.looks) = (0, self.looks - 1);
            }
        }
        Ok(true)
    }

    /// Each state after one store has become visible.
    fn visible(&self) -> Vec<State> {
        let mut after = Vec::new();
        for thread in 0..2 {
            for (at, store) in self.stores[thread].iter().enumerate() {
                let before = &self.stores[thread][..at];
                let waits = store.2 && at > 0 || before.iter().any(|one| one.0 == store.0);
                if !waits {
                    let mut next = self.clone();
                    next.memory[usize::from(store.0)] = store.1;
                    next.stores[thread].remove(at);
                    after.push(next);
                }
            }
        }
        after
    }
}

/// How many states there are; or the first that is wrong.
fn explore(fault: Fault) -> Result<usize, String> {
    let start = State {
        memory: [0; (DATA + SLOTS) as usize],
        stores: [Vec::new(), Vec::new()],
        step: 0,
        head: 0,
        sequence: 0,
        limit: SLOTS,
        refused: 0,
        writer_step: 0,
        looks: LOOKS,
        seen: [0; 2],
        at: 0,
        expected: 0,
        gaps: 0,
        pushed: Vec::new(),
    };
    let (mut known, mut open) = (HashSet::from([start.clone()]), vec![start]);
    while let Some(state) = open.pop() {
        let mut after = state.visible();
        let mut next = state.clone();
        if next.produce(fault) {
            after.push(next);
        }
        let mut next = state.clone();
        // A last look, when all has been seen by all.
        if after.is_empty() && next.looks == 0 && (next.expected, next.at) != (OFFERED, next.head) {
            next.looks = 1;
        }
        if next.write(fault)? {
            after.push(next);
        }
        if after.is_empty() {
            let whole = state.gaps == state.refused && state.expected == OFFERED;
            if !whole {
                return Err(format!("ends with {} gaps of {}", state.gaps, state.refused));
            }
        }
        open.extend(after.into_iter().filter(|state| known.insert(state.clone())));
    }
    Ok(known.len())
}

#[test]
fn each_order_of_a_small_ring_hands_out_what_was_pushed_and_counts_the_rest() {
    let states = explore(Fault::None).unwrap();
    assert!(states > 10_000, "{states}");
}

#[test]
fn the_model_finds_each_order_that_would_be_wrong() {
    for fault in [Fault::NextFirst, Fault::HeadFirst, Fault::RelaxedHead, Fault::EarlyTail] {
        assert!(explore(fault).is_err(), "{}", fault as u8);
    }
}
