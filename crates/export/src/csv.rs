//! Rows of `time,series,value` with times in nanoseconds: what `baro record --stdin csv` takes, so
//! that an export can be recorded again. Gaps and steps of the clock are comments.
//!
//! A spreadsheet takes a cell that begins with `=`, `+`, `-` or `@` for a formula, in quotes too, and
//! names come from whoever sends samples. Such a name or text gets a `'` in front (`guarded`), which a
//! spreadsheet shows as text and our own reader takes away again. Numbers stay as they are.
//!
//! Invariant: no name and no text begins a cell as a formula does, and the reader gives back every
//! name. Held by `no_name_and_no_text_is_a_formula` and `names_that_look_like_formulas_come_back`.

use crate::json::PIECE_BYTES;
use crate::rows::{Rows, Told};
use crate::{Exported, Request, Result, Sink};
use baro_ondisk::Gap;
use baro_store::{Batch, Column, Datum, Point, Store, Values};
use baro_sys::storage::Storage;
use std::borrow::Cow;
use std::io::{self, Write};

/// Writes a range of a store as CSV. Blocks for reading and writing; buffer `out`.
///
/// # Errors
/// The store cannot be read, or `out` refuses.
pub fn export<S: Storage, W: Write>(
    store: &Store<S>,
    request: &Request,
    mut out: W,
) -> Result<Exported> {
    writeln!(out, "time,series,value")?;
    let mut rows = Range { out };
    let exported = crate::run(store, request, &mut rows)?;
    rows.out.flush()?;
    Ok(exported)
}

/// Writes one row; nothing for a frame, which has no place in rows.
///
/// # Errors
/// Those of `out`.
pub fn row(out: &mut impl Write, time_ns: i64, name: &str, found: &Datum<'_>) -> io::Result<()> {
    if matches!(found, Datum::Frame(_)) {
        return Ok(());
    }
    write!(out, "{time_ns},{},", quoted(name))?;
    value(out, found)?;
    writeln!(out)
}

/// Writes a value as a field.
///
/// # Errors
/// Those of `out`.
pub fn value(out: &mut impl Write, value: &Datum<'_>) -> io::Result<()> {
    match value {
        Datum::Float(value) => write!(out, "{value}"),
        Datum::Integer(value) => write!(out, "{value}"),
        Datum::Unsigned(value) => write!(out, "{value}"),
        Datum::Boolean(value) => write!(out, "{value}"),
        // Always in quotes, so that no text is taken for a number.
        Datum::Text(text) => out.write_all(quoted_text(text).as_bytes()),
        Datum::Frame(_) => Ok(()),
    }
}

/// A name as a field.
fn quoted(name: &str) -> Cow<'_, str> {
    let guarded = guarded(name);
    if let Cow::Owned(_) = guarded {
        return quoted_text(name).into();
    }
    let blank = name.starts_with([' ', '\t']) || name.ends_with([' ', '\t']);
    if blank || name.contains([',', '"', '\n', '\r']) || name.starts_with('#') {
        return quoted_text(name).into();
    }
    name.into()
}

struct Range<W> {
    out: W,
}

impl<W: Write> Sink for Range<W> {
    fn point(&mut self, point: &Point<'_>, exported: &mut Exported) -> Result<()> {
        if matches!(point.value, Datum::Frame(_)) {
            exported.frames_left_out += 1;
            return Ok(());
        }
        let unknown = || Cow::Owned(format!("unknown-{}", point.id));
        let name = point.column.map_or_else(unknown, |c| Cow::Borrowed(c.name.as_str()));
        exported.rows += 1;
        Ok(row(&mut self.out, point.time_ns, &name, &point.value)?)
    }

    fn note(&mut self, time_ns: i64, gap: Option<Gap>) -> Result<()> {
        match gap {
            Some(gap) => writeln!(self.out, "# {time_ns} {} records lost: {gap:?}", gap.lost())?,
            None => writeln!(self.out, "# {time_ns} the realtime clock was stepped")?,
        }
        Ok(())
    }
}

/// Rows of a query, series by series: `time,series,value` as above.
#[derive(Debug)]
pub struct Csv<W> {
    out: W,
    begun: bool,
    /// Rows on their way to `out`.
    text: Vec<u8>,
}

impl<W: Write> Csv<W> {
    /// With its header.
    pub fn new(out: W) -> Self {
        Csv { out, begun: false, text: Vec::new() }
    }

    fn hand_on(&mut self) -> Result<()> {
        if !self.begun {
            self.out.write_all(b"time,series,value\n")?;
            self.begun = true;
        }
        self.out.write_all(&self.text)?;
        self.text.clear();
        Ok(())
    }
}

/// A value of a query as it is written in text.
///
/// # Errors
/// Those of `out`.
pub fn plain_value(out: &mut impl Write, values: &Values<'_>, at: usize) -> io::Result<()> {
    match values {
        Values::F64(values) => write!(out, "{}", values.get(at).unwrap_or(&f64::NAN)),
        Values::I64(values) => write!(out, "{}", values.get(at).unwrap_or(&0)),
        Values::U64(values) => write!(out, "{}", values.get(at).unwrap_or(&0)),
        Values::Bool(values) => write!(out, "{}", values.get(at).unwrap_or(&false)),
        Values::Text(texts) => out.write_all(texts.get(at).unwrap_or("").as_bytes()),
    }
}

impl<W: Write> Rows for Csv<W> {
    fn batch(&mut self, column: &Column, batch: &Batch<'_>) -> Result<()> {
        let name = quoted(&column.name);
        for (at, time_ns) in batch.times_ns.iter().enumerate() {
            write!(self.text, "{time_ns},{name},")?;
            match &batch.values {
                Values::Text(texts) => {
                    let text = texts.get(at).unwrap_or("");
                    self.text.extend_from_slice(quoted_text(text).as_bytes());
                }
                values => plain_value(&mut self.text, values, at)?,
            }
            self.text.push(b'\n');
            if self.text.len() >= PIECE_BYTES {
                self.hand_on()?;
            }
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<Told> {
        self.hand_on()?;
        self.out.flush()?;
        Ok(Told::default())
    }
}

/// A text as a field: always in quotes, so that `"1"` and `""` are not taken for a number or for
/// nothing.
fn quoted_text(text: &str) -> String {
    format!("\"{}\"", guarded(text).replace('"', "\"\""))
}

/// A name or text, with `'` in front if a spreadsheet would take it for a formula. One that only has such
/// quotes before a formula gets one more, so that the reader, who takes one away, gives back what was
/// there: `baro_sources::csv` has the other half.
fn guarded(text: &str) -> Cow<'_, str> {
    let begin = text.trim_start_matches('\'');
    let first = begin.trim_start_matches(' ').chars().next();
    let formula = matches!(
        first,
        Some('=' | '+' | '-' | '@' | '\t' | '\r' | '\n' | '＝' | '＋' | '－' | '＠')
    );
    if formula { format!("'{text}").into() } else { text.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_and_no_text_is_a_formula() {
        for (name, written) in [
            ("temp", "temp"),
            ("=1+1", "\"'=1+1\""),
            ("+a", "\"'+a\""),
            ("-a", "\"'-a\""),
            ("@a", "\"'@a\""),
            ("\t=a", "\"'\t=a\""),
            (" =a", "\"' =a\""),
            ("＝a", "\"'＝a\""),
            ("'=a", "\"''=a\""),
            ("'a'", "'a'"),
            ("a=b", "a=b"),
            ("=\"a\",b", "\"'=\"\"a\"\",b\""),
        ] {
            let mut out = Vec::new();
            row(&mut out, 7, name, &Datum::Float(-5.0)).unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), format!("7,{written},-5\n"));
        }
        let mut out = Vec::new();
        row(&mut out, 7, "t", &Datum::Text("=cmd|'/C calc'!A0")).unwrap();
        row(&mut out, 7, "t", &Datum::Text("a\"b")).unwrap();
        let expected = "7,t,\"'=cmd|'/C calc'!A0\"\n7,t,\"a\"\"b\"\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
