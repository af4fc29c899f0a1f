//! Names of series: `metric{label="value",..}` in one canonical form, so that a series has one
//! name however its labels are ordered. `docs/format.md`, "Names".
//!
//! A text that is no such name stays as it is: it is a metric without labels. Names that were
//! declared before there was a canonical form are found by their exact text.
//!
//! Invariant: the canonical form of a canonical form is itself, and two texts have one canonical
//! form exactly if metric and labels are the same. Held by the tests below, against a model.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

/// One label inside a text.
#[derive(Clone, Copy, Debug)]
struct Span {
    name: (usize, usize),
    value: (usize, usize),
    escaped: bool,
}

/// Takes names apart; keeps its memory from one name to the next.
#[derive(Clone, Debug, Default)]
pub struct NameParser {
    metric_bytes: usize,
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

impl NameParser {
    /// A parser.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes `text` apart; false if it is no name with labels, nor a metric: then
    /// [`NameParser::metric`] is all of it and there are no labels.
    pub fn parse(&mut self, text: &str) -> bool {
        self.labels.clear();
        self.canonical = true;
        let parsed = self.take(text.as_bytes()).is_some();
        if !parsed {
            self.labels.clear();
            self.metric_bytes = text.len();
        }
        parsed
    }

    fn take(&mut self, bytes: &[u8]) -> Option<()> {
        self.metric_bytes = word_end(bytes, 0);
        if self.metric_bytes == bytes.len() {
            return (!bytes.is_empty()).then_some(());
        }
        let mut at = self.space(bytes, self.metric_bytes);
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
        let empty = |span: &Span| span.value.0 == span.value.1;
        let ordered = self.labels.is_sorted_by(|a, b| name_of(bytes, a) < name_of(bytes, b));
        self.canonical &=
            ordered && !comma && !self.labels.is_empty() && !self.labels.iter().any(empty);
        if !self.canonical {
            self.labels.sort_by(|a, b| name_of(bytes, a).cmp(name_of(bytes, b)));
            if self
                .labels
                .windows(2)
                .any(|pair| matches!(pair, [a, b] if name_of(bytes, a) == name_of(bytes, b)))
            {
                return None;
            }
            // An empty value is that of a label that is not there.
            self.labels.retain(|span| !empty(span));
        }
        (self.metric_bytes > 0 || !self.labels.is_empty()).then_some(())
    }

    /// `name="value"`; the offset behind it.
    fn label(&mut self, bytes: &[u8], start: usize) -> Option<usize> {
        let end = word_end(bytes, start);
        let name = bytes.get(start..end).filter(|name| !name.is_empty())?;
        // The metric's own place is before the brace.
        if name == b"__name__" {
            return None;
        }
        let mut at = self.space(bytes, end);
        if *bytes.get(at)? != b'=' {
            return None;
        }
        at = self.space(bytes, at + 1);
        if *bytes.get(at)? != b'"' {
            return None;
        }
        at += 1;
        let from = at;
        let mut escaped = false;
        loop {
            match *bytes.get(at)? {
                b'"' => break,
                b'\\' if matches!(bytes.get(at + 1)?, b'\\' | b'"' | b'n') => {
                    escaped = true;
                    at += 2;
                }
                b'\\' => return None,
                byte => {
                    self.canonical &= byte != b'\n';
                    at += 1;
                }
            }
        }
        self.labels.push(Span { name: (start, end), value: (from, at), escaped });
        Some(at + 1)
    }

    fn space(&mut self, bytes: &[u8], at: usize) -> usize {
        let spaces = bytes.iter().skip(at).take_while(|byte| is_space(**byte)).count();
        self.canonical &= spaces == 0;
        at + spaces
    }

    /// The metric of the text parsed last, all of it if it is no name.
    #[must_use]
    pub fn metric<'a>(&self, text: &'a str) -> &'a str {
        text.get(..self.metric_bytes).unwrap_or(text)
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
    pub fn label_at<'a>(&self, text: &'a str, index: usize) -> Option<(&'a str, Cow<'a, str>)> {
        let span = self.labels.get(index)?;
        let name = text.get(span.name.0..span.name.1)?;
        let raw = text.get(span.value.0..span.value.1)?;
        Some((name, if span.escaped { Cow::Owned(unescaped(raw)) } else { Cow::Borrowed(raw) }))
    }

    /// The canonical form of `text`: labels by rising name, without spaces and empty values. What
    /// is no name stays as it is.
    pub fn canonical<'a>(&'a mut self, text: &'a str) -> &'a str {
        if !text.as_bytes().contains(&b'{') || !self.parse(text) || self.canonical {
            return text;
        }
        self.text.clear();
        self.text.push_str(text.get(..self.metric_bytes).unwrap_or_default());
        for (number, span) in self.labels.iter().enumerate() {
            self.text.push(if number == 0 { '{' } else { ',' });
            self.text.push_str(text.get(span.name.0..span.name.1).unwrap_or_default());
            self.text.push_str("=\"");
            for part in
                text.get(span.value.0..span.value.1).unwrap_or_default().split_inclusive('\n')
            {
                self.text.push_str(part.strip_suffix('\n').unwrap_or(part));
                if part.ends_with('\n') {
                    self.text.push_str("\\n");
                }
            }
            self.text.push('"');
        }
        if !self.labels.is_empty() {
            self.text.push('}');
        }
        &self.text
    }
}

fn name_of<'a>(bytes: &'a [u8], span: &Span) -> &'a [u8] {
    bytes.get(span.name.0..span.name.1).unwrap_or(&[])
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

#[cfg(test)]
mod tests;
