//! What is asked for by name: a [`Selection`] is made once from names and the catalog; then each
//! record is unfolded to points without another look at names. `channel.*` means all fields of a
//! channel, and the channel's own name its frames as they are.
//!
//! Apart from how points are read (`points`), so that queries need not know it.
//!
//! Invariant: what a frame is too short for is counted, never guessed. Held by `tests/points.rs`.

mod column;
mod value_type;

pub use column::Column;
pub use value_type::ValueType;

use crate::interval::Filter;
use crate::read::RecordRef;
use crate::{Batch, Catalog, Result, Row, Selector, Value, Values};
use baro_ondisk::{FieldValue, Kind, Layout, Type};
use column::{field, fields, whole};
use std::collections::HashMap;
use std::fmt;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

/// A value as it was recorded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Datum<'a> {
    /// Floating point.
    Float(f64),
    /// Integer.
    Integer(i64),
    /// Integer of a u64 field.
    Unsigned(u64),
    /// Truth value.
    Boolean(bool),
    /// Text.
    Text(&'a str),
    /// The bytes of a frame.
    Frame(&'a [u8]),
}

/// One point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point<'a> {
    /// Its time.
    pub time_ns: i64,
    /// Its series; `None` if its declaration is lost.
    pub column: Option<&'a Column>,
    /// Place of the series in [`Selection::columns`].
    pub place: usize,
    /// Id of the series or channel.
    pub id: u32,
    /// Its value.
    pub value: Datum<'a>,
}

/// Which series and fields are read.
#[derive(Clone, Debug)]
pub struct Selection {
    /// By id, in the order of the catalog or of the names.
    columns: Vec<Column>,
    by_id: HashMap<u32, Group>,
    /// All there is, undeclared ids too.
    all: bool,
}

/// What a channel with a layout is selected as; see [`Selection::channels_as`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChannelAs {
    /// Its frames.
    Frames,
    /// The fields of these.
    Fields,
    /// Both.
    Both,
}

/// What is selected of one id.
#[derive(Clone, Debug)]
struct Group {
    /// Where its columns are.
    columns: Range<usize>,
    layout: Option<Arc<Layout>>,
    kind: Option<Type>,
}

/// A name that nothing in the store has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownName {
    /// The name.
    pub name: String,
    /// The layout of the channel before the dot, if there is such a channel.
    pub fields: Option<String>,
}

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: no such series or channel; ", self.name)?;
        match &self.fields {
            Some(fields) => write!(f, "the channel's fields are {fields}"),
            None => f.write_str("baro list shows all"),
        }
    }
}

impl std::error::Error for UnknownName {}

/// A selection while names are looked up.
#[derive(Default)]
struct Building {
    columns: Vec<Column>,
    kinds: HashMap<u32, Type>,
    layouts: HashMap<u32, Arc<Layout>>,
}

impl Building {
    /// Takes `channel.field` or `channel.*`; false if there is no such channel with a layout.
    fn field(&mut self, catalog: &Catalog, name: &str) -> Result<bool> {
        let Some((channel, rest)) = name.rsplit_once('.') else { return Ok(false) };
        let Some(channel) = catalog.lookup(channel)? else { return Ok(false) };
        let Some(layout) = channel.layout else { return Ok(false) };
        if rest == "*" {
            self.columns.extend(fields(channel.id, &channel.name, &layout));
        } else if let Some(place) = layout.find(rest) {
            self.columns.push(field(channel.id, &channel.name, &layout, place));
        } else {
            let (name, fields) = (name.to_owned(), Some(layout.to_string()));
            return Err(UnknownName { name, fields }.into());
        }
        self.kinds.insert(channel.id, channel.kind);
        self.layouts.insert(channel.id, layout);
        Ok(true)
    }

    fn select(&mut self, catalog: &Catalog, text: &str) -> Result<()> {
        let unknown = || UnknownName { name: text.to_owned(), fields: None };
        let selector = match Selector::parse(text) {
            Ok(selector) => selector,
            // Whoever writes no brace means a name.
            Err(_) if !text.contains('{') => return Err(unknown().into()),
            Err(error) => return Err(error.into()),
        };
        let before = self.columns.len();
        catalog.scan_selected(&[selector], |found| {
            self.columns.push(whole(found));
            self.kinds.insert(found.id, found.kind);
            ControlFlow::Continue(())
        })?;
        if self.columns.len() == before { Err(unknown().into()) } else { Ok(()) }
    }

    fn finish(mut self, all: bool) -> Selection {
        self.columns.sort_by_key(|column| column.id);
        let mut seen = std::collections::HashSet::new();
        self.columns.retain(|column| seen.insert((column.id, column.field())));
        let mut by_id = HashMap::new();
        let mut start = 0;
        for group in self.columns.chunk_by(|a, b| a.id == b.id) {
            let Some(id) = group.first().map(|column| column.id) else { continue };
            let (layout, kind) = (self.layouts.remove(&id), self.kinds.get(&id).copied());
            let columns = start..start + group.len();
            by_id.insert(id, Group { columns, layout, kind });
            start += group.len();
        }
        Selection { columns: self.columns, by_id, all }
    }
}

impl Selection {
    /// Everything; with `fields`, the fields of channels that have a layout instead of their
    /// frames.
    ///
    /// # Errors
    /// The operating system refuses.
    pub fn all(catalog: &Catalog, with_fields: bool) -> Result<Self> {
        let mut building = Building::default();
        catalog.scan(|found| {
            match found.layout.as_deref().filter(|_| with_fields) {
                Some(layout) => {
                    building.columns.extend(fields(found.id, found.name, layout));
                    building.layouts.insert(found.id, Arc::new(layout.clone()));
                }
                None => building.columns.push(whole(found)),
            }
            building.kinds.insert(found.id, found.kind);
            ControlFlow::Continue(())
        })?;
        Ok(building.finish(true))
    }

    /// Everything, channels that have a layout as their frames and as the fields of these.
    ///
    /// # Errors
    /// The operating system refuses.
    pub fn frames_and_fields(catalog: &Catalog) -> Result<Self> {
        let mut building = Building::default();
        catalog.scan(|found| {
            building.columns.push(whole(found));
            if let Some(layout) = found.layout.as_deref() {
                building.columns.extend(fields(found.id, found.name, layout));
                building.layouts.insert(found.id, Arc::new(layout.clone()));
            }
            building.kinds.insert(found.id, found.kind);
            ControlFlow::Continue(())
        })?;
        Ok(building.finish(true))
    }

    /// The series, channels and fields of these names, and what [selectors](Selector) among them
    /// select; a series given twice counts once. A text that is a name stands for that alone.
    ///
    /// # Errors
    /// Nothing has one of the names, nor is it a selector that selects something.
    pub fn named<N: AsRef<str>>(catalog: &Catalog, names: &[N]) -> Result<Self> {
        let mut building = Building::default();
        for name in names {
            let name = name.as_ref();
            if let Some(declared) = catalog.lookup(name)? {
                building.columns.push(whole(&declared.declaration()));
                building.kinds.insert(declared.id, declared.kind);
            } else if !building.field(catalog, name)? {
                building.select(catalog, name)?;
            }
        }
        Ok(building.finish(false))
    }

    /// Series and channels by their ids; with `true` a channel with a layout as its frames, else as the fields of
    /// these. What is not declared is left out.
    ///
    /// # Errors
    /// The operating system refuses.
    pub fn of_ids(catalog: &Catalog, wanted: &[(u32, bool)]) -> Result<Self> {
        let mut building = Building::default();
        for (id, as_frames) in wanted {
            let Some(declared) = catalog.get(*id)? else { continue };
            match declared.layout.as_ref().filter(|_| !as_frames) {
                Some(layout) => {
                    building.columns.extend(fields(*id, &declared.name, layout));
                    building.layouts.insert(*id, Arc::clone(layout));
                }
                None => building.columns.push(whole(&declared.declaration())),
            }
            building.kinds.insert(*id, declared.kind);
        }
        Ok(building.finish(false))
    }

    /// The same, with its channels that have a layout as `shown` says by their ids.
    ///
    /// # Errors
    /// The operating system refuses.
    pub fn channels_as(self, catalog: &Catalog, shown: impl Fn(u32) -> ChannelAs) -> Result<Self> {
        if !self.columns.iter().any(Column::is_frames) {
            return Ok(self);
        }
        let mut building = Building::default();
        for (id, group) in self.by_id {
            building.kinds.extend(group.kind.map(|kind| (id, kind)));
            building.layouts.extend(group.layout.map(|layout| (id, layout)));
        }
        for column in self.columns {
            let declared = if column.is_frames() { catalog.get(column.id)? } else { None };
            let found = declared.and_then(|declared| Some((declared.name, declared.layout?)));
            let Some((name, layout)) = found else {
                building.columns.push(column);
                continue;
            };
            let (id, shown) = (column.id, shown(column.id));
            if shown != ChannelAs::Fields {
                building.columns.push(column);
            }
            if shown != ChannelAs::Frames {
                building.columns.extend(fields(id, &name, &layout));
                building.layouts.insert(id, layout);
            }
        }
        Ok(building.finish(self.all))
    }

    /// The selected series, by id.
    #[must_use]
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Those of one series or channel.
    #[must_use]
    pub fn columns_of(&self, id: u32) -> &[Column] {
        let group = self.by_id.get(&id);
        group.and_then(|group| self.columns.get(group.columns.clone())).unwrap_or(&[])
    }

    /// Where those of one series or channel start in [`Selection::columns`].
    #[must_use]
    pub fn place_of(&self, id: u32) -> usize {
        self.by_id.get(&id).map_or(self.columns.len(), |group| group.columns.start)
    }

    /// Ids of the series and channels that are read; each once.
    #[must_use]
    pub fn ids(&self) -> Vec<u32> {
        self.columns.chunk_by(|a, b| a.id == b.id).filter_map(|g| Some(g.first()?.id)).collect()
    }

    /// Whether what has no declaration is selected too.
    pub(crate) fn any_undeclared(&self) -> bool {
        self.all
    }

    /// Which records hold what is selected.
    #[must_use]
    pub fn filter(&self) -> Filter {
        if self.all { Filter::all() } else { Filter::ids(&self.ids()) }
    }

    /// Hands out the selected points of a record. Returns how many fields its frame was too short
    /// for.
    pub fn unfold<'a>(&'a self, record: &RecordRef<'a>, mut each: impl FnMut(&Point<'a>)) -> u64 {
        match record.kind {
            Kind::Frame => self.frame(record.time_ns, record.stream, record.payload, &mut each),
            Kind::Samples => {
                for (id, time_ns, bits) in record.samples().iter().flat_map(|s| s.iter()) {
                    self.sample(time_ns, id, bits, &mut each);
                }
                0
            }
            Kind::Text => {
                if let Some(text) = record.text() {
                    self.text(record.time_ns, record.stream, text, &mut each);
                }
                0
            }
            Kind::Gap | Kind::Clock | Kind::Declare | Kind::Moved => 0,
        }
    }

    /// The same of a row of [`Store::tail`](crate::Store::tail).
    pub fn unfold_row<'a>(
        &'a self,
        id: u32,
        row: &'a Row,
        mut each: impl FnMut(&Point<'a>),
    ) -> u64 {
        match &row.value {
            Value::Bits(bits) => {
                self.sample(row.time_ns, id, *bits, &mut each);
                0
            }
            Value::Text(text) => {
                self.text(row.time_ns, id, text, &mut each);
                0
            }
            Value::Frame(bytes) => self.frame(row.time_ns, id, bytes, &mut each),
        }
    }

    /// The same of rows of a query of one series.
    pub fn unfold_batch(&self, id: u32, batch: &Batch<'_>, mut each: impl FnMut(&Point<'_>)) {
        for (at, time_ns) in batch.times_ns.iter().enumerate() {
            if let Values::Text(texts) = batch.values {
                self.text(*time_ns, id, texts.get(at).unwrap_or(""), &mut each);
            } else if let Some(bits) = batch.values.bits(at) {
                self.sample(*time_ns, id, bits, &mut each);
            }
        }
    }

    pub(crate) fn sample<'a>(
        &'a self,
        time_ns: i64,
        id: u32,
        bits: u64,
        each: &mut impl FnMut(&Point<'a>),
    ) {
        let value = |kind| match kind {
            Some(Type::F64) => Datum::Float(f64::from_bits(bits)),
            Some(Type::Bool) => Datum::Boolean(bits != 0),
            _ => Datum::Integer(bits as i64),
        };
        self.value(time_ns, id, value, each);
    }

    pub(crate) fn text<'a>(
        &'a self,
        time_ns: i64,
        id: u32,
        text: &'a str,
        each: &mut impl FnMut(&Point<'a>),
    ) {
        self.value(time_ns, id, |_| Datum::Text(text), each);
    }

    fn value<'a>(
        &'a self,
        time_ns: i64,
        id: u32,
        value: impl FnOnce(Option<Type>) -> Datum<'a>,
        each: &mut impl FnMut(&Point<'a>),
    ) {
        let found = self.by_id.get(&id);
        if found.is_none() && !self.all {
            return;
        }
        let value = value(found.and_then(|group| group.kind));
        let place = found.map_or(usize::MAX, |group| group.columns.start);
        each(&Point { time_ns, column: self.columns.get(place), place, id, value });
    }

    fn frame<'a>(
        &'a self,
        time_ns: i64,
        id: u32,
        bytes: &'a [u8],
        each: &mut impl FnMut(&Point<'a>),
    ) -> u64 {
        let Some(group) = self.by_id.get(&id) else {
            if self.all {
                let (place, value) = (usize::MAX, Datum::Frame(bytes));
                each(&Point { time_ns, column: None, place, id, value });
            }
            return 0;
        };
        let mut short = 0;
        let columns = self.columns.get(group.columns.clone()).unwrap_or(&[]);
        for (place, column) in group.columns.clone().zip(columns) {
            let value = match column.field() {
                None => Some(Datum::Frame(bytes)),
                Some((at, element)) => group
                    .layout
                    .as_ref()
                    .and_then(|layout| layout.fields().get(at)?.read(bytes, element))
                    .map(|value| match value {
                        FieldValue::Float(value) => Datum::Float(value),
                        FieldValue::Integer(value) => Datum::Integer(value),
                        FieldValue::Unsigned(value) => Datum::Unsigned(value),
                        FieldValue::Boolean(value) => Datum::Boolean(value),
                    }),
            };
            match value {
                Some(value) => each(&Point { time_ns, column: Some(column), place, id, value }),
                None => short += 1,
            }
        }
        short
    }
}
