//! Records of text that may go on over several lines, because a text in quotes holds line breaks.
//!
//! A line whose quotes are open is kept until a later one closes them. If none does so within the
//! limit, or what comes out is no record, then a quote was forgotten: the first line is refused by
//! itself and each of the others counts by itself. Of these the last alone, which had a quote, is looked at as
//! the begin of another record of several lines, so that every byte is read a bounded number of times.
//!
//! Invariant: any cutting of the input gives the same records, memory stays below a few lines, time
//! is linear. Held by `any_cutting_gives_the_same_items` of the parsers and
//! `csv::tests::a_forgotten_quote_costs_its_line_alone`.

use crate::lines::LineCutter;

/// What a record may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attempt {
    /// A line that may go on.
    First,
    /// Several lines; nothing is handed on unless they are a record.
    Joined,
    /// A line that does not go on.
    Alone,
}

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It was handed on, be it as an error.
    Done,
    /// It is no record, since quotes are open or misplaced, and nothing was handed on.
    Open,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Records {
    lines: LineCutter,
    joining: Joining,
}

#[derive(Debug)]
struct Joining {
    limit_bytes: usize,
    /// Whether quotes that are open before a line are closed behind it.
    closes: fn(&[u8]) -> bool,
    /// Lines of a record whose quotes are open; empty: none.
    open: Vec<u8>,
    /// The number of the first.
    first: u64,
}

impl Joining {
    fn line(
        &mut self,
        number: u64,
        line: Option<&[u8]>,
        each: &mut impl FnMut(u64, Option<&[u8]>, Attempt) -> Verdict,
    ) {
        if self.open.is_empty() {
            if each(number, line, Attempt::First) == Verdict::Open {
                self.open.extend_from_slice(line.unwrap_or_default());
                self.first = number;
            }
            return;
        }
        let Some(line) = line.filter(|line| self.open.len() + line.len() < self.limit_bytes) else {
            self.apart(each, Attempt::Alone);
            each(number, line, Attempt::Alone);
            return;
        };
        self.open.push(b'\n');
        self.open.extend_from_slice(line);
        if (self.closes)(line) {
            if each(self.first, Some(&self.open), Attempt::Joined) == Verdict::Open {
                self.apart(each, Attempt::First);
            } else {
                self.open.clear();
            }
        }
    }

    /// Hands on each line by itself. The `last` may be the begin of another record: it had a quote that did not
    /// close the first.
    fn apart(
        &mut self,
        each: &mut impl FnMut(u64, Option<&[u8]>, Attempt) -> Verdict,
        last: Attempt,
    ) {
        let open = std::mem::take(&mut self.open);
        let mut lines = (self.first..).zip(open.split(|byte| *byte == b'\n')).peekable();
        while let Some((number, line)) = lines.next() {
            let attempt = if lines.peek().is_none() { last } else { Attempt::Alone };
            if each(number, Some(line), attempt) == Verdict::Open {
                self.open.extend_from_slice(line);
                self.first = number;
            }
        }
    }
}

impl Records {
    pub(crate) fn new(limit_bytes: usize, closes: fn(&[u8]) -> bool) -> Self {
        let joining = Joining { limit_bytes, closes, open: Vec::new(), first: 0 };
        Records { lines: LineCutter::new(limit_bytes), joining }
    }

    #[cfg(test)]
    pub(crate) fn pending_bytes(&self) -> usize {
        self.lines.pending_bytes().max(self.joining.open.len())
    }

    /// Hands each record that `bytes` complete to `each`, with the number of its first line; `None`
    /// for a line that is too long.
    pub(crate) fn feed(
        &mut self,
        bytes: &[u8],
        mut each: impl FnMut(u64, Option<&[u8]>, Attempt) -> Verdict,
    ) {
        let Records { lines, joining } = self;
        lines.feed(bytes, |number, line| joining.line(number, line, &mut each));
    }

    /// Ends the input: a last line without newline counts. Starts anew at line 1.
    pub(crate) fn finish(&mut self, mut each: impl FnMut(u64, Option<&[u8]>, Attempt) -> Verdict) {
        let Records { lines, joining } = self;
        lines.finish(|number, line| joining.line(number, line, &mut each));
        if !joining.open.is_empty() {
            joining.apart(&mut each, Attempt::Alone);
        }
    }
}
