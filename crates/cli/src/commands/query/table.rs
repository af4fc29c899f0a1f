//! Rows as a table for people, aligned in pieces: columns are as wide as the rows of a piece ask
//! for and never narrower than in the piece before, so that memory is that of a piece. One long text
//! makes no column wider than [`WIDEST`]: it is printed whole, and only its own row goes out of line.

use super::text::{one_line, shown_value};
use crate::time;
use baro_command::Lines;
use baro_export::rows::{Rows, Told};
use baro_export::{Result, unit_of};
use baro_ondisk::written_name;
use baro_store::{Batch, Column, Every};
use std::io::Write;

/// Rows that are aligned together.
const PIECE_ROWS: usize = 1000;
/// Characters that a column is aligned to at most; the formatter of Rust takes no width above 65,535.
const WIDEST: usize = 256;
const HEAD: [&str; 4] = ["time", "series", "value", "unit"];

/// See the module.
#[derive(Debug)]
pub(super) struct Table<W: Write> {
    out: Lines<W>,
    every: Option<Every>,
    rows: Vec<[String; 4]>,
    widths: [usize; 3],
    begun: bool,
}

impl<W: Write> Table<W> {
    /// For samples, or for what `every` makes of them.
    pub(super) fn of(every: Option<Every>, out: W) -> Self {
        Table { out: Lines::new(out), every, rows: Vec::new(), widths: [0; 3], begun: false }
    }

    fn print(&mut self) -> Result<()> {
        if !self.begun {
            self.begun = true;
            self.rows.insert(0, HEAD.map(str::to_owned));
        }
        for row in &self.rows {
            for (width, cell) in self.widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count().min(WIDEST));
            }
        }
        let [time, series, value] = self.widths;
        for [at, name, what, unit] in self.rows.drain(..) {
            let line = format!("{at:time$}  {name:series$}  {what:>value$}  {unit}");
            row!(self.out, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

impl<W: Write> Rows for Table<W> {
    fn batch(&mut self, column: &Column, batch: &Batch<'_>) -> Result<()> {
        let (name, unit) =
            (one_line(&written_name(&column.name)), one_line(&unit_of(column, self.every)));
        for (at, time_ns) in batch.times_ns.iter().enumerate() {
            let value = shown_value(&batch.values, at)?;
            self.rows.push([time::show(*time_ns), name.clone(), value, unit.clone()]);
            if self.rows.len() >= PIECE_ROWS {
                self.print()?;
            }
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<Told> {
        self.print()?;
        self.out.flush()?;
        Ok(Told::default())
    }
}

#[cfg(test)]
mod tests {
    use super::Table;

    #[test]
    fn columns_are_aligned_and_never_narrower_than_before() {
        let mut table = Table::of(None, Vec::new());
        let row =
            |name: &str, value: &str, unit: &str| ["12:00", name, value, unit].map(str::to_owned);
        table.rows = vec![row("temperature", "1.5", "°C"), row("é", "-10", "")];
        table.print().unwrap();
        table.rows = vec![row("x", "7", "m")];
        table.print().unwrap();
        let expected = "time   series       value  unit\n12:00  temperature    1.5  °C\n\
                        12:00  é              -10\n12:00  x                7  m\n";
        assert_eq!(String::from_utf8(table.out.exact().clone()).unwrap(), expected);
    }

    #[test]
    fn a_long_text_is_whole_and_pads_no_other_row() {
        let mut table = Table::of(None, Vec::new());
        let long = "x".repeat(65_536);
        table.rows =
            [&long, "1.5"].map(|value| ["12:00", "n", value, "m"].map(str::to_owned)).into();
        table.print().unwrap();
        let text = String::from_utf8(table.out.exact().clone()).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1], format!("12:00  n       {long}  m"));
        assert_eq!(lines[2], format!("12:00  n       {}1.5  m", " ".repeat(253)));
    }
}
