//! Which function of a stack tells why there was a wait: the innermost that [`Place`] does not take for
//! one of the scheduler or of locks.
//!
//! Invariant: a place is found for any stack, also for one of functions that tell nothing. Held by
//! `the_innermost_function_that_tells_is_the_place`.

use crate::analyze::show;
use crate::explain::place::Place;
use crate::timeline::{StackId, Stacks, Symbols};
use std::collections::HashMap;

/// Callers of a place that are named.
const CALLERS: usize = 2;
/// Addresses of a stack without names that are shown.
const ADDRESSES: usize = 4;

/// The places of all stacks, by number.
#[derive(Debug)]
pub(super) struct Places<'a> {
    stacks: &'a Stacks,
    symbols: &'a Symbols,
    /// Frames that all stacks begin with.
    shared: usize,
    numbers: HashMap<String, u32>,
    names: Vec<String>,
    of_stack: HashMap<StackId, u32>,
}

impl<'a> Places<'a> {
    pub(super) fn new(stacks: &'a Stacks, symbols: &'a Symbols) -> Self {
        let mut all = stacks.iter().map(|(_, addresses)| addresses);
        let mut shared: &[u64] = all.next().unwrap_or(&[]);
        let first = shared;
        for addresses in all {
            let same = shared.iter().zip(addresses).take_while(|(a, b)| a == b).count();
            shared = shared.get(..same).unwrap_or(&[]);
        }
        // One stack alone shares all of itself.
        let shared = if shared.len() == first.len() { 0 } else { shared.len() };
        Self {
            stacks,
            symbols,
            shared,
            numbers: HashMap::new(),
            names: Vec::new(),
            of_stack: HashMap::new(),
        }
    }

    /// The number of a stack's place.
    pub(super) fn of(&mut self, stack: StackId) -> u32 {
        if let Some(number) = self.of_stack.get(&stack) {
            return *number;
        }
        let name = self.find(stack).1;
        let next = self.names.len() as u32;
        let number = *self.numbers.entry(name.clone()).or_insert(next);
        if number == next {
            self.names.push(name);
        }
        self.of_stack.insert(stack, number);
        number
    }

    /// The name of a place.
    pub(super) fn name(&self, number: u32) -> String {
        self.names.get(number as usize).cloned().unwrap_or_default()
    }

    /// The functions that called a stack's place, the innermost first; none without symbols.
    pub(super) fn callers(&self, stack: StackId) -> Vec<String> {
        let (Some(depth), _) = self.find(stack) else { return Vec::new() };
        let outer = self.stacks.get(stack).iter().skip(depth + 1);
        let mut callers: Vec<String> =
            outer.filter_map(|address| self.symbols.name(*address)).map(show::plain).collect();
        // A part that the compiler has moved out of its function is that function.
        callers.dedup();
        callers.truncate(CALLERS);
        callers
    }

    /// Depth and name of a stack's place; no depth if it is shown by addresses.
    fn find(&self, stack: StackId) -> (Option<usize>, String) {
        let addresses = self.stacks.get(stack);
        let functions: Vec<Option<&str>> =
            addresses.iter().map(|one| self.symbols.name(*one)).collect();
        let named =
            || functions.iter().enumerate().filter_map(|(depth, one)| Some((depth, (*one)?)));
        // What the compiler put behind a name is not told.
        let is = |name: &str, told: &str| name.split('.').next() == Some(told);
        let told = Place::of(functions.iter().copied()).innermost;
        let told = told.and_then(|told| named().find(|(_, name)| is(name, &told)));
        if let Some((depth, name)) = told.or_else(|| named().next_back()) {
            return (Some(depth), show::plain(name));
        }
        let shown = addresses.iter().skip(self.shared).take(ADDRESSES);
        let shown: Vec<String> = shown.map(|one| format!("{one:#x}")).collect();
        (None, shown.join(" < "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Frames;

    #[test]
    fn the_innermost_function_that_tells_is_the_place() {
        let mut symbols = Symbols::default();
        for (begin, name) in [
            (100, "schedule"),
            (200, "io_schedule"),
            (300, "jbd2_log_wait_commit"),
            (400, "ext4_sync_file"),
            (500, "__mutex_lock.constprop.0"),
        ] {
            symbols.add(begin, begin + 50, name);
        }
        let mut stacks = Stacks::default();
        let mut add = |frames: &[u64]| stacks.add(Frames::new(frames.iter().copied()));
        let sync = add(&[101, 202, 303, 404]);
        let again = add(&[101, 303, 999, 404]);
        let mutex = add(&[101, 505, 404]);
        let nothing = add(&[101, 202]);
        let unknown = add(&[101, 777]);
        let none = add(&[]);
        let mut places = Places::new(&stacks, &symbols);
        let place = |places: &mut Places<'_>, stack| {
            let number = places.of(stack);
            places.name(number)
        };
        assert_eq!(place(&mut places, sync), "jbd2_log_wait_commit");
        assert_eq!(places.callers(sync), ["ext4_sync_file"]);
        assert_eq!(places.of(again), places.of(sync));
        assert_eq!(place(&mut places, mutex), "ext4_sync_file");
        assert_eq!(place(&mut places, nothing), "io_schedule");
        assert_eq!(place(&mut places, unknown), "schedule");
        assert_eq!(place(&mut places, none), "");
        let bare = Symbols::default();
        let mut stacks = Stacks::default();
        let one = stacks.add(Frames::new([1, 2, 3]));
        stacks.add(Frames::new([1, 2, 4]));
        let mut places = Places::new(&stacks, &bare);
        assert_eq!(place(&mut places, one), "0x3");
        assert!(places.callers(one).is_empty());
    }
}
