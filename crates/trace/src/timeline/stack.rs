//! Kernel stacks, each kept once, and the functions that addresses belong to.

use crate::record::Frames;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

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

/// The stacks of a timeline, each in as much memory as it needs.
#[derive(Clone, Debug, Default)]
pub struct Stacks {
    /// Addresses, and whether the outermost are missing.
    stacks: Vec<(Arc<[u64]>, bool)>,
    /// Whole ones, and those that are cut.
    ids: [HashMap<Arc<[u64]>, StackId>; 2],
}

impl Stacks {
    /// Keeps a stack; one that is there already gets the same id.
    pub fn add(&mut self, frames: Frames) -> StackId {
        let ids = &mut self.ids[usize::from(frames.is_cut())];
        if let Some(id) = ids.get(frames.addresses()) {
            return *id;
        }
        let (addresses, id) = (Arc::from(frames.addresses()), StackId(self.stacks.len() as u32));
        ids.insert(Arc::clone(&addresses), id);
        self.stacks.push((addresses, frames.is_cut()));
        id
    }

    /// Whether the outermost functions of a stack are missing: it had more than there was room for.
    #[must_use]
    pub fn is_cut(&self, id: StackId) -> bool {
        self.stacks.get(id.index()).is_some_and(|(_, is_cut)| *is_cut)
    }

    /// Addresses of a stack, the innermost function first.
    #[must_use]
    pub fn get(&self, id: StackId) -> &[u64] {
        self.stacks.get(id.index()).map_or(&[], |(addresses, _)| addresses)
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
        numbered.map(|(index, (addresses, _))| (StackId(index as u32), &**addresses))
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
