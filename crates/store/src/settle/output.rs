//! Writing a run through the storage: in pieces, each handed to the device before the next, so
//! that settling never leaves a long writeback for a recorder to wait for.

use super::pace::Pace;
use crate::Result;
use baro_log::RUNS;
use baro_ondisk::limits::UNIT_BYTES;
use baro_sys::clock;
use baro_sys::storage::{AnyFile, AnyStorage, Storage, StorageFile};
use std::sync::Arc;

/// Bytes written at once.
const PIECE_BYTES: usize = 1 << 20;
/// Written pieces after which the device is waited for.
const WINDOW_BYTES: u64 = 8 << 20;

/// A run in the making.
#[derive(Debug)]
pub(super) struct Output {
    file: AnyFile,
    name: String,
    piece: Vec<u8>,
    written: u64,
    synced: u64,
    pace: Arc<Pace>,
    since_ns: u64,
}

impl Output {
    /// Makes the file, in place of what a failed attempt has left.
    pub(super) fn create(storage: &AnyStorage, pace: Arc<Pace>) -> Result<Self> {
        let name = format!("{RUNS}/run.new");
        match storage.remove(&name) {
            Err(error) if !error.is_missing() => return Err(error.into()),
            _ => {}
        }
        let file = storage.create(&name)?;
        let piece = Vec::with_capacity(PIECE_BYTES + UNIT_BYTES);
        let since_ns = clock::monotonic_ns();
        Ok(Output { file, name, piece, written: 0, synced: 0, pace, since_ns })
    }

    /// Appends.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.piece.extend_from_slice(bytes);
        if self.piece.len() >= PIECE_BYTES {
            self.flush()?;
            if self.written - self.synced >= WINDOW_BYTES {
                self.file.sync_data()?;
                self.synced = self.written;
                self.since_ns = self.pace.rest(self.since_ns)?;
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        self.file.write_at(self.written, &self.piece)?;
        self.written += self.piece.len() as u64;
        self.piece.clear();
        Ok(())
    }

    /// Makes it durable under its name; returns its bytes.
    pub(super) fn finish(mut self, storage: &AnyStorage, name: &str) -> Result<u64> {
        let synced = self.flush().and_then(|()| Ok(self.file.sync_data()?));
        if let Err(error) = synced {
            // What it takes may be what there is no room for.
            self.abandon(storage);
            return Err(error);
        }
        storage.rename(&self.name, name)?;
        storage.sync_folder(RUNS)?;
        Ok(self.written)
    }

    /// Gives it up; what is left is removed by the next attempt.
    pub(super) fn abandon(self, storage: &AnyStorage) {
        let _ = storage.remove(&self.name);
    }
}
