//! All names on disk, in one place.

/// Identity and geometry.
pub const IDENTITY: &str = "store";
/// The identity while init writes it.
pub(crate) const IDENTITY_NEW: &str = "store.new";
/// Held by the writer.
pub const LOCK: &str = "lock";
/// Series and channels.
pub const CATALOG: &str = "catalog";
/// Folder of the segments.
pub const FOLDER: &str = "log";

/// File of segment `index`.
#[must_use]
pub fn segment_name(index: u32) -> String {
    format!("{FOLDER}/{index:08}.seg")
}
