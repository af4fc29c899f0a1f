//! Answers packed with gzip, for clients that say that they take it.

use crate::head::Request;
use crate::response::Response;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;

/// Smaller bodies are sent as they are: what is saved is no packet.
const PACKED_FROM_BYTES: usize = 1_024;

impl Response {
    /// Packs the body if the client takes gzip and it becomes smaller. What the plain body took is free then.
    #[must_use]
    pub fn packed_for(mut self, request: &Request) -> Self {
        if self.body().len() < PACKED_FROM_BYTES {
            return self;
        }
        self = self.with("Vary", "Accept-Encoding");
        if !takes_gzip(request.header("Accept-Encoding").unwrap_or_default()) {
            return self;
        }
        let mut packing = GzEncoder::new(Vec::new(), Compression::fast());
        let packed = packing.write_all(self.body()).and_then(|()| packing.finish());
        match packed {
            Ok(packed) if packed.len() < self.body().len() => {
                self.with_body(packed).with("Content-Encoding", "gzip")
            }
            _ => self,
        }
    }
}

/// Whether a list such as `deflate, gzip;q=0.8` takes gzip. `*` is not looked at: nobody sends it alone.
fn takes_gzip(list: &str) -> bool {
    list.split(',').any(|one| {
        let mut words = one.split(';').map(str::trim);
        let is_gzip = words.next().is_some_and(|name| {
            name.eq_ignore_ascii_case("gzip") || name.eq_ignore_ascii_case("x-gzip")
        });
        // `q=0` says that it is not taken.
        let weight = words.find_map(|word| word.strip_prefix("q=").or(word.strip_prefix("Q=")));
        is_gzip && weight.is_none_or(|weight| weight.trim().parse::<f32>().is_ok_and(|q| q > 0.0))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::head::parse;
    use flate2::read::GzDecoder;
    use std::io::Read;

    #[test]
    fn an_answer_is_packed_for_who_takes_it() {
        let told = |accepts: &str, body: &str| {
            let head = format!("GET / HTTP/1.1\r\nHost: a\r\n{accepts}\r\n");
            let request = parse(head.as_bytes(), 8).unwrap();
            let response = Response::json(200, body).packed_for(&request);
            let head = String::from_utf8_lossy(&response.bytes(true, false).0).into_owned();
            (head, response)
        };
        let body = "[1700000000,\"0.5\"],".repeat(10_000);
        let (head, packed) = told("Accept-Encoding: gzip\r\n", &body);
        assert!(head.contains("Content-Encoding: gzip") && head.contains("Vary: Accept-Encoding"));
        assert!(packed.body().len() * 10 < body.len());
        let mut text = String::new();
        GzDecoder::new(packed.body()).read_to_string(&mut text).unwrap();
        assert_eq!(text, body);
        let (head, plain) = told("", &body);
        assert!(head.contains("Vary:") && !head.contains("Content-Encoding"));
        assert_eq!(plain.body(), body.as_bytes());
        assert!(!told("Accept-Encoding: gzip\r\n", "short").0.contains("Vary"));
    }

    #[test]
    fn who_takes_gzip_says_so() {
        for (list, is_taken) in [
            ("gzip", true),
            ("deflate, GZIP;q=0.8, br", true),
            ("x-gzip; Q=1", true),
            ("", false),
            ("identity", false),
            ("gzip;q=0", false),
            ("gzip;q=0.000, deflate", false),
            ("gzip;q=often", false),
            ("gzipped", false),
            ("*", false),
        ] {
            assert_eq!(takes_gzip(list), is_taken, "{list}");
        }
    }
}
