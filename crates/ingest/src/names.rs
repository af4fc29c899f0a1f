//! The series of an input: from the name that each sample bears to the id and type under which the
//! store knows it.
//!
//! A name is looked up once. New ones are kept until they are declared, and one that could not be
//! declared is forgotten, so that a later sample tries again and names that nobody may declare fill
//! no memory. Names that differ in their labels' order alone are one series.
//!
//! Some forms have two names for a series, which are joined to one; `m` with `a_b` and `m_a` with `b` are
//! both `m_a_b`. The store has that name alone, so here it is remembered of which two it is, and others
//! are refused. Held by `other_names_that_come_to_the_same_are_refused` (`tests/names.rs`).

use baro_ondisk::{NameParser, Type};
use baro_sources::Joint;
use std::collections::HashMap;

/// Names that are remembered for series that have another, canonical one.
const ALIASES_MAX: usize = 65_536;

/// How much of a name's part an error quotes.
const PART_CHARS_MAX: usize = 60;

/// A series of the input.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    pub(crate) kind: Type,
    /// `None` until it is declared, or if it could not be.
    pub(crate) id: Option<u32>,
    /// Of which two names it was put together, as soon as that is known.
    joint: Option<Joint>,
}

/// A series that could not be declared: its name, and the recorder's reason.
#[derive(Debug)]
pub(crate) struct Undeclared {
    pub(crate) name: String,
    pub(crate) said: String,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Names {
    places: HashMap<String, u32>,
    slots: Vec<Slot>,
    /// Places of those that were declared when they were met, by id.
    by_id: HashMap<u32, u32>,
    parser: NameParser,
    /// Those to be declared, with their places.
    new: Vec<(u32, String)>,
    /// Places of those whose names were first put together in this line.
    joined: Vec<u32>,
}

impl Names {
    /// Place and type of a series that has been met.
    pub(crate) fn get(&self, name: &str) -> Option<(u32, Type)> {
        let place = *self.places.get(name)?;
        Some((place, self.slots.get(place as usize)?.kind))
    }

    /// The id of a series that is declared.
    pub(crate) fn id(&self, place: u32) -> Option<u32> {
        self.slots.get(place as usize)?.id
    }

    /// Adds one that is declared.
    pub(crate) fn add(&mut self, name: &str, id: u32, kind: Type) -> u32 {
        match self.by_id.get(&id).copied() {
            Some(place) => {
                self.remember(name, place);
                place
            }
            None => {
                let place = self.insert(name, Slot { kind, id: Some(id), joint: None });
                self.by_id.insert(id, place);
                place
            }
        }
    }

    /// One that has been met by its canonical name.
    pub(crate) fn get_canonical(&mut self, name: &str) -> Option<(u32, Type)> {
        let canonical = self.parser.canonical(name);
        if canonical == name {
            return None;
        }
        let place = *self.places.get(canonical)?;
        let Slot { kind, id, .. } = *self.slots.get(place as usize)?;
        // One that cannot be declared is forgotten by the one name it has.
        if id.is_some() {
            self.remember(name, place);
        }
        Some((place, kind))
    }

    /// The same series by another name. Of these there is no end: labels have many orders.
    fn remember(&mut self, name: &str, place: u32) {
        if self.places.len() < self.slots.len() + ALIASES_MAX {
            self.places.insert(name.to_owned(), place);
        }
    }

    /// Adds one that is to be declared.
    pub(crate) fn add_new(&mut self, name: &str, kind: Type) -> u32 {
        let name = self.parser.canonical(name).to_owned();
        let place = self.insert(&name, Slot { kind, id: None, joint: None });
        self.new.push((place, name));
        place
    }

    /// Takes a series to be of the two names that meet there; the error is where others of it do.
    pub(crate) fn join(&mut self, place: u32, joint: Joint) -> Result<(), Joint> {
        let Some(slot) = self.slots.get_mut(place as usize) else { return Ok(()) };
        match slot.joint {
            Some(first) if first != joint => return Err(first),
            Some(_) => {}
            None => {
                slot.joint = Some(joint);
                self.joined.push(place);
            }
        }
        Ok(())
    }

    /// Another line begins; `taken`: the one before is.
    pub(crate) fn end_line(&mut self, taken: bool) {
        for place in self.joined.drain(..).filter(|_| !taken) {
            if let Some(slot) = self.slots.get_mut(place as usize) {
                slot.joint = None;
            }
        }
    }

    /// The two names that a series is put together of, for an error.
    pub(crate) fn parts(&mut self, name: &str, joint: Joint) -> String {
        self.parser.parse(name);
        let metric = self.parser.metric(name);
        let short = |part: &str| part.chars().take(PART_CHARS_MAX).collect::<String>();
        let Some((first, rest)) = metric.split_at_checked(joint.first_bytes as usize) else {
            return format!("{:?} alone", short(&metric));
        };
        let second = short(rest.strip_prefix('_').unwrap_or(rest));
        let tag = if joint.repeated { " and a tag __name__" } else { "" };
        format!("{:?} with {second:?}{tag}", short(first))
    }

    /// The form of a name in which it is declared.
    pub(crate) fn canonical<'n>(&'n mut self, name: &'n str) -> &'n str {
        self.parser.canonical(name)
    }

    /// How many series have been met.
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    /// How many are to be declared.
    pub(crate) fn new_len(&self) -> usize {
        self.new.len()
    }

    /// Forgets those that are to be declared but for the first `keep`. Returns how many these were.
    pub(crate) fn forget_new(&mut self, keep: usize) -> usize {
        let forgotten = self.new.split_off(keep.min(self.new.len()));
        for (place, name) in forgotten.iter().rev() {
            self.places.remove(name);
            if *place as usize + 1 == self.slots.len() {
                self.slots.pop();
            }
        }
        forgotten.len()
    }

    /// Whether any is to be declared.
    pub(crate) fn has_new(&self) -> bool {
        !self.new.is_empty()
    }

    fn insert(&mut self, name: &str, slot: Slot) -> u32 {
        let place = self.slots.len() as u32;
        self.slots.push(slot);
        self.places.insert(name.to_owned(), place);
        place
    }

    /// Those that are to be declared, with name, type and unit.
    pub(crate) fn wanted(&self) -> Vec<(&str, Type, &str)> {
        let kind = |place: u32| Some(self.slots.get(place as usize)?.kind);
        let new = self.new.iter();
        new.filter_map(|(place, name)| Some((name.as_str(), kind(*place)?, ""))).collect()
    }

    /// Takes what became of [`Names::wanted`], in its order: ids, or reasons. Returns those that
    /// could not be declared, by their places, which are nobody's from now on.
    pub(crate) fn declared(
        &mut self,
        found: Vec<std::result::Result<u32, String>>,
    ) -> HashMap<u32, Undeclared> {
        let mut undeclared = HashMap::new();
        for ((place, name), found) in std::mem::take(&mut self.new).into_iter().zip(found) {
            match (found, self.slots.get_mut(place as usize)) {
                (Ok(id), Some(slot)) => {
                    slot.id = Some(id);
                    self.by_id.entry(id).or_insert(place);
                }
                (Ok(_), None) => {}
                (Err(said), _) => {
                    self.places.remove(&name);
                    undeclared.insert(place, Undeclared { name, said });
                }
            }
        }
        while self.slots.last().is_some_and(|slot| slot.id.is_none()) {
            self.slots.pop();
        }
        undeclared
    }
}
