//! Elements of a JSON array, from bytes that come in any pieces: what pandas, DuckDB and others write as one
//! array, in one line or many, however long it is.
//!
//! An element ends at its comma or at the end of the array. One that is broken (a text that goes over the
//! end of its line, or an object where the key of a member must stand) ends with its line, so that the
//! next one counts again.
//!
//! Invariant: any cutting of the input gives the same elements, and memory stays below one of the limit.
//! Held by `super::tests::any_cutting_gives_the_same_items`.

/// Levels of brackets that are told apart; deeper ones are taken for arrays, which the parser refuses.
const LEVELS: u32 = 128;

/// See the module.
#[derive(Debug)]
pub(super) struct Elements {
    limit_bytes: usize,
    /// The line in which the array began.
    array: u64,
    /// The element that has begun.
    pending: Vec<u8>,
    /// The line in which it began.
    first: u64,
    /// The line that is read.
    line: u64,
    depth: u32,
    /// Of each level whether it is an object.
    objects: u128,
    in_text: bool,
    escaped: bool,
    /// The last byte of the element that is no blank.
    last: u8,
    /// A line has ended since.
    broken: bool,
    /// Its length is beyond the limit, which has been told.
    skipping: bool,
}

impl Elements {
    /// Behind the bracket that begins the array, in this line.
    pub(super) fn new(limit_bytes: usize, line: u64) -> Self {
        Elements {
            limit_bytes,
            array: line,
            pending: Vec::new(),
            first: line,
            line,
            depth: 0,
            objects: 0,
            in_text: false,
            escaped: false,
            last: 0,
            broken: false,
            skipping: false,
        }
    }

    /// The line that is read.
    pub(super) fn line(&self) -> u64 {
        self.line
    }

    /// The line in which an element has begun that has not ended.
    pub(super) fn begun(&self) -> Option<u64> {
        (!self.pending.is_empty()).then_some(self.first)
    }

    /// Hands each element that `bytes` complete to `each`, with the number of its line; `None` for one that
    /// is too long, once. Returns how many bytes were read if the array has ended.
    pub(super) fn feed(
        &mut self,
        bytes: &[u8],
        each: &mut impl FnMut(u64, Option<&[u8]>),
    ) -> Option<usize> {
        for (at, byte) in bytes.iter().copied().enumerate() {
            if self.in_text {
                self.text(byte, each);
                continue;
            }
            match byte {
                b'\n' => {
                    self.line += 1;
                    self.broken = true;
                    self.keep(byte, each);
                }
                b' ' | b'\t' | b'\r' => self.keep(byte, each),
                b',' if self.depth == 0 => self.end(each),
                b']' if self.depth == 0 => {
                    self.end(each);
                    return Some(at + 1);
                }
                _ => self.other(byte, each),
            }
        }
        None
    }

    /// Ends the input within the array. Returns the line in which it began if no element was cut off: that one
    /// is told by itself.
    pub(super) fn finish(&mut self, each: &mut impl FnMut(u64, Option<&[u8]>)) -> Option<u64> {
        let whole = self.depth == 0 && !self.in_text;
        self.end(each);
        whole.then_some(self.array)
    }

    /// A byte within a text.
    fn text(&mut self, byte: u8, each: &mut impl FnMut(u64, Option<&[u8]>)) {
        if byte == b'\n' {
            self.end(each);
            self.line += 1;
            return;
        }
        self.keep(byte, each);
        self.last = byte;
        match byte {
            _ if self.escaped => self.escaped = false,
            b'\\' => self.escaped = true,
            b'"' => self.in_text = false,
            _ => {}
        }
    }

    /// A byte of an element that is neither blank nor in a text.
    fn other(&mut self, byte: u8, each: &mut impl FnMut(u64, Option<&[u8]>)) {
        let in_object = self.depth > 0 && self.is_object(self.depth - 1);
        if byte == b'{' && self.broken && in_object && matches!(self.last, b'{' | b',') {
            self.end(each);
        }
        if self.pending.is_empty() && !self.skipping {
            self.first = self.line;
        }
        match byte {
            b'{' | b'[' => {
                let level = 1_u128.checked_shl(self.depth).unwrap_or(0);
                self.objects =
                    if byte == b'{' { self.objects | level } else { self.objects & !level };
                self.depth = self.depth.saturating_add(1);
            }
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            b'"' => self.in_text = true,
            _ => {}
        }
        self.keep(byte, each);
        (self.last, self.broken) = (byte, false);
    }

    fn is_object(&self, level: u32) -> bool {
        level < LEVELS && self.objects >> level & 1 == 1
    }

    /// Blanks before an element are none of it.
    fn keep(&mut self, byte: u8, each: &mut impl FnMut(u64, Option<&[u8]>)) {
        if self.skipping || self.pending.is_empty() && byte.is_ascii_whitespace() {
            return;
        }
        if self.pending.len() >= self.limit_bytes {
            each(self.first, None);
            self.pending.clear();
            self.skipping = true;
            return;
        }
        self.pending.push(byte);
    }

    fn end(&mut self, each: &mut impl FnMut(u64, Option<&[u8]>)) {
        if !self.pending.is_empty() {
            each(self.first, Some(self.pending.trim_ascii_end()));
        }
        let (limit_bytes, mut pending) = (self.limit_bytes, std::mem::take(&mut self.pending));
        pending.clear();
        let array = self.array;
        *self = Elements { pending, array, ..Elements::new(limit_bytes, self.line) };
    }
}
