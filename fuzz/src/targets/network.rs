//! What comes over the network: requests of HTTP with chunked bodies, and messages of remote write.

use crate::Target;
use baro_net::chunked::{Chunks, Next};
use baro_net::head;
use baro_sources::remote_write::{Series, Version, read};

pub(crate) const HTTP: Target = Target {
    name: "http",
    fuzz_one: http,
    seeds: || {
        let begin = "POST /write?db=a%20b&u=x HTTP/1.1\r\nHost: a\r\n";
        let ends = [
            "Authorization: Basic dXNlcjpiYXJvXzE=\r\nContent-Length: 5\r\n\r\nm v=1",
            "Transfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n5;a=b\r\nm v=1\r\n0\r\nX: y\r\n\r\n",
        ];
        ends.map(|end| format!("{begin}{end}").into_bytes()).to_vec()
    },
    fix_up: |_| {},
};

pub(crate) const REMOTE_WRITE: Target = Target {
    name: "remote_write",
    fuzz_one: remote_write,
    seeds: || vec![ONE_SEED.to_vec(), TWO_SEED.to_vec()],
    fix_up: |_| {},
};

/// `up{job="a"}` with one sample.
const ONE_SEED: &[u8] = b"\x0a\x2b\x0a\x0e\x0a\x08__name__\x12\x02up\x0a\x08\x0a\x03job\x12\x01a\
                          \x12\x0f\x09\0\0\0\0\0\0\xf8\x3f\x10\x80\x80\x80\x80\x01";
/// The same with its strings before it.
const TWO_SEED: &[u8] =
    b"\x22\0\x22\x08__name__\x22\x02up\x22\x03job\x22\x01a\x2a\x13\x0a\x04\x01\x02\x03\x04\
                          \x12\x0b\x09\0\0\0\0\0\0\xf8\x3f\x10\x05";

/// A head ends in the same place wherever it is cut, and a chunked body is the same.
fn http(bytes: &[u8]) {
    let whole = head::end(bytes, 0);
    let half = bytes.len() / 2;
    if let Ok(None) = head::end(&bytes[..half], 0) {
        assert_eq!(head::end(bytes, half), whole, "a head ends where it was cut");
    }
    let Ok(Some(length)) = whole else { return };
    if let Ok(request) = head::parse(&bytes[..length], 64) {
        let _ = baro_net::tokens::presented(&request);
    }
    let rest = &bytes[length..];
    let once = chunked(&[rest]);
    let (first, second) = rest.split_at(rest.len() / 2);
    assert_eq!(chunked(&[first, second]), once, "a body depends on how it is cut");
}

fn chunked(pieces: &[&[u8]]) -> Result<(Vec<u8>, bool), &'static str> {
    let (mut chunks, mut body) = (Chunks::default(), Vec::new());
    for piece in pieces {
        let mut left = *piece;
        loop {
            match chunks.next(left)? {
                Next::Skip(count) => left = &left[count..],
                Next::Data(count) => {
                    body.extend_from_slice(&left[..count]);
                    left = &left[count..];
                }
                Next::More => break,
                Next::End => return Ok((body, true)),
            }
        }
    }
    Ok((body, false))
}

/// Both versions; names are canonical.
fn remote_write(bytes: &[u8]) {
    for version in [Version::One, Version::Two] {
        let mut names = baro_ondisk::NameParser::new();
        let _ = read::<()>(bytes, version, |_, series| {
            if let Ok(series) = series {
                let _ = series.samples().count();
                let Series { name, .. } = series;
                assert_eq!(names.canonical(name), name, "a name has another canonical form");
            }
            Ok(())
        });
    }
}
