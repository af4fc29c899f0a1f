//! The catalog on disk: declarations of series and channels, appended durably, never during a push.

mod append;
mod lost;
mod told;

pub use append::{CatalogWriter, grown_bytes, read_catalog_header};

pub use told::has_catalog_end;

use super::names::{CATALOG, DICTIONARY};
use super::series::{Inserted, SeriesTable};
use super::walk::{Blocks, Found};
use crate::{Error, Result};
use baro_ondisk::limits::UNIT_BYTES;
use baro_ondisk::{
    Block, CatalogEnd, Declaration, DictionaryHeader, Joint, Layout, NameParser, Scan, StoreId,
    Type, has_bare_labels,
};
use baro_sys::storage::{Access, Storage};
use lost::dictionary_header;
use std::borrow::Cow;
use std::sync::Arc;

/// A declared series or channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declared {
    /// Id in this store.
    pub id: u32,
    /// Type of the values.
    pub kind: Type,
    /// Name with labels.
    pub name: String,
    /// Unit of the values.
    pub unit: String,
    /// Of which two names the name was put together, if that is known.
    pub joint: Option<Joint>,
    /// Fields of a channel's frames.
    pub layout: Option<Arc<Layout>>,
}

impl Declared {
    /// As it stands in the catalog.
    #[must_use]
    pub fn declaration(&self) -> Declaration<'_> {
        Declaration {
            id: self.id,
            kind: self.kind,
            name: &self.name,
            unit: &self.unit,
            joint: self.joint,
            layout: self.layout.as_deref().map(Cow::Borrowed),
        }
    }
}

impl From<Declaration<'_>> for Declared {
    fn from(found: Declaration<'_>) -> Self {
        Declared {
            id: found.id,
            kind: found.kind,
            name: found.name.to_owned(),
            unit: found.unit.to_owned(),
            joint: found.joint,
            layout: found.layout.map(|layout| Arc::new(layout.into_owned())),
        }
    }
}

/// What is asked to be declared.
#[derive(Clone, Copy)]
struct Wanted<'a> {
    name: &'a str,
    kind: Type,
    unit: &'a str,
    joint: Option<Joint>,
    layout: Option<&'a Layout>,
}

/// The two names that a name was put together of, for an error.
fn parts(name: &str, joint: Joint) -> String {
    let mut parser = NameParser::new();
    parser.parse(name);
    let metric = parser.metric(name);
    let (first, second) =
        metric.split_at_checked(joint.first_bytes.into()).unwrap_or((&metric, ""));
    let tag = if joint.repeated { " and a tag __name__" } else { "" };
    format!("{first:?} with {:?}{tag}", second.strip_prefix('_').unwrap_or(second))
}

/// The highest id that the dictionary of this store has, if there is one.
pub(crate) fn highest_id_covered<S: Storage>(storage: &S, store: StoreId) -> u32 {
    let header = dictionary_header(storage).filter(|header| header.store == store);
    header.map_or(0, |header| header.highest_id)
}

/// All declarations of a store.
#[derive(Debug)]
pub struct Catalog {
    table: SeriesTable,
    names: NameParser,
    /// Where the next block goes; not used by a reader.
    scan: Scan,
    /// The last block is the mark of an end in order, or there is no block.
    marked: bool,
    padding_bytes: u64,
    store: StoreId,
    /// New ids are above this.
    lowest_id: u32,
    /// The dictionary of this store, if it was made of another catalog.
    strange: Option<DictionaryHeader>,
}

impl Catalog {
    /// Reads the catalog of a store.
    ///
    /// # Errors
    /// The file is missing, foreign, damaged, or cannot be read.
    pub fn read<S: Storage>(storage: &S) -> Result<Self> {
        let damaged = |source| Error::Format { file: CATALOG.to_owned(), source };
        let file = storage.open(CATALOG, Access::ReadDirect)?;
        let (header, crc) = read_catalog_header(&file)?;
        let mut blocks = Blocks::new()?;
        let mut walk = blocks.walk(&file, header, crc);
        let mut catalog = Catalog {
            table: SeriesTable::default(),
            names: NameParser::new(),
            scan: walk.scan().clone(),
            marked: true,
            padding_bytes: 0,
            store: header.store,
            lowest_id: 0,
            strange: dictionary_header(storage).filter(|found| found.store == header.store),
        };
        // So many there are at least, and only a hint.
        catalog.table.expect(catalog.strange.map_or(0, |found| found.names as usize));
        let mark = catalog.strange.map(|found| found.watermark);
        let mark = mark.filter(|mark| mark.segment_crc == crc);
        let mut is_strange = mark.is_none_or(|mark| mark.last_offset != 0);
        loop {
            let offset = walk.scan().offset();
            match walk.next_block()? {
                Found::Block(block) => {
                    catalog.padding_bytes = block.header.padding_bytes;
                    catalog.marked = block.header.is_end_mark();
                    let place = Some((offset, block.header.crc));
                    is_strange &= mark.map(|mark| (mark.last_offset, mark.last_crc)) != place;
                    catalog.insert_all(&block, offset)?;
                }
                Found::End(end) => {
                    catalog.scan = walk.scan().clone();
                    if walk.skip_damage()?.is_some() {
                        let baro_ondisk::End::Tail(source) = end else { break };
                        return Err(damaged(source));
                    }
                    break;
                }
            }
        }
        catalog.table.expect(0);
        catalog.strange = catalog.strange.filter(|_| is_strange);
        Ok(catalog)
    }

    /// Reads on behind what was read before: what has been declared since, by whomever. What is known
    /// stays. Beside a writer the last block may be half there: the next call reads it.
    ///
    /// # Errors
    /// The file is missing, foreign, damaged, or cannot be read.
    pub fn read_on<S: Storage>(&mut self, storage: &S) -> Result<()> {
        let file = storage.open(CATALOG, Access::ReadDirect)?;
        let (header, crc) = read_catalog_header(&file)?;
        let mut scan = self.scan.clone();
        scan.set_segment_bytes(header.segment_bytes);
        let mut blocks = Blocks::new()?;
        let mut walk = blocks.go_on(&file, scan, crc);
        // Mostly there is nothing.
        walk.read_at_once(UNIT_BYTES);
        loop {
            let offset = walk.scan().offset();
            let Found::Block(block) = walk.next_block()? else { break };
            self.insert_all(&block, offset)?;
            self.padding_bytes = block.header.padding_bytes;
            self.marked = block.header.is_end_mark();
            self.scan = walk.scan().clone();
        }
        Ok(())
    }

    fn insert_all(&mut self, block: &Block<'_>, offset: u64) -> Result<()> {
        let damaged = |source: baro_ondisk::Error| Error::Format {
            file: CATALOG.to_owned(),
            source: source.at(offset),
        };
        for chunk in block.chunks() {
            for record in chunk.map_err(damaged)?.records() {
                let mut inserted = Ok(());
                let decoded = Declaration::decode_each(record.map_err(damaged)?.payload, |found| {
                    if inserted.is_ok() {
                        inserted = self.table.insert(&found).map(drop);
                    }
                });
                decoded.map_err(damaged)?;
                inserted?;
            }
        }
        Ok(())
    }

    /// Fails if it is the catalog of another store: its ids mean other series.
    ///
    /// # Errors
    /// It is.
    pub fn check_store(&self, store: StoreId) -> Result<()> {
        let half = |id: StoreId| u64::from_le_bytes(*id.0.first_chunk().unwrap_or(&[0; 8]));
        let (expected, found) = (half(store), half(self.store));
        let source = baro_ondisk::Error::Mismatch {
            what: baro_ondisk::What::Segment,
            field: "store id",
            offset: 16,
            expected,
            found,
        };
        match self.store == store {
            true => Ok(()),
            false => Err(Error::Format { file: CATALOG.to_owned(), source }),
        }
    }

    /// Ids up to this one are not given to what is declared from now on: they were in use, whether the catalog has
    /// them or has lost its end.
    pub fn number_above(&mut self, id: u32) {
        self.lowest_id = self.lowest_id.max(id);
    }

    /// Series and channels declared.
    #[must_use]
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Whether nothing is declared.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// Highest id; 0 without entries. Ids are given one after the other, so there are as many entries where
    /// nobody else declares.
    #[must_use]
    pub fn highest_id(&self) -> u32 {
        self.table.highest_id()
    }

    /// All declarations, in the order in which they were made.
    pub fn iter(&self) -> impl Iterator<Item = Declaration<'_>> {
        self.table.iter()
    }

    /// The declaration of an id.
    #[must_use]
    pub fn of_id(&self, id: u32) -> Option<Declaration<'_>> {
        self.table.get(self.table.find_id(id)?)
    }

    /// Declaration `number` in the order in which they were made.
    #[must_use]
    pub fn entry(&self, number: usize) -> Option<Declared> {
        let layout = self.table.layout(number).cloned();
        let found = self.table.get(number)?;
        let found = Declaration { layout: None, ..found };
        Some(Declared { layout, ..found.into() })
    }

    /// Bytes of memory that the declarations take.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.table.memory_bytes()
    }

    /// Takes note of what the recorder has declared since this was read. What is known stays.
    pub fn learn(&mut self, found: &Declaration<'_>) {
        let mut parser = std::mem::take(&mut self.names);
        let name = parser.canonical(found.name);
        // Without room for it, it is asked for again.
        let _ = self.table.insert(&Declaration { name, ..found.clone() });
        self.names = parser;
    }

    /// Its last block.
    #[must_use]
    pub fn end(&self) -> CatalogEnd {
        self.scan.catalog_end()
    }

    /// Highest session that has declared anything; the next one must be above it, since the session
    /// never falls within the catalog.
    #[must_use]
    pub fn session(&self) -> u64 {
        self.scan.session()
    }

    fn find(&self, name: &str) -> Option<usize> {
        // As it stands first: names were declared before there was a canonical form.
        self.table.find(name).or_else(|| match NameParser::new().canonical(name) {
            canonical if canonical == name => None,
            canonical => self.table.find(canonical),
        })
    }

    /// The series or channel of this name, whichever order its labels are in.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Declared> {
        self.entry(self.find(name)?)
    }

    /// Id and type of the series or channel of this name; allocates nothing for a name in
    /// canonical form.
    #[must_use]
    pub fn id(&self, name: &str) -> Option<(u32, Type)> {
        self.table.id_and_kind(self.find(name)?)
    }

    /// Id of the channel of this name, and its layout if it has one; allocates nothing.
    #[must_use]
    pub fn layout(&self, channel: &str) -> Option<(u32, Option<&Arc<Layout>>)> {
        let number = self.find(channel)?;
        Some((self.table.id_and_kind(number)?.0, self.table.layout(number)))
    }

    /// Ids for these (name, type, unit), declared durably where they are new. Blocks for the
    /// device if anything is new. `session` is the one of this open, above
    /// [`Catalog::session`] when that was read.
    ///
    /// # Errors
    /// A name is in use with another type, is empty or too long, the catalog is full, or the
    /// device fails; then none of the new ones is declared.
    pub fn declare<S: Storage>(
        &mut self,
        storage: &S,
        session: u64,
        wanted: &[(&str, Type, &str)],
    ) -> Result<Vec<u32>> {
        self.declare_many(storage, session, wanted.iter().copied())
    }

    /// As [`Catalog::declare`] for as many as an iterator gives: one sync for all of them.
    ///
    /// # Errors
    /// As [`Catalog::declare`].
    pub fn declare_many<'a, S: Storage>(
        &mut self,
        storage: &S,
        session: u64,
        wanted: impl IntoIterator<Item = (&'a str, Type, &'a str)>,
    ) -> Result<Vec<u32>> {
        let wanted = wanted.into_iter();
        let plain = |(name, kind, unit)| Wanted { name, kind, unit, joint: None, layout: None };
        let wanted = wanted.map(plain);
        self.declare_all(storage, session, wanted)
    }

    /// The id of a channel whose frames have this layout, declared durably if it is new.
    ///
    /// # Errors
    /// As [`Catalog::declare`]; the channel has another layout, or none; or one of its fields
    /// would be a series of the name of another.
    pub fn declare_channel<S: Storage>(
        &mut self,
        storage: &S,
        session: u64,
        name: &str,
        layout: &Layout,
    ) -> Result<u32> {
        let wanted =
            Wanted { name, kind: Type::Channel, unit: "", joint: None, layout: Some(layout) };
        let ids = self.declare_all(storage, session, std::iter::once(wanted))?;
        ids.first().copied().ok_or(Error::CatalogFull { bytes: 0 })
    }

    /// What becomes of each of these, whose ids do not matter: those that are new and not refused are
    /// declared durably, with one sync for all of them. Otherwise as [`Catalog::declare`].
    ///
    /// # Errors
    /// The catalog is full, or the device fails; then none of the new ones is declared.
    pub fn declare_each<'a, S: Storage>(
        &mut self,
        storage: &S,
        session: u64,
        wanted: impl IntoIterator<Item = &'a Declaration<'a>>,
    ) -> Result<Vec<Result<u32>>> {
        let wanted = wanted.into_iter().map(|one| {
            let Declaration { kind, name, unit, joint, layout, .. } = one;
            Wanted { name, kind: *kind, unit, joint: *joint, layout: layout.as_deref() }
        });
        let before = self.table.len();
        let each = self.take_in(wanted, Ok);
        let done = each.and_then(|each| self.append_from(storage, session, before).map(|()| each));
        if done.is_err() {
            self.table.truncate(before);
        }
        done
    }

    fn declare_all<'a, S: Storage>(
        &mut self,
        storage: &S,
        session: u64,
        wanted: impl Iterator<Item = Wanted<'a>>,
    ) -> Result<Vec<u32>> {
        let before = self.table.len();
        let ids = self.take_in(wanted, |one| one);
        let done = ids.and_then(|ids| self.append_from(storage, session, before).map(|()| ids));
        if done.is_err() {
            self.table.truncate(before);
        }
        done
    }

    /// Puts what is new into memory; what became of each is what `take` makes of it, and nothing more is
    /// taken in after an error of that.
    fn take_in<'a, T>(
        &mut self,
        wanted: impl Iterator<Item = Wanted<'a>>,
        take: impl Fn(Result<u32>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut found = Vec::with_capacity(wanted.size_hint().0);
        let mut parser = std::mem::take(&mut self.names);
        let mut left = wanted.size_hint().0;
        let mut taken = Ok(());
        for one in wanted {
            self.table.expect(left);
            left = left.saturating_sub(1);
            match take(self.want(one, &mut parser)) {
                Ok(one) => found.push(one),
                Err(error) => {
                    taken = Err(error);
                    break;
                }
            }
        }
        self.table.expect(0);
        self.names = parser;
        taken.map(|()| found)
    }

    fn want(&mut self, wanted: Wanted<'_>, parser: &mut NameParser) -> Result<u32> {
        if let Some(number) = self.table.find(wanted.name) {
            return self.check_known(number, &wanted);
        }
        // As it was written: in quotes all of it is a name without labels.
        let bare = has_bare_labels(wanted.name);
        let wanted = Wanted { name: parser.canonical(wanted.name), ..wanted };
        let next_id = self.table.highest_id().max(self.lowest_id).checked_add(1);
        let id = next_id.ok_or(Error::CatalogFull { bytes: self.scan.header().segment_bytes })?;
        self.check_fields(&wanted)?;
        if bare {
            return Err(Error::Setting {
                name: "name of a series",
                expected:
                    "each label once and its value in quotes, as in oven{zone=\"1\"}, or all of \
                           a name without labels in quotes, as in {\"oven{zone=1}\"}"
                        .to_owned(),
                found: wanted.name.to_owned(),
            });
        }
        let Wanted { name, kind, unit, joint, layout } = wanted;
        let layout = layout.map(Cow::Borrowed);
        let new = Declaration { id, kind, name, unit, joint, layout };
        new.check().map_err(|source| Error::Format { file: CATALOG.to_owned(), source })?;
        match self.table.insert(&new)? {
            Inserted::New(_) => Ok(id),
            Inserted::Name(number) | Inserted::Id(number) => self.check_known(number, &wanted),
        }
    }

    /// What is declared stays: the same again is no news, anything else is refused.
    fn check_known(&self, number: usize, wanted: &Wanted<'_>) -> Result<u32> {
        let (id, kind) = self.table.id_and_kind(number).unwrap_or((0, wanted.kind));
        let name = wanted.name;
        if kind != wanted.kind {
            return Err(Error::Setting {
                name: "type of a series",
                expected: format!("{} as declared for {name}", kind.name()),
                found: wanted.kind.name().to_owned(),
            });
        }
        let known = self.table.get(number).and_then(|known| known.joint);
        if let (Some(known), Some(joint)) = (known, wanted.joint)
            && known != joint
        {
            return Err(Error::Setting {
                name: "parts of the name of a series",
                expected: format!("{}, as {name} was declared", parts(name, known)),
                found: format!("{} (rename one, or take another store)", parts(name, joint)),
            });
        }
        let Some(layout) = wanted.layout else { return Ok(id) };
        let known = self.table.layout(number);
        if known.map(|known| &**known) == Some(layout) {
            return Ok(id);
        }
        let declared = known.map_or("no layout".to_owned(), |found| found.to_string());
        Err(Error::Setting {
            name: "layout of a channel",
            expected: format!(
                "{declared}, as declared for {name} (another layout: another channel)"
            ),
            found: layout.to_string(),
        })
    }

    /// A new name must not be that of a channel's field, and no field that of a series.
    fn check_fields(&self, wanted: &Wanted<'_>) -> Result<()> {
        let clash = |channel: &str, series: &str| Error::Setting {
            name: "name of a series",
            expected: format!("one that is not a field of the channel {channel}"),
            found: series.to_owned(),
        };
        if self.table.has_layouts()
            && let Some((channel, field)) = wanted.name.rsplit_once('.')
            && let Some(number) = self.table.find(channel)
            && self.table.layout(number).is_some_and(|layout| layout.find(field).is_some())
        {
            return Err(clash(channel, wanted.name));
        }
        let Some(layout) = wanted.layout else { return Ok(()) };
        for number in 0..self.table.len() {
            let field = self.table.name_bytes(number).strip_prefix(wanted.name.as_bytes());
            let field = field.and_then(|rest| rest.strip_prefix(b"."));
            let field = field.and_then(|field| str::from_utf8(field).ok());
            if field.is_some_and(|field| layout.find(field).is_some()) {
                let series = String::from_utf8_lossy(self.table.name_bytes(number));
                return Err(clash(wanted.name, &series));
            }
        }
        Ok(())
    }

    /// Writes the entries from number `from` on, if there are any.
    fn append_from<S: Storage>(&mut self, storage: &S, session: u64, from: usize) -> Result<()> {
        if self.table.len() <= from {
            return Ok(());
        }
        let mut writer =
            CatalogWriter::open(storage, session, self.scan.clone(), self.padding_bytes)?;
        for declaration in (from..self.table.len()).filter_map(|number| self.table.get(number)) {
            writer.add(&declaration)?;
        }
        (self.scan, self.padding_bytes) = writer.finish()?;
        self.marked = false;
        Ok(())
    }

    /// Marks the end of a session that is closed in order: all that is declared is durable, so what
    /// is missing later is damage. Writes a block unless the last one is such a mark, and syncs
    /// nothing: a mark that a crash takes away leaves things as they were. Whoever calls this has
    /// synced what [`Catalog::read`] found.
    ///
    /// # Errors
    /// The device is full or fails; what is declared stays so.
    pub fn mark_end<S: Storage>(&mut self, storage: &S, session: u64) -> Result<()> {
        if self.marked {
            return Ok(());
        }
        let (scan, padding_bytes) = (self.scan.clone(), self.padding_bytes);
        let writer = CatalogWriter::open(storage, session, scan, padding_bytes)?;
        (self.scan, self.padding_bytes) = writer.mark_end()?;
        self.marked = true;
        Ok(())
    }
}
