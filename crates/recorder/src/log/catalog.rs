//! The catalog on disk: declarations of series and channels, appended durably, never during a push.

use super::names::CATALOG;
use super::walk::{Blocks, Found};
use crate::{Error, Result};
use baro_ondisk::limits::{UNIT_BYTES, round_up_to_unit};
use baro_ondisk::{
    BlockBuilder, BlockHeader, Declaration, End, Kind, Scan, SegmentHeader, Step, Type,
};
use baro_sys::memory::AlignedBuffer;
use baro_sys::storage::{Access, Storage, StorageFile};
use std::collections::HashMap;

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
                            catalog.insert(&found);
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

    fn insert(&mut self, found: &Declaration<'_>) {
        let declared = Declared {
            id: found.id,
            kind: found.kind,
            name: found.name.to_owned(),
            unit: found.unit.to_owned(),
        };
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
        let mut ids = Vec::with_capacity(wanted.len());
        let mut fresh: Vec<Declared> = Vec::new();
        let mut fresh_by_name: HashMap<&str, usize> = HashMap::new();
        let next_id = self.entries.iter().map(|entry| entry.id).max().unwrap_or(0) + 1;
        for (name, kind, unit) in wanted {
            let known =
                self.get(name).or_else(|| fresh_by_name.get(name).and_then(|at| fresh.get(*at)));
            if let Some(known) = known {
                if known.kind != *kind {
                    return Err(Error::Setting {
                        name: "type of a series",
                        expected: format!("{} as declared for {name}", known.kind.name()),
                        found: kind.name().to_owned(),
                    });
                }
                ids.push(known.id);
                continue;
            }
            let id = next_id + fresh.len() as u32;
            let (name_, unit) = ((*name).to_owned(), (*unit).to_owned());
            fresh_by_name.insert(name, fresh.len());
            fresh.push(Declared { id, kind: *kind, name: name_, unit });
            ids.push(id);
        }
        if !fresh.is_empty() {
            self.append(storage, session, &fresh)?;
            for declared in fresh {
                self.by_name.insert(declared.name.clone(), self.entries.len());
                self.entries.push(declared);
            }
        }
        Ok(ids)
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
                let Declared { id, kind, name, unit } = declared;
                let payload =
                    Declaration { id: *id, kind: *kind, name, unit }.encode().map_err(bad)?;
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
