//! The extension module behind the Python package `barograph`: what needs the store, the recorder, or the
//! memory of Arrow columns. What people call, and what it says about its arguments, is in the Python files
//! beside this crate's `src` (`barograph/*.py`); they check arguments and hand plain numbers in here.
//!
//! Invariants: no wait holds Python's lock, and Ctrl-C ends it (`background.rs`). A forked child is
//! refused and never waits for a thread that it does not have (`process.rs`). Held by `tests/python.rs`.

mod arrow_c;
mod attached;
mod background;
mod batch;
mod calendar;
mod column;
mod errors;
mod fill;
mod frames;
mod gather;
mod handle;
mod many;
mod process;
mod push;
mod query;
mod recorder;
mod store;
mod table;
mod table_in;
mod taken;
mod wide;

use pyo3::prelude::*;

/// See the module.
#[pymodule]
mod _barograph {
    #[pymodule_export]
    use crate::attached::Attached;
    #[pymodule_export]
    use crate::batch::Batch;
    #[pymodule_export]
    use crate::column::Column;
    #[pymodule_export]
    use crate::frames::Frames;
    #[pymodule_export]
    use crate::handle::{Channel, Series};
    #[pymodule_export]
    use crate::query::{Batches, Query};
    #[pymodule_export]
    use crate::recorder::Recorder;
    #[pymodule_export]
    use crate::store::Store;

    #[pymodule_export]
    use crate::table_in::roles_of;

    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
}
