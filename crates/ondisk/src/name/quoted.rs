//! Parts of names in quotes, read and written.
//!
//! Invariant: what is written in quotes is read as it was. Held by the model test beside this module.

use super::{NameParser, has_bare_labels, word_end};
use alloc::borrow::Cow;
use alloc::string::String;

/// A metric, or the name or value of a label, inside a text: without its quotes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Part {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) quoted: bool,
    pub(super) escaped: bool,
    /// A bare one, where the canonical form has its escape.
    pub(super) has_line_feed: bool,
}

impl Part {
    /// What stands in quotes; `at` is at the first of them. None if it does not end, or has an escape
    /// that is none.
    pub(super) fn quoted(bytes: &[u8], at: usize) -> Option<Self> {
        let start = at + 1;
        let mut part = Part { start, end: start, quoted: true, ..Part::default() };
        loop {
            match *bytes.get(part.end)? {
                b'"' => return Some(part),
                b'\\' if matches!(bytes.get(part.end + 1)?, b'\\' | b'"' | b'n') => {
                    part.escaped = true;
                    part.end += 2;
                }
                b'\\' => return None,
                byte => {
                    part.has_line_feed |= byte == b'\n';
                    part.end += 1;
                }
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Where the text goes on.
    pub(super) fn behind(&self) -> usize {
        self.end + usize::from(self.quoted)
    }

    /// Whether it needs no quotes.
    pub(super) fn is_plain(&self, bytes: &[u8]) -> bool {
        !self.is_empty() && word_end(bytes, self.start) == self.end
    }

    fn raw<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        bytes.get(self.start..self.end).unwrap_or_default()
    }

    pub(super) fn is(&self, bytes: &[u8], text: &str) -> bool {
        self.raw(bytes) == text.as_bytes()
    }

    /// Its bytes, without escapes.
    pub(super) fn letters<'a>(&self, bytes: &'a [u8]) -> impl Iterator<Item = u8> + 'a {
        let escaped = self.escaped;
        let mut raw = self.raw(bytes).iter();
        core::iter::from_fn(move || match *raw.next()? {
            b'\\' if escaped => raw.next().map(|byte| if *byte == b'n' { b'\n' } else { *byte }),
            byte => Some(byte),
        })
    }

    pub(super) fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let raw = text.get(self.start..self.end).unwrap_or_default();
        if self.escaped { Cow::Owned(unescaped(raw)) } else { Cow::Borrowed(raw) }
    }
}

fn unescaped(raw: &str) -> String {
    let mut text = String::with_capacity(raw.len());
    let mut characters = raw.chars();
    while let Some(character) = characters.next() {
        text.push(match character {
            '\\' => match characters.next() {
                Some('n') => '\n',
                other => other.unwrap_or('\\'),
            },
            other => other,
        });
    }
    text
}

/// Whether `name` can be a metric or the name of a label without quotes.
#[must_use]
pub fn is_plain_name(name: &str) -> bool {
    !name.is_empty() && word_end(name.as_bytes(), 0) == name.len()
}

/// Writes `text` in quotes, with the escapes that it needs.
pub fn write_quoted(out: &mut String, text: &str) {
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            '\n' => out.push_str("\\n"),
            other => out.push(other),
        }
    }
    out.push('"');
}

/// Writes the name of a metric with labels, which come by rising name, so that it can be declared: in quotes
/// what needs them. A metric that is no plain name stands bare where it has no labels and can be taken for
/// nothing else.
pub fn write_name(
    out: &mut String,
    metric: &str,
    labels: impl Iterator<Item = (impl AsRef<str>, impl AsRef<str>)>,
) {
    let mut labels = labels.peekable();
    if labels.peek().is_none() && has_bare_labels(metric) {
        write_alone(out, metric);
    } else {
        write_canonical(out, metric, labels);
    }
}

/// A declared name as it can be declared again. `oven{zone=1}`, which is a metric without labels, is taken for
/// one with a label whose quotes a shell has taken: it stands in quotes, `{"oven{zone=1}"}`.
#[must_use]
pub fn written_name(name: &str) -> Cow<'_, str> {
    if !has_bare_labels(name) {
        return name.into();
    }
    let mut written = String::new();
    write_alone(&mut written, name);
    written.into()
}

fn write_alone(out: &mut String, metric: &str) {
    out.push('{');
    write_quoted(out, metric);
    out.push('}');
}

/// The same in the form in which it is stored: also what could be taken for a name whose labels have no
/// quotes stands bare.
pub(super) fn write_canonical(
    out: &mut String,
    metric: &str,
    labels: impl Iterator<Item = (impl AsRef<str>, impl AsRef<str>)>,
) {
    let mut labels = labels.peekable();
    let plain = metric.is_empty() || is_plain_name(metric);
    let alone = labels.peek().is_none();
    let bare = plain || (alone && !NameParser::new().parse(metric));
    if bare {
        out.push_str(metric);
    }
    if bare && alone {
        return;
    }
    out.push('{');
    if !plain {
        write_quoted(out, metric);
    }
    let mut comma = !plain;
    for (name, value) in labels {
        let (name, value) = (name.as_ref(), value.as_ref());
        if comma {
            out.push(',');
        }
        comma = true;
        if is_plain_name(name) {
            out.push_str(name)
        } else {
            write_quoted(out, name)
        }
        out.push('=');
        write_quoted(out, value);
    }
    out.push('}');
}
