//! The catalog as a reader takes it: every declaration that can be read, and what cannot be.
//! The recorder's own reading refuses a damaged catalog; a reader must not.

use crate::Result;
use crate::damage::{Damage, Loss, Source};
use baro_ondisk::limits::UNIT_BYTES;
use baro_ondisk::{
    Block, BlockHeader, Declaration, End, Error as Format, SegmentHeader, SegmentKind, StoreId,
};
use baro_recorder::log::{Blocks, CATALOG, Declared, Found};
use baro_sys::memory::AlignedBuffer;
use baro_sys::storage::{Access, Storage, StorageFile};
use std::collections::HashMap;

/// Series and channels of a store.
#[derive(Debug, Default)]
pub struct Catalog {
    entries: Vec<Declared>,
    by_id: HashMap<u32, usize>,
    by_name: HashMap<String, usize>,
    pub(crate) bytes: u64,
    pub(crate) end: u64,
    pub(crate) damage: Vec<Damage>,
}

impl Catalog {
    /// All declarations, in the order in which they were made.
    #[must_use]
    pub fn entries(&self) -> &[Declared] {
        &self.entries
    }

    /// The series or channel with this id.
    #[must_use]
    pub fn id(&self, id: u32) -> Option<&Declared> {
        self.by_id.get(&id).and_then(|at| self.entries.get(*at))
    }

    /// The series or channel of this name.
    #[must_use]
    pub fn name(&self, name: &str) -> Option<&Declared> {
        self.by_name.get(name).and_then(|at| self.entries.get(*at))
    }

    fn insert(&mut self, declared: Declared) {
        if self.by_id.contains_key(&declared.id) || self.by_name.contains_key(&declared.name) {
            return;
        }
        let at = self.entries.len();
        self.by_id.insert(declared.id, at);
        self.by_name.insert(declared.name.clone(), at);
        self.entries.push(declared);
    }

    pub(crate) fn read<S: Storage>(storage: &S, store: StoreId, access: Access) -> Result<Self> {
        let mut catalog = Catalog::default();
        let file = match storage.open(CATALOG, access) {
            Err(error) if error.is_missing() => {
                catalog.unreadable(&error);
                return Ok(catalog);
            }
            other => other?,
        };
        catalog.bytes = file.size_bytes()?;
        let mut unit = AlignedBuffer::unlocked(UNIT_BYTES)?;
        let Some((header, crc)) = catalog.header(&file, store, &mut unit)? else {
            return Ok(catalog);
        };
        if let Err(error) = catalog.blocks(&file, header, crc) {
            catalog.unreadable(&error);
        }
        Ok(catalog)
    }

    fn unreadable(&mut self, error: &baro_sys::Error) {
        let source = Source::Unreadable(error.to_string());
        let (file, offset, loss) = (CATALOG.to_owned(), 0, Loss::Declarations);
        self.damage.push(Damage { file, offset, source, loss });
    }

    fn damaged(&mut self, source: Format) {
        self.damage.push(Damage::format(CATALOG, source, Loss::Declarations));
    }

    fn header<F: StorageFile>(
        &mut self,
        file: &F,
        store: StoreId,
        unit: &mut AlignedBuffer,
    ) -> Result<Option<(SegmentHeader, u32)>> {
        let read = file.read_at(0, unit)?;
        let error = match SegmentHeader::decode(unit.get(..read).unwrap_or(&[])) {
            Ok((header, crc)) => {
                if header.store == store && header.kind == SegmentKind::Catalog {
                    return Ok(Some((header, crc)));
                }
                let half = |id: StoreId| u128::from_le_bytes(id.0) as u64;
                self.damaged(Format::Mismatch {
                    what: baro_ondisk::What::Segment,
                    field: "store id",
                    offset: 16,
                    expected: half(store),
                    found: half(header.store),
                });
                return Ok(None);
            }
            Err(error) => error,
        };
        self.damaged(error);
        // The first block tells what the header would.
        let read = file.read_at(UNIT_BYTES as u64, unit)?;
        let Ok(first) = BlockHeader::decode(unit.get(..read).unwrap_or(&[])) else {
            return Ok(None);
        };
        let header = SegmentHeader {
            kind: SegmentKind::Catalog,
            store: first.store,
            session: first.session,
            epoch: first.epoch,
            index: 0,
            previous_crc: 0,
            segment_bytes: self.bytes,
            first_block: first.sequence,
            realtime_ns: 0,
            boottime_ns: 0,
            boot_id: [0; 16],
        };
        Ok((first.store == store).then_some((header, first.previous_crc)))
    }

    fn blocks<F: StorageFile>(
        &mut self,
        file: &F,
        header: SegmentHeader,
        crc: u32,
    ) -> baro_sys::Result<()> {
        let mut buffer = Blocks::new()?;
        let mut walk = buffer.walk(file, header, crc);
        let mut tried_at = 0;
        loop {
            let offset = walk.scan().offset();
            match walk.next_block()? {
                Found::Block(block) => self.take(&block, offset),
                Found::End(End::Full) => break,
                Found::End(End::Tail(source)) => match walk.find_proof()? {
                    None => break,
                    // A writer may have written it since: looked at once more before it counts.
                    Some(_) if tried_at != offset => tried_at = offset,
                    Some((at, block)) => {
                        self.damaged(source);
                        walk.resume(at, &block);
                    }
                },
            }
        }
        self.end = walk.scan().offset();
        Ok(())
    }

    fn take(&mut self, block: &Block<'_>, offset: u64) {
        for chunk in block.chunks() {
            let records = match chunk {
                Ok(chunk) => chunk.records(),
                Err(error) => return self.damaged(error.at(offset)),
            };
            for record in records {
                match record.and_then(|r| Declaration::decode(r.payload)) {
                    Ok(found) => self.insert(found.into()),
                    Err(error) => self.damaged(error.at(offset)),
                }
            }
        }
    }
}
