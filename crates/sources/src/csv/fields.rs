//! A line of CSV cut into fields, and what a field says.

use super::CsvProblem;
use crate::form::Kind;
use crate::lines::quote;
use crate::number::{self, NumberFault};
use crate::sample::{Mark, Scalar};
use std::borrow::Cow;

/// A problem and its offset in the line, in bytes.
pub(super) struct Fault {
    pub(super) offset: usize,
    pub(super) problem: CsvProblem,
}

/// A field without blanks and quotes around it.
#[derive(Debug)]
pub(super) struct Field<'a> {
    pub(super) offset: usize,
    pub(super) text: Cow<'a, str>,
    /// With its blanks, and with its quotes if it has some.
    pub(super) written: &'a str,
    pub(super) quoted: bool,
    /// Where the next field starts; `None` at the end of the line.
    pub(super) next: Option<usize>,
}

/// Without the blanks at its begin; what separates is no blank.
fn without_blanks<const SEPARATOR: char>(text: &str) -> &str {
    match text.as_bytes().first() {
        Some(b' ' | b'\t') => text.trim_start_matches(is_blank::<SEPARATOR>),
        _ => text,
    }
}

/// Where a letter of ASCII first is: fields are short, so what is compiled in place is quicker than a
/// search that is called. Eight bytes are looked at together.
#[inline]
pub(super) fn position(text: &str, letter: char) -> Option<usize> {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    let (eights, rest) = text.as_bytes().as_chunks::<8>();
    for (at, eight) in eights.iter().enumerate() {
        // A byte that is the letter is 0 here, and the first bit that is set below is of the first such.
        let other = u64::from_le_bytes(*eight) ^ (ONES * u64::from(letter));
        let found = other.wrapping_sub(ONES) & !other & (ONES << 7);
        if found != 0 {
            return Some(at * 8 + found.trailing_zeros() as usize / 8);
        }
    }
    let at = rest.iter().position(|byte| char::from(*byte) == letter)?;
    Some(eights.len() * 8 + at)
}

fn is_blank<const SEPARATOR: char>(letter: char) -> bool {
    letter == ' ' || letter == '\t' && SEPARATOR != '\t'
}

/// Takes the field that starts at `start`. The separator is known where this is compiled, since most
/// inputs have a comma and all their bytes go through here.
#[inline]
pub(super) fn field<const SEPARATOR: char>(text: &str, start: usize) -> Result<Field<'_>, Fault> {
    let rest = without_blanks::<SEPARATOR>(&text[start..]);
    let offset = text.len() - rest.len();
    let Some(in_quotes) = rest.strip_prefix('"') else {
        let (content, next) = match position(rest, SEPARATOR) {
            Some(end) => (&rest[..end], Some(offset + end + 1)),
            None => (rest, None),
        };
        let written = &text[start..offset + content.len()];
        let text = match content.as_bytes().last() {
            Some(b' ' | b'\t') => content.trim_end_matches(is_blank::<SEPARATOR>),
            _ => content,
        };
        return Ok(Field { offset, text: text.into(), written, quoted: false, next });
    };
    let mut searched = 0;
    let mut unquoted = String::new();
    let end = loop {
        let Some(found) = position(&in_quotes[searched..], '"') else {
            return Err(Fault { offset, problem: CsvProblem::QuoteOpen });
        };
        let end = searched + found;
        if !in_quotes[end + 1..].starts_with('"') {
            break end;
        }
        unquoted += &in_quotes[searched..=end];
        searched = end + 2;
    };
    let content = if searched == 0 {
        in_quotes[..end].into()
    } else {
        unquoted += &in_quotes[searched..end];
        unquoted.into()
    };
    let after = without_blanks::<SEPARATOR>(&in_quotes[end + 1..]);
    let after_offset = text.len() - after.len();
    let written = &text[start..after_offset];
    let field = |next| Field { offset, text: content, written, quoted: true, next };
    if after.is_empty() {
        Ok(field(None))
    } else if after.starts_with(SEPARATOR) {
        Ok(field(Some(after_offset + 1)))
    } else {
        let problem = CsvProblem::AfterQuote { found: quote(after) };
        Err(Fault { offset: after_offset, problem })
    }
}

impl<'a> Field<'a> {
    /// What a text is: without quotes blanks belong to it, as RFC 4180 has it.
    pub(super) fn exact(self) -> Self {
        if self.quoted {
            return self;
        }
        Field { text: self.written.into(), ..self }
    }
}

/// All fields of a line.
pub(super) fn split(text: &str, separator: char) -> Result<Vec<Field<'_>>, Fault> {
    let field = match separator {
        ';' => field::<';'>,
        '\t' => field::<'\t'>,
        _ => field::<','>,
    };
    let mut fields = vec![field(text, 0)?];
    while let Some(next) = fields.last().and_then(|field| field.next) {
        fields.push(field(text, next)?);
    }
    Ok(fields)
}

/// What the quotes of a line say of which something is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quotes {
    /// A text in quotes is open: the lines behind it may be that text and no rows.
    Open,
    /// All are closed, and the last that is misplaced is here.
    Closed { misplaced: Option<usize> },
}

/// Goes through all fields of a line, whatever is wrong of one.
pub(super) fn quotes(text: &str, separator: char) -> Quotes {
    let field = match separator {
        ';' => field::<';'>,
        '\t' => field::<'\t'>,
        _ => field::<','>,
    };
    let (mut next, mut misplaced) = (Some(0), None);
    while let Some(start) = next {
        next = match field(text, start) {
            Ok(field) => field.next,
            Err(Fault { problem: CsvProblem::QuoteOpen, .. }) => return Quotes::Open,
            // What is behind a quote is passed over up to the next field.
            Err(Fault { offset, .. }) => {
                misplaced = Some(offset);
                let rest = text.get(offset..).unwrap_or_default();
                position(rest, separator).map(|found| offset + found + 1)
            }
        };
    }
    Quotes::Closed { misplaced }
}

/// How values are read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Values {
    pub(super) decimal_comma: bool,
}

impl Values {
    /// What a field says, whose kind is said or not; `all_quoted`: quotes stand around all fields of
    /// the line.
    #[inline]
    pub(super) fn read<'a>(
        self,
        field: Field<'a>,
        kind: Option<Kind>,
        all_quoted: bool,
    ) -> Result<(Scalar<'a>, Mark), Fault> {
        if kind.is_none() && !field.quoted && !self.decimal_comma {
            // What nearly all are.
            if let Ok(value) = number::scalar(&field.text) {
                return Ok((value, Mark::None));
            }
        }
        let field = if kind == Some(Kind::Text) { field.exact() } else { field };
        let Field { offset, text, quoted, .. } = field;
        let fail = |fault, text: &str| {
            let found = quote(text);
            let problem = match fault {
                NumberFault::Form => CsvProblem::Value { found },
                NumberFault::Integer => CsvProblem::ValueRange { found },
                NumberFault::Float => CsvProblem::FloatRange { found },
            };
            Fault { offset, problem }
        };
        let text = match (self.decimal_comma, kind) {
            (false, _) | (true, Some(Kind::Text)) => text,
            // A series of texts has it as it stands.
            (true, None) if quoted && text.contains([',', '.']) => {
                let mark = if all_quoted { Mark::AllQuoted } else { Mark::None };
                return Ok((Scalar::QuotedComma(text), mark));
            }
            (true, _) if text.contains('.') => return Err(fail(NumberFault::Form, &text)),
            (true, _) if number::scalar(&text.replace(',', ".")).is_ok() => {
                text.replace(',', ".").into()
            }
            (true, _) => text,
        };
        let Some(kind) = kind else {
            if quoted {
                let mark = if all_quoted { Mark::AllQuoted } else { Mark::None };
                return Ok((Scalar::Quoted(text), mark));
            }
            let value = number::scalar(&text).map_err(|fault| fail(fault, &text))?;
            return Ok((value, Mark::None));
        };
        let value = match kind {
            Kind::Text => Ok(Scalar::Text(text.clone())),
            Kind::F64 => number::exact_float(&text).map(Scalar::Float),
            Kind::I64 => number::integer(&text),
            Kind::U64 => match number::integer(&text) {
                Ok(Scalar::Integer(value)) if value < 0 => Err(NumberFault::Form),
                value => value,
            },
            Kind::Bool => match number::scalar(&text) {
                Ok(value @ Scalar::Boolean(_)) => Ok(value),
                _ => Err(NumberFault::Form),
            },
        };
        let value = value.map_err(|fault| match fault {
            NumberFault::Form => {
                let problem = CsvProblem::OfKind { kind, found: quote(&text) };
                Fault { offset, problem }
            }
            fault => fail(fault, &text),
        });
        Ok((value?, Mark::As(kind.declares())))
    }
}

#[cfg(test)]
mod tests {
    use super::position;

    #[test]
    fn a_letter_is_found_where_it_first_is() {
        // Also those that differ from it by one bit, or stand right before it.
        for other in ['a', '-', '+', '\u{1}', '\u{7f}', '\u{ac}', '\u{2c2c}'] {
            for before in 0..20 {
                for behind in 0..20 {
                    let of = |count| other.to_string().repeat(count);
                    let (text, bytes) = (of(before), other.len_utf8());
                    assert_eq!(position(&text, ','), None, "{other:?} {before}");
                    let text = format!("{text},{},{}", of(behind), of(behind));
                    assert_eq!(position(&text, ','), Some(before * bytes), "{text:?}");
                }
            }
        }
    }
}
