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
//! A live input may have no end for months, so who reads it says when it was waited for long enough
//! ([`Records::judge`]): then the same is asked of what is there. It is asked again of each line behind
//! that, since so few lines may mislead: once nine of ten are rows, of all or of the newest
//! [`NEWEST`], reading goes on. So a long text does not cost many times its lines of rows.
//!
//! Invariant: any cutting of the input gives the same records, memory stays below a few lines, time
//! is linear. Held by `any_cutting_gives_the_same_items` of the parsers,
//! `csv::tests::a_forgotten_quote_costs_its_line_alone`,
//! `csv::tests::lines_of_a_text_that_is_too_long_or_cut_off_are_no_rows` and
//! `csv::tests::a_live_text_is_judged_when_its_time_is_over`.

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
    /// A line behind one whose quotes no line closes: whether it is a row is asked; nothing is handed on.
    Behind,
    /// The last line of a text of which nothing is read, from this line on.
    Unread {
        /// The first line.
        from: u64,
    },
}

/// So many lines of a live input are enough to tell rows from a text.
const NEWEST: u32 = 32;

/// Lines behind one whose quotes are open, blank ones aside.
#[derive(Debug, Clone, Copy, Default)]
struct Behind {
    all: u64,
    rows: u64,
    /// Whether each of the newest was a row: the lowest bit is the last.
    newest: u32,
}

impl Behind {
    /// Counts one more. `each` says whether it is a row.
    fn add(
        &mut self,
        number: u64,
        line: &[u8],
        each: &mut impl FnMut(u64, Option<&[u8]>, Attempt) -> Verdict,
    ) {
        if line.trim_ascii().is_empty() {
            return;
        }
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let is_row = each(number, Some(line), Attempt::Behind) == Verdict::Done;
        self.all += 1;
        self.rows += u64::from(is_row);
        self.newest = (self.newest << 1) | u32::from(is_row);
    }

    /// Whether nearly all are rows, so that nobody would take them for one text of a row.
    fn are_rows(self) -> bool {
        self.rows * 10 >= self.all * 9
    }

    /// The same of the newest alone.
    fn newest_are_rows(self) -> bool {
        self.all >= u64::from(NEWEST) && self.newest.count_ones() * 10 >= NEWEST * 9
    }
}

/// What a parser of a live input holds back, and what it passes over.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Held {
    /// Lines that have ended.
    pub ended: u64,
    /// The line in which a text in quotes has begun that no line has closed: it and those behind it wait.
    pub open: Option<u64>,
    /// The first line of a text of which nothing is read, up to the line that closes it.
    pub unread: Option<u64>,
}

impl Held {
    /// Whether whole lines wait behind the one whose text is open.
    #[must_use]
    pub fn waits(&self) -> bool {
        self.open.is_some_and(|first| first < self.ended)
    }

    /// The line from which on not all was handed on: that in which the text has begun.
    #[must_use]
    pub fn first(&self) -> Option<u64> {
        self.open.or(self.unread.map(|from| from - 1))
    }
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
    /// The input is live: lines that are not read are counted, and read again once they are rows.
    live: bool,
    behind: Behind,
}

impl Joining {
    fn line(
        &mut self,
        number: u64,
        line: Option<&[u8]>,
        each: &mut impl FnMut(u64, Option<&[u8]>, Attempt) -> Verdict,
    ) {
        let before = self.last;
        self.last = if line.is_some_and(<[u8]>::is_empty) { before } else { number };
        if self.unread.is_some() {
            // Of a line that is too long itself it is not known.
            if line.is_some_and(self.closes) {
                self.tell_unread(each);
                return;
            }
            if !self.live || !line.is_some_and(|line| self.are_rows_with(number, line, each)) {
                return;
            }
            let last = std::mem::replace(&mut self.last, before);
            self.tell_unread(each);
            self.last = last;
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

    /// Whether nine of ten lines of a text of which none is read are rows with this one, of all or lately.
    fn are_rows_with(
        &mut self,
        number: u64,
        line: &[u8],
        each: &mut impl FnMut(u64, Option<&[u8]>, Attempt) -> Verdict,
    ) -> bool {
        let rows = self.behind.rows;
        self.behind.add(number, line, each);
        let behind = self.behind;
        behind.rows > rows && (behind.are_rows() || behind.newest_are_rows())
    }

    /// No line closes what is open: hands on the first line by itself, and the others if they are rows, which
    /// is returned.
    fn end(&mut self, each: &mut impl FnMut(u64, Option<&[u8]>, Attempt) -> Verdict) -> bool {
        let begin = self.open.iter().position(|byte| *byte == b'\n');
        self.behind = Behind::default();
        if let Some(lines) = begin.and_then(|end| self.open.get(end + 1..)) {
            for (number, line) in (self.first + 1..).zip(lines.split(|byte| *byte == b'\n')) {
                self.behind.add(number, line, each);
            }
        }
        let rows = self.behind.are_rows();
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
        let joining = Joining {
            limit_bytes,
            closes,
            open: Vec::new(),
            first: 0,
            unread: None,
            last: 0,
            live: false,
            behind: Behind::default(),
        };
        Records { lines: LineCutter::new(limit_bytes), joining }
    }

    /// The same of an input that is read while it is written.
    pub(crate) fn live(limit_bytes: usize, closes: fn(&[u8]) -> bool) -> Self {
        let mut records = Self::new(limit_bytes, closes);
        records.joining.live = true;
        records
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

    pub(crate) fn held(&self) -> Held {
        let Joining { open, first, unread, .. } = &self.joining;
        let open = (!open.is_empty()).then_some(*first);
        Held { ended: self.lines.ended(), open, unread: *unread }
    }

    /// No longer waits for the line that closes what is open, if lines behind it say what it is.
    pub(crate) fn judge(&mut self, mut each: impl FnMut(u64, Option<&[u8]>, Attempt) -> Verdict) {
        let begin = self.joining.open.iter().position(|byte| *byte == b'\n');
        let behind = begin.and_then(|end| self.joining.open.get(end..)).unwrap_or_default();
        // Blank lines say nothing.
        if !behind.trim_ascii().is_empty() {
            self.joining.end(&mut each);
        }
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
