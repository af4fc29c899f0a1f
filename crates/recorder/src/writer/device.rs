//! The device as the engine sees it: writes and syncs that complete later, in any order; and the
//! real one, files with a few threads that do nothing but pwrite and fdatasync.
//!
//! Threads and not io_uring, because recording must work on kernel 4.4; measured side by side in
//! the bench before that changes.

use baro_log::segment_name;
use baro_ondisk::limits::UNIT_BYTES;
use baro_ondisk::{SegmentHeader, StoreId};
use baro_sys::Result;
use baro_sys::memory::AlignedBuffer;
use baro_sys::queue::{Receiver, Sender, channel};
use baro_sys::storage::{Access, Storage, StorageFile};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// What the engine asks for.
#[derive(Debug)]
pub enum Operation {
    /// Write the first `bytes` of `buffer` at `offset` of a segment.
    Write {
        /// Names the operation in its completion.
        ticket: u64,
        /// Index of the segment's file.
        segment: u32,
        /// Offset in it, whole units.
        offset: u64,
        /// Bytes, whole units.
        bytes: usize,
        /// Given back by the completion.
        buffer: AlignedBuffer,
    },
    /// Make all completed writes to a segment durable.
    Sync {
        /// Names the operation in its completion.
        ticket: u64,
        /// Index of the segment's file.
        segment: u32,
    },
}

/// An operation that has ended.
#[derive(Debug)]
pub struct Completion {
    /// Which.
    pub ticket: u64,
    /// The buffer of a write.
    pub buffer: Option<AlignedBuffer>,
    /// How it ended.
    pub result: Result<()>,
}

/// Takes operations; their completions reach [`Engine::complete`](super::Engine::complete).
pub trait Device {
    /// Starts an operation; does not wait for it.
    fn submit(&mut self, operation: Operation);
}

/// Segment files kept open: the newest few; older ones are closed.
const OPEN_FILES_MAX: usize = 8;
/// Writers beside each other. Two keep a fast device busy; behind others' deep queues each write
/// waits for seconds, and only what is on its way at once makes progress.
pub(crate) const WRITE_THREADS: usize = 8;

#[derive(Debug)]
struct Files<S: Storage> {
    storage: S,
    access: Access,
    own: Own,
    open: Mutex<HashMap<u32, Used<S::File>>>,
}

/// An open file and when it was last used, as a count.
type Used<F> = (u64, Arc<F>);

impl<S: Storage> Files<S> {
    fn get(&self, segment: u32) -> Result<Arc<S::File>> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let newest = open.values().map(|(used, _)| *used).max().unwrap_or(0);
        if let Some((used, file)) = open.get_mut(&segment) {
            *used = newest + 1;
            return Ok(Arc::clone(file));
        }
        let file = Arc::new(self.storage.open(&segment_name(segment), self.access)?);
        // Blocks of a segment that was never used do not wait for its header.
        self.own.check(&*file, segment)?;
        if open.len() >= OPEN_FILES_MAX {
            let oldest = open.iter().min_by_key(|(_, (used, _))| *used).map(|(index, _)| *index);
            oldest.and_then(|index| open.remove(&index));
        }
        open.insert(segment, (newest + 1, Arc::clone(&file)));
        Ok(file)
    }

    fn run(&self, operation: Operation) -> Completion {
        match operation {
            Operation::Write { ticket, segment, offset, bytes, buffer } => {
                let result = self.get(segment).and_then(|file| {
                    let written = buffer.get(..bytes).unwrap_or(&buffer);
                    if offset == 0 {
                        self.own.check(&*file, segment)?;
                    }
                    file.write_at(offset, written)
                });
                Completion { ticket, buffer: Some(buffer), result }
            }
            Operation::Sync { ticket, segment } => {
                let result = self.get(segment).and_then(|file| file.sync_data());
                Completion { ticket, buffer: None, result }
            }
        }
    }
}

/// What was tried when another recorder's header was found.
const FOREIGN: &str = "start a segment that another recorder has written meanwhile";

/// Whether that is why an operation failed.
pub(crate) fn is_foreign(error: &baro_sys::Error) -> bool {
    error.operation == FOREIGN
}

/// Whose log it is, to find out that another recorder writes it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Own {
    pub(crate) store: StoreId,
    pub(crate) session: u64,
    /// The highest epoch that was there when the store was opened.
    pub(crate) last_epoch: u64,
}

impl Own {
    /// Before anything is written to a segment: what is in its place must be what was there at the
    /// open of the store, or of this session. Anything newer is another recorder's, who has got past
    /// the locks.
    fn check(&self, file: &impl StorageFile, segment: u32) -> Result<()> {
        let mut unit = AlignedBuffer::unlocked(UNIT_BYTES)?;
        // What is no header was none before, or is damage, and so is what cannot be read: neither is another
        // recorder.
        let read = file.read_at(0, &mut unit).unwrap_or(0);
        let Ok((found, _)) = SegmentHeader::decode(unit.get(..read).unwrap_or(&[])) else {
            return Ok(());
        };
        let Own { store, session, last_epoch } = *self;
        if found.store != store || found.session == session || found.epoch <= last_epoch {
            return Ok(());
        }
        let said = format!(
            "expected an epoch of at most {last_epoch}, found {} of session {:016x}; stop one of \
             the two, then look with: baro verify",
            found.epoch, found.session
        );
        Err(baro_sys::Error::new(FOREIGN, segment_name(segment), std::io::Error::other(said)))
    }
}

/// Segment files of a store.
#[derive(Debug)]
pub(crate) struct FileDevice {
    writes: Option<Sender<Operation>>,
    syncs: Option<Sender<Operation>>,
    threads: Vec<JoinHandle<()>>,
}

impl FileDevice {
    /// Starts the threads. Each calls `prepare` first (priority, processor), then hands every
    /// completion to `complete`.
    ///
    /// # Errors
    /// A thread cannot be started.
    pub(crate) fn start<S: Storage>(
        storage: S,
        access: Access,
        own: Own,
        prepare: impl Fn() + Clone + Send + 'static,
        complete: impl Fn(Completion) + Clone + Send + 'static,
    ) -> Result<Self> {
        let files = Arc::new(Files { storage, access, own, open: Mutex::new(HashMap::new()) });
        let mut device = FileDevice { writes: None, syncs: None, threads: Vec::new() };
        let (writes, write_queue) = channel();
        let (syncs, sync_queue) = channel();
        let write_queue = Arc::new(Mutex::new(write_queue));
        let sync_queue = Arc::new(Mutex::new(sync_queue));
        for number in 0..=WRITE_THREADS {
            let sync = number == WRITE_THREADS;
            let name = if sync { "baro-sync".to_owned() } else { format!("baro-write-{number}") };
            let queue = Arc::clone(if sync { &sync_queue } else { &write_queue });
            let (files, prepare, complete) =
                (Arc::clone(&files), prepare.clone(), complete.clone());
            let body = move || {
                prepare();
                while let Some(operation) = take(&queue) {
                    complete(files.run(operation));
                }
            };
            let thread = std::thread::Builder::new()
                .name(name)
                .stack_size(128 << 10)
                .spawn(body)
                .map_err(|e| baro_sys::Error::new("start thread", "", e))?;
            device.threads.push(thread);
        }
        device.writes = Some(writes);
        device.syncs = Some(syncs);
        Ok(device)
    }
}

fn take(queue: &Mutex<Receiver<Operation>>) -> Option<Operation> {
    queue.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}

impl FileDevice {
    /// Leaves threads behind that the kernel does not let go of, with their buffers.
    pub(crate) fn abandon(mut self) {
        self.threads.clear();
    }
}

impl Device for FileDevice {
    fn submit(&mut self, operation: Operation) {
        let queue = match operation {
            Operation::Write { .. } => &self.writes,
            Operation::Sync { .. } => &self.syncs,
        };
        if let Some(queue) = queue {
            // The threads end only when the senders are dropped.
            let _ = queue.send(operation);
        }
    }
}

impl Drop for FileDevice {
    fn drop(&mut self) {
        self.writes = None;
        self.syncs = None;
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
