//! The series of an input: from the name that each sample bears to the id and type under which the
//! store knows it.
//!
//! A name is looked up once, and from then on by its key alone ([`crate::known`]). New ones are kept until
//! they are declared, and one that could not be declared is forgotten, so that a later sample tries again
//! and names that nobody may declare fill no memory. Names that differ in their labels' order alone are one
//! series.
//!
//! Some forms have two names for a series, which are joined to one; `m` with `a_b` and `m_a` with `b` are
//! both `m_a_b`. So it is remembered of which two it is, here and in the catalog, and others are refused. One
//! that is one name in its form conflicts with two in the same input only: what was recorded by line
//! protocol may come in again from a table. Held by `other_names_that_come_to_the_same_are_refused` and
//! `.._are_refused_at_another_time` (`tests/names.rs`).

use crate::error::Result;
use crate::known::{Known, Met, Placed, SharedKnown, SpreadMap};
use crate::lately::Lately;
use crate::manner::Row;
use baro_ondisk::{Declaration, NameParser, Type, has_bare_labels};
use baro_sources::{Joint, Key, KeyMaker};
use baro_sys::identity;
use std::collections::HashMap;

/// Keys that are remembered beside one for each series: of these there is no end, labels have many orders.
const ALIASES_MAX: usize = 65_536;

/// How much of a name's part an error quotes.
const PART_CHARS_MAX: usize = 60;

/// Which series a sample is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Series {
    /// It has this id.
    Declared(u32),
    /// It is to be declared: its place among these.
    New(u32),
}

/// One that is to be declared.
#[derive(Debug)]
struct New {
    name: String,
    /// As it was written, where it would be taken for labels without quotes else.
    written: Option<String>,
    kind: Type,
    joint: Packed,
    /// How it was written first.
    key: Key,
}

/// Of which two names a series was put together, in four bytes; zero: not known yet. The highest bit: that is
/// what the catalog says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Packed(u32);

/// The first name has more bytes than any name: the metric is one name.
const WHOLE_BYTES: u32 = (1 << 29) - 1;
const STORED: u32 = 1 << 31;

impl From<Joint> for Packed {
    fn from(joint: Joint) -> Self {
        Packed((joint.first_bytes.min(WHOLE_BYTES) << 1 | u32::from(joint.repeated)) + 1)
    }
}

impl Packed {
    /// What the catalog says.
    fn stored(joint: Option<baro_ondisk::Joint>) -> Self {
        joint.map_or_else(Packed::default, |joint| {
            let baro_ondisk::Joint { first_bytes, repeated } = joint;
            let Packed(packed) = Joint { first_bytes: first_bytes.into(), repeated }.into();
            Packed(packed | STORED)
        })
    }

    fn is_stored(self) -> bool {
        self.0 & STORED != 0
    }

    fn joint(self) -> Option<Joint> {
        let packed = (self.0 & !STORED).checked_sub(1)?;
        let first_bytes = match packed >> 1 {
            WHOLE_BYTES => u32::MAX,
            bytes => bytes,
        };
        Some(Joint { first_bytes, repeated: packed & 1 == 1 })
    }
}

/// What became of a series that was to be declared.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) name: String,
    /// The type that it was to have.
    pub(crate) wanted: Type,
    /// Id and type that it has, or why it has none.
    pub(crate) result: std::result::Result<(u32, Type), String>,
}

/// Keys, for one thread or for several.
#[derive(Debug)]
enum Place {
    Own(Known),
    Shared(SharedKnown),
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Names {
    maker: KeyMaker,
    known: Place,
    lately: Lately,
    /// All that are declared and have been met, by id.
    joints: SpreadMap<u32, Packed>,
    parser: NameParser,
    /// Those to be declared, and their places by the key of their canonical name.
    new: Vec<New>,
    new_places: SpreadMap<Placed, u32>,
    /// What is known from the end of this line on, if it is taken.
    line: Vec<(Key, Met)>,
    /// Units of series that are not declared yet, by canonical name.
    units: HashMap<String, String>,
    /// Those whose names were first put together in this line, and what was known of them before.
    joined: Vec<(Series, Packed)>,
}

impl Names {
    /// None yet.
    ///
    /// # Errors
    /// The kernel has no random numbers.
    pub(crate) fn new() -> Result<Self> {
        let random = || identity::random_u64().map_err(baro_recorder::Error::System);
        Ok(Names {
            maker: KeyMaker::new([random()?, random()?]),
            known: Place::Own(Known::default()),
            lately: Lately::default(),
            joints: SpreadMap::default(),
            parser: NameParser::default(),
            new: Vec::new(),
            new_places: SpreadMap::default(),
            line: Vec::new(),
            units: HashMap::new(),
            joined: Vec::new(),
        })
    }

    /// What makes keys of names as they were written.
    pub(crate) fn maker(&self) -> KeyMaker {
        self.maker.with(b"written")
    }

    /// From now on other threads can look up what has been met.
    pub(crate) fn share(&mut self) -> SharedKnown {
        if let Place::Shared(known) = &self.known {
            return known.clone();
        }
        let shared = SharedKnown::default();
        if let Place::Own(known) = &mut self.known {
            std::mem::swap(&mut *shared.write(), known);
        }
        self.known = Place::Shared(shared.clone());
        shared
    }

    /// The key of a row: how it was written, or else its name, and of which two that is.
    pub(crate) fn key(&self, row: &Row<'_>) -> Key {
        row.written.unwrap_or_else(|| {
            let Packed(joint) = row.joint.map_or_else(Packed::default, Packed::from);
            self.maker.with(&joint.to_le_bytes()).key(row.series.as_bytes())
        })
    }

    /// The series of a row that came lately: it needs no key.
    pub(crate) fn lately(&mut self, row: &Row<'_>) -> Option<(Series, Type)> {
        match row.written {
            Some(_) => None,
            None => self.lately.get(row.series, row.joint),
        }
    }

    /// The series of a row that has been met with this key.
    pub(crate) fn known(&mut self, row: &Row<'_>, key: Key) -> Option<Met> {
        let met = match &self.known {
            Place::Own(known) => known.get(key),
            Place::Shared(known) => known.read().get(key),
        }?;
        self.came(row, Series::Declared(met.id), met.kind);
        Some(met)
    }

    /// The series of a row, for the next one of that name.
    fn came(&mut self, row: &Row<'_>, series: Series, kind: Type) {
        if row.written.is_none() {
            self.lately.put(row.series, row.joint, series, kind);
        }
    }

    /// A series that is declared comes; whether it is the first time.
    pub(crate) fn see(&mut self, id: u32, stored: Option<baro_ondisk::Joint>) -> bool {
        let before = self.joints.len();
        self.joints.entry(id).or_insert_with(|| Packed::stored(stored));
        self.joints.len() > before
    }

    /// From the end of this line on the series has this key, if the line is taken.
    pub(crate) fn remember(&mut self, key: Key, met: Met) {
        self.line.push((key, met));
    }

    /// One of those that are to be declared, of a row.
    pub(crate) fn get_new(&mut self, row: &Row<'_>) -> Option<(u32, Type)> {
        if self.new.is_empty() {
            return None;
        }
        let key = self.maker.key(self.parser.canonical(row.series).as_bytes());
        let place = *self.new_places.get(&Placed(key))?;
        let kind = self.new.get(place as usize)?.kind;
        self.came(row, Series::New(place), kind);
        Some((place, kind))
    }

    /// Adds one that is to be declared.
    pub(crate) fn add_new(&mut self, name: &str, kind: Type, key: Key) -> u32 {
        let canonical = self.parser.canonical(name).to_owned();
        let written = has_bare_labels(&canonical).then(|| name.to_owned());
        let name = canonical;
        let place = self.new.len() as u32;
        self.new_places.insert(Placed(self.maker.key(name.as_bytes())), place);
        self.new.push(New { name, written, kind, joint: Packed::default(), key });
        place
    }

    /// Takes a series to be of the two names that meet there; the error is where others of it do.
    pub(crate) fn join(&mut self, series: Series, joint: Joint) -> std::result::Result<(), Joint> {
        let Some(known) = self.joint(series) else { return Ok(()) };
        let before = *known;
        match before.joint() {
            Some(first) if first == joint && !before.is_stored() => return Ok(()),
            Some(first) if first == joint => {}
            Some(first) if !before.is_stored() || joint != Joint::WHOLE => return Err(first),
            _ => {}
        }
        *known = joint.into();
        self.joined.push((series, before));
        Ok(())
    }

    fn joint(&mut self, series: Series) -> Option<&mut Packed> {
        match series {
            Series::Declared(id) => self.joints.get_mut(&id),
            Series::New(place) => self.new.get_mut(place as usize).map(|new| &mut new.joint),
        }
    }

    /// The line has ended; `taken`: it is.
    pub(crate) fn end_line(&mut self, taken: bool) {
        if taken {
            self.joined.clear();
            self.add_line();
            return;
        }
        self.line.clear();
        for (series, before) in std::mem::take(&mut self.joined) {
            if let Some(joint) = self.joint(series) {
                *joint = before;
            }
        }
    }

    fn add_line(&mut self) {
        if self.line.is_empty() {
            return;
        }
        let most = self.joints.len() + ALIASES_MAX;
        let line = self.line.drain(..);
        let add = |known: &mut Known| {
            for (key, met) in line {
                if known.len() < most {
                    known.insert(key, met);
                }
            }
        };
        match &mut self.known {
            Place::Own(known) => add(known),
            Place::Shared(known) => add(&mut known.write()),
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

    /// If a series of this name is declared, it has this unit.
    pub(crate) fn set_unit(&mut self, name: &str, unit: &str) {
        let name = self.parser.canonical(name).to_owned();
        self.units.insert(name, unit.to_owned());
    }

    /// Series that are not declared yet have no unit from now on: those of refused ones fill no memory.
    pub(crate) fn forget_units(&mut self) {
        self.units.clear();
    }

    /// The form of a name in which it is declared.
    pub(crate) fn canonical<'n>(&'n mut self, name: &'n str) -> &'n str {
        self.parser.canonical(name)
    }

    /// How many are to be declared.
    pub(crate) fn new_len(&self) -> usize {
        self.new.len()
    }

    /// Forgets those that are to be declared but for the first `keep`. Returns how many these were.
    pub(crate) fn forget_new(&mut self, keep: usize) -> usize {
        let forgotten = self.new.split_off(keep.min(self.new.len()));
        self.lately.forget();
        for one in &forgotten {
            self.new_places.remove(&Placed(self.maker.key(one.name.as_bytes())));
        }
        forgotten.len()
    }

    /// Whether any is to be declared.
    pub(crate) fn has_new(&self) -> bool {
        !self.new.is_empty()
    }

    /// The places of those that are to be declared, in the order for that: of equal joints together, which
    /// the catalog then has once.
    pub(crate) fn order(&self) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.new.len() as u32).collect();
        let joint = |place: &u32| self.new.get(*place as usize).map_or(0, |new| new.joint.0);
        order.sort_by_key(joint);
        order
    }

    /// Those that are to be declared, in this order.
    pub(crate) fn wanted(&self, order: &[u32]) -> Vec<Declaration<'_>> {
        let new = order.iter().filter_map(|place| self.new.get(*place as usize));
        let wanted = new.map(|one| {
            let joint = one.joint.joint().and_then(|Joint { first_bytes, repeated }| {
                let first_bytes = u16::try_from(first_bytes).ok()?;
                Some(baro_ondisk::Joint { first_bytes, repeated })
            });
            let unit = self.units.get(&one.name).map_or("", |unit| unit);
            let name = one.written.as_ref().unwrap_or(&one.name);
            Declaration { id: 1, kind: one.kind, name, unit, joint, layout: None }
        });
        wanted.collect()
    }

    /// Takes what became of [`Names::wanted`], in this order: ids with the types that the series have, or
    /// reasons. Returns all by place.
    pub(crate) fn declared(
        &mut self,
        order: &[u32],
        found: Vec<std::result::Result<(u32, Type), String>>,
    ) -> Vec<Found> {
        self.end_line(true);
        let new = std::mem::take(&mut self.new);
        self.lately.forget();
        self.new_places = SpreadMap::default();
        let mut all = Vec::with_capacity(new.len());
        let mut by_place: Vec<_> = order.iter().zip(found).collect();
        by_place.sort_unstable_by_key(|(place, _)| **place);
        for (one, (_, result)) in new.into_iter().zip(by_place) {
            if let Ok((id, kind)) = result {
                let joint = self.joints.entry(id).or_default();
                if joint.joint().is_none() {
                    *joint = one.joint;
                }
                self.remember(one.key, Met { id, kind });
            }
            all.push(Found { name: one.name, wanted: one.kind, result });
        }
        self.add_line();
        all
    }
}
