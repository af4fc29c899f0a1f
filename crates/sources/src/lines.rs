//! Bytes that come in any pieces, cut into lines of bounded length.
//!
//! Invariant: any cutting of the input gives the same lines, and memory stays below one line.
//! Held by the tests of the parsers above it (`any_cutting_gives_the_same_items`).

use std::fmt;

/// How much of the input an error about a line quotes.
const FOUND_CHARS_MAX: usize = 60;

/// The start of `text`, for an error.
pub(crate) fn quote(text: &str) -> String {
    let mut found: String = text.chars().take(FOUND_CHARS_MAX).collect();
    if found.len() < text.len() {
        found.push_str("...");
    }
    found
}

/// Why a line is no text, whatever form it should have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unreadable {
    /// The input is UTF-16, which is said once, since no line of it can be read.
    Utf16,
    /// The bytes from this one on are not UTF-8.
    NotUtf8 { offset: usize },
}

/// What the parsers say of UTF-16.
pub(crate) const UTF16: &str = "expected UTF-8, found UTF-16 (save it as UTF-8, or convert it with: \
                                iconv -f UTF-16 -t UTF-8; if it is UTF-32, with -f UTF-32); nothing of it is read";

/// What the parsers say of what is no text.
pub(crate) const NOT_UTF8: &str = "expected UTF-8, found bytes that are not (in another encoding? iconv -f \
                                   LATIN1 -t UTF-8; compressed? a file is unpacked if it is imported by its \
                                   name, a request with Content-Encoding: gzip; else unpack it first: \
                                   gunzip, zstd -d)";

/// What the parsers say of the lines of a text that is too long or cut off.
pub(crate) struct Unread {
    /// The first of them; the error has the last.
    pub(crate) from: u64,
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let from = self.from;
        write!(
            f,
            "the lines from {from} to this one are not read: they stand behind a quote that is not closed, \
             and are not rows; expected a closing quote in the line before them, or within the limit"
        )
    }
}

/// A line without its return, and without the mark that may stand before the first; and the bytes of
/// that mark.
pub(crate) fn content(number: u64, bytes: &[u8]) -> Result<(&[u8], usize), Unreadable> {
    let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
    if number != 1 {
        return Ok((bytes, 0));
    }
    match bytes {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Err(Unreadable::Utf16),
        // Without a mark: of a letter of ASCII one byte is 0.
        [0, 0x20..0x7f, 0, ..] | [0x20..0x7f, 0, 0x20..0x7f, 0, ..] => Err(Unreadable::Utf16),
        [0xef, 0xbb, 0xbf, rest @ ..] => Ok((rest, 3)),
        _ => Ok((bytes, 0)),
    }
}

/// Bytes of a line as text.
pub(crate) fn utf8(content: &[u8]) -> Result<&str, Unreadable> {
    str::from_utf8(content).map_err(|error| Unreadable::NotUtf8 { offset: error.valid_up_to() })
}

/// Cuts lines at `\n`; only a line that is cut by the end of a piece is copied.
#[derive(Debug)]
pub(crate) struct LineCutter {
    limit_bytes: usize,
    /// The start of a line whose end has not come yet.
    pending: Vec<u8>,
    /// The rest of a line that was too long is being skipped.
    skipping: bool,
    /// Lines that have ended.
    lines: u64,
}

impl LineCutter {
    pub(crate) fn new(limit_bytes: usize) -> Self {
        LineCutter { limit_bytes, pending: Vec::new(), skipping: false, lines: 0 }
    }

    #[cfg(test)]
    pub(crate) fn pending_bytes(&self) -> usize {
        self.pending.len()
    }

    /// Hands each line that `bytes` complete to `line`, with its number from 1 on and without its
    /// newline; `None` for one that is too long, once.
    pub(crate) fn feed(&mut self, mut bytes: &[u8], mut line: impl FnMut(u64, Option<&[u8]>)) {
        let limit = self.limit_bytes;
        let mut whole = |number, bytes: &[u8]| {
            line(number, Some(bytes).filter(|bytes| bytes.len() <= limit));
        };
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            let (first, rest) = (&bytes[..end], &bytes[end + 1..]);
            bytes = rest;
            if self.pending.is_empty() {
                if !self.skipping {
                    whole(self.lines + 1, first);
                }
            } else {
                // Room is bounded: of a longer line only so much is kept that it is seen as one.
                let room = (limit + 1).saturating_sub(self.pending.len());
                self.pending.extend_from_slice(&first[..first.len().min(room)]);
                whole(self.lines + 1, &self.pending);
                self.pending.clear();
            }
            self.skipping = false;
            self.lines += 1;
        }
        if self.skipping {
            return;
        }
        if self.pending.len() + bytes.len() > limit {
            line(self.lines + 1, None);
            self.pending.clear();
            self.skipping = true;
        } else {
            self.pending.extend_from_slice(bytes);
        }
    }

    /// Lines that have ended.
    pub(crate) fn ended(&self) -> u64 {
        self.lines
    }

    /// The next byte is one of this line.
    pub(crate) fn go_on_at(&mut self, line: u64) {
        self.lines = line.saturating_sub(1);
    }

    /// Ends the input: a last line without newline counts. Starts anew at line 1.
    pub(crate) fn finish(&mut self, mut line: impl FnMut(u64, Option<&[u8]>)) {
        line(self.lines + 1, Some(&self.pending));
        self.pending.clear();
        self.skipping = false;
        self.lines = 0;
    }
}
