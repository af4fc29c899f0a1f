//! Statements on their way to the disk: one write at a time, each waited for, past the page cache,
//! at the next 4 KiB of a file or device that is gone round. Never synced: a sync would be a flush
//! of the disk's cache, which would make durable what the recorder has not synced yet.

use super::{Told, said};
use crate::statement::{STATEMENT_BYTES, Statement};
use baro_sys::memory::AlignedBuffer;
use baro_sys::{clock, files};
use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// Between two statements.
const PAUSE_NS: u64 = 4_000_000;
/// Size of a file that is not there yet.
const FILE_BYTES: u64 = 1 << 20;

/// Where statements go.
#[derive(Debug)]
pub(super) struct AckFile {
    file: Option<File>,
    bytes: u64,
    offset: u64,
    block: AlignedBuffer,
}

impl AckFile {
    pub(super) fn open(path: Option<&Path>) -> Result<Self, String> {
        let block = AlignedBuffer::unlocked(STATEMENT_BYTES).map_err(said)?;
        let Some(path) = path else {
            return Ok(AckFile { file: None, bytes: 0, offset: 0, block });
        };
        let fail = |error: std::io::Error| format!("{}: {error}", path.display());
        let mut options = OpenOptions::new();
        let mut file = options.read(true).write(true).create(true).truncate(false).open(path);
        // Of a device the end is where a seek says; of a file too.
        let mut bytes = file.as_mut().map_err(|e| format!("{}: {e}", path.display()))?;
        let mut end = bytes.seek(SeekFrom::End(0)).map_err(fail)?;
        if end < STATEMENT_BYTES as u64 {
            bytes.set_len(FILE_BYTES).map_err(fail)?;
            bytes = file.as_mut().map_err(|e| format!("{}: {e}", path.display()))?;
            end = bytes.seek(SeekFrom::End(0)).map_err(fail)?;
        }
        // Through the page cache a statement reaches the disk later: it still says what is true.
        let file = files::open_direct_to_write(path).map_err(said)?;
        let bytes = end / STATEMENT_BYTES as u64 * STATEMENT_BYTES as u64;
        Ok(AckFile { file: Some(file), bytes, offset: 0, block })
    }

    pub(super) fn write(&mut self, statement: &Statement) -> Result<(), String> {
        let Some(file) = &self.file else { return Ok(()) };
        self.block.iter_mut().zip(statement.encode()).for_each(|(place, byte)| *place = byte);
        files::write_at(file, &self.block, self.offset).map_err(said)?;
        self.offset += STATEMENT_BYTES as u64;
        if self.offset >= self.bytes {
            self.offset = 0;
        }
        Ok(())
    }
}

/// The thread that writes them.
#[derive(Debug)]
pub(super) struct Acks {
    thread: JoinHandle<Result<AckFile, String>>,
    stop: Arc<AtomicBool>,
}

impl Acks {
    pub(super) fn start(mut file: AckFile, told: &Arc<Told>) -> Result<Self, String> {
        let stop = Arc::new(AtomicBool::new(false));
        let (ended, told) = (Arc::clone(&stop), Arc::clone(told));
        let thread = super::thread("load-ack", move || {
            let mut done = Ok(());
            while !ended.load(Ordering::Acquire) && done.is_ok() {
                // First what is promised, then the write: it cannot say what comes meanwhile.
                let statement = told.next();
                done = file.write(&statement);
                told.wrote(&statement);
                clock::sleep_ns(PAUSE_NS);
            }
            told.end();
            done.map(|()| file)
        })?;
        Ok(Acks { thread, stop })
    }

    /// Writes the last one and returns it.
    pub(super) fn end(self, told: &Told) -> Result<Statement, String> {
        self.stop.store(true, Ordering::Release);
        let file =
            self.thread.join().map_err(|_| "the thread of statements panicked".to_owned())?;
        let statement = told.next();
        file?.write(&statement)?;
        Ok(statement)
    }
}
