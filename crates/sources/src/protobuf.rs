//! The bytes of protobuf messages, field by field, as slices of what came.
//!
//! A few messages with known fields need no generated code, and a decoder that makes no copies has no memory
//! to bound.
//!
//! Invariant: any bytes give fields or an error, in time linear in them. Held by the tests of `remote_write`
//! and `otlp`, and by their fuzz targets.

/// Bytes that are no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Value<'a> {
    Varint(u64),
    Fixed64(u64),
    Bytes(&'a [u8]),
    Fixed32(u32),
}

/// The fields of a message, in their order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(crate) fn of(bytes: &'a [u8]) -> Self {
        Fields { rest: bytes }
    }

    fn split(&mut self, bytes: usize) -> Result<&'a [u8], Malformed> {
        let (first, rest) = self.rest.split_at_checked(bytes).ok_or(Malformed)?;
        self.rest = rest;
        Ok(first)
    }

    /// The next number of a packed list; `None` at its end.
    pub(crate) fn packed(&mut self) -> Option<Result<u64, Malformed>> {
        if self.rest.is_empty() { None } else { Some(self.varint()) }
    }

    fn varint(&mut self) -> Result<u64, Malformed> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.rest.split_first().ok_or(Malformed)?;
            self.rest = rest;
            let bits = u64::from(byte & 0x7f);
            // Of the tenth byte one bit has room.
            if shift == 63 && bits > 1 {
                return Err(Malformed);
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Malformed)
    }

    fn field(&mut self) -> Result<(u64, Value<'a>), Malformed> {
        let key = self.varint()?;
        let value = match key & 7 {
            0 => Value::Varint(self.varint()?),
            1 => {
                let bytes = self.split(8)?.try_into().map_err(|_| Malformed)?;
                Value::Fixed64(u64::from_le_bytes(bytes))
            }
            2 => {
                let length = usize::try_from(self.varint()?).map_err(|_| Malformed)?;
                Value::Bytes(self.split(length)?)
            }
            5 => {
                let bytes = self.split(4)?.try_into().map_err(|_| Malformed)?;
                Value::Fixed32(u32::from_le_bytes(bytes))
            }
            _ => return Err(Malformed),
        };
        match key >> 3 {
            0 => Err(Malformed),
            number => Ok((number, value)),
        }
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u64, Value<'a>), Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.rest = &[];
        }
        Some(field)
    }
}

/// Makes a message. Lengths of messages within have five bytes, so that they are known afterwards.
#[derive(Debug, Default)]
pub(crate) struct Writer {
    pub(crate) bytes: Vec<u8>,
}

/// Bytes of a length that is written afterwards.
const LENGTH_BYTES: usize = 5;

impl Writer {
    pub(crate) fn with_capacity(bytes: usize) -> Self {
        Writer { bytes: Vec::with_capacity(bytes) }
    }

    fn key(&mut self, number: u8, wire: u8) {
        self.push(u64::from(number) << 3 | u64::from(wire));
    }

    fn push(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    pub(crate) fn varint(&mut self, number: u8, value: u64) {
        self.key(number, 0);
        self.push(value);
    }

    pub(crate) fn fixed64(&mut self, number: u8, value: u64) {
        self.key(number, 1);
        self.word(value);
    }

    /// Eight bytes of a packed list.
    pub(crate) fn word(&mut self, value: u64) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    pub(crate) fn text(&mut self, number: u8, text: &str) {
        self.key(number, 2);
        self.push(text.len() as u64);
        self.bytes.extend_from_slice(text.as_bytes());
    }

    /// A message, or a packed list, begins within this one; what it is ended with.
    pub(crate) fn begin(&mut self, number: u8) -> (usize, usize) {
        let before = self.bytes.len();
        self.key(number, 2);
        self.bytes.extend_from_slice(&[0; LENGTH_BYTES]);
        (before, self.bytes.len())
    }

    pub(crate) fn end(&mut self, (_, begun): (usize, usize)) {
        let length = self.bytes.len().saturating_sub(begun);
        let place = self.bytes.get_mut(begun.saturating_sub(LENGTH_BYTES)..begun);
        for (at, byte) in place.unwrap_or_default().iter_mut().enumerate() {
            let more = if at + 1 < LENGTH_BYTES { 0x80 } else { 0 };
            *byte = (length >> (7 * at)) as u8 & 0x7f | more;
        }
    }

    /// It has not begun after all.
    pub(crate) fn undo(&mut self, (before, _): (usize, usize)) {
        self.bytes.truncate(before);
    }
}
