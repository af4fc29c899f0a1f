//! Rows of `time,series,value` with times in nanoseconds: what `baro record --stdin csv` takes, so
//! that an export can be recorded again. Gaps and steps of the clock are comments.
//!
//! A spreadsheet takes a cell that begins with `=`, `+`, `-` or `@` for a formula, in quotes too, and
//! names come from whoever sends samples. Such a name or text gets a `'` in front (`guarded`), which a
//! spreadsheet shows as text and our own reader takes away again. Numbers stay as they are.
//!
//! `1` is a value of f64, of i64 or a text, and a name may be a number too. So where a series is of i64, u64
//! or text each row has the type behind its value, in a column `value_type` that our own reader takes; and
//! names that are numbers stand in quotes.
//!
//! Invariant: no name and no text begins a cell as a formula does, and the reader gives back every
//! name. Held by `no_name_and_no_text_is_a_formula` and `names_that_look_like_formulas_come_back`.

use crate::json::PIECE_BYTES;
use crate::rows::{Rows, Told};
use crate::{Exported, Request, Result, Sink};
use baro_ondisk::{Gap, written_name};
use baro_store::{Batch, Column, Datum, Point, Selection, Store, ValueType, Values};
use std::borrow::Cow;
use std::io::{self, Write};

/// Writes a range of a store as CSV. Blocks for reading and writing; buffer `out`.
///
/// # Errors
/// The store cannot be read, or `out` refuses.
pub fn export<W: Write>(store: &Store, request: &Request, mut out: W) -> Result<Exported> {
    let typed = needs_types(&request.selection);
    out.write_all(header(typed).as_bytes())?;
    let mut rows = Range { out, typed };
    let exported = crate::run(store, request, &mut rows)?;
    rows.out.flush()?;
    Ok(exported)
}

/// Whether values of these series do not say their types.
#[must_use]
pub fn needs_types(selection: &Selection) -> bool {
    selection.columns().iter().any(|column| {
        use ValueType::{I64, Text, U64};
        matches!(column.kind, Some(I64 | U64 | Text))
    })
}

/// The first line; `typed`: rows say the types of their values.
#[must_use]
pub fn header(typed: bool) -> &'static str {
    if typed { "time,series,value,value_type\n" } else { "time,series,value\n" }
}

/// Writes one row; nothing for a frame, which has no place in rows.
///
/// # Errors
/// Those of `out`.
pub fn row(
    out: &mut impl Write,
    time_ns: i64,
    name: &str,
    found: &Datum<'_>,
    typed: bool,
) -> io::Result<()> {
    if matches!(found, Datum::Frame(_)) {
        return Ok(());
    }
    write!(out, "{time_ns},{},", quoted(name))?;
    value(out, found)?;
    if typed {
        write!(out, ",{}", kind(found))?;
    }
    writeln!(out)
}

fn kind(value: &Datum<'_>) -> &'static str {
    match value {
        Datum::Float(_) => "f64",
        Datum::Integer(_) => "i64",
        Datum::Unsigned(_) => "u64",
        Datum::Boolean(_) => "bool",
        Datum::Text(_) => "text",
        Datum::Frame(_) => "frame",
    }
}

/// Digits that come back as these bits: a zero keeps its sign, and what no integer of 64 bits holds is
/// not written as one.
fn float(out: &mut impl Write, value: f64) -> io::Result<()> {
    const INTEGERS: f64 = 9_223_372_036_854_775_808.0;
    let beyond = value.is_finite() && value.abs() >= INTEGERS;
    if beyond || value == 0.0 && value.is_sign_negative() {
        write!(out, "{value:?}")
    } else {
        write!(out, "{value}")
    }
}

/// Whether a name may read like a value or a time, or like none: in quotes it is a name for every reader.
/// What does not begin with a letter may, and so may what begins as the name of a month or of a day.
fn like_a_value(name: &str) -> bool {
    const MOMENTS: &[u8] = b"janfebmaraprmayjunjulaugsepoctnovdecmontuewedthufrisatsun";
    let words = ["true", "false", "null", "none", "nil", "na", "n/a"];
    let word = words.iter().any(|word| name.eq_ignore_ascii_case(word));
    let of_moment = |begin: &str| {
        MOMENTS.chunks(3).any(|moment| begin.as_bytes().eq_ignore_ascii_case(moment))
            && name.contains(|letter: char| letter.is_ascii_digit())
            && name.contains([' ', '-', '/', ':', '.', '_'])
    };
    let is_letter = |first: char| first == '_' || first.is_alphabetic() && !first.is_numeric();
    !name.starts_with(is_letter)
        || word
        || name.get(..3).is_some_and(of_moment)
        || name.parse::<f64>().is_ok()
}

/// Writes a value as a field.
///
/// # Errors
/// Those of `out`.
pub fn value(out: &mut impl Write, value: &Datum<'_>) -> io::Result<()> {
    match value {
        Datum::Float(value) => float(out, *value),
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
    match written_name(name) {
        Cow::Borrowed(name) => quoted_name(name),
        Cow::Owned(name) => quoted_text(&name).into(),
    }
}

fn quoted_name(name: &str) -> Cow<'_, str> {
    let guarded = guarded(name);
    if let Cow::Owned(_) = guarded {
        return quoted_text(name).into();
    }
    let blank = name.starts_with([' ', '\t']) || name.ends_with([' ', '\t']);
    if blank || like_a_value(name) || name.contains([',', '"', '\n', '\r']) || name.starts_with('#')
    {
        return quoted_text(name).into();
    }
    name.into()
}

struct Range<W> {
    out: W,
    typed: bool,
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
        Ok(row(&mut self.out, point.time_ns, &name, &point.value, self.typed)?)
    }

    fn note(&mut self, time_ns: i64, gap: Option<Gap>) -> Result<()> {
        match gap {
            Some(gap) => writeln!(
                self.out,
                "# {time_ns} {} lost: {gap}",
                baro_show::plural(gap.lost(), "record")
            )?,
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
    typed: bool,
    /// Rows on their way to `out`.
    text: Vec<u8>,
}

impl<W: Write> Csv<W> {
    /// With its header.
    pub fn new(out: W) -> Self {
        Csv { out, begun: false, typed: false, text: Vec::new() }
    }

    /// The same; `typed`: each row says the type of its value.
    pub fn typed(out: W, typed: bool) -> Self {
        Csv { typed, ..Csv::new(out) }
    }

    fn hand_on(&mut self) -> Result<()> {
        if !self.begun {
            self.out.write_all(header(self.typed).as_bytes())?;
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
        Values::F64(values) => float(out, *values.get(at).unwrap_or(&f64::NAN)),
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
            if self.typed {
                write!(self.text, ",{}", ValueType::of_values(&batch.values).name())?;
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
            ("'a'", "\"'a'\""),
            ("a=b", "a=b"),
            ("=\"a\",b", "\"'=\"\"a\"\",b\""),
            ("oven{zone=1}", "\"{\"\"oven{zone=1}\"\"}\""),
            ("oven{zone=\"1\"}", "\"oven{zone=\"\"1\"\"}\""),
        ] {
            let mut out = Vec::new();
            row(&mut out, 7, name, &Datum::Float(-5.0), false).unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), format!("7,{written},-5\n"));
        }
        let mut out = Vec::new();
        row(&mut out, 7, "t", &Datum::Text("=cmd|'/C calc'!A0"), false).unwrap();
        row(&mut out, 7, "t", &Datum::Text("a\"b"), false).unwrap();
        let expected = "7,t,\"'=cmd|'/C calc'!A0\"\n7,t,\"a\"\"b\"\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn names_that_may_be_read_as_something_else_are_in_quotes() {
        let plain =
            ["a", "_a", "motor.rpm", "Mon", "may", "june1", "Δt", "monitor", "decay rate", "a b"];
        for name in plain {
            assert_eq!(quoted(name), name);
        }
        let others = [
            "",
            "1",
            "1a",
            "-",
            "NA",
            "n/a",
            "Null",
            "inf",
            "NaN",
            "true",
            "FALSE",
            ".a",
            "/a",
            "%",
            "# a",
            "#a",
            " a",
            "a ",
            "a\t",
            "a,b",
            "a\nb",
            "14 Nov",
            "Nov 14",
            "nov-14",
            "MAY_5",
            "Tue 22:13",
            "²",
        ];
        for name in others {
            assert_eq!(quoted(name), format!("\"{}\"", guarded(name)), "{name:?}");
        }
    }

    #[test]
    fn what_reads_like_something_else_is_written_so_that_it_does_not() {
        for (name, value, written) in [
            ("a", Datum::Float(5.0), "7,a,5,f64\n"),
            ("a", Datum::Float(-0.0), "7,a,-0.0,f64\n"),
            ("a", Datum::Float(1e300), "7,a,1e300,f64\n"),
            ("1.5", Datum::Integer(5), "7,\"1.5\",5,i64\n"),
            ("nan", Datum::Boolean(true), "7,\"nan\",true,bool\n"),
            ("2026-01-01", Datum::Text("5"), "7,\"2026-01-01\",\"5\",text\n"),
        ] {
            let mut out = Vec::new();
            row(&mut out, 7, name, &value, true).unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), written);
        }
    }
}
