//! One page of the kernel's ring buffer, as `trace_pipe_raw` hands it out: times and events.
//!
//! A page begins with a time and the length of its data (`commit`). Each entry begins with a word:
//! five bits of kind or length, 27 bits of time since the entry before. The rules are those of
//! `kernel/trace/ring_buffer.c`, the same from 5.10 to 6.18:
//!
//! - `rb_update_event` writes an event: its length in words in the five bits, or, if these are 0,
//!   in bytes in the next word, which counts itself.
//! - `rb_event_discard` makes padding of an event that a filter refused; its length is in the next
//!   word. Its time counts for those behind it unless it is 1, as in `check_buffer` (6.12 on:
//!   `rb_read_data_buffer`): 1 is put where there was 0. Padding without time ends the page.
//! - A time extend adds 27 bits of its own and 32 more; a time stamp replaces 59 bits of the time,
//!   and `rb_fix_abs_ts` (5.19 on, 6695da58f944) says what becomes of the five bits above.
//! - `ring_buffer_read_page` puts `RB_MISSED_EVENTS` (bit 31) into `commit` of the first page after
//!   events that were overwritten, and, if there is room behind the data (`RB_MISSED_STORED`, bit
//!   30), how many. As `commit` is a C long and bit 31 was added as a negative int, all bits above
//!   may be set.
//!
//! Invariant: whatever the bytes, each entry ends inside the data, time never overflows, and after
//! an error nothing more is read. Held by `any_page_is_read_to_its_end_or_refused`.

#[cfg(test)]
mod tests;

use crate::error::{Error, Result};
use crate::format::{EventHeader, FieldFormat, PageHeader, Shape};

const MISSED_EVENTS: u32 = 1 << 31;
const MISSED_STORED: u32 = 1 << 30;
/// `TS_SHIFT`: bits of time in the word of an entry.
const TIME_BITS: u32 = 27;
/// `TS_MSB`: the bits that an absolute time stamp has no room for.
const TIME_STAMP_BITS: u32 = 59;
/// Bytes of a word.
const WORD: usize = 4;

/// How the pages of one kernel are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageLayout {
    page: PageHeader,
    event: EventHeader,
    id_offset_bytes: usize,
}

impl PageLayout {
    /// A layout from the kernel's headers; `common_type` is the field of that name, which all
    /// events of a kernel have at the same place.
    ///
    /// # Errors
    /// [`Error::Field`]: `common_type` is not a number of two bytes.
    pub fn new(page: PageHeader, event: EventHeader, common_type: &FieldFormat) -> Result<Self> {
        if common_type.size_bytes != 2 || common_type.shape != Shape::Plain {
            return Err(Error::Field {
                event: "all".to_owned(),
                field: common_type.name.clone(),
                expected: "two bytes",
                found: format!("{} {} bytes", common_type.type_name, common_type.size_bytes),
            });
        }
        Ok(Self { page, event, id_offset_bytes: common_type.offset_bytes as usize })
    }

    /// Length of a whole page in bytes.
    #[must_use]
    pub fn page_bytes(&self) -> usize {
        self.page.page_bytes()
    }

    /// How a page begins.
    #[must_use]
    pub fn header(&self) -> PageHeader {
        self.page
    }

    /// How much of `page` says something: what is behind it is filler. At most its length.
    #[must_use]
    pub fn used_bytes(&self, page: &[u8]) -> usize {
        used_bytes(&self.page, page)
    }
}

/// As [`PageLayout::used_bytes`], before any format of an event is known.
#[must_use]
pub fn used_bytes(header: &PageHeader, page: &[u8]) -> usize {
    let Ok((data_bytes, flags)) = commit(header, page) else { return page.len() };
    let stored = if flags & MISSED_STORED == 0 { 0 } else { header.commit_bytes };
    (header.data_offset_bytes + data_bytes + stored).min(page.len())
}

/// Events that were lost before a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Missed {
    /// How many, if there was room to say so.
    pub events: Option<u64>,
}

/// An event of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawEvent<'a> {
    /// When, in nanoseconds of the clock that the tracer used.
    pub time_ns: u64,
    /// Which, by the number in its format.
    pub id: u16,
    /// Its bytes, from `common_type` on; up to three of filler may follow.
    pub payload: &'a [u8],
    /// Where these begin in the page.
    pub offset_bytes: usize,
}

/// Where a reader is in a page. It does not hold the page, so that both can be kept side by side.
#[derive(Clone, Copy, Debug)]
pub struct PageCursor {
    layout: PageLayout,
    missed: Option<Missed>,
    offset: usize,
    end: usize,
    time_ns: u64,
}

impl PageCursor {
    /// The beginning of `page`. A page may be shorter than whole if only filler is missing.
    ///
    /// # Errors
    /// [`Error::Page`]: the page is too short for its header or its data, or too long.
    pub fn new(layout: &PageLayout, page: &[u8]) -> Result<Self> {
        let header = &layout.page;
        let (data_bytes, flags) = commit(header, page)?;
        let time_offset = header.timestamp_offset_bytes;
        let time = word(page, time_offset, 8);
        let time_ns = time.ok_or_else(|| short("timestamp", time_offset, page))?;
        let end = header.data_offset_bytes + data_bytes;
        let missed = match (flags & MISSED_EVENTS != 0, flags & MISSED_STORED != 0) {
            (false, false) => None,
            (false, true) => {
                return Err(Error::Page {
                    field: "commit",
                    offset_bytes: header.commit_offset_bytes,
                    expected: "RB_MISSED_EVENTS with RB_MISSED_STORED",
                    found: u64::from(flags),
                });
            }
            (true, false) => Some(Missed { events: None }),
            (true, true) => {
                let events = word(page, end, header.commit_bytes);
                Some(Missed { events: Some(events.ok_or_else(|| short("missed", end, page))?) })
            }
        };
        Ok(Self { layout: *layout, missed, offset: header.data_offset_bytes, end, time_ns })
    }

    /// What was lost before this page.
    #[must_use]
    pub fn missed(&self) -> Option<Missed> {
        self.missed
    }

    /// The time of the entry read last; of the page before the first.
    #[must_use]
    pub fn time_ns(&self) -> u64 {
        self.time_ns
    }

    /// The next event of `page`, which must be that of [`new`](Self::new). None at its end and
    /// after an error.
    ///
    /// # Errors
    /// [`Error::Page`]: an entry that does not end in the page, of an unknown kind, or with a time
    /// beyond 64 bits.
    pub fn next<'a>(&mut self, page: &'a [u8]) -> Result<Option<RawEvent<'a>>> {
        let found = self.step(page);
        if !matches!(found, Ok(Some(_))) {
            self.offset = self.end;
        }
        found
    }

    fn step<'a>(&mut self, page: &'a [u8]) -> Result<Option<RawEvent<'a>>> {
        let data = page.get(..self.end).unwrap_or(page);
        let kinds = self.layout.event;
        while self.offset < self.end {
            let begin = self.offset;
            let head = half(data, begin).ok_or_else(|| short("entry", begin, data))?;
            let (kind, delta) = ((head & 31) as u8, u64::from(head >> 5));
            let array = begin + WORD;
            let wide = || half(data, array).ok_or_else(|| short("array[0]", array, data));
            if kind <= kinds.data_words_max {
                self.advance(delta, begin)?;
                let (from, bytes) = match kind {
                    0 => (array + WORD, own_length(wide()?, array)? - WORD),
                    words => (array, usize::from(words) * WORD),
                };
                let payload = data.get(from..from.saturating_add(bytes)).ok_or(Error::Page {
                    field: "length of an event",
                    offset_bytes: begin,
                    expected: "an event that ends within the data",
                    found: bytes as u64,
                })?;
                self.offset = from + bytes;
                return self.event(payload, from).map(Some);
            } else if kind == kinds.padding {
                if delta == 0 {
                    return Ok(None);
                }
                if delta != 1 {
                    self.advance(delta, begin)?;
                }
                self.offset = array.saturating_add(own_length(wide()?, array)?);
            } else if kind == kinds.time_extend {
                self.advance(u64::from(wide()?) << TIME_BITS | delta, begin)?;
                self.offset = array + WORD;
            } else if Some(kind) == kinds.time_stamp {
                let stamp = u64::from(wide()?) << TIME_BITS | delta;
                self.time_ns = absolute(stamp, self.time_ns).ok_or_else(|| late(begin, stamp))?;
                self.offset = array + WORD;
            } else {
                return Err(Error::Page {
                    field: "type_len",
                    offset_bytes: begin,
                    expected: "a kind of header_event",
                    found: u64::from(kind),
                });
            }
        }
        if self.offset > self.end {
            return Err(Error::Page {
                field: "length of padding",
                offset_bytes: self.end,
                expected: "padding that ends within the data",
                found: (self.offset - self.end) as u64,
            });
        }
        Ok(None)
    }

    fn advance(&mut self, delta: u64, offset: usize) -> Result<()> {
        self.time_ns = self.time_ns.checked_add(delta).ok_or_else(|| late(offset, delta))?;
        Ok(())
    }

    fn event<'a>(&self, payload: &'a [u8], offset: usize) -> Result<RawEvent<'a>> {
        let place = self.layout.id_offset_bytes;
        let id = word(payload, place, 2).ok_or_else(|| short("common_type", offset, payload))?;
        Ok(RawEvent { time_ns: self.time_ns, id: id as u16, payload, offset_bytes: offset })
    }
}

/// The events of one page, one after the other; ends after the first error.
#[derive(Clone, Debug)]
pub struct PageEvents<'a> {
    cursor: PageCursor,
    page: &'a [u8],
}

impl<'a> PageEvents<'a> {
    /// All events of `page`.
    ///
    /// # Errors
    /// Those of [`PageCursor::new`].
    pub fn new(layout: &PageLayout, page: &'a [u8]) -> Result<Self> {
        Ok(Self { cursor: PageCursor::new(layout, page)?, page })
    }

    /// What was lost before this page.
    #[must_use]
    pub fn missed(&self) -> Option<Missed> {
        self.cursor.missed()
    }
}

impl<'a> Iterator for PageEvents<'a> {
    type Item = Result<RawEvent<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.cursor.next(self.page).transpose()
    }
}

/// Length of the data, and the flags beside it.
fn commit(header: &PageHeader, page: &[u8]) -> Result<(usize, u32)> {
    let offset_bytes = header.commit_offset_bytes;
    let commit = word(page, offset_bytes, header.commit_bytes);
    let commit = commit.ok_or_else(|| short("commit", offset_bytes, page))?;
    let wrong = |expected, found| Error::Page { field: "commit", offset_bytes, expected, found };
    if page.len() > header.page_bytes() {
        return Err(wrong("a page as long as header_page says", page.len() as u64));
    }
    if !matches!(commit >> 32, 0 | 0xffff_ffff) {
        return Err(wrong("a length and two flags", commit));
    }
    let flags = commit as u32 & (MISSED_EVENTS | MISSED_STORED);
    let data_bytes = (commit as u32 & !flags) as usize;
    let room = page.len().saturating_sub(header.data_offset_bytes);
    if data_bytes > room {
        return Err(wrong("a length that fits the page", data_bytes as u64));
    }
    Ok((data_bytes, flags))
}

/// A length in the word after the head of an entry; it counts that word.
fn own_length(length: u32, offset: usize) -> Result<usize> {
    match length as usize {
        bytes @ WORD.. => Ok(bytes),
        bytes => Err(Error::Page {
            field: "array[0]",
            offset_bytes: offset,
            expected: "a length of 4 bytes or more",
            found: bytes as u64,
        }),
    }
}

/// `rb_fix_abs_ts`: the time stamp with the five bits above those it has, from the time before.
fn absolute(stamp: u64, before_ns: u64) -> Option<u64> {
    let above = before_ns >> TIME_STAMP_BITS << TIME_STAMP_BITS;
    match above {
        0 => Some(stamp),
        above if above | stamp >= before_ns => Some(above | stamp),
        above => (above | stamp).checked_add(1 << TIME_STAMP_BITS),
    }
}

fn late(offset_bytes: usize, found: u64) -> Error {
    let expected = "a time of 64 bits";
    Error::Page { field: "time_delta", offset_bytes, expected, found }
}

fn short(field: &'static str, offset_bytes: usize, bytes: &[u8]) -> Error {
    let expected = "more bytes than there are";
    Error::Page { field, offset_bytes, expected, found: bytes.len() as u64 }
}

fn half(bytes: &[u8], offset: usize) -> Option<u32> {
    bytes.get(offset..offset.checked_add(WORD)?)?.try_into().ok().map(u32::from_le_bytes)
}

/// A number of `size` bytes (at most 8), little end first.
fn word(bytes: &[u8], offset: usize, size: usize) -> Option<u64> {
    let bytes = bytes.get(offset..offset.checked_add(size)?)?;
    Some(bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
}
