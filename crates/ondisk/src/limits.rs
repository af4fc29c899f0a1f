//! The format's limits: a decoder compares every count with these before it sizes anything by it.
//! The table in `docs/format.md` gives the reasons.

/// The smallest write that every direct I/O path takes; blocks and headers are whole units.
pub const UNIT_BYTES: usize = 4096;
/// Largest payload of one record: a block of the largest size holds it with its heads.
pub const RECORD_BYTES_MAX: usize = 7 << 20;
/// Largest block, padding included.
pub const BLOCK_BYTES_MAX: usize = 8 << 20;
/// Most chunks in one block.
pub const CHUNKS_MAX: usize = 1024;
/// Smallest segment.
pub const SEGMENT_BYTES_MIN: u64 = 1 << 20;
/// Largest segment.
pub const SEGMENT_BYTES_MAX: u64 = 4 << 30;
/// Most segments in a log.
pub const SEGMENTS_MAX: u32 = 65_536;
/// Longest name of a series or channel, in bytes of UTF-8.
pub const NAME_BYTES_MAX: usize = 1024;
/// Longest unit of a series, in bytes of UTF-8.
pub const UNIT_NAME_BYTES_MAX: usize = 64;
/// Most fields of a layout: a declaration with them still fits a block of the catalog.
pub const FIELDS_MAX: usize = 1024;
/// Most values of a layout, elements of arrays counted.
pub const FIELD_VALUES_MAX: usize = 65_536;
/// Longest name of a field, in bytes of UTF-8.
pub const FIELD_NAME_BYTES_MAX: usize = 64;
/// Longest layout, encoded, in a dictionary: what the limits of its fields allow, rounded up.
pub const LAYOUT_BYTES_MAX: usize = 256 << 10;
/// Most pages of names, and of ids, in a dictionary: 16 GiB, more than a catalog can hold.
pub const DICTIONARY_PAGES_MAX: u32 = 1 << 22;
/// Epochs, sequences of blocks, generations and numbers of runs: they begin near 0 and rise by one, so
/// that nobody reaches this, and sums of two have room. What is larger was never written.
pub const COUNT_MAX: u64 = 1 << 62;
/// Longest name of a pin.
pub const PIN_NAME_BYTES_MAX: usize = 256;
/// Longest reason in a pin.
pub const PIN_REASON_BYTES_MAX: usize = 1024;
/// Longest span of a pin before or after its moment: ten years.
pub const PIN_SPAN_NS_MAX: u64 = 3650 * 86_400_000_000_000;
/// Most pins of a store.
pub const PINS_MAX: usize = 256;
/// Most bytes of a request to declare, and of its answer.
pub const REQUEST_BYTES_MAX: usize = 8 << 20;
/// Most declarations of one request.
pub const REQUEST_NAMES_MAX: usize = 65_536;
/// Longest reason in an answer.
pub const REQUEST_REASON_BYTES_MAX: usize = 2048;
/// Most runs of a store: settling merges them long before.
pub const RUNS_MAX: usize = 4096;
/// Most deletions that a manifest tells of.
pub const DELETIONS_MAX: usize = 4096;
/// Most ranges of ids of all of them together: every second of two million series.
pub const DELETED_RANGES_MAX: usize = 1 << 20;
/// Most bytes that the head of a record takes: head byte, three varints.
pub const RECORD_HEAD_BYTES_MAX: usize = 1 + 10 + 5 + 5;

/// Most samples in the section of a block: bounds what a reader unfolds one block to.
pub const SECTION_SAMPLES_MAX: usize = 65_536;
/// Most samples in a strip of a section: what a query of one series decodes at least.
pub const STRIP_SAMPLES_MAX: usize = 4096;
/// Samples that a writer puts into a strip at most: who merges hundreds of sections holds a strip
/// of each, so small ones; below this the directory begins to cost.
pub const STRIP_SAMPLES: usize = 1024;
/// Longest text of one text record, in bytes of UTF-8.
pub const TEXT_BYTES_MAX: usize = 64 << 10;

/// `bytes` rounded up to whole units.
#[must_use]
pub const fn round_up_to_unit(bytes: usize) -> usize {
    bytes.div_ceil(UNIT_BYTES) * UNIT_BYTES
}
