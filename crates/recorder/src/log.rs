//! The log on disk: its files, how they are made, and what a crash leaves of them.

mod catalog;
mod init;
mod names;
mod recover;
mod session;
mod walk;

pub use catalog::{Catalog, Declared};
pub use init::{Geometry, init};
pub use names::{CATALOG, FOLDER, IDENTITY, LOCK, segment_name};
pub use recover::{Recovery, Segments, read_identity, recover};
pub use session::{Extent, Hole, Verdict, judge};
pub use walk::{Blocks, Found, FoundHeader, Walk};
