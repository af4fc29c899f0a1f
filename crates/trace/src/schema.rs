//! The events that an analysis needs, each as a struct of its own with the fields it uses.
//!
//! A [`Schemas`] is made once for a trace: it looks up every known event among the formats of the
//! trace and each field by name. A field that is an `Option` is missing on some kernels, and its
//! comment says on which; any other that is missing is an error when the schema is made, not when
//! an event is met. Events and fields were compared with the formats of 5.10, 6.1, 6.12 and 6.18.
//!
//! Invariant: an event that has a schema decodes on every kernel of the fixtures, or is known not
//! to exist there. Held by `every_event_of_a_recorded_trace_decodes`.

mod block;
mod cgroup;
mod ext4;
mod ftrace;
mod fuse;
mod jbd2;
mod probe;
mod sched;
mod syscalls;
mod vmscan;
mod writeback;

pub use block::{RqComplete, RqInsert, RqIssue, RqRequeue};
pub use cgroup::{GroupAttach, GroupTransfer};
pub use ext4::{
    JournalStart, JournalStartInode, JournalStartReserved, JournalStartSb, SyncFileEnter,
    SyncFileExit, WritepagesResult,
};
pub use ftrace::KernelStack;
pub use fuse::{FuseEnd, FuseSend};
pub use jbd2::{
    Checkpoint, CheckpointStats, CommitFlushing, CommitLocking, CommitLogging, DropTransaction,
    EndCommit, HandleExtend, HandleRestart, HandleStart, HandleStats, LockBufferStall, RunStats,
    StartCommit, SubmitInodeData, UpdateLogTail, WriteSuperblock,
};
pub use probe::{
    BUCKETS, Call, FRAMES, FRAMES_BEFORE, HandleHeld, HandleWait, HandleWaits, JournalSample,
    Sleep, TransactionLists,
};
pub use sched::{Fork, Switch, Wakeup, Waking};
pub use syscalls::{SysEnter, SysExit};
pub use vmscan::{GroupReclaimBegin, GroupReclaimEnd, ReclaimBegin, ReclaimEnd};
pub use writeback::{BalanceDirtyPages, FolioWait, GlobalDirtyState, PageWait, WritebackWait};

use crate::error::Result;
use crate::event_set::EventSet;
use std::collections::BTreeMap;

/// Makes of each event a struct of values, a schema of accessors, and the code between them.
macro_rules! events {
    ($system:literal; $(
        $(#[$about:meta])*
        $event:literal => $Values:ident, $Schema:ident {
            $( $(#[$field_about:meta])* $field:ident: $type:ty = $($name:literal)|+, )+
        }
    )+) => { $(
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $Values {
            $( $(#[$field_about])* pub $field: $type, )+
        }

        impl $Values {
            /// The event's system in tracefs.
            pub const SYSTEM: &'static str = $system;
            /// The event's name in tracefs.
            pub const EVENT: &'static str = $event;
        }

        /// Where the fields of the event are in one trace.
        #[derive(Clone, Copy, Debug)]
        pub(super) struct $Schema {
            $( $field: $crate::record::Field<$type>, )+
        }

        impl $Schema {
            pub(super) fn resolve(
                format: &$crate::format::EventFormat,
            ) -> $crate::error::Result<Self> {
                Ok(Self { $( $field: $crate::record::Field::resolve(format, &[$($name),+])?, )+ })
            }

            pub(super) fn decode(&self, payload: &[u8]) -> $crate::error::Result<$Values> {
                Ok($Values { $( $field: self.$field.get(payload)?, )+ })
            }
        }
    )+ };
}
use events;

/// Joins the schemas to one enum of events and a table of them by number.
macro_rules! kinds {
    ($( $(#[$about:meta])* $Kind:ident = $module:ident :: $Schema:ident, )+) => {
        /// A decoded event of a kind that has a schema.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        #[allow(clippy::large_enum_variant, reason = "a stack is part of its event; all is Copy")]
        pub enum KernelEvent {
            $(
                #[doc = concat!("See [`", stringify!($Kind), "`].")]
                $Kind($Kind),
            )+
        }

        #[derive(Clone, Copy, Debug)]
        enum Schema {
            $( $Kind($module::$Schema), )+
        }

        impl Schema {
            fn decode(&self, payload: &[u8]) -> Result<KernelEvent> {
                match self {
                    $( Self::$Kind(schema) => schema.decode(payload).map(KernelEvent::$Kind), )+
                }
            }
        }

        /// All events that have a schema, as (system, event). No kernel has all of them.
        pub const KNOWN: &[(&str, &str)] = &[ $( ($Kind::SYSTEM, $Kind::EVENT), )+ ];

        fn resolve(system: &str, format: &crate::format::EventFormat) -> Result<Option<Schema>> {
            $(
                if ($Kind::SYSTEM, $Kind::EVENT) == (system, format.name.as_str()) {
                    return $module::$Schema::resolve(format).map(Schema::$Kind).map(Some);
                }
            )+
            Ok(None)
        }
    };
}

kinds! {
    HandleStart = jbd2::HandleStartSchema,
    HandleStats = jbd2::HandleStatsSchema,
    HandleExtend = jbd2::HandleExtendSchema,
    HandleRestart = jbd2::HandleRestartSchema,
    StartCommit = jbd2::StartCommitSchema,
    CommitLocking = jbd2::CommitLockingSchema,
    CommitFlushing = jbd2::CommitFlushingSchema,
    CommitLogging = jbd2::CommitLoggingSchema,
    EndCommit = jbd2::EndCommitSchema,
    DropTransaction = jbd2::DropTransactionSchema,
    SubmitInodeData = jbd2::SubmitInodeDataSchema,
    RunStats = jbd2::RunStatsSchema,
    Checkpoint = jbd2::CheckpointSchema,
    CheckpointStats = jbd2::CheckpointStatsSchema,
    LockBufferStall = jbd2::LockBufferStallSchema,
    WriteSuperblock = jbd2::WriteSuperblockSchema,
    UpdateLogTail = jbd2::UpdateLogTailSchema,
    Switch = sched::SwitchSchema,
    Wakeup = sched::WakeupSchema,
    Waking = sched::WakingSchema,
    Fork = sched::ForkSchema,
    GroupAttach = cgroup::GroupAttachSchema,
    GroupTransfer = cgroup::GroupTransferSchema,
    RqIssue = block::RqIssueSchema,
    RqComplete = block::RqCompleteSchema,
    RqInsert = block::RqInsertSchema,
    RqRequeue = block::RqRequeueSchema,
    BalanceDirtyPages = writeback::BalanceDirtyPagesSchema,
    GlobalDirtyState = writeback::GlobalDirtyStateSchema,
    FolioWait = writeback::FolioWaitSchema,
    PageWait = writeback::PageWaitSchema,
    WritebackWait = writeback::WritebackWaitSchema,
    SysEnter = syscalls::SysEnterSchema,
    SysExit = syscalls::SysExitSchema,
    SyncFileEnter = ext4::SyncFileEnterSchema,
    SyncFileExit = ext4::SyncFileExitSchema,
    JournalStart = ext4::JournalStartSchema,
    JournalStartSb = ext4::JournalStartSbSchema,
    JournalStartInode = ext4::JournalStartInodeSchema,
    JournalStartReserved = ext4::JournalStartReservedSchema,
    WritepagesResult = ext4::WritepagesResultSchema,
    KernelStack = ftrace::KernelStackSchema,
    FuseSend = fuse::FuseSendSchema,
    FuseEnd = fuse::FuseEndSchema,
    ReclaimBegin = vmscan::ReclaimBeginSchema,
    ReclaimEnd = vmscan::ReclaimEndSchema,
    GroupReclaimBegin = vmscan::GroupReclaimBeginSchema,
    GroupReclaimEnd = vmscan::GroupReclaimEndSchema,
    Sleep = probe::SleepSchema,
    HandleWait = probe::HandleWaitSchema,
    HandleHeld = probe::HandleHeldSchema,
    HandleWaits = probe::HandleWaitsSchema,
    Call = probe::CallSchema,
    JournalSample = probe::JournalSampleSchema,
    TransactionLists = probe::TransactionListsSchema,
}

/// The schemas of all known events that a trace has.
#[derive(Clone, Debug, Default)]
pub struct Schemas {
    by_id: BTreeMap<u16, Schema>,
}

impl Schemas {
    /// Finds the fields of every known event of a trace.
    ///
    /// # Errors
    /// [`Error::Field`](crate::Error::Field): an event lacks a field that all kernels had, or has
    /// it in another form.
    pub fn resolve(events: &EventSet) -> Result<Self> {
        let mut by_id = BTreeMap::new();
        for event in events.iter() {
            if let Some(schema) = resolve(&event.system, &event.format)? {
                by_id.insert(event.format.id, schema);
            }
        }
        Ok(Self { by_id })
    }

    /// The event of this number; None if its kind has no schema.
    ///
    /// # Errors
    /// [`Error::Record`](crate::Error::Record): the bytes are too short or a value out of range.
    pub fn decode(&self, id: u16, payload: &[u8]) -> Result<Option<KernelEvent>> {
        self.by_id.get(&id).map(|schema| schema.decode(payload)).transpose()
    }
}
