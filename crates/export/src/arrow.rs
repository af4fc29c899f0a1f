//! Rows as an Arrow IPC stream, in the long layout (`long.rs`).
//!
//! The stream form and not the file form: it needs no end to be read, goes through a pipe, and may
//! change its dictionary from batch to batch, so that memory does not grow with the number of
//! series.

use crate::Result;
use crate::long::{Long, Times};
use crate::rows::{Rows, Told};
use arrow_ipc::writer::StreamWriter;
use baro_store::{Batch, Column, Every, Selection};
use std::fmt;
use std::io::Write;

/// Writes rows as an Arrow IPC stream in the long layout: series, time, value.
pub struct Arrow<W: Write> {
    long: Long,
    writer: StreamWriter<W>,
}

impl<W: Write> fmt::Debug for Arrow<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Arrow").field("long", &self.long).finish_non_exhaustive()
    }
}

impl<W: Write> Arrow<W> {
    /// For what a query of `selection` hands out; writes the schema. Buffer `out`.
    ///
    /// # Errors
    /// `out` refuses.
    pub fn new(selection: &Selection, every: Option<Every>, out: W) -> Result<Self> {
        Self::with_times(selection, every, Times::default(), out)
    }

    /// The same, with times as said.
    ///
    /// # Errors
    /// `out` refuses.
    pub fn with_times(
        selection: &Selection,
        every: Option<Every>,
        times: Times,
        out: W,
    ) -> Result<Self> {
        let long = Long::new(selection, every, times);
        let writer = StreamWriter::try_new(out, &long.schema())?;
        Ok(Arrow { long, writer })
    }
}

impl<W: Write> Rows for Arrow<W> {
    fn batch(&mut self, column: &Column, batch: &Batch<'_>) -> Result<()> {
        let Arrow { long, writer } = self;
        long.take(column, batch, |batch| Ok(writer.write(&batch)?))
    }

    fn finish(&mut self) -> Result<Told> {
        if let Some(batch) = self.long.rest()? {
            self.writer.write(&batch)?;
        }
        self.writer.finish()?;
        self.writer.get_mut().flush()?;
        Ok(Told { series_without_metadata: self.long.untold, ..Told::default() })
    }
}
