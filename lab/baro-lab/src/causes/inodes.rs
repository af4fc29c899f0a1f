//! Many files whose inodes lie in blocks of their own: each touch makes one block of metadata
//! dirty, as many as a journal is to be filled with.
//!
//! Invariant: [`Inodes::touch`] changes one inode and nothing else. Held by `tests/causes.rs`: the
//! causes that fill a journal by it do fill it.

use baro_bench::error::BenchError;
use baro_bench_sys::calls;
use baro_sys::files;
use std::io;
use std::path::{Path, PathBuf};

/// Inodes of 256 bytes in a block of 4 KiB, as mkfs makes them.
const IN_BLOCK: u64 = 16;

/// Files in blocks of their own.
#[derive(Clone, Debug)]
pub(super) struct Inodes {
    dir: PathBuf,
    step: u64,
    pub(super) blocks: u64,
}

impl Inodes {
    /// Makes files that fill `blocks` blocks with inodes, and leaves `between` blocks between two
    /// of them, so that the device gets them one by one.
    pub(super) fn make(dir: &Path, blocks: u64, between: u64) -> Result<Self, BenchError> {
        let dir = dir.join("inodes");
        let failed = |source| BenchError::file("make files in", &dir)(source);
        files::make_folder(&dir).map_err(failed)?;
        let inodes = Self { dir: dir.clone(), step: IN_BLOCK * (between + 1), blocks };
        for number in 0..blocks * inodes.step {
            files::create(&inodes.path(number)).map_err(failed)?;
        }
        Ok(inodes)
    }

    fn path(&self, number: u64) -> PathBuf {
        self.dir.join(number.to_string())
    }

    /// A file whose inode is in the last of the blocks, and the number of that block.
    pub(super) fn beside_last(&self) -> (PathBuf, u64) {
        let last = self.blocks.saturating_sub(1);
        // In the middle: the first of these files need not be the first in its block.
        (self.path(last * self.step + IN_BLOCK / 2), last)
    }

    /// Changes the inode in that block, another way each `round`.
    pub(super) fn touch(&self, block: u64, round: u64) -> io::Result<()> {
        let mode = if round.is_multiple_of(2) { 0o600 } else { 0o640 };
        Ok(calls::set_mode(&self.path(block % self.blocks.max(1) * self.step), mode)?)
    }
}
