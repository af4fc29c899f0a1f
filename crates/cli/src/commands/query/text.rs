//! Rows as lines of text: time, series, value and unit.

use crate::time;
use baro_command::Lines;
use baro_export::csv::plain_value;
use baro_export::rows::{Rows, Told};
use baro_export::{Result, unit_of};
use baro_ondisk::written_name;
use baro_store::{Batch, Column, Every, Values};
use std::io::Write;

/// See the module.
#[derive(Debug)]
pub(super) struct Text<W: Write> {
    out: Lines<W>,
    every: Option<Every>,
}

impl<W: Write> Text<W> {
    /// For samples, or for what `every` makes of them.
    pub(super) fn of(every: Option<Every>, out: W) -> Self {
        Text { out: Lines::new(out), every }
    }
}

impl<W: Write> Rows for Text<W> {
    fn batch(&mut self, column: &Column, batch: &Batch<'_>) -> Result<()> {
        let name = one_line(&written_name(&column.name));
        let unit = match unit_of(column, self.every).as_str() {
            "" => String::new(),
            unit => format!(" {}", one_line(unit)),
        };
        for (at, time_ns) in batch.times_ns.iter().enumerate() {
            let value = shown_value(&batch.values, at)?;
            row!(self.out, "{}  {name}  {value}{unit}", time::show(*time_ns))?;
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<Told> {
        self.out.flush()?;
        Ok(Told::default())
    }
}

/// A value; a text without what is not seen.
pub(super) fn shown_value(values: &Values<'_>, at: usize) -> Result<String> {
    let mut value = Vec::new();
    plain_value(&mut value, values, at)?;
    Ok(one_line(&String::from_utf8_lossy(&value)))
}

/// A text without the control characters by which a name in a store could drive a terminal.
pub(super) fn one_line(text: &str) -> String {
    baro_show::terminal(text, '?')
}
