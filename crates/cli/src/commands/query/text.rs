//! Rows as lines of text: time, series, value and unit.

use crate::time;
use baro_export::Result;
use baro_export::csv::plain_value;
use baro_export::rows::{Rows, Told};
use baro_store::{Batch, Column};
use std::io::Write;

/// See the module.
#[derive(Debug)]
pub(super) struct Text<W> {
    out: W,
}

impl<W: Write> Text<W> {
    pub(super) fn new(out: W) -> Self {
        Text { out }
    }
}

impl<W: Write> Rows for Text<W> {
    fn batch(&mut self, column: &Column, batch: &Batch<'_>) -> Result<()> {
        let name = one_line(&column.name);
        for (at, time_ns) in batch.times_ns.iter().enumerate() {
            write!(self.out, "{}  {name}  ", time::show(*time_ns))?;
            plain_value(&mut self.out, &batch.values, at)?;
            match column.unit.as_str() {
                "" => writeln!(self.out)?,
                unit => writeln!(self.out, " {}", one_line(unit))?,
            }
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<Told> {
        self.out.flush()?;
        Ok(Told::default())
    }
}

/// A text without the control characters by which a name in a store could drive a terminal.
pub(super) fn one_line(text: &str) -> String {
    baro_show::terminal(text, ' ')
}
