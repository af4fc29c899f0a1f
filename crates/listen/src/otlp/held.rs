//! The body of a request, held whole: what a resource is may come behind its points.
//!
//! Memory is taken as bytes come, and for what is made of them before it is made.

use crate::flight::{Flight, NoMemory, Share};
use crate::sink::Overload;
use baro_net::{Body, BodyError};
use baro_sources::otlp::JSON_FACTOR;

/// Bytes of a body, unpacked: what the protocol wants a server to take.
const BODY_BYTES_MAX: usize = 20 << 20;
/// The same of JSON, of which a message is made.
const JSON_BYTES_MAX: usize = 8 << 20;
/// Of all memory for requests a body may have this part, so that it has room with what is made of it: else it
/// would be told to come again for ever.
const PART: u64 = 3;
const JSON_PART: u64 = 8;
/// What is read at first; it doubles.
const FIRST_BYTES: usize = 16 << 10;
/// What a text takes that is made a message: itself, the message, and a string of it without its escapes.
const JSON_TIMES: u64 = JSON_FACTOR as u64 + 2;

/// Why there is no body.
pub(super) enum Ended {
    Overload(Overload),
    Body(BodyError),
}

impl From<NoMemory> for Ended {
    fn from(none: NoMemory) -> Self {
        Ended::Overload(none.into())
    }
}

impl From<BodyError> for Ended {
    fn from(error: BodyError) -> Self {
        Ended::Body(error)
    }
}

/// Bytes that a body may have.
pub(super) fn limit_bytes(flight: &Flight, is_json: bool) -> usize {
    let (most, part) = if is_json { (JSON_BYTES_MAX, JSON_PART) } else { (BODY_BYTES_MAX, PART) };
    most.min(usize::try_from(flight.max_bytes() / part).unwrap_or(usize::MAX))
}

/// Reads a body of at most so many bytes.
pub(super) fn read(
    body: &mut Body<'_, '_>,
    limit_bytes: usize,
    share: &mut Share<'_>,
) -> Result<Vec<u8>, Ended> {
    let (mut held, mut filled) = (Vec::new(), 0);
    while filled <= limit_bytes {
        if filled == held.len() {
            // One byte more than there may be, to know that there is more.
            let next = (held.len() * 2).max(FIRST_BYTES).min(limit_bytes.saturating_add(1));
            // Both are there while one is copied into the other.
            share.grow_to((held.len() + next) as u64)?;
            held.reserve_exact(next.saturating_sub(held.len()));
            held.resize(next, 0);
        }
        match body.read(held.get_mut(filled..).unwrap_or_default())? {
            0 => {
                held.truncate(filled);
                return Ok(held);
            }
            count => filled += count,
        }
    }
    Err(BodyError::TooLarge { limit_bytes: limit_bytes as u64 }.into())
}

/// What a text that is made a message takes.
pub(super) fn json_bytes(text: &[u8]) -> u64 {
    text.len() as u64 * JSON_TIMES
}
