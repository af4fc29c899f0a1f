//! SQLite, as small recorders use it: one row per block, a commit per flush unit.
//!
//! WAL with `synchronous=NORMAL` syncs at checkpoints alone, and those, like commits, are made by
//! whoever inserts: the producer.

use super::{Later, Recording, WaySpec};
use baro_bench_sys::sqlite::Database;
use std::io;
use std::path::Path;

#[derive(Debug)]
pub(super) struct Sqlite {
    database: Database,
    /// Blocks that the transaction under way has taken.
    uncommitted: u64,
    blocks_per_commit: u64,
    later: Later,
    written_bytes: u64,
    end_bytes: u64,
}

impl Sqlite {
    pub(super) fn begin(path: &Path, spec: &WaySpec) -> io::Result<Self> {
        let mut database = Database::create(path)?;
        database.checkpoint()?;
        Ok(Self {
            database,
            uncommitted: 0,
            blocks_per_commit: spec.flush_bytes / spec.block_bytes,
            later: Later::default(),
            written_bytes: 0,
            end_bytes: spec.whole_bytes(),
        })
    }
}

impl Sqlite {
    /// An error of a call; counts the blocks that SQLite has undone with it.
    fn failed(&mut self, error: io::Error) -> io::Error {
        if !self.database.is_in_transaction() {
            self.later.failed += self.uncommitted;
            self.later.first_error.get_or_insert(error.kind());
            self.uncommitted = 0;
        }
        error
    }
}

impl Recording for Sqlite {
    fn write(&mut self, block: &[u8]) -> io::Result<()> {
        // Failed ones count too, so that a full disk ends.
        self.written_bytes += block.len() as u64;
        self.database.insert(block).map_err(|error| self.failed(error))?;
        if self.uncommitted + 1 >= self.blocks_per_commit {
            self.database.commit().map_err(|error| self.failed(error))?;
            self.uncommitted = 0;
        } else {
            self.uncommitted += 1;
        }
        Ok(())
    }

    fn is_full(&self) -> bool {
        self.written_bytes >= self.end_bytes
    }

    fn settle(&mut self) -> io::Result<()> {
        self.database.checkpoint().map_err(|error| self.failed(error))?;
        self.uncommitted = 0;
        Ok(())
    }

    fn later(&self) -> Later {
        self.later
    }

    #[cfg(test)]
    fn read_back(&mut self, _path: &Path, _spec: &WaySpec) -> Vec<Vec<u8>> {
        self.database.blocks().expect("readable")
    }
}
