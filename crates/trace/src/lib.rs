//! Kernel events: the raw pages of the kernel's tracer, recorded to a file and decoded.
//!
//! The kernel writes its events into ring buffers, one for each processor, in a binary form that it
//! describes itself in texts (`events/*/*/format`, `header_page`, `header_event`). Recording copies
//! pages and texts as they are, which costs the least; all understanding comes later, from the
//! recorded bytes alone, on any machine. So it can be tested on traces of kernels that are not here.
//!
//! [`format`](mod@format) reads the texts, [`ring_page`] the pages, [`record`] single fields;
//! [`event_set`] has the formats of all events of a trace, [`schema`] the events that an analysis
//! needs, [`timeline`] puts them together to spans of tasks, journals and disks; [`render`] draws them,
//! [`explain`] says why calls were late, [`analyze`] what journals and tasks did. [`blk`] accounts for requests of disks.
//!
//! Invariant: all but `collect` is pure: no system call, no clock, no `baro-sys`; held by a check
//! without the feature `collect`. Any bytes give an error, never a panic, and memory is bounded;
//! held by `corpus_replays_and_mutations_do_not_panic` of the fuzz package.

pub mod analyze;
pub mod blk;
pub mod calls;
#[cfg(feature = "collect")]
pub mod collect;
mod error;
pub mod event_set;
pub mod explain;
pub mod file;
pub mod format;
pub mod hang;
pub mod page_writer;
pub mod record;
pub mod render;
pub mod ring_page;
pub mod schema;
pub mod timeline;
pub mod watch;

pub use error::{Error, Result};
