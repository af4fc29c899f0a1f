//! Frames of a fixed size cut from a stream of bytes.
//!
//! `baro record --raw` reads standard input in whatever pieces the pipe gives and records frames
//! of N bytes. Frames that lie whole inside a piece are handed on without a copy; only the bytes
//! at the seams are gathered. What is left at the end is not decided here silently: the caller
//! keeps it as a short frame or refuses it ([`Remainder`]).
//!
//! Invariant: the frames and the remainder, put together, are the bytes fed, however they were
//! cut. Held by `tests::any_cutting_gives_the_same_frames`.

use std::fmt;

/// The largest frame that is accepted: 64 MiB, so that a mistyped size is refused instead of
/// gathering memory until there is none.
pub const FRAME_BYTES_MAX: usize = 64 << 20;

/// What happens to the bytes at the end that do not fill a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remainder {
    /// They become one last frame that is shorter than the others.
    Keep,
    /// They are an error, and are not handed on.
    Refuse,
}

/// Why bytes could not be framed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RawError {
    /// The frame size is 0 or above [`FRAME_BYTES_MAX`].
    FrameSize {
        /// The size that was asked for.
        frame_bytes: usize,
    },
    /// The stream ended inside a frame.
    PartialFrame {
        /// Bytes of a whole frame.
        frame_bytes: usize,
        /// Bytes there were of the last one.
        found_bytes: usize,
        /// Whole frames before it.
        frames: u64,
    },
}

impl fmt::Display for RawError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FrameSize { frame_bytes } => write!(
                formatter,
                "frame size of {frame_bytes} bytes; expected 1 to {FRAME_BYTES_MAX} bytes"
            ),
            Self::PartialFrame { frame_bytes, found_bytes, frames } => write!(
                formatter,
                "the input ended after {frames} frames with {found_bytes} of {frame_bytes} bytes \
                 of the next; check the frame size, or keep the rest as a short frame"
            ),
        }
    }
}

impl std::error::Error for RawError {}

/// Cuts a stream into frames of `frame_bytes`.
#[derive(Debug)]
pub struct RawFramer {
    frame_bytes: usize,
    /// The start of a frame whose end has not come yet; always shorter than a frame.
    pending: Vec<u8>,
    frames: u64,
}

impl RawFramer {
    /// A framer for frames of `frame_bytes`.
    ///
    /// # Errors
    /// [`RawError::FrameSize`] unless `frame_bytes` is 1 to [`FRAME_BYTES_MAX`].
    pub fn new(frame_bytes: usize) -> Result<Self, RawError> {
        if frame_bytes == 0 || frame_bytes > FRAME_BYTES_MAX {
            return Err(RawError::FrameSize { frame_bytes });
        }
        Ok(Self { frame_bytes, pending: Vec::with_capacity(frame_bytes), frames: 0 })
    }

    /// Whole frames handed on so far.
    #[must_use]
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// Bytes that wait for the rest of their frame.
    #[must_use]
    pub fn pending_bytes(&self) -> usize {
        self.pending.len()
    }

    /// Takes the next bytes of the stream and hands every frame they complete to `frame`, in
    /// order. Never allocates: a frame's room was taken in [`Self::new`].
    pub fn feed(&mut self, mut bytes: &[u8], mut frame: impl FnMut(&[u8])) {
        if !self.pending.is_empty() {
            let missing = (self.frame_bytes - self.pending.len()).min(bytes.len());
            let (head, tail) = bytes.split_at(missing);
            self.pending.extend_from_slice(head);
            bytes = tail;
            if self.pending.len() < self.frame_bytes {
                return;
            }
            self.frames += 1;
            frame(&self.pending);
            self.pending.clear();
        }
        let mut whole = bytes.chunks_exact(self.frame_bytes);
        for one in &mut whole {
            self.frames += 1;
            frame(one);
        }
        self.pending.extend_from_slice(whole.remainder());
    }

    /// Ends the stream. With [`Remainder::Keep`] the bytes that wait, if any, are handed to
    /// `frame` as a short frame. The framer starts anew afterwards, its count kept.
    ///
    /// # Errors
    /// [`RawError::PartialFrame`] with [`Remainder::Refuse`], if bytes are left; they are dropped.
    pub fn finish(
        &mut self,
        remainder: Remainder,
        mut frame: impl FnMut(&[u8]),
    ) -> Result<(), RawError> {
        let found_bytes = self.pending.len();
        let result = match remainder {
            _ if found_bytes == 0 => Ok(()),
            Remainder::Keep => {
                frame(&self.pending);
                Ok(())
            }
            Remainder::Refuse => Err(RawError::PartialFrame {
                frame_bytes: self.frame_bytes,
                found_bytes,
                frames: self.frames,
            }),
        };
        self.pending.clear();
        result
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn frames(frame_bytes: usize, pieces: &[&[u8]], remainder: Remainder) -> Vec<Vec<u8>> {
        let mut framer = RawFramer::new(frame_bytes).unwrap();
        let mut frames = Vec::new();
        for piece in pieces {
            framer.feed(piece, |frame| frames.push(frame.to_vec()));
            assert!(framer.pending_bytes() < frame_bytes);
        }
        assert_eq!(framer.frames(), frames.len() as u64);
        let _ = framer.finish(remainder, |frame| frames.push(frame.to_vec()));
        assert_eq!(framer.pending_bytes(), 0);
        frames
    }

    #[test]
    fn frames_cross_the_seams() {
        let got = frames(3, &[b"a", b"bcd", b"", b"efghij"], Remainder::Keep);
        assert_eq!(got, [b"abc".as_slice(), b"def", b"ghi", b"j"]);
    }

    #[test]
    fn a_remainder_is_kept_or_refused() {
        let mut framer = RawFramer::new(4).unwrap();
        framer.feed(b"123456", |_| ());
        let error = framer.finish(Remainder::Refuse, |_| panic!("handed on")).unwrap_err();
        let expected = RawError::PartialFrame { frame_bytes: 4, found_bytes: 2, frames: 1 };
        assert_eq!(error, expected);
        assert!(error.to_string().contains("2 of 4 bytes"));
        framer.feed(b"789a", |frame| assert_eq!(frame, b"789a"));
        assert_eq!(framer.finish(Remainder::Refuse, |_| ()), Ok(()));
        assert_eq!(framer.frames(), 2);
    }

    #[test]
    fn senseless_sizes_are_refused() {
        for frame_bytes in [0, FRAME_BYTES_MAX + 1, usize::MAX] {
            let error = RawFramer::new(frame_bytes).unwrap_err();
            assert_eq!(error, RawError::FrameSize { frame_bytes });
        }
    }

    proptest! {
        #[test]
        fn any_cutting_gives_the_same_frames(
            bytes in prop::collection::vec(any::<u8>(), 0..300),
            frame_bytes in 1..40_usize,
            cuts in prop::collection::vec(1..50_usize, 1..20),
        ) {
            let mut pieces = Vec::new();
            let mut rest = bytes.as_slice();
            for cut in cuts.iter().cycle() {
                let (head, tail) = rest.split_at((*cut).min(rest.len()));
                pieces.push(head);
                rest = tail;
                if rest.is_empty() { break; }
            }
            let got = frames(frame_bytes, &pieces, Remainder::Keep);
            prop_assert_eq!(&got, &frames(frame_bytes, &[&bytes], Remainder::Keep));
            prop_assert_eq!(got.concat(), bytes);
        }
    }
}
