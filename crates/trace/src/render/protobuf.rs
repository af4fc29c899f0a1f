//! The wire format of Protocol Buffers, as far as a trace needs it: varints, 8 bytes, and what has
//! its length before it.
//!
//! By <https://protobuf.dev/programming-guides/encoding>: a field is a tag, `number << 3 | type`, and
//! its value. Of our own, as a generator and its run time would be many times the size of this.
//!
//! Invariant: what is written is read back by a decoder that shares no code with this. Held by
//! `fields_are_read_back`.

/// The types of the wire that are used here.
const VARINT: u64 = 0;
const EIGHT_BYTES: u64 = 1;
const LENGTH_FIRST: u64 = 2;

/// The longest varint: 64 bits, seven a byte.
const VARINT_BYTES_MAX: usize = 10;

/// A message that is being made.
#[derive(Debug, Default)]
pub(super) struct Message {
    bytes: Vec<u8>,
}

impl Message {
    /// Its bytes up to now.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Makes it empty and keeps its memory.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
    }

    /// A field of type `uint32`, `uint64`, `bool` or an enumeration.
    pub(super) fn uint(&mut self, field: u32, value: u64) {
        self.tag(field, VARINT);
        self.varint(value);
    }

    /// A field of type `int32` or `int64`: a negative value takes ten bytes, as its sign is extended.
    pub(super) fn int(&mut self, field: u32, value: i64) {
        self.uint(field, value as u64);
    }

    /// A field of type `fixed64`.
    pub(super) fn fixed64(&mut self, field: u32, value: u64) {
        self.tag(field, EIGHT_BYTES);
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    /// A field of type `string`.
    pub(super) fn text(&mut self, field: u32, value: &str) {
        self.tag(field, LENGTH_FIRST);
        self.varint(value.len() as u64);
        self.bytes.extend_from_slice(value.as_bytes());
    }

    /// A field that is a message itself.
    pub(super) fn message(&mut self, field: u32, fill: impl FnOnce(&mut Self)) {
        self.tag(field, LENGTH_FIRST);
        let begin = self.bytes.len();
        fill(self);
        // Its length is known only now, and has as many bytes as it needs: the rest moves up.
        let (length, count) = varint((self.bytes.len() - begin) as u64);
        self.bytes.splice(begin..begin, length.into_iter().take(count));
    }

    fn tag(&mut self, field: u32, wire_type: u64) {
        self.varint(u64::from(field) << 3 | wire_type);
    }

    fn varint(&mut self, value: u64) {
        let (bytes, count) = varint(value);
        self.bytes.extend(bytes.into_iter().take(count));
    }
}

/// A number, seven bits a byte, the lowest first; the highest bit says that another byte follows.
pub(super) fn varint(value: u64) -> ([u8; VARINT_BYTES_MAX], usize) {
    let mut bytes = [0; VARINT_BYTES_MAX];
    let mut rest = value;
    let mut count = 0;
    for byte in &mut bytes {
        count += 1;
        *byte = (rest & 0x7f) as u8;
        rest >>= 7;
        if rest == 0 {
            break;
        }
        *byte |= 0x80;
    }
    (bytes, count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::tests::decoder::{Value, fields};

    #[test]
    fn fields_are_read_back() {
        let mut message = Message::default();
        message.uint(1, 0);
        message.uint(15, 127);
        message.uint(16, 128);
        message.uint(536_870_911, u64::MAX);
        message.int(2, -1);
        message.fixed64(47, 0x0102_0304_0506_0708);
        // Lengths of one, two and three bytes.
        for length in [5, 200, 20_000] {
            message.message(3, |inner| inner.text(1, &"x".repeat(length)));
        }
        let read = fields(message.bytes());
        assert_eq!(
            read[..6],
            [
                (1, Value::Varint(0)),
                (15, Value::Varint(127)),
                (16, Value::Varint(128)),
                (536_870_911, Value::Varint(u64::MAX)),
                (2, Value::Varint(u64::MAX)),
                (47, Value::Eight(0x0102_0304_0506_0708)),
            ]
        );
        assert_eq!(read.len(), 9);
        for ((field, value), length) in read[6..].iter().zip([5, 200, 20_000]) {
            let of_inner = fields(value.bytes());
            assert_eq!((*field, of_inner.len()), (3, 1));
            assert_eq!(of_inner[0].1.text(), "x".repeat(length));
        }
        // The example of the format's description: 150 is 96 01.
        message.clear();
        message.uint(1, 150);
        assert_eq!(message.bytes(), [0x08, 0x96, 0x01]);
    }
}
