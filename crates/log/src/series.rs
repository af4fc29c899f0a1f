//! Declarations in memory, for millions of them: the bytes of all names in pieces, twelve bytes
//! for each beside them, and a table of `u32` in which a name is found. No allocation for a name
//! of its own; about 20 bytes a series beside its name (`memory_is_counted_and_small`).
//!
//! Invariant: a name is there once and an id is there once; what was first stays. Held by the
//! tests below, against a model.

use crate::{Error, Result};
use baro_ondisk::limits::{NAME_BYTES_MAX, UNIT_NAME_BYTES_MAX};
use baro_ondisk::{Declaration, Joint, Layout, Type};
use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

/// Bytes of a piece of names; a name lies in one.
const PIECE_BYTES: usize = 64 << 10;
/// Entries of a piece.
const PIECE_ENTRIES: usize = 4096;
/// Most different units: what 19 bits count.
const UNITS_MAX: usize = 1 << 19;
/// Most names for which room is made before they come: a hint may be wrong.
const EXPECTED_MAX: usize = 1 << 22;
/// A slot that holds nothing.
const EMPTY: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Entry {
    /// Place of the name: piece and offset in it.
    place: u32,
    id: u32,
    /// Bits 0-9 bytes of the name less one, 10-12 type, 13-31 unit.
    rest: u32,
}

/// Declarations in memory, found by name, by id or by number: each name and each id once.
#[derive(Debug, Default)]
pub struct SeriesTable {
    names: Vec<Vec<u8>>,
    entries: Vec<Vec<Entry>>,
    count: usize,
    /// Number of an entry in as many low bits as the table needs, bits of the hash above them.
    slots: Vec<u32>,
    hasher: RandomState,
    /// Units, each with the joint of its names: most names of a store share a few of these.
    units: Vec<(Arc<str>, Option<Joint>)>,
    unit_numbers: HashMap<Arc<str>, Vec<u32>>,
    /// Of channels that have one, by number of the entry.
    layouts: HashMap<u32, Arc<Layout>>,
    /// From the first id on that is not above all before it.
    by_id: Option<HashMap<u32, u32>>,
    highest_id: u32,
    channels: u32,
    /// Names that are about to come, as far as is known.
    expected: usize,
}

/// What became of a declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inserted {
    /// It is new, and has this number.
    New(usize),
    /// The name is that of this entry already.
    Name(usize),
    /// The id is that of this entry already.
    Id(usize),
}

fn code_of(kind: Type) -> u32 {
    match kind {
        Type::Channel => 5,
        other => other as u32,
    }
}

fn kind_of(code: u32) -> Type {
    match code {
        1 => Type::F64,
        2 => Type::I64,
        3 => Type::Bool,
        4 => Type::Text,
        _ => Type::Channel,
    }
}

impl Entry {
    fn name_bytes(self) -> usize {
        (self.rest & 0x3ff) as usize + 1
    }

    fn kind(self) -> Type {
        kind_of(self.rest >> 10 & 7)
    }

    fn unit(self) -> usize {
        (self.rest >> 13) as usize
    }
}

impl SeriesTable {
    /// Series and channels in it.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Highest id; 0 without entries.
    #[must_use]
    pub fn highest_id(&self) -> u32 {
        self.highest_id
    }

    /// Channels among the entries.
    #[must_use]
    pub fn channels(&self) -> u32 {
        self.channels
    }

    /// Bytes that it has allocated, layouts not counted.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        let names: usize = self.names.iter().map(Vec::capacity).sum();
        let entries: usize = self.entries.iter().map(|piece| piece.capacity() * 12).sum();
        let by_id = self.by_id.as_ref().map_or(0, |ids| ids.capacity() * 9);
        let units: usize = self.units.iter().map(|(unit, _)| unit.len() + 96).sum();
        let heads = (self.names.capacity() + self.entries.capacity()) * 24;
        names + entries + by_id + units + heads + self.slots.capacity() * 4
    }

    fn entry(&self, number: usize) -> Option<Entry> {
        self.entries.get(number / PIECE_ENTRIES)?.get(number % PIECE_ENTRIES).copied()
    }

    fn name_of(&self, entry: Entry) -> &[u8] {
        let place = entry.place as usize;
        let start = place % PIECE_BYTES;
        let piece = self.names.get(place / PIECE_BYTES);
        piece.and_then(|piece| piece.get(start..start + entry.name_bytes())).unwrap_or(&[])
    }

    /// Bytes of the name of entry `number`, for comparing.
    #[must_use]
    pub fn name_bytes(&self, number: usize) -> &[u8] {
        self.entry(number).map_or(&[], |entry| self.name_of(entry))
    }

    /// Entry `number`, counted in the order of insertion.
    #[must_use]
    pub fn get(&self, number: usize) -> Option<Declaration<'_>> {
        let entry = self.entry(number)?;
        let name = str::from_utf8(self.name_of(entry)).ok()?;
        let (unit, joint) =
            self.units.get(entry.unit()).map_or(("", None), |(unit, joint)| (unit, *joint));
        let layout = self.layout(number).map(|layout| Cow::Borrowed(&**layout));
        Some(Declaration { id: entry.id, kind: entry.kind(), name, unit, joint, layout })
    }

    /// The layout of a channel that has one.
    #[must_use]
    pub fn layout(&self, number: usize) -> Option<&Arc<Layout>> {
        if self.layouts.is_empty() {
            return None;
        }
        self.layouts.get(&u32::try_from(number).ok()?)
    }

    /// Whether any channel has a layout.
    #[must_use]
    pub fn has_layouts(&self) -> bool {
        !self.layouts.is_empty()
    }

    /// Id and type of entry `number`.
    #[must_use]
    pub fn id_and_kind(&self, number: usize) -> Option<(u32, Type)> {
        self.entry(number).map(|entry| (entry.id, entry.kind()))
    }

    /// All entries in the order of insertion.
    pub fn iter(&self) -> impl Iterator<Item = Declaration<'_>> {
        (0..self.count).filter_map(|number| self.get(number))
    }

    /// The number of the entry of this name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<usize> {
        self.find_hashed(name.as_bytes(), self.hash(name.as_bytes())).ok()
    }

    /// The number of the entry of this id.
    #[must_use]
    pub fn find_id(&self, id: u32) -> Option<usize> {
        if let Some(ids) = &self.by_id {
            return ids.get(&id).map(|number| *number as usize);
        }
        let at = |number: usize| self.entry(number).map_or(u32::MAX, |entry| entry.id);
        // Most ids are counted from 1.
        let guess = (id as usize).wrapping_sub(1);
        if guess < self.count && at(guess) == id {
            return Some(guess);
        }
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low + (high - low) / 2;
            if at(middle) < id {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        (low < self.count && at(low) == id).then_some(low)
    }

    fn hash(&self, name: &[u8]) -> u32 {
        let hash = self.hasher.hash_one(name);
        (hash ^ hash >> 32) as u32
    }

    /// The number of the entry, or the slot in which it would be.
    fn find_hashed(&self, name: &[u8], hash: u32) -> std::result::Result<usize, usize> {
        let mask = self.slots.len().wrapping_sub(1) as u32;
        if self.slots.is_empty() {
            return Err(0);
        }
        let mut slot = hash & mask;
        loop {
            let found = self.slots.get(slot as usize).copied().unwrap_or(EMPTY);
            if found == EMPTY {
                return Err(slot as usize);
            }
            let number = (found & mask) as usize;
            if found & !mask == hash & !mask
                && self.entry(number).is_some_and(|entry| self.name_of(entry) == name)
            {
                return Ok(number);
            }
            slot = (slot + 1) & mask;
        }
    }

    /// Adds a declaration unless its name or its id is there.
    ///
    /// # Errors
    /// Name or unit is longer than the format allows, or there are more names or units than this
    /// can hold (4 GiB of names, half a million different units).
    pub fn insert(&mut self, new: &Declaration<'_>) -> Result<Inserted> {
        let Declaration { id, kind, name, unit, joint, layout } = new;
        let (id, kind) = (*id, *kind);
        let hash = self.hash(name.as_bytes());
        if let Ok(number) = self.find_hashed(name.as_bytes(), hash) {
            return Ok(Inserted::Name(number));
        }
        if id <= self.highest_id
            && let Some(number) = self.find_id(id)
        {
            return Ok(Inserted::Id(number));
        }
        // At most three quarters full.
        if (self.count + 1) * 4 > self.slots.len() * 3 {
            self.grow();
        }
        let number = self.count;
        let full = |bytes: usize| Error::CatalogFull { bytes: bytes as u64 };
        let bytes = self.names.len() * PIECE_BYTES;
        let too_long = name.is_empty() || name.len() > NAME_BYTES_MAX;
        if too_long || unit.len() > UNIT_NAME_BYTES_MAX || bytes >= u32::MAX as usize - PIECE_BYTES
        {
            return Err(full(bytes));
        }
        let unit = self.unit(unit, *joint).ok_or_else(|| full(bytes))?;
        if self.names.last().is_none_or(|piece| piece.len() + name.len() > PIECE_BYTES) {
            self.names.push(Vec::with_capacity(PIECE_BYTES));
        }
        let piece = self.names.len() - 1;
        let Some(names) = self.names.last_mut() else { return Err(full(bytes)) };
        let place = (piece * PIECE_BYTES + names.len()) as u32;
        names.extend_from_slice(name.as_bytes());
        let rest = (name.len() - 1) as u32 | code_of(kind) << 10 | unit << 13;
        if self.entries.last().is_none_or(|piece| piece.len() == PIECE_ENTRIES) {
            // The first one grows, so that few series take little.
            let first = self.entries.is_empty();
            self.entries.push(Vec::with_capacity(if first { 0 } else { PIECE_ENTRIES }));
        }
        if let Some(entries) = self.entries.last_mut() {
            entries.push(Entry { place, id, rest });
        }
        self.count += 1;
        self.put(hash, number);
        if let Some(layout) = layout {
            self.layouts.insert(number as u32, Arc::new(layout.clone().into_owned()));
        }
        self.channels += u32::from(kind == Type::Channel);
        self.note_id(id, number);
        Ok(Inserted::New(number))
    }

    fn note_id(&mut self, id: u32, number: usize) {
        if id <= self.highest_id && self.by_id.is_none() {
            let ids = (0..number).filter_map(|at| Some((self.entry(at)?.id, at as u32)));
            self.by_id = Some(ids.collect());
        }
        if let Some(ids) = &mut self.by_id {
            ids.insert(id, number as u32);
        }
        self.highest_id = self.highest_id.max(id);
    }

    fn unit(&mut self, text: &str, joint: Option<Joint>) -> Option<u32> {
        // Mostly that of the one before.
        let last = self.count.checked_sub(1).and_then(|number| self.entry(number));
        if let Some(last) = last
            && self
                .units
                .get(last.unit())
                .is_some_and(|known| *known.0 == *text && known.1 == joint)
        {
            return Some(last.unit() as u32);
        }
        let is_it =
            |number: &&u32| self.units.get(**number as usize).is_some_and(|known| known.1 == joint);
        let known = self.unit_numbers.get(text);
        if let Some(number) = known.and_then(|numbers| numbers.iter().find(is_it)) {
            return Some(*number);
        }
        if self.units.len() == UNITS_MAX {
            return None;
        }
        let number = self.units.len() as u32;
        let unit = known.and_then(|numbers| self.units.get(*numbers.first()? as usize));
        let unit = unit.map_or_else(|| Arc::from(text), |(unit, _)| Arc::clone(unit));
        self.units.push((Arc::clone(&unit), joint));
        self.unit_numbers.entry(unit).or_default().push(number);
        Some(number)
    }

    fn put(&mut self, hash: u32, number: usize) {
        let mask = self.slots.len().wrapping_sub(1) as u32;
        let mut slot = hash & mask;
        while let Some(place) = self.slots.get_mut(slot as usize) {
            if *place == EMPTY {
                *place = hash & !mask | number as u32;
                return;
            }
            slot = (slot + 1) & mask;
        }
    }

    /// So many names are about to come: when the table has to grow it grows for them too, since
    /// growing is what costs most. Takes no memory by itself.
    pub fn expect(&mut self, names: usize) {
        self.expected = names.min(EXPECTED_MAX);
    }

    fn grow(&mut self) {
        let expected = (self.count + self.expected + 1) * 4 / 3 + 1;
        let slots = (self.slots.len() * 2).max(16).max(expected.next_power_of_two());
        self.slots = Vec::new();
        self.slots = vec![EMPTY; slots];
        self.fill();
    }

    fn fill(&mut self) {
        for number in 0..self.count {
            let Some(entry) = self.entry(number) else { break };
            self.put(self.hash(self.name_of(entry)), number);
        }
    }

    /// Forgets all entries from number `len` on: what was to be declared is not.
    pub fn truncate(&mut self, len: usize) {
        if len >= self.count {
            return;
        }
        if let Some(entry) = self.entry(len) {
            let (piece, start) =
                (entry.place as usize / PIECE_BYTES, entry.place as usize % PIECE_BYTES);
            self.names.truncate(piece + 1);
            if let Some(names) = self.names.last_mut() {
                names.truncate(start);
            }
        }
        self.entries.truncate(len / PIECE_ENTRIES + 1);
        if let Some(entries) = self.entries.last_mut() {
            entries.truncate(len % PIECE_ENTRIES);
        }
        self.count = len;
        self.layouts.retain(|number, _| (*number as usize) < len);
        let known = |number: usize| self.id_and_kind(number).unwrap_or((0, Type::F64));
        let ids = || (0..len).map(known);
        let highest_id = ids().map(|(id, _)| id).max().unwrap_or(0);
        let channels = ids().filter(|(_, kind)| *kind == Type::Channel).count() as u32;
        (self.highest_id, self.channels) = (highest_id, channels);
        if let Some(by_id) = &mut self.by_id {
            by_id.retain(|_, number| (*number as usize) < len);
        }
        self.slots.fill(EMPTY);
        self.fill();
    }

    /// Numbers of all entries by rising name (as bytes). Takes sixteen bytes an entry while it
    /// sorts.
    #[must_use]
    pub fn sorted(&self) -> Vec<u32> {
        let mut keyed: Vec<(u64, u32)> =
            (0..self.count).map(|number| (self.key(number, 0), number as u32)).collect();
        self.sort(&mut keyed, 0);
        keyed.into_iter().map(|(_, number)| number).collect()
    }

    /// Eight bytes of a name from `depth` on; zeros behind its end, which no name is told from by
    /// them alone.
    fn key(&self, number: usize, depth: usize) -> u64 {
        let rest = self.name_bytes(number).get(depth..).unwrap_or(&[]);
        let mut key = [0; 8];
        let bytes = rest.len().min(8);
        if let (Some(to), Some(from)) = (key.get_mut(..bytes), rest.get(..bytes)) {
            to.copy_from_slice(from);
        }
        u64::from_be_bytes(key)
    }

    fn sort(&self, keyed: &mut [(u64, u32)], depth: usize) {
        keyed.sort_unstable();
        for group in keyed.chunk_by_mut(|a, b| a.0 == b.0).filter(|group| group.len() > 1) {
            if group.len() < 16 {
                let name = |number: u32| self.name_bytes(number as usize);
                group.sort_unstable_by(|a, b| name(a.1).cmp(name(b.1)));
            } else if depth > NAME_BYTES_MAX {
                return;
            } else {
                for (key, number) in group.iter_mut() {
                    *key = self.key(*number as usize, depth + 8);
                }
                self.sort(group, depth + 8);
            }
        }
    }
}

#[cfg(test)]
mod tests;
