//! The bytes of a *run*: an immutable file of samples sorted by series and time, and its codec.
//!
//! Pure: no I/O, no clock; callers read and write the bytes. `docs/format-runs.md` is the
//! specification. A crate of its own beside `baro-ondisk`, because the codec (pco) must not get into
//! what a recorder on a board links.
//!
//! A run is written front to back by [`RunWriter`]. A reader loads the [`RunIndex`] at the file's
//! end, finds the pages of a series in it, reads each page with one read and hands its bytes to a
//! [`PageReader`].
//!
//! **Invariant:** decoders take any bytes: they return an [`Error`] that says what was expected
//! where, and size nothing by a count that was not checked against [`limits`]
//! (`tests/damage.rs`, the fuzz targets `run_page` and `run_index`).

mod aggregate;
mod cursor;
mod domain;
mod error;
mod file;
mod grid;
mod head;
mod index;
pub mod limits;
mod numbers;
mod page;
mod ragged;
mod text;
mod ticks;
mod writer;

pub use aggregate::{Aggregate, Integers, Known};
pub use error::{Error, What};
pub use file::{FooterAt, RunInfo};
pub use index::{PageEntry, RunIndex};
pub use page::{Page, PageReader};
pub use writer::{RunSummary, RunWriter};
