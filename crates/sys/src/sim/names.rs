//! The names of a simulated disk: what is there now, and what is durable. A file system with a
//! journal makes changes of names durable in their order, all that a sync of the folder covers at
//! the latest; a power cut therefore leaves those up to some point.

use super::{Rng, Survival};
use std::collections::BTreeMap;

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Node {
    /// A file, by its number.
    File(usize),
    Folder,
}

#[derive(Clone, Debug)]
enum Change {
    Add(String, Node),
    Rename(String, String),
    Remove(String),
}

#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    now: BTreeMap<String, Node>,
    durable: BTreeMap<String, Node>,
    /// In order; each with the folder in which it is.
    unsynced: Vec<(String, Change)>,
}

/// The folder of a name; the disk itself is "".
pub(super) fn parent(name: &str) -> &str {
    name.rsplit_once('/').map_or("", |(folder, _)| folder)
}

fn apply(names: &mut BTreeMap<String, Node>, change: &Change) {
    match change {
        Change::Add(name, node) => {
            names.insert(name.clone(), *node);
        }
        Change::Rename(from, to) => {
            if let Some(node) = names.remove(from) {
                names.insert(to.clone(), node);
            }
        }
        Change::Remove(name) => {
            names.remove(name);
        }
    }
}

impl Names {
    pub(super) fn get(&self, name: &str) -> Option<Node> {
        self.now.get(name).copied()
    }

    pub(super) fn has_folder(&self, name: &str) -> bool {
        name.is_empty() || self.get(name) == Some(Node::Folder)
    }

    pub(super) fn list(&self, folder: &str) -> Vec<String> {
        let below = |name: &&String| parent(name) == folder;
        let base = |name: &String| name.rsplit('/').next().unwrap_or(name).to_owned();
        self.now.keys().filter(below).map(base).collect()
    }

    pub(super) fn files(&self) -> Vec<(String, usize)> {
        let file = |(name, node): (&String, &Node)| match node {
            Node::File(id) => Some((name.clone(), *id)),
            Node::Folder => None,
        };
        self.now.iter().filter_map(file).collect()
    }

    pub(super) fn add(&mut self, name: &str, node: Node) {
        self.change(parent(name).to_owned(), Change::Add(name.to_owned(), node));
    }

    pub(super) fn rename(&mut self, from: &str, to: &str) {
        self.change(parent(to).to_owned(), Change::Rename(from.to_owned(), to.to_owned()));
    }

    pub(super) fn remove(&mut self, name: &str) {
        self.change(parent(name).to_owned(), Change::Remove(name.to_owned()));
    }

    fn change(&mut self, folder: String, change: Change) {
        apply(&mut self.now, &change);
        self.unsynced.push((folder, change));
    }

    pub(super) fn sync(&mut self, folder: &str) {
        let durable = &mut self.durable;
        self.unsynced.retain(|(of, change)| {
            let synced = of == folder;
            if synced {
                apply(durable, change);
            }
            !synced
        });
    }

    pub(super) fn crash(&mut self, rng: &mut Rng, survival: Survival) {
        let count = self.unsynced.len();
        let keep = match survival {
            Survival::None => 0,
            Survival::All => count,
            Survival::Some | Survival::Torn => rng.below(count as u64 + 1) as usize,
        };
        for (_, change) in self.unsynced.drain(..).take(keep) {
            apply(&mut self.durable, &change);
        }
        // A file whose folder did not survive is not to be found.
        let folders = self.durable.clone();
        self.durable.retain(|name, _| {
            parent(name).is_empty() || folders.get(parent(name)) == Some(&Node::Folder)
        });
        self.now.clone_from(&self.durable);
    }
}
