//! The limits of a run: a decoder compares every count with these before it sizes anything by it.
//! The table in `docs/format-runs.md` gives the reasons.

/// Most samples of a page.
pub const PAGE_SAMPLES_MAX: usize = 65_536;
/// Largest page.
pub const PAGE_BYTES_MAX: usize = 8 << 20;
/// Largest index.
pub const INDEX_BYTES_MAX: usize = 1 << 30;
/// Most pages of a run.
pub const PAGES_MAX: usize = 1 << 24;
/// Longest note in the header.
pub const NOTE_BYTES_MAX: usize = 256;
/// Longest text of one sample.
pub const TEXT_BYTES_MAX: usize = 4 << 20;
