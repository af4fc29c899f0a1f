//! Records of text that may go on over several lines, because a text in quotes holds line breaks.
//!
//! A line whose quotes are open is kept until a later one closes them. If what comes out is no record, then
//! a quote was forgotten: the first line is refused by itself and each of the others counts by itself. Of
//! these the last alone, which had a quote, is looked at as the begin of another record of several lines, so
//! that every byte is read a bounded number of times.
//!
//! If no line closes them within the limit, or before the end, then either a quote was forgotten or the
//! text is too long or cut off. Where nine of ten lines behind the first are rows, a quote was forgotten.
//! Else they are lines of the text: none of them is read, up to the one that closes it.
//!
//! Invariant: any cutting of the input gives the same records, memory stays below a few lines, time
//! is linear. Held by `any_cutting_gives_the_same_items` of the parsers,
//! `csv::tests::a_forgotten_quote_costs_its_line_alone` and
//! `csv::tests::lines_of_a_text_that_is_too_long_or_cut_off_are_no_rows`.

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
    /// Lines behind one whose quotes no line closes: whether they are rows ([`mostly`]) is asked; nothing is
    /// handed on.
    Behind,
    /// The last line of a text of which nothing is read, from this line on.
    Unread {
        /// The first line.
        from: u64,
    },
}

/// Whether nearly all lines of `text` are rows, so that nobody would take it for one text of a row. Blank
/// lines do not count.
pub(crate) fn mostly(text: &[u8], mut is_row: impl FnMut(&[u8]) -> bool) -> Verdict {
    let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    let (mut all, mut rows) = (0_usize, 0_usize);
    for line in lines {
        all += 1;
        rows += usize::from(is_row(line.strip_suffix(b"\r").unwrap_or(line)));
    }
    if rows * 10 >= all * 9 { Verdict::Done } else { Verdict::Open }
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
    /// From this line on these are lines of a text that is too long: none is read until it is closed.
    unread: Option<u64>,
    /// The number of the last line.
    last: u64,
}

impl Joining {
    fn line(
        &mut self,
        number: u64,
        line: Option<&[u8]>,
        each: &mut impl FnMut(u64, Option<&[u8]>, Attempt) -> Verdict,
    ) {
        self.last = if line.is_some_and(<[u8]>::is_empty) { self.last } else { number };
        if self.unread.is_some() {
            // Of a line that is too long itself it is not known.
            if line.is_some_and(self.closes) {
                self.tell_unread(each);
            }
            return;
        }
        if self.open.is_empty() {
            if each(number, line, Attempt::First) == Verdict::Open {
                self.open.extend_from_slice(line.unwrap_or_default());
                self.first = number;
            }
            return;
        }
        let fits = |line: &&[u8]| self.open.len() + line.len() < self.limit_bytes;
        let Some(fitting) = line.filter(fits) else {
            if self.end(each) {
                each(number, line, Attempt::Alone);
            } else if line.is_some_and(self.closes) {
                self.tell_unread(each);
            }
            return;
        };
        self.open.push(b'\n');
        self.open.extend_from_slice(fitting);
        if (self.closes)(fitting) {
            if each(self.first, Some(&self.open), Attempt::Joined) == Verdict::Open {
                self.apart(each, Attempt::First);
            } else {
                self.open.clear();
            }
        }
    }

    /// Says which lines were not read.
    fn tell_unread(&mut self, each: &mut impl FnMut(u64, Option<&[u8]>, Attempt) -> Verdict) {
        if let Some(from) = self.unread.take() {
            each(self.last, None, Attempt::Unread { from });
        }
    }

    /// No line closes what is open: hands on the first line by itself, and the others if they are rows, which
    /// is returned.
    fn end(&mut self, each: &mut impl FnMut(u64, Option<&[u8]>, Attempt) -> Verdict) -> bool {
        let begin = self.open.iter().position(|byte| *byte == b'\n');
        let behind = begin.and_then(|end| self.open.get(end + 1..));
        let rows = behind.is_none_or(|behind| {
            each(self.first + 1, Some(behind), Attempt::Behind) == Verdict::Done
        });
        if !rows {
            self.open.truncate(begin.unwrap_or(self.open.len()));
            self.unread = Some(self.first + 1);
        }
        self.apart(each, Attempt::Alone);
        rows
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
        let joining =
            Joining { limit_bytes, closes, open: Vec::new(), first: 0, unread: None, last: 0 };
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
            joining.end(&mut each);
        }
        joining.tell_unread(&mut each);
    }
}
