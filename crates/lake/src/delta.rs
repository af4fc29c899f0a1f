//! The log of a Delta table: what of it is read, and what is written.
//!
//! A version is a file of JSON lines. This program writes tables of the lowest protocol, reader 1 and
//! writer 2, and adds files; it never takes any away. Of what others commit it reads what concerns it and
//! passes over the rest. Checkpoints are read and made (`checkpoint`).
//! <https://github.com/delta-io/delta/blob/master/PROTOCOL.md>

mod checkpoint;
mod line;
mod log;
mod schema;
mod write;

pub(crate) use checkpoint::{INTERVAL, make as make_checkpoint};
pub(crate) use log::{COMMIT_BYTES_MAX, Log, commit_name};
pub(crate) use write::{Added, Stats, added, created, uuid};

/// Highest protocol of a table that is written to.
const READER_VERSION: u32 = 1;
const WRITER_VERSION: u32 = 2;
