//! The log on disk: its files, how they are made, and what a crash leaves of them.

mod catalog;
mod init;
mod making;
mod names;
mod pins;
mod recover;
mod running;
mod series;
mod session;
mod settled;
mod walk;

pub use catalog::{Catalog, CatalogWriter, Declared, grown_bytes, read_catalog_header};
pub(crate) use init::blank_header;
pub use init::{Geometry, init, init_growing};
pub(crate) use making::{Making, PIECE_BYTES, Step as MakingStep};
pub use names::{
    CATALOG, CATALOG_NEW, DICTIONARY, DICTIONARY_NEW, FOLDER, IDENTITY, KEPT, LOCK, MANIFEST, PINS,
    RUNS, RUNS_LOCK, kept_name, run_name, segment_name,
};
pub(crate) use names::{GROW, numbered, pin_name};
pub use pins::{Pins, kept_epochs};
pub(crate) use pins::{list, read_message, remove, write_pin};
pub use recover::{Recovery, Segments, open_folder, read_identity, recover};
pub(crate) use running::{Span, spans};
pub use series::{Inserted, SeriesTable};
pub(crate) use session::dead_from;
pub use session::{Extent, Hole, Verdict, judge};
pub(crate) use settled::read_settled;
pub use walk::{Blocks, Found, FoundHeader, Walk};
