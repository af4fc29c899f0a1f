//! What journals do: handles, stages of transactions, space.

use super::{At, Builder};
use crate::record::Device;
use crate::schema::{HandleStats, KernelEvent, RunStats};
use crate::timeline::{CheckpointCall, Handle, Journal, TailMove, Transaction};

/// A handle as its event tells it.
#[derive(Clone, Copy)]
struct Begins {
    device: Device,
    tid: u32,
    kind: u32,
    requested_blocks: i32,
}

impl Builder {
    /// Takes an event of jbd2, or of ext4 about handles; false if it is another.
    pub(super) fn journal_event(&mut self, at: At, event: &KernelEvent) -> bool {
        let time_ns = at.time_ns;
        match event {
            KernelEvent::JournalStart(event) => self.asks(at, event.dev),
            KernelEvent::JournalStartSb(event) => self.asks(at, event.dev),
            KernelEvent::JournalStartInode(event) => self.asks(at, event.dev),
            KernelEvent::JournalStartReserved(event) => self.asks(at, event.dev),
            KernelEvent::HandleStart(event) => self.handle_begins(
                at,
                Begins {
                    device: event.dev,
                    tid: event.tid,
                    kind: event.kind,
                    requested_blocks: event.requested_blocks,
                },
            ),
            KernelEvent::HandleRestart(event) => {
                self.handle_ends(at, None);
                self.now.entry(at.pid).or_default().asked = None;
                self.handle_begins(
                    at,
                    Begins {
                        device: event.dev,
                        tid: event.tid,
                        kind: event.kind,
                        requested_blocks: event.requested_blocks,
                    },
                );
            }
            KernelEvent::HandleStats(event) => self.handle_ends(at, Some(event)),
            KernelEvent::HandleExtend(_) => {}
            KernelEvent::StartCommit(event) => {
                self.journal(event.dev).thread = Some(at.pid);
                self.transaction(event.dev, event.tid).commit_ns = Some(time_ns);
            }
            KernelEvent::CommitLocking(event) => {
                self.journal(event.dev).thread = Some(at.pid);
                self.transaction(event.dev, event.tid).locking_ns = Some(time_ns);
            }
            KernelEvent::CommitFlushing(event) => {
                let transaction = self.transaction(event.dev, event.tid);
                transaction.flushing_ns = Some(time_ns);
                if transaction.end_ns.is_none() {
                    self.flushing.entry(event.dev).or_default().insert(event.tid);
                }
            }
            KernelEvent::CommitLogging(event) => {
                self.transaction(event.dev, event.tid).logging_ns = Some(time_ns);
            }
            KernelEvent::EndCommit(event) => {
                self.transaction(event.dev, event.tid).end_ns = Some(time_ns);
                if let Some(flushing) = self.flushing.get_mut(&event.dev) {
                    flushing.remove(&event.tid);
                }
            }
            KernelEvent::DropTransaction(event) => {
                self.transaction(event.dev, event.tid).dropped_ns = Some(time_ns);
            }
            KernelEvent::RunStats(event) => self.run_stats(event),
            KernelEvent::CheckpointStats(event) => {
                self.transaction(event.dev, event.tid).checkpoint = Some(*event);
            }
            KernelEvent::SubmitInodeData(event) => {
                if let Some(transaction) = self.flushing(event.dev) {
                    transaction.data_files += 1;
                }
            }
            KernelEvent::WritepagesResult(event) => {
                // Only what the journal's own thread sends is data of a commit.
                let pages = u64::try_from(event.pages_written).unwrap_or(0);
                if self.line.journals.get(&event.dev).is_some_and(|one| one.thread == Some(at.pid))
                    && let Some(transaction) = self.flushing(event.dev)
                {
                    transaction.data_pages += pages;
                }
            }
            KernelEvent::Checkpoint(event) => {
                let call = CheckpointCall { time_ns, pid: at.pid, result: event.result };
                self.keep(event.dev, |journal| journal.checkpoints.push(call));
            }
            KernelEvent::UpdateLogTail(event) => {
                let tail = TailMove {
                    time_ns,
                    pid: at.pid,
                    freed_blocks: event.freed_blocks,
                    first_tid: event.first_tid,
                };
                self.keep(event.dev, |journal| journal.tails.push(tail));
            }
            KernelEvent::WriteSuperblock(event) => {
                self.journal(event.dev).superblock_writes += 1;
            }
            KernelEvent::LockBufferStall(event) => {
                let stall = (time_ns, event.stall_ms);
                self.keep(event.dev, |journal| journal.buffer_stalls.push(stall));
            }
            _ => return false,
        }
        true
    }

    pub(super) fn journal(&mut self, device: Device) -> &mut Journal {
        self.line.journals.entry(device).or_default()
    }

    fn keep(&mut self, device: Device, keep: impl FnOnce(&mut Journal)) {
        if self.room() {
            keep(self.journal(device));
        }
    }

    pub(super) fn transaction(&mut self, device: Device, tid: u32) -> &mut Transaction {
        let transactions = &mut self.line.journals.entry(device).or_default().transactions;
        transactions.entry(tid).or_insert_with(|| Transaction { tid, ..Transaction::default() })
    }

    /// The transaction whose data is being sent.
    fn flushing(&mut self, device: Device) -> Option<&mut Transaction> {
        let tid = self.flushing.get(&device)?.last()?;
        self.line.journals.get_mut(&device)?.transactions.get_mut(tid)
    }

    fn asks(&mut self, at: At, device: Device) {
        // A second request before the first is granted: the first was inside of another handle.
        self.now.entry(at.pid).or_default().asked = Some((device, at.time_ns));
    }

    fn handle_begins(&mut self, at: At, begins: Begins) {
        let Begins { device, tid, kind, requested_blocks } = begins;
        let now = self.now.entry(at.pid).or_default();
        let asked = now.asked.take().filter(|(of, _)| *of == device);
        let handle = Handle {
            device,
            tid,
            kind,
            asked_ns: asked.map(|(_, asked_ns)| asked_ns),
            begin_ns: at.time_ns,
            end_ns: None,
            requested_blocks,
            dirtied_blocks: 0,
            sync: false,
        };
        now.handle = Some(handle);
        let journal = self.journal(device);
        journal.handle(kind, handle.wait_ns());
        // The first that is seen of a transaction may be one of its later ones, unless the one
        // before was seen to be locked.
        let before = journal.transactions.get(&tid.wrapping_sub(1));
        let whole = before.is_some_and(|before| before.locking_ns.is_some());
        let transaction = self.transaction(device, tid);
        transaction.handles_seen += 1;
        if whole && transaction.begin_ns.is_none() {
            transaction.begin_ns = Some(at.time_ns);
        }
    }

    /// The open handle ends; a restarted one without statistics.
    fn handle_ends(&mut self, at: At, event: Option<&HandleStats>) {
        let Some(handle) = self.now.get_mut(&at.pid).and_then(|now| now.handle.take()) else {
            return;
        };
        if event.is_some_and(|event| (event.dev, event.tid) != (handle.device, handle.tid)) {
            return;
        }
        let open_ns = at.time_ns.saturating_sub(handle.begin_ns);
        let sync = event.is_some_and(|event| event.sync);
        let long = open_ns >= self.limits.min_handle_open_ns
            || handle.wait_ns().is_some_and(|wait_ns| wait_ns >= self.limits.min_handle_wait_ns);
        if (long || sync) && self.room() {
            let dirtied_blocks = event.map_or(0, |event| event.dirtied_blocks);
            let ended = Handle { end_ns: Some(at.time_ns), dirtied_blocks, sync, ..handle };
            self.line.tasks.entry(at.pid).or_default().handles.push(ended);
        }
    }

    fn run_stats(&mut self, event: &RunStats) {
        self.transaction(event.dev, event.tid).stats = Some(*event);
    }
}
