//! The body of a request, while it comes: its end, its limits, and what unpacks it.
//!
//! **How fast it must come** is judged again and again, each time that the client was waited for as long as a body
//! may stand still. What came before does not count: a client that began fast would else have hours.
//!
//! Invariant: memory does not grow with a body, and it is read to its end or refused. Held by
//! `tests/http/attacks.rs` of `baro-listen`.

use crate::chunked::{Chunks, Next};
use crate::error::BodyError;
use crate::gzip::{self, Unpacking};
use crate::head::{Encoding, Framing, Request};
use crate::limits::Limits;
use crate::wire::Wire;
use baro_sys::clock;
use std::io::{self, BufRead, ErrorKind, Read};

/// What remains of a body that nobody reads is read over up to here; else the connection is closed.
const READ_OVER_BYTES_MAX: u64 = 256 << 10;
/// From here on a read goes past the connection's own buffer.
const PAST_BYTES: usize = 16 << 10;
/// Of a body that is held whole, all of it must come anew in so many seconds: the more memory a client takes from
/// others, the faster it must be done. A line of 1 KiB/s can send 1 MiB.
const HELD_S: u64 = 1_024;

/// The body of a request, while it comes.
#[derive(Debug)]
pub struct Body<'w, 's> {
    from: Source<'w, 's>,
    limit_bytes: u64,
    /// Bytes handed on.
    unpacked: u64,
    failed: Option<BodyError>,
}

#[derive(Debug)]
enum Source<'w, 's> {
    Plain(Raw<'w, 's>),
    Gzip(Box<Unpacking<Raw<'w, 's>>>),
}

impl<'w, 's> Body<'w, 's> {
    pub(crate) fn new(wire: &'w mut Wire<'s>, request: &Request, limits: &'w Limits) -> Self {
        let place = match request.framing {
            Framing::None => Place::Left(0),
            Framing::Length(bytes) => Place::Left(bytes),
            Framing::Chunked => Place::Chunks(Chunks::default()),
        };
        let raw = Raw {
            wire,
            limits,
            place,
            ready: 0,
            received: 0,
            window_ns: 0,
            window_bytes: 0,
            held_bytes: 0,
            asks: request.expects_continue,
        };
        let from = match request.encoding {
            Encoding::Gzip => Source::Gzip(Box::new(Unpacking::new(raw))),
            Encoding::Plain | Encoding::Other(_) => Source::Plain(raw),
        };
        Body { from, limit_bytes: limits.body_bytes, unpacked: 0, failed: None }
    }

    /// The next bytes of the body, unpacked if it was gzip; 0 at its end. Waits for the client, for as long
    /// as the limits say.
    ///
    /// # Errors
    /// It does not come, is too large, or is not what it is said to be; the same from then on.
    pub fn read(&mut self, into: &mut [u8]) -> Result<usize, BodyError> {
        if let Some(failed) = &self.failed {
            return Err(failed.clone());
        }
        let read = match &mut self.from {
            Source::Plain(raw) => raw.read(into).map_err(gzip::fault),
            Source::Gzip(packed) => gzip::read(packed, into),
        };
        let read = read.and_then(|count| {
            self.unpacked = self.unpacked.saturating_add(count as u64);
            let too_large = self.unpacked > self.limit_bytes;
            if too_large {
                Err(BodyError::TooLarge { limit_bytes: self.limit_bytes })
            } else {
                Ok(count)
            }
        });
        read.inspect_err(|error| self.failed = Some(error.clone()))
    }

    /// The whole body, if it has at most so many bytes.
    ///
    /// # Errors
    /// As [`Body::read`], or it has more.
    pub fn read_whole(&mut self, limit_bytes: usize) -> Result<Vec<u8>, BodyError> {
        let (mut found, mut piece) = (Vec::new(), vec![0; limit_bytes.clamp(1, 16 << 10)]);
        loop {
            let count = self.read(&mut piece)?;
            if count == 0 {
                return Ok(found);
            }
            if found.len() + count > limit_bytes {
                return Err(BodyError::TooLarge { limit_bytes: limit_bytes as u64 });
            }
            found.extend_from_slice(piece.get(..count).unwrap_or_default());
        }
    }

    /// So many bytes of it are held in memory: the rest must come faster, the more that is.
    pub fn holds(&mut self, bytes: u64) {
        match &mut self.from {
            Source::Plain(raw) => raw.held_bytes = bytes,
            // The rate is that of what comes, which is less.
            Source::Gzip(packed) => {
                let raw = packed.get_mut();
                raw.held_bytes = bytes.min(raw.received);
            }
        }
    }

    /// How many bytes it says it has, as they come.
    #[must_use]
    pub fn said_bytes(&self) -> Option<u64> {
        match &self.raw().place {
            Place::Left(left) => Some(*left),
            Place::Chunks(_) => None,
        }
    }

    /// Whether the client was too slow.
    pub(crate) fn has_stalled(&self) -> bool {
        matches!(self.failed, Some(BodyError::Stalled { .. }))
    }

    fn raw(&self) -> &Raw<'w, 's> {
        match &self.from {
            Source::Plain(raw) => raw,
            Source::Gzip(packed) => packed.get_ref(),
        }
    }

    /// Reads over what is left, if that is little. Whether another request can follow.
    pub(crate) fn read_over(self, for_ns: u64) -> bool {
        let until_ns = clock::monotonic_ns().saturating_add(for_ns);
        let whole = self.failed.is_none();
        let mut raw = match self.from {
            Source::Plain(raw) => raw,
            Source::Gzip(packed) => packed.into_inner(),
        };
        // A client that waits to be asked for its body sends none now.
        if !whole || (raw.asks && !raw.is_at_end()) {
            return false;
        }
        let mut left = READ_OVER_BYTES_MAX;
        loop {
            match raw.fill_buf().map(<[u8]>::len) {
                Ok(0) => return true,
                // It sends so slowly that the place is better given to somebody else.
                Ok(_) if clock::monotonic_ns() > until_ns => return false,
                Ok(count) if count as u64 <= left => {
                    left -= count as u64;
                    raw.consume(count);
                }
                Ok(_) | Err(_) => return false,
            }
        }
    }
}

/// Where in the body the next bytes are.
#[derive(Debug)]
enum Place {
    Left(u64),
    Chunks(Chunks),
}

/// The bytes as they come, without what is around chunks.
#[derive(Debug)]
struct Raw<'w, 's> {
    wire: &'w mut Wire<'s>,
    limits: &'w Limits,
    place: Place,
    /// Bytes of the body at the front of what has come.
    ready: usize,
    received: u64,
    /// Since the rate was judged: how long the client was waited for, and what has come.
    window_ns: u64,
    window_bytes: u64,
    held_bytes: u64,
    /// The client waits to be asked for it.
    asks: bool,
}

impl<'s> Raw<'_, 's> {
    fn is_at_end(&self) -> bool {
        matches!(self.place, Place::Left(0))
    }

    /// Says that the body is wanted, if the client waits for that and has sent nothing.
    fn ask(&mut self) -> Result<(), BodyError> {
        if std::mem::take(&mut self.asks) {
            let sent = self.wire.write(b"HTTP/1.1 100 Continue\r\n\r\n", self.limits.stall_ns);
            sent.map_err(|_| BodyError::Gone)?;
        }
        Ok(())
    }

    /// Waits for more by `read`.
    fn wait(
        &mut self,
        read: impl FnOnce(&mut Wire<'s>, u64) -> io::Result<usize>,
    ) -> Result<usize, BodyError> {
        self.ask()?;
        let stall_ns = self.limits.stall_ns;
        let begun_ns = clock::monotonic_ns();
        let found = read(self.wire, stall_ns);
        self.window_ns += clock::monotonic_ns().saturating_sub(begun_ns);
        match found {
            Ok(0) => Err(BodyError::Gone),
            Ok(count) => {
                self.window_bytes = self.window_bytes.saturating_add(count as u64);
                if self.window_ns > stall_ns {
                    self.judge()?;
                }
                Ok(count)
            }
            Err(error) if error.kind() == ErrorKind::TimedOut => {
                Err(BodyError::Stalled { waited_ns: stall_ns })
            }
            Err(_) => Err(BodyError::Gone),
        }
    }

    /// Whether as much has come as had to, since this was last asked.
    fn judge(&mut self) -> Result<(), BodyError> {
        let window_ns = std::mem::take(&mut self.window_ns);
        let came = std::mem::take(&mut self.window_bytes);
        let bytes_per_s = self.limits.body_bytes_per_s.max(self.held_bytes / HELD_S);
        let expected = u128::from(bytes_per_s) * u128::from(window_ns) / 1_000_000_000;
        match u128::from(came) < expected {
            true => Err(BodyError::Stalled { waited_ns: window_ns }),
            false => Ok(()),
        }
    }

    fn count(&mut self, bytes: usize) -> Result<(), BodyError> {
        self.received = self.received.saturating_add(bytes as u64);
        let limit_bytes = self.limits.body_bytes;
        if self.received > limit_bytes { Err(BodyError::TooLarge { limit_bytes }) } else { Ok(()) }
    }

    /// Makes some bytes of the body the first that have come, unless it has ended.
    fn advance(&mut self) -> Result<(), BodyError> {
        while self.ready == 0 {
            let buffered = self.wire.buffered();
            match &mut self.place {
                Place::Left(0) => return Ok(()),
                Place::Left(left) if !buffered.is_empty() => {
                    let left = usize::try_from(*left).unwrap_or(usize::MAX);
                    self.ready = buffered.len().min(left);
                }
                Place::Left(_) => {
                    self.wait(|wire, timeout_ns| wire.fill(timeout_ns))?;
                }
                Place::Chunks(chunks) => match chunks.next(buffered) {
                    Ok(Next::Skip(count)) => self.wire.take(count),
                    Ok(Next::Data(count)) => {
                        self.ready = count;
                        self.count(count)?;
                    }
                    Ok(Next::More) => {
                        self.wait(|wire, timeout_ns| wire.fill(timeout_ns))?;
                    }
                    Ok(Next::End) => {
                        self.place = Place::Left(0);
                        return Ok(());
                    }
                    Err(said) => return Err(BodyError::Malformed(said.to_owned())),
                },
            }
        }
        Ok(())
    }

    /// Straight into a large buffer, where nothing is held here and the end is known.
    fn read_past(&mut self, into: &mut [u8]) -> Option<Result<usize, BodyError>> {
        let Place::Left(left) = self.place else { return None };
        let room = into.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        if self.ready > 0 || room < PAST_BYTES || !self.wire.buffered().is_empty() {
            return None;
        }
        let into = into.get_mut(..room)?;
        let read = self.wait(|wire, timeout_ns| wire.read_past(into, timeout_ns));
        Some(read.and_then(|count| {
            self.place = Place::Left(left.saturating_sub(count as u64));
            self.count(count)?;
            Ok(count)
        }))
    }
}

impl BufRead for Raw<'_, '_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.advance().map_err(io::Error::other)?;
        Ok(self.wire.buffered().get(..self.ready).unwrap_or_default())
    }

    fn consume(&mut self, count: usize) {
        let count = count.min(self.ready);
        self.ready -= count;
        self.wire.take(count);
        if let Place::Left(left) = &mut self.place {
            *left = left.saturating_sub(count as u64);
            self.received = self.received.saturating_add(count as u64);
        }
    }
}

impl Read for Raw<'_, '_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if let Some(read) = self.read_past(into) {
            return read.map_err(io::Error::other);
        }
        let from = self.fill_buf()?;
        let count = from.len().min(into.len());
        let (Some(from), Some(into)) = (from.get(..count), into.get_mut(..count)) else {
            return Ok(0);
        };
        into.copy_from_slice(from);
        self.consume(count);
        Ok(count)
    }
}
