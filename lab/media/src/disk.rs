//! The FUSE file system with one file, `disk`, that answers as slowly as the model says.
//!
//! The data go to the backing file at once; the answer waits for its slot. Answers leave in the
//! order of their slots, from one thread, so the request loop is never asleep and requests that
//! arrive together queue in the device as they would in hardware.
//!
//! Invariant: no answer leaves before its slot is over; a flush is answered after all that
//! arrived before it. Held by the order of the queue; rates are checked by `tests/run.rs`.

use crate::model::{Device, Operation, Speed};
use baro_sys::clock::{monotonic_ns, sleep_until_ns};
use fuser::{
    Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, InitFlags,
    KernelConfig, LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory, ReplyEmpty,
    ReplyEntry, ReplyOpen, ReplyWrite, Request, WriteFlags,
};
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, UNIX_EPOCH};

/// Name of the file that is the disk.
pub(crate) const DISK_NAME: &str = "disk";
const DISK: INodeNo = INodeNo(2);
const TTL: Duration = Duration::from_secs(3600);
/// The largest request: 1 MiB is what the block layer sends at most by default.
const REQUEST_BYTES_MAX: u32 = 1 << 20;

/// What went through the device, and whether it is slow at present.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    /// The model holds only while this is set: making and removing the file system is not
    /// what anybody wants to wait for.
    pub(crate) slow: AtomicBool,
    pub(crate) reads: AtomicU64,
    pub(crate) read_bytes: AtomicU64,
    pub(crate) writes: AtomicU64,
    pub(crate) write_bytes: AtomicU64,
    pub(crate) flushes: AtomicU64,
}

enum Answer {
    Data(ReplyData, io::Result<Vec<u8>>),
    Written(ReplyWrite, io::Result<u32>),
    Done(ReplyEmpty),
}

impl Answer {
    fn send(self) {
        match self {
            Self::Data(reply, Ok(data)) => reply.data(&data),
            Self::Data(reply, Err(error)) => reply.error(error.into()),
            Self::Written(reply, Ok(bytes)) => reply.written(bytes),
            Self::Written(reply, Err(error)) => reply.error(error.into()),
            Self::Done(reply) => reply.ok(),
        }
    }
}

/// The file system; its last owner dropping it ends the answering thread.
#[derive(Debug)]
pub(crate) struct SlowDisk {
    backing: File,
    size_bytes: u64,
    meter: Arc<Meter>,
    /// Slot and queue under one lock: answers are queued in the order of their slots.
    line: Mutex<(Device, Sender<(u64, Answer)>)>,
}

impl SlowDisk {
    /// Serves `backing`, whose length is the size of the disk, at `speed`.
    pub(crate) fn new(backing: File, speed: Speed, meter: Arc<Meter>) -> io::Result<Self> {
        let size_bytes = backing.metadata()?.len();
        let (sender, receiver) = channel();
        // Timers may be 50 us late by default, as long as an operation of a quick device takes.
        // A new thread takes this over from the one that starts it, and so would the command:
        // hence the 0 afterwards, which restores the default.
        set_timer_slack_ns("1");
        let started = std::thread::Builder::new()
            .name("media-answers".to_owned())
            .spawn(move || answer_in_time(&receiver));
        set_timer_slack_ns("0");
        started?;
        Ok(Self { backing, size_bytes, meter, line: Mutex::new((Device::new(speed), sender)) })
    }

    fn answer_after(&self, operation: Operation, answer: Answer) {
        // A poisoned lock would mean a panic in arithmetic that cannot panic; the time line is
        // still usable.
        let mut line = self.line.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let due_ns = if self.meter.slow.load(Relaxed) {
            line.0.done_at_ns(operation, monotonic_ns())
        } else {
            0
        };
        if let Err(unsent) = line.1.send((due_ns, answer)) {
            unsent.0.1.send();
        }
    }

    fn attributes(&self, inode: INodeNo) -> Option<FileAttr> {
        let (kind, perm, nlink, size) = match inode {
            INodeNo::ROOT => (FileType::Directory, 0o700, 2, 0),
            DISK => (FileType::RegularFile, 0o600, 1, self.size_bytes),
            _ => return None,
        };
        Some(FileAttr {
            ino: inode,
            size,
            blocks: size / 512,
            atime: UNIX_EPOCH,
            mtime: UNIX_EPOCH,
            ctime: UNIX_EPOCH,
            crtime: UNIX_EPOCH,
            kind,
            perm,
            nlink,
            uid: 0,
            gid: 0,
            rdev: 0,
            flags: 0,
            blksize: 4096,
        })
    }
}

/// For the main thread, which must be the caller. A kernel without it (before 4.6) has later
/// answers.
#[allow(clippy::disallowed_methods, reason = "automation, not a part of the product")]
fn set_timer_slack_ns(slack_ns: &str) {
    let _ = std::fs::write("/proc/self/timerslack_ns", slack_ns);
}

fn answer_in_time(answers: &Receiver<(u64, Answer)>) {
    for (due_ns, answer) in answers {
        if due_ns > monotonic_ns() {
            sleep_until_ns(due_ns);
        }
        answer.send();
    }
}

impl Filesystem for SlowDisk {
    fn init(&mut self, _request: &Request, config: &mut KernelConfig) -> io::Result<()> {
        // Old kernels may refuse some of it; the model then works with smaller requests.
        let _ = config.set_max_write(REQUEST_BYTES_MAX);
        let _ = config.set_max_background(256);
        let _ = config.set_congestion_threshold(256);
        // Without it direct requests of the loop device would be served one by one.
        let _ = config.add_capabilities(InitFlags::FUSE_ASYNC_DIO);
        Ok(())
    }

    fn lookup(&self, _request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        match self.attributes(DISK) {
            Some(attributes) if parent == INodeNo::ROOT && name == DISK_NAME => {
                reply.entry(&TTL, &attributes, Generation(0));
            }
            _ => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.attributes(inode) {
            Some(attributes) => reply.attr(&TTL, &attributes),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn open(&self, _request: &Request, _inode: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        reply.opened(FileHandle(0), FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES);
    }

    fn read(
        &self,
        _request: &Request,
        _inode: INodeNo,
        _handle: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let length = u64::from(size).min(self.size_bytes.saturating_sub(offset));
        let mut data = vec![0_u8; usize::try_from(length).unwrap_or(0)];
        let result = self.backing.read_exact_at(&mut data, offset).map(|()| data);
        self.meter.reads.fetch_add(1, Relaxed);
        self.meter.read_bytes.fetch_add(length, Relaxed);
        self.answer_after(Operation::Read(length), Answer::Data(reply, result));
    }

    fn write(
        &self,
        _request: &Request,
        _inode: INodeNo,
        _handle: FileHandle,
        offset: u64,
        data: &[u8],
        _write_flags: WriteFlags,
        _flags: OpenFlags,
        _owner: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let length = data.len() as u64;
        let inside = offset.checked_add(length).is_some_and(|end| end <= self.size_bytes);
        let result = if inside {
            self.backing.write_all_at(data, offset)
        } else {
            // A disk does not grow.
            Err(io::Error::from(io::ErrorKind::StorageFull))
        };
        self.meter.writes.fetch_add(1, Relaxed);
        self.meter.write_bytes.fetch_add(length, Relaxed);
        let result = result.map(|()| u32::try_from(length).unwrap_or(u32::MAX));
        self.answer_after(Operation::Write(length), Answer::Written(reply, result));
    }

    // The backing file is not synced: the model's power never fails, only its time counts.
    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _datasync: bool, reply: ReplyEmpty) {
        self.meter.flushes.fetch_add(1, Relaxed);
        self.answer_after(Operation::Flush, Answer::Done(reply));
    }

    fn readdir(
        &self,
        _request: &Request,
        inode: INodeNo,
        _handle: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        if inode != INodeNo::ROOT {
            reply.error(Errno::ENOTDIR);
            return;
        }
        let entries = [
            (INodeNo::ROOT, FileType::Directory, "."),
            (INodeNo::ROOT, FileType::Directory, ".."),
            (DISK, FileType::RegularFile, DISK_NAME),
        ];
        let skip = usize::try_from(offset).unwrap_or(usize::MAX);
        for (next, (inode, kind, name)) in (1_u64..).zip(entries).skip(skip) {
            if reply.add(inode, next, kind, name) {
                break;
            }
        }
        reply.ok();
    }
}
