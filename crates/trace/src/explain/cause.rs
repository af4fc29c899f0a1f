//! Causes of waits: the words of a chain.

/// Why something was waited for. The names are those of the JSON output and stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Cause {
    /// Too much is dirty in the whole machine.
    DirtyLimitGlobal,
    /// Too much is dirty of one device that has a limit of its own.
    DirtyLimitDevice,
    /// Too much is dirty of one control group.
    DirtyLimitGroup,
    /// A handle of the journal; what it had to wait for is not known.
    Handle,
    /// The transaction is locked: it waits for the handles that are open.
    TransactionLocked,
    /// The transaction has all the blocks that one may have.
    TransactionFull,
    /// The journal has no room: blocks of old transactions must come home first.
    LogSpace,
    /// A transaction must be committed.
    Commit,
    /// The commit waits for handles that are open.
    OpenHandles,
    /// The commit waits for data of files that the transaction has blocks of.
    OrderedData,
    /// The journal itself is being written.
    JournalWrite,
    /// A block of metadata is being written to the journal and must not change.
    JournalBuffer,
    /// The lock of a file.
    InodeLock,
    /// The lock of a folder.
    FolderLock,
    /// The lock of a file's map of blocks.
    ExtentLock,
    /// The lock of a process's map of memory.
    MemoryMapLock,
    /// Another lock.
    Lock,
    /// A folio of the page cache is locked.
    FolioLock,
    /// The file system is frozen.
    Freeze,
    /// Data that was dirty is being written.
    Writeback,
    /// Metadata is being read.
    MetadataRead,
    /// Data is being read.
    DataRead,
    /// Direct I/O.
    DirectIo,
    /// The device's cache is being flushed.
    Flush,
    /// The device has as many requests as it may.
    Tags,
    /// The device's queue is emptied, so that one of its settings can be changed.
    QueueFrozen,
    /// The kernel holds write-back of this device for the sake of reads.
    WritebackThrottle,
    /// A control group may have no more of this device now.
    Throttle,
    /// Requests of others are before those that are waited for.
    DeviceQueue,
    /// The device takes its time.
    Device,
    /// Memory must be found first.
    Reclaim,
    /// Another has the processor.
    Cpu,
    /// It was running.
    Running,
    /// More syncs may join this commit if it waits a little.
    SyncBatch,
    /// Another program: FUSE, or whoever serves a device.
    Daemon,
    /// Time was to pass.
    Timer,
    /// A place in the kernel that has no name here; who woke is known.
    Other,
    /// A signal, a debugger or a freezer stopped it.
    Stopped,
    /// Nothing that was recorded tells.
    Unknown,
}

/// How something is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Evidence {
    /// An event says it.
    Event,
    /// The kernel's stack of who waited says it.
    Stack,
    /// Nothing else was seen, and a setting of the machine says that it would be so.
    AbsenceAndSetting,
    /// Nothing else was seen: counts as unexplained.
    Absence,
}

impl Evidence {
    /// Its name, as in the JSON output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Event => "event",
            Self::Stack => "stack",
            Self::AbsenceAndSetting => "absence_and_setting",
            Self::Absence => "absence",
        }
    }
}

impl Cause {
    /// Its name, as in the JSON output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::DirtyLimitGlobal => "dirty_limit_global",
            Self::DirtyLimitDevice => "dirty_limit_device",
            Self::DirtyLimitGroup => "dirty_limit_group",
            Self::Handle => "handle",
            Self::TransactionLocked => "transaction_locked",
            Self::TransactionFull => "transaction_full",
            Self::LogSpace => "log_space",
            Self::Commit => "commit",
            Self::OpenHandles => "open_handles",
            Self::OrderedData => "ordered_data",
            Self::JournalWrite => "journal_write",
            Self::JournalBuffer => "journal_buffer",
            Self::InodeLock => "inode_lock",
            Self::FolderLock => "folder_lock",
            Self::ExtentLock => "extent_lock",
            Self::MemoryMapLock => "memory_map_lock",
            Self::Lock => "lock",
            Self::FolioLock => "folio_lock",
            Self::Freeze => "freeze",
            Self::Writeback => "writeback",
            Self::MetadataRead => "metadata_read",
            Self::DataRead => "data_read",
            Self::DirectIo => "direct_io",
            Self::Flush => "flush",
            Self::Tags => "tags",
            Self::QueueFrozen => "queue_frozen",
            Self::WritebackThrottle => "writeback_throttle",
            Self::Throttle => "throttle",
            Self::DeviceQueue => "device_queue",
            Self::Device => "device",
            Self::Reclaim => "reclaim",
            Self::Cpu => "cpu",
            Self::Running => "running",
            Self::SyncBatch => "sync_batch",
            Self::Daemon => "daemon",
            Self::Timer => "timer",
            Self::Other => "other",
            Self::Stopped => "stopped",
            Self::Unknown => "unknown",
        }
    }

    /// What is waited for, in a sentence after "waited for".
    #[must_use]
    pub fn phrase(self) -> &'static str {
        match self {
            Self::DirtyLimitGlobal => "dirty data of the whole machine to fall below its limit",
            Self::DirtyLimitDevice => "dirty data of the device to fall below its own limit",
            Self::DirtyLimitGroup => "dirty data of its control group to fall below its limit",
            Self::Handle => "a handle of the journal",
            Self::TransactionLocked => "the next transaction, as this one is locked",
            Self::TransactionFull => "the next transaction, as this one is full",
            Self::LogSpace => "room in the journal",
            Self::Commit => "a commit of the journal",
            Self::OpenHandles => "open handles of the transaction",
            Self::OrderedData => "data that must be on the disk before the commit",
            Self::JournalWrite => "the journal to be written",
            Self::JournalBuffer => "a block that is being written to the journal",
            Self::InodeLock => "the lock of the file",
            Self::FolderLock => "the lock of the folder",
            Self::ExtentLock => "the lock of the file's map of blocks",
            Self::MemoryMapLock => "the lock of the process's memory map",
            Self::Lock => "a lock",
            Self::FolioLock => "the folio lock",
            Self::Freeze => "the file system to be thawed",
            Self::Writeback => "dirty data to be written",
            Self::MetadataRead => "metadata to be read",
            Self::DataRead => "data to be read",
            Self::DirectIo => "its direct I/O",
            Self::Flush => "the device's cache to be flushed",
            Self::Tags => "a free place in the device's queue",
            Self::QueueFrozen => "the device's queue to be emptied for a change of its settings",
            Self::WritebackThrottle => "the kernel's limit on write-back (wbt)",
            Self::Throttle => "the I/O limit of a control group",
            Self::DeviceQueue => "requests of others before its own",
            Self::Device => "the device",
            Self::Reclaim => "memory to be found",
            Self::Cpu => "a processor",
            Self::Running => "nothing: it ran",
            Self::SyncBatch => "other syncs to join the commit",
            Self::Daemon => "another program",
            Self::Timer => "time to pass",
            Self::Other => "something in the kernel",
            Self::Stopped => "being allowed to go on",
            Self::Unknown => "something that was not recorded",
        }
    }

    /// Whether it is a rule or a resource of its own, not just what is at the end of every chain: the
    /// device, or the limit that stands for a slower one.
    #[must_use]
    pub fn is_structural(self) -> bool {
        !matches!(
            self,
            Self::Handle
                | Self::Writeback
                | Self::MetadataRead
                | Self::DataRead
                | Self::DirectIo
                | Self::Flush
                | Self::Tags
                | Self::Throttle
                | Self::DeviceQueue
                | Self::Device
                | Self::JournalWrite
                | Self::Running
                | Self::Commit
                | Self::OpenHandles
                | Self::Other
                | Self::Unknown
        )
    }

    /// Whether too much is dirty.
    #[must_use]
    pub fn is_dirty_limit(self) -> bool {
        matches!(self, Self::DirtyLimitGlobal | Self::DirtyLimitDevice | Self::DirtyLimitGroup)
    }

    /// Whether it is a lock that a task holds: who woke had it.
    #[must_use]
    pub fn is_lock(self) -> bool {
        matches!(
            self,
            Self::InodeLock
                | Self::FolderLock
                | Self::ExtentLock
                | Self::MemoryMapLock
                | Self::Lock
                | Self::FolioLock
        )
    }

    /// Whether a device does what is waited for.
    #[must_use]
    pub fn is_io(self) -> bool {
        matches!(
            self,
            Self::Writeback
                | Self::MetadataRead
                | Self::DataRead
                | Self::DirectIo
                | Self::Flush
                | Self::JournalWrite
                | Self::OrderedData
                | Self::Tags
        )
    }
}
