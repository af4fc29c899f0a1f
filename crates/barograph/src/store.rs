//! A store opened for reading.

use crate::{Query, Result};
use std::path::Path;

/// A store to read from, also while another process, or this one, records into it.
///
/// It shows what was durable when it was opened; [`Store::refresh`] goes on to what is now.
///
/// ```no_run
/// use barograph::Store;
///
/// let mut store = Store::open("/data/store")?; // a recorder may write to it meanwhile
/// println!("{:?}", store.series()?);
/// store.refresh()?; // sees what was recorded since
/// for column in store.query("temp").newest(1).columns()? {
///     println!("{:?}", column?.f64s());
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Store {
    pub(crate) inner: baro_store::Store,
}

impl Store {
    /// Opens the store at `path`. Blocks for the disk: it reads the catalog and the ends of the log.
    ///
    /// # Errors
    /// It is no store, may not be read, or is damaged so that nothing of it can be.
    pub fn open(path: impl AsRef<Path>) -> Result<Store> {
        Ok(Store { inner: baro_store::Store::open(path.as_ref())? })
    }

    /// Goes on to what has been recorded since.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn refresh(&mut self) -> Result<()> {
        Ok(self.inner.refresh()?)
    }

    /// Names of all series, and of the fields of channels, in the order of their declaration.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn series(&self) -> Result<Vec<String>> {
        let all = baro_store::Selection::all(self.inner.catalog(), true)?;
        let series = all.columns().iter().filter(|column| !column.is_frames());
        Ok(series.map(|column| column.name.clone()).collect())
    }

    /// A query of the series that `selector` names: a name, a pattern `control.*`, or labels as in
    /// `temp{room="a",line=~"3.*"}`.
    pub fn query<'a>(&'a self, selector: &'a str) -> Query<'a> {
        Query::new(self, selector)
    }
}
