//! Lines of CSV, from bytes that come in any pieces.
//!
//! What a shell script can print is the lowest door into a store, so the parser is forgiving
//! about form (quotes, blanks, CRLF, comments, headers) and strict about content: a line that is
//! not understood gives one error with its place and is skipped, never guessed. The caller owns
//! the input and the clock; a piece goes in, samples come out at once, and only a line that is cut
//! by the end of a piece, or a text with line breaks, is copied.
//!
//! Without a header, and with the header `time,series,value`, lines are that, and may have the type of the
//! value behind it (`f64`, `i64`, `u64`, `bool`, `text`), as `baro query` and `baro cat` write it. Any other header with a
//! column for the time says what the columns are: wide or long, in any order, with
//! `,` `;` or a tab between them. A header may stand wherever it likes (files get concatenated), and the rows
//! behind one that is refused are refused up to the next. Without one a name that is a number is refused: that is a file of values without names.
//!
//! What InfluxDB 2 answers with, annotated CSV (`annotated`), is known by its first line.
//!
//! Time: [`Times`]; nothing means now, and is `None` here. Value: `12` is an integer, `12.0`, `1e3`,
//! `nan` and `inf` are floats, `true` and `false` truth values, others are texts and stand in quotes.
//! Any field may be in quotes, and then holds separators, line breaks, and quotes written twice; so a
//! number in quotes is a number unless the series is of texts or the type is said. A name or text behind
//! a `'` that keeps it from being a formula in a spreadsheet, as an export writes it, is read without it;
//! where other such names have none, the second kind is refused.
//! Blanks around a field do not count, but for a text without quotes: they belong to it. Blank lines and lines that start with `#` are skipped, and so is
//! a byte order mark at the very beginning.
//!
//! Invariant: any bytes, cut anywhere, give the same items as fed at once, and memory stays below
//! a few [`LINE_BYTES_MAX`]. Held by `tests::any_cutting_gives_the_same_items`.

mod annotated;
mod columns;
mod error;
mod fields;
mod guards;
mod hardly;
mod hash;
mod header;
mod moment;
mod plain_row;

use crate::form::{Kind, TextForm};
use crate::lines::{self, Unreadable, quote};
use crate::records::{Attempt, Held, Records, Verdict};
use crate::sample::Sample;
use crate::time::{TimeFault, Times};
use annotated::Annotated;
use columns::Columns;
use fields::{Fault, Field, Quotes, Values, field, quotes, split};
use guards::Guards;
use hardly::is_hardly_a_name;
pub(crate) use hardly::is_value;
use header::Header;
pub(crate) use header::{VALUE_TYPE, is_name, is_value_name, time_unit_ns, what_is};
use plain_row::plain_row;
use std::borrow::Cow;

pub use error::{CsvError, CsvProblem};

/// Reads a time as [`CsvParser`] does: an integer is nanoseconds since the Unix epoch, a number
/// with a point is seconds, else RFC 3339. `None` if it is none of these or does not exist.
#[must_use]
pub fn parse_time(text: &str) -> Option<i64> {
    Times::default().read(text).ok()
}

/// Whether a text that begins so is annotated CSV, by its first line.
#[must_use]
pub fn is_annotated(begin: &str) -> bool {
    let begin = begin.strip_prefix('\u{feff}').unwrap_or(begin);
    let first = begin.lines().find(|line| !line.trim().is_empty());
    first
        .is_some_and(|line| annotated::is_annotation(line.as_bytes()) || annotated::is_header(line))
}

/// Whether a text is a time, with a zone or without.
fn is_time(text: &str) -> bool {
    let read = Times::default().in_zone(crate::Zone::Ahead(0)).read(text);
    matches!(read, Ok(_) | Err(TimeFault::Finer | TimeFault::LeapSecond))
}

/// The longest line, without its newline, and the longest record of several: 256 KiB, which a text of
/// 64 KiB fits whatever is in it. A longer one is one error and is skipped, so that a binary file fed by
/// mistake does not fill the memory.
pub const LINE_BYTES_MAX: usize = 256 << 10;

/// Turns bytes into samples.
#[derive(Debug)]
pub struct CsvParser {
    records: Records,
    reader: Reader,
}

impl Default for CsvParser {
    fn default() -> Self {
        Self::of(TextForm::default())
    }
}

/// An odd number of quotes closes what is open.
pub(crate) fn closes(line: &[u8]) -> bool {
    line.iter().filter(|byte| **byte == b'"').count() % 2 == 1
}

impl CsvParser {
    /// A parser at line 1.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A parser at line 1 of an input of which something is said.
    #[must_use]
    pub fn of(form: TextForm) -> Self {
        CsvParser { records: Records::new(LINE_BYTES_MAX, closes), reader: Reader::of(form) }
    }

    /// A parser of an input that is read while it is written, so that [`CsvParser::judge`] may be asked.
    #[must_use]
    pub fn live(form: TextForm) -> Self {
        CsvParser { records: Records::live(LINE_BYTES_MAX, closes), reader: Reader::of(form) }
    }

    /// A parser of several inputs, one after the other, whose names go to the same place: each has its own
    /// lines and its own form, but where a `'` keeps a name from being a formula in one, it does in all.
    #[must_use]
    pub fn of_several(form: TextForm) -> Self {
        let mut parser = Self::of(form);
        parser.reader.several = true;
        parser
    }

    /// What waits for a line that closes a text, and what is not read.
    #[must_use]
    pub fn held(&self) -> Held {
        self.records.held()
    }

    /// No longer waits for the line that closes a text: what waits is judged as at the end.
    pub fn judge(&mut self, mut item: impl FnMut(Result<Sample<'_>, CsvError>)) {
        let CsvParser { records, reader } = self;
        records.judge(|number, line, attempt| reader.line(number, line, attempt, &mut item));
    }

    /// Takes the next bytes and hands each sample or error they complete to `item`, in the order
    /// of the lines.
    pub fn feed(&mut self, bytes: &[u8], mut item: impl FnMut(Result<Sample<'_>, CsvError>)) {
        let CsvParser { records, reader } = self;
        records.feed(bytes, |number, line, attempt| reader.line(number, line, attempt, &mut item));
    }

    /// Ends the input: a last line without newline counts. The parser starts anew at line 1.
    pub fn finish(&mut self, mut item: impl FnMut(Result<Sample<'_>, CsvError>)) {
        let CsvParser { records, reader } = self;
        records.finish(|number, line, attempt| reader.line(number, line, attempt, &mut item));
        (reader.state, reader.ended, reader.bare) = (State::Unknown, false, false);
        reader.hashed = None;
        match reader.several {
            true => reader.guards.begin(),
            false => reader.guards = Guards::default(),
        }
    }
}

const TWO_LINES: &str = "expected a row behind the names of columns, found another line of names or units; \
                         which of both names the columns is not known: take one out";
const UNKNOWN_NAMES: &str = "expected a row, found what may be names of other columns, and none of them is that \
                             of a time: take the line out, or import what is behind it by itself, and say \
                             which column is the time: --columns NAME=time";

/// Bytes of a time that a line of a text hardly ever begins with by chance.
const TIME_BYTES: usize = 8;

/// What Excel writes first of all: `sep=;`. The header shows it too.
fn is_separator(content: &[u8]) -> bool {
    matches!(
        content.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\"")).unwrap_or(content),
        b"sep=;" | b"sep=," | b"sep=\t"
    )
}

fn too_long(line: u64) -> CsvError {
    let problem = CsvProblem::LineTooLong { limit_bytes: LINE_BYTES_MAX };
    CsvError { line, column: LINE_BYTES_MAX + 1, problem, unknown_form: false }
}

/// What the lines are known to be.
#[derive(Debug)]
enum State {
    /// Nothing was understood yet.
    Unknown,
    /// `time,series,value`, with that header or without.
    Rows { header: bool },
    /// What a header says.
    Columns(Box<Columns>),
    /// Tables that say what their columns are.
    Annotated(Box<Annotated>),
    /// The header in this line was refused: of the rows behind it is not known what they are.
    Refused { header: u64, separator: char },
}

/// What lines mean.
#[derive(Debug)]
pub(crate) struct Reader {
    form: TextForm,
    state: State,
    /// Nothing more of the input can be read.
    ended: bool,
    /// The last line was a header.
    bare: bool,
    guards: Guards,
    /// See [`CsvParser::of_several`].
    several: bool,
    /// A comment that names columns, before anything was understood, and how many.
    hashed: Option<(u64, usize)>,
    /// See [`Times::check_form`].
    early: Option<bool>,
}

impl Reader {
    pub(crate) fn of(form: TextForm) -> Self {
        let (state, guards) = (State::Unknown, Guards::default());
        Reader {
            form,
            state,
            ended: false,
            bare: false,
            guards,
            several: false,
            hashed: None,
            early: None,
        }
    }

    /// `None`: the line was too long.
    pub(crate) fn line(
        &mut self,
        number: u64,
        bytes: Option<&[u8]>,
        attempt: Attempt,
        item: &mut impl FnMut(Result<Sample<'_>, CsvError>),
    ) -> Verdict {
        if self.ended {
            return Verdict::Done;
        }
        match attempt {
            Attempt::Behind => {
                let is_row = self.is_row(bytes.unwrap_or_default());
                return if is_row { Verdict::Done } else { Verdict::Open };
            }
            Attempt::Unread { from } => {
                let problem = CsvProblem::Unread { from };
                item(Err(CsvError { line: number, column: 1, problem, unknown_form: false }));
                return Verdict::Done;
            }
            Attempt::First | Attempt::Joined | Attempt::Alone => {}
        }
        let Some(bytes) = bytes else {
            item(Err(too_long(number)));
            return Verdict::Done;
        };
        let unknown = matches!(self.state, State::Unknown);
        let fault = |mark_bytes, fault: Fault| CsvError {
            line: number,
            column: mark_bytes + fault.offset + 1,
            unknown_form: unknown && fault.problem.is_of_form(),
            problem: fault.problem,
        };
        let Ok((mut content, mut mark_bytes)) = lines::content(number, bytes) else {
            self.ended = true;
            item(Err(fault(0, Fault { offset: 0, problem: CsvProblem::Utf16 })));
            return Verdict::Done;
        };
        if let (State::Rows { header }, Attempt::First) = (&self.state, attempt)
            && self.form.columns.is_empty()
            && !self.form.decimal_comma
            && let Some(sample) = plain_row(number, content, *header, &self.form.times)
        {
            self.bare = false;
            item(Ok(sample));
            return Verdict::Done;
        }
        // Of a file that was put behind another one.
        if let Some(rest) = content.strip_prefix("\u{feff}".as_bytes())
            && number > 1
            && !self.is_row(content)
        {
            (content, mark_bytes) = (rest, content.len() - rest.len());
        }
        let first = content.iter().find(|byte| !matches!(byte, b' ' | b'\t'));
        let may_be = !matches!(self.state, State::Columns(_) | State::Rows { .. });
        let annotation = may_be && annotated::is_annotation(content);
        if let State::Annotated(tables) = &mut self.state
            && first.is_none()
        {
            tables.blank();
        }
        let comments = match &self.state {
            State::Columns(columns) => columns.has_comments(),
            _ => !annotation,
        };
        let is_comment = first == Some(&b'#') && comments && !hash::is_cell(content);
        if is_comment && let Some(found) = self.comment(number, content) {
            self.ended = true;
            item(Err(fault(mark_bytes, found)));
        }
        if first.is_none() || is_comment || number == 1 && is_separator(content) {
            return Verdict::Done;
        }
        let separator = match &self.state {
            State::Columns(columns) => columns.separator(),
            State::Refused { separator, .. } => *separator,
            State::Unknown | State::Rows { .. } | State::Annotated(_) => ',',
        };
        let read = match lines::utf8(content) {
            // Each by itself: those that have the quotes are refused.
            Ok(text) if attempt == Attempt::Joined && self.are_rows(text, separator) => {
                return Verdict::Open;
            }
            Ok(text) => self.text(number, text, item),
            Err(Unreadable::NotUtf8 { offset }) => {
                Err(Fault { offset, problem: CsvProblem::NotUtf8 })
            }
            Err(Unreadable::Utf16) => Err(Fault { offset: 0, problem: CsvProblem::Utf16 }),
        };
        match read {
            Ok(()) => Verdict::Done,
            Err(found) if found.is_open(attempt, content, separator) => Verdict::Open,
            Err(found) => {
                let is_header = matches!(found.problem, CsvProblem::Header { .. });
                if is_header && !matches!(self.state, State::Annotated(_)) {
                    let separator = header::separator_of(&String::from_utf8_lossy(content));
                    self.state = State::Refused { header: number, separator };
                }
                item(Err(fault(mark_bytes, found)));
                Verdict::Done
            }
        }
    }

    /// Takes note of a comment; why nothing of such an input can be read.
    fn comment(&mut self, number: u64, content: &[u8]) -> Option<Fault> {
        let text = lines::utf8(content).ok().filter(|_| matches!(self.state, State::Unknown))?;
        if hash::is_for_writing(text) {
            return Some(header::refused(0, hash::FOR_WRITING.into()));
        }
        self.hashed = hash::names(text, &self.form).map(|count| (number, count)).or(self.hashed);
        None
    }

    /// Whether each line of a record of several is a row: a quote that stands alone has opened a text, and
    /// another one has closed it. Not where something says that a text is meant.
    fn are_rows(&self, text: &str, separator: char) -> bool {
        if !matches!(quotes(text, separator), Quotes::Closed { misplaced: None }) {
            return false;
        }
        let (count, time) = match &self.state {
            State::Columns(columns) if columns.say_texts() => return false,
            State::Columns(columns) => (columns.count(), columns.time()),
            State::Unknown | State::Rows { .. } => (3, 0),
            State::Annotated(_) | State::Refused { .. } => return false,
        };
        text.split('\n').all(|line| {
            let cells: Vec<&str> = line.split(separator).collect();
            // A text may have numbers of its lines.
            let is_row =
                |time: &&str| time.len() >= TIME_BYTES && is_time(time.trim().trim_matches('"'));
            cells.len() == count && cells.get(time).is_some_and(is_row)
        })
    }

    /// Whether a line would be taken as a row; nothing comes of it.
    pub(crate) fn is_row(&mut self, content: &[u8]) -> bool {
        let Ok(text) = lines::utf8(content) else { return false };
        let guards = &mut self.guards.clone();
        match &mut self.state {
            State::Columns(columns) => columns.is_row(text, guards),
            State::Annotated(tables) => tables.is_row(text, &self.form.times),
            State::Refused { .. } => false,
            State::Unknown if !self.form.columns.is_empty() => false,
            State::Unknown | State::Rows { .. } => {
                let named = matches!(self.state, State::Rows { header: true });
                let early = &mut { self.early };
                matches!(parse_row(1, text, named, &self.form, (guards, early)), Ok(Some(_)))
            }
        }
    }

    fn text(
        &mut self,
        line: u64,
        text: &str,
        item: &mut impl FnMut(Result<Sample<'_>, CsvError>),
    ) -> Result<(), Fault> {
        // Until a row is taken: an empty line, or one that is refused, makes no difference.
        let bare = self.bare;
        if let State::Unknown | State::Refused { .. } = self.state
            && (annotated::is_annotation(text.as_bytes()) || annotated::is_header(text))
        {
            self.no_columns("annotated CSV, which says itself what its columns are")?;
            self.state = State::Annotated(Box::default());
        }
        if let State::Annotated(tables) = &mut self.state {
            if annotated::is_annotation(text.as_bytes()) {
                return tables.annotation(text);
            }
            return tables.line(line, text, &self.form.times, &mut |sample| item(Ok(sample)));
        }
        if let State::Columns(columns) = &mut self.state {
            if columns.is_same(text) {
                return self.again(bare);
            }
            let mut taken = false;
            let mut take = |sample: Sample<'_>| {
                taken = true;
                item(Ok(sample));
            };
            let Err(fault) = columns.row(line, text, &mut self.guards, &mut take) else {
                self.bare &= !taken;
                return Ok(());
            };
            // Files get put together: another header says what comes behind it.
            if columns.is_header(text)
                && let Some(state) = self.header(text)?
            {
                return self.become_other(state, bare);
            }
            // Who reads a file can mend it and read it again; of a stream a broken row costs no others.
            let sure = !self.several;
            let names = match &self.state {
                State::Columns(columns) if !bare => columns.are_names(text, sure),
                _ => false,
            };
            return Err(if names { header::refused(0, UNKNOWN_NAMES.into()) } else { fault });
        }
        if let State::Refused { header, .. } = self.state {
            let problem = CsvProblem::Columns { header };
            let state = self.header(text)?.ok_or(Fault { offset: 0, problem })?;
            (self.state, self.bare) = (state, true);
            return Ok(());
        }
        // Columns that are spoken of need a header that names them.
        if !self.form.columns.is_empty() {
            match self.header(text)? {
                Some(state) => (self.state, self.bare) = (state, true),
                None => self.no_columns("a line without names of columns")?,
            }
            return Ok(());
        }
        if let State::Unknown = self.state
            && self.several
            && is_of_r(text)
            && let Some(state) = self.header(text)?
        {
            (self.state, self.bare) = (state, true);
            return Ok(());
        }
        let named = matches!(self.state, State::Rows { header: true });
        match parse_row(line, text, named, &self.form, (&mut self.guards, &mut self.early)) {
            Ok(Some(sample)) => {
                if let State::Unknown = self.state {
                    self.is_named_so(text)?;
                    self.state = State::Rows { header: false };
                }
                self.bare = false;
                item(Ok(sample));
            }
            Ok(None) if named => return self.again(bare),
            Ok(None) => (self.state, self.bare) = (State::Rows { header: true }, true),
            Err(fault) if matches!(fault.problem, CsvProblem::QuoteOpen) => return Err(fault),
            Err(fault) => match self.header(text)? {
                Some(state) => self.become_other(state, bare)?,
                None => return Err(fault),
            },
        }
        Ok(())
    }

    /// Whether rows without a header may be of time, series and value: not where a comment names as many
    /// columns otherwise.
    fn is_named_so(&self, text: &str) -> Result<(), Fault> {
        let Some((line, count)) = self.hashed else { return Ok(()) };
        if !split(text, ',').is_ok_and(|fields| fields.len() == count) {
            return Ok(());
        }
        let said = format!(
            "expected rows of time,series,value, found a comment in line {line} that names other columns: \
             take its # away, or the line"
        );
        Err(header::refused(0, said))
    }

    /// A header says what comes behind it. Before there was a row, one of as many columns may as well be a line
    /// of units. In a stream, where the time is called as before, it is of a program that was started twice.
    fn become_other(&mut self, state: State, bare: bool) -> Result<(), Fault> {
        if let (State::Columns(other), true) = (&state, bare) {
            let refused = match &self.state {
                State::Columns(before) if before.has_names_of(other) => return self.again(bare),
                State::Columns(before) => {
                    before.count() == other.count()
                        && (self.several || before.time_name() != other.time_name())
                }
                _ => other.count() == 3,
            };
            if refused {
                return Err(header::refused(0, TWO_LINES.into()));
            }
        }
        (self.state, self.bare) = (state, true);
        Ok(())
    }

    /// Refuses what has no columns of which anything could be said, if something is.
    fn no_columns(&self, found: &str) -> Result<(), Fault> {
        let Some((name, _)) = self.form.columns.first() else { return Ok(()) };
        let said =
            format!("expected a column {:?}, which --columns names, found {found}", quote(name));
        Err(Fault { offset: 0, problem: CsvProblem::Header { said } })
    }

    /// The header once more: files get put together. Right behind itself it is a file of headers.
    fn again(&mut self, bare: bool) -> Result<(), Fault> {
        self.bare = true;
        if bare { Err(Fault { offset: 0, problem: CsvProblem::HeaderAgain }) } else { Ok(()) }
    }

    /// What a line says about those behind it, if it is a header.
    fn header(&self, text: &str) -> Result<Option<State>, Fault> {
        // Behind rows, understood or not, a line with a value is hardly a header.
        let rows = matches!(self.state, State::Rows { .. } | State::Refused { .. });
        let values = || text.split([',', ';', '\t']).any(|field| is_value(field.trim()));
        if rows && values() {
            return Ok(None);
        }
        Ok(header::header(text, &self.form)?.map(|found| match found {
            Header::Rows => State::Rows { header: true },
            Header::Columns(columns) => State::Columns(columns),
        }))
    }
}

/// Whether a line is names in quotes behind one that is empty, as R writes the header of a table with numbers
/// of rows. As a row it would be a text of now, which no file begins with, and a pipe or datagram may.
fn is_of_r(text: &str) -> bool {
    let is_name =
        |field: &Field<'_>| field.quoted && !is_value(&field.text) && !is_time(&field.text);
    text.starts_with("\"\",") && split(text, ',').is_ok_and(|fields| fields.iter().all(is_name))
}

/// The time that a field says; nothing is now.
fn time_of(
    field: &Field<'_>,
    times: &Times,
    values: &Values,
    early: &mut Option<bool>,
) -> Result<Option<i64>, Fault> {
    if field.text.is_empty() {
        return Ok(None);
    }
    let comma = if values.decimal_comma { field.text.split_once(',') } else { None };
    let read = match comma {
        Some((whole, part)) if !whole.contains('.') => times.read(&format!("{whole}.{part}")),
        _ => times.read(&field.text),
    };
    let read = read.and_then(|ns| times.check_form(&field.text, ns, early).map(|()| ns));
    read.map(Some).map_err(|fault| {
        let problem = CsvProblem::Time { found: quote(&field.text), fault };
        Fault { offset: field.offset, problem }
    })
}

/// The fourth field of a row, if it is the last: the type of the value, in quotes or not.
fn said_type(text: &str, start: usize) -> Option<Cow<'_, str>> {
    let said = field::<','>(text, start).ok()?;
    said.next.is_none().then_some(said.text)
}

/// `None` for the header; `header`: there was one.
fn parse_row<'a>(
    line: u64,
    text: &'a str,
    header: bool,
    form: &TextForm,
    (guards, early): (&mut Guards, &mut Option<bool>),
) -> Result<Option<Sample<'a>>, Fault> {
    let time = field::<','>(text, 0)?;
    let missing = |field| Fault { offset: text.len(), problem: CsvProblem::FieldMissing { field } };
    let series = field::<','>(text, time.next.ok_or_else(|| missing("series"))?)?;
    let value = field::<','>(text, series.next.ok_or_else(|| missing("value"))?)?;
    let names = (&*time.text, &*series.text, &*value.text) == ("time", "series", "value");
    let kind = match value.next {
        None => None,
        Some(extra) => {
            let said = said_type(text, extra).unwrap_or_default();
            match Kind::of_name(&said) {
                None if names && said == header::VALUE_TYPE => None,
                None => {
                    let found = quote(&text[extra..]);
                    return Err(Fault { offset: extra, problem: CsvProblem::FieldExtra { found } });
                }
                kind => kind,
            }
        }
    };
    if names {
        return Ok(None);
    }
    let values = Values { decimal_comma: form.decimal_comma };
    let time_ns = time_of(&time, &form.times, &values, early)?;
    if series.text.is_empty() {
        return Err(Fault { offset: series.offset, problem: CsvProblem::SeriesEmpty });
    }
    // Where all is in quotes they say nothing.
    let is_said = series.quoted && !(time.quoted && value.quoted);
    if !header && !is_said && is_hardly_a_name(&series.text) {
        let problem = CsvProblem::SeriesNumber { found: quote(&series.text) };
        return Err(Fault { offset: series.offset, problem });
    }
    let all_quoted = time.quoted && series.quoted;
    let offset = value.offset;
    let (value, mark) = values.read(value, kind, all_quoted)?;
    let value = guards.value(line, offset, value)?;
    let series = guards.name(line, series.offset, series.text)?;
    Ok(Some(Sample { line, time_ns, series, joint: None, value, mark }))
}

impl CsvProblem {
    /// Whether it speaks of the form of a line rather than of what stands in it.
    fn is_of_form(&self) -> bool {
        matches!(
            self,
            Self::Utf16
                | Self::FieldMissing { .. }
                | Self::FieldExtra { .. }
                | Self::Time { fault: TimeFault::Form, .. }
                | Self::Header { .. }
                | Self::SeriesNumber { .. }
        )
    }
}

impl Fault {
    /// Whether the lines behind a first one belong to it, be it as a text that is open. Of several lines,
    /// whether they are no record: a quote was forgotten if one is misplaced behind the first line.
    fn is_open(&self, attempt: Attempt, content: &[u8], separator: char) -> bool {
        let quotes = || quotes(&String::from_utf8_lossy(content), separator);
        let end = || content.iter().position(|byte| *byte == b'\n').unwrap_or(content.len());
        match attempt {
            Attempt::Alone | Attempt::Behind | Attempt::Unread { .. } => false,
            Attempt::First => quotes() == Quotes::Open,
            Attempt::Joined => match quotes() {
                Quotes::Open => true,
                Quotes::Closed { misplaced } => misplaced.is_some_and(|offset| offset > end()),
            },
        }
    }
}

#[cfg(test)]
mod tests;
