//! SQLite, as small recorders use it: one row per block, a commit per flush unit.
//!
//! WAL with `synchronous=NORMAL` syncs at checkpoints alone, and those, like commits, are made by
//! whoever inserts: the producer.

use super::{Recording, WaySpec};
use baro_sys::sqlite::Database;
use std::io;
use std::path::Path;

#[derive(Debug)]
pub(super) struct Sqlite {
    database: Database,
    uncommitted_bytes: u64,
    unit_bytes: u64,
    written_bytes: u64,
    end_bytes: u64,
}

impl Sqlite {
    pub(super) fn begin(path: &Path, spec: &WaySpec) -> io::Result<Self> {
        let mut database = Database::create(path)?;
        database.checkpoint()?;
        Ok(Self {
            database,
            uncommitted_bytes: 0,
            unit_bytes: spec.flush_bytes,
            written_bytes: 0,
            end_bytes: spec.whole_bytes(),
        })
    }
}

impl Recording for Sqlite {
    fn write(&mut self, block: &[u8]) -> io::Result<()> {
        self.written_bytes += block.len() as u64;
        self.uncommitted_bytes += block.len() as u64;
        self.database.insert(block)?;
        if self.uncommitted_bytes >= self.unit_bytes {
            self.uncommitted_bytes = 0;
            self.database.commit()?;
        }
        Ok(())
    }

    fn is_full(&self) -> bool {
        self.written_bytes >= self.end_bytes
    }

    fn settle(&mut self) -> io::Result<()> {
        self.uncommitted_bytes = 0;
        self.database.checkpoint()
    }

    #[cfg(test)]
    fn read_back(&mut self, _path: &Path, _spec: &WaySpec) -> Vec<Vec<u8>> {
        self.database.blocks().expect("readable")
    }
}
