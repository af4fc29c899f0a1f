//! The head of a request: which bytes it is, what it asks for, and where its body ends. Pure.
//!
//! `httparse` reads lines and headers. What it lets pass and others read otherwise is refused here, since
//! a proxy that reads a request in another way than its server lets clients speak in each other's names.
//!
//! Invariant: of any bytes there is one reading or a refusal. Held by `what_can_be_read_in_two_ways_is_refused`.

use crate::query::{Query, decoded};
use std::net::IpAddr;

/// How a body is packed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Not at all.
    Plain,
    /// By gzip: [`Body::read`](crate::Body::read) unpacks it.
    Gzip,
    /// In another way, by its name in small letters; the body is read as it comes.
    Other(String),
}

/// Where a body ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// There is none.
    None,
    /// After so many bytes.
    Length(u64),
    /// With a chunk of 0 bytes.
    Chunked,
}

/// A request without its body.
#[derive(Clone, Debug)]
pub struct Request {
    /// `GET`, `POST` and so on.
    pub method: String,
    /// The path, decoded, without what is behind its question mark.
    pub path: String,
    /// What is behind it.
    pub query: Query,
    /// How the body is packed.
    pub encoding: Encoding,
    /// Who asks; of an IPv6 address its network of 64 bits. Set by the server.
    pub from: Option<IpAddr>,
    headers: Vec<(String, String)>,
    pub(crate) framing: Framing,
    pub(crate) keeps_alive: bool,
    pub(crate) expects_continue: bool,
}

/// Why a head is refused: a status, and what was expected and found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The status of the answer.
    pub status: u16,
    /// What was expected, and what was found.
    pub said: String,
}

fn refused<T>(status: u16, said: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal { status, said: said.into() })
}

impl Request {
    /// The first header of this name, in any letters.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(own, _)| own.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }
}

/// Where the head ends that `bytes` begin with, if it does; `from`: nothing before ends it, as is known.
///
/// # Errors
/// A line ends with a line feed alone: some take it for an end, others do not.
pub fn end(bytes: &[u8], from: usize) -> Result<Option<usize>, Refusal> {
    for at in from..bytes.len() {
        if bytes[at] != b'\n' {
            continue;
        }
        if at == 0 || bytes[at - 1] != b'\r' {
            return refused(400, "expected lines that end with CR LF, found one with LF alone");
        }
        if bytes[..at].ends_with(b"\r\n\r") {
            return Ok(Some(at + 1));
        }
    }
    Ok(None)
}

/// Reads a whole head; `headers_max`: more headers are refused.
///
/// # Errors
/// It is no head, or one that can be read in two ways.
pub fn parse(bytes: &[u8], headers_max: usize) -> Result<Request, Refusal> {
    let mut headers = vec![httparse::EMPTY_HEADER; headers_max];
    let mut parsed = httparse::Request::new(&mut headers);
    match parsed.parse(bytes) {
        Ok(httparse::Status::Complete(length)) if length == bytes.len() => {}
        Err(httparse::Error::TooManyHeaders) => {
            return refused(431, format!("expected at most {headers_max} headers, found more"));
        }
        Err(httparse::Error::Version) => {
            return refused(505, "expected HTTP/1.1 or HTTP/1.0, found another version");
        }
        Ok(_) | Err(_) => return refused(400, "expected a request of HTTP/1.1, found other bytes"),
    }
    let (Some(method), Some(target), Some(minor)) = (parsed.method, parsed.path, parsed.version)
    else {
        return refused(400, "expected a request of HTTP/1.1, found a part of one");
    };
    let mut own = Vec::with_capacity(parsed.headers.len());
    for header in parsed.headers.iter() {
        let Ok(value) = str::from_utf8(header.value) else {
            return refused(400, format!("expected UTF-8 in the header {}", header.name));
        };
        own.push((header.name.to_owned(), value.trim_matches([' ', '\t']).to_owned()));
    }
    of(method, target, minor >= 1, own)
}

fn of(
    method: &str,
    target: &str,
    is_1_1: bool,
    headers: Vec<(String, String)>,
) -> Result<Request, Refusal> {
    let all = |name: &'static str| {
        headers
            .iter()
            .filter(move |(own, _)| own.eq_ignore_ascii_case(name))
            .map(|(_, v)| v.as_str())
    };
    match all("host").count() {
        0 if is_1_1 => return refused(400, "expected a header Host, found none"),
        0 | 1 => {}
        _ => return refused(400, "expected one header Host, found several"),
    }
    if all("authorization").count() > 1 {
        return refused(400, "expected one header Authorization, found several");
    }
    let framing = framing(
        is_1_1,
        &all("content-length").collect::<Vec<_>>(),
        &all("transfer-encoding").collect::<Vec<_>>(),
    )?;
    // Without a length nobody knows whether one follows, and none would be read (RFC 1945 section 8.3).
    if !is_1_1 && framing == Framing::None && matches!(method, "POST" | "PUT" | "PATCH") {
        return refused(
            411,
            format!("expected Content-Length in {method} of HTTP/1.0, found none"),
        );
    }
    // Of a target with a scheme the host is passed over.
    let target = match target.split_once("://") {
        Some((scheme, rest)) if !scheme.contains('/') => {
            rest.find('/').map_or("/", |slash| &rest[slash..])
        }
        _ => target,
    };
    if !target.starts_with('/') {
        return refused(400, "expected a path that begins with /, found another target");
    }
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let has = |name: &'static str, word: &str| {
        all(name)
            .flat_map(|value| value.split(','))
            .any(|one| one.trim().eq_ignore_ascii_case(word))
    };
    let keeps_alive = match is_1_1 {
        true => !has("connection", "close"),
        false => has("connection", "keep-alive"),
    };
    let expects_continue = match all("expect").next() {
        None => false,
        Some(expected) if expected.eq_ignore_ascii_case("100-continue") => is_1_1,
        Some(_) => return refused(417, "expected Expect: 100-continue, found another expectation"),
    };
    let encoding = match all("content-encoding").collect::<Vec<_>>().as_slice() {
        [] => Encoding::Plain,
        [one] => match one.to_ascii_lowercase().as_str() {
            "" | "identity" => Encoding::Plain,
            "gzip" | "x-gzip" => Encoding::Gzip,
            other => Encoding::Other(other.to_owned()),
        },
        _ => return refused(415, "expected one header Content-Encoding, found several"),
    };
    Ok(Request {
        method: method.to_owned(),
        path: decoded(path, false),
        query: Query::parse(query).or_else(|said| refused(400, said))?,
        encoding,
        from: None,
        framing,
        keeps_alive,
        expects_continue,
        headers,
    })
}

/// Where the body ends, if all readers agree on that.
fn framing(is_1_1: bool, lengths: &[&str], codings: &[&str]) -> Result<Framing, Refusal> {
    match (lengths, codings) {
        ([], []) => Ok(Framing::None),
        ([_, ..], [_, ..]) => refused(
            400,
            "expected Content-Length or Transfer-Encoding, found both: nobody can tell where the body \
             ends",
        ),
        ([], [coding]) if coding.eq_ignore_ascii_case("chunked") && is_1_1 => Ok(Framing::Chunked),
        ([], [_]) if !is_1_1 => {
            refused(400, "expected no Transfer-Encoding in HTTP/1.0, found one")
        }
        ([], [_]) => refused(501, "expected Transfer-Encoding: chunked, found another one"),
        ([], _) => refused(400, "expected one header Transfer-Encoding, found several"),
        ([length], []) => {
            let digits = !length.is_empty() && length.bytes().all(|byte| byte.is_ascii_digit());
            match length.parse() {
                Ok(bytes) if digits => Ok(Framing::Length(bytes)),
                _ => {
                    refused(400, "expected Content-Length as one plain number, found another text")
                }
            }
        }
        _ => refused(400, "expected one header Content-Length, found several"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Request, Refusal> {
        let length = end(text.as_bytes(), 0)?.expect("it ends");
        parse(&text.as_bytes()[..length], 8)
    }

    fn status(lines: &str) -> u16 {
        match read(&format!("POST /write HTTP/1.1\r\nHost: a\r\n{lines}\r\n\r\n")) {
            Ok(_) => 200,
            Err(refusal) => refusal.status,
        }
    }

    #[test]
    fn a_request_is_read() {
        let found = read(
            "POST /api/v2%2Fwrite?bucket=a%20b&precision=ms HTTP/1.1\r\nHost: a\r\nContent-Encoding: \
             GZIP\r\ncontent-length: 17\r\nAuthorization:  Token x \r\nExpect: 100-Continue\r\n\r\n",
        )
        .unwrap();
        assert_eq!((found.method.as_str(), found.path.as_str()), ("POST", "/api/v2/write"));
        assert_eq!(found.query.get("bucket"), Some("a b"));
        assert_eq!((found.framing, found.encoding.clone()), (Framing::Length(17), Encoding::Gzip));
        assert_eq!(found.header("authorization"), Some("Token x"));
        assert!(found.keeps_alive && found.expects_continue);
        let old = read("GET http://a:1/x HTTP/1.0\r\n\r\n").unwrap();
        assert_eq!((old.path.as_str(), old.keeps_alive), ("/x", false));
        let closes = "GET /x HTTP/1.1\r\nHost: a\r\nConnection: a, Close\r\n\r\n";
        assert!(!read(closes).unwrap().keeps_alive);
    }

    #[test]
    fn what_can_be_read_in_two_ways_is_refused() {
        assert_eq!(status("Content-Length: 5"), 200);
        assert_eq!(status("Transfer-Encoding: Chunked"), 200);
        for lines in [
            "Content-Length: 5\r\nTransfer-Encoding: chunked",
            "Content-Length: 5\r\nContent-Length: 5",
            "Content-Length: 5\r\ncontent-length: 6",
            "Content-Length: 5, 5",
            "Content-Length: +5",
            "Content-Length: -1",
            "Content-Length: 0x5",
            "Content-Length: 5 5",
            "Content-Length:",
            "Content-Length: 99999999999999999999",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
            "Content-Length : 5",
            "X: a\r\n Content-Length: 5",
            "X: a\r\n\tb",
            "X: a\rContent-Length: 5",
            "X: a\0b",
            "Host: b",
            "Authorization: Token a\r\nauthorization: Token b",
            "a b: c",
            ": c",
        ] {
            assert_eq!(status(lines), 400, "{lines:?}");
        }
        for lines in [
            "Transfer-Encoding: gzip",
            "Transfer-Encoding: chunked, chunked",
            "Transfer-Encoding: xchunked",
        ] {
            assert_eq!(status(lines), 501, "{lines:?}");
        }
        for text in ["GET / HTTP/1.1\nHost: a\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\n\n", "\nGET /"]
        {
            assert_eq!(end(text.as_bytes(), 0).unwrap_err().status, 400, "{text:?}");
        }
        let other = |text: &str| read(text).map(|_| 200).unwrap_or_else(|refusal| refusal.status);
        assert_eq!(other("GET / HTTP/1.1\r\n\r\n"), 400, "no host");
        assert_eq!(other("GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"), 400);
        assert_eq!(other("POST / HTTP/1.0\r\n\r\n"), 411);
        assert_eq!(other("POST / HTTP/1.0\r\nContent-Length: 0\r\n\r\n"), 200);
        assert_eq!(other("GET / HTTP/3.0\r\nHost: a\r\n\r\n"), 505);
        assert_eq!(other("PRI * HTTP/2.0\r\n\r\n"), 505);
        assert_eq!(other("CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n"), 400);
        assert_eq!(
            other(&format!("GET / HTTP/1.1\r\nHost: a\r\n{}\r\n", "A: b\r\n".repeat(8))),
            431
        );
        assert_eq!(status("Expect: 200"), 417);
        assert_eq!(status("Content-Encoding: gzip\r\nContent-Encoding: br"), 415);
    }

    #[test]
    fn a_head_ends_wherever_it_is_cut() {
        let text = b"GET / HTTP/1.1\r\nHost: a\r\n\r\nrest";
        for cut in 0..=text.len() {
            let found = end(&text[..cut], 0).unwrap();
            assert_eq!(found, (cut >= 27).then_some(27), "{cut}");
            assert_eq!(end(text, cut.min(26)).unwrap(), Some(27), "{cut}");
        }
    }
}
