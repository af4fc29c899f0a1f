//! How large the body of a request may be, which is held whole: what a resource is may come behind its points.

use crate::flight::Flight;
use baro_sources::otlp::JSON_FACTOR;

/// Bytes of a body, unpacked: what the protocol wants a server to take.
const BODY_BYTES_MAX: usize = 20 << 20;
/// The same of JSON, of which a message is made.
const JSON_BYTES_MAX: usize = 8 << 20;
/// Of all memory for requests a body may have this part, so that it has room with what is made of it: else it
/// would be told to come again for ever.
const PART: u64 = 3;
const JSON_PART: u64 = 8;
/// What is made of a request before it is pushed.
const MADE_BYTES: usize = 1 << 20;
/// What a text takes that is made a message: itself, the message, and a string of it without its escapes.
const JSON_TIMES: u64 = JSON_FACTOR as u64 + 2;

/// Bytes that a body may have, and what says so where that is no limit of the form itself.
pub(super) fn limit_bytes(flight: &Flight, is_json: bool) -> (usize, &'static str) {
    let (most, part, of) = match is_json {
        true => (JSON_BYTES_MAX, JSON_PART, " (an eighth of --in-flight)"),
        false => (BODY_BYTES_MAX, PART, " (a third of --in-flight)"),
    };
    let bytes = usize::try_from(flight.max_bytes() / part).unwrap_or(usize::MAX);
    if bytes < most { (bytes, of) } else { (most, "") }
}

/// What is made of a request before it is pushed: less where there is little memory in all.
pub(super) fn made_bytes(flight: &Flight) -> usize {
    MADE_BYTES.min(usize::try_from(flight.max_bytes() / JSON_PART).unwrap_or(usize::MAX))
}

/// What a text that is made a message takes.
pub(super) fn json_bytes(text: &[u8]) -> u64 {
    text.len() as u64 * JSON_TIMES
}
