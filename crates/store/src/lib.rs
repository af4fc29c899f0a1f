//! What is read: log and runs in time order, the log in order of writing, queries, verification, recovery.
//!
//! ```no_run
//! use baro_store::{Filter, Interval, Reading, Store};
//! let store = Store::open("/data/store".as_ref())?;
//! let last_minute = Interval { from_ns: 1_700_000_000_000_000_000, to_ns: i64::MAX };
//! let notes = store.records(last_minute, &Filter::all(), &Reading::default(), |record| {
//!     println!("{} {}", record.time_ns, record.payload.len());
//!     std::ops::ControlFlow::Continue(())
//! })?;
//! assert!(notes.damage.is_empty());
//! # Ok::<(), baro_store::Error>(())
//! ```

mod backup;
mod backwards;
mod catalog;
mod columns;
mod counts;
mod damage;
mod delete;
mod error;
mod facts;
mod follow;
mod handover;
mod index;
mod info;
mod interval;
mod latest;
mod mask;
mod merge;
mod pinned;
mod query;
mod read;
mod read_pace;
mod records;
mod recover;
mod runs;
mod salvage;
mod segments;
mod selection;
mod selector;
mod settle;
mod settled;
mod slices;
mod store;
mod tail;
mod timeline;
mod told;
mod unsettled;
mod usage;
mod verify;
mod window;

pub use backup::{BackedUp, BackupOptions, backup, backup_in};
pub use baro_log::Logged;
pub use catalog::{Catalog, DictionaryWritten, Rebuilt, write_dictionary};
pub use counts::Listed;
pub use damage::{Damage, Loss, Source};
pub use delete::{Deleted, DeletedRoom, Hidden};
pub use error::{Error, Result};
pub use follow::Follow;
pub(crate) use handover::Hold;
pub use handover::{Handover, HandoverLock, RunRows, RunValues, Waiting};
pub use index::Tail;
pub use info::{Info, SessionInfo};
pub use interval::{Filter, Interval, Reading};
pub use query::{
    Aggregate, Batch, Every, Fill, Outline, Query, QueryNotes, Steps, Target, Texts, Totals, Values,
};
pub use read::{LiveBlock, Notes, RecordRef};
pub use read_pace::ReadPace;
pub use recover::{Recovered, recover, recover_in};
pub use runs::PagesRead;
pub use segments::SegmentFile;
pub use selection::{ChannelAs, Column, Datum, Point, Selection, UnknownName, ValueType};
pub use selector::{Selector, SelectorError};
pub use settle::{
    Dropped, Extent, Holding, RunRetention, SettleOptions, Settled, Settler, Settling,
    SettlingOptions, SettlingState, SettlingStatus,
};
pub use store::Store;
pub use tail::{Row, Value};
pub use timeline::Moment;
pub use usage::{Parts, SeriesUsage};
pub use verify::{VerifyReport, verify};
