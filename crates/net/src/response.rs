//! An answer: a status, headers, a body of which the length is known.

use crate::date::date;
use crate::room::Held;
use baro_sys::clock;

/// Bodies up to here are copied behind their head.
const SMALL_BYTES: usize = 16 << 10;

/// An answer.
#[derive(Debug)]
pub struct Response {
    /// The status.
    pub status: u16,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
    pub(crate) closes: bool,
    /// Given back when the answer is sent.
    held: Option<Held>,
}

impl Response {
    /// Without a body.
    #[must_use]
    pub fn empty(status: u16) -> Self {
        Response { status, headers: Vec::new(), body: Vec::new(), closes: false, held: None }
    }

    /// With a body of this type.
    #[must_use]
    pub fn of(status: u16, kind: &'static str, body: impl Into<Vec<u8>>) -> Self {
        let headers = vec![("Content-Type", kind.to_owned())];
        Response { status, headers, body: body.into(), closes: false, held: None }
    }

    /// With a body of JSON, as it stands.
    #[must_use]
    pub fn json(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Response::of(status, "application/json", body)
    }

    /// `{"error":"..."}`.
    #[must_use]
    pub fn error(status: u16, said: &str) -> Self {
        Response::json(status, format!("{{\"error\":{}}}\n", quoted(said)))
    }

    /// With another header. What is no part of a header's value becomes a space.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        let value: String = value.into();
        let value = value.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        self.headers.push((name, value));
        self
    }

    /// The connection is closed behind it.
    #[must_use]
    pub fn closing(mut self) -> Self {
        self.closes = true;
        self
    }

    /// Holds room until it is sent.
    #[must_use]
    pub fn holding(mut self, held: Option<Held>) -> Self {
        self.held = held;
        self
    }

    /// With a smaller body; the room of the other is given back.
    pub(crate) fn with_body(mut self, body: Vec<u8>) -> Self {
        if let Some(held) = &mut self.held {
            held.shrink(body.len() as u64);
        }
        self.body = body;
        self
    }

    /// Bytes of the body.
    #[must_use]
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// As it is sent; `without_body`: as the answer to HEAD. A small body is behind the head, so that both are one
    /// packet; a large one stays where it is, and is what is left to send.
    pub(crate) fn bytes(&self, without_body: bool, closes: bool) -> (Vec<u8>, &[u8]) {
        let status = self.status;
        let now_s = clock::realtime_ns().div_euclid(1_000_000_000);
        let mut head = format!("HTTP/1.1 {status} {}\r\nDate: {}\r\n", reason(status), date(now_s));
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        // With these there is none, and no length of it.
        let without_body = without_body || matches!(status, 101 | 204 | 304);
        if !matches!(status, 101 | 204 | 304) {
            head.push_str(&format!("Content-Length: {}\r\n", self.body.len()));
        }
        if closes {
            head.push_str("Connection: close\r\n");
        }
        head.push_str("\r\n");
        let mut bytes = head.into_bytes();
        match self.body.as_slice() {
            _ if without_body => (bytes, &[]),
            small if small.len() <= SMALL_BYTES => {
                bytes.extend_from_slice(small);
                (bytes, &[])
            }
            large => (bytes, large),
        }
    }
}

/// A text as JSON has it.
#[must_use]
pub fn quoted(text: &str) -> String {
    let mut found = String::with_capacity(text.len() + 2);
    found.push('"');
    for c in text.chars() {
        match c {
            '"' => found.push_str("\\\""),
            '\\' => found.push_str("\\\\"),
            '\n' => found.push_str("\\n"),
            c if c < ' ' => found.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => found.push(c),
        }
    }
    found.push('"');
    found
}

fn reason(status: u16) -> &'static str {
    match status {
        101 => "Switching Protocols",
        200 => "OK",
        204 => "No Content",
        304 => "Not Modified",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        411 => "Length Required",
        413 => "Content Too Large",
        415 => "Unsupported Media Type",
        417 => "Expectation Failed",
        422 => "Unprocessable Content",
        426 => "Upgrade Required",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        503 => "Service Unavailable",
        505 => "HTTP Version Not Supported",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_has_its_length_and_no_header_that_a_client_wrote() {
        let answer = Response::error(400, "a \"b\"\n\u{1}").with("X-Said", "a\r\nX: b");
        let text = String::from_utf8(answer.bytes(false, true).0).unwrap();
        assert!(text.starts_with("HTTP/1.1 400 Bad Request\r\nDate: "), "{text}");
        assert!(text.contains("X-Said: a  X: b\r\n"), "{text}");
        assert!(text.contains("Content-Length: 28\r\nConnection: close\r\n"), "{text}");
        assert!(text.ends_with("\r\n\r\n{\"error\":\"a \\\"b\\\"\\n\\u0001\"}\n"), "{text}");
        assert!(answer.bytes(true, false).0.ends_with(b"\r\n\r\n"));
        let none = String::from_utf8(Response::empty(204).bytes(false, false).0).unwrap();
        assert!(!none.contains("Content-Length"), "{none}");
        let other = String::from_utf8(Response::empty(101).bytes(false, false).0).unwrap();
        assert!(other.starts_with("HTTP/1.1 101 Switching Protocols\r\n"), "{other}");
        assert!(!other.contains("Content-Length"), "{other}");
    }
}
