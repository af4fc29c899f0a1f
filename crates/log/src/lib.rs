//! The log on disk: its files, how they are made, and what a crash leaves of them.
//!
//! A store is a folder with an identity, a catalog of series and segments of fixed size; this crate
//! makes these files, finds again after a crash what is valid in them, and walks it block by block.
//! The recorder writes through it, and readers read through it, so that both agree on what counts.
//! How the bytes look is `baro-ondisk`'s matter; nothing here knows of rings, threads or runs.
//!
//! ```no_run
//! use baro_log::{Geometry, init, read_identity};
//! use baro_ondisk::{StoreId, WhenFull};
//! use baro_sys::{clock, disk::Disk, identity};
//! # use std::path::Path;
//! let path = Path::new("/data/store");
//! let mut id = StoreId::default();
//! identity::random(&mut id.0)?;
//! let disk = Disk::create(path)?;
//! let geometry = Geometry::for_log(1 << 30, WhenFull::Recycle)?;
//! init(&disk, path, id, clock::realtime_ns(), &geometry, |_bytes| {})?;
//! assert_eq!(read_identity(&disk, path)?.store, id);
//! # Ok::<(), baro_log::Error>(())
//! ```

mod backup;
mod catalog;
mod closed;
mod copies;
mod count;
mod deleted;
mod earlier;
mod error;
mod init;
mod lock;
mod logged;
mod making;
mod names;
mod order;
mod pins;
mod rebuilt;
mod recover;
mod running;
mod series;
mod session;
mod settled;
mod switch;
mod taken;
mod unread;
mod walk;

pub use backup::{BackupMark, backup_reaches, read_backup_mark};
pub use baro_ondisk::Held;
pub use catalog::{
    Catalog, CatalogWriter, Declared, grown_bytes, has_catalog_end, read_catalog_header,
};
pub use closed::{Closed, closed_as};
pub use copies::missing_copies;
pub use count::{copy_may_hold_samples, held_in};
pub use deleted::{read_deletions, tell_deletions};
pub use earlier::logged_before;
pub use error::{Error, Result};
pub use init::{Geometry, blank_header, holds_records, init, init_growing, init_held};
pub use lock::{ByteLock, Holding, InitLock, KnowingLock, ManifestLock, Role, StoreLock};
pub use logged::Logged;
pub use making::{Making, PIECE_BYTES, Step as MakingStep};
pub use names::{
    BACKUP_MARK, CATALOG, CATALOG_NEW, DICTIONARY, DICTIONARY_NEW, FOLDER, GROW, IDENTITY, KEPT,
    LOCK, MANIFEST, PINS, RUNS, RUNS_LOCK, kept_name, numbered, pin_name, run_name, segment_name,
};
pub use order::sorted_by;
pub use pins::{
    Pins, kept_epochs, list_folder, read_message, remove_if_there, write_pin, write_request,
};
pub use rebuilt::{Rebuilt, rebuild};
pub use recover::{Recovery, Segments, open_folder, read_identity, recover};
pub use running::{Span, spans};
pub use series::{Inserted, SeriesTable};
pub use session::{Extent, Hole, Proof, Verdict, dead_from, judge, known_end};
pub use settled::{mend_settled, read_progress, write_manifest};
pub use switch::{set_when_full, switch_when_full};
pub use taken::{LostUnsettled, Reused, SoFar, Taken};
pub use unread::{BadHeader, Headers};
pub use walk::{Blocks, Found, FoundHeader, Walk};
