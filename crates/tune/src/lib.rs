//! Settings of the machine: applied with an undo journal, undone.
//!
//! The machine is left as found. Before a sysctl, a queue file or a cgroup file is written, what it
//! held goes durably into a journal; [`Journal::undo_all`], dropping the [`Journal`], or the next
//! [`Journal::open`] after a crash puts it back. Only what a user asked to keep
//! ([`Journal::open_kept`]) stays until told. What the user sees of this is in docs/settings.md.
//! Invariant: whatever the order of applying, undoing and crashing, every file ends as found, unless
//! somebody else changed it meanwhile. `src/journal/tests.rs` holds it at every step of a simulated
//! machine, `tests/kill.rs` with a killed process on a real one.

mod allowed;
mod check;
mod claim;
mod dirty_limit;
mod error;
mod form;
mod journal;
mod machine;
mod options;
mod owner;
mod plan;
mod probe;
mod queue;
mod report;
mod setting;
mod snippet;
mod text;

pub use check::{
    Circumstances, JournalFacts, MountFacts, Need, Remedy, SUPERBLOCK_BYTES, SUPERBLOCK_OFFSET,
    Verdict, check, journal_of,
};
pub use claim::is_disk;
pub use dirty_limit::DirtyLimit;
pub use error::Error;
pub use journal::{Applied, Journal, Left, Outcome};
pub use options::{OnConflict, Options};
pub use owner::Owner;
pub use plan::{Step, Wish, plan};
pub use probe::{HandleCount, PROBE_BLOCK_BYTES, ProbeError, probe};
pub use queue::{DRAIN_NS, Queue, QueuePlan, QueueWatch};
pub use report::{Report, Undone, UndoneAs};
pub use setting::Setting;
pub use snippet::{Form, Snippet, snippets};
