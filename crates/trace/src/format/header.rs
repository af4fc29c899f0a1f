//! `events/header_page` and `events/header_event`: how a page of the ring begins, and an event in it.
//!
//! Both come from `kernel/trace/ring_buffer.c`: `ring_buffer_print_page_header` and
//! `ring_buffer_print_entry_header`. The word `commit` has the size of a C long of that kernel. The
//! kinds of entries are numbers that have never changed; they are read all the same, so that a
//! kernel that changes them is refused and not misread.
//!
//! Invariant: timestamp and commit lie before the data, and a page has at most
//! [`PAGE_BYTES_MAX`] bytes. Held by `headers_that_cannot_be_are_refused`.

use super::{as_text, parse_field};
use crate::error::{Error, Result};

/// The largest page that is read: sub-buffers of several pages exist from 6.8 on.
pub const PAGE_BYTES_MAX: usize = 64 << 10;

const PAGE: &str = "header_page";
const EVENT: &str = "header_event";

/// How a page of the ring begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageHeader {
    /// Where the time of the page is: 8 bytes.
    pub timestamp_offset_bytes: usize,
    /// Where the length of the data and the flags for missed events are.
    pub commit_offset_bytes: usize,
    /// Size of that word, and of the count of missed events: 4 or 8 bytes.
    pub commit_bytes: usize,
    /// Where the data begins.
    pub data_offset_bytes: usize,
    /// How long it is at most.
    pub data_bytes: usize,
}

impl PageHeader {
    /// Reads `events/header_page`.
    ///
    /// # Errors
    /// [`Error::Text`]: another form, or fields that overlap or are too large.
    pub fn parse(text: &[u8]) -> Result<Self> {
        let text = as_text(PAGE, text)?;
        let (mut timestamp, mut commit, mut data) = (None, None, None);
        for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let field = parse_field(PAGE, index + 1, line)?;
            let place = (field.offset_bytes as usize, field.size_bytes as usize);
            match field.name.as_str() {
                "timestamp" => timestamp = Some(place),
                "commit" => commit = Some(place),
                "data" => data = Some(place),
                // `overwrite` lies in the same word as commit and is not filled in.
                _ => {}
            }
        }
        let end = text.lines().count();
        let wrong = |expected, found: &str| Error::text(PAGE, end, expected, found);
        let timestamp = timestamp.ok_or_else(|| wrong("timestamp", "the end"))?;
        let commit = commit.ok_or_else(|| wrong("commit", "the end"))?;
        let data = data.ok_or_else(|| wrong("data", "the end"))?;
        let place = |(offset, bytes): (usize, usize)| format!("{bytes} bytes at {offset}");
        if timestamp.1 != 8 || timestamp.0 + timestamp.1 > data.0 {
            return Err(wrong("a timestamp of 8 bytes before the data", &place(timestamp)));
        }
        let apart = commit.0 >= timestamp.0 + timestamp.1 || commit.0 + commit.1 <= timestamp.0;
        if !matches!(commit.1, 4 | 8) || commit.0 + commit.1 > data.0 || !apart {
            return Err(wrong("commit of 4 or 8 bytes before the data", &place(commit)));
        }
        if data.1 < 16 || data.0 + data.1 > PAGE_BYTES_MAX {
            return Err(wrong("16 bytes to 64 KiB of data", &place(data)));
        }
        Ok(Self {
            timestamp_offset_bytes: timestamp.0,
            commit_offset_bytes: commit.0,
            commit_bytes: commit.1,
            data_offset_bytes: data.0,
            data_bytes: data.1,
        })
    }

    /// Length of a whole page.
    #[must_use]
    pub fn page_bytes(&self) -> usize {
        self.data_offset_bytes + self.data_bytes
    }
}

/// How an entry of a page begins: which values of its five bits mean what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventHeader {
    /// Fills up a page, or stands where an event was discarded.
    pub padding: u8,
    /// Adds more to the time than an event has bits for.
    pub time_extend: u8,
    /// Sets the time; kernels before 4.17 have none (dc4e2801d400 "ring-buffer: Redefine the
    /// unimplemented RINGBUF_TYPE_TIME_STAMP").
    pub time_stamp: Option<u8>,
    /// The largest length of data in words that the bits say; 0 means that the next word says it.
    pub data_words_max: u8,
}

impl EventHeader {
    /// Reads `events/header_event`.
    ///
    /// # Errors
    /// [`Error::Text`]: another form, other numbers of bits, or kinds that are the same.
    pub fn parse(text: &[u8]) -> Result<Self> {
        let text = as_text(EVENT, text)?;
        let end = text.lines().count();
        let wrong = |expected, found: &str| Error::text(EVENT, end, expected, found);
        let value = |key: &str, sign: &str| {
            let line = text.lines().find(|line| line.trim_start().starts_with(key))?;
            let value = line.split_once(sign)?.1.split_whitespace().next()?;
            value.parse::<u8>().ok()
        };
        if value("type_len", ":") != Some(5)
            || value("time_delta", ":") != Some(27)
            || value("array", ":") != Some(32)
        {
            return Err(wrong("type_len of 5, time_delta of 27, array of 32 bits", text));
        }
        let padding = value("padding", "==").ok_or_else(|| wrong("padding", text))?;
        let time_extend = value("time_extend", "==").ok_or_else(|| wrong("time_extend", text))?;
        let time_stamp = value("time_stamp", "==");
        let data_words_max =
            value("data max type_len", "==").ok_or_else(|| wrong("data max type_len", text))?;
        let mut kinds = vec![padding, time_extend];
        kinds.extend(time_stamp);
        kinds.sort_unstable();
        let apart = kinds.windows(2).all(|pair| pair[0] < pair[1]);
        if !apart || data_words_max == 0 || kinds[0] <= data_words_max || kinds.last() > Some(&31) {
            return Err(wrong("kinds above the lengths, below 32 and all different", text));
        }
        Ok(Self { padding, time_extend, time_stamp, data_words_max })
    }
}
