//! Kernel stacks, each kept once, and the functions that addresses belong to.

use crate::record::Frames;
use std::collections::{BTreeMap, HashMap};

/// One of the stacks of a timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StackId(u32);

impl StackId {
    /// Its place among all stacks.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The stacks of a timeline.
#[derive(Clone, Debug, Default)]
pub struct Stacks {
    stacks: Vec<Frames>,
    ids: HashMap<Frames, StackId>,
}

impl Stacks {
    /// Keeps a stack; one that is there already gets the same id.
    pub fn add(&mut self, frames: Frames) -> StackId {
        *self.ids.entry(frames).or_insert_with(|| {
            self.stacks.push(frames);
            StackId(self.stacks.len() as u32 - 1)
        })
    }

    /// Addresses of a stack, the innermost function first.
    #[must_use]
    pub fn get(&self, id: StackId) -> &[u64] {
        self.stacks.get(id.0 as usize).map_or(&[], Frames::addresses)
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.stacks.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.stacks.is_empty()
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (StackId, &[u64])> {
        let numbered = self.stacks.iter().enumerate();
        numbered.map(|(index, frames)| (StackId(index as u32), frames.addresses()))
    }
}

/// Functions of the traced kernel, by address.
#[derive(Clone, Debug, Default)]
pub struct Symbols {
    /// Begin -> (end, name).
    functions: BTreeMap<u64, (u64, String)>,
}

impl Symbols {
    /// Adds a function that lies from `begin` up to `end`.
    pub fn add(&mut self, begin: u64, end: u64, name: impl Into<String>) {
        self.functions.insert(begin, (end, name.into()));
    }

    /// The function at an address; None if it is not known.
    #[must_use]
    pub fn name(&self, address: u64) -> Option<&str> {
        let (_, (end, name)) = self.functions.range(..=address).next_back()?;
        (address < *end).then_some(name.as_str())
    }

    /// How many are known.
    #[must_use]
    pub fn len(&self) -> usize {
        self.functions.len()
    }

    /// Whether none is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }

    /// All functions: (begin, end, name).
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64, &str)> {
        self.functions.iter().map(|(begin, (end, name))| (*begin, *end, name.as_str()))
    }
}
