//! Rows as JSON: one object a line, or an array of them written piece by piece.
//!
//! `{"series":"temp","time_ns":1700000000000000000,"value":21.5}`, which `baro record --stdin json`
//! takes. Integers have `"value_type":"i64"` (or `u64`) behind them if asked for, since to most who write
//! JSON 21 and 21.5 are of one type. A float that is no number is null, as it is there; JSON has no infinities either, and
//! these are counted.

use crate::rows::{Rows, Told};
use crate::{Error, Result};
use baro_ondisk::written_name;
use baro_store::{Batch, Column, ValueType, Values};
use std::io::Write;

/// Writes rows as JSON: one object a line, or an array of them, piece by piece.
#[derive(Debug)]
pub struct Json<W> {
    out: W,
    array: bool,
    begun: bool,
    typed: bool,
    told: Told,
    /// Rows on their way to `out`.
    text: Vec<u8>,
}

/// Text is handed on in pieces of about this size.
pub(crate) const PIECE_BYTES: usize = 64 << 10;

impl<W: Write> Json<W> {
    /// One object a line.
    pub fn lines(out: W) -> Self {
        Json {
            out,
            array: false,
            begun: false,
            typed: false,
            told: Told::default(),
            text: Vec::new(),
        }
    }

    /// One array, an object a line.
    pub fn array(out: W) -> Self {
        Json { array: true, ..Json::lines(out) }
    }

    /// The same; `typed`: integers say their type.
    #[must_use]
    pub fn typed(self, typed: bool) -> Self {
        Json { typed, ..self }
    }

    fn row(&mut self, start: &[u8], time_ns: i64) -> Result<()> {
        if self.array {
            self.text.extend_from_slice(if self.begun { b",\n" } else { b"[\n" });
        }
        self.begun = true;
        self.text.extend_from_slice(start);
        write!(self.text, "{time_ns},\"value\":")?;
        Ok(())
    }

    fn end_row(&mut self) -> Result<()> {
        self.text.push(b'}');
        if !self.array {
            self.text.push(b'\n');
        }
        if self.text.len() >= PIECE_BYTES {
            self.hand_on()?;
        }
        Ok(())
    }

    fn hand_on(&mut self) -> Result<()> {
        self.out.write_all(&self.text)?;
        self.text.clear();
        Ok(())
    }
}

/// A value as JSON.
fn value(text: &mut Vec<u8>, values: &Values<'_>, at: usize) -> std::io::Result<()> {
    match values {
        Values::F64(values) => match values.get(at) {
            Some(value) if value.is_finite() => serde_json::to_writer(text, value)?,
            _ => text.extend_from_slice(b"null"),
        },
        Values::I64(values) => write!(text, "{}", values.get(at).unwrap_or(&0))?,
        Values::U64(values) => write!(text, "{}", values.get(at).unwrap_or(&0))?,
        Values::Bool(values) => write!(text, "{}", values.get(at).unwrap_or(&false))?,
        Values::Text(texts) => string(text, texts.get(at).unwrap_or(""))?,
    }
    Ok(())
}

/// A text as JSON, with escapes for what is not seen: rows are looked at on terminals too.
fn string(out: &mut Vec<u8>, text: &str) -> std::io::Result<()> {
    out.extend_from_slice(baro_show::escaped_json(serde_json::to_string(text)?).as_bytes());
    Ok(())
}

impl<W: Write> Rows for Json<W> {
    fn batch(&mut self, column: &Column, batch: &Batch<'_>) -> Result<()> {
        let mut start = b"{\"series\":".to_vec();
        string(&mut start, &written_name(&column.name)).map_err(Error::Output)?;
        start.extend_from_slice(b",\"time_ns\":");
        if let Values::F64(values) = batch.values {
            let infinite = values.iter().filter(|value| value.is_infinite()).count();
            self.told.infinite_as_null += infinite as u64;
        }
        for (at, time_ns) in batch.times_ns.iter().enumerate() {
            self.row(&start, *time_ns)?;
            value(&mut self.text, &batch.values, at).map_err(Error::Output)?;
            if self.typed && matches!(batch.values, Values::I64(_) | Values::U64(_)) {
                write!(
                    self.text,
                    ",\"value_type\":\"{}\"",
                    ValueType::of_values(&batch.values).name()
                )?;
            }
            self.end_row()?;
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<Told> {
        if self.array {
            self.text.extend_from_slice(if self.begun { b"\n]\n" } else { b"[]\n" });
        }
        self.hand_on()?;
        self.out.flush()?;
        Ok(self.told)
    }
}
