//! The body of a request that is held whole. Memory is taken as bytes come, whatever the client says it will send:
//! one that sends little takes no room from others, and one that has sent much must go on fast.

use crate::flight::{NoMemory, Share};
use crate::sink::Overload;
use baro_net::{Body, BodyError};

/// What is read at first; it doubles.
const FIRST_BYTES: usize = 16 << 10;

/// Why nothing more is taken of a request.
pub(crate) enum Ended {
    Overload(Overload),
    Body(BodyError),
    /// What is in the body: a status, and why.
    Refused(u16, String),
}

impl From<Overload> for Ended {
    fn from(overload: Overload) -> Self {
        Ended::Overload(overload)
    }
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

/// Reads a body of at most `limit_bytes`; `beside_bytes`: what is taken beside it.
pub(crate) fn read(
    body: &mut Body<'_, '_>,
    limit_bytes: usize,
    beside_bytes: u64,
    share: &mut Share<'_>,
) -> Result<Vec<u8>, Ended> {
    let (mut held, mut filled) = (Vec::new(), 0);
    while filled <= limit_bytes {
        if filled == held.len() {
            // One byte more than there may be, to know that there is more.
            let next = (held.len() * 2).max(FIRST_BYTES).min(limit_bytes.saturating_add(1));
            // Both are there while one is copied into the other.
            share.hold(beside_bytes + (held.len() + next) as u64)?;
            held.reserve_exact(next.saturating_sub(held.len()));
            held.resize(next, 0);
            share.hold(beside_bytes + next as u64)?;
        }
        match body.read(held.get_mut(filled..).unwrap_or_default())? {
            0 => {
                held.truncate(filled);
                return Ok(held);
            }
            count => filled += count,
        }
        body.holds(filled as u64);
    }
    Err(BodyError::TooLarge { limit_bytes: limit_bytes as u64 }.into())
}
