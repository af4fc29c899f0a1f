//! Frames with their length before them: u32, little-endian, then that many bytes.
//!
//! For programs whose messages differ in length. A length above the limit is one error, and
//! exactly that many bytes are passed over without being kept, so that one frame that is too large
//! does not cost those behind it; a stream that has lost its step soon shows as more errors.
//!
//! Invariant: any cutting of the stream gives the same frames and errors, and memory stays below
//! one frame. Held by `tests::any_cutting_gives_the_same_frames`.

use std::fmt;

const HEAD_BYTES: usize = 4;

/// A part of the stream that gave no frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FrameError {
    /// A frame is larger than the limit; its bytes are passed over.
    TooLarge {
        /// Where its length stands in the stream.
        offset: u64,
        /// The most bytes a frame may have.
        limit_bytes: usize,
        /// What its length says.
        found_bytes: u32,
    },
    /// The stream ended inside a frame, or inside its length.
    Partial {
        /// Where the frame's length stands in the stream.
        offset: u64,
        /// Bytes of the frame with its length; 4 if even that is cut.
        expected_bytes: u64,
        /// Bytes of it that came.
        found_bytes: u64,
    },
}

impl fmt::Display for FrameError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { offset, limit_bytes, found_bytes } => write!(
                formatter,
                "length at offset {offset}: expected at most {limit_bytes} bytes, found \
                 {found_bytes}; passed over"
            ),
            Self::Partial { offset, expected_bytes, found_bytes } => write!(
                formatter,
                "frame at offset {offset}: expected {expected_bytes} bytes with its length, found \
                 the end of the input after {found_bytes}"
            ),
        }
    }
}

impl std::error::Error for FrameError {}

/// Cuts a stream into frames of at most `limit_bytes`.
#[derive(Debug)]
pub struct LengthFramer {
    limit_bytes: usize,
    /// Length and bytes of a frame that has not come whole yet.
    pending: Vec<u8>,
    /// Bytes of a frame that is too large, still to be passed over.
    skip: u64,
    /// Where in the stream the current frame's length stands.
    offset: u64,
    /// Length bytes and frame bytes of the frame being passed over.
    skipping: u64,
}

impl LengthFramer {
    /// A framer at the start of a stream.
    #[must_use]
    pub fn new(limit_bytes: usize) -> Self {
        LengthFramer { limit_bytes, pending: Vec::new(), skip: 0, offset: 0, skipping: 0 }
    }

    /// Takes the next bytes and hands every frame they complete, and every error, to `item` in
    /// order. Frames that lie whole in `bytes` are not copied.
    pub fn feed(&mut self, mut bytes: &[u8], mut item: impl FnMut(Result<&[u8], FrameError>)) {
        while !bytes.is_empty() {
            if self.skip > 0 {
                let passed = usize::try_from(self.skip).unwrap_or(usize::MAX).min(bytes.len());
                bytes = &bytes[passed..];
                self.skip -= passed as u64;
                if self.skip == 0 {
                    self.offset += std::mem::take(&mut self.skipping);
                }
                continue;
            }
            if self.pending.len() < HEAD_BYTES {
                if self.pending.is_empty()
                    && let Some(length) = length(bytes)
                    && length as usize <= self.limit_bytes
                    && let Some(frame) = bytes.get(HEAD_BYTES..HEAD_BYTES + length as usize)
                {
                    item(Ok(frame));
                    bytes = &bytes[HEAD_BYTES + frame.len()..];
                    self.offset += (HEAD_BYTES + frame.len()) as u64;
                    continue;
                }
                let (head, rest) = bytes.split_at(bytes.len().min(HEAD_BYTES - self.pending.len()));
                self.pending.extend_from_slice(head);
                bytes = rest;
            }
            let Some(found_bytes) = length(&self.pending) else { return };
            if found_bytes as usize > self.limit_bytes {
                let (offset, limit_bytes) = (self.offset, self.limit_bytes);
                item(Err(FrameError::TooLarge { offset, limit_bytes, found_bytes }));
                self.pending.clear();
                self.skip = u64::from(found_bytes);
                self.skipping = HEAD_BYTES as u64 + self.skip;
                continue;
            }
            let missing = HEAD_BYTES + found_bytes as usize - self.pending.len();
            let (part, rest) = bytes.split_at(missing.min(bytes.len()));
            self.pending.extend_from_slice(part);
            bytes = rest;
            if part.len() == missing {
                item(Ok(&self.pending[HEAD_BYTES..]));
                self.offset += self.pending.len() as u64;
                self.pending.clear();
            }
        }
    }

    /// Ends the stream; the framer starts anew.
    ///
    /// # Errors
    /// It ended inside a frame, whose bytes are dropped.
    pub fn finish(&mut self) -> Result<(), FrameError> {
        let offset = self.offset;
        let result = if self.skip > 0 {
            let (expected_bytes, found_bytes) = (self.skipping, self.skipping - self.skip);
            Err(FrameError::Partial { offset, expected_bytes, found_bytes })
        } else if self.pending.is_empty() {
            Ok(())
        } else {
            let length = length(&self.pending).unwrap_or(0);
            let expected_bytes = HEAD_BYTES as u64 + u64::from(length);
            let found_bytes = self.pending.len() as u64;
            Err(FrameError::Partial { offset, expected_bytes, found_bytes })
        };
        *self = LengthFramer::new(self.limit_bytes);
        result
    }
}

fn length(bytes: &[u8]) -> Option<u32> {
    bytes.first_chunk().copied().map(u32::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn items<'a>(limit: usize, pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<String> {
        let mut framer = LengthFramer::new(limit);
        let mut items = Vec::new();
        for piece in pieces {
            framer.feed(piece, |item| items.push(format!("{item:?}")));
        }
        if let Err(error) = framer.finish() {
            items.push(error.to_string());
        }
        items
    }

    fn frame(bytes: &[u8]) -> Vec<u8> {
        [&(bytes.len() as u32).to_le_bytes(), bytes].concat()
    }

    #[test]
    fn frames_of_any_length_come_back() {
        let stream = [frame(b"abc"), frame(b""), frame(&[7; 10])].concat();
        let expected = ["Ok([97, 98, 99])", "Ok([])", &format!("Ok({:?})", [7; 10])];
        assert_eq!(items(10, [stream.as_slice()]), expected);
    }

    #[test]
    fn a_frame_that_is_too_large_costs_only_itself() {
        let stream = [frame(b"a"), frame(&[0; 2000]), frame(b"b")].concat();
        let found = items(100, [stream.as_slice()]);
        assert_eq!((found[0].as_str(), found[2].as_str()), ("Ok([97])", "Ok([98])"));
        assert!(found[1].contains("offset: 5, limit_bytes: 100, found_bytes: 2000"), "{found:?}");
        // Half of what the length announces, of any size.
        let found = items(100, [&[0xff, 0xff, 0xff, 0xff, 1, 2][..]]);
        assert!(found[1].contains("offset 0: expected 4294967299 bytes"), "{found:?}");
        assert!(items(100, [&stream[..7]])[1].contains("found the end of the input after 2"));
    }

    proptest! {
        #[test]
        fn any_cutting_gives_the_same_frames(
            frames in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..60), 0..20),
            junk in prop::collection::vec(any::<u8>(), 0..10),
            cut in 1..70_usize,
        ) {
            let mut stream: Vec<u8> = frames.iter().flat_map(|bytes| frame(bytes)).collect();
            stream.extend(junk);
            let whole = items(40, [stream.as_slice()]);
            prop_assert_eq!(items(40, stream.chunks(cut)), whole.clone());
            prop_assert_eq!(items(40, stream.chunks(1)), whole);
        }
    }
}
