//! All names on disk, in one place.

/// Says that the folder is the backup of a store.
pub const BACKUP_MARK: &str = "backup";
/// Identity and geometry.
pub const IDENTITY: &str = "store";
/// The identity while init writes it.
pub(crate) const IDENTITY_NEW: &str = "store.new";
/// Held by the writer.
pub const LOCK: &str = "lock";
/// Series and channels.
pub const CATALOG: &str = "catalog";
/// A catalog that is being made from a dictionary.
pub const CATALOG_NEW: &str = "catalog.new";
/// The names of the catalog, sorted.
pub const DICTIONARY: &str = "dictionary";
/// A dictionary that is being made.
pub const DICTIONARY_NEW: &str = "dictionary.new";
/// Folder of the segments.
pub const FOLDER: &str = "log";
/// A segment that is being added to the log.
pub const GROW: &str = "log/grow";
/// Folder of the pins.
pub const PINS: &str = "pins";
/// Folder of the segments that pins have had copied out of the log.
pub const KEPT: &str = "kept";
/// A segment that is being copied out.
pub(crate) const COPY: &str = "kept/copy";

/// Folder of the runs.
pub const RUNS: &str = "runs";
/// Which runs count, and how far the log is settled.
pub const MANIFEST: &str = "runs/manifest";
/// Held by who settles.
pub const RUNS_LOCK: &str = "runs/lock";

/// Held while the manifest is replaced.
pub(crate) const MANIFEST_LOCK: &str = "runs/manifest.lock";

/// File of a run.
#[must_use]
pub fn run_name(id: u64) -> String {
    format!("{RUNS}/{id:016x}.run")
}

/// File of segment `index`.
#[must_use]
pub fn segment_name(index: u32) -> String {
    format!("{FOLDER}/{index:08}.seg")
}

/// File of the copied segment of `epoch`.
#[must_use]
pub fn kept_name(epoch: u64) -> String {
    format!("{KEPT}/{epoch:016x}.seg")
}

/// File of a pin; `ending` is `pin`, `ask`, `no` or `release`.
#[must_use]
pub fn pin_name(id: u64, ending: &str) -> String {
    format!("{PINS}/{id:016x}.{ending}")
}

/// Number and ending of a name in the folders of pins and kept segments.
#[must_use]
pub fn numbered(name: &str) -> Option<(u64, &str)> {
    let (number, ending) = name.split_once('.')?;
    let number = (number.len() == 16).then(|| u64::from_str_radix(number, 16).ok())??;
    Some((number, ending))
}
