//! Names of series: `metric{label="value",..}` in one canonical form, so that a series has one
//! name however its labels are ordered. `docs/format.md`, "Names".
//!
//! A metric or a label whose own name has blanks, commas or the like stands in quotes, the metric inside
//! the braces: `{"living room",site="a","data centre"="x"}`, as in Prometheus 3.
//!
//! A text that is no such name stays as it is: it is a metric without labels. Names that were
//! declared before there was a canonical form are found by their exact text.
//!
//! Invariant: the canonical form of a canonical form is itself, and two texts have one canonical
//! form exactly if metric and labels are the same. Held by the tests below, against a model.

mod device;
mod quoted;

use crate::limits::NAME_BYTES_MAX;
use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Ordering;
pub use device::is_called_id;
use quoted::{Part, write_canonical};
pub use quoted::{is_plain_name, write_name, write_quoted, written_name};

/// Longest text that is taken apart: with blanks and escapes a name that may be declared can be longer
/// than [`NAME_BYTES_MAX`], but not by so much. It bounds the memory that a hostile text takes.
const TEXT_BYTES_MAX: usize = 64 * NAME_BYTES_MAX;

/// One label inside a text.
#[derive(Clone, Copy, Debug)]
struct Span {
    name: Part,
    value: Part,
}

/// Takes names apart; keeps its memory from one name to the next.
#[derive(Clone, Debug, Default)]
pub struct NameParser {
    metric: Part,
    labels: Vec<Span>,
    canonical: bool,
    text: String,
}

/// A byte of a metric or label name: anything but space, control and what has a meaning of its own.
fn is_word(byte: u8) -> bool {
    !matches!(byte, 0..=b' ' | 0x7f | b'{' | b'}' | b'"' | b',' | b'=' | b'!' | b'~' | b'\\')
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// Where the word that starts at `at` ends.
pub(crate) fn word_end(bytes: &[u8], at: usize) -> usize {
    bytes.iter().skip(at).position(|byte| !is_word(*byte)).map_or(bytes.len(), |found| at + found)
}

/// The end of a metric or label name that starts at byte `at` of `text`: for those who parse what
/// contains names, selectors above all.
#[must_use]
pub fn name_end(text: &str, at: usize) -> usize {
    word_end(text.as_bytes(), at)
}

/// Whether `text` looks like a name with labels and is none: `oven{zone=1}`, which has lost its quotes,
/// `oven{zone="1"`, or one label twice. To [`NameParser`] that is a metric without labels, which hardly
/// anybody means.
#[must_use]
pub fn has_bare_labels(text: &str) -> bool {
    let Some((metric, labels)) = text.split_once('{') else { return false };
    let metric = metric.trim();
    let is_quoted = metric.len() > 1 && metric.starts_with('"') && metric.ends_with('"');
    (is_quoted || word_end(metric.as_bytes(), 0) == metric.len())
        && has_label(labels)
        && !NameParser::new().parse(text)
}

/// Whether a word begins this, an equals sign behind it, and a quote or a closing brace somewhere.
fn has_label(labels: &str) -> bool {
    let labels = labels.trim_start_matches([' ', ',']);
    let name = labels.get(..word_end(labels.as_bytes(), 0)).unwrap_or_default();
    let behind = labels.get(name.len()..).unwrap_or_default().trim_start();
    // A colon may be in a word.
    let is_equal = behind.starts_with(['=', '!']) || name.ends_with(':') && behind.starts_with('"');
    let is_quoted = labels.starts_with('"');
    (is_equal || is_quoted) && (labels.contains('"') || labels.contains('}'))
}

impl NameParser {
    /// A parser.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes `text` apart; false if it is no name with labels, nor a metric, or is longer than any
    /// name could be written (64 KiB): then [`NameParser::metric`] is all of it and there are no labels.
    pub fn parse(&mut self, text: &str) -> bool {
        self.labels.clear();
        self.canonical = true;
        let parsed = text.len() <= TEXT_BYTES_MAX && self.take(text.as_bytes()).is_some();
        if !parsed {
            self.labels.clear();
            self.metric = Part { end: text.len(), ..Part::default() };
        }
        parsed
    }

    fn take(&mut self, bytes: &[u8]) -> Option<()> {
        self.metric = Part { end: word_end(bytes, 0), ..Part::default() };
        if self.metric.end == bytes.len() {
            return (!bytes.is_empty()).then_some(());
        }
        let mut at = self.space(bytes, self.metric.end);
        if *bytes.get(at)? != b'{' {
            return None;
        }
        at = self.space(bytes, at + 1);
        let mut comma = false;
        while *bytes.get(at)? != b'}' {
            at = self.label(bytes, at)?;
            at = self.space(bytes, at);
            comma = *bytes.get(at)? == b',';
            if comma {
                at = self.space(bytes, at + 1);
            } else if *bytes.get(at)? != b'}' {
                return None;
            }
        }
        if at + 1 != bytes.len() {
            return None;
        }
        let empty = |span: &Span| span.value.is_empty();
        let ordered = self.labels.is_sorted_by(|a, b| by_name(bytes, a, b).is_lt());
        self.canonical &=
            ordered && !comma && !self.labels.is_empty() && !self.labels.iter().any(empty);
        if !self.canonical {
            self.labels.sort_by(|a, b| by_name(bytes, a, b));
            let same = |pair: &[Span]| matches!(pair, [a, b] if by_name(bytes, a, b).is_eq());
            if self.labels.windows(2).any(same) {
                return None;
            }
            // An empty value is that of a label that is not there.
            self.labels.retain(|span| !empty(span));
        }
        (!self.metric.is_empty() || !self.labels.is_empty()).then_some(())
    }

    /// `name="value"`, or, first of all and where no metric stands before the brace, the metric in
    /// quotes; the offset behind it.
    fn label(&mut self, bytes: &[u8], start: usize) -> Option<usize> {
        let name = match *bytes.get(start)? {
            b'"' => self.quoted(bytes, start)?,
            _ => Part { start, end: word_end(bytes, start), ..Part::default() },
        };
        // In quotes without need it is another text for the same name.
        self.canonical &= !(name.quoted && name.is_plain(bytes));
        if name.is_empty() {
            return None;
        }
        let mut at = self.space(bytes, name.behind());
        if *bytes.get(at)? != b'=' {
            let first = self.labels.is_empty() && self.metric.is_empty();
            self.metric = if name.quoted && first { name } else { return None };
            return Some(name.behind());
        }
        // The metric's own place is before the brace.
        if name.is(bytes, "__name__") {
            return None;
        }
        at = self.space(bytes, at + 1);
        if *bytes.get(at)? != b'"' {
            return None;
        }
        let value = self.quoted(bytes, at)?;
        self.labels.push(Span { name, value });
        Some(value.behind())
    }

    /// What stands in quotes from `at` on.
    fn quoted(&mut self, bytes: &[u8], at: usize) -> Option<Part> {
        let part = Part::quoted(bytes, at)?;
        self.canonical &= !part.has_line_feed;
        Some(part)
    }

    fn space(&mut self, bytes: &[u8], at: usize) -> usize {
        let spaces = bytes.iter().skip(at).take_while(|byte| is_space(**byte)).count();
        self.canonical &= spaces == 0;
        at + spaces
    }

    /// The metric of the text parsed last, all of it if it is no name.
    #[must_use]
    pub fn metric<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.metric.text(text)
    }

    /// Labels of the text parsed last.
    #[must_use]
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether it has no labels.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// Name and value of label `index` of the text parsed last, by rising name unless the text is
    /// in canonical form already, which is the same.
    #[must_use]
    pub fn label_at<'a>(
        &self,
        text: &'a str,
        index: usize,
    ) -> Option<(Cow<'a, str>, Cow<'a, str>)> {
        let span = self.labels.get(index)?;
        Some((span.name.text(text), span.value.text(text)))
    }

    /// The canonical form of `text`: labels by rising name, without spaces and empty values. What
    /// is no name stays as it is.
    pub fn canonical<'a>(&'a mut self, text: &'a str) -> &'a str {
        if !text.as_bytes().contains(&b'{') || !self.parse(text) {
            return text;
        }
        let alone = self.metric.quoted && self.labels.is_empty();
        if self.canonical && !alone {
            return text;
        }
        self.text.clear();
        let (mut out, metric) = (core::mem::take(&mut self.text), self.metric.text(text));
        let labels = (0..self.labels.len()).filter_map(|at| self.label_at(text, at));
        write_canonical(&mut out, &metric, labels);
        self.text = out;
        &self.text
    }
}

fn by_name(bytes: &[u8], a: &Span, b: &Span) -> Ordering {
    a.name.letters(bytes).cmp(b.name.letters(bytes))
}

#[cfg(test)]
mod tests;
