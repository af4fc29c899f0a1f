//! The catalog on disk: declarations of series and channels, appended durably, never during a push.

use super::names::CATALOG;
use super::walk::{Blocks, Found};
use crate::{Error, Result};
use baro_ondisk::limits::{UNIT_BYTES, round_up_to_unit};
use baro_ondisk::{
    BlockBuilder, BlockHeader, Declaration, End, Kind, Layout, Scan, SegmentHeader, Step, Type,
};
use baro_sys::memory::AlignedBuffer;
use baro_sys::storage::{Access, Storage, StorageFile};
use std::borrow::Cow;
use std::collections::HashMap;
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
            layout: found.layout.map(|layout| Arc::new(layout.into_owned())),
        }
    }
}

/// What is asked to be declared.
struct Wanted<'a> {
    name: &'a str,
    kind: Type,
    unit: &'a str,
    layout: Option<&'a Layout>,
}

/// All declarations of a store.
#[derive(Debug)]
pub struct Catalog {
    entries: Vec<Declared>,
    by_name: HashMap<String, usize>,
    /// Where the next block goes; not used by a reader.
    scan: Scan,
    padding_bytes: u64,
}

/// Bytes of the block in which declarations are appended.
const BLOCK_BYTES: usize = 256 << 10;

impl Catalog {
    /// Reads the catalog of a store.
    ///
    /// # Errors
    /// The file is missing, foreign, damaged, or cannot be read.
    pub fn read<S: Storage>(storage: &S) -> Result<Self> {
        let damaged = |source| Error::Format { file: CATALOG.to_owned(), source };
        let file = storage.open(CATALOG, Access::ReadDirect)?;
        let mut unit = AlignedBuffer::unlocked(UNIT_BYTES)?;
        let read = file.read_at(0, &mut unit)?;
        let (header, crc) =
            SegmentHeader::decode(unit.get(..read).unwrap_or(&[])).map_err(damaged)?;
        let mut blocks = Blocks::new()?;
        let mut walk = blocks.walk(&file, header, crc);
        let mut catalog = Catalog {
            entries: Vec::new(),
            by_name: HashMap::new(),
            scan: walk.scan().clone(),
            padding_bytes: 0,
        };
        loop {
            let offset = walk.scan().offset();
            match walk.next_block()? {
                Found::Block(block) => {
                    catalog.padding_bytes = block.header.padding_bytes;
                    for chunk in block.chunks() {
                        for record in chunk.map_err(|e| damaged(e.at(offset)))?.records() {
                            let record = record.map_err(|e| damaged(e.at(offset)))?;
                            let found = Declaration::decode(record.payload)
                                .map_err(|e| damaged(e.at(offset)))?;
                            catalog.insert(found.into());
                        }
                    }
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
        Ok(catalog)
    }

    fn insert(&mut self, declared: Declared) {
        self.by_name.insert(declared.name.clone(), self.entries.len());
        self.entries.push(declared);
    }

    /// All declarations, in the order in which they were made.
    #[must_use]
    pub fn entries(&self) -> &[Declared] {
        &self.entries
    }

    /// Highest session that has declared anything; the next one must be above it, since the session
    /// never falls within the catalog.
    #[must_use]
    pub fn session(&self) -> u64 {
        self.scan.session()
    }

    /// The series or channel of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Declared> {
        self.by_name.get(name).and_then(|at| self.entries.get(*at))
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
        let wanted: Vec<Wanted<'_>> = wanted
            .iter()
            .map(|(name, kind, unit)| Wanted { name, kind: *kind, unit, layout: None })
            .collect();
        self.declare_all(storage, session, &wanted)
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
        let wanted = Wanted { name, kind: Type::Channel, unit: "", layout: Some(layout) };
        let ids = self.declare_all(storage, session, &[wanted])?;
        ids.first().copied().ok_or(Error::CatalogFull { bytes: 0 })
    }

    fn declare_all<S: Storage>(
        &mut self,
        storage: &S,
        session: u64,
        wanted: &[Wanted<'_>],
    ) -> Result<Vec<u32>> {
        let mut ids = Vec::with_capacity(wanted.len());
        let mut fresh: Vec<Declared> = Vec::new();
        let mut fresh_by_name: HashMap<&str, usize> = HashMap::new();
        let next_id = self.entries.iter().map(|entry| entry.id).max().unwrap_or(0) + 1;
        for one in wanted {
            let name = one.name;
            let known =
                self.get(name).or_else(|| fresh_by_name.get(name).and_then(|at| fresh.get(*at)));
            if let Some(known) = known {
                check_known(known, one)?;
                ids.push(known.id);
                continue;
            }
            self.check_fields(one)?;
            let id = next_id + fresh.len() as u32;
            let (name_, unit) = (name.to_owned(), one.unit.to_owned());
            let layout = one.layout.cloned().map(Arc::new);
            fresh_by_name.insert(name, fresh.len());
            fresh.push(Declared { id, kind: one.kind, name: name_, unit, layout });
            ids.push(id);
        }
        if !fresh.is_empty() {
            self.append(storage, session, &fresh)?;
            fresh.into_iter().for_each(|declared| self.insert(declared));
        }
        Ok(ids)
    }

    /// A new name must not be that of a channel's field, and no field that of a series.
    fn check_fields(&self, wanted: &Wanted<'_>) -> Result<()> {
        let clash = |channel: &str, series: &str| Error::Setting {
            name: "name of a series",
            expected: format!("one that is not a field of the channel {channel}"),
            found: series.to_owned(),
        };
        let owner = wanted.name.rsplit_once('.').and_then(|(channel, field)| {
            let layout = self.get(channel)?.layout.as_ref()?;
            layout.find(field).map(|_| channel)
        });
        if let Some(channel) = owner {
            return Err(clash(channel, wanted.name));
        }
        let Some(layout) = wanted.layout else { return Ok(()) };
        let inside = |entry: &&Declared| {
            let field = entry.name.strip_prefix(wanted.name).and_then(|f| f.strip_prefix('.'));
            field.is_some_and(|field| layout.find(field).is_some())
        };
        match self.entries.iter().find(inside) {
            Some(entry) => Err(clash(wanted.name, &entry.name)),
            None => Ok(()),
        }
    }

    fn append<S: Storage>(&mut self, storage: &S, session: u64, fresh: &[Declared]) -> Result<()> {
        let bad = |source| Error::Format { file: CATALOG.to_owned(), source };
        let file = match storage.open(CATALOG, Access::WriteDirect) {
            Ok(file) => file,
            Err(_) => storage.open(CATALOG, Access::Write)?,
        };
        let mut buffer = AlignedBuffer::unlocked(BLOCK_BYTES)?;
        let mut builder = BlockBuilder::new(1);
        let mut scan = self.scan.clone();
        let mut padding_bytes = self.padding_bytes;
        let mut left = fresh.iter().peekable();
        while left.peek().is_some() {
            let mut sequence = 0;
            while let Some(declared) = left.peek() {
                let payload = declared.declaration().encode().map_err(bad)?;
                let fill = |to: &mut [u8]| to.copy_from_slice(&payload);
                let length = payload.len();
                if !builder.push(&mut buffer, 0, Kind::Declare, 0, sequence, 0, length, fill) {
                    break;
                }
                sequence += 1;
                left.next();
            }
            let start = BlockHeader {
                store: scan.header().store,
                session,
                epoch: scan.header().epoch,
                sequence: scan.sequence(),
                durable: self.scan.sequence(),
                previous_crc: scan.previous_crc(),
                padding_bytes,
                ..BlockHeader::default()
            };
            let header = builder.finish(&mut buffer, start);
            padding_bytes = header.padding_bytes;
            let bytes = round_up_to_unit(header.block_bytes());
            if scan.offset() + bytes as u64 > scan.header().segment_bytes {
                return Err(Error::CatalogFull { bytes: scan.header().segment_bytes });
            }
            let offset = scan.offset();
            // What a reader would not take must not be taken for declared.
            if let Step::End(End::Tail(source)) = scan.step(&buffer) {
                return Err(bad(source));
            }
            file.write_at(offset, buffer.get(..bytes).unwrap_or(&buffer))?;
        }
        file.sync_data()?;
        self.scan = scan;
        self.padding_bytes = padding_bytes;
        Ok(())
    }
}

/// What is declared stays: the same again is no news, anything else is refused.
fn check_known(known: &Declared, wanted: &Wanted<'_>) -> Result<()> {
    let name = wanted.name;
    if known.kind != wanted.kind {
        return Err(Error::Setting {
            name: "type of a series",
            expected: format!("{} as declared for {name}", known.kind.name()),
            found: wanted.kind.name().to_owned(),
        });
    }
    let Some(layout) = wanted.layout else { return Ok(()) };
    if known.layout.as_deref() == Some(layout) {
        return Ok(());
    }
    let declared = known.layout.as_ref().map_or("no layout".to_owned(), |found| found.to_string());
    Err(Error::Setting {
        name: "layout of a channel",
        expected: format!("{declared}, as declared for {name} (another layout: another channel)"),
        found: layout.to_string(),
    })
}
